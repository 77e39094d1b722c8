// SPDX-License-Identifier: GPL-2.0-only
/* A point under a setting is compared with the same point as found, and with no other. */
#include <stdlib.h>

#include <kselftest_harness.h>

#include <linux/calm.h>

#include "derive/prefetch.h"
#include "util.h"

#define POINTS_MAX 6

static const struct calm_setting found = { .label = (char *)"found" };
static const struct calm_setting off = { .label = (char *)"off", .all = CALM_PREFETCH_OFF };

/**
 * struct row - points of a document, and what is compared
 * @line: of this file
 * @points: place in the plan, layout, state of prefetchers and ticks of each, up to no state
 * @ratios: of the comparisons, up to 0
 */
static const struct row {
	int line;
	struct {
		size_t place;
		uint32_t layout;
		const struct calm_setting *setting;
		int64_t ticks;
	} points[POINTS_MAX];
	double ratios[POINTS_MAX];
} rows[] = {
	{ __LINE__, { { 0, 0, &found, 100 }, { 0, 0, &off, 150 } }, { 1.5 } },
	{ __LINE__, { { 0, 0, &found, 100 }, { 0, 0, &off, 150 },
		      { 1, 0, &found, 400 }, { 1, 0, &off, 500 } }, { 1.5, 1.25 } },
	/* ended before the second point came to the state as found; rounds have like numbers */
	{ __LINE__, { { 0, 0, &found, 100 }, { 0, 0, &off, 150 }, { 1, 0, &off, 500 } }, { 1.5 } },
	{ __LINE__, { { 0, 0, &off, 150 } }, { 0 } },
	/* layouts of one point are points of their own */
	{ __LINE__, { { 0, 0, &found, 100 }, { 0, 1, &off, 150 } }, { 0 } },
	{ __LINE__, { { 0, 0, &found, 100 }, { 0, 0, &off, 125 },
		      { 0, 1, &found, 200 }, { 0, 1, &off, 300 } }, { 1.25, 1.5 } },
};

static struct calm_sample samples[POINTS_MAX];

static size_t fill(const struct row *row, struct calm_measured *points)
{
	size_t n = 0;

	for (; n < POINTS_MAX && row->points[n].setting; n++) {
		samples[n] = (struct calm_sample){ .tsc = row->points[n].ticks, .windows = 1 };
		points[n] = (struct calm_measured){
			.place = row->points[n].place,
			.layout = row->points[n].layout,
			.setting = row->points[n].setting,
		};
		points[n].result.samples = &samples[n];
		points[n].result.n_samples = 1;
		points[n].result.effective.loads = 1;
		points[n].stats.tsc_per_access.valid = true;
		points[n].stats.tsc_per_access.median = (double)row->points[n].ticks;
	}
	return n;
}

TEST(each_is_compared_with_itself_as_found)
{
	size_t i, j;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		struct calm_measured points[POINTS_MAX];
		struct calm_derived derived = { .n_effects = 0 };

		calm_derive_prefetch(points, fill(&rows[i], points), &derived);
		for (j = 0; j < POINTS_MAX && rows[i].ratios[j] > 0; j++)
			;
		EXPECT_EQ(j, derived.n_effects) TH_LOG("row of line %d", rows[i].line);
		for (j = 0; j < derived.n_effects; j++)
			EXPECT_EQ(rows[i].ratios[j], derived.effects[j].ratio)
				TH_LOG("row of line %d, comparison %zu", rows[i].line, j);
		free(derived.effects);
	}
}

TEST_HARNESS_MAIN
