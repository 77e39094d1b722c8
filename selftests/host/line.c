// SPDX-License-Identifier: GPL-2.0-only
/* The line out of what copied bytes cost by their distance. */
#include <stdint.h>

#include <kselftest_harness.h>

#include "derive/line.h"
#include "util.h"

#define SIZE (64ULL << 20)

#define POINTS_MAX 16

/**
 * struct curve - distances, each with what a byte costs, and the line that they tell
 * @line: of this file
 * @stride: distances, up to 0
 * @ticks: what a byte costs; 0: no statistics
 * @found: the line, or 0
 */
static const struct curve {
	int line;
	uint32_t stride[POINTS_MAX];
	double ticks[POINTS_MAX];
	uint64_t found;
} curves[] = {
	/* half of a line's cost at half a line, all of it from there on */
	{ __LINE__, { 16, 32, 64, 128, 256 }, { 1, 2, 4, 4, 4 }, 64 },
	{ __LINE__, { 16, 32, 64, 128, 256, 512 }, { 1, 2, 4, 8, 8, 8 }, 128 },
	{ __LINE__, { 8, 16, 32, 64, 128 }, { 1, 2, 4, 4, 4 }, 32 },
	/* in any order */
	{ __LINE__, { 256, 64, 16, 128, 32 }, { 4, 4, 1, 4, 2 }, 64 },
	/* the distance one above is the judge: multiples of a line contend for few sets */
	{ __LINE__, { 16, 17, 32, 33, 64, 65, 128, 129 }, { 1, 1, 9, 2.1, 9, 4, 9, 4 }, 64 },
	/* one of the three longest may be off either way */
	{ __LINE__, { 16, 32, 64, 128, 256, 512 }, { 1, 2, 4, 4, 4, 9 }, 64 },
	{ __LINE__, { 16, 32, 64, 128, 256, 512 }, { 1, 2, 4, 4, 4, 3 }, 64 },
	/* three quarters are still half a line and a little */
	{ __LINE__, { 16, 32, 64, 128, 256 }, { 1, 3, 4, 4, 4 }, 64 },
	{ __LINE__, { 16, 32, 64, 128, 256 }, { 1, 3.01, 4, 4, 4 }, 32 },
	/* what cannot be told: no distance below the line, none above it, too few, none */
	{ __LINE__, { 64, 128, 256 }, { 4, 4, 4 }, 0 },
	{ __LINE__, { 8, 16, 32 }, { 1, 2, 4 }, 0 },
	{ __LINE__, { 16, 32, 64, 128, 256 }, { 1, 2, 4, 8, 16 }, 0 },
	{ __LINE__, { 16, 17, 32, 33, 64, 65, 128, 129 }, { 1, 1, 2, 2, 4, 4, 8, 8 }, 0 },
	{ __LINE__, { 32, 64 }, { 2, 4 }, 0 },
	{ __LINE__, { 0 }, { 0 }, 0 },
	/* points without statistics: at half of the line one byte above it will do */
	{ __LINE__, { 16, 32, 64, 128, 256 }, { 1, 2, 4, 4, 0 }, 0 },
	{ __LINE__, { 16, 32, 64, 128, 256 }, { 1, 0, 4, 4, 4 }, 0 },
	{ __LINE__, { 16, 32, 33, 64, 128, 256 }, { 1, 0, 2, 4, 4, 4 }, 64 },
	/* of lines of 64 bytes, but half of one, a line or twice it is left out */
	{ __LINE__, { 8, 16, 24 }, { 1, 2, 3 }, 0 },
	{ __LINE__, { 16, 17, 24, 32, 48 }, { 2, 2.1, 3, 4, 6 }, 0 },
	{ __LINE__, { 8, 24, 32, 40, 128, 129 }, { 1, 3, 4, 5, 8, 8 }, 0 },
	{ __LINE__, { 8, 24, 32, 40, 128, 129 }, { 1, 3, 4.2, 5, 9, 5 }, 0 },
	{ __LINE__, { 16, 32, 128, 256, 512 }, { 2, 4, 8, 8, 8 }, 0 },
	/* the longest ones are shorter than a line */
	{ __LINE__, { 16, 20, 24, 28, 32, 36, 64 }, { 2, 2.5, 3, 3.5, 4, 4.5, 8 }, 0 },
};

static size_t fill(const struct curve *curve, uint64_t size, double scale,
		   struct calm_measured *points)
{
	size_t n = 0;

	for (; n < POINTS_MAX && curve->stride[n]; n++) {
		points[n] = (struct calm_measured){ .complete = true };
		points[n].result.effective.stride_bytes = curve->stride[n];
		points[n].result.effective.size_bytes = size;
		points[n].stats.tsc_per_access.valid = curve->ticks[n] > 0;
		points[n].stats.tsc_per_access.median = curve->ticks[n] * scale;
	}
	return n;
}

TEST(each_curve_tells_its_line)
{
	struct calm_measured points[POINTS_MAX];
	struct calm_derived derived;
	size_t i, n;

	for (i = 0; i < CALM_ARRAY_SIZE(curves); i++) {
		n = fill(&curves[i], SIZE, 1, points);
		calm_derive_line(points, n, &derived);
		EXPECT_EQ(curves[i].found, derived.line_bytes)
		{
			TH_LOG("line %d", curves[i].line);
		}
	}
}

TEST(the_largest_buffer_decides)
{
	/* a cache holds the small one, whose bytes cost the same at each distance */
	static const struct curve flat = {
		__LINE__, { 16, 32, 64, 128, 256 }, { 1, 1, 1, 1, 1 }, 0
	};
	struct calm_measured points[2 * POINTS_MAX];
	struct calm_derived derived;
	size_t n = fill(&flat, SIZE / 64, 1, points);

	calm_derive_line(points, n, &derived);
	EXPECT_EQ(0, derived.line_bytes);
	n += fill(&curves[0], SIZE, 10, points + n);
	calm_derive_line(points, n, &derived);
	EXPECT_EQ(64, derived.line_bytes);
}

TEST_HARNESS_MAIN
