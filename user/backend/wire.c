// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of the generic netlink family to structs and back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "util.h"
#include "wire.h"

/* Bytes before the first attribute of a request: two headers. */
#define ATTRS_OFFSET (NLMSG_HDRLEN + GENL_HDRLEN)

/* Longest message that is ever encoded here: run, with many settings of prefetchers. */
#define MESSAGE_MAX 32768

#define NESTED_MAX CALM_A_MAX

enum field_kind {
	FIELD_U32,
	FIELD_U64,
	FIELD_FLAG,
	FIELD_TEXT,
};

#define NO_MARK SIZE_MAX

/**
 * struct field - an attribute and the place where its value belongs
 * @type: the attribute
 * @kind: its type
 * @required: a message without it is broken
 * @offset: place in the struct
 * @size: room there, for a text
 * @mark: place of a bool that says whether it was present, or NO_MARK
 */
struct field {
	int type;
	enum field_kind kind;
	bool required;
	size_t offset;
	size_t size;
	size_t mark;
};

#define ROW(type, kind, required, record, member)                                                  \
	{ type, kind, required, offsetof(record, member), sizeof(((record *)0)->member), NO_MARK }
#define MARKED(type, kind, record, member, mark)                                                   \
	{ type, kind, false, offsetof(record, member), sizeof(((record *)0)->member),              \
	  offsetof(record, mark) }

static const struct field info_fields[] = {
	ROW(CALM_A_VERSION, FIELD_TEXT, true, struct calm_module, version),
	ROW(CALM_A_ABI, FIELD_U32, true, struct calm_module, abi),
	ROW(CALM_A_TSC_KHZ, FIELD_U32, true, struct calm_module, tsc_khz),
	MARKED(CALM_A_MAX_BYTES, FIELD_U64, struct calm_module, max_bytes, has_limits),
	ROW(CALM_A_SAMPLES_LIMIT, FIELD_U32, false, struct calm_module, samples_limit),
	ROW(CALM_A_SLICE_US, FIELD_U32, false, struct calm_module, slice_us),
};

static const struct field processor_fields[] = {
	ROW(CALM_A_PROCESSOR_ID, FIELD_U32, true, struct calm_processor, id),
	ROW(CALM_A_PROCESSOR_ONLINE, FIELD_FLAG, false, struct calm_processor, online),
	ROW(CALM_A_PROCESSOR_ISOLATED, FIELD_FLAG, false, struct calm_processor, isolated),
	ROW(CALM_A_PROCESSOR_NODE, FIELD_U32, false, struct calm_processor, node),
	ROW(CALM_A_PROCESSOR_PACKAGE, FIELD_U32, false, struct calm_processor, package),
	ROW(CALM_A_PROCESSOR_CORE, FIELD_U32, false, struct calm_processor, core),
	ROW(CALM_A_PROCESSOR_VENDOR, FIELD_U32, false, struct calm_processor, vendor),
	ROW(CALM_A_PROCESSOR_FAMILY, FIELD_U32, false, struct calm_processor, family),
	ROW(CALM_A_PROCESSOR_MODEL, FIELD_U32, false, struct calm_processor, model),
	ROW(CALM_A_PROCESSOR_STEPPING, FIELD_U32, false, struct calm_processor, stepping),
	ROW(CALM_A_PROCESSOR_MICROCODE, FIELD_U32, false, struct calm_processor, microcode),
	ROW(CALM_A_PROCESSOR_CORE_TYPE, FIELD_U32, false, struct calm_processor, core_type),
	ROW(CALM_A_PROCESSOR_MICROARCH, FIELD_TEXT, false, struct calm_processor, microarch),
	MARKED(CALM_A_PROCESSOR_MEMORY_NODE, FIELD_U32, struct calm_processor, memory_node,
	       lacks_memory),
};

static const struct field memory_node_fields[] = {
	ROW(CALM_A_MEMORY_NODE_ID, FIELD_U32, true, struct calm_memory_node, id),
	ROW(CALM_A_MEMORY_NODE_MAX_BYTES, FIELD_U64, true, struct calm_memory_node, max_bytes),
};

static const struct field pmu_fields[] = {
	ROW(CALM_A_PMU_STYLE, FIELD_U32, true, struct calm_pmu_info, style),
	ROW(CALM_A_PMU_VERSION, FIELD_U32, false, struct calm_pmu_info, version),
	ROW(CALM_A_PMU_GENERAL, FIELD_U64, true, struct calm_pmu_info, general),
	ROW(CALM_A_PMU_FIXED, FIELD_U64, false, struct calm_pmu_info, fixed),
	ROW(CALM_A_PMU_WIDTH, FIELD_U32, false, struct calm_pmu_info, width),
	ROW(CALM_A_PMU_FIXED_WIDTH, FIELD_U32, false, struct calm_pmu_info, fixed_width),
};

