// SPDX-License-Identifier: GPL-2.0-only
/* What counters the module finds by CPUID, on processors of many kinds. */
#include "../../kmod/pmu_amd.c"
#undef SELECTABLE	/* each of the two has its own */
#include "../../kmod/pmu_intel.c"

#include "kselftest_harness.h"

struct cpuinfo_x86 boot_cpu_data;
const struct cpuid_row *cpuid_rows;

#define PLAIN	0xff84ffffULL		/* event, unit mask, edge, invert, counter mask */
#define WIDE	(PLAIN | 0xff0000000000ULL)
#define AMD	(PLAIN | 0xf00000000ULL)

#define MAX(leaf)	{ 0, 0, { leaf } }
#define PDCM_DS		{ 1, 0, { 0x906a0, 0, 1 << 15, 1 << 21 } }
/* leaf 0AH: version, general counters of 48 bits; a map of fixed ones; how many of 48 bits */
#define LEAF_A(version, general, map, fixed)	\
	{ 0xa, 0, { (version) | (general) << 8 | 48 << 16 | 7 << 24, 0, map, (fixed) | 48 << 5 } }
#define EXTENDED	{ 7, 1, { 1 << 8 } }

static const struct row {
	int line;
	void (*probe)(struct calm_pmu_info *info);
	struct cpuid_row leaves[6];
	u32 style;
	u64 general, fixed, selectable;
	u32 width;
	u32 global_ctrl;
} rows[] = {
	/* no leaf, none in it, one without global control, no counters */
	{ __LINE__, calm_pmu_intel_probe, { MAX(9) }, 0, 0, 0, 0, 0, 0 },
	{ __LINE__, calm_pmu_intel_probe, { MAX(0x16) }, 0, 0, 0, 0, 0, 0 },
	{ __LINE__, calm_pmu_intel_probe, { MAX(0x16), LEAF_A(1, 2, 0, 0) }, 0, 0, 0, 0, 0, 0 },
	{ __LINE__, calm_pmu_intel_probe, { MAX(0x16), LEAF_A(2, 0, 0, 3) }, 0, 0, 0, 0, 0, 0 },
	/* Haswell with two threads and with one; Ice Lake, whose fourth fixed one counts slots */
	{ __LINE__, calm_pmu_intel_probe, { MAX(0xd), PDCM_DS, LEAF_A(3, 4, 0, 3) },
	  CALM_PMU_INTEL, 0xf, 0x7, PLAIN, 48, 0x38f },
	{ __LINE__, calm_pmu_intel_probe, { MAX(0xd), PDCM_DS, LEAF_A(3, 8, 0, 3) },
	  CALM_PMU_INTEL, 0xff, 0x7, PLAIN, 48, 0x38f },
	{ __LINE__, calm_pmu_intel_probe, { MAX(0x1b), PDCM_DS, LEAF_A(5, 8, 0xf, 4) },
	  CALM_PMU_INTEL, 0xff, 0x7, PLAIN, 48, 0x38f },
	/* more than a window can read */
	{ __LINE__, calm_pmu_intel_probe, { MAX(0x1b), PDCM_DS, LEAF_A(5, 10, 0xf, 4) },
	  CALM_PMU_INTEL, 0xff, 0x7, PLAIN, 48, 0x38f },
	/* a second unit mask whatever the version, but only where leaf 23H says so */
	{ __LINE__, calm_pmu_intel_probe,
	  { MAX(0x23), LEAF_A(5, 8, 0xf, 4), EXTENDED, { 0x23, 0, { 1, 1 } } },
	  CALM_PMU_INTEL, 0xff, 0x7, WIDE, 48, 0x38f },
	{ __LINE__, calm_pmu_intel_probe,
	  { MAX(0x23), LEAF_A(6, 8, 0xf, 4), EXTENDED, { 0x23, 0, { 1, 2 } } },
	  CALM_PMU_INTEL, 0xff, 0x7, PLAIN, 48, 0x38f },
	{ __LINE__, calm_pmu_intel_probe,
	  { MAX(0x23), LEAF_A(6, 8, 0xf, 4), { 0x23, 0, { 1, 1 } } },
	  CALM_PMU_INTEL, 0xff, 0x7, PLAIN, 48, 0x38f },
	{ __LINE__, calm_pmu_intel_probe,
	  { MAX(0x1f), LEAF_A(6, 8, 0xf, 4), EXTENDED, { 0x23, 0, { 1, 1 } } },
	  CALM_PMU_INTEL, 0xff, 0x7, PLAIN, 48, 0x38f },
	/* counters that are not the first ones */
	{ __LINE__, calm_pmu_intel_probe,
	  { MAX(0x23), LEAF_A(5, 8, 0x7, 3), EXTENDED, { 0x23, 0, { 3, 1 } },
	    { 0x23, 1, { 0x35d, 0x73 } } },
	  CALM_PMU_INTEL, 0x5d, 0x3, WIDE, 48, 0x38f },
	/* four legacy counters, six, and as many as PerfMonV2 says */
	{ __LINE__, calm_pmu_amd_probe, { { 0x80000000, 0, { 0x80000008 } } },
	  CALM_PMU_AMD, 0xf, 0, AMD, 48, 0 },
	{ __LINE__, calm_pmu_amd_probe,
	  { { 0x80000000, 0, { 0x8000001f } }, { 0x80000001, 0, { 0x830f10, 0, 1 << 23 } } },
	  CALM_PMU_AMD_CORE, 0x3f, 0, AMD, 48, 0 },
	{ __LINE__, calm_pmu_amd_probe,
	  { { 0x80000000, 0, { 0x80000028 } }, { 0x80000001, 0, { 0xa10f10, 0, 1 << 23 } },
	    { 0x80000022, 0, { 1, 6 } } },
	  CALM_PMU_AMD_V2, 0x3f, 0, AMD, 48, 0xc0000301 },
};

TEST(each_kind_of_cpu)
{
	struct calm_pmu_info info;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		info = (struct calm_pmu_info){};
		cpuid_rows = row->leaves;
		row->probe(&info);
		EXPECT_EQ(row->style, info.style) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->general, info.general) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->fixed, info.fixed) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->selectable, info.selectable) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->width, info.width) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->global_ctrl, info.global_ctrl) TH_LOG("line %d", row->line);
	}
}

TEST_HARNESS_MAIN
