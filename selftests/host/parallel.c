// SPDX-License-Identifier: GPL-2.0-only
/* How many misses are under way, by lanes and without; fill buffers only where they limit. */
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>
#include <linux/calm.h>

#include "derive/parallel.h"
#include "util.h"

#define K (1ULL << 10)
#define M (1ULL << 20)

static const struct calm_machine machine = {
	.caches = { { "L1d", 32 * K, 64, 8, "0" }, { "L2", 1 * M, 64, 16, "0" } },
	.n_caches = 2,
	.prefetch_off = true,
};

/* A last cache of which a buffer is far more, and the lines of distant elements are not. */
static const struct calm_machine large = {
	.caches = { { "L1d", 32 * K, 64, 8, "0" }, { "L2", 4 * M, 64, 16, "0" } },
	.n_caches = 2,
	.prefetch_off = true,
};

static struct calm_measured point(uint64_t size_bytes, uint32_t lanes, double ticks)
{
	struct calm_measured measured = { .complete = true };

	measured.point.lanes = lanes;
	measured.result.effective.size_bytes = size_bytes;
	measured.result.effective.stride_bytes = 64;
	measured.result.effective.pages = CALM_PAGES_2M;
	measured.stats.tsc_per_access.valid = true;
	measured.stats.tsc_per_access.median = ticks;
	return measured;
}

/* A buffer that the last cache holds, and has lines for at any rate. */
#define WITHIN (4 * M)
/* One that the first cache holds. */
#define FIRST  (16 * K)
/* Prefetchers are known to be off. */
#define OFF    false, 0

