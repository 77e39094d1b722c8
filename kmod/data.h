/* SPDX-License-Identifier: GPL-2.0-only */
/* The structs that travel: what is asked of a job, and what it finds. */
#ifndef CALM_DATA_H
#define CALM_DATA_H

#include <linux/types.h>
#include <uapi/linux/calm.h>

#include "layout.h"

struct calm_loop;

/**
 * struct calm_event - something to count
 * @select: event select, without the bits that control the counter
 * @counters: mask of general counters that can count it
 * @is_fixed: it is what a fixed counter counts, instead
 * @fixed: number of that counter
 */
struct calm_event {
	u64 select;
	u64 counters;
	bool is_fixed;
	u32 fixed;
};

/**
 * struct calm_prefetch_setting - a state of prefetchers
 * @off: those to be off, by their place among the names
 * @on: those to be on
 * @found: those that get back what they had before they were held
 * @all: enum calm_prefetch for all others that a CPU has, 0 to leave them
 */
struct calm_prefetch_setting {
	u32 off;
	u32 on;
	u32 found;
	u32 all;
};

/**
 * struct calm_job_spec - what a job measures, in units of the wire
 * @loop: the measured loop
 * @cpus: CPUs, a worker each; owned by the caller of calm_job_start()
 * @nr_cpus: number of @cpus
 * @node: memory node, NUMA_NO_NODE for that of each CPU
 * @size_bytes: buffer of each CPU
 * @stride_bytes: distance of neighbouring elements
 * @pages: enum calm_pages
 * @order: enum calm_order
 * @loads: accesses of one timed pass
 * @rounds: fresh buffers
 * @samples: timed passes in a round
 * @warmup: laps before the first sample, besides the one that finds the way
 * @seed: round r is laid out by @seed + r
 * @flags: CALM_F_*
 * @lanes: chases side by side
 * @events: what to count
 * @nr_events: number of @events
 * @settings: states of prefetchers that each round goes through, and back
 * @nr_settings: number of @settings
 * @toggle_laps: laps after each change of the setting
 * @layouts: where elements lie; each round takes its samples with each of them
 * @nr_layouts: number of @layouts, 0 for one element in each stride
 * @hold: nothing is measured, the only setting stays
 */
struct calm_job_spec {
	const struct calm_loop *loop;
	u32 *cpus;
	u32 nr_cpus;
	int node;
	u64 size_bytes;
	u32 stride_bytes;
	u32 pages;
	u32 order;
	u64 loads;
	u32 rounds;
	u32 samples;
	u32 warmup;
	u64 seed;
	u32 flags;
	u32 lanes;
	struct calm_event events[CALM_COUNTERS_MAX];
	u32 nr_events;
	struct calm_prefetch_setting settings[CALM_SETTINGS_MAX];
	u32 nr_settings;
	u32 toggle_laps;
	struct calm_layout layouts[CALM_LAYOUTS_MAX];
	u32 nr_layouts;
	bool hold;
};

/**
 * struct calm_sample - one timed pass
 * @tsc: TSC ticks of the pass, over all its windows
 * @tsc_double: TSC ticks of a pass of twice the length, 0 if not taken
 * @tsc_empty: TSC ticks of an empty window
 * @slice_tsc: longest stretch with interrupts off
 * @cpu: CPU
 * @round: round
 * @windows: windows that the pass was cut into
 * @disturb: CALM_DISTURB_*
 * @counts_smis: the next is known
 * @smis: system management interrupts
 * @aperf: APERF ticks around the windows of the pass
 * @mperf: MPERF ticks
 * @clock_tsc: TSC ticks between the readings of APERF
 * @setting: state of prefetchers it was taken under
 * @interrupts: taken by the CPU between the slices of the pass
 * @layout: layout it was taken with, by its place in the job
 */
struct calm_sample {
	u64 tsc;
	u64 tsc_double;
	u64 tsc_empty;
	u64 slice_tsc;
	u32 cpu;
	u32 round;
	u32 windows;
	u32 disturb;
	bool counts_smis;
	u32 smis;
	u64 aperf;
	u64 mperf;
	u64 clock_tsc;
	u32 setting;
	u32 interrupts;
	u32 layout;
};

/**
 * struct calm_counts - what was counted in a sample, an entry for each event
 * @pass: in the pass, over all its windows
 * @empty: in an empty window
 * @twice: in the pass of twice the length
 */
struct calm_counts {
	u64 pass[CALM_COUNTERS_MAX];
	u64 empty[CALM_COUNTERS_MAX];
	u64 twice[CALM_COUNTERS_MAX];
};

/**
 * struct calm_mapping - how a buffer is mapped
 * @leaves_4k: 4 KiB leaves of the page table
 * @leaves_2m: 2 MiB leaves
 * @leaves_1g: 1 GiB leaves
 * @adjacent_frames: 4 KiB frames that lie right behind their predecessor
 * @contiguous_bytes: longest physically contiguous run
 * @node_mask: memory nodes below 64 that frames came from
 */
struct calm_mapping {
	u64 leaves_4k;
	u64 leaves_2m;
	u64 leaves_1g;
	u64 adjacent_frames;
	u64 contiguous_bytes;
	u64 node_mask;
};

/**
 * struct calm_round - what a round measured on
 * @index: number of the round
 * @cpu: CPU
 * @seed: laid out this round
 * @lines: elements of the chain
 * @mapping: how the buffer was mapped
 */
struct calm_round {
	u32 index;
	u32 cpu;
	u64 seed;
	u64 lines;
	struct calm_mapping mapping;
};

#endif
