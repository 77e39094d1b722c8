// SPDX-License-Identifier: GPL-2.0-only
/*
 * TLBs, filled by a walk of the guest's own page tables. What the tables say about a page is read
 * once and remembered, as a TLB may, until the guest invalidates something.
 */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define PTE_PRESENT	(1ull << 0)
#define PTE_LARGE	(1ull << 7)
#define PTE_GLOBAL	(1ull << 8)
#define PTE_FRAME	0x000ffffffffff000ull
#define TABLE_BITS	9
#define LEAF_GENERATION	(1ull << 52)

static const unsigned int size_shifts[SIM_PAGE_SIZES] = {
	[SIM_PAGE_4K] = 12,
	[SIM_PAGE_2M] = 21,
	[SIM_PAGE_1G] = 30,
};

static unsigned int log2_of(unsigned int n)
{
	return __builtin_ctz(n);
}

static bool read_table(const struct sim_cpu *cpu, uint64_t table, unsigned int index,
		       uint64_t *entry)
{
	const struct sim_memory *memory = &cpu->machine->memory;

	return memory->read_physical &&
	       memory->read_physical(memory->data, (table & PTE_FRAME) + 8 * index, entry);
}

/*
 * Are the neighbours of a page, up to so many in all, mapped to the frames beside its own, and do
 * both begin at a multiple of that number? Groups of 4 of one table, as AMD's guides have it.
 */
static bool coalesces(const struct sim_cpu *cpu, uint64_t table, uint64_t vaddr, uint64_t entry,
		      unsigned int most)
{
	const unsigned int index = vaddr >> 12 & ((1u << TABLE_BITS) - 1), first = index & -most;
	const uint64_t start = (entry & PTE_FRAME) - ((uint64_t)(index - first) << 12);
	unsigned int i;
	uint64_t other;

	if (start & (((uint64_t)most << 12) - 1))
		return false;
	for (i = 0; i < most; i++)
		if (!read_table(cpu, table, first + i, &other) || !(other & PTE_PRESENT) ||
		    (other & PTE_FRAME) != start + ((uint64_t)i << 12))
			return false;
	return true;
}

static unsigned int most_coalesced(const struct sim_mmu *mmu)
{
	unsigned int i, most = 1;

	for (i = 0; i < mmu->tlbs; i++)
		if (mmu->tlb[i].model->coalesce > most)
			most = mmu->tlb[i].model->coalesce;
	return most;
}

/* A present entry of a table of a depth, 1 for the last one. */
static bool read_entry(const struct sim_cpu *cpu, uint64_t table, unsigned int depth,
		       uint64_t vaddr, uint64_t *entry)
{
	const unsigned int shift = 12 + TABLE_BITS * (depth - 1);

	return read_table(cpu, table, vaddr >> shift & ((1u << TABLE_BITS) - 1), entry) &&
	       *entry & PTE_PRESENT;
}

/*
 * Walk the tables as the processor does (SDM volume 3, 4-level and 5-level paging), as far as the
 * last but one. False where they do not lead to the frame that was accessed: then the root is not
 * the right one.
 */
static bool walk_piece(const struct sim_cpu *cpu, uint64_t vaddr, uint64_t paddr,
		       struct sim_leaf *piece)
{
	const struct sim_mmu *mmu = &cpu->mmu;
	uint64_t entry = mmu->root;
	unsigned int depth;

	for (depth = mmu->depth; depth > 1; depth--) {
		if (!read_entry(cpu, entry, depth, vaddr, &entry))
			return false;
		if (depth <= SIM_PAGE_SIZES && entry & PTE_LARGE)
			break;
	}
	if (!depth)
		return false;
	piece->size = depth - 1;
	piece->global = entry & PTE_GLOBAL;
	piece->table = entry;
	return depth == 1 ||
	       (entry & PTE_FRAME) >> size_shifts[depth - 1] == paddr >> size_shifts[depth - 1];
}

/* The largest group of a page that can be one entry, as a power of two. */
static unsigned int order_of(const struct sim_cpu *cpu, uint64_t table, uint64_t vaddr,
			     uint64_t entry)
{
	unsigned int order = log2_of(most_coalesced(&cpu->mmu));

	while (order && !coalesces(cpu, table, vaddr, entry, 1u << order))
		order--;
	return order;
}

static bool walk_page(const struct sim_cpu *cpu, uint64_t table, uint64_t vaddr, uint64_t paddr,
		      struct sim_leaf *leaf)
{
	uint64_t entry;

