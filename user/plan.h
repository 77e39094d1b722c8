/* SPDX-License-Identifier: GPL-2.0-only */
/* From options to a list of points, with nothing left open. */
#ifndef CALM_PLAN_H
#define CALM_PLAN_H

#include "data.h"
#include "util.h"

/**
 * struct calm_plan_input - what a plan is made from
 * @opts: the options
 * @loop: loop to measure
 * @free_loop: loop to measure behind all numbers of lanes, or NULL
 * @copy_loop: loop to measure behind that in buffers that no cache holds, or NULL
 * @linear_loop: likewise, from the lowest address to the highest, or NULL
 * @bare_bytes: no numbers of lanes for buffers of this size, 0: of none
 * @copies: the loop copies one half of the buffer to the other
 * @cpu: CPU to measure on
 * @caches: caches that serve it, nearest first
 * @n_caches: how many
 * @prefetch_off: its prefetchers are known to be off
 * @max_bytes: largest buffer that can be had now, or CALM_UNSET if not known
 * @max_node: the memory node that sets this limit, -1: the machine
 */
struct calm_plan_input {
	const struct calm_run_opts *opts;
	const char *loop;
	const char *free_loop;
	const char *copy_loop;
	const char *linear_loop;
	uint64_t bare_bytes;
	bool copies;
	uint32_t cpu;
	const struct calm_cache *caches;
	size_t n_caches;
	bool prefetch_off;
	uint64_t max_bytes;
	int32_t max_node;
};

/**
 * struct calm_plan - a list of points
 * @points: the points, by size
 * @count: how many
 * @capacity: room for
 * @capped_bytes: the default largest size, if it was lowered to what can be had, else 0
 */
struct calm_plan {
	struct calm_point *points;
	size_t count;
	size_t capacity;
	uint64_t capped_bytes;
};

/**
 * calm_plan_limit() - the largest buffer that can be had now
 * @module: what the module says of itself
 * @cpu: CPU to measure on
 * @node: memory node, -1 for that of the CPU
 * @max_node: out: the node that sets the limit, -1 where that is the machine
 *
 * Return: bytes, or CALM_UNSET if not known.
 */
uint64_t calm_plan_limit(const struct calm_module *module, uint32_t cpu, int32_t node,
			 int32_t *max_node);

/**
 * calm_plan_beyond() - size of a buffer that no cache holds
 * @input: what is known of the machine
 *
 * Return: four times the last cache or more, a power of two.
 */
uint64_t calm_plan_beyond(const struct calm_plan_input *input);

/**
 * calm_plan_within() - size of a buffer that the last cache holds
 * @input: what is known of the machine, one cache at least
 *
 * Return: half the last cache, or less, a power of two.
 */
uint64_t calm_plan_within(const struct calm_plan_input *input);

/**
 * calm_plan_first() - size of a buffer that the first cache holds
 * @input: what is known of the machine, one cache at least
 *
 * Return: half the first cache, or less, a power of two; 0 where that is too small, or as much as
 * calm_plan_within().
 */
uint64_t calm_plan_first(const struct calm_plan_input *input);

/**
 * calm_plan_make() - spell out every point of a sweep over buffer sizes
 * @input: what is wanted
 * @plan: out: the points
 * @error: filled on failure
 *
 * From half to twice the claimed capacity of each cache there are at least 8
 * points per octave, elsewhere as many as the options say. Buffer sizes are
 * whole multiples of the stride.
 *
 * Return: 0 or a negative errno.
 */
int calm_plan_make(const struct calm_plan_input *input, struct calm_plan *plan,
		   struct calm_error *error);

/**
 * calm_plan_add() - add a point over a layout, or over several in the same rounds
 * @input: what is wanted
 * @plan: the plan
 * @size_bytes: buffer that holds them
 * @layouts: the layouts; their strides may be any
 * @n_layouts: how many
 *
 * What the options say of sampling and memory holds.
 */
void calm_plan_add(const struct calm_plan_input *input, struct calm_plan *plan, uint64_t size_bytes,
		   const struct calm_layout *layouts, size_t n_layouts);

/**
 * calm_plan_check() - that the memory for a plan of layouts can be had
 * @input: what it was made from
 * @plan: the plan
 * @error: filled on failure, with the first layout that is too large
 *
 * Return: 0 or a negative errno.
 */
int calm_plan_check(const struct calm_plan_input *input, const struct calm_plan *plan,
		    struct calm_error *error);

/**
 * calm_plan_free() - give a plan's memory back
 * @plan: the plan
 */
void calm_plan_free(struct calm_plan *plan);

/**
 * calm_plan_estimate() - guess how long a point takes
 * @point: the point
 * @caches: caches that serve its CPU, nearest first
 * @n_caches: how many
 *
 * Only ratios between points matter much: the guess is corrected as points
 * finish.
 *
 * Return: seconds.
 */
double calm_plan_estimate(const struct calm_point *point, const struct calm_cache *caches,
			  size_t n_caches);

#endif
