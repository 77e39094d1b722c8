// SPDX-License-Identifier: GPL-2.0-only
/* The job slot: starts a job's workers, keeps its samples, and ends it for many reasons. */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/overflow.h>
#include <linux/pm_qos.h>
#include <linux/reboot.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/suspend.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <asm/tsc.h>
#include <uapi/linux/calm.h>

#include "compat.h"
#include "job.h"
#include "model.h"
#include "pmu.h"
#include "prefetch.h"
#include "worker.h"

/* A reader is woken for this many samples, for the end, or after 100 ms. */
#define READ_AT_ONCE 64

/* Of the pass, of the empty window, of the pass of twice the length. */
#define COUNT_LISTS 3

/* Why a job ended before its last sample. */
enum stop_cause {
	GO_ON,
	STOP_CANCEL,
	STOP_CLIENT,
	STOP_OFFLINE,
	STOP_SUSPEND,
	STOP_REBOOT,
	STOP_UNLOAD,
	STOP_FAILED,
};

/* STOP_FAILED takes error and reason from the job. */
static const struct {
	u32 state;
	int error;
	const char *why;
} endings[] = {
	[GO_ON] = { CALM_STATE_DONE },
	[STOP_CANCEL] = { CALM_STATE_CANCELLED, 0, "cancelled" },
	[STOP_CLIENT] = { CALM_STATE_CANCELLED, 0, "the client went away" },
	[STOP_OFFLINE] = { CALM_STATE_FAILED, ENODEV, "the CPU went offline" },
	[STOP_SUSPEND] = { CALM_STATE_FAILED, EINTR, "the machine is being suspended" },
	[STOP_REBOOT] = { CALM_STATE_FAILED, ESHUTDOWN, "the machine is being shut down" },
	[STOP_UNLOAD] = { CALM_STATE_FAILED, ESHUTDOWN, "the module is being unloaded" },
	[STOP_FAILED] = { CALM_STATE_FAILED },
};

/**
 * struct calm_job - the job
 * @ref: held by the slot, by readers and by each worker
 * @id: its number
 * @spec: what it measures
 * @portid: netlink port of its owner
 * @net: network namespace of its owner, only ever compared
 * @orphan: its owner is gone; guarded by slot_lock
 * @start: gets memory, sets the other workers to work, and is the first one itself
 * @workers: one for each CPU
 * @working: workers that have not ended
 * @stop: holds an enum stop_cause, the first one stays
 * @lock: guards what follows
 * @state: enum calm_state
 * @error: positive errno
 * @why: reason of the end
 * @samples: room for all samples
 * @counts: room for their counts: for each, three lists of one entry an event
 * @ready: samples there
 * @rounds: room for all rounds
 * @nr_rounds: rounds there
 * @built_bytes: buffers set up
 * @text: room for a reason that is put together
 * @arrived: workers that wait for the next setting of prefetchers
 * @turn: settings that all workers have come to
 * @prefetch: what has to be put back, NULL if nothing has
 * @meeting: workers that wait for each other
 * @news: readers
 * @ended: no worker is left
 */
struct calm_job {
	struct kref ref;
	u32 id;
	struct calm_job_spec spec;
	u32 portid;
	struct net *net;
	bool orphan;
	struct work_struct start;
	struct job_worker *workers;
	atomic_t working;
	struct calm_stop stop;

	spinlock_t lock;	/* guards what follows */
	u32 state;
	int error;
	const char *why;
	struct calm_sample *samples;
	u64 *counts;
	u32 ready;
	struct calm_round *rounds;
	u32 nr_rounds;
	u64 built_bytes;
	char text[128];
	u32 arrived;
	u32 turn;

	struct calm_prefetch_run *prefetch;
	wait_queue_head_t meeting;
	wait_queue_head_t news;
	struct completion ended;
};

/* A job's part on one of its CPUs. The first one is begun by the job's start, not by @work. */
struct job_worker {
	struct work_struct work;
	struct calm_worker worker;
	struct calm_job *job;
	struct dev_pm_qos_request latency;
};

static DEFINE_SPINLOCK(slot_lock);	/* guards the five below */
static struct calm_job *slot;
static u32 last_id;
static bool dying;
static bool suspending;
static bool rebooting;

static struct workqueue_struct *queue;
static int hotplug_state;

static u32 total_samples(const struct calm_job_spec *spec)
{
	return spec->nr_cpus * spec->rounds * calm_worker_visits(spec) * spec->samples;
}

static bool has_ended(struct calm_job *job)
{
	return completion_done(&job->ended);
}

