/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Atomic operations and accesses to shared memory.
 *
 * With STACK_EXPLORE, each first calls sched_point(), where the explorer may switch to
 * another thread of the test.
 *
 * Memory orders are those of the kernel: reads are relaxed, operations that return a
 * value are full barriers.  TSan knows neither fences nor address dependencies, so for
 * TSan reads acquire and writes release.  The litmus tests prove the order; TSan finds
 * accesses that are not marked.
 */
#ifndef _STACK_TABLE_LINUX_ATOMIC_H
#define _STACK_TABLE_LINUX_ATOMIC_H

#include <linux/types.h>

#ifdef STACK_EXPLORE
void sched_point(const volatile void *addr, bool write);
#else
#define sched_point(addr, write)	((void)(addr), (void)(write))
#endif

#ifdef __SANITIZE_THREAD__
#define SHIM_READ			__ATOMIC_ACQUIRE
#define SHIM_WRITE			__ATOMIC_RELEASE
/* Reads acquire. */
#define smp_rmb()			((void)0)
#else
#define SHIM_READ			__ATOMIC_RELAXED
#define SHIM_WRITE			__ATOMIC_RELAXED
/* Loads before this are ordered before loads after it. */
#define smp_rmb()			__atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

/* Access @p by the compiler's function @call; its other arguments follow. */
#define shim_access(call, write, p, ...) ({				\
	__typeof__(p) _p = (p);						\
	sched_point(_p, write);						\
	call(_p, __VA_ARGS__);						\
})

#define READ_ONCE(x)			shim_access(__atomic_load_n, false, &(x), SHIM_READ)
#define WRITE_ONCE(x, v)		shim_access(__atomic_store_n, true, &(x), v, SHIM_WRITE)
/* Reads a counter that other threads keep changing. */
#define data_race(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define xchg(p, v) \
	shim_access(__atomic_exchange_n, true, p, v, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new) ({						\
	__typeof__(*(p)) _seen = (old);					\
	shim_access(__atomic_compare_exchange_n, true, p, &_seen, new,	\
		    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);		\
	_seen;								\
})

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

#define shim_add(call, n, v, order)	shim_access(call, true, &(v)->counter, n, order)
#define atomic_read(v)			READ_ONCE((v)->counter)
#define atomic_add(n, v)		shim_add(__atomic_fetch_add, n, v, __ATOMIC_RELAXED)
#define atomic_sub(n, v)		shim_add(__atomic_fetch_sub, n, v, __ATOMIC_RELAXED)
#define atomic_add_return(n, v)		shim_add(__atomic_add_fetch, n, v, __ATOMIC_SEQ_CST)
#define atomic_sub_return(n, v)		shim_add(__atomic_sub_fetch, n, v, __ATOMIC_SEQ_CST)
#define atomic64_set(v, n)		WRITE_ONCE((v)->counter, n)
#define atomic64_read(v)		READ_ONCE((v)->counter)
#define atomic64_read_acquire(v) \
	shim_access(__atomic_load_n, false, &(v)->counter, __ATOMIC_ACQUIRE)
#define atomic64_add(n, v)		atomic_add(n, v)
#define atomic64_inc(v)			atomic64_add(1, v)

static inline s64 atomic64_cmpxchg(atomic64_t *v, s64 old, s64 new)
{
	return cmpxchg(&v->counter, old, new);
}

/* A macro, so that scale.c counts what fails. */
#define atomic64_try_cmpxchg(v, old, new) ({				\
	s64 *_was = (old);						\
	s64 _want = *_was;						\
	*_was = atomic64_cmpxchg(v, _want, new);			\
	*_was == _want;							\
})

#endif /* _STACK_TABLE_LINUX_ATOMIC_H */
