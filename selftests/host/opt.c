// SPDX-License-Identifier: GPL-2.0-only
/* Options: what is read, and what a bad word is answered. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include "linux/calm.h"
#include "opt.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_buffer, calm_opts_sweep,
	calm_opts_sampling, calm_opts_events, calm_opts_output,
	calm_opts_work,     NULL,
};

#define WORDS_MAX 32

/* Splits a line at its spaces and parses it. The words stay: the options point to them. */
static int parse(const char *line, struct calm_run_opts *opts, struct calm_error *error)
{
	char *rest = strdup(line), *argv[WORDS_MAX + 1];
	int argc = 0;

	while (argc < WORDS_MAX && (argv[argc] = strsep(&rest, " ")))
		argc++;
	argv[argc] = NULL;
	return calm_opt_parse(groups, NULL, "a test", argc, argv, opts, error);
}

static const struct {
	int line;
	const char *words;
	int result;
	const char *text;
} lines[] = {
	{ __LINE__, "latency", 0, "" },
	{ __LINE__, "latency --size 32K", 0, "" },
	{ __LINE__, "latency --size 4K,1.5M,1G --quick", 0, "" },
	{ __LINE__, "latency --min 4K --max 64M --step 8", 0, "" },
	{ __LINE__, "latency --min=4K -o file", 0, "" },
	{ __LINE__, "latency --cpu 1023 --node 0", 0, "" },
	{ __LINE__, "latency --raw --format json", 0, "" },
	{ __LINE__, "latency --rounds 1024 --samples 1024", 0, "" },
	{ __LINE__, "latency --stride 1M --size 2M", 0, "" },
	{ __LINE__, "latency --size 32Q", -EINVAL,
	  "size: unknown unit 'Q' in '32Q' (allowed K, M, G, T)" },
	{ __LINE__, "latency --size 4K,,8K", -EINVAL,
	  "size: '' is empty (allowed 16..64T)" },
	{ __LINE__, "latency --size -4K", -EINVAL,
	  "size: '-4K' is out of range (allowed 16..64T)" },
	{ __LINE__, "latency --size .5K", -EINVAL,
	  "size: '.5K' is not a number (allowed 16..64T)" },
	{ __LINE__, "latency --size 4KiB", -EINVAL,
	  "size: unknown unit 'KiB' in '4KiB' (allowed K, M, G, T)" },
	{ __LINE__, "latency --size 1e6", -EINVAL,
	  "size: unknown unit 'e6' in '1e6' (allowed K, M, G, T)" },
	{ __LINE__, "latency --size 99999999999999999999T", -EINVAL,
	  "size: '99999999999999999999T' is out of range (allowed 16..64T)" },
	{ __LINE__, "latency --size 4K,x", -EINVAL, "size: 'x' is not a number (allowed 16..64T)" },
	{ __LINE__, "latency --size 8", -EINVAL, "size: '8' is out of range (allowed 16..64T)" },
	{ __LINE__, "latency --size 65T", -EINVAL,
	  "size: '65T' is out of range (allowed 16..64T)" },
	{ __LINE__, "latency --size 1.3M", -EINVAL,
	  "size: '1.3M' is not a whole number of bytes (allowed 16..64T)" },
	{ __LINE__, "latency --size 64", -EINVAL,
	  "size: '64' holds fewer than two strides (allowed 128..64T)" },
	{ __LINE__, "latency --min 4K --stride 4K", -EINVAL,
	  "min: '4K' holds fewer than two strides (allowed 8K..64T)" },
	{ __LINE__, "latency --max 100 --stride 64", -EINVAL,
	  "max: '100' holds fewer than two strides (allowed 128..64T)" },
	{ __LINE__, "latency --min 8K --max 4K", -EINVAL,
	  "min: '8K' is above --max (allowed 128..4K)" },
	{ __LINE__, "latency --size 4K --min 4K", -EINVAL,
	  "size: cannot be given together with --min" },
	{ __LINE__, "latency --step 4 --size 4K", -EINVAL,
	  "size: cannot be given together with --step" },
	{ __LINE__, "latency --cpu 1024", -EINVAL,
	  "cpu: '1024' is out of range (allowed 0..1023)" },
	{ __LINE__, "latency --cpu -1", -EINVAL, "cpu: '-1' is out of range (allowed 0..1023)" },
	{ __LINE__, "latency --cpu=", -EINVAL, "cpu: '' is empty (allowed 0..1023)" },
	{ __LINE__, "latency --cpu +1", -EINVAL, "cpu: '+1' is not a number (allowed 0..1023)" },
	{ __LINE__, "latency --cpu 0x1", -EINVAL, "cpu: '0x1' is not a number (allowed 0..1023)" },
	{ __LINE__, "latency --cpu --quick", -EINVAL,
	  "cpu: '--quick' is not a number (allowed 0..1023)" },
	{ __LINE__, "latency --rounds 1.5", -EINVAL,
	  "rounds: '1.5' is not a whole number (allowed 1..1024)" },
	{ __LINE__, "latency --cpu 1,2", -EINVAL, "cpu: '1,2' is not a number (allowed 0..1023)" },
	{ __LINE__, "latency --samples 0", -EINVAL,
	  "samples: '0' is out of range (allowed 1..1048576)" },
	{ __LINE__, "latency --rounds 1024 --samples 1025", -EINVAL,
	  "samples: '1025' in each of 1024 rounds are too many (allowed 1..1024)" },
	{ __LINE__, "latency --rounds 1025", -EINVAL,
	  "rounds: '1025' is out of range (allowed 1..1024)" },
	{ __LINE__, "latency --loads 99999999999999999999", -EINVAL,
	  "loads: '99999999999999999999' is out of range (allowed 1..1099511627776)" },
	{ __LINE__, "latency --stride 100", -EINVAL,
	  "stride: '100' is not a multiple of 8 (allowed 8..1M)" },
	{ __LINE__, "latency --stride 4", -EINVAL, "stride: '4' is out of range (allowed 8..1M)" },
	{ __LINE__, "latency --step 0", -EINVAL, "step: '0' is out of range (allowed 1..64)" },
	{ __LINE__, "latency --pages 8k", -EINVAL,
	  "pages: '8k' is unknown (allowed 4k, 4k-contig, 2m, 1g)" },
	{ __LINE__, "latency --pages 4k-contig --contig", 0, "" },
	{ __LINE__, "latency --pages 1g --contig", 0, "" },
	{ __LINE__, "latency --contig", 0, "" },
	{ __LINE__, "latency --pages 4k --contig", -EINVAL,
	  "contig: the frames of --pages '4k' are shuffled (allowed 4k-contig, 2m, 1g)" },
	{ __LINE__, "latency --format xml", -EINVAL,
	  "format: 'xml' is unknown (allowed table, json, csv)" },
	{ __LINE__, "latency --quiet core", -EINVAL, "quiet: 'core' is unknown (allowed cpu)" },
	{ __LINE__, "latency --raw", -EINVAL,
	  "raw: --format 'table' does not hold samples (allowed json)" },
	{ __LINE__, "latency --seed 9223372036854775807", -EINVAL,
	  "seed: '9223372036854775807' is out of range (allowed 0..9223372036854774783)" },
	{ __LINE__, "latency -o", -EINVAL, "output: needs a value" },
	{ __LINE__, "latency --size", -EINVAL, "size: needs a value" },
	{ __LINE__, "latency --save=", -EINVAL, "save: '' is empty" },
	{ __LINE__, "latency -o same --save same", -EINVAL,
	  "save: 'same' is the file of --output" },
	{ __LINE__, "latency --output=", -EINVAL, "output: '' is empty" },
	{ __LINE__, "latency --frobnicate", -EINVAL,
	  "unknown option '--frobnicate'; calm latency --help lists the options" },
	{ __LINE__, "latency --frobnicate=1", -EINVAL,
	  "unknown option '--frobnicate=1'; calm latency --help lists the options" },
	{ __LINE__, "latency --s 4K", -EINVAL,
	  "option '--s' is ambiguous (allowed --stride, --size, --step, "
	  "--samples, --seed, --save)" },
	{ __LINE__, "latency --si", -EINVAL, "size: needs a value" },
	{ __LINE__, "latency --quick=1", -EINVAL, "quick: takes no value" },
	{ __LINE__, "latency --dry-run=no", -EINVAL, "dry-run: takes no value" },
	{ __LINE__, "latency -x", -EINVAL,
	  "unknown option '-x'; calm latency --help lists the options" },
	{ __LINE__, "latency --quick -xy", -EINVAL,
	  "unknown option '-xy'; calm latency --help lists the options" },
	{ __LINE__, "latency -xofile", -EINVAL,
	  "unknown option '-xofile'; calm latency --help lists the options" },
	{ __LINE__, "latency --frobnicate -ofile", -EINVAL,
	  "unknown option '--frobnicate'; calm latency --help lists the options" },
	{ __LINE__, "latency --events l1-miss,,l2-miss", -EINVAL,
	  "events: a name is empty in 'l1-miss,,l2-miss'" },
	{ __LINE__, "latency --events l1-miss,", -EINVAL,
	  "events: a name is empty in 'l1-miss,'" },
	{ __LINE__, "latency --events l1-miss,none", -EINVAL,
	  "events: 'none' cannot be given together with names" },
	{ __LINE__, "latency --events none", 0, "" },
	{ __LINE__, "latency 4K", -EINVAL, "unexpected word '4K' (calm latency takes none)" },
	{ __LINE__, "latency -", -EINVAL, "unexpected word '-' (calm latency takes none)" },
	{ __LINE__, "latency -- --size", -EINVAL,
	  "unexpected word '--size' (calm latency takes none)" },
};

