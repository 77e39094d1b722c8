// SPDX-License-Identifier: GPL-2.0-only
/* The layouts that are asked for tell the ways, sets and line of caches that are known here. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "derive/layout.h"
#include "derive/ways.h"
#include "util.h"

#define POINTS_MAX 256
#define SETS_MAX   8192

/**
 * struct machine - two caches, LRU, by the remainder
 * @line: line of both, bytes
 * @sets: of each
 * @ways: of each
 * @hashed: the second one is of two parts, each with so many sets, by the parity of the line
 * @larger: so many of the second one's sets, from the first on, have a way more
 * @foreign: of the second one's sets, share that a line of somebody else's has a way of
 * @exclusive: the second one has no copy of what the first one holds
 */
struct machine {
	uint32_t line;
	uint64_t sets[2];
	uint64_t ways[2];
	bool hashed;
	uint64_t larger;
	double foreign;
	bool exclusive;
};

/* Tree-PLRU: lines that miss of those that would fill a set but for one somebody else's. */
#define DISTURBED 0.32

static const double cycles[] = { 4, 12, 40 };

static uint64_t element(const struct calm_layout *layout, uint64_t index)
{
	return index / layout->block * layout->stride_bytes +
	       index % layout->block * layout->step_bytes +
	       index % layout->places * layout->place_bytes;
}

static bool is_odd(uint64_t line)
{
	return __builtin_parityll(line);
}

#define WAYS_MOST  32
#define LINES_MOST (1 << 16)
#define LAPS	   6

/* A set's lines, the last one that was used first; 0: none. */
struct set {
	uint64_t lines[WAYS_MOST];
};

/* Takes a line out, if it is there. */
static bool take(struct set *set, uint64_t ways, uint64_t line)
{
	uint64_t i;

	for (i = 0; i < ways && set->lines[i] != line; i++)
		;
	if (i == ways)
		return false;
	memmove(set->lines + i, set->lines + i + 1, (ways - i - 1) * sizeof(line));
	set->lines[ways - 1] = 0;
	return true;
}

/* Puts a line in, which is not there. Returns the one that goes, or 0. */
static uint64_t put(struct set *set, uint64_t ways, uint64_t line)
{
	uint64_t last = set->lines[ways - 1];

	memmove(set->lines + 1, set->lines, (ways - 1) * sizeof(line));
	set->lines[0] = line;
	return last;
}

/* The same order in each lap, which nothing can be guessed of. */
static void shuffle(uint64_t *order, uint64_t count)
{
	uint64_t i, j, kept, random = 1;

	for (i = count; i > 1; i--) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		j = (random >> 33) % i;
		kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

/* Share of the last lap that a level does not serve. What leaves the first goes to the second. */
static double share_of_exclusive(const struct machine *machine, const struct calm_layout *layout,
				 size_t level)
{
	static struct set sets[2][SETS_MAX];
	static uint64_t order[LINES_MOST];
	uint64_t i, lap, line, victim, misses[2] = { 0 };

	memset(sets, 0, sizeof(sets));
	for (i = 0; i < layout->lines && i < LINES_MOST; i++)
		order[i] = element(layout, i) / machine->line + 1;
	shuffle(order, i);
	for (lap = 0; lap < LAPS * i; lap++) {
		struct set *first, *second;

		line = order[lap % i];
		first = &sets[0][line % machine->sets[0]];
		second = &sets[1][line % machine->sets[1]];
		if (!take(first, machine->ways[0], line)) {
			misses[0] += lap >= (LAPS - 1) * i;
			misses[1] += !take(second, machine->ways[1], line) && lap >= (LAPS - 1) * i;
		}
		victim = put(first, machine->ways[0], line);
		if (victim)
			put(&sets[1][victim % machine->sets[1]], machine->ways[1], victim);
	}
	return (double)misses[level] / (double)i;
}

/* Share of a layout's lines that a cache does not hold: all of a set that has one too many. */
static double share_of_misses(const struct machine *machine, const struct calm_layout *layout,
			      size_t level)
{
	static uint32_t count[2 * SETS_MAX];
	static bool seen[1 << 22];
	uint64_t i, lines = 0, misses = 0, sets = machine->sets[level];
	double disturbed = 0;

	if (machine->exclusive)
		return share_of_exclusive(machine, layout, level);
	memset(count, 0, sizeof(count));
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < layout->lines; i++) {
		uint64_t line = element(layout, i) / machine->line;

		if (seen[line])
			continue;
		seen[line] = true;
		count[line % sets + sets * (level && machine->hashed && is_odd(line))]++;
		lines++;
	}
	for (i = 0; i < 2 * sets; i++) {
		uint64_t ways = machine->ways[level] + (level && i < machine->larger);

		if (count[i] > ways)
			misses += count[i];
		else if (level && count[i] == ways)
			disturbed += machine->foreign * DISTURBED * count[i];
	}
	return ((double)misses + disturbed) / (double)lines;
}

