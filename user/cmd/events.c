// SPDX-License-Identifier: GPL-2.0-only
/* calm events: names, codes, definitions, and which of them pass their test here. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "cmd.h"
#include "counters.h"
#include "events.h"
#include "measure.h"
#include "opt.h"
#include "out/out.h"
#include "plan.h"
#include "topo.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,
	calm_opts_output,
	NULL,
};

/* Text that stands anywhere in a name, or a pattern with * and ?. */
static bool matches(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, name, FNM_CASEFOLD);
	return !!strcasestr(name, pattern);
}

/* Of two rows with one name the second is for processors without the fixed counter. */
static bool is_second(const struct calm_events_row *rows, size_t i, const struct calm_pmu_info *pmu)
{
	bool again = i && !strcmp(rows[i - 1].name, rows[i].name);
	bool fixed = rows[i].fixed >= 0;

	if (!pmu->style)
		return again;
	return again ? pmu->fixed >> rows[i - 1].fixed & 1 :
		       fixed && !(pmu->fixed >> rows[i].fixed & 1);
}

static void list_rows(const struct calm_events_uarch *uarch, const struct calm_pmu_info *pmu,
		      const char *pattern, struct calm_events *list)
{
	struct calm_event event;
	size_t i;

	for (i = 0; i < uarch->n_rows; i++) {
		if (!matches(pattern, uarch->rows[i].name) || is_second(uarch->rows, i, pmu))
			continue;
		calm_events_row(&uarch->rows[i], &event);
		calm_events_add(list, &event);
	}
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void nothing(const struct calm_result *result, void *arg)
{
	(void)result;
	(void)arg;
}

static void note(void *arg, char *text)
{
	struct calm_document *document = arg;

	document->notices = calm_grow(document->notices, document->n_notices,
				      &document->notices_capacity, sizeof(*document->notices));
	document->notices[document->n_notices++] = text;
	calm_say("%s", text);
}

static int test(void *state, const struct calm_module *module,
		const struct calm_processor *processor, struct calm_document *document,
		struct calm_events *list, struct calm_error *error)
{
	const struct calm_watch watch = { never, nothing, NULL };
	int32_t max_node;
	struct calm_counters counters = {
		.backend = &calm_backend_kernel,
		.state = state,
		.watch = &watch,
		.processor = processor,
		.node = -1,
		.machine = &document->machine,
		.max_bytes = calm_plan_limit(module, document->cpu, -1, &max_node),
	};
	size_t i;

	calm_counters_test(&counters, note, document);
	if (counters.err)
		return calm_error_set(error, counters.status, counters.err, "%s", counters.why);
	for (i = 0; i < list->count; i++)
		calm_counters_restrict(&counters, &list->events[i]);
	calm_counters_test_events(&counters, list);
	return 0;
}

static const struct calm_processor *find_processor(const struct calm_module *module, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < module->n_processors; i++)
		if (module->processors[i].id == cpu)
			return &module->processors[i];
	return NULL;
}

/* Without the module nothing is tested; the status tells of it. */
static void list_untested(const struct calm_document *document, const struct calm_run_opts *opts,
			  struct calm_events *list)
{
	static const struct calm_pmu_info none = { .style = 0 };
	const struct calm_events_uarch *uarch = calm_events_identify(&document->machine);

	if (uarch)
		list_rows(uarch, &none, opts->word, list);
}

static int list_events(struct calm_document *document, const struct calm_run_opts *opts,
		       struct calm_module *module, struct calm_events *list,
		       struct calm_error *error)
{
	const struct calm_processor *processor;
	const struct calm_events_uarch *uarch;
	void *state = NULL;
	int err = calm_backend_kernel.open(&state, module, error);

	if (err) {
		list_untested(document, opts, list);
		return err;
	}
	document->module = module;
	calm_measure_describe(&document->machine, module, document->cpu);
	processor = find_processor(module, document->cpu);
	uarch = processor ? calm_events_find_uarch(processor->microarch) : NULL;
	if (!uarch)
		err = calm_error_set(error, CALM_EXIT_ABSENT, -ENOENT,
				     "no event names are known for this processor");
	else
		list_rows(uarch, &processor->pmu, opts->word, list);
	if (!err && !list->count)
		err = calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				     "no event of %s matches '%s'", uarch->name, opts->word);
	if (!err && module->has_limits)
		err = test(state, module, processor, document, list, error);
	calm_backend_kernel.close(state);
	return err;
}

static int events(const struct calm_cmd *cmd, const struct calm_run_opts *opts,
		  struct calm_error *error)
{
	struct calm_events list = { NULL, 0, 0 };
	struct calm_document document = {
		.command = cmd->name,
		.subject = CALM_SUBJECT_EVENTS,
		.complete = true,
		.events = &list,
	};
	struct calm_module module = { .processors = NULL };
	struct calm_error write_error;
	struct calm_topo *topo;
	size_t i;
	int err;

	err = calm_topo_load(&topo, false, error);
	if (err)
		return err;
	err = calm_topo_choose_cpu(topo, opts, &document.cpu, &document.cpu_reason, error);
	if (!err) {
		calm_topo_describe(topo, document.cpu, &document.machine);
		err = list_events(&document, opts, &module, &list, error);
	}
	document.complete = !err;
	if ((!err || list.count) && calm_out_write(&document, opts, &write_error)) {
		if (err)
			calm_say("%s", error->text);
		*error = write_error;
		err = -EIO;
	}
	calm_events_free_list(&list);
	for (i = 0; i < document.n_notices; i++)
		free(document.notices[i]);
	free(document.notices);
	free(module.processors);
	free(module.nodes);
	calm_topo_free(topo);
	return err;
}

int calm_cmd_events(const struct calm_cmd *cmd, int argc, char **argv)
{
	struct calm_run_opts opts;
	struct calm_error error;
	int err;

	err = calm_opt_parse(groups, "PATTERN", cmd->summary, argc, argv, &opts, &error);
	if (!err)
		err = events(cmd, &opts, &error);
	if (err)
		calm_say("%s", error.text);
	return err ? (int)error.status : CALM_EXIT_DONE;
}
