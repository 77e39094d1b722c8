// SPDX-License-Identifier: GPL-2.0-only
/* Attributes to structs and back, against bytes that the module and a 6.1 kernel really sent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include <linux/calm.h>
#include <linux/netlink.h>
#include <netlink/attr.h>

#include "backend/wire.h"
#include "util.h"

/* From selftests/data/busy.replay and no-node.replay: what calm sent. */
static const char run_hex[] =
	"0a000900636861736500000008000a00010000000c000c00001000000000000008000d00400000"
	"0008000e000200000008000f00010000000c001000004000000000000008001100010000000800"
	"12000500000008001300020000000c00140001000000000000000800150001000000";

static const char run_node_hex[] =
	"0a000900636861736500000008000a000100000008000b00010000000c000c0000100000000000"
	"0008000d004000000008000e000200000008000f00010000000c00100000400000000000000800"
	"110001000000080012000500000008001300020000000c00140001000000000000000800150001"
	"000000";

/* What the module answered. */
static const char info_hex[] =
	"0a000100302e312e3000000008000200010000000800040039ac27005000038008000100000000"
	"000400020008000400000000000800050000000000080006000000000008000700020000000800"
	"08000f000000080009006b00000008000a000100000008000b0065000001500003800800010001"
	"000000040002000800040000000000080005000000000008000600010000000800070002000000"
	"080008000f000000080009006b00000008000a000100000008000b00650000010c000500008050"
	"230000000008000600000010000800070010270000";

static const char public_hex[] =
	"0a000100302e312e3000000008000200010000000800040039ac27005000038008000100000000"
	"000400020008000400000000000800050000000000080006000000000008000700020000000800"
	"08000f000000080009006b00000008000a000100000008000b0065000001500003800800010001"
	"000000040002000800040000000000080005000000000008000600010000000800070002000000"
	"080008000f000000080009006b00000008000a000100000008000b0065000001";

static const char job_hex[] =
	"080008000100000008000a00010000000a00090063686173650000000c000c0000100000000000"
	"0008000d004000000008000e000200000008000f00010000000c00100000400000000000000800"
	"110001000000080012000500000008001300020000000c00140001000000000000000800150001"
	"0000000800190005000000";

static const char samples_hex[] =
	"08000800050000000800170003000000080018000600000008001900060000000c001a00008000"
	"000000000074001c80080001000000000008000200010000000c00030001000000000000000c00"
	"040004000000000000000c00050000000000000000000c00060000000000000000000c00070001"
	"000000000000000c00080000200000000000000c00090001000000000000000c000a0000010000"
	"0000000074001c80080001000100000008000200010000000c00030002000000000000000c0004"
	"0004000000000000000c00050000000000000000000c00060000000000000000000c0007000000"
	"0000000000000c00080000100000000000000c00090001000000000000000c000a000001000000"
	"0000005c001b800800010000000000080002000100000008000300000000000c000400e0830200"
	"000000000c000500a4fe0400000000000c000600700000000000000008000700010000000c0008"
	"008c1105000000000008000900000000005c001b80080001000100000008000200010000000800"
	"0300000000000c00040020880200000000000c000500164d0500000000000c0006005a00000000"
	"00000008000700010000000c000800de5a05000000000008000900000000005c001b8008000100"
	"02000000080002000100000008000300000000000c000400747d0200000000000c0005009afd04"
	"00000000000c0006005c0000000000000008000700010000000c000800d40c0500000000000800"
	"0900000000005c001b800800010003000000080002000100000008000300010000000c00040044"
	"6a0200000000000c000500ea0b0500000000000c0006003e000000000000000800070001000000"
	"0c000800fc1805000000000008000900000000005c001b80080001000400000008000200010000"
	"0008000300010000000c000400047b0200000000000c000500020b0500000000000c0006003e00"
	"00000000000008000700010000000c000800681805000000000008000900000000005c001b8008"
	"00010005000000080002000100000008000300010000000c000400667f0200000000000c000500"
	"b8300700000000000c000600400000000000000008000700010000000c000800a43e0700000000"
	"000800090000000000";

/* What the kernel made of its refusals. */
static const char busy_hex[] =
	"f0ffffff8400000020000500709e0c6b7500801c020100000a000900636861736500000008000a"
	"00010000000c000c00001000000000000008000d004000000008000e000200000008000f000100"
	"00000c00100000400000000000000800110001000000080012000500000008001300020000000c"
	"0014000100000000000000080015000100000033000100616e6f74686572206a6f622069732072"
	"756e6e696e673b207468657265206973206f6e6520617420612074696d650000";

