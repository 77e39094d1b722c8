/* SPDX-License-Identifier: GPL-2.0-only */
/* A core's way through the caches, and what other cores take out of its own ones. */
#ifndef SIMCPU_CORE_H
#define SIMCPU_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache.h"
#include "raw.h"

/**
 * struct sim_core - a core's caches, and the lines that other cores took out of them
 * @path: the instances, inner first
 * @waiting: there are such lines
 * @busy: held while the list changes
 * @count: how many
 * @room: how many fit
 * @item: line number times 8, plus the number of levels it leaves
 */
struct sim_core {
	struct sim_cache *path[SIM_CACHES_MAX];
	atomic_bool waiting;
	atomic_flag busy;
	unsigned int count;
	unsigned int room;
	uint64_t *item;
};

void sim_spin_lock(atomic_flag *busy);
void sim_spin_unlock(atomic_flag *busy);

/* Take a line out of the levels below @levels. Return whether any copy was dirty. */
bool sim_core_remove(struct sim_cache *const *path, unsigned int levels, uint64_t line);

/* Have a core take a line out of its levels below @levels before its next access. */
void sim_core_send(struct sim_core *core, unsigned int levels, uint64_t line);

/* Do what others have sent. Return how many dirty lines were taken out. */
unsigned int sim_core_read(struct sim_core *core);

#endif
