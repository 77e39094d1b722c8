/* SPDX-License-Identifier: GPL-2.0-only */
/* Translation of addresses: TLBs of a vCPU, the walk of the guest's page tables, their cost. */
#ifndef SIMCPU_TLB_H
#define SIMCPU_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

struct sim_cpu;

#define SIM_LEAVES	4096
#define SIM_PIECES	1024
#define SIM_WALK_CACHES	3

/**
 * struct sim_leaf - what the page tables say about a page, read once
 * @tag: its number and the generation in which it was read
 * @table: where the entries are of a piece of 2 MiB that is made of smaller pages
 * @way: where the array of level 1 had it last; nothing depends on its being right
 * @size: of the page
 * @order: binary logarithm of the pages of 4 KiB that one coalescing entry could hold
 * @global: a write to CR3 leaves it in the TLB
 */
struct sim_leaf {
	uint64_t tag;
	uint64_t table;
	unsigned int way;
	uint8_t size;
	uint8_t order;
	bool global;
};

/**
 * struct sim_tlb_entry - a translation
 * @tag: page number in units of what it spans, size and span above it, plus one; 0: empty
 * @used: when it was used last; 0: empty
 * @global: a write to CR3 leaves it
 */
struct sim_tlb_entry {
	uint64_t tag;
	uint64_t used;
	bool global;
};

/**
 * struct sim_tlb - an array of translations
 * @model: its description; NULL for a cache of upper page table entries
 * @entry: sets one after another
 * @sets: number of sets
 * @ways: entries to a set
 * @mask: sets minus one where that selects the set, else 0
 */
struct sim_tlb {
	const struct sim_tlb_model *model;
	struct sim_tlb_entry *entry;
	unsigned int sets;
	unsigned int ways;
	unsigned int mask;
};

/**
 * struct sim_mmu - translation of a vCPU
 * @on: the model has TLBs
 * @filled: something was looked up since it was emptied whole
 * @recent: number of the page used last plus one: nothing is younger in its set of level 1
 * @recent_shift: binary logarithm of that page's size
 * @clock: counts look-ups
 * @walk: costs of a walk
 * @tlbs: how many arrays there are
 * @tlb: they
 * @upper: caches of entries of upper tables: PDE, PDPTE, PML4E
 * @by_size: the array of a level that holds a size of page, NULL if none does
 * @beside: another array of level 2 that may hold a size too, NULL if there is none
 * @root: physical address of the top table
 * @depth: levels of tables, 4 or 5; 0: not known
 * @generation: of @leaf and @piece, a new one whenever the guest invalidates something
 * @leaf: pages of 4 KiB by the low bits of their number
 * @piece: pieces of 2 MiB likewise: a page or a part of one, or where the tables of pages are
 * @lone: a page of which the tables say nothing
 */
struct sim_mmu {
	bool on;
	bool filled;
	uint64_t recent;
	unsigned int recent_shift;
	uint64_t clock;
	const struct sim_walk_model *walk;
	unsigned int tlbs;
	struct sim_tlb tlb[SIM_TLBS_MAX];
	struct sim_tlb upper[SIM_WALK_CACHES];
	struct sim_tlb *by_size[2][SIM_PAGE_SIZES];
	struct sim_tlb *beside[SIM_PAGE_SIZES];
	uint64_t root;
	unsigned int depth;
	uint64_t generation;
	struct sim_leaf *leaf;
	struct sim_leaf *piece;
	struct sim_leaf lone;
};

/* Whether there was memory for it. */
bool sim_mmu_init(struct sim_mmu *mmu, const struct sim_model *model);
void sim_mmu_free(struct sim_mmu *mmu);

/* The rest of sim_mmu_translate(): the page is not that of the last access. */
unsigned int sim_mmu_look_up(struct sim_cpu *cpu, uint64_t vaddr, uint64_t paddr, bool write);

/* Cycles that translating an address takes beyond what a hit in level 1 takes anyway. */
static inline unsigned int sim_mmu_translate(struct sim_cpu *cpu, struct sim_mmu *mmu,
					     uint64_t vaddr, uint64_t paddr, bool write)
{
	if (!mmu->on || mmu->recent == (vaddr >> mmu->recent_shift) + 1)
		return 0;
	return sim_mmu_look_up(cpu, vaddr, paddr, write);
}

#endif
