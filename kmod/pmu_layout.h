/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a CPU keeps its performance counters: a description that each vendor's file fills. */
#ifndef CALM_PMU_LAYOUT_H
#define CALM_PMU_LAYOUT_H

#include <linux/types.h>

/* Counters that one CPU can have, to size what is saved of them. */
#define CALM_PMU_GENERAL_MAX	16

/**
 * struct calm_pmu_info - the counters of a CPU, by CPUID alone
 * @style: enum calm_pmu, 0 where there are none that can be used
 * @version: of architectural performance monitoring
 * @general: mask of general counters
 * @fixed: mask of fixed counters
 * @width: bits of a general counter
 * @fixed_width: bits of a fixed counter
 * @select: MSR of event select 0
 * @counter: MSR of counter 0
 * @step: distance of neighbouring ones
 * @global_ctrl: MSR that enables all, 0 if there is none
 * @global_status: MSR of overflows, 0 if there is none
 * @global_clear: MSR that clears them
 * @selectable: bits of an event select that a user may set
 * @has_capabilities: PERF_CAPABILITIES exists
 * @has_traces: BTS, PEBS and processor trace may exist
 */
struct calm_pmu_info {
	u32 style;
	u32 version;
	u64 general;
	u64 fixed;
	u32 width;
	u32 fixed_width;
	u32 select;
	u32 counter;
	u32 step;
	u32 global_ctrl;
	u32 global_status;
	u32 global_clear;
	u64 selectable;
	bool has_capabilities;
	bool has_traces;
};

/**
 * calm_pmu_intel_probe() - find out what the calling CPU has, an Intel one
 * @info: out: left alone if there is nothing to be used
 */
void calm_pmu_intel_probe(struct calm_pmu_info *info);

/**
 * calm_pmu_amd_probe() - find out what the calling CPU has, one of AMD or Hygon
 * @info: out
 */
void calm_pmu_amd_probe(struct calm_pmu_info *info);

#endif
