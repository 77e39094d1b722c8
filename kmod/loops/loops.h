/* SPDX-License-Identifier: GPL-2.0-only */
/* What a measured loop is; module and userspace compile the same sources. */
#ifndef CALM_LOOPS_H
#define CALM_LOOPS_H

#include <linux/types.h>

#define CALM_PASS_COUNTERS	7
#define CALM_PASS_NO_COUNTERS	8ULL
#define CALM_PASS_FIXED		(1ULL << 30)

/* Counters that a window of the strided read has registers for. */
#define CALM_LOOP_STRIDE_COUNTERS 4

/* The same for independent random loads. */
#define CALM_LOOP_RANDOM_COUNTERS 4

/* The same for the strided copy. */
#define CALM_LOOP_COPY_COUNTERS 3

/* Chases that one loop can follow side by side. */
#define CALM_PASS_LANES		16

/**
 * struct calm_pass - one timed run of a loop
 * @at: in: element that the first access reads, or its place in the order if the loop
 *	computes addresses; out: that after the last
 * @accesses: number of accesses, 0 for an empty window
 * @counters: what RDPMC is to read: for counter i, bits 4i to 4i + 2 are its number and bit
 *	4i + 30 says that it is a fixed one; bit 4i + 3 ends the list, so that
 *	CALM_PASS_NO_COUNTERS is the empty one
 * @end: end of the buffer; only loops with a linear order look at this and the next two
 * @span_bytes: size of the buffer, whole strides
 * @stride_bytes: distance of neighbouring elements
 * @tsc_ticks: out: time stamp counter, from before the first access until the last one completed
 * @count: out: what each counter gained, modulo 2^64: to be cut to the counter's width
 * @sum: out: sum of the values that were read, of 8 bytes each, of loops that read values and not
 *	pointers
 * @lead: loads to follow right before the window, without a time stamp; only loops that follow one
 *	chain look at this, and @at is then where the first of these loads reads
 * @lanes: chases side by side, of which @accesses is a multiple
 * @lane: the same as @at for each of them, for a loop with lanes
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
	__u64 sum;
	__u64 lead;
	__u64 lanes;
	void *lane[CALM_PASS_LANES];
};

/**
 * enum calm_visit_kind - what a loop's buffer holds, and in which order it is visited
 * @CALM_VISIT_NONE: the loop does not look at it
 * @CALM_VISIT_CHAIN: a cycle of pointers, which are followed
 * @CALM_VISIT_LANES: the same, followed from several places at once
 * @CALM_VISIT_LINEAR: each element its place, as often as a load reads one, from the lowest address
 *	to the highest
 * @CALM_VISIT_SCATTER: each element its place in the order of calm_scatter_index()
 * @CALM_VISIT_COPY: any bytes in its first half, from which the other half is filled
 */
enum calm_visit_kind {
	CALM_VISIT_NONE,
	CALM_VISIT_CHAIN,
	CALM_VISIT_LANES,
	CALM_VISIT_LINEAR,
	CALM_VISIT_SCATTER,
	CALM_VISIT_COPY,
};

/* What a loop asks of the processor, beside what all of x86-64 have. */
#define CALM_LOOP_SSE42		1	/* instructions of SSE4.2 */
#define CALM_LOOP_VECTORS	2	/* vector registers, which the kernel hands out */
#define CALM_LOOP_AVX2		4	/* 32 bytes of them */
#define CALM_LOOP_AVX512	8	/* 64 bytes of them: AVX-512F */

/**
 * struct calm_loop - a row of the table of measured loops
 * @name: the name users and the wire know it by
 * @run: performs one pass
 * @counters: events that it can count at once
 * @visit: how it goes through the buffer
 * @needs: CALM_LOOP_*
 * @access_bytes: what an access reads and writes, 0 if nothing
 */
struct calm_loop {
	const char *name;
	void (*run)(struct calm_pass *pass);
	unsigned int counters;
	enum calm_visit_kind visit;
	unsigned int needs;
	unsigned int access_bytes;
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
 * calm_loop_store() - a chase that stores each pointer in its place, and loads it from there
 * @pass: the pass; @pass->at points to an element of a cycle of pointers
 */
void calm_loop_store(struct calm_pass *pass);

/**
 * calm_loop_atomic() - a chase by locked additions of nothing
 * @pass: the pass; @pass->at points to an element of a cycle of pointers
 */
void calm_loop_atomic(struct calm_pass *pass);

/**
 * calm_loop_flush() - a chase that flushes each line before it loads from it
 * @pass: the pass; @pass->at points to an element of a cycle of pointers
 */
void calm_loop_flush(struct calm_pass *pass);

/**
 * calm_loop_parallel() - chases side by side, a load of each in turn
 * @pass: the pass; @pass->lane points to @pass->lanes elements of a cycle of pointers
 */
void calm_loop_parallel(struct calm_pass *pass);

/**
 * calm_loop_random() - independent loads in a scattered order
 * @pass: the pass; @pass->at is a place in the order; stride and number of elements are powers
 *	of two
 */
void calm_loop_random(struct calm_pass *pass);

/**
 * calm_loop_copy() - single bytes from one half of the buffer to the other
 * @pass: the pass; @pass->at lies in the first half; the stride may be any number of bytes
 */
void calm_loop_copy(struct calm_pass *pass);

/**
 * calm_loop_stride() - independent loads at a fixed distance
 * @pass: the pass; @pass->at lies within the buffer, a multiple of the stride from its begin
 */
void calm_loop_stride(struct calm_pass *pass);

/**
 * calm_loop_stride16() - the same with loads of 16 bytes, at least that far from each other
 * @pass: the pass
 */
void calm_loop_stride16(struct calm_pass *pass);

/**
 * calm_loop_stride32() - the same with loads of 32 bytes
 * @pass: the pass
 */
void calm_loop_stride32(struct calm_pass *pass);

/**
 * calm_loop_stride64() - the same with loads of 64 bytes
 * @pass: the pass
 */
void calm_loop_stride64(struct calm_pass *pass);

/**
 * calm_loop_turn() - dependent additions, one core cycle each; an access is an addition
 * @pass: the pass; its buffer is not used
 */
void calm_loop_turn(struct calm_pass *pass);

#endif
