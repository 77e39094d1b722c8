/* SPDX-License-Identifier: GPL-2.0-only */
/* The structs that travel: options, point, sample, round, result, summary, document. */
#ifndef CALM_DATA_H
#define CALM_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/calm.h>

/* An option that was not given, where that is a case of its own. */
#define CALM_UNSET UINT64_MAX

/**
 * struct calm_sizes - a list of sizes
 * @bytes: the sizes
 * @count: how many
 */
struct calm_sizes {
	uint64_t *bytes;
	size_t count;
};

/**
 * struct calm_run_opts - what the command line asks for
 * @cpu: CPU to measure on, or CALM_UNSET
 * @node: memory node, or CALM_UNSET
 * @pages: enum calm_pages
 * @order: enum calm_order
 * @sizes: exactly these buffer sizes, instead of a sweep
 * @min_bytes: smallest size of the sweep, or CALM_UNSET
 * @max_bytes: largest size of the sweep, or CALM_UNSET
 * @step: points per octave
 * @stride_bytes: distance of neighbouring elements
 * @loads: accesses per timed pass, or CALM_UNSET
 * @rounds: rounds per point
 * @samples: timed passes per round
 * @warmup: untimed passes before the first sample of a round
 * @seed: layout of round 0
 * @quick: one round of five passes, unless said otherwise
 * @quiet: level of quietness
 * @format: index of the writer
 * @output: file to write, or NULL for stdout
 * @save: file for a JSON document besides, or NULL
 * @dry_run: only say what would be measured
 * @no_progress: no estimate and no bar
 * @raw: samples go into the document too
 * @events: names of what is counted, or NULL for the command's own
 * @scheme: how samples become a value
 * @strides: distances to go through, instead of one
 * @prefetch: choice of states of prefetchers
 * @unsafe_prefetch: undocumented switches may be used
 * @cpus: a list of CPUs, or NULL for all
 * @contig: buffers are physically contiguous
 * @memory_given: the kind of memory was asked for, not left to the defaults
 * @stride_given: the stride was asked for, not left to the default
 * @order_given: the same of the order
 * @lines: numbers of lines to go through
 * @word: a word that is no option, where the command takes one, else NULL
 * @lanes: numbers of chases side by side to go through
 * @loop: enum calm_chase
 * @copy_strides: distances that may be any number of bytes; they become @strides
 * @width: bytes of a load, 0 where there is no choice
 */
struct calm_run_opts {
	uint64_t cpu;
	uint64_t node;
	uint64_t pages;
	uint64_t order;
	struct calm_sizes sizes;
	uint64_t min_bytes;
	uint64_t max_bytes;
	uint64_t step;
	uint64_t stride_bytes;
	uint64_t loads;
	uint64_t rounds;
	uint64_t samples;
	uint64_t warmup;
	uint64_t seed;
	bool quick;
	uint64_t quiet;
	uint64_t format;
	const char *output;
	const char *save;
	bool dry_run;
	bool no_progress;
	bool raw;
	const char *events;
	uint64_t scheme;
	struct calm_sizes strides;
	const char *prefetch;
	bool unsafe_prefetch;
	const char *cpus;
	bool contig;
	bool memory_given;
	bool stride_given;
	bool order_given;
	struct calm_sizes lines;
	const char *word;
	struct calm_sizes lanes;
	uint64_t loop;
	struct calm_sizes copy_strides;
	uint64_t width;
};

/**
 * enum calm_chase - what a chase does in each step
 * @CALM_CHASE_LOAD: it loads the pointer
 * @CALM_CHASE_STORE: it stores it in its place and loads it from there
 * @CALM_CHASE_ATOMIC: it gets it by a locked addition of nothing
 * @CALM_CHASE_FLUSH: it flushes its line, and loads it
 */
enum calm_chase {
	CALM_CHASE_LOAD,
	CALM_CHASE_STORE,
	CALM_CHASE_ATOMIC,
	CALM_CHASE_FLUSH,
};

/**
 * enum calm_scheme - how the samples of a round become its value
 * @CALM_SCHEME_MEDIAN: by their median
 * @CALM_SCHEME_E1: the fastest one; 5 seeds of 10 passes with 1,000,000 loads each
 */
enum calm_scheme {
	CALM_SCHEME_MEDIAN,
	CALM_SCHEME_E1,
};

#define CALM_CACHES_MAX 8

