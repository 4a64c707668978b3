/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User space versions of the kernel names that kernel/bpf/stack_{table,pool}.c use.  The
 * compiler includes this file first, so it replaces stack_table_internal.h.
 *
 * With STACK_EXPLORE, each access to shared memory first calls sched_point(), where the
 * explorer may switch to another thread of the test.
 */
#ifndef _BPF_STACK_TABLE_INTERNAL_H
#define _BPF_STACK_TABLE_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#ifdef STACK_EXPLORE
void sched_point(const volatile void *addr, bool write);
#else
static inline void sched_point(const volatile void *addr, bool write)
{
	(void)addr;
	(void)write;
}
#endif

#define __rcu
#define __percpu
#define noinline		__attribute__((noinline))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define BUILD_BUG_ON(c)		_Static_assert(!(c), #c)
#define BIT_ULL(n)		(1ULL << (n))
#define BIT(n)			(1UL << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof(*(a)))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP(n, d)
#define min(a, b)		min_t(__typeof__(a), a, b)
#define max(a, b)		max_t(__typeof__(a), a, b)
#define min_t(t, a, b) ({ __typeof__((t)0) _t = (a), _u = (b); _t < _u ? _t : _u; })
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define max_t(t, a, b) ({ __typeof__((t)0) _t = (a), _u = (b); _t > _u ? _t : _u; })
#define ilog2(n)		(63 - __builtin_clzll(n))
#define U32_MAX			(~0U)
#define fallthrough		__attribute__((fallthrough))
#define div_u64(a, b)		((a) / (b))
#define div64_u64(a, b)		((a) / (b))

static inline u32 reciprocal_scale(u32 val, u32 to)
{
	return (u64)val * to >> 32;
}

/* As in include/linux/jhash.h: after Bob Jenkins, lookup3.c, public domain. */
#define JHASH_INITVAL		0xdeadbeef
#define rol32(x, n)		((u32)(x) << (n) | (u32)(x) >> (32 - (n)))
#define __jhash_mix(a, b, c)	shim_jhash_mix(&(a), &(b), &(c))
#define __jhash_final(a, b, c)	shim_jhash_final(&(a), &(b), &(c))

static inline void shim_jhash_mix(u32 *a, u32 *b, u32 *c)
{
	*a -= *c;
	*a ^= rol32(*c, 4);
	*c += *b;
	*b -= *a;
	*b ^= rol32(*a, 6);
	*a += *c;
	*c -= *b;
	*c ^= rol32(*b, 8);
	*b += *a;
	*a -= *c;
	*a ^= rol32(*c, 16);
	*c += *b;
	*b -= *a;
	*b ^= rol32(*a, 19);
	*a += *c;
	*c -= *b;
	*c ^= rol32(*b, 4);
	*b += *a;
}

static inline void shim_jhash_final(u32 *a, u32 *b, u32 *c)
{
	*c ^= *b;
	*c -= rol32(*b, 14);
	*a ^= *c;
	*a -= rol32(*c, 11);
	*b ^= *a;
	*b -= rol32(*a, 25);
	*c ^= *b;
	*c -= rol32(*b, 16);
	*a ^= *c;
	*a -= rol32(*c, 4);
	*b ^= *a;
	*b -= rol32(*a, 14);
	*c ^= *b;
	*c -= rol32(*b, 24);
}

/*
 * Memory orders as in the kernel: reads are relaxed, operations that return a value are
 * full barriers.  TSan knows neither fences nor address dependencies, so for TSan reads
 * acquire and writes release.  The litmus tests prove the order; TSan finds accesses that
 * are not marked.
 */
#ifdef __SANITIZE_THREAD__
#define SHIM_READ		__ATOMIC_ACQUIRE
#define SHIM_WRITE		__ATOMIC_RELEASE
#else
#define SHIM_READ		__ATOMIC_RELAXED
#define SHIM_WRITE		__ATOMIC_RELAXED
#endif

