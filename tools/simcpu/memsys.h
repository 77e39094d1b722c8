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
 * use, so no age need be stored and a set of 16 ways fills one line of the host.
 */
#define SIM_ENTRY_SHIFT	2
#define SIM_ENTRY_EMPTY	UINT32_MAX
#define SIM_ENTRY_DIRTY	1u

/* Lines that can be told apart; the last one would look like an empty entry. */
#define SIM_LINES_MAX	((1ull << (32 - SIM_ENTRY_SHIFT)) - 1)

/* Entries are handled four at a time, by SSE2, which each x86-64 host has. */
#define SIM_ENTRY_GROUP	4

struct sim_cpu;

/**
 * struct sim_cache - one instance of a cache
 * @entry: @stride for each set; one group more in front, so that reading before a set is harmless
 * @holder: for a shared inclusive cache, the cores in which an entry's line may be, a bit each;
 *	    cores 16 apart share one
 * @tree: tree-PLRU bits by set, node 1 is the root; NULL for LRU
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
 * @shared: one of them is shared
 * @quick: level 1 is private and physically indexed: the short way may be taken
 * @core: the core
 * @all: all caches of the machine
 * @combining: line in the write-combining buffer plus one, or 0
 */
struct sim_mem {
	struct sim_cache *path[SIM_CACHES_MAX];
	unsigned int levels;
	unsigned int line_shift;
	bool shared;
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
