// SPDX-License-Identifier: GPL-2.0-only
/* Requests into structs: what an attribute may hold, which must be there, and which come once. */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/numa.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <uapi/linux/calm.h>

#include "compat.h"
#include "loops/loops.h"
#include "parse.h"
#include "prefetch.h"

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

const struct nla_policy calm_parse_run_policy[CALM_A_MAX + 1] = {
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

const struct nla_policy calm_parse_prefetch_policy[CALM_A_MAX + 1] = {
	[CALM_A_CPU] = NLA_POLICY_RANGE(NLA_U32, 0, CALM_CPUS_MAX - 1),
	[CALM_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, ALL_FLAGS),
	[CALM_A_SWITCH] = NLA_POLICY_NESTED(switch_policy),
};

/* Attributes that RUN cannot do without. */
static const u32 run_required[] = {
	CALM_A_LOOP, CALM_A_CPU, CALM_A_SIZE_BYTES, CALM_A_STRIDE_BYTES, CALM_A_PAGES,
	CALM_A_ORDER, CALM_A_LOADS, CALM_A_ROUNDS, CALM_A_SAMPLES, CALM_A_WARMUP, CALM_A_SEED,
};

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

int calm_parse_duplicates(const struct nlmsghdr *request, struct netlink_ext_ack *extack)
{
	BUILD_BUG_ON(CALM_A_MAX >= 64);
	return refuse_twice(nlmsg_attrdata(request, GENL_HDRLEN),
			    nlmsg_attrlen(request, GENL_HDRLEN), MULTI_ATTRS, extack);
}

const struct nlattr *calm_parse_nth(struct genl_info *info, int type, u32 nth)
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
	int err = calm_parse_duplicates(info->nlhdr, info->extack);
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

static int parse_event(struct genl_info *info, const struct nlattr *attr,
		       struct calm_job_spec *spec)
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
	spec->events[spec->nr_events++] = (struct calm_event){
		.is_fixed = a[CALM_A_EVENT_FIXED],
		.fixed = a[CALM_A_EVENT_FIXED] ? nla_get_u32(a[CALM_A_EVENT_FIXED]) : 0,
		.select = a[CALM_A_EVENT_SELECT] ? nla_get_u64(a[CALM_A_EVENT_SELECT]) : 0,
		.counters = a[CALM_A_EVENT_COUNTERS] ?
			nla_get_u64(a[CALM_A_EVENT_COUNTERS]) : ~0ULL,
	};
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
			 struct calm_job_spec *spec)
{
	struct calm_prefetch_setting *setting = &spec->settings[spec->nr_settings++];
	struct nlattr *attr;
	int rest, err;

	err = nla_validate_nested(nest, CALM_A_SETTING_MAX, setting_policy, info->extack);
	nla_for_each_nested(attr, nest, rest)
		err = err ?: parse_switch(info, attr, false, setting);
	return err;
}

static u64 u64_or(const struct nlattr *attr, u64 other)
{
	return attr ? nla_get_u64(attr) : other;
}

/* What is absent is as if the layout had no blocks and one place. */
static int parse_layout(struct genl_info *info, const struct nlattr *attr,
			struct calm_job_spec *spec)
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
	spec->layouts[spec->nr_layouts++] = (struct calm_layout){
		.lines = nla_get_u64(a[CALM_A_LAYOUT_LINES]),
		.block = u64_or(a[CALM_A_LAYOUT_BLOCK], 1),
		.stride = nla_get_u64(a[CALM_A_LAYOUT_STRIDE_BYTES]),
		.step = u64_or(a[CALM_A_LAYOUT_STEP_BYTES], CALM_STRIDE_MIN),
		.places = u64_or(a[CALM_A_LAYOUT_PLACES], 1),
		.place = u64_or(a[CALM_A_LAYOUT_PLACE_BYTES], CALM_STRIDE_MIN),
	};
	return 0;
}

/* A switch of PREFETCH_SET, of which there is one setting. */
static int parse_held(struct genl_info *info, const struct nlattr *attr,
		      struct calm_job_spec *spec)
{
	return parse_switch(info, attr, true, &spec->settings[0]);
}

/**
 * struct list - what may come several times in a request
 * @type: its attribute
 * @most: how many there may be
 * @too_many: said of one more
 * @parse: takes one in
 */
struct list {
	int type;
	u32 most;
	const char *too_many;
	int (*parse)(struct genl_info *info, const struct nlattr *attr,
		     struct calm_job_spec *spec);
};

static const struct list run_lists[] = {
	{ CALM_A_EVENT, CALM_COUNTERS_MAX, "at most 7 events at a time", parse_event },
	{ CALM_A_SETTING, CALM_SETTINGS_MAX, "at most 32 settings", parse_setting },
	{ CALM_A_LAYOUT, CALM_LAYOUTS_MAX, "at most 4 layouts", parse_layout },
};

/* Each prefetcher may be named once. */
static const struct list held_list = { CALM_A_SWITCH, U32_MAX, NULL, parse_held };

static int parse_list(struct genl_info *info, const struct list *list, struct calm_job_spec *spec)
{
	struct nlattr *attr;
	int rest, err;
	u32 nr = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(attr) != list->type)
			continue;
		if (nr++ == list->most) {
			NL_SET_BAD_ATTR(info->extack, attr);
			info->extack->_msg = list->too_many;
			return -ENOSPC;
		}
		err = list->parse(info, attr, spec);
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

int calm_parse_run(struct genl_info *info, struct calm_job_spec *spec)
{
	struct nlattr **a = info->attrs;
	u32 nr_cpus, i;
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
	for (i = 0; !err && i < ARRAY_SIZE(run_lists); i++)
		err = parse_list(info, &run_lists[i], spec);
	return err;
}

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

int calm_parse_prefetch(struct genl_info *info, struct calm_job_spec *spec)
{
	int err = calm_parse_duplicates(info->nlhdr, info->extack);

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
	if (spec->flags & ~CALM_F_UNSAFE_PREFETCH) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[CALM_A_FLAGS],
				    "unsafe-prefetch is the only flag of this request");
		return -EINVAL;
	}
	err = parse_list(info, &held_list, spec);
	return err ?: list_cpus(info, spec);
}
