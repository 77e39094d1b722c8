// SPDX-License-Identifier: GPL-2.0-only
/* Takes samples: cuts passes into slices and brings the caches back before each. */
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/numa.h>
#include <linux/sched.h>
#include <asm/fpu/api.h>
#include <asm/tsc.h>
#include <uapi/linux/calm.h>

#include "leadin.h"
#include "worker.h"

/*
 * Accesses that a lead-in repeats, or less where a quarter of a slice holds no
 * more. What ran between two slices took lines out of the caches; the accesses
 * just before the window bring them back.
 */
#define LEAD_IN 4096

/* Elements handled between two chances for others to run. */
#define BUILD_AT_ONCE 8192

/* Tenths of a slice that lead-in and window are planned to fill. */
#define SLICE_TENTHS 9

/* Accesses whose time windows are planned by. */
#define PILOT_ACCESSES 65536

/* How long wide vectors are used before interrupts go off, and accesses between looks at that. */
#define VECTOR_WAKE_US 50
#define WAKE_AT_ONCE 256

static int fail(struct calm_worker *worker, int err, const char *why)
{
	worker->why = why;
	return err;
}

static bool stopped(const struct calm_worker *worker)
{
	return calm_is_stopped(worker->stop);
}

static bool uses_vectors(const struct calm_worker *worker)
{
	return worker->spec->loop->needs & CALM_LOOP_VECTORS;
}

/*
 * A core powers the upper parts of its vector unit only while they are used, and is slow for the
 * first 14 us (Agner Fog, "The microarchitecture of Intel, AMD and VIA CPUs", on Skylake). All that
 * this reads is one element.
 */
static void wake_vectors(struct calm_worker *worker)
{
	u64 begin = rdtsc_ordered(), ticks = div_u64(tsc_khz * (u64)VECTOR_WAKE_US, 1000);
	struct calm_pass pass;

	do {
		pass = calm_visit_stay(&worker->visit, WAKE_AT_ONCE);
		worker->spec->loop->run(&pass);
	} while (rdtsc_ordered() - begin < ticks);
}

/* Threads are pushed off a CPU that goes offline before its teardown is called. */
static int explain(struct calm_worker *worker, int err)
{
	if (err == -EXDEV && !cpu_active(worker->cpu))
		return fail(worker, -ENODEV, "the CPU went offline");
	return err ? fail(worker, err, worker->quiet.why) : 0;
}

static int begin(struct calm_worker *worker, bool count)
{
	int err;

	if (uses_vectors(worker))
		kernel_fpu_begin();
	if (worker->spec->loop->needs & (CALM_LOOP_AVX2 | CALM_LOOP_AVX512))
		wake_vectors(worker);
	err = calm_quiet_begin(&worker->quiet, count);
	if (err && uses_vectors(worker))
		kernel_fpu_end();
	return explain(worker, err);
}

static int end(struct calm_worker *worker, u32 *disturb)
{
	int err = calm_quiet_end(&worker->quiet, disturb);

	if (uses_vectors(worker))
		kernel_fpu_end();
	calm_quiet_rest(&worker->quiet);
	return explain(worker, err);
}

/* Runs the loop onward from where it stands, without counters. Returns TSC ticks. */
static u64 run_on(struct calm_worker *worker, u64 accesses)
{
	struct calm_pass pass = calm_visit_onward(&worker->visit, accesses, CALM_PASS_NO_COUNTERS);

	worker->spec->loop->run(&pass);
	calm_visit_arrive(&worker->visit, &pass);
	return pass.tsc_ticks;
}

/* Measures: the same for a pass, and what its counters gained is added to @count. */
static noinline void measure(struct calm_worker *worker, struct calm_pass *pass, u64 *count)
{
	const struct calm_pmu_plan *plan = &worker->quiet.plan;
	u32 i;

	worker->spec->loop->run(pass);
	calm_visit_arrive(&worker->visit, pass);
	for (i = 0; i < plan->nr; i++)
		count[i] += calm_pmu_cut(plan, i, pass->count[i]);
}

/* Repeats the accesses before the place that the loop stands at, untimed. */
static void repeat(struct calm_worker *worker, struct calm_pass *pass, u64 accesses)
{
	*pass = calm_visit_again(&worker->visit, accesses);
	worker->spec->loop->run(pass);
}

/* Takes all steps of something long, with chances for others to run, and to end the job. */
static int go_through(struct calm_worker *worker, int (*step)(struct calm_visit *visit, u64 budget),
		      const char *why)
{
	int err;

	do {
		cond_resched();
		if (stopped(worker))
			return -ECANCELED;
		err = step(&worker->visit, BUILD_AT_ONCE);
	} while (err > 0);
	return err ? fail(worker, err, why) : 0;
}

