/* SPDX-License-Identifier: GPL-2.0-only */
/* Caches: any number of levels, private or shared, and what an access does to them. */
#ifndef SIMCPU_MEMSYS_H
#define SIMCPU_MEMSYS_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"
#include "core.h"
#include "model.h"

/**
 * struct sim_mem - a vCPU's way through the caches
 * @path: the instances, inner first
 * @levels: how many
 * @line_shift: binary logarithm of the line size
 * @shared: one of them is shared
 * @quick: level 1 is private and physically indexed: the short way may be taken
 * @quick_stride: level 1 is LRU besides, tracks no holders, and bits of the line number select the
 *		  set: entries to a set, else 0
 * @core: the core
 * @all: all caches of the machine
 * @combining: line in the write-combining buffer plus one, or 0
 * @masked: the core may not fill all ways of some shared level
 * @allowed: those that it may, by level, a bit each
 */
struct sim_mem {
	struct sim_cache *path[SIM_CACHES_MAX];
	unsigned int levels;
	unsigned int line_shift;
	bool shared;
	bool quick;
	unsigned int quick_stride;
	struct sim_core *core;
	struct sim_memsys *all;
	uint64_t combining;
	bool masked;
	uint64_t allowed[SIM_CACHES_MAX];
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

struct sim_cpu;

/* The same as sim_mem_fill() without taking any time. */
unsigned int sim_mem_bring(struct sim_cpu *cpu, uint64_t line, uint64_t vline, unsigned int level);

/**
 * sim_mem_fill - bring a line in for a hardware prefetcher
 * @cpu: the vCPU that trained it
 * @line: physical line number
 * @vline: virtual line number
 * @level: index of the innermost level to fill, 0 for level 1
 *
 * What that level or one inside it has already stays as it is, order of use included.
 *
 * Return: index of the level that had the line, or SIM_SOURCE_MEM.
 */
unsigned int sim_mem_fill(struct sim_cpu *cpu, uint64_t line, uint64_t vline, unsigned int level);

/* Give a vCPU its way through the caches. */
void sim_memsys_attach(struct sim_memsys *machine, const struct sim_model *model,
		       unsigned int index, struct sim_mem *mem);

#endif
