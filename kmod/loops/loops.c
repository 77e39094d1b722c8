// SPDX-License-Identifier: GPL-2.0-only
/* Table of the measured loops and their lookup by name. */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include "loops.h"

static const struct calm_loop loops[] = {
	{ "chase", calm_loop_chase, CALM_PASS_COUNTERS, CALM_VISIT_CHAIN, 0, 8 },
	{ "parallel", calm_loop_parallel, CALM_PASS_COUNTERS, CALM_VISIT_LANES,
	  CALM_LOOP_SSE42 | CALM_LOOP_VECTORS, 8 },
	{ "random", calm_loop_random, CALM_LOOP_RANDOM_COUNTERS, CALM_VISIT_SCATTER,
	  CALM_LOOP_SSE42, 8 },
	{ "stride", calm_loop_stride, CALM_LOOP_STRIDE_COUNTERS, CALM_VISIT_LINEAR, 0, 8 },
	{ "stride16", calm_loop_stride16, CALM_LOOP_STRIDE_COUNTERS, CALM_VISIT_LINEAR,
	  CALM_LOOP_VECTORS, 16 },
	{ "stride32", calm_loop_stride32, CALM_LOOP_STRIDE_COUNTERS, CALM_VISIT_LINEAR,
	  CALM_LOOP_VECTORS | CALM_LOOP_AVX2, 32 },
	{ "stride64", calm_loop_stride64, CALM_LOOP_STRIDE_COUNTERS, CALM_VISIT_LINEAR,
	  CALM_LOOP_VECTORS | CALM_LOOP_AVX512, 64 },
	/* two loads and a store, each of a pointer */
	{ "store", calm_loop_store, CALM_PASS_COUNTERS, CALM_VISIT_CHAIN, 0, 24 },
	/* read and written */
	{ "atomic", calm_loop_atomic, CALM_PASS_COUNTERS, CALM_VISIT_CHAIN, 0, 16 },
	{ "flush", calm_loop_flush, CALM_PASS_COUNTERS, CALM_VISIT_CHAIN, 0, 8 },
	/* read and written */
	{ "copy", calm_loop_copy, CALM_LOOP_COPY_COUNTERS, CALM_VISIT_COPY, 0, 2 },
	{ "turn", calm_loop_turn, CALM_PASS_COUNTERS, CALM_VISIT_NONE, 0, 0 },
};

#ifndef __KERNEL__
const char *calm_loop_name(unsigned int index)
{
	return index < sizeof(loops) / sizeof(loops[0]) ? loops[index].name : NULL;
}
#endif

const struct calm_loop *calm_loop_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		if (!strcmp(loops[i].name, name))
			return &loops[i];
	return NULL;
}