/**
 * struct calm_cache - a cache that serves one CPU's data, as the system claims
 * @name: L1d, L2, L3
 * @size_bytes: capacity
 * @line_bytes: line, 0 if not known
 * @ways: associativity, 0 if not known
 * @shared_cpus: list of the CPUs that share it, as 0-3,8
 */
struct calm_cache {
	char name[8];
	uint64_t size_bytes;
	uint32_t line_bytes;
	uint32_t ways;
	char shared_cpus[64];
};

/**
 * struct calm_machine - what measures
 * @cpu_model: name of the processor
 * @vendor: vendor by CPUID
 * @family: by CPUID, -1 if not known
 * @model: by CPUID, -1 if not known
 * @stepping: by CPUID, -1 if not known
 * @microcode: revision, 0 if not known
 * @kernel: release of the running kernel
 * @tsc_hz: rate of the time stamp counter, 0 if not known
 * @cpus: CPUs that are online
 * @nodes: memory nodes
 * @caches: data caches of the measured CPU, nearest first
 * @n_caches: how many
 * @max_bytes: largest buffer that can be had, CALM_UNSET if not known
 * @prefetch_off: its prefetchers are known to be off while it measures
 */
struct calm_machine {
	char cpu_model[128];
	char vendor[32];
	int family;
	int model;
	int stepping;
	uint32_t microcode;
	char kernel[65];
	double tsc_hz;
	unsigned int cpus;
	unsigned int nodes;
	struct calm_cache caches[CALM_CACHES_MAX];
	size_t n_caches;
	uint64_t max_bytes;
	bool prefetch_off;
};

/**
 * struct calm_pmu_info - performance counters of a CPU
 * @style: enum calm_pmu of the interface, 0 where there are none
 * @version: of architectural performance monitoring, 0 on AMD
 * @general: mask of general counters
 * @fixed: mask of fixed counters
 * @width: bits of a general counter
 * @fixed_width: bits of a fixed one
 */
struct calm_pmu_info {
	uint32_t style;
	uint32_t version;
	uint64_t general;
	uint64_t fixed;
	uint32_t width;
	uint32_t fixed_width;
};

/**
 * struct calm_processor - a row of the module's CPU table
 * @id: number of the CPU
 * @online: it runs
 * @isolated: it is outside the scheduler's domains
 * @node: its node
 * @lacks_memory: that has none, and the next is known
 * @memory_node: where its buffers come from then
 * @package: socket
 * @core: core within the socket
 * @vendor: X86_VENDOR number of the kernel
 * @family: by CPUID
 * @model: by CPUID
 * @stepping: by CPUID
 * @microcode: revision, 0 if not known
 * @core_type: of a hybrid part, by CPUID 1AH, else 0
 * @microarch: name of the microarchitecture, or empty
 * @pmu: its counters
 */
struct calm_processor {
	uint32_t id;
	bool online;
	bool isolated;
	uint32_t node;
	bool lacks_memory;
	uint32_t memory_node;
	uint32_t package;
	uint32_t core;
	uint32_t vendor;
	uint32_t family;
	uint32_t model;
	uint32_t stepping;
	uint32_t microcode;
	uint32_t core_type;
	char microarch[48];
	struct calm_pmu_info pmu;
};

/* No processor is of family 0, but a CPU that has never been online seems to be. */
static inline bool calm_processor_is_known(const struct calm_processor *processor)
{
	return processor->family;
}

#define CALM_PREFETCHERS_MAX 16

/**
 * struct calm_prefetcher - a hardware prefetcher that can be switched
 * @name: its name
 * @kind: what makes it fetch
 * @msr: register with its switch
 * @bit: the switch
 * @set_is_on: the bit turns it on when set; else off
 * @scope: enum calm_scope of the register
 * @undocumented: the maker has not described it
 * @source: where it is described
 * @held: set by calm prefetch, and not restored since
 * @state: enum calm_prefetch, 0 if the register could not be read
 */
struct calm_prefetcher {
	char name[CALM_LOOP_NAME_MAX + 1];
	char kind[24];
	uint32_t msr;
	uint32_t bit;
	bool set_is_on;
	uint32_t scope;
	bool undocumented;
	char source[96];
	bool held;
	uint32_t state;
};

/**
 * struct calm_prefetch_group - CPUs that share the switches of their prefetchers
 * @cpus: the CPUs, ascending
 * @n_cpus: how many
 * @prefetchers: the prefetchers
 * @n_prefetchers: how many
 * @error: positive errno if their registers could not be read, else 0
 */
