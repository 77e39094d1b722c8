// SPDX-License-Identifier: GPL-2.0-only
/* Reads a command line by its rows of options, checks what goes together, prints the help. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "opt.h"
#include "prefetch.h"

/* Rounds where settings are compared, unless said otherwise. */
#define COMPARE_ROUNDS 10

#define KEY_FIRST 256
#define KEY_HELP  'h'

/**
 * struct parse - one command line being read
 * @rows: all rows of the command
 * @count: how many
 * @given: which of them the command line has
 * @opts: what is filled
 * @error: filled on failure
 * @help: help is asked for
 * @word: how help names a word that is no option, or NULL
 * @command: name of the command
 */
struct parse {
	const struct calm_opt **rows;
	size_t count;
	bool *given;
	struct calm_run_opts *opts;
	struct calm_error *error;
	bool help;
	const char *word;
	const char *command;
};

const char *calm_word_name(const struct calm_word *words, uint64_t value)
{
	for (; words->name; words++)
		if (words->value == value)
			return words->name;
	return NULL;
}

static char *list_words(const struct calm_word *words)
{
	char *list = calm_text("%s", words->name);

	while ((++words)->name) {
		char *longer = calm_text("%s, %s", list, words->name);

		free(list);
		list = longer;
	}
	return list;
}

/* What the row allows, in the user's words; NULL when it has no range. */
static char *allowed(const struct calm_opt *row)
{
	char low[CALM_SIZE_TEXT_MAX], high[CALM_SIZE_TEXT_MAX];

	switch (row->type) {
	case CALM_OPT_UINT:
		return calm_text("%" PRIu64 "..%" PRIu64, row->min, row->max);
	case CALM_OPT_SIZE:
	case CALM_OPT_SIZES:
		return calm_text("%s..%s", calm_size_text(low, row->min),
				 calm_size_text(high, row->max));
	case CALM_OPT_WORD:
		return list_words(row->words);
	case CALM_OPT_FLAG:
	case CALM_OPT_TEXT:
		break;
	}
	return NULL;
}

static int refuse(struct parse *parse, const struct calm_opt *row, const char *word,
		  const char *what)
{
	char *range = allowed(row);

	calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL, "%s: '%s' %s%s%s%s", row->name, word,
		       what, range ? " (allowed " : "", range ? range : "", range ? ")" : "");
	free(range);
	return EINVAL;
}

static const char *const number_faults[] = {
	[CALM_NUMBER_EMPTY] = "is empty",
	[CALM_NUMBER_SYNTAX] = "is not a number",
	[CALM_NUMBER_FRACTION] = "is not a whole number of bytes",
	[CALM_NUMBER_LARGE] = "is out of range",
};

static int read_size(struct parse *parse, const struct calm_opt *row, const char *word,
		     uint64_t *bytes)
{
	enum calm_number_fault fault;
	const char *unit;

	fault = calm_parse_size(word, bytes, &unit);
	if (fault == CALM_NUMBER_UNIT) {
		calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
			       "%s: unknown unit '%s' in '%s' (allowed K, M, G, T)", row->name,
			       unit, word);
		return EINVAL;
	}
	if (fault)
		return refuse(parse, row, word, number_faults[fault]);
	if (*bytes < row->min || *bytes > row->max)
		return refuse(parse, row, word, "is out of range");
	return 0;
}

static int set_flag(struct parse *parse, const struct calm_opt *row, const char *word, void *field)
{
	(void)parse;
	(void)row;
	(void)word;
	*(bool *)field = true;
	return 0;
}

static int set_uint(struct parse *parse, const struct calm_opt *row, const char *word, void *field)
{
	enum calm_number_fault fault;
	uint64_t value;

	fault = calm_parse_uint(word, &value);
	if (fault == CALM_NUMBER_FRACTION)
		return refuse(parse, row, word, "is not a whole number");
	if (fault)
		return refuse(parse, row, word, number_faults[fault]);
	if (value < row->min || value > row->max)
		return refuse(parse, row, word, "is out of range");
	*(uint64_t *)field = value;
	return 0;
}

static int set_size(struct parse *parse, const struct calm_opt *row, const char *word, void *field)
{
	return read_size(parse, row, word, field);
}