	if (!read_entry(cpu, table, 1, vaddr, &entry) || (entry & PTE_FRAME) >> 12 != paddr >> 12)
		return false;
	leaf->size = SIM_PAGE_4K;
	leaf->global = entry & PTE_GLOBAL;
	leaf->order = order_of(cpu, table, vaddr, entry);
	return true;
}

/* Page number of a size, and when it was read. */
static uint64_t leaf_tag(const struct sim_mmu *mmu, uint64_t vaddr, unsigned int size)
{
	return vaddr << 12 >> 12 >> size_shifts[size] | mmu->generation;
}

/* What the tables say; without any each page is one of 4 KiB by itself. */
static struct sim_leaf *leaf_of(struct sim_cpu *cpu, uint64_t vaddr, uint64_t paddr)
{
	struct sim_mmu *mmu = &cpu->mmu;
	struct sim_leaf *piece = &mmu->piece[(vaddr >> 21) % SIM_PIECES];
	struct sim_leaf *leaf = &mmu->leaf[(vaddr >> 12) % SIM_LEAVES];
	uint64_t tag = leaf_tag(mmu, vaddr, SIM_PAGE_2M);

	if (piece->tag != tag) {
		piece->tag = 0;
		if (!walk_piece(cpu, vaddr, paddr, piece))
			return &mmu->lone;
		piece->tag = tag;
	}
	if (piece->size)
		return piece;
	tag = leaf_tag(mmu, vaddr, SIM_PAGE_4K);
	if (leaf->tag != tag) {
		leaf->tag = 0;
		if (!walk_page(cpu, piece->table, vaddr, paddr, leaf))
			return &mmu->lone;
		leaf->tag = tag;
	}
	return leaf;
}

/* A page of a size that no array holds is kept in pieces of a smaller one. */
static unsigned int kept_size(const struct sim_tlb *t, unsigned int size)
{
	while (size && !(t->model->pages >> size & 1))
		size--;
	return size;
}

/* Number of the page, or of the group of pages that an array keeps as one. */
static uint64_t make_tag(const struct sim_tlb *t, const struct sim_leaf *leaf, uint64_t vaddr)
{
	const unsigned int size = kept_size(t, leaf->size);
	const unsigned int own = log2_of(t->model->coalesce);
	/* each array has groups of its own size, or single pages */
	const unsigned int order = leaf->order >= own ? own : 0;
	const uint64_t number = vaddr << 8 >> 8 >> size_shifts[size];

	return ((number >> order) << 8 | size << 1 | (order > 0)) + 1;
}

static struct sim_tlb_entry *set_of(const struct sim_tlb *t, uint64_t tag)
{
	const uint64_t number = (tag - 1) >> 8;
	const uint64_t set = t->sets & t->mask ? number % t->sets : number & t->mask;

	return t->entry + set * t->ways;
}

static struct sim_tlb_entry *find(const struct sim_tlb *t, uint64_t tag)
{
	struct sim_tlb_entry *set = set_of(t, tag);
	unsigned int way;

	for (way = 0; way < t->ways; way++)
		if (set[way].tag == tag)
			return set + way;
	return NULL;
}

/* Whether it is there; then it counts as used. */
static bool touch(struct sim_mmu *mmu, struct sim_tlb *t, uint64_t tag)
{
	struct sim_tlb_entry *entry = find(t, tag);

	if (entry)
		entry->used = ++mmu->clock;
	return entry;
}

/* The way of a set that was used longest ago; an empty one was never used. */
static unsigned int oldest_of(const struct sim_tlb *t, const struct sim_tlb_entry *set)
{
	unsigned int way, oldest = 0;

	for (way = 1; way < t->ways; way++)
		if (set[way].used < set[oldest].used)
			oldest = way;
	return oldest;
}

/* In place of the oldest one. Return the way. */
static unsigned int insert(struct sim_mmu *mmu, struct sim_tlb *t, uint64_t tag, bool global)
{
	struct sim_tlb_entry *set = set_of(t, tag);
	const unsigned int oldest = oldest_of(t, set);

	set[oldest] = (struct sim_tlb_entry){ tag, ++mmu->clock, global };
	return oldest;
}

/*
 * Whether level 2 has it, in either of two arrays where both may; else it takes the place of the
 * oldest one of both sets.
 */
