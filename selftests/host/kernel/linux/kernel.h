/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel macros for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_KERNEL_H
#define SELFTESTS_HOST_KERNEL_KERNEL_H

#include <linux/minmax.h>
#include <linux/types.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#endif
#define BUILD_BUG_ON(condition)	_Static_assert(!(condition), #condition)
#define DIV_ROUND_UP_ULL(n, d)	(((u64)(n) + (d) - 1) / (d))

#endif
