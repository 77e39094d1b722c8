// SPDX-License-Identifier: GPL-2.0-only
/* How many misses are under way, by lanes and without; fill buffers only where they limit. */
#include <math.h>

#include <kselftest_harness.h>

#include "derive/parallel.h"
#include "util.h"

#define K (1ULL << 10)
#define M (1ULL << 20)

static const struct calm_machine machine = {
	.caches = { { "L1d", 32 * K, 64, 8, "0" }, { "L2", 1 * M, 64, 16, "0" } },
	.n_caches = 2,
};

static struct calm_measured point(uint64_t size_bytes, uint32_t lanes, double ticks)
{
	struct calm_measured measured = { .complete = true };

	measured.point.lanes = lanes;
	measured.result.effective.size_bytes = size_bytes;
	measured.result.effective.stride_bytes = 64;
	measured.stats.tsc_per_access.valid = true;
	measured.stats.tsc_per_access.median = ticks;
	return measured;
}

static const struct {
	int line;
	uint64_t size_bytes;
	double one;		/* ticks of a load in one lane */
	double independent;	/* of an independent one */
	double buffers;		/* 0: something else is the limit */
} rows[] = {
	{ __LINE__, 64 * M, 234, 9.75, 24 },
	{ __LINE__, 64 * M, 246, 24.6, 10 },
	/* noise */
	{ __LINE__, 64 * M, 248, 24.5, 10 },
	{ __LINE__, 64 * M, 236, 9.75, 24 },
	{ __LINE__, 2 * M, 303, 18.9375, 16 },
	/* a line in 8 cycles, or in 4, and no more of them */
	{ __LINE__, 64 * M, 108, 8, 0 },
	{ __LINE__, 64 * M, 57, 4, 0 },
	{ __LINE__, 64 * M, 250, 10.2, 0 },
	/* a part of the loads is served by the first cache, or all of them */
	{ __LINE__, 1 * M, 14, 1, 0 },
	{ __LINE__, 16 * K, 4, 1, 0 },
};

TEST(fill_buffers_are_whole_in_number)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		const struct calm_measured points[] = {
			point(rows[i].size_bytes, 1, rows[i].one),
			point(rows[i].size_bytes, 16, rows[i].one / 16),
			point(rows[i].size_bytes, 0, rows[i].independent),
		};
		const struct calm_parallelism *row;
		struct calm_derived derived;

		calm_derive_parallel(points, CALM_ARRAY_SIZE(points), &machine, &derived);
		ASSERT_EQ(1, derived.n_parallelism);
		row = derived.parallelism;
		EXPECT_EQ(rows[i].one / rows[i].independent, row->in_flight);
		EXPECT_EQ(!rows[i].buffers, !!row->reason) TH_LOG("row of line %d", rows[i].line);
		if (rows[i].buffers)
			EXPECT_EQ(rows[i].buffers, round(row->in_flight))
				TH_LOG("row of line %d", rows[i].line);
	}
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