static const struct field point_fields[] = {
	ROW(CALM_A_CPU, FIELD_U32, true, struct calm_point, cpu),
	ROW(CALM_A_NODE, FIELD_U32, false, struct calm_point, node),
	ROW(CALM_A_SIZE_BYTES, FIELD_U64, true, struct calm_point, size_bytes),
	ROW(CALM_A_STRIDE_BYTES, FIELD_U32, true, struct calm_point, stride_bytes),
	ROW(CALM_A_PAGES, FIELD_U32, true, struct calm_point, pages),
	ROW(CALM_A_ORDER, FIELD_U32, true, struct calm_point, order),
	ROW(CALM_A_LOADS, FIELD_U64, true, struct calm_point, loads),
	ROW(CALM_A_ROUNDS, FIELD_U32, true, struct calm_point, rounds),
	ROW(CALM_A_SAMPLES, FIELD_U32, true, struct calm_point, samples),
	ROW(CALM_A_WARMUP, FIELD_U32, true, struct calm_point, warmup),
	ROW(CALM_A_SEED, FIELD_U64, true, struct calm_point, seed),
	ROW(CALM_A_FLAGS, FIELD_U32, false, struct calm_point, flags),
	ROW(CALM_A_LANES, FIELD_U32, false, struct calm_point, lanes),
};

static const struct field total_fields[] = {
	ROW(CALM_A_TOTAL, FIELD_U32, true, struct calm_result, total),
};

static const struct field progress_fields[] = {
	ROW(CALM_A_STATE, FIELD_U32, true, struct calm_result, state),
	ROW(CALM_A_READY, FIELD_U32, false, struct calm_result, ready),
	ROW(CALM_A_BUILT_BYTES, FIELD_U64, false, struct calm_result, built_bytes),
	ROW(CALM_A_ERROR, FIELD_U32, false, struct calm_result, error),
	ROW(CALM_A_REASON, FIELD_TEXT, false, struct calm_result, reason),
};

static const struct field sample_fields[] = {
	ROW(CALM_A_SAMPLE_INDEX, FIELD_U32, true, struct calm_sample, index),
	ROW(CALM_A_SAMPLE_CPU, FIELD_U32, true, struct calm_sample, cpu),
	ROW(CALM_A_SAMPLE_ROUND, FIELD_U32, true, struct calm_sample, round),
	ROW(CALM_A_SAMPLE_TSC, FIELD_U64, true, struct calm_sample, tsc),
	MARKED(CALM_A_SAMPLE_TSC_DOUBLE, FIELD_U64, struct calm_sample, tsc_double, has_double),
	ROW(CALM_A_SAMPLE_TSC_EMPTY, FIELD_U64, true, struct calm_sample, tsc_empty),
	ROW(CALM_A_SAMPLE_WINDOWS, FIELD_U32, true, struct calm_sample, windows),
	ROW(CALM_A_SAMPLE_SLICE_TSC, FIELD_U64, true, struct calm_sample, slice_tsc),
	ROW(CALM_A_SAMPLE_DISTURB, FIELD_U32, false, struct calm_sample, disturb),
	MARKED(CALM_A_SAMPLE_SMIS, FIELD_U32, struct calm_sample, smis, has_smis),
	MARKED(CALM_A_SAMPLE_APERF, FIELD_U64, struct calm_sample, aperf, has_clocks),
	ROW(CALM_A_SAMPLE_MPERF, FIELD_U64, false, struct calm_sample, mperf),
	ROW(CALM_A_SAMPLE_SETTING, FIELD_U32, false, struct calm_sample, setting),
	MARKED(CALM_A_SAMPLE_INTERRUPTS, FIELD_U32, struct calm_sample, interrupts, has_interrupts),
	ROW(CALM_A_SAMPLE_LAYOUT, FIELD_U32, false, struct calm_sample, layout),
	ROW(CALM_A_SAMPLE_CLOCK_TSC, FIELD_U64, false, struct calm_sample, clock_tsc),
};

/**
 * struct count_list - counts of a sample, an attribute for each event
 * @type: the attribute
 * @counts: place of the counts
 * @count: place of how many there are
 */
