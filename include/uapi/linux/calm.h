/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/calm.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_CALM_H
#define _UAPI_LINUX_CALM_H

#define CALM_GENL_NAME		"calm"
#define CALM_GENL_VERSION	1

#define CALM_ABI_VERSION	1
#define CALM_CPUS_MAX		1024
#define CALM_NODES_MAX		1024
#define CALM_ROUNDS_MAX		1024
#define CALM_SAMPLES_MAX	1048576
#define CALM_WARMUP_MAX		1024
#define CALM_STRIDE_MIN		8
#define CALM_STRIDE_MAX		1048576
#define CALM_LOADS_MAX		1099511627776
#define CALM_LOOP_NAME_MAX	15
#define CALM_COUNTERS_MAX	7
#define CALM_SETTINGS_MAX	32
#define CALM_LAYOUTS_MAX	4
#define CALM_LANES_MAX		16

/**
 * enum calm_pages - leaf size that maps the buffer, and how its frames were
 *   chosen
 * @CALM_PAGES_4K: single frames shuffled by the seed
 * @CALM_PAGES_2M: 2 MiB leaves only, each verified
 * @CALM_PAGES_4K_CONTIG: 4 KiB leaves over neighbouring frames, in runs of 4
 *   MiB or of the buffer
 * @CALM_PAGES_1G: 1 GiB leaves only, each verified; a small buffer takes a
 *   part of one
 */
enum calm_pages {
	CALM_PAGES_4K = 1,
	CALM_PAGES_2M,
	CALM_PAGES_4K_CONTIG,
	CALM_PAGES_1G,
};

/**
 * enum calm_order - order in which the chain visits its lines
 * @CALM_ORDER_RANDOM: one uniformly random cycle over all lines
 * @CALM_ORDER_LINEAR: from the lowest address to the highest, again and again
 * @CALM_ORDER_PAGE_LOCAL: all lines of a 4 KiB page in random order before
 *   another page, pages in random order
 */
enum calm_order {
	CALM_ORDER_RANDOM = 1,
	CALM_ORDER_LINEAR,
	CALM_ORDER_PAGE_LOCAL,
};

/**
 * enum calm_state - what a job is doing
 * @CALM_STATE_SETUP: allocating memory, placing threads
 * @CALM_STATE_RUNNING: building buffers or measuring
 * @CALM_STATE_DONE: every sample was taken
 * @CALM_STATE_CANCELLED: ended early by cancel; the samples taken so far stay
 * @CALM_STATE_FAILED: ended early by an error, given by error and reason
 */
enum calm_state {
	CALM_STATE_SETUP = 1,
	CALM_STATE_RUNNING,
	CALM_STATE_DONE,
	CALM_STATE_CANCELLED,
	CALM_STATE_FAILED,
};

/**
 * enum calm_flag - what else a job does
 * @CALM_F_TWO_LENGTHS: time a pass of twice the length in each sample too
 * @CALM_F_APERF: read APERF and MPERF right before and after each window
 * @CALM_F_CONTIGUOUS: the whole buffer is one physically contiguous run
 * @CALM_F_UNSAFE_PREFETCH: allow prefetcher switches that the maker of the
 *   processor has not documented
 */
enum calm_flag {
	CALM_F_TWO_LENGTHS = 1,
	CALM_F_APERF = 2,
	CALM_F_CONTIGUOUS = 4,
	CALM_F_UNSAFE_PREFETCH = 8,
};

/**
 * enum calm_disturb - what made a sample unusable
 * @CALM_DISTURB_SLICE: interrupts were off for more than twice the limit of a
 *   slice
 * @CALM_DISTURB_SMI: a system management interrupt came, by MSR_SMI_COUNT
 * @CALM_DISTURB_NMI: a non-maskable interrupt came; counts are void
 * @CALM_DISTURB_PREFETCHER: a prefetcher's switch was changed by somebody else
 */
enum calm_disturb {
	CALM_DISTURB_SLICE = 1,
	CALM_DISTURB_SMI = 2,
	CALM_DISTURB_NMI = 4,
	CALM_DISTURB_PREFETCHER = 8,
};

/**
 * enum calm_pmu - register layout of a CPU's performance counters
 * @CALM_PMU_INTEL: architectural performance monitoring, version 2 or later
 * @CALM_PMU_AMD: four counters at C001_0000
 * @CALM_PMU_AMD_CORE: six counters at C001_0200 (PerfCtrExtCore)
 * @CALM_PMU_AMD_V2: the same with global control (PerfMonV2)
 */
