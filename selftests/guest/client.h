/* SPDX-License-Identifier: GPL-2.0-only */
/* A plain client of the module for tests: it sends what it is told, valid or not. */
#ifndef CALM_TEST_CLIENT_H
#define CALM_TEST_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/calm.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

/* What came back for a request. */
struct answer {
	int err;		/* 0, or a positive errno */
	char text[256];		/* extended ack, "" if none */
	int bad_attr;		/* type of the attribute that it points at, 0 if none */
	uint32_t bad_nth;	/* how many of that type come before it */
	uint32_t job;		/* CALM_A_JOB, 0 if none */
	uint64_t size_bytes;
	uint32_t total;
	char version[32];
	uint32_t abi;
	uint32_t cpus;		/* entries of the CPU table */
	uint32_t cpus_online;
	uint64_t max_bytes;	/* 0 if not told */
};

/* What a SAMPLES dump brought. */
struct harvest {
	int err;
	char text[256];
	uint32_t datagrams;	/* with the one that the dump's end is in */
	uint32_t messages;
	uint32_t first_samples;	/* samples in the first message */
	uint32_t samples;
	uint32_t rounds;
	uint32_t next;		/* index expected next */
	bool in_order;		/* each index once, ascending, from the first asked for */
	uint32_t state;
	uint32_t error;
	char reason[160];
	uint32_t ready;
	uint64_t built_bytes;
	uint64_t tsc_sum;
	uint64_t slice_tsc_max;
	uint32_t windows_max;
	uint32_t doubles;	/* samples with a pass of twice the length */
	uint64_t leaves_4k, leaves_2m, lines, adjacent_frames;
};

struct client {
	struct nl_sock *sock;
	int family;
	void (*between)(void *arg);	/* called between two receives of a dump */
	void (*attribute)(struct nlattr *attr, void *arg);	/* called for each one of a dump */
	void *arg;
};

/* Opens a socket; returns false without the module. */
bool client_open(struct client *client);
void client_close(struct client *client);

/* A request of the family with room for attributes, to be filled and sent. */
struct nl_msg *client_request(struct client *client, uint8_t cmd, int flags);

/* A valid RUN of a small buffer on @cpu, still to be sent. */
struct nl_msg *client_run_request(struct client *client, uint32_t cpu, uint32_t rounds,
				  uint32_t samples);

/* Replaces the attribute of that type in @msg; any length. */
void client_replace(struct nl_msg *msg, int type, const void *data, int len);
void client_replace_u32(struct nl_msg *msg, int type, uint32_t value);
void client_replace_u64(struct nl_msg *msg, int type, uint64_t value);
void client_remove(struct nl_msg *msg, int type);

/* Sends @msg, frees it and waits for the answer. */
struct answer client_ask(struct client *client, struct nl_msg *msg);

/* Reads a job's samples to the end, from @first on. */
struct harvest client_harvest(struct client *client, uint32_t job, uint32_t first);

/* Looks at a job's progress through a socket of its own, without waiting. */
struct harvest client_peek(uint32_t job);

/* Waits until a job has samples; a busy machine may have other things to do for a while. */
bool client_has_samples(uint32_t job);

/* Ends a job. */
struct answer client_cancel(struct client *client, uint32_t job);

/* Seconds since some moment. */
double client_now(void);

#endif
