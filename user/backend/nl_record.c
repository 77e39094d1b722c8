// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linked around nl.c (ld --wrap) in the program that makes recordings: writes what
 * goes over the wire to the file that CALM_RECORD names, as nl_replay.c reads it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nl.h"
#include "util.h"

#define SOCKETS_MAX 8

int __real_calm_nl_open(struct calm_nl **nl, uint32_t *family_version);
void __real_calm_nl_close(struct calm_nl *nl);
int __real_calm_nl_send(struct calm_nl *nl, const struct calm_msg *msg, bool dump);
int __real_calm_nl_receive(struct calm_nl *nl, calm_nl_handler *handler, void *arg);

int __wrap_calm_nl_open(struct calm_nl **nl, uint32_t *family_version);
void __wrap_calm_nl_close(struct calm_nl *nl);
int __wrap_calm_nl_send(struct calm_nl *nl, const struct calm_msg *msg, bool dump);
int __wrap_calm_nl_receive(struct calm_nl *nl, calm_nl_handler *handler, void *arg);

static FILE *record;
static const struct calm_nl *sockets[SOCKETS_MAX];

static unsigned int number_of(const struct calm_nl *nl)
{
	unsigned int i;

	for (i = 0; i < SOCKETS_MAX - 1; i++)
		if (sockets[i] == nl)
			break;
	return i;
}

static void write_bytes(const struct calm_msg *msg)
{
	size_t i;

	for (i = 0; i < msg->len; i++)
		fprintf(record, "%02x", ((const unsigned char *)msg->attrs)[i]);
	fputs(msg->len ? "\n" : "-\n", record);
	fflush(record);
}

static const char *record_name(void)
{
	const char *name = getenv("CALM_RECORD");

	if (!name) {
		calm_say("CALM_RECORD has to name the file to record to");
		exit(CALM_EXIT_USAGE);
	}
	return name;
}

int __wrap_calm_nl_open(struct calm_nl **nl, uint32_t *family_version)
{
	unsigned int number = number_of(NULL);
	int err;

	if (!record)
		record = fopen(record_name(), "w");
	if (!record) {
		calm_say("cannot write the recording");
		exit(CALM_EXIT_FAILED);
	}
	err = __real_calm_nl_open(nl, family_version);
	fprintf(record, "open %u %d\n", number, err ? err : (int)*family_version);
	fflush(record);
	if (!err)
		sockets[number] = *nl;
	return err;
}

void __wrap_calm_nl_close(struct calm_nl *nl)
{
	if (nl)
		sockets[number_of(nl)] = NULL;
	__real_calm_nl_close(nl);
}

int __wrap_calm_nl_send(struct calm_nl *nl, const struct calm_msg *msg, bool dump)
{
	fprintf(record, "send %u %s %u ", number_of(nl), dump ? "dump" : "do", msg->cmd);
	write_bytes(msg);
	return __real_calm_nl_send(nl, msg, dump);
}

/**
 * struct passing - a handler that is being listened to
 * @nl: the socket
 * @handler: the program's handler
 * @arg: its argument
 * @err: what it returned
 */
struct passing {
	const struct calm_nl *nl;
	calm_nl_handler *handler;
	void *arg;
	int err;
};

static int write_packet(const struct calm_packet *packet, void *arg)
{
	static const char *const words[] = {
		[CALM_PACKET_REPLY] = "reply",
		[CALM_PACKET_ERROR] = "error",
		[CALM_PACKET_DONE] = "done",
	};
	struct passing *passing = arg;

	fprintf(record, "%s %u %u ", words[packet->kind], number_of(passing->nl),
		packet->kind == CALM_PACKET_REPLY ? packet->msg.cmd : packet->flags);
	write_bytes(&packet->msg);
	passing->err = passing->handler(packet, passing->arg);
	return passing->err;
}

int __wrap_calm_nl_receive(struct calm_nl *nl, calm_nl_handler *handler, void *arg)
{
	struct passing passing = { nl, handler, arg, 0 };
	int err = __real_calm_nl_receive(nl, write_packet, &passing);

	if (err < 0 && !passing.err)
		fprintf(record, "fail %u %d\n", number_of(nl), err);
	return err;
}
