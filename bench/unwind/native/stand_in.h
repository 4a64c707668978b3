/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/unwind's walks need from the kernel, for a build in user space.  The stack that is
 * walked lies at its own address, so user memory is read as any other.
 */
#ifndef _STAND_IN_H
#define _STAND_IN_H

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#define CONFIG_PER_VMA_LOCK	1
#define IS_ENABLED(option)	option

#define __user
#define __init
#define __uninitialized
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define sizeof_field(type, field) sizeof(((type *)0)->field)
#define put_unaligned(x, to)	memcpy(to, &(x), sizeof(x))
#undef OPTIMIZER_HIDE_VAR
#define OPTIMIZER_HIDE_VAR(var)	asm("" : "+r" (var))
#define offset_in_page(addr)	((addr) % 4096)
#define SZ_64K			65536

/* As on x86, so that it costs the same */
#define array_index_nospec(index, size)					\
({									\
	unsigned long _index = (index), _mask;				\
									\
	asm("cmp %1, %2; sbb %0, %0"					\
	    : "=r" (_mask) : "erm" ((unsigned long)(size)), "r" (_index) : "cc"); \
	_index & _mask;							\
})

#define TASK_SIZE_MAX		0x7ffffffff000ul
#define user_read_access_begin(at, len)	((void)(at), (void)(len), true)
#define user_read_access_end()		((void)0)
#define pagefault_disable()		((void)0)
#define pagefault_enable()		((void)0)
#define nmi_uaccess_okay()		true
#define might_sleep()			((void)0)
#define get_user(x, at)			((x) = *(at), 0)
#define unsafe_get_user(x, at, label)					\
do {									\
	(x) = *(volatile __typeof__(*(at)) *)(at);			\
	if (0)								\
		goto label;						\
} while (0)

#define guard(lock)		guard_##lock
static inline void guard_rcu(void)
{
}

#define DECLARE_PER_CPU(type, name)	extern __typeof__(type) name
#define this_cpu_read(x)	(x)
#define this_cpu_inc(x)		((x)++)
extern unsigned long jiffies;

#define VM_EXEC			4
struct vm_area_struct {
	unsigned long	vm_start;
	unsigned long	vm_end;
	unsigned long	vm_flags;
};

typedef struct {
	const void	*vdso_image;
	void		*vdso;
} mm_context_t;

struct maple_tree {
	struct vm_area_struct	*areas;
	unsigned int		nr;
};

struct mm_struct {
	struct maple_tree	mm_mt;
	mm_context_t		context;
	void			*sframe;
};

struct task_struct {
	struct mm_struct	*mm;
};

struct vdso_image {
	const void	*data;
	size_t		size;
};

extern struct vdso_image vdso_image_64;
extern struct task_struct the_task;
#define current			(&the_task)

struct vm_area_struct *mtree_load(struct maple_tree *tree, unsigned long addr);

#define X86_VM_MASK		0
#define user_64bit_mode(regs)	((void)(regs), true)
#define instruction_pointer(regs)	((regs)->ip)
#define user_stack_pointer(regs)	((regs)->sp)

#include "native.h"

/* The kernel's frame of a signal, up to the registers */
struct rt_sigframe {
	char	*pretcode;
	struct {
		unsigned long	uc_flags;
		void		*uc_link;
		unsigned long	uc_stack[3];
		struct {
			unsigned long r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax,
				      cx, sp, ip, flags;
		} uc_mcontext;
	} uc;
};

#endif /* _STAND_IN_H */
