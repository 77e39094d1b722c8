// SPDX-License-Identifier: GPL-2.0-only
/* Statistics against values computed by hand. */
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>

#include "linux/calm.h"
#include "stats.h"
#include "util.h"

#define NEAR 0.000000001
#define EXPECT_NEAR(expected, found) EXPECT_LT(fabs((expected) - (found)), NEAR)

static const struct {
	int line;
	double values[8];
	size_t count;
	double share;
	double expected;
} quantiles[] = {
	{ __LINE__, { 7 }, 1, 0.05, 7 },
	{ __LINE__, { 7 }, 1, 1, 7 },
	{ __LINE__, { 1, 2 }, 2, 0.5, 1.5 },
	{ __LINE__, { 1, 2, 3, 4 }, 4, 0.25, 1.75 },
	{ __LINE__, { 1, 2, 3, 4 }, 4, 0.05, 1.15 },
	{ __LINE__, { 1, 2, 3, 4 }, 4, 0.95, 3.85 },
	{ __LINE__, { 10, 20, 40, 80, 160 }, 5, 0.5, 40 },
	{ __LINE__, { 10, 20, 40, 80, 160 }, 5, 0.95, 144 },
	{ __LINE__, { -4, -2, 0 }, 3, 0.05, -3.8 },
	{ __LINE__, { 1, 2, 3, 4 }, 4, 0, 1 },
	{ __LINE__, { 1, 2, 3, 4 }, 4, 1, 4 },
};

TEST(quantiles_are_of_type_7)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(quantiles); i++) {
		EXPECT_NEAR(quantiles[i].expected,
			    calm_stats_quantile(quantiles[i].values, quantiles[i].count,
						quantiles[i].share))
			TH_LOG("row of line %d", quantiles[i].line);
	}
}

static const struct {
	int line;
	double values[8];
	size_t count;
	double median;
	double mad;
} spreads[] = {
	{ __LINE__, { 5 }, 1, 5, 0 },
	{ __LINE__, { 3, 1 }, 2, 2, 1 },
	{ __LINE__, { 9, 1, 2, 4, 6 }, 5, 4, 2 },
	{ __LINE__, { 1, 1, 2, 2, 4, 6, 9 }, 7, 2, 1 },
	{ __LINE__, { 4, 4, 4, 1000 }, 4, 4, 0 },
	{ __LINE__, { -3, -1, -2 }, 3, -2, 1 },
};

TEST(median_and_unscaled_deviation)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(spreads); i++) {
		double values[8];

		memcpy(values, spreads[i].values, sizeof(values));
		EXPECT_NEAR(spreads[i].median, calm_stats_median(values, spreads[i].count))
			TH_LOG("row of line %d", spreads[i].line);
		memcpy(values, spreads[i].values, sizeof(values));
		EXPECT_NEAR(spreads[i].mad, calm_stats_mad(values, spreads[i].count))
			TH_LOG("row of line %d", spreads[i].line);
	}
}

/* A sample with a pass of twice the length if @twice is not 0. */
static struct calm_sample sample(uint32_t round, int64_t tsc, int64_t empty, uint32_t windows,
				 int64_t twice, uint32_t disturb)
{
	return (struct calm_sample){
		.round = round, .tsc = tsc, .tsc_empty = empty, .windows = windows,
		.has_double = twice != 0, .tsc_double = twice, .slice_tsc = (uint64_t)tsc + 500,
		.disturb = disturb,
	};
}

static struct calm_stats stats_of(struct calm_sample *samples, size_t count, uint64_t loads)
{
	struct calm_result result = {
		.effective = { .loads = loads }, .samples = samples, .n_samples = count,
	};
	struct calm_stats stats;
	size_t i;

	for (i = 0; i < count; i++)
		samples[i].index = (uint32_t)i;
	calm_stats_point(&result, &stats);
	return stats;
}

/*
 * Round 0: overhead 50, net 1000 1200 1100, median 1100, deviation 100.
 * Round 1: overhead 40 in each of two windows, net 2000 2000 2400, median 2000, deviation 0.
 * Round 2: overhead -20, net 1520 1540, median 1530, deviation 10.
 */
static struct calm_sample rounds[] = {
	{ .round = 0, .tsc = 1050, .tsc_empty = 50, .windows = 1 },
	{ .round = 0, .tsc = 1250, .tsc_empty = 40, .windows = 1 },
	{ .round = 0, .tsc = 1150, .tsc_empty = 90, .windows = 1 },
	{ .round = 1, .tsc = 2080, .tsc_empty = 40, .windows = 2 },
	{ .round = 1, .tsc = 2080, .tsc_empty = 40, .windows = 2 },
	{ .round = 1, .tsc = 2480, .tsc_empty = 40, .windows = 2 },
	{ .round = 2, .tsc = 1500, .tsc_empty = -30, .windows = 1 },
	{ .round = 2, .tsc = 1520, .tsc_empty = -10, .windows = 1 },
};

