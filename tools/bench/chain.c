// SPDX-License-Identifier: GPL-2.0-only
/* CPU time of building the module's chain in touched memory, in random passes over it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "chain.h"
#include "loops/loops.h"

#define ALIGN (1ULL << 21)

/* What the module does between two chances for others to run. */
#define STEP 8192

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Touched memory in large pages, as the module's buffers are, where the system gives them. */
static void *touched(uint64_t bytes)
{
	char *base = mmap(NULL, bytes + ALIGN, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED) {
		perror("chain: mmap");
		exit(2);
	}
	base = (char *)(((uintptr_t)base + ALIGN - 1) & ~(ALIGN - 1));
	madvise(base, bytes, MADV_HUGEPAGE);
	memset(base, 1, bytes);
	return base;
}

static double phase_s(struct calm_chain *chain, enum calm_chain_phase phase)
{
	double start = now_s();

	while (chain->phase == phase)
		calm_chain_step(chain, STEP);
	return now_s() - start;
}

static double pass_s(const struct calm_chain *chain)
{
	struct calm_pass pass = {
		.at = calm_chain_element(chain, 0),
		.accesses = chain->lines,
		.counters = CALM_PASS_NO_COUNTERS,
	};
	double start = now_s();

	calm_loop_chase(&pass);
	return now_s() - start;
}

int main(int argc, char **argv)
{
	uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) << 20 : 1ULL << 30;
	uint32_t stride = argc > 2 ? strtoul(argv[2], NULL, 0) : 64;
	struct calm_chain chain;
	double link, walk, pass;

	if (!bytes || stride < 8 || stride % 8 || argc > 3) {
		fprintf(stderr, "usage: chain [MIB [STRIDE]], by default 1024 MiB and 64 bytes\n");
		return 1;
	}
	calm_chain_init(&chain, touched(bytes), bytes, stride, 1);
	link = phase_s(&chain, CALM_CHAIN_LINK);
	walk = phase_s(&chain, CALM_CHAIN_WALK);
	if (chain.phase != CALM_CHAIN_DONE) {
		fprintf(stderr, "chain: the chain is not one cycle\n");
		return 2;
	}
	pass = pass_s(&chain);
	printf("%llu elements: linked %.2f s, walked %.2f s, built %.2f s; a random pass %.2f s\n",
	       (unsigned long long)chain.lines, link, walk, link + walk, pass);
	printf("ratio of building to a random pass: %.2f\n", (link + walk) / pass);
	return 0;
}
