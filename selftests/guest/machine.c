// SPDX-License-Identifier: GPL-2.0-only
/* What a job leaves behind if it is not careful: threads, buffers, references, messages, memory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"
#include "machine.h"

/* Slices end within 50 ms; a busy machine may have other things to do for a while. */
#define IDLE_SECONDS 30.0
#define POLL_US 5000

/* Caches of all kinds. KASAN keeps freed objects for a while, up to a 32nd of all memory. */
#define CACHES_KB 8192
#define CACHES_KASAN_KB 65536

const char *const machine_host_is_busy[] = { "hrtimer: interrupt took", NULL };

static bool is(struct machine *machine, bool good, const char *what, const char *detail)
{
	if (!good)
		snprintf(machine->why, sizeof(machine->why), "%s%.400s", what, detail);
	return good;
}

bool machine_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return good;
}

/* Copies the first line of a file that begins so or, if @anywhere, has it in it. */
static bool find_line(const char *path, const char *text, bool anywhere, char *line, int size)
{
	FILE *f = fopen(path, "r");
	bool found = false;

	while (f && !found && fgets(line, size, f))
		found = anywhere ? !!strstr(line, text) : !strncmp(line, text, strlen(text));
	if (f)
		fclose(f);
	return found;
}

/* Free pages that CPUs keep for themselves; nothing else counts them as free. */
static int64_t kept_kb(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	int64_t pages = 0, count;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %" SCNd64, &count) == 1)
			pages += count;
	if (f)
		fclose(f);
	return pages * 4;
}

static int64_t available_kb(void)
{
	char line[256];

	/* 4: do so without a message from now on */
	machine_write("/proc/sys/vm/drop_caches", "4");
	machine_write("/proc/sys/vm/drop_caches", "3");
	if (!find_line("/proc/meminfo", "MemAvailable:", false, line, sizeof(line)))
		abort();
	return atoll(line + strlen("MemAvailable:")) + kept_kb();
}

void machine_note(struct machine *machine)
{
	*machine = (struct machine){
		.kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		.available_kb = available_kb(),
		.cpus_online = sysconf(_SC_NPROCESSORS_ONLN),
	};
	if (machine->kmsg < 0 || lseek(machine->kmsg, 0, SEEK_END) < 0)
		abort();
}

void machine_forget(struct machine *machine)
{
	close(machine->kmsg);
}

void machine_skip_messages(struct machine *machine)
{
	lseek(machine->kmsg, 0, SEEK_END);
}

int machine_thread(int cpu)
{
	char path[300], name[80], wanted[32];
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int pid = 0;

	/* "kworker/CPU:NUMBER", and behind a plus the workqueue that it works for now */
	snprintf(wanted, sizeof(wanted), cpu < 0 ? "kworker/" : "kworker/%d:", cpu);
	while (!pid && (d = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		if (atoi(d->d_name) && find_line(path, wanted, false, name, sizeof(name)) &&
		    strstr(name, "+calm\n"))
			pid = atoi(d->d_name);
	}
	closedir(proc);
	return pid;
}

/* The third word of /proc/modules. */
static int module_references(void)
{
	char line[256];
	int references = -1;

	if (find_line("/proc/modules", "calm ", false, line, sizeof(line)))
		sscanf(line, "%*s %*s %d", &references);
	return references;
}

/* Address ranges are listed with the function that asked for them. */
static bool has_buffer(char *line, int size)
{
	return find_line("/proc/vmallocinfo", "[calm]", true, line, size);
}

static bool job_is_gone(struct machine *machine)
{
	char line[256] = "";
	bool good;

	good = is(machine, !machine_thread(-1), "a thread of the job is left", "");
	good = good && is(machine, module_references() <= 0, "the module is in use", "");
	return good && is(machine, !has_buffer(line, sizeof(line)), "a buffer is left: ", line);
}

static bool is_ignored(const struct machine *machine, const char *record)
{
	const char *const *text = machine->ignore;

	while (text && *text && !strstr(record, *text))
		text++;
	return text && *text;
}

/* A record reads "head;text". */
bool machine_is_silent(struct machine *machine)
{
	char record[2048];
	bool silent = true;
	ssize_t n;

	while ((n = read(machine->kmsg, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		if (!is_ignored(machine, record))
			silent = is(machine, false, "the kernel said ", record);
	}
	return silent;
}

bool machine_is_free(struct machine *machine)
{
	return is(machine, module_references() <= 0, "the module is in use", "") &&
	       machine_is_silent(machine);
}

bool machine_is_idle(struct machine *machine)
{
	double begin = client_now();
	bool gone;

	while (!(gone = job_is_gone(machine)) && client_now() - begin < IDLE_SECONDS)
		usleep(POLL_US);
	return gone && machine_is_silent(machine) &&
	       is(machine, sysconf(_SC_NPROCESSORS_ONLN) == machine->cpus_online,
		  "other CPUs are online", "");
}

/* Much is given back a while after it was freed: by RCU, by work of the kernel's. */
bool machine_has_its_memory(struct machine *machine)
{
	bool kasan = !access("/sys/kernel/debug/kmemleak", F_OK);
	int64_t lost, most = kasan ? CACHES_KASAN_KB : CACHES_KB;
	double begin = client_now();
	char text[64];

	while ((lost = machine->available_kb - available_kb()) >= most &&
	       client_now() - begin < IDLE_SECONDS)
		usleep(POLL_US);
	snprintf(text, sizeof(text), "%lld KiB of memory", (long long)lost);
	return is(machine, lost < most, "lost ", text);
}

bool machine_reload(struct machine *machine, const char *parameters)
{
	int fd;
	bool good;

	good = !syscall(SYS_delete_module, "calm", O_NONBLOCK);
	if (!is(machine, good, "rmmod: ", strerror(errno)))
		return false;
	fd = open("/calm.ko", O_RDONLY | O_CLOEXEC);
	good = !syscall(SYS_finit_module, fd, parameters, 0);
	is(machine, good, "insmod: ", strerror(errno));
	close(fd);
	return good;
}
