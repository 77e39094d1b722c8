/* SPDX-License-Identifier: GPL-2.0-only */
/* The generic netlink family: attributes to structs and back. */
#ifndef CALM_NETLINK_H
#define CALM_NETLINK_H

/**
 * calm_netlink_init() - register the family
 *
 * Return: 0 or a negative errno.
 */
int calm_netlink_init(void);

/**
 * calm_netlink_exit() - unregister it
 */
void calm_netlink_exit(void);

#endif