static double time_of(const struct machine *machine, const struct calm_layout *layout)
{
	double first = share_of_misses(machine, layout, 0);
	double second = share_of_misses(machine, layout, 1);

	if (second > first)
		second = first;
	return cycles[0] + first * (cycles[1] - cycles[0]) + second * (cycles[2] - cycles[1]);
}

static void measure(const struct machine *machine, const struct calm_layout *layout, uint32_t flags,
		    struct calm_measured *point)
{
	memset(point, 0, sizeof(*point));
	point->point.layouts[0] = *layout;
	point->point.n_layouts = 1;
	point->point.flags = flags;
	point->stats.cycles_per_access.valid = true;
	point->stats.cycles_per_access.median = time_of(machine, layout);
}

/* Measures what is asked for until nothing more is. Returns how often that was. */
static size_t explore(const struct machine *machine, const struct calm_cache *caches,
		      size_t n_caches, uint32_t flags, struct calm_derived *derived)
{
	struct calm_measured *points = calloc(POINTS_MAX, sizeof(*points));
	struct calm_layout wanted;
	size_t n = 0;

	while (n < POINTS_MAX && calm_derive_ways(points, n, caches, n_caches, derived, &wanted))
		measure(machine, &wanted, flags, &points[n++]);
	free(points);
	return n;
}

static const struct {
	int line;
	struct machine machine;
	struct calm_cache claims[2];
} rows[] = {
	{ __LINE__, { .line = 64, .sets = { 64, 1024 }, .ways = { 8, 8 } },
	  { { "L1d", 32768, 64, 8, "" }, { "L2", 524288, 64, 8, "" } } },
	/* fewer ways outside than inside */
	{ __LINE__, { .line = 64, .sets = { 64, 2048 }, .ways = { 12, 10 } },
	  { { "L1d", 49152, 64, 12, "" }, { "L2", 1310720, 64, 10, "" } } },
	{ __LINE__, { .line = 128, .sets = { 32, 256 }, .ways = { 8, 8 } },
	  { { "L1d", 32768, 128, 8, "" }, { "L2", 262144, 128, 8, "" } } },
	{ __LINE__, { .line = 64, .sets = { 64, 1024 }, .ways = { 8, 20 } },
	  { { "L1d", 32768, 64, 8, "" }, { "L2", 1310720, 64, 20, "" } } },
	/* numbers of sets that are no powers of two */
	{ __LINE__, { .line = 64, .sets = { 96, 3517 }, .ways = { 16, 7 } },
	  { { "L1d", 98304, 64, 16, "" }, { "L2", 7 * 3517 * 64, 64, 7, "" } } },
	{ __LINE__, { .line = 64, .sets = { 128, 512 }, .ways = { 4, 16 } },
	  { { "L1d", 32768, 64, 4, "" }, { "L2", 524288, 64, 16, "" } } },
	/* a second one that has no copies, and of whose sets the first one holds some lines each */
	{ __LINE__, { .line = 64, .sets = { 32, 48 }, .ways = { 4, 20 }, .exclusive = true },
	  { { "L1d", 8192, 64, 4, "" }, { "L2", 61440, 64, 20, "" } } },
	{ __LINE__, { .line = 64, .sets = { 64, 256 }, .ways = { 8, 16 }, .exclusive = true },
	  { { "L1d", 32768, 64, 8, "" }, { "L2", 262144, 64, 16, "" } } },
	/* a way more seems to be theirs in these */
	{ __LINE__, { .line = 64, .sets = { 32, 48 }, .ways = { 4, 16 }, .exclusive = true },
	  { { "L1d", 8192, 64, 4, "" }, { "L2", 49152, 64, 16, "" } } },
	{ __LINE__, { .line = 64, .sets = { 32, 48 }, .ways = { 5, 20 }, .exclusive = true },
	  { { "L1d", 10240, 64, 5, "" }, { "L2", 61440, 64, 20, "" } } },
	{ __LINE__, { .line = 64, .sets = { 32, 64 }, .ways = { 4, 12 }, .exclusive = true },
	  { { "L1d", 8192, 64, 4, "" }, { "L2", 49152, 64, 12, "" } } },
	{ __LINE__, { .line = 64, .sets = { 32, 64 }, .ways = { 4, 12 }, .exclusive = true },
	  { { "L1d", 8192, 64, 4, "" }, { "L2", 98304, 64, 24, "" } } },
	{ __LINE__, { .line = 64, .sets = { 64, 1024 }, .ways = { 8, 8 }, .exclusive = true },
	  { { "L1d", 32768, 64, 8, "" }, { "L2", 524288, 64, 8, "" } } },
	/* claims that are wrong */
	{ __LINE__, { .line = 64, .sets = { 64, 1024 }, .ways = { 8, 8 } },
	  { { "L1d", 65536, 64, 16, "" }, { "L2", 524288, 64, 16, "" } } },
	{ __LINE__, { .line = 64, .sets = { 128, 1024 }, .ways = { 6, 12 } },
	  { { "L1d", 32768, 32, 8, "" }, { "L2", 262144, 64, 4, "" } } },
	{ __LINE__, { .line = 64, .sets = { 64, 1024 }, .ways = { 8, 8 } },
	  { { "L1d", 0, 0, 0, "" }, { "L2", 524288, 64, 8, "" } } },
};

