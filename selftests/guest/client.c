// SPDX-License-Identifier: GPL-2.0-only
/* Netlink for the guest tests, with the extended ack taken apart by hand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "client.h"

#define MESSAGE_BYTES 65536
#define SAMPLE_SECONDS 20.0

double client_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

bool client_open(struct client *client)
{
	int one = 1;

	*client = (struct client){ .sock = nl_socket_alloc() };
	if (genl_connect(client->sock))
		abort();
	client->family = genl_ctrl_resolve(client->sock, CALM_GENL_NAME);
	setsockopt(nl_socket_get_fd(client->sock), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	return client->family >= 0;
}

void client_close(struct client *client)
{
	nl_socket_free(client->sock);
}

struct nl_msg *client_request(struct client *client, uint8_t cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc_size(MESSAGE_BYTES);

	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, client->family, 0, NLM_F_REQUEST | flags, cmd,
		    CALM_GENL_VERSION);
	return msg;
}

struct nl_msg *client_run_request(struct client *client, uint32_t cpu, uint32_t rounds,
				  uint32_t samples)
{
	struct nl_msg *msg = client_request(client, CALM_CMD_RUN, NLM_F_ACK);

	nla_put_string(msg, CALM_A_LOOP, "chase");
	nla_put_u32(msg, CALM_A_CPU, cpu);
	nla_put_u64(msg, CALM_A_SIZE_BYTES, 16384);
	nla_put_u32(msg, CALM_A_STRIDE_BYTES, 64);
	nla_put_u32(msg, CALM_A_PAGES, CALM_PAGES_4K);
	nla_put_u32(msg, CALM_A_ORDER, CALM_ORDER_RANDOM);
	nla_put_u64(msg, CALM_A_LOADS, 1024);
	nla_put_u32(msg, CALM_A_ROUNDS, rounds);
	nla_put_u32(msg, CALM_A_SAMPLES, samples);
	nla_put_u32(msg, CALM_A_WARMUP, 1);
	nla_put_u64(msg, CALM_A_SEED, 42);
	return msg;
}

void client_remove(struct nl_msg *msg, int type)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct nlattr *attr = nlmsg_find_attr(header, GENL_HDRLEN, type);
	char *end = (char *)header + header->nlmsg_len;
	int len;

	if (!attr)
		return;
	len = nla_total_size(nla_len(attr));
	memmove(attr, (char *)attr + len, end - ((char *)attr + len));
	header->nlmsg_len -= len;
}

void client_replace(struct nl_msg *msg, int type, const void *data, int len)
{
	client_remove(msg, type);
	nla_put(msg, type, len, data);
}

void client_replace_u32(struct nl_msg *msg, int type, uint32_t value)
{
	client_replace(msg, type, &value, sizeof(value));
}

void client_replace_u64(struct nl_msg *msg, int type, uint64_t value)
{
	client_replace(msg, type, &value, sizeof(value));
}

/* Extended ack behind an error or a DONE message. */
static void take_ack(const struct nlmsghdr *header, int offset, char *text, size_t size,
		     struct nlattr **ack)
{
	struct nlattr *start = (struct nlattr *)((char *)nlmsg_data(header) + offset);
	int len = (int)header->nlmsg_len - NLMSG_HDRLEN - offset;

	memset(ack, 0, (NLMSGERR_ATTR_MAX + 1) * sizeof(*ack));
	if (!(header->nlmsg_flags & NLM_F_ACK_TLVS) || len < 0)
		return;
	if (nla_parse(ack, NLMSGERR_ATTR_MAX, start, len, NULL) < 0)
		return;
	if (ack[NLMSGERR_ATTR_MSG])
		strncpy(text, nla_get_string(ack[NLMSGERR_ATTR_MSG]), size - 1);
}

/* Which attribute of the request the extended ack points at. */
static void take_guilty(struct nlattr *const *ack, struct nlmsghdr *sent, struct answer *answer)
{
	const struct nlattr *guilty;
	struct nlattr *attr;
	int rest;

	if (ack[NLMSGERR_ATTR_MISS_TYPE])
		answer->bad_attr = nla_get_u32(ack[NLMSGERR_ATTR_MISS_TYPE]);
	if (!ack[NLMSGERR_ATTR_OFFS])
		return;
	guilty = (void *)((char *)sent + nla_get_u32(ack[NLMSGERR_ATTR_OFFS]));
	answer->bad_attr = nla_type(guilty);
	nlmsg_for_each_attr(attr, sent, GENL_HDRLEN, rest)
		answer->bad_nth += attr < guilty && nla_type(attr) == nla_type(guilty);
}

