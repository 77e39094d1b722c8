// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacement where lines keep their places: tree-PLRU, bit-MRU, random and QLRU, and LRU and FIFO
 * where masks speak of ways; else these are the order of a set's entries (cache.h). MRU and QLRU
 * are what nanoBench's simulator takes them for (Abel and Reineke, 2020).
 */
#include <stddef.h>

#include "cache.h"

/* The state of an entry begins at 0, which is age 3 of QLRU: the youth is kept, 3 less the age. */
#define YOUNGEST	3

/**
 * struct qlru - a variant QLRU_Hxx_Mx_Rx_Ux
 * @hit: Hxx: youth after a hit, by the youth before it
 * @miss: Mx: youth of a new line
 * @last_empty: R2: the last empty place is filled first, not the first one
 * @spare: U1: the line that was used does not age with the others
 * @by_one: U2: if none is old, all age by 1, not until one is old
 * @on_miss: UMO: lines age only before a victim is chosen
 */
struct qlru {
	uint8_t hit[YOUNGEST + 1];
	uint8_t miss;
	bool last_empty;
	bool spare;
	bool by_one;
	bool on_miss;
};

static const struct qlru variants[] = {
	[SIM_QLRU_H11_M1_R0_U0 - SIM_QLRU_FIRST] = { { 2, 2, 3, 3 }, 2, .spare = false },
	[SIM_QLRU_H00_M1_R0_U1 - SIM_QLRU_FIRST] = { { 3, 3, 3, 3 }, 2, .spare = true },
	[SIM_QLRU_H00_M1_R2_U1 - SIM_QLRU_FIRST] = { { 3, 3, 3, 3 }, 2, .spare = true,
						     .last_empty = true },
	[SIM_QLRU_H11_M1_R1_U2 - SIM_QLRU_FIRST] = { { 2, 2, 3, 3 }, 2, .by_one = true },
	[SIM_QLRU_H00_M2_R0_U0_UMO - SIM_QLRU_FIRST] = { { 3, 3, 3, 3 }, 1, .on_miss = true },
};

/* NULL for bit-MRU. */
static const struct qlru *variant_of(const struct sim_cache *c)
{
	const unsigned int replace = c->model->replace;

	return replace >= SIM_QLRU_FIRST ? &variants[replace - SIM_QLRU_FIRST] : NULL;
}

static bool may_fill(const struct sim_cache *c, unsigned int way)
{
	return c->allowed >> way & 1;
}

static uint8_t *states_of(const struct sim_cache *c, uint64_t set)
{
	return c->age + set * c->stride;
}

/* The first way of a state, empty or not; the number of ways if none has it. */
static unsigned int first_of_state(const struct sim_cache *c, const uint8_t *state,
				   unsigned int wanted)
{
	unsigned int way;

	for (way = 0; way < c->ways; way++)
		if (state[way] == wanted)
			break;
	return way;
}

/* Lines age until one has the age at which it may leave. @used is the way of an access, or none. */
static void let_age(const struct sim_cache *c, uint8_t *youth, unsigned int used)
{
	const struct qlru *q = variant_of(c);
	unsigned int way, step = YOUNGEST;

	if (!q->spare)
		used = c->ways;
	for (way = 0; way < c->ways; way++)
		if (way != used && youth[way] < step)
			step = youth[way];
	if (q->by_one && step)
		step = 1;
	for (way = 0; way < c->ways; way++)
		if (way != used)
			youth[way] -= step;
}

static void set_youth(const struct sim_cache *c, uint64_t set, unsigned int way, unsigned int youth)
{
	states_of(c, set)[way] = youth;
	if (!variant_of(c)->on_miss)
		let_age(c, states_of(c, set), way);
}

static void hit_qlru(const struct sim_cache *c, uint64_t set, unsigned int way)
{
	set_youth(c, set, way, variant_of(c)->hit[states_of(c, set)[way]]);
}

/* A bit for each line that was used; when all would have it, the others lose it. */
static void hit_mru(const struct sim_cache *c, uint64_t set, unsigned int used)
{
	uint8_t *state = states_of(c, set);
	unsigned int way;

	state[used] = 1;
	if (first_of_state(c, state, 0) < c->ways)
		return;
	for (way = 0; way < c->ways; way++)
		state[way] = way == used;
}

/* How many lines were used, or came, after a way's; a set begins with its first way in front. */
static unsigned int rank_of(const uint8_t *state, unsigned int way)
{
	return state[way] ^ way;
}

