// SPDX-License-Identifier: GPL-2.0-only
/* Every request that must be refused: by name, changing nothing, with no message in the log. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <netlink/attr.h>

#include "client.h"
#include "kselftest_harness.h"
#include "machine.h"

/* Between two times of a whole look, an unload and a load again; each time in a full run. */
#define ROWS_TO_RELOAD (getenv("CALM_TEST_FULL") ? 1 : 25)

/* A guest whose host has other work, on the debug kernel above all, takes many times as long. */
#define LIMIT_S 600

/* What netlink itself says of attributes with a wrong length, and any kernel on a busy host. */
static const char *const netlink_says[] = {
	"netlink: '", "validate_nla: ", "hrtimer: interrupt took", NULL
};

FIXTURE(refusals)
{
	struct client client;
	struct machine machine;
};

FIXTURE_SETUP(refusals)
{
	ASSERT_TRUE(client_open(&self->client))
	{
		TH_LOG("calm.ko is not loaded");
	}
	machine_note(&self->machine);
}

FIXTURE_TEARDOWN(refusals)
{
	EXPECT_TRUE(machine_is_idle(&self->machine))
	{
		TH_LOG("%s", self->machine.why);
	}
	EXPECT_TRUE(machine_has_its_memory(&self->machine))
	{
		TH_LOG("%s", self->machine.why);
	}
	client_close(&self->client);
	EXPECT_TRUE(machine_reload(&self->machine, ""))
	{
		TH_LOG("%s", self->machine.why);
	}
	machine_forget(&self->machine);
}

static bool is_linux_6_1(void)
{
	struct utsname name;

	uname(&name);
	return !strncmp(name.release, "6.1.", 4);
}

/* ---- what the specification tells, from refusals.py ---- */

static const char zeros[256];
static const char letters[65536] = "calm";

#define NESTS 2

struct row {
	const char *name;
	uint8_t cmd;
	bool dump;
	int nests[NESTS + 1];	/* attributes that hold it, from the outermost on; 0 ends them */
	int type;
	int flag;		/* NLA_F_* */
	int copies;		/* 0: the attribute is left out */
	int width;
	uint64_t value;		/* if there are no bytes */
	const char *bytes;
	int err;
	const char *text;	/* part of the extended ack */
	bool own;		/* it is the module that refuses, not netlink */
};

static const struct row rows[] = {
#include "refusal-rows.h"
};

/* What the command needs, as far as it can be said without a job. */
static struct nl_msg *good_request(struct client *client, const struct row *row)
{
	struct nlattr *nest;
	struct nl_msg *msg;

	if (row->cmd == CALM_CMD_RUN)
		return client_run_request(client, 1, 1, 1);
	msg = client_request(client, row->cmd, row->dump ? NLM_F_DUMP : NLM_F_ACK);
	if (row->cmd == CALM_CMD_SAMPLES || row->cmd == CALM_CMD_CANCEL)
		nla_put_u32(msg, CALM_A_JOB, ~0U);
	if (row->cmd == CALM_CMD_PREFETCH_SET) {
		nest = nla_nest_start(msg, CALM_A_SWITCH | NLA_F_NESTED);
		nla_put_u32(msg, CALM_A_SWITCH_STATE, CALM_PREFETCH_FOUND);
		nla_nest_end(msg, nest);
	}
	return msg;
}

static void spoil(struct nl_msg *msg, const struct row *row)
{
	const void *bytes = row->bytes ? (const void *)row->bytes : &row->value;
	struct nlattr *nests[NESTS];
	int depth, i;

	client_remove(msg, row->nests[0] ? row->nests[0] : row->type);
	for (depth = 0; row->nests[depth]; depth++)
		nests[depth] = nla_nest_start(msg, row->nests[depth] | NLA_F_NESTED);
	for (i = 0; i < row->copies; i++)
		nla_put(msg, row->type | row->flag, row->width, bytes);
	while (depth--)
		nla_nest_end(msg, nests[depth]);
}

