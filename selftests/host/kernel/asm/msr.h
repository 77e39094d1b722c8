/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers for a file of the module that a host test includes: all of them fault. */
#ifndef SELFTESTS_HOST_KERNEL_MSR_H
#define SELFTESTS_HOST_KERNEL_MSR_H

#include <errno.h>

#define rdmsrl_safe(msr, value)	((void)(msr), (void)(value), -EIO)
#define rdmsrq_safe(msr, value)	rdmsrl_safe(msr, value)
#define wrmsrl_safe(msr, value)	((void)(msr), (void)(value), -EIO)
#define wrmsrq_safe(msr, value)	wrmsrl_safe(msr, value)

#endif
