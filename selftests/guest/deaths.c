// SPDX-License-Identifier: GPL-2.0-only
/* Everything that may end a job early: it ends with its slice, and the machine is as it was. */
#include <errno.h>
#include <fcntl.h>
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
#define CANCELS (FULL ? 50 : 5)

#define ENDLESS 100000

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

enum phase { BEFORE_RUN, SETUP, BUILDING, MEASURING };

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

/* ---- ends ---- */

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

TEST_HARNESS_MAIN
