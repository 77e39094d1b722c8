/* SPDX-License-Identifier: GPL-2.0-only */
/* Caches: any number of levels, private or shared, and what an access does to them. */
#ifndef SIMCPU_MEMSYS_H
#define SIMCPU_MEMSYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "raw.h"

/*
 * An entry is a line number above flags. Entries of an LRU set stand in the order of their last
 * use, so that the one used last is looked at first and no age need be stored.
 */
#define SIM_ENTRY_SHIFT		24
#define SIM_ENTRY_EMPTY		UINT64_MAX
#define SIM_ENTRY_DIRTY		1ull
#define SIM_ENTRY_HOLDER	8
#define SIM_ENTRY_HOLDERS	16

struct sim_cpu;

/**
 * struct sim_cache - one instance of a cache
 * @entry: ways times sets
 * @tree: tree-PLRU bits by set, node 1 is the root; NULL for LRU
 * @ways: lines to a set
 * @mask: sets minus one where that selects the set, else 0
 * @sets: number of sets
 * @model: its description
 * @shared: more than one vCPU uses it
 * @busy: held by the vCPU that looks into it, if it is shared
 */
struct sim_cache {
	uint64_t *entry;
	uint32_t *tree;
	unsigned int ways;
	uint64_t mask;
	uint64_t sets;
	const struct sim_cache_model *model;
	bool shared;
	atomic_flag busy;
};

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

/**
 * struct sim_mem - a vCPU's way through the caches
 * @path: the instances, inner first
 * @levels: how many
 * @line_shift: binary logarithm of the line size
 * @quick: level 1 is private and physically indexed: the short way may be taken
 * @core: the core
 * @all: all caches of the machine
 * @combining: line in the write-combining buffer plus one, or 0
 */
struct sim_mem {
	struct sim_cache *path[SIM_CACHES_MAX];
	unsigned int levels;
	unsigned int line_shift;
	bool quick;
	struct sim_core *core;
	struct sim_memsys *all;
	uint64_t combining;
};

/**
 * struct sim_memsys - all caches of a machine
 * @levels: how many
 * @instances: instances by level
 * @cache: all of them by level
 * @cores: how many
 * @core: the cores
 */
struct sim_memsys {
	unsigned int levels;
	unsigned int instances[SIM_CACHES_MAX];
	struct sim_cache *cache[SIM_CACHES_MAX];
	unsigned int cores;
	struct sim_core *core;
};

struct sim_memsys *sim_memsys_new(const struct sim_model *model, unsigned int cpus);
void sim_memsys_free(struct sim_memsys *mem);

/* Give a vCPU its way through the caches. */
void sim_memsys_attach(struct sim_memsys *machine, const struct sim_model *model,
		       unsigned int index, struct sim_mem *mem);

#endif
