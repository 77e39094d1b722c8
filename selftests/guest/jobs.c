// SPDX-License-Identifier: GPL-2.0-only
/* Jobs over the wire: what they give, what is refused, and what ends them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <netlink/attr.h>

#include "client.h"
#include "kselftest_harness.h"

#define ENDLESS_SAMPLES 1000000

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
	int tries = 100;

	do {
		usleep(20000);
		answer = client_ask(client, client_run_request(client, cpu, 1, 1));
	} while (answer.err == EBUSY && --tries);
	return answer;
}

static bool is_linux_6_1(void)
{
	struct utsname name;

	uname(&name);
	return !strncmp(name.release, "6.1.", 4);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return good;
}

TEST_F(calm, info_has_version_limits_and_every_cpu)
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

TEST_F(calm, job_gives_each_sample_once)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 3, 7));
	struct harvest h;

	ASSERT_EQ(0, a.err);
	EXPECT_NE(0, a.job);
	EXPECT_EQ(21, a.total);
	h = client_harvest(&self->client, a.job, 0);
	EXPECT_EQ(0, h.err);
	EXPECT_EQ(0, h.first_samples);
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

TEST_F(calm, samples_can_be_read_again_from_anywhere)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 2, 100));
	struct harvest all, again, tail, none;

	ASSERT_EQ(0, a.err);
	all = client_harvest(&self->client, a.job, 0);
	again = client_harvest(&self->client, a.job, 0);
	tail = client_harvest(&self->client, a.job, 150);
	none = client_harvest(&self->client, a.job, 200);
	EXPECT_EQ(200, all.samples);
	EXPECT_EQ(200, again.samples);
	EXPECT_EQ(all.tsc_sum, again.tsc_sum);
	EXPECT_EQ(50, tail.samples);
	EXPECT_TRUE(tail.in_order);
	EXPECT_EQ(0, none.samples);
	EXPECT_EQ(CALM_STATE_DONE, none.state);
}

TEST_F(calm, two_cpus_measure_in_one_job)
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

TEST_F(calm, two_lengths_on_request)
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

TEST_F(calm, size_is_cut_to_whole_strides_and_told)
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

TEST_F(calm, pages_are_as_asked)
{
	static const struct {
		uint32_t pages;
		uint64_t bytes, leaves_4k, leaves_2m;
	} rows[] = {
		{ CALM_PAGES_4K, 16 << 20, 4096, 0 },
		{ CALM_PAGES_4K, 4096, 1, 0 },
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
		if (rows[i].leaves_4k == 4096)
			EXPECT_LT(h.adjacent_frames, 16);
	}
}

TEST_F(calm, long_pass_is_cut_into_slices)
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

/* ---- refusals ---- */

struct refusal {
	int line;
	int type;		/* attribute to change */
	int width;		/* bytes of the value; 0 removes the attribute */
	uint64_t value;
	int err;
	const char *text;	/* part of the extended ack */
};

