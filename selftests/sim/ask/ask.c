// SPDX-License-Identifier: GPL-2.0-only
/* Runs one job with raw events and prints each sample as a line of JSON, for the tests beside. */
#include <argp.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/genl/genl.h>

#include "../../guest/client.h"

#define EVENTS_MAX 16
#define CPUS_MAX 8

/* Pages for perf's records, a power of two. */
#define RING_PAGES 512

struct wish {
	uint64_t size, loads, samples, flags, rounds, warmup;
	uint32_t cpus[CPUS_MAX];
	unsigned int nr_cpus;
	bool off;		/* off and found in turn */
	uint32_t traces;	/* NMIs to send to other CPUs, then cancel */
	int perf;	/* PERF_COUNT_HW_*, -1 for none */
	uint64_t period;	/* of its samples, 0 for none */
	const char *events[EVENTS_MAX];
	unsigned int nr_events;
};

static const struct argp_option options[] = {
	{ "size", 's', "BYTES", 0, "buffer", 0 },
	{ "loads", 'l', "N", 0, "loads in a pass", 0 },
	{ "samples", 'n', "N", 0, "passes", 0 },
	{ "rounds", 'r', "N", 0, "rounds", 0 },
	{ "warmup", 'w', "N", 0, "laps before the first pass", 0 },
	{ "flags", 'f', "MASK", 0, "CALM_F_*", 0 },
	{ "cpu", 'c', "N", 0, "CPU; repeatable, 0 if not given", 0 },
	{ "off", 'o', NULL, 0, "prefetchers off and found in turn, off first", 0 },
	{ "perf", 'p', "N", 0, "count PERF_COUNT_HW_ event N on the CPU meanwhile", 0 },
	{ "period", 'P', "N", 0, "have perf take a sample for each N of that event", 0 },
	{ "trace", 't', "N", 0, "have all CPUs backtraced N times, by NMI, then end the job", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wish *wish = state->input;

	switch (key) {
	case 's':
		wish->size = strtoull(arg, NULL, 0);
		return 0;
	case 'l':
		wish->loads = strtoull(arg, NULL, 0);
		return 0;
	case 'n':
		wish->samples = strtoull(arg, NULL, 0);
		return 0;
	case 'r':
		wish->rounds = strtoull(arg, NULL, 0);
		return 0;
	case 'w':
		wish->warmup = strtoull(arg, NULL, 0);
		return 0;
	case 'f':
		wish->flags = strtoull(arg, NULL, 0);
		return 0;
	case 'c':
		if (wish->nr_cpus == CPUS_MAX)
			argp_error(state, "at most %d CPUs", CPUS_MAX);
		wish->cpus[wish->nr_cpus++] = strtoul(arg, NULL, 0);
		return 0;
	case 'o':
		wish->off = true;
		return 0;
	case 't':
		wish->traces = strtoul(arg, NULL, 0);
		return 0;
	case 'p':
		wish->perf = strtol(arg, NULL, 0);
		return 0;
	case 'P':
		wish->period = strtoull(arg, NULL, 0);
		return 0;
	case ARGP_KEY_ARG:
		if (wish->nr_events == EVENTS_MAX)
			argp_error(state, "at most %d events", EVENTS_MAX);
		wish->events[wish->nr_events++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* fixedN is fixed counter N; else hexadecimal select, then :mask of counters if wanted. */
static void put_event(struct nl_msg *msg, const char *text)
{
	struct nlattr *nest = nla_nest_start(msg, CALM_A_EVENT);
	char *end;

	if (!strncmp(text, "fixed", 5)) {
		nla_put_u32(msg, CALM_A_EVENT_FIXED, strtoul(text + 5, NULL, 10));
	} else {
		nla_put_u64(msg, CALM_A_EVENT_SELECT, strtoull(text, &end, 16));
		if (*end == ':')
			nla_put_u64(msg, CALM_A_EVENT_COUNTERS, strtoull(end + 1, NULL, 16));
	}
	nla_nest_end(msg, nest);
}

/*
 * A setting without a switch, a nest that libnl would not leave empty, is as found; a switch
 * without a name is for all prefetchers.
 */
static void put_settings(struct nl_msg *msg)
{
	struct nlattr *setting, *one;

	setting = nla_nest_start(msg, CALM_A_SETTING);
	one = nla_nest_start(msg, CALM_A_SETTING_SWITCH);
	nla_put_u32(msg, CALM_A_SWITCH_STATE, CALM_PREFETCH_OFF);
	nla_nest_end(msg, one);
	nla_nest_end(msg, setting);
	nla_put(msg, CALM_A_SETTING | NLA_F_NESTED, 0, NULL);
}

static struct answer start_job(struct client *client, const struct wish *wish)
{
	struct nl_msg *msg = client_run_request(client, wish->cpus[0], wish->rounds, wish->samples);
	unsigned int i;

	for (i = 1; i < wish->nr_cpus; i++)
		nla_put_u32(msg, CALM_A_CPU, wish->cpus[i]);
	if (wish->off)
		put_settings(msg);

	client_replace_u64(msg, CALM_A_SIZE_BYTES, wish->size);
	client_replace_u64(msg, CALM_A_LOADS, wish->loads);
	client_replace_u32(msg, CALM_A_FLAGS, wish->flags);
	if (wish->warmup)
		client_replace_u32(msg, CALM_A_WARMUP, wish->warmup);
	client_replace_u32(msg, CALM_A_PAGES, CALM_PAGES_2M);
	for (i = 0; i < wish->nr_events; i++)
		put_event(msg, wish->events[i]);
	return client_ask(client, msg);
}

static void print_list(struct nlattr *sample, int type, const char *name)
{
	struct nlattr *attr;
	const char *comma = "";
	int rest;

	printf(", \"%s\": [", name);
	nla_for_each_nested(attr, sample, rest) {
		if (nla_type(attr) != type)
			continue;
		printf("%s%" PRIu64, comma, nla_get_u64(attr));
		comma = ", ";
	}
	putchar(']');
}

static void print_sample(struct nlattr *sample)
{
	struct nlattr *tb[CALM_A_SAMPLE_MAX + 1];

	nla_parse_nested(tb, CALM_A_SAMPLE_MAX, sample, NULL);
	printf("{\"tsc\": %" PRIu64 ", \"tsc_empty\": %" PRIu64,
	       nla_get_u64(tb[CALM_A_SAMPLE_TSC]), nla_get_u64(tb[CALM_A_SAMPLE_TSC_EMPTY]));
	printf(", \"windows\": %u, \"disturb\": %u", nla_get_u32(tb[CALM_A_SAMPLE_WINDOWS]),
	       nla_get_u32(tb[CALM_A_SAMPLE_DISTURB]));
	if (tb[CALM_A_SAMPLE_SMIS])
		printf(", \"smis\": %u", nla_get_u32(tb[CALM_A_SAMPLE_SMIS]));
	if (tb[CALM_A_SAMPLE_TSC_DOUBLE])
		printf(", \"tsc_double\": %" PRIu64, nla_get_u64(tb[CALM_A_SAMPLE_TSC_DOUBLE]));
	if (tb[CALM_A_SAMPLE_APERF])
		printf(", \"aperf\": %" PRIu64 ", \"mperf\": %" PRIu64,
		       nla_get_u64(tb[CALM_A_SAMPLE_APERF]), nla_get_u64(tb[CALM_A_SAMPLE_MPERF]));
	print_list(sample, CALM_A_SAMPLE_COUNT, "pass");
	print_list(sample, CALM_A_SAMPLE_COUNT_EMPTY, "empty");
	print_list(sample, CALM_A_SAMPLE_COUNT_DOUBLE, "twice");
	puts("}");
}

/* perf's event, and the ring that its samples go to. */
struct perf {
	int fd;
	struct perf_event_mmap_page *ring;
};

/* Starts to count what a CPU does, in both rings; fd -1 without a PMU that perf knows. */
static struct perf start_perf(const struct wish *wish)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = wish->perf,
		.pinned = 1,
		.disabled = 1,
		.sample_period = wish->period,
		.sample_type = wish->period ? PERF_SAMPLE_IP : 0,
	};
	struct perf perf = { .fd = -1 };
	size_t bytes = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);

	if (wish->perf >= 0)
		perf.fd = syscall(SYS_perf_event_open, &attr, -1, wish->cpus[0], -1, 0);
	if (perf.fd < 0)
		return perf;
	if (wish->period) {
		perf.ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, perf.fd, 0);
		if (perf.ring == MAP_FAILED)
			exit(4);
	}
	ioctl(perf.fd, PERF_EVENT_IOC_ENABLE, 0);
	return perf;
}