static struct answer ask(struct client *client, const struct row *row)
{
	struct nl_msg *msg = good_request(client, row);

	spoil(msg, row);
	return client_ask(client, msg);
}

static bool is_refused(const struct answer *a, const struct row *row)
{
	/* Linux 6.1 has no extended ack for what the start of a dump says */
	bool mute = row->dump && row->own && is_linux_6_1();

	return a->err == row->err && !a->job && strstr(a->text, mute ? "" : row->text) &&
	       a->bad_attr == (mute ? 0 : row->type);
}

TEST_F_TIMEOUT(refusals, each_attribute_and_each_way, 600)
{
	size_t i, nr = sizeof(rows) / sizeof(rows[0]);

	self->machine.ignore = netlink_says;
	for (i = 0; i < nr; i++) {
		struct answer a = ask(&self->client, &rows[i]);
		bool whole = i % ROWS_TO_RELOAD == 0;

		EXPECT_TRUE(is_refused(&a, &rows[i]))
		{
			TH_LOG("%s: errno %d, attribute %d, job %u, \"%s\"", rows[i].name, a.err,
			       a.bad_attr, a.job, a.text);
		}
		EXPECT_TRUE(whole ? machine_is_idle(&self->machine) :
			    machine_is_free(&self->machine))
		{
			TH_LOG("%s: %s", rows[i].name, self->machine.why);
		}
		if (!whole)
			continue;
		ASSERT_TRUE(machine_reload(&self->machine, ""))
		{
			TH_LOG("%s: %s", rows[i].name, self->machine.why);
		}
		client_close(&self->client);
		ASSERT_TRUE(client_open(&self->client));
	}
	TH_LOG("%zu requests, each of them wrong in one way", nr);
	/* What was spoiled is good as it was. */
	EXPECT_EQ(0, client_ask(&self->client, client_run_request(&self->client, 1, 1, 1)).err);
	client_close(&self->client);
	ASSERT_TRUE(client_open(&self->client));
}

/* ---- what two attributes, the machine or a job decide ---- */

struct meaning {
	int line;
	int type;		/* attribute to change */
	int width;
	uint64_t value;
	int err;
	const char *text;	/* part of the extended ack */
};

/* CPU 1 is offline meanwhile, CPU 0 is asked for where it does not matter. */
static const struct meaning meanings[] = {
	{ __LINE__, CALM_A_CPU, 4, 1, ENODEV, "CPU is not online" },
	{ __LINE__, CALM_A_CPU, 4, 2, ENODEV, "no such CPU" },
	{ __LINE__, CALM_A_CPU, 4, CALM_CPUS_MAX - 1, ENODEV, "no such CPU" },
	{ __LINE__, CALM_A_CPU, 4, CALM_CPUS_MAX, ERANGE, "out of range" },
	{ __LINE__, CALM_A_NODE, 4, 1, ENODEV, "no such memory node" },
	{ __LINE__, CALM_A_NODE, 4, CALM_NODES_MAX - 1, ENODEV, "no such memory node" },
	{ __LINE__, CALM_A_SIZE_BYTES, 8, 0, ERANGE, "two strides" },
	{ __LINE__, CALM_A_SIZE_BYTES, 8, 127, ERANGE, "two strides" },
	{ __LINE__, CALM_A_SIZE_BYTES, 8, 1ULL << 40, ENOMEM, "larger than free memory" },
	{ __LINE__, CALM_A_SIZE_BYTES, 8, ~0ULL, ENOMEM, "larger than free memory" },
	{ __LINE__, CALM_A_STRIDE_BYTES, 4, 12, EINVAL, "multiple of 8" },
	{ __LINE__, CALM_A_LANES, 4, 2, EINVAL, "the loop has one lane" },
	{ __LINE__, CALM_A_SAMPLES, 4, CALM_SAMPLES_MAX, ERANGE, "limit of samples" },
	{ __LINE__, CALM_A_LOOP, 6, 0x7a746c6177 /* waltz */, ENOENT, "no such loop" },
};

