// SPDX-License-Identifier: GPL-2.0-only
/* The pairs that are asked for tell the entries, ways and penalties of translations known here. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "derive/layout.h"
#include "derive/tlb.h"
#include "util.h"

#define M	   (1ULL << 20)
#define POINTS_MAX 512
#define PAGES_MAX  65536
#define LOADS	   1000
#define ROUNDS	   3

/* What an access to a cache takes, TSC ticks; a tick is half a cycle. */
#define HIT_TICKS  2

/* What prefetchers save of that: more than the least that a walk is taken to cost. */
#define SAVED_TICKS 1.5

/**
 * struct array - translations by the remainder of the page's number, LRU
 * @sets: 0: there is none
 * @ways: of a set
 */
struct array {
	uint64_t sets;
	uint64_t ways;
};

/**
 * struct saving - what prefetchers do for lines side by side
 * @from: from so many of them on; 0: nothing
 * @to: up to this number
 * @beyond: ticks that as many lines, wherever they are, take longer: a cache has no room for them;
 *	below 0: ticks that those side by side take longer alone, as they meet in it
 */
struct saving {
	uint64_t from;
	uint64_t to;
	double beyond;
};

/**
 * struct machine - translations for pages of any size
 * @first: level 1
 * @second: level 2
 * @penalty: cycles of a hit in level 2
 * @walk: cycles of a table that a walk reads
 * @regions: tables of 512 pages that a walk finds without reading a second one
 * @coalesce: pages over neighbouring frames that are one to an entry of level 1
 * @saving: by prefetchers
 */
struct machine {
	struct array first;
	struct array second;
	double penalty;
	double walk;
	uint64_t regions;
	uint64_t coalesce;
	struct saving saving;
};

/*
 * Which of some numbers are in a set that has too many. What several pages of a lap share is found
 * again half a lap later, so that half as many again as fit still do.
 */
static void miss(const struct array *array, const uint64_t *number, const bool *asked, bool *missed,
		 uint64_t n)
{
	static uint32_t count[PAGES_MAX];
	bool shared = false;
	uint64_t i, most;

	memset(count, 0, sizeof(count));
	for (i = 0; i < n; i++) {
		if (asked[i] && (!i || number[i] != number[i - 1]) && array->sets)
			count[number[i] % array->sets]++;
		shared |= i && number[i] == number[i - 1];
	}
	most = shared ? array->ways * 3 / 2 : array->ways;
	for (i = 0; i < n; i++)
		missed[i] = asked[i] &&
			    (!array->sets || count[number[i] % array->sets] > most);
}

/* Misses of an access in each level. */
struct misses {
	double first;
	double second;
};

/* Mean of what translation adds to an access, cycles. */
static double translation(const struct machine *machine, const struct calm_layout *layout,
			  uint64_t page_bytes, bool neighbours, struct misses *misses)
{
	static uint64_t page[PAGES_MAX], group[PAGES_MAX], region[PAGES_MAX];
	static bool all[PAGES_MAX], first[PAGES_MAX], second[PAGES_MAX], upper[PAGES_MAX];
	const struct array regions = { machine->regions ? 1 : 0, machine->regions };
	uint64_t i, n = layout->lines, in_group = neighbours ? machine->coalesce : 1;
	double sum = 0;

	for (i = 0; i < n; i++) {
		uint64_t offset = i / layout->block * layout->stride_bytes +
				  i % layout->block * layout->step_bytes;

		page[i] = offset / page_bytes;
		group[i] = page[i] / in_group;
		region[i] = page[i] / 512;
		all[i] = true;
	}
	miss(&machine->first, group, all, first, n);
	miss(&machine->second, page, first, second, n);
	miss(&regions, region, second, upper, n);
	*misses = (struct misses){ 0, 0 };
	for (i = 0; i < n; i++) {
		sum += (first[i] && machine->second.sets ? machine->penalty : 0) +
		       (second[i] ? machine->walk : 0) + (upper[i] ? machine->walk : 0);
		misses->first += first[i] / (double)n;
		misses->second += second[i] / (double)n;
	}
	return sum / (double)n;
}

