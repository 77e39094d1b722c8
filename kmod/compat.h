/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place that knows how kernel versions differ. */
#ifndef CALM_COMPAT_H
#define CALM_COMPAT_H

#include <linux/version.h>
#include <net/genetlink.h>

/* struct nla_policy points to a constant range from 6.7 on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define CALM_RANGE_CONST
#else
#define CALM_RANGE_CONST const
#endif

/*
 * CPUs that isolcpus= left to the scheduler. From 7.x on HK_TYPE_DOMAIN also
 * follows cpusets, and may only be looked at under RCU.
 */
#ifdef CALM_HAVE_HK_TYPE_DOMAIN_BOOT
#define CALM_HK_ISOLCPUS HK_TYPE_DOMAIN_BOOT
#else
#define CALM_HK_ISOLCPUS HK_TYPE_DOMAIN
#endif

/* The parsed attributes of a dump request moved in 6.6. */
static inline struct nlattr **calm_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_info_dump(cb)->attrs;
#endif
}

#endif