static bool touch_second(struct sim_mmu *mmu, const struct sim_leaf *leaf, uint64_t tag)
{
	struct sim_tlb *t = mmu->by_size[1][leaf->size], *beside = mmu->beside[leaf->size];
	struct sim_tlb_entry *set = set_of(t, tag), *other;

	if (touch(mmu, t, tag) || (beside && touch(mmu, beside, tag)))
		return true;
	if (beside) {
		other = set_of(beside, tag);
		if (other[oldest_of(beside, other)].used < set[oldest_of(t, set)].used)
			t = beside;
	}
	insert(mmu, t, tag, leaf->global);
	return false;
}

/* The same as touch() for level 1, where large fully associative arrays are: look there first. */
static bool touch_first(struct sim_mmu *mmu, struct sim_tlb *t, uint64_t tag,
			struct sim_leaf *leaf)
{
	struct sim_tlb_entry *set = set_of(t, tag), *entry = set + leaf->way;

	if (leaf->way >= t->ways || entry->tag != tag)
		entry = find(t, tag);
	if (!entry) {
		leaf->way = insert(mmu, t, tag, leaf->global);
		return false;
	}
	leaf->way = entry - set;
	entry->used = ++mmu->clock;
	return true;
}

/*
 * How many tables are read: from the one whose upper entry is cached, else from the top. The upper
 * tables' entries that were read are kept.
 */
static unsigned int table_reads(struct sim_mmu *mmu, const struct sim_leaf *leaf, uint64_t vaddr)
{
	unsigned int reads = 0, i;

	for (i = leaf->size; i < SIM_WALK_CACHES; i++) {
		struct sim_tlb *t = &mmu->upper[i];
		const uint64_t tag = ((vaddr << 8 >> 8 >> (12 + TABLE_BITS * (i + 1))) << 8) + 1;

		reads++;
		if (!t->ways)
			continue;
		if (touch(mmu, t, tag))
			return reads;
		insert(mmu, t, tag, false);
	}
	return reads + (mmu->depth == 5 ? 2 : 1);
}

unsigned int sim_mmu_look_up(struct sim_cpu *cpu, uint64_t vaddr, uint64_t paddr, bool write)
{
	struct sim_mmu *mmu = &cpu->mmu;
	struct sim_leaf *leaf = leaf_of(cpu, vaddr, paddr);
	struct sim_tlb *first = mmu->by_size[0][leaf->size], *second = mmu->by_size[1][leaf->size];
	unsigned int cycles;

	mmu->filled = true;
	mmu->recent_shift = size_shifts[kept_size(first, leaf->size)];
	mmu->recent = (vaddr >> mmu->recent_shift) + 1;
	if (touch_first(mmu, first, make_tag(first, leaf, vaddr), leaf))
		return 0;
	if (second && touch_second(mmu, leaf, make_tag(second, leaf, vaddr))) {
		cpu->raw[write ? RAW_STLB_STORE : RAW_STLB_LOAD]++;
		return second->model->penalty;
	}
	cpu->raw[write ? RAW_WALK_STORE : RAW_WALK_LOAD]++;
	cycles = table_reads(mmu, leaf, vaddr) * mmu->walk->read;
	return cycles + (second ? second->model->penalty : 0);
}

static void empty(struct sim_tlb *t, bool keep_global)
{
	unsigned int i;

	for (i = 0; i < t->sets * t->ways; i++)
		if (!keep_global || !t->entry[i].global)
			t->entry[i] = (struct sim_tlb_entry){ 0 };
}

/* Tables may have changed: read them again. */
static void forget_leaves(struct sim_mmu *mmu)
{
	mmu->recent = 0;
	mmu->generation += LEAF_GENERATION;
	if (mmu->generation)
		return;
	memset(mmu->leaf, 0, SIM_LEAVES * sizeof(*mmu->leaf));
	memset(mmu->piece, 0, SIM_PIECES * sizeof(*mmu->piece));
	mmu->generation = LEAF_GENERATION;
}

static void flush(struct sim_mmu *mmu, bool keep_global)
{
	unsigned int i;

	/* a kernel that boots flushes all the time, and no module has looked anything up yet */
	if (!mmu->filled)
		return;
	mmu->filled = keep_global;
	forget_leaves(mmu);
	for (i = 0; i < mmu->tlbs; i++)
		empty(&mmu->tlb[i], keep_global);
	for (i = 0; i < SIM_WALK_CACHES; i++)
		empty(&mmu->upper[i], false);
}

