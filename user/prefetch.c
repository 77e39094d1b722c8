// SPDX-License-Identifier: GPL-2.0-only
/* Words for states of prefetchers into settings that a job can go through. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "prefetch.h"

#define ALLOWED "found, off, on, both, each, off:NAME,..., on:NAME,..."

/**
 * struct choice - a word, and the settings that it stands for
 * @word: the word, or its part before a colon
 * @takes_names: names follow behind a colon
 * @found: the first setting is as found
 * @each: one setting for each prefetcher follows, which turns off only that one
 * @state: enum calm_prefetch of one more setting, 0: none
 */
static const struct choice {
	const char *word;
	bool takes_names;
	bool found;
	bool each;
	uint32_t state;
} choices[] = {
	{ "found", false, false, false, 0 },
	{ "off", false, false, false, CALM_PREFETCH_OFF },
	{ "on", false, false, false, CALM_PREFETCH_ON },
	{ "both", false, true, false, CALM_PREFETCH_OFF },
	{ "each", false, true, true, 0 },
	{ "off:", true, false, false, CALM_PREFETCH_OFF },
	{ "on:", true, false, false, CALM_PREFETCH_ON },
};

static const struct choice *find_choice(const char *word)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(choices); i++) {
		size_t len = strlen(choices[i].word);

		if (choices[i].takes_names ? !strncmp(word, choices[i].word, len) && word[len] :
					     !strcmp(word, choices[i].word))
			return &choices[i];
	}
	return NULL;
}

int calm_prefetch_check_word(const char *word, struct calm_error *error)
{
	if (find_choice(word))
		return 0;
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
			      "prefetch: '%s' is unknown (allowed " ALLOWED ")", word);
}

bool calm_prefetch_compares(const char *word)
{
	const struct choice *choice = find_choice(word);

	return choice && choice->found;
}

static bool usable(const struct calm_prefetcher *prefetcher, bool unsafe)
{
	return unsafe || !prefetcher->undocumented;
}

/* Their names as a list for people. */
static char *list_names(const struct calm_prefetch_group *group, bool unsafe)
{
	char *list = NULL;
	size_t i;

	for (i = 0; i < group->n_prefetchers; i++) {
		const struct calm_prefetcher *prefetcher = &group->prefetchers[i];
		char *longer;

		if (!usable(prefetcher, unsafe))
			continue;
		longer = calm_text("%s%s%s", list ? list : "", list ? ", " : "", prefetcher->name);
		free(list);
		list = longer;
	}
	return list;
}

/* There is something that may be switched. */
static int check_group(const struct calm_prefetch_group *group, bool unsafe,
		       struct calm_error *error)
{
	char *names = group ? list_names(group, unsafe) : NULL;
	bool any = names;

	free(names);
	if (any)
		return 0;
	return calm_error_set(error, CALM_EXIT_ABSENT, -EOPNOTSUPP,
			      "prefetch: no prefetcher switch is documented for this processor%s",
			      group ? "; --unsafe-prefetch allows those found by others" : "");
}

static int refuse_name(const char *name, const struct calm_prefetch_group *group, bool unsafe,
		       bool exists, struct calm_error *error)
{
	char *names = list_names(group, unsafe);

	if (exists)
		calm_error_set(error, CALM_EXIT_ABSENT, -EOPNOTSUPP,
			       "prefetch: '%s' is undocumented; --unsafe-prefetch allows it", name);
	else
		calm_error_set(error, CALM_EXIT_ABSENT, -ENOENT,
			       "prefetch: CPU %" PRIu32 " has no prefetcher '%s' (allowed %s)",
			       group->cpus[0], name, names ? names : "none");
	free(names);
	return exists ? -EOPNOTSUPP : -ENOENT;
}

static int check_name(const char *name, const struct calm_prefetch_group *group, bool unsafe,
		      struct calm_error *error)
{
	bool exists = false;
	size_t i;

	for (i = 0; i < group->n_prefetchers; i++) {
		if (strcmp(name, group->prefetchers[i].name))
			continue;
		if (usable(&group->prefetchers[i], unsafe))
			return 0;
		exists = true;
	}
	return refuse_name(name, group, unsafe, exists, error);
}

