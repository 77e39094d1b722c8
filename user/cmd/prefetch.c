// SPDX-License-Identifier: GPL-2.0-only
/* calm prefetch: show hardware prefetchers, turn them off or on, put them back as they were. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "backend/backend.h"
#include "cmd.h"
#include "measure.h"
#include "opt.h"
#include "out/out.h"
#include "prefetch.h"
#include "topo.h"

static const struct calm_opt *const option_groups[] = {
	calm_opts_switch,
	calm_opts_output_tree,
	NULL,
};

/**
 * struct verb - a word, and what it does
 * @word: the word, or its part before the names
 * @takes_names: names follow
 * @state: enum calm_prefetch that prefetchers get, 0 only shows them
 */
static const struct verb {
	const char *word;
	bool takes_names;
	uint32_t state;
} verbs[] = {
	{ "show", false, 0 },
	{ "off", false, CALM_PREFETCH_OFF },
	{ "on", false, CALM_PREFETCH_ON },
	{ "restore", false, CALM_PREFETCH_FOUND },
	{ "off:", true, CALM_PREFETCH_OFF },
	{ "on:", true, CALM_PREFETCH_ON },
	{ "restore:", true, CALM_PREFETCH_FOUND },
};

/**
 * struct work - the command at work
 * @opts: its options
 * @out: where the result goes
 * @verb: what it does
 * @names: what follows the verb
 * @state: the backend's own
 * @cpus: CPUs that it is for
 * @n_cpus: how many, 0 means all
 * @groups: the prefetchers
 */
struct work {
	const struct calm_run_opts *opts;
	struct calm_out *out;
	const struct verb *verb;
	const char *names;
	void *state;
	uint32_t *cpus;
	size_t n_cpus;
	struct calm_prefetch_groups groups;
};

static int find_verb(struct work *work, struct calm_error *error)
{
	const char *word = work->opts->word ? work->opts->word : "show";
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(verbs); i++) {
		size_t len = strlen(verbs[i].word);

		if (verbs[i].takes_names ? strncmp(word, verbs[i].word, len) || !word[len] :
					   strcmp(word, verbs[i].word))
			continue;
		work->verb = &verbs[i];
		work->names = verbs[i].takes_names ? word + len : "all";
		return 0;
	}
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
			      "unknown word '%s' (allowed show, off, on, restore, off:NAME,..., on:NAME,..., restore:NAME,...)",
			      word);
}

static bool is_wanted(const struct work *work, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < work->n_cpus; i++)
		if (work->cpus[i] == cpu)
			return true;
	return !work->n_cpus;
}

static bool has_wanted(const struct work *work, const struct calm_prefetch_group *group)
{
	size_t i;

	for (i = 0; i < group->n_cpus; i++)
		if (is_wanted(work, group->cpus[i]))
			return true;
	return false;
}

/* The groups that the CPUs of the command line belong to. */
static int look(struct work *work, struct calm_error *error)
{
	struct calm_prefetch_groups *groups = &work->groups;
	size_t i, kept = 0;
	int err;

	calm_prefetch_free(groups);
	err = calm_backend_kernel.prefetchers(work->state, groups, error);
	for (i = 0; i < groups->count; i++) {
		if (has_wanted(work, &groups->groups[i]))
			groups->groups[kept++] = groups->groups[i];
		else
			free(groups->groups[i].cpus);
	}
	groups->count = kept;
	return err;
}

static int change(struct work *work, struct calm_error *error)
{
	uint32_t flags = work->opts->unsafe_prefetch ? CALM_F_UNSAFE_PREFETCH : 0;
	struct calm_setting setting;
	bool unsafe = flags || work->verb->state == CALM_PREFETCH_FOUND;
	int err;

	err = calm_prefetch_names(&setting, work->verb->state, work->names, &work->groups, unsafe,
				  error);
	if (!err)
		err = calm_backend_kernel.set_prefetchers(work->state, &setting, work->cpus,
							  work->n_cpus, flags, error);
	free(setting.label);
	return err ? err : look(work, error);
}

static int show(const struct calm_cmd *cmd, struct work *work, const struct calm_module *module,
		struct calm_topo *topo, struct calm_error *error)
{
	struct calm_document document = {
		.command = cmd->name,
		.subject = CALM_SUBJECT_PREFETCHERS,
		.complete = true,
		.module = module,
		.prefetch = &work->groups,
	};
	int err;

	err = calm_topo_choose_cpu(topo, work->opts, &document.cpu, &document.cpu_reason, error);
	if (err)
		return err;
	calm_topo_describe(topo, document.cpu, &document.machine);
	calm_measure_describe(&document.machine, module, document.cpu);
	err = calm_out_end(work->out, &document, error);
	work->out = NULL;
	return err;
}

/* What cannot be done is known before anything is switched, a file that cannot be written too. */
static int do_work(const struct calm_cmd *cmd, struct work *work, struct calm_module *module,
		   struct calm_topo *topo, struct calm_error *error)
{
	int err = 0;

	if (work->opts->cpus)
		err = calm_topo_parse_cpus(topo, work->opts->cpus, &work->cpus, &work->n_cpus,
					   error);
	if (!err)
		err = calm_out_open(&work->out, work->opts, error);
	if (!err)
		err = calm_backend_kernel.open(&work->state, module, error);
	if (!err)
		err = look(work, error);
	if (!err && work->verb->state)
		err = change(work, error);
	return err ? err : show(cmd, work, module, topo, error);
}

int calm_cmd_prefetch(const struct calm_cmd *cmd, int argc, char **argv)
{
	struct calm_run_opts opts;
	struct calm_module module = { .processors = NULL };
	struct work work = { .opts = &opts };
	struct calm_topo *topo = NULL;
	struct calm_error error;
	int err;

	err = calm_opt_parse(option_groups, "[WORD]", cmd->summary, argc, argv, &opts, &error);
	if (!err)
		err = find_verb(&work, &error);
	if (!err)
		err = calm_topo_load(&topo, false, &error);
	if (!err)
		err = do_work(cmd, &work, &module, topo, &error);
	if (err)
		calm_say("%s", error.text);
	calm_out_drop(work.out);
	calm_backend_kernel.close(work.state);
	calm_prefetch_free(&work.groups);
	free(work.cpus);
	free(module.processors);
	free(module.nodes);
	calm_topo_free(topo);
	return err ? (int)error.status : CALM_EXIT_DONE;
}
