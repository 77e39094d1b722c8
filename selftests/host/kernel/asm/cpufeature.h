/* SPDX-License-Identifier: GPL-2.0-only */
/* A CPU's identity for a file of the module that a host test includes; the test sets it. */
#ifndef SELFTESTS_HOST_KERNEL_CPUFEATURE_H
#define SELFTESTS_HOST_KERNEL_CPUFEATURE_H

#include <linux/types.h>

enum { X86_VENDOR_INTEL = 0, X86_VENDOR_AMD = 2, X86_VENDOR_HYGON = 9 };

struct cpuinfo_x86 {
	u8 x86;
	u8 x86_vendor;
	u8 x86_model;
	u8 x86_stepping;
	bool hybrid;
};

extern struct cpuinfo_x86 boot_cpu_data;

#define X86_FEATURE_HYBRID_CPU	0
#define cpu_data(cpu)		(*((void)(cpu), &boot_cpu_data))
#define boot_cpu_has(feature)	((void)(feature), boot_cpu_data.hybrid)

#endif
