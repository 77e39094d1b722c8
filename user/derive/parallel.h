/* SPDX-License-Identifier: GPL-2.0-only */
/* How many misses a core has under way at a time. */
#ifndef CALM_DERIVE_PARALLEL_H
#define CALM_DERIVE_PARALLEL_H

#include "data.h"

/* Name of the loop that shows whether memory has bandwidth left. */
#define CALM_PARALLEL_COPY "copy"

/* And of the one that shows whether prefetchers act, or the reorder buffer is the limit. */
#define CALM_PARALLEL_LINEAR "stride"

/**
 * calm_derive_parallel() - from chases side by side and independent loads
 * @points: points of both
 * @n_points: how many
 * @machine: its first cache has the size that buffers must exceed; and its prefetchers
 * @derived: out
 *
 * By Little's law as many loads are under way as complete in the time of one: the latency, of a
 * chase of one lane, by the time per load where none waits for another. Where every load misses
 * the first level, that is the number of fill buffers, unless something else is the limit. It is
 * told where it is whole, where the same loads of a smaller buffer take less time, so that it is
 * not the core's own instructions, where no lanes and no other buffer has more under way, so that
 * it is neither a reorder buffer that lanes of fewer instructions make more of nor a bandwidth
 * that others do not share, and where pages are so large that the latency has no part in which a
 * load has no buffer. A copy of lines tells that memory has bandwidth left: to two lines that come
 * it has one that goes. Lines in order have to take as long where no lanes are enough to show the
 * number, as they take fewer instructions, and where prefetchers are not known to be off: what
 * brings lines that loads in random order find, or takes buffers from them, helps these.
 */
void calm_derive_parallel(const struct calm_measured *points, size_t n_points,
			  const struct calm_machine *machine, struct calm_derived *derived);

#endif