static void job_free(struct kref *ref)
{
	struct calm_job *job = container_of(ref, struct calm_job, ref);

	put_task_struct(job->stop.owner);
	kvfree(job->samples);
	kvfree(job->counts);
	kvfree(job->rounds);
	kvfree(job->workers);
	kvfree(job->spec.cpus);
	kfree(job);
}

void calm_job_put(struct calm_job *job)
{
	kref_put(&job->ref, job_free);
}

static void stop_job(struct calm_job *job, enum stop_cause cause)
{
	cmpxchg(&job->stop.cause, GO_ON, cause);
	wake_up_all(&job->meeting);
}

static void fail(struct calm_job *job, int err, const char *why)
{
	spin_lock(&job->lock);
	if (!job->error) {
		job->error = -err;
		job->why = why;
	}
	spin_unlock(&job->lock);
	stop_job(job, STOP_FAILED);
}

static void fail_prefetch(struct calm_job *job, int err, const struct calm_prefetch_fault *fault)
{
	spin_lock(&job->lock);
	if (!job->error) {
		if (fault->msr)
			snprintf(job->text, sizeof(job->text), "%s: MSR %#x of CPU %u",
				 fault->why, fault->msr, fault->cpu);
		else
			strscpy(job->text, fault->why, sizeof(job->text));
		job->error = -err;
		job->why = job->text;
	}
	spin_unlock(&job->lock);
	cmpxchg(&job->stop.cause, GO_ON, STOP_FAILED);
}

static void restore_prefetchers(struct calm_job *job)
{
	struct calm_prefetch_fault fault;
	int err = calm_prefetch_end(job->prefetch, &fault);

	job->prefetch = NULL;
	if (err)
		fail_prefetch(job, err, &fault);
}

/* The last worker ends the job, and forgets it if nobody owns it. */
static void end_job(struct calm_job *job)
{
	enum stop_cause cause;
	bool forget;

	restore_prefetchers(job);
	cause = READ_ONCE(job->stop.cause);
	spin_lock(&job->lock);
	job->state = endings[cause].state;
	if (cause != STOP_FAILED) {
		job->error = endings[cause].error;
		job->why = endings[cause].why;
	}
	spin_unlock(&job->lock);

	spin_lock(&slot_lock);
	complete_all(&job->ended);
	forget = slot == job && job->orphan;
	if (forget)
		slot = NULL;
	spin_unlock(&slot_lock);

	wake_up_all(&job->news);
	if (forget)
		calm_job_put(job);
}

static void leave_job(struct calm_job *job)
{
	if (atomic_dec_and_test(&job->working))
		end_job(job);
	calm_job_put(job);
	module_put(THIS_MODULE);	/* who unloads it waits for the workqueue */
}

static void add_round(struct calm_worker *worker, const struct calm_round *round)
{
	struct calm_job *job = container_of(worker, struct job_worker, worker)->job;

	spin_lock(&job->lock);
	job->rounds[job->nr_rounds++] = *round;
	job->built_bytes += job->spec.size_bytes;
	spin_unlock(&job->lock);
}

static u64 *counts_of(const struct calm_job *job, u32 index)
{
	return job->counts + COUNT_LISTS * (size_t)job->spec.nr_events * index;
}

static void add_sample(struct calm_worker *worker, const struct calm_sample *sample,
		       const struct calm_counts *counts)
{
	struct calm_job *job = container_of(worker, struct job_worker, worker)->job;
	u32 i, nr = job->spec.nr_events;
	bool news;
	u64 *list;

	spin_lock(&job->lock);
	list = counts_of(job, job->ready);
	for (i = 0; i < nr; i++) {
		list[i] = counts->pass[i];
		list[nr + i] = counts->empty[i];
		list[2 * nr + i] = counts->twice[i];
	}
	job->samples[job->ready] = *sample;
	WRITE_ONCE(job->ready, job->ready + 1);
	news = job->ready % READ_AT_ONCE == 0;
	spin_unlock(&job->lock);
	if (news && wq_has_sleeper(&job->news))
		wake_up(&job->news);
}

static bool may_go_on(struct calm_job *job, u32 turn)
{
	/* pairs with meet() */
	return smp_load_acquire(&job->turn) != turn || READ_ONCE(job->stop.cause);
}

