/* SPDX-License-Identifier: GPL-2.0-only */
/* What takes samples: the kernel module. */
#ifndef CALM_BACKEND_H
#define CALM_BACKEND_H

#include "data.h"
#include "util.h"

/**
 * struct calm_watch - the eyes of a caller while a point is measured
 * @cancelled: true once the work should end early
 * @progress: is shown what has come so far, several times a second
 * @arg: for both
 */
struct calm_watch {
	bool (*cancelled)(void *arg);
	void (*progress)(const struct calm_result *result, void *arg);
	void *arg;
};

/**
 * struct calm_backend - a way to take samples
 * @name: its name
 * @open: connect, and tell what there is; -ENOENT if it is not there
 * @measure: take a point's samples. What came before a failure is in the
 *	result. Ended early by the watch is no failure.
 * @prefetchers: the prefetchers with a known switch, and their state
 * @set_prefetchers: turn them off or on until that is undone; no CPU means all that are online
 * @close: disconnect; a job in progress ends
 */
struct calm_backend {
	const char *name;
	int (*open)(void **state, struct calm_module *module, struct calm_error *error);
	int (*measure)(void *state, const struct calm_point *point, struct calm_result *result,
		       const struct calm_watch *watch, struct calm_error *error);
	int (*prefetchers)(void *state, struct calm_prefetch_groups *groups,
			   struct calm_error *error);
	int (*set_prefetchers)(void *state, const struct calm_setting *setting,
			       const uint32_t *cpus, size_t n_cpus, uint32_t flags,
			       struct calm_error *error);
	void (*close)(void *state);
};

extern const struct calm_backend calm_backend_kernel;

#endif
