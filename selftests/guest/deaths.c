// SPDX-License-Identifier: GPL-2.0-only
/* Everything that may end a job early: it ends with its slice, and the machine is as it was. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "kselftest_harness.h"
#include "machine.h"
#include "trace.h"

#define FULL (!!getenv("CALM_TEST_FULL"))
#define KILLS (FULL ? 200 : 20)
#define CANCELS (FULL ? 50 : 5)
#define OFFLINE_TURNS (FULL ? 20 : 1)

#define ENDLESS 100000

#define CPU1_ONLINE "/sys/devices/system/cpu/cpu1/online"
#define PM_TEST "/sys/power/pm_test"
#define PM_TEST_SECONDS "/sys/module/suspend/parameters/pm_test_delay"

/* ---- jobs that last, each slow in another place ---- */

static const struct job {
	const char *name;
	uint64_t size_bytes;
	uint32_t pages;
	uint32_t rounds;
	uint64_t loads;
	bool both_cpus;
} jobs[] = {
	/* a pass of many slices of 10 ms */
	{ "slices", 1 << 20, CALM_PAGES_4K, 1, 1 << 28, false },
	/* frames, shuffling and the chain take most of the time */
	{ "set-up", 64 << 20, CALM_PAGES_4K, 1000, 1024, false },
	{ "set-up of 2 MiB pages", 64 << 20, CALM_PAGES_2M, 1000, 1024, false },
	/* news for the reader all the time */
	{ "samples", 16384, CALM_PAGES_4K, 1, 1024, false },
	{ "rounds", 16384, CALM_PAGES_4K, 1024, 64, false },
	{ "both CPUs", 1 << 20, CALM_PAGES_4K, 1, 1 << 26, true },
};

#define JOBS (sizeof(jobs) / sizeof(jobs[0]))

static struct answer start(struct client *client, const struct job *job)
{
	struct nl_msg *msg = client_run_request(client, 1, job->rounds, ENDLESS / job->rounds);

	client_replace_u64(msg, CALM_A_SIZE_BYTES, job->size_bytes);
	client_replace_u32(msg, CALM_A_PAGES, job->pages);
	client_replace_u64(msg, CALM_A_LOADS, job->loads);
	if (job->both_cpus)
		nla_put_u32(msg, CALM_A_CPU, 0);
	return client_ask(client, msg);
}

static void use_all_once(struct client *client)
{
	size_t i;

	for (i = 0; i < JOBS; i++) {
		struct answer a = start(client, &jobs[i]);

		usleep(150000);
		client_cancel(client, a.job);
		client_harvest(client, a.job, 0);
	}
}

FIXTURE(deaths)
{
	struct client client;
	struct machine machine;
};

FIXTURE_SETUP(deaths)
{
	ASSERT_TRUE(client_open(&self->client))
	{
		TH_LOG("calm.ko is not loaded");
	}
	ASSERT_TRUE(trace_begin())
	{
		TH_LOG("no probes to count slices with: errno %d", errno);
	}
	/* what the first probe and the first jobs take, such as free lists of CPUs, stays */
	use_all_once(&self->client);
	machine_note(&self->machine);
	self->machine.ignore = machine_host_is_busy;
}

FIXTURE_TEARDOWN(deaths)
{
	client_close(&self->client);
	EXPECT_TRUE(machine_is_idle(&self->machine))
	{
		TH_LOG("%s", self->machine.why);
	}
	EXPECT_TRUE(machine_has_its_memory(&self->machine))
	{
		TH_LOG("%s", self->machine.why);
	}
	trace_end(TRACE_CANCEL, 0);
	EXPECT_TRUE(machine_reload(&self->machine, ""))
	{
		TH_LOG("%s", self->machine.why);
	}
	machine_forget(&self->machine);
}

enum phase { BEFORE_RUN, SETUP, BUILDING, MEASURING, PHASES };

static const char *const phase_names[PHASES] = { "before run", "set-up", "building", "measuring" };

static enum phase phase_of(uint32_t job)
{
	struct harvest seen = client_peek(job);

	if (seen.err || !job)
		return BEFORE_RUN;
	if (seen.state == CALM_STATE_SETUP)
		return SETUP;
	return seen.built_bytes ? MEASURING : BUILDING;
}