static int set_sizes(struct parse *parse, const struct calm_opt *row, const char *word, void *field)
{
	struct calm_sizes *sizes = field;
	char *copy = calm_text("%s", word), *rest = copy, *one;
	size_t capacity = 0;
	int err = 0;

	free(sizes->bytes);
	*sizes = (struct calm_sizes){ NULL, 0 };
	while (!err && (one = strsep(&rest, ","))) {
		sizes->bytes = calm_grow(sizes->bytes, sizes->count, &capacity, sizeof(uint64_t));
		err = read_size(parse, row, one, &sizes->bytes[sizes->count]);
		sizes->count++;
	}
	free(copy);
	return err;
}

static int set_word(struct parse *parse, const struct calm_opt *row, const char *word, void *field)
{
	const struct calm_word *words;

	for (words = row->words; words->name; words++) {
		if (strcmp(words->name, word))
			continue;
		*(uint64_t *)field = words->value;
		return 0;
	}
	return refuse(parse, row, word, "is unknown");
}

static int set_text(struct parse *parse, const struct calm_opt *row, const char *word, void *field)
{
	if (!*word)
		return refuse(parse, row, word, "is empty");
	*(const char **)field = word;
	return 0;
}

static int (*const set_value[])(struct parse *, const struct calm_opt *, const char *, void *) = {
	[CALM_OPT_FLAG] = set_flag,   [CALM_OPT_UINT] = set_uint, [CALM_OPT_SIZE] = set_size,
	[CALM_OPT_SIZES] = set_sizes, [CALM_OPT_WORD] = set_word, [CALM_OPT_TEXT] = set_text,
};

static int set_row(struct parse *parse, const struct calm_opt *row, const char *word)
{
	return set_value[row->type](parse, row, word, (char *)parse->opts + row->offset);
}

static const struct calm_opt *row_of_letter(const struct parse *parse, char letter)
{
	size_t i;

	for (i = 0; i < parse->count; i++)
		if (letter && parse->rows[i]->letter == letter)
			return parse->rows[i];
	return NULL;
}

/* The only row whose name begins with @name, or NULL; the others' names in @several. */
static const struct calm_opt *row_of_prefix(const struct parse *parse, const char *name,
					    size_t len, char **several)
{
	const struct calm_opt *found = NULL;
	size_t i, count = 0;

	*several = NULL;
	for (i = 0; i < parse->count; i++) {
		const struct calm_opt *row = parse->rows[i];
		char *longer;

		if (strncmp(row->name, name, len))
			continue;
		if (!row->name[len])
			return row;
		count++;
		found = row;
		longer = calm_text("%s%s--%s", *several ? *several : "", *several ? ", " : "",
				   row->name);
		free(*several);
		*several = longer;
	}
	return count == 1 ? found : NULL;
}

/* Whether a word of letters has one that is no option. */
static bool has_unknown_letter(const struct parse *parse, const char *word)
{
	const struct calm_opt *row;

	if (word[0] != '-' || word[1] == '-')
		return false;
	while (*++word) {
		row = row_of_letter(parse, *word);
		if (!row && *word != KEY_HELP)
			return true;
		if (row && row->arg)
			return false;
	}
	return false;
}

/* getopt stopped at the word before the next one, or inside the next one if that has letters. */
static const char *stopped_at(const struct parse *parse, const struct argp_state *state)
{
	const char *last = state->argv[state->next - 1];
	const char *next = state->next < state->argc ? state->argv[state->next] : NULL;

	return next && !has_unknown_letter(parse, last) && has_unknown_letter(parse, next) ?
	       next : last;
}

/* Is the word no option at all, or one without its value, or with one that it does not take? */
static int refuse_word(struct parse *parse, const char *word)
{
	const struct calm_opt *row = NULL;
	char *several = NULL;
	size_t len;

	if (!strncmp(word, "--", 2)) {
		len = strcspn(word + 2, "=");
		row = row_of_prefix(parse, word + 2, len, &several);
	} else if (word[0] == '-' && word[1] && !word[2]) {
		row = row_of_letter(parse, word[1]);
	}
	if (row)
		calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
			       row->arg ? "%s: needs a value" : "%s: takes no value", row->name);
	else if (several)
		calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
			       "option '%s' is ambiguous (allowed %s)", word, several);
	else
		calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
			       "unknown option '%s'; calm %s --help lists the options", word,
			       parse->command);
	free(several);
	return EINVAL;
}

