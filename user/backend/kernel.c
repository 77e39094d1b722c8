// SPDX-License-Identifier: GPL-2.0-only
/* The backend that asks the module: run, samples, cancel. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "backend.h"
#include "nl.h"
#include "prefetch.h"

/**
 * struct kernel - a connection to the module
 * @requests: socket that owns the jobs
 * @dumps: socket that reads samples, so that a cancel can overtake them
 */
struct kernel {
	struct calm_nl *requests;
	struct calm_nl *dumps;
};

/* What an errno means when it comes without an attribute, or on this one. */
static const struct verdict {
	int code;
	const char *attr;
	enum calm_exit status;
} verdicts[] = {
	{ EPERM, NULL, CALM_EXIT_PERMISSION },
	{ EACCES, NULL, CALM_EXIT_PERMISSION },
	{ ENODEV, "cpu", CALM_EXIT_ABSENT },
	{ ENXIO, "cpu", CALM_EXIT_ABSENT },
	{ ENODEV, "node", CALM_EXIT_ABSENT },
	{ ENXIO, "node", CALM_EXIT_ABSENT },
	{ EOPNOTSUPP, "event", CALM_EXIT_ABSENT },
	{ EOPNOTSUPP, "loop", CALM_EXIT_ABSENT },
	{ EOPNOTSUPP, "setting", CALM_EXIT_ABSENT },
	{ EOPNOTSUPP, "switch", CALM_EXIT_ABSENT },
	{ ENOENT, "setting", CALM_EXIT_ABSENT },
	{ ENOENT, "switch", CALM_EXIT_ABSENT },
	{ EINVAL, NULL, CALM_EXIT_USAGE },
	{ ERANGE, NULL, CALM_EXIT_USAGE },
	{ EOPNOTSUPP, NULL, CALM_EXIT_USAGE },
};

static enum calm_exit status_of(const struct calm_nack *nack)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(verdicts); i++)
		if (verdicts[i].code == nack->error &&
		    (!verdicts[i].attr || (nack->attr && !strcmp(verdicts[i].attr, nack->attr))))
			return verdicts[i].status;
	return CALM_EXIT_FAILED;
}

static const char *nack_range(const struct calm_nack *nack, char *buffer, size_t size)
{
	if (nack->has_min && nack->has_max)
		snprintf(buffer, size, " (allowed %" PRIu64 "..%" PRIu64 ")", nack->min, nack->max);
	else if (nack->has_max)
		snprintf(buffer, size, " (allowed up to %" PRIu64 ")", nack->max);
	else if (nack->has_min)
		snprintf(buffer, size, " (allowed from %" PRIu64 ")", nack->min);
	else
		buffer[0] = '\0';
	return buffer;
}

/* The number of a family that has gone is nobody's, or another family's. */
static bool has_gone(const struct calm_nack *nack)
{
	return nack->error == ENOENT && !nack->text[0] && !nack->attr;
}

static int set_nack(struct calm_error *error, const struct calm_nack *nack)
{
	const char *text = nack->text;
	char range[64];

	if (has_gone(nack))
		return calm_error_set(error, CALM_EXIT_MODULE, -ENOENT,
				      "module calm is no longer loaded");
	if (!text[0])
		text = nack->missing ? "is missing" : nack->error == EPERM ? "needs CAP_SYS_ADMIN" :
		       strerror(nack->error);
	return calm_error_set(error, status_of(nack), -nack->error, "%s%s%s%s",
			      nack->attr ? nack->attr : "", nack->attr ? ": " : "", text,
			      nack_range(nack, range, sizeof(range)));
}

static int set_broken(struct calm_error *error)
{
	return calm_error_set(error, CALM_EXIT_MODULE, -EBADMSG,
			      "the module's answer is not understood: is it of another version?");
}

static int set_io(struct calm_error *error, int code)
{
	return calm_error_set(error, CALM_EXIT_FAILED, code, "netlink: %s", strerror(-code));
}

/**
 * struct exchange - a request and what is to be done with its answers
 * @sent: the request
 * @read: reads a reply
 * @out: for @read
 * @replies: replies so far
 * @finished: acknowledged, refused, or the dump has ended
 * @nack: why it was refused, error 0 if it was not
 */
struct exchange {
	const struct calm_msg *sent;
	int (*read)(const struct calm_msg *msg, void *out);
	void *out;
	unsigned int replies;
	bool finished;
	struct calm_nack nack;
};

static int take_packet(const struct calm_packet *packet, void *arg)
{
	struct exchange *exchange = arg;
	const struct calm_msg *msg = &packet->msg;

	switch (packet->kind) {
	case CALM_PACKET_REPLY:
		if (msg->cmd != exchange->sent->cmd || !exchange->read)
			return -EBADMSG;
		exchange->replies++;
		return exchange->read(msg, exchange->out);
	case CALM_PACKET_ERROR:
		exchange->finished = true;
		return calm_wire_read_error(msg->attrs, msg->len, packet->flags, exchange->sent,
					    &exchange->nack);
	case CALM_PACKET_DONE:
		exchange->finished = true;
		return calm_wire_read_done(msg->attrs, msg->len, packet->flags, &exchange->nack);
	}
	return -EBADMSG;
}

