// SPDX-License-Identifier: GPL-2.0-only
/* Builds the chain of pointers in place, then proves by walking that it is one cycle. */
#ifdef __KERNEL__
#include <linux/stddef.h>
#else
#include <stddef.h>
#endif

#include "chain.h"
#include "loops/random.h"

/* Marks, while the chain is walked, the elements at which a lane began. */
#define START_MARK 1UL

/* Elements that are asked for before the first of them is needed. */
#define FETCH_AHEAD 32U

/* Places within a stride are multiples of the usual line size. */
#define SLOT_BYTES 64

/* What order by page calls a page, whatever maps the buffer. */
#define PAGE_BYTES 4096

static inline unsigned long *word(void *element)
{
	return element;
}

static __u64 layout_offset(const struct calm_layout *layout, __u64 index)
{
	return index / layout->block * layout->stride + index % layout->block * layout->step +
	       index % layout->places * layout->place;
}

void *calm_chain_element(const struct calm_chain *chain, __u64 index)
{
	__u64 place = index * chain->stride;
	__u64 low;

	if (chain->layout.lines)
		return chain->base + layout_offset(&chain->layout, index);
	if (chain->slots > 1)
		place += SLOT_BYTES * calm_random_scale(calm_random_mix(chain->key + index),
							chain->slots, &low);
	return chain->base + place;
}

/* The only element of a layout that may begin at an offset. */
static __u64 layout_index(const struct calm_layout *layout, __u64 offset)
{
	__u64 index = offset / layout->stride * layout->block;

	return layout->block == 1 ? index : index + offset % layout->stride / layout->step;
}

/* Whether @element is where calm_chain_element() puts one. */
static bool is_element(const struct calm_chain *chain, void *element)
{
	__u64 offset = (char *)element - chain->base;
	__u64 index = chain->shift ? offset >> chain->shift : offset / chain->stride;

	if (chain->layout.lines)
		index = layout_index(&chain->layout, offset);
	return index < chain->lines && element == calm_chain_element(chain, index);
}

void calm_chain_init(struct calm_chain *chain, void *base, __u64 bytes, __u32 stride, __u64 seed)
{
	__u64 state = seed;

	*chain = (struct calm_chain){
		.base = base,
		.lines = bytes / stride,
		.stride = stride,
		.shift = stride & (stride - 1) ? 0 : __builtin_ctz(stride),
		.slots = stride > SLOT_BYTES ? stride / SLOT_BYTES : 1,
		.order = CALM_CHAIN_RANDOM,
		.phase = CALM_CHAIN_LINK,
	};
	chain->key = calm_random_next(&state);
	chain->random = calm_random_next(&state);
	chain->block_key = calm_random_next(&state);
}

void calm_chain_set_order(struct calm_chain *chain, enum calm_chain_order order)
{
	chain->order = order;
	if (order == CALM_CHAIN_LINEAR)
		chain->slots = 1;
	if (order == CALM_CHAIN_PAGE_LOCAL)
		chain->block = chain->stride < PAGE_BYTES ? PAGE_BYTES / chain->stride : 1;
}

/* So that no product of two fields overflows. */
#define LAYOUT_MAX 0x80000000ULL

static bool is_distance(__u64 bytes)
{
	return bytes && !(bytes % 8) && bytes <= LAYOUT_MAX;
}

static bool is_number(__u64 number)
{
	return number && number <= LAYOUT_MAX;
}

bool calm_chain_fits(const struct calm_layout *layout, __u64 bytes)
{
	__u64 element, block;

	if (!is_number(layout->lines) || !is_number(layout->block) ||
	    !is_number(layout->places) || !is_distance(layout->stride) ||
	    !is_distance(layout->step) || !is_distance(layout->place))
		return false;
	element = (layout->places - 1) * layout->place + sizeof(void *);
	block = (layout->block - 1) * layout->step + element;
	return (layout->block == 1 || element <= layout->step) && block <= layout->stride &&
	       block <= bytes &&
	       (layout->lines - 1) / layout->block <= (bytes - block) / layout->stride;
}