/* Which of the search's events count something here. */
enum counts {
	NONE,
	CACHE,
	ALL,
	WITHOUT_WALKS,
};

static void count(const char *name, double rate, struct calm_measured *point)
{
	static struct calm_event events[] = {
		{ .name = "l1-miss" }, { .name = "dtlb-miss" }, { .name = "walks" },
	};
	struct calm_counted *counted = &point->counted[point->n_counted++];
	size_t i;

	for (i = 0; strcmp(events[i].name, name); i++)
		;
	counted->event = &events[i];
	counted->per_access.valid = true;
	counted->per_access.median = rate;
}

static void count_all(enum counts counts, const struct misses *misses, double missed,
		      struct calm_measured *point)
{
	point->counted = calloc(3, sizeof(*point->counted));
	if (counts != NONE)
		count("l1-miss", missed, point);
	if (counts == ALL || counts == WITHOUT_WALKS)
		count("dtlb-miss", misses->first, point);
	if (counts == ALL)
		count("walks", misses->second, point);
}

static void measure(const struct machine *machine, const struct calm_tlb_pair *pair,
		    uint32_t layout, enum counts counts, struct calm_measured *point)
{
	const bool huge = pair->pages == CALM_PAGES_2M;
	const struct saving *saving = &machine->saving;
	const uint64_t lines = pair->layouts[layout].lines;
	double cycles = 0, hit = HIT_TICKS, missed = 0;
	struct misses misses = { 0, 0 };
	uint32_t i;

	memset(point, 0, sizeof(*point));
	point->point.pages = pair->pages;
	point->point.layouts[0] = pair->layouts[0];
	point->point.layouts[1] = pair->layouts[1];
	point->point.n_layouts = 2;
	point->layout = layout;
	point->stats.clock_source = "fixed";
	point->stats.core_per_tsc = 2;
	if (!layout)
		cycles = translation(machine, &pair->layouts[0], huge ? 2 * M : 4096,
				     pair->pages == CALM_PAGES_4K_CONTIG, &misses);
	if (saving->from && lines >= saving->from) {
		missed = layout && lines <= saving->to ? 0.1 : 1;
		if (saving->beyond >= 0)
			hit += saving->beyond;
		if (layout && lines <= saving->to)
			hit -= saving->beyond < 0 ? saving->beyond : SAVED_TICKS;
	}
	count_all(counts, &misses, missed, point);
	point->stats.tsc_per_access.valid = true;
	point->stats.tsc_per_access.median = hit;
	point->result.effective.loads = LOADS;
	point->result.samples = calloc(ROUNDS, sizeof(*point->result.samples));
	point->result.n_samples = ROUNDS;
	/* rounds differ by more than translation adds, but in both layouts alike */
	for (i = 0; i < ROUNDS; i++) {
		struct calm_sample *sample = &point->result.samples[i];

		sample->index = i;
		sample->round = i;
		sample->windows = 1;
		sample->tsc = (int64_t)(LOADS * (hit + 20 * i + cycles / 2) + 0.5);
	}
}

static void release(struct calm_measured *point)
{
	free(point->result.samples);
	free(point->counted);
}

static size_t explore_all(const struct machine *machine, const struct calm_machine *outside,
			  uint32_t pages, enum counts counts, struct calm_derived *derived)
{
	struct calm_measured *points = calloc(POINTS_MAX, sizeof(*points));
	struct calm_tlb_pair wanted;
	size_t n = 0, i;

	while (n < POINTS_MAX &&
	       calm_derive_tlbs(points, n, outside, pages, derived, &wanted)) {
		measure(machine, &wanted, 0, counts, &points[n++]);
		measure(machine, &wanted, 1, counts, &points[n++]);
	}
	for (i = 0; i < n; i++)
		release(&points[i]);
	free(points);
	return n;
}

