// SPDX-License-Identifier: GPL-2.0-only
/* Jobs over the wire: what they give and what ends them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netlink/attr.h>

#include "client.h"
#include "kselftest_harness.h"

#define ENDLESS_SAMPLES 1000000

/* A guest whose host has other work, on the debug kernel above all, takes many times as long. */
#define LIMIT_S 600

FIXTURE(calm)
{
	struct client client;
};

FIXTURE_SETUP(calm)
{
	ASSERT_TRUE(client_open(&self->client))
	{
		TH_LOG("calm.ko is not loaded");
	}
}

FIXTURE_TEARDOWN(calm)
{
	client_close(&self->client);
}

/* Starts a job that would take minutes. */
static struct answer start_endless(struct client *client, uint32_t cpu)
{
	struct nl_msg *msg = client_run_request(client, cpu, 1, ENDLESS_SAMPLES);

	client_replace_u64(msg, CALM_A_LOADS, 1 << 14);
	return client_ask(client, msg);
}

/* Waits until the slot is free again, which a fresh job proves. */
static struct answer start_when_free(struct client *client, uint32_t cpu)
{
	struct answer answer;
	int tries = 1000;	/* on a busy machine; deaths.c counts slices instead */

	do {
		usleep(20000);
		answer = client_ask(client, client_run_request(client, cpu, 1, 1));
	} while (answer.err == EBUSY && --tries);
	return answer;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return good;
}

TEST_F_TIMEOUT(calm, info_has_version_limits_and_every_cpu, LIMIT_S)
{
	struct answer a = client_ask(&self->client, client_request(&self->client,
								   CALM_CMD_GET_INFO, 0));

	EXPECT_EQ(0, a.err);
	EXPECT_STRNE("", a.version);
	EXPECT_EQ(CALM_ABI_VERSION, a.abi);
	EXPECT_EQ(sysconf(_SC_NPROCESSORS_ONLN), a.cpus_online);
	EXPECT_LE(a.cpus_online, a.cpus);
	EXPECT_NE(0, a.max_bytes);
}

TEST_F_TIMEOUT(calm, job_gives_each_sample_once, LIMIT_S)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 3, 7));
	struct harvest h;

	ASSERT_EQ(0, a.err);
	EXPECT_NE(0, a.job);
	EXPECT_EQ(21, a.total);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(0, h.err);
	EXPECT_TRUE(h.first_samples == 0 || h.messages == 1);	/* running or ended by then */
	EXPECT_EQ(21, h.samples);
	EXPECT_EQ(3, h.rounds);
	EXPECT_TRUE(h.in_order);
	EXPECT_EQ(CALM_STATE_DONE, h.state);
	EXPECT_EQ(0, h.error);
	EXPECT_EQ(256, h.lines);
	EXPECT_EQ(1, h.windows_max);
	EXPECT_NE(0, h.tsc_sum);
	EXPECT_EQ(0, h.doubles);
}

TEST_F_TIMEOUT(calm, samples_can_be_read_again_from_anywhere, LIMIT_S)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 2, 100));
	struct harvest all, again, tail, few, none;

	ASSERT_EQ(0, a.err);
	all = client_harvest(&self->client, a.job, 0);
	again = client_harvest(&self->client, a.job, 0);
	tail = client_harvest(&self->client, a.job, 150);
	few = client_harvest(&self->client, a.job, 190);
	none = client_harvest(&self->client, a.job, 200);
	EXPECT_EQ(200, all.samples);
	EXPECT_EQ(200, again.samples);
	EXPECT_EQ(all.tsc_sum, again.tsc_sum);
	EXPECT_EQ(50, tail.samples);
	EXPECT_TRUE(tail.in_order);
	EXPECT_EQ(10, few.samples);
	EXPECT_EQ(1, few.messages);
	EXPECT_EQ(1, few.datagrams);
	EXPECT_EQ(0, none.samples);
	EXPECT_EQ(CALM_STATE_DONE, none.state);
}

TEST_F_TIMEOUT(calm, two_cpus_measure_in_one_job, LIMIT_S)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 2, 5);
	struct answer a;
	struct harvest h;

	nla_put_u32(msg, CALM_A_CPU, 0);
	a = client_ask(&self->client, msg);
	ASSERT_EQ(0, a.err);
	EXPECT_EQ(20, a.total);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(20, h.samples);
	EXPECT_EQ(4, h.rounds);
	EXPECT_TRUE(h.in_order);
}

