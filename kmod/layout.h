/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the elements of a chain lie. */
#ifndef CALM_LAYOUT_H
#define CALM_LAYOUT_H

#include <linux/types.h>

/**
 * struct calm_layout - where elements lie, other than one in each stride of the buffer
 * @lines: number of elements
 * @block: elements of a block
 * @stride: distance of neighbouring blocks, bytes, a multiple of 8
 * @step: distance of neighbouring elements within a block, the same
 * @places: places within a step that elements take in turn
 * @place: distance of these places, bytes, a multiple of 8
 *
 * Element i begins at (i / block) stride + (i % block) step + (i % places) place.
 */
struct calm_layout {
	__u64 lines;
	__u64 block;
	__u64 stride;
	__u64 step;
	__u64 places;
	__u64 place;
};

#endif
