/* SPDX-License-Identifier: GPL-2.0-only */
/* Translation buffers: which pair of layouts to chase next, and what follows. */
#ifndef CALM_DERIVE_TLB_H
#define CALM_DERIVE_TLB_H

#include "data.h"

/* The event that tells whether the first cache serves both layouts of a pair alike. */
#define CALM_TLB_EVENT "l1-miss"

/* Those that tell of conflicts where prefetchers may be on: of the first level, of the second. */
#define CALM_TLB_FIRST_EVENT  "dtlb-miss"
#define CALM_TLB_SECOND_EVENT "walks"

/**
 * struct calm_tlb_pair - lines on many pages, and as many side by side
 * @pages: enum calm_pages of the buffer
 * @layouts: the lines spread, then packed
 */
struct calm_tlb_pair {
	uint32_t pages;
	struct calm_layout layouts[2];
};

/**
 * calm_derive_tlbs() - what the pairs measured so far tell of translation buffers
 * @points: points of pairs, those of one pair side by side
 * @n_points: how many
 * @machine: its first cache has the line; no buffer is larger than it has memory for; whether
 *	its prefetchers are known to be off
 * @pages: enum calm_pages to look with, or 0 for 4 KiB and 2 MiB
 * @derived: out: the translation buffers
 * @wanted: out: the pair to be measured next
 *
 * Both chains of a pair go through the same caches in the same rounds, so that what one takes
 * longer is translation alone. A level is searched like any array: by pages that conflict. Where
 * prefetchers may be on, who help one chain and not the other, misses of translations must be
 * counted for a conflict, too, and a penalty is told only if both chains miss the first cache
 * alike.
 *
 * Return: true if the next pair is wanted, false if nothing more can be found.
 */
bool calm_derive_tlbs(const struct calm_measured *points, size_t n_points,
		      const struct calm_machine *machine, uint32_t pages,
		      struct calm_derived *derived, struct calm_tlb_pair *wanted);

#endif