TEST_F(calm, bad_attributes_are_refused_by_name)
{
	static const struct refusal rows[] = {
		{ __LINE__, CALM_A_LOOP, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_CPU, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_SIZE_BYTES, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_STRIDE_BYTES, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_PAGES, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_ORDER, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_LOADS, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_ROUNDS, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_SAMPLES, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_WARMUP, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_SEED, 0, 0, EINVAL, "missing" },
		{ __LINE__, CALM_A_CPU, 4, 1024, ERANGE, "out of range" },
		{ __LINE__, CALM_A_CPU, 4, 1023, ENODEV, "no such CPU" },
		{ __LINE__, CALM_A_CPU, 4, ~0U, ERANGE, "out of range" },
		{ __LINE__, CALM_A_NODE, 4, 1023, ENODEV, "no such memory node" },
		{ __LINE__, CALM_A_NODE, 4, 1024, ERANGE, "out of range" },
		{ __LINE__, CALM_A_SIZE_BYTES, 8, 0, ERANGE, "two strides" },
		{ __LINE__, CALM_A_SIZE_BYTES, 8, 127, ERANGE, "two strides" },
		{ __LINE__, CALM_A_SIZE_BYTES, 8, 1ULL << 40, ENOMEM, "larger than free memory" },
		{ __LINE__, CALM_A_SIZE_BYTES, 8, ~0ULL, ENOMEM, "larger than free memory" },
		{ __LINE__, CALM_A_SIZE_BYTES, 4, 4096, EINVAL, "length" },
		{ __LINE__, CALM_A_STRIDE_BYTES, 4, 7, ERANGE, "out of range" },
		{ __LINE__, CALM_A_STRIDE_BYTES, 4, 12, EINVAL, "multiple of 8" },
		{ __LINE__, CALM_A_STRIDE_BYTES, 4, CALM_STRIDE_MAX + 8, ERANGE, "out of range" },
		{ __LINE__, CALM_A_PAGES, 4, 0, ERANGE, "out of range" },
		{ __LINE__, CALM_A_PAGES, 4, 3, ERANGE, "out of range" },
		{ __LINE__, CALM_A_ORDER, 4, 0, ERANGE, "out of range" },
		{ __LINE__, CALM_A_ORDER, 4, 3, ERANGE, "out of range" },
		{ __LINE__, CALM_A_ORDER, 4, CALM_ORDER_LINEAR, EINVAL, "another order" },
		{ __LINE__, CALM_A_LOADS, 8, 0, ERANGE, "out of range" },
		{ __LINE__, CALM_A_LOADS, 8, CALM_LOADS_MAX + 1, ERANGE, "out of range" },
		{ __LINE__, CALM_A_ROUNDS, 4, 0, ERANGE, "out of range" },
		{ __LINE__, CALM_A_ROUNDS, 4, CALM_ROUNDS_MAX + 1, ERANGE, "out of range" },
		{ __LINE__, CALM_A_SAMPLES, 4, 0, ERANGE, "out of range" },
		{ __LINE__, CALM_A_SAMPLES, 4, CALM_SAMPLES_MAX + 1, ERANGE, "out of range" },
		{ __LINE__, CALM_A_SAMPLES, 4, CALM_SAMPLES_MAX, ERANGE, "limit of samples" },
		{ __LINE__, CALM_A_WARMUP, 4, CALM_WARMUP_MAX + 1, ERANGE, "out of range" },
		{ __LINE__, CALM_A_FLAGS, 4, 1U << 4, EINVAL, "" },
		{ __LINE__, CALM_A_FLAGS, 4, 1U << 31, EINVAL, "" },
		{ __LINE__, CALM_A_TOGGLE_LAPS, 4, CALM_WARMUP_MAX + 1, ERANGE, "out of range" },
		{ __LINE__, CALM_A_STATE, 4, 1, EINVAL, "" },
		{ __LINE__, CALM_A_MAX + 1, 4, 1, EINVAL, "" },
		{ __LINE__, 200, 4, 1, EINVAL, "" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* two rounds, so that CALM_SAMPLES_MAX samples are one too many */
		struct nl_msg *msg = client_run_request(&self->client, 1, 2, 1);
		struct answer a;

		if (rows[i].width)
			client_replace(msg, rows[i].type, &rows[i].value, rows[i].width);
		else
			client_remove(msg, rows[i].type);
		a = client_ask(&self->client, msg);
		EXPECT_EQ(rows[i].err, a.err)
		{
			TH_LOG("line %d: \"%s\"", rows[i].line, a.text);
		}
		EXPECT_NE(NULL, strstr(a.text, rows[i].text))
		{
			TH_LOG("line %d: \"%s\"", rows[i].line, a.text);
		}
		EXPECT_EQ(rows[i].type, a.bad_attr)
		{
			TH_LOG("line %d: \"%s\"", rows[i].line, a.text);
		}
		EXPECT_EQ(0, a.job);
	}
	/* None of them took the slot. */
	EXPECT_EQ(0, client_ask(&self->client, client_run_request(&self->client, 1, 1, 1)).err);
}

TEST_F(calm, attribute_given_twice_is_refused)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
	struct answer a;

	nla_put_u32(msg, CALM_A_ROUNDS, 1);
	a = client_ask(&self->client, msg);
	EXPECT_EQ(EINVAL, a.err);
	EXPECT_EQ(CALM_A_ROUNDS, a.bad_attr);
	EXPECT_STREQ("given twice", a.text);

	msg = client_run_request(&self->client, 1, 1, 1);
	nla_put_u32(msg, CALM_A_CPU, 1);
	a = client_ask(&self->client, msg);
	EXPECT_EQ(EINVAL, a.err);
	EXPECT_STREQ("CPU is given twice", a.text);
}

TEST_F(calm, unknown_loop_is_refused)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
	struct answer a;

	client_replace(msg, CALM_A_LOOP, "waltz", 6);
	a = client_ask(&self->client, msg);
	EXPECT_EQ(ENOENT, a.err);
	EXPECT_EQ(CALM_A_LOOP, a.bad_attr);

	msg = client_run_request(&self->client, 1, 1, 1);
	client_replace(msg, CALM_A_LOOP, "abcdefghijklmnopqrstuvwxyz", 27);
	EXPECT_EQ(EINVAL, client_ask(&self->client, msg).err);

	msg = client_run_request(&self->client, 1, 1, 1);
	client_replace(msg, CALM_A_LOOP, "chase", 5);	/* no terminating 0 */
	EXPECT_EQ(EINVAL, client_ask(&self->client, msg).err);
}