TEST_F_TIMEOUT(refusals, what_cannot_be_done, LIMIT_S)
{
	size_t i;

	ASSERT_TRUE(machine_write("/sys/devices/system/cpu/cpu1/online", "0"));
	self->machine.cpus_online--;
	machine_skip_messages(&self->machine);
	for (i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		/* two rounds, so that CALM_SAMPLES_MAX samples are one too many */
		struct nl_msg *msg = client_run_request(&self->client, 0, 2, 1);
		const struct meaning *m = &meanings[i];
		struct answer a;

		client_replace(msg, m->type, &m->value, m->width);
		a = client_ask(&self->client, msg);
		EXPECT_TRUE(a.err == m->err && strstr(a.text, m->text) && a.bad_attr == m->type &&
			    !a.job)
		{
			TH_LOG("line %d: errno %d, attribute %d, \"%s\"", m->line, a.err,
			       a.bad_attr, a.text);
		}
		EXPECT_TRUE(machine_is_idle(&self->machine))
		{
			TH_LOG("line %d: %s", m->line, self->machine.why);
		}
	}
	ASSERT_TRUE(machine_write("/sys/devices/system/cpu/cpu1/online", "1"));
	self->machine.cpus_online++;
	machine_skip_messages(&self->machine);
}

/* What a loop cannot do with the rest; the attribute that is changed need not be the guilty one. */
static const struct asked {
	int line;
	const char *loop;
	int type;
	int width;
	uint64_t value;
	int bad_attr;
	int err;
	const char *text;
} loops[] = {
	{ __LINE__, "stride", CALM_A_ORDER, 4, CALM_ORDER_RANDOM, CALM_A_ORDER, EINVAL,
	  "another order" },
	{ __LINE__, "stride16", CALM_A_STRIDE_BYTES, 4, 8, CALM_A_STRIDE_BYTES, EINVAL,
	  "shorter than a load" },
	{ __LINE__, "random", CALM_A_ORDER, 4, CALM_ORDER_LINEAR, CALM_A_ORDER, EINVAL,
	  "another order" },
	{ __LINE__, "random", CALM_A_SIZE_BYTES, 8, 3 << 14, CALM_A_SIZE_BYTES, EINVAL,
	  "power of two" },
	{ __LINE__, "random", CALM_A_STRIDE_BYTES, 4, 24, CALM_A_STRIDE_BYTES, EINVAL,
	  "power of two" },
	{ __LINE__, "random", CALM_A_LANES, 4, 2, CALM_A_LANES, EINVAL, "the loop has one lane" },
	/* two strides of 2049, but not when it is cut to whole units of 512 */
	{ __LINE__, "copy", CALM_A_SIZE_BYTES, 8, 4098, CALM_A_SIZE_BYTES, ERANGE, "two strides" },
	{ __LINE__, "parallel", CALM_A_LANES, 4, 3, CALM_A_LOADS, EINVAL,
	  "multiple of the lanes" },
	{ __LINE__, "parallel", CALM_A_LANES, 4, 17, CALM_A_LANES, ERANGE, "out of range" },
	{ __LINE__, "chase", CALM_A_ORDER, 4, CALM_ORDER_PAGE_LOCAL, CALM_A_STRIDE_BYTES, EINVAL,
	  "divide 4096" },
};

TEST_F_TIMEOUT(refusals, what_a_loop_cannot_do, LIMIT_S)
{
	size_t i;

	for (i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
		const struct asked *l = &loops[i];
		struct answer a;

		client_replace(msg, CALM_A_LOOP, l->loop, strlen(l->loop) + 1);
		if (l->type == CALM_A_ORDER && l->value == CALM_ORDER_PAGE_LOCAL)
			client_replace_u32(msg, CALM_A_STRIDE_BYTES, 72);
		if (!strcmp(l->loop, "stride16") || !strcmp(l->loop, "copy"))
			client_replace_u32(msg, CALM_A_ORDER, CALM_ORDER_LINEAR);
		if (!strcmp(l->loop, "copy"))
			client_replace_u32(msg, CALM_A_STRIDE_BYTES, 2049);
		client_replace(msg, l->type, &l->value, l->width);
		a = client_ask(&self->client, msg);
		EXPECT_TRUE(a.err == l->err && strstr(a.text, l->text) &&
			    a.bad_attr == l->bad_attr && !a.job)
		{
			TH_LOG("line %d: errno %d, attribute %d, \"%s\"", l->line, a.err,
			       a.bad_attr, a.text);
		}
		EXPECT_TRUE(machine_is_free(&self->machine))
		{
			TH_LOG("line %d: %s", l->line, self->machine.why);
		}
	}
}

