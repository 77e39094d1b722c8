// SPDX-License-Identifier: GPL-2.0-only
/* The options: a row each, in the groups that commands take, and the words that they know. */
#include <stddef.h>
#include <stdint.h>

#include <linux/calm.h>

#include "opt.h"

/* Seeds of all rounds stay within what JSON readers take for an integer. */
#define SEED_MAX (INT64_MAX - CALM_ROUNDS_MAX)

#define FIELD(name) offsetof(struct calm_run_opts, name)

const struct calm_word calm_words_pages[] = {
	{ "4k", CALM_PAGES_4K },
	{ "4k-contig", CALM_PAGES_4K_CONTIG },
	{ "2m", CALM_PAGES_2M },
	{ "1g", CALM_PAGES_1G },
	{ NULL, 0 },
};

const struct calm_word calm_words_order[] = {
	{ "random", CALM_ORDER_RANDOM },
	{ "linear", CALM_ORDER_LINEAR },
	{ "page-local", CALM_ORDER_PAGE_LOCAL },
	{ NULL, 0 },
};

const struct calm_word calm_words_quiet[] = {
	{ "cpu", 0 },
	{ NULL, 0 },
};

/* In the order of the writers in out.c. */
const struct calm_word calm_words_format[] = {
	{ "table", 0 },
	{ "json", 1 },
	{ "csv", 2 },
	{ NULL, 0 },
};

/* What is no list of like things has no rows. */
static const struct calm_word words_format_tree[] = {
	{ "table", 0 },
	{ "json", 1 },
	{ NULL, 0 },
};

const struct calm_word calm_words_scheme[] = {
	{ "median", CALM_SCHEME_MEDIAN },
	{ "e1", CALM_SCHEME_E1 },
	{ NULL, 0 },
};

static const struct calm_word words_chase[] = {
	{ "load", CALM_CHASE_LOAD },
	{ "store", CALM_CHASE_STORE },
	{ "atomic", CALM_CHASE_ATOMIC },
	{ "flush", CALM_CHASE_FLUSH },
	{ NULL, 0 },
};

static const struct calm_word words_width[] = {
	{ "8", 8 },
	{ "16", 16 },
	{ "32", 32 },
	{ "64", 64 },
	{ NULL, 0 },
};

const struct calm_word calm_words_pmu[] = {
	{ "intel", CALM_PMU_INTEL },
	{ "amd", CALM_PMU_AMD },
	{ "amd-core", CALM_PMU_AMD_CORE },
	{ "amd-v2", CALM_PMU_AMD_V2 },
	{ NULL, 0 },
};

const struct calm_word calm_words_scope[] = {
	{ "thread", CALM_SCOPE_THREAD },
	{ "core", CALM_SCOPE_CORE },
	{ "module", CALM_SCOPE_MODULE },
	{ NULL, 0 },
};

const struct calm_word calm_words_state[] = {
	{ "off", CALM_PREFETCH_OFF },
	{ "on", CALM_PREFETCH_ON },
	{ NULL, 0 },
};

#define OPT_END { NULL, CALM_OPT_FLAG, 0, NULL, NULL, 0, 0, NULL, NULL, 0 }

const struct calm_opt calm_opts_place[] = {
	{ "cpu", CALM_OPT_UINT, FIELD(cpu), NULL, "CPU to measure on", 0, CALM_CPUS_MAX - 1, NULL,
	  "CPU", 0 },
	{ "node", CALM_OPT_UINT, FIELD(node), NULL,
	  "memory node of the buffer; without it, the CPU's, or the nearest", 0, CALM_NODES_MAX - 1,
	  NULL, "NODE", 0 },
	{ "quiet", CALM_OPT_WORD, FIELD(quiet), "cpu", "what is kept quiet while measuring", 0, 0,
	  calm_words_quiet, "LEVEL", 0 },
	OPT_END,
};

