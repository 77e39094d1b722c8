/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a lead-in starts: the accesses just before a place in the cycle, run again. */
#ifndef CALM_LEADIN_H
#define CALM_LEADIN_H

#include <linux/types.h>

/* The cycle's elements are noted at each multiple of this many places. */
#define CALM_MARK_STEP 512

/**
 * calm_leadin_find() - find where to start so as to end at a place of the cycle
 * @position: the place, below @lines
 * @lines: length of the cycle
 * @wanted: accesses to repeat at least; more than @lines are several laps
 * @mark: out: number of the mark to start from
 *
 * Return: accesses from there to @position: @wanted and less than CALM_MARK_STEP more.
 */
static inline __u64 calm_leadin_find(__u64 position, __u64 lines, __u64 wanted, __u64 *mark)
{
	__u64 from = (position + lines - wanted % lines) % lines;

	*mark = from / CALM_MARK_STEP;
	return wanted + from % CALM_MARK_STEP;
}

#endif