struct calm_prefetch_group {
	uint32_t *cpus;
	size_t n_cpus;
	struct calm_prefetcher prefetchers[CALM_PREFETCHERS_MAX];
	size_t n_prefetchers;
	uint32_t error;
};

/**
 * struct calm_prefetch_groups - all of them
 * @groups: the groups, by their first CPU
 * @count: how many
 * @capacity: room for
 */
struct calm_prefetch_groups {
	struct calm_prefetch_group *groups;
	size_t count;
	size_t capacity;
};

/**
 * struct calm_setting - a state of prefetchers that is asked for
 * @label: its name in documents
 * @all: enum calm_prefetch for those that are not named, 0 to leave them
 * @state: enum calm_prefetch for those that are
 * @names: the prefetchers
 * @n_names: how many
 */
struct calm_setting {
	char *label;
	uint32_t all;
	uint32_t state;
	char names[CALM_PREFETCHERS_MAX][CALM_LOOP_NAME_MAX + 1];
	size_t n_names;
};

#define CALM_EVENT_CODE_MAX 24

/**
 * struct calm_event - something to count
 * @name: as it was asked for
 * @code: as it can be asked for everywhere, or empty
 * @select: event select without its control bits
 * @is_fixed: a fixed counter counts it instead
 * @fixed: number of that counter
 * @counters: mask of general counters that can count it
 * @known: which known count it can be compared with, or NULL
 * @definition: what it counts, or NULL
 * @source: where its code is published, or NULL
 * @unconfirmed: not by the maker
 * @tested: it was compared with a known count
 * @hidden: counted for the core clock only, not shown
 * @reason: why its counts are not shown, or NULL; owned by the event
 */
struct calm_event {
	char *name;
	char code[CALM_EVENT_CODE_MAX];
	uint64_t select;
	bool is_fixed;
	uint32_t fixed;
	uint64_t counters;
	const char *known;
	const char *definition;
	const char *source;
	bool unconfirmed;
	bool tested;
	bool hidden;
	char *reason;
};

/**
 * struct calm_events - a list of events
 * @events: the events
 * @count: how many
 * @capacity: room for
 */
struct calm_events {
	struct calm_event *events;
	size_t count;
	size_t capacity;
};

/**
 * struct calm_memory_node - what the module says of a memory node
 * @id: number of the node
 * @max_bytes: largest buffer that it would give at this moment
 */
struct calm_memory_node {
	uint32_t id;
	uint64_t max_bytes;
};

/**
 * struct calm_module - what the module says of itself
 * @version: its version
 * @abi: version of the interface
 * @tsc_khz: rate of the time stamp counter
 * @has_limits: the next three are known; only a privileged user is told
 * @max_bytes: largest buffer at this moment
 * @samples_limit: most samples of one job
 * @slice_us: longest stretch with interrupts off
 * @processors: CPU table
 * @n_processors: rows of it
 * @nodes: memory nodes; only a privileged user is told
 * @n_nodes: how many
 */
struct calm_module {
	char version[32];
	uint32_t abi;
	uint32_t tsc_khz;
	bool has_limits;
	uint64_t max_bytes;
	uint32_t samples_limit;
	uint32_t slice_us;
	struct calm_processor *processors;
	size_t n_processors;
	struct calm_memory_node *nodes;
	size_t n_nodes;
};

/**
 * struct calm_layout - where the elements of a chain lie, other than one in each stride
 * @name: what it is for
 * @lines: number of elements
 * @block: elements of a block
 * @stride_bytes: distance of neighbouring blocks
 * @step_bytes: distance of neighbouring elements within a block
 * @places: places within a step that elements take in turn
 * @place_bytes: distance of these places
 */
struct calm_layout {
	const char *name;
	uint64_t lines;
	uint64_t block;
	uint64_t stride_bytes;
	uint64_t step_bytes;
	uint64_t places;
	uint64_t place_bytes;
};

