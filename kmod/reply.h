/* SPDX-License-Identifier: GPL-2.0-only */
/* Structs into the attributes of replies, each of which fits or is left out as a whole. */
#ifndef CALM_REPLY_H
#define CALM_REPLY_H

#include <linux/types.h>

#include "data.h"

struct calm_job_counts;
struct calm_job_progress;
struct calm_prefetch_state;
struct sk_buff;

/**
 * calm_reply_info_size() - room for all that GET_INFO tells
 *
 * Return: bytes.
 */
size_t calm_reply_info_size(void);

/**
 * calm_reply_put_info() - add what everybody may know
 * @skb: the reply
 *
 * Return: 0 or -EMSGSIZE.
 */
int calm_reply_put_info(struct sk_buff *skb);

/**
 * calm_reply_put_limits() - add what a job would get at this moment
 * @skb: the reply
 *
 * Return: 0 or -EMSGSIZE.
 */
int calm_reply_put_limits(struct sk_buff *skb);

/**
 * calm_reply_put_spec() - add the settings in effect of a job
 * @skb: the reply
 * @spec: the job
 *
 * Return: 0 or -EMSGSIZE.
 */
int calm_reply_put_spec(struct sk_buff *skb, const struct calm_job_spec *spec);

/**
 * calm_reply_put_progress() - add how far a job is
 * @skb: the reply
 * @id: number of the job
 * @progress: how far
 *
 * Return: 0 or -EMSGSIZE.
 */
int calm_reply_put_progress(struct sk_buff *skb, u32 id, const struct calm_job_progress *progress);

/**
 * calm_reply_put_round() - add a round
 * @skb: the reply
 * @round: the round
 *
 * Return: 0; -EMSGSIZE if it does not fit: nothing is added then.
 */
int calm_reply_put_round(struct sk_buff *skb, const struct calm_round *round);

/**
 * calm_reply_put_sample() - add a sample
 * @skb: the reply
 * @index: its place in the job
 * @sample: the sample
 * @counts: what was counted in it
 * @has_settings: it was taken under a setting of prefetchers
 *
 * Return: 0; -EMSGSIZE if it does not fit: nothing is added then.
 */
int calm_reply_put_sample(struct sk_buff *skb, u32 index, const struct calm_sample *sample,
			  const struct calm_job_counts *counts, bool has_settings);

/**
 * calm_reply_put_group() - add CPUs that share prefetchers' registers, and the prefetchers
 * @skb: the reply
 * @first: the lowest of these CPUs
 * @state: what the registers say
 *
 * Return: 0 or -EMSGSIZE.
 */
int calm_reply_put_group(struct sk_buff *skb, unsigned int first,
			 const struct calm_prefetch_state *state);

#endif