void calm_chain_init_layout(struct calm_chain *chain, void *base,
			    const struct calm_layout *layout, __u64 seed)
{
	__u64 state = seed;

	*chain = (struct calm_chain){
		.base = base,
		.lines = layout->lines,
		.stride = sizeof(void *),
		.layout = *layout,
		.phase = CALM_CHAIN_LINK,
	};
	chain->random = calm_random_next(&state);
}

/*
 * Each element is inserted behind one that is drawn from all before it: what
 * Sattolo's algorithm ("An algorithm to generate a random cyclic permutation",
 * Information Processing Letters 22, 1986) does, from the other end. Of every
 * cycle over k + 1 elements exactly one is left when the last element is taken
 * out, so that k equally likely places for it make all of them equally likely.
 * The drawn elements lie anywhere in memory: they are fetched some ahead.
 */
static void insert(struct calm_chain *chain, void *const *drawn, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned long *element = word(calm_chain_element(chain, chain->next++));
		unsigned long *before = word(drawn[i]);

		*element = *before;
		*before = (unsigned long)element;
	}
}

/* Each element points to the next one, the last to the first. */
static void link_linear(struct calm_chain *chain, __u64 budget)
{
	for (; budget && chain->next < chain->lines; budget--, chain->next++) {
		__u64 after = chain->next + 1 < chain->lines ? chain->next + 1 : 0;

		*word(calm_chain_element(chain, chain->next)) =
			(unsigned long)calm_chain_element(chain, after);
	}
}

/* Elements of a page; the last page may hold fewer. */
static __u64 block_size(const struct calm_chain *chain, __u64 block)
{
	__u64 left = chain->lines - block * chain->block;

	return left < chain->block ? left : chain->block;
}

/* The element of a page that is visited last. */
static unsigned long *block_tail(const struct calm_chain *chain, __u64 block)
{
	__u64 low, bits = calm_random_mix(chain->block_key + block);

	return word(calm_chain_element(chain, block * chain->block +
				       calm_random_scale(bits, block_size(chain, block), &low)));
}

/* A page's own cycle becomes a part of the one through all pages before it, behind a drawn page. */
static void join_block(struct calm_chain *chain, __u64 block)
{
	unsigned long *tail = block_tail(chain, block), *before, head = *tail;

	if (!block)
		return;
	before = block_tail(chain, calm_random_below(&chain->random, block));
	*tail = *before;
	*before = head;
}

/* What insert() does, within each page, and then the same with whole pages. */
static void link_blocks(struct calm_chain *chain, __u64 budget)
{
	for (; budget && chain->next < chain->lines; budget--, chain->next++) {
		__u64 block = chain->next / chain->block, place = chain->next % chain->block;
		unsigned long *element = word(calm_chain_element(chain, chain->next)), *before;

		*element = (unsigned long)element;
		if (place) {
			before = word(calm_chain_element(chain, chain->next - place +
							 calm_random_below(&chain->random, place)));
			*element = *before;
			*before = (unsigned long)element;
		}
		if (place + 1 == block_size(chain, block))
			join_block(chain, block);
	}
}

static void link_random(struct calm_chain *chain, __u64 budget)
{
	void *drawn[FETCH_AHEAD];

	if (!chain->next) {
		void *first = calm_chain_element(chain, 0);

		*word(first) = (unsigned long)first;
		chain->next = 1;
	}
	while (budget && chain->next < chain->lines) {
		__u64 left = chain->lines - chain->next;
		unsigned int i, nr = left < FETCH_AHEAD ? left : FETCH_AHEAD;

		nr = budget < nr ? budget : nr;
		for (i = 0; i < nr; i++) {
			__u64 index = calm_random_below(&chain->random, chain->next + i);

			drawn[i] = calm_chain_element(chain, index);
			__builtin_prefetch(drawn[i], 1);
		}
		insert(chain, drawn, nr);
		budget -= nr;
	}
}