static size_t explore_with(const struct machine *machine, const struct calm_cache *cache,
			   uint64_t max_bytes, uint32_t pages, struct calm_derived *derived)
{
	const struct calm_machine outside = {
		.max_bytes = max_bytes,
		.caches[0] = *cache,
		.n_caches = 1,
		.prefetch_off = true,
	};

	return explore_all(machine, &outside, pages, NONE, derived);
}

static size_t explore(const struct machine *machine, uint64_t max_bytes, uint32_t pages,
		      struct calm_derived *derived)
{
	const struct calm_cache usual = { "L1d", 32768, 64, 8, "" };

	return explore_with(machine, &usual, max_bytes, pages, derived);
}

static const struct {
	int line;
	struct machine machine;
} rows[] = {
	{ __LINE__, { { 1, 72 }, { 384, 8 }, 7, 9, 64, 1, { 0 } } },
	{ __LINE__, { { 16, 6 }, { 128, 16 }, 7, 8, 32, 1, { 0 } } },
	{ __LINE__, { { 16, 4 }, { 128, 8 }, 5, 8, 32, 4, { 0 } } },
	{ __LINE__, { { 16, 4 }, { 128, 12 }, 7, 8, 32, 1, { 0 } } },
	{ __LINE__, { { 1, 48 }, { 512, 4 }, 8, 8, 32, 2, { 0 } } },
	{ __LINE__, { { 1, 64 }, { 256, 8 }, 8, 9, 64, 16, { 0 } } },
	{ __LINE__, { { 8, 3 }, { 96, 5 }, 12, 3, 32, 1, { 0 } } },
	{ __LINE__, { { 1, 33 }, { 96, 12 }, 4, 20, 64, 1, { 0 } } },
	{ __LINE__, { { 8, 8 }, { 256, 4 }, 6, 5, 0, 1, { 0 } } },
	/* what many lines side by side are spared looks like a walk of those on pages */
	{ __LINE__, { { 1, 72 }, { 384, 8 }, 7, 9, 64, 4, { 400, PAGES_MAX, 0 } } },
	{ __LINE__, { { 16, 4 }, { 0, 0 }, 0, 10, 64, 1, { 400, PAGES_MAX, 0 } } },
	/* and so does what few that another cache serves are spared */
	{ __LINE__, { { 1, 72 }, { 384, 8 }, 7, 9, 64, 4, { 513, 600, 5 } } },
	/* make-model 12: a cache has no room for so many side by side, by their frames */
	{ __LINE__, { { 8, 6 }, { 256, 9 }, 12, 5, 64, 1, { 3000, PAGES_MAX, -6 } } },
	/* no second level; a walk that remembers few tables looks like one */
	{ __LINE__, { { 16, 4 }, { 0, 0 }, 0, 10, 64, 1, { 0 } } },
	{ __LINE__, { { 16, 4 }, { 0, 0 }, 0, 10, 4, 1, { 0 } } },
};

TEST(entries_ways_and_penalties_are_exact)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		const struct machine *machine = &rows[i].machine;
		const struct array *second = &machine->second;
		struct calm_derived derived;
		struct calm_tlb *tlb = derived.tlbs;

		EXPECT_GT(POINTS_MAX, explore(machine, 1024 * M, 0, &derived));
		ASSERT_EQ(4, derived.n_tlbs) TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(machine->first.ways, tlb[0].ways) TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(machine->first.sets, tlb[0].sets) TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(tlb[0].ways * tlb[0].sets, tlb[0].entries);
		EXPECT_EQ(machine->coalesce, tlb[0].coalescing)
			TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(second->ways * second->sets, tlb[1].entries)
			TH_LOG("row of line %d: %s", rows[i].line, tlb[1].reason);
		if (!second->sets)
			continue;
		EXPECT_EQ(second->ways, tlb[1].ways) TH_LOG("row of line %d", rows[i].line);
		EXPECT_LE(fabs(tlb[0].penalty_cycles - machine->penalty), 0.01 * machine->penalty)
			TH_LOG("row of line %d: %f", rows[i].line, tlb[0].penalty_cycles);
		EXPECT_LE(fabs(tlb[1].penalty_cycles - machine->walk), 0.01 * machine->walk +
			  (machine->regions ? 0 : machine->walk))
			TH_LOG("row of line %d: %f", rows[i].line, tlb[1].penalty_cycles);
		EXPECT_EQ(machine->first.ways, tlb[2].ways) TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(machine->first.sets, tlb[2].sets) TH_LOG("row of line %d", rows[i].line);
	}
}

