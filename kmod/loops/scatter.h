/* SPDX-License-Identifier: GPL-2.0-only */
/* A scattered order of all elements that needs no memory: a counter's CRC32C tells the place. */
#ifndef CALM_SCATTER_H
#define CALM_SCATTER_H

#include <linux/types.h>

/*
 * The remainder of a message is a linear map of its bits. If only the last k of
 * 32 bits are set, m(x) of degree below k, then m(x) x^32 = q(x) P(x) + r(x), in
 * which the upper coefficients of P make q a one-to-one image of m, and, as
 * P(0) = 1, the lowest k coefficients of r are one of q. In the reflected notation
 * of the instruction the last bits are the highest ones, and so are the lowest
 * coefficients: the upper k bits of CRC32C are a permutation of the upper k bits
 * of its operand.
 */

/**
 * calm_scatter_counter() - what the loop counts with
 * @lines: elements, a power of two from 2 to 2^32
 * @place: place in the order, below @lines
 *
 * Return: the place, in the upper bits of 32.
 */
static inline __u32 calm_scatter_counter(__u64 lines, __u64 place)
{
	return (__u32)(place << (32 - __builtin_ctzll(lines)));
}

/**
 * calm_scatter_place() - the place that a counter stands at
 * @lines: elements, a power of two
 * @counter: the counter
 *
 * Return: the place.
 */
static inline __u64 calm_scatter_place(__u64 lines, __u32 counter)
{
	return (__u64)counter >> (32 - __builtin_ctzll(lines));
}

/**
 * calm_scatter_index() - the element that has a place in the order
 * @lines: elements, a power of two
 * @place: place in the order
 *
 * Needs a processor with SSE4.2.
 *
 * Return: the element's number in memory order.
 */
static inline __u64 calm_scatter_index(__u64 lines, __u64 place)
{
	__u32 crc = 0;

	asm("crc32l %1, %0" : "+r"(crc) : "r"(calm_scatter_counter(lines, place)));
	return calm_scatter_place(lines, crc);
}

/**
 * calm_scatter_turn() - how far to turn a CRC to the left
 * @lines: elements, a power of two
 * @stride: distance of elements, a power of two
 *
 * Return: bits, 0 to 63, after which the upper bits of 32 number the elements.
 */
static inline __u32 calm_scatter_turn(__u64 lines, __u32 stride)
{
	return (__builtin_ctzll(lines) + __builtin_ctz(stride) - 32) & 63;
}

#endif