/**
 * struct calm_point - one combination of parameters, asked for or in effect
 * @loop: name of the measured loop
 * @cpu: CPU it runs on
 * @node: memory node, -1 for that of the CPU
 * @requested_size_bytes: size that was asked for
 * @size_bytes: size in effect
 * @stride_bytes: distance of neighbouring elements
 * @pages: enum calm_pages
 * @order: enum calm_order
 * @loads: accesses in one timed pass
 * @rounds: rounds, each with a fresh buffer
 * @samples: timed passes in one round
 * @warmup: untimed passes before the first sample of a round
 * @seed: layout of round 0
 * @flags: enum calm_flag
 * @events: what is counted at once
 * @n_events: how many
 * @settings: states of prefetchers that each round goes through
 * @n_settings: how many, 0 to leave prefetchers alone
 * @toggle_laps: untimed passes after each change of them
 * @layouts: where elements lie; each round takes its samples with each of them
 * @n_layouts: how many, 0 for one element in each stride
 * @lanes: chases side by side, 0 for a loop that is not made of such
 */
struct calm_point {
	const char *loop;
	uint32_t cpu;
	int32_t node;
	uint64_t requested_size_bytes;
	uint64_t size_bytes;
	uint32_t stride_bytes;
	uint32_t pages;
	uint32_t order;
	uint64_t loads;
	uint32_t rounds;
	uint32_t samples;
	uint32_t warmup;
	uint64_t seed;
	uint32_t flags;
	const struct calm_event *const *events;
	size_t n_events;
	const struct calm_setting *settings;
	size_t n_settings;
	uint32_t toggle_laps;
	struct calm_layout layouts[CALM_LAYOUTS_MAX];
	size_t n_layouts;
	uint32_t lanes;
};

/**
 * struct calm_sample - one timed pass
 * @index: place in the job
 * @cpu: CPU it ran on
 * @round: its round
 * @tsc: TSC ticks of the pass
 * @has_double: a pass of twice the length was timed too
 * @tsc_double: its TSC ticks
 * @tsc_empty: TSC ticks of a window without an access
 * @windows: windows that the pass was cut into
 * @slice_tsc: longest stretch with interrupts off, TSC ticks
 * @disturb: enum calm_disturb, 0 if usable
 * @other_frequency: the core ran at another frequency than in most samples of the round
 * @passed_over: the sampling scheme keeps another sample of the round
 * @n_counts: events counted
 * @count: counts of the pass, in the order of the point's events
 * @n_counts_empty: the next are known, for as many events
 * @count_empty: counts of a window without an access
 * @n_counts_double: the same for a pass of twice the length
 * @count_double: counts of that
 * @has_smis: the next is known
 * @smis: system management interrupts
 * @has_clocks: the next three are known
 * @aperf: APERF ticks around the windows of the pass
 * @mperf: MPERF ticks
 * @clock_tsc: TSC ticks between the readings of APERF
 * @setting: state of prefetchers, by its place in the point
 * @has_interrupts: the next is known
 * @interrupts: taken by the CPU between the slices of the pass
 * @layout: where elements lay, by its place in the point
 */
struct calm_sample {
	uint32_t index;
	uint32_t cpu;
	uint32_t round;
	int64_t tsc;
	bool has_double;
	int64_t tsc_double;
	int64_t tsc_empty;
	uint32_t windows;
	uint64_t slice_tsc;
	uint32_t disturb;
	bool other_frequency;
	bool passed_over;
	uint32_t n_counts;
	uint64_t count[CALM_COUNTERS_MAX];
	uint32_t n_counts_empty;
	uint64_t count_empty[CALM_COUNTERS_MAX];
	uint32_t n_counts_double;
	uint64_t count_double[CALM_COUNTERS_MAX];
	bool has_smis;
	uint32_t smis;
	bool has_clocks;
	uint64_t aperf;
	uint64_t mperf;
	uint64_t clock_tsc;
	uint32_t setting;
	bool has_interrupts;
	uint32_t interrupts;
	uint32_t layout;
};

/**
 * struct calm_round - what a round measured on
 * @index: number of the round
 * @cpu: CPU it ran on
 * @seed: layout of the buffer
 * @leaves_4k: 4 KiB leaves mapping the buffer
 * @leaves_2m: 2 MiB leaves
 * @leaves_1g: 1 GiB leaves
 * @adjacent_frames: 4 KiB frames that follow their predecessor's address
 * @contiguous_bytes: longest physically contiguous run
 * @node_mask: memory nodes that the frames came from
 * @lines: elements of the chain
 */
