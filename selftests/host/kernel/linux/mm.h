/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists come from malloc() for a file of the module that a host test includes. */
#ifndef SELFTESTS_HOST_KERNEL_MM_H
#define SELFTESTS_HOST_KERNEL_MM_H

#include <stdlib.h>

#define kvfree(list)	free(list)

#endif
