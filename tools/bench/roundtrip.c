// SPDX-License-Identifier: GPL-2.0-only
/* How long the smallest job takes, in round trips of GET_INFO; more than five are too many. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../selftests/guest/client.h"

#define TURNS 1000
#define JOB_CPU 1
#define RATIO_MAX 5.0

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(double *values, double part)
{
	qsort(values, TURNS, sizeof(*values), compare);
	return values[(int)(TURNS * part)];
}

static void ask_info(struct client *client)
{
	if (client_ask(client, client_request(client, CALM_CMD_GET_INFO, 0)).err)
		exit(1);
}

static void run_job(struct client *client)
{
	struct nl_msg *msg = client_run_request(client, JOB_CPU, 1, 1);
	struct answer answer;

	client_replace_u64(msg, CALM_A_SIZE_BYTES, 128);
	client_replace_u64(msg, CALM_A_LOADS, 1);
	client_replace_u32(msg, CALM_A_WARMUP, 0);
	answer = client_ask(client, msg);
	if (answer.err || client_harvest(client, answer.job, 0).samples != 1)
		exit(1);
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

/* Returns the ratio of what both take at best, which other work of the host's hardly changes. */
static double compare_on(struct client *client, int cpu)
{
	static double info[TURNS], job[TURNS];
	int i;

	pin_to(cpu);
	for (i = 0; i < TURNS; i++) {
		double start = client_now(), middle;

		ask_info(client);
		middle = client_now();
		run_job(client);
		info[i] = middle - start;
		job[i] = client_now() - middle;
	}
	printf("client on CPU %d, job on CPU %d: get-info %.0f us, run and samples %.0f us, "
	       "ratio %.1f\n", cpu, JOB_CPU, quantile(info, 0.5) * 1e6, quantile(job, 0.5) * 1e6,
	       quantile(job, 0.5) / quantile(info, 0.5));
	return quantile(job, 0.1) / quantile(info, 0.1);
}

int main(void)
{
	struct client client;

	if (!client_open(&client))
		return 3;
	compare_on(&client, 0);
	/* where neither waits until the host lets another CPU of the guest run */
	return compare_on(&client, JOB_CPU) > RATIO_MAX;
}