TEST(a_round_counts_as_one_value)
{
	struct calm_stats stats = stats_of(rounds, CALM_ARRAY_SIZE(rounds), 100);
	struct calm_summary *tsc = &stats.tsc_per_access;

	ASSERT_TRUE(tsc->valid);
	EXPECT_EQ(3, stats.rounds);
	EXPECT_EQ(8, stats.samples);
	EXPECT_EQ(0, stats.dropped);
	EXPECT_EQ(11, stats.windows);
	/* medians 11 20 15.3 */
	EXPECT_NEAR(15.3, tsc->median);
	/* all: 10 11 12 15.2 15.4 20 20 24 */
	EXPECT_NEAR(10, tsc->min);
	EXPECT_NEAR(10.35, tsc->p5);
	EXPECT_NEAR(22.6, tsc->p95);
	/* median of all 15.3, distances 5.3 4.3 3.3 .1 .1 4.7 4.7 8.7 */
	ASSERT_TRUE(tsc->has_mad);
	EXPECT_NEAR(4.5, tsc->mad);
	/* 1 0 0.1 */
	ASSERT_TRUE(tsc->has_within);
	EXPECT_NEAR(0.1, tsc->within_mad);
	/* distances from 15.3: 4.3 4.7 0 */
	ASSERT_TRUE(tsc->has_between);
	EXPECT_NEAR(4.3, tsc->between_mad);
	/* 50 40 -20 */
	EXPECT_NEAR(40, stats.overhead_tsc);
	EXPECT_FALSE(stats.tsc_two_lengths.valid);
	EXPECT_EQ(NULL, stats.refused);
}

TEST(overhead_is_signed)
{
	struct calm_sample samples[] = { sample(0, 1000, -20, 3, 0, 0) };
	struct calm_stats stats = stats_of(samples, 1, 10);

	ASSERT_TRUE(stats.tsc_per_access.valid);
	EXPECT_NEAR(106, stats.tsc_per_access.median);
	EXPECT_NEAR(-20, stats.overhead_tsc);
}

TEST(one_sample_has_no_spread)
{
	struct calm_sample samples[] = { sample(0, 1000, 0, 1, 0, 0) };
	struct calm_stats stats = stats_of(samples, 1, 10);

	EXPECT_TRUE(stats.tsc_per_access.valid);
	EXPECT_FALSE(stats.tsc_per_access.has_mad);
	EXPECT_FALSE(stats.tsc_per_access.has_within);
	EXPECT_FALSE(stats.tsc_per_access.has_between);
}

TEST(two_lengths_cancel_every_constant)
{
	struct calm_sample samples[] = {
		sample(0, 1050, 50, 1, 2050, 0), sample(0, 1060, 50, 1, 2070, 0),
		sample(0, 1050, 50, 1, 0, 0),	 sample(1, 1050, 50, 1, 2090, 0),
	};
	struct calm_stats stats = stats_of(samples, 4, 100);

	ASSERT_TRUE(stats.tsc_two_lengths.valid);
	/* round 0: 10 10.1; round 1: 10.4 */
	EXPECT_NEAR((10.05 + 10.4) / 2, stats.tsc_two_lengths.median);
	EXPECT_NEAR(10, stats.tsc_two_lengths.min);
}

static const struct {
	int line;
	int64_t tsc;
	int64_t empty;
	uint32_t windows;
	bool refused;
} shares[] = {
	{ __LINE__, 1000, 100, 1, false }, { __LINE__, 1000, 101, 1, true },
	{ __LINE__, 1000, 50, 2, false },  { __LINE__, 1000, 51, 2, true },
	{ __LINE__, 1000, -500, 1, false }, { __LINE__, 50, 70, 1, true },
	{ __LINE__, 0, 0, 1, true },
};

TEST(too_much_overhead_is_refused)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(shares); i++) {
		struct calm_sample samples[] = {
			sample(0, shares[i].tsc, shares[i].empty, shares[i].windows, 3000, 0),
		};
		struct calm_stats stats = stats_of(samples, 1, 10);

		EXPECT_EQ(shares[i].refused, !!stats.refused)
			TH_LOG("row of line %d", shares[i].line);
		EXPECT_EQ(!shares[i].refused, stats.tsc_per_access.valid)
			TH_LOG("row of line %d", shares[i].line);
		EXPECT_EQ(!shares[i].refused, stats.tsc_two_lengths.valid)
			TH_LOG("row of line %d", shares[i].line);
		EXPECT_TRUE(stats.has_overhead);
	}
}

