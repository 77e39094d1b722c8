// SPDX-License-Identifier: GPL-2.0-only
/* The generic netlink family: its requests and replies, of which only a dump's later ones wait. */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <uapi/linux/calm.h>

#include "check.h"
#include "compat.h"
#include "job.h"
#include "netlink.h"
#include "parse.h"
#include "prefetch.h"
#include "reply.h"

/* No attribute at all. Not maxattr 0, of which genl warns when it is asked for policies. */
static const struct nla_policy info_policy[CALM_A_MAX + 1] = {};

static const struct nla_policy samples_policy[CALM_A_MAX + 1] = {
	[CALM_A_JOB] = { .type = NLA_U32 },
	[CALM_A_FIRST] = { .type = NLA_U32 },
};

static const struct nla_policy cancel_policy[CALM_A_MAX + 1] = {
	[CALM_A_JOB] = { .type = NLA_U32 },
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

static int get_info(struct sk_buff *request, struct genl_info *info)
{
	struct sk_buff *skb;
	void *header;

	skb = genlmsg_new(calm_reply_info_size(), GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &calm_family, 0, CALM_CMD_GET_INFO);
	if (!header || calm_reply_put_info(skb) ||
	    (permitted(request) && calm_reply_put_limits(skb))) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* ---- RUN ---- */

/* For texts that come from below; the macros want a literal. */
static int refuse(struct genl_info *info, int err, const struct nlattr *attr, const char *why)
{
	info->extack->_msg = why;
	info->extack->bad_attr = attr;
	return err;
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
	if (!job || (!spec->hold && calm_reply_put_spec(skb, spec))) {
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
		err = refuse(info, refusal.err, calm_parse_nth(info, refusal.attr, refusal.nth),
			     refusal.why);
	if (!err)
		err = start_and_reply(info, &spec);
	if (err)
		kvfree(spec.cpus);
	return err;
}

static int run(struct sk_buff *request, struct genl_info *info)
{
	return request_job(request, info, calm_parse_run);
}

/* ---- PREFETCH_SET ---- */

static int prefetch_set(struct sk_buff *request, struct genl_info *info)
{
	return request_job(request, info, calm_parse_prefetch);
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
	if (!header || (cpu < nr_cpu_ids && calm_reply_put_group(skb, cpu, &state)))
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
	err = calm_parse_duplicates(cb->nlh, cb->extack);
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

/* Adds what fits. Whatever it makes no room for comes with the next message. */
static void put_results(struct sk_buff *skb, struct dump *dump,
			const struct calm_job_progress *progress)
{
	struct calm_job_counts counts;

	for (; dump->next_round < progress->rounds; dump->next_round++)
		if (calm_reply_put_round(skb, calm_job_round(dump->job, dump->next_round)))
			return;
	for (; dump->next_sample < progress->ready; dump->next_sample++) {
		calm_job_counts(dump->job, dump->next_sample, &counts);
		if (calm_reply_put_sample(skb, dump->next_sample,
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
	if (!header || calm_reply_put_progress(skb, calm_job_id(dump->job), &progress))
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
	err = calm_parse_duplicates(info->nlhdr, info->extack);
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
		.policy = calm_parse_run_policy,
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
		.policy = calm_parse_prefetch_policy,
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
