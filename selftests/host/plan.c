// SPDX-License-Identifier: GPL-2.0-only
/* The grid of a sweep: dense enough, whole laps, nothing rounded in silence. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>

#include "linux/calm.h"
#include "plan.h"

#define K (1ULL << 10)
#define M (1ULL << 20)
#define G (1ULL << 30)

static const struct calm_cache caches[] = {
	{ "L1d", 48 * K, 64, 12, "1" },
	{ "L2", 2 * M, 64, 16, "1" },
	{ "L3", 24 * M, 64, 12, "0-1" },
};

static struct calm_run_opts defaults(void)
{
	return (struct calm_run_opts){
		.cpu = CALM_UNSET, .node = CALM_UNSET, .pages = CALM_PAGES_2M,
		.order = CALM_ORDER_RANDOM, .min_bytes = CALM_UNSET, .max_bytes = CALM_UNSET,
		.step = 4, .stride_bytes = 64, .loads = CALM_UNSET, .rounds = 5, .samples = 9,
		.warmup = 2, .seed = 1,
	};
}

static struct calm_plan_input input_of(const struct calm_run_opts *opts, size_t n_caches)
{
	return (struct calm_plan_input){
		.opts = opts, .loop = "chase", .cpu = 1, .caches = caches, .n_caches = n_caches,
		.max_bytes = CALM_UNSET, .max_node = -1,
	};
}

/* Points with a size from @low up to but not including @high. */
static unsigned int count_points(const struct calm_plan *plan, uint64_t low, uint64_t high)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < plan->count; i++)
		count += plan->points[i].size_bytes >= low && plan->points[i].size_bytes < high;
	return count;
}

static bool has_size(const struct calm_plan *plan, uint64_t bytes)
{
	return count_points(plan, bytes, bytes + 1) == 1;
}

static const struct {
	int line;
	uint64_t min;
	uint64_t max;
	uint64_t stride;
	uint64_t step;
	size_t n_caches;
} sweeps[] = {
	{ __LINE__, 4 * K, 64 * M, 64, 4, 3 },	  { __LINE__, 4 * K, 64 * M, 64, 4, 0 },
	{ __LINE__, 4 * K, 1 * G, 64, 4, 3 },	  { __LINE__, 16 * K, 1 * M, 8, 4, 3 },
	{ __LINE__, 16 * K, 16 * M, 64, 1, 3 },	  { __LINE__, 16 * K, 16 * M, 64, 16, 3 },
	{ __LINE__, 64 * K, 64 * M, 4096, 4, 3 }, { __LINE__, 5000, 70000, 64, 4, 1 },
	{ __LINE__, 40 * K, 60 * K, 64, 4, 1 },	  { __LINE__, 8 * K, 8 * K, 64, 4, 3 },
	{ __LINE__, 4 * K, 64 * M, 72, 4, 3 },
};

FIXTURE(sweep) {
	struct calm_run_opts opts;
	struct calm_plan plan;
	struct calm_error error;
};

FIXTURE_SETUP(sweep)
{
	memset(self, 0, sizeof(*self));
	self->opts = defaults();
}

FIXTURE_TEARDOWN(sweep)
{
	calm_plan_free(&self->plan);
}

#define MAKE(row)                                                                                  \
	do {                                                                                       \
		struct calm_plan_input input = input_of(&self->opts, sweeps[row].n_caches);        \
		calm_plan_free(&self->plan);                                                       \
		self->opts.min_bytes = sweeps[row].min;                                            \
		self->opts.max_bytes = sweeps[row].max;                                            \
		self->opts.stride_bytes = sweeps[row].stride;                                      \
		self->opts.step = sweeps[row].step;                                                \
		ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error))                    \
			TH_LOG("row of line %d: %s", sweeps[row].line, self->error.text);          \
	} while (0)

TEST_F(sweep, both_ends_are_in)
{
	size_t row;

	for (row = 0; row < CALM_ARRAY_SIZE(sweeps); row++) {
		MAKE(row);
		EXPECT_EQ(sweeps[row].min, self->plan.points[0].requested_size_bytes);
		EXPECT_EQ(sweeps[row].max,
			  self->plan.points[self->plan.count - 1].requested_size_bytes);
	}
}

