// SPDX-License-Identifier: GPL-2.0-only
/* Policies, requests into structs, structs into replies; only a dump's later messages wait. */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <asm/processor.h>
#include <asm/tsc.h>
#include <uapi/linux/calm.h>

#include "buf.h"
#include "check.h"
#include "compat.h"
#include "job.h"
#include "loops/loops.h"
#include "model.h"
#include "netlink.h"
#include "pmu.h"
#include "prefetch.h"
#include "quiet.h"
#include "worker.h"

static CALM_RANGE_CONST struct netlink_range_validation range_stride = {
	.min = CALM_STRIDE_MIN, .max = CALM_STRIDE_MAX,
};

static CALM_RANGE_CONST struct netlink_range_validation range_loads = {
	.min = 1, .max = CALM_LOADS_MAX,
};

static CALM_RANGE_CONST struct netlink_range_validation range_samples = {
	.min = 1, .max = CALM_SAMPLES_MAX,
};

#define ALL_FLAGS (CALM_F_TWO_LENGTHS | CALM_F_APERF | CALM_F_CONTIGUOUS | CALM_F_UNSAFE_PREFETCH)

/* No attribute at all. Not maxattr 0, of which genl warns when it is asked for policies. */
static const struct nla_policy info_policy[CALM_A_MAX + 1] = {};

static const struct nla_policy event_policy[CALM_A_EVENT_MAX + 1] = {
	[CALM_A_EVENT_SELECT] = { .type = NLA_U64 },
	[CALM_A_EVENT_FIXED] = NLA_POLICY_RANGE(NLA_U32, 0, 15),
	[CALM_A_EVENT_COUNTERS] = { .type = NLA_U64 },
};

static const struct nla_policy switch_policy[CALM_A_SWITCH_MAX + 1] = {
	[CALM_A_SWITCH_NAME] = { .type = NLA_NUL_STRING, .len = CALM_LOOP_NAME_MAX },
	[CALM_A_SWITCH_STATE] = NLA_POLICY_RANGE(NLA_U32, CALM_PREFETCH_OFF, CALM_PREFETCH_FOUND),
};

static const struct nla_policy setting_policy[CALM_A_SETTING_MAX + 1] = {
	[CALM_A_SETTING_SWITCH] = NLA_POLICY_NESTED(switch_policy),
};

static const struct nla_policy layout_policy[CALM_A_LAYOUT_MAX + 1] = {
	[CALM_A_LAYOUT_LINES] = { .type = NLA_U64 },
	[CALM_A_LAYOUT_BLOCK] = { .type = NLA_U64 },
	[CALM_A_LAYOUT_STRIDE_BYTES] = { .type = NLA_U64 },
	[CALM_A_LAYOUT_STEP_BYTES] = { .type = NLA_U64 },
	[CALM_A_LAYOUT_PLACES] = { .type = NLA_U64 },
	[CALM_A_LAYOUT_PLACE_BYTES] = { .type = NLA_U64 },
};

static const struct nla_policy run_policy[CALM_A_MAX + 1] = {
	[CALM_A_LOOP] = { .type = NLA_NUL_STRING, .len = CALM_LOOP_NAME_MAX },
	[CALM_A_CPU] = NLA_POLICY_RANGE(NLA_U32, 0, CALM_CPUS_MAX - 1),
	[CALM_A_NODE] = NLA_POLICY_RANGE(NLA_U32, 0, CALM_NODES_MAX - 1),
	[CALM_A_SIZE_BYTES] = { .type = NLA_U64 },
	[CALM_A_STRIDE_BYTES] = NLA_POLICY_FULL_RANGE(NLA_U32, &range_stride),
	[CALM_A_PAGES] = NLA_POLICY_RANGE(NLA_U32, CALM_PAGES_4K, CALM_PAGES_1G),
	[CALM_A_ORDER] = NLA_POLICY_RANGE(NLA_U32, CALM_ORDER_RANDOM, CALM_ORDER_PAGE_LOCAL),
	[CALM_A_LOADS] = NLA_POLICY_FULL_RANGE(NLA_U64, &range_loads),
	[CALM_A_ROUNDS] = NLA_POLICY_RANGE(NLA_U32, 1, CALM_ROUNDS_MAX),
	[CALM_A_SAMPLES] = NLA_POLICY_FULL_RANGE(NLA_U32, &range_samples),
	[CALM_A_WARMUP] = NLA_POLICY_RANGE(NLA_U32, 0, CALM_WARMUP_MAX),
	[CALM_A_SEED] = { .type = NLA_U64 },
	[CALM_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, ALL_FLAGS),
	[CALM_A_EVENT] = NLA_POLICY_NESTED(event_policy),
	[CALM_A_SETTING] = NLA_POLICY_NESTED(setting_policy),
	[CALM_A_TOGGLE_LAPS] = NLA_POLICY_RANGE(NLA_U32, 0, CALM_WARMUP_MAX),
	[CALM_A_LAYOUT] = NLA_POLICY_NESTED(layout_policy),
	[CALM_A_LANES] = NLA_POLICY_RANGE(NLA_U32, 1, CALM_LANES_MAX),
};

static const struct nla_policy prefetch_set_policy[CALM_A_MAX + 1] = {
	[CALM_A_CPU] = NLA_POLICY_RANGE(NLA_U32, 0, CALM_CPUS_MAX - 1),
	[CALM_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, ALL_FLAGS),
	[CALM_A_SWITCH] = NLA_POLICY_NESTED(switch_policy),
};