/* Loads before this are ordered before loads after it. */
static inline void smp_rmb(void)
{
#ifndef __SANITIZE_THREAD__
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

typedef struct { s64 counter; } atomic64_t;
typedef struct { int counter; } atomic_t;

static inline int atomic_read(const atomic_t *v)
{
	sched_point(v, false);
	return __atomic_load_n(&v->counter, SHIM_READ);
}

static inline void atomic_add(int n, atomic_t *v)
{
	sched_point(v, true);
	__atomic_fetch_add(&v->counter, n, __ATOMIC_RELAXED);
}

static inline int atomic_add_return(int n, atomic_t *v)
{
	sched_point(v, true);
	return __atomic_add_fetch(&v->counter, n, __ATOMIC_SEQ_CST);
}

static inline void atomic_sub(int n, atomic_t *v)
{
	sched_point(v, true);
	__atomic_fetch_sub(&v->counter, n, __ATOMIC_RELAXED);
}

static inline int atomic_sub_return(int n, atomic_t *v)
{
	sched_point(v, true);
	return __atomic_sub_fetch(&v->counter, n, __ATOMIC_SEQ_CST);
}

static inline void atomic64_set(atomic64_t *v, s64 to)
{
	__atomic_store_n(&v->counter, to, __ATOMIC_RELAXED);
}

static inline s64 atomic64_read_acquire(const atomic64_t *v)
{
	sched_point(v, false);
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

static inline s64 atomic64_read(const atomic64_t *v)
{
	sched_point(v, false);
	return __atomic_load_n(&v->counter, SHIM_READ);
}

static inline s64 atomic64_cmpxchg(atomic64_t *v, s64 old, s64 new)
{
	sched_point(v, true);
	__atomic_compare_exchange_n(&v->counter, &old, new, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline void atomic64_inc(atomic64_t *v)
{
	sched_point(v, true);
	__atomic_fetch_add(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline void atomic64_add(s64 i, atomic64_t *v)
{
	sched_point(v, true);
	__atomic_fetch_add(&v->counter, i, __ATOMIC_RELAXED);
}

#define READ_ONCE(x) ({							\
	__typeof__(x) *_x = &(x);					\
	sched_point(_x, false);						\
	__atomic_load_n(_x, SHIM_READ);					\
})
#define WRITE_ONCE(x, v) ({						\
	__typeof__(x) *_x = &(x);					\
	sched_point(_x, true);						\
	__atomic_store_n(_x, v, SHIM_WRITE);				\
})
/* Reads a counter that other threads keep changing. */
#define data_race(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)

#define xchg(p, v) ({							\
	__typeof__(p) _p = (p);						\
	sched_point(_p, true);						\
	__atomic_exchange_n(_p, v, __ATOMIC_SEQ_CST);			\
})
#define cmpxchg(p, o, v) ({						\
	__typeof__(p) _p = (p);						\
	__typeof__(*_p) _o = (o);					\
	sched_point(_p, true);						\
	__atomic_compare_exchange_n(_p, &_o, v, false,			\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);\
	_o;								\
})
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* All CPUs share one set of counters, as the tests check only the sums. */
#define GFP_KERNEL_ACCOUNT	0
#define this_cpu_inc(x)		this_cpu_add(x, 1)
#define this_cpu_add(x, n)	((void)__atomic_fetch_add(&(x), n, __ATOMIC_RELAXED))
#define alloc_percpu_gfp(type, gfp) ((type *)calloc(1 + (gfp), sizeof(type)))
#define free_percpu(p)		free(p)
#define per_cpu_ptr(p, cpu)	((p) + (cpu))
#define for_each_possible_cpu(cpu) for (; shim_cpu_next(&(cpu));)

/* Iterates over a single CPU; each second call ends the loop. */
static inline bool shim_cpu_next(int *cpu)
{
	static __thread bool more;

	*cpu = 0;
	return more = !more;
}

extern u32 shim_cpus;
#define num_possible_cpus()	(shim_cpus)
#define nr_cpu_ids		(shim_cpus)
/* CPU that the thread plays */
extern __thread u32 shim_cpu;
#define raw_smp_processor_id()	(shim_cpu)
#define cond_resched()		((void)0)

/* Work runs at once, as if interrupts were always enabled. */
struct irq_work { void (*func)(struct irq_work *work); };
#define init_irq_work(work, fn)	((work)->func = (fn))
#define irq_work_sync(work)	((void)(work))

static inline void irq_work_queue(struct irq_work *work)
{
	work->func(work);
}

/* Delayed work also runs at once, except for retries: of these, @delay is all that is kept. */
struct work_struct { void (*func)(struct work_struct *work); };
struct delayed_work {
	struct work_struct work;
	int delay;
};

#define INIT_DELAYED_WORK(dwork, fn)	((dwork)->work.func = (fn))
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define cancel_delayed_work_sync(dwork)	((void)(dwork))
#define msecs_to_jiffies(ms)		(ms)
#define system_unbound_wq		NULL

static inline void queue_delayed_work(void *wq, struct delayed_work *dwork, int delay)
{
	(void)wq;
	dwork->delay = delay;
	if (!delay)
		dwork->work.func(&dwork->work);
}

/* Defined in shim.c, except for the explorer, which has its own versions */
struct bpf_map;
#define GFP_KERNEL		0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0
void *bpf_map_kvcalloc(struct bpf_map *map, size_t n, size_t size, int gfp);
void *bpf_map_area_alloc(u64 size, int node);
void bpf_map_area_free(void *mem);
u64 get_random_u64(void);

static inline u32 get_random_u32(void)
{
	return get_random_u64();
}

/* Seed of all random numbers */
extern u64 shim_seed;
/* Makes bpf_map_kvcalloc() fail. */
extern bool shim_no_memory;

#endif /* _BPF_STACK_TABLE_INTERNAL_H */