TEST(ways_sets_and_line_are_exact)
{
	size_t i, k;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		const struct machine *machine = &rows[i].machine;
		struct calm_derived derived;
		size_t asked = explore(machine, rows[i].claims, 2, CALM_F_CONTIGUOUS, &derived);

		EXPECT_GT(POINTS_MAX, asked);
		ASSERT_EQ(2, derived.n_levels);
		for (k = 0; k < 2; k++) {
			const struct calm_level *level = &derived.levels[k];

			EXPECT_EQ(machine->ways[k], level->ways)
				TH_LOG("row of line %d, level %zu: %s", rows[i].line, k,
				       level->reason ? level->reason : "");
			EXPECT_EQ(machine->sets[k], level->sets)
				TH_LOG("row of line %d, level %zu", rows[i].line, k);
			EXPECT_EQ(machine->line, level->line_bytes)
				TH_LOG("row of line %d, level %zu", rows[i].line, k);
			EXPECT_TRUE(level->has_confidence && level->confidence == 1)
				TH_LOG("row of line %d, level %zu", rows[i].line, k);
		}
	}
}

TEST(without_a_claim_the_first_level_is_found)
{
	struct calm_derived derived;

	explore(&rows[0].machine, NULL, 0, CALM_F_CONTIGUOUS, &derived);
	ASSERT_EQ(1, derived.n_levels);
	EXPECT_EQ(8, derived.levels[0].ways);
	EXPECT_EQ(64, derived.levels[0].sets);
}

/* Nor is a first level whose index goes beyond a page. */
TEST(without_contiguous_memory_the_second_level_is_not_told)
{
	struct calm_derived derived;

	explore(&rows[0].machine, rows[0].claims, 2, 0, &derived);
	EXPECT_EQ(8, derived.levels[0].ways);
	EXPECT_EQ(0, derived.levels[1].ways);
	EXPECT_NE(NULL, strstr(derived.levels[1].reason, "contiguous"));
	explore(&rows[5].machine, rows[5].claims, 2, 0, &derived);
	EXPECT_EQ(0, derived.levels[0].ways);
	EXPECT_NE(NULL, strstr(derived.levels[0].reason, "contiguous"));
}

/* With misses that are counted, and times that say nothing. */
static void explore_counts(const struct machine *machine, const struct calm_cache *claims,
			   struct calm_derived *derived)
{
	struct calm_event events[] = {
		{ .name = (char *)"l1-miss" }, { .name = (char *)"l2-miss" },
	};
	struct calm_measured *points = calloc(POINTS_MAX, sizeof(*points));
	struct calm_counted *counted = calloc(POINTS_MAX, 2 * sizeof(*counted));
	struct calm_layout wanted;
	size_t n, k;

