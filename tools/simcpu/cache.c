// SPDX-License-Identifier: GPL-2.0-only
/* One instance of a cache: what is not on the short way of each access. */
#include <stdlib.h>
#include <string.h>

#include "cache.h"

void sim_shift_holders(struct sim_cache *c, uint64_t set, unsigned int way, uint16_t first)
{
	uint16_t *holder = sim_cache_holders(c, set);

	memmove(holder + 1, holder, way * sizeof(*holder));
	holder[0] = first;
}

struct sim_gone sim_cache_place_by_state(struct sim_cache *c, uint64_t set, struct sim_gone new)
{
	uint32_t *entry = sim_cache_entries(c, set);
	const unsigned int way = sim_replace_victim(c, set);
	struct sim_gone old = { 0, 0 };

	old.entry = entry[way];
	entry[way] = new.entry;
	sim_replace_fill(c, set, way);
	if (c->holder) {
		old.holders = sim_cache_holders(c, set)[way];
		sim_cache_holders(c, set)[way] = new.holders;
	}
	return old;
}

static uint32_t remove_from(struct sim_cache *c, uint64_t set, uint64_t line)
{
	uint32_t *entry = sim_cache_entries(c, set), old;
	const unsigned int way = sim_cache_find(c, entry, line), behind = c->ways - 1 - way;

	if (way == SIM_NO_WAY)
		return SIM_ENTRY_EMPTY;
	old = entry[way];
	if (!c->ordered) {
		entry[way] = SIM_ENTRY_EMPTY;
		return old;
	}
	memmove(entry + way, entry + way + 1, behind * sizeof(*entry));
	entry[c->ways - 1] = SIM_ENTRY_EMPTY;
	if (c->holder)
		memmove(sim_cache_holders(c, set) + way, sim_cache_holders(c, set) + way + 1,
			behind * sizeof(*c->holder));
	return old;
}

/*
 * A virtually indexed cache may hold a physical line in any set that agrees in the bits of the
 * page offset. The number of sets to a page is that of the lines to a page.
 */
static uint32_t remove_any_set(struct sim_cache *c, uint64_t line)
{
	const uint64_t page = 4096 / c->model->line;
	uint64_t set;
	uint32_t old;

	for (set = line % page & (c->sets - 1); set < c->sets; set += page) {
		old = remove_from(c, set, line);
		if (old != SIM_ENTRY_EMPTY)
			return old;
	}
	return SIM_ENTRY_EMPTY;
}

uint32_t sim_cache_remove(struct sim_cache *c, uint64_t line)
{
	if (c->by_virtual)
		return remove_any_set(c, line);
	return remove_from(c, sim_cache_set(c, line), line);
}

/* Sets start on a line of the host; the group in front of the first one is a line too. */
#define HOST_LINE	64

static uint32_t *new_entries(uint64_t entries)
{
	const size_t bytes = (entries * sizeof(uint32_t) + HOST_LINE - 1) / HOST_LINE * HOST_LINE;
	char *room = aligned_alloc(HOST_LINE, HOST_LINE + bytes);

	if (!room)
		return NULL;
	memset(room, 0xff, HOST_LINE + bytes);
	return (uint32_t *)(room + HOST_LINE);
}

void sim_cache_free(struct sim_cache *c)
{
	if (c->entry)
		free((char *)c->entry - HOST_LINE);
	free(c->holder);
	free(c->tree);
	free(c->age);
}

static void copy_model(struct sim_cache *c, const struct sim_cache_model *model)
{
	c->model = model;
	c->ways = model->ways;
	c->stride = (model->ways + SIM_ENTRY_GROUP - 1) / SIM_ENTRY_GROUP * SIM_ENTRY_GROUP;
	c->sets = model->sets;
	c->mask = model->sets & (model->sets - 1) ? 0 : model->sets - 1;
	c->inclusion = model->inclusion;
	c->slices = model->slices;
	c->ranked = model->masked && (model->replace == SIM_LRU || model->replace == SIM_FIFO);
	c->allowed = sim_all_ways(c->ways);
	c->ordered = !c->ranked && (model->replace == SIM_LRU || model->replace == SIM_FIFO);
	c->quick = !c->ranked && model->replace == SIM_LRU;
	c->random = 0x9e3779b97f4a7c15ull * model->seed;
	c->by_virtual = model->index == SIM_INDEX_VIRTUAL;
}

bool sim_cache_init(struct sim_cache *c, const struct sim_cache_model *model, bool shared)
{
	copy_model(c, model);
	c->shared = shared;
	atomic_flag_clear(&c->busy);
	c->entry = new_entries(c->sets * c->stride);
	if (!c->entry)
		return false;
	if (shared && model->inclusion == SIM_INCLUSIVE) {
		c->holder = calloc(c->sets * c->stride, sizeof(*c->holder));
		if (!c->holder)
			return false;
	}
	if (c->ordered || model->replace == SIM_RANDOM)
		return true;
	if (model->replace != SIM_PLRU) {
		c->age = calloc(c->sets * c->stride, sizeof(*c->age));
		return c->age;
	}
	c->tree = calloc(model->sets, sizeof(*c->tree));
	return c->tree;
}