static int set_failure(struct calm_error *error, const struct exchange *exchange, int err)
{
	if (err == -EBADMSG)
		return set_broken(error);
	if (err)
		return set_io(error, err);
	if (exchange->nack.error)
		return set_nack(error, &exchange->nack);
	return 0;
}

/* A request with one reply, or none, and an acknowledgement. */
static int transact(struct calm_nl *nl, struct exchange *exchange, struct calm_error *error)
{
	int err = calm_nl_send(nl, exchange->sent, false);

	while (!err && !exchange->finished)
		err = calm_nl_receive(nl, take_packet, exchange);
	if (!err && !exchange->nack.error && exchange->read && !exchange->replies)
		err = -EBADMSG;
	return set_failure(error, exchange, err);
}

static int read_info(const struct calm_msg *msg, void *out)
{
	return calm_wire_read_info(msg, out);
}

static int get_info(struct kernel *kernel, struct calm_module *module, struct calm_error *error)
{
	struct calm_msg msg;
	struct exchange exchange = { .sent = &msg, .read = read_info, .out = module };
	int err;

	calm_wire_get_info(&msg);
	err = transact(kernel->requests, &exchange, error);
	calm_wire_free(&msg);
	if (!err && module->abi != CALM_ABI_VERSION)
		err = calm_error_set(error, CALM_EXIT_MODULE, -EPROTO,
				     "module calm %s has interface %" PRIu32
				     ", this program needs interface %d: install both from one build",
				     module->version, module->abi, CALM_ABI_VERSION);
	return err;
}

static int open_socket(struct calm_nl **nl, struct calm_error *error)
{
	uint32_t version = 0;
	int err = calm_nl_open(nl, &version);

	if (err == -ENOENT)
		return calm_error_set(error, CALM_EXIT_MODULE, err,
				      "module calm is not loaded (insmod calm.ko, or modprobe calm)");
	if (err == -EKEYREJECTED)
		return calm_error_set(error, CALM_EXIT_PERMISSION, err,
				      "module calm is not loaded, and this kernel loads signed modules"
				      " only (secure boot, lockdown or module.sig_enforce): sign calm.ko"
				      " with a key that it knows, as README.md shows, then load it");
	if (err == -EPERM)
		return calm_error_set(error, CALM_EXIT_PERMISSION, err, "netlink: %s",
				      strerror(-err));
	if (err)
		return set_io(error, err);
	if (version == CALM_GENL_VERSION)
		return 0;
	calm_nl_close(*nl);
	*nl = NULL;
	return calm_error_set(error, CALM_EXIT_MODULE, -EPROTO,
			      "the loaded module calm speaks version %" PRIu32
			      " of its protocol, this program version %d: install both from one build",
			      version, CALM_GENL_VERSION);
}

static void kernel_close(void *state)
{
	struct kernel *kernel = state;

	if (!kernel)
		return;
	calm_nl_close(kernel->dumps);
	calm_nl_close(kernel->requests);
	free(kernel);
}

static int kernel_open(void **state, struct calm_module *module, struct calm_error *error)
{
	struct kernel *kernel = calm_alloc(1, sizeof(*kernel));
	int err;

	err = open_socket(&kernel->requests, error);
	if (!err)
		err = open_socket(&kernel->dumps, error);
	if (!err)
		err = get_info(kernel, module, error);
	if (err) {
		kernel_close(kernel);
		return err;
	}
	*state = kernel;
	return 0;
}

/**
 * struct run - a job, from its start to its last sample
 * @job: its number
 * @result: what has come
 */
struct run {
	uint32_t job;
	struct calm_result *result;
};

static int read_job(const struct calm_msg *msg, void *out)
{
	struct run *run = out;

	return calm_wire_read_job(msg, &run->job, run->result);
}

static int start(struct kernel *kernel, const struct calm_point *point, struct run *run,
		 struct calm_error *error)
{
	struct calm_msg msg;
	struct exchange exchange = { .sent = &msg, .read = read_job, .out = run };
	int err;

	calm_wire_run(&msg, point);
	err = transact(kernel->requests, &exchange, error);
	calm_wire_free(&msg);
	return err;
}

/* A job that has just ended cannot be cancelled: what it took is read all the same. */
static void cancel(struct kernel *kernel, uint32_t job)
{
	struct calm_msg msg;
	struct exchange exchange = { .sent = &msg };
	struct calm_error error;

	calm_wire_cancel(&msg, job);
	transact(kernel->requests, &exchange, &error);
	calm_wire_free(&msg);
}

static int read_samples(const struct calm_msg *msg, void *out)
{
	struct run *run = out;

	return calm_wire_read_samples(msg, run->result);
}

static bool ended(const struct calm_result *result)
{
	return result->state == CALM_STATE_DONE || result->state == CALM_STATE_CANCELLED ||
	       result->state == CALM_STATE_FAILED;
}

