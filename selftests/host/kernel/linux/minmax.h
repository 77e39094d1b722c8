/* SPDX-License-Identifier: GPL-2.0-only */
/* The smaller and the larger of two, for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_MINMAX_H
#define SELFTESTS_HOST_KERNEL_MINMAX_H

#define min(a, b)	((a) < (b) ? (a) : (b))
#define max(a, b)	((a) > (b) ? (a) : (b))

#endif
