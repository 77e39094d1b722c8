/* SPDX-License-Identifier: GPL-2.0-only */
/* One instance of a cache: its sets, and what happens to a line in one of them. */
#ifndef SIMCPU_CACHE_H
#define SIMCPU_CACHE_H

#include <emmintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "model.h"

/*
 * An entry is a line number above flags. Entries of an LRU set stand in the order of their last
 * use, so no age need be stored and a set of 16 ways fills one line of the host.
 */
#define SIM_ENTRY_SHIFT	2
#define SIM_ENTRY_EMPTY	UINT32_MAX
#define SIM_ENTRY_DIRTY	1u

/* Lines that can be told apart; the last one would look like an empty entry. */
#define SIM_LINES_MAX	((1ull << (32 - SIM_ENTRY_SHIFT)) - 1)

/* Entries are handled four at a time, by SSE2, which each x86-64 host has. */
#define SIM_ENTRY_GROUP	4

/**
 * struct sim_cache - one instance of a cache
 * @entry: @stride for each set; one group more in front, so that reading before a set is harmless
 * @holder: for a shared inclusive cache, the cores in which an entry's line may be, a bit each;
 *	    cores 16 apart share one
 * @tree: tree-PLRU bits by set, node 1 is the root; NULL for other policies
 * @age: bit-MRU and QLRU: state of each entry; LRU and FIFO of ways that keep their lines: how many
 *	 were used or came later; NULL for other policies
 * @random: state of the random policy
 * @ranked: LRU or FIFO of ways that keep their lines, as masks speak of ways
 * @allowed: the ways that a new line may take now, a bit each
 * @ordered: entries of a set stand in the order of use, or of their coming: LRU, FIFO
 * @quick: a use moves the entry to the front, and that is all
 * @slices: parts between which a hash of the line number chooses
 * @ways: lines to a set
 * @stride: entries to a set, a multiple of the group; those behind the ways stay empty
 * @mask: sets minus one where that selects the set, else 0
 * @sets: number of sets
 * @inclusion: what it holds of the levels inside it
 * @by_virtual: the virtual address selects the set
 * @model: its description
 * @shared: more than one vCPU uses it
 * @busy: held by the vCPU that looks into it, if it is shared
 */
struct sim_cache {
	uint32_t *entry;
	uint16_t *holder;
	uint32_t *tree;
	uint8_t *age;
	uint64_t random;
	bool ranked;
	uint64_t allowed;
	bool ordered;
	bool quick;
	unsigned int slices;
	unsigned int ways;
	unsigned int stride;
	uint64_t mask;
	uint64_t sets;
	unsigned int inclusion;
	bool by_virtual;
	const struct sim_cache_model *model;
	bool shared;
	atomic_flag busy;
};

/**
 * struct sim_gone - what left a place
 * @entry: as it stood there, or SIM_ENTRY_EMPTY
 * @holders: cores that may have it
 */
struct sim_gone {
	uint32_t entry;
	uint16_t holders;
};

/* Whether there was memory for it. sim_cache_free() is right after either. */
bool sim_cache_init(struct sim_cache *c, const struct sim_cache_model *model, bool shared);
void sim_cache_free(struct sim_cache *c);

/*
 * Take a line out, whichever address selected its set. Return its entry, or SIM_ENTRY_EMPTY. Empty
 * entries of an LRU set stand last, so they are used first.
 */
uint32_t sim_cache_remove(struct sim_cache *c, uint64_t line);

/* What sim_cache_touch() and sim_cache_place() do for a cache that keeps holders or a tree. */
void sim_shift_holders(struct sim_cache *c, uint64_t set, unsigned int way, uint16_t first);
struct sim_gone sim_cache_place_by_state(struct sim_cache *c, uint64_t set, struct sim_gone new);

/* The state of a set where entries keep their places: a way was used or filled, who leaves. */
void sim_replace_hit(struct sim_cache *c, uint64_t set, unsigned int way);
void sim_replace_fill(struct sim_cache *c, uint64_t set, unsigned int way);
unsigned int sim_replace_victim(struct sim_cache *c, uint64_t set);

/* The part of a sliced cache in which a line belongs. */
uint64_t sim_slice_of(const struct sim_cache *c, uint64_t line);

static inline uint64_t sim_all_ways(unsigned int ways)
{
	return ways < 64 ? (1ull << ways) - 1 : ~0ull;
}

static inline bool sim_entry_dirty(uint32_t entry)
{
	return entry != SIM_ENTRY_EMPTY && entry & SIM_ENTRY_DIRTY;
}

static inline __m128i sim_load_group(const uint32_t *from)
{
	return _mm_loadu_si128((const __m128i *)from);
}