/*
 * One dump, from the first sample not yet here. Returns 1 if messages were lost
 * to a full socket, so that another one is needed.
 */
static int dump(struct kernel *kernel, struct run *run, const struct calm_watch *watch,
		bool *cancelled, struct calm_error *error)
{
	struct calm_msg msg;
	struct exchange exchange = { .sent = &msg, .read = read_samples, .out = run };
	int err;

	calm_wire_samples(&msg, run->job, (uint32_t)run->result->n_samples);
	err = calm_nl_send(kernel->dumps, &msg, true);
	while (!err && !exchange.finished) {
		err = calm_nl_receive(kernel->dumps, take_packet, &exchange);
		watch->progress(run->result, watch->arg);
		if (!err && !*cancelled && watch->cancelled(watch->arg)) {
			*cancelled = true;
			cancel(kernel, run->job);
		}
	}
	calm_wire_free(&msg);
	if (err == -ENOMEM || err == -ENOBUFS)
		return 1;
	return set_failure(error, &exchange, err);
}

/* A register that faults is not there for us; anything else went wrong on the way. */
static enum calm_exit job_status(const struct calm_result *result)
{
	return result->error == ENXIO ? CALM_EXIT_ABSENT : CALM_EXIT_FAILED;
}

static int check_end(const struct calm_result *result, struct calm_error *error)
{
	if (!ended(result) ||
	    (result->state == CALM_STATE_DONE && result->n_samples != result->total))
		return set_broken(error);
	if (result->state != CALM_STATE_FAILED)
		return 0;
	/* memory of a kind that is not here: the reason names other kinds */
	if (result->error == EADDRNOTAVAIL)
		return calm_error_set(error, CALM_EXIT_ABSENT, -EADDRNOTAVAIL, "%s",
				      result->reason);
	return calm_error_set(error, job_status(result),
			      result->error ? -(int)result->error : -EIO, "the job failed: %s",
			      result->reason[0] ? result->reason : strerror((int)result->error));
}

static int kernel_measure(void *state, const struct calm_point *point, struct calm_result *result,
			  const struct calm_watch *watch, struct calm_error *error)
{
	struct run run = { .result = result };
	bool cancelled = false;
	int err;

	result->effective = *point;
	err = start(state, point, &run, error);
	if (err)
		return err;
	do {
		err = dump(state, &run, watch, &cancelled, error);
	} while (err > 0);
	return err ? err : check_end(result, error);
}

static int read_prefetch(const struct calm_msg *msg, void *out)
{
	return calm_wire_read_prefetch(msg, out);
}

/* One dump of all groups. Returns 1 if messages were lost to a full socket. */
static int dump_prefetchers(struct kernel *kernel, struct calm_prefetch_groups *groups,
			    struct calm_error *error)
{
	struct calm_msg msg;
	struct exchange exchange = { .sent = &msg, .read = read_prefetch, .out = groups };
	int err;

	calm_wire_prefetch_get(&msg);
	err = calm_nl_send(kernel->dumps, &msg, true);
	while (!err && !exchange.finished)
		err = calm_nl_receive(kernel->dumps, take_packet, &exchange);
	calm_wire_free(&msg);
	if (err == -ENOMEM || err == -ENOBUFS)
		return 1;
	return set_failure(error, &exchange, err);
}

static int kernel_prefetchers(void *state, struct calm_prefetch_groups *groups,
			      struct calm_error *error)
{
	int err;

	do {
		calm_prefetch_free(groups);
		err = dump_prefetchers(state, groups, error);
	} while (err > 0);
	return err;
}

static int read_id(const struct calm_msg *msg, void *out)
{
	return calm_wire_read_id(msg, out);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void unseen(const struct calm_result *result, void *arg)
{
	(void)result;
	(void)arg;
}

static int kernel_set_prefetchers(void *state, const struct calm_setting *setting,
				  const uint32_t *cpus, size_t n_cpus, uint32_t flags,
				  struct calm_error *error)
{
	const struct calm_watch watch = { never, unseen, NULL };
	struct calm_result result = { .total = 0 };
	struct run run = { .result = &result };
	struct kernel *kernel = state;
	struct calm_msg msg;
	struct exchange exchange = { .sent = &msg, .read = read_id, .out = &run.job };
	bool cancelled = false;
	int err;

	calm_wire_prefetch_set(&msg, setting, cpus, n_cpus, flags);
	err = transact(kernel->requests, &exchange, error);
	calm_wire_free(&msg);
	if (err)
		return err;
	do {
		err = dump(kernel, &run, &watch, &cancelled, error);
	} while (err > 0);
	return err ? err : check_end(&result, error);
}

const struct calm_backend calm_backend_kernel = {
	.name = "kernel",
	.open = kernel_open,
	.measure = kernel_measure,
	.prefetchers = kernel_prefetchers,
	.set_prefetchers = kernel_set_prefetchers,
	.close = kernel_close,
};