TEST_F_TIMEOUT(refusals, cpus_that_are_too_many_or_twice, LIMIT_S)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
	struct answer a;
	int i;

	nla_put_u32(msg, CALM_A_CPU, 1);
	a = client_ask(&self->client, msg);
	EXPECT_EQ(EINVAL, a.err);
	EXPECT_EQ(CALM_A_CPU, a.bad_attr);
	EXPECT_STREQ("CPU is given twice", a.text);

	msg = client_run_request(&self->client, 0, 1, 1);
	for (i = 0; i < CALM_CPUS_MAX; i++)
		nla_put_u32(msg, CALM_A_CPU, i);
	a = client_ask(&self->client, msg);
	EXPECT_EQ(ERANGE, a.err);
	EXPECT_EQ(CALM_A_CPU, a.bad_attr);
	EXPECT_STREQ("too many CPUs", a.text);
}

/* lines, block, stride, step, places and place of one layout; 0 is left out */
static const struct {
	int line;
	uint64_t field[CALM_A_LAYOUT_MAX];
	int err;
	const char *text;
} layouts[] = {
	{ __LINE__, { 0, 0, 64 }, EINVAL, "needs lines and stride-bytes" },
	{ __LINE__, { 4 }, EINVAL, "needs lines and stride-bytes" },
	{ __LINE__, { 1, 0, 64 }, ERANGE, "at least two lines" },
	{ __LINE__, { 4, 0, 12 }, ERANGE, "overlap or do not fit" },
	{ __LINE__, { 65, 0, 64 }, ERANGE, "overlap or do not fit" },
	{ __LINE__, { 4, 2, 64, 64 }, ERANGE, "overlap or do not fit" },
	{ __LINE__, { 4, 2, 64, 4 }, ERANGE, "overlap or do not fit" },
	{ __LINE__, { 4, 0, 64, 0, 9, 8 }, ERANGE, "overlap or do not fit" },
	{ __LINE__, { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL }, ERANGE, "overlap or do not" },
	{ __LINE__, { 1ULL << 61, 0, 8 }, ERANGE, "overlap or do not fit" },
	{ __LINE__, { 4, 0, 1ULL << 62 }, ERANGE, "overlap or do not fit" },
};

static void put_layout(struct nl_msg *msg, const uint64_t *field)
{
	struct nlattr *nest = nla_nest_start(msg, CALM_A_LAYOUT | NLA_F_NESTED);
	int i;

	for (i = 0; i < CALM_A_LAYOUT_MAX; i++)
		if (field[i])
			nla_put_u64(msg, CALM_A_LAYOUT_LINES + i, field[i]);
	nla_nest_end(msg, nest);
}

/* A good one first, so that the guilty one is the second. */
TEST_F_TIMEOUT(refusals, layouts_that_do_not_fit, LIMIT_S)
{
	static const uint64_t good[CALM_A_LAYOUT_MAX] = { 64, 0, 64 };
	struct nl_msg *msg;
	struct answer a;
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		msg = client_run_request(&self->client, 1, 1, 1);
		client_replace_u64(msg, CALM_A_SIZE_BYTES, 4096);
		put_layout(msg, good);
		put_layout(msg, layouts[i].field);
		a = client_ask(&self->client, msg);
		EXPECT_TRUE(a.err == layouts[i].err && strstr(a.text, layouts[i].text) &&
			    a.bad_attr == CALM_A_LAYOUT && !a.job)
		{
			TH_LOG("line %d: errno %d, attribute %d, \"%s\"", layouts[i].line, a.err,
			       a.bad_attr, a.text);
		}
	}
}

