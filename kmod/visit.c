// SPDX-License-Identifier: GPL-2.0-only
/* Where a loop stands in its buffer, what that holds for it, and whether it did its work. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <uapi/linux/calm.h>

#include "buf.h"
#include "leadin.h"
#include "loops/random.h"
#include "loops/scatter.h"
#include "visit.h"

static bool follows_chain(const struct calm_visit *visit)
{
	return visit->spec->loop->visit == CALM_VISIT_CHAIN ||
	       visit->spec->loop->visit == CALM_VISIT_LANES;
}

static bool has_lanes(const struct calm_visit *visit)
{
	return visit->spec->loop->visit == CALM_VISIT_LANES;
}

/* ---- Places ---- */

/* The element that a place of the chain has, found from the mark before it. */
static void *chain_element(const struct calm_visit *visit, u64 place)
{
	void *at = visit->marks[place / CALM_MARK_STEP];
	u64 steps = place % CALM_MARK_STEP;

	while (steps--)
		at = *(void **)at;
	return at;
}

/*
 * Bytes of the source: the sweep that starts at byte s takes those that lie whole strides
 * behind it, and the first sweeps have one more if the last stride is cut short.
 */
static u64 copy_offset(const struct calm_visit *visit, u64 place)
{
	u64 stride = visit->spec->stride_bytes, rest = visit->lines % stride;
	u64 shorter = visit->lines / stride, longer = shorter + 1, sweep, step;

	if (place < rest * longer) {
		sweep = place / longer;
		step = place % longer;
	} else {
		sweep = rest + (place - rest * longer) / shorter;
		step = (place - rest * longer) % shorter;
	}
	return sweep + step * stride;
}

/* What a loop that stands at a place has as its address, where that needs no looking. */
static void *computed_element(const struct calm_visit *visit, u64 place)
{
	switch (visit->spec->loop->visit) {
	case CALM_VISIT_LINEAR:
		return visit->base + place * visit->spec->stride_bytes;
	case CALM_VISIT_SCATTER:
		return (void *)(unsigned long)place;
	case CALM_VISIT_COPY:
		return visit->base + copy_offset(visit, place);
	default:
		return visit->base;
	}
}

/* Where the element of a place lies, of loops whose elements hold their places. */
static u64 *value_at(const struct calm_visit *visit, u64 place)
{
	u64 index = visit->spec->loop->visit == CALM_VISIT_SCATTER ?
		calm_scatter_index(visit->lines, place) : place;

	return (u64 *)(visit->base + index * visit->spec->stride_bytes);
}

static u64 lane_place(const struct calm_visit *visit, u32 lane, u64 position)
{
	u64 start = mul_u64_u64_div_u64(visit->lines, lane, visit->spec->lanes);

	return (start + position) % visit->lines;
}

/* ---- Building ---- */

static void init_chain(struct calm_visit *visit, const struct calm_layout *layout, u64 seed)
{
	const struct calm_job_spec *spec = visit->spec;

	BUILD_BUG_ON((int)CALM_CHAIN_LINEAR != (int)CALM_ORDER_LINEAR);
	BUILD_BUG_ON((int)CALM_CHAIN_PAGE_LOCAL != (int)CALM_ORDER_PAGE_LOCAL);
	if (layout) {
		calm_chain_init_layout(&visit->chain, visit->base, layout, seed);
		return;
	}
	calm_chain_init(&visit->chain, visit->base, spec->size_bytes, spec->stride_bytes, seed);
	calm_chain_set_order(&visit->chain, spec->order);
}

int calm_visit_init(struct calm_visit *visit, const struct calm_job_spec *spec,
		    const struct calm_layout *layout, void *base, u64 seed)
{
	*visit = (struct calm_visit){
		.spec = spec,
		.base = base,
		.at = base,
		.lines = layout ? layout->lines : spec->size_bytes / spec->stride_bytes,
	};
	visit->lap = DIV_ROUND_UP_ULL(visit->lines, spec->lanes) * spec->lanes;
	if (spec->loop->visit == CALM_VISIT_COPY) {
		/* places are bytes, and a sweep has been everywhere */
		visit->lines = spec->size_bytes / 2;
		visit->lap = visit->lines / spec->stride_bytes;
	}
	visit->start = calm_random_mix(seed) % visit->lines;
	if (!follows_chain(visit)) {
		visit->position = visit->start;
		visit->at = computed_element(visit, visit->position);
		return 0;
	}
	init_chain(visit, layout, seed);
	visit->marks = calm_buf_alloc_list(DIV_ROUND_UP_ULL(visit->lines, CALM_MARK_STEP) *
					   sizeof(*visit->marks));
	return visit->marks ? 0 : -ENOMEM;
}

void calm_visit_free(struct calm_visit *visit)
{
	kvfree(visit->marks);
	visit->marks = NULL;
}