/* The last worker to come changes the setting, while the others wait. */
static int meet(struct calm_worker *worker, u32 index)
{
	struct calm_job *job = container_of(worker, struct job_worker, worker)->job;
	struct calm_prefetch_fault fault;
	bool last;
	u32 turn;
	int err;

	spin_lock(&job->lock);
	turn = job->turn;
	last = ++job->arrived == job->spec.nr_cpus;
	if (last)
		job->arrived = 0;
	spin_unlock(&job->lock);
	if (last) {
		err = calm_prefetch_apply(job->prefetch, index, &fault);
		if (err)
			fail_prefetch(job, err, &fault);
		/* pairs with may_go_on(): what slices are to find is there */
		smp_store_release(&job->turn, turn + 1);
		wake_up_all(&job->meeting);
	} else {
		wait_event_idle(job->meeting, may_go_on(job, turn));
	}
	return READ_ONCE(job->stop.cause) ? -ECANCELED : 0;
}

static const struct calm_worker_sink sink = {
	.round = add_round,
	.sample = add_sample,
	.setting = meet,
};

/*
 * Keeps the worker's CPU out of idle states that lose what its caches hold,
 * while it rests. Only that one: a limit for all would have idle neighbours
 * poll, which takes from a core that two of them share and from turbo.
 */
static void stay_shallow(struct job_worker *self)
{
	dev_pm_qos_add_request(get_cpu_device(self->worker.cpu), &self->latency,
			       DEV_PM_QOS_RESUME_LATENCY, 0);
}

static void measure(struct job_worker *self)
{
	int err;

	stay_shallow(self);
	err = calm_worker_run(&self->worker);
	if (dev_pm_qos_request_active(&self->latency))
		dev_pm_qos_remove_request(&self->latency);
	if (err == -ECANCELED)	/* by a cause that is there already, or since the owner is killed */
		stop_job(self->job, STOP_CLIENT);
	else if (err)
		fail(self->job, err, self->worker.why);
}

static void worker_work(struct work_struct *work)
{
	struct job_worker *self = container_of(work, struct job_worker, work);

	measure(self);
	leave_job(self->job);
}

static int alloc_results(struct calm_job *job)
{
	u32 total = total_samples(&job->spec);
	size_t samples = array_size(total, sizeof(*job->samples));
	size_t counts = array3_size(total, COUNT_LISTS * sizeof(*job->counts),
				    job->spec.nr_events);
	size_t rounds = array3_size(job->spec.nr_cpus, job->spec.rounds, sizeof(*job->rounds));

	if (size_add(size_add(samples, counts), rounds) > calm_buf_limit())
		return -ENOMEM;
	job->samples = calm_buf_alloc_list(samples);
	job->rounds = calm_buf_alloc_list(rounds);
	job->workers = kvcalloc(job->spec.nr_cpus, sizeof(*job->workers), GFP_KERNEL);
	if (counts)
		job->counts = calm_buf_alloc_list(counts);
	return job->samples && job->rounds && job->workers && (job->counts || !counts) ?
		0 : -ENOMEM;
}

static void init_workers(struct calm_job *job)
{
	u32 i;

	for (i = 0; i < job->spec.nr_cpus; i++) {
		struct job_worker *self = &job->workers[i];
		u32 cpu = job->spec.cpus[i];

		INIT_WORK(&self->work, worker_work);
		self->job = job;
		self->worker = (struct calm_worker){
			.spec = &job->spec,
			.cpu = cpu,
			.stop = &job->stop,
			.sink = &sink,
			.prefetch = job->prefetch ? calm_prefetch_watch(job->prefetch, cpu) : NULL,
		};
	}
}

static bool all_online(const struct calm_job *job)
{
	u32 i;

	for (i = 0; i < job->spec.nr_cpus; i++)
		if (!cpu_online(job->spec.cpus[i]))
			return false;
	return true;
}

/* Sets all workers but the first to work, or none. */
static int queue_others(struct calm_job *job)
{
	bool online;
	u32 i;

	cpus_read_lock();
	online = all_online(job);
	for (i = 1; online && i < job->spec.nr_cpus; i++) {
		kref_get(&job->ref);
		atomic_inc(&job->working);
		__module_get(THIS_MODULE);
		queue_work_on(job->spec.cpus[i], queue, &job->workers[i].work);
	}
	cpus_read_unlock();
	return online ? 0 : -ENODEV;
}

/* Whoever writes such registers vouches for the machine himself, as with the msr driver. */
static void taint(void)
{
	add_taint(TAINT_CPU_OUT_OF_SPEC, LOCKDEP_STILL_OK);
}

static int begin_prefetch(struct calm_job *job)
{
	struct calm_prefetch_fault fault;
	int err;

	if (!job->spec.nr_settings)
		return 0;
	taint();
	err = job->spec.hold ? calm_prefetch_hold(&job->spec, &fault) :
		calm_prefetch_begin(&job->spec, &job->prefetch, &fault);
	if (err)
		fail_prefetch(job, err, &fault);
	return err;
}