static const struct nla_policy samples_policy[CALM_A_MAX + 1] = {
	[CALM_A_JOB] = { .type = NLA_U32 },
	[CALM_A_FIRST] = { .type = NLA_U32 },
};

static const struct nla_policy cancel_policy[CALM_A_MAX + 1] = {
	[CALM_A_JOB] = { .type = NLA_U32 },
};

/* Attributes that RUN cannot do without. */
static const u32 run_required[] = {
	CALM_A_LOOP, CALM_A_CPU, CALM_A_SIZE_BYTES, CALM_A_STRIDE_BYTES, CALM_A_PAGES,
	CALM_A_ORDER, CALM_A_LOADS, CALM_A_ROUNDS, CALM_A_SAMPLES, CALM_A_WARMUP, CALM_A_SEED,
};

static struct genl_family calm_family;

/* Sender and opener of the socket both need it, in the initial user namespace. */
static bool permitted(struct sk_buff *request)
{
	return netlink_capable(request, CAP_SYS_ADMIN);
}

static int refuse_permission(struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG(extack, "needs CAP_SYS_ADMIN, in the sender and when its socket was opened");
	return -EPERM;
}

/* ---- GET_INFO ---- */

static int put_pmu(struct sk_buff *skb, const struct calm_pmu_info *pmu)
{
	struct nlattr *nest;

	if (!pmu->style)
		return 0;
	nest = nla_nest_start(skb, CALM_A_PROCESSOR_PMU);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CALM_A_PMU_STYLE, pmu->style) ||
	    nla_put_u32(skb, CALM_A_PMU_VERSION, pmu->version) ||
	    nla_put_u64_64bit(skb, CALM_A_PMU_GENERAL, pmu->general, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_PMU_FIXED, pmu->fixed, 0) ||
	    nla_put_u32(skb, CALM_A_PMU_WIDTH, pmu->width) ||
	    nla_put_u32(skb, CALM_A_PMU_FIXED_WIDTH, pmu->fixed_width))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_processor(struct sk_buff *skb, unsigned int cpu)
{
	const struct cpuinfo_x86 *c = &cpu_data(cpu);
	const struct calm_model *model = calm_model_find(cpu);
	struct nlattr *nest = nla_nest_start(skb, CALM_A_PROCESSOR);

	if (!nest)
		return -EMSGSIZE;
	if (put_pmu(skb, calm_pmu_info(cpu)) ||
	    (model && nla_put_string(skb, CALM_A_PROCESSOR_MICROARCH, model->name)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_CORE_TYPE, calm_model_core_type(cpu)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_ID, cpu) ||
	    (cpu_online(cpu) && nla_put_flag(skb, CALM_A_PROCESSOR_ONLINE)) ||
	    (!housekeeping_test_cpu(cpu, CALM_HK_ISOLCPUS) &&
	     nla_put_flag(skb, CALM_A_PROCESSOR_ISOLATED)) ||
	    (cpu_to_node(cpu) >= 0 &&
	     nla_put_u32(skb, CALM_A_PROCESSOR_NODE, cpu_to_node(cpu))) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_PACKAGE, topology_physical_package_id(cpu)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_CORE, topology_core_id(cpu)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_VENDOR, c->x86_vendor) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_FAMILY, c->x86) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_MODEL, c->x86_model) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_STEPPING, c->x86_stepping) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_MICROCODE, c->microcode))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_public_info(struct sk_buff *skb)
{
	unsigned int cpu;

	if (nla_put_string(skb, CALM_A_VERSION, THIS_MODULE->version) ||
	    nla_put_u32(skb, CALM_A_ABI, CALM_ABI_VERSION) ||
	    nla_put_u32(skb, CALM_A_TSC_KHZ, tsc_khz))
		return -EMSGSIZE;
	for_each_possible_cpu(cpu)
		if (put_processor(skb, cpu))
			return -EMSGSIZE;
	return 0;
}

static int put_memory_node(struct sk_buff *skb, int node)
{
	struct nlattr *nest = nla_nest_start(skb, CALM_A_MEMORY_NODE);

	if (!nest || nla_put_u32(skb, CALM_A_MEMORY_NODE_ID, node) ||
	    nla_put_u64_64bit(skb, CALM_A_MEMORY_NODE_MAX_BYTES, calm_buf_node_limit(node), 0))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_limits(struct sk_buff *skb)
{
	int node;

	for_each_node_state(node, N_MEMORY)
		if (put_memory_node(skb, node))
			return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, CALM_A_MAX_BYTES, calm_buf_limit(), 0) ||
	    nla_put_u32(skb, CALM_A_SAMPLES_LIMIT, CALM_SAMPLES_MAX) ||
	    nla_put_u32(skb, CALM_A_SLICE_US, calm_quiet_slice_us(1)))
		return -EMSGSIZE;
	return 0;
}

static size_t info_size(void)
{
	size_t processor = nla_total_size(24 * nla_total_size(sizeof(u64)));

	return 256 + num_possible_cpus() * processor +
	       num_node_state(N_MEMORY) * nla_total_size(3 * nla_total_size(sizeof(u64)));
}