struct calm_round {
	uint32_t index;
	uint32_t cpu;
	uint64_t seed;
	uint64_t leaves_4k;
	uint64_t leaves_2m;
	uint64_t leaves_1g;
	uint64_t adjacent_frames;
	uint64_t contiguous_bytes;
	uint64_t node_mask;
	uint64_t lines;
};

/**
 * struct calm_result - what came back for a point
 * @effective: the settings in effect
 * @total: samples that the job was asked for
 * @state: enum calm_state that the job ended in
 * @ready: samples that the job has taken
 * @built_bytes: bytes of buffers set up so far
 * @error: positive errno of a failed job, or 0
 * @reason: why it ended early, or empty
 * @samples: the samples, by index
 * @n_samples: how many
 * @samples_capacity: room for
 * @rounds: the rounds
 * @n_rounds: how many
 * @rounds_capacity: room for
 */
struct calm_result {
	struct calm_point effective;
	uint32_t total;
	uint32_t state;
	uint32_t ready;
	uint64_t built_bytes;
	uint32_t error;
	char reason[160];
	struct calm_sample *samples;
	size_t n_samples;
	size_t samples_capacity;
	struct calm_round *rounds;
	size_t n_rounds;
	size_t rounds_capacity;
};

/**
 * struct calm_summary - statistics of one quantity over a point
 * @valid: false: there is no such value
 * @min: least of all usable samples
 * @p5: 5 % quantile of them (type 7)
 * @median: median over the rounds' medians
 * @p95: 95 % quantile of all usable samples (type 7)
 * @has_mad: the next is known: at least two samples
 * @mad: median absolute deviation of all usable samples, unscaled
 * @has_within: the next is known: a round with at least two samples
 * @within_mad: median over rounds of each round's own deviation
 * @has_between: the next is known: at least two rounds
 * @between_mad: median absolute deviation of the rounds' medians
 */
struct calm_summary {
	bool valid;
	double min;
	double p5;
	double median;
	double p95;
	bool has_mad;
	double mad;
	bool has_within;
	double within_mad;
	bool has_between;
	double between_mad;
};

/**
 * struct calm_counted - what an event counted in a point
 * @event: the event
 * @per_access: counts per access, each window's share of an empty one taken off
 * @reason: why there are none, or NULL
 */
struct calm_counted {
	const struct calm_event *event;
	struct calm_summary per_access;
	const char *reason;
};

#define CALM_CAUSES_MAX 8

/**
 * struct calm_disturbed - samples dropped for one cause
 * @cause: its name in documents
 * @samples: how many
 */
struct calm_disturbed {
	const char *cause;
	uint32_t samples;
};

/**
 * struct calm_stats - a point in numbers
 * @rounds: rounds with at least one usable sample
 * @samples: samples taken
 * @dropped: of these, disturbed
 * @disturbed: dropped samples by cause; one may have several
 * @n_disturbed: causes that occurred
 * @has_overhead: the next two are known
 * @overhead_tsc: median over rounds of the ticks of an empty window
 * @overhead_share: largest share of overhead in a round's median sample
 * @tsc_per_access: TSC ticks per access
 * @tsc_two_lengths: the same from two lengths
 * @clock_source: what tells core cycles: fixed, aperf, calibrated, or NULL
 * @core_per_tsc: core cycles in a TSC tick
 * @cycles_per_access: core cycles per access
 * @cycles_two_lengths: the same from two lengths
 * @overhead_cycles: core cycles of an empty window
 * @bytes_per_second: what the loop reads and writes, as the program names it
 * @windows: windows of all samples
 * @has_interrupts: the next is known
 * @interrupts: taken between the slices of all samples
 * @slice_tsc: longest stretch with interrupts off
 * @refused: why there are no statistics, or NULL
 */
struct calm_stats {
	uint32_t rounds;
	uint32_t samples;
	uint32_t dropped;
	struct calm_disturbed disturbed[CALM_CAUSES_MAX];
	size_t n_disturbed;
	bool has_overhead;
	double overhead_tsc;
	double overhead_share;
	struct calm_summary tsc_per_access;
	struct calm_summary tsc_two_lengths;
	const char *clock_source;
	double core_per_tsc;
	struct calm_summary cycles_per_access;
	struct calm_summary cycles_two_lengths;
	double overhead_cycles;
	struct calm_summary bytes_per_second;
	uint64_t windows;
	bool has_interrupts;
	uint64_t interrupts;
	uint64_t slice_tsc;
	const char *refused;
};

