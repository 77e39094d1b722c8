/* SPDX-License-Identifier: GPL-2.0-only */
/* A single read for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_COMPILER_H
#define SELFTESTS_HOST_KERNEL_COMPILER_H

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))

#endif
