// SPDX-License-Identifier: GPL-2.0-only
/* Signed-rank probabilities that can be counted by hand, intervals, and many tests at once. */
#include <math.h>

#include "../../user/derive/paired.h"
#include "kselftest_harness.h"

#define MAX 12

/* By going through all signs of the ranks 1 to n. */
static double counted(size_t n, unsigned int sum)
{
	unsigned int signs, below = 0, above = 0;

	for (signs = 0; signs < 1U << n; signs++) {
		unsigned int s = 0, i;

		for (i = 0; i < n; i++)
			s += signs >> i & 1 ? i + 1 : 0;
		below += s <= sum;
		above += s >= sum;
	}
	return fmin(1, 2.0 * (below < above ? below : above) / (1U << n));
}

TEST(all_signs_equal)
{
	double d[MAX] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	size_t n;

	for (n = 1; n <= MAX; n++)
		EXPECT_EQ(fmin(1, 2 / exp2((double)n)), calm_paired_p(d, n));
}

TEST(every_sum_of_ranks_as_counted)
{
	unsigned int signs, i;

	for (signs = 0; signs < 1U << 7; signs++) {
		double d[7];
		unsigned int sum = 0;

		for (i = 0; i < 7; i++) {
			d[i] = (signs >> i & 1 ? 1.0 : -1.0) * (i + 1);
			sum += signs >> i & 1 ? i + 1 : 0;
		}
		EXPECT_LT(fabs(counted(7, sum) - calm_paired_p(d, 7)), 1e-12);
	}
}

TEST(zero_spread_is_exact)
{
	const double same[10] = { 0 }, step[10] = { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 };

	EXPECT_EQ(1, calm_paired_p(same, 10));
	EXPECT_EQ(2.0 / 1024, calm_paired_p(step, 10));
}

/* Two of four differences are equal: ranks 1, 2.5, 2.5, 4; only one of 16 signs is as far. */
TEST(equal_sizes_share_ranks)
{
	const double d[4] = { 1, 2, 2, 5 }, e[4] = { -1, 2, 2, 5 };

	EXPECT_EQ(2.0 / 16, calm_paired_p(d, 4));
	EXPECT_EQ(4.0 / 16, calm_paired_p(e, 4));
}

TEST(large_counts_meet_the_exact_ones)
{
	double d[101];
	double exact, normal;
	int i;

	for (i = 0; i < 101; i++)
		d[i] = (i % 2 ? 1 : -1) * (i + 1.0);
	exact = calm_paired_p(d, 100);
	normal = calm_paired_p(d, 101);
	EXPECT_LT(fabs(exact - normal), 0.01);
}

TEST(interval_of_equal_values_is_that_value)
{
	const double v[5] = { 2.5, 2.5, 2.5, 2.5, 2.5 }, w[5] = { 1, 2, 3, 4, 5 };
	double low, high, low2, high2;

	calm_paired_interval(v, 5, 1, &low, &high);
	EXPECT_EQ(2.5, low);
	EXPECT_EQ(2.5, high);
	calm_paired_interval(w, 5, 1, &low, &high);
	calm_paired_interval(w, 5, 1, &low2, &high2);
	EXPECT_EQ(low, low2);
	EXPECT_EQ(high, high2);
	EXPECT_LE(1, low);
	EXPECT_LT(low, 3);
	EXPECT_LT(3, high);
	EXPECT_LE(high, 5);
}

/* The example of Benjamini and Hochberg's paper, section 3.1: 15 tests, the first 4 hold. */
TEST(discoveries_as_published)
{
	const double p[15] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
			       0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };

	EXPECT_EQ(0.0095, calm_paired_discoveries(p, 15, 0.05));
	EXPECT_LT(calm_paired_discoveries(p + 9, 6, 0.05), 0);
	EXPECT_LT(calm_paired_discoveries(p, 0, 0.05), 0);
}

TEST_HARNESS_MAIN
