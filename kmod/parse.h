/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests into structs; nothing below them knows an attribute. */
#ifndef CALM_PARSE_H
#define CALM_PARSE_H

#include <net/netlink.h>

#include "data.h"

struct genl_info;

extern const struct nla_policy calm_parse_run_policy[];
extern const struct nla_policy calm_parse_prefetch_policy[];

/**
 * calm_parse_run() - what RUN asks for
 * @info: the request, which keeps to the policy
 * @spec: out: the job; its list of CPUs is the caller's, on failure too
 *
 * Return: 0; or a negative errno, said in the extended ack.
 */
int calm_parse_run(struct genl_info *info, struct calm_job_spec *spec);

/**
 * calm_parse_prefetch() - what PREFETCH_SET asks for
 * @info: the request, which keeps to the policy
 * @spec: out: as calm_parse_run() fills it
 *
 * Return: as calm_parse_run().
 */
int calm_parse_prefetch(struct genl_info *info, struct calm_job_spec *spec);

/**
 * calm_parse_duplicates() - refuse attributes that come twice, but for those that may
 * @request: the request
 * @extack: says which
 *
 * Return: 0 or -EINVAL.
 */
int calm_parse_duplicates(const struct nlmsghdr *request, struct netlink_ext_ack *extack);

/**
 * calm_parse_nth() - the attribute of a type that comes after some others of it
 * @info: the request
 * @type: its type
 * @nth: how many others
 *
 * Return: the attribute, or NULL.
 */
const struct nlattr *calm_parse_nth(struct genl_info *info, int type, u32 nth);

#endif