static const char no_cpu_hex[] =
	"edffffff84000000200005006f9e0c6b6600c01c020100000a000900636861736500000008000a"
	"00030000000c000c00001000000000000008000d004000000008000e000200000008000f000100"
	"00000c00100000400000000000000800110001000000080012000500000008001300020000000c"
	"00140001000000000000000800150001000000100001006e6f2073756368204350550008000200"
	"20000000";

static const char no_node_hex[] =
	"edffffff8c000000200005006f9e0c6b6800c01c020100000a000900636861736500000008000a"
	"000100000008000b00010000000c000c00001000000000000008000d004000000008000e000200"
	"000008000f00010000000c00100000400000000000000800110001000000080012000500000008"
	"001300020000000c00140001000000000000000800150001000000180001006e6f207375636820"
	"6d656d6f7279206e6f6465000800020028000000";

static const char not_permitted_hex[] =
	"ffffffff8400000020000500719e0c6b7c00401c020100000a000900636861736500000008000a"
	"00010000000c000c00001000000000000008000d004000000008000e000200000008000f000100"
	"00000c00100000400000000000000800110001000000080012000500000008001300020000000c"
	"00140001000000000000000800150001000000460001006e65656473204341505f5359535f4144"
	"4d494e2c20696e207468652073656e64657220616e64207768656e2069747320736f636b657420"
	"776173206f70656e6564000000";

/* Bytes of a hexadecimal text, to be freed. */
static void *bytes_of(const char *hex, size_t *len)
{
	unsigned char *bytes;
	size_t i;

	*len = strlen(hex) / 2;
	bytes = calm_alloc(*len, 1);
	for (i = 0; i < *len; i++)
		sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
	return bytes;
}

static struct calm_msg message_of(const char *hex, uint8_t cmd)
{
	struct calm_msg msg = { .cmd = cmd };

	msg.attrs = bytes_of(hex, &msg.len);
	return msg;
}

static struct calm_point chase_of_4k(int32_t node)
{
	return (struct calm_point){
		.loop = "chase", .cpu = 1, .node = node, .size_bytes = 4096, .stride_bytes = 64,
		.pages = CALM_PAGES_2M, .order = CALM_ORDER_RANDOM, .loads = 16384, .rounds = 1,
		.samples = 5, .warmup = 2, .seed = 1, .flags = CALM_F_TWO_LENGTHS,
	};
}

static const struct {
	int line;
	int32_t node;
	const char *hex;
} runs[] = {
	{ __LINE__, -1, run_hex },
	{ __LINE__, 1, run_node_hex },
};

TEST(run_is_encoded_as_recorded)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(runs); i++) {
		struct calm_point point = chase_of_4k(runs[i].node);
		struct calm_msg expected = message_of(runs[i].hex, CALM_CMD_RUN), msg;

		calm_wire_run(&msg, &point);
		EXPECT_EQ(CALM_CMD_RUN, msg.cmd);
		ASSERT_EQ(expected.len, msg.len)
			TH_LOG("row of line %d", runs[i].line);
		EXPECT_EQ(0, memcmp(expected.attrs, msg.attrs, msg.len))
			TH_LOG("row of line %d", runs[i].line);
		calm_wire_free(&msg);
		free(expected.attrs);
	}
}

TEST(lanes_travel_where_there_are_several)
{
	static const uint32_t lanes[] = { 0, 1, 2, 16 };
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(lanes); i++) {
		struct calm_point point = chase_of_4k(-1);
		struct calm_msg msg;
		struct nlattr *attr;

		point.lanes = lanes[i];
		calm_wire_run(&msg, &point);
		attr = nla_find((struct nlattr *)msg.attrs, (int)msg.len, CALM_A_LANES);
		EXPECT_EQ(lanes[i] > 1, !!attr);
		if (attr)
			EXPECT_EQ(lanes[i], nla_get_u32(attr));
		calm_wire_free(&msg);
	}
}

TEST(short_requests)
{
	static const unsigned char job[] = { 8, 0, CALM_A_JOB, 0, 0x78, 0x56, 0x34, 0x12 };
	static const unsigned char samples[] = {
		8, 0, CALM_A_JOB, 0, 0x78, 0x56, 0x34, 0x12, 8, 0, CALM_A_FIRST, 0, 9, 0, 0, 0,
	};
	struct calm_msg msg;

	calm_wire_get_info(&msg);
	EXPECT_EQ(CALM_CMD_GET_INFO, msg.cmd);
	EXPECT_EQ(0, msg.len);
	calm_wire_free(&msg);

	calm_wire_cancel(&msg, 0x12345678);
	EXPECT_EQ(CALM_CMD_CANCEL, msg.cmd);
	ASSERT_EQ(sizeof(job), msg.len);
	EXPECT_EQ(0, memcmp(job, msg.attrs, msg.len));
	calm_wire_free(&msg);

	calm_wire_samples(&msg, 0x12345678, 9);
	EXPECT_EQ(CALM_CMD_SAMPLES, msg.cmd);
	ASSERT_EQ(sizeof(samples), msg.len);
	EXPECT_EQ(0, memcmp(samples, msg.attrs, msg.len));
	calm_wire_free(&msg);
}

