// SPDX-License-Identifier: GPL-2.0-only
/* Ways and sets of anything that is indexed, by questions of what conflicts. */
#include <errno.h>
#include <stddef.h>

#include "conflict.h"
#include "util.h"

/* What a distance is multiplied by: sets that are no power of two have one of these factors. */
static const uint64_t factors[] = { 2, 3, 5, 7 };

/*
 * The least number of members that drive each other out, above @low, which hold. @high do not, or
 * are one more than the most that are tried. Returns 0 or a negative errno.
 */
static int find_onset(struct calm_conflict *search, uint64_t distance, uint64_t low, uint64_t high,
		      uint64_t *onset)
{
	int evicts;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		/* few members are cheap, and most structures have few ways */
		if (high > search->most && low * 2 < middle)
			middle = low * 2;
		evicts = search->ask(search->arg, distance, middle);
		if (evicts < 0)
			return evicts;
		if (evicts)
			high = middle;
		else
			low = middle;
	}
	*onset = high;
	return high > search->most ? -ERANGE : 0;
}

/* Larger distances, as long as one makes fewer members conflict. */
static int go_up(struct calm_conflict *search, uint64_t *distance, uint64_t *onset)
{
	size_t i;
	int evicts, err;

	for (i = 0; i < CALM_ARRAY_SIZE(factors) && *onset - 1 > search->least; i++) {
		if (factors[i] > search->factor)
			break;
		evicts = search->ask(search->arg, *distance * factors[i], *onset - 1);
		if (evicts < 0)
			return evicts;
		if (!evicts)
			continue;
		*distance *= factors[i];
		err = find_onset(search, *distance, search->least, *onset - 1, onset);
		if (err)
			return err;
		i = (size_t)-1;
	}
	return 0;
}

/* Smaller distances with no more members: divided by each prime, as often as that holds. */
static int go_down(struct calm_conflict *search, uint64_t *distance, uint64_t onset)
{
	uint64_t prime, rest = *distance;
	int evicts;

	for (prime = 2; rest > 1; prime = prime * prime > rest ? rest : prime + 1) {
		if (rest % prime)
			continue;
		while (!(rest % prime))
			rest /= prime;
		while (!(*distance % prime)) {
			evicts = search->ask(search->arg, *distance / prime, onset);
			if (evicts < 0)
				return evicts;
			if (!evicts)
				break;
			*distance /= prime;
		}
		if (rest == 1)
			break;
	}
	return 0;
}

int calm_conflict_search(struct calm_conflict *search)
{
	uint64_t distance = search->start, onset;
	int err;

	err = find_onset(search, distance, search->least, search->most + 1, &onset);
	if (!err && search->small_first)
		err = go_down(search, &distance, onset);
	if (!err)
		err = go_up(search, &distance, &onset);
	if (!err)
		err = go_down(search, &distance, onset);
	if (err)
		return err;
	search->ways = onset - 1;
	search->sets = distance;
	return 0;
}
