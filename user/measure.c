// SPDX-License-Identifier: GPL-2.0-only
/* From a command's options to its document: the way that all measuring commands go. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "backend/backend.h"
#include "counters.h"
#include "derive/prefetch.h"
#include "events.h"
#include "loops/loops.h"
#include "measure.h"
#include "out/out.h"
#include "plan.h"
#include "prefetch.h"
#include "progress.h"
#include "stats.h"
#include "topo.h"

/* Signals that end the work early, but leave time to write what was measured. */
static const struct ending {
	int number;
	const char *name;
} endings[] = {
	{ SIGINT, "SIGINT" },
	{ SIGTERM, "SIGTERM" },
};

static volatile sig_atomic_t ended_by;

/* The second signal of a kind ends the program at once. */
static void note_signal(int number)
{
	const struct sigaction at_once = { .sa_handler = calm_out_die };

	ended_by = number;
	sigaction(number, &at_once, NULL);
}

/* Where the result goes to a file, a reader of the standard streams that goes away ends nothing. */
static void catch_signals(const struct calm_run_opts *opts)
{
	const struct sigaction action = { .sa_handler = note_signal };
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(endings); i++)
		sigaction(endings[i].number, &action, NULL);
	if (opts->output || opts->save)
		signal(SIGPIPE, SIG_IGN);
}

static const char *ending_name(void)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(endings); i++)
		if (endings[i].number == ended_by)
			return endings[i].name;
	return NULL;
}

/**
 * struct session - a command at work
 * @job: what it measures
 * @opts: how
 * @topo: the machine
 * @input: what the plan is made from
 * @plan: all points
 * @backend: takes the samples
 * @state: the backend's own
 * @module: what it measures with
 * @processor: the CPU as the module knows it
 * @events: what is counted
 * @clock: what tells core cycles
 * @groups: the events by run
 * @n_groups: how many runs a point takes
 * @group: the run in progress
 * @prefetchers: those with a known switch
 * @settings: their states that each point goes through
 * @document: the result
 * @points_capacity: room for points in it
 * @derived: part of it
 * @out: where it goes
 * @progress: how far it is
 */
struct session {
	const struct calm_job *job;
	struct calm_run_opts *opts;
	bool chose_sizes;
	struct calm_topo *topo;
	struct calm_plan_input input;
	struct calm_plan plan;
	const struct calm_backend *backend;
	void *state;
	struct calm_module module;
	struct calm_processor processor;
	struct calm_events events;
	struct calm_clock clock;
	struct calm_counters_group *groups;
	size_t n_groups;
	size_t group;
	struct calm_prefetch_groups prefetchers;
	struct calm_settings settings;
	struct calm_document document;
	size_t points_capacity;
	struct calm_derived derived;
	struct calm_out *out;
	struct calm_progress progress;
};

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

/* Takes over a text that belongs to the document from now on. */
static void add_notice(struct calm_document *document, char *text)
{
	document->notices = calm_grow(document->notices, document->n_notices,
				      &document->notices_capacity, sizeof(*document->notices));
	document->notices[document->n_notices++] = text;
	calm_say("%s", text);
}

static int look_at_machine(struct session *session, struct calm_error *error)
{
	struct calm_document *document = &session->document;
	int err;

	/* a plan is as good for a machine that is elsewhere */
	err = calm_topo_load(&session->topo, session->opts->dry_run, error);
	if (err)
		return err;
	if (!calm_topo_is_here(session->topo))
		add_notice(document,
			   calm_text("the plan is for another machine, which hwloc was told of"));
	err = calm_topo_choose_cpu(session->topo, session->opts, &document->cpu,
				   &document->cpu_reason, error);
	if (err)
		return err;
	calm_topo_describe(session->topo, document->cpu, &document->machine);
	return 0;
}

static int open_backend(struct session *session, struct calm_error *error)
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