static const struct {
	int line;
	uint64_t size_bytes;
	double one;		/* ticks of a load in one lane */
	double sixteen;		/* in 16 lanes */
	double independent;	/* of an independent one */
	double copy;		/* of a line copied, 0: not measured */
	double within_one;	/* the first two within the last cache, 0: not measured */
	double within;
	uint32_t pages;
	double buffers;		/* 0: something else is the limit, or may be */
	const char *reason;	/* a part of it */
	double first;		/* of an independent one within the first cache, 0: not measured */
	bool may_be_on;		/* prefetchers are not known to be off */
	double linear;		/* of a load in linear order, 0: not measured */
} rows[] = {
	{ __LINE__, 64 * M, 234, 14.7, 9.75, 19.5, 50, 2.1, CALM_PAGES_2M, 24,
	  NULL, 0, false, 9.75 },
	{ __LINE__, 64 * M, 246, 24.6, 24.6, 49.2, 40, 6.4, CALM_PAGES_2M, 10, NULL, 0, OFF },
	/* noise */
	{ __LINE__, 64 * M, 248, 24.9, 24.5, 49, 40, 6.4, CALM_PAGES_2M, 10, NULL, 0, OFF },
	{ __LINE__, 64 * M, 236, 14.7, 9.75, 19.5, 50, 2.1, CALM_PAGES_2M, 24,
	  NULL, 0, false, 9.7 },
	/* the last cache's own bandwidth lets fewer be under way */
	{ __LINE__, 64 * M, 303, 19, 18.9375, 37.875, 70, 5, CALM_PAGES_2M, 16,
	  NULL, 0, false, 18.9375 },
	/* a line in 8 cycles, or in 4, and no more of them */
	{ __LINE__, 64 * M, 108, 8, 8, 16, 40, 1.6, CALM_PAGES_2M, 0, "no whole number", 0, OFF },
	{ __LINE__, 64 * M, 57, 4, 4, 8, 19, 1.6, CALM_PAGES_2M, 0, "no whole number", 0, OFF },
	{ __LINE__, 64 * M, 250, 15.6, 10.2, 20.4, 40, 1.6, CALM_PAGES_2M, 0,
	  "no whole number", 0, OFF },
	/* whole by chance: make-model 211 and 215, which begin two instructions in a cycle */
	{ __LINE__, 64 * M, 53, 3.32, 3.125, 6.25, 19, 3.125, CALM_PAGES_2M, 0,
	  "own instructions", 0, OFF },
	{ __LINE__, 64 * M, 41, 2.57, 3.125, 6.25, 10, 3.125, CALM_PAGES_2M, 0,
	  "own instructions", 0, OFF },
	/* by bandwidth, which lines that are written share */
	{ __LINE__, 64 * M, 240, 20, 20, 60, 40, 5, CALM_PAGES_2M, 0, "as three loads", 0, OFF },
	{ __LINE__, 64 * M, 240, 20, 20, 0, 40, 5, CALM_PAGES_2M, 0, "no copy", 0, OFF },
	/* which a copy does not reach by far, or just */
	{ __LINE__, 64 * M, 240, 20, 20, 48, 40, 5, CALM_PAGES_2M, 12, NULL, 0, OFF },
	{ __LINE__, 64 * M, 240, 20, 20, 58, 40, 5, CALM_PAGES_2M, 12, NULL, 0, OFF },
	/* a reorder buffer of 125 instructions, of which the copy has fewer; or it is prefetched */
	{ __LINE__, 64 * M, 240, 15, 12, 18, 40, 5, CALM_PAGES_2M, 0,
	  "reorder buffer may be", 0, false, 9 },
	/* the same of 103, where bandwidth makes a copy as slow as buffers would */
	{ __LINE__, 64 * M, 48, 3.063, 3.013, 6.001, 9, 2.083, CALM_PAGES_2M, 0,
	  "reorder buffer may be", 2.083, false, 2.82 },
	/* 24 lines, and a linear order for as many, or none */
	{ __LINE__, 64 * M, 240, 15, 10, 20, 40, 5, CALM_PAGES_2M, 24, NULL, 0, false, 10.1 },
	{ __LINE__, 64 * M, 240, 15, 10, 20, 40, 5, CALM_PAGES_2M, 0, "no linear order", 0, OFF },
	{ __LINE__, 64 * M, 240, 20, 20, 30, 40, 5, CALM_PAGES_2M, 12, NULL, 0, OFF },
	/* by bandwidth, by a reorder buffer of 75 instructions, by walks */
	{ __LINE__, 64 * M, 240, 20, 20, 40, 60, 3.75, CALM_PAGES_2M, 0, "bandwidth", 0, OFF },
	{ __LINE__, 64 * M, 240, 15, 20, 40, 60, 5, CALM_PAGES_2M, 0, "lanes have more", 0, OFF },
	{ __LINE__, 64 * M, 260, 16.3, 10, 20, 60, 2.4, CALM_PAGES_4K, 0, "page walks", 0, OFF },
	{ __LINE__, 64 * M, 260, 16.3, 10, 20, 60, 2.4, CALM_PAGES_4K_CONTIG, 0,
	  "page walks", 0, OFF },
	{ __LINE__, 256 * M, 260, 16.3, 10, 20, 60, 2.4, CALM_PAGES_2M, 0, "translations", 0, OFF },
	{ __LINE__, 256 * M, 260, 16.3, 10, 20, 60, 2.4, CALM_PAGES_1G, 26, NULL, 0, false, 10 },
	/* a few translations do not make another number */
	{ __LINE__, 256 * M, 246, 24.6, 24.6, 49.2, 40, 6.4, CALM_PAGES_2M, 10, NULL, 0, OFF },
	/* nothing to compare with */
	{ __LINE__, 64 * M, 246, 24.6, 24.6, 49.2, 0, 0, CALM_PAGES_2M, 0, "give --size", 0, OFF },
	/* a cache that is slower than memory: make-model 213 and 217, and no smaller one */
	{ __LINE__, 64 * M, 83, 5.25, 3.773, 7.546, 16, 4, CALM_PAGES_2M, 22,
	  NULL, 1.5625, false, 3.773 },
	{ __LINE__, 64 * M, 30, 1.938, 1.154, 2.308, 10, 2, CALM_PAGES_2M, 26,
	  NULL, 1, false, 1.154 },
	{ __LINE__, 64 * M, 83, 5.25, 3.773, 7.546, 16, 4, CALM_PAGES_2M, 0,
	  "give --size", 0, OFF },
	/* one that is as fast as memory may be the way from there; make-model 1038 */
	{ __LINE__, 64 * M, 83, 5.25, 3.773, 7.546, 16, 3.8, CALM_PAGES_2M, 0,
	  "as long", 1.5625, OFF },
	{ __LINE__, 64 * M, 25, 1.625, 2.084, 1.852, 7, 2.083, CALM_PAGES_2M, 0, "lanes have more",
	  2.083, OFF },
	/* make-model 1008: nearly as fast as the core's own instructions */
	{ __LINE__, 64 * M, 43, 2.75, 2.151, 5.053, 12, 2.084, CALM_PAGES_2M, 0,
	  "own instructions", 2.083, OFF },
	/*
	 * Prefetchers take buffers from random loads or bring lines for them, as they do in a
	 * linear order, however bandwidth limits a copy: make-model 3014, 3020, 3042, 3049, 3053
	 */
	{ __LINE__, 64 * M, 602.471, 112.702, 86.568, 190.631, 152, 23.6, CALM_PAGES_2M, 0,
	  "--prefetch off", 1.25, true, 63.503 },
	{ __LINE__, 64 * M, 43.111, 6.157, 6.222, 5.31, 10, 3.125, CALM_PAGES_2M, 0,
	  "--prefetch off", 3.125, true, 3.374 },
	{ __LINE__, 64 * M, 197.657, 26.916, 21.93, 31.998, 65, 9.98, CALM_PAGES_2M, 0,
	  "--prefetch off", 1.563, true, 10.668 },
	{ __LINE__, 64 * M, 600.47, 38.397, 19.402, 48, 124, 4.258, CALM_PAGES_2M, 0,
	  "--prefetch off", 1.25, true, 16.002 },
	{ __LINE__, 64 * M, 804.378, 65.532, 46.933, 95.623, 205, 16.04, CALM_PAGES_2M, 0,
	  "--prefetch off", 1.563, true, 32.003 },
	/* of 3020 and 3042, not known of; and lines that come sooner in order */
	{ __LINE__, 64 * M, 43.111, 6.157, 6.222, 5.31, 10, 3.125, CALM_PAGES_2M, 0,
	  "far less time", 3.125, false, 3.374 },
	{ __LINE__, 64 * M, 197.657, 26.916, 21.93, 31.998, 65, 9.98, CALM_PAGES_2M, 0,
	  "another time", 1.563, false, 10.668 },
	{ __LINE__, 64 * M, 246, 24.6, 24.6, 49.2, 40, 6.4, CALM_PAGES_2M, 10,
	  NULL, 0, false, 20.5 },
	/* lanes that have fewer under way than independent loads, which find lines */
	{ __LINE__, 64 * M, 816.638, 110.324, 75.129, 192, 174, 17.002, CALM_PAGES_2M, 0,
	  "another time", 1.563, false, 64.003 },
	/* those that do not act, by make-model 3002 and 3028, or cannot be seen not to */
	{ __LINE__, 64 * M, 227, 14.25, 8.108, 16.214, 65, 2.322, CALM_PAGES_2M, 28, NULL, 1.25,
	  true, 8.108 },
	{ __LINE__, 64 * M, 49, 4.084, 4.084, 8.167, 10, 1.563, CALM_PAGES_2M, 12, NULL, 1.563,
	  true, 4.084 },
	{ __LINE__, 64 * M, 227, 14.25, 8.108, 16.214, 65, 2.322, CALM_PAGES_2M, 0,
	  "no linear order", 1.25, true, 0 },
	{ __LINE__, 64 * M, 227, 14.25, 8.108, 16.214, 65, 2.322, CALM_PAGES_2M, 0,
	  "--prefetch off", 1.25, true, 8.5 },
	/* those of make-model 213: a cache's bandwidth limits what they bring in order, too */
	{ __LINE__, 64 * M, 84.3, 4.965, 3.833, 7.875, 16, 4.001, CALM_PAGES_2M, 0,
	  "--prefetch off", 1.562, true, 3.938 },
	/* a linear order that bandwidth limits as well */
	{ __LINE__, 64 * M, 240, 20, 20, 60, 40, 5, CALM_PAGES_2M, 0, "as three loads", 0, true,
	  20 },
	/* a part of the loads is served by the first cache, or all of them */
	{ __LINE__, 1 * M, 14, 1, 1, 2, 0, 0, CALM_PAGES_2M, 0, "first cache", 0, OFF },
	{ __LINE__, 16 * K, 4, 1, 1, 2, 0, 0, CALM_PAGES_2M, 0, "first cache", 0, OFF },
};

