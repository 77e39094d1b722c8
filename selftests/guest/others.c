// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job holds nobody up and leaves no message, and a slow reader loses nothing. Needs genl and
 * module psample.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/attr.h>

#include "client.h"
#include "kselftest_harness.h"
#include "machine.h"

#define JOB_SECONDS 60
/* who waited for the job would do so till its end; a busy machine may take some of these */
#define LIMIT_SECONDS (JOB_SECONDS / 2.0)
#define MILLION 1000000

FIXTURE(others)
{
	struct client client;
};

FIXTURE_SETUP(others)
{
	ASSERT_TRUE(client_open(&self->client))
	{
		TH_LOG("calm.ko is not loaded");
	}
}

FIXTURE_TEARDOWN(others)
{
	client_close(&self->client);
}

static double seconds_of(const char *command, int *status)
{
	double start = client_now();

	*status = system(command);
	return client_now() - start;
}

/*
 * Runs each command over and over while a job with slices as long as they may be lasts; keeps the
 * longest times. No detector of stalls and lock-ups has anything to say, nor has anybody else.
 */
TEST_F_TIMEOUT(others, genl_is_free_while_a_job_runs, 600)
{
	static const char *const commands[] = {
		"modprobe psample",		/* registers a generic netlink family */
		"genl ctrl list > /dev/null",
		"rmmod psample",		/* unregisters it */
	};
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, MILLION);
	double start, longest[3] = {};
	struct machine machine;
	struct answer a;
	struct harvest h;
	int i, status, turns = 0;

	client_replace_u64(msg, CALM_A_SIZE_BYTES, 16 << 20);
	client_replace_u64(msg, CALM_A_LOADS, 1 << 23);	/* a pass of many slices */
	machine_note(&machine);
	machine.ignore = machine_host_is_busy;
	a = client_ask(&self->client, msg);
	ASSERT_EQ(0, a.err);
	start = client_now();
	while (client_now() - start < JOB_SECONDS) {
		for (i = 0; i < 3; i++) {
			double took = seconds_of(commands[i], &status);

			ASSERT_EQ(0, status)
			{
				TH_LOG("failed: %s", commands[i]);
			}
			if (took > longest[i])
				longest[i] = took;
		}
		turns++;
		sleep(1);
	}
	client_cancel(&self->client, a.job);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(CALM_STATE_CANCELLED, h.state);	/* it ran all the time */
	EXPECT_GT(h.samples, 0);
	EXPECT_GE(h.windows_max, 5);
	EXPECT_TRUE(machine_is_silent(&machine))
	{
		TH_LOG("%s", machine.why);
	}
	machine_forget(&machine);
	for (i = 0; i < 3; i++) {
		TH_LOG("%s: at most %.3f s in %d turns", commands[i], longest[i], turns);
		EXPECT_LT(longest[i], LIMIT_SECONDS);
	}
}

static void dawdle(void *arg)
{
	unsigned int *calls = arg;

	if (++*calls % 4 == 0)
		usleep(1000);
}

TEST_F_TIMEOUT(others, slow_reader_gets_a_million_samples_once_each, 1800)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, MILLION);
	unsigned int calls = 0;
	struct answer a;
	struct harvest h;
	int least = 1, got;
	socklen_t len = sizeof(got);

	client_replace_u64(msg, CALM_A_SIZE_BYTES, 4096);
	client_replace_u64(msg, CALM_A_LOADS, 64);
	a = client_ask(&self->client, msg);
	ASSERT_EQ(0, a.err);
	setsockopt(nl_socket_get_fd(self->client.sock), SOL_SOCKET, SO_RCVBUF, &least,
		   sizeof(least));
	getsockopt(nl_socket_get_fd(self->client.sock), SOL_SOCKET, SO_RCVBUF, &got, &len);
	self->client.between = dawdle;
	self->client.arg = &calls;
	h = client_harvest(&self->client, a.job, 0);
	TH_LOG("%u messages, receive buffer %d bytes", h.messages, got);
	EXPECT_EQ(0, h.err);
	EXPECT_EQ(MILLION, h.samples);
	EXPECT_TRUE(h.in_order);
	EXPECT_EQ(CALM_STATE_DONE, h.state);
}

TEST_HARNESS_MAIN