/* Adds an attribute to a message of host byte order. */
static void add(struct calm_msg *msg, uint16_t type, const void *data, uint16_t len)
{
	const uint16_t head[] = { (uint16_t)(4 + len), type };
	size_t padded = (len + 3u) & ~3u;

	msg->attrs = realloc(msg->attrs, msg->len + 4 + padded);
	memset((char *)msg->attrs + msg->len, 0, 4 + padded);
	memcpy((char *)msg->attrs + msg->len, head, 4);
	memcpy((char *)msg->attrs + msg->len + 4, data, len);
	msg->len += 4 + padded;
}

TEST(numbers_beyond_32_bits_come_back)
{
	static const uint64_t sizes[] = { 5ULL << 30, (1ULL << 46) - 64, UINT64_MAX - 63 };
	const uint32_t job = 7, total = 5;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(sizes); i++) {
		struct calm_point point = chase_of_4k(-1);
		struct calm_result result = { .total = 0 };
		struct calm_msg msg;
		uint32_t found;

		point.size_bytes = sizes[i];
		point.loads = CALM_LOADS_MAX - i;
		point.seed = UINT64_MAX - i;
		calm_wire_run(&msg, &point);
		add(&msg, CALM_A_JOB, &job, sizeof(job));
		add(&msg, CALM_A_TOTAL, &total, sizeof(total));
		ASSERT_EQ(0, calm_wire_read_job(&msg, &found, &result));
		EXPECT_EQ(job, found);
		EXPECT_EQ(sizes[i], result.effective.size_bytes);
		EXPECT_EQ(point.loads, result.effective.loads);
		EXPECT_EQ(point.seed, result.effective.seed);
		calm_wire_free(&msg);
	}
}

TEST(memory_nodes_are_decoded)
{
	static const uint64_t limits[] = { 17ULL << 30, 5ULL << 32 };
	struct calm_msg msg = message_of(info_hex, CALM_CMD_GET_INFO);
	struct calm_module module;
	uint32_t id;

	for (id = 0; id < 2; id++) {
		struct calm_msg nest = { .attrs = NULL };

		add(&nest, CALM_A_MEMORY_NODE_ID, &id, sizeof(id));
		add(&nest, CALM_A_MEMORY_NODE_MAX_BYTES, &limits[id], sizeof(limits[id]));
		add(&msg, CALM_A_MEMORY_NODE | 0x8000, nest.attrs, (uint16_t)nest.len);
		free(nest.attrs);
	}
	ASSERT_EQ(0, calm_wire_read_info(&msg, &module));
	ASSERT_EQ(2, module.n_nodes);
	for (id = 0; id < 2; id++) {
		EXPECT_EQ(id, module.nodes[id].id);
		EXPECT_EQ(limits[id], module.nodes[id].max_bytes);
	}
	free(module.processors);
	free(module.nodes);

	/* a node without its limit */
	add(&msg, CALM_A_MEMORY_NODE | 0x8000, "\x08\0\x01\0\x05\0\0", 8);
	EXPECT_EQ(-EBADMSG, calm_wire_read_info(&msg, &module));
	free(msg.attrs);
}

TEST(info_is_decoded)
{
	struct calm_msg msg = message_of(info_hex, CALM_CMD_GET_INFO);
	struct calm_module module;

	ASSERT_EQ(0, calm_wire_read_info(&msg, &module));
	EXPECT_STREQ("0.1.0", module.version);
	EXPECT_EQ(1, module.abi);
	EXPECT_LT(1000000, module.tsc_khz);
	EXPECT_TRUE(module.has_limits);
	EXPECT_LT(1 << 20, module.max_bytes);
	EXPECT_EQ(CALM_SAMPLES_MAX, module.samples_limit);
	EXPECT_EQ(10000, module.slice_us);
	ASSERT_EQ(2, module.n_processors);
	EXPECT_EQ(1, module.processors[1].id);
	EXPECT_TRUE(module.processors[1].online);
	EXPECT_FALSE(module.processors[1].isolated);
	EXPECT_EQ(1, module.processors[1].core);
	EXPECT_EQ(2, module.processors[1].vendor);
	EXPECT_EQ(15, module.processors[1].family);
	EXPECT_EQ(107, module.processors[1].model);
	EXPECT_EQ(0x1000065, module.processors[1].microcode);
	free(module.processors);
	free(msg.attrs);
}

