/* SPDX-License-Identifier: GPL-2.0-only */
/* The chain of pointers that a chase follows: one random cycle, walked and counted. */
#ifndef CALM_CHAIN_H
#define CALM_CHAIN_H

#ifndef __KERNEL__
#include <stdbool.h>
#endif

#include <linux/types.h>

#include "layout.h"

#define CALM_CHAIN_LANES 16

/**
 * enum calm_chain_phase - how far a chain is built
 * @CALM_CHAIN_LINK: the cycle is made, one element after the other
 * @CALM_CHAIN_WALK: the cycle is followed and its elements are counted
 * @CALM_CHAIN_DONE: one cycle over exactly the elements asked for
 * @CALM_CHAIN_BROKEN: it is not, so memory or this code is faulty
 */
enum calm_chain_phase {
	CALM_CHAIN_LINK,
	CALM_CHAIN_WALK,
	CALM_CHAIN_DONE,
	CALM_CHAIN_BROKEN,
};

/**
 * enum calm_chain_order - order of a chain's elements, numbered as on the wire
 * @CALM_CHAIN_RANDOM: one uniformly random cycle
 * @CALM_CHAIN_LINEAR: from the lowest address to the highest
 * @CALM_CHAIN_PAGE_LOCAL: random within a page of 4 KiB, and page by page in random order
 */
enum calm_chain_order {
	CALM_CHAIN_RANDOM = 1,
	CALM_CHAIN_LINEAR,
	CALM_CHAIN_PAGE_LOCAL,
};

/**
 * struct calm_chain - a chain, built or being built
 * @base: start of the buffer, 8-byte aligned
 * @lines: number of elements
 * @stride: distance of neighbouring elements, bytes, a multiple of 8
 * @shift: log2 of @stride where that is a power of two, else 0
 * @slots: places within a stride that an element may take
 * @key: what places elements within their stride
 * @layout: where elements lie instead; lines is 0 where there is none
 * @random: generator of the order
 * @order: of the elements
 * @block: elements that share a page, where the order is by page
 * @block_key: what tells which of them is the last one
 * @phase: how far it is
 * @next: LINK: element in hand
 * @steps: WALK: elements that all lanes have left behind
 * @lane: WALK: where each lane stands, NULL once it met another's start
 * @start: WALK: where each lane began
 * @met: WALK: which lane's start each lane ended at
 * @lanes: WALK: lanes in use
 */
struct calm_chain {
	char *base;
	__u64 lines;
	__u32 stride;
	__u32 shift;
	__u32 slots;
	__u64 key;
	struct calm_layout layout;
	__u64 random;
	enum calm_chain_order order;
	__u32 block;
	__u64 block_key;
	enum calm_chain_phase phase;
	__u64 next;
	__u64 steps;
	void *lane[CALM_CHAIN_LANES];
	void *start[CALM_CHAIN_LANES];
	unsigned int met[CALM_CHAIN_LANES];
	unsigned int lanes;
};

/**
 * calm_chain_init() - prepare to lay a chain out
 * @chain: the chain
 * @base: buffer, 8-byte aligned
 * @bytes: size of the buffer; elements fill the whole strides of it
 * @stride: distance of neighbouring elements, bytes, a multiple of 8
 * @seed: decides the order, and where in its stride each element lies
 *
 * Strides above 64 bytes hold each element at a random multiple of 64 within
 * its stride: elements all at the start of a page would share the few sets
 * that page offset 0 maps to.
 */
void calm_chain_init(struct calm_chain *chain, void *base, __u64 bytes, __u32 stride, __u64 seed);

/**
 * calm_chain_fits() - whether a layout has room for each of its elements
 * @layout: the layout
 * @bytes: size of the buffer
 *
 * Return: true if all are within the buffer and none lies on another one.
 */
bool calm_chain_fits(const struct calm_layout *layout, __u64 bytes);

/**
 * calm_chain_init_layout() - prepare a chain over the elements of a layout
 * @chain: the chain
 * @base: buffer, 8-byte aligned
 * @layout: the layout, which fits the buffer
 * @seed: decides the order
 */
void calm_chain_init_layout(struct calm_chain *chain, void *base,
			    const struct calm_layout *layout, __u64 seed);

/**
 * calm_chain_set_order() - have a chain in another order than a random one
 * @chain: the chain, right after calm_chain_init()
 * @order: the order
 *
 * By page it goes through all elements of a page of 4 KiB, in random order,
 * before it enters another one; the pages too come in random order. The stride
 * divides 4 KiB then, or is a multiple of it, with a page for each element. In linear order
 * elements lie at the beginning of their strides, so that each step is as long
 * as the others.
 */
void calm_chain_set_order(struct calm_chain *chain, enum calm_chain_order order);

/**
 * calm_chain_step() - build a part of a chain
 * @chain: the chain
 * @budget: elements to handle at most; the caller may rest between steps
 *
 * Return: the phase now reached; call again until it is DONE or BROKEN.
 */
enum calm_chain_phase calm_chain_step(struct calm_chain *chain, __u64 budget);

/**
 * calm_chain_element() - address of an element
 * @chain: the chain
 * @index: number of the element in memory order
 *
 * Return: its address.
 */
void *calm_chain_element(const struct calm_chain *chain, __u64 index);

#endif