static const struct count_list {
	int type;
	size_t counts;
	size_t count;
} count_lists[] = {
	{ CALM_A_SAMPLE_COUNT, offsetof(struct calm_sample, count),
	  offsetof(struct calm_sample, n_counts) },
	{ CALM_A_SAMPLE_COUNT_EMPTY, offsetof(struct calm_sample, count_empty),
	  offsetof(struct calm_sample, n_counts_empty) },
	{ CALM_A_SAMPLE_COUNT_DOUBLE, offsetof(struct calm_sample, count_double),
	  offsetof(struct calm_sample, n_counts_double) },
};

static const struct field round_fields[] = {
	ROW(CALM_A_ROUND_INDEX, FIELD_U32, true, struct calm_round, index),
	ROW(CALM_A_ROUND_CPU, FIELD_U32, true, struct calm_round, cpu),
	ROW(CALM_A_ROUND_SEED, FIELD_U64, true, struct calm_round, seed),
	ROW(CALM_A_ROUND_LEAVES_4K, FIELD_U64, false, struct calm_round, leaves_4k),
	ROW(CALM_A_ROUND_LEAVES_2M, FIELD_U64, false, struct calm_round, leaves_2m),
	ROW(CALM_A_ROUND_LEAVES_1G, FIELD_U64, false, struct calm_round, leaves_1g),
	ROW(CALM_A_ROUND_ADJACENT_FRAMES, FIELD_U64, false, struct calm_round, adjacent_frames),
	ROW(CALM_A_ROUND_CONTIGUOUS_BYTES, FIELD_U64, false, struct calm_round, contiguous_bytes),
	ROW(CALM_A_ROUND_NODE_MASK, FIELD_U64, false, struct calm_round, node_mask),
	ROW(CALM_A_ROUND_LINES, FIELD_U64, false, struct calm_round, lines),
};

static const struct field prefetcher_fields[] = {
	ROW(CALM_A_PREFETCHER_NAME, FIELD_TEXT, true, struct calm_prefetcher, name),
	ROW(CALM_A_PREFETCHER_STATE, FIELD_U32, false, struct calm_prefetcher, state),
	ROW(CALM_A_PREFETCHER_KIND, FIELD_TEXT, false, struct calm_prefetcher, kind),
	ROW(CALM_A_PREFETCHER_MSR, FIELD_U32, true, struct calm_prefetcher, msr),
	ROW(CALM_A_PREFETCHER_BIT, FIELD_U32, true, struct calm_prefetcher, bit),
	ROW(CALM_A_PREFETCHER_SET_IS_ON, FIELD_FLAG, false, struct calm_prefetcher, set_is_on),
	ROW(CALM_A_PREFETCHER_SCOPE, FIELD_U32, true, struct calm_prefetcher, scope),
	ROW(CALM_A_PREFETCHER_UNDOCUMENTED, FIELD_FLAG, false, struct calm_prefetcher,
	    undocumented),
	ROW(CALM_A_PREFETCHER_SOURCE, FIELD_TEXT, false, struct calm_prefetcher, source),
	ROW(CALM_A_PREFETCHER_HELD, FIELD_FLAG, false, struct calm_prefetcher, held),
};

static const struct field group_fields[] = {
	ROW(CALM_A_ERROR, FIELD_U32, false, struct calm_prefetch_group, error),
};

static const char *const attr_names[CALM_A_MAX + 1] = {
	[CALM_A_VERSION] = "version",
	[CALM_A_ABI] = "abi",
	[CALM_A_PROCESSOR] = "processor",
	[CALM_A_TSC_KHZ] = "tsc-khz",
	[CALM_A_MAX_BYTES] = "max-bytes",
	[CALM_A_SAMPLES_LIMIT] = "samples-limit",
	[CALM_A_SLICE_US] = "slice-us",
	[CALM_A_JOB] = "job",
	[CALM_A_LOOP] = "loop",
	[CALM_A_CPU] = "cpu",
	[CALM_A_NODE] = "node",
	[CALM_A_SIZE_BYTES] = "size-bytes",
	[CALM_A_STRIDE_BYTES] = "stride-bytes",
	[CALM_A_PAGES] = "pages",
	[CALM_A_ORDER] = "order",
	[CALM_A_LOADS] = "loads",
	[CALM_A_ROUNDS] = "rounds",
	[CALM_A_SAMPLES] = "samples",
	[CALM_A_WARMUP] = "warmup",
	[CALM_A_SEED] = "seed",
	[CALM_A_FLAGS] = "flags",
	[CALM_A_FIRST] = "first",
	[CALM_A_STATE] = "state",
	[CALM_A_READY] = "ready",
	[CALM_A_TOTAL] = "total",
	[CALM_A_BUILT_BYTES] = "built-bytes",
	[CALM_A_SAMPLE] = "sample",
	[CALM_A_ROUND] = "round",
	[CALM_A_ERROR] = "error",
	[CALM_A_REASON] = "reason",
	[CALM_A_EVENT] = "event",
	[CALM_A_PREFETCHER] = "prefetcher",
	[CALM_A_SWITCH] = "switch",
	[CALM_A_SETTING] = "setting",
	[CALM_A_TOGGLE_LAPS] = "toggle-laps",
	[CALM_A_MEMORY_NODE] = "memory-node",
	[CALM_A_LAYOUT] = "layout",
	[CALM_A_LANES] = "lanes",
};

