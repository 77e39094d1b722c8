/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a loop stands in its buffer, what that holds for it, and whether it did its work. */
#ifndef CALM_VISIT_H
#define CALM_VISIT_H

#include <linux/types.h>

#include "chain.h"
#include "data.h"
#include "loops/loops.h"

/**
 * struct calm_visit - a loop's way through its buffer
 * @spec: what is measured
 * @base: the buffer
 * @lines: elements
 * @lap: accesses that visit each element once, whole rows of all lanes
 * @position: place in the order that the next access has; of lane 0, where there are several
 * @chain: the chain, where the loop follows one
 * @start: where the first lap begins, of lane 0 where there are several, by the seed: rounds that
 *	began alike would all have their windows at the same places of the buffer, and a difference
 *	between places would seem to be one between settings of prefetchers
 * @built: elements written, for a loop that follows none
 * @at: what the loop goes on with, as in struct calm_pass
 * @lane: the same of each lane
 * @marks: elements at places 0, CALM_MARK_STEP, 2 x CALM_MARK_STEP ... of the chain
 */
struct calm_visit {
	const struct calm_job_spec *spec;
	char *base;
	u64 lines;
	u64 lap;
	u64 position;

	/* private: */
	struct calm_chain chain;
	u64 start;
	u64 built;
	void *at;
	void *lane[CALM_PASS_LANES];
	void **marks;
};

/**
 * calm_visit_init() - prepare a buffer for a loop
 * @visit: the way through it
 * @spec: what is measured
 * @layout: where the elements of its chain lie, NULL: one in each stride
 * @base: the buffer
 * @seed: decides the order
 *
 * Return: 0, or -ENOMEM. Ended by calm_visit_free() in any case.
 */
int calm_visit_init(struct calm_visit *visit, const struct calm_job_spec *spec,
		    const struct calm_layout *layout, void *base, u64 seed);

/**
 * calm_visit_build() - write a part of what the loop needs in the buffer
 * @visit: the way
 * @budget: elements to handle at most; the caller may rest between calls
 *
 * Return: 1: call again; 0: the loop can start; -EIO: the chain is not one cycle.
 */
int calm_visit_build(struct calm_visit *visit, u64 budget);

/**
 * calm_visit_whole() - what a window can hold of a number of accesses
 * @visit: the way
 * @accesses: the number
 *
 * Return: as many as are whole rows of all lanes, one row at least.
 */
u64 calm_visit_whole(const struct calm_visit *visit, u64 accesses);

/**
 * calm_visit_onward() - a pass that goes on from where the loop stands
 * @visit: the way
 * @accesses: of the pass, whole rows
 * @counters: as in struct calm_pass
 *
 * Return: the pass, to be handed to the loop and then to calm_visit_arrive().
 */
struct calm_pass calm_visit_onward(const struct calm_visit *visit, u64 accesses, u64 counters);

/**
 * calm_visit_again() - a pass that repeats the accesses before the place that the loop stands at
 * @visit: the way, once round at least
 * @accesses: to repeat at least
 *
 * Return: the pass; calm_visit_arrive() has no part in it.
 */
struct calm_pass calm_visit_again(const struct calm_visit *visit, u64 accesses);

/**
 * calm_visit_can_lead() - whether the loop repeats accesses right before its window by itself
 * @visit: the way
 *
 * Return: true if calm_visit_lead() can be used.
 */
bool calm_visit_can_lead(const struct calm_visit *visit);

/**
 * calm_visit_lead() - have a pass repeat the accesses before it, right before its window
 * @visit: the way, once round at least
 * @pass: the pass, which begins where the loop stands
 * @accesses: to repeat at least
 */
void calm_visit_lead(const struct calm_visit *visit, struct calm_pass *pass, u64 accesses);

/**
 * calm_visit_stay() - a pass that reads one element, the last one read, again and again
 * @visit: the way of a loop in linear order
 * @accesses: how often
 *
 * Return: the pass; calm_visit_arrive() has no part in it.
 */
struct calm_pass calm_visit_stay(const struct calm_visit *visit, u64 accesses);

/**
 * calm_visit_arrive() - the loop stands behind a pass
 * @visit: the way
 * @pass: the pass, done
 */
void calm_visit_arrive(struct calm_visit *visit, const struct calm_pass *pass);

/**
 * calm_visit_mark() - note where the loop stands, on its first lap
 * @visit: the way, on that lap at a multiple of CALM_MARK_STEP
 *
 * Later laps begin anywhere, and change nothing.
 */
void calm_visit_mark(struct calm_visit *visit);

/**
 * calm_visit_check() - whether a pass did what it should
 * @visit: the way, which has arrived behind the pass
 * @pass: the pass
 *
 * Chases must stand at the element that so many steps lead to, other loops must have added up
 * the values of just the elements that were next.
 *
 * Return: true if so.
 */
bool calm_visit_check(const struct calm_visit *visit, const struct calm_pass *pass);

/**
 * calm_visit_begin_proof() - prepare to prove what a loop writes
 * @visit: the way
 *
 * Return: true if it writes: then calm_visit_clear() is to be called, a lap to be made, and
 * calm_visit_proof() called.
 */
bool calm_visit_begin_proof(struct calm_visit *visit);

/**
 * calm_visit_clear() - clear a part of the place that the loop writes to
 * @visit: the way
 * @budget: numbers of 8 bytes to clear
 *
 * Return: 1: call again; 0: all is clear.
 */
int calm_visit_clear(struct calm_visit *visit, u64 budget);

/**
 * calm_visit_proof() - look at a part of what a lap wrote
 * @visit: the way, a lap behind where calm_visit_begin_proof() saw it
 * @budget: elements to look at
 *
 * Return: 1: call again; 0: all was written, and nothing behind it; -EIO: it was not.
 */
int calm_visit_proof(struct calm_visit *visit, u64 budget);

/**
 * calm_visit_free() - give back what calm_visit_init() took, not the buffer
 * @visit: the way
 */
void calm_visit_free(struct calm_visit *visit);

#endif
