/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring buffer of a perf event, and the bits of deferred callchains, which the
 * system's headers may not know yet.
 */
#ifndef _PERF_RING_H
#define _PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Bits of the flags word after perf_event_attr::read_format. */
#define ATTR_DEFER_CALLCHAIN	(1ull << 38)
#define ATTR_DEFER_OUTPUT	(1ull << 39)

#define ATTR_FLAGS_OFFSET	(offsetof(struct perf_event_attr, read_format) + 8)

_Static_assert(ATTR_FLAGS_OFFSET == 40, "the flags are one word");
_Static_assert(offsetof(struct perf_event_attr, wakeup_events) == 48,
	       "the flags are one word");

/* The longest record is 65535 bytes. */
#define PERF_RING_WORDS		8192

#define PERF_RING_PAGE		4096ul

/* The ring is mapped at @page; its data has @size bytes, a power of two. */
struct perf_ring {
	struct perf_event_mmap_page	*page;
	size_t				size;
};

static inline void perf_attr_add_flags(struct perf_event_attr *attr, uint64_t bits)
{
	uint64_t flags;

	memcpy(&flags, (char *)attr + ATTR_FLAGS_OFFSET, sizeof(flags));
	flags |= bits;
	memcpy((char *)attr + ATTR_FLAGS_OFFSET, &flags, sizeof(flags));
}

/* Map a ring of @size bytes.  Returns false with errno set if that fails. */
static inline bool perf_ring_map(struct perf_ring *ring, int fd, size_t size)
{
	ring->size = size;
	ring->page = mmap(NULL, PERF_RING_PAGE + size, PROT_READ | PROT_WRITE, MAP_SHARED,
			  fd, 0);
	return ring->page != MAP_FAILED;
}

static inline void perf_ring_unmap(struct perf_ring *ring)
{
	munmap(ring->page, PERF_RING_PAGE + ring->size);
}

static inline void perf_ring_copy(const struct perf_ring *ring, uint64_t at, void *to, size_t len)
{
	const char *data = (const char *)ring->page + PERF_RING_PAGE;
	size_t start = at % ring->size, first = ring->size - start;

	if (first > len)
		first = len;
	memcpy(to, data + start, first);
	memcpy((char *)to + first, data, len - first);
}

/*
 * Take the next record: its header, and in @words, which has PERF_RING_WORDS, what follows.
 * Returns false if there is none.
 */
static inline bool perf_ring_next(struct perf_ring *ring, struct perf_event_header *header,
				  uint64_t *words)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	if (head == tail)
		return false;
	perf_ring_copy(ring, tail, header, sizeof(*header));
	perf_ring_copy(ring, tail + sizeof(*header), words, header->size - sizeof(*header));
	__atomic_store_n(&ring->page->data_tail, tail + header->size, __ATOMIC_RELEASE);
	return true;
}

/* Discard all records. */
static inline void perf_ring_drain(struct perf_ring *ring)
{
	__atomic_store_n(&ring->page->data_tail,
			 __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

#endif /* _PERF_RING_H */