TEST(fill_buffers_are_told_where_nothing_else_can_be_the_limit)
{
	size_t i, j;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		struct calm_measured points[] = {
			point(WITHIN, 1, rows[i].within_one),
			point(WITHIN, 0, rows[i].within),
			point(rows[i].size_bytes, 1, rows[i].one),
			point(rows[i].size_bytes, 16, rows[i].sixteen),
			point(rows[i].size_bytes, 0, rows[i].independent),
			point(rows[i].size_bytes, 0, rows[i].copy),
			point(rows[i].size_bytes, 0, rows[i].linear),
			point(FIRST, 0, rows[i].first),
		};
		const size_t first = rows[i].within_one ? 0 : 2;
		struct calm_machine on = machine;
		const struct calm_parallelism *row;
		struct calm_derived derived;

		on.prefetch_off = !rows[i].may_be_on;
		for (j = 0; j < CALM_ARRAY_SIZE(points); j++) {
			points[j].result.effective.pages = rows[i].pages;
			points[j].stats.tsc_per_access.valid =
				points[j].stats.tsc_per_access.median;
		}
		points[5].point.loop = CALM_PARALLEL_COPY;
		points[6].point.loop = CALM_PARALLEL_LINEAR;
		calm_derive_parallel(points + first, CALM_ARRAY_SIZE(points) - first, &on,
				     &derived);
		ASSERT_EQ(first ? 1 : 2, derived.n_parallelism);
		row = &derived.parallelism[derived.n_parallelism - 1];
		EXPECT_EQ(rows[i].one / rows[i].independent, row->in_flight);
		EXPECT_EQ(!rows[i].buffers, !!row->reason)
			TH_LOG("row of line %d: %s", rows[i].line,
			       row->reason ? row->reason : "told");
		if (rows[i].buffers) {
			EXPECT_EQ(rows[i].buffers, round(row->in_flight))
				TH_LOG("row of line %d", rows[i].line);
		} else if (row->reason) {
			EXPECT_NE(NULL, strstr(row->reason, rows[i].reason))
				TH_LOG("row of line %d: %s", rows[i].line, row->reason);
		}
		/* of the smaller buffer nothing smaller tells how fast instructions are */
		if (!first)
			EXPECT_NE(NULL, derived.parallelism[0].reason)
				TH_LOG("row of line %d", rows[i].line);
	}
}

