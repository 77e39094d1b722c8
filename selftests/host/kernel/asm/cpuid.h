/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUID for a file of the module that a host test includes; the test says what is in it. */
#ifndef SELFTESTS_HOST_KERNEL_CPUID_H
#define SELFTESTS_HOST_KERNEL_CPUID_H

#include <asm/cpufeature.h>

/**
 * struct cpuid_row - what a subleaf holds
 * @leaf: its leaf
 * @subleaf: and number
 * @reg: EAX to EDX
 */
struct cpuid_row {
	u32 leaf, subleaf, reg[4];
};

/* Ends with a row of zeros. Subleafs that are not there are zeros too. */
extern const struct cpuid_row *cpuid_rows;

static inline void cpuid_count(u32 leaf, u32 subleaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx)
{
	const struct cpuid_row *row = cpuid_rows;

	while ((row->reg[0] | row->reg[1] | row->reg[2] | row->reg[3]) &&
	       (row->leaf != leaf || row->subleaf != subleaf))
		row++;
	*eax = row->reg[0];
	*ebx = row->reg[1];
	*ecx = row->reg[2];
	*edx = row->reg[3];
}

static inline void cpuid(u32 leaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx)
{
	cpuid_count(leaf, 0, eax, ebx, ecx, edx);
}

#define CPUID_OF(reg)							\
	static inline u32 cpuid_##reg(u32 leaf)				\
	{								\
		u32 eax, ebx, ecx, edx;					\
									\
		cpuid(leaf, &eax, &ebx, &ecx, &edx);			\
		return reg;						\
	}
CPUID_OF(eax)
CPUID_OF(ebx)
CPUID_OF(ecx)
CPUID_OF(edx)

#endif