/**
 * struct calm_measured - a point with what was found
 * @point: as planned
 * @place: of that in the plan
 * @estimate_s: seconds that it was expected to take
 * @result: what came back
 * @stats: in numbers
 * @counted: events of the document, in their order
 * @n_counted: how many
 * @setting: state of prefetchers, NULL for as found
 * @layout: where its elements lay, by its place in the point
 * @complete: every sample asked for was taken
 * @access_bytes: what an access reads and writes, 0 if nothing
 * @fits: first cache that holds all lines of the buffer that are touched, NULL if none does
 */
struct calm_measured {
	struct calm_point point;
	size_t place;
	double estimate_s;
	struct calm_result result;
	struct calm_stats stats;
	struct calm_counted *counted;
	size_t n_counted;
	const struct calm_setting *setting;
	uint32_t layout;
	bool complete;
	uint32_t access_bytes;
	const struct calm_cache *fits;
};

/**
 * struct calm_effect - what a setting of prefetchers does to a point
 * @point: the point under that setting
 * @found: the same as found
 * @pairs: rounds that have both
 * @ratio: time under the setting by time as found, median over rounds
 * @has_interval: the next two are known: at least 2 pairs
 * @low: 2.5 % quantile of that ratio, by bootstrap over rounds
 * @high: 97.5 % quantile
 * @has_p: the next is known: at least 6 pairs
 * @p: of the Wilcoxon signed-rank test on the rounds' differences, two-sided
 * @significant: kept by Benjamini and Hochberg at 5 % over all, and large enough to matter
 */
struct calm_effect {
	const struct calm_measured *point;
	const struct calm_measured *found;
	size_t pairs;
	double ratio;
	bool has_interval;
	double low;
	double high;
	bool has_p;
	double p;
	bool significant;
};

/**
 * struct calm_level - a level of the hierarchy
 * @claimed: what the system says of it
 * @has_latency: the next is known
 * @latency_ns: least median of the points that lie inside it
 * @has_cycles: the next is known
 * @latency_cycles: the same in core cycles
 * @has_isolated: the next is known
 * @isolated_cycles: what the level alone adds to the mean of a load, by miss rates
 * @ways: lines of a set by what conflicts, 0 if not known
 * @sets: sets by what conflicts, 0 if not known
 * @line_bytes: line by what conflicts, 0 if not known
 * @has_confidence: the next is known
 * @confidence: share of the tests of ways, sets and line by the whole capacity that were passed
 * @reason: why ways are not known where they were looked for, or NULL
 */
struct calm_level {
	struct calm_cache claimed;
	bool has_latency;
	double latency_ns;
	bool has_cycles;
	double latency_cycles;
	bool has_isolated;
	double isolated_cycles;
	uint64_t ways;
	uint64_t sets;
	uint64_t line_bytes;
	bool has_confidence;
	double confidence;
	const char *reason;
};

#define CALM_PARALLELISM_MAX 64

/**
 * struct calm_parallelism - how many misses are under way at a time
 * @size_bytes: the buffer
 * @stride_bytes: distance of its elements
 * @in_cycles: the next two are core cycles
 * @latency: of a load in one lane alone, core cycles, or TSC ticks where there are none
 * @saturated: the same of an independent load
 * @in_flight: how many of the latter take place in the time of one of the former
 * @reason: why that is not the number of fill buffers, NULL if it is
 * @lanes: fewest lanes that are as fast as independent loads, 0 if none is
 */
struct calm_parallelism {
	uint64_t size_bytes;
	uint64_t stride_bytes;
	bool in_cycles;
	double latency;
	double saturated;
	double in_flight;
	const char *reason;
	uint32_t lanes;
};

#define CALM_TLBS_MAX 8

/**
 * struct calm_tlb - translations of a level for pages of a size
 * @name: its name
 * @pages: enum calm_pages of the buffer that it was looked for with
 * @entries: translations that it holds, 0 if not known
 * @ways: those of a set, @entries where it is fully associative
 * @sets: its sets
 * @has_penalty: the next is known
 * @penalty_cycles: what a load takes longer that misses here and is served by the next level, or
 *	by a walk where there is none
 * @coalescing: pages of neighbouring frames that one entry holds, 0 if not known
 * @reason: why entries are not known, or NULL
 */
struct calm_tlb {
	const char *name;
	uint32_t pages;
	uint64_t entries;
	uint64_t ways;
	uint64_t sets;
	bool has_penalty;
	double penalty_cycles;
	uint64_t coalescing;
	const char *reason;
};