static int get_info(struct sk_buff *request, struct genl_info *info)
{
	struct sk_buff *skb;
	void *header;

	skb = genlmsg_new(info_size(), GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &calm_family, 0, CALM_CMD_GET_INFO);
	if (!header || put_public_info(skb) || (permitted(request) && put_limits(skb))) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* ---- RUN ---- */

/* Attributes that may come more than once. */
#define MULTI_ATTRS (BIT_ULL(CALM_A_CPU) | BIT_ULL(CALM_A_EVENT) | \
		     BIT_ULL(CALM_A_SETTING) | BIT_ULL(CALM_A_SWITCH) | \
		     BIT_ULL(CALM_A_LAYOUT))

/* The kernel's parser would take the last one. */
static int refuse_twice(const struct nlattr *first, int len, u64 multi,
			struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	u64 seen = 0;
	int rest;

	nla_for_each_attr(attr, first, len, rest) {
		if (seen & BIT_ULL(nla_type(attr)) & ~multi) {
			NL_SET_ERR_MSG_ATTR(extack, attr, "given twice");
			return -EINVAL;
		}
		seen |= BIT_ULL(nla_type(attr));
	}
	return 0;
}

/* nla_parse_nested() for nests whose attributes come once each. */
static int parse_nest(struct nlattr **attrs, int max, const struct nlattr *nest,
		      const struct nla_policy *policy, struct netlink_ext_ack *extack)
{
	int err = refuse_twice(nla_data(nest), nla_len(nest), 0, extack);

	return err ?: nla_parse_nested(attrs, max, nest, policy, extack);
}

static int refuse_duplicates(const struct nlmsghdr *request, struct netlink_ext_ack *extack)
{
	BUILD_BUG_ON(CALM_A_MAX >= 64);
	return refuse_twice(nlmsg_attrdata(request, GENL_HDRLEN),
			    nlmsg_attrlen(request, GENL_HDRLEN), MULTI_ATTRS, extack);
}

/* The attribute of a type that comes after @nth others of it. */
static const struct nlattr *nth_attr(struct genl_info *info, int type, u32 nth)
{
	struct nlattr *attr;
	int rest;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest)
		if (nla_type(attr) == type && !nth--)
			return attr;
	return NULL;
}

static u32 count_attrs(struct genl_info *info, int type)
{
	struct nlattr *attr;
	int rest;
	u32 nr = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest)
		nr += nla_type(attr) == type;
	return nr;
}

/* Refuses what is missing, and what is there twice but for CPUs and events. */
static int check_presence(struct genl_info *info, u32 *nr_cpus)
{
	int err = refuse_duplicates(info->nlhdr, info->extack);
	u32 i;

	if (err)
		return err;
	*nr_cpus = count_attrs(info, CALM_A_CPU);
	for (i = 0; i < ARRAY_SIZE(run_required); i++) {
		if (GENL_REQ_ATTR_CHECK(info, run_required[i])) {
			NL_SET_ERR_MSG(info->extack, "required attribute is missing");
			return -EINVAL;
		}
	}
	if (*nr_cpus > CALM_CPUS_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[CALM_A_CPU], "too many CPUs");
		return -ERANGE;
	}
	return 0;
}

static int parse_event(struct genl_info *info, const struct nlattr *attr, struct calm_event *event)
{
	struct nlattr *a[CALM_A_EVENT_MAX + 1];
	int err;

	err = parse_nest(a, CALM_A_EVENT_MAX, attr, event_policy, info->extack);
	if (err)
		return err;
	if (!a[CALM_A_EVENT_SELECT] == !a[CALM_A_EVENT_FIXED]) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "an event needs either select or fixed");
		return -EINVAL;
	}
	*event = (struct calm_event){
		.is_fixed = a[CALM_A_EVENT_FIXED],
		.fixed = a[CALM_A_EVENT_FIXED] ? nla_get_u32(a[CALM_A_EVENT_FIXED]) : 0,
		.select = a[CALM_A_EVENT_SELECT] ? nla_get_u64(a[CALM_A_EVENT_SELECT]) : 0,
		.counters = a[CALM_A_EVENT_COUNTERS] ?
			nla_get_u64(a[CALM_A_EVENT_COUNTERS]) : ~0ULL,
	};
	return 0;
}

static int parse_events(struct genl_info *info, struct calm_job_spec *spec)
{
	struct nlattr *attr;
	int rest, err;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(attr) != CALM_A_EVENT)
			continue;
		if (spec->nr_events == CALM_COUNTERS_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr, "at most 7 events at a time");
			return -ENOSPC;
		}
		err = parse_event(info, attr, &spec->events[spec->nr_events++]);
		if (err)
			return err;
	}
	return 0;
}

/* Adds a switch to a setting. A prefetcher has one state; what names none is for all others. */
static int parse_switch(struct genl_info *info, const struct nlattr *attr, bool hold,
			struct calm_prefetch_setting *setting)
{
	struct nlattr *a[CALM_A_SWITCH_MAX + 1];
	u32 *lists[] = { NULL, &setting->off, &setting->on, &setting->found };
	u32 state;
	int id, err;

