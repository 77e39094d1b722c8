// SPDX-License-Identifier: GPL-2.0-only
/*
 * A core's caches are looked into by its own vCPUs alone, without a lock. What another core takes
 * out of them is put into a list, which the core reads before its next access.
 */
#include <sched.h>
#include <stdlib.h>

#include "core.h"

void sim_spin_lock(atomic_flag *busy)
{
	unsigned int tries = 0;

	while (atomic_flag_test_and_set_explicit(busy, memory_order_acquire))
		if (++tries % 64 == 0)
			sched_yield();
}

void sim_spin_unlock(atomic_flag *busy)
{
	atomic_flag_clear_explicit(busy, memory_order_release);
}

bool sim_core_remove(struct sim_cache *const *path, unsigned int levels, uint64_t line)
{
	bool dirty = false;
	unsigned int i;

	for (i = 0; i < levels; i++)
		dirty |= sim_entry_dirty(sim_cache_remove(path[i], line));
	return dirty;
}

static int compare_items(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A core that does not run collects the same lines again and again: keep each once. */
static void unique_items(struct sim_core *core)
{
	unsigned int from, to = 0;

	qsort(core->item, core->count, sizeof(*core->item), compare_items);
	for (from = 0; from < core->count; from++)
		if (!to || core->item[to - 1] != core->item[from])
			core->item[to++] = core->item[from];
	core->count = to;
}

static void make_room(struct sim_core *core)
{
	unsigned int room = core->room ? 2 * core->room : 64;

	if (core->count)
		unique_items(core);
	if (core->count < core->room / 2)
		return;
	core->item = realloc(core->item, room * sizeof(*core->item));
	if (!core->item)
		abort();
	core->room = room;
}

void sim_core_send(struct sim_core *core, unsigned int levels, uint64_t line)
{
	sim_spin_lock(&core->busy);
	if (core->count == core->room)
		make_room(core);
	core->item[core->count++] = line * 8 + levels;
	atomic_store_explicit(&core->waiting, true, memory_order_relaxed);
	sim_spin_unlock(&core->busy);
}

unsigned int sim_core_read(struct sim_core *core)
{
	unsigned int i, dirty = 0;

	sim_spin_lock(&core->busy);
	for (i = 0; i < core->count; i++)
		dirty += sim_core_remove(core->path, core->item[i] % 8, core->item[i] / 8);
	core->count = 0;
	atomic_store_explicit(&core->waiting, false, memory_order_relaxed);
	sim_spin_unlock(&core->busy);
	return dirty;
}
