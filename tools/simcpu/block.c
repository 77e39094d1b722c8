// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of module code: what the time of their instructions depends on, told when they run. QEMU
 * translates blocks again and again, so each sequence of instructions is kept once, and for good.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "sim.h"
#include "vcpu.h"

#define BUCKETS 1021

/**
 * struct block - a sequence of instructions
 * @next: next one of the same hash
 * @count: how many instructions
 * @micro: the instructions
 */
struct block {
	struct block *next;
	size_t count;
	struct sim_micro micro[];
};

static struct {
	pthread_mutex_t lock;
	struct block *bucket[BUCKETS];
} blocks = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* FNV-1a (Fowler, Noll and Vo) */
static uint64_t hash(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t value = 0xcbf29ce484222325;

	while (bytes--)
		value = (value ^ *at++) * 0x100000001b3;
	return value;
}

static struct block *new_block(const struct sim_micro *micro, size_t count)
{
	struct block *block = malloc(sizeof(*block) + count * sizeof(*micro));

	if (!block)
		abort();
	block->count = count;
	memcpy(block->micro, micro, count * sizeof(*micro));
	return block;
}

static struct block *find_block(const struct sim_micro *micro, size_t count)
{
	const size_t bytes = count * sizeof(*micro);
	struct block **bucket = &blocks.bucket[hash(micro, bytes) % BUCKETS], *block;

	pthread_mutex_lock(&blocks.lock);
	for (block = *bucket; block; block = block->next)
		if (block->count == count && !memcmp(block->micro, micro, bytes))
			break;
	if (!block) {
		block = new_block(micro, count);
		block->next = *bucket;
		*bucket = block;
	}
	pthread_mutex_unlock(&blocks.lock);
	return block;
}

static void enter(unsigned int cpu, void *data)
{
	const struct block *block = data;
	struct vcpu *v = vcpu_get(cpu);

	sim_block_enter(v->sim, v->score->insns, block->micro, block->count);
}

void block_register(struct qemu_plugin_tb *tb, const struct sim_micro *micro, size_t count)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, enter, QEMU_PLUGIN_CB_NO_REGS,
					     find_block(micro, count));
}