	err = parse_nest(a, CALM_A_SWITCH_MAX, attr, switch_policy, info->extack);
	if (err)
		return err;
	if (!a[CALM_A_SWITCH_STATE]) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "a switch needs a state");
		return -EINVAL;
	}
	state = nla_get_u32(a[CALM_A_SWITCH_STATE]);
	if (state == CALM_PREFETCH_FOUND && !hold) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "found is for prefetch-set only");
		return -EINVAL;
	}
	if (!a[CALM_A_SWITCH_NAME]) {
		if (setting->all) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr, "given twice");
			return -EINVAL;
		}
		setting->all = state;
		return 0;
	}
	id = calm_prefetch_find(nla_data(a[CALM_A_SWITCH_NAME]));
	if (id < 0) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "no prefetcher of that name is known");
		return -ENOENT;
	}
	if ((setting->off | setting->on | setting->found) & BIT(id)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "given twice");
		return -EINVAL;
	}
	*lists[state] |= BIT(id);
	return 0;
}

static int parse_setting(struct genl_info *info, const struct nlattr *nest,
			 struct calm_prefetch_setting *setting)
{
	struct nlattr *attr;
	int rest, err;

	err = nla_validate_nested(nest, CALM_A_SETTING_MAX, setting_policy, info->extack);
	nla_for_each_nested(attr, nest, rest)
		err = err ?: parse_switch(info, attr, false, setting);
	return err;
}

static int parse_settings(struct genl_info *info, struct calm_job_spec *spec)
{
	struct nlattr *attr;
	int rest, err;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(attr) != CALM_A_SETTING)
			continue;
		if (spec->nr_settings == CALM_SETTINGS_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr, "at most 32 settings");
			return -ENOSPC;
		}
		err = parse_setting(info, attr, &spec->settings[spec->nr_settings++]);
		if (err)
			return err;
	}
	return 0;
}

static u64 u64_or(const struct nlattr *attr, u64 other)
{
	return attr ? nla_get_u64(attr) : other;
}

/* What is absent is as if the layout had no blocks and one place. */
static int parse_layout(struct genl_info *info, const struct nlattr *attr,
			struct calm_layout *layout)
{
	struct nlattr *a[CALM_A_LAYOUT_MAX + 1];
	int err;

	err = parse_nest(a, CALM_A_LAYOUT_MAX, attr, layout_policy, info->extack);
	if (err)
		return err;
	if (!a[CALM_A_LAYOUT_LINES] || !a[CALM_A_LAYOUT_STRIDE_BYTES]) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "a layout needs lines and stride-bytes");
		return -EINVAL;
	}
	*layout = (struct calm_layout){
		.lines = nla_get_u64(a[CALM_A_LAYOUT_LINES]),
		.block = u64_or(a[CALM_A_LAYOUT_BLOCK], 1),
		.stride = nla_get_u64(a[CALM_A_LAYOUT_STRIDE_BYTES]),
		.step = u64_or(a[CALM_A_LAYOUT_STEP_BYTES], CALM_STRIDE_MIN),
		.places = u64_or(a[CALM_A_LAYOUT_PLACES], 1),
		.place = u64_or(a[CALM_A_LAYOUT_PLACE_BYTES], CALM_STRIDE_MIN),
	};
	return 0;
}

static int parse_layouts(struct genl_info *info, struct calm_job_spec *spec)
{
	struct nlattr *attr;
	int rest, err;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(attr) != CALM_A_LAYOUT)
			continue;
		if (spec->nr_layouts == CALM_LAYOUTS_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr, "at most 4 layouts");
			return -ENOSPC;
		}
		err = parse_layout(info, attr, &spec->layouts[spec->nr_layouts++]);
		if (err)
			return err;
	}
	return 0;
}

static void parse_cpus(struct genl_info *info, u32 *cpus)
{
	struct nlattr *attr;
	int rest;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest)
		if (nla_type(attr) == CALM_A_CPU)
			*cpus++ = nla_get_u32(attr);
}

static int parse_run(struct genl_info *info, struct calm_job_spec *spec)
{
	struct nlattr **a = info->attrs;
	u32 nr_cpus;
	int err;

	err = check_presence(info, &nr_cpus);
	if (err)
		return err;
	*spec = (struct calm_job_spec){
		.loop = calm_loop_find(nla_data(a[CALM_A_LOOP])),
		.cpus = kvmalloc_array(nr_cpus, sizeof(*spec->cpus), GFP_KERNEL),
		.nr_cpus = nr_cpus,
		.node = a[CALM_A_NODE] ? nla_get_u32(a[CALM_A_NODE]) : NUMA_NO_NODE,
		.size_bytes = nla_get_u64(a[CALM_A_SIZE_BYTES]),
		.stride_bytes = nla_get_u32(a[CALM_A_STRIDE_BYTES]),
		.pages = nla_get_u32(a[CALM_A_PAGES]),
		.order = nla_get_u32(a[CALM_A_ORDER]),
		.loads = nla_get_u64(a[CALM_A_LOADS]),
		.rounds = nla_get_u32(a[CALM_A_ROUNDS]),
		.samples = nla_get_u32(a[CALM_A_SAMPLES]),
		.warmup = nla_get_u32(a[CALM_A_WARMUP]),
		.seed = nla_get_u64(a[CALM_A_SEED]),
		.flags = a[CALM_A_FLAGS] ? nla_get_u32(a[CALM_A_FLAGS]) : 0,
	};
	if (!spec->cpus)
		return -ENOMEM;
	spec->lanes = a[CALM_A_LANES] ? nla_get_u32(a[CALM_A_LANES]) : 1;
	spec->toggle_laps = a[CALM_A_TOGGLE_LAPS] ? nla_get_u32(a[CALM_A_TOGGLE_LAPS]) : 1;
	parse_cpus(info, spec->cpus);
	err = parse_events(info, spec);
	err = err ?: parse_settings(info, spec);
	return err ?: parse_layouts(info, spec);
}

