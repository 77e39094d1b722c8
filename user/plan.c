// SPDX-License-Identifier: GPL-2.0-only
/* From options to a list of points, with nothing left open. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "plan.h"

#define SWEEP_MIN_BYTES	   4096ULL
#define SWEEP_MAX_BYTES	   (64ULL << 20)
#define CAPACITY_STEP	   8
#define LOADS_LEAST	   16384ULL
#define COPY_UNIT	   512
#define NS_PER_S	   1000000000.0

/* Guesses: what a byte of a buffer costs to set up, and a round whatever its size. */
#define FILL_NS		   0.2
#define ROUND_NS	   2000000.0

/* Small enough that a second pass of twice the length costs little. */
#define TWO_LENGTHS_LOADS  32768ULL
#define TWO_LENGTHS_BYTES  65536ULL

/**
 * struct range - sizes around a capacity
 * @low: half of it
 * @high: twice it
 */
struct range {
	uint64_t low;
	uint64_t high;
};

static uint64_t last_capacity(const struct calm_plan_input *input)
{
	return input->n_caches ? input->caches[input->n_caches - 1].size_bytes : 0;
}

static uint64_t least_bytes(const struct calm_plan_input *input)
{
	uint64_t two = 2 * input->opts->stride_bytes;

	return two > SWEEP_MIN_BYTES ? two : SWEEP_MIN_BYTES;
}

/* Whole laps, each of whole rows of all lanes. */
static uint64_t loads_for(const struct calm_run_opts *opts, uint64_t lines, uint32_t lanes)
{
	if (opts->loads != CALM_UNSET)
		return opts->loads;
	if (lanes > 1)
		lines = (lines + lanes - 1) / lanes * lanes;
	return lines * ((LOADS_LEAST + lines - 1) / lines);
}

/* As many for each distance: what the shortest one copies in a sweep. */
static uint64_t copied_bytes(const struct calm_run_opts *opts, uint64_t size_bytes)
{
	uint64_t least = opts->stride_bytes, bytes;
	size_t i;

	if (opts->loads != CALM_UNSET)
		return opts->loads;
	for (i = 0; i < opts->strides.count; i++)
		if (opts->strides.bytes[i] < least)
			least = opts->strides.bytes[i];
	bytes = size_bytes / 2 / least;
	return bytes > LOADS_LEAST ? bytes : LOADS_LEAST;
}

/* A point of which the size, the stride and the number of loads are left to be filled. */
static struct calm_point *new_point(const struct calm_plan_input *input, struct calm_plan *plan)
{
	const struct calm_run_opts *opts = input->opts;
	struct calm_point *point;

	plan->points =
		calm_grow(plan->points, plan->count, &plan->capacity, sizeof(*plan->points));
	point = &plan->points[plan->count++];
	*point = (struct calm_point){
		.loop = input->loop,
		.cpu = input->cpu,
		.node = opts->node == CALM_UNSET ? -1 : (int32_t)opts->node,
		.pages = (uint32_t)opts->pages,
		.order = (uint32_t)opts->order,
		.rounds = (uint32_t)opts->rounds,
		.samples = (uint32_t)opts->samples,
		.warmup = (uint32_t)opts->warmup,
		.seed = opts->seed,
		.lanes = 1,
	};
	if (opts->contig)
		point->flags |= CALM_F_CONTIGUOUS;
	return point;
}

static void add_loop(const struct calm_plan_input *input, struct calm_plan *plan,
		     uint64_t requested_bytes, uint64_t stride_bytes, const char *loop,
		     uint32_t lanes)
{
	const struct calm_run_opts *opts = input->opts;
	struct calm_point *point = new_point(input, plan);

	point->loop = loop;
	point->lanes = lanes;
	point->requested_size_bytes = requested_bytes;
	point->size_bytes = requested_bytes - requested_bytes % stride_bytes;
	point->stride_bytes = (uint32_t)stride_bytes;
	point->loads = loads_for(opts, point->size_bytes / stride_bytes, lanes);
	if (input->copies) {
		point->size_bytes = requested_bytes - requested_bytes % COPY_UNIT;
		point->loads = copied_bytes(opts, point->size_bytes);
	}
	if (opts->scheme == CALM_SCHEME_E1)
		return;
	if (point->loads <= TWO_LENGTHS_LOADS || point->size_bytes <= TWO_LENGTHS_BYTES)
		point->flags |= CALM_F_TWO_LENGTHS;
}

void calm_plan_add(const struct calm_plan_input *input, struct calm_plan *plan, uint64_t size_bytes,
		   const struct calm_layout *layouts, size_t n_layouts)
{
	struct calm_point *point = new_point(input, plan);
	size_t i;

	point->requested_size_bytes = size_bytes;
	point->size_bytes = size_bytes;
	point->stride_bytes = (uint32_t)layouts[0].stride_bytes;
	point->loads = loads_for(input->opts, layouts[0].lines, 1);
	for (i = 0; i < n_layouts; i++)
		point->layouts[i] = layouts[i];
	point->n_layouts = n_layouts;
}

