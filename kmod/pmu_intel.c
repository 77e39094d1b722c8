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

/* Leaf 23H, announced by a bit of leaf 7's second part, says what came after version 5. */
#define LEAF_EXTENSION 0x23
#define CPUID7_1_EAX_EXTENSION BIT(8)
#define EXTENSION_EAX_COUNTERS BIT(1)	/* its second part tells which counters there are */
#define EXTENSION_EBX_UMASK2 BIT(0)

#define GENERAL_MASK 0xff	/* as many as a window can read */
#define FIXED_MASK 0x7		/* the others count top-down slots */

#define CPUID1_ECX_PDCM BIT(15)
#define CPUID1_EDX_DS BIT(21)

/* SDM vol. 2, CPUID 23H, as Linux reads it: update_pmu_cap() in arch/x86/events/intel/core.c. */
static void extend(struct calm_pmu_info *info)
{
	u32 eax, ebx, ecx, edx, general, fixed;

	if (cpuid_eax(0) < LEAF_EXTENSION)
		return;
	cpuid_count(7, 1, &eax, &ebx, &ecx, &edx);
	if (!(eax & CPUID7_1_EAX_EXTENSION))
		return;
	cpuid_count(LEAF_EXTENSION, 0, &eax, &ebx, &ecx, &edx);
	if (ebx & EXTENSION_EBX_UMASK2)
		info->selectable |= SELECTABLE_UMASK2;
	if (!(eax & EXTENSION_EAX_COUNTERS))
		return;
	cpuid_count(LEAF_EXTENSION, 1, &general, &fixed, &ecx, &edx);
	info->general = general & GENERAL_MASK;
	info->fixed = fixed & FIXED_MASK;
}

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
		.fixed = fixed & FIXED_MASK,
		.width = (eax >> 16) & 0xff,
		.fixed_width = (edx >> 5) & 0xff,
		.select = CALM_MSR_PERFEVTSEL0,
		.counter = CALM_MSR_PMC0,
		.step = 1,
		.global_ctrl = CALM_MSR_GLOBAL_CTRL,
		.global_status = CALM_MSR_GLOBAL_STATUS,
		.global_clear = CALM_MSR_GLOBAL_OVF_CTRL,
		.selectable = SELECTABLE,
		.has_capabilities = cpuid_ecx(1) & CPUID1_ECX_PDCM,
		.has_traces = cpuid_edx(1) & CPUID1_EDX_DS,
	};
	extend(info);
	if (!info->fixed_width)
		info->fixed = 0;
	if (!info->general || !info->width)
		*info = (struct calm_pmu_info){};
}