const char *calm_wire_attr_name(unsigned int type)
{
	return type <= CALM_A_MAX ? attr_names[type] : NULL;
}

static struct nl_msg *begin_message(void)
{
	struct nl_msg *attrs = nlmsg_alloc_size(MESSAGE_MAX);

	if (!attrs) {
		calm_say("out of memory");
		exit(CALM_EXIT_FAILED);
	}
	nlmsg_put(attrs, 0, 0, 0, 0, 0);
	return attrs;
}

static void end_message(struct calm_msg *msg, uint8_t cmd, struct nl_msg *attrs)
{
	msg->cmd = cmd;
	msg->len = (size_t)nlmsg_datalen(nlmsg_hdr(attrs));
	msg->attrs = calm_alloc(msg->len, 1);
	memcpy(msg->attrs, nlmsg_data(nlmsg_hdr(attrs)), msg->len);
	nlmsg_free(attrs);
}

void calm_wire_get_info(struct calm_msg *msg)
{
	end_message(msg, CALM_CMD_GET_INFO, begin_message());
}

static void put_event(struct nl_msg *attrs, const struct calm_event *event)
{
	struct nlattr *nest = nla_nest_start(attrs, CALM_A_EVENT | NLA_F_NESTED);

	if (event->is_fixed) {
		nla_put_u32(attrs, CALM_A_EVENT_FIXED, event->fixed);
	} else {
		nla_put_u64(attrs, CALM_A_EVENT_SELECT, event->select);
		if (event->counters != UINT64_MAX)
			nla_put_u64(attrs, CALM_A_EVENT_COUNTERS, event->counters);
	}
	nla_nest_end(attrs, nest);
}

static void put_switch(struct nl_msg *attrs, int type, const char *name, uint32_t state)
{
	struct nlattr *nest = nla_nest_start(attrs, type | NLA_F_NESTED);

	if (name)
		nla_put_string(attrs, CALM_A_SWITCH_NAME, name);
	nla_put_u32(attrs, CALM_A_SWITCH_STATE, state);
	nla_nest_end(attrs, nest);
}

static void put_switches(struct nl_msg *attrs, int type, const struct calm_setting *setting)
{
	size_t i;

	if (setting->all)
		put_switch(attrs, type, NULL, setting->all);
	for (i = 0; i < setting->n_names; i++)
		put_switch(attrs, type, setting->names[i], setting->state);
}

/* libnl cancels a nest without content, but as found is a setting too. */
static void put_setting(struct nl_msg *attrs, const struct calm_setting *setting)
{
	struct nlattr *nest;

	if (!setting->all && !setting->n_names) {
		nla_put(attrs, CALM_A_SETTING | NLA_F_NESTED, 0, NULL);
		return;
	}
	nest = nla_nest_start(attrs, CALM_A_SETTING | NLA_F_NESTED);
	put_switches(attrs, CALM_A_SETTING_SWITCH, setting);
	nla_nest_end(attrs, nest);
}

static void put_layout(struct nl_msg *attrs, const struct calm_layout *layout)
{
	struct nlattr *nest = nla_nest_start(attrs, CALM_A_LAYOUT | NLA_F_NESTED);

	nla_put_u64(attrs, CALM_A_LAYOUT_LINES, layout->lines);
	nla_put_u64(attrs, CALM_A_LAYOUT_BLOCK, layout->block);
	nla_put_u64(attrs, CALM_A_LAYOUT_STRIDE_BYTES, layout->stride_bytes);
	nla_put_u64(attrs, CALM_A_LAYOUT_STEP_BYTES, layout->step_bytes);
	nla_put_u64(attrs, CALM_A_LAYOUT_PLACES, layout->places);
	nla_put_u64(attrs, CALM_A_LAYOUT_PLACE_BYTES, layout->place_bytes);
	nla_nest_end(attrs, nest);
}