/* From selftests/data/count.replay: a CPU with counters. */
static const char info_pmu_hex[] =
	"0a000100302e312e3000000008000200010000000800040020aa4400a00003803c000e80080001"
	"000400000008000200000000000c0003003f000000000000000c00040000000000000000000800"
	"050030000000080006000000000009000d005a656e340000000008000c00000000000800010000"
	"000000040002000800040000000000080005000000000008000600000000000800070002000000"
	"0800080019000000080009006100000008000a000200000008000b0065000001a00003803c000e"
	"80080001000400000008000200000000000c0003003f000000000000000c000400000000000000"
	"00000800050030000000080006000000000009000d005a656e340000000008000c000000000008"
	"000100010000000400020008000400000000000800050000000000080006000100000008000700"
	"020000000800080019000000080009006100000008000a000200000008000b00650000010c0005"
	"00006042230000000008000600000010000800070010270000";

TEST(counters_are_decoded)
{
	struct calm_msg msg = message_of(info_pmu_hex, CALM_CMD_GET_INFO);
	const struct calm_processor *processor;
	struct calm_module module;

	ASSERT_EQ(0, calm_wire_read_info(&msg, &module));
	ASSERT_EQ(2, module.n_processors);
	processor = &module.processors[1];
	EXPECT_STREQ("Zen4", processor->microarch);
	EXPECT_EQ(0, processor->core_type);
	EXPECT_EQ(CALM_PMU_AMD_V2, processor->pmu.style);
	EXPECT_EQ(0x3f, processor->pmu.general);
	EXPECT_EQ(0, processor->pmu.fixed);
	EXPECT_EQ(48, processor->pmu.width);
	free(module.processors);
	free(msg.attrs);
}

/* The nest of an event on general counters 0 to 5, and that of fixed counter 1. */
static const unsigned char events_bytes[] = {
	0x1c, 0, CALM_A_EVENT, 0x80,
	12, 0, CALM_A_EVENT_SELECT, 0, 0x20, 1, 0, 0, 1, 0, 0, 0,
	12, 0, CALM_A_EVENT_COUNTERS, 0, 0x3f, 0, 0, 0, 0, 0, 0, 0,
	0x0c, 0, CALM_A_EVENT, 0x80,
	8, 0, CALM_A_EVENT_FIXED, 0, 1, 0, 0, 0,
};

TEST(events_are_encoded)
{
	const struct calm_event twelve_bits = { .select = 0x100000120, .counters = 0x3f };
	const struct calm_event fixed = { .is_fixed = true, .fixed = 1, .counters = UINT64_MAX };
	const struct calm_event *const events[] = { &twelve_bits, &fixed };
	struct calm_point point = chase_of_4k(-1);
	struct calm_msg without, with;

	calm_wire_run(&without, &point);
	point.events = events;
	point.n_events = 2;
	calm_wire_run(&with, &point);
	ASSERT_EQ(without.len + sizeof(events_bytes), with.len);
	EXPECT_EQ(0, memcmp(without.attrs, with.attrs, without.len));
	EXPECT_EQ(0, memcmp((char *)with.attrs + without.len, events_bytes,
			    sizeof(events_bytes)));
	calm_wire_free(&without);
	calm_wire_free(&with);
}

TEST(limits_are_told_to_the_privileged_only)
{
	struct calm_msg msg = message_of(public_hex, CALM_CMD_GET_INFO);
	struct calm_module module;

	ASSERT_EQ(0, calm_wire_read_info(&msg, &module));
	EXPECT_FALSE(module.has_limits);
	EXPECT_EQ(2, module.n_processors);
	free(module.processors);
	free(msg.attrs);
}

TEST(job_is_decoded)
{
	struct calm_msg msg = message_of(job_hex, CALM_CMD_RUN);
	struct calm_result result = { .effective = { .loop = "chase", .node = -1 } };
	uint32_t job = 0;

	ASSERT_EQ(0, calm_wire_read_job(&msg, &job, &result));
	EXPECT_LT(0, job);
	EXPECT_EQ(5, result.total);
	EXPECT_EQ(1, result.effective.cpu);
	EXPECT_EQ(-1, result.effective.node);
	EXPECT_EQ(4096, result.effective.size_bytes);
	EXPECT_EQ(64, result.effective.stride_bytes);
	EXPECT_EQ(16384, result.effective.loads);
	EXPECT_EQ(CALM_PAGES_2M, result.effective.pages);
	EXPECT_EQ(CALM_F_TWO_LENGTHS, result.effective.flags);
	free(msg.attrs);
}

