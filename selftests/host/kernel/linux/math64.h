/* SPDX-License-Identifier: GPL-2.0-only */
/* 64-bit division for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_MATH64_H
#define SELFTESTS_HOST_KERNEL_MATH64_H

#include <linux/types.h>

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 divisor)
{
	unsigned __int128 product = a;

	product *= b;
	return (u64)(product / divisor);
}

#endif