/* Sweeps over the whole buffer, of which every line is loaded or stored to. */
static void add_copy(const struct calm_plan_input *input, struct calm_plan *plan,
		     uint64_t requested_bytes, uint64_t stride_bytes)
{
	struct calm_point *point;

	add_loop(input, plan, requested_bytes, stride_bytes, input->copy_loop, 0);
	point = &plan->points[plan->count - 1];
	point->order = CALM_ORDER_LINEAR;
	point->loads = loads_for(input->opts, point->size_bytes / 2 / stride_bytes, 0);
}

static void add_linear(const struct calm_plan_input *input, struct calm_plan *plan,
		       uint64_t requested_bytes, uint64_t stride_bytes)
{
	add_loop(input, plan, requested_bytes, stride_bytes, input->linear_loop, 0);
	plan->points[plan->count - 1].order = CALM_ORDER_LINEAR;
}

/* Whether no cache holds more than a part of it. */
static bool is_memory(const struct calm_plan_input *input, uint64_t bytes)
{
	return input->n_caches && bytes >= 2 * last_capacity(input);
}

/* A point for each number of lanes, and one for each loop that is not made of lanes. */
static void add_stride(const struct calm_plan_input *input, struct calm_plan *plan,
		       uint64_t requested_bytes, uint64_t stride_bytes)
{
	const struct calm_sizes *lanes = &input->opts->lanes;
	const bool bare = requested_bytes == input->bare_bytes;
	size_t i;

	for (i = 0; i < lanes->count && !bare; i++)
		add_loop(input, plan, requested_bytes, stride_bytes, input->loop,
			 (uint32_t)lanes->bytes[i]);
	if (!lanes->count && !bare)
		add_loop(input, plan, requested_bytes, stride_bytes, input->loop, 1);
	if (input->free_loop)
		add_loop(input, plan, requested_bytes, stride_bytes, input->free_loop, 0);
	if (!is_memory(input, requested_bytes))
		return;
	if (input->copy_loop)
		add_copy(input, plan, requested_bytes, stride_bytes);
	if (input->linear_loop)
		add_linear(input, plan, requested_bytes, stride_bytes);
}

/* A point for each stride that is asked for. */
static void add_point(const struct calm_plan_input *input, struct calm_plan *plan,
		      uint64_t requested_bytes)
{
	const struct calm_sizes *strides = &input->opts->strides;
	size_t i;

	for (i = 0; i < strides->count; i++)
		add_stride(input, plan, requested_bytes, strides->bytes[i]);
	if (!strides->count)
		add_stride(input, plan, requested_bytes, input->opts->stride_bytes);
}

/* The size @step points of @per_octave above @from, a multiple of the stride. */
static uint64_t grid_bytes(uint64_t from, unsigned int step, unsigned int per_octave,
			   uint64_t stride_bytes)
{
	double bytes = (double)from * exp2((double)step / per_octave);

	return (uint64_t)(bytes / (double)stride_bytes + 0.5) * stride_bytes;
}

static bool in_ranges(const struct range *ranges, size_t count, uint64_t bytes)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (bytes >= ranges[i].low && bytes <= ranges[i].high)
			return true;
	return false;
}

/* From half to twice each capacity; what an earlier range covers is left out. */
static void add_ranges(const struct calm_plan_input *input, struct calm_plan *plan,
		       const struct range *ranges, struct range sweep)
{
	unsigned int per_octave =
		input->opts->step > CAPACITY_STEP ? (unsigned int)input->opts->step : CAPACITY_STEP;
	size_t i;

	for (i = 0; i < input->n_caches; i++) {
		unsigned int step;

		for (step = 0; step <= 2 * per_octave; step++) {
			uint64_t bytes = grid_bytes(ranges[i].low, step, per_octave,
						    input->opts->stride_bytes);

			if (bytes > sweep.low && bytes < sweep.high && !in_ranges(ranges, i, bytes))
				add_point(input, plan, bytes);
		}
	}
}

static void add_sweep(const struct calm_plan_input *input, struct calm_plan *plan,
		      struct range sweep)
{
	struct range ranges[CALM_CACHES_MAX];
	unsigned int step;
	size_t i;

	for (i = 0; i < input->n_caches; i++)
		ranges[i] = (struct range){ input->caches[i].size_bytes / 2,
					    input->caches[i].size_bytes * 2 };
	add_point(input, plan, sweep.low);
	for (step = 1;; step++) {
		uint64_t bytes = grid_bytes(sweep.low, step, (unsigned int)input->opts->step,
					    input->opts->stride_bytes);

		if (bytes >= sweep.high)
			break;
		if (!in_ranges(ranges, input->n_caches, bytes))
			add_point(input, plan, bytes);
	}
	if (sweep.high > sweep.low)
		add_point(input, plan, sweep.high);
	add_ranges(input, plan, ranges, sweep);
}

