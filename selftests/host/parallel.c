// SPDX-License-Identifier: GPL-2.0-only
/* Fill buffers are told where that is what limits loads, and only there. */
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

TEST_HARNESS_MAIN