TEST_F(sweep, sizes_rise_by_at_most_a_step)
{
	size_t row, i;

	for (row = 0; row < CALM_ARRAY_SIZE(sweeps); row++) {
		MAKE(row);
		for (i = 1; i < self->plan.count; i++) {
			double low = self->plan.points[i - 1].size_bytes;
			double high = self->plan.points[i].size_bytes;

			EXPECT_LT(low, high);
			/* Either end may lie a stride beside the exact grid. */
			EXPECT_LE(high - sweeps[row].stride,
				  (low + sweeps[row].stride) * exp2(1.0 / sweeps[row].step))
				TH_LOG("row of line %d: %.0f to %.0f", sweeps[row].line, low, high);
		}
	}
}

TEST_F(sweep, every_octave_has_its_points)
{
	size_t row;
	uint64_t low;

	for (row = 0; row < CALM_ARRAY_SIZE(sweeps); row++) {
		MAKE(row);
		for (low = sweeps[row].min; 2 * low <= sweeps[row].max; low *= 2) {
			/* Sizes are the multiples of the stride nearest to the grid, ends below. */
			uint64_t half = sweeps[row].stride / 2;
			uint64_t from = low == sweeps[row].min ? low - 2 * half : low - half;

			EXPECT_LE(sweeps[row].step,
				  count_points(&self->plan, from, 2 * low - half))
				TH_LOG("row of line %d: octave from %llu", sweeps[row].line,
				       (unsigned long long)low);
		}
	}
}

TEST_F(sweep, capacities_are_dense)
{
	size_t row, i;

	for (row = 0; row < CALM_ARRAY_SIZE(sweeps); row++) {
		MAKE(row);
		for (i = 0; i < sweeps[row].n_caches; i++) {
			uint64_t bytes = caches[i].size_bytes;

			if (bytes / 2 < sweeps[row].min || 2 * bytes > sweeps[row].max ||
			    bytes % sweeps[row].stride)
				continue;
			EXPECT_LE(8, count_points(&self->plan, bytes / 2, bytes));
			EXPECT_LE(8, count_points(&self->plan, bytes, 2 * bytes));
			EXPECT_TRUE(has_size(&self->plan, bytes / 2));
			EXPECT_TRUE(has_size(&self->plan, bytes));
			EXPECT_TRUE(has_size(&self->plan, 2 * bytes));
		}
	}
}

TEST_F(sweep, points_are_whole)
{
	size_t row, i;

	for (row = 0; row < CALM_ARRAY_SIZE(sweeps); row++) {
		MAKE(row);
		for (i = 0; i < self->plan.count; i++) {
			const struct calm_point *point = &self->plan.points[i];
			uint64_t lines = point->size_bytes / point->stride_bytes;

			EXPECT_EQ(0, point->size_bytes % point->stride_bytes);
			EXPECT_LE(2, lines);
			EXPECT_LT(point->requested_size_bytes - point->size_bytes,
				  point->stride_bytes);
			EXPECT_EQ(0, point->loads % lines);
			EXPECT_LE(16384, point->loads);
			EXPECT_LT(point->loads, 16384 + lines);
			EXPECT_EQ(5, point->rounds);
			EXPECT_EQ(9, point->samples);
			EXPECT_EQ(1, point->cpu);
			EXPECT_EQ(-1, point->node);
			EXPECT_STREQ("chase", point->loop);
			if (point->size_bytes <= 48 * K)
				EXPECT_TRUE(point->flags & CALM_F_TWO_LENGTHS);
		}
	}
}

static const struct {
	int line;
	uint64_t stride;
	size_t n_caches;
	uint64_t max_bytes;
	uint64_t first;
	uint64_t last;
	uint64_t capped;
} ends[] = {
	{ __LINE__, 64, 0, CALM_UNSET, 4 * K, 64 * M, 0 },
	{ __LINE__, 64, 1, CALM_UNSET, 4 * K, 64 * M, 0 },
	{ __LINE__, 64, 3, CALM_UNSET, 4 * K, 96 * M, 0 },
	{ __LINE__, 64 * K, 3, CALM_UNSET, 128 * K, 96 * M, 0 },
	{ __LINE__, 64, 3, 10 * M, 4 * K, 10 * M, 10 * M },
	{ __LINE__, 64, 3, 96 * M, 4 * K, 96 * M, 0 },
};

TEST_F(sweep, open_ends_follow_the_machine)
{
	size_t row;

	for (row = 0; row < CALM_ARRAY_SIZE(ends); row++) {
		struct calm_plan_input input = input_of(&self->opts, ends[row].n_caches);

		calm_plan_free(&self->plan);
		self->opts.stride_bytes = ends[row].stride;
		input.max_bytes = ends[row].max_bytes;
		ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
		EXPECT_EQ(ends[row].first, self->plan.points[0].size_bytes)
			TH_LOG("row of line %d", ends[row].line);
		EXPECT_EQ(ends[row].last, self->plan.points[self->plan.count - 1].size_bytes)
			TH_LOG("row of line %d", ends[row].line);
		EXPECT_EQ(ends[row].capped, self->plan.capped_bytes)
			TH_LOG("row of line %d", ends[row].line);
	}
}

