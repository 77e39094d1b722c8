// SPDX-License-Identifier: GPL-2.0-only
/* Register layouts of AMD's core counters: four legacy ones, six, and six with global control. */
#include <linux/bits.h>
#include <linux/minmax.h>
#include <uapi/linux/calm.h>

#include "cpuid.h"
#include "msr.h"
#include "pmu_layout.h"

/* Event in bits 7:0 and 35:32, unit mask, edge, invert, counter mask; APM volume 2. */
#define SELECTABLE                                                              \
	(GENMASK_ULL(15, 0) | BIT_ULL(18) | BIT_ULL(23) | GENMASK_ULL(31, 24) | \
	 GENMASK_ULL(35, 32))

#define WIDTH 48	/* no leaf tells it; Linux has it so in arch/x86/events/amd/core.c */

#define CORE_COUNTERS BIT(23)	/* CPUID 8000_0001 ECX */

static const struct calm_pmu_info legacy = {
	.style = CALM_PMU_AMD,
	.general = GENMASK_ULL(3, 0),
	.width = WIDTH,
	.select = CALM_MSR_K7_EVNTSEL0,
	.counter = CALM_MSR_K7_PERFCTR0,
	.step = 1,
	.selectable = SELECTABLE,
};

static const struct calm_pmu_info core = {
	.style = CALM_PMU_AMD_CORE,
	.general = GENMASK_ULL(5, 0),
	.width = WIDTH,
	.select = CALM_MSR_F15H_PERF_CTL,
	.counter = CALM_MSR_F15H_PERF_CTR,
	.step = 2,
	.selectable = SELECTABLE,
};

static const struct calm_pmu_info v2 = {
	.style = CALM_PMU_AMD_V2,
	.width = WIDTH,
	.select = CALM_MSR_F15H_PERF_CTL,
	.counter = CALM_MSR_F15H_PERF_CTR,
	.step = 2,
	.global_ctrl = CALM_MSR_AMD_GLOBAL_CTL,
	.global_status = CALM_MSR_AMD_GLOBAL_STATUS,
	.global_clear = CALM_MSR_AMD_GLOBAL_CLEAR,
	.selectable = SELECTABLE,
};

void calm_pmu_amd_probe(struct calm_pmu_info *info)
{
	u32 max = cpuid_eax(0x80000000), count;

	if (max >= 0x80000022 && cpuid_eax(0x80000022) & BIT(0)) {
		count = cpuid_ebx(0x80000022) & 0xf;
		*info = v2;
		info->general = GENMASK_ULL(min(count, 8U), 0) >> 1;
	} else if (max >= 0x80000001 && cpuid_ecx(0x80000001) & CORE_COUNTERS) {
		*info = core;
	} else {
		*info = legacy;
	}
}