/* Runs on the first CPU, and if that has just gone offline on any. */
static int begin_job(struct calm_job *job)
{
	int err;

	if (job->spec.nr_events)
		taint();
	err = alloc_results(job);
	if (err) {
		fail(job, err, "no memory for the samples");
		return err;
	}
	init_workers(job);
	spin_lock(&job->lock);
	job->state = CALM_STATE_RUNNING;
	spin_unlock(&job->lock);
	err = queue_others(job);
	if (err)
		fail(job, err, "the CPU went offline");
	return err;
}

static void start_work(struct work_struct *work)
{
	struct calm_job *job = container_of(work, struct calm_job, start);

	if (!begin_prefetch(job) && !job->spec.hold && !begin_job(job))
		measure(&job->workers[0]);
	leave_job(job);
}

static struct calm_job *job_alloc(const struct calm_job_spec *spec, u32 portid, struct net *net)
{
	struct calm_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	kref_init(&job->ref);
	job->spec = *spec;
	job->portid = portid;
	job->net = net;
	job->stop.owner = get_task_struct(current);
	INIT_WORK(&job->start, start_work);
	atomic_set(&job->working, 1);
	spin_lock_init(&job->lock);
	job->state = CALM_STATE_SETUP;
	init_waitqueue_head(&job->meeting);
	init_waitqueue_head(&job->news);
	init_completion(&job->ended);
	return job;
}

/* Puts @job into the slot if it is free. The job that was in it is then the caller's, in @old. */
static int take_slot(struct calm_job *job, struct calm_job **old)
{
	int err = 0;

	spin_lock(&slot_lock);
	if (dying || rebooting)
		err = -ESHUTDOWN;
	else if (suspending)
		err = -EAGAIN;
	else if (slot && !has_ended(slot))
		err = -EBUSY;
	if (!err) {
		*old = slot;
		slot = job;
		last_id += last_id == U32_MAX ? 2 : 1;
		job->id = last_id;
	}
	spin_unlock(&slot_lock);
	return err;
}

int calm_job_start(const struct calm_job_spec *spec, u32 portid, struct net *net, u32 *id)
{
	struct calm_job *job, *old = NULL;
	int err;

	job = job_alloc(spec, portid, net);
	if (!job)
		return -ENOMEM;
	if (!try_module_get(THIS_MODULE)) {
		err = -ESHUTDOWN;
		goto err_job;
	}
	kref_get(&job->ref);	/* the slot's, beside the start's */
	err = take_slot(job, &old);
	if (err)
		goto err_module;
	*id = job->id;
	queue_work_on(job->spec.cpus[0], queue, &job->start);
	if (old)
		calm_job_put(old);
	return 0;

err_module:
	module_put(THIS_MODULE);
err_job:
	put_task_struct(job->stop.owner);
	kfree(job);	/* but not the list of CPUs, which is still the caller's */
	return err;
}

static struct calm_job *get_slot(void)
{
	struct calm_job *job;

	spin_lock(&slot_lock);
	job = slot;
	if (job)
		kref_get(&job->ref);
	spin_unlock(&slot_lock);
	return job;
}

struct calm_job *calm_job_get(u32 id)
{
	struct calm_job *job = get_slot();

	if (job && job->id != id) {
		calm_job_put(job);
		return NULL;
	}
	return job;
}

u32 calm_job_id(const struct calm_job *job)
{
	return job->id;
}

u32 calm_job_total(const struct calm_job *job)
{
	return total_samples(&job->spec);
}

bool calm_job_has_settings(const struct calm_job *job)
{
	return job->spec.nr_settings;
}

void calm_job_cancel(struct calm_job *job)
{
	stop_job(job, STOP_CANCEL);
}

void calm_job_orphan(u32 portid, struct net *net)
{
	struct calm_job *job = NULL;

	spin_lock(&slot_lock);
	if (slot && slot->portid == portid && slot->net == net) {
		job = slot;
		job->orphan = true;
		stop_job(job, STOP_CLIENT);
		if (has_ended(job))
			slot = NULL;
		else
			job = NULL;	/* its end forgets it */
	}
	spin_unlock(&slot_lock);
	if (job)
		calm_job_put(job);
}

void calm_job_progress(struct calm_job *job, struct calm_job_progress *progress)
{
	/* A job that has ended gets no more samples: look at that first. */
	bool final = has_ended(job);

	spin_lock(&job->lock);
	*progress = (struct calm_job_progress){
		.state = job->state,
		.rounds = job->nr_rounds,
		.ready = job->ready,
		.total = total_samples(&job->spec),
		.built_bytes = job->built_bytes,
		.error = job->error,
		.why = job->why,
	};
	spin_unlock(&job->lock);
	if (final)
		return;
	/* What ends it may still change. */
	progress->state = min_t(u32, progress->state, CALM_STATE_RUNNING);
	progress->error = 0;
	progress->why = NULL;
}

