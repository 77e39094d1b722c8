// SPDX-License-Identifier: GPL-2.0-only
/* Places for keys, against a list that is searched and moved. */
#include "kselftest_harness.h"
#include "lru.h"

#define STEPS		20000

/* The same by the plainest means: keys in the order of use, and the place of each beside it. */
struct list {
	unsigned int places, keys;
	uint64_t key[SIM_LRU_MAX];
	unsigned int place[SIM_LRU_MAX];
};

/* The place that the key should have, and whether it had it before. */
static unsigned int list_use(struct list *l, uint64_t key, bool *had)
{
	unsigned int at, place;

	for (at = 0; at < l->keys && l->key[at] != key; at++)
		;
	*had = at < l->keys;
	if (*had)
		place = l->place[at];
	else if (l->keys < l->places)
		place = l->keys++;
	else
		place = l->place[--at];
	memmove(l->key + 1, l->key, at * sizeof(l->key[0]));
	memmove(l->place + 1, l->place, at * sizeof(l->place[0]));
	l->key[0] = key;
	l->place[0] = place;
	return place;
}

/* One key more than places, some more, many more, and all with room. */
TEST(places_are_those_of_a_list)
{
	const unsigned int places[] = { 1, 2, 3, 8, 16, 63, 64 };
	unsigned int i, step, range, seed = 1;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (range = 1; range < 300; range = range * 3 + 1) {
			struct list list = { .places = places[i] };
			struct sim_lru lru;

			sim_lru_init(&lru, places[i]);
			for (step = 0; step < STEPS; step++) {
				const uint64_t key = rand_r(&seed) % range * 0x1000000000000041ull;
				unsigned int place = sim_lru_find(&lru, key), wanted;
				bool had;

				wanted = list_use(&list, key, &had);
				ASSERT_EQ(had, place != SIM_LRU_NONE);
				if (had)
					sim_lru_use(&lru, place);
				else
					place = sim_lru_replace(&lru, key);
				ASSERT_EQ(wanted, place)
					TH_LOG("%u places, %u keys", places[i], range);
				ASSERT_EQ(place, sim_lru_newest(&lru));
			}
		}
	}
}

TEST_HARNESS_MAIN