static void bring_to_front(const struct sim_cache *c, uint64_t set, unsigned int used)
{
	uint8_t *state = states_of(c, set);
	const unsigned int before = rank_of(state, used);
	unsigned int way;

	for (way = 0; way < c->ways; way++)
		if (rank_of(state, way) < before)
			state[way] = (rank_of(state, way) + 1) ^ way;
	state[used] = used;
}

void sim_replace_hit(struct sim_cache *c, uint64_t set, unsigned int way)
{
	if (c->tree)
		sim_tree_touch(&c->tree[set], c->ways, way);
	else if (c->ranked && c->model->replace == SIM_LRU)
		bring_to_front(c, set, way);
	else if (c->ranked)
		return;
	else if (c->age && variant_of(c))
		hit_qlru(c, set, way);
	else if (c->age)
		hit_mru(c, set, way);
}

void sim_replace_fill(struct sim_cache *c, uint64_t set, unsigned int way)
{
	if (c->ranked)
		bring_to_front(c, set, way);
	else if (c->age && variant_of(c))
		set_youth(c, set, way, variant_of(c)->miss);
	else
		sim_replace_hit(c, set, way);
}

/* Where the tree points, but for halves in which no way may be filled. */
static unsigned int tree_victim(const struct sim_cache *c, uint32_t tree)
{
	unsigned int node = 1, first = 0, half;
	bool right;

	for (half = c->ways / 2; half; half /= 2) {
		right = tree >> node & 1;
		if (!(c->allowed >> (first + right * half) & sim_all_ways(half)))
			right = !right;
		first += right * half;
		node = 2 * node + right;
	}
	return first;
}

static unsigned int nth_allowed(const struct sim_cache *c, unsigned int n)
{
	uint64_t left = c->allowed;

	for (; n; n--)
		left &= left - 1;
	return __builtin_ctzll(left);
}

static unsigned int random_way(struct sim_cache *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return nth_allowed(c, (c->random >> 32) % __builtin_popcountll(c->allowed));
}

/* The first empty way, or the last one if that is filled first; the number of ways if none is. */
static unsigned int empty_way(const struct sim_cache *c, uint64_t set)
{
	const bool last = c->age && variant_of(c) && variant_of(c)->last_empty;
	const uint32_t *entry = sim_cache_entries(c, set);
	unsigned int way, found = c->ways;

	for (way = 0; way < c->ways; way++)
		if (entry[way] == SIM_ENTRY_EMPTY && may_fill(c, way) && (found == c->ways || last))
			found = way;
	return found;
}

/* Where some ways alone may be filled, and none of them may leave, they age until one does. */
static void let_allowed_age(const struct sim_cache *c, uint8_t *state)
{
	unsigned int way, step = UINT8_MAX;

	for (way = 0; way < c->ways; way++)
		if (may_fill(c, way) && state[way] < step)
			step = state[way];
	for (way = 0; way < c->ways; way++)
		if (may_fill(c, way))
			state[way] -= step;
}

/* The first one that may leave, or R1's: the first of all. */
static unsigned int victim_by_state(const struct sim_cache *c, uint64_t set)
{
	uint8_t *state = states_of(c, set);
	unsigned int way;

	if (c->allowed != sim_all_ways(c->ways))
		let_allowed_age(c, state);
	for (way = 0; way < c->ways; way++)
		if (!state[way] && may_fill(c, way))
			return way;
	return 0;
}

static unsigned int last_ranked(const struct sim_cache *c, uint64_t set)
{
	const uint8_t *state = states_of(c, set);
	unsigned int way, last = nth_allowed(c, 0);

	for (way = last + 1; way < c->ways; way++)
		if (may_fill(c, way) && rank_of(state, way) > rank_of(state, last))
			last = way;
	return last;
}

unsigned int sim_replace_victim(struct sim_cache *c, uint64_t set)
{
	unsigned int way;

	if (c->age && !c->ranked && variant_of(c) && variant_of(c)->on_miss)
		let_age(c, states_of(c, set), c->ways);
	way = empty_way(c, set);
	if (way < c->ways)
		return way;
	if (c->tree)
		return tree_victim(c, c->tree[set]);
	if (c->ranked)
		return last_ranked(c, set);
	return c->age ? victim_by_state(c, set) : random_way(c);
}

/* Each bit takes part, as in the hashes found for Intel's L3 (Maurice et al., 2015). */
uint64_t sim_slice_of(const struct sim_cache *c, uint64_t line)
{
	const uint64_t sets = c->sets / c->slices, hash = line * 0x9e3779b97f4a7c15ull >> 32;

	return hash % c->slices * sets + line % sets;
}