/* What counts is not a buffer's size but the lines that are touched: one in 32, and in 64. */
TEST(distant_elements_touch_fewer_lines)
{
	static const struct {
		uint32_t stride_bytes;
		const char *reason;
	} strides[] = { { 64, NULL }, { 2048, "no copy" }, { 4096, "first cache" } };
	struct calm_derived derived;
	size_t i, j;

	for (i = 0; i < CALM_ARRAY_SIZE(strides); i++) {
		struct calm_measured points[] = {
			point(WITHIN, 0, 5),  point(64 * M, 1, 240),  point(64 * M, 16, 20),
			point(64 * M, 0, 20), point(64 * M, 0, 40),
		};

		for (j = 0; j < CALM_ARRAY_SIZE(points); j++)
			points[j].result.effective.stride_bytes = strides[i].stride_bytes;
		points[4].point.loop = CALM_PARALLEL_COPY;
		calm_derive_parallel(points, CALM_ARRAY_SIZE(points), &large, &derived);
		ASSERT_EQ(1, derived.n_parallelism);
		EXPECT_EQ(!strides[i].reason, !derived.parallelism[0].reason);
		if (strides[i].reason && derived.parallelism[0].reason)
			EXPECT_NE(NULL, strstr(derived.parallelism[0].reason, strides[i].reason))
				TH_LOG("%s", derived.parallelism[0].reason);
	}
}

/* States of the prefetchers are looked at apart. */
TEST(settings_are_not_mixed)
{
	static const struct calm_setting on = { .all = CALM_PREFETCH_ON };
	static const struct calm_setting off = { .all = CALM_PREFETCH_OFF };
	struct calm_measured points[] = {
		point(64 * M, 1, 100), point(64 * M, 0, 10), point(64 * M, 1, 240),
		point(64 * M, 0, 20),
	};
	struct calm_derived derived;

	points[0].setting = &on;
	points[1].setting = &on;
	points[2].setting = &off;
	points[3].setting = &off;
	calm_derive_parallel(points, CALM_ARRAY_SIZE(points), &machine, &derived);
	ASSERT_EQ(2, derived.n_parallelism);
	EXPECT_EQ(100, derived.parallelism[0].latency);
	EXPECT_EQ(240, derived.parallelism[1].latency);
}

/* A core with 12 fill buffers and 240 cycles to memory; lanes of 0 do not wait for each other. */
static const struct {
	uint32_t lanes;
	double cycles;
} twelve[] = {
	{ 1, 240 }, { 2, 120 }, { 6, 40 }, { 12, 20 }, { 13, 20.1 }, { 16, 19.9 }, { 0, 20 },
};