FIXTURE(samples) {
	struct calm_msg msg;
	struct calm_result result;
};

FIXTURE_SETUP(samples)
{
	memset(self, 0, sizeof(*self));
	self->msg = message_of(samples_hex, CALM_CMD_SAMPLES);
	self->result.total = 6;
}

FIXTURE_TEARDOWN(samples)
{
	free(self->msg.attrs);
	free(self->result.samples);
	free(self->result.rounds);
}

TEST_F(samples, are_decoded)
{
	struct calm_result *result = &self->result;

	ASSERT_EQ(0, calm_wire_read_samples(&self->msg, result));
	EXPECT_EQ(CALM_STATE_DONE, result->state);
	EXPECT_EQ(6, result->ready);
	ASSERT_EQ(6, result->n_samples);
	EXPECT_EQ(0, result->samples[0].index);
	EXPECT_EQ(5, result->samples[5].index);
	EXPECT_EQ(0, result->samples[2].round);
	EXPECT_EQ(1, result->samples[3].round);
	EXPECT_EQ(1, result->samples[3].cpu);
	EXPECT_LT(0, result->samples[3].tsc);
	EXPECT_EQ(1, result->samples[3].windows);
	EXPECT_TRUE(result->samples[3].has_double);
	EXPECT_LT(result->samples[3].tsc, result->samples[3].tsc_double);
	ASSERT_EQ(2, result->n_rounds);
	EXPECT_EQ(1, result->rounds[0].seed);
	EXPECT_EQ(2, result->rounds[1].seed);
	EXPECT_EQ(0, result->rounds[1].leaves_2m);
	EXPECT_LT(0, result->rounds[1].leaves_4k);
	EXPECT_EQ(1, result->rounds[1].node_mask);
}

TEST_F(samples, are_taken_once_when_a_dump_is_repeated)
{
	ASSERT_EQ(0, calm_wire_read_samples(&self->msg, &self->result));
	ASSERT_EQ(0, calm_wire_read_samples(&self->msg, &self->result));
	EXPECT_EQ(6, self->result.n_samples);
	EXPECT_EQ(2, self->result.n_rounds);
}

TEST_F(samples, beyond_the_total_are_refused)
{
	self->result.total = 5;
	EXPECT_EQ(-EBADMSG, calm_wire_read_samples(&self->msg, &self->result));
}

TEST_F(samples, without_the_counts_of_each_event_are_refused)
{
	self->result.effective.n_events = 1;
	EXPECT_EQ(-EBADMSG, calm_wire_read_samples(&self->msg, &self->result));
}

/* A sample with two counts, and with the counts of an empty window. */
static const unsigned char counts_bytes[] = {
	8, 0, CALM_A_STATE, 0, CALM_STATE_RUNNING, 0, 0, 0,
	116, 0, CALM_A_SAMPLE, 0x80,
	8, 0, CALM_A_SAMPLE_INDEX, 0, 0, 0, 0, 0,
	8, 0, CALM_A_SAMPLE_CPU, 0, 1, 0, 0, 0,
	8, 0, CALM_A_SAMPLE_ROUND, 0, 0, 0, 0, 0,
	12, 0, CALM_A_SAMPLE_TSC, 0, 100, 0, 0, 0, 0, 0, 0, 0,
	12, 0, CALM_A_SAMPLE_TSC_EMPTY, 0, 9, 0, 0, 0, 0, 0, 0, 0,
	8, 0, CALM_A_SAMPLE_WINDOWS, 0, 1, 0, 0, 0,
	12, 0, CALM_A_SAMPLE_SLICE_TSC, 0, 200, 0, 0, 0, 0, 0, 0, 0,
	12, 0, CALM_A_SAMPLE_COUNT, 0, 1, 0, 0, 0, 1, 0, 0, 0,
	12, 0, CALM_A_SAMPLE_COUNT, 0, 7, 0, 0, 0, 0, 0, 0, 0,
	12, 0, CALM_A_SAMPLE_COUNT_EMPTY, 0, 2, 0, 0, 0, 0, 0, 0, 0,
	8, 0, CALM_A_SAMPLE_SMIS, 0, 3, 0, 0, 0,
};

