/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel types for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_TYPES_H
#define SELFTESTS_HOST_KERNEL_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

#endif