static void put_good_layout(struct nl_msg *msg)
{
	static const uint64_t good[CALM_A_LAYOUT_MAX] = { 64, 0, 64 };

	put_layout(msg, good);
}

static void put_event(struct nl_msg *msg)
{
	struct nlattr *nest = nla_nest_start(msg, CALM_A_EVENT | NLA_F_NESTED);

	nla_put_u64(msg, CALM_A_EVENT_SELECT, 0xc0);
	nla_nest_end(msg, nest);
}

static void put_setting(struct nl_msg *msg)
{
	/* libnl drops an empty nest otherwise */
	nla_nest_end_keep_empty(msg, nla_nest_start(msg, CALM_A_SETTING | NLA_F_NESTED));
}

static const struct {
	void (*put)(struct nl_msg *msg);
	int type;
	int most;
	const char *text;
} lists[] = {
	{ put_event, CALM_A_EVENT, CALM_COUNTERS_MAX, "at most 7 events at a time" },
	{ put_setting, CALM_A_SETTING, CALM_SETTINGS_MAX, "at most 32 settings" },
	{ put_good_layout, CALM_A_LAYOUT, CALM_LAYOUTS_MAX, "at most 4 layouts" },
};

/* As many as there may be are taken; one more is refused by name. */
TEST_F_TIMEOUT(refusals, one_more_than_there_may_be, LIMIT_S)
{
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
		struct answer a;
		int nr;

		/* looked at behind the lists */
		client_replace_u32(msg, CALM_A_CPU, CALM_CPUS_MAX - 1);
		for (nr = 0; nr < lists[i].most; nr++)
			lists[i].put(msg);
		a = client_ask(&self->client, msg);
		EXPECT_STREQ("no such CPU", a.text);

		msg = client_run_request(&self->client, 1, 1, 1);
		for (nr = 0; nr < lists[i].most + 1; nr++)
			lists[i].put(msg);
		a = client_ask(&self->client, msg);
		EXPECT_EQ(ENOSPC, a.err);
		EXPECT_EQ(lists[i].type, a.bad_attr);
		EXPECT_STREQ(lists[i].text, a.text);
	}
}

TEST_F_TIMEOUT(refusals, a_layout_of_a_loop_without_a_chain, LIMIT_S)
{
	static const uint64_t good[CALM_A_LAYOUT_MAX] = { 2, 0, 64 };
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 1);
	struct answer a;

	client_replace(msg, CALM_A_LOOP, "stride", sizeof("stride"));
	client_replace_u32(msg, CALM_A_ORDER, CALM_ORDER_LINEAR);
	put_layout(msg, good);
	a = client_ask(&self->client, msg);
	EXPECT_EQ(EINVAL, a.err);
	EXPECT_EQ(CALM_A_LAYOUT, a.bad_attr);
	EXPECT_STREQ("the loop does not follow a chain", a.text);
}

TEST_F_TIMEOUT(refusals, samples_that_are_not_there, LIMIT_S)
{
	struct answer a = client_ask(&self->client, client_run_request(&self->client, 1, 1, 3));
	struct harvest h;

	ASSERT_EQ(0, a.err);
	EXPECT_EQ(0, client_harvest(&self->client, a.job, 3).err);
	EXPECT_EQ(ERANGE, client_harvest(&self->client, a.job, 4).err);
	EXPECT_EQ(ERANGE, client_harvest(&self->client, a.job, ~0U).err);
	h = client_harvest(&self->client, a.job + 1, 0);
	EXPECT_EQ(ENOENT, h.err);
	/* Linux 6.1 has no extended ack for what the start of a dump says. */
	EXPECT_STREQ(is_linux_6_1() ? "" : "no such job", h.text);
	EXPECT_EQ(ENOENT, client_cancel(&self->client, 0x7fffffff).err);
	/* the job lives as long as its socket */
	client_close(&self->client);
	ASSERT_TRUE(client_open(&self->client));
}