static void note_held(struct session *session, const struct calm_prefetch_group *group)
{
	size_t i;

	for (i = 0; i < group->n_prefetchers; i++)
		if (group->prefetchers[i].held)
			add_notice(&session->document,
				   calm_text("prefetcher %s is %s by calm prefetch",
					     group->prefetchers[i].name,
					     group->prefetchers[i].state == CALM_PREFETCH_OFF ?
						     "off" :
						     "on"));
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
static int prepare_prefetch(struct session *session, struct calm_error *error)
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
static int32_t node_of(const struct session *session)
{
	return session->opts->node == CALM_UNSET ? -1 : (int32_t)session->opts->node;
}

/*
 * The size of an experiment about memory, unless sizes were asked for. For independent loads one
 * that the last cache serves as well, and without lanes one that the first cache serves: where they
 * take as long, it is not memory that they wait for.
 */
static void choose_size(struct session *session, struct calm_plan_input *input)
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
static void choose_stride(struct session *session, const struct calm_plan_input *input)
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
static void note_cached(struct session *session)
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
			add_notice(&session->document,
				   calm_text("size %s: fits %s, which holds %s",
					     calm_size_text(size, sizes->bytes[i]),
					     machine->caches[j].name,
					     calm_size_text(capacity,
							    machine->caches[j].size_bytes)));
	}
}

/* The ends of the sweep become settings of the document. */
static int make_plan(struct session *session, struct calm_error *error)
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
		add_notice(&session->document,
			   calm_text("the sweep ends at %s: there is no memory for more%s",
				     calm_size_text(text, plan->capped_bytes), node));
	return 0;
}

static bool is_cancelled(void *arg)
{
	(void)arg;
	return ended_by != 0;
}

static void no_progress(const struct calm_result *result, void *arg)
{
	(void)result;
	(void)arg;
}

static void note_counter(void *arg, char *text)
{
	struct session *session = arg;

	add_notice(&session->document, text);
}

static void find_processor(struct session *session)
{
	size_t i;

	session->processor.id = session->document.cpu;
	for (i = 0; i < session->module.n_processors; i++)
		if (session->module.processors[i].id == session->document.cpu)
			session->processor = session->module.processors[i];
}

/* The event that tells core cycles comes first, so that it is counted in the first run. */
static void put_cycles_first(struct session *session, const struct calm_counters *counters)
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

static int name_events(struct session *session, struct calm_error *error)
{
	const char *words = session->opts->events;
	bool lenient = !words;

	if (lenient)
		words = session->job->events;
	return calm_events_resolve_list(&session->processor, words, &session->events, lenient,
					error);
}

/* Without events no counter is touched: core cycles are known by APERF and MPERF, or not at all. */
static bool counts_nothing(const struct session *session)
{
	return session->opts->events && !strcmp(session->opts->events, "none");
}

