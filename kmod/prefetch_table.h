/* SPDX-License-Identifier: GPL-2.0-only */
/* Which hardware prefetchers a CPU has, and the register bits that switch them; a row each. */
#ifndef CALM_PREFETCH_TABLE_H
#define CALM_PREFETCH_TABLE_H

#include <linux/types.h>

/* Registers that the switches of one CPU are spread over. */
#define CALM_PREFETCH_MSRS_MAX	3

/**
 * struct calm_prefetch_name - a name that several processors share
 * @name: as users and the wire know it
 * @kind: what makes it fetch
 */
struct calm_prefetch_name {
	const char *name;
	const char *kind;
};

/**
 * struct calm_prefetcher - a prefetcher of a CPU
 * @id: its place among the names
 * @msr: register with its switch
 * @bit: the switch
 * @set_is_on: the bit turns it on when set; else off
 * @undocumented: the maker has not described it
 * @source: where it is described
 */
struct calm_prefetcher {
	u8 id;
	u32 msr;
	u8 bit;
	bool set_is_on;
	bool undocumented;
	const char *source;
};

/**
 * struct calm_prefetch_set - the prefetchers of a kind of CPU
 * @scope: enum calm_scope of their registers
 * @cpuid_leaf: they are there if a bit of EAX of this leaf is set; 0: always
 * @cpuid_bit: that bit
 * @nr: how many
 * @rows: the prefetchers
 */
struct calm_prefetch_set {
	u8 scope;
	u32 cpuid_leaf;
	u8 cpuid_bit;
	u8 nr;
	const struct calm_prefetcher *rows;
};

extern const struct calm_prefetch_set calm_prefetch_core2;
extern const struct calm_prefetch_set calm_prefetch_intel;
extern const struct calm_prefetch_set calm_prefetch_intel_amp;
extern const struct calm_prefetch_set calm_prefetch_granite_rapids;
extern const struct calm_prefetch_set calm_prefetch_knights;
extern const struct calm_prefetch_set calm_prefetch_silvermont;
extern const struct calm_prefetch_set calm_prefetch_tremont;
extern const struct calm_prefetch_set calm_prefetch_gracemont;
extern const struct calm_prefetch_set calm_prefetch_crestmont;
extern const struct calm_prefetch_set calm_prefetch_zen1;
extern const struct calm_prefetch_set calm_prefetch_zen3;

/**
 * calm_prefetch_name() - a name of the table
 * @id: its place, as in struct calm_prefetcher
 *
 * Return: the name, or NULL behind the last one.
 */
const struct calm_prefetch_name *calm_prefetch_name(unsigned int id);

#endif