/* Numbers of 8 bytes that an access reads. */
static u32 values_of(const struct calm_visit *visit)
{
	return visit->spec->loop->access_bytes / sizeof(u64);
}

/* Each element gets its place in the order, so that the sum over places is known. */
static int write_places(struct calm_visit *visit, u64 budget)
{
	u64 end = min(visit->lines, visit->built + budget);

	for (; visit->built < end; visit->built++)
		memset64(value_at(visit, visit->built), visit->built, values_of(visit));
	return visit->built < visit->lines;
}

/* No byte of the source is 0, and all of the copy are. */
static int write_source(struct calm_visit *visit, u64 budget)
{
	u64 end = min(visit->lines, visit->built + budget * sizeof(u64));

	for (; visit->built < end; visit->built += sizeof(u64)) {
		*(u64 *)(visit->base + visit->built) =
			calm_random_mix(visit->built) | 0x0101010101010101ULL;
		*(u64 *)(visit->base + visit->lines + visit->built) = 0;
	}
	return visit->built < visit->lines;
}

static void start_lanes(struct calm_visit *visit)
{
	u32 i;

	for (i = 0; i < CALM_PASS_LANES; i++)
		visit->lane[i] = chain_element(visit, i < visit->spec->lanes ?
					       lane_place(visit, i, 0) : 0);
}

/* Lanes start at places that are known only to who went round once. */
static int mark_whole_chain(struct calm_visit *visit, u64 budget)
{
	u64 end = min(visit->lines, visit->built + budget);
	void *at = visit->built ? visit->at :
				    calm_chain_element(&visit->chain, visit->start);

	for (; visit->built < end; visit->built++, at = *(void **)at)
		if (visit->built % CALM_MARK_STEP == 0)
			visit->marks[visit->built / CALM_MARK_STEP] = at;
	visit->at = at;
	if (visit->built < visit->lines)
		return 1;
	start_lanes(visit);
	return 0;
}

static int build_chain(struct calm_visit *visit, u64 budget)
{
	enum calm_chain_phase phase = visit->chain.phase;

	if (phase < CALM_CHAIN_DONE)
		phase = calm_chain_step(&visit->chain, budget);
	if (phase == CALM_CHAIN_BROKEN)
		return -EIO;
	if (phase < CALM_CHAIN_DONE)
		return 1;
	if (has_lanes(visit))
		return mark_whole_chain(visit, budget);
	visit->at = calm_chain_element(&visit->chain, visit->start);
	return 0;
}

int calm_visit_build(struct calm_visit *visit, u64 budget)
{
	switch (visit->spec->loop->visit) {
	case CALM_VISIT_CHAIN:
	case CALM_VISIT_LANES:
		return build_chain(visit, budget);
	case CALM_VISIT_LINEAR:
	case CALM_VISIT_SCATTER:
		return write_places(visit, budget);
	case CALM_VISIT_COPY:
		return write_source(visit, budget);
	case CALM_VISIT_NONE:
		break;
	}
	return 0;
}

/* ---- Passes ---- */

u64 calm_visit_whole(const struct calm_visit *visit, u64 accesses)
{
	u32 lanes = visit->spec->lanes;

	return max(div_u64(accesses, lanes), 1ULL) * lanes;
}

static struct calm_pass make_pass(const struct calm_visit *visit, u64 accesses, u64 counters)
{
	return (struct calm_pass){
		.at = visit->at,
		.accesses = accesses,
		.counters = counters,
		.end = visit->base + visit->spec->size_bytes,
		.span_bytes = visit->spec->size_bytes,
		.stride_bytes = visit->spec->stride_bytes,
		.lanes = visit->spec->lanes,
	};
}

struct calm_pass calm_visit_onward(const struct calm_visit *visit, u64 accesses, u64 counters)
{
	struct calm_pass pass = make_pass(visit, accesses, counters);

	memcpy(pass.lane, visit->lane, sizeof(pass.lane));
	return pass;
}

static struct calm_pass lanes_again(const struct calm_visit *visit, u64 rows)
{
	struct calm_pass pass = make_pass(visit, rows * visit->spec->lanes, CALM_PASS_NO_COUNTERS);
	u64 from = (visit->position + visit->lines - rows % visit->lines) % visit->lines;
	u32 i;

	for (i = 0; i < CALM_PASS_LANES; i++)
		pass.lane[i] = i < visit->spec->lanes ?
			chain_element(visit, lane_place(visit, i, from)) : visit->lane[i];
	return pass;
}

struct calm_pass calm_visit_again(const struct calm_visit *visit, u64 accesses)
{
	u64 mark, count = accesses;
	struct calm_pass pass;
	void *at;

