/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's names for kernel/bpf/stack_{table,mem}.c in user space.  Included before
 * anything else, it takes the place of stack_table_internal.h.
 *
 * With STACK_EXPLORE each access to shared memory calls sched_point() first, where
 * the explorer runs another thread of the test.
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
#define BIT_ULL(n)		(1ULL << (n))
#define BIT(n)			(1UL << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof(*(a)))
#define DIV_ROUND_UP(n, d)	(((n) - 1) / (d) + 1)
#define min(a, b)		min_t(__typeof__(a), a, b)
#define max(a, b)		max_t(__typeof__(a), a, b)
#define min_t(t, a, b) ({ __typeof__((t)0) _t = (a), _u = (b); _t < _u ? _t : _u; })
#define max_t(t, a, b) ({ __typeof__((t)0) _t = (a), _u = (b); _t > _u ? _t : _u; })
#define round_down(n, to)	((n) & ~((__typeof__(n))(to) - 1))
#define ilog2(n)		(63 - __builtin_clzll(n))
#define __ffs64(n)		((u32)__builtin_ctzll(n))

static inline int fls(u32 n)
{
	return n ? 32 - __builtin_clz(n) : 0;
}

static inline u32 reciprocal_scale(u32 val, u32 to)
{
	return (u64)val * to >> 32;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (__uint128_t)a * b >> shift;
}

/* Orders as in the kernel: read is relaxed, an operation with a result is full. */
typedef struct { s64 counter; } atomic64_t;

static inline s64 atomic64_read(const atomic64_t *v)
{
	sched_point(v, false);
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline s64 atomic64_cmpxchg(atomic64_t *v, s64 old, s64 new)
{
	sched_point(v, true);
	__atomic_compare_exchange_n(&v->counter, &old, new, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline s64 atomic64_fetch_or(s64 bits, atomic64_t *v)
{
	sched_point(v, true);
	return __atomic_fetch_or(&v->counter, bits, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_fetch_andnot(s64 bits, atomic64_t *v)
{
	sched_point(v, true);
	return __atomic_fetch_and(&v->counter, ~bits, __ATOMIC_SEQ_CST);
}

static inline void atomic64_inc(atomic64_t *v)
{
	sched_point(v, true);
	__atomic_fetch_add(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline void atomic64_dec(atomic64_t *v)
{
	sched_point(v, true);
	__atomic_fetch_sub(&v->counter, 1, __ATOMIC_RELAXED);
}

#define READ_ONCE(x) ({							\
	__typeof__(x) *_x = &(x);					\
	sched_point(_x, false);						\
	__atomic_load_n(_x, __ATOMIC_RELAXED);				\
})
#define WRITE_ONCE(x, v) ({						\
	__typeof__(x) *_x = &(x);					\
	sched_point(_x, true);						\
	__atomic_store_n(_x, v, __ATOMIC_RELAXED);			\
})
/* A counter that others go on with */
#define data_race(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)

#define rcu_read_lock_any_held() true
#define rcu_dereference_check(p, held) ({				\
	__typeof__(p) *_p = &(p);					\
	(void)(held);							\
	sched_point(_p, false);						\
	__atomic_load_n(_p, __ATOMIC_ACQUIRE);				\
})
#define rcu_dereference_protected(p, held) rcu_dereference_check(p, held)
#define rcu_assign_pointer(p, v) ({					\
	__typeof__(p) *_p = &(p);					\
	sched_point(_p, true);						\
	__atomic_store_n(_p, v, __ATOMIC_RELEASE);			\
})
#define RCU_INIT_POINTER(p, v) WRITE_ONCE(p, v)

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

/* One set of counters for all: their sums are what the tests look at. */
#define GFP_KERNEL_ACCOUNT	0
#define this_cpu_inc(x)		this_cpu_add(x, 1)
#define this_cpu_add(x, n)	((void)__atomic_fetch_add(&(x), n, __ATOMIC_RELAXED))
#define alloc_percpu_gfp(type, gfp) ((type *)calloc(1 + (gfp), sizeof(type)))
#define free_percpu(p)		free(p)
#define per_cpu_ptr(p, cpu)	((p) + (cpu))
#define for_each_possible_cpu(cpu) for (; shim_cpu_next(&(cpu));)

/* One CPU, then none, and so on */
static inline bool shim_cpu_next(int *cpu)
{
	static __thread bool more;

	*cpu = 0;
	return more = !more;
}

extern u32 shim_cpus;
#define num_possible_cpus()	(shim_cpus)
#define migrate_disable()	((void)0)
#define migrate_enable()	((void)0)
#define cond_resched()		((void)0)

struct llist_node { struct llist_node *next; };
struct bpf_mem_alloc { int unused; };

/* Runs at once: interrupts are always on. */
struct irq_work { void (*func)(struct irq_work *work); };
#define init_irq_work(work, fn)	((work)->func = (fn))
#define irq_work_sync(work)	((void)(work))
#define usleep_range(min, max)	((void)(min), (void)(max))

static inline void irq_work_queue(struct irq_work *work)
{
	work->func(work);
}

/* shim.c, but for the explorer, which has its own */
int bpf_mem_alloc_init(struct bpf_mem_alloc *ma, int size, bool percpu);
void bpf_mem_alloc_destroy(struct bpf_mem_alloc *ma);
void *bpf_mem_alloc(struct bpf_mem_alloc *ma, size_t size);
void bpf_mem_free(struct bpf_mem_alloc *ma, void *mem);
void bpf_mem_free_rcu(struct bpf_mem_alloc *ma, void *mem);
void *bpf_map_area_alloc(u64 size, int node);
void bpf_map_area_free(void *mem);
u64 get_random_u64(void);
void get_random_bytes(void *to, size_t len);

/* Seed of all that is random */
extern u64 shim_seed;
/* Sizes below this are out of stock; 0: none */
extern size_t shim_no_memory_below;
/* Bytes allocated and not handed to bpf_mem_free_rcu() */
extern s64 shim_live;

/* A reader that is registered as @slot; what is freed stays until it is done. */
#define SHIM_READERS 32
void shim_rcu_lock(unsigned int slot);
void shim_rcu_unlock(unsigned int slot);

#endif /* _BPF_STACK_TABLE_INTERNAL_H */
