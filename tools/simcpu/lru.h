/* SPDX-License-Identifier: GPL-2.0-only */
/* A few keys, each with a place, of which a new key takes that of the one used longest ago. */
#ifndef SIMCPU_LRU_H
#define SIMCPU_LRU_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_LRU_BITS	6
#define SIM_LRU_MAX	(1u << SIM_LRU_BITS)
#define SIM_LRU_NONE	SIM_LRU_MAX

/* Stands between the place used last and the one used longest ago: all others have neighbours. */
#define SIM_LRU_HEAD	SIM_LRU_MAX

/**
 * struct sim_lru - places 0 to some last one, and which key has which
 * @newer: the place used next after this one; behind the head the one used longest ago: those never
 *	   used come first, by their number
 * @older: the one used next before; behind the head the one used last
 * @taken: places that have a key, a bit each
 * @bucket: first place of the keys with this hash, or SIM_LRU_NONE
 * @chain: next place of the same hash, or SIM_LRU_NONE
 * @key: by place
 */
struct sim_lru {
	uint8_t newer[SIM_LRU_MAX + 1];
	uint8_t older[SIM_LRU_MAX + 1];
	uint64_t taken;
	uint8_t bucket[SIM_LRU_MAX];
	uint8_t chain[SIM_LRU_MAX];
	uint64_t key[SIM_LRU_MAX];
};

/* No key has any of the places, 1 to SIM_LRU_MAX of them. */
void sim_lru_init(struct sim_lru *l, unsigned int places);

/* Give the place used longest ago to a key that has none, as the one used last. Return it. */
unsigned int sim_lru_replace(struct sim_lru *l, uint64_t key);

/* Fibonacci hashing (Knuth, TAOCP volume 3, 6.4) */
static inline unsigned int sim_lru_hash(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> (64 - SIM_LRU_BITS);
}

static inline bool sim_lru_has(const struct sim_lru *l, unsigned int place)
{
	return l->taken >> place & 1;
}

/* The place of a key, or SIM_LRU_NONE. */
static inline unsigned int sim_lru_find(const struct sim_lru *l, uint64_t key)
{
	unsigned int place = l->bucket[sim_lru_hash(key)];

	while (place != SIM_LRU_NONE && l->key[place] != key)
		place = l->chain[place];
	return place;
}

static inline unsigned int sim_lru_newest(const struct sim_lru *l)
{
	return l->older[SIM_LRU_HEAD];
}

/* A place becomes the one used last. Without a branch: which one it is, nobody can predict. */
static inline void sim_lru_use(struct sim_lru *l, unsigned int place)
{
	unsigned int last;

	l->newer[l->older[place]] = l->newer[place];
	l->older[l->newer[place]] = l->older[place];
	last = l->older[SIM_LRU_HEAD];
	l->newer[last] = place;
	l->older[place] = last;
	l->newer[place] = SIM_LRU_HEAD;
	l->older[SIM_LRU_HEAD] = place;
}

#endif