	if (has_lanes(visit))
		return lanes_again(visit, calm_visit_whole(visit, accesses) / visit->spec->lanes);
	if (follows_chain(visit)) {
		count = calm_leadin_find(visit->position, visit->lines, accesses, &mark);
		at = visit->marks[mark];
	} else {
		at = computed_element(visit, (visit->position + visit->lines -
					      accesses % visit->lines) % visit->lines);
	}
	pass = make_pass(visit, count, CALM_PASS_NO_COUNTERS);
	pass.at = at;
	return pass;
}

bool calm_visit_can_lead(const struct calm_visit *visit)
{
	return visit->spec->loop->visit == CALM_VISIT_CHAIN;
}

void calm_visit_lead(const struct calm_visit *visit, struct calm_pass *pass, u64 accesses)
{
	u64 mark;

	pass->lead = calm_leadin_find(visit->position, visit->lines, accesses, &mark);
	pass->at = visit->marks[mark];
}

struct calm_pass calm_visit_stay(const struct calm_visit *visit, u64 accesses)
{
	struct calm_pass pass = make_pass(visit, accesses, CALM_PASS_NO_COUNTERS);

	pass.at = computed_element(visit, (visit->position + visit->lines - 1) % visit->lines);
	pass.stride_bytes = 0;
	return pass;
}

void calm_visit_arrive(struct calm_visit *visit, const struct calm_pass *pass)
{
	u64 steps = div_u64(pass->accesses, visit->spec->lanes);

	visit->position = (visit->position + steps) % visit->lines;
	visit->at = pass->at;
	memcpy(visit->lane, pass->lane, sizeof(visit->lane));
}

void calm_visit_mark(struct calm_visit *visit)
{
	void **mark;

	if (visit->spec->loop->visit != CALM_VISIT_CHAIN)
		return;
	mark = &visit->marks[visit->position / CALM_MARK_STEP];
	if (!*mark)
		*mark = visit->at;
}

/* ---- Checking ---- */

/* 0 + 1 + ... up to the number before @count. */
static u64 triangle(u64 count)
{
	return count & 1 ? count * ((count - 1) / 2) : count / 2 * (count - 1);
}

/* The sum of the places that the next accesses have from place 0 on; modulo 2^64, as the loop's. */
static u64 sum_of_first(const struct calm_visit *visit, u64 accesses)
{
	return accesses / visit->lines * triangle(visit->lines) +
	       triangle(accesses % visit->lines);
}

static bool check_sum(const struct calm_visit *visit, const struct calm_pass *pass)
{
	u64 begin = (visit->position + visit->lines - pass->accesses % visit->lines) % visit->lines;

	return pass->sum == values_of(visit) * (sum_of_first(visit, begin + pass->accesses) -
						sum_of_first(visit, begin)) &&
	       pass->at == computed_element(visit, visit->position);
}

static bool check_lanes(const struct calm_visit *visit)
{
	u32 i;

	for (i = 0; i < visit->spec->lanes; i++)
		if (visit->lane[i] != chain_element(visit, lane_place(visit, i, visit->position)))
			return false;
	return true;
}

bool calm_visit_check(const struct calm_visit *visit, const struct calm_pass *pass)
{
	switch (visit->spec->loop->visit) {
	case CALM_VISIT_CHAIN:
		return visit->at == chain_element(visit, visit->position);
	case CALM_VISIT_LANES:
		return check_lanes(visit);
	case CALM_VISIT_LINEAR:
	case CALM_VISIT_SCATTER:
		return check_sum(visit, pass);
	case CALM_VISIT_COPY:
		return pass->at == computed_element(visit, visit->position);
	case CALM_VISIT_NONE:
		break;
	}
	return true;
}

bool calm_visit_begin_proof(struct calm_visit *visit)
{
	if (visit->spec->loop->visit != CALM_VISIT_COPY)
		return false;
	visit->built = 0;
	return true;
}

int calm_visit_clear(struct calm_visit *visit, u64 budget)
{
	u64 bytes = min(visit->lines - visit->built, budget * sizeof(u64));

	memset(visit->base + visit->lines + visit->built, 0, bytes);
	visit->built += bytes;
	if (visit->built < visit->lines)
		return 1;
	visit->built = visit->position;
	return 0;
}

/* All that was copied since lies on its way from there on, the rest is still 0. */
int calm_visit_proof(struct calm_visit *visit, u64 budget)
{
	const char *copy = visit->base + visit->lines;

	for (; budget && visit->built != visit->position; budget--) {
		u64 offset = copy_offset(visit, visit->built);

		if (copy[offset] != visit->base[offset])
			return -EIO;
		visit->built = (visit->built + 1) % visit->lines;
	}
	if (visit->built != visit->position)
		return 1;
	return copy[copy_offset(visit, visit->position)] ? -EIO : 0;
}