/* For texts that come from below; the macros want a literal. */
static int refuse(struct genl_info *info, int err, const struct nlattr *attr, const char *why)
{
	info->extack->_msg = why;
	info->extack->bad_attr = attr;
	return err;
}

static int put_spec(struct sk_buff *skb, const struct calm_job_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->nr_cpus; i++)
		if (nla_put_u32(skb, CALM_A_CPU, spec->cpus[i]))
			return -EMSGSIZE;
	if (spec->node != NUMA_NO_NODE && nla_put_u32(skb, CALM_A_NODE, spec->node))
		return -EMSGSIZE;
	if (nla_put_string(skb, CALM_A_LOOP, spec->loop->name) ||
	    nla_put_u64_64bit(skb, CALM_A_SIZE_BYTES, spec->size_bytes, 0) ||
	    nla_put_u32(skb, CALM_A_STRIDE_BYTES, spec->stride_bytes) ||
	    nla_put_u32(skb, CALM_A_PAGES, spec->pages) ||
	    nla_put_u32(skb, CALM_A_ORDER, spec->order) ||
	    nla_put_u64_64bit(skb, CALM_A_LOADS, spec->loads, 0) ||
	    nla_put_u32(skb, CALM_A_ROUNDS, spec->rounds) ||
	    nla_put_u32(skb, CALM_A_SAMPLES, spec->samples) ||
	    nla_put_u32(skb, CALM_A_WARMUP, spec->warmup) ||
	    nla_put_u64_64bit(skb, CALM_A_SEED, spec->seed, 0) ||
	    nla_put_u32(skb, CALM_A_FLAGS, spec->flags) ||
	    nla_put_u32(skb, CALM_A_LANES, spec->lanes) ||
	    nla_put_u32(skb, CALM_A_TOTAL, spec->nr_cpus * spec->rounds *
			calm_worker_visits(spec) * spec->samples))
		return -EMSGSIZE;
	return 0;
}

static const char *start_error(int err)
{
	switch (err) {
	case -EBUSY:
		return "another job is running; there is one at a time";
	case -EAGAIN:
		return "the machine is being suspended";
	case -ESHUTDOWN:
		return "the module or the machine is going down";
	default:
		return "no memory for the job";
	}
}

/* The reply is filled but for the job's number before the job is started. */
static int start_and_reply(struct genl_info *info, struct calm_job_spec *spec)
{
	struct sk_buff *skb;
	struct nlattr *job;
	void *header;
	u32 id = 0;
	int err;

	skb = genlmsg_new(512 + spec->nr_cpus * nla_total_size(sizeof(u32)), GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &calm_family, 0, info->genlhdr->cmd);
	job = header ? nla_reserve(skb, CALM_A_JOB, sizeof(u32)) : NULL;
	if (!job || (!spec->hold && put_spec(skb, spec))) {
		err = -EMSGSIZE;
		goto err_free;
	}
	err = calm_job_start(spec, info->snd_portid, genl_info_net(info), &id);
	if (err) {
		refuse(info, err, NULL, start_error(err));
		goto err_free;
	}
	memcpy(nla_data(job), &id, sizeof(id));
	genlmsg_end(skb, header);
	spec->cpus = NULL;	/* the job's by now */
	err = genlmsg_reply(skb, info);
	if (err)	/* its owner cannot know its number */
		calm_job_orphan(info->snd_portid, genl_info_net(info));
	return err;

err_free:
	nlmsg_free(skb);
	return err;
}

/* Parses by what the command is, then checks and starts. */
static int request_job(struct sk_buff *request, struct genl_info *info,
		       int (*parse)(struct genl_info *info, struct calm_job_spec *spec))
{
	struct calm_refusal refusal;
	struct calm_job_spec spec = {};
	int err;

	if (!permitted(request))
		return refuse_permission(info->extack);
	err = parse(info, &spec);
	if (!err && !calm_check_job(&spec, &refusal))
		err = refuse(info, refusal.err, nth_attr(info, refusal.attr, refusal.nth),
			     refusal.why);
	if (!err)
		err = start_and_reply(info, &spec);
	if (err)
		kvfree(spec.cpus);
	return err;
}

static int run(struct sk_buff *request, struct genl_info *info)
{
	return request_job(request, info, parse_run);
}

/* ---- PREFETCH_SET ---- */

/* The CPUs of the request, or all that are online. */
static int list_cpus(struct genl_info *info, struct calm_job_spec *spec)
{
	u32 named = count_attrs(info, CALM_A_CPU), i = 0;
	unsigned int cpu;

	if (named > CALM_CPUS_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[CALM_A_CPU], "too many CPUs");
		return -ERANGE;
	}
	spec->cpus = kvmalloc_array(named ?: nr_cpu_ids, sizeof(*spec->cpus), GFP_KERNEL);
	if (!spec->cpus)
		return -ENOMEM;
	spec->nr_cpus = named;
	if (named) {
		parse_cpus(info, spec->cpus);
		return 0;
	}
	for_each_online_cpu(cpu)
		if (i < nr_cpu_ids)
			spec->cpus[i++] = cpu;
	spec->nr_cpus = i;
	return 0;
}

