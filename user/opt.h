/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of options: one row parses a word, checks its range and prints its help. */
#ifndef CALM_OPT_H
#define CALM_OPT_H

#include "data.h"
#include "util.h"

/* Of a buffer, and what else is given in bytes. */
#define CALM_OPT_BYTES_MAX (1ULL << 46)

/**
 * enum calm_opt_type - how an option's value is read, and what it is stored as
 * @CALM_OPT_FLAG: no value; bool
 * @CALM_OPT_UINT: whole number within the range; uint64_t
 * @CALM_OPT_SIZE: size in bytes within the range; uint64_t
 * @CALM_OPT_SIZES: comma-separated sizes; struct calm_sizes
 * @CALM_OPT_WORD: one of the row's words; uint64_t
 * @CALM_OPT_TEXT: anything but nothing; const char *
 */
enum calm_opt_type {
	CALM_OPT_FLAG,
	CALM_OPT_UINT,
	CALM_OPT_SIZE,
	CALM_OPT_SIZES,
	CALM_OPT_WORD,
	CALM_OPT_TEXT,
};

/**
 * struct calm_word - a word that stands for a number
 * @name: the word
 * @value: the number
 */
struct calm_word {
	const char *name;
	uint64_t value;
};

/**
 * struct calm_opt - a row of options
 * @name: long name
 * @type: how its value is read
 * @offset: field of struct calm_run_opts that receives it
 * @initial: value when it is not given, in the user's words; NULL: none
 * @help: what it means
 * @min: least number, where the type has a range
 * @max: greatest number
 * @words: the words, ended by a row without a name
 * @arg: how help names the value
 * @letter: short name, or 0
 */
struct calm_opt {
	const char *name;
	enum calm_opt_type type;
	size_t offset;
	const char *initial;
	const char *help;
	uint64_t min;
	uint64_t max;
	const struct calm_word *words;
	const char *arg;
	char letter;
};

/* Groups of rows; a command takes whole groups. Each ends with an empty row. */
extern const struct calm_opt calm_opts_place[];
extern const struct calm_opt calm_opts_buffer[];
extern const struct calm_opt calm_opts_buffer_lines[];
extern const struct calm_opt calm_opts_sweep[];
extern const struct calm_opt calm_opts_sampling[];
extern const struct calm_opt calm_opts_sampling_settled[];
extern const struct calm_opt calm_opts_sampling_many[];
extern const struct calm_opt calm_opts_noise[];
extern const struct calm_opt calm_opts_conflict[];
extern const struct calm_opt calm_opts_tlb[];
extern const struct calm_opt calm_opts_sizes[];
extern const struct calm_opt calm_opts_events[];
extern const struct calm_opt calm_opts_loop[];
extern const struct calm_opt calm_opts_scheme[];
extern const struct calm_opt calm_opts_prefetch[];
extern const struct calm_opt calm_opts_switch[];
extern const struct calm_opt calm_opts_stride[];
extern const struct calm_opt calm_opts_random[];
extern const struct calm_opt calm_opts_copy[];
extern const struct calm_opt calm_opts_output[];
extern const struct calm_opt calm_opts_output_tree[];
extern const struct calm_opt calm_opts_work[];

extern const struct calm_word calm_words_pages[];
extern const struct calm_word calm_words_order[];
extern const struct calm_word calm_words_quiet[];
extern const struct calm_word calm_words_format[];
extern const struct calm_word calm_words_scheme[];
extern const struct calm_word calm_words_pmu[];
extern const struct calm_word calm_words_scope[];
extern const struct calm_word calm_words_state[];

/**
 * calm_word_name() - the word that stands for a number
 * @words: rows of words
 * @value: the number
 *
 * Return: the word, or NULL if there is none.
 */
const char *calm_word_name(const struct calm_word *words, uint64_t value);

/**
 * calm_opt_parse() - read a command's options
 * @groups: groups of rows that it takes, ended by NULL
 * @word: how help names a word that is no option; NULL: there is none
 * @summary: what the command does, for its help
 * @argc: words, the command's own name included
 * @argv: the words
 * @opts: out: what they ask for
 * @error: filled on failure
 *
 * Asked-for help is printed and ends the program.
 *
 * Return: 0, or -EINVAL with the bad word and the allowed range in @error.
 */
int calm_opt_parse(const struct calm_opt *const *groups, const char *word, const char *summary,
		   int argc, char **argv, struct calm_run_opts *opts, struct calm_error *error);

/**
 * calm_opt_check_powers() - check what independent random loads need
 * @opts: a stride and sizes; the loop computes its addresses by bits of a counter
 * @error: filled where one is no power of two
 *
 * Return: 0, or -EINVAL.
 */
int calm_opt_check_powers(const struct calm_run_opts *opts, struct calm_error *error);

/**
 * calm_opt_free() - give back the lists that options hold
 * @opts: as calm_opt_parse() left them, whatever it returned
 */
void calm_opt_free(struct calm_run_opts *opts);

#endif