/*
 * Goes once round the cycle in as many slices as it takes. Notes the way on
 * the first lap. Returns the lap's TSC ticks in @ticks.
 */
static int lap(struct calm_worker *worker, u64 *ticks)
{
	u64 left = worker->visit.lap;
	u32 disturb = 0;
	int err;

	*ticks = 0;
	while (left) {
		err = begin(worker, false);
		if (err)
			return err;
		do {
			u64 accesses = min_t(u64, left, CALM_MARK_STEP * worker->spec->lanes);

			calm_visit_mark(&worker->visit);
			*ticks += run_on(worker, accesses);
			left -= accesses;
		} while (left && calm_quiet_left(&worker->quiet));
		err = end(worker, &disturb);
		if (err)
			return err;
	}
	return 0;
}

/* Accesses that fit into a part of a slice by what the pilot took. */
static u64 accesses_in(const struct calm_worker *worker, u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, worker->pilot, max(worker->pilot_ticks, 1ULL));
}

/*
 * A loop that repeats accesses right before its window by itself needs one rehearsal, to have its
 * code at hand. Any other goes round a small buffer several times: with tree-PLRU a line that comes
 * back may push out another one of its set, which has to come back too.
 */
static void plan_rehearsals(struct calm_worker *worker)
{
	u64 lap = min(worker->lead, worker->visit.lines);

	worker->rehearsal = lap;
	worker->rehearsals = div64_u64(worker->lead, max(lap, 1ULL));
	if (!calm_visit_can_lead(&worker->visit))
		return;
	worker->rehearsal = min_t(u64, worker->lead, CALM_MARK_STEP);
	worker->rehearsals = 1;
}

/* Plans the slices of a sample. Their limit may have changed since the last one. */
static void plan_slices(struct calm_worker *worker)
{
	u64 budget = worker->quiet.limit_tsc * SLICE_TENTHS / 10;
	u64 quarter = accesses_in(worker, budget / 4);
	u64 all = accesses_in(worker, budget);
	u64 lead = min_t(u64, LEAD_IN, max(quarter, 1ULL));

	worker->lead = lead;
	plan_rehearsals(worker);
	/* with what it takes to begin at a mark, and what leads to the empty window */
	if (!calm_visit_can_lead(&worker->visit))
		lead = 0;
	lead += worker->rehearsals *
		(worker->rehearsal + min_t(u64, worker->rehearsal, CALM_MARK_STEP)) +
		2 * CALM_MARK_STEP;
	worker->window = calm_visit_whole(&worker->visit, all > lead ? all - lead : all / 4);
}

/* Plans the pilot's own slice by what the last lap took. */
static void plan_by_lap(struct calm_worker *worker, u64 ticks)
{
	worker->pilot = worker->visit.lap;
	worker->pilot_ticks = ticks;
	plan_slices(worker);
}

/* Times a window, less an empty one: laps were timed with all their windows' overhead. */
static int run_pilot(struct calm_worker *worker)
{
	u64 accesses = min3(worker->spec->loads, (u64)PILOT_ACCESSES, worker->window);
	u64 ticks, empty_ticks;
	struct calm_pass pass;
	u32 disturb = 0;
	int err = begin(worker, false);

	if (err)
		return err;
	accesses = calm_visit_whole(&worker->visit, accesses);
	repeat(worker, &pass, worker->lead);
	empty_ticks = run_on(worker, 0);
	ticks = run_on(worker, accesses);
	err = end(worker, &disturb);
	worker->pilot = accesses;
	worker->pilot_ticks = ticks > empty_ticks ? ticks - empty_ticks : 1;
	return err;
}

/* Whether a round goes through what it compares from the last to the first. */
static bool is_backward(const struct calm_worker *worker, u32 round)
{
	return (hash_64(worker->spec->seed, 1) ^ round) & 1;
}

/* The state of prefetchers during a part of a round: all in turn, and back again. */
static u32 setting_at(const struct calm_worker *worker, u32 round, u32 visit)
{
	u32 nr = worker->spec->nr_settings;
	u32 place = visit < nr ? visit : 2 * nr - 1 - visit;

	return is_backward(worker, round) ? nr - 1 - place : place;
}

static u32 setting_visits(const struct calm_job_spec *spec)
{
	return spec->nr_settings > 1 ? 2 * spec->nr_settings : 1;
}

static u32 layout_visits(const struct calm_job_spec *spec)
{
	return max(spec->nr_layouts, 1U);
}

u32 calm_worker_visits(const struct calm_job_spec *spec)
{
	return setting_visits(spec) * layout_visits(spec);
}

static int change_setting(struct calm_worker *worker, u32 index)
{
	worker->setting = index;
	return worker->sink->setting(worker, index);
}

