/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel has besides C's own for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_STRING_H
#define SELFTESTS_HOST_KERNEL_STRING_H

#include <string.h>

#include <linux/types.h>

static inline void *memset64(u64 *to, u64 value, size_t count)
{
	while (count--)
		to[count] = value;
	return to;
}

#endif