/* What lies in it, at such a distance. */
#define BUFFER(distance)								\
	{ "pages", CALM_OPT_WORD, FIELD(pages), "2m", "page size that maps the buffer",	\
	  0, 0, calm_words_pages, "PAGES", 0 },					\
	{ "contig", CALM_OPT_FLAG, FIELD(contig), NULL,				\
	  "all frames of the buffer in one physically contiguous run",			\
	  0, 0, NULL, NULL, 0 },							\
	{ "order", CALM_OPT_WORD, FIELD(order), "random",				\
	  "order in which elements are visited", 0, 0, calm_words_order, "ORDER", 0 },	\
	{ "stride", CALM_OPT_SIZE, FIELD(stride_bytes), "64", distance,		\
	  CALM_STRIDE_MIN, CALM_STRIDE_MAX, NULL, "SIZE", 0 }

const struct calm_opt calm_opts_buffer[] = {
	BUFFER("distance of neighbouring elements, a multiple of 8"),
	OPT_END,
};

/* For what is told of lines. */
const struct calm_opt calm_opts_buffer_lines[] = {
	BUFFER("distance of neighbouring elements, a multiple of 8;"
	       " without it a longer line of the caches"),
	OPT_END,
};

const struct calm_opt calm_opts_sweep[] = {
	{ "size", CALM_OPT_SIZES, FIELD(sizes), NULL,
	  "buffer sizes, separated by commas, instead of a sweep", 2 * CALM_STRIDE_MIN,
	  CALM_OPT_BYTES_MAX, NULL, "SIZE,...", 0 },
	{ "min", CALM_OPT_SIZE, FIELD(min_bytes), NULL,
	  "smallest buffer of the sweep; without it 4K, or two strides if that is more",
	  2 * CALM_STRIDE_MIN, CALM_OPT_BYTES_MAX, NULL, "SIZE", 0 },
	{ "max", CALM_OPT_SIZE, FIELD(max_bytes), NULL,
	  "largest buffer of the sweep; without it 64M, or four times the last cache if that is more",
	  2 * CALM_STRIDE_MIN, CALM_OPT_BYTES_MAX, NULL, "SIZE", 0 },
	{ "step", CALM_OPT_UINT, FIELD(step), "4",
	  "points per octave; around each cache's claimed capacity there are at least 8", 1, 64,
	  NULL, "N", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_sizes[] = {
	{ "size", CALM_OPT_SIZES, FIELD(sizes), "4K", "buffer sizes, separated by commas",
	  2 * CALM_STRIDE_MIN, CALM_OPT_BYTES_MAX, NULL, "SIZE,...", 0 },
	OPT_END,
};

/* What is sampled, after so many laps. */
#define SAMPLING(passes, laps)								\
	{ "loads", CALM_OPT_UINT, FIELD(loads), NULL,				\
	  "accesses in one timed pass; without it whole laps, at least 16384",	\
	  1, CALM_LOADS_MAX, NULL, "N", 0 },					\
	{ "rounds", CALM_OPT_UINT, FIELD(rounds), "5",				\
	  "rounds per point, each with a fresh buffer", 1, CALM_ROUNDS_MAX,	\
	  NULL, "N", 0 },							\
	{ "samples", CALM_OPT_UINT, FIELD(samples), passes, "timed passes per round", \
	  1, CALM_SAMPLES_MAX, NULL, "N", 0 },					\
	{ "warmup", CALM_OPT_UINT, FIELD(warmup), laps,				\
	  "untimed passes over the buffer at the start of a round", 0,		\
	  CALM_WARMUP_MAX, NULL, "N", 0 },					\
	{ "seed", CALM_OPT_UINT, FIELD(seed), "1",				\
	  "layout of round 0; round N takes the seed + N", 0, SEED_MAX, NULL, "N", 0 }, \
	{ "quick", CALM_OPT_FLAG, FIELD(quick), NULL,				\
	  "one round of 5 passes, unless --rounds or --samples says otherwise",	\
	  0, 0, NULL, NULL, 0 }

const struct calm_opt calm_opts_sampling[] = {
	SAMPLING("9", "2"),
	OPT_END,
};

/* A policy that draws victims needs many laps to settle on lines that fit. */
const struct calm_opt calm_opts_sampling_settled[] = {
	SAMPLING("9", "64"),
	OPT_END,
};

/* Enough of them to see how they are spread. */
const struct calm_opt calm_opts_sampling_many[] = {
	SAMPLING("200", "2"),
	OPT_END,
};

const struct calm_opt calm_opts_events[] = {
	{ "events", CALM_OPT_TEXT, FIELD(events), NULL,
	  "what to count, separated by commas, or none; calm events lists the names", 0, 0, NULL,
	  "NAME,...", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_loop[] = {
	{ "loop", CALM_OPT_WORD, FIELD(loop), "load", "what each step of the chase does", 0, 0,
	  words_chase, "LOOP", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_scheme[] = {
	{ "scheme", CALM_OPT_WORD, FIELD(scheme), "median",
	  "how samples become a value; e1: 5 rounds, 3 warm-up passes, the fastest of 10 passes of 1000000 loads",
	  0, 0, calm_words_scheme, "SCHEME", 0 },
	OPT_END,
};

#define UNSAFE_PREFETCH							\
	{ "unsafe-prefetch", CALM_OPT_FLAG, FIELD(unsafe_prefetch), NULL,	\
	  "allow prefetcher switches that the maker of the processor has not documented", 0, 0,	\
	  NULL, NULL, 0 }

const struct calm_opt calm_opts_prefetch[] = {
	{ "prefetch", CALM_OPT_TEXT, FIELD(prefetch), "found",
	  "state of the prefetchers: found, off, on, both (found and off), each (found, and each one off), off:NAME,... or on:NAME,...",
	  0, 0, NULL, "CHOICE", 0 },
	UNSAFE_PREFETCH,
	OPT_END,
};

const struct calm_opt calm_opts_switch[] = {
	{ "cpus", CALM_OPT_TEXT, FIELD(cpus), NULL,
	  "CPUs to switch prefetchers of, as 0-3,8; without it, all", 0, 0, NULL, "LIST", 0 },
	UNSAFE_PREFETCH,
	OPT_END,
};

const struct calm_opt calm_opts_stride[] = {
	{ "size", CALM_OPT_SIZES, FIELD(sizes), "32M", "buffer sizes, separated by commas",
	  2 * CALM_STRIDE_MIN, CALM_OPT_BYTES_MAX, NULL, "SIZE,...", 0 },
	{ "strides", CALM_OPT_SIZES, FIELD(strides), "8,16,32,64,128,256,512,1K,2K,4K",
	  "distances of neighbouring loads, multiples of 8, separated by commas; those of the default from the width on",
	  CALM_STRIDE_MIN, CALM_STRIDE_MAX, NULL, "SIZE,...", 0 },
	{ "width", CALM_OPT_WORD, FIELD(width), "8",
	  "bytes of a load: 16 by SSE2, 32 by AVX2, 64 by AVX-512", 0, 0, words_width, "BYTES", 0 },
	{ "pages", CALM_OPT_WORD, FIELD(pages), "2m", "page size that maps the buffer", 0, 0,
	  calm_words_pages, "PAGES", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_tlb[] = {
	{ "pages", CALM_OPT_WORD, FIELD(pages), NULL,
	  "size of the pages to look with; without it 4k, with a look at 4k-contig, and 2m", 0, 0,
	  calm_words_pages, "PAGES", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_noise[] = {
	{ "size", CALM_OPT_SIZES, FIELD(sizes), "4K", "size of the buffer", 2 * CALM_STRIDE_MIN,
	  CALM_OPT_BYTES_MAX, NULL, "SIZE", 0 },
	{ "stride", CALM_OPT_SIZE, FIELD(stride_bytes), "64",
	  "distance of neighbouring elements, a multiple of 8", CALM_STRIDE_MIN, CALM_STRIDE_MAX,
	  NULL, "SIZE", 0 },
	{ "pages", CALM_OPT_WORD, FIELD(pages), "2m", "page size that maps the buffer", 0, 0,
	  calm_words_pages, "PAGES", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_conflict[] = {
	{ "lines", CALM_OPT_SIZES, FIELD(lines), "256",
	  "with --strides: numbers of lines, separated by commas", 2, 65536, NULL, "N,...", 0 },
	{ "strides", CALM_OPT_SIZES, FIELD(strides), NULL,
	  "chase so many lines at these distances, multiples of 8, instead of looking for ways",
	  CALM_STRIDE_MIN, CALM_STRIDE_MAX, NULL, "SIZE,...", 0 },
	{ "pages", CALM_OPT_WORD, FIELD(pages), "2m", "page size that maps the buffer", 0, 0,
	  calm_words_pages, "PAGES", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_random[] = {
	{ "size", CALM_OPT_SIZES, FIELD(sizes), NULL,
	  "buffer sizes, powers of two, separated by commas; without it one within the first cache, one within the last and one beyond it",
	  2 * CALM_STRIDE_MIN, CALM_OPT_BYTES_MAX, NULL, "SIZE,...", 0 },
	{ "lanes", CALM_OPT_SIZES, FIELD(lanes), "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
	  "numbers of chases side by side, separated by commas", 1, CALM_LANES_MAX, NULL, "N,...",
	  0 },
	{ "pages", CALM_OPT_WORD, FIELD(pages), "2m", "page size that maps the buffer", 0, 0,
	  calm_words_pages, "PAGES", 0 },
	{ "contig", CALM_OPT_FLAG, FIELD(contig), NULL,
	  "all frames of the buffer in one physically contiguous run", 0, 0, NULL, NULL, 0 },
	{ "stride", CALM_OPT_SIZE, FIELD(stride_bytes), "64",
	  "distance of neighbouring elements, a power of two; without it a longer line of the caches",
	  CALM_STRIDE_MIN, CALM_STRIDE_MAX, NULL, "SIZE", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_copy[] = {
	{ "size", CALM_OPT_SIZES, FIELD(sizes), NULL,
	  "buffers, source and copy together, separated by commas; without it eight times the last cache or more",
	  1024, CALM_OPT_BYTES_MAX, NULL, "SIZE,...", 0 },
	{ "strides", CALM_OPT_SIZES, FIELD(copy_strides), "16,17,32,33,64,65,128,129,256,257",
	  "distances of copied bytes, separated by commas", CALM_STRIDE_MIN, CALM_STRIDE_MAX, NULL,
	  "SIZE,...", 0 },
	{ "pages", CALM_OPT_WORD, FIELD(pages), "2m", "page size that maps the buffer", 0, 0,
	  calm_words_pages, "PAGES", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_output[] = {
	{ "format", CALM_OPT_WORD, FIELD(format), "table", "form of the result", 0, 0,
	  calm_words_format, "FORMAT", 0 },
	{ "output", CALM_OPT_TEXT, FIELD(output), NULL, "write the result to a file, not to stdout",
	  0, 0, NULL, "FILE", 'o' },
	{ "save", CALM_OPT_TEXT, FIELD(save), NULL, "write the result to a file too, as JSON", 0, 0,
	  NULL, "FILE", 0 },
	OPT_END,
};

const struct calm_opt calm_opts_output_tree[] = {
	{ "format", CALM_OPT_WORD, FIELD(format), "table", "form of the result", 0, 0,
	  words_format_tree, "FORMAT", 0 },
	{ "output", CALM_OPT_TEXT, FIELD(output), NULL, "write the result to a file, not to stdout",
	  0, 0, NULL, "FILE", 'o' },
	OPT_END,
};

const struct calm_opt calm_opts_work[] = {
	{ "dry-run", CALM_OPT_FLAG, FIELD(dry_run), NULL,
	  "print the points that would be measured; needs neither module nor root", 0, 0, NULL,
	  NULL, 0 },
	{ "no-progress", CALM_OPT_FLAG, FIELD(no_progress), NULL, "no estimate and no progress bar",
	  0, 0, NULL, NULL, 0 },
	{ "raw", CALM_OPT_FLAG, FIELD(raw), NULL, "put every sample into the JSON document", 0, 0,
	  NULL, NULL, 0 },
	OPT_END,
};
