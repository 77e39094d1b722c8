// SPDX-License-Identifier: GPL-2.0-only
/* Which points tell the latency of which level. */
#include <math.h>

#include <kselftest_harness.h>

#include "derive/levels.h"
#include "util.h"

#define K (1ULL << 10)
#define M (1ULL << 20)

/* A tick is half a nanosecond. */
static const struct calm_machine machine = {
	.tsc_hz = 2e9,
	.caches = {
		{ "L1d", 32 * K, 64, 8, "0" }, { "L2", 1 * M, 64, 16, "0" },
		{ "L3", 16 * M, 64, 16, "0" },
	},
	.n_caches = 3,
};

static struct calm_measured point(uint64_t size_bytes, double ticks, double two_lengths)
{
	struct calm_measured measured = { .complete = true };

	measured.result.effective.size_bytes = size_bytes;
	measured.result.effective.stride_bytes = 64;
	measured.stats.tsc_per_access.valid = ticks > 0;
	measured.stats.tsc_per_access.median = ticks;
	measured.stats.tsc_two_lengths.valid = two_lengths > 0;
	measured.stats.tsc_two_lengths.median = two_lengths;
	return measured;
}

static const struct {
	int line;
	uint64_t size_bytes;
	int level; /* 3 is memory, -1 nothing */
} places[] = {
	{ __LINE__, 4 * K, 0 },	 { __LINE__, 16 * K, 0 },  { __LINE__, 16 * K + 64, -1 },
	{ __LINE__, 32 * K, -1 }, { __LINE__, 64 * K - 64, -1 }, { __LINE__, 64 * K, 1 },
	{ __LINE__, 512 * K, 1 }, { __LINE__, 512 * K + 64, -1 }, { __LINE__, 1 * M, -1 },
	{ __LINE__, 2 * M, 2 },	 { __LINE__, 8 * M, 2 },   { __LINE__, 16 * M, -1 },
	{ __LINE__, 32 * M, -1 }, { __LINE__, 64 * M - 64, -1 }, { __LINE__, 64 * M, 3 },
	{ __LINE__, 1024 * M, 3 },
};

TEST(a_point_speaks_for_the_level_that_it_lies_in)
{
	size_t i;
	int level;

	for (i = 0; i < CALM_ARRAY_SIZE(places); i++) {
		struct calm_measured measured = point(places[i].size_bytes, 10, 8);
		struct calm_derived derived;

		calm_derive_levels(&measured, 1, &machine, &derived);
		ASSERT_EQ(3, derived.n_levels);
		for (level = 0; level < 3; level++) {
			EXPECT_EQ(level == places[i].level, derived.levels[level].has_latency)
				TH_LOG("row of line %d, level %d", places[i].line, level);
		}
		EXPECT_EQ(places[i].level == 3, derived.has_memory)
			TH_LOG("row of line %d", places[i].line);
	}
}

TEST(the_least_median_counts_and_l1_takes_two_lengths)
{
	struct calm_measured points[] = {
		point(4 * K, 12, 10),  point(8 * K, 11, 9),    point(16 * K, 5, 0),
		point(128 * K, 33, 1), point(256 * K, 31, 1),  point(4 * M, 88, 0),
		point(8 * M, 0, 0),    point(128 * M, 222, 0), point(64 * M, 200, 0),
	};
	struct calm_derived derived;

	calm_derive_levels(points, CALM_ARRAY_SIZE(points), &machine, &derived);
	EXPECT_EQ(4.5, derived.levels[0].latency_ns);
	EXPECT_EQ(15.5, derived.levels[1].latency_ns);
	EXPECT_EQ(44, derived.levels[2].latency_ns);
	EXPECT_EQ(100, derived.memory_latency_ns);
	EXPECT_STREQ("L2", derived.levels[1].claimed.name);
	EXPECT_EQ(1 * M, derived.levels[1].claimed.size_bytes);
}

/* 256 KiB with a stride of 4 KiB are 64 lines: they fit the first level. */
TEST(points_that_leave_lines_out_say_nothing)
{
	struct calm_measured points[] = {
		point(4 * K, 12, 10), point(256 * K, 12, 10), point(64 * M, 50, 0),
	};
	struct calm_derived derived;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(points); i++)
		points[i].result.effective.stride_bytes = 4096;
	calm_derive_levels(points, CALM_ARRAY_SIZE(points), &machine, &derived);
	for (i = 0; i < derived.n_levels; i++)
		EXPECT_FALSE(derived.levels[i].has_latency);
	EXPECT_FALSE(derived.has_memory);
}

/* Of eight elements in a line seven find in L1 what the first one brought, while it is there. */
TEST(points_that_share_lines_speak_for_the_first_level_alone)
{
	struct calm_measured points[] = {
		point(4 * K, 12, 10), point(64 * K, 21, 0), point(4 * M, 70, 0),
		point(64 * M, 150, 0),
	};
	struct calm_derived derived;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(points); i++)
		points[i].result.effective.stride_bytes = 8;
	calm_derive_levels(points, CALM_ARRAY_SIZE(points), &machine, &derived);
	EXPECT_EQ(5, derived.levels[0].latency_ns);
	EXPECT_FALSE(derived.levels[1].has_latency || derived.levels[2].has_latency);
	EXPECT_FALSE(derived.has_memory || derived.has_memory_cycles);
}

/* Neighbours in a line of L2 are lines of L1 of their own. */
TEST(the_line_inside_a_level_counts)
{
	struct calm_measured points[] = {
		point(4 * K, 12, 10), point(64 * K, 28, 0), point(4 * M, 100, 0),
		point(64 * M, 400, 0),
	};
	struct calm_machine other = machine;
	struct calm_derived derived;
	size_t i;

	other.caches[1].line_bytes = 128;
	calm_derive_levels(points, CALM_ARRAY_SIZE(points), &other, &derived);
	EXPECT_TRUE(derived.levels[0].has_latency && derived.levels[1].has_latency);
	EXPECT_FALSE(derived.levels[2].has_latency || derived.has_memory);

	for (i = 0; i < CALM_ARRAY_SIZE(points); i++)
		points[i].result.effective.stride_bytes = 128;
	calm_derive_levels(points, CALM_ARRAY_SIZE(points), &other, &derived);
	EXPECT_FALSE(derived.levels[0].has_latency || derived.levels[1].has_latency);
	EXPECT_TRUE(derived.levels[2].has_latency);
	/* L3 has lines of 64 bytes, but those of L2 are fetched whole */
	EXPECT_FALSE(derived.has_memory);
}

TEST(unknown_stays_unknown)
{
	struct calm_measured points[] = { point(4 * K, 12, 10), point(64 * M, 200, 0) };
	struct calm_machine other = machine;
	struct calm_derived derived;

	calm_derive_levels(points, 0, &machine, &derived);
	EXPECT_FALSE(derived.levels[0].has_latency || derived.has_memory);

	other.tsc_hz = 0;
	calm_derive_levels(points, 2, &other, &derived);
	EXPECT_FALSE(derived.levels[0].has_latency || derived.has_memory);

	/* Without a claimed cache nothing says where memory begins. */
	other = machine;
	other.n_caches = 0;
	calm_derive_levels(points, 2, &other, &derived);
	EXPECT_EQ(0, derived.n_levels);
	EXPECT_FALSE(derived.has_memory);
}

TEST_HARNESS_MAIN