/* An end that was given is never moved: too much is refused, with the range. */
TEST_F(sweep, what_cannot_be_had_is_refused)
{
	struct calm_plan_input input = input_of(&self->opts, 3);
	uint64_t sizes[] = { 4 * K, 11 * M };

	input.max_bytes = 10 * M;
	self->opts.max_bytes = 11 * M;
	EXPECT_EQ(-ENOMEM, calm_plan_make(&input, &self->plan, &self->error));
	EXPECT_EQ(CALM_EXIT_ABSENT, self->error.status);
	EXPECT_STREQ("max: '11M' is more memory than can be had now (allowed 128..10M)",
		     self->error.text);

	self->opts.max_bytes = CALM_UNSET;
	self->opts.min_bytes = 12 * M;
	EXPECT_EQ(-ENOMEM, calm_plan_make(&input, &self->plan, &self->error));
	EXPECT_STREQ("min: '12M' is more memory than can be had now (allowed 128..10M)",
		     self->error.text);

	self->opts.min_bytes = CALM_UNSET;
	self->opts.sizes = (struct calm_sizes){ sizes, 2 };
	EXPECT_EQ(-ENOMEM, calm_plan_make(&input, &self->plan, &self->error));
	EXPECT_STREQ("size: '11M' is more memory than can be had now (allowed 128..10M)",
		     self->error.text);

	input.max_node = 3;
	EXPECT_EQ(-ENOMEM, calm_plan_make(&input, &self->plan, &self->error));
	EXPECT_STREQ("size: '11M' is more memory than can be had of node 3 now (allowed 128..10M)",
		     self->error.text);
}

TEST(the_smaller_limit_counts)
{
	struct calm_processor processors[] = {
		{ .id = 0, .node = 0 }, { .id = 5, .node = 2 },
		{ .id = 6, .node = 1, .lacks_memory = true, .memory_node = 2 },
	};
	struct calm_memory_node nodes[] = { { 0, 9 * G }, { 2, 5 * G } };
	struct calm_module module = {
		.processors = processors, .n_processors = 3, .nodes = nodes, .n_nodes = 2,
	};
	static const struct {
		int line;
		uint64_t max_bytes;
		uint32_t cpu;
		int32_t node;
		uint64_t limit;
		int32_t max_node;
	} rows[] = {
		{ __LINE__, 0, 0, -1, 9 * G, 0 },		/* a module that tells no limit */
		{ __LINE__, 10 * G, 0, -1, 9 * G, 0 },
		{ __LINE__, 10 * G, 5, -1, 5 * G, 2 },
		{ __LINE__, 10 * G, 5, 0, 9 * G, 0 },
		{ __LINE__, 10 * G, 6, -1, 5 * G, 2 },		/* no memory of its own */
		{ __LINE__, 10 * G, 0, 2, 5 * G, 2 },
		{ __LINE__, 4 * G, 0, 2, 4 * G, -1 },
		{ __LINE__, 10 * G, 0, 1, 10 * G, -1 },		/* a node that is not told of */
		{ __LINE__, 10 * G, 7, -1, 10 * G, -1 },
	};
	int32_t node;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		module.has_limits = rows[i].max_bytes;
		module.max_bytes = rows[i].max_bytes;
		EXPECT_EQ(rows[i].limit,
			  calm_plan_limit(&module, rows[i].cpu, rows[i].node, &node))
			TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(rows[i].max_node, node)
			TH_LOG("row of line %d", rows[i].line);
	}
	module.n_nodes = 0;
	module.has_limits = false;
	EXPECT_EQ(CALM_UNSET, calm_plan_limit(&module, 0, -1, &node));
}

