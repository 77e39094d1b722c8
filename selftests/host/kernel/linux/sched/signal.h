/* SPDX-License-Identifier: GPL-2.0-only */
/* As much of a task as a file of the module that a host test includes looks at. */
#ifndef SELFTESTS_HOST_KERNEL_SIGNAL_H
#define SELFTESTS_HOST_KERNEL_SIGNAL_H

#define SIGNAL_GROUP_EXIT	1

struct signal_struct {
	unsigned int flags;
	int group_exit_code;
};

struct task_struct {
	struct signal_struct *signal;
};

#endif
