/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel bit operations for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_BITOPS_H
#define SELFTESTS_HOST_KERNEL_BITOPS_H

#include <linux/bits.h>

/* Binary logarithm, rounded up. */
static inline int get_count_order(unsigned int n)
{
	int order = 0;

	while (1u << order < n)
		order++;
	return order;
}

#endif