TEST_F_TIMEOUT(calm, two_lengths_on_request, LIMIT_S)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 9);
	struct answer a;
	struct harvest h;

	client_replace_u32(msg, CALM_A_FLAGS, CALM_F_TWO_LENGTHS);
	a = client_ask(&self->client, msg);
	ASSERT_EQ(0, a.err);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(9, h.samples);
	EXPECT_EQ(9, h.doubles);
}

TEST_F_TIMEOUT(calm, size_is_cut_to_whole_strides_and_told, LIMIT_S)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
	struct answer a;
	struct harvest h;

	client_replace_u64(msg, CALM_A_SIZE_BYTES, 100000);
	a = client_ask(&self->client, msg);
	ASSERT_EQ(0, a.err);
	EXPECT_EQ(99968, a.size_bytes);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(1562, h.lines);
}

TEST_F_TIMEOUT(calm, pages_are_as_asked, LIMIT_S)
{
	static const struct {
		uint32_t pages;
		uint64_t bytes, leaves_4k, leaves_2m;
	} rows[] = {
		{ CALM_PAGES_4K, 16 << 20, 4096, 0 },
		{ CALM_PAGES_4K, 4096, 1, 0 },
		{ CALM_PAGES_4K_CONTIG, 16 << 20, 4096, 0 },
		{ CALM_PAGES_4K_CONTIG, 25 << 12, 25, 0 },
		{ CALM_PAGES_2M, 4096, 0, 1 },
		{ CALM_PAGES_2M, 16 << 20, 0, 8 },
		{ CALM_PAGES_2M, (16 << 20) + 64, 0, 9 },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
		struct answer a;
		struct harvest h;

		client_replace_u32(msg, CALM_A_PAGES, rows[i].pages);
		client_replace_u64(msg, CALM_A_SIZE_BYTES, rows[i].bytes);
		a = client_ask(&self->client, msg);
		ASSERT_EQ(0, a.err)
		{
			TH_LOG("row %zu: %s", i, a.text);
		}
		h = client_harvest(&self->client, a.job, 0);
		EXPECT_EQ(CALM_STATE_DONE, h.state)
		{
			TH_LOG("row %zu: %s", i, h.reason);
		}
		EXPECT_EQ(rows[i].leaves_4k, h.leaves_4k);
		EXPECT_EQ(rows[i].leaves_2m, h.leaves_2m);
		/* Shuffled frames are neighbours by chance only: 1 of 4096 expected. */
		if (rows[i].pages == CALM_PAGES_4K && rows[i].leaves_4k > 1)
			EXPECT_LT(h.adjacent_frames, 16);
		/* Blocks of 1024 frames need not adjoin. */
		if (rows[i].pages == CALM_PAGES_4K_CONTIG)
			EXPECT_GE(h.adjacent_frames, rows[i].leaves_4k * 1023 / 1024);
	}
}

TEST_F_TIMEOUT(calm, long_pass_is_cut_into_slices, LIMIT_S)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 2);
	struct answer a;
	struct harvest h;

	/* More than 50 ms of loads on any machine, of which a slice may hold 10. */
	client_replace_u64(msg, CALM_A_SIZE_BYTES, 1 << 20);
	client_replace_u64(msg, CALM_A_LOADS, 24 << 20);
	a = client_ask(&self->client, msg);
	ASSERT_EQ(0, a.err);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(CALM_STATE_DONE, h.state);
	EXPECT_EQ(2, h.samples);
	EXPECT_GE(h.windows_max, 5);
}

/* ---- ends ---- */

TEST_F_TIMEOUT(calm, one_job_at_a_time_and_cancel_keeps_samples, LIMIT_S)
{
	struct answer a = start_endless(&self->client, 1), b;
	struct harvest h;
	struct client other;

	ASSERT_EQ(0, a.err);
	ASSERT_TRUE(client_open(&other));
	b = client_ask(&other, client_run_request(&other, 0, 1, 1));
	EXPECT_EQ(EBUSY, b.err);
	EXPECT_NE(NULL, strstr(b.text, "another job"));
	EXPECT_TRUE(client_has_samples(a.job));
	EXPECT_EQ(0, client_cancel(&self->client, a.job).err);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(CALM_STATE_CANCELLED, h.state);
	EXPECT_GT(h.samples, 0);
	EXPECT_LT(h.samples, ENDLESS_SAMPLES);
	EXPECT_TRUE(h.in_order);
	EXPECT_STREQ("cancelled", h.reason);
	/* and again */
	EXPECT_EQ(h.samples, client_harvest(&other, a.job, 0).samples);
	client_close(&other);
}

