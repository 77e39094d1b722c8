// SPDX-License-Identifier: GPL-2.0-only
/* Translation buffers: which pair of layouts to chase next, and what follows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "derive/conflict.h"
#include "derive/layout.h"
#include "stats.h"
#include "tlb.h"
#include "util.h"

#define ELEMENT_BYTES 8ULL
#define LINE_USUAL    64ULL

/* A set of a first level that has one page too many: 5 of 65 loads take 5 cycles longer. */
#define EXTRA_LEAST   0.2

/* Of spread lines, misses more than packed ones have: a tenth of a cycle where each costs ten. */
#define EVEN_SHARE    0.01

/* Misses of a level for each load where pages conflict: known counts are below a hundredth else. */
#define COUNTED_LEAST 0.03

/* What a walk adds to the penalty of the second level, at least. */
#define WALK_LEAST    1.0
#define WALK_SHARE    0.15

#define FIRST_MOST    512
#define SECOND_MOST   32768ULL

/* Times as many lines as a cache holds, of which it keeps next to none, whatever its policy. */
#define CROWD	      3

/* Less than could be had a moment ago: what is not to be had would end the work. */
#define MEMORY_PARTS  8
#define MEMORY_USED   5

/* Lines side by side that take so much less time than fewer of them are prefetched. */
#define SAVED_SHARE   0.02

/* Sets of a second level are a power of two, or that times 3, and few of its entries. */
#define START_PART    32
#define WAYS_MOST     64

/* Members so many that more of them than ways meet, should they do so in as many as 3 sets. */
#define RANGE_PART    128

/**
 * struct kind - a size of pages
 * @pages: enum calm_pages
 * @bytes: of a page
 * @start: distance at which the search of the first level begins, pages
 */
static const struct kind {
	uint32_t pages;
	uint64_t bytes;
	uint64_t start;
} kinds[] = {
	{ CALM_PAGES_4K, 4096, 16 },
	{ CALM_PAGES_4K_CONTIG, 4096, 16 },
	/* as little memory as will do */
	{ CALM_PAGES_2M, 2 << 20, 1 },
	{ CALM_PAGES_1G, 1 << 30, 1 },
};

/**
 * struct search - a search with one size of pages
 * @points: what was measured
 * @n_points: how many
 * @wanted: the pair that is missing
 * @machine: what measures
 * @kind: the size
 * @pages: enum calm_pages of the buffers
 * @line_bytes: line of the first cache
 * @even_lines: spread lines up to which none can miss the first cache that would hit it packed
 * @cache_lines: spread lines that the first cache holds
 * @first: level that members are to miss, each a block of its pages; NULL: a page is a member
 * @limit: extra time above which pages conflict
 * @hit: extra time of pages that the level has
 * @event: misses of the level
 * @most_pages: pages that a buffer may have
 */
struct search {
	const struct calm_measured *points;
	size_t n_points;
	struct calm_tlb_pair *wanted;
	const struct calm_machine *machine;
	const struct kind *kind;
	uint32_t pages;
	uint64_t line_bytes;
	uint64_t even_lines;
	uint64_t cache_lines;
	const struct calm_tlb *first;
	double limit;
	double hit;
	const char *event;
	uint64_t most_pages;
};

/*
 * The least block with which each set of the first level that is used at all has too many pages:
 * whole rounds of its sets, or any number where all members meet in the same of them.
 */
static uint64_t least_block(const struct calm_tlb *first, uint64_t distance, uint64_t members)
{
	if (members > first->ways && distance % first->sets == 0)
		return 1;
	return first->sets * (first->ways / members + 1);
}

/*
 * So many pages in all: twice what the first level holds, whichever way it replaces them. But what
 * misses the first cache, in one layout more often than in the other, would be taken for
 * translation. Not so many where the first cache holds all that miss the first level at least, and
 * what else is read; where it does not, so many that nearly all lines miss it in either layout.
 */
static uint64_t fitting_pages(const struct search *search, uint64_t twice, uint64_t least)
{
	const uint64_t room = search->cache_lines;

	if (least > room)
		return calm_larger(twice, CROWD * room);
	return calm_smaller(twice, calm_larger(least, room - room / 4));
}

