// SPDX-License-Identifier: GPL-2.0-only
/* Register layout of Intel's architectural performance monitoring, by CPUID leaf 0AH. */
#include <linux/bits.h>
#include <linux/minmax.h>
#include <uapi/linux/calm.h>

#include "cpuid.h"
#include "msr.h"
#include "pmu_layout.h"

/* Event, unit mask, edge, invert and counter mask; the rest controls the counter. */
#define SELECTABLE	   (GENMASK_ULL(15, 0) | BIT_ULL(18) | BIT_ULL(23) | GENMASK_ULL(31, 24))
#define SELECTABLE_UMASK2  GENMASK_ULL(47, 40)

/* Version 1 has no global control: its counters cannot be stopped together. */
#define VERSION_MIN 2
#define VERSION_FIXED_MASK 5

#define CPUID1_ECX_PDCM BIT(15)
#define CPUID1_EDX_DS BIT(21)

void calm_pmu_intel_probe(struct calm_pmu_info *info)
{
	u32 eax, ebx, ecx, edx, version, fixed;

	if (cpuid_eax(0) < 0xa)
		return;
	cpuid(0xa, &eax, &ebx, &ecx, &edx);
	version = eax & 0xff;
	if (version < VERSION_MIN)
		return;

	fixed = BIT(edx & 0x1f) - 1;
	if (version >= VERSION_FIXED_MASK)
		fixed |= ecx;
	*info = (struct calm_pmu_info){
		.style = CALM_PMU_INTEL,
		.version = version,
		.general = GENMASK_ULL(min((eax >> 8) & 0xff, 8U), 0) >> 1,
		.fixed = fixed & 0x7,	/* the others count top-down slots */
		.width = (eax >> 16) & 0xff,
		.fixed_width = (edx >> 5) & 0xff,
		.select = CALM_MSR_PERFEVTSEL0,
		.counter = CALM_MSR_PMC0,
		.step = 1,
		.global_ctrl = CALM_MSR_GLOBAL_CTRL,
		.global_status = CALM_MSR_GLOBAL_STATUS,
		.global_clear = CALM_MSR_GLOBAL_OVF_CTRL,
		.selectable = SELECTABLE | (version >= 6 ? SELECTABLE_UMASK2 : 0),
		.has_capabilities = cpuid_ecx(1) & CPUID1_ECX_PDCM,
		.has_traces = cpuid_edx(1) & CPUID1_EDX_DS,
	};
	if (!info->fixed_width)
		info->fixed = 0;
	if (!info->general || !info->width)
		*info = (struct calm_pmu_info){};
}