TEST(what_memory_cannot_tell_has_a_reason)
{
	struct calm_derived derived;

	explore(&rows[0].machine, 1024 * M, CALM_PAGES_2M, &derived);
	ASSERT_EQ(2, derived.n_tlbs);
	EXPECT_EQ(72, derived.tlbs[0].entries);
	EXPECT_EQ(0, derived.tlbs[1].entries);
	EXPECT_STREQ("it has more entries than there is memory for", derived.tlbs[1].reason);
	EXPECT_EQ(0, derived.tlbs[0].coalescing);

	EXPECT_EQ(0, explore(&rows[0].machine, 1024 * M, CALM_PAGES_1G, &derived));
	ASSERT_EQ(1, derived.n_tlbs);
	EXPECT_STREQ("there is memory for too few such pages to try any", derived.tlbs[0].reason);
}

/* Lines of pages meet in a first cache that has more lines in a way than a page has. */
TEST(conflicts_in_a_cache_are_no_translations)
{
	/* what lies on pages takes longer from 300 lines on, though nothing is translated */
	const struct machine none = { .saving = { 300, PAGES_MAX, 5 } };
	const struct machine many = { { 16, 8 }, { 128, 12 }, 7, 8, 32, 1, { 0 } };
	const struct calm_cache uneven = { "L1d", 24576, 64, 4, "" };
	struct calm_derived derived;

	explore_with(&none, &uneven, 1024 * M, CALM_PAGES_4K, &derived);
	EXPECT_EQ(0, derived.tlbs[0].entries);
	EXPECT_NE(NULL, strstr(derived.tlbs[0].reason, "may conflict in the first cache"));
	/* so few are told all the same: whatever their frames, they cannot */
	explore_with(&rows[1].machine, &uneven, 1024 * M, CALM_PAGES_4K, &derived);
	EXPECT_EQ(96, derived.tlbs[0].entries);
	EXPECT_EQ(1, derived.tlbs[0].has_penalty);
	/* but no penalty where so many pages as miss can */
	explore_with(&many, &uneven, 1024 * M, CALM_PAGES_4K, &derived);
	EXPECT_EQ(128, derived.tlbs[0].entries);
	EXPECT_EQ(0, derived.tlbs[0].has_penalty);
}

/*
 * Machines whose first cache has no room for twice as many lines as the first level has pages, and
 * loses more of those side by side.
 */
static const struct {
	int line;
	struct machine machine;
	struct calm_cache cache;
} crowded[] = {
	/* make-model 302 */
	{ __LINE__, { { 1, 86 }, { 128, 6 }, 4, 7, 64, 1, { 161, PAGES_MAX, -0.05 } },
	  { "L1d", 10240, 64, 5, "" } },
	{ __LINE__, { { 1, 96 }, { 96, 4 }, 4, 3, 64, 1, { 129, PAGES_MAX, -0.05 } },
	  { "L1d", 8192, 64, 4, "" } },
	{ __LINE__, { { 8, 8 }, { 128, 5 }, 4, 3, 64, 1, { 129, PAGES_MAX, -0.05 } },
	  { "L1d", 16384, 128, 4, "" } },
	{ __LINE__, { { 16, 7 }, { 256, 8 }, 4, 3, 64, 1, { 129, PAGES_MAX, -0.05 } },
	  { "L1d", 8192, 64, 4, "" } },
	/* make-model 601 without its second level: no room for what misses it; all miss */
	{ __LINE__, { { 16, 8 }, { 0, 0 }, 0, 13, 64, 1, { 129, 250, -0.5 } },
	  { "L1d", 8192, 64, 4, "" } },
	/* make-model 2620: nor for what misses it in each set; twice as many do not all miss */
	{ __LINE__, { { 16, 6 }, { 256, 5 }, 7, 3, 64, 1, { 160, 250, -0.05 } },
	  { "L1d", 8192, 64, 4, "" } },
	/* where a page is less than a way, four sets may be all that lines of pages have */
	{ __LINE__, { { 1, 95 }, { 0, 0 }, 0, 3, 64, 1, { 129, PAGES_MAX, -0.05 } },
	  { "L1d", 24576, 64, 4, "" } },
};