/* Laps until what the caches hold no longer depends on what was before. */
static int settle(struct calm_worker *worker, u32 laps)
{
	u64 ticks;
	u32 i;
	int err;

	for (i = 0; i < laps; i++) {
		err = lap(worker, &ticks);
		if (err)
			return err;
	}
	plan_by_lap(worker, ticks);
	return run_pilot(worker);
}

static int warm_up(struct calm_worker *worker, u32 index)
{
	int err;

	if (worker->spec->nr_settings) {
		err = change_setting(worker, setting_at(worker, index, 0));
		if (err)
			return err;
	}
	return settle(worker, worker->spec->warmup + 1);
}

/* What one window adds to. */
struct target {
	u64 *ticks;
	u64 *count;
	u64 *empty_ticks;	/* NULL: no empty window before it */
	u64 *empty_count;
	u64 *aperf;		/* NULL: not wanted */
	u64 *mperf;
	u64 *clock_tsc;
	u32 *interrupts;	/* NULL: its gap is not within the pass */
};

/*
 * Behind a few accesses, or the code would be cold; and before the lead-in, since what is written
 * here may push out lines of the loop.
 */
static void measure_empty(struct calm_worker *worker, struct calm_pass *pass,
			  const struct target *target)
{
	if (!target->empty_ticks)
		return;
	repeat(worker, pass, 1);
	*pass = calm_visit_onward(&worker->visit, 0, worker->quiet.plan.list);
	measure(worker, pass, target->empty_count);
	*target->empty_ticks += pass->tsc_ticks;
}

/*
 * What leads to a window, each time with a window that counts nothing: or the module's own lines
 * would come back only in the timed one.
 */
static void rehearse(struct calm_worker *worker, struct calm_pass *pass, u64 *count)
{
	u64 i;

	for (i = 0; i < worker->rehearsals; i++) {
		repeat(worker, pass, worker->rehearsal);
		*pass = calm_visit_onward(&worker->visit, 0, CALM_PASS_NO_COUNTERS);
		measure(worker, pass, count);
	}
}

/* APERF, the TSC and MPERF around a window, outside its time stamps. */
static void read_perf_clocks(struct calm_worker *worker, const struct target *target, int sign)
{
	u64 aperf, mperf, tsc;

	if (!(worker->spec->flags & CALM_F_APERF) || !target->aperf)
		return;
	calm_quiet_perf_clocks(&aperf, &mperf, &tsc);
	*target->aperf += sign * aperf;
	*target->mperf += sign * mperf;
	*target->clock_tsc += sign * tsc;
}

/* One slice with one window of a sample. */
static int take_window(struct calm_worker *worker, struct calm_sample *sample, u64 accesses,
		       const struct target *target)
{
	struct calm_pass pass;
	int err = begin(worker, true);

	if (err)
		return err;
	measure_empty(worker, &pass, target);
	rehearse(worker, &pass, target->count);
	read_perf_clocks(worker, target, -1);
	pass = calm_visit_onward(&worker->visit, accesses, worker->quiet.plan.list);
	if (calm_visit_can_lead(&worker->visit))
		calm_visit_lead(&worker->visit, &pass, worker->lead);
	measure(worker, &pass, target->count);
	read_perf_clocks(worker, target, 1);
	*target->ticks += pass.tsc_ticks;
	err = end(worker, &sample->disturb);
	sample->counts_smis = worker->quiet.counts_smis;
	sample->smis += worker->quiet.smis;
	if (target->interrupts)
		*target->interrupts += worker->quiet.gap_interrupts;
	sample->slice_tsc = max(sample->slice_tsc, worker->quiet.span_tsc);
	if (!err && !calm_visit_check(&worker->visit, &pass))
		return fail(worker, -EIO,
			    "the loop did not read what its buffer holds; memory may be faulty");
	return err;
}

static bool fits_twice(const struct calm_worker *worker)
{
	return worker->spec->flags & CALM_F_TWO_LENGTHS &&
	       2 * worker->spec->loads <= worker->window;
}

static int take_sample(struct calm_worker *worker, struct calm_sample *sample,
		       struct calm_counts *counts)
{
	struct target pass = {
		.ticks = &sample->tsc,
		.count = counts->pass,
		.empty_ticks = &sample->tsc_empty,
		.empty_count = counts->empty,
		.aperf = &sample->aperf,
		.mperf = &sample->mperf,
		.clock_tsc = &sample->clock_tsc,
	};
	const struct target twice = {
		.ticks = &sample->tsc_double,
		.count = counts->twice,
	};
	u64 left = worker->spec->loads;
	int err;

	plan_slices(worker);
	for (; left; sample->windows++) {
		u64 accesses = min(left, worker->window);

		err = take_window(worker, sample, accesses, &pass);
		if (err)
			return err;
		pass.empty_ticks = NULL;
		pass.interrupts = &sample->interrupts;
		left -= accesses;
	}
	if (!fits_twice(worker))
		return 0;
	return take_window(worker, sample, 2 * worker->spec->loads, &twice);
}