enum calm_pmu {
	CALM_PMU_INTEL = 1,
	CALM_PMU_AMD,
	CALM_PMU_AMD_CORE,
	CALM_PMU_AMD_V2,
};

/**
 * enum calm_prefetch - state of a hardware prefetcher
 * @CALM_PREFETCH_FOUND: as it was before prefetch-set, which this undoes
 */
enum calm_prefetch {
	CALM_PREFETCH_OFF = 1,
	CALM_PREFETCH_ON,
	CALM_PREFETCH_FOUND,
};

/**
 * enum calm_scope - CPUs that share a prefetcher's switch
 * @CALM_SCOPE_THREAD: each logical CPU has its own
 * @CALM_SCOPE_CORE: the logical CPUs of a core share it
 * @CALM_SCOPE_MODULE: the cores that share an L2 cache share it
 */
enum calm_scope {
	CALM_SCOPE_THREAD = 1,
	CALM_SCOPE_CORE,
	CALM_SCOPE_MODULE,
};

enum {
	CALM_A_VERSION = 1,
	CALM_A_ABI,
	CALM_A_PROCESSOR,
	CALM_A_TSC_KHZ,
	CALM_A_MAX_BYTES,
	CALM_A_SAMPLES_LIMIT,
	CALM_A_SLICE_US,
	CALM_A_JOB,
	CALM_A_LOOP,
	CALM_A_CPU,
	CALM_A_NODE,
	CALM_A_SIZE_BYTES,
	CALM_A_STRIDE_BYTES,
	CALM_A_PAGES,
	CALM_A_ORDER,
	CALM_A_LOADS,
	CALM_A_ROUNDS,
	CALM_A_SAMPLES,
	CALM_A_WARMUP,
	CALM_A_SEED,
	CALM_A_FLAGS,
	CALM_A_FIRST,
	CALM_A_STATE,
	CALM_A_READY,
	CALM_A_TOTAL,
	CALM_A_BUILT_BYTES,
	CALM_A_SAMPLE,
	CALM_A_ROUND,
	CALM_A_ERROR,
	CALM_A_REASON,
	CALM_A_EVENT,
	CALM_A_MEMORY_NODE,
	CALM_A_PREFETCHER,
	CALM_A_SWITCH,
	CALM_A_SETTING,
	CALM_A_TOGGLE_LAPS,
	CALM_A_LAYOUT,
	CALM_A_LANES,

	__CALM_A_MAX
};
#define CALM_A_MAX (__CALM_A_MAX - 1)

enum {
	CALM_A_PROCESSOR_ID = 1,
	CALM_A_PROCESSOR_ONLINE,
	CALM_A_PROCESSOR_ISOLATED,
	CALM_A_PROCESSOR_NODE,
	CALM_A_PROCESSOR_PACKAGE,
	CALM_A_PROCESSOR_CORE,
	CALM_A_PROCESSOR_VENDOR,
	CALM_A_PROCESSOR_FAMILY,
	CALM_A_PROCESSOR_MODEL,
	CALM_A_PROCESSOR_STEPPING,
	CALM_A_PROCESSOR_MICROCODE,
	CALM_A_PROCESSOR_CORE_TYPE,
	CALM_A_PROCESSOR_MICROARCH,
	CALM_A_PROCESSOR_PMU,
	CALM_A_PROCESSOR_MEMORY_NODE,

	__CALM_A_PROCESSOR_MAX
};
#define CALM_A_PROCESSOR_MAX (__CALM_A_PROCESSOR_MAX - 1)

enum {
	CALM_A_MEMORY_NODE_ID = 1,
	CALM_A_MEMORY_NODE_MAX_BYTES,

	__CALM_A_MEMORY_NODE_MAX
};
#define CALM_A_MEMORY_NODE_MAX (__CALM_A_MEMORY_NODE_MAX - 1)

enum {
	CALM_A_PMU_STYLE = 1,
	CALM_A_PMU_VERSION,
	CALM_A_PMU_GENERAL,
	CALM_A_PMU_FIXED,
	CALM_A_PMU_WIDTH,
	CALM_A_PMU_FIXED_WIDTH,

	__CALM_A_PMU_MAX
};
#define CALM_A_PMU_MAX (__CALM_A_PMU_MAX - 1)