void calm_wire_run(struct calm_msg *msg, const struct calm_point *point)
{
	struct nl_msg *attrs = begin_message();
	size_t i;

	nla_put_string(attrs, CALM_A_LOOP, point->loop);
	nla_put_u32(attrs, CALM_A_CPU, point->cpu);
	if (point->node >= 0)
		nla_put_u32(attrs, CALM_A_NODE, (uint32_t)point->node);
	nla_put_u64(attrs, CALM_A_SIZE_BYTES, point->size_bytes);
	nla_put_u32(attrs, CALM_A_STRIDE_BYTES,
		    point->n_layouts ? CALM_STRIDE_MIN : point->stride_bytes);
	nla_put_u32(attrs, CALM_A_PAGES, point->pages);
	nla_put_u32(attrs, CALM_A_ORDER, point->order);
	nla_put_u64(attrs, CALM_A_LOADS, point->loads);
	nla_put_u32(attrs, CALM_A_ROUNDS, point->rounds);
	nla_put_u32(attrs, CALM_A_SAMPLES, point->samples);
	nla_put_u32(attrs, CALM_A_WARMUP, point->warmup);
	nla_put_u64(attrs, CALM_A_SEED, point->seed);
	if (point->flags)
		nla_put_u32(attrs, CALM_A_FLAGS, point->flags);
	if (point->lanes > 1)
		nla_put_u32(attrs, CALM_A_LANES, point->lanes);
	for (i = 0; i < point->n_events; i++)
		put_event(attrs, point->events[i]);
	for (i = 0; i < point->n_settings; i++)
		put_setting(attrs, &point->settings[i]);
	if (point->n_settings)
		nla_put_u32(attrs, CALM_A_TOGGLE_LAPS, point->toggle_laps);
	for (i = 0; i < point->n_layouts; i++)
		put_layout(attrs, &point->layouts[i]);
	end_message(msg, CALM_CMD_RUN, attrs);
}

void calm_wire_prefetch_set(struct calm_msg *msg, const struct calm_setting *setting,
			    const uint32_t *cpus, size_t n_cpus, uint32_t flags)
{
	struct nl_msg *attrs = begin_message();
	size_t i;

	for (i = 0; i < n_cpus; i++)
		nla_put_u32(attrs, CALM_A_CPU, cpus[i]);
	if (flags)
		nla_put_u32(attrs, CALM_A_FLAGS, flags);
	put_switches(attrs, CALM_A_SWITCH, setting);
	end_message(msg, CALM_CMD_PREFETCH_SET, attrs);
}

void calm_wire_prefetch_get(struct calm_msg *msg)
{
	end_message(msg, CALM_CMD_PREFETCH_GET, begin_message());
}

void calm_wire_samples(struct calm_msg *msg, uint32_t job, uint32_t first)
{
	struct nl_msg *attrs = begin_message();

	nla_put_u32(attrs, CALM_A_JOB, job);
	nla_put_u32(attrs, CALM_A_FIRST, first);
	end_message(msg, CALM_CMD_SAMPLES, attrs);
}

void calm_wire_cancel(struct calm_msg *msg, uint32_t job)
{
	struct nl_msg *attrs = begin_message();

	nla_put_u32(attrs, CALM_A_JOB, job);
	end_message(msg, CALM_CMD_CANCEL, attrs);
}

void calm_wire_free(struct calm_msg *msg)
{
	free(msg->attrs);
	msg->attrs = NULL;
	msg->len = 0;
}

/* Puts one attribute's value where it belongs; false if it has not the length of its type. */
static bool store(const struct field *field, struct nlattr *attr, void *record)
{
	char *place = (char *)record + field->offset;
	size_t len = (size_t)nla_len(attr);

	switch (field->kind) {
	case FIELD_U32:
		if (len != sizeof(uint32_t))
			return false;
		memcpy(place, nla_data(attr), len);
		return true;
	case FIELD_U64:
		if (len != sizeof(uint64_t))
			return false;
		memcpy(place, nla_data(attr), len);
		return true;
	case FIELD_FLAG:
		*(bool *)place = true;
		return true;
	case FIELD_TEXT:
		if (len >= field->size)
			len = field->size - 1;
		memcpy(place, nla_data(attr), len);
		place[len] = '\0';
		return true;
	}
	return false;
}