static int by_size(const void *left, const void *right)
{
	const struct calm_point *a = left, *b = right;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes ? -1 : 1;
	if (a->requested_size_bytes != b->requested_size_bytes)
		return a->requested_size_bytes < b->requested_size_bytes ? -1 : 1;
	if (a->stride_bytes != b->stride_bytes)
		return a->stride_bytes < b->stride_bytes ? -1 : 1;
	/* what has no lanes comes last */
	if (a->lanes != b->lanes)
		return a->lanes - 1 < b->lanes - 1 ? -1 : 1;
	/* and of those what takes lines in order, the copy behind all */
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return strcmp(b->loop, a->loop);
}

static void drop_equal_sizes(struct calm_plan *plan)
{
	size_t i, kept = 0;

	for (i = 0; i < plan->count; i++)
		if (!kept || plan->points[kept - 1].size_bytes != plan->points[i].size_bytes)
			plan->points[kept++] = plan->points[i];
	plan->count = kept;
}

/* Whose memory is meant, where that is not all of it. */
static const char *node_text(char buffer[32], const struct calm_plan_input *input)
{
	buffer[0] = '\0';
	if (input->max_node >= 0)
		snprintf(buffer, 32, " of node %" PRId32, input->max_node);
	return buffer;
}

static int refuse_size(const struct calm_plan_input *input, const char *option, uint64_t bytes,
		       struct calm_error *error)
{
	char text[CALM_SIZE_TEXT_MAX], low[CALM_SIZE_TEXT_MAX], high[CALM_SIZE_TEXT_MAX];
	char node[32];

	return calm_error_set(error, CALM_EXIT_ABSENT, -ENOMEM,
			      "%s: '%s' is more memory than can be had%s now (allowed %s..%s)",
			      option, calm_size_text(text, bytes), node_text(node, input),
			      calm_size_text(low, 2 * input->opts->stride_bytes),
			      calm_size_text(high, input->max_bytes));
}

int calm_plan_check(const struct calm_plan_input *input, const struct calm_plan *plan,
		    struct calm_error *error)
{
	char stride[CALM_SIZE_TEXT_MAX], text[CALM_SIZE_TEXT_MAX], high[CALM_SIZE_TEXT_MAX];
	const struct calm_layout *layout;
	char node[32];
	size_t i;

	for (i = 0; i < plan->count && plan->points[i].size_bytes <= input->max_bytes; i++)
		;
	if (i == plan->count)
		return 0;
	layout = &plan->points[i].layouts[0];
	return calm_error_set(error, CALM_EXIT_ABSENT, -ENOMEM,
			      "strides: %" PRIu64 " lines at '%s' take %s,"
			      " more memory than can be had%s now (allowed up to %s)",
			      layout->lines, calm_size_text(stride, layout->stride_bytes),
			      calm_size_text(text, plan->points[i].size_bytes),
			      node_text(node, input), calm_size_text(high, input->max_bytes));
}

/* Each lane has elements of its own. */
static int check_lanes(const struct calm_plan_input *input, uint64_t bytes,
		       struct calm_error *error)
{
	char text[CALM_SIZE_TEXT_MAX], low[CALM_SIZE_TEXT_MAX];
	const struct calm_sizes *lanes = &input->opts->lanes;
	uint64_t most = 0, least;
	size_t i;

	for (i = 0; i < lanes->count; i++)
		if (lanes->bytes[i] > most)
			most = lanes->bytes[i];
	least = most * input->opts->stride_bytes;
	if (bytes >= least)
		return 0;
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
			      "size: '%s' holds fewer than %" PRIu64
			      " strides, one for each lane (allowed from %s)",
			      calm_size_text(text, bytes), most, calm_size_text(low, least));
}

static int plan_list(const struct calm_plan_input *input, struct calm_plan *plan,
		     struct calm_error *error)
{
	const struct calm_sizes *sizes = &input->opts->sizes;
	size_t i;

	for (i = 0; i < sizes->count; i++) {
		if (sizes->bytes[i] > input->max_bytes)
			return refuse_size(input, "size", sizes->bytes[i], error);
		if (check_lanes(input, sizes->bytes[i], error))
			return -EINVAL;
		add_point(input, plan, sizes->bytes[i]);
	}
	qsort(plan->points, plan->count, sizeof(*plan->points), by_size);
	return 0;
}

