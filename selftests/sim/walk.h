/* SPDX-License-Identifier: GPL-2.0-only */
/* Walks that prefetchers act on, and how many lines each kind then has fetched: closed forms. */
#ifndef SELFTESTS_SIM_WALK_H
#define SELFTESTS_SIM_WALK_H

#include <string.h>

#include "machine.h"

#define PAGE	4096u

/* A prefetcher as a test expects it; @bit is the one of its register that turns it off. */
struct unit {
	unsigned int bit;
	enum sim_prefetch_kind kind;
	unsigned int level;
	unsigned int train;
	unsigned int degree;
	unsigned int distance;
	unsigned int entries;
};

static inline void walk_load(struct sim_cpu *cpu, uint64_t pc, uint64_t addr)
{
	sim_mem_from(cpu, pc);
	sim_mem_access(cpu, cpu->insns + 1, addr, addr, 8, SIM_LOAD);
}

/* One load in each of n lines, upward, or downward from the same address if @step is negative. */
static inline void walk_lines(struct sim_cpu *cpu, uint64_t addr, unsigned int n, int64_t step)
{
	for (; n; n--, addr += step)
		walk_load(cpu, 0x100, addr);
}

/* Lines that prefetchers brought in from farther out, into any level. */
static inline uint64_t walk_fetched(const struct sim_cpu *cpu)
{
	uint64_t sum = cpu->raw[RAW_HW_OUTER_CACHE] + cpu->raw[RAW_HW_OUTER_MEM];
	unsigned int i;

	for (i = 1; i < SIM_SOURCES; i++)
		sum += cpu->raw[RAW_FILL_HW + i];
	return sum;
}

static inline uint64_t walk_misses(const struct sim_cpu *cpu, unsigned int level)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = level; i < SIM_SOURCES; i++)
		sum += cpu->raw[RAW_LOAD + i];
	return sum;
}

/* Load, and tell which level had the line. */
static inline unsigned int walk_source(struct sim_cpu *cpu, uint64_t addr)
{
	uint64_t before[SIM_SOURCES];
	unsigned int i;

	memcpy(before, cpu->raw + RAW_LOAD, sizeof(before));
	walk_load(cpu, 0x200, addr);
	for (i = 0; i < SIM_SOURCES; i++)
		if (cpu->raw[RAW_LOAD + i] != before[i])
			break;
	return i;
}

static inline int64_t walk_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The last line fetched if the first fetch is made at access @first and each reaches @degree on. */
static inline int64_t walk_reach(int64_t first, int64_t n, int64_t lines, int64_t degree)
{
	const int64_t last = walk_least(lines - 1, n - 1 + degree);

	return n > first && last > first ? last - first : 0;
}

/* A stream goes on by its degree at each access, no farther ahead of it than its distance. */
static inline int64_t walk_ahead(const struct unit *u, int64_t n, int64_t lines)
{
	int64_t at, ahead = u->train;

	for (at = u->train; at < n; at++) {
		if (ahead < at)
			ahead = at;
		ahead = walk_least(walk_least(ahead + u->degree, at + u->distance), lines - 1);
	}
	return n > u->train ? ahead - u->train : 0;
}

/*
 * Lines that a prefetcher by itself has fetched after a walk of n lines of a page it has not seen,
 * of so many lines. A first step tells a direction; ip_stride and multipath compare steps.
 */
static inline int64_t walk_expected(const struct unit *u, int64_t n, int64_t lines)
{
	switch (u->kind) {
	case SIM_PREFETCH_NEXT_LINE:
		return walk_reach(u->train, n, lines, u->degree);
	case SIM_PREFETCH_ADJACENT:
		return (n + 1) / 2;
	case SIM_PREFETCH_STREAM:
		return walk_ahead(u, n, lines);
	case SIM_PREFETCH_IP_STRIDE:
		return walk_reach(u->train + 1, n, lines, u->degree);
	case SIM_PREFETCH_UP_DOWN:
		return walk_reach(u->train, n, lines, 1);
	case SIM_PREFETCH_MULTIPATH:
		return walk_reach(u->train + 2, n, lines, u->degree);
	case SIM_PREFETCH_NEXT_PAGE:
		return n + u->distance > lines ? u->degree : 0;
	default:
		return 0;
	}
}

#endif
