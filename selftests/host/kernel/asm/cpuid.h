/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUID for a file of the module that a host test includes: leaf 1AH tells the core's type. */
#ifndef SELFTESTS_HOST_KERNEL_CPUID_H
#define SELFTESTS_HOST_KERNEL_CPUID_H

#include <asm/cpufeature.h>

static inline void cpuid_count(u32 leaf, u32 subleaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx)
{
	(void)subleaf;
	*eax = leaf == 0x1a ? (u32)boot_cpu_data.core_type << 24 : 0;
	*ebx = 0;
	*ecx = 0;
	*edx = 0;
}

static inline u32 cpuid_ebx(u32 leaf)
{
	(void)leaf;
	return 0;
}

static inline u32 cpuid_eax(u32 leaf)
{
	return leaf == 0x1a ? (u32)boot_cpu_data.core_type << 24 : 0x1f;
}

#endif