static void report_round(struct calm_worker *worker, u32 index)
{
	struct calm_round round = {
		.index = index,
		.cpu = worker->cpu,
		.seed = worker->spec->seed + index,
		.lines = worker->visit.lines,
		.mapping = worker->buf.mapping,
	};

	worker->sink->round(worker, &round);
}

static int take_samples(struct calm_worker *worker, u32 index)
{
	u32 i;
	int err;

	for (i = 0; i < worker->spec->samples; i++) {
		struct calm_sample sample = {
			.cpu = worker->cpu,
			.round = index,
			.setting = worker->setting,
			.layout = worker->layout,
		};
		struct calm_counts counts = {};

		err = take_sample(worker, &sample, &counts);
		if (err)
			return err;
		worker->sink->sample(worker, &sample, &counts);
	}
	return 0;
}

static int take_all_samples(struct calm_worker *worker, u32 index)
{
	u32 visit, setting;
	int err;

	err = take_samples(worker, index);
	for (visit = 1; !err && visit < setting_visits(worker->spec); visit++) {
		setting = setting_at(worker, index, visit);
		if (setting != worker->setting) {
			err = change_setting(worker, setting);
			err = err ?: settle(worker, worker->spec->toggle_laps);
		}
		err = err ?: take_samples(worker, index);
	}
	return err;
}

static int verify_counters(struct calm_worker *worker)
{
	return explain(worker, calm_quiet_verify(&worker->quiet));
}

static int get_buffer(struct calm_worker *worker, u64 seed)
{
	struct calm_buf_spec *spec = &worker->buf_spec;
	int err;

	*spec = (struct calm_buf_spec){
		.bytes = worker->spec->size_bytes,
		.pages = worker->spec->pages,
		.contiguous = worker->spec->flags & CALM_F_CONTIGUOUS,
		.node = worker->spec->node,
		.seed = seed,
		.stop = worker->stop,
	};
	if (spec->node == NUMA_NO_NODE)
		spec->node = calm_buf_node_of(worker->cpu);
	err = calm_buf_get(&worker->buf, spec);
	return err ? fail(worker, err, spec->why) : 0;
}

static int verify_buffer(struct calm_worker *worker)
{
	int err = calm_buf_verify(&worker->buf, &worker->buf_spec);

	return err ? fail(worker, err, worker->buf_spec.why) : 0;
}

/* A loop that copies makes one more lap, into a place that is cleared before. */
static int prove(struct calm_worker *worker)
{
	u64 ticks;
	int err;

	if (!calm_visit_begin_proof(&worker->visit))
		return 0;
	err = go_through(worker, calm_visit_clear, NULL);
	if (!err)
		err = lap(worker, &ticks);
	return err ?: go_through(worker, calm_visit_proof,
				 "the copy is not its source; memory may be faulty");
}

/* A part of a round: what the loop needs in the buffer, and the samples of it. */
static int run_layout(struct calm_worker *worker, u32 index, u32 visit)
{
	const struct calm_job_spec *spec = worker->spec;
	u32 nr = layout_visits(spec);
	int err;

	worker->layout = is_backward(worker, index) ? nr - 1 - visit : visit;
	err = calm_visit_init(&worker->visit, spec,
			      spec->nr_layouts ? &spec->layouts[worker->layout] : NULL,
			      worker->buf.base, spec->seed + index);
	if (err)
		err = fail(worker, err, "no memory for the marks of the lead-in");
	else
		err = go_through(worker, calm_visit_build,
				 "the chain is not one cycle; memory may be faulty");
	if (err)
		goto free_visit;
	if (!visit)
		report_round(worker, index);
	err = warm_up(worker, index);
	if (!err)
		err = verify_counters(worker);
	if (!err)
		err = take_all_samples(worker, index);
	if (!err)
		err = prove(worker);
free_visit:
	calm_visit_free(&worker->visit);
	return err;
}

static int run_round(struct calm_worker *worker, u32 index)
{
	u32 visit;
	int err;

	err = get_buffer(worker, worker->spec->seed + index);
	if (err)
		return err;
	for (visit = 0; !err && visit < layout_visits(worker->spec); visit++)
		err = run_layout(worker, index, visit);
	if (!err)
		err = verify_buffer(worker);
	calm_buf_put(&worker->buf);
	return err;
}

int calm_worker_run(struct calm_worker *worker)
{
	u32 i;
	int err;

	err = calm_quiet_init(&worker->quiet, worker->cpu, worker->stop, worker->spec);
	if (err)
		return fail(worker, err, worker->quiet.why);
	worker->quiet.prefetch = worker->prefetch;
	for (i = 0; i < worker->spec->rounds; i++) {
		err = run_round(worker, i);
		if (err)
			return err;
	}
	return 0;
}
