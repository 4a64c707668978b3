// SPDX-License-Identifier: GPL-2.0-only
/* Memory and grace periods for the unit and the thread test. */
#include <pthread.h>

#include "shim.h"

struct chunk {
	struct chunk *next;
	u64 epoch;
	size_t size;
	u64 data[];
};

u32 shim_cpus = 2;
u64 shim_seed = 1;
size_t shim_no_memory_below;
s64 shim_live;

/* Guards the list of what was freed; the code under test sees no lock. */
static pthread_mutex_t freed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *freed;
static unsigned int nr_freed;

/* A reader's epoch while it reads, else 0. */
static u64 epoch = 1;
static u64 readers[SHIM_READERS];

void shim_rcu_lock(unsigned int slot)
{
	u64 now = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST);

	__atomic_store_n(&readers[slot], now, __ATOMIC_SEQ_CST);
}

void shim_rcu_unlock(unsigned int slot)
{
	__atomic_store_n(&readers[slot], 0, __ATOMIC_SEQ_CST);
}

static u64 oldest_reader(void)
{
	u64 oldest = ~0ULL;

	for (unsigned int i = 0; i < SHIM_READERS; i++) {
		u64 at = __atomic_load_n(&readers[i], __ATOMIC_SEQ_CST);

		if (at && at < oldest)
			oldest = at;
	}
	return oldest;
}

/* Free what no reader can have; called with the lock held. */
static void reclaim(void)
{
	struct chunk **link = &freed, *chunk;
	u64 oldest = oldest_reader();

	while ((chunk = *link)) {
		if (chunk->epoch < oldest) {
			*link = chunk->next;
			nr_freed--;
			free(chunk);
		} else {
			link = &chunk->next;
		}
	}
}

int bpf_mem_alloc_init(struct bpf_mem_alloc *ma, int size, bool percpu)
{
	(void)ma;
	(void)size;
	(void)percpu;
	return 0;
}

void bpf_mem_alloc_destroy(struct bpf_mem_alloc *ma)
{
	(void)ma;
	pthread_mutex_lock(&freed_lock);
	reclaim();
	pthread_mutex_unlock(&freed_lock);
}

void *bpf_mem_alloc(struct bpf_mem_alloc *ma, size_t size)
{
	struct chunk *chunk;

	(void)ma;
	if (size > 4096 - sizeof(struct llist_node))
		abort();
	if (size < shim_no_memory_below)
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		abort();
	chunk->size = size;
	memset(chunk->data, 0xa5, size);
	__atomic_fetch_add(&shim_live, size, __ATOMIC_RELAXED);
	return chunk->data;
}

void bpf_mem_free_rcu(struct bpf_mem_alloc *ma, void *mem)
{
	struct chunk *chunk = (struct chunk *)((char *)mem -
					       offsetof(struct chunk, data));

	(void)ma;
	__atomic_fetch_sub(&shim_live, chunk->size, __ATOMIC_RELAXED);
	pthread_mutex_lock(&freed_lock);
	chunk->epoch = __atomic_fetch_add(&epoch, 1, __ATOMIC_SEQ_CST);
	chunk->next = freed;
	freed = chunk;
	if (++nr_freed >= 256)
		reclaim();
	pthread_mutex_unlock(&freed_lock);
}

/* Readers or not, it takes a grace period here. */
void bpf_mem_free(struct bpf_mem_alloc *ma, void *mem)
{
	bpf_mem_free_rcu(ma, mem);
}

void *bpf_map_area_alloc(u64 size, int node)
{
	void *mem;

	(void)node;
	if (posix_memalign(&mem, 64, size))
		abort();
	return memset(mem, 0, size);
}

void bpf_map_area_free(void *mem)
{
	free(mem);
}

u64 get_random_u64(void)
{
	/* splitmix64 */
	u64 z = shim_seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void get_random_bytes(void *to, size_t len)
{
	for (u64 word; len; len -= sizeof(word), to = (char *)to + sizeof(word)) {
		word = get_random_u64();
		memcpy(to, &word, sizeof(word));
	}
}