/* One round that is refused spoils the point: its other rounds are not better known. */
TEST(one_bad_round_refuses_the_point)
{
	struct calm_sample samples[] = {
		sample(0, 1000, 10, 1, 0, 0), sample(1, 1000, 200, 1, 0, 0),
		sample(2, 1000, 10, 1, 0, 0),
	};
	struct calm_stats stats = stats_of(samples, 3, 10);

	EXPECT_NE(NULL, stats.refused);
	EXPECT_NEAR(0.2, stats.overhead_share);
}

TEST(disturbed_samples_are_dropped_and_counted)
{
	struct calm_sample samples[] = {
		sample(0, 1000, 0, 1, 0, 0),
		sample(0, 9000, 900, 1, 0, CALM_DISTURB_SLICE),
		sample(0, 9000, 900, 1, 0, CALM_DISTURB_SLICE | 1u << 30),
		sample(0, 1000, 0, 1, 0, 1u << 31),
		sample(1, 5000, 0, 1, 0, CALM_DISTURB_SLICE),
		sample(1, 5000, 0, 1, 0, CALM_DISTURB_SMI),
		sample(1, 5000, 0, 1, 0, CALM_DISTURB_NMI),
	};
	static const struct calm_disturbed expected[] = {
		{ "slice", 3 }, { "unknown", 2 }, { "smi", 1 }, { "nmi", 1 },
	};
	struct calm_stats stats = stats_of(samples, 7, 10);
	size_t i;

	EXPECT_NEAR(100, stats.tsc_per_access.median);
	EXPECT_FALSE(stats.tsc_per_access.has_mad);
	EXPECT_EQ(1, stats.rounds);
	EXPECT_EQ(7, stats.samples);
	EXPECT_EQ(6, stats.dropped);
	ASSERT_EQ(CALM_ARRAY_SIZE(expected), stats.n_disturbed);
	for (i = 0; i < CALM_ARRAY_SIZE(expected); i++) {
		EXPECT_STREQ(expected[i].cause, stats.disturbed[i].cause);
		EXPECT_EQ(expected[i].samples, stats.disturbed[i].samples);
	}
	EXPECT_EQ(9500, stats.slice_tsc);
}

TEST(nothing_usable_is_null_and_says_why)
{
	struct calm_sample samples[] = { sample(0, 1000, 0, 1, 0, CALM_DISTURB_SLICE) };
	struct calm_stats stats = stats_of(samples, 1, 10);

	EXPECT_FALSE(stats.tsc_per_access.valid);
	EXPECT_FALSE(stats.has_overhead);
	EXPECT_STREQ("every sample was disturbed", stats.refused);
	stats = stats_of(samples, 0, 10);
	EXPECT_FALSE(stats.tsc_per_access.valid);
	EXPECT_STREQ("no sample was taken", stats.refused);
}

TEST(scaling_reaches_every_value)
{
	struct calm_summary summary = { true, 1, 2, 3, 4, true, 5, true, 6, true, 7 };
	struct calm_summary twice = calm_stats_scale(&summary, 2);

	EXPECT_NEAR(2, twice.min);
	EXPECT_NEAR(4, twice.p5);
	EXPECT_NEAR(6, twice.median);
	EXPECT_NEAR(8, twice.p95);
	EXPECT_NEAR(10, twice.mad);
	EXPECT_NEAR(12, twice.within_mad);
	EXPECT_NEAR(14, twice.between_mad);
	EXPECT_TRUE(twice.valid && twice.has_mad && twice.has_within && twice.has_between);
}

/* ---- counts and clocks ---- */

/* A pass of ten accesses in one window. */
static struct calm_sample counted(uint32_t round, uint64_t count, uint64_t empty, uint64_t twice)
{
	struct calm_sample counted = sample(round, 1000, 0, 1, 0, 0);

	counted.n_counts = 2;
	counted.count[1] = count;
	counted.n_counts_empty = 2;
	counted.count_empty[1] = empty;
	counted.n_counts_double = twice ? 2 : 0;
	counted.count_double[1] = twice;
	return counted;
}

/* With an MPERF that is a little faster than the TSC, as its rate may be. */
static struct calm_sample clocked(uint32_t round, uint64_t aperf, uint64_t mperf)
{
	struct calm_sample clocked = counted(round, 0, 0, 0);

	clocked.has_clocks = true;
	clocked.aperf = aperf;
	clocked.mperf = mperf + mperf / 250;
	clocked.clock_tsc = mperf;
	return clocked;
}