/* Pages of a member. */
static uint64_t block_of(const struct search *search, uint64_t distance, uint64_t members)
{
	uint64_t twice, least, block;

	if (!search->first)
		return 1;
	twice = 2 * search->first->entries / members + 1;
	least = least_block(search->first, distance, members);
	block = fitting_pages(search, twice * members, least * members) / members;
	return calm_smaller(block, distance);
}

/* Lines one a page, at the page's lines in turn, so that they fill the first cache evenly. */
static void make_pair(const struct search *search, uint64_t distance, uint64_t members,
		      struct calm_tlb_pair *pair)
{
	uint64_t block = block_of(search, distance, members);

	*pair = (struct calm_tlb_pair){ .pages = search->pages };
	pair->layouts[0] = (struct calm_layout){
		.name = "spread",
		.lines = members * block,
		.block = block,
		.stride_bytes = distance * search->kind->bytes,
		.step_bytes = search->kind->bytes,
		.places = search->kind->bytes / search->line_bytes,
		.place_bytes = search->line_bytes,
	};
	pair->layouts[1] = (struct calm_layout){
		.name = "packed",
		.lines = members * block,
		.block = 1,
		.stride_bytes = search->line_bytes,
		.step_bytes = ELEMENT_BYTES,
		.places = 1,
		.place_bytes = ELEMENT_BYTES,
	};
}

/* The first point of a pair, or NULL. The second one is behind it. */
static const struct calm_measured *find_pair(const struct search *search,
					     const struct calm_tlb_pair *pair)
{
	const struct calm_measured *points = search->points;
	size_t i, left = search->n_points;

	for (i = 0; i + 1 < search->n_points; i++) {
		const struct calm_measured *spread =
			calm_layout_find(points + i, left - i, &pair->layouts[0]);

		if (!spread)
			return NULL;
		i = (size_t)(spread - points);
		if (spread->point.pages == pair->pages && i + 1 < search->n_points &&
		    points[i + 1].layout == 1)
			return spread;
	}
	return NULL;
}

/* Median over rounds of what the first point takes longer than the second, TSC ticks. */
static bool median_difference(const struct calm_measured *pair, double *difference)
{
	const struct calm_result *spread = &pair[0].result, *packed = &pair[1].result;
	size_t room = spread->n_samples + packed->n_samples + 1, i, j, n, n_spread, n_packed;
	uint32_t *rounds = calm_alloc(2 * room, sizeof(*rounds));
	double *values = calm_alloc(2 * room, sizeof(*values));

	n_spread = calm_stats_rounds(spread, rounds, values);
	n_packed = calm_stats_rounds(packed, rounds + room, values + room);
	for (i = 0, n = 0; i < n_spread; i++)
		for (j = 0; j < n_packed; j++)
			if (rounds[i] == rounds[room + j])
				values[n++] = values[i] - values[room + j];
	if (n)
		*difference = calm_stats_median(values, n);
	free(rounds);
	free(values);
	return n;
}

/*
 * Ticks that prefetchers save lines side by side: more of them can take less time in no other way.
 * Lines a page apart have no such help.
 */
static double saved_ticks(const struct search *search, const struct calm_measured *packed)
{
	double now = packed->stats.tsc_per_access.median, most = now;
	size_t i;

	for (i = 0; i < search->n_points; i++) {
		const struct calm_measured *other = &search->points[i];

		if (other->layout == 1 && other->point.pages == packed->point.pages &&
		    other->stats.tsc_per_access.valid &&
		    other->point.layouts[1].lines < packed->point.layouts[1].lines &&
		    other->stats.tsc_per_access.median > most)
			most = other->stats.tsc_per_access.median;
	}
	return most > now * (1 + SAVED_SHARE) ? most - now : 0;
}

/* What a load takes longer on its own page, core cycles where they are known, else TSC ticks. */
static int extra(const struct search *search, uint64_t distance, uint64_t members, double *cycles)
{
	const struct calm_measured *pair;
	struct calm_tlb_pair wanted;

	make_pair(search, distance, members, &wanted);
	pair = find_pair(search, &wanted);
	if (!pair) {
		*search->wanted = wanted;
		return -EAGAIN;
	}
	if (pair[0].stats.refused || pair[1].stats.refused || !median_difference(pair, cycles))
		return -ENODATA;
	*cycles -= saved_ticks(search, &pair[1]);
	if (pair[0].stats.clock_source)
		*cycles *= pair[0].stats.core_per_tsc;
	return 0;
}

