// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of the kernel that must call back at their start: where interrupts and exceptions enter,
 * known when QEMU goes there for the first time, and what stands behind an instruction that is the
 * last of its block and has an answer. A callback in each block would be felt.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "landing.h"
#include "vcpu.h"

#define LANDINGS 4096

/* all that the kernel executes: its image and its modules (Documentation/x86/x86_64/mm) */
#define TEXT_BASE 0xffffffff80000000
#define TEXT_BYTES (1ULL << 31)

/**
 * struct landings - what is known of addresses
 * @pc: a hash table of those that need a callback
 * @count: how many there are
 * @everywhere: each block gets one
 * @plain: a bit for each byte of text: a block that begins there was translated without one
 */
static struct {
	pthread_mutex_t lock;
	uint64_t pc[LANDINGS];
	unsigned int count;
	bool everywhere;
	uint8_t *plain;
} landings = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool landing_init(bool everywhere)
{
	landings.everywhere = everywhere;
	/* hardly a page of it is ever touched */
	landings.plain = mmap(NULL, TEXT_BYTES / 8, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return landings.plain != MAP_FAILED;
}

/* the place of an address in the table, or the empty one where it belongs */
static uint64_t *find(uint64_t pc)
{
	size_t i = pc * 0x9e3779b97f4a7c15 >> 32;

	while (landings.pc[i % LANDINGS] && landings.pc[i % LANDINGS] != pc)
		i++;
	return &landings.pc[i % LANDINGS];
}

static bool is_plain(uint64_t pc)
{
	return pc >= TEXT_BASE && landings.plain[(pc - TEXT_BASE) / 8] >> pc % 8 & 1;
}

static void add(uint64_t pc)
{
	uint64_t *at = find(pc);

	if (*at || landings.everywhere)
		return;
	if (is_plain(pc))
		fprintf(stderr, "simcpu: a block at %#lx was translated too early\n", pc);
	*at = pc;
	landings.everywhere = ++landings.count > LANDINGS / 2;
}

void landing_add(uint64_t pc)
{
	pthread_mutex_lock(&landings.lock);
	add(pc);
	pthread_mutex_unlock(&landings.lock);
}

bool landing_at(uint64_t pc)
{
	bool found;

	pthread_mutex_lock(&landings.lock);
	found = landings.everywhere || *find(pc);
	if (!found && pc >= TEXT_BASE)
		landings.plain[(pc - TEXT_BASE) / 8] |= 1 << pc % 8;
	pthread_mutex_unlock(&landings.lock);
	return found;
}