static void link(struct calm_chain *chain, __u64 budget)
{
	switch (chain->order) {
	case CALM_CHAIN_LINEAR:
		link_linear(chain, budget);
		break;
	case CALM_CHAIN_PAGE_LOCAL:
		link_blocks(chain, budget);
		break;
	default:
		link_random(chain, budget);
		break;
	}
	if (chain->next == chain->lines)
		chain->phase = CALM_CHAIN_WALK;
}

/* Lets a lane go on to the element at address @value. Returns false if there is none. */
static bool leave(struct calm_chain *chain, unsigned int i, unsigned long value)
{
	void *next = (void *)value;

	if (!is_element(chain, next))
		return false;
	__builtin_prefetch(next);
	chain->steps++;
	chain->lane[i] = next;
	return true;
}

/* Each lane leaves its start, which is marked so that others end there. */
static bool start_lanes(struct calm_chain *chain)
{
	bool good = true;
	unsigned int i;

	chain->lanes = chain->lines < CALM_CHAIN_LANES ? chain->lines : CALM_CHAIN_LANES;
	for (i = 0; i < chain->lanes; i++) {
		void *start = calm_chain_element(chain, chain->lines / chain->lanes * i);

		good &= leave(chain, i, *word(start));
		*word(start) |= START_MARK;
		chain->start[i] = start;
	}
	return good;
}

/* Takes a lane one element further. Returns false if it left the chain. */
static bool advance(struct calm_chain *chain, unsigned int i)
{
	void *here = chain->lane[i];
	unsigned long value = *word(here);

	if (!(value & START_MARK))
		return leave(chain, i, value);

	chain->lane[i] = NULL;
	while (chain->met[i] < chain->lanes && chain->start[chain->met[i]] != here)
		chain->met[i]++;
	return chain->met[i] < chain->lanes;
}

/* Whether the lanes, each ending where another began, close to one cycle. */
static bool one_cycle(const struct calm_chain *chain)
{
	unsigned int lane = 0, seen = 0;

	do {
		lane = chain->met[lane];
		seen++;
	} while (lane && seen <= chain->lanes);
	return seen == chain->lanes && chain->steps == chain->lines;
}

static void finish_walk(struct calm_chain *chain, bool good)
{
	unsigned int i;

	for (i = 0; i < chain->lanes; i++)
		*word(chain->start[i]) &= ~START_MARK;
	chain->phase = good ? CALM_CHAIN_DONE : CALM_CHAIN_BROKEN;
}

/*
 * Several lanes follow the cycle at once, since one alone would wait for
 * memory at each element. Elements that a lane leaves before its end are
 * distinct from all others if the lanes close to one cycle: a chain that runs
 * into itself never comes back to its start.
 */
static void walk(struct calm_chain *chain, __u64 budget)
{
	unsigned int i, live;

	if (!chain->lanes && !start_lanes(chain)) {
		finish_walk(chain, false);
		return;
	}
	do {
		for (i = 0, live = 0; i < chain->lanes; i++) {
			if (!chain->lane[i])
				continue;
			live++;
			if (!advance(chain, i) || chain->steps > chain->lines) {
				finish_walk(chain, false);
				return;
			}
		}
		budget -= live < budget ? live : budget;
	} while (live && budget);
	if (!live)
		finish_walk(chain, one_cycle(chain));
}

enum calm_chain_phase calm_chain_step(struct calm_chain *chain, __u64 budget)
{
	switch (chain->phase) {
	case CALM_CHAIN_LINK:
		link(chain, budget);
		break;
	case CALM_CHAIN_WALK:
		walk(chain, budget);
		break;
	default:
		break;
	}
	return chain->phase;
}
