// SPDX-License-Identifier: GPL-2.0-only
/* What a measuring command needs before its first point: machine, prefetchers, plan, events. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "measure.h"
#include "session.h"

void calm_measure_describe(struct calm_machine *machine, const struct calm_module *module,
			   uint32_t cpu)
{
	size_t i;

	machine->tsc_hz = module->tsc_khz * 1e3;
	for (i = 0; i < module->n_processors; i++) {
		const struct calm_processor *processor = &module->processors[i];

		if (processor->id != cpu)
			continue;
		machine->family = (int)processor->family;
		machine->model = (int)processor->model;
		machine->stepping = (int)processor->stepping;
		machine->microcode = processor->microcode;
	}
}

void calm_session_note(struct calm_session *session, const char *format, ...)
{
	struct calm_document *document = &session->document;
	va_list args;
	char *text;

	va_start(args, format);
	text = calm_vtext(format, args);
	va_end(args);
	document->notices = calm_grow(document->notices, document->n_notices,
				      &document->notices_capacity, sizeof(*document->notices));
	document->notices[document->n_notices++] = text;
	calm_say("%s", text);
}

int calm_session_machine(struct calm_session *session, struct calm_error *error)
{
	struct calm_document *document = &session->document;
	int err;

	/* a plan is as good for a machine that is elsewhere */
	err = calm_topo_load(&session->topo, session->opts->dry_run, error);
	if (err)
		return err;
	if (!calm_topo_is_here(session->topo))
		calm_session_note(session,
				  "the plan is for another machine, which hwloc was told of");
	err = calm_topo_choose_cpu(session->topo, session->opts, &document->cpu,
				   &document->cpu_reason, error);
	if (err)
		return err;
	calm_topo_describe(session->topo, document->cpu, &document->machine);
	return 0;
}

int calm_session_backend(struct calm_session *session, struct calm_error *error)
{
	struct calm_document *document = &session->document;
	int err;

	if (session->opts->dry_run)
		return 0;
	err = session->backend->open(&session->state, &session->module, error);
	if (err)
		return err;
	document->module = &session->module;
	calm_measure_describe(&document->machine, &session->module, document->cpu);
	return 0;
}

static void note_held(struct calm_session *session, const struct calm_prefetch_group *group)
{
	size_t i;

	for (i = 0; i < group->n_prefetchers; i++) {
		const struct calm_prefetcher *one = &group->prefetchers[i];

		if (one->held)
			calm_session_note(session, "prefetcher %s is %s by calm prefetch",
					  one->name,
					  one->state == CALM_PREFETCH_OFF ? "off" : "on");
	}
}

/* Whether those that are known are off: by what is asked for, or as found. */
static bool are_off(const struct calm_settings *settings, const struct calm_prefetch_group *group)
{
	size_t i;

	if (settings->count)
		return settings->count == 1 && settings->settings[0].all == CALM_PREFETCH_OFF;
	for (i = 0; group && i < group->n_prefetchers; i++)
		if (group->prefetchers[i].state != CALM_PREFETCH_OFF)
			return false;
	return group && group->n_prefetchers;
}

/* What the prefetchers are, and the states of them that are asked for. */
int calm_session_prefetch(struct calm_session *session, struct calm_error *error)
{
	const struct calm_run_opts *opts = session->opts;
	const struct calm_prefetch_group *group;
	int err;

	if (opts->dry_run)
		return 0;
	err = session->backend->prefetchers(session->state, &session->prefetchers, error);
	if (err)
		return err;
	session->document.prefetch = &session->prefetchers;
	group = calm_prefetch_group_of(&session->prefetchers, session->document.cpu);
	if (group)
		note_held(session, group);
	err = calm_prefetch_settings(opts->prefetch, group, opts->unsafe_prefetch,
				     &session->settings, error);
	session->document.machine.prefetch_off = !err && are_off(&session->settings, group);
	return err;
}

/* The memory node that was asked for, or -1. */
static int32_t node_of(const struct calm_session *session)
{
	return session->opts->node == CALM_UNSET ? -1 : (int32_t)session->opts->node;
}

/*
 * The size of an experiment about memory, unless sizes were asked for. For independent loads one
 * that the last cache serves as well, and without lanes one that the first cache serves: where they
 * take as long, it is not memory that they wait for.
 */
