/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel bit masks for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_BITS_H
#define SELFTESTS_HOST_KERNEL_BITS_H

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(high, low)	(~0ULL >> (63 - (high)) & ~0ULL << (low))

#endif
