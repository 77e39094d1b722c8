/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of the generic netlink family to structs and back. */
#ifndef CALM_WIRE_H
#define CALM_WIRE_H

#include "data.h"

/**
 * struct calm_msg - a message of the family, without any header
 * @cmd: enum of CALM_CMD_*
 * @attrs: its attributes
 * @len: bytes of them
 */
struct calm_msg {
	uint8_t cmd;
	void *attrs;
	size_t len;
};

/**
 * struct calm_nack - why a request was refused
 * @error: positive errno
 * @attr: name of the attribute at fault, or NULL
 * @missing: that attribute was absent
 * @text: the module's words, or empty
 * @has_min: the next is known
 * @min: least value allowed
 * @has_max: the next is known
 * @max: greatest value, or length, allowed
 */
struct calm_nack {
	int error;
	const char *attr;
	bool missing;
	char text[256];
	bool has_min;
	uint64_t min;
	bool has_max;
	uint64_t max;
};

/**
 * calm_wire_attr_name() - name of a top-level attribute, as in the specification
 * @type: CALM_A_*
 *
 * Return: the name, or NULL if there is none.
 */
const char *calm_wire_attr_name(unsigned int type);

/**
 * calm_wire_get_info() - encode a request for information
 * @msg: out; to be freed by calm_wire_free()
 */
void calm_wire_get_info(struct calm_msg *msg);

/**
 * calm_wire_run() - encode the start of a job
 * @msg: out; to be freed by calm_wire_free()
 * @point: what it measures
 */
void calm_wire_run(struct calm_msg *msg, const struct calm_point *point);

/**
 * calm_wire_prefetch_set() - encode a change of prefetchers
 * @msg: out; to be freed by calm_wire_free()
 * @setting: what they are turned to
 * @cpus: on which CPUs
 * @n_cpus: how many; 0 means all that are online
 * @flags: enum calm_flag
 */
void calm_wire_prefetch_set(struct calm_msg *msg, const struct calm_setting *setting,
			    const uint32_t *cpus, size_t n_cpus, uint32_t flags);

/**
 * calm_wire_prefetch_get() - encode a request for the state of prefetchers
 * @msg: out; to be freed by calm_wire_free()
 */
void calm_wire_prefetch_get(struct calm_msg *msg);

/**
 * calm_wire_samples() - encode a request for samples
 * @msg: out; to be freed by calm_wire_free()
 * @job: the job
 * @first: index of the first sample wanted
 */
void calm_wire_samples(struct calm_msg *msg, uint32_t job, uint32_t first);

/**
 * calm_wire_cancel() - encode the end of a job
 * @msg: out; to be freed by calm_wire_free()
 * @job: the job
 */
void calm_wire_cancel(struct calm_msg *msg, uint32_t job);

/**
 * calm_wire_free() - give an encoded message's memory back
 * @msg: the message
 */
void calm_wire_free(struct calm_msg *msg);

/**
 * calm_wire_read_info() - decode what the module says of itself
 * @msg: the reply
 * @module: out; its table is to be freed
 *
 * Return: 0, or -EBADMSG if something required is absent or has a wrong length.
 */
int calm_wire_read_info(const struct calm_msg *msg, struct calm_module *module);

/**
 * calm_wire_read_job() - decode the reply to the start of a job
 * @msg: the reply
 * @job: out: number of the job
 * @result: its settings in effect and total are filled
 *
 * Return: 0, or -EBADMSG.
 */
int calm_wire_read_job(const struct calm_msg *msg, uint32_t *job, struct calm_result *result);

/**
 * calm_wire_read_prefetch() - add one message of a dump of prefetchers
 * @msg: the message
 * @groups: grows; to be freed by calm_prefetch_free()
 *
 * Return: 0, or -EBADMSG.
 */
int calm_wire_read_prefetch(const struct calm_msg *msg, struct calm_prefetch_groups *groups);

/**
 * calm_wire_read_id() - decode the number of a job without samples
 * @msg: the reply
 * @job: out: the number
 *
 * Return: 0, or -EBADMSG.
 */
int calm_wire_read_id(const struct calm_msg *msg, uint32_t *job);

/**
 * calm_wire_read_samples() - add one message of a samples dump to a result
 * @msg: the message
 * @result: grows
 *
 * Samples that are already there are skipped, so that a dump can be repeated.
 *
 * Return: 0, or -EBADMSG; also when samples are missing in between.
 */
int calm_wire_read_samples(const struct calm_msg *msg, struct calm_result *result);

/**
 * calm_wire_read_error() - decode a netlink error with its extended ack
 * @payload: payload of the NLMSG_ERROR or NLMSG_DONE message
 * @len: bytes of it
 * @flags: flags of its header
 * @sent: the request, to name the attribute at fault
 * @nack: out
 *
 * Return: 0, or -EBADMSG if it is too short.
 */
int calm_wire_read_error(const void *payload, size_t len, uint16_t flags,
			 const struct calm_msg *sent, struct calm_nack *nack);

/**
 * calm_wire_read_done() - decode the end of a dump
 * @payload: payload of the NLMSG_DONE message
 * @len: bytes of it
 * @flags: flags of its header
 * @nack: out; @nack->error is 0 if all went well
 *
 * Return: 0, or -EBADMSG if it is too short.
 */
int calm_wire_read_done(const void *payload, size_t len, uint16_t flags, struct calm_nack *nack);

#endif
