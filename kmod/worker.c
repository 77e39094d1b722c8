// SPDX-License-Identifier: GPL-2.0-only
/* Takes samples: cuts passes into slices and brings the caches back before each. */
#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/numa.h>
#include <linux/sched.h>
#include <linux/topology.h>
#include <uapi/linux/calm.h>

#include "worker.h"

/*
 * Positions that a lead-in repeats. What ran between two slices took lines out
 * of the caches; the accesses just before the window bring them back.
 */
#define CALM_LEAD_IN 4096

/* Elements handled between two chances for others to run. */
#define BUILD_AT_ONCE 65536

/* Tenths of a slice that a window is planned to fill. */
#define WINDOW_TENTHS 9

static int fail(struct calm_worker *worker, int err, const char *why)
{
	worker->why = why;
	return err;
}

static bool stopped(const struct calm_worker *worker)
{
	return READ_ONCE(*worker->stop);
}

static int begin(struct calm_worker *worker)
{
	int err = calm_quiet_begin(&worker->quiet);

	if (err != -EXDEV)
		return err;
	/* Threads are pushed off a CPU that goes offline before its teardown is called. */
	if (!cpu_active(worker->cpu))
		return fail(worker, -ENODEV, "the CPU went offline");
	return fail(worker, err, "the thread was moved off its CPU");
}

/* Runs the loop from @at. Returns TSC ticks. */
static u64 run_from(struct calm_worker *worker, void **at, u64 accesses)
{
	struct calm_pass pass = { .at = *at, .accesses = accesses };

	worker->spec->loop->run(&pass);
	*at = pass.at;
	return pass.tsc_end - pass.tsc_begin;
}

/* Runs the loop onward from where the cycle stands. Returns TSC ticks. */
static u64 run_on(struct calm_worker *worker, u64 accesses)
{
	worker->position = (worker->position + accesses) % worker->chain.lines;
	return run_from(worker, &worker->at, accesses);
}

/* Repeats the last min(lines, CALM_LEAD_IN) positions or some more, untimed. */
static void lead_in(struct calm_worker *worker)
{
	u64 lines = worker->chain.lines, from, mark, count;
	void *at = worker->at;

	if (lines <= CALM_LEAD_IN) {
		run_from(worker, &at, lines);
		return;
	}
	from = (worker->position + lines - CALM_LEAD_IN) % lines;
	mark = from / CALM_LEAD_IN;
	count = (worker->position + lines - mark * CALM_LEAD_IN) % lines;
	at = worker->marks[mark];
	run_from(worker, &at, count);
}

static int build_chain(struct calm_worker *worker, u64 seed)
{
	enum calm_chain_phase phase;

	calm_chain_init(&worker->chain, worker->buf.base, worker->spec->size_bytes,
			worker->spec->stride_bytes, seed);
	do {
		cond_resched();
		if (stopped(worker))
			return -ECANCELED;
		phase = calm_chain_step(&worker->chain, BUILD_AT_ONCE);
	} while (phase < CALM_CHAIN_DONE);

	if (phase == CALM_CHAIN_BROKEN)
		return fail(worker, -EIO, "the chain is not one cycle; memory may be faulty");
	worker->at = calm_chain_element(&worker->chain, 0);
	worker->position = 0;
	return 0;
}

/*
 * Goes once round the cycle in as many slices as it takes. Notes the way on
 * the first lap. Returns the lap's TSC ticks in @ticks.
 */
static int lap(struct calm_worker *worker, u64 *ticks)
{
	u64 left = worker->chain.lines;
	int err;

	*ticks = 0;
	while (left) {
		err = begin(worker);
		if (err)
			return err;
		do {
			u64 accesses = min_t(u64, left, CALM_LEAD_IN);

			worker->marks[worker->position / CALM_LEAD_IN] = worker->at;
			*ticks += run_on(worker, accesses);
			left -= accesses;
		} while (left && calm_quiet_left(&worker->quiet));
		calm_quiet_end(&worker->quiet);
		calm_quiet_rest(&worker->quiet);
	}
	return 0;
}

/* Plans windows by the time that the last warm-up lap took. */
static void plan_window(struct calm_worker *worker, u64 lap_ticks)
{
	u64 budget = worker->quiet.limit_tsc * WINDOW_TENTHS / 10;
	u64 lead = min_t(u64, worker->chain.lines, 2 * CALM_LEAD_IN);
	u64 accesses = mul_u64_u64_div_u64(budget, worker->chain.lines, max(lap_ticks, 1ULL));

	worker->window = accesses > 2 * lead ? accesses - lead : max(accesses / 2, 1ULL);
}