TEST(penalties_are_of_lines_that_the_first_cache_holds)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(crowded); i++) {
		const struct machine *machine = &crowded[i].machine;
		const double penalty = machine->second.sets ? machine->penalty : machine->walk;
		struct calm_derived derived;
		struct calm_tlb *tlb = derived.tlbs;

		explore_with(machine, &crowded[i].cache, 1024 * M, CALM_PAGES_4K, &derived);
		ASSERT_EQ(2, derived.n_tlbs) TH_LOG("row of line %d", crowded[i].line);
		EXPECT_EQ(machine->first.ways * machine->first.sets, tlb[0].entries);
		EXPECT_LE(fabs(tlb[0].penalty_cycles - penalty), 0.01 * penalty)
			TH_LOG("row of line %d: %f", crowded[i].line, tlb[0].penalty_cycles);
		EXPECT_EQ(machine->second.ways * machine->second.sets, tlb[1].entries)
			TH_LOG("row of line %d: %s", crowded[i].line, tlb[1].reason);
		if (!machine->second.sets)
			continue;
		EXPECT_LE(fabs(tlb[1].penalty_cycles - machine->walk), 0.01 * machine->walk)
			TH_LOG("row of line %d: %f", crowded[i].line, tlb[1].penalty_cycles);
	}
}

/* Pages of 4 KiB, with prefetchers on, or as if they were. */
static const struct {
	int line;
	struct machine machine;
	enum counts counts;
	bool second;		/* the second level is told */
	const char *first_reason;
	const char *second_reason;
} noisy[] = {
	/* make-model 212: lines side by side are spared what looks like walks from 300 on */
	{ __LINE__, { { 8, 7 }, { 256, 12 }, 7, 14, 54, 1, { 300, PAGES_MAX, 1.6 } }, ALL, true,
	  NULL, NULL },
	{ __LINE__, { { 8, 7 }, { 256, 12 }, 7, 14, 54, 1, { 0 } }, ALL, true, NULL, NULL },
	{ __LINE__, { { 1, 72 }, { 384, 8 }, 7, 9, 64, 4, { 400, PAGES_MAX, 0 } }, ALL, true, NULL,
	  NULL },
	/* make-model 217: a walk that takes little more, of a part of the pages */
	{ __LINE__, { { 1, 64 }, { 256, 7 }, 12, 4, 20, 1, { 0 } }, ALL, true, NULL, NULL },
	/* what so many lines side by side lose hides the walks of a quarter of them, not of all */
	{ __LINE__, { { 1, 66 }, { 256, 8 }, 7, 8, 64, 1, { 260, 270, -1 } }, ALL, true, NULL,
	  NULL },
	{ __LINE__, { { 1, 66 }, { 256, 8 }, 7, 8, 64, 1, { 195, 270, -6 } }, ALL, false, NULL,
	  "what times tell is not what counts do" },
	/* make-model 77123: the same of many lines; fewer tell */
	{ __LINE__, { { 16, 4 }, { 128, 12 }, 7, 8, 32, 1, { 2000, 2100, -6 } }, ALL, true, NULL,
	  NULL },
	/* make-model 203: no second level */
	{ __LINE__, { { 1, 95 }, { 0, 0 }, 0, 19, 33, 1, { 0 } }, ALL, false, NULL,
	  "walked for, by count" },
	{ __LINE__, { { 1, 95 }, { 0, 0 }, 0, 19, 33, 1, { 300, PAGES_MAX, 1.6 } }, ALL, false,
	  NULL, "walked for, by count" },
	/* so much that walks take no more time than hits in the second level did */
	{ __LINE__, { { 1, 72 }, { 384, 8 }, 7, 9, 64, 1, { 80, 200, 6 } }, ALL, false,
	  "may conflict in the first cache", NULL },
	/* without counts of translations nothing is told, whether it is right or not */
	{ __LINE__, { { 8, 7 }, { 256, 12 }, 7, 14, 54, 1, { 0 } }, CACHE, false,
	  "give --prefetch off", NULL },
	{ __LINE__, { { 8, 7 }, { 256, 12 }, 7, 14, 54, 1, { 0 } }, NONE, false,
	  "give --prefetch off", NULL },
	{ __LINE__, { { 8, 7 }, { 256, 12 }, 7, 14, 54, 1, { 0 } }, WITHOUT_WALKS, false, NULL,
	  "give --prefetch off" },
};

