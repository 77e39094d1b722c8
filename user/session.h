/* SPDX-License-Identifier: GPL-2.0-only */
/* A measuring command at work, for the files that share it: measure.c, prepare.c and point.c. */
#ifndef CALM_SESSION_H
#define CALM_SESSION_H

#include "backend/backend.h"
#include "counters.h"
#include "events.h"
#include "measure.h"
#include "out/out.h"
#include "plan.h"
#include "prefetch.h"
#include "progress.h"
#include "stats.h"
#include "topo.h"

/**
 * struct calm_session - a command at work
 * @job: what it measures
 * @opts: how
 * @chose_sizes: its sizes are those of choose_size(), and were not asked for
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
struct calm_session {
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

/**
 * calm_session_ended() - whether a signal asks for the end
 * @session: not looked at: a signal ends the program's only one; struct calm_watch has it so
 *
 * Return: true if what is measured so far is to be written.
 */
bool calm_session_ended(void *session);

/**
 * calm_session_note() - tell something, on standard error and in the document
 * @session: the session
 * @format: printf format of what is told
 */
void calm_session_note(struct calm_session *session, const char *format, ...) CALM_PRINTF(2, 3);

/*
 * What comes before the first point, in this order; dry runs need neither module nor events. Each
 * returns 0 or a negative errno, with @error filled.
 */
int calm_session_machine(struct calm_session *session, struct calm_error *error);
int calm_session_backend(struct calm_session *session, struct calm_error *error);
int calm_session_prefetch(struct calm_session *session, struct calm_error *error);
int calm_session_plan(struct calm_session *session, struct calm_error *error);
int calm_session_events(struct calm_session *session, struct calm_error *error);

/**
 * calm_session_estimate() - how long a point will take
 * @session: the session
 * @index: the point's place in the plan
 *
 * Return: seconds, of all its runs.
 */
double calm_session_estimate(const struct calm_session *session, size_t index);

/**
 * calm_session_print_plan() - make the plan the document's points
 * @session: the session
 */
void calm_session_print_plan(struct calm_session *session);

/**
 * calm_session_point() - measure a point, and add to the document what came of it
 * @session: the session
 * @index: the point's place in the plan
 * @error: filled on failure
 *
 * Return: 0 or a negative errno; what was measured before a failure is in the document.
 */
int calm_session_point(struct calm_session *session, size_t index, struct calm_error *error);

#endif