/*
 * Whether the first cache serves the spread lines as it does the packed ones. Prefetchers may help
 * either.
 */
static bool is_even(const struct search *search, const struct calm_measured *pair)
{
	const bool quiet = search->machine->prefetch_off;
	double spread, packed;

	if (quiet && pair[0].point.layouts[0].lines <= search->even_lines)
		return true;
	return calm_layout_rate(&pair[0], CALM_TLB_EVENT, &spread) &&
	       calm_layout_rate(&pair[1], CALM_TLB_EVENT, &packed) &&
	       spread <= packed + EVEN_SHARE && (quiet || packed <= spread + EVEN_SHARE);
}

/* That much longer, if nothing but translation can be the reason. */
static int extra_of_pages(const struct search *search, uint64_t distance, uint64_t members,
			  double *cycles)
{
	struct calm_tlb_pair pair;
	int err = extra(search, distance, members, cycles);

	if (err)
		return err;
	make_pair(search, distance, members, &pair);
	return is_even(search, find_pair(search, &pair)) ? 0 : -EDOM;
}

/* Misses of the level for each load of spread lines. */
static int count_misses(const struct search *search, uint64_t distance, uint64_t members,
			double *rate)
{
	struct calm_tlb_pair pair;

	make_pair(search, distance, members, &pair);
	return calm_layout_rate(find_pair(search, &pair), search->event, rate) ? 0 : -EPERM;
}

/*
 * Lines that prefetchers bring for one layout and not for the other make a difference of time, but
 * no misses of translations: a conflict shows in both. Where misses take no more time than hits
 * nothing is known.
 */
static int confirm(const struct search *search, uint64_t distance, uint64_t members, double cycles)
{
	double rate;
	int err = count_misses(search, distance, members, &rate);

	if (err || rate <= COUNTED_LEAST)
		return err;
	return cycles > search->hit + rate * WALK_LEAST ? 1 : -EBUSY;
}

/* Whether pages conflict; more than memory has are taken not to. */
static int ask(void *arg, uint64_t distance, uint64_t members)
{
	const struct search *search = arg;
	double cycles;
	int err;

	if (distance * members > search->most_pages)
		return 0;
	err = extra(search, distance, members, &cycles);
	if (err)
		return err;
	if (!search->machine->prefetch_off)
		return confirm(search, distance, members, cycles);
	if (cycles <= search->limit)
		return 0;
	err = extra_of_pages(search, distance, members, &cycles);
	return err ? err : 1;
}

static int search_level(struct search *search, uint64_t start, uint64_t most, struct calm_tlb *tlb)
{
	struct calm_conflict conflict = {
		.ask = ask, .arg = search, .start = start, .least = 1, .most = most, .factor = 3,
		.small_first = true,
	};
	int err;

	/* two pages at a distance are the least that a question has */
	if (2 * start > search->most_pages)
		return -ENOSPC;
	err = calm_conflict_search(&conflict);
	if (err)
		return err;
	tlb->ways = conflict.ways;
	tlb->sets = conflict.sets;
	tlb->entries = conflict.ways * conflict.sets;
	return 0;
}

/* So many neighbouring pages that each load misses the first level. */
static uint64_t missing_pages(const struct search *search, const struct calm_tlb *first)
{
	return fitting_pages(search, 2 * first->entries, first->entries + first->sets);
}

static int find_penalty(struct search *search, struct calm_tlb *first, double *penalty)
{
	uint64_t pages = missing_pages(search, first);
	int err;

	if (pages > search->most_pages)
		return -ENOMEM;
	err = extra_of_pages(search, 1, pages, penalty);
	if (err)
		return err;
	first->has_penalty = true;
	first->penalty_cycles = *penalty;
	return 0;
}

static int find_first(struct search *search, struct calm_tlb *first, double *penalty)
{
	int err;

	search->first = NULL;
	search->limit = EXTRA_LEAST;
	search->hit = 0;
	search->event = CALM_TLB_FIRST_EVENT;
	err = search_level(search, search->kind->start, FIRST_MOST, first);
	if (!err)
		err = find_penalty(search, first, penalty);
	return err;
}