void calm_job_wait(struct calm_job *job, u32 seen)
{
	u32 enough = seen + READ_AT_ONCE;

	wait_event_interruptible_timeout(job->news,
					 has_ended(job) || READ_ONCE(job->ready) >= enough,
					 HZ / 10);
}

const struct calm_sample *calm_job_sample(const struct calm_job *job, u32 index)
{
	return &job->samples[index];
}

void calm_job_counts(const struct calm_job *job, u32 index, struct calm_job_counts *counts)
{
	u32 nr = job->spec.nr_events;
	const u64 *list = counts_of(job, index);

	*counts = (struct calm_job_counts){
		.nr = nr,
		.pass = list,
		.empty = list + nr,
		.twice = job->samples[index].tsc_double ? list + 2 * nr : NULL,
	};
}

const struct calm_round *calm_job_round(const struct calm_job *job, u32 index)
{
	return &job->rounds[index];
}

static bool uses_cpu(const struct calm_job *job, unsigned int cpu)
{
	u32 i;

	for (i = 0; i < job->spec.nr_cpus; i++)
		if (job->spec.cpus[i] == cpu)
			return true;
	return false;
}

/* Runs on each CPU that is online at load, and on each that comes later. */
static int cpu_comes_online(unsigned int cpu)
{
	calm_model_probe();
	calm_prefetch_probe();
	calm_pmu_probe();
	return 0;
}

/* Waits for nothing: the worker finds itself marked, or on another CPU. */
static int cpu_goes_offline(unsigned int cpu)
{
	struct calm_job *job = get_slot();

	if (job && uses_cpu(job, cpu))
		stop_job(job, STOP_OFFLINE);
	if (job)
		calm_job_put(job);
	calm_prefetch_leave(cpu);
	return 0;
}

/* Ends the job in the slot, if any, and waits until its last worker is done. */
static void stop_and_wait(enum stop_cause cause)
{
	struct calm_job *job = get_slot();

	if (!job)
		return;
	stop_job(job, cause);
	wait_for_completion(&job->ended);
	calm_job_put(job);
}

static void set_flag(bool *flag, bool value)
{
	spin_lock(&slot_lock);
	*flag = value;
	spin_unlock(&slot_lock);
}

static int pm_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		set_flag(&suspending, true);
		stop_and_wait(STOP_SUSPEND);
		calm_prefetch_restore_all();
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		set_flag(&suspending, false);
		break;
	}
	return NOTIFY_DONE;
}

static int reboot_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	set_flag(&rebooting, true);
	stop_and_wait(STOP_REBOOT);
	calm_prefetch_restore_all();
	return NOTIFY_DONE;
}

static struct notifier_block pm_notifier = { .notifier_call = pm_event };
static struct notifier_block reboot_notifier = { .notifier_call = reboot_event };

int calm_job_init(void)
{
	int err;

	if (!tsc_khz) {
		pr_err("calm: the rate of the time stamp counter is not known\n");
		return -ENODEV;
	}
	/* not counted among those of which a CPU runs one at a time */
	queue = alloc_workqueue("calm", CALM_WQ_PERCPU | WQ_CPU_INTENSIVE, 0);
	if (!queue)
		return -ENOMEM;
	hotplug_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "calm:online", cpu_comes_online,
					  cpu_goes_offline);
	if (hotplug_state < 0) {
		err = hotplug_state;
		goto err_queue;
	}
	err = register_pm_notifier(&pm_notifier);
	if (err)
		goto err_hotplug;
	err = register_reboot_notifier(&reboot_notifier);
	if (err)
		goto err_pm;
	return 0;

err_pm:
	unregister_pm_notifier(&pm_notifier);
err_hotplug:
	cpuhp_remove_state_nocalls(hotplug_state);
err_queue:
	destroy_workqueue(queue);
	return err;
}

void calm_job_stop_all(void)
{
	set_flag(&dying, true);
	stop_and_wait(STOP_UNLOAD);
}

void calm_job_exit(void)
{
	unregister_reboot_notifier(&reboot_notifier);
	unregister_pm_notifier(&pm_notifier);
	cpuhp_remove_state_nocalls(hotplug_state);
	destroy_workqueue(queue);	/* the last job's end may still empty the slot */
	if (slot)
		calm_job_put(slot);
	slot = NULL;
}