/* A record at @offset of the ring, which may go round its end. */
static void copy_record(const struct perf_event_mmap_page *ring, uint64_t offset, void *to,
			size_t bytes)
{
	const char *data = (const char *)ring + ring->data_offset;
	size_t i;

	for (i = 0; i < bytes; i++)
		((char *)to)[i] = data[(offset + i) % ring->data_size];
}

/* What perf recorded: samples, their places in the code of modules, and what it lost. */
static void print_ring(const struct perf_event_mmap_page *ring)
{
	uint64_t at = ring->data_tail, end = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t record[8], samples = 0, modules = 0, lost = 0;
	struct perf_event_header header;

	for (; at < end; at += header.size) {
		copy_record(ring, at, &header, sizeof(header));
		copy_record(ring, at, record, header.size < sizeof(record) ? header.size :
									   sizeof(record));
		samples += header.type == PERF_RECORD_SAMPLE;
		modules += header.type == PERF_RECORD_SAMPLE && record[1] >= 0xffffffffc0000000;
		lost += header.type == PERF_RECORD_LOST ? record[2] : 0;
		lost += header.type == PERF_RECORD_THROTTLE;
	}
	printf("{\"recorded\": %" PRIu64 ", \"in_modules\": %" PRIu64 ", \"lost\": %" PRIu64 "}\n",
	       samples, modules, lost);
}