TEST_F(samples, counts_are_in_the_order_of_the_events)
{
	unsigned char bytes[sizeof(counts_bytes) + 12];
	const struct calm_msg msg = { CALM_CMD_SAMPLES, bytes, sizeof(bytes) };
	const struct calm_sample *sample;

	memcpy(bytes, counts_bytes, sizeof(counts_bytes));
	/* one count of an empty window is missing at first */
	memcpy(bytes + sizeof(counts_bytes), counts_bytes + sizeof(counts_bytes) - 20, 12);
	self->result.effective.n_events = 2;
	EXPECT_EQ(-EBADMSG, calm_wire_read_samples(&msg, &self->result));
	bytes[8] += 12;
	ASSERT_EQ(0, calm_wire_read_samples(&msg, &self->result));
	ASSERT_EQ(1, self->result.n_samples);
	sample = &self->result.samples[0];
	ASSERT_EQ(2, sample->n_counts);
	EXPECT_EQ(0x100000001, sample->count[0]);
	EXPECT_EQ(7, sample->count[1]);
	EXPECT_EQ(2, sample->count_empty[1]);
	EXPECT_EQ(0, sample->n_counts_double);
	EXPECT_TRUE(sample->has_smis);
	EXPECT_EQ(3, sample->smis);
	EXPECT_FALSE(sample->has_clocks);
}

/* Place of the first top-level attribute of a type. */
static size_t find(const struct calm_msg *msg, uint16_t type)
{
	size_t place = 0;

	while (place < msg->len) {
		const struct nlattr *attr = (void *)((char *)msg->attrs + place);

		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			break;
		place += NLA_ALIGN(attr->nla_len);
	}
	return place;
}

TEST_F(samples, missing_in_between_are_noticed)
{
	size_t first = find(&self->msg, CALM_A_SAMPLE);
	struct nlattr *attr = (void *)((char *)self->msg.attrs + first);

	attr->nla_type = CALM_A_MAX + 1;
	EXPECT_EQ(-EBADMSG, calm_wire_read_samples(&self->msg, &self->result));
	EXPECT_EQ(0, self->result.n_samples);
}

TEST_F(samples, without_a_state_are_refused)
{
	struct nlattr *attr = (void *)((char *)self->msg.attrs + find(&self->msg, CALM_A_STATE));

	attr->nla_type = CALM_A_MAX + 1;
	EXPECT_EQ(-EBADMSG, calm_wire_read_samples(&self->msg, &self->result));
}

TEST_F(samples, numbers_of_another_length_are_refused)
{
	struct nlattr *attr = (void *)((char *)self->msg.attrs + find(&self->msg, CALM_A_READY));

	attr->nla_len = NLA_HDRLEN + 2;
	EXPECT_EQ(-EBADMSG, calm_wire_read_samples(&self->msg, &self->result));
}

/* Whatever arrives: no reading beyond the message, and never more samples than the total. */
TEST_F(samples, any_bytes_are_survived)
{
	uint64_t random = 1;
	unsigned int i;

	for (i = 0; i < 20000; i++) {
		struct calm_result result = { .total = 6 };
		struct calm_msg msg = { .cmd = CALM_CMD_SAMPLES };
		unsigned int flips;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		msg.len = self->msg.len - (random >> 60 ? 0 : (random >> 32) % self->msg.len);
		msg.attrs = calm_alloc(msg.len, 1);
		memcpy(msg.attrs, self->msg.attrs, msg.len);
		for (flips = 0; flips < 4 && msg.len; flips++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			((unsigned char *)msg.attrs)[(random >> 32) % msg.len] ^=
				1 << (random >> 61);
		}
		calm_wire_read_samples(&msg, &result);
		ASSERT_LE(result.n_samples, 6);
		free(result.samples);
		free(result.rounds);
		free(msg.attrs);
	}
}

/* ---- extended acks ---- */

static const struct {
	int line;
	const char *hex;
	const char *sent;
	int error;
	const char *attr;
	const char *text;
} recorded[] = {
	{ __LINE__, busy_hex, run_hex, EBUSY, NULL,
	  "another job is running; there is one at a time" },
	{ __LINE__, no_cpu_hex, run_hex, ENODEV, "cpu", "no such CPU" },
	{ __LINE__, no_node_hex, run_node_hex, ENODEV, "node", "no such memory node" },
	{ __LINE__, not_permitted_hex, run_hex, EPERM, NULL,
	  "needs CAP_SYS_ADMIN, in the sender and when its socket was opened" },
};

TEST(recorded_refusals)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(recorded); i++) {
		struct calm_msg sent = message_of(recorded[i].sent, CALM_CMD_RUN);
		struct calm_nack nack;
		size_t len;
		void *payload = bytes_of(recorded[i].hex, &len);

		ASSERT_EQ(0, calm_wire_read_error(payload, len, NLM_F_ACK_TLVS, &sent, &nack));
		EXPECT_EQ(recorded[i].error, nack.error)
			TH_LOG("row of line %d", recorded[i].line);
		EXPECT_STREQ(recorded[i].text, nack.text)
			TH_LOG("row of line %d", recorded[i].line);
		if (recorded[i].attr) {
			EXPECT_STREQ(recorded[i].attr, nack.attr)
				TH_LOG("row of line %d", recorded[i].line);
		} else {
			EXPECT_EQ(NULL, nack.attr);
		}
		free(payload);
		free(sent.attrs);
	}
}