static int read_fields(const struct field *fields, size_t count, const void *attrs, size_t len,
		       void *record)
{
	struct nlattr *table[NESTED_MAX + 1];
	size_t i;

	if (nla_parse(table, NESTED_MAX, (struct nlattr *)attrs, (int)len, NULL) < 0)
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		struct nlattr *attr = table[fields[i].type];

		if (!attr && fields[i].required)
			return -EBADMSG;
		if (!attr)
			continue;
		if (!store(&fields[i], attr, record))
			return -EBADMSG;
		if (fields[i].mark != NO_MARK)
			*(bool *)((char *)record + fields[i].mark) = true;
	}
	return 0;
}

#define READ(fields, attrs, len, record)                                                           \
	read_fields(fields, CALM_ARRAY_SIZE(fields), attrs, len, record)

static int read_pmu(struct calm_processor *processor, struct nlattr *attr)
{
	return READ(pmu_fields, nla_data(attr), (size_t)nla_len(attr), &processor->pmu);
}

static int read_processor(struct calm_module *module, struct nlattr *attr, size_t *capacity)
{
	struct calm_processor *processor;
	struct nlattr *nested;

	module->processors = calm_grow(module->processors, module->n_processors, capacity,
				       sizeof(*module->processors));
	processor = &module->processors[module->n_processors];
	memset(processor, 0, sizeof(*processor));
	if (READ(processor_fields, nla_data(attr), (size_t)nla_len(attr), processor))
		return -EBADMSG;
	nested = nla_find(nla_data(attr), nla_len(attr), CALM_A_PROCESSOR_PMU);
	if (nested && read_pmu(processor, nested))
		return -EBADMSG;
	module->n_processors++;
	return 0;
}

static int read_memory_node(struct calm_module *module, struct nlattr *attr, size_t *capacity)
{
	module->nodes = calm_grow(module->nodes, module->n_nodes, capacity,
				  sizeof(*module->nodes));
	if (READ(memory_node_fields, nla_data(attr), (size_t)nla_len(attr),
		 &module->nodes[module->n_nodes]))
		return -EBADMSG;
	module->n_nodes++;
	return 0;
}

static void drop_info(struct calm_module *module)
{
	free(module->processors);
	free(module->nodes);
	memset(module, 0, sizeof(*module));
}

int calm_wire_read_info(const struct calm_msg *msg, struct calm_module *module)
{
	size_t processors = 0, nodes = 0;
	struct nlattr *attr;
	int rest, err = 0;

	memset(module, 0, sizeof(*module));
	if (READ(info_fields, msg->attrs, msg->len, module))
		return -EBADMSG;
	nla_for_each_attr(attr, (struct nlattr *)msg->attrs, (int)msg->len, rest) {
		if (nla_type(attr) == CALM_A_PROCESSOR)
			err = read_processor(module, attr, &processors);
		else if (nla_type(attr) == CALM_A_MEMORY_NODE)
			err = read_memory_node(module, attr, &nodes);
		if (err) {
			drop_info(module);
			return err;
		}
	}
	return 0;
}

static int read_prefetcher(struct nlattr *attr, struct calm_prefetch_group *group)
{
	if (group->n_prefetchers == CALM_PREFETCHERS_MAX)
		return -EBADMSG;
	return READ(prefetcher_fields, nla_data(attr), (size_t)nla_len(attr),
		    &group->prefetchers[group->n_prefetchers++]);
}

static int read_group_cpu(struct nlattr *attr, struct calm_prefetch_group *group, size_t *capacity)
{
	if (nla_len(attr) != sizeof(uint32_t))
		return -EBADMSG;
	group->cpus = calm_grow(group->cpus, group->n_cpus, capacity, sizeof(*group->cpus));
	group->cpus[group->n_cpus++] = nla_get_u32(attr);
	return 0;
}

/* The first message of the dump tells of no CPU. */
int calm_wire_read_prefetch(const struct calm_msg *msg, struct calm_prefetch_groups *groups)
{
	struct calm_prefetch_group group = { .n_cpus = 0 };
	size_t capacity = 0;
	struct nlattr *attr;
	int rest, err;

	err = READ(group_fields, msg->attrs, msg->len, &group);
	nla_for_each_attr(attr, (struct nlattr *)msg->attrs, (int)msg->len, rest) {
		if (!err && nla_type(attr) == CALM_A_CPU)
			err = read_group_cpu(attr, &group, &capacity);
		else if (!err && nla_type(attr) == CALM_A_PREFETCHER)
			err = read_prefetcher(attr, &group);
	}
	if (err || !group.n_cpus) {
		free(group.cpus);
		return err;
	}
	groups->groups = calm_grow(groups->groups, groups->count, &groups->capacity,
				   sizeof(group));
	groups->groups[groups->count++] = group;
	return 0;
}