TEST_F_TIMEOUT(calm, job_dies_with_its_socket, LIMIT_S)
{
	char begun;
	pid_t child;
	int to[2];

	ASSERT_EQ(0, pipe(to));
	child = fork();
	if (!child) {
		struct client own;

		if (client_open(&own) && !start_endless(&own, 1).err && write(to[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(to[1]);
	ASSERT_EQ(1, read(to[0], &begun, 1));
	close(to[0]);
	EXPECT_EQ(EBUSY, client_ask(&self->client, client_run_request(&self->client, 1, 1, 1)).err);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_EQ(0, start_when_free(&self->client, 1).err);
}

TEST_F_TIMEOUT(calm, module_in_use_cannot_be_removed, LIMIT_S)
{
	struct answer a = start_endless(&self->client, 1);

	ASSERT_EQ(0, a.err);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "calm", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	client_cancel(&self->client, a.job);
	EXPECT_EQ(0, start_when_free(&self->client, 1).err);
}

TEST_F_TIMEOUT(calm, cpu_going_offline_ends_the_job, LIMIT_S)
{
	struct answer a = start_endless(&self->client, 1);
	struct harvest h;

	ASSERT_EQ(0, a.err);
	usleep(300000);
	ASSERT_TRUE(write_file("/sys/devices/system/cpu/cpu1/online", "0"));
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(CALM_STATE_FAILED, h.state);
	EXPECT_EQ(ENODEV, h.error);
	EXPECT_STREQ("the CPU went offline", h.reason);
	EXPECT_TRUE(h.in_order);
	a = client_ask(&self->client, client_run_request(&self->client, 1, 1, 1));
	EXPECT_EQ(ENODEV, a.err);
	EXPECT_STREQ("CPU is not online", a.text);
	ASSERT_TRUE(write_file("/sys/devices/system/cpu/cpu1/online", "1"));
	EXPECT_EQ(0, client_ask(&self->client, client_run_request(&self->client, 1, 1, 1)).err);
}

TEST_F_TIMEOUT(calm, reading_can_be_interrupted_and_repeated, LIMIT_S)
{
	struct answer a = start_endless(&self->client, 1);
	struct nl_msg *msg;
	struct client other;
	struct harvest h;

	ASSERT_EQ(0, a.err);
	/* A reader that asks, never reads on, and goes. */
	ASSERT_TRUE(client_open(&other));
	msg = client_request(&other, CALM_CMD_SAMPLES, NLM_F_DUMP);
	nla_put_u32(msg, CALM_A_JOB, a.job);
	nl_send_auto(other.sock, msg);
	nlmsg_free(msg);
	usleep(200000);
	client_close(&other);
	client_cancel(&self->client, a.job);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(CALM_STATE_CANCELLED, h.state);
	EXPECT_TRUE(h.in_order);
}

TEST_F_TIMEOUT(calm, guilty_cpu_is_pointed_at, LIMIT_S)
{
	static const struct {
		int line;
		uint32_t cpus[3];
		uint32_t nth;
	} rows[] = {
		{ __LINE__, { 1023, 0, 1 }, 0 },
		{ __LINE__, { 1, 1023, 0 }, 1 },
		{ __LINE__, { 1, 0, 1023 }, 2 },
		{ __LINE__, { 1, 1, 0 }, 1 },
		{ __LINE__, { 1, 0, 1 }, 2 },
	};
	size_t i, j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
		struct answer a;

		client_remove(msg, CALM_A_CPU);
		for (j = 0; j < 3; j++)
			nla_put_u32(msg, CALM_A_CPU, rows[i].cpus[j]);
		a = client_ask(&self->client, msg);
		EXPECT_NE(0, a.err)
		{
			TH_LOG("line %d", rows[i].line);
		}
		EXPECT_EQ(CALM_A_CPU, a.bad_attr);
		EXPECT_EQ(rows[i].nth, a.bad_nth)
		{
			TH_LOG("line %d", rows[i].line);
		}
	}
}

TEST_HARNESS_MAIN