/* A machine without counters measures all the same, unless events were asked for. */
static int test_counters(struct session *session, struct calm_counters *counters,
			 struct calm_error *error)
{
	calm_counters_test(counters, note_counter, session);
	if (!counters->why[0] || ended_by)
		return 0;
	if (counters->err)
		return calm_error_set(error, counters->status, counters->err, "%s", counters->why);
	if (session->opts->events)
		return calm_error_set(error, counters->status, -EOPNOTSUPP, "events: %s",
				      counters->why);
	if (session->events.count)
		add_notice(&session->document,
			   calm_text("no events are counted: %s", counters->why));
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
static int prepare_events(struct session *session, struct calm_error *error)
{
	const struct calm_watch watch = { is_cancelled, no_progress, session };
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
	if (err || ended_by)
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

static size_t runs(const struct session *session)
{
	return session->n_groups ? session->n_groups : 1;
}

static void show_progress(const struct calm_result *result, void *arg)
{
	struct session *session = arg;

	double share = result->total ? (double)result->n_samples / result->total : 0;

	calm_progress_update(&session->progress,
			     ((double)session->group + share) / (double)runs(session));
}

static size_t settings_of(const struct session *session)
{
	return session->settings.count ? session->settings.count : 1;
}

static size_t layouts_of(const struct calm_point *point)
{
	return point->n_layouts ? point->n_layouts : 1;
}

/* Points of the document that one point of the plan becomes. */
static size_t variants_of(const struct session *session, const struct calm_point *point)
{
	return settings_of(session) * layouts_of(point);
}

static double estimate(const struct session *session, size_t index)
{
	const struct calm_machine *machine = &session->document.machine;

	return (double)(runs(session) * variants_of(session, &session->plan.points[index])) *
	       calm_plan_estimate(&session->plan.points[index], machine->caches,
				  machine->n_caches);
}

/* Elements that are further apart than lines are long take a line each. */
static const struct calm_cache *cache_for(const struct session *session,
					  const struct calm_measured *measured)
{
	const struct calm_machine *machine = &session->document.machine;
	const struct calm_point *point = &measured->point;
	uint64_t elements = point->n_layouts ? point->layouts[measured->layout].lines :
					       point->size_bytes / point->stride_bytes;
	size_t i;

	for (i = 0; i < machine->n_caches; i++) {
		const struct calm_cache *cache = &machine->caches[i];
		uint64_t touched = elements * cache->line_bytes;

		if (!touched || point->size_bytes < touched)
			touched = point->size_bytes;
		if (touched <= cache->size_bytes)
			return cache;
	}
	return NULL;
}

static void init_point(const struct session *session, size_t index, uint32_t layout,
		       struct calm_measured *measured)
{
	measured->point = session->plan.points[index];
	measured->place = index;
	measured->result.effective = measured->point;
	measured->layout = layout;
	measured->access_bytes = calm_loop_find(measured->point.loop)->access_bytes;
	measured->fits = cache_for(session, measured);
	measured->estimate_s = estimate(session, index);
}

static struct calm_measured *add_point(struct session *session)
{
	struct calm_document *document = &session->document;
	struct calm_measured *point;

	document->points = calm_grow(document->points, document->n_points,
				     &session->points_capacity, sizeof(*document->points));
	point = &document->points[document->n_points++];
	memset(point, 0, sizeof(*point));
	return point;
}

static void print_plan(struct session *session)
{
	uint32_t layout;
	size_t i;

	session->document.planned = true;
	session->document.ended_by = "dry-run";
	for (i = 0; i < session->plan.count; i++) {
		for (layout = 0; layout < layouts_of(&session->plan.points[i]); layout++) {
			init_point(session, i, layout, add_point(session));
			calm_out_point(session->out, &session->document);
		}
	}
}

static void note_refusal(struct session *session, const struct calm_measured *measured)
{
	char size[CALM_SIZE_TEXT_MAX];

	if (measured->stats.refused)
		add_notice(&session->document,
			   calm_text("size %s: no statistics: %s",
				     calm_size_text(size, measured->result.effective.size_bytes),
				     measured->stats.refused));
}

/* Room for what each event that is shown counts. */
static void list_counted(struct session *session, struct calm_measured *measured)
{
	size_t i;

	measured->counted = calm_alloc(session->events.count, sizeof(*measured->counted));
	for (i = 0; i < session->events.count; i++) {
		const struct calm_event *event = &session->events.events[i];

		measured->counted[i].event = event;
		measured->counted[i].reason = event->reason ? event->reason : "not measured";
	}
	measured->n_counted = session->events.count;
}

/* No event that the program knows of happens more often than this in a tick of the TSC. */
#define COUNTS_PER_TICK 32

/*
 * Whether a counter may have wrapped more than once in a window. Processors have 40 bits and more
 * (SDM vol. 3, CPUID 0AH), a hypervisor may say less.
 */
static bool may_wrap(const struct session *session, const struct calm_result *result,
		     const struct calm_event *event)
{
	const struct calm_pmu_info *pmu = &session->processor.pmu;
	uint32_t width = event->is_fixed ? pmu->fixed_width : pmu->width;
	double most = 0;
	size_t i;

	for (i = 0; i < result->n_samples; i++) {
		const struct calm_sample *sample = &result->samples[i];

		most = fmax(most, (double)sample->tsc / (sample->windows ? sample->windows : 1));
		most = fmax(most, (double)sample->tsc_double);
	}
	return width && most * COUNTS_PER_TICK >= ldexp(1, (int)width);
}

static void take_counts(struct session *session, struct calm_measured *measured, size_t group,
			const struct calm_result *result, const struct calm_stats *stats)
{
	size_t i;

	for (i = 0; group < session->n_groups && i < session->groups[group].count; i++) {
		struct calm_counted *counted = &measured->counted[session->groups[group].place[i]];
		struct calm_count count;

		calm_stats_count(result, i, &count);
		counted->per_access = count.per_access;
		counted->reason = stats->refused;
		if (may_wrap(session, result, counted->event))
			counted->reason = "the counter is too short for a window";
	}
}

/* From samples to numbers; the first run of a point gives its times. */
static void take_result(struct session *session, struct calm_measured *measured, size_t group,
			struct calm_result *result)
{
	const struct calm_machine *machine = &session->document.machine;
	struct calm_clock clock = session->clock;
	struct calm_stats stats;

	clock.has_event = clock.has_event && !group &&
			  !may_wrap(session, result, session->groups[0].events[0]);
	calm_stats_mark_frequency(result);
	if (session->opts->scheme == CALM_SCHEME_E1)
		calm_stats_keep_fastest(result, &clock);
	calm_stats_point(result, &stats);
	take_counts(session, measured, group, result, &stats);
	if (group)
		return;
	calm_stats_cycles(result, &clock, &stats);
	if (stats.tsc_per_access.valid && measured->access_bytes && machine->tsc_hz > 0)
		stats.bytes_per_second =
			calm_stats_rate(result, measured->access_bytes * machine->tsc_hz);
	measured->stats = stats;
}

/* More than one setting: each is visited twice, so half of the samples each time. */
static void put_settings(const struct session *session, struct calm_point *point)
{
	const struct calm_machine *machine = &session->document.machine;

	point->settings = session->settings.settings;
	point->n_settings = session->settings.count;
	point->toggle_laps = 1;
	if (machine->n_caches > 1 && point->size_bytes > machine->caches[1].size_bytes)
		point->toggle_laps = 2;
	if (point->n_settings > 1)
		point->samples = (point->samples + 1) / 2;
	if (session->opts->unsafe_prefetch)
		point->flags |= CALM_F_UNSAFE_PREFETCH;
}

/* The samples of one setting and layout, numbered anew, with all that the rounds have in common. */
static void split(const struct calm_result *all, size_t setting, size_t layout,
		  struct calm_result *one)
{
	size_t i;

	*one = *all;
	one->samples = calm_alloc(all->n_samples + 1, sizeof(*one->samples));
	one->rounds = calm_alloc(all->n_rounds + 1, sizeof(*one->rounds));
	if (all->n_rounds)
		memcpy(one->rounds, all->rounds, all->n_rounds * sizeof(*one->rounds));
	one->n_samples = 0;
	for (i = 0; i < all->n_samples; i++) {
		if (all->samples[i].setting != setting || all->samples[i].layout != layout)
			continue;
		one->samples[one->n_samples] = all->samples[i];
		one->samples[one->n_samples].index = (uint32_t)one->n_samples;
		one->n_samples++;
	}
}

static void free_result(struct calm_result *result)
{
	free(result->samples);
	free(result->rounds);
}

/* Gives each point of the document its part of a run; the first run's samples stay with it. */
static void share_out(struct session *session, struct calm_measured *points, size_t group,
		      const struct calm_result *all)
{
	size_t k, settings = settings_of(session);

	for (k = 0; k < variants_of(session, &points->point); k++) {
		struct calm_result one;

		split(all, k % settings, k / settings, &one);
		if (one.n_samples)
			take_result(session, &points[k], group, &one);
		if (group)
			free_result(&one);
		else
			points[k].result = one;
	}
}

/* A point is run again for each group of events that the counters hold at once. */
static int run_group(struct session *session, struct calm_measured *points, size_t group,
		     struct calm_error *error)
{
	const struct calm_watch watch = { is_cancelled, show_progress, session };
	struct calm_result result = { .total = 0 };
	struct calm_point point = points->point;
	size_t k;
	int err;

	session->group = group;
	point.flags |= CALM_F_APERF;
	if (session->settings.count)
		put_settings(session, &point);
	if (group < session->n_groups) {
		point.events = session->groups[group].events;
		point.n_events = session->groups[group].count;
	}
	err = session->backend->measure(session->state, &point, &result, &watch, error);
	/* the reply tells of the stride that a layout takes the place of */
	if (point.n_layouts)
		result.effective.stride_bytes = point.stride_bytes;
	/* what is not here is a status of its own only where it was asked for */
	if (err == -EADDRNOTAVAIL && !session->opts->memory_given)
		error->status = CALM_EXIT_FAILED;
	share_out(session, points, group, &result);
	for (k = 0; k < variants_of(session, &points->point); k++)
		points[k].complete = points[k].complete && !err &&
				     result.state == CALM_STATE_DONE;
	free_result(&result);
	return err;
}

static int run_groups(struct session *session, struct calm_measured *points,
		      struct calm_error *error)
{
	size_t group = 0, k, variants = variants_of(session, &points->point);
	int err;

	for (k = 0; k < variants; k++) {
		points[k].complete = true;
		list_counted(session, &points[k]);
	}
	do {
		err = run_group(session, points, group++, error);
	} while (!err && !ended_by && group < session->n_groups);
	for (k = 0; k < variants; k++)
		points[k].complete = points[k].complete && group >= session->n_groups;
	return err;
}

/* The points that a point of the plan becomes; those without samples go. */
static void show_points(struct session *session, struct calm_measured *points)
{
	size_t k, variants = variants_of(session, &points->point);

	for (k = 0; k < variants; k++) {
		struct calm_measured *measured = &points[k];

		if (!measured->result.n_samples) {
			free_result(&measured->result);
			free(measured->counted);
			*measured = (struct calm_measured){ .complete = false };
			continue;
		}
		*add_point(session) = *measured;
		note_refusal(session, measured);
		calm_out_point(session->out, &session->document);
	}
}

static int measure_point(struct session *session, size_t index, struct calm_error *error)
{
	size_t k, settings = settings_of(session);
	size_t variants = variants_of(session, &session->plan.points[index]);
	struct calm_measured *points = calm_alloc(variants, sizeof(*points));
	int err;

	for (k = 0; k < variants; k++) {
		init_point(session, index, (uint32_t)(k / settings), &points[k]);
		if (session->settings.count)
			points[k].setting = &session->settings.settings[k % settings];
	}
	calm_progress_point(&session->progress, points->estimate_s);
	err = run_groups(session, points, error);
	calm_progress_clear(&session->progress);
	show_points(session, points);
	free(points);
	return err;
}

/* Those as found: of several states of the prefetchers the first one. */
static struct calm_measured *list_as_found(const struct session *session, size_t *count)
{
	const struct calm_document *document = &session->document;
	const struct calm_setting *first = session->settings.settings;
	struct calm_measured *points = calm_alloc(document->n_points + 1, sizeof(*points));
	size_t i;

	*count = 0;
	for (i = 0; i < document->n_points; i++)
		if (document->points[i].setting == first)
			points[(*count)++] = document->points[i];
	return points;
}

static void explore_more(struct session *session)
{
	size_t i = session->plan.count, count;
	struct calm_measured *points;

	if (!session->job->explore)
		return;
	points = list_as_found(session, &count);
	session->job->explore(&session->input, points, count, &session->plan);
	free(points);
	session->progress.points = session->plan.count;
	for (; i < session->plan.count; i++)
		session->progress.total_s += estimate(session, i);
}

static void derive_as_found(struct session *session)
{
	size_t count;
	struct calm_measured *points = list_as_found(session, &count);

	session->job->derive(session->opts, points, count, &session->document.machine,
			     &session->derived);
	free(points);
}

/* Why the first thing that is told of the points is not. */
static const char *first_reason(const struct calm_derived *derived)
{
	size_t i;

	for (i = 0; i < derived->n_tlbs; i++)
		if (derived->tlbs[i].reason)
			return derived->tlbs[i].reason;
	for (i = 0; i < derived->n_levels; i++)
		if (derived->levels[i].reason)
			return derived->levels[i].reason;
	return "there is nothing to measure";
}

/* A search that cannot begin, for want of memory. */
static int refuse_no_points(struct session *session, struct calm_error *error)
{
	enum calm_exit status = session->opts->memory_given ? CALM_EXIT_ABSENT : CALM_EXIT_FAILED;
	char text[CALM_SIZE_TEXT_MAX];

	if (session->job->derive)
		derive_as_found(session);
	return calm_error_set(error, status, -ENODATA,
			      "nothing was measured: %s (%s of memory can be had now)",
			      first_reason(&session->derived),
			      calm_size_text(text, session->input.max_bytes));
}

static int measure_points(struct session *session, struct calm_error *error)
{
	double total_s = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < session->plan.count; i++)
		total_s += estimate(session, i);
	if (session->plan.count)
		calm_progress_begin(&session->progress, session->opts->no_progress,
				    session->plan.count, total_s);
	for (i = 0; !err && !ended_by && i < session->plan.count; i++) {
		err = measure_point(session, i, error);
		if (!err && !ended_by && i + 1 == session->plan.count)
			explore_more(session);
	}
	if (!err && !ended_by && !session->document.n_points)
		err = refuse_no_points(session, error);
	session->document.complete = !err && !ended_by;
	session->document.ended_by = err ? "error" : ending_name();
	return err;
}

static void draw_facts(struct session *session)
{
	struct calm_document *document = &session->document;

	if (document->planned || (!session->job->derive && !session->settings.count))
		return;
	if (session->job->derive)
		derive_as_found(session);
	if (session->settings.count > 1)
		calm_derive_prefetch(document->points, document->n_points, &session->derived);
	document->derived = &session->derived;
}

/* A failure before the first sample leaves no document, only its words. */
static int measure_and_write(struct session *session, struct calm_error *error)
{
	struct calm_error write_error;
	int err = 0;

	if (session->opts->dry_run)
		print_plan(session);
	else
		err = measure_points(session, error);
	if (err && !session->document.n_points)
		return err;
	draw_facts(session);
	if (err)
		add_notice(&session->document, calm_text("ended early: %s", error->text));
	if (!calm_out_end(session->out, &session->document, &write_error)) {
		session->out = NULL;
		return err;
	}
	session->out = NULL;
	if (err)
		calm_say("%s", write_error.text);
	else
		*error = write_error;
	return err ? err : -EIO;
}

static int work(struct session *session, struct calm_error *error)
{
	int err;

	err = look_at_machine(session, error);
	if (!err)
		err = open_backend(session, error);
	if (!err)
		err = prepare_prefetch(session, error);
	if (!err)
		err = make_plan(session, error);
	if (!err)
		err = calm_out_open(&session->out, session->opts, error);
	if (!err)
		catch_signals(session->opts);
	if (!err)
		err = prepare_events(session, error);
	if (!err)
		err = measure_and_write(session, error);
	return err;
}

static void session_free(struct session *session)
{
	struct calm_document *document = &session->document;
	size_t i;

	calm_out_drop(session->out);
	for (i = 0; document->points && i < document->n_points; i++) {
		free(document->points[i].result.samples);
		free(document->points[i].result.rounds);
		free(document->points[i].counted);
	}
	free(document->points);
	for (i = 0; i < document->n_notices; i++)
		free(document->notices[i]);
	free(document->notices);
	free(session->derived.effects);
	calm_prefetch_free_settings(&session->settings);
	calm_prefetch_free(&session->prefetchers);
	calm_plan_free(&session->plan);
	free(session->groups);
	calm_events_free_list(&session->events);
	session->backend->close(session->state);
	free(session->module.processors);
	free(session->module.nodes);
	calm_topo_free(session->topo);
}

/* By the options, which are those of the job. */
static int measure(const struct calm_job *job, const char *command, struct calm_run_opts *opts,
		   struct calm_error *error)
{
	struct session session = {
		.job = job,
		.opts = opts,
		.backend = &calm_backend_kernel,
		.document = { .command = command, .subject = job->subject, .opts = opts },
	};
	int err = work(&session, error);

	session_free(&session);
	return err;
}

int calm_measure(const struct calm_job *job, const char *summary, int argc, char **argv)
{
	struct calm_error error = { CALM_EXIT_DONE, "" };
	struct calm_job chosen = *job;
	struct calm_run_opts opts;
	int err;

	err = calm_opt_parse(job->groups, job->word, summary, argc, argv, &opts, &error);
	if (!err && job->order)
		opts.order = job->order;
	if (!err && job->choose)
		err = job->choose(&opts, &chosen, &error);
	if (!err)
		err = measure(&chosen, argv[0], &opts, &error);
	if (err)
		calm_say("%s", error.text);
	calm_opt_free(&opts);
	if (err)
		return error.status;
	return ended_by ? CALM_EXIT_SIGNAL + ended_by : CALM_EXIT_DONE;
}