TEST_F(calm, info_takes_no_attribute)
{
	struct nl_msg *msg = client_request(&self->client, CALM_CMD_GET_INFO, 0);

	nla_put_u32(msg, CALM_A_JOB, 1);
	EXPECT_EQ(EINVAL, client_ask(&self->client, msg).err);
}

TEST_F(calm, reading_beyond_the_samples_is_refused)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 1, 3));

	ASSERT_EQ(0, a.err);
	EXPECT_EQ(0, client_harvest(&self->client, a.job, 3).err);
	EXPECT_EQ(ERANGE, client_harvest(&self->client, a.job, 4).err);
	EXPECT_EQ(ERANGE, client_harvest(&self->client, a.job, ~0U).err);
}

TEST_F(calm, unknown_job_is_refused)
{
	struct harvest h = client_harvest(&self->client, 0, 0);

	EXPECT_EQ(ENOENT, h.err);
	/* Linux 6.1 has no extended ack for what the start of a dump says. */
	EXPECT_STREQ(is_linux_6_1() ? "" : "no such job", h.text);
	EXPECT_EQ(ENOENT, client_cancel(&self->client, 0x7fffffff).err);
}

static void drop_sys_admin(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	syscall(SYS_capget, &header, data);
	data[CAP_SYS_ADMIN / 32].effective &= ~(1U << (CAP_SYS_ADMIN % 32));
	data[CAP_SYS_ADMIN / 32].permitted &= ~(1U << (CAP_SYS_ADMIN % 32));
	syscall(SYS_capset, &header, data);
}

/* Returns whether every request but the public part of GET_INFO is refused. */
static bool is_locked_out(struct client *client)
{
	struct answer info = client_ask(client, client_request(client, CALM_CMD_GET_INFO, 0));
	struct answer run = client_ask(client, client_run_request(client, 1, 1, 1));
	struct harvest h = client_harvest(client, 1, 0);

	return !info.err && info.abi && info.cpus && !info.max_bytes && run.err == EPERM &&
	       strstr(run.text, "CAP_SYS_ADMIN") && h.err == EPERM &&
	       client_cancel(client, 1).err == EPERM;
}

TEST_F(calm, sender_and_opener_both_need_the_capability)
{
	struct client opened_without;
	int status;
	pid_t child;

	/* opened as root, used after dropping it */
	child = fork();
	if (!child) {
		drop_sys_admin();
		_exit(!is_locked_out(&self->client));
	}
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);

	/* opened and used without it */
	child = fork();
	if (!child) {
		drop_sys_admin();
		_exit(!client_open(&opened_without) || !is_locked_out(&opened_without));
	}
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);

	/* opened without it, used by one that has it: effective only, so it comes back */
	child = fork();
	if (!child) {
		struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
		struct __user_cap_data_struct all[2], few[2];

		syscall(SYS_capget, &header, all);
		memcpy(few, all, sizeof(few));
		few[CAP_SYS_ADMIN / 32].effective &= ~(1U << (CAP_SYS_ADMIN % 32));
		syscall(SYS_capset, &header, few);
		if (!client_open(&opened_without))
			_exit(1);
		syscall(SYS_capset, &header, all);
		_exit(!is_locked_out(&opened_without));
	}
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);
}

/* ---- ends ---- */

TEST_F(calm, one_job_at_a_time_and_cancel_keeps_samples)
{
	struct answer a = start_endless(&self->client, 1), b;
	struct harvest h;
	struct client other;

	ASSERT_EQ(0, a.err);
	ASSERT_TRUE(client_open(&other));
	b = client_ask(&other, client_run_request(&other, 0, 1, 1));
	EXPECT_EQ(EBUSY, b.err);
	EXPECT_NE(NULL, strstr(b.text, "another job"));
	usleep(500000);
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

TEST_F(calm, job_dies_with_its_socket)
{
	pid_t child = fork();
	double killed;

	if (!child) {
		struct client own;

		if (client_open(&own) && !start_endless(&own, 1).err)
			pause();
		_exit(1);
	}
	usleep(500000);
	EXPECT_EQ(EBUSY, client_ask(&self->client, client_run_request(&self->client, 1, 1, 1)).err);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	killed = client_now();
	EXPECT_EQ(0, start_when_free(&self->client, 1).err);
	EXPECT_LT(client_now() - killed, 1.0);
}

TEST_F(calm, module_in_use_cannot_be_removed)
{
	struct answer a = start_endless(&self->client, 1);

	ASSERT_EQ(0, a.err);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "calm", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	client_cancel(&self->client, a.job);
	EXPECT_EQ(0, start_when_free(&self->client, 1).err);
}

TEST_F(calm, cpu_going_offline_ends_the_job)
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

TEST_F(calm, reading_can_be_interrupted_and_repeated)
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

TEST_HARNESS_MAIN
