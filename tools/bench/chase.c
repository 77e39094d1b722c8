// SPDX-License-Identifier: GPL-2.0-only
/* Time of the measured chase against that of a plain loop of dependent loads, in pairs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chain.h"
#include "loops/loops.h"

#define PAGE	     4096
#define STRIDE	     64
#define PAIRS	     15
#define LOADS	     (1ULL << 22)

/* Of this thread alone: what others take of the processor between is not in it. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *chase(void *at)
{
	struct calm_pass pass = {
		.at = at,
		.accesses = LOADS,
		.counters = CALM_PASS_NO_COUNTERS,
		.lanes = 1,
	};

	calm_loop_chase(&pass);
	return pass.at;
}

static void *plain(void *at)
{
	uint64_t left = LOADS;

	do {
		at = *(void *volatile *)at;
	} while (--left);
	return at;
}

static double seconds(void *(*run)(void *), void **at)
{
	double start = now_s();

	*at = run(*at);
	return now_s() - start;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) << 10 : 16 << 10;
	double ratios[PAIRS], times[2][PAIRS];
	struct calm_chain chain;
	void *base, *at;
	int i;

	if (argc > 2 || bytes < 2 * STRIDE || bytes % PAGE) {
		fprintf(stderr, "usage: chase [KIB], a multiple of 4, by default 16\n");
		return 1;
	}
	base = aligned_alloc(PAGE, bytes);
	if (!base) {
		perror("chase");
		return 2;
	}
	calm_chain_init(&chain, base, bytes, STRIDE, 1);
	while (calm_chain_step(&chain, bytes) < CALM_CHAIN_DONE)
		;
	at = plain(chase(calm_chain_element(&chain, 0)));
	for (i = 0; i < PAIRS; i++) {
		/* each of the two goes first in turn */
		if (i % 2)
			times[1][i] = seconds(plain, &at);
		times[0][i] = seconds(chase, &at);
		if (i % 2 == 0)
			times[1][i] = seconds(plain, &at);
		ratios[i] = times[0][i] / times[1][i];
	}
	qsort(ratios, PAIRS, sizeof(*ratios), by_value);
	qsort(times[0], PAIRS, sizeof(**times), by_value);
	qsort(times[1], PAIRS, sizeof(**times), by_value);
	printf("%llu KiB: chase %.4f ns a load, plain loop %.4f ns, medians of %d pairs\n",
	       (unsigned long long)bytes >> 10, times[0][PAIRS / 2] * 1e9 / LOADS,
	       times[1][PAIRS / 2] * 1e9 / LOADS, PAIRS);
	printf("ratio of chase to plain loop: median %.4f, from %.4f to %.4f\n", ratios[PAIRS / 2],
	       ratios[0], ratios[PAIRS - 1]);
	return 0;
}
