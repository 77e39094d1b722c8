/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways and sets of anything that is indexed, by questions of what conflicts. */
#ifndef CALM_DERIVE_CONFLICT_H
#define CALM_DERIVE_CONFLICT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct calm_conflict - a search for ways and sets
 * @ask: whether so many members, so many units apart, drive each other out: 1 or 0; a negative
 *	errno ends the search, -EAGAIN where the answer is not there yet
 * @arg: for @ask
 * @start: first distance, in units
 * @least: a number of members that holds at any distance
 * @most: largest number of members
 * @small_first: smaller distances are tried before larger ones: these need more memory
 * @factor: largest factor that distances are multiplied by
 * @ways: out: as many members hold, one more does not
 * @sets: out: least distance at which members conflict so, in units
 */
struct calm_conflict {
	int (*ask)(void *arg, uint64_t distance, uint64_t members);
	void *arg;
	uint64_t start;
	uint64_t least;
	uint64_t most;
	uint64_t factor;
	bool small_first;
	uint64_t ways;
	uint64_t sets;
};

/**
 * calm_conflict_search() - find ways and sets
 * @search: the search
 *
 * Members d units apart meet in one of every S / gcd(S, d) sets of an array of S sets, so that
 * W S / gcd(S, d) of them hold. The least number over all distances is W, and the least distance
 * that has it is S. That more members never conflict less is taken for granted.
 *
 * Return: 0; what @ask returned to end it; -ERANGE if @most members hold.
 */
int calm_conflict_search(struct calm_conflict *search);

#endif