TEST_F(sweep, sizes_beyond_32_bits)
{
	static const struct {
		int line;
		uint64_t size;
		uint64_t stride;
		uint64_t effective;
		uint64_t lines;
	} rows[] = {
		{ __LINE__, 4 * G, 64, 4 * G, 1ULL << 26 },
		{ __LINE__, 4 * G + 63, 64, 4 * G, 1ULL << 26 },
		{ __LINE__, 5 * G, 8, 5 * G, 5ULL << 27 },
		{ __LINE__, 48 * G + 7, 8, 48 * G, 6ULL << 30 },
		{ __LINE__, 1ULL << 46, 8, 1ULL << 46, 1ULL << 43 },
		{ __LINE__, 1ULL << 46, 1 << 20, 1ULL << 46, 1ULL << 26 },
		{ __LINE__, 5 * G + 1, 24, 5 * G - 8, (5 * G - 8) / 24 },
	};
	struct calm_plan_input input = input_of(&self->opts, 3);
	size_t row;

	for (row = 0; row < CALM_ARRAY_SIZE(rows); row++) {
		uint64_t size = rows[row].size;
		const struct calm_point *point;
		double estimate;

		calm_plan_free(&self->plan);
		self->opts.sizes = (struct calm_sizes){ &size, 1 };
		self->opts.stride_bytes = rows[row].stride;
		ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
		point = &self->plan.points[0];
		EXPECT_EQ(size, point->requested_size_bytes);
		EXPECT_EQ(rows[row].effective, point->size_bytes)
			TH_LOG("row of line %d", rows[row].line);
		EXPECT_EQ(rows[row].lines, point->loads)
			TH_LOG("row of line %d", rows[row].line);
		estimate = calm_plan_estimate(point, caches, 3);
		/* each line is visited once a pass, at 90 ns as the guess has it */
		EXPECT_LT(rows[row].lines * 90e-9 * 45, estimate)
			TH_LOG("row of line %d", rows[row].line);
	}
	self->opts.sizes = (struct calm_sizes){ NULL, 0 };
	self->opts.stride_bytes = 64;
	self->opts.min_bytes = 3 * G;
	self->opts.max_bytes = 24 * G;
	calm_plan_free(&self->plan);
	ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
	/* three octaves of four points, and the end */
	EXPECT_EQ(13, self->plan.count);
	EXPECT_TRUE(has_size(&self->plan, 6 * G));
	EXPECT_TRUE(has_size(&self->plan, 12 * G));
}

TEST_F(sweep, contiguity_travels_as_a_flag)
{
	struct calm_plan_input input = input_of(&self->opts, 3);

	ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
	EXPECT_EQ(0, self->plan.points[0].flags & CALM_F_CONTIGUOUS);
	calm_plan_free(&self->plan);
	self->opts.contig = true;
	ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
	EXPECT_EQ(CALM_F_CONTIGUOUS, self->plan.points[0].flags & CALM_F_CONTIGUOUS);
}

TEST_F(sweep, a_list_is_taken_as_it_is)
{
	struct calm_plan_input input = input_of(&self->opts, 3);
	uint64_t sizes[] = { 100000, 4096, 4100, 4096 };

	self->opts.sizes = (struct calm_sizes){ sizes, 4 };
	self->opts.loads = 12345;
	ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
	ASSERT_EQ(4, self->plan.count);
	EXPECT_EQ(4096, self->plan.points[0].requested_size_bytes);
	EXPECT_EQ(4096, self->plan.points[1].requested_size_bytes);
	EXPECT_EQ(4100, self->plan.points[2].requested_size_bytes);
	EXPECT_EQ(4096, self->plan.points[2].size_bytes);
	EXPECT_EQ(100000, self->plan.points[3].requested_size_bytes);
	EXPECT_EQ(99968, self->plan.points[3].size_bytes);
	EXPECT_EQ(12345, self->plan.points[3].loads);
}

TEST_F(sweep, lanes_are_points_and_laps_are_whole_rows)
{
	static uint64_t lanes[] = { 16, 1, 3 }, sizes[] = { 1 << 26, 1 << 20, 1 << 14 };
	static const struct {
		uint64_t bytes;
		uint32_t lanes;
		uint64_t loads;
		const char *loop;
	} expected[] = {
		{ 1 << 14, 1, 16384, "chase" },	  { 1 << 14, 3, 64 * 258, "chase" },
		{ 1 << 14, 16, 16384, "chase" },  { 1 << 14, 0, 16384, "random" },
		{ 1 << 20, 1, 16384, "chase" },	  { 1 << 20, 3, 16386, "chase" },
		{ 1 << 20, 16, 16384, "chase" },  { 1 << 20, 0, 16384, "random" },
		{ 1 << 26, 1, 1 << 20, "chase" }, { 1 << 26, 3, (1 << 20) + 2, "chase" },
		{ 1 << 26, 16, 1 << 20, "chase" }, { 1 << 26, 0, 1 << 20, "random" },
		{ 1 << 26, 0, 1 << 19, "copy" },
	};
	struct calm_plan_input input;
	size_t i;

	self->opts.lanes = (struct calm_sizes){ lanes, 3 };
	self->opts.sizes = (struct calm_sizes){ sizes, 3 };
	input = input_of(&self->opts, 3);
	input.free_loop = "random";
	/* of what no cache holds alone */
	input.copy_loop = "copy";
	ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
	ASSERT_EQ(CALM_ARRAY_SIZE(expected), self->plan.count);
	for (i = 0; i < self->plan.count; i++) {
		EXPECT_EQ(expected[i].bytes, self->plan.points[i].size_bytes);
		EXPECT_EQ(expected[i].lanes, self->plan.points[i].lanes);
		EXPECT_EQ(expected[i].loads, self->plan.points[i].loads);
		EXPECT_STREQ(expected[i].loop, self->plan.points[i].loop);
	}
}

