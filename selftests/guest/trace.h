/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts slices by the kernel's own probes on the module. */
#ifndef CALM_TEST_TRACE_H
#define CALM_TEST_TRACE_H

#include <stdbool.h>

/* Functions of the module whose return tells that a job has been told to end. */
enum trace_end { TRACE_CANCEL, TRACE_ORPHAN, TRACE_OFFLINE, TRACE_SUSPEND };

struct trace_count {
	int slices;		/* that began at all */
	int after_signal;	/* that began after kill() had returned */
	int after_end;		/* that began after the job had been told to end */
	bool ended;		/* it was told */
	bool signalled;		/* kill() did return */
};

/* Puts the probes in place, forgets what was traced. */
bool trace_begin(void);

/* Counts, and removes the probes. Only what task @pid did is the end; 0: any. */
struct trace_count trace_end(enum trace_end end, int pid);

#endif
