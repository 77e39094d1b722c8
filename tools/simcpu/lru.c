// SPDX-License-Identifier: GPL-2.0-only
/* Places given to keys, that of the one used longest ago first: what is off the short way. */
#include <string.h>

#include "lru.h"

void sim_lru_init(struct sim_lru *l, unsigned int places)
{
	unsigned int i;

	memset(l->bucket, SIM_LRU_NONE, sizeof(l->bucket));
	l->taken = 0;
	l->newer[SIM_LRU_HEAD] = SIM_LRU_HEAD;
	l->older[SIM_LRU_HEAD] = SIM_LRU_HEAD;
	for (i = 0; i < places; i++) {
		l->newer[i] = i;
		l->older[i] = i;
		sim_lru_use(l, i);
	}
}

static void leave_chain(struct sim_lru *l, unsigned int place)
{
	uint8_t *at = &l->bucket[sim_lru_hash(l->key[place])];

	while (*at != place)
		at = &l->chain[*at];
	*at = l->chain[place];
}

unsigned int sim_lru_replace(struct sim_lru *l, uint64_t key)
{
	const unsigned int place = l->newer[SIM_LRU_HEAD];
	uint8_t *bucket = &l->bucket[sim_lru_hash(key)];

	if (sim_lru_has(l, place))
		leave_chain(l, place);
	l->key[place] = key;
	l->chain[place] = *bucket;
	*bucket = place;
	l->taken |= 1ull << place;
	sim_lru_use(l, place);
	return place;
}