#define POINTS CALM_ARRAY_SIZE(twelve)

static void fill(struct calm_measured *points, uint64_t size, double scale)
{
	size_t i;

	for (i = 0; i < POINTS; i++) {
		points[i] = (struct calm_measured){ .complete = true };
		points[i].point.lanes = twelve[i].lanes;
		points[i].result.effective.size_bytes = size;
		points[i].result.effective.stride_bytes = 64;
		points[i].result.effective.pages = CALM_PAGES_2M;
		points[i].stats.cycles_per_access.valid = true;
		points[i].stats.cycles_per_access.median = twelve[i].cycles * scale;
		/* the clock's ticks are another number of them */
		points[i].stats.tsc_per_access.valid = true;
		points[i].stats.tsc_per_access.median = twelve[i].cycles * scale / 2;
	}
}

TEST(fill_buffers_by_one_lane_and_independent_loads)
{
	struct calm_measured points[POINTS];
	struct calm_derived derived;

	fill(points, 64 * M, 1);
	calm_derive_parallel(points, POINTS, &machine, &derived);
	ASSERT_EQ(1, derived.n_parallelism);
	EXPECT_EQ(64 * M, derived.parallelism[0].size_bytes);
	EXPECT_EQ(64, derived.parallelism[0].stride_bytes);
	EXPECT_TRUE(derived.parallelism[0].in_cycles);
	EXPECT_EQ(240, derived.parallelism[0].latency);
	EXPECT_EQ(20, derived.parallelism[0].saturated);
	EXPECT_GE(1e-9, fabs(derived.parallelism[0].in_flight - 12));
	/* 13 and 16 are as fast, 6 are not */
	EXPECT_EQ(12, derived.parallelism[0].lanes);
}

TEST(ticks_where_there_are_no_cycles)
{
	struct calm_measured points[POINTS];
	struct calm_derived derived;
	size_t i;

	fill(points, 64 * M, 1);
	for (i = 0; i < POINTS; i++)
		points[i].stats.cycles_per_access.valid = false;
	calm_derive_parallel(points, POINTS, &machine, &derived);
	ASSERT_EQ(1, derived.n_parallelism);
	EXPECT_FALSE(derived.parallelism[0].in_cycles);
	EXPECT_EQ(120, derived.parallelism[0].latency);
	EXPECT_GE(1e-9, fabs(derived.parallelism[0].in_flight - 12));
}

TEST(each_size_has_a_row_of_its_own)
{
	struct calm_measured points[2 * POINTS];
	struct calm_derived derived;

	fill(points, 64 * M, 1);
	fill(points + POINTS, 1 * M, 0.1);
	calm_derive_parallel(points, 2 * POINTS, &machine, &derived);
	ASSERT_EQ(2, derived.n_parallelism);
	EXPECT_EQ(240, derived.parallelism[0].latency);
	EXPECT_EQ(1 * M, derived.parallelism[1].size_bytes);
	EXPECT_GE(1e-9, fabs(derived.parallelism[1].latency - 24));
	EXPECT_EQ(12, derived.parallelism[1].lanes);
}

TEST(what_is_missing_is_not_made_up)
{
	struct calm_measured points[POINTS];
	struct calm_derived derived;

	/* lanes beyond the buffers were not measured: the independent loads still tell of them */
	fill(points, 64 * M, 1);
	points[3].stats.tsc_per_access.valid = false;
	points[4].stats.tsc_per_access.valid = false;
	points[5].stats.tsc_per_access.valid = false;
	calm_derive_parallel(points, POINTS, &machine, &derived);
	ASSERT_EQ(1, derived.n_parallelism);
	EXPECT_EQ(0, derived.parallelism[0].lanes);
	/* without one lane, or without independent loads, there is nothing to tell */
	points[0].stats.tsc_per_access.valid = false;
	calm_derive_parallel(points, POINTS, &machine, &derived);
	EXPECT_EQ(0, derived.n_parallelism);
	fill(points, 64 * M, 1);
	calm_derive_parallel(points, POINTS - 1, &machine, &derived);
	EXPECT_EQ(0, derived.n_parallelism);
	/* nor from loads that took no time */
	points[POINTS - 1].stats.cycles_per_access.median = 0;
	calm_derive_parallel(points, POINTS, &machine, &derived);
	EXPECT_EQ(0, derived.n_parallelism);
}

TEST_HARNESS_MAIN
