// SPDX-License-Identifier: GPL-2.0-only
/* From a command's options to its document: the way that all measuring commands go. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "derive/prefetch.h"
#include "session.h"

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

bool calm_session_ended(void *session)
{
	(void)session;
	return ended_by != 0;
}

static const char *ending_name(void)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(endings); i++)
		if (endings[i].number == ended_by)
			return endings[i].name;
	return NULL;
}

/* Those as found: of several states of the prefetchers the first one. */
static struct calm_measured *list_as_found(const struct calm_session *session, size_t *count)
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

static void explore_more(struct calm_session *session)
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
		session->progress.total_s += calm_session_estimate(session, i);
}

static void derive_as_found(struct calm_session *session)
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
static int refuse_no_points(struct calm_session *session, struct calm_error *error)
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

static int measure_points(struct calm_session *session, struct calm_error *error)
{
	double total_s = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < session->plan.count; i++)
		total_s += calm_session_estimate(session, i);
	if (session->plan.count)
		calm_progress_begin(&session->progress, session->opts->no_progress,
				    session->plan.count, total_s);
	for (i = 0; !err && !ended_by && i < session->plan.count; i++) {
		err = calm_session_point(session, i, error);
		if (!err && !ended_by && i + 1 == session->plan.count)
			explore_more(session);
	}
	if (!err && !ended_by && !session->document.n_points)
		err = refuse_no_points(session, error);
	session->document.complete = !err && !ended_by;
	session->document.ended_by = err ? "error" : ending_name();
	return err;
}

static void draw_facts(struct calm_session *session)
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
static int measure_and_write(struct calm_session *session, struct calm_error *error)
{
	struct calm_error write_error;
	int err = 0;

	if (session->opts->dry_run)
		calm_session_print_plan(session);
	else
		err = measure_points(session, error);
	if (err && !session->document.n_points)
		return err;
	draw_facts(session);
	if (err)
		calm_session_note(session, "ended early: %s", error->text);
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

static int work(struct calm_session *session, struct calm_error *error)
{
	int err;

	err = calm_session_machine(session, error);
	if (!err)
		err = calm_session_backend(session, error);
	if (!err)
		err = calm_session_prefetch(session, error);
	if (!err)
		err = calm_session_plan(session, error);
	if (!err)
		err = calm_out_open(&session->out, session->opts, error);
	if (!err)
		catch_signals(session->opts);
	if (!err)
		err = calm_session_events(session, error);
	if (!err)
		err = measure_and_write(session, error);
	return err;
}

static void session_free(struct calm_session *session)
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
	struct calm_session session = {
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
