// SPDX-License-Identifier: GPL-2.0
//! The same stacks by framehop, which profilers that unwind in their own process use.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use std::ops::Range;
use std::slice;

#[repr(C)]
pub struct Section {
    address: u64,
    size: usize,
    bytes: *const u8,
}

#[repr(C)]
pub struct Object {
    start: u64,
    end: u64,
    bias: u64,
    text: Section,
    got: Section,
    eh_frame: Section,
    eh_frame_hdr: Section,
}

pub struct State {
    unwinder: UnwinderX86_64<&'static [u8]>,
    cache: CacheX86_64,
}

fn range(section: &Section) -> Option<Range<u64>> {
    (section.size != 0).then(|| section.address..section.address + section.size as u64)
}

fn data(section: &Section) -> Option<&'static [u8]> {
    (section.size != 0).then(|| unsafe { slice::from_raw_parts(section.bytes, section.size) })
}

#[no_mangle]
pub extern "C" fn framehop_new() -> *mut State {
    Box::into_raw(Box::new(State {
        unwinder: UnwinderX86_64::new(),
        cache: CacheX86_64::new(),
    }))
}

/// # Safety
/// Both are valid, and the sections' bytes stay.
#[no_mangle]
pub unsafe extern "C" fn framehop_add(state: *mut State, object: *const Object) {
    let object = &*object;
    let info = ExplicitModuleSectionInfo {
        text_svma: range(&object.text),
        text: data(&object.text),
        got_svma: range(&object.got),
        eh_frame_svma: range(&object.eh_frame),
        eh_frame: data(&object.eh_frame),
        eh_frame_hdr_svma: range(&object.eh_frame_hdr),
        eh_frame_hdr: data(&object.eh_frame_hdr),
        ..Default::default()
    };
    (*state).unwinder.add_module(Module::new(
        String::new(),
        object.start..object.end,
        object.bias,
        info,
    ));
}

/// # Safety
/// The stack from `start` on has `size` bytes, and `ips` has room for `max` addresses.
#[no_mangle]
pub unsafe extern "C" fn framehop_frames(
    state: *mut State,
    registers: *const u64,
    start: u64,
    size: u64,
    ips: *mut u64,
    max: u32,
) -> u32 {
    let State { unwinder, cache } = &mut *state;
    let (ip, sp, bp) = (*registers, *registers.add(1), *registers.add(2));
    let mut read = |at: u64| {
        if at.wrapping_sub(start) <= size - 8 {
            Ok(*(at as *const u64))
        } else {
            Err(())
        }
    };
    let mut nr = 0;
    let mut frames =
        unwinder.iter_frames(ip, UnwindRegsX86_64::new(ip, sp, bp), cache, &mut read);
    while let Ok(Some(frame)) = frames.next() {
        if nr == max {
            break;
        }
        *ips.add(nr as usize) = frame.address();
        nr += 1;
    }
    nr
}
