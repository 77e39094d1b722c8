// SPDX-License-Identifier: GPL-2.0-only
/* Probes on the module, and the order in which they were hit. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "trace.h"

#define TRACING "/sys/kernel/tracing/"
#define GROUP "calmtest"
#define CPUS 64

/*
 * A slice begins where calm_quiet_begin() returns 0. Whether it did so after the end is told by
 * when it was entered: what was entered before may just have been past its look at the flag.
 */
static const char probes[] =
	"p:" GROUP "/enter calm:calm_quiet_begin\n"
	"r:" GROUP "/begin calm:calm_quiet_begin ret=$retval:s32\n"
	"r:" GROUP "/cancel calm:calm_job_cancel\n"
	"r:" GROUP "/orphan calm:calm_job_orphan\n"
	"r:" GROUP "/offline calm:cpu_goes_offline\n"
	"r:" GROUP "/suspend calm:pm_event\n"
	"r:" GROUP "/signal __x64_sys_kill\n";

static const char *const ends[] = {
	[TRACE_CANCEL] = " cancel: ",
	[TRACE_ORPHAN] = " orphan: ",
	[TRACE_OFFLINE] = " offline: ",
	[TRACE_SUSPEND] = " suspend: ",
};

static void remove_probes(void)
{
	machine_write(TRACING "events/" GROUP "/enable", "0");
	/* to open it so is to remove all */
	close(open(TRACING "kprobe_events", O_WRONLY | O_TRUNC));
}

bool trace_begin(void)
{
	char line[128];
	const char *next, *at = probes;
	bool good;
	int fd;

	remove_probes();
	/* truncates, and so clears, the buffer */
	close(open(TRACING "trace", O_WRONLY | O_TRUNC));
	/* a clock that puts the events of all CPUs into one order */
	if (!machine_write(TRACING "trace_clock", "counter"))
		return false;
	for (; *at; at = next) {
		next = strchr(at, '\n') + 1;
		snprintf(line, sizeof(line), "%.*s", (int)(next - at), at);
		fd = open(TRACING "kprobe_events", O_WRONLY | O_APPEND);
		good = write(fd, line, strlen(line)) == (ssize_t)strlen(line);
		close(fd);
		if (!good)
			return false;
	}
	return machine_write(TRACING "events/" GROUP "/enable", "1");
}

/* A line reads "   comm-pid  [cpu] flags stamp: event: (text)". */
static int cpu_of(const char *line)
{
	const char *bracket = strstr(line, " [");

	return bracket ? atoi(bracket + 2) % CPUS : 0;
}

static bool is_by(const char *line, int pid)
{
	char text[16];

	snprintf(text, sizeof(text), "-%d ", pid);
	return !pid || strstr(line, text);
}

struct trace_count trace_end(enum trace_end end, int pid)
{
	bool late_for_signal[CPUS] = {}, late_for_end[CPUS] = {};
	struct trace_count count = {};
	char line[512];
	FILE *f;

	machine_write(TRACING "events/" GROUP "/enable", "0");
	f = fopen(TRACING "trace", "r");
	while (f && fgets(line, sizeof(line), f)) {
		int cpu = cpu_of(line);

		if (line[0] == '#')
			continue;
		if (strstr(line, " signal: ")) {
			count.signalled = true;
		} else if (strstr(line, ends[end]) && is_by(line, pid)) {
			count.ended = true;
		} else if (strstr(line, " enter: ")) {
			late_for_signal[cpu] = count.signalled;
			late_for_end[cpu] = count.ended;
		} else if (strstr(line, " begin: ") && strstr(line, " ret=0")) {
			count.slices++;
			count.after_signal += late_for_signal[cpu];
			count.after_end += late_for_end[cpu];
		}
	}
	if (f)
		fclose(f);
	remove_probes();
	return count;
}
