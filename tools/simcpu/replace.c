// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacement where lines keep their places: tree-PLRU, bit-MRU, random and QLRU. LRU and FIFO are
 * the order of a set's entries (cache.h).
 */
#include <stddef.h>

#include "cache.h"

#define OLDEST	3

/* QLRU_H11_M1_R0_U0 (Abel and Reineke, 2020): a hit makes 1 of ages 3 and 2, 0 of others. */
#define AGE_AFTER_HIT	1
#define AGE_INSERTED	1

static bool is_qlru(const struct sim_cache *c)
{
	return c->model->replace == SIM_QLRU_H11_M1_R0_U0;
}

static uint8_t *ages_of(const struct sim_cache *c, uint64_t set)
{
	return c->age + set * c->stride;
}

/* The first way of an age, from the left; the number of ways if none has it. */
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

/* After each access some line shall have the age at which it may leave: all grow until one has. */
static void update_ages(const struct sim_cache *c, uint64_t set)
{
	uint8_t *ages = ages_of(c, set);
	unsigned int round, way;

	for (round = 0; round < OLDEST; round++) {
		if (first_of_age(c, set, OLDEST) < c->ways)
			return;
		for (way = 0; way < c->ways; way++)
			ages[way]++;
	}
}

static void hit_qlru(const struct sim_cache *c, uint64_t set, unsigned int way)
{
	uint8_t *age = &ages_of(c, set)[way];

	*age = *age >= 2 ? AGE_AFTER_HIT : 0;
	update_ages(c, set);
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
	else if (c->age && is_qlru(c))
		hit_qlru(c, set, way);
	else if (c->age)
		hit_mru(c, set, way);
}

void sim_replace_fill(struct sim_cache *c, uint64_t set, unsigned int way)
{
	if (c->age && is_qlru(c)) {
		ages_of(c, set)[way] = AGE_INSERTED;
		update_ages(c, set);
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
	unsigned int way;

	for (way = 0; way < c->ways; way++)
		if (entry[way] == SIM_ENTRY_EMPTY)
			break;
	return way;
}

/* Lines that left otherwise may leave none of the age that is looked for: then the leftmost one. */
static unsigned int victim_by_age(const struct sim_cache *c, uint64_t set)
{
	const unsigned int way = first_of_age(c, set, is_qlru(c) ? OLDEST : 0);

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

/* Each bit takes part, as in the hashes found for Intel's L3 (Maurice et al., 2015). */
uint64_t sim_slice_of(const struct sim_cache *c, uint64_t line)
{
	const uint64_t sets = c->sets / c->slices, hash = line * 0x9e3779b97f4a7c15ull >> 32;

	return hash % c->slices * sets + line % sets;
}
