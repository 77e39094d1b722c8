// SPDX-License-Identifier: GPL-2.0-only
/* Searches a node for contiguous frames, first in the buddy allocator, then frame by frame. */
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/hugetlb.h>
#include <linux/math.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <asm/pgtable.h>

#include "compat.h"
#include "loops/random.h"
#include "range.h"

/* Frames that are looked at as one: 2 MiB, so that runs begin with a leaf. */
#define STEP_FRAMES (SZ_2M >> PAGE_SHIFT)

/* Frames given back, or steps looked at, between two chances for others to run. */
#define FRAMES_AT_ONCE	1024
#define STEPS_AT_ONCE	64

/*
 * Frames that alloc_contig_range() is asked for at once: it clears them all
 * (init_on_alloc) before others may run, and looks at no signal.
 */
#define FRAMES_AT_A_CALL (SZ_64M >> PAGE_SHIFT)

/* Blocks of the buddy allocator that may be mapped by other leaves. */
#define BLOCKS_MAX 16

/* Runs whose frames are moved away at most: each costs a copy of what is in use. */
#define MOVES_MAX 64

/* What a frame, or all of a step, is good for; a run takes what is below a limit. */
enum use {
	USE_FREE,
	USE_MOVABLE,
	USE_FIXED,
};

static bool stopped(const struct calm_range_spec *spec)
{
	return spec->stop && calm_is_stopped(spec->stop);
}

static bool is_mapped_by(unsigned long pfn, unsigned int level)
{
	unsigned int found;

	return level == PG_LEVEL_NONE ||
	       (lookup_address((unsigned long)__va(PFN_PHYS(pfn)), &found) && found == level);
}

static unsigned long leaf_frames(unsigned int level)
{
	return level == PG_LEVEL_NONE ? 1 : page_level_size(level) >> PAGE_SHIFT;
}

/* Whether a run from there on lies in as few leaves as can hold it. */
static bool is_snug(const struct calm_range_spec *spec, unsigned long first)
{
	unsigned long leaf = leaf_frames(spec->level);
	unsigned long leaves = (first + spec->frames - 1) / leaf - first / leaf + 1;

	return leaves == DIV_ROUND_UP(spec->frames, leaf);
}

/* Node and zone that kernel memory comes from. ZONE_DMA is left to those who need it. */
static bool is_ours(const struct page *page, int node)
{
	return page_to_nid(page) == node && page_zonenum(page) <= ZONE_NORMAL &&
	       !calm_in_zone_dma(page);
}

/*
 * A guess without locks, as compaction makes it: who allocates the run finds
 * out. Sets @frames to the frames that it holds for.
 */
static enum use use_of_frame(struct page *page, int node, unsigned long *frames)
{
	*frames = 1;
	if (!is_ours(page, node) || PageReserved(page) || PageHuge(page))
		return USE_FIXED;
	if (PageBuddy(page)) {
		*frames = 1UL << min_t(unsigned long, page_private(page), get_order(SZ_2M));
		return USE_FREE;
	}
	if (!page_count(page))	/* free on some CPU's list, or a part of what comes before */
		return USE_FREE;
	return PageLRU(compound_head(page)) ? USE_MOVABLE : USE_FIXED;
}

static enum use use_of_step(const struct calm_range_spec *spec, unsigned long pfn)
{
	enum use use = USE_FREE;
	unsigned long i, frames;

	/* A section of memory, 128 MiB, is online as a whole. */
	if (!pfn_to_online_page(pfn) || !is_mapped_by(pfn, spec->level))
		return USE_FIXED;
	for (i = 0; i < STEP_FRAMES && use != USE_FIXED; i += frames)
		use = max(use, use_of_frame(pfn_to_page(pfn + i), spec->node, &frames));
	return use;
}

/**
 * struct search - one way through a part of a node
 * @spec: what is wanted
 * @snug: in as few leaves as can hold it
 * @limit: worst use that is taken
 * @tries: runs that may still be tried
 * @first: where the run in hand begins
 */
struct search {
	const struct calm_range_spec *spec;
	bool snug;
	enum use limit;
	unsigned int tries;
	unsigned long first;
};

/* The allocator wants a run of one zone. */
static bool is_one_zone(const struct calm_range_spec *spec, unsigned long first)
{
	return page_zonenum(pfn_to_page(first)) ==
	       page_zonenum(pfn_to_page(first + spec->frames - 1));
}

/* All of the run in hand, or nothing. */
static int alloc_run(const struct calm_range_spec *spec, unsigned long first)
{
	unsigned long part, nr = 0;
	int err = 0;

	while (!err && nr < spec->frames) {
		part = min_t(unsigned long, spec->frames - nr, FRAMES_AT_A_CALL);
		cond_resched();
		err = stopped(spec) ? -ECANCELED :
			calm_alloc_contig_range(first + nr, first + nr + part);
		if (!err)
			nr += part;
	}
	if (err)
		calm_range_put(first, nr);
	return err;
}