static void take_reply(const struct nlmsghdr *header, struct answer *answer)
{
	struct nlattr *attr;
	int rest;

	nla_for_each_attr(attr, genlmsg_attrdata(nlmsg_data(header), 0),
			  genlmsg_attrlen(nlmsg_data(header), 0), rest) {
		switch (nla_type(attr)) {
		case CALM_A_JOB:
			answer->job = nla_get_u32(attr);
			break;
		case CALM_A_SIZE_BYTES:
			answer->size_bytes = nla_get_u64(attr);
			break;
		case CALM_A_TOTAL:
			answer->total = nla_get_u32(attr);
			break;
		case CALM_A_VERSION:
			strncpy(answer->version, nla_get_string(attr), sizeof(answer->version) - 1);
			break;
		case CALM_A_ABI:
			answer->abi = nla_get_u32(attr);
			break;
		case CALM_A_MAX_BYTES:
			answer->max_bytes = nla_get_u64(attr);
			break;
		case CALM_A_PROCESSOR:
			answer->cpus++;
			answer->cpus_online += !!nla_find(nla_data(attr), nla_len(attr),
							  CALM_A_PROCESSOR_ONLINE);
			break;
		}
	}
}

/* Receives one datagram of one or more messages. */
static ssize_t receive(struct client *client, char *buffer)
{
	ssize_t len;

	do {
		len = recv(nl_socket_get_fd(client->sock), buffer, MESSAGE_BYTES, 0);
	} while (len < 0 && errno == EINTR);
	return len;
}

struct answer client_ask(struct client *client, struct nl_msg *msg)
{
	static char buffer[MESSAGE_BYTES];
	struct nlattr *ack[NLMSGERR_ATTR_MAX + 1];
	struct answer answer = {};
	bool ended = false;

	nl_complete_msg(client->sock, msg);
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
	if (send(nl_socket_get_fd(client->sock), nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len,
		 0) < 0) {
		answer.err = errno;
		ended = true;
	}
	while (!ended) {
		int len = receive(client, buffer);
		struct nlmsghdr *header = (struct nlmsghdr *)buffer;

		if (len < 0) {
			answer.err = errno;
			break;
		}
		for (; nlmsg_ok(header, len); header = nlmsg_next(header, &len)) {
			if (header->nlmsg_seq != nlmsg_hdr(msg)->nlmsg_seq)
				continue;
			if (header->nlmsg_type == NLMSG_ERROR) {
				struct nlmsgerr *e = nlmsg_data(header);
				int offset = sizeof(*e);

				if (!(header->nlmsg_flags & NLM_F_CAPPED))
					offset += e->msg.nlmsg_len - NLMSG_HDRLEN;
				answer.err = -e->error;
				take_ack(header, offset, answer.text, sizeof(answer.text), ack);
				take_guilty(ack, nlmsg_hdr(msg), &answer);
				ended = true;
			} else {
				take_reply(header, &answer);
			}
		}
	}
	nlmsg_free(msg);
	return answer;
}

static void take_sample(struct nlattr *nest, struct harvest *harvest)
{
	struct nlattr *tb[CALM_A_SAMPLE_MAX + 1];

	nla_parse_nested(tb, CALM_A_SAMPLE_MAX, nest, NULL);
	if (nla_get_u32(tb[CALM_A_SAMPLE_INDEX]) != harvest->next++)
		harvest->in_order = false;
	harvest->samples++;
	harvest->tsc_sum += nla_get_u64(tb[CALM_A_SAMPLE_TSC]);
	harvest->doubles += !!tb[CALM_A_SAMPLE_TSC_DOUBLE];
	if (nla_get_u64(tb[CALM_A_SAMPLE_SLICE_TSC]) > harvest->slice_tsc_max)
		harvest->slice_tsc_max = nla_get_u64(tb[CALM_A_SAMPLE_SLICE_TSC]);
	if (nla_get_u32(tb[CALM_A_SAMPLE_WINDOWS]) > harvest->windows_max)
		harvest->windows_max = nla_get_u32(tb[CALM_A_SAMPLE_WINDOWS]);
}

static void take_round(struct nlattr *nest, struct harvest *harvest)
{
	struct nlattr *tb[CALM_A_ROUND_MAX + 1];

	nla_parse_nested(tb, CALM_A_ROUND_MAX, nest, NULL);
	harvest->rounds++;
	harvest->leaves_4k = nla_get_u64(tb[CALM_A_ROUND_LEAVES_4K]);
	harvest->leaves_2m = nla_get_u64(tb[CALM_A_ROUND_LEAVES_2M]);
	harvest->adjacent_frames = nla_get_u64(tb[CALM_A_ROUND_ADJACENT_FRAMES]);
	harvest->lines = nla_get_u64(tb[CALM_A_ROUND_LINES]);
}

