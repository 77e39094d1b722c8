// SPDX-License-Identifier: GPL-2.0-only
/* calm info: the machine as the system describes it, and the module. */
#include <stdlib.h>

#include "backend/backend.h"
#include "cmd.h"
#include "measure.h"
#include "opt.h"
#include "out/out.h"
#include "prefetch.h"
#include "topo.h"

static const struct calm_opt *const groups[] = {
	calm_opts_output_tree,
	NULL,
};

/*
 * The machine is described without the module too; the status tells of it. The
 * prefetchers' state is for the privileged only.
 */
static int describe(struct calm_document *document, struct calm_module *module,
		    struct calm_prefetch_groups *prefetchers, const struct calm_topo *topo,
		    const struct calm_run_opts *opts, struct calm_error *error)
{
	const struct calm_backend *backend = &calm_backend_kernel;
	struct calm_error ignored;
	void *state = NULL;
	int err;

	err = calm_topo_choose_cpu(topo, opts, &document->cpu, &document->cpu_reason, error);
	if (err)
		return err;
	calm_topo_describe(topo, document->cpu, &document->machine);
	err = backend->open(&state, module, error);
	if (!err) {
		document->module = module;
		calm_measure_describe(&document->machine, module, document->cpu);
		if (!backend->prefetchers(state, prefetchers, &ignored))
			document->prefetch = prefetchers;
	}
	backend->close(state);
	return err;
}

static int info(const struct calm_cmd *cmd, const struct calm_run_opts *opts,
		struct calm_error *error)
{
	struct calm_document document = {
		.command = cmd->name,
		.subject = CALM_SUBJECT_MACHINE,
		.complete = true,
	};
	struct calm_error write_error;
	struct calm_module module = { .processors = NULL };
	struct calm_prefetch_groups prefetchers = { .count = 0 };
	struct calm_topo *topo;
	int err;

	err = calm_topo_load(&topo, false, error);
	if (err)
		return err;
	err = describe(&document, &module, &prefetchers, topo, opts, error);
	document.complete = !err;
	if (calm_out_write(&document, opts, &write_error)) {
		if (err)
			calm_say("%s", error->text);
		*error = write_error;
		err = -1;
	}
	calm_prefetch_free(&prefetchers);
	free(module.processors);
	free(module.nodes);
	calm_topo_free(topo);
	return err;
}

int calm_cmd_info(const struct calm_cmd *cmd, int argc, char **argv)
{
	struct calm_run_opts opts;
	struct calm_error error;
	int err;

	err = calm_opt_parse(groups, NULL, cmd->summary, argc, argv, &opts, &error);
	if (!err)
		err = info(cmd, &opts, &error);
	if (err)
		calm_say("%s", error.text);
	return err ? (int)error.status : CALM_EXIT_DONE;
}