/* The ends of the sweep, where the options leave them open. */
static int sweep_range(const struct calm_plan_input *input, struct calm_plan *plan,
		       struct range *sweep, struct calm_error *error)
{
	const struct calm_run_opts *opts = input->opts;

	sweep->low = opts->min_bytes;
	sweep->high = opts->max_bytes;
	if (sweep->low == CALM_UNSET) {
		sweep->low = least_bytes(input);
		if (sweep->low > sweep->high)
			sweep->low = sweep->high;
	}
	if (sweep->low > input->max_bytes)
		return refuse_size(input, "min", sweep->low, error);
	if (sweep->high == CALM_UNSET) {
		sweep->high = 4 * last_capacity(input);
		if (sweep->high < SWEEP_MAX_BYTES)
			sweep->high = SWEEP_MAX_BYTES;
		if (sweep->high < sweep->low)
			sweep->high = sweep->low;
		if (sweep->high > input->max_bytes) {
			sweep->high = input->max_bytes;
			plan->capped_bytes = input->max_bytes;
		}
	}
	if (sweep->high > input->max_bytes)
		return refuse_size(input, "max", sweep->high, error);
	return 0;
}

static int32_t node_of_cpu(const struct calm_module *module, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < module->n_processors; i++) {
		const struct calm_processor *processor = &module->processors[i];

		if (processor->id == cpu)
			return (int32_t)(processor->lacks_memory ? processor->memory_node :
								   processor->node);
	}
	return -1;
}

uint64_t calm_plan_limit(const struct calm_module *module, uint32_t cpu, int32_t node,
			 int32_t *max_node)
{
	uint64_t limit = module->has_limits ? module->max_bytes : CALM_UNSET;
	size_t i;

	*max_node = -1;
	if (node < 0)
		node = node_of_cpu(module, cpu);
	for (i = 0; i < module->n_nodes; i++) {
		if ((int32_t)module->nodes[i].id != node || module->nodes[i].max_bytes >= limit)
			continue;
		limit = module->nodes[i].max_bytes;
		*max_node = node;
	}
	return limit;
}

uint64_t calm_plan_beyond(const struct calm_plan_input *input)
{
	uint64_t wanted = 4 * last_capacity(input), bytes = SWEEP_MIN_BYTES;

	if (!wanted)
		return SWEEP_MAX_BYTES;
	while (bytes < wanted)
		bytes *= 2;
	return bytes;
}

/* Half of a cache, or less. */
static uint64_t within(uint64_t cache_bytes)
{
	uint64_t bytes = SWEEP_MIN_BYTES;

	while (4 * bytes <= cache_bytes)
		bytes *= 2;
	return bytes;
}

uint64_t calm_plan_within(const struct calm_plan_input *input)
{
	return within(last_capacity(input));
}

uint64_t calm_plan_first(const struct calm_plan_input *input)
{
	const uint64_t bytes = within(input->caches[0].size_bytes);

	return 2 * bytes <= input->caches[0].size_bytes && bytes < calm_plan_within(input) ? bytes :
											     0;
}

int calm_plan_make(const struct calm_plan_input *input, struct calm_plan *plan,
		   struct calm_error *error)
{
	struct range sweep;
	int err;

	*plan = (struct calm_plan){ NULL, 0, 0, 0 };
	if (input->opts->sizes.count)
		return plan_list(input, plan, error);
	err = sweep_range(input, plan, &sweep, error);
	if (err)
		return err;
	add_sweep(input, plan, sweep);
	qsort(plan->points, plan->count, sizeof(*plan->points), by_size);
	drop_equal_sizes(plan);
	return 0;
}

void calm_plan_free(struct calm_plan *plan)
{
	free(plan->points);
	*plan = (struct calm_plan){ NULL, 0, 0, 0 };
}

/* Orders of magnitude for a level, where nothing is known of the machine. */
static double guess_ns(uint64_t size_bytes, const struct calm_cache *caches, size_t n_caches)
{
	static const double level_ns[] = { 1.5, 5, 20, 40 };
	size_t i;

	for (i = 0; i < n_caches && i < CALM_ARRAY_SIZE(level_ns); i++)
		if (size_bytes <= caches[i].size_bytes)
			return level_ns[i];
	return 90;
}

double calm_plan_estimate(const struct calm_point *point, const struct calm_cache *caches,
			  size_t n_caches)
{
	double lines = (double)(point->size_bytes / point->stride_bytes);
	double passes = point->flags & CALM_F_TWO_LENGTHS ? 3 : 1;
	double loads = (double)point->loads * point->samples * passes;
	double ns = guess_ns(point->size_bytes, caches, n_caches);

	/* A round lays out, links and walks its chain, and starts a thread's work. */
	ns *= loads + (point->warmup + 2.0) * lines;
	ns += FILL_NS * (double)point->size_bytes + ROUND_NS;
	return point->rounds * ns / NS_PER_S;
}