static int parse_prefetch_set(struct genl_info *info, struct calm_job_spec *spec)
{
	struct nlattr *attr;
	int rest, err = refuse_duplicates(info->nlhdr, info->extack);

	if (err)
		return err;
	if (GENL_REQ_ATTR_CHECK(info, CALM_A_SWITCH)) {
		NL_SET_ERR_MSG(info->extack, "required attribute is missing");
		return -EINVAL;
	}
	*spec = (struct calm_job_spec){
		.hold = true,
		.nr_settings = 1,
		.flags = info->attrs[CALM_A_FLAGS] ? nla_get_u32(info->attrs[CALM_A_FLAGS]) : 0,
	};
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest)
		if (!err && nla_type(attr) == CALM_A_SWITCH)
			err = parse_switch(info, attr, true, &spec->settings[0]);
	return err ?: list_cpus(info, spec);
}

static int prefetch_set(struct sk_buff *request, struct genl_info *info)
{
	return request_job(request, info, parse_prefetch_set);
}

/* ---- PREFETCH_GET ---- */

/**
 * struct prefetch_dump - a reader's place among the CPUs
 * @next: first CPU whose group may not have been told yet
 * @header_sent: the first message, which asks no CPU, is out
 */
struct prefetch_dump {
	u32 next;
	bool header_sent;
};

static int put_prefetcher(struct sk_buff *skb, const struct calm_prefetch_state *state, u32 index)
{
	const struct calm_prefetcher *row = &state->set->rows[index];
	const struct calm_prefetch_name *name = calm_prefetch_name(row->id);
	struct nlattr *nest = nla_nest_start(skb, CALM_A_PREFETCHER);
	u32 now = state->on & BIT(index) ? CALM_PREFETCH_ON : CALM_PREFETCH_OFF;

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_string(skb, CALM_A_PREFETCHER_NAME, name->name) ||
	    (!state->err && nla_put_u32(skb, CALM_A_PREFETCHER_STATE, now)) ||
	    nla_put_string(skb, CALM_A_PREFETCHER_KIND, name->kind) ||
	    nla_put_u32(skb, CALM_A_PREFETCHER_MSR, row->msr) ||
	    nla_put_u32(skb, CALM_A_PREFETCHER_BIT, row->bit) ||
	    (row->set_is_on && nla_put_flag(skb, CALM_A_PREFETCHER_SET_IS_ON)) ||
	    nla_put_u32(skb, CALM_A_PREFETCHER_SCOPE, state->set->scope) ||
	    (row->undocumented && nla_put_flag(skb, CALM_A_PREFETCHER_UNDOCUMENTED)) ||
	    nla_put_string(skb, CALM_A_PREFETCHER_SOURCE, row->source) ||
	    (state->held & BIT(index) && nla_put_flag(skb, CALM_A_PREFETCHER_HELD)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* The CPUs that share the registers of @first, all of them above it. */
static int put_group(struct sk_buff *skb, unsigned int first,
		     const struct calm_prefetch_state *state)
{
	unsigned int cpu;
	u32 i;

	for_each_online_cpu(cpu)
		if (cpu >= first && calm_prefetch_shares(first, cpu) &&
		    nla_put_u32(skb, CALM_A_CPU, cpu))
			return -EMSGSIZE;
	for (i = 0; i < state->set->nr; i++)
		if (put_prefetcher(skb, state, i))
			return -EMSGSIZE;
	return state->err ? nla_put_u32(skb, CALM_A_ERROR, -state->err) : 0;
}

static bool told_before(unsigned int cpu)
{
	unsigned int other;

	for_each_online_cpu(other)
		if (other < cpu && calm_prefetch_shares(cpu, other))
			return true;
	return false;
}

/* The next CPU that stands for a group, or nr_cpu_ids. */
static unsigned int next_group(unsigned int cpu, struct calm_prefetch_state *state)
{
	for (; cpu < nr_cpu_ids; cpu++)
		if (cpu_online(cpu) && !told_before(cpu) && calm_prefetch_read(cpu, state))
			break;
	return cpu;
}

static int prefetch_start(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct prefetch_dump) > sizeof(cb->ctx));
	return permitted(cb->skb) ? 0 : refuse_permission(cb->extack);
}

/* As with samples, CPUs are asked in the reader's recvmsg() only. */
static int prefetch_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct prefetch_dump *dump = (struct prefetch_dump *)cb->ctx;
	struct calm_prefetch_state state;
	unsigned int cpu = nr_cpu_ids;
	void *header;

	if (dump->header_sent) {
		cpu = next_group(dump->next, &state);
		if (cpu >= nr_cpu_ids)
			return 0;
	}
	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &calm_family,
			     NLM_F_MULTI, CALM_CMD_PREFETCH_GET);
	if (!header || (cpu < nr_cpu_ids && put_group(skb, cpu, &state)))
		return -EMSGSIZE;
	dump->next = cpu < nr_cpu_ids ? cpu + 1 : 0;
	dump->header_sent = true;
	genlmsg_end(skb, header);
	return skb->len;
}

/* ---- SAMPLES ---- */

