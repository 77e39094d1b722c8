// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacement where lines keep their places: tree-PLRU, bit-MRU, random and QLRU. LRU and FIFO are
 * the order of a set's entries (cache.h).
 */
#include <stddef.h>

#include "cache.h"

#define OLDEST	3

/**
 * struct qlru - a QLRU variant by the letters of its name (Abel and Reineke, nanoBench, 2020)
 * @from3: H: age after a hit at age 3
 * @from2: H: age after a hit at age 2; from younger ages it is 0
 * @insert: M: age of a new line
 * @leftmost: R: with no line of age 3 the leftmost one leaves (R1)
 * @rightmost: R: a new line takes the rightmost empty place (R2), else the leftmost
 * @by_one: U: without a line of age 3 ages grow by one (U2, U3), else until one has it
 * @spare: U: but not that of the line that was used (U1, U3)
 */
struct qlru {
	uint8_t from3;
	uint8_t from2;
	uint8_t insert;
	bool leftmost;
	bool rightmost;
	bool by_one;
	bool spare;
};

static const struct qlru qlrus[] = {
	[SIM_QLRU_H11_M1_R0_U0 - SIM_QLRU_FIRST] = { 1, 1, 1, false, false, false, false },
	[SIM_QLRU_H00_M1_R0_U1 - SIM_QLRU_FIRST] = { 0, 0, 1, false, false, false, true },
	[SIM_QLRU_H00_M1_R2_U1 - SIM_QLRU_FIRST] = { 0, 0, 1, false, true, false, true },
	[SIM_QLRU_H11_M1_R1_U2 - SIM_QLRU_FIRST] = { 1, 1, 1, true, false, true, false },
};

static const struct qlru *qlru_of(const struct sim_cache *c)
{
	return c->model->replace >= SIM_QLRU_FIRST ?
	       &qlrus[c->model->replace - SIM_QLRU_FIRST] : NULL;
}

static uint8_t *ages_of(const struct sim_cache *c, uint64_t set)
{
	return c->age + set * c->stride;
}

/* The first way of an age, from the left; the number of ways if none has it. Empty ways have none. */
static unsigned int first_of_age(const struct sim_cache *c, uint64_t set, unsigned int age)
{
	const uint32_t *entry = sim_cache_entries(c, set);
	const uint8_t *ages = ages_of(c, set);
	unsigned int way;

	for (way = 0; way < c->ways; way++)
		if (entry[way] != SIM_ENTRY_EMPTY && ages[way] == age)
			break;
	return way;
}

static void grow(const struct sim_cache *c, uint64_t set, unsigned int but)
{
	uint8_t *ages = ages_of(c, set);
	unsigned int way;

	for (way = 0; way < c->ways; way++)
		if (way != but && ages[way] < OLDEST)
			ages[way]++;
}

/* After each access some line shall have the age at which it may leave. */
static void update_ages(const struct sim_cache *c, uint64_t set, unsigned int used)
{
	const struct qlru *q = qlru_of(c);
	unsigned int round;

	for (round = 0; round < (q->by_one ? 1 : OLDEST); round++) {
		if (first_of_age(c, set, OLDEST) < c->ways)
			return;
		grow(c, set, q->spare ? used : c->ways);
	}
}

static void hit_qlru(const struct sim_cache *c, uint64_t set, unsigned int way)
{
	const struct qlru *q = qlru_of(c);
	uint8_t *age = &ages_of(c, set)[way];

	if (*age == 3)
		*age = q->from3;
	else
		*age = *age == 2 ? q->from2 : 0;
	update_ages(c, set, way);
}

/* A bit for each line that was used; when all would have it, the others lose it. */
static void hit_mru(const struct sim_cache *c, uint64_t set, unsigned int used)
{
	uint8_t *ages = ages_of(c, set);
	unsigned int way;

	ages[used] = 1;
	if (first_of_age(c, set, 0) < c->ways)
		return;
	for (way = 0; way < c->ways; way++)
		ages[way] = way == used;
}

void sim_replace_hit(struct sim_cache *c, uint64_t set, unsigned int way)
{
	if (c->tree)
		sim_tree_touch(&c->tree[set], c->ways, way);
	else if (c->age && qlru_of(c))
		hit_qlru(c, set, way);
	else if (c->age)
		hit_mru(c, set, way);
}

void sim_replace_fill(struct sim_cache *c, uint64_t set, unsigned int way)
{
	if (c->age && qlru_of(c)) {
		ages_of(c, set)[way] = qlru_of(c)->insert;
		update_ages(c, set, way);
		return;
	}
	sim_replace_hit(c, set, way);
}

static unsigned int tree_victim(uint32_t tree, unsigned int ways)
{
	unsigned int node = 1;

	while (node < ways)
		node = 2 * node + (tree >> node & 1);
	return node - ways;
}

static unsigned int random_way(struct sim_cache *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (c->random >> 32) % c->ways;
}

static unsigned int empty_way(const struct sim_cache *c, uint64_t set)
{
	const uint32_t *entry = sim_cache_entries(c, set);
	const bool rightmost = c->age && qlru_of(c) && qlru_of(c)->rightmost;
	unsigned int i, way;

	for (i = 0; i < c->ways; i++) {
		way = rightmost ? c->ways - 1 - i : i;
		if (entry[way] == SIM_ENTRY_EMPTY)
			return way;
	}
	return c->ways;
}

/* Lines that left otherwise may leave none of the age that is looked for: then the leftmost one. */
static unsigned int victim_by_age(const struct sim_cache *c, uint64_t set)
{
	const unsigned int way = first_of_age(c, set, qlru_of(c) ? OLDEST : 0);

	return way < c->ways ? way : 0;
}

unsigned int sim_replace_victim(struct sim_cache *c, uint64_t set)
{
	const unsigned int way = empty_way(c, set);

	if (way < c->ways)
		return way;
	if (c->tree)
		return tree_victim(c->tree[set], c->ways);
	return c->age ? victim_by_age(c, set) : random_way(c);
}

/* Each bit of the number takes part, as in the hashes found for Intel's L3 (Maurice et al., 2015). */
uint64_t sim_slice_of(const struct sim_cache *c, uint64_t line)
{
	const uint64_t sets = c->sets / c->slices, hash = line * 0x9e3779b97f4a7c15ull >> 32;

	return hash % c->slices * sets + line % sets;
}