enum {
	CALM_A_PREFETCHER_NAME = 1,
	CALM_A_PREFETCHER_STATE,
	CALM_A_PREFETCHER_KIND,
	CALM_A_PREFETCHER_MSR,
	CALM_A_PREFETCHER_BIT,
	CALM_A_PREFETCHER_SET_IS_ON,
	CALM_A_PREFETCHER_SCOPE,
	CALM_A_PREFETCHER_UNDOCUMENTED,
	CALM_A_PREFETCHER_SOURCE,
	CALM_A_PREFETCHER_HELD,

	__CALM_A_PREFETCHER_MAX
};
#define CALM_A_PREFETCHER_MAX (__CALM_A_PREFETCHER_MAX - 1)

enum {
	CALM_A_SWITCH_NAME = 1,
	CALM_A_SWITCH_STATE,

	__CALM_A_SWITCH_MAX
};
#define CALM_A_SWITCH_MAX (__CALM_A_SWITCH_MAX - 1)

enum {
	CALM_A_SETTING_SWITCH = 1,

	__CALM_A_SETTING_MAX
};
#define CALM_A_SETTING_MAX (__CALM_A_SETTING_MAX - 1)

enum {
	CALM_A_LAYOUT_LINES = 1,
	CALM_A_LAYOUT_BLOCK,
	CALM_A_LAYOUT_STRIDE_BYTES,
	CALM_A_LAYOUT_STEP_BYTES,
	CALM_A_LAYOUT_PLACES,
	CALM_A_LAYOUT_PLACE_BYTES,

	__CALM_A_LAYOUT_MAX
};
#define CALM_A_LAYOUT_MAX (__CALM_A_LAYOUT_MAX - 1)

enum {
	CALM_A_EVENT_SELECT = 1,
	CALM_A_EVENT_FIXED,
	CALM_A_EVENT_COUNTERS,

	__CALM_A_EVENT_MAX
};
#define CALM_A_EVENT_MAX (__CALM_A_EVENT_MAX - 1)

enum {
	CALM_A_SAMPLE_INDEX = 1,
	CALM_A_SAMPLE_CPU,
	CALM_A_SAMPLE_ROUND,
	CALM_A_SAMPLE_TSC,
	CALM_A_SAMPLE_TSC_DOUBLE,
	CALM_A_SAMPLE_TSC_EMPTY,
	CALM_A_SAMPLE_WINDOWS,
	CALM_A_SAMPLE_SLICE_TSC,
	CALM_A_SAMPLE_DISTURB,
	CALM_A_SAMPLE_COUNT,
	CALM_A_SAMPLE_COUNT_EMPTY,
	CALM_A_SAMPLE_COUNT_DOUBLE,
	CALM_A_SAMPLE_SMIS,
	CALM_A_SAMPLE_APERF,
	CALM_A_SAMPLE_MPERF,
	CALM_A_SAMPLE_SETTING,
	CALM_A_SAMPLE_INTERRUPTS,
	CALM_A_SAMPLE_LAYOUT,
	CALM_A_SAMPLE_CLOCK_TSC,

	__CALM_A_SAMPLE_MAX
};
#define CALM_A_SAMPLE_MAX (__CALM_A_SAMPLE_MAX - 1)

enum {
	CALM_A_ROUND_INDEX = 1,
	CALM_A_ROUND_CPU,
	CALM_A_ROUND_SEED,
	CALM_A_ROUND_LEAVES_4K,
	CALM_A_ROUND_LEAVES_2M,
	CALM_A_ROUND_LEAVES_1G,
	CALM_A_ROUND_ADJACENT_FRAMES,
	CALM_A_ROUND_CONTIGUOUS_BYTES,
	CALM_A_ROUND_NODE_MASK,
	CALM_A_ROUND_LINES,

	__CALM_A_ROUND_MAX
};
#define CALM_A_ROUND_MAX (__CALM_A_ROUND_MAX - 1)

enum {
	CALM_CMD_GET_INFO = 1,
	CALM_CMD_RUN,
	CALM_CMD_SAMPLES,
	CALM_CMD_CANCEL,
	CALM_CMD_PREFETCH_SET,
	CALM_CMD_PREFETCH_GET,

	__CALM_CMD_MAX
};
#define CALM_CMD_MAX (__CALM_CMD_MAX - 1)

#endif /* _UAPI_LINUX_CALM_H */