#define CALM_NOISE_QUANTILES 9
#define CALM_NOISE_BINS	     8

/**
 * struct calm_noise - how the samples of a point are spread
 * @samples: those that are usable
 * @dropped: others
 * @share: shares of the samples
 * @quantile_ns: nanoseconds per access, at each share
 * @percent: where each bin begins; the last one has no end
 * @bin: samples by how much longer they took than the fastest one
 */
struct calm_noise {
	uint64_t samples;
	uint64_t dropped;
	double share[CALM_NOISE_QUANTILES];
	double quantile_ns[CALM_NOISE_QUANTILES];
	double percent[CALM_NOISE_BINS];
	uint64_t bin[CALM_NOISE_BINS];
};

/**
 * struct calm_derived - facts drawn from the points
 * @levels: caches, nearest first
 * @n_levels: how many
 * @has_memory: the next is known
 * @memory_latency_ns: least median of the points far beyond the last cache
 * @has_memory_cycles: the next is known
 * @memory_latency_cycles: the same in core cycles
 * @has_memory_isolated: the next is known
 * @memory_isolated_cycles: latency of memory by miss rates
 * @tlbs: translation buffers, by size of pages and level
 * @n_tlbs: how many
 * @has_noise: the next is known
 * @noise: distribution of samples
 * @effects: of settings of prefetchers, in the order of the points
 * @n_effects: how many
 * @parallelism: by size of the buffer
 * @n_parallelism: how many
 * @line_bytes: distance from which on each copied byte is of another line, 0 if not known
 */
struct calm_derived {
	struct calm_level levels[CALM_CACHES_MAX];
	size_t n_levels;
	bool has_memory;
	double memory_latency_ns;
	bool has_memory_cycles;
	double memory_latency_cycles;
	bool has_memory_isolated;
	double memory_isolated_cycles;
	struct calm_tlb tlbs[CALM_TLBS_MAX];
	size_t n_tlbs;
	bool has_noise;
	struct calm_noise noise;
	struct calm_effect *effects;
	size_t n_effects;
	struct calm_parallelism parallelism[CALM_PARALLELISM_MAX];
	size_t n_parallelism;
	uint64_t line_bytes;
};

/**
 * enum calm_subject - what a document is about
 * @CALM_SUBJECT_POINTS: points, measured or planned
 * @CALM_SUBJECT_MACHINE: the machine and the module
 * @CALM_SUBJECT_COUNTS: points again, for what they counted
 * @CALM_SUBJECT_EVENTS: events
 * @CALM_SUBJECT_PREFETCHERS: prefetchers and their switches
 * @CALM_SUBJECT_NOISE: a point, for how its samples are spread
 */
enum calm_subject {
	CALM_SUBJECT_POINTS,
	CALM_SUBJECT_MACHINE,
	CALM_SUBJECT_COUNTS,
	CALM_SUBJECT_EVENTS,
	CALM_SUBJECT_PREFETCHERS,
	CALM_SUBJECT_NOISE,
};

/**
 * struct calm_document - all that one command has to say
 * @command: its name
 * @subject: what it is about
 * @opts: what it was asked, NULL for a command without settings
 * @cpu: CPU that is measured
 * @cpu_reason: why this CPU
 * @planned: a dry run: the points were not measured
 * @complete: everything asked for is there
 * @ended_by: what ended it early, or NULL
 * @machine: what measured
 * @module: the module, or NULL
 * @points: points measured, or planned, in the order of the plan
 * @n_points: how many
 * @events: what is counted, or NULL
 * @prefetch: prefetchers with a known switch, or NULL if that was not asked
 * @derived: facts, or NULL where a command draws none
 * @notices: what the user should know
 * @n_notices: how many
 * @notices_capacity: room for
 */
struct calm_document {
	const char *command;
	enum calm_subject subject;
	const struct calm_run_opts *opts;
	uint32_t cpu;
	const char *cpu_reason;
	bool planned;
	bool complete;
	const char *ended_by;
	struct calm_machine machine;
	const struct calm_module *module;
	struct calm_measured *points;
	size_t n_points;
	const struct calm_events *events;
	const struct calm_prefetch_groups *prefetch;
	const struct calm_derived *derived;
	char **notices;
	size_t n_notices;
	size_t notices_capacity;
};

#endif
