// SPDX-License-Identifier: GPL-2.0-only
/* Latencies by miss rates, from mixes made by hand. */
#include <math.h>

#include <kselftest_harness.h>

#include "derive/e1.h"
#include "util.h"

#define NEAR 1e-9
#define EXPECT_NEAR(expected, found) EXPECT_LT(fabs((expected) - (found)), NEAR)
#define POINTS_MAX 8

static const struct calm_event events[] = {
	{ .name = "l1-miss" }, { .name = "l2-miss" }, { .name = "l3-miss" },
};

/* Of the sources below: what a point with these miss rates takes. */
static const double latency[] = { 4, 14, 50, 234 };

struct point {
	double misses[3];
	double extra;
};

struct row {
	int line;
	struct point points[POINTS_MAX];
	size_t count;
	double expected[4];	/* of three levels and memory; 0: not known */
	size_t levels;
	size_t counted;		/* levels whose misses are counted */
};

static const struct row rows[] = {
	/* each level alone */
	{ __LINE__, { { { 0, 0, 0 }, 0 }, { { 1, 0, 0 }, 0 }, { { 1, 1, 0 }, 0 },
		      { { 1, 1, 1 }, 0 } }, 4, { 4, 14, 50, 234 }, 3, 3 },
	/* mixes */
	{ __LINE__, { { { 0.00009, 0, 0 }, 0 }, { { 0.5, 0, 0 }, 0 }, { { 0.9, 0.4, 0 }, 0 },
		      { { 1, 0.8, 0.3 }, 0 } }, 4, { 4.0009, 13.9991, 50, 234 }, 3, 3 },
	/* the median of several sizes; one is off */
	{ __LINE__, { { { 0, 0, 0 }, 0 }, { { 0, 0, 0 }, 3 }, { { 0, 0, 0 }, 0 },
		      { { 1, 0, 0 }, 0 } }, 4, { 4, 14, 0, 0 }, 3, 3 },
	/* an even number of sizes */
	{ __LINE__, { { { 0, 0, 0 }, 0 }, { { 0, 0, 0 }, 1 } }, 2, { 4.5, 0, 0, 0 }, 3, 3 },
	/* without the level inside, nothing is known of those outside */
	{ __LINE__, { { { 1, 0, 0 }, 0 }, { { 1, 1, 1 }, 0 } }, 2, { 0, 0, 0, 0 }, 3, 3 },
	/* two levels: what both miss comes from memory, which takes 50 cycles here */
	{ __LINE__, { { { 0, 0 }, 0 }, { { 1, 0 }, 0 }, { { 1, 0.5 }, 0 }, { { 1, 1 }, 0 } }, 4,
	  { 4, 14, 0, 50 }, 2, 2 },
	/* a count of a third one tells nothing there */
	{ __LINE__, { { { 0, 0 }, 0 }, { { 1, 0 }, 0 }, { { 1, 1 }, 0 } }, 3,
	  { 4, 14, 0, 50 }, 2, 3 },
	/* the second one's misses are not counted */
	{ __LINE__, { { { 0, 0 }, 0 }, { { 1, 0 }, 0 }, { { 1, 1 }, 0 } }, 3,
	  { 4, 0, 0, 0 }, 2, 1 },
	/* one level */
	{ __LINE__, { { { 0 }, 0 }, { { 1 }, 0 } }, 2, { 4, 0, 0, 14 }, 1, 1 },
	/* four: the third one's misses may be served by the fourth */
	{ __LINE__, { { { 0, 0, 0 }, 0 }, { { 1, 0, 0 }, 0 }, { { 1, 1, 0 }, 0 },
		      { { 1, 1, 1 }, 0 } }, 4, { 4, 14, 50, 0 }, 4, 3 },
	/* three, and the last one's misses are not counted */
	{ __LINE__, { { { 0, 0, 0 }, 0 }, { { 1, 0, 0 }, 0 }, { { 1, 1, 1 }, 0 } }, 3,
	  { 4, 14, 0, 0 }, 3, 2 },
};

static double mean(const struct point *point)
{
	const double *m = point->misses;

	return (1 - m[0]) * latency[0] + (m[0] - m[1]) * latency[1] + (m[1] - m[2]) * latency[2] +
	       m[2] * latency[3] + point->extra;
}

static void fill(struct calm_measured *measured, struct calm_counted *counted,
		 const struct point *point, size_t n_counted)
{
	size_t i;

	for (i = 0; i < 3; i++) {
		counted[i].event = &events[i];
		counted[i].per_access.valid = true;
		counted[i].per_access.median = point->misses[i];
	}
	measured->counted = counted;
	measured->n_counted = n_counted;
	measured->stats.cycles_per_access.valid = true;
	measured->stats.cycles_per_access.median = mean(point);
}

static bool is_right(double expected, bool known, double found)
{
	return known ? expected > 0 && fabs(expected - found) < 0.001 : expected == 0;
}

TEST(mixes)
{
	size_t i, j;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		struct calm_measured points[POINTS_MAX] = { { .complete = true } };
		struct calm_counted counted[POINTS_MAX][3] = { { { NULL } } };
		struct calm_derived derived = { .n_levels = rows[i].levels };

		for (j = 0; j < rows[i].count; j++)
			fill(&points[j], counted[j], &rows[i].points[j], rows[i].counted);
		calm_derive_e1(points, rows[i].count, &derived);
		for (j = 0; j < 3; j++)
			EXPECT_TRUE(is_right(rows[i].expected[j], derived.levels[j].has_isolated,
					     derived.levels[j].isolated_cycles))
				TH_LOG("line %d, level %zu", rows[i].line, j);
		EXPECT_TRUE(is_right(rows[i].expected[3], derived.has_memory_isolated,
				     derived.memory_isolated_cycles))
			TH_LOG("line %d, memory", rows[i].line);
	}
}

TEST(a_rate_that_is_not_shown_is_not_used)
{
	static const struct point in_l2 = { { 1, 0, 0 }, 0 }, in_l1 = { { 0, 0, 0 }, 0 };
	struct calm_measured points[2] = { { .complete = true } };
	struct calm_counted counted[2][3] = { { { NULL } } };
	struct calm_derived derived = { .n_levels = 3 };

	fill(&points[0], counted[0], &in_l1, 3);
	fill(&points[1], counted[1], &in_l2, 3);
	counted[1][1].reason = "it failed";
	calm_derive_e1(points, 2, &derived);
	EXPECT_TRUE(derived.levels[0].has_isolated);
	EXPECT_NEAR(4, derived.levels[0].isolated_cycles);
	EXPECT_FALSE(derived.levels[1].has_isolated);
}

TEST_HARNESS_MAIN