/* Tries the run in hand, or moves its start on. */
static bool take_run(struct search *search)
{
	const struct calm_range_spec *spec = search->spec;
	unsigned long part = round_down(spec->frames / 8, STEP_FRAMES);

	if ((search->snug && !is_snug(spec, search->first)) || !is_one_zone(spec, search->first)) {
		search->first += STEP_FRAMES;
		return false;
	}
	if (!alloc_run(spec, search->first))
		return true;
	search->tries--;
	search->first += max_t(unsigned long, part, STEP_FRAMES);
	return false;
}

static int search_between(struct search *search, unsigned long from, unsigned long to)
{
	const struct calm_range_spec *spec = search->spec;
	unsigned long pfn, steps = 0;

	search->first = from;
	for (pfn = from; pfn < to && search->tries; pfn += STEP_FRAMES) {
		if (++steps % STEPS_AT_ONCE == 0)
			cond_resched();
		if (stopped(spec))
			return -ECANCELED;
		if (use_of_step(spec, pfn) > search->limit)
			search->first = pfn + STEP_FRAMES;
		else if (pfn + STEP_FRAMES >= search->first + spec->frames && take_run(search))
			return 0;
	}
	return -ENOSPC;
}

/* Begins somewhere in the node and comes round to there. */
static int search_node(const struct calm_range_spec *spec, bool snug, enum use limit,
		       unsigned long *first)
{
	struct search search = { .spec = spec, .snug = snug, .limit = limit, .tries = MOVES_MAX };
	unsigned long start = round_up(node_start_pfn(spec->node), STEP_FRAMES);
	unsigned long end = round_down(node_end_pfn(spec->node), STEP_FRAMES);
	u64 random = spec->seed;
	unsigned long middle;
	int err;

	if (end <= start || spec->frames > end - start)
		return -ENOSPC;
	middle = start + calm_random_below(&random, (end - start) / STEP_FRAMES) * STEP_FRAMES;
	err = search_between(&search, middle, end);
	if (err == -ENOSPC)
		err = search_between(&search, start,
				     min(end, middle + round_up(spec->frames, STEP_FRAMES)));
	*first = search.first;
	return err;
}

static void put_blocks(struct page **blocks, unsigned int nr, unsigned int order)
{
	while (nr)
		__free_pages(blocks[--nr], order);
}

/* A block that need not be searched for. Those that do not fit are kept till the end. */
static int get_block(const struct calm_range_spec *spec, unsigned long *first)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN;
	unsigned int order = get_order(spec->frames << PAGE_SHIFT), nr = 0;
	struct page *blocks[BLOCKS_MAX], *page = NULL;

	while (nr < BLOCKS_MAX) {
		page = alloc_pages_node(spec->node, gfp, order);
		if (!page || is_mapped_by(page_to_pfn(page), spec->level))
			break;
		blocks[nr++] = page;
		page = NULL;
	}
	put_blocks(blocks, nr, order);
	if (!page)
		return -ENOSPC;
	split_page(page, order);
	*first = page_to_pfn(page);
	calm_range_put(*first + spec->frames, (1UL << order) - spec->frames);
	return 0;
}

int calm_range_get(const struct calm_range_spec *spec, unsigned long *first)
{
	static const struct {
		bool snug;
		enum use limit;
	} searches[] = {
		{ true, USE_FREE }, { true, USE_MOVABLE },
		{ false, USE_FREE }, { false, USE_MOVABLE },
	};
	int i, err = -ENOSPC;

	if (spec->frames <= MAX_ORDER_NR_PAGES)
		err = get_block(spec, first);
	for (i = 0; i < ARRAY_SIZE(searches) && err == -ENOSPC; i++)
		err = search_node(spec, searches[i].snug, searches[i].limit, first);
	return err;
}

void calm_range_put(unsigned long first, unsigned long frames)
{
	unsigned long i;

	for (i = 0; i < frames; i++) {
		__free_page(pfn_to_page(first + i));
		if (i % FRAMES_AT_ONCE == 0)
			cond_resched();
	}
}

bool calm_range_has_level(int node, unsigned int level)
{
	unsigned long frames = leaf_frames(level);
	unsigned long pfn = round_down(node_start_pfn(node), frames);

	for (; pfn < node_end_pfn(node); pfn += frames)
		if (pfn_to_online_page(pfn) && page_to_nid(pfn_to_page(pfn)) == node &&
		    is_mapped_by(pfn, level))
			return true;
	return false;
}