int calm_wire_read_id(const struct calm_msg *msg, uint32_t *job)
{
	static const struct field id_fields[] = {
		{ CALM_A_JOB, FIELD_U32, true, 0, sizeof(uint32_t), NO_MARK },
	};

	return READ(id_fields, msg->attrs, msg->len, job);
}

int calm_wire_read_job(const struct calm_msg *msg, uint32_t *job, struct calm_result *result)
{
	if (calm_wire_read_id(msg, job) ||
	    READ(point_fields, msg->attrs, msg->len, &result->effective) ||
	    READ(total_fields, msg->attrs, msg->len, result))
		return -EBADMSG;
	return 0;
}

static int read_count(struct nlattr *attr, const struct count_list *list,
		      struct calm_sample *sample)
{
	uint64_t *counts = (uint64_t *)((char *)sample + list->counts);
	uint32_t *count = (uint32_t *)((char *)sample + list->count);

	if (*count == CALM_COUNTERS_MAX || nla_len(attr) != sizeof(*counts))
		return -EBADMSG;
	memcpy(&counts[(*count)++], nla_data(attr), sizeof(*counts));
	return 0;
}

static int read_counts(struct nlattr *nest, struct calm_sample *sample)
{
	struct nlattr *attr;
	size_t i;
	int rest;

	nla_for_each_nested(attr, nest, rest)
		for (i = 0; i < CALM_ARRAY_SIZE(count_lists); i++)
			if (nla_type(attr) == count_lists[i].type &&
			    read_count(attr, &count_lists[i], sample))
				return -EBADMSG;
	return 0;
}

/* As many counts as events were asked for; of an empty and of a doubled pass, or none. */
static bool counts_match(const struct calm_sample *sample, size_t events)
{
	return sample->n_counts == events && sample->n_counts_empty == events &&
	       (!sample->n_counts_double || sample->n_counts_double == events);
}

static int read_sample(struct nlattr *attr, struct calm_result *result)
{
	struct calm_sample sample = { 0 };

	if (READ(sample_fields, nla_data(attr), (size_t)nla_len(attr), &sample))
		return -EBADMSG;
	if (read_counts(attr, &sample) || !counts_match(&sample, result->effective.n_events))
		return -EBADMSG;
	if (sample.index < result->n_samples)
		return 0;
	if (sample.index > result->n_samples || sample.index >= result->total)
		return -EBADMSG;
	result->samples = calm_grow(result->samples, result->n_samples, &result->samples_capacity,
				    sizeof(sample));
	result->samples[result->n_samples++] = sample;
	return 0;
}

static int read_round(struct nlattr *attr, struct calm_result *result)
{
	struct calm_round round = { 0 };
	size_t i;

	if (READ(round_fields, nla_data(attr), (size_t)nla_len(attr), &round))
		return -EBADMSG;
	for (i = 0; i < result->n_rounds; i++)
		if (result->rounds[i].index == round.index && result->rounds[i].cpu == round.cpu)
			return 0;
	result->rounds = calm_grow(result->rounds, result->n_rounds, &result->rounds_capacity,
				   sizeof(round));
	result->rounds[result->n_rounds++] = round;
	return 0;
}

int calm_wire_read_samples(const struct calm_msg *msg, struct calm_result *result)
{
	struct nlattr *attr;
	int rest, err = 0;

	if (READ(progress_fields, msg->attrs, msg->len, result))
		return -EBADMSG;
	nla_for_each_attr(attr, (struct nlattr *)msg->attrs, (int)msg->len, rest) {
		if (nla_type(attr) == CALM_A_SAMPLE)
			err = read_sample(attr, result);
		else if (nla_type(attr) == CALM_A_ROUND)
			err = read_round(attr, result);
		if (err)
			return err;
	}
	return 0;
}

/* Name of the attribute at @offset of the request, or of what encloses it. */
static const char *name_at(const struct calm_msg *sent, uint32_t offset)
{
	struct nlattr *attr;
	int rest;

	if (!sent || offset < ATTRS_OFFSET)
		return NULL;
	offset -= ATTRS_OFFSET;
	nla_for_each_attr(attr, (struct nlattr *)sent->attrs, (int)sent->len, rest) {
		size_t start = (size_t)((char *)attr - (char *)sent->attrs);

		if (offset >= start && offset < start + (size_t)nla_total_size(nla_len(attr)))
			return calm_wire_attr_name((unsigned int)nla_type(attr));
	}
	return NULL;
}

