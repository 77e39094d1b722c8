// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes the place of nl.c in tests: answers from a file that nl_record.c wrote.
 *
 * Each line is an event on one of the sockets, numbered as they are opened:
 *   open N VERSION             the family has this version
 *   open N -ERRNO              opening fails
 *   send N do|dump CMD BYTES   the program sends exactly this
 *   reply N CMD BYTES          the module's answers, to be received in turn
 *   error N FLAGS BYTES
 *   done N FLAGS BYTES
 *   fail N -ERRNO              receiving fails
 *   pause N MS                 receiving waits, a signal ends that early
 * BYTES are hexadecimal, or - for none; # starts a comment.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nl.h"
#include "util.h"

struct calm_nl {
	unsigned int number;
};

static struct replay {
	FILE *file;
	unsigned int line;
	unsigned int sockets;
	char *text;
	size_t capacity;
} replay;

static void __attribute__((noreturn)) give_up(const char *expected)
{
	calm_say("replay: line %u: the program %s, the recording says: %s", replay.line, expected,
		 replay.text ? replay.text : "nothing more");
	abort();
}

/* The next line that is no comment; NULL at the end. */
static char *next_line(void)
{
	while (getline(&replay.text, &replay.capacity, replay.file) > 0) {
		replay.line++;
		replay.text[strcspn(replay.text, "\n")] = '\0';
		if (replay.text[0] && replay.text[0] != '#')
			return replay.text;
	}
	return NULL;
}

static void *from_hex(const char *hex, size_t *len)
{
	unsigned char *bytes;
	size_t i;

	*len = strcmp(hex, "-") ? strlen(hex) / 2 : 0;
	bytes = calm_alloc(*len, 1);
	for (i = 0; i < *len; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &bytes[i]) != 1)
			give_up("cannot read these bytes");
	return bytes;
}

int calm_nl_open(struct calm_nl **nl, uint32_t *family_version)
{
	unsigned int number;
	int value;

	if (!replay.file) {
		const char *name = getenv("CALM_REPLAY");

		replay.file = name ? fopen(name, "r") : NULL;
		if (!replay.file)
			give_up("needs CALM_REPLAY to name a recording");
	}
	if (!next_line() || sscanf(replay.text, "open %u %d", &number, &value) != 2 ||
	    number != replay.sockets)
		give_up("opened a socket");
	if (value < 0)
		return value;
	replay.sockets++;
	*nl = calm_alloc(1, sizeof(**nl));
	(*nl)->number = number;
	*family_version = (uint32_t)value;
	return 0;
}

void calm_nl_close(struct calm_nl *nl)
{
	if (!nl)
		return;
	free(nl);
	if (--replay.sockets)
		return;
	if (next_line())
		give_up("ended");
	fclose(replay.file);
	free(replay.text);
	memset(&replay, 0, sizeof(replay));
}

int calm_nl_send(struct calm_nl *nl, const struct calm_msg *msg, bool dump)
{
	char *line = next_line(), *hex = NULL, kind[8] = "";
	unsigned int number, cmd;
	void *bytes;
	size_t len;
	bool same;

	if (!line || sscanf(line, "send %u %7s %u %ms", &number, kind, &cmd, &hex) != 4)
		give_up("sent a request");
	bytes = from_hex(hex, &len);
	same = number == nl->number && cmd == msg->cmd && !strcmp(kind, dump ? "dump" : "do") &&
	       len == msg->len && !memcmp(bytes, msg->attrs, len);
	free(bytes);
	free(hex);
	if (!same) {
		size_t i;

		fprintf(stderr, "sent on %u, %s, command %u: ", nl->number, dump ? "dump" : "do",
			msg->cmd);
		for (i = 0; i < msg->len; i++)
			fprintf(stderr, "%02x", ((unsigned char *)msg->attrs)[i]);
		fputc('\n', stderr);
		give_up("sent another request");
	}
	return 0;
}

static void wait_ms(unsigned int ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

static const struct kind {
	const char *word;
	enum calm_packet_kind kind;
} kinds[] = {
	{ "reply", CALM_PACKET_REPLY },
	{ "error", CALM_PACKET_ERROR },
	{ "done", CALM_PACKET_DONE },
};

static int hand_over(unsigned int value, const char *word, const char *hex,
		     calm_nl_handler *handler, void *arg)
{
	struct calm_packet packet = { CALM_PACKET_REPLY, (uint16_t)value, { 0, NULL, 0 } };
	size_t i;
	int err;

	for (i = 0; i < CALM_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].word, word))
			break;
	if (i == CALM_ARRAY_SIZE(kinds))
		give_up("received a message");
	packet.kind = kinds[i].kind;
	if (packet.kind == CALM_PACKET_REPLY)
		packet.msg.cmd = (uint8_t)value;
	packet.msg.attrs = from_hex(hex, &packet.msg.len);
	err = handler(&packet, arg);
	free(packet.msg.attrs);
	return err;
}

int calm_nl_receive(struct calm_nl *nl, calm_nl_handler *handler, void *arg)
{
	char word[8], *hex = NULL;
	unsigned int number;
	int value, err;

	if (!next_line() || sscanf(replay.text, "%7s %u %d %ms", word, &number, &value, &hex) < 3 ||
	    number != nl->number)
		give_up("received a message");
	if (!strcmp(word, "fail"))
		return value;
	if (!strcmp(word, "pause")) {
		wait_ms((unsigned int)value);
		return 0;
	}
	if (!hex)
		give_up("received a message");
	err = hand_over((unsigned int)value, word, hex, handler, arg);
	free(hex);
	return err;
}
