/* SPDX-License-Identifier: GPL-2.0-only */
/* What a measured loop is; module and userspace compile the same sources. */
#ifndef CALM_LOOPS_H
#define CALM_LOOPS_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdbool.h>
#endif

#define CALM_PASS_COUNTERS	7
#define CALM_PASS_NO_COUNTERS	8ULL
#define CALM_PASS_FIXED		(1ULL << 30)

/* Counters that a window of the strided read has registers for. */
#define CALM_LOOP_STRIDE_COUNTERS 4

/**
 * struct calm_pass - one timed run of a loop
 * @at: in: element that the first access reads; out: element after the last
 * @accesses: number of accesses, 0 for an empty window
 * @counters: what RDPMC is to read: for counter i, bits 4i to 4i + 2 are its number and bit
 *	4i + 30 says that it is a fixed one; bit 4i + 3 ends the list, so that
 *	CALM_PASS_NO_COUNTERS is the empty one
 * @end: end of the buffer; only loops with a linear order look at this and the next two
 * @span_bytes: size of the buffer, whole strides
 * @stride_bytes: distance of neighbouring elements
 * @tsc_ticks: out: time stamp counter, from before the first access until the last one completed
 * @count: out: what each counter gained, modulo 2^64: to be cut to the counter's width
 *
 * All fields are read before the window and written after it.
 */
struct calm_pass {
	void *at;
	__u64 accesses;
	__u64 counters;
	void *end;
	__u64 span_bytes;
	__u64 stride_bytes;
	__u64 tsc_ticks;
	__u64 count[CALM_PASS_COUNTERS];
};

/**
 * struct calm_loop - a row of the table of measured loops
 * @name: the name users and the wire know it by
 * @run: performs one pass
 * @counters: events that it can count at once
 * @linear: it visits elements by their address; else it follows a chain
 */
struct calm_loop {
	const char *name;
	void (*run)(struct calm_pass *pass);
	unsigned int counters;
	bool linear;
};

/**
 * calm_loop_find() - look a loop up by name
 * @name: name as in the table
 *
 * Return: the loop, or NULL if there is none of that name.
 */
const struct calm_loop *calm_loop_find(const char *name);

#ifndef __KERNEL__
/**
 * calm_loop_name() - name of a loop, for a list of all
 * @index: its place in the table
 *
 * Return: the name, or NULL behind the last one.
 */
const char *calm_loop_name(unsigned int index);
#endif

/**
 * calm_loop_chase() - dependent loads: each load's value is the next address
 * @pass: the pass; @pass->at points to an element of a cycle of pointers
 */
void calm_loop_chase(struct calm_pass *pass);

/**
 * calm_loop_stride() - independent loads at a fixed distance
 * @pass: the pass; @pass->at lies within the buffer, a multiple of the stride from its begin
 */
void calm_loop_stride(struct calm_pass *pass);

/**
 * calm_loop_turn() - dependent additions, one core cycle each; an access is an addition
 * @pass: the pass; its buffer is not used
 */
void calm_loop_turn(struct calm_pass *pass);

#endif
