// SPDX-License-Identifier: GPL-2.0-only
/* A distribution counts each usable sample once, in nanoseconds per access. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <kselftest_harness.h>

#include "derive/noise.h"
#include "util.h"

#define LOADS 100

/* A tick is half a nanosecond. */
#define TSC_HZ 2e9

/* Ticks of each sample, less an empty window of 50; the last one was disturbed. */
static const int64_t ticks[] = { 1000, 1002, 1004, 1012, 1030, 1100, 1300, 2000, 9000, 1 };

#define SAMPLES CALM_ARRAY_SIZE(ticks)

static struct calm_sample samples[SAMPLES];

static struct calm_measured measured(size_t count)
{
	struct calm_measured point = { .complete = true };
	size_t i;

	memset(samples, 0, sizeof(samples));
	for (i = 0; i < count; i++) {
		samples[i].tsc = ticks[count - 1 - i] + 100;
		samples[i].windows = 2;
	}
	samples[0].disturb = count == SAMPLES ? CALM_DISTURB_SMI : 0;
	point.stats.overhead_tsc = 50;
	point.result.effective.loads = LOADS;
	point.result.samples = samples;
	point.result.n_samples = count;
	return point;
}

TEST(each_usable_sample_is_in_its_bin)
{
	static const uint64_t bins[CALM_NOISE_BINS] = { 1, 1, 1, 1, 1, 1, 1, 2 };
	struct calm_measured point = measured(SAMPLES);
	struct calm_noise noise;
	size_t i;

	ASSERT_TRUE(calm_derive_noise(&point, TSC_HZ, &noise));
	EXPECT_EQ(SAMPLES - 1, noise.samples);
	EXPECT_EQ(1, noise.dropped);
	for (i = 0; i < CALM_NOISE_BINS; i++)
		EXPECT_EQ(bins[i], noise.bin[i]) TH_LOG("bin %zu", i);
	EXPECT_EQ(5, noise.quantile_ns[0]);
	EXPECT_EQ(0.5, noise.share[4]);
	EXPECT_GE(1e-9, fabs(noise.quantile_ns[4] - 5.15));
	EXPECT_EQ(45, noise.quantile_ns[CALM_NOISE_QUANTILES - 1]);
	/* the third of nine */
	EXPECT_GE(1e-9, fabs(noise.quantile_ns[3] - 5.02));
}

TEST(nothing_is_made_up)
{
	struct calm_measured point = measured(0);
	struct calm_noise noise;

	EXPECT_FALSE(calm_derive_noise(&point, TSC_HZ, &noise));
	EXPECT_EQ(0, noise.samples);
	point = measured(3);
	EXPECT_FALSE(calm_derive_noise(&point, 0, &noise));
	EXPECT_TRUE(calm_derive_noise(&point, TSC_HZ, &noise));
	EXPECT_EQ(3, noise.samples);
	point.stats.refused = "the overhead is above 10 % of a sample; more loads are needed";
	EXPECT_FALSE(calm_derive_noise(&point, TSC_HZ, &noise));
}

TEST_HARNESS_MAIN