static void stop_perf(const struct perf *perf)
{
	uint64_t value;

	if (perf->fd < 0)
		return;
	ioctl(perf->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(perf->fd, &value, sizeof(value)) == sizeof(value))
		printf("{\"perf\": %" PRIu64 "}\n", value);
	if (perf->ring)
		print_ring(perf->ring);
}

/* Sysrq l from CPU 0: each other CPU gets an NMI. */
static void send_nmis(uint32_t nr)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	while (nr--) {
		FILE *file = fopen("/proc/sysrq-trigger", "w");

		fputc('l', file);
		fclose(file);
	}
}

static void take(struct nlattr *attr, void *unused)
{
	(void)unused;
	if (nla_type(attr) == CALM_A_SAMPLE)
		print_sample(attr);
	if (nla_type(attr) == CALM_A_REASON)
		printf("{\"reason\": \"%s\"}\n", nla_get_string(attr));
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "[EVENT]...", NULL, NULL, NULL, NULL };
	struct wish wish = { .size = 16384, .loads = 4096, .samples = 2, .rounds = 1, .perf = -1 };
	struct client client = {};
	struct perf perf;
	struct answer answer;
	struct harvest harvest;

	argp_parse(&argp, argc, argv, 0, NULL, &wish);
	if (!client_open(&client))
		return 3;
	perf = start_perf(&wish);
	answer = start_job(&client, &wish);
	if (answer.err) {
		printf("{\"refused\": %d, \"text\": \"%s\", \"attribute\": %d, \"nth\": %u}\n",
		       answer.err, answer.text, answer.bad_attr, answer.bad_nth);
		return 1;
	}
	if (wish.traces) {
		if (!client_has_samples(answer.job))
			return 5;
		send_nmis(wish.traces);
		client_cancel(&client, answer.job);
	}
	client.attribute = take;
	harvest = client_harvest(&client, answer.job, 0);
	stop_perf(&perf);
	printf("{\"state\": %u, \"error\": %u}\n", harvest.state, harvest.error);
	client_close(&client);
	return 0;
}
