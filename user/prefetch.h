/* SPDX-License-Identifier: GPL-2.0-only */
/* Words for states of prefetchers into settings that a job can go through. */
#ifndef CALM_PREFETCH_H
#define CALM_PREFETCH_H

#include "data.h"
#include "util.h"

/**
 * struct calm_settings - settings of a job
 * @settings: the settings
 * @count: how many; 0 leaves prefetchers alone
 */
struct calm_settings {
	struct calm_setting *settings;
	size_t count;
};

/**
 * calm_prefetch_check_word() - see whether a word can be a choice of settings at all
 * @word: what the user said
 * @error: filled on failure
 *
 * Return: 0, or -EINVAL.
 */
int calm_prefetch_check_word(const char *word, struct calm_error *error);

/**
 * calm_prefetch_compares() - whether a word asks for more than one setting
 * @word: a checked word
 *
 * Return: true if so.
 */
bool calm_prefetch_compares(const char *word);

/**
 * calm_prefetch_settings() - spell a choice of settings out
 * @word: a checked word
 * @group: the prefetchers of the CPU, or NULL if no switch is known for it
 * @unsafe: undocumented switches may be used
 * @settings: out; to be freed by calm_prefetch_free_settings()
 * @error: filled on failure
 *
 * Return: 0; -EOPNOTSUPP or -ENOENT with exit status 5 for what the CPU has not.
 */
int calm_prefetch_settings(const char *word, const struct calm_prefetch_group *group, bool unsafe,
			   struct calm_settings *settings, struct calm_error *error);

/**
 * calm_prefetch_names() - a setting for named prefetchers, or for all
 * @setting: out; its label is to be freed
 * @state: enum calm_prefetch
 * @names: names separated by commas, or all
 * @groups: the groups of CPUs that it is for, each of which must have what is named
 * @unsafe: undocumented switches may be used
 * @error: filled on failure
 *
 * Return: as calm_prefetch_settings().
 */
int calm_prefetch_names(struct calm_setting *setting, uint32_t state, const char *names,
			const struct calm_prefetch_groups *groups, bool unsafe,
			struct calm_error *error);

/**
 * calm_prefetch_group_of() - the group that a CPU belongs to
 * @groups: all groups
 * @cpu: the CPU
 *
 * Return: the group, or NULL.
 */
const struct calm_prefetch_group *calm_prefetch_group_of(const struct calm_prefetch_groups *groups,
							 uint32_t cpu);

/**
 * calm_prefetch_free_settings() - give settings' memory back
 * @settings: the settings
 */
void calm_prefetch_free_settings(struct calm_settings *settings);

/**
 * calm_prefetch_free() - give groups' memory back
 * @groups: the groups
 */
void calm_prefetch_free(struct calm_prefetch_groups *groups);

#endif