/* A word that is no option: most commands take none, some take one. */
static int take_word(struct parse *parse, const char *word)
{
	if (parse->word && !parse->opts->word && *word) {
		parse->opts->word = word;
		return 0;
	}
	if (parse->word && !*word)
		calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL, "%s: '' is empty",
			       parse->word);
	else
		calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
			       "unexpected word '%s' (calm %s takes %s%s)", word, parse->command,
			       parse->word ? "one " : "none", parse->word ? parse->word : "");
	return EINVAL;
}

static error_t parse_word(int key, char *word, struct argp_state *state)
{
	struct parse *parse = state->input;
	size_t i = (size_t)key - KEY_FIRST;

	switch (key) {
	case KEY_HELP:
		parse->help = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_word(parse, word);
	case ARGP_KEY_ERROR:
		if (!parse->error->text[0])
			refuse_word(parse, stopped_at(parse, state));
		return 0;
	}
	if (key >= KEY_FIRST && i < parse->count) {
		parse->given[i] = true;
		return set_row(parse, parse->rows[i], word);
	}
	for (i = 0; i < parse->count; i++) {
		if (parse->rows[i]->letter != key)
			continue;
		parse->given[i] = true;
		return set_row(parse, parse->rows[i], word);
	}
	return ARGP_ERR_UNKNOWN;
}

static char *help_text(const struct calm_opt *row)
{
	char *range = allowed(row), *text;

	if (range && row->initial)
		text = calm_text("%s (%s; default %s)", row->help, range, row->initial);
	else if (range)
		text = calm_text("%s (%s)", row->help, range);
	else
		text = calm_text("%s", row->help);
	free(range);
	return text;
}

/* Fields whose rows have no initial value start as unset or empty. */
static int set_initial(struct parse *parse)
{
	size_t i;
	int err;

	memset(parse->opts, 0, sizeof(*parse->opts));
	parse->opts->cpu = CALM_UNSET;
	parse->opts->node = CALM_UNSET;
	parse->opts->min_bytes = CALM_UNSET;
	parse->opts->max_bytes = CALM_UNSET;
	parse->opts->loads = CALM_UNSET;
	for (i = 0; i < parse->count; i++) {
		if (!parse->rows[i]->initial)
			continue;
		err = set_row(parse, parse->rows[i], parse->rows[i]->initial);
		if (err)
			return err;
	}
	return 0;
}

static bool given(const struct parse *parse, const char *name)
{
	size_t i;

	for (i = 0; i < parse->count; i++)
		if (!strcmp(parse->rows[i]->name, name))
			return parse->given[i];
	return false;
}

static int check_size(struct parse *parse, const char *name, uint64_t bytes)
{
	char text[CALM_SIZE_TEXT_MAX], low[CALM_SIZE_TEXT_MAX], high[CALM_SIZE_TEXT_MAX];
	uint64_t least = 2 * parse->opts->stride_bytes;

	if (bytes == CALM_UNSET || bytes >= least)
		return 0;
	return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
			      "%s: '%s' holds fewer than two strides (allowed %s..%s)", name,
			      calm_size_text(text, bytes), calm_size_text(low, least),
			      calm_size_text(high, CALM_OPT_BYTES_MAX));
}

static int check_sizes(struct parse *parse)
{
	static const char *const sweep[] = { "min", "max", "step" };
	const struct calm_run_opts *opts = parse->opts;
	size_t i;

	for (i = 0; i < opts->sizes.count; i++)
		if (check_size(parse, "size", opts->sizes.bytes[i]))
			return -EINVAL;
	for (i = 0; opts->sizes.count && i < CALM_ARRAY_SIZE(sweep); i++)
		if (given(parse, sweep[i]))
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "size: cannot be given together with --%s", sweep[i]);
	if (check_size(parse, "min", opts->min_bytes) || check_size(parse, "max", opts->max_bytes))
		return -EINVAL;
	if (opts->min_bytes != CALM_UNSET && opts->max_bytes != CALM_UNSET &&
	    opts->min_bytes > opts->max_bytes) {
		char text[CALM_SIZE_TEXT_MAX], low[CALM_SIZE_TEXT_MAX], high[CALM_SIZE_TEXT_MAX];

		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "min: '%s' is above --max (allowed %s..%s)",
				      calm_size_text(text, opts->min_bytes),
				      calm_size_text(low, 2 * opts->stride_bytes),
				      calm_size_text(high, opts->max_bytes));
	}
	return 0;
}

