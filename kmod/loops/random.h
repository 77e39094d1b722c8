/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeded 64-bit random numbers: the same seed lays out the same buffer everywhere. */
#ifndef CALM_RANDOM_H
#define CALM_RANDOM_H

#include <linux/types.h>

#define CALM_RANDOM_STEP 0x9e3779b97f4a7c15ULL

/**
 * calm_random_mix() - scatter the bits of a counter
 * @x: any value
 *
 * The output function of SplitMix64 (Steele, Lea and Flood, "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014): a bijection, so that distinct
 * counters give distinct values.
 *
 * Return: the value that belongs to @x.
 */
static inline __u64 calm_random_mix(__u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/**
 * calm_random_next() - next number of a sequence
 * @state: the generator, started with its seed
 *
 * Return: 64 random bits.
 */
static inline __u64 calm_random_next(__u64 *state)
{
	*state += CALM_RANDOM_STEP;
	return calm_random_mix(*state);
}

/**
 * calm_random_scale() - map 64 random bits to a range
 * @bits: the random bits
 * @limit: size of the range, not 0
 * @low: out: how far the bits lay above the start of their value's interval
 *
 * Return: a value below @limit.
 */
static inline __u64 calm_random_scale(__u64 bits, __u64 limit, __u64 *low)
{
	unsigned __int128 product = (unsigned __int128)bits * limit;

	*low = (__u64)product;
	return (__u64)(product >> 64);
}

/**
 * calm_random_below() - next number of a sequence, below a limit
 * @state: the generator
 * @limit: one more than the largest value wanted, not 0
 *
 * Uniform: numbers that would favour some values are drawn again (Lemire,
 * "Fast Random Integer Generation in an Interval", 2019). The modulo is only
 * computed for the few draws that could be unfair.
 *
 * Return: a value from 0 to @limit - 1.
 */
static inline __u64 calm_random_below(__u64 *state, __u64 limit)
{
	__u64 low, value = calm_random_scale(calm_random_next(state), limit, &low);

	if (low < limit) {
		__u64 unfair = -limit % limit;

		while (low < unfair)
			value = calm_random_scale(calm_random_next(state), limit, &low);
	}
	return value;
}

#endif