/* By count, a second level holds what does not fit the first one. */
static int check_second(struct search *search, const struct calm_tlb *first)
{
	double rate;
	int err;

	if (search->machine->prefetch_off)
		return 0;
	err = count_misses(search, 1, missing_pages(search, first), &rate);
	return !err && rate > COUNTED_LEAST ? -ENOENT : err;
}

static uint64_t power_of_two(uint64_t least)
{
	uint64_t number = 1;

	while (number < least)
		number *= 2;
	return number;
}

/*
 * How many pages the second level cannot hold, doubled until they do not fit. Few members at a
 * distance meet in its sets as all pages between them would; but a line in each of these might not
 * fit the caches, where some lose more of them than others, by their frames.
 */
static int find_range(struct search *search, uint64_t *high)
{
	int conflict = 0, unclear = 0;
	uint64_t distance;

	while (!conflict) {
		*high *= 2;
		if (*high > SECOND_MOST)
			return unclear ? unclear : -ERANGE;
		if (*high > search->most_pages)
			return unclear ? unclear : -ENOMEM;
		distance = power_of_two(*high / RANGE_PART);
		conflict = ask(search, distance, *high / distance);
		/* where few of them miss, something else may hide that: of more pages more do */
		if (conflict == -EBUSY) {
			unclear = conflict;
			conflict = 0;
		}
	}
	return conflict < 0 ? conflict : 0;
}

/*
 * What conflicts may be the upper tables' entries that a walk remembers: those are conflicts of
 * regions, whatever page of a region it is. In an array members do not conflict whose sets are
 * others.
 */
static int check_array(struct search *search, const struct calm_tlb *second)
{
	uint64_t members = second->ways + 1;
	int conflict;

	if (second->sets == 1)
		return 0;
	conflict = ask(search, second->sets + block_of(search, second->sets, members), members);
	if (conflict < 0)
		return conflict;
	return conflict ? -ERANGE : 0;
}

/* Times of members that just fit the second level, and of one more: better than those before. */
static int find_times(struct search *search, struct calm_tlb *first, struct calm_tlb *second)
{
	double hit, miss;
	int err;

	err = extra_of_pages(search, second->sets, second->ways, &hit);
	if (!err)
		err = extra_of_pages(search, second->sets, second->ways + 1, &miss);
	if (err)
		return err;
	first->penalty_cycles = hit;
	second->has_penalty = true;
	second->penalty_cycles = miss - hit;
	return 0;
}

/* Members are blocks of pages, of which the first level cannot hold as many as the second can. */
static int find_second(struct search *search, struct calm_tlb *first, double penalty,
		       struct calm_tlb *second)
{
	double walk = WALK_SHARE * penalty;
	uint64_t high = 2 * first->entries;
	int err;

	search->event = CALM_TLB_SECOND_EVENT;
	err = check_second(search, first);
	if (err)
		return err;
	search->first = first;
	search->limit = penalty + (walk > WALK_LEAST ? walk : WALK_LEAST);
	search->hit = penalty;
	/*
	 * so many pages that some miss have sets of which as many miss; if not, it was another
	 * reason
	 */
	do {
		err = find_range(search, &high);
		if (err)
			return err;
		err = search_level(search, power_of_two(high / START_PART), WAYS_MOST, second);
	} while (err == -ERANGE);
	if (!err)
		err = check_array(search, second);
	if (!err)
		err = find_times(search, first, second);
	if (err)
		second->entries = 0;
	return err;
}

/*
 * Neighbouring frames that one entry holds. Where there is one, a page more in each set does not
 * fit. An entry of several is used several times a lap, so that nearly all of a few too many still
 * hit: the conflict shows where there are twice as many entries as fit.
 */
static int find_coalescing(struct search *search, struct calm_tlb *first)
{
	uint64_t times, members;
	int conflict;

	search->pages = CALM_PAGES_4K_CONTIG;
	search->first = NULL;
	search->limit = EXTRA_LEAST;
	search->hit = 0;
	search->event = CALM_TLB_FIRST_EVENT;
	for (times = 1; times <= 32; times *= 2) {
		members = times * (first->entries + first->sets);
		if (members > search->most_pages)
			break;
		conflict = ask(search, 1, members);
		if (conflict < 0)
			return conflict;
		if (conflict) {
			first->coalescing = times > 1 ? times / 2 : 1;
			break;
		}
	}
	return 0;
}