/**
 * struct dump - a reader's place; lives in the netlink callback's context
 * @job: what is read
 * @next_sample: first sample not yet read
 * @next_round: first round not yet read
 * @header_sent: the first message, which waits for nothing, is out
 * @finished: the job has ended and all was read
 */
struct dump {
	struct calm_job *job;
	u32 next_sample;
	u32 next_round;
	bool header_sent;
	bool finished;
};

static int samples_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = calm_dump_attrs(cb);
	struct dump *dump = (struct dump *)cb->ctx;
	int err;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	if (!permitted(cb->skb))
		return refuse_permission(cb->extack);
	err = refuse_duplicates(cb->nlh, cb->extack);
	if (err)
		return err;
	if (NL_REQ_ATTR_CHECK(cb->extack, NULL, attrs, CALM_A_JOB)) {
		NL_SET_ERR_MSG(cb->extack, "required attribute is missing");
		return -EINVAL;
	}
	dump->job = calm_job_get(nla_get_u32(attrs[CALM_A_JOB]));
	if (!dump->job) {
		NL_SET_ERR_MSG_ATTR(cb->extack, attrs[CALM_A_JOB], "no such job");
		return -ENOENT;
	}
	if (attrs[CALM_A_FIRST])
		dump->next_sample = nla_get_u32(attrs[CALM_A_FIRST]);
	if (dump->next_sample <= calm_job_total(dump->job))
		return 0;

	calm_job_put(dump->job);
	NL_SET_ERR_MSG_ATTR(cb->extack, attrs[CALM_A_FIRST], "beyond the samples of the job");
	return -ERANGE;
}

static int samples_done(struct netlink_callback *cb)
{
	struct dump *dump = (struct dump *)cb->ctx;

	if (dump->job)
		calm_job_put(dump->job);
	dump->job = NULL;
	return 0;
}

static int put_progress(struct sk_buff *skb, u32 id, const struct calm_job_progress *progress)
{
	if (nla_put_u32(skb, CALM_A_JOB, id) ||
	    nla_put_u32(skb, CALM_A_STATE, progress->state) ||
	    nla_put_u32(skb, CALM_A_READY, progress->ready) ||
	    nla_put_u32(skb, CALM_A_TOTAL, progress->total) ||
	    nla_put_u64_64bit(skb, CALM_A_BUILT_BYTES, progress->built_bytes, 0))
		return -EMSGSIZE;
	if (progress->error && nla_put_u32(skb, CALM_A_ERROR, progress->error))
		return -EMSGSIZE;
	if (progress->why && nla_put_string(skb, CALM_A_REASON, progress->why))
		return -EMSGSIZE;
	return 0;
}

static int put_round(struct sk_buff *skb, const struct calm_round *round)
{
	const struct calm_mapping *map = &round->mapping;
	struct nlattr *nest = nla_nest_start(skb, CALM_A_ROUND);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CALM_A_ROUND_INDEX, round->index) ||
	    nla_put_u32(skb, CALM_A_ROUND_CPU, round->cpu) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_SEED, round->seed, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LEAVES_4K, map->leaves_4k, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LEAVES_2M, map->leaves_2m, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LEAVES_1G, map->leaves_1g, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_ADJACENT_FRAMES, map->adjacent_frames, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_CONTIGUOUS_BYTES, map->contiguous_bytes, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_NODE_MASK, map->node_mask, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LINES, round->lines, 0)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int put_counts(struct sk_buff *skb, int type, const u64 *list, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (nla_put_u64_64bit(skb, type, list[i], 0))
			return -EMSGSIZE;
	return 0;
}

static int put_all_counts(struct sk_buff *skb, const struct calm_job_counts *counts)
{
	return put_counts(skb, CALM_A_SAMPLE_COUNT, counts->pass, counts->nr) ||
	       put_counts(skb, CALM_A_SAMPLE_COUNT_EMPTY, counts->empty, counts->nr) ||
	       (counts->twice &&
		put_counts(skb, CALM_A_SAMPLE_COUNT_DOUBLE, counts->twice, counts->nr));
}

static int put_perf_clocks(struct sk_buff *skb, const struct calm_sample *sample)
{
	if (!sample->mperf)
		return 0;
	return nla_put_u64_64bit(skb, CALM_A_SAMPLE_APERF, sample->aperf, 0) ||
	       nla_put_u64_64bit(skb, CALM_A_SAMPLE_MPERF, sample->mperf, 0);
}

static int put_sample(struct sk_buff *skb, u32 index, const struct calm_sample *sample,
		      const struct calm_job_counts *counts, bool has_settings)
{
	struct nlattr *nest = nla_nest_start(skb, CALM_A_SAMPLE);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CALM_A_SAMPLE_INDEX, index) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_CPU, sample->cpu) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_ROUND, sample->round) ||
	    nla_put_u64_64bit(skb, CALM_A_SAMPLE_TSC, sample->tsc, 0) ||
	    (sample->tsc_double &&
	     nla_put_u64_64bit(skb, CALM_A_SAMPLE_TSC_DOUBLE, sample->tsc_double, 0)) ||
	    nla_put_u64_64bit(skb, CALM_A_SAMPLE_TSC_EMPTY, sample->tsc_empty, 0) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_WINDOWS, sample->windows) ||
	    nla_put_u64_64bit(skb, CALM_A_SAMPLE_SLICE_TSC, sample->slice_tsc, 0) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_DISTURB, sample->disturb) ||
	    (sample->counts_smis && nla_put_u32(skb, CALM_A_SAMPLE_SMIS, sample->smis)) ||
	    (has_settings && nla_put_u32(skb, CALM_A_SAMPLE_SETTING, sample->setting)) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_INTERRUPTS, sample->interrupts) ||
	    (sample->layout && nla_put_u32(skb, CALM_A_SAMPLE_LAYOUT, sample->layout)) ||
	    put_perf_clocks(skb, sample) || put_all_counts(skb, counts)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* Adds what fits. Whatever it makes no room for comes with the next message. */