static void choose_size(struct calm_session *session, struct calm_plan_input *input)
{
	struct calm_sizes *sizes = &session->opts->sizes;

	if (!session->job->wants_memory || sizes->count)
		return;
	sizes->bytes = calm_alloc(3, sizeof(*sizes->bytes));
	/* a sweep of a long distance touches a part of it, which no cache shall hold either */
	sizes->bytes[sizes->count++] = calm_plan_beyond(input) * (session->job->copies ? 2 : 1);
	session->chose_sizes = true;
	if (!session->job->free_loop || !input->n_caches)
		return;
	sizes->bytes[sizes->count++] = calm_plan_within(input);
	input->bare_bytes = calm_plan_first(input);
	if (input->bare_bytes)
		sizes->bytes[sizes->count++] = input->bare_bytes;
}

/*
 * Of two elements in a line the second one may find what the first one brought in, however large
 * the buffer is.
 */
static void choose_stride(struct calm_session *session, const struct calm_plan_input *input)
{
	struct calm_run_opts *opts = session->opts;
	size_t i;

	if (!session->job->wants_lines || opts->stride_given)
		return;
	for (i = 0; i < input->n_caches; i++)
		if (input->caches[i].line_bytes > opts->stride_bytes)
			opts->stride_bytes = input->caches[i].line_bytes;
}

/* What a cache can hold says little of memory. */
static void note_cached(struct calm_session *session)
{
	const struct calm_machine *machine = &session->document.machine;
	const struct calm_sizes *sizes = &session->opts->sizes;
	char size[CALM_SIZE_TEXT_MAX], capacity[CALM_SIZE_TEXT_MAX];
	size_t i, j;

	if (!session->job->wants_memory || session->chose_sizes)
		return;
	for (i = 0; i < sizes->count; i++) {
		for (j = 0; j < machine->n_caches; j++)
			if (sizes->bytes[i] <= machine->caches[j].size_bytes)
				break;
		if (j < machine->n_caches)
			calm_session_note(session, "size %s: fits %s, which holds %s",
					  calm_size_text(size, sizes->bytes[i]),
					  machine->caches[j].name,
					  calm_size_text(capacity, machine->caches[j].size_bytes));
	}
}

/* The ends of the sweep become settings of the document. */
int calm_session_plan(struct calm_session *session, struct calm_error *error)
{
	const struct calm_machine *machine = &session->document.machine;
	struct calm_plan_input *input = &session->input;
	struct calm_plan *plan = &session->plan;
	char text[CALM_SIZE_TEXT_MAX], node[32] = "";
	int err;

	*input = (struct calm_plan_input){
		.opts = session->opts,
		.loop = session->job->loop,
		.free_loop = session->job->free_loop,
		.copy_loop = session->job->copy_loop,
		.linear_loop = session->job->linear_loop,
		.copies = session->job->copies,
		.cpu = session->document.cpu,
		.caches = machine->caches,
		.n_caches = machine->n_caches,
		.prefetch_off = machine->prefetch_off,
	};
	input->max_bytes = calm_plan_limit(&session->module, input->cpu, node_of(session),
					   &input->max_node);
	session->document.machine.max_bytes = input->max_bytes;
	if (session->job->explore) {
		session->job->explore(input, NULL, 0, plan);
		return calm_plan_check(input, plan, error);
	}
	choose_size(session, input);
	choose_stride(session, input);
	err = calm_plan_make(input, plan, error);
	/* what is not here is a status of its own only where it was asked for */
	if (err && session->chose_sizes)
		error->status = CALM_EXIT_FAILED;
	if (err)
		return err;
	note_cached(session);
	if (!session->opts->sizes.count) {
		session->opts->min_bytes = plan->points[0].requested_size_bytes;
		session->opts->max_bytes = plan->points[plan->count - 1].requested_size_bytes;
	}
	if (input->max_node >= 0)
		snprintf(node, sizeof(node), " on node %" PRId32, input->max_node);
	if (plan->capped_bytes)
		calm_session_note(session, "the sweep ends at %s: there is no memory for more%s",
				  calm_size_text(text, plan->capped_bytes), node);
	return 0;
}