TEST_F(sweep, what_shows_that_fill_buffers_are_the_limit)
{
	static uint64_t lanes[] = { 1, 2 }, sizes[] = { 1 << 26, 1 << 20, 1 << 14 };
	static const struct {
		uint64_t bytes;
		uint32_t lanes;
		const char *loop;
		uint32_t order;
	} expected[] = {
		{ 1 << 14, 0, "random", CALM_ORDER_RANDOM },
		{ 1 << 20, 1, "chase", CALM_ORDER_RANDOM },
		{ 1 << 20, 2, "chase", CALM_ORDER_RANDOM },
		{ 1 << 20, 0, "random", CALM_ORDER_RANDOM },
		{ 1 << 26, 1, "chase", CALM_ORDER_RANDOM },
		{ 1 << 26, 2, "chase", CALM_ORDER_RANDOM },
		{ 1 << 26, 0, "random", CALM_ORDER_RANDOM },
		{ 1 << 26, 0, "stride", CALM_ORDER_LINEAR },
		{ 1 << 26, 0, "copy", CALM_ORDER_LINEAR },
	};
	struct calm_plan_input input;
	size_t i;

	self->opts.lanes = (struct calm_sizes){ lanes, 2 };
	self->opts.sizes = (struct calm_sizes){ sizes, 3 };
	self->opts.order = CALM_ORDER_RANDOM;
	input = input_of(&self->opts, 3);
	input.free_loop = "random";
	input.copy_loop = "copy";
	input.linear_loop = "stride";
	input.bare_bytes = 1 << 14;
	ASSERT_EQ(0, calm_plan_make(&input, &self->plan, &self->error));
	ASSERT_EQ(CALM_ARRAY_SIZE(expected), self->plan.count);
	for (i = 0; i < self->plan.count; i++) {
		EXPECT_EQ(expected[i].bytes, self->plan.points[i].size_bytes);
		EXPECT_EQ(expected[i].lanes, self->plan.points[i].lanes);
		EXPECT_STREQ(expected[i].loop, self->plan.points[i].loop);
		EXPECT_EQ(expected[i].order, self->plan.points[i].order);
	}
}

TEST_F(sweep, a_size_beyond_all_caches)
{
	static const struct calm_cache tiny[] = {
		{ "L1d", 4 * K, 64, 8, "0" }, { "L2", 1 * M, 64, 16, "0" },
	};
	struct calm_plan_input input = input_of(&self->opts, 3);

	/* 24 MiB of L3: a power of two above 96 MiB */
	EXPECT_EQ(128 * M, calm_plan_beyond(&input));
	EXPECT_EQ(8 * M, calm_plan_within(&input));
	EXPECT_EQ(16 * K, calm_plan_first(&input));
	input.n_caches = 1;
	EXPECT_EQ(256 * K, calm_plan_beyond(&input));
	EXPECT_EQ(16 * K, calm_plan_within(&input));
	/* the same once more shows nothing, nor does one that half of the cache is too small for */
	EXPECT_EQ(0, calm_plan_first(&input));
	input.caches = tiny;
	input.n_caches = 2;
	EXPECT_EQ(0, calm_plan_first(&input));
	input.n_caches = 0;
	EXPECT_EQ(64 * M, calm_plan_beyond(&input));
}

TEST_F(sweep, larger_buffers_are_expected_to_take_longer)
{
	double last = 0;
	size_t i;

	MAKE(0);
	for (i = 0; i < self->plan.count; i++) {
		struct calm_point point = self->plan.points[i];
		double estimate;

		point.loads = 1 << 20;
		estimate = calm_plan_estimate(&point, caches, 3);
		if (i && !(self->plan.points[i - 1].flags & ~point.flags))
			EXPECT_LE(last, estimate);
		last = estimate;
	}
}

TEST_HARNESS_MAIN
