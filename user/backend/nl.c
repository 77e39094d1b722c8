// SPDX-License-Identifier: GPL-2.0-only
/* A socket to the module: messages out and in, none understood; and why there may be none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/calm.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "nl.h"
#include "util.h"

/*
 * The reply to GET_INFO is one message, 100 KB with 1024 CPUs. An acknowledgement
 * follows it, and the kernel drops that when the first has filled the socket.
 */
#define RECEIVE_BYTES (1 << 20)

/**
 * struct calm_nl - a socket
 * @sock: of libnl
 * @family: number of the family
 * @seq: sequence number of the last request
 */
struct calm_nl {
	struct nl_sock *sock;
	uint16_t family;
	uint32_t seq;
};

/* libnl's own codes, where they stand for something that a user can act on. */
static int errno_of(int nl_error)
{
	switch (-nl_error) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_INTR:
		return -EINTR;
	case NLE_NOADDR:
	case NLE_MSG_TRUNC:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

static int send_message(struct calm_nl *nl, uint16_t family, uint8_t version, int flags,
			const struct calm_msg *msg)
{
	struct nl_msg *out = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + msg->len);
	int err = -NLE_NOMEM;

	if (!out)
		return -ENOMEM;
	if (!genlmsg_put(out, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, msg->cmd, version))
		goto out_free;
	if (nlmsg_append(out, msg->attrs, msg->len, 0))
		goto out_free;
	nl_complete_msg(nl->sock, out);
	nl->seq = nlmsg_hdr(out)->nlmsg_seq;
	err = nl_send(nl->sock, out);
out_free:
	nlmsg_free(out);
	return err < 0 ? errno_of(err) : 0;
}

/* False for a message that is none of ours, such as a late one of an earlier request. */
static bool to_packet(const struct calm_nl *nl, struct nlmsghdr *header, uint16_t family,
		      struct calm_packet *packet)
{
	packet->flags = header->nlmsg_flags;
	packet->msg.attrs = nlmsg_data(header);
	packet->msg.len = (size_t)nlmsg_datalen(header);
	packet->msg.cmd = 0;
	if (header->nlmsg_seq != nl->seq)
		return false;
	if (header->nlmsg_type == NLMSG_ERROR) {
		packet->kind = CALM_PACKET_ERROR;
		return true;
	}
	if (header->nlmsg_type == NLMSG_DONE) {
		packet->kind = CALM_PACKET_DONE;
		return true;
	}
	if (header->nlmsg_type != family || !genlmsg_valid_hdr(header, 0))
		return false;
	packet->kind = CALM_PACKET_REPLY;
	packet->msg.cmd = ((struct genlmsghdr *)nlmsg_data(header))->cmd;
	packet->msg.attrs = genlmsg_attrdata(nlmsg_data(header), 0);
	packet->msg.len = (size_t)genlmsg_attrlen(nlmsg_data(header), 0);
	return true;
}

static int receive(struct calm_nl *nl, uint16_t family, calm_nl_handler *handler, void *arg)
{
	struct sockaddr_nl from = { .nl_pid = 0 };
	unsigned char *buffer = NULL;
	struct nlmsghdr *header;
	struct calm_packet packet;
	int rest, err = 0;

	rest = nl_recv(nl->sock, &from, &buffer, NULL);
	if (rest <= 0)
		return rest ? errno_of(rest) : -EIO;
	/* Only the kernel's own messages count: it sends from port 0. */
	if (from.nl_pid)
		rest = 0;
	for (header = (struct nlmsghdr *)buffer; !err && nlmsg_ok(header, rest);
	     header = nlmsg_next(header, &rest))
		if (to_packet(nl, header, family, &packet))
			err = handler(&packet, arg);
	free(buffer);
	return err;
}

/**
 * struct lookup - an answer of the controller
 * @done: it has answered
 * @error: negative errno, 0 once the family is known
 * @family: its number
 * @version: its version
 */
struct lookup {
	bool done;
	int error;
	uint16_t family;
	uint32_t version;
};