/* What can be told of names before it is known which there are. */
static int check_events(struct parse *parse)
{
	const char *words = parse->opts->events, *at = words;
	size_t len;

	while (at && strchr(words, ',')) {
		len = strcspn(at, ",");
		if (!len)
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "events: a name is empty in '%s'", words);
		if (len == 4 && !strncmp(at, "none", 4))
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "events: 'none' cannot be given together with names");
		at = at[len] ? at + len + 1 : NULL;
	}
	return 0;
}

/* Rounds are pairs when settings are compared, and fewer than 6 pairs show nothing. */
static int check_prefetch(struct parse *parse)
{
	struct calm_run_opts *opts = parse->opts;

	if (!opts->prefetch)
		return 0;
	if (calm_prefetch_check_word(opts->prefetch, parse->error))
		return -EINVAL;
	if (calm_prefetch_compares(opts->prefetch) && !opts->quick && !given(parse, "rounds"))
		opts->rounds = COMPARE_ROUNDS;
	return 0;
}

/* The distances that loads of so many bytes can have. */
static int check_width(struct parse *parse)
{
	struct calm_sizes *strides = &parse->opts->strides;
	uint64_t width = parse->opts->width;
	char text[CALM_SIZE_TEXT_MAX];
	size_t i, kept = 0;

	for (i = 0; i < strides->count; i++) {
		if (strides->bytes[i] >= width)
			strides->bytes[kept++] = strides->bytes[i];
		else if (given(parse, "strides"))
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "strides: '%s' is less than the width of a load"
					      " (allowed %" PRIu64 "..1M)",
					      calm_size_text(text, strides->bytes[i]), width);
	}
	strides->count = kept;
	return 0;
}

static int check_strides(struct parse *parse)
{
	struct calm_run_opts *opts = parse->opts;
	bool any = opts->copy_strides.count;
	char text[CALM_SIZE_TEXT_MAX];
	size_t i;

	if (any)
		opts->strides = opts->copy_strides;
	opts->copy_strides = (struct calm_sizes){ NULL, 0 };
	for (i = 0; i < opts->strides.count; i++) {
		if (!any && opts->strides.bytes[i] % 8)
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "strides: '%s' is not a multiple of 8 (allowed 8..1M)",
					      calm_size_text(text, opts->strides.bytes[i]));
		if (opts->strides.bytes[i] > opts->stride_bytes)
			opts->stride_bytes = opts->strides.bytes[i];
	}
	return 0;
}

static bool is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

int calm_opt_check_powers(const struct calm_run_opts *opts, struct calm_error *error)
{
	char text[CALM_SIZE_TEXT_MAX];
	size_t i;

	if (!is_power_of_two(opts->stride_bytes))
		return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				      "stride: '%s' is not a power of two (allowed 8..1M)",
				      calm_size_text(text, opts->stride_bytes));
	for (i = 0; i < opts->sizes.count; i++)
		if (!is_power_of_two(opts->sizes.bytes[i]))
			return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
					      "size: '%s' is not a power of two (allowed 16..64T)",
					      calm_size_text(text, opts->sizes.bytes[i]));
	return 0;
}

static int check_lanes(struct parse *parse)
{
	const struct calm_run_opts *opts = parse->opts;
	size_t i;

	if (!opts->lanes.count)
		return 0;
	if (calm_opt_check_powers(opts, parse->error))
		return -EINVAL;
	for (i = 0; opts->loads != CALM_UNSET && i < opts->lanes.count; i++)
		if (opts->loads % opts->lanes.bytes[i])
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "loads: '%" PRIu64 "' is not a multiple of %" PRIu64
					      " lanes",
					      opts->loads, opts->lanes.bytes[i]);
	return 0;
}

/* What depends on two options at once. */
static int check_together(struct parse *parse)
{
	struct calm_run_opts *opts = parse->opts;

	if (opts->quick && !given(parse, "rounds"))
		opts->rounds = 1;
	if (opts->quick && !given(parse, "samples"))
		opts->samples = 5;
	if (opts->stride_bytes % 8)
		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "stride: '%" PRIu64
				      "' is not a multiple of 8 (allowed 8..1M)",
				      opts->stride_bytes);
	if (opts->rounds * opts->samples > CALM_SAMPLES_MAX)
		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "samples: '%" PRIu64 "' in each of %" PRIu64
				      " rounds are too many (allowed 1..%" PRIu64 ")",
				      opts->samples, opts->rounds, CALM_SAMPLES_MAX / opts->rounds);
	opts->memory_given = given(parse, "pages") || given(parse, "contig") ||
			     given(parse, "node");
	opts->stride_given = given(parse, "stride");
	opts->order_given = given(parse, "order");
	if (given(parse, "lines") && !given(parse, "strides"))
		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "lines: can only be given together with --strides");
	if (opts->contig && opts->pages == CALM_PAGES_4K)
		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "contig: the frames of --pages '4k' are shuffled"
				      " (allowed 4k-contig, 2m, 1g)");
	if (opts->raw && !opts->save &&
	    strcmp(calm_word_name(calm_words_format, opts->format), "json"))
		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "raw: --format '%s' does not hold samples (allowed json)",
				      calm_word_name(calm_words_format, opts->format));
	if (opts->save && opts->output && !strcmp(opts->save, opts->output))
		return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
				      "save: '%s' is the file of --output", opts->save);
	if (check_prefetch(parse) || check_events(parse) || check_width(parse) ||
	    check_strides(parse) || check_lanes(parse))
		return -EINVAL;
	return check_sizes(parse);
}