static void expect_reason(struct __test_metadata *_metadata, const char *reason,
			  const char *expected, int line)
{
	EXPECT_EQ(!!expected, !!reason) TH_LOG("row of line %d: %s", line, reason);
	if (expected && reason)
		EXPECT_NE(NULL, strstr(reason, expected))
			TH_LOG("row of line %d: %s", line, reason);
}

TEST(prefetchers_make_no_level)
{
	const struct calm_machine outside = {
		.max_bytes = 1024 * M,
		.caches[0] = { "L1d", 32768, 64, 8, "" },
		.n_caches = 1,
	};
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(noisy); i++) {
		const struct machine *machine = &noisy[i].machine;
		struct calm_derived derived;
		struct calm_tlb *tlb = derived.tlbs;

		EXPECT_GT(POINTS_MAX, explore_all(machine, &outside, CALM_PAGES_4K,
						  noisy[i].counts, &derived));
		expect_reason(_metadata, tlb[0].reason, noisy[i].first_reason, noisy[i].line);
		if (noisy[i].first_reason)
			continue;
		EXPECT_EQ(machine->first.ways * machine->first.sets, tlb[0].entries);
		ASSERT_EQ(2, derived.n_tlbs) TH_LOG("row of line %d", noisy[i].line);
		expect_reason(_metadata, tlb[1].reason, noisy[i].second_reason, noisy[i].line);
		EXPECT_EQ(noisy[i].second ? machine->second.ways * machine->second.sets : 0,
			  tlb[1].entries)
			TH_LOG("row of line %d: %s", noisy[i].line, tlb[1].reason);
	}
}

TEST(a_pair_that_is_missing_is_wanted)
{
	const struct calm_machine outside = { .max_bytes = 1024 * M, .prefetch_off = true };
	struct calm_measured points[2];
	struct calm_derived derived;
	struct calm_tlb_pair wanted, other;

	ASSERT_TRUE(calm_derive_tlbs(NULL, 0, &outside, 0, &derived, &wanted));
	EXPECT_EQ(CALM_PAGES_4K, wanted.pages);
	EXPECT_EQ(wanted.layouts[0].lines, wanted.layouts[1].lines);
	/* with one half of it only it is wanted again, with both another one is */
	measure(&rows[0].machine, &wanted, 0, NONE, &points[0]);
	measure(&rows[0].machine, &wanted, 1, NONE, &points[1]);
	ASSERT_TRUE(calm_derive_tlbs(points, 1, &outside, 0, &derived, &other));
	EXPECT_EQ(0, memcmp(&wanted, &other, sizeof(wanted)));
	ASSERT_TRUE(calm_derive_tlbs(points, 2, &outside, 0, &derived, &other));
	EXPECT_NE(0, memcmp(&wanted, &other, sizeof(wanted)));
	/* and a pair without a value ends the search */
	points[1].stats.refused = "every sample was disturbed";
	ASSERT_TRUE(calm_derive_tlbs(points, 2, &outside, 0, &derived, &other));
	EXPECT_STREQ("a measurement has no value", derived.tlbs[0].reason);
	EXPECT_EQ(CALM_PAGES_2M, other.pages);
	release(&points[0]);
	release(&points[1]);
}

TEST_HARNESS_MAIN