	for (n = 0; n < POINTS_MAX; n++) {
		if (!calm_derive_ways(points, n, claims, 2, derived, &wanted))
			break;
		measure(machine, &wanted, CALM_F_CONTIGUOUS, &points[n]);
		points[n].stats.cycles_per_access.median = 5;
		points[n].counted = counted + 2 * n;
		points[n].n_counted = 2;
		for (k = 0; k < 2; k++) {
			points[n].counted[k].event = &events[k];
			points[n].counted[k].per_access.valid = true;
			points[n].counted[k].per_access.median =
				share_of_misses(machine, &wanted, k);
		}
	}
	free(points);
	free(counted);
}

TEST(counts_tell_more_than_time)
{
	struct calm_derived derived;

	explore_counts(&rows[1].machine, rows[1].claims, &derived);
	EXPECT_EQ(12, derived.levels[0].ways);
	EXPECT_EQ(10, derived.levels[1].ways);
	EXPECT_EQ(2048, derived.levels[1].sets);
}

/* The module's own lines stay in some sets of a tree-PLRU cache. */
TEST(a_few_misses_are_no_way_less)
{
	static const struct machine machine = {
		.line = 64, .sets = { 64, 1024 }, .ways = { 8, 16 }, .foreign = 0.15,
	};
	static const struct calm_cache claims[] = {
		{ "L1d", 32768, 64, 8, "" }, { "L2", 1 << 20, 64, 16, "" },
	};
	struct calm_derived derived;

	explore_counts(&machine, claims, &derived);
	EXPECT_EQ(16, derived.levels[1].ways)
		TH_LOG("%s", derived.levels[1].reason ? derived.levels[1].reason : "");
	EXPECT_EQ(1024, derived.levels[1].sets);
}

/* Of two parts, each of which has all members or none where these are few. */
TEST(a_hashed_level_is_not_told)
{
	static const struct machine machine = {
		.line = 128, .sets = { 32, 512 }, .ways = { 8, 13 }, .hashed = true, .foreign = 0.3,
	};
	static const struct calm_cache claims[] = {
		{ "L1d", 32768, 128, 8, "" }, { "L2", 1703936, 128, 13, "" },
	};
	struct calm_derived derived;

	explore(&machine, claims, 2, CALM_F_CONTIGUOUS, &derived);
	EXPECT_EQ(8, derived.levels[0].ways);
	EXPECT_EQ(0, derived.levels[1].ways)
		TH_LOG("%lu sets", (unsigned long)derived.levels[1].sets);
	explore_counts(&machine, claims, &derived);
	EXPECT_EQ(0, derived.levels[1].ways);
}

/* It holds more than what all sets have in common, and not a line more in each. */
TEST(a_level_of_unequal_sets_is_not_told)
{
	static const struct machine machine = {
		.line = 64, .sets = { 64, 1024 }, .ways = { 8, 8 }, .larger = 512,
	};
	struct calm_derived derived;

	explore(&machine, rows[0].claims, 2, CALM_F_CONTIGUOUS, &derived);
	EXPECT_EQ(8, derived.levels[0].ways);
	EXPECT_EQ(0, derived.levels[1].ways);
	explore_counts(&machine, rows[0].claims, &derived);
	EXPECT_EQ(0, derived.levels[1].ways);
}

TEST(a_point_without_a_value_is_told)
{
	struct calm_derived derived;
	struct calm_measured point;
	struct calm_layout wanted;

	ASSERT_TRUE(calm_derive_ways(NULL, 0, rows[0].claims, 2, &derived, &wanted));
	EXPECT_STREQ("a layout that it needs was not measured", derived.levels[0].reason);
	EXPECT_EQ(0, derived.levels[0].ways);
	measure(&rows[0].machine, &wanted, CALM_F_CONTIGUOUS, &point);
	point.stats.cycles_per_access.valid = false;
	ASSERT_FALSE(calm_derive_ways(&point, 1, rows[0].claims, 2, &derived, &wanted));
	EXPECT_STREQ("a measurement has no value", derived.levels[0].reason);
}

TEST_HARNESS_MAIN
