// SPDX-License-Identifier: GPL-2.0
// With panic=abort many functions have no CFI; the library, which has, keeps frame pointers.
use std::hint::black_box;

#[inline(never)]
fn leaf(n: u64) -> u64 {
    let mut a = n;
    for i in 0..200000u64 {
        a = black_box(a ^ i.wrapping_mul(7));
    }
    a
}

#[inline(never)]
fn middle(v: &mut [u64]) -> u64 {
    v.sort_by_key(|x| leaf(*x));
    v[0]
}

#[inline(never)]
fn outer() -> u64 {
    let mut v = [3, 1, 2];
    middle(&mut v) + 1
}

fn main() {
    for _ in 0..20 {
        black_box(outer());
    }
    println!("ready");
    loop {
        black_box(outer());
    }
}