#define OFFSET_OF_FIRST (NLMSG_HDRLEN + 4)

/**
 * struct ack - an error message as a kernel would send it
 * @error: negative errno
 * @flags: of its netlink header
 * @text: NLMSGERR_ATTR_MSG, or NULL
 * @offset: NLMSGERR_ATTR_OFFS, or 0
 * @missing: NLMSGERR_ATTR_MISS_TYPE, or 0
 * @limit: types of limits in NLMSGERR_ATTR_POLICY, 0 for none
 * @value: their values
 */
struct ack {
	int error;
	uint16_t flags;
	const char *text;
	uint32_t offset;
	uint32_t missing;
	uint16_t limit[2];
	uint64_t value[2];
};

static size_t put(char *place, uint16_t type, const void *value, size_t len)
{
	struct nlattr attr = { (uint16_t)(NLA_HDRLEN + len), type };

	memcpy(place, &attr, NLA_HDRLEN);
	memcpy(place + NLA_HDRLEN, value, len);
	return NLA_ALIGN(NLA_HDRLEN + len);
}

static size_t put_policy(char *place, const struct ack *ack)
{
	char nest[64];
	size_t i, len = 0;

	for (i = 0; i < 2; i++)
		if (ack->limit[i])
			len += put(nest + len, ack->limit[i], &ack->value[i],
				   ack->limit[i] == NL_POLICY_TYPE_ATTR_MIN_LENGTH ||
				   ack->limit[i] == NL_POLICY_TYPE_ATTR_MAX_LENGTH ? 4 : 8);
	return len ? put(place, NLMSGERR_ATTR_POLICY | NLA_F_NESTED, nest, len) : 0;
}

/* The payload: error, header of the request, the request unless capped, attributes. */
static size_t build(char *payload, const struct ack *ack, const struct calm_msg *sent)
{
	struct nlmsgerr error = { .error = ack->error };
	size_t len = sizeof(error);

	memset(payload, 0, 1024);
	error.msg.nlmsg_len = (uint32_t)(OFFSET_OF_FIRST + sent->len);
	memcpy(payload, &error, sizeof(error));
	if (!(ack->flags & NLM_F_CAPPED)) {
		memcpy(payload + len + 4, sent->attrs, sent->len);
		len += NLMSG_ALIGN(4 + sent->len);
	}
	if (ack->text)
		len += put(payload + len, NLMSGERR_ATTR_MSG, ack->text, strlen(ack->text) + 1);
	if (ack->offset)
		len += put(payload + len, NLMSGERR_ATTR_OFFS, &ack->offset, 4);
	if (ack->missing)
		len += put(payload + len, NLMSGERR_ATTR_MISS_TYPE, &ack->missing, 4);
	return len + put_policy(payload + len, ack);
}

static const struct {
	int line;
	struct ack ack;
	struct calm_nack nack;
} acks[] = {
	{ __LINE__, { .error = 0, .flags = NLM_F_CAPPED }, { .error = 0 } },
	{ __LINE__, { .error = -EPERM }, { .error = EPERM } },
	/* the words of a capped message stand right behind the header */
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS | NLM_F_CAPPED, "short", 0, 0, { 0 }, { 0 } },
	  { .error = EINVAL, .text = "short" } },
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, "long", OFFSET_OF_FIRST, 0, { 0 }, { 0 } },
	  { .error = EINVAL, .text = "long", .attr = "loop" } },
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, "cpu", OFFSET_OF_FIRST + 12, 0, { 0 }, { 0 } },
	  { .error = EINVAL, .text = "cpu", .attr = "cpu" } },
	/* into the value of an attribute, as for something nested */
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, "in", OFFSET_OF_FIRST + 16, 0, { 0 }, { 0 } },
	  { .error = EINVAL, .text = "in", .attr = "cpu" } },
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, "out", 4000, 0, { 0 }, { 0 } },
	  { .error = EINVAL, .text = "out" } },
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, "head", 4, 0, { 0 }, { 0 } },
	  { .error = EINVAL, .text = "head" } },
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, NULL, 0, CALM_A_SEED, { 0 }, { 0 } },
	  { .error = EINVAL, .attr = "seed", .missing = true } },
	{ __LINE__, { -EINVAL, NLM_F_ACK_TLVS, NULL, 0, 999, { 0 }, { 0 } },
	  { .error = EINVAL, .missing = true } },
	{ __LINE__,
	  { -ERANGE, NLM_F_ACK_TLVS, "integer out of range", OFFSET_OF_FIRST + 20, 0,
	    { NL_POLICY_TYPE_ATTR_MIN_VALUE_U, NL_POLICY_TYPE_ATTR_MAX_VALUE_U },
	    { 128, 1073741824 } },
	  { .error = ERANGE, .text = "integer out of range", .attr = "size-bytes", .has_min = true,
	    .min = 128, .has_max = true, .max = 1073741824 } },
	{ __LINE__,
	  { -ERANGE, NLM_F_ACK_TLVS, "too long", OFFSET_OF_FIRST, 0,
	    { NL_POLICY_TYPE_ATTR_MAX_LENGTH, 0 }, { 15, 0 } },
	  { .error = ERANGE, .text = "too long", .attr = "loop", .has_max = true, .max = 15 } },
	{ __LINE__,
	  { -EINVAL, NLM_F_ACK_TLVS, "mask", OFFSET_OF_FIRST, 0, { NL_POLICY_TYPE_ATTR_MASK, 0 },
	    { 1, 0 } },
	  { .error = EINVAL, .text = "mask", .attr = "loop", .has_max = true, .max = 1 } },
};