TEST(every_line_gets_its_answer)
{
	struct calm_run_opts opts;
	struct calm_error error;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(lines); i++) {
		EXPECT_EQ(lines[i].result, parse(lines[i].words, &opts, &error))
			TH_LOG("row of line %d: %s", lines[i].line, error.text);
		EXPECT_STREQ(lines[i].text, error.text)
			TH_LOG("row of line %d", lines[i].line);
		if (lines[i].result)
			EXPECT_EQ(CALM_EXIT_USAGE, error.status);
	}
}

TEST(defaults_are_those_that_help_names)
{
	struct calm_run_opts opts;
	struct calm_error error;

	ASSERT_EQ(0, parse("latency", &opts, &error));
	EXPECT_EQ(CALM_UNSET, opts.cpu);
	EXPECT_EQ(CALM_UNSET, opts.node);
	EXPECT_EQ(CALM_UNSET, opts.min_bytes);
	EXPECT_EQ(CALM_UNSET, opts.max_bytes);
	EXPECT_EQ(CALM_UNSET, opts.loads);
	EXPECT_EQ(CALM_PAGES_2M, opts.pages);
	EXPECT_EQ(CALM_ORDER_RANDOM, opts.order);
	EXPECT_EQ(0, opts.sizes.count);
	EXPECT_EQ(4, opts.step);
	EXPECT_EQ(64, opts.stride_bytes);
	EXPECT_EQ(5, opts.rounds);
	EXPECT_EQ(9, opts.samples);
	EXPECT_EQ(2, opts.warmup);
	EXPECT_EQ(1, opts.seed);
	EXPECT_EQ(0, opts.format);
	EXPECT_EQ(NULL, opts.output);
	EXPECT_EQ(NULL, opts.save);
	EXPECT_FALSE(opts.quick || opts.dry_run || opts.no_progress || opts.raw);
}

