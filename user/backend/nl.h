/* SPDX-License-Identifier: GPL-2.0-only */
/* A socket to the module: messages out, messages in, nothing understood. */
#ifndef CALM_NL_H
#define CALM_NL_H

#include "wire.h"

/* A socket; nl.c and nl_replay.c have each their own. */
struct calm_nl;

/**
 * enum calm_packet_kind - what a received message is
 * @CALM_PACKET_REPLY: one of the family
 * @CALM_PACKET_ERROR: a refusal, or an acknowledgement
 * @CALM_PACKET_DONE: the end of a dump
 */
enum calm_packet_kind {
	CALM_PACKET_REPLY,
	CALM_PACKET_ERROR,
	CALM_PACKET_DONE,
};

/**
 * struct calm_packet - one received message
 * @kind: what it is
 * @flags: flags of its netlink header
 * @msg: a reply's command and attributes; else its payload
 */
struct calm_packet {
	enum calm_packet_kind kind;
	uint16_t flags;
	struct calm_msg msg;
};

/* Is handed one message; a negative return ends the reading of this datagram. */
typedef int calm_nl_handler(const struct calm_packet *packet, void *arg);

/**
 * calm_nl_open() - open a socket and look the family up
 * @nl: out
 * @family_version: out: version of the family
 *
 * Return: 0; -ENOENT if there is no such family; -EKEYREJECTED if there is none and the kernel
 * loads signed modules only; or another negative errno.
 */
int calm_nl_open(struct calm_nl **nl, uint32_t *family_version);

/**
 * calm_nl_close() - close a socket
 * @nl: the socket, or NULL
 */
void calm_nl_close(struct calm_nl *nl);

/**
 * calm_nl_send() - send a request
 * @nl: the socket
 * @msg: the request
 * @dump: it asks for a dump, else for a reply and an acknowledgement
 *
 * Return: 0 or a negative errno.
 */
int calm_nl_send(struct calm_nl *nl, const struct calm_msg *msg, bool dump);

/**
 * calm_nl_receive() - wait for one datagram and hand its messages over
 * @nl: the socket
 * @handler: is handed each message that answers the last request
 * @arg: for the handler
 *
 * Return: 0, the handler's negative return, or another negative errno.
 */
int calm_nl_receive(struct calm_nl *nl, calm_nl_handler *handler, void *arg);

#endif