static void put_results(struct sk_buff *skb, struct dump *dump,
			const struct calm_job_progress *progress)
{
	struct calm_job_counts counts;

	for (; dump->next_round < progress->rounds; dump->next_round++)
		if (put_round(skb, calm_job_round(dump->job, dump->next_round)))
			return;
	for (; dump->next_sample < progress->ready; dump->next_sample++) {
		calm_job_counts(dump->job, dump->next_sample, &counts);
		if (put_sample(skb, dump->next_sample,
			       calm_job_sample(dump->job, dump->next_sample), &counts,
			       calm_job_has_settings(dump->job)))
			return;
	}
	dump->finished = progress->state > CALM_STATE_RUNNING;
}

/*
 * The first message comes from within the request, where others wait for
 * cb_lock. Each later one is made in the reader's recvmsg(), which may wait.
 * 0, said with the last results, has netlink put the dump's end into the same message.
 */
static int samples_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dump *dump = (struct dump *)cb->ctx;
	struct calm_job_progress progress;
	void *header;

	if (dump->finished)
		return 0;
	/* An error would end the dump: on a signal the reader gets progress. */
	if (dump->header_sent)
		calm_job_wait(dump->job, dump->next_sample);
	calm_job_progress(dump->job, &progress);
	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &calm_family,
			     NLM_F_MULTI, CALM_CMD_SAMPLES);
	if (!header || put_progress(skb, calm_job_id(dump->job), &progress))
		return -EMSGSIZE;
	if (dump->header_sent || progress.state > CALM_STATE_RUNNING)
		put_results(skb, dump, &progress);
	dump->header_sent = true;
	genlmsg_end(skb, header);
	return dump->finished ? 0 : skb->len;
}

/* ---- CANCEL ---- */

static int cancel(struct sk_buff *request, struct genl_info *info)
{
	struct calm_job *job;
	int err;

	if (!permitted(request))
		return refuse_permission(info->extack);
	err = refuse_duplicates(info->nlhdr, info->extack);
	if (err)
		return err;
	if (GENL_REQ_ATTR_CHECK(info, CALM_A_JOB)) {
		GENL_SET_ERR_MSG(info, "required attribute is missing");
		return -EINVAL;
	}
	job = calm_job_get(nla_get_u32(info->attrs[CALM_A_JOB]));
	if (!job) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[CALM_A_JOB], "no such job");
		return -ENOENT;
	}
	calm_job_cancel(job);
	calm_job_put(job);
	return 0;
}

static const struct genl_ops calm_ops[] = {
	{
		.cmd = CALM_CMD_GET_INFO,
		.doit = get_info,
		.policy = info_policy,
		.maxattr = CALM_A_MAX,
	},
	{
		.cmd = CALM_CMD_RUN,
		.doit = run,
		.policy = run_policy,
		.maxattr = CALM_A_MAX,
	},
	{
		.cmd = CALM_CMD_SAMPLES,
		.start = samples_start,
		.dumpit = samples_dump,
		.done = samples_done,
		.policy = samples_policy,
		.maxattr = CALM_A_MAX,
	},
	{
		.cmd = CALM_CMD_CANCEL,
		.doit = cancel,
		.policy = cancel_policy,
		.maxattr = CALM_A_MAX,
	},
	{
		.cmd = CALM_CMD_PREFETCH_SET,
		.doit = prefetch_set,
		.policy = prefetch_set_policy,
		.maxattr = CALM_A_MAX,
	},
	{
		.cmd = CALM_CMD_PREFETCH_GET,
		.start = prefetch_start,
		.dumpit = prefetch_dump,
		.policy = info_policy,
		.maxattr = CALM_A_MAX,
	},
};

/* Without parallel_ops the wait in a dump would hold genl's own mutex. */
static struct genl_family calm_family = {
	.name = CALM_GENL_NAME,
	.version = CALM_GENL_VERSION,
	.module = THIS_MODULE,
	.netnsok = false,
	.parallel_ops = true,
	.ops = calm_ops,
	.n_ops = ARRAY_SIZE(calm_ops),
};

static int socket_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *notify = data;

	if (event == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC)
		calm_job_orphan(notify->portid, notify->net);
	return NOTIFY_DONE;
}

static struct notifier_block socket_notifier = { .notifier_call = socket_event };

int calm_netlink_init(void)
{
	int err;

	err = netlink_register_notifier(&socket_notifier);
	if (err)
		return err;
	err = genl_register_family(&calm_family);
	if (err)
		netlink_unregister_notifier(&socket_notifier);
	return err;
}

void calm_netlink_exit(void)
{
	genl_unregister_family(&calm_family);
	netlink_unregister_notifier(&socket_notifier);
}

MODULE_ALIAS_GENL_FAMILY(CALM_GENL_NAME);