bool sim_tlb_filled(const struct sim_cpu *cpu)
{
	return cpu->mmu.filled;
}

void sim_tlb_flush(struct sim_cpu *cpu)
{
	flush(&cpu->mmu, false);
}

void sim_tlb_tables(struct sim_cpu *cpu, uint64_t root, unsigned int depth, bool keep)
{
	struct sim_mmu *mmu = &cpu->mmu;

	if (!mmu->on)
		return;
	mmu->root = root;
	mmu->depth = depth;
	if (keep)
		forget_leaves(mmu);
	else
		flush(mmu, true);
}

/* Drop the entries of each size and span that hold an address. */
static void drop(struct sim_tlb *t, uint64_t vaddr)
{
	const unsigned int orders[] = { 0, log2_of(t->model->coalesce) };
	struct sim_tlb_entry *entry;
	struct sim_leaf leaf;
	unsigned int i;

	for (i = 0; i < 2 * SIM_PAGE_SIZES; i++) {
		leaf.size = i / 2;
		leaf.order = orders[i % 2];
		entry = find(t, make_tag(t, &leaf, vaddr));
		if (entry)
			*entry = (struct sim_tlb_entry){ 0 };
	}
}

void sim_tlb_flush_page(struct sim_cpu *cpu, uint64_t vaddr)
{
	struct sim_mmu *mmu = &cpu->mmu;
	unsigned int i;

	if (!mmu->filled)
		return;
	forget_leaves(mmu);
	for (i = 0; i < mmu->tlbs; i++)
		drop(&mmu->tlb[i], vaddr);
	/* INVLPG empties the caches of upper entries whole (SDM volume 3, 4.10.4.1) */
	for (i = 0; i < SIM_WALK_CACHES; i++)
		empty(&mmu->upper[i], false);
}

static bool init_array(struct sim_tlb *t, unsigned int entries, unsigned int ways)
{
	t->ways = ways;
	t->sets = ways ? entries / ways : 0;
	t->mask = t->sets ? t->sets - 1 : 0;
	t->entry = calloc(entries ? entries : 1, sizeof(*t->entry));
	return t->entry;
}

/* A size that no array holds is kept in pieces of the next smaller one, as processors do. */
static void choose_arrays(struct sim_mmu *mmu)
{
	unsigned int i, size, level;

	for (i = 0; i < mmu->tlbs; i++) {
		const struct sim_tlb_model *m = mmu->tlb[i].model;

		for (size = 0; size < SIM_PAGE_SIZES; size++) {
			if (!(m->pages >> size & 1))
				continue;
			if (mmu->by_size[m->level - 1][size])
				mmu->beside[size] = &mmu->tlb[i];
			else
				mmu->by_size[m->level - 1][size] = &mmu->tlb[i];
		}
	}
	for (level = 0; level < 2; level++)
		for (size = 1; size < SIM_PAGE_SIZES; size++)
			if (!level && !mmu->by_size[level][size])
				mmu->by_size[level][size] = mmu->by_size[level][size - 1];
}

bool sim_mmu_init(struct sim_mmu *mmu, const struct sim_model *model)
{
	const unsigned int upper[SIM_WALK_CACHES] = { model->walk.pde, model->walk.pdpte,
						      model->walk.pml4e };
	unsigned int i;

	mmu->walk = &model->walk;
	mmu->generation = LEAF_GENERATION;
	if (!model->tlbs)
		return true;
	for (i = 0; i < model->tlbs; i++) {
		mmu->tlb[i].model = &model->tlb[i];
		mmu->tlbs++;
		if (!init_array(&mmu->tlb[i], model->tlb[i].entries, model->tlb[i].ways))
			return false;
	}
	for (i = 0; i < SIM_WALK_CACHES; i++)
		if (!init_array(&mmu->upper[i], upper[i], upper[i]))
			return false;
	mmu->leaf = calloc(SIM_LEAVES, sizeof(*mmu->leaf));
	mmu->piece = calloc(SIM_PIECES, sizeof(*mmu->piece));
	choose_arrays(mmu);
	mmu->on = mmu->leaf && mmu->piece;
	return mmu->on;
}

void sim_mmu_free(struct sim_mmu *mmu)
{
	unsigned int i;

	for (i = 0; i < mmu->tlbs; i++)
		free(mmu->tlb[i].entry);
	for (i = 0; i < SIM_WALK_CACHES; i++)
		free(mmu->upper[i].entry);
	free(mmu->leaf);
	free(mmu->piece);
}