static void take_message(struct client *client, const struct nlmsghdr *header,
			 struct harvest *harvest)
{
	struct nlattr *attr;
	int rest;

	nla_for_each_attr(attr, genlmsg_attrdata(nlmsg_data(header), 0),
			  genlmsg_attrlen(nlmsg_data(header), 0), rest) {
		if (client->attribute)
			client->attribute(attr, client->arg);
		switch (nla_type(attr)) {
		case CALM_A_STATE:
			harvest->state = nla_get_u32(attr);
			break;
		case CALM_A_READY:
			harvest->ready = nla_get_u32(attr);
			break;
		case CALM_A_BUILT_BYTES:
			harvest->built_bytes = nla_get_u64(attr);
			break;
		case CALM_A_ERROR:
			harvest->error = nla_get_u32(attr);
			break;
		case CALM_A_REASON:
			strncpy(harvest->reason, nla_get_string(attr), sizeof(harvest->reason) - 1);
			break;
		case CALM_A_SAMPLE:
			take_sample(attr, harvest);
			break;
		case CALM_A_ROUND:
			take_round(attr, harvest);
			break;
		}
	}
	if (!harvest->messages++)
		harvest->first_samples = harvest->samples;
}

/* Returns true at the end of the dump. */
static bool take_datagram(struct client *client, char *buffer, int len, uint32_t seq,
			  struct harvest *harvest)
{
	struct nlmsghdr *header = (struct nlmsghdr *)buffer;
	struct nlattr *ack[NLMSGERR_ATTR_MAX + 1];

	for (; nlmsg_ok(header, len); header = nlmsg_next(header, &len)) {
		if (header->nlmsg_seq != seq)
			continue;
		if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
			int offset = sizeof(int);

			harvest->err = -*(int *)nlmsg_data(header);
			if (header->nlmsg_type == NLMSG_ERROR) {
				struct nlmsgerr *e = nlmsg_data(header);

				offset = sizeof(*e);
				if (!(header->nlmsg_flags & NLM_F_CAPPED))
					offset += e->msg.nlmsg_len - NLMSG_HDRLEN;
			}
			take_ack(header, offset, harvest->text, sizeof(harvest->text), ack);
			return true;
		}
		take_message(client, header, harvest);
	}
	return false;
}

/* Sends the request for a dump. Returns it, to be freed. */
static struct nl_msg *start_dump(struct client *client, uint32_t job, uint32_t first,
				 struct harvest *harvest)
{
	struct nl_msg *msg = client_request(client, CALM_CMD_SAMPLES, NLM_F_DUMP);

	*harvest = (struct harvest){ .next = first, .in_order = true };
	nla_put_u32(msg, CALM_A_JOB, job);
	nla_put_u32(msg, CALM_A_FIRST, first);
	nl_complete_msg(client->sock, msg);
	if (send(nl_socket_get_fd(client->sock), nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len,
		 0) < 0)
		harvest->err = errno;
	return msg;
}

struct harvest client_peek(uint32_t job)
{
	static char buffer[MESSAGE_BYTES];
	struct harvest harvest = {};
	struct client own;
	struct nl_msg *msg;
	int len;

	if (!client_open(&own)) {
		harvest.err = ENOENT;
		goto close;
	}
	msg = start_dump(&own, job, 0, &harvest);
	/* the first message is the header */
	len = harvest.err ? 0 : receive(&own, buffer);
	if (len > 0)
		take_datagram(&own, buffer, len, nlmsg_hdr(msg)->nlmsg_seq, &harvest);
	nlmsg_free(msg);
close:
	client_close(&own);
	return harvest;
}

bool client_has_samples(uint32_t job)
{
	double begin = client_now();
	bool ready;

	while (!(ready = client_peek(job).ready > 0) && client_now() - begin < SAMPLE_SECONDS)
		usleep(20000);
	return ready;
}

struct harvest client_harvest(struct client *client, uint32_t job, uint32_t first)
{
	static char buffer[MESSAGE_BYTES];
	struct harvest harvest;
	struct nl_msg *msg = start_dump(client, job, first, &harvest);
	bool ended = harvest.err;

	while (!ended) {
		int len = receive(client, buffer);

		if (len < 0) {
			harvest.err = errno;
			break;
		}
		harvest.datagrams++;
		ended = take_datagram(client, buffer, len, nlmsg_hdr(msg)->nlmsg_seq, &harvest);
		if (client->between)
			client->between(client->arg);
	}
	nlmsg_free(msg);
	return harvest;
}

struct answer client_cancel(struct client *client, uint32_t job)
{
	struct nl_msg *msg = client_request(client, CALM_CMD_CANCEL, NLM_F_ACK);

	nla_put_u32(msg, CALM_A_JOB, job);
	return client_ask(client, msg);
}