static int warm_up(struct calm_worker *worker)
{
	u64 ticks;
	u32 i;
	int err;

	worker->marks = kvmalloc_array(DIV_ROUND_UP_ULL(worker->chain.lines, CALM_LEAD_IN),
				       sizeof(*worker->marks), GFP_KERNEL | __GFP_NOWARN);
	if (!worker->marks)
		return fail(worker, -ENOMEM, "no memory for the marks of the lead-in");
	for (i = 0; i <= worker->spec->warmup; i++) {
		err = lap(worker, &ticks);
		if (err)
			return err;
	}
	plan_window(worker, ticks);
	return 0;
}

/* One slice with one window of a sample, and an empty window before if asked for. */
static int take_window(struct calm_worker *worker, struct calm_sample *sample, u64 accesses,
		       u64 *ticks, u64 *empty_ticks)
{
	int err = begin(worker);
	void *at;

	if (err)
		return err;
	lead_in(worker);
	if (empty_ticks) {
		at = worker->at;
		*empty_ticks = run_from(worker, &at, 0);
	}
	*ticks += run_on(worker, accesses);
	sample->disturb |= calm_quiet_end(&worker->quiet);
	sample->slice_tsc = max(sample->slice_tsc, worker->quiet.span_tsc);
	calm_quiet_rest(&worker->quiet);
	return 0;
}

static int take_sample(struct calm_worker *worker, struct calm_sample *sample)
{
	u64 left = worker->spec->loads;
	int err;

	while (left) {
		u64 accesses = min(left, worker->window);

		err = take_window(worker, sample, accesses, &sample->tsc,
				  sample->windows ? NULL : &sample->tsc_empty);
		if (err)
			return err;
		sample->windows++;
		left -= accesses;
	}
	if (!(worker->spec->flags & CALM_F_TWO_LENGTHS) ||
	    2 * worker->spec->loads > worker->window)
		return 0;
	return take_window(worker, sample, 2 * worker->spec->loads, &sample->tsc_double, NULL);
}

static void report_round(struct calm_worker *worker, u32 index)
{
	const struct calm_buf *buf = &worker->buf;
	struct calm_round round = {
		.index = index,
		.cpu = worker->cpu,
		.seed = worker->spec->seed + index,
		.leaves_4k = buf->leaves_4k,
		.leaves_2m = buf->leaves_2m,
		.leaves_1g = buf->leaves_1g,
		.adjacent_frames = buf->adjacent_frames,
		.contiguous_bytes = buf->contiguous_bytes,
		.node_mask = buf->node_mask,
		.lines = worker->chain.lines,
	};

	worker->sink->round(worker, &round);
}

static int take_samples(struct calm_worker *worker, u32 index)
{
	u32 i;
	int err;

	for (i = 0; i < worker->spec->samples; i++) {
		struct calm_sample sample = { .cpu = worker->cpu, .round = index };

		err = take_sample(worker, &sample);
		if (err)
			return err;
		worker->sink->sample(worker, &sample);
	}
	return 0;
}

static int get_buffer(struct calm_worker *worker, u64 seed)
{
	struct calm_buf_spec spec = {
		.bytes = worker->spec->size_bytes,
		.pages = worker->spec->pages,
		.node = worker->spec->node,
		.seed = seed,
		.stop = worker->stop,
	};
	int err;

	if (spec.node == NUMA_NO_NODE)
		spec.node = cpu_to_mem(worker->cpu);
	err = calm_buf_get(&worker->buf, &spec);
	return err ? fail(worker, err, spec.why) : 0;
}

static int run_round(struct calm_worker *worker, u32 index)
{
	u64 seed = worker->spec->seed + index;
	int err;

	err = get_buffer(worker, seed);
	if (err)
		return err;
	err = build_chain(worker, seed);
	if (err)
		goto put_buffer;
	report_round(worker, index);
	err = warm_up(worker);
	if (!err)
		err = take_samples(worker, index);
	kvfree(worker->marks);
put_buffer:
	calm_buf_put(&worker->buf);
	return err;
}

int calm_worker_run(struct calm_worker *worker)
{
	u32 i;
	int err;

	calm_quiet_init(&worker->quiet, worker->cpu, worker->stop);
	for (i = 0; i < worker->spec->rounds; i++) {
		err = run_round(worker, i);
		if (err)
			return err;
	}
	return 0;
}