TEST_F_TIMEOUT(refusals, a_second_client, LIMIT_S)
{
	struct nl_msg *msg = client_run_request(&self->client, 1, 1, 100000);
	struct answer a = client_ask(&self->client, msg), b;
	struct client other;

	ASSERT_EQ(0, a.err);
	ASSERT_TRUE(client_open(&other));
	b = client_ask(&other, client_run_request(&other, 0, 1, 1));
	EXPECT_EQ(EBUSY, b.err);
	EXPECT_NE(NULL, strstr(b.text, "another job"));
	EXPECT_EQ(0, b.job);
	/* going away without a job of its own, it ends nobody's */
	client_close(&other);
	EXPECT_EQ(EBUSY, client_ask(&self->client, client_run_request(&self->client, 0, 1, 1)).err);
	client_close(&self->client);
	ASSERT_TRUE(client_open(&self->client));
}

/* ---- who may ask ---- */

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

/* Runs @test in a child; returns whether it said that it is locked out. */
static bool in_child(struct client *client, bool (*test)(struct client *client))
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(!test(client));
	waitpid(child, &status, 0);
	return !status;
}

static bool opened_with_used_without(struct client *client)
{
	drop_sys_admin();
	return is_locked_out(client);
}

static bool opened_and_used_without(struct client *unused)
{
	struct client own;

	drop_sys_admin();
	return client_open(&own) && is_locked_out(&own);
}

/* Gives it up for a while: what is permitted can come back. */
static bool opened_without_used_with(struct client *unused)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2], few[2];
	struct client own;

	syscall(SYS_capget, &header, all);
	memcpy(few, all, sizeof(few));
	few[CAP_SYS_ADMIN / 32].effective &= ~(1U << (CAP_SYS_ADMIN % 32));
	syscall(SYS_capset, &header, few);
	if (!client_open(&own))
		return false;
	syscall(SYS_capset, &header, all);
	return is_locked_out(&own);
}

/* Root of a user namespace, which has every capability there. */
static bool become_namespace_root(int namespaces)
{
	return !unshare(namespaces) && machine_write("/proc/self/setgroups", "deny") &&
	       machine_write("/proc/self/uid_map", "0 0 1") &&
	       machine_write("/proc/self/gid_map", "0 0 1") && !geteuid();
}

static bool opened_before_namespace(struct client *client)
{
	return become_namespace_root(CLONE_NEWUSER) && is_locked_out(client);
}

static bool opened_in_namespace(struct client *unused)
{
	struct client own;

	return become_namespace_root(CLONE_NEWUSER) && client_open(&own) && is_locked_out(&own);
}

/* Where the family is not even to be seen. */
static bool opened_in_net_namespace(struct client *unused)
{
	struct client own;

	return become_namespace_root(CLONE_NEWUSER | CLONE_NEWNET) && !client_open(&own);
}

TEST_F_TIMEOUT(refusals, who_lacks_the_capability, LIMIT_S)
{
	static const struct {
		const char *name;
		bool (*test)(struct client *client);
	} ways[] = {
		{ "opened with it, used after dropping it", opened_with_used_without },
		{ "opened and used without it", opened_and_used_without },
		{ "opened without it, used with it", opened_without_used_with },
		{ "opened with it, used by root of a user namespace", opened_before_namespace },
		{ "root of a user namespace", opened_in_namespace },
		{ "root of a user and network namespace", opened_in_net_namespace },
	};
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		EXPECT_TRUE(in_child(&self->client, ways[i].test))
		{
			TH_LOG("%s", ways[i].name);
		}
		EXPECT_TRUE(machine_is_idle(&self->machine))
		{
			TH_LOG("%s: %s", ways[i].name, self->machine.why);
		}
	}
}

TEST_HARNESS_MAIN