/* Every name must be known to every group that has any prefetcher to be switched. */
static int add_name(struct calm_setting *setting, const char *name,
		    const struct calm_prefetch_groups *groups, bool unsafe,
		    struct calm_error *error)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < groups->count; i++)
		err = check_name(name, &groups->groups[i], unsafe, error);
	for (i = 0; !err && i < setting->n_names; i++)
		if (!strcmp(setting->names[i], name))
			err = calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
					     "prefetch: '%s' is given twice", name);
	if (err)
		return err;
	strcpy(setting->names[setting->n_names++], name);
	return 0;
}

static const char *state_name(uint32_t state)
{
	return state == CALM_PREFETCH_OFF ? "off" : state == CALM_PREFETCH_ON ? "on" : "found";
}

int calm_prefetch_names(struct calm_setting *setting, uint32_t state, const char *names,
			const struct calm_prefetch_groups *groups, bool unsafe,
			struct calm_error *error)
{
	char *copy, *rest, *name;
	int err;
	size_t i;

	*setting = (struct calm_setting){ .state = state };
	err = groups->count ? 0 : check_group(NULL, unsafe, error);
	for (i = 0; !err && i < groups->count; i++)
		err = check_group(&groups->groups[i], unsafe, error);
	if (err)
		return err;
	if (!strcmp(names, "all")) {
		setting->all = state;
		setting->label = calm_text("%s", state_name(state));
		return 0;
	}
	copy = calm_text("%s", names);
	rest = copy;
	while (!err && (name = strsep(&rest, ",")))
		err = add_name(setting, name, groups, unsafe, error);
	free(copy);
	if (!err)
		setting->label = calm_text("%s:%s", state_name(state), names);
	return err;
}

static int add_setting(struct calm_settings *settings, uint32_t state, const char *names,
		       const struct calm_prefetch_group *group, bool unsafe,
		       struct calm_error *error)
{
	const struct calm_prefetch_groups one = { (struct calm_prefetch_group *)group, 1, 1 };

	return calm_prefetch_names(&settings->settings[settings->count++], state, names, &one,
				   unsafe, error);
}

int calm_prefetch_settings(const char *word, const struct calm_prefetch_group *group, bool unsafe,
			   struct calm_settings *settings, struct calm_error *error)
{
	const struct choice *choice = find_choice(word);
	const char *names = choice->takes_names ? word + strlen(choice->word) : "all";
	size_t i;
	int err;

	*settings = (struct calm_settings){ NULL, 0 };
	if (!choice->found && !choice->state)
		return 0;
	err = check_group(group, unsafe, error);
	if (err)
		return err;
	settings->settings =
		calm_alloc(2 + CALM_PREFETCHERS_MAX, sizeof(*settings->settings));
	if (choice->found)
		settings->settings[settings->count++].label = calm_text("found");
	for (i = 0; !err && choice->each && i < group->n_prefetchers; i++)
		if (usable(&group->prefetchers[i], unsafe))
			err = add_setting(settings, CALM_PREFETCH_OFF, group->prefetchers[i].name,
					  group, unsafe, error);
	if (!err && choice->state)
		err = add_setting(settings, choice->state, names, group, unsafe, error);
	return err;
}

const struct calm_prefetch_group *calm_prefetch_group_of(const struct calm_prefetch_groups *groups,
							 uint32_t cpu)
{
	size_t i, j;

	for (i = 0; i < groups->count; i++)
		for (j = 0; j < groups->groups[i].n_cpus; j++)
			if (groups->groups[i].cpus[j] == cpu)
				return &groups->groups[i];
	return NULL;
}

void calm_prefetch_free_settings(struct calm_settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		free(settings->settings[i].label);
	free(settings->settings);
	*settings = (struct calm_settings){ NULL, 0 };
}

void calm_prefetch_free(struct calm_prefetch_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->count; i++)
		free(groups->groups[i].cpus);
	free(groups->groups);
	*groups = (struct calm_prefetch_groups){ NULL, 0, 0 };
}