static size_t count_rows(const struct calm_opt *const *groups)
{
	const struct calm_opt *row;
	size_t count = 0;

	for (; *groups; groups++)
		for (row = *groups; row->name; row++)
			count++;
	return count;
}

/* Rows as argp wants them; one more for help and one that ends them. */
static struct argp_option *argp_rows(struct parse *parse, const struct calm_opt *const *groups)
{
	struct argp_option *options = calm_alloc(parse->count + 2, sizeof(*options));
	const struct calm_opt *row;
	size_t i = 0;

	for (; *groups; groups++) {
		for (row = *groups; row->name; row++, i++) {
			parse->rows[i] = row;
			options[i].name = row->name;
			options[i].key = row->letter ? row->letter : KEY_FIRST + (int)i;
			options[i].arg = row->arg;
			options[i].doc = help_text(row);
		}
	}
	options[i].name = "help";
	options[i].key = KEY_HELP;
	options[i].doc = calm_text("print this help");
	return options;
}

/* The scheme of experiment E1 is fixed: nothing of it can be chosen. */
static int set_scheme(struct parse *parse)
{
	static const char *const fixed[] = { "rounds", "samples", "warmup", "loads", "quick" };
	struct calm_run_opts *opts = parse->opts;
	size_t i;

	if (opts->scheme != CALM_SCHEME_E1)
		return 0;
	for (i = 0; i < CALM_ARRAY_SIZE(fixed); i++)
		if (given(parse, fixed[i]))
			return calm_error_set(parse->error, CALM_EXIT_USAGE, -EINVAL,
					      "scheme: 'e1' cannot be given together with --%s",
					      fixed[i]);
	opts->rounds = 5;
	opts->samples = 10;
	opts->warmup = 3;
	opts->loads = 1000000;
	return 0;
}

static int run_argp(struct parse *parse, const struct argp_option *options, const char *summary,
		    int argc, char **argv)
{
	char *name = calm_text("calm %s", argv[0]);
	const struct argp argp = { options, parse_word, parse->word, summary, NULL, NULL, NULL };
	int err;

	err = argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL,
			 parse);
	if (!err && parse->help) {
		argp_help(&argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, name);
		exit(calm_say_written());
	}
	free(name);
	return err;
}

int calm_opt_parse(const struct calm_opt *const *groups, const char *word, const char *summary,
		   int argc, char **argv, struct calm_run_opts *opts, struct calm_error *error)
{
	size_t i, count = count_rows(groups);
	struct parse parse = {
		.rows = calm_alloc(count, sizeof(*parse.rows)),
		.count = count,
		.given = calm_alloc(count, sizeof(*parse.given)),
		.opts = opts,
		.error = error,
		.word = word,
		.command = argv[0],
	};
	struct argp_option *options = argp_rows(&parse, groups);
	int err;

	error->text[0] = '\0';
	err = set_initial(&parse);
	if (!err)
		err = run_argp(&parse, options, summary, argc, argv);
	if (!err)
		err = set_scheme(&parse);
	if (!err)
		err = check_together(&parse);
	for (i = 0; i <= count; i++)
		free((char *)options[i].doc);
	free(options);
	free(parse.given);
	free(parse.rows);
	return err ? -EINVAL : 0;
}

void calm_opt_free(struct calm_run_opts *opts)
{
	struct calm_sizes *const lists[] = {
		&opts->sizes, &opts->strides, &opts->copy_strides, &opts->lines, &opts->lanes,
	};
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(lists); i++)
		free(lists[i]->bytes);
}