TEST(given_values_arrive)
{
	struct calm_run_opts opts;
	struct calm_error error;

	ASSERT_EQ(0, parse("latency --cpu 3 --node 1 --pages 4k --size 4K,1.5M --stride 128 "
			   "--loads 77 --seed 9 -o name --format json --save other",
			   &opts, &error));
	EXPECT_EQ(3, opts.cpu);
	EXPECT_EQ(1, opts.node);
	EXPECT_EQ(CALM_PAGES_4K, opts.pages);
	ASSERT_EQ(2, opts.sizes.count);
	EXPECT_EQ(4096, opts.sizes.bytes[0]);
	EXPECT_EQ(1572864, opts.sizes.bytes[1]);
	EXPECT_EQ(128, opts.stride_bytes);
	EXPECT_EQ(77, opts.loads);
	EXPECT_EQ(9, opts.seed);
	EXPECT_STREQ("name", opts.output);
	EXPECT_STREQ("other", opts.save);
	EXPECT_EQ(1, opts.format);
}

static const struct {
	int line;
	const char *words;
	uint64_t rounds;
	uint64_t samples;
} quick[] = {
	{ __LINE__, "latency --quick", 1, 5 },
	{ __LINE__, "latency --rounds 3 --quick", 3, 5 },
	{ __LINE__, "latency --quick --samples 7", 1, 7 },
	{ __LINE__, "latency --quick --rounds 5 --samples 9", 5, 9 },
};

TEST(quick_yields_to_what_is_given)
{
	struct calm_run_opts opts;
	struct calm_error error;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(quick); i++) {
		ASSERT_EQ(0, parse(quick[i].words, &opts, &error));
		EXPECT_EQ(quick[i].rounds, opts.rounds)
			TH_LOG("row of line %d", quick[i].line);
		EXPECT_EQ(quick[i].samples, opts.samples)
			TH_LOG("row of line %d", quick[i].line);
	}
}

TEST(the_last_of_two_counts)
{
	struct calm_run_opts opts;
	struct calm_error error;

	ASSERT_EQ(0, parse("latency --size 4K,8K --size 16K", &opts, &error));
	ASSERT_EQ(1, opts.sizes.count);
	EXPECT_EQ(16384, opts.sizes.bytes[0]);
}

/* The rows themselves: names are unique, nothing is empty, a default is within its own range. */
TEST(rows_are_sound)
{
	const struct calm_opt *rows[64], *row;
	size_t i, j, count = 0;

	for (i = 0; groups[i]; i++)
		for (row = groups[i]; row->name; row++)
			rows[count++] = row;
	for (i = 0; i < count; i++) {
		EXPECT_TRUE(rows[i]->name[0] && rows[i]->help && rows[i]->help[0]);
		EXPECT_EQ(rows[i]->type == CALM_OPT_FLAG, !rows[i]->arg)
			TH_LOG("%s", rows[i]->name);
		EXPECT_EQ(rows[i]->type == CALM_OPT_WORD, !!rows[i]->words)
			TH_LOG("%s", rows[i]->name);
		EXPECT_LE(rows[i]->min, rows[i]->max);
		for (j = 0; j < i; j++) {
			EXPECT_STRNE(rows[i]->name, rows[j]->name);
			EXPECT_NE(rows[i]->offset, rows[j]->offset)
				TH_LOG("%s and %s", rows[i]->name, rows[j]->name);
		}
	}
}

TEST_HARNESS_MAIN