static bool wait_for(uint32_t job, enum phase phase)
{
	int tries = 5000;

	while (phase_of(job) < phase && --tries)
		usleep(2000);
	return tries;
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

/* ---- a client killed at any moment ---- */

/* Runs a job and reads it, again and again; tells the job's number through @to. */
static void __attribute__((noreturn)) be_client(const struct job *job, int to)
{
	struct client own;
	struct answer a;

	if (!client_open(&own))
		_exit(1);
	a = start(&own, job);
	if (a.err || write(to, &a.job, sizeof(a.job)) != sizeof(a.job))
		_exit(1);
	for (;;)
		client_harvest(&own, a.job, 0);
}

/* How long a client lives at most after its job has come to a phase, so that each phase is hit. */
static const struct moment {
	enum phase from;
	uint32_t most_us;
} moments[] = {
	{ SETUP, 2000 },
	{ MEASURING, 200000 },
	{ BEFORE_RUN, 20000 },
	{ BUILDING, 50000 },
};

#define MOMENTS (sizeof(moments) / sizeof(moments[0]))

/* 0 if the client has not told it yet. */
static uint32_t read_id(int from)
{
	uint32_t id;

	return read(from, &id, sizeof(id)) == sizeof(id) ? id : 0;
}

/* Returns the phase that the job was in. */
static enum phase kill_one(int number, struct trace_count *count)
{
	const struct moment *moment = &moments[number / JOBS % MOMENTS];
	struct pollfd told;
	enum phase phase;
	uint32_t id = 0;
	pid_t child;
	int to[2];

	if (pipe2(to, O_NONBLOCK))
		abort();
	child = fork();
	if (!child)
		be_client(&jobs[number % JOBS], to[1]);
	told = (struct pollfd){ .fd = to[0], .events = POLLIN };
	if (moment->from > BEFORE_RUN && poll(&told, 1, 10000) == 1)
		id = read_id(to[0]);
	if (id)
		wait_for(id, moment->from);
	usleep(random_below(moment->most_us));
	phase = phase_of(id ?: read_id(to[0]));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(to[0]);
	close(to[1]);
	*count = trace_end(TRACE_ORPHAN, child);
	return phase;
}

TEST_F_TIMEOUT(deaths, client_killed_at_any_moment, 3600)
{
	int i, phases[PHASES] = {}, slices = 0;
	double longest = 0;

	client_close(&self->client);
	for (i = 0; i < KILLS; i++) {
		const char *name = jobs[i % JOBS].name;
		struct trace_count count;
		double killed;

		ASSERT_TRUE(trace_begin());
		phases[kill_one(i, &count)]++;
		killed = client_now();
		EXPECT_TRUE(machine_is_idle(&self->machine))
		{
			TH_LOG("kill %d, %s: %s", i, name, self->machine.why);
		}
		if (client_now() - killed > longest)
			longest = client_now() - killed;
		EXPECT_EQ(0, count.after_end)
		{
			TH_LOG("kill %d, %s: slices began after the socket's end", i, name);
		}
		EXPECT_TRUE(count.signalled);
		EXPECT_EQ(0, count.after_signal)
		{
			TH_LOG("kill %d, %s: slices began after the signal", i, name);
		}
		slices += count.slices;
		ASSERT_TRUE(machine_reload(&self->machine, ""))
		{
			TH_LOG("kill %d, %s: %s", i, name, self->machine.why);
		}
	}
	for (i = 0; i < PHASES; i++)
		TH_LOG("%s: %d kills", phase_names[i], phases[i]);
	TH_LOG("%d kills, %d slices", KILLS, slices);
	TH_LOG("nothing left after at most %.3f s", longest);
	EXPECT_GT(phases[SETUP] + phases[BUILDING], 0);
	EXPECT_GT(phases[MEASURING], 0);
	ASSERT_TRUE(client_open(&self->client));
}

/* ---- other ends ---- */

TEST_F_TIMEOUT(deaths, cancel, 600)
{
	int i, slices = 0;

	for (i = 0; i < CANCELS; i++) {
		struct trace_count count;
		struct harvest h;
		struct answer a;

		ASSERT_TRUE(trace_begin());
		a = start(&self->client, &jobs[i % JOBS]);
		ASSERT_EQ(0, a.err);
		usleep(random_below(300000));
		EXPECT_EQ(0, client_cancel(&self->client, a.job).err);
		h = client_harvest(&self->client, a.job, 0);
		count = trace_end(TRACE_CANCEL, 0);
		EXPECT_EQ(CALM_STATE_CANCELLED, h.state);
		EXPECT_STREQ("cancelled", h.reason);
		EXPECT_TRUE(h.in_order);
		EXPECT_TRUE(count.ended);
		EXPECT_EQ(0, count.after_end)
		{
			TH_LOG("cancel %d, %s", i, jobs[i % JOBS].name);
		}
		slices += count.slices;
	}
	TH_LOG("%d cancels, %d slices", CANCELS, slices);
}

/* A reader that asks for samples, takes a few messages and is stopped. */
static void be_lazy(void *arg)
{
	int *messages = arg;

	if (++*messages == 3)
		raise(SIGSTOP);
}

TEST_F_TIMEOUT(deaths, reader_that_stops_reading, 120)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 1, 20000));
	struct answer b;
	struct harvest h;
	int messages = 0;
	pid_t reader;

	ASSERT_EQ(0, a.err);
	reader = fork();
	if (!reader) {
		struct client own;

		if (!client_open(&own))
			_exit(1);
		own.between = be_lazy;
		own.arg = &messages;
		client_harvest(&own, a.job, 0);
		_exit(0);
	}
	ASSERT_EQ(reader, waitpid(reader, NULL, WUNTRACED));
	/* the job minds as little as those who read and run after it */
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(CALM_STATE_DONE, h.state);
	EXPECT_EQ(20000, h.samples);
	b = client_ask(&self->client, client_run_request(&self->client, 1, 1, 100));
	EXPECT_EQ(0, b.err);
	EXPECT_EQ(100, client_harvest(&self->client, b.job, 0).samples);
	/* what it has not read yet is kept for it, and the module with it */
	EXPECT_EQ(-1, syscall(SYS_delete_module, "calm", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
}

TEST_F_TIMEOUT(deaths, rmmod_while_busy, 120)
{
	size_t i;

	for (i = 0; i < JOBS; i++) {
		struct answer a = start(&self->client, &jobs[i]);
		struct harvest h;
		int phase;

		ASSERT_EQ(0, a.err);
		for (phase = BEFORE_RUN; phase <= MEASURING; phase++) {
			EXPECT_TRUE(wait_for(a.job, phase));
			EXPECT_EQ(-1, syscall(SYS_delete_module, "calm", O_NONBLOCK));
			EXPECT_EQ(EAGAIN, errno);
		}
		/* unharmed */
		EXPECT_EQ(CALM_STATE_RUNNING, client_peek(a.job).state);
		EXPECT_EQ(0, client_cancel(&self->client, a.job).err);
		h = client_harvest(&self->client, a.job, 0);
		EXPECT_EQ(CALM_STATE_CANCELLED, h.state);
	}
}

/* ---- a CPU that goes offline ---- */

/* The state of a thread, 'I' while it sleeps between slices; 0 if there is none. */
static char state_of(int thread)
{
	char path[64], text[256] = "";
	const char *behind_name;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", thread);
	f = fopen(path, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	behind_name = strrchr(text, ')');
	return behind_name ? behind_name[2] : 0;
}

/* A job's thread sleeps so often that one look in a few finds it asleep. */
static bool wait_for_rest(void)
{
	int thread = machine_thread(1), tries = 100000;
	char state;

	do {
		state = state_of(thread);
	} while (state && state != 'I' && --tries);
	return state == 'I';
}

static bool wait_for_building(uint32_t job)
{
	return wait_for(job, BUILDING);
}

static bool wait_for_samples(uint32_t job)
{
	return wait_for(job, MEASURING);
}

static bool wait_between_slices(uint32_t job)
{
	return wait_for(job, MEASURING) && wait_for_rest();
}

static const struct {
	const char *name;
	const char *job;
	bool (*wait)(uint32_t job);
} offlines[] = {
	{ "in set-up", "set-up", wait_for_building },
	{ "in set-up of 2 MiB pages", "set-up of 2 MiB pages", wait_for_building },
	{ "in a run", "slices", wait_for_samples },
	{ "between slices", "slices", wait_between_slices },
	{ "between samples", "samples", wait_for_samples },
	{ "on both CPUs", "both CPUs", wait_for_samples },
};

#define OFFLINES (sizeof(offlines) / sizeof(offlines[0]))

static const struct job *job_named(const char *name)
{
	const struct job *job = jobs;

	while (strcmp(job->name, name))
		job++;
	return job;
}

/* Whether a small job gets all its samples. */
static bool can_measure(struct client *client)
{
	struct answer a = client_ask(client, client_run_request(client, 1, 1, 3));

	return !a.err && client_harvest(client, a.job, 0).samples == 3;
}

TEST_F_TIMEOUT(deaths, cpu_going_offline, 1200)
{
	int i, slices = 0, nr = OFFLINE_TURNS * OFFLINES;

	for (i = 0; i < nr; i++) {
		const char *name = offlines[i % OFFLINES].name;
		struct trace_count count;
		struct harvest h;
		struct answer a;

		ASSERT_TRUE(trace_begin());
		a = start(&self->client, job_named(offlines[i % OFFLINES].job));
		ASSERT_EQ(0, a.err);
		EXPECT_TRUE(offlines[i % OFFLINES].wait(a.job))
		{
			TH_LOG("%s: never came to that", name);
		}
		ASSERT_TRUE(machine_write(CPU1_ONLINE, "0"));
		h = client_harvest(&self->client, a.job, 0);
		count = trace_end(TRACE_OFFLINE, 0);
		ASSERT_TRUE(machine_write(CPU1_ONLINE, "1"));
		EXPECT_EQ(CALM_STATE_FAILED, h.state);
		EXPECT_EQ(ENODEV, h.error);
		EXPECT_STREQ("the CPU went offline", h.reason)
		{
			TH_LOG("%s", name);
		}
		EXPECT_TRUE(h.in_order);
		EXPECT_TRUE(count.ended);
		EXPECT_EQ(0, count.after_end)
		{
			TH_LOG("%s: of %d slices", name, count.slices);
		}
		slices += count.slices;
		EXPECT_TRUE(can_measure(&self->client));
	}
	TH_LOG("%d times offline, %d slices", nr, slices);
	machine_skip_messages(&self->machine);
}

/* ---- suspend, as far as pm_test lets it go ---- */

static bool suspend(const char *depth)
{
	return machine_write(PM_TEST, depth) && machine_write("/sys/power/state", "mem") &&
	       machine_write(PM_TEST, "none");
}

/* The first is the shallowest one, the last turns the other CPUs off too. */
static const char *const depths[] = { "freezer", "devices", "platform", "processors", "core" };

#define DEPTHS (sizeof(depths) / sizeof(depths[0]))

TEST_F_TIMEOUT(deaths, suspend, 600)
{
	size_t i;

	if (access(PM_TEST, F_OK))
		SKIP(return, "this kernel has no pm_test");
	machine_write(PM_TEST_SECONDS, FULL ? "1" : "0");
	for (i = 0; i < DEPTHS; i += FULL ? 1 : 2) {
		struct trace_count count;
		struct harvest h;
		struct answer a;

		ASSERT_TRUE(trace_begin());
		a = start(&self->client, &jobs[i]);
		ASSERT_EQ(0, a.err);
		EXPECT_TRUE(wait_for(a.job, i == 1 ? BUILDING : MEASURING));
		EXPECT_TRUE(suspend(depths[i]))
		{
			TH_LOG("%s: errno %d", depths[i], errno);
		}
		h = client_harvest(&self->client, a.job, 0);
		count = trace_end(TRACE_SUSPEND, 0);
		EXPECT_EQ(CALM_STATE_FAILED, h.state);
		EXPECT_EQ(EINTR, h.error);
		EXPECT_STREQ("the machine is being suspended", h.reason);
		EXPECT_TRUE(count.ended);
		EXPECT_EQ(0, count.after_end)
		{
			TH_LOG("%s: of %d slices", depths[i], count.slices);
		}
		/* awake again */
		EXPECT_TRUE(can_measure(&self->client));
	}
	machine_skip_messages(&self->machine);
}

TEST_HARNESS_MAIN