static void no_progress(const struct calm_result *result, void *arg)
{
	(void)result;
	(void)arg;
}

static void note_counter(void *arg, char *text)
{
	struct calm_session *session = arg;

	calm_session_note(session, "%s", text);
	free(text);
}

static void find_processor(struct calm_session *session)
{
	size_t i;

	session->processor.id = session->document.cpu;
	for (i = 0; i < session->module.n_processors; i++)
		if (session->module.processors[i].id == session->document.cpu)
			session->processor = session->module.processors[i];
}

/* The event that tells core cycles comes first, so that it is counted in the first run. */
static void put_cycles_first(struct calm_session *session, const struct calm_counters *counters)
{
	struct calm_events *list = &session->events;
	struct calm_event cycles;
	size_t i;

	calm_events_cycles(&session->processor, &cycles);
	for (i = 0; i < list->count && !calm_events_is_same(&list->events[i], &cycles); i++)
		;
	if (i < list->count) {
		calm_events_free(&cycles);
		cycles = list->events[i];
		memmove(&list->events[1], &list->events[0], i * sizeof(cycles));
	} else {
		cycles.hidden = true;
		calm_counters_restrict(counters, &cycles);
		calm_events_add(list, &cycles);
		memmove(&list->events[1], &list->events[0], (list->count - 1) * sizeof(cycles));
	}
	list->events[0] = cycles;
	session->clock.has_event = !cycles.reason;
}

static int name_events(struct calm_session *session, struct calm_error *error)
{
	const char *words = session->opts->events;
	bool lenient = !words;

	if (lenient)
		words = session->job->events;
	return calm_events_resolve_list(&session->processor, words, &session->events, lenient,
					error);
}

/* Without events no counter is touched: core cycles are known by APERF, or not at all. */
static bool counts_nothing(const struct calm_session *session)
{
	return session->opts->events && !strcmp(session->opts->events, "none");
}

/* A machine without counters measures all the same, unless events were asked for. */
static int test_counters(struct calm_session *session, struct calm_counters *counters,
			 struct calm_error *error)
{
	calm_counters_test(counters, note_counter, session);
	if (!counters->why[0] || calm_session_ended(session))
		return 0;
	if (counters->err)
		return calm_error_set(error, counters->status, counters->err, "%s", counters->why);
	if (session->opts->events)
		return calm_error_set(error, counters->status, -EOPNOTSUPP, "events: %s",
				      counters->why);
	if (session->events.count)
		calm_session_note(session, "no events are counted: %s", counters->why);
	return 0;
}

/* That all prefetchers are off, if the run has them so. */
static const struct calm_setting *all_off(const struct calm_settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		if (settings->settings[i].all == CALM_PREFETCH_OFF)
			return &settings->settings[i];
	return NULL;
}

/* What is counted, by which counters, and whether it can be trusted: found out once. */
int calm_session_events(struct calm_session *session, struct calm_error *error)
{
	const struct calm_watch watch = { calm_session_ended, no_progress, session };
	int32_t max_node;
	struct calm_counters counters = {
		.backend = session->backend,
		.state = session->state,
		.watch = &watch,
		.processor = &session->processor,
		.node = node_of(session),
		.machine = &session->document.machine,
		.max_bytes = calm_plan_limit(&session->module, session->document.cpu,
					     node_of(session), &max_node),
		.setting = all_off(&session->settings),
	};
	size_t i;
	int err;

	if (session->opts->dry_run || counts_nothing(session))
		return 0;
	find_processor(session);
	err = name_events(session, error);
	if (!err)
		err = test_counters(session, &counters, error);
	if (err || calm_session_ended(session))
		return err;
	for (i = 0; i < session->events.count; i++)
		calm_counters_restrict(&counters, &session->events.events[i]);
	calm_counters_test_events(&counters, &session->events);
	put_cycles_first(session, &counters);
	if (!session->clock.has_event) {
		calm_counters_calibrate(&counters);
		session->clock.core_per_tsc = counters.core_per_tsc;
	}
	session->groups = calm_alloc(session->events.count, sizeof(*session->groups));
	session->n_groups = calm_counters_group(&session->events, session->job->counters,
						session->groups);
	session->document.events = &session->events;
	return 0;
}