/* Where the kernel's policy description holds a limit, and of which type. */
static const struct limit {
	int type;
	bool is_min;
	size_t len;
} limits[] = {
	{ NL_POLICY_TYPE_ATTR_MIN_VALUE_S, true, sizeof(int64_t) },
	{ NL_POLICY_TYPE_ATTR_MAX_VALUE_S, false, sizeof(int64_t) },
	{ NL_POLICY_TYPE_ATTR_MIN_VALUE_U, true, sizeof(uint64_t) },
	{ NL_POLICY_TYPE_ATTR_MAX_VALUE_U, false, sizeof(uint64_t) },
	{ NL_POLICY_TYPE_ATTR_MIN_LENGTH, true, sizeof(uint32_t) },
	{ NL_POLICY_TYPE_ATTR_MAX_LENGTH, false, sizeof(uint32_t) },
	{ NL_POLICY_TYPE_ATTR_MASK, false, sizeof(uint64_t) },
};

static void read_limits(struct nlattr *policy, struct calm_nack *nack)
{
	struct nlattr *table[NL_POLICY_TYPE_ATTR_MAX + 1];
	size_t i;

	if (nla_parse_nested(table, NL_POLICY_TYPE_ATTR_MAX, policy, NULL) < 0)
		return;
	for (i = 0; i < CALM_ARRAY_SIZE(limits); i++) {
		struct nlattr *attr = table[limits[i].type];
		uint64_t value = 0;

		if (!attr || (size_t)nla_len(attr) < limits[i].len)
			continue;
		memcpy(&value, nla_data(attr), limits[i].len);
		if (limits[i].is_min) {
			nack->has_min = true;
			nack->min = value;
		} else {
			nack->has_max = true;
			nack->max = value;
		}
	}
}

static void read_ack_attrs(const void *attrs, size_t len, const struct calm_msg *sent,
			   struct calm_nack *nack)
{
	struct nlattr *table[NLMSGERR_ATTR_MAX + 1];

	if (nla_parse(table, NLMSGERR_ATTR_MAX, (struct nlattr *)attrs, (int)len, NULL) < 0)
		return;
	if (table[NLMSGERR_ATTR_MSG]) {
		size_t text = (size_t)nla_len(table[NLMSGERR_ATTR_MSG]);

		if (text >= sizeof(nack->text))
			text = sizeof(nack->text) - 1;
		memcpy(nack->text, nla_data(table[NLMSGERR_ATTR_MSG]), text);
		nack->text[text] = '\0';
	}
	if (table[NLMSGERR_ATTR_OFFS])
		nack->attr = name_at(sent, nla_get_u32(table[NLMSGERR_ATTR_OFFS]));
	if (table[NLMSGERR_ATTR_MISS_TYPE]) {
		nack->attr = calm_wire_attr_name(nla_get_u32(table[NLMSGERR_ATTR_MISS_TYPE]));
		nack->missing = true;
	}
	if (table[NLMSGERR_ATTR_POLICY])
		read_limits(table[NLMSGERR_ATTR_POLICY], nack);
}

int calm_wire_read_error(const void *payload, size_t len, uint16_t flags,
			 const struct calm_msg *sent, struct calm_nack *nack)
{
	const struct nlmsgerr *error = payload;
	size_t skip = sizeof(*error);

	memset(nack, 0, sizeof(*nack));
	if (len < sizeof(*error))
		return -EBADMSG;
	nack->error = -error->error;
	if (!(flags & NLM_F_ACK_TLVS))
		return 0;

	/* A refusal quotes the whole request, an acknowledgement its header only. */
	if (!(flags & NLM_F_CAPPED)) {
		if (error->msg.nlmsg_len < NLMSG_HDRLEN)
			return -EBADMSG;
		skip += NLMSG_ALIGN(error->msg.nlmsg_len - NLMSG_HDRLEN);
	}
	if (skip > len)
		return -EBADMSG;
	read_ack_attrs((const char *)payload + skip, len - skip, sent, nack);
	return 0;
}

int calm_wire_read_done(const void *payload, size_t len, uint16_t flags, struct calm_nack *nack)
{
	int error;

	memset(nack, 0, sizeof(*nack));
	if (len < sizeof(error))
		return -EBADMSG;
	memcpy(&error, payload, sizeof(error));
	nack->error = -error;
	if (flags & NLM_F_ACK_TLVS)
		read_ack_attrs((const char *)payload + NLMSG_ALIGN(sizeof(error)),
			       len - NLMSG_ALIGN(sizeof(error)), NULL, nack);
	return 0;
}