static struct calm_result result_of(struct calm_sample *samples, size_t count)
{
	struct calm_result result = { .effective = { .loads = 10 } };
	size_t i;

	for (i = 0; i < count; i++)
		samples[i].index = (uint32_t)i;
	result.samples = samples;
	result.n_samples = count;
	return result;
}

TEST(counts_lose_an_empty_window_and_may_be_negative)
{
	struct calm_sample samples[] = {
		counted(0, 25, 5, 50), counted(0, 35, 5, 60), counted(0, 45, 7, 70),
		counted(1, 1, 3, 4), counted(1, 1, 3, 4), counted(1, 1, 3, 4),
	};
	const struct calm_result result = result_of(samples, 6);
	struct calm_count count;

	calm_stats_count(&result, 1, &count);
	/* rounds: 3 and -0.2 per access */
	EXPECT_NEAR(1.4, count.per_access.median);
	EXPECT_NEAR(-0.2, count.per_access.min);
	EXPECT_NEAR((2.5 + 0.3) / 2, count.two_lengths.median);
	EXPECT_NEAR(4, count.overhead);
}

TEST(core_cycles_by_what_there_is)
{
	struct calm_sample samples[] = { clocked(0, 30000, 20000), clocked(0, 30000, 20000) };
	struct calm_result result = result_of(samples, 2);
	const struct calm_clock by_event = { true, 1, 4 }, by_hand = { false, 0, 4 };
	struct calm_stats stats;

	samples[0].count[1] = 2500;
	samples[1].count[1] = 2500;
	calm_stats_point(&result, &stats);
	EXPECT_EQ(NULL, stats.clock_source);
	calm_stats_cycles(&result, &by_event, &stats);
	EXPECT_STREQ("fixed", stats.clock_source);
	EXPECT_NEAR(250, stats.cycles_per_access.median);
	EXPECT_NEAR(2.5, stats.core_per_tsc);

	calm_stats_point(&result, &stats);
	calm_stats_cycles(&result, &by_hand, &stats);
	EXPECT_STREQ("aperf", stats.clock_source);
	EXPECT_NEAR(150, stats.cycles_per_access.median);

	/* registers that read 0 are none */
	samples[1].mperf = 0;
	calm_stats_point(&result, &stats);
	calm_stats_cycles(&result, &by_hand, &stats);
	EXPECT_STREQ("calibrated", stats.clock_source);
	EXPECT_NEAR(400, stats.cycles_per_access.median);
	EXPECT_NEAR(4, stats.core_per_tsc);
}

TEST(another_frequency_drops_a_sample)
{
	struct calm_sample samples[] = {
		clocked(0, 100000, 50000), clocked(0, 101900, 50000), clocked(0, 102100, 50000),
		clocked(0, 97900, 50000), clocked(0, 100000, 50000),
		/* another round runs at another frequency */
		clocked(1, 50000, 50000), clocked(1, 50000, 50000),
		/* too short to tell */
		clocked(1, 900, 500),
	};
	static const bool expected[] = { false, false, true, true, false, false, false, false };
	struct calm_result result = result_of(samples, 8);
	struct calm_stats stats;
	size_t i;

	calm_stats_mark_frequency(&result);
	for (i = 0; i < CALM_ARRAY_SIZE(expected); i++)
		EXPECT_EQ(expected[i], samples[i].other_frequency) TH_LOG("sample %zu", i);
	calm_stats_point(&result, &stats);
	EXPECT_EQ(2, stats.dropped);
	ASSERT_EQ(1, stats.n_disturbed);
	EXPECT_STREQ("frequency", stats.disturbed[0].cause);
	EXPECT_EQ(2, stats.disturbed[0].samples);
}

TEST(the_fastest_pass_of_each_round_is_kept)
{
	struct calm_sample samples[] = {
		counted(0, 300, 0, 0), counted(0, 200, 0, 0), counted(0, 100, 0, 0),
		counted(1, 50, 0, 0), counted(1, 50, 0, 0),
	};
	const struct calm_clock clock = { true, 1, 0 };
	struct calm_result result = result_of(samples, 5);
	struct calm_count count;
	struct calm_stats stats;

	samples[2].disturb = CALM_DISTURB_SMI;
	calm_stats_keep_fastest(&result, &clock);
	calm_stats_count(&result, 1, &count);
	EXPECT_NEAR((20 + 5) / 2.0, count.per_access.median);
	EXPECT_FALSE(samples[1].passed_over);
	EXPECT_TRUE(samples[3].passed_over != samples[4].passed_over);
	calm_stats_point(&result, &stats);
	EXPECT_EQ(5, stats.samples);
	EXPECT_EQ(1, stats.dropped);
}

TEST_HARNESS_MAIN