static const char *reason_of(int err)
{
	switch (err) {
	case -EAGAIN:
		return "a pair that it needs was not measured";
	case -ENOENT:
		return "what misses the first level is walked for, by count";
	case -EPERM:
		return "prefetchers are on, or may be, and misses of translations, which would "
		       "tell, are not counted: give --prefetch off";
	case -EBUSY:
		return "prefetchers are on, or may be, and what times tell is not what counts do: "
		       "give --prefetch off";
	case -EDOM:
		return "lines of pages may conflict in the first cache, which " CALM_TLB_EVENT
		       " tells, or do";
	case -ENOMEM:
		return "it has more entries than there is memory for";
	case -ENOSPC:
		return "there is memory for too few such pages to try any";
	case -ERANGE:
		return "no number of pages that was tried conflicts";
	default:
		return "a measurement has no value";
	}
}

static struct calm_tlb *add_tlb(struct calm_derived *derived, const char *name, uint32_t pages)
{
	struct calm_tlb *tlb = &derived->tlbs[derived->n_tlbs++];

	*tlb = (struct calm_tlb){ .name = name, .pages = pages };
	return tlb;
}

static int search_kind(struct search *search, struct calm_derived *derived, bool all)
{
	struct calm_tlb *first = add_tlb(derived, "L1 dTLB", search->pages), *second;
	double penalty;
	int err;

	err = find_first(search, first, &penalty);
	if (err) {
		first->reason = reason_of(err);
		return err;
	}
	second = add_tlb(derived, "L2 TLB", search->pages);
	err = find_second(search, first, penalty, second);
	if (err)
		second->reason = reason_of(err);
	if (err != -EAGAIN && all && search->pages == CALM_PAGES_4K)
		err = find_coalescing(search, first);
	return err;
}

/* Without a choice: single frames of 4 KiB, with a look at neighbouring ones, and 2 MiB. */
static bool is_chosen(const struct kind *kind, uint32_t pages)
{
	if (pages)
		return kind->pages == pages;
	return kind->pages == CALM_PAGES_4K || kind->pages == CALM_PAGES_2M;
}

/*
 * Lines at a page's places in turn fill the sets evenly where a page is a multiple of a way, as
 * those side by side do. Elsewhere the frame decides among several sets: in the worst case all
 * lines that have the choice meet in one.
 */
static uint64_t even_lines(const struct search *search, const struct calm_cache *first)
{
	uint64_t way_bytes = first->ways ? first->size_bytes / first->ways : 0;
	uint64_t part;

	if (!way_bytes || search->kind->bytes % way_bytes == 0)
		return UINT64_MAX;
	/* what both are multiples of: a page is a power of two */
	part = way_bytes & -way_bytes;
	if (part > search->kind->bytes)
		part = search->kind->bytes;
	return part / search->line_bytes * first->ways;
}

bool calm_derive_tlbs(const struct calm_measured *points, size_t n_points,
		      const struct calm_machine *machine, uint32_t pages,
		      struct calm_derived *derived, struct calm_tlb_pair *wanted)
{
	struct search search = {
		.points = points, .n_points = n_points, .wanted = wanted, .machine = machine,
		.line_bytes = machine->n_caches && machine->caches[0].line_bytes ?
			machine->caches[0].line_bytes : LINE_USUAL,
	};
	int err = 0;
	size_t i;

	memset(derived, 0, sizeof(*derived));
	for (i = 0; i < CALM_ARRAY_SIZE(kinds) && err != -EAGAIN; i++) {
		if (!is_chosen(&kinds[i], pages))
			continue;
		search.kind = &kinds[i];
		search.pages = kinds[i].pages;
		search.even_lines = machine->n_caches ?
			even_lines(&search, &machine->caches[0]) : UINT64_MAX;
		search.cache_lines = machine->n_caches ?
			calm_smaller(machine->caches[0].size_bytes / search.line_bytes,
				     search.even_lines) : UINT64_MAX;
		search.most_pages =
			machine->max_bytes / MEMORY_PARTS * MEMORY_USED / kinds[i].bytes;
		err = search_kind(&search, derived, !pages);
	}
	return err == -EAGAIN;
}