static inline void sim_store_group(uint32_t *to, __m128i group)
{
	_mm_storeu_si128((__m128i *)to, group);
}

static inline uint64_t sim_cache_set(const struct sim_cache *c, uint64_t line)
{
	if (c->slices > 1)
		return sim_slice_of(c, line);
	return c->mask ? line & c->mask : (uint32_t)line % (uint32_t)c->sets;
}

static inline uint32_t *sim_cache_entries(const struct sim_cache *c, uint64_t set)
{
	return c->entry + set * c->stride;
}

static inline uint16_t *sim_cache_holders(const struct sim_cache *c, uint64_t set)
{
	return c->holder + set * c->stride;
}

static inline uint64_t sim_entry_line(uint32_t entry)
{
	return entry >> SIM_ENTRY_SHIFT;
}

#define SIM_NO_WAY	UINT32_MAX

/* The way that holds a line, or SIM_NO_WAY. All are looked at: a branch would be mispredicted. */
static inline unsigned int sim_cache_find(const struct sim_cache *c, const uint32_t *entry,
					  uint64_t line)
{
	const __m128i key = _mm_set1_epi32((uint32_t)line << SIM_ENTRY_SHIFT);
	const __m128i line_bits = _mm_set1_epi32(~0u << SIM_ENTRY_SHIFT);
	uint64_t found = 0;
	unsigned int i;

	for (i = 0; i < c->stride; i += SIM_ENTRY_GROUP) {
		const __m128i lines = _mm_and_si128(sim_load_group(entry + i), line_bits);
		const __m128i equal = _mm_cmpeq_epi32(lines, key);

		found |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(equal)) << i;
	}
	return found ? (unsigned int)__builtin_ctzll(found) : SIM_NO_WAY;
}

/*
 * Move the entries in front of a way back by one, which frees the first place. All groups are
 * handled: how many of them change, nobody can predict.
 */
static inline void sim_shift_entries(uint32_t *entry, unsigned int stride, unsigned int way)
{
	const __m128i moves = _mm_set1_epi32(way), four = _mm_set1_epi32(SIM_ENTRY_GROUP);
	__m128i ways = _mm_add_epi32(_mm_setr_epi32(0, 1, 2, 3), _mm_set1_epi32(stride));
	unsigned int i = stride;

#pragma GCC unroll 4
	do {
		i -= SIM_ENTRY_GROUP;
		ways = _mm_sub_epi32(ways, four);
		const __m128i stays = _mm_cmpgt_epi32(ways, moves);
		const __m128i here = sim_load_group(entry + i);
		const __m128i before = sim_load_group(entry + i - 1);

		sim_store_group(entry + i, _mm_or_si128(_mm_and_si128(stays, here),
							_mm_andnot_si128(stays, before)));
	} while (i);
}

/* Turn the tree away from a way: each node on its path points to the other half. */
static inline void sim_tree_touch(uint32_t *tree, unsigned int ways, unsigned int way)
{
	unsigned int node = 1, half;
	uint32_t bits = *tree;

	for (half = ways / 2; half; half /= 2) {
		bool right = way & half;

		bits = right ? bits & ~(1u << node) : bits | 1u << node;
		node = 2 * node + right;
	}
	*tree = bits;
}

/* Mark a way as used last. */
static inline void sim_cache_touch(struct sim_cache *c, uint64_t set, unsigned int way,
				   uint32_t flags, uint16_t holder)
{
	uint32_t *entry = sim_cache_entries(c, set), used = entry[way] | flags;

	if (!c->quick) {
		entry[way] = used;
		sim_replace_hit(c, set, way);
		if (c->holder)
			sim_cache_holders(c, set)[way] |= holder;
		return;
	}
	sim_shift_entries(entry, c->stride, way);
	entry[0] = used;
	if (c->holder)
		sim_shift_holders(c, set, way, sim_cache_holders(c, set)[way] | holder);
}

/* Put a line in as the one used last. Return what had to leave for it. */
static inline struct sim_gone sim_cache_place(struct sim_cache *c, uint64_t set,
					      struct sim_gone new)
{
	uint32_t *entry = sim_cache_entries(c, set);
	struct sim_gone old = { 0, 0 };

	if (!c->ordered)
		return sim_cache_place_by_state(c, set, new);
	old.entry = entry[c->ways - 1];
	sim_shift_entries(entry, c->stride, c->ways - 1);
	entry[0] = new.entry;
	if (c->holder) {
		old.holders = sim_cache_holders(c, set)[c->ways - 1];
		sim_shift_holders(c, set, c->ways - 1, new.holders);
	}
	return old;
}

#endif