TEST(refusals_of_every_kind)
{
	struct calm_msg sent = message_of(run_hex, CALM_CMD_RUN);
	char payload[1024];
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(acks); i++) {
		const struct calm_nack *expected = &acks[i].nack;
		size_t len = build(payload, &acks[i].ack, &sent);
		struct calm_nack nack;

		ASSERT_EQ(0, calm_wire_read_error(payload, len, acks[i].ack.flags, &sent, &nack));
		EXPECT_EQ(expected->error, nack.error)
			TH_LOG("row of line %d", acks[i].line);
		EXPECT_STREQ(expected->text, nack.text)
			TH_LOG("row of line %d", acks[i].line);
		EXPECT_STREQ(expected->attr ? expected->attr : "(none)",
			     nack.attr ? nack.attr : "(none)")
			TH_LOG("row of line %d", acks[i].line);
		EXPECT_EQ(expected->missing, nack.missing);
		EXPECT_EQ(expected->has_min, nack.has_min);
		EXPECT_EQ(expected->min, nack.min);
		EXPECT_EQ(expected->has_max, nack.has_max);
		EXPECT_EQ(expected->max, nack.max);
	}
	free(sent.attrs);
}

/* A message that ends anywhere is refused or read as far as it goes. */
TEST(truncated_refusals)
{
	struct calm_msg sent = message_of(run_hex, CALM_CMD_RUN);
	size_t len, cut;
	char *payload = bytes_of(busy_hex, &len);

	for (cut = 0; cut < len; cut++) {
		char *copy = calm_alloc(cut, 1);
		struct calm_nack nack;
		int err;

		memcpy(copy, payload, cut);
		err = calm_wire_read_error(copy, cut, NLM_F_ACK_TLVS, &sent, &nack);
		EXPECT_TRUE(cut >= sizeof(struct nlmsgerr) || err == -EBADMSG);
		EXPECT_TRUE(err || nack.error == EBUSY);
		free(copy);
	}
	free(payload);
	free(sent.attrs);
}

TEST(ends_of_dumps)
{
	char payload[64] = { 0 };
	int error = -EIO;
	struct calm_nack nack;
	size_t len;

	ASSERT_EQ(0, calm_wire_read_done(payload, 4, 0, &nack));
	EXPECT_EQ(0, nack.error);
	EXPECT_EQ(-EBADMSG, calm_wire_read_done(payload, 3, 0, &nack));

	memcpy(payload, &error, 4);
	len = 4 + put(payload + 4, NLMSGERR_ATTR_MSG, "gone", 5);
	ASSERT_EQ(0, calm_wire_read_done(payload, len, NLM_F_ACK_TLVS, &nack));
	EXPECT_EQ(EIO, nack.error);
	EXPECT_STREQ("gone", nack.text);
}

TEST(every_attribute_has_a_name)
{
	unsigned int i, j;

	for (i = 1; i <= CALM_A_MAX; i++) {
		ASSERT_NE(NULL, calm_wire_attr_name(i))
			TH_LOG("attribute %u", i);
		for (j = 1; j < i; j++)
			EXPECT_STRNE(calm_wire_attr_name(i), calm_wire_attr_name(j));
	}
	EXPECT_EQ(NULL, calm_wire_attr_name(0));
	EXPECT_EQ(NULL, calm_wire_attr_name(CALM_A_MAX + 1));
}

TEST_HARNESS_MAIN