static int read_lookup(const struct calm_packet *packet, void *arg)
{
	struct nlattr *table[CTRL_ATTR_MAX + 1];
	struct lookup *lookup = arg;

	if (packet->kind != CALM_PACKET_REPLY) {
		lookup->done = true;
		if (packet->msg.len >= sizeof(int))
			memcpy(&lookup->error, packet->msg.attrs, sizeof(int));
		return 0;
	}
	if (nla_parse(table, CTRL_ATTR_MAX, packet->msg.attrs, (int)packet->msg.len, NULL) < 0 ||
	    !table[CTRL_ATTR_FAMILY_ID] || !table[CTRL_ATTR_VERSION])
		return -EBADMSG;
	lookup->family = nla_get_u16(table[CTRL_ATTR_FAMILY_ID]);
	lookup->version = nla_get_u32(table[CTRL_ATTR_VERSION]);
	return 0;
}

/* The family's version too, which libnl's own lookup does not tell. */
static int find_family(struct calm_nl *nl, uint32_t *version)
{
	struct {
		struct nlattr attr;
		char name[NLA_ALIGN(sizeof(CALM_GENL_NAME))];
	} request = {
		.attr = { NLA_HDRLEN + sizeof(CALM_GENL_NAME), CTRL_ATTR_FAMILY_NAME },
		.name = CALM_GENL_NAME,
	};
	const struct calm_msg msg = { CTRL_CMD_GETFAMILY, &request, sizeof(request) };
	struct lookup lookup = { false, 0, 0, 0 };
	int err;

	err = send_message(nl, GENL_ID_CTRL, 1, NLM_F_ACK, &msg);
	while (!err && !lookup.done)
		err = receive(nl, GENL_ID_CTRL, read_lookup, &lookup);
	if (!err)
		err = lookup.error;
	nl->family = lookup.family;
	*version = lookup.version;
	return err;
}

/* Whether the file can be read and has the text in its first line. */
static bool says(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	char line[128];
	bool found;

	if (!file)
		return false;
	found = fgets(line, sizeof(line), file) && strstr(line, text);
	fclose(file);
	return found;
}

/* As the kernel decides it: module_sig_check() in kernel/module/signing.c. */
static bool loads_signed_only(void)
{
	return says("/sys/module/module/parameters/sig_enforce", "Y") ||
	       says("/sys/kernel/security/lockdown", "[integrity]") ||
	       says("/sys/kernel/security/lockdown", "[confidentiality]");
}

int calm_nl_open(struct calm_nl **nl, uint32_t *family_version)
{
	struct calm_nl *new = calm_alloc(1, sizeof(*new));
	int err, on = 1;

	new->sock = nl_socket_alloc();
	if (!new->sock) {
		free(new);
		return -ENOMEM;
	}
	err = genl_connect(new->sock);
	if (err) {
		err = errno_of(err);
		goto err_free;
	}
	nl_socket_set_buffer_size(new->sock, RECEIVE_BYTES, 0);
	/* libnl 3.7 knows nothing of it: the words of a refusal are read in wire.c. */
	if (setsockopt(nl_socket_get_fd(new->sock), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		       sizeof(on))) {
		err = -errno;
		goto err_free;
	}
	err = find_family(new, family_version);
	if (err == -ENOENT && loads_signed_only())
		err = -EKEYREJECTED;
	if (err)
		goto err_free;
	*nl = new;
	return 0;

err_free:
	nl_socket_free(new->sock);
	free(new);
	return err;
}

void calm_nl_close(struct calm_nl *nl)
{
	if (!nl)
		return;
	nl_socket_free(nl->sock);
	free(nl);
}

int calm_nl_send(struct calm_nl *nl, const struct calm_msg *msg, bool dump)
{
	return send_message(nl, nl->family, CALM_GENL_VERSION, dump ? NLM_F_DUMP : NLM_F_ACK, msg);
}

int calm_nl_receive(struct calm_nl *nl, calm_nl_handler *handler, void *arg)
{
	return receive(nl, nl->family, handler, arg);
}
