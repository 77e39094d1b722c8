// SPDX-License-Identifier: GPL-2.0-only
/* Results as a table for people: a row as soon as a point is there. */
#include <inttypes.h>
#include <string.h>

#include <linux/calm.h>

#include "opt.h"
#include "out.h"
#include "stats.h"

#define CELL_MAX 32

#define BYTES_PER_GB 1e9

static const char *number(char buffer[CELL_MAX], bool valid, double value)
{
	if (valid)
		snprintf(buffer, CELL_MAX, "%.3f", value);
	else
		snprintf(buffer, CELL_MAX, "-");
	return buffer;
}

/* Columns of a sweep over strides or lanes, and of states of the prefetchers. */
static bool has_strides(const struct calm_document *document)
{
	return document->opts->strides.count;
}

static bool has_layouts(const struct calm_document *document)
{
	return document->n_points && document->points[0].point.n_layouts;
}

static bool has_lanes(const struct calm_document *document)
{
	return document->opts->lanes.count;
}

static bool has_settings(const struct calm_document *document)
{
	return document->n_points && document->points[0].setting;
}

/* Loops that move data, and do not follow it. */
static bool has_bandwidth(const struct calm_document *document)
{
	return has_lanes(document) || (has_strides(document) && !has_layouts(document));
}

static void print_place_heads(FILE *to, const struct calm_document *document, bool named)
{
	fprintf(to, "%14s", named ? "size [bytes]" : "");
	if (has_layouts(document))
		fprintf(to, " %-10s %7s %9s %16s %14s", named ? "layout" : "",
			named ? "lines" : "", named ? "per block" : "",
			named ? "distance [bytes]" : "", named ? "offset [bytes]" : "");
	else if (has_strides(document))
		fprintf(to, " %14s", named ? "stride [bytes]" : "");
	if (has_lanes(document))
		fprintf(to, " %11s", named ? "lanes" : "");
	if (has_settings(document))
		fprintf(to, " %-18s", named ? "prefetch" : "");
}

static void print_layout(FILE *to, const struct calm_layout *layout)
{
	char distance[CALM_SIZE_TEXT_MAX], offset[CALM_SIZE_TEXT_MAX];

	fprintf(to, " %-10s %7" PRIu64 " %9" PRIu64 " %16s %14s", layout->name, layout->lines,
		layout->block, calm_size_text(distance, layout->stride_bytes),
		layout->places > 1 ? calm_size_text(offset, layout->place_bytes) : "-");
}

static bool is_copy(const struct calm_point *point)
{
	return !strcmp(point->loop, "copy");
}

/* What stands in place of lanes, and what it is. */
static const struct {
	const char *loop;
	const char *name;
	const char *note;
} without_lanes[] = {
	{ "random", "independent", NULL },
	{ "copy", "copy", "a byte of each line; two lines come and one goes" },
	{ "stride", "linear", "each line in order, in which prefetchers help" },
};

/* Loads that do not wait for each other have no lanes. */
static void print_lanes(FILE *to, const struct calm_point *point)
{
	size_t i;

	if (point->lanes) {
		fprintf(to, " %11" PRIu32, point->lanes);
		return;
	}
	for (i = 0; i < CALM_ARRAY_SIZE(without_lanes); i++)
		if (!strcmp(without_lanes[i].loop, point->loop))
			fprintf(to, " %11s", without_lanes[i].name);
}

static void print_place(FILE *to, const struct calm_document *document,
			const struct calm_measured *measured)
{
	const struct calm_point *point = &measured->result.effective;
	char text[CALM_SIZE_TEXT_MAX];

	fprintf(to, "%14s", calm_size_text(text, point->size_bytes));
	if (has_layouts(document))
		print_layout(to, &measured->point.layouts[measured->layout]);
	else if (has_strides(document))
		fprintf(to, " %14s", calm_size_text(text, point->stride_bytes));
	if (has_lanes(document))
		print_lanes(to, &measured->point);
	if (has_settings(document))
		fprintf(to, " %-18s", measured->setting->label);
}

static void print_settings(FILE *to, const struct calm_document *document)
{
	const struct calm_run_opts *opts = document->opts;
	char stride[CALM_SIZE_TEXT_MAX];

	fprintf(to, "CPU %" PRIu32 " (%s), ", document->cpu, document->cpu_reason);
	if (opts->node != CALM_UNSET)
		fprintf(to, "node %" PRIu64 ", ", opts->node);
	fprintf(to, "pages %s%s, order %s, ",
		opts->pages ? calm_word_name(calm_words_pages, opts->pages) : "of several sizes",
		opts->contig ? " contiguous" : "", calm_word_name(calm_words_order, opts->order));
	if (!has_strides(document) && !has_layouts(document))
		fprintf(to, "stride %s, ", calm_size_text(stride, opts->stride_bytes));
	fprintf(to, "rounds %" PRIu64 " of %" PRIu64 " samples\n", opts->rounds, opts->samples);
}

static void print_planned(FILE *to, const struct calm_document *document, size_t index)
{
	const struct calm_measured *measured = &document->points[index];

	if (!index) {
		print_settings(to, document);
		print_place_heads(to, document, true);
		fprintf(to, " %14s %14s %14s\n", "loads/sample", "two lengths",
			"estimate [s]");
	}
	print_place(to, document, measured);
	fprintf(to, " %14" PRIu64 " %14s %14.3f\n", measured->point.loads,
		measured->point.flags & CALM_F_TWO_LENGTHS ? "yes" : "no", measured->estimate_s);
}

/* A column for each event, as wide as its name. */
static int counted_width(const struct calm_counted *counted)
{
	size_t len = strlen(counted->event->name);

	return len < 9 ? 9 : (int)len;
}

static bool is_shown(const struct calm_counted *counted)
{
	return !counted->event->hidden;
}

/* What an access is, of loops whose access is not a load. */
static const struct accesses {
	const char *loop;
	const char *text;
} access_texts[] = {
	{ "store", "a pointer is loaded, stored in its place, and loaded from there" },
	{ "atomic", "a pointer is read by a locked addition of 0" },
	{ "copy",
	  "a byte is copied from one half of the buffer to the other; as many at each distance" },
	{ "flush", "a line is flushed, and a pointer loaded from it" },
};

static const struct accesses *accesses_of(const struct calm_document *document)
{
	size_t i;

	for (i = 0; document->n_points && i < CALM_ARRAY_SIZE(access_texts); i++)
		if (!strcmp(access_texts[i].loop, document->points[0].point.loop))
			return &access_texts[i];
	return NULL;
}

static const char *unit(const struct calm_document *document)
{
	return accesses_of(document) ? "access" : "load";
}

static void print_heads(FILE *to, const struct calm_document *document)
{
	const struct calm_measured *first = &document->points[0];
	char ns[CELL_MAX], ticks[CELL_MAX], events[CELL_MAX], cycles[CELL_MAX];
	int width = -1, gap = 9;	/* columns without a first line: dropped */
	size_t i;

	snprintf(ns, sizeof(ns), "ns per %s", unit(document));
	snprintf(ticks, sizeof(ticks), "TSC ticks per %s", unit(document));
	snprintf(events, sizeof(events), "events per %s", unit(document));
	snprintf(cycles, sizeof(cycles), "per %s", unit(document));
	for (i = 0; i < first->n_counted; i++)
		if (is_shown(&first->counted[i]))
			width += 1 + counted_width(&first->counted[i]);
	print_place_heads(to, document, false);
	fprintf(to, " %35s %23s %11s", ns, ticks, "core cycles");
	if (has_bandwidth(document)) {
		fprintf(to, " %9s", "bandwidth");
		gap += 5;
	}
	if (has_lanes(document)) {
		fprintf(to, " %*s", gap + 9, "times one");
		gap = 0;
	}
	if (width > 0)
		fprintf(to, " %*s", gap + width, events);
	fputc('\n', to);
	print_place_heads(to, document, true);
	fprintf(to, " %8s %8s %8s %8s %11s %11s %11s", "median", "p5", "p95", "mad", "median",
		"two lengths", cycles);
	if (has_bandwidth(document))
		fprintf(to, " %9s %4s", "[GB/s]", "fits");
	fprintf(to, " %8s", "dropped");
	if (has_lanes(document))
		fprintf(to, " %9s", "lane");
	for (i = 0; i < first->n_counted; i++)
		if (is_shown(&first->counted[i]))
			fprintf(to, " %*s", counted_width(&first->counted[i]),
				first->counted[i].event->name);
	fputc('\n', to);
}

static void print_counted(FILE *to, const struct calm_measured *measured)
{
	size_t i;

	for (i = 0; i < measured->n_counted; i++) {
		const struct calm_counted *counted = &measured->counted[i];

		if (!is_shown(counted))
			continue;
		if (!counted->reason && counted->per_access.valid)
			fprintf(to, " %*.5f", counted_width(counted), counted->per_access.median);
		else
			fprintf(to, " %*s", counted_width(counted), "-");
	}
	fputc('\n', to);
}

static bool has_loop(const struct calm_document *document, const char *loop)
{
	size_t i;

	for (i = 0; i < document->n_points; i++)
		if (!strcmp(document->points[i].point.loop, loop))
			return true;
	return false;
}

/* What is counted, and by which unit; a copy reads half of its bytes and writes the other half. */
static void print_bytes_note(FILE *to, const struct calm_document *document)
{
	uint32_t bytes = document->points[0].access_bytes;
	size_t i;
	bool copies = is_copy(&document->points[0].point);

	fprintf(to, "GB/s: 10^9 program bytes per second, %" PRIu32 " %s\n",
		copies ? bytes / 2 : bytes,
		copies ? "read and as many written per access" : "read per load");
	for (i = 0; has_lanes(document) && i < CALM_ARRAY_SIZE(without_lanes); i++)
		if (without_lanes[i].note && has_loop(document, without_lanes[i].loop))
			fprintf(to, "%s: %s\n", without_lanes[i].name, without_lanes[i].note);
	fprintf(to, "fits: first cache that claims to hold all lines that are touched\n");
}

static const struct {
	const char *source;
	const char *text;
} clock_texts[] = {
	{ "fixed", "counter" },
	{ "aperf", "APERF" },
	{ "calibrated", "additions of a cycle each" },
};

static bool has_clock(const struct calm_document *document, const char *source)
{
	size_t i;

	for (i = 0; i < document->n_points; i++) {
		const char *clock = document->points[i].stats.clock_source;

		if (clock && !strcmp(clock, source))
			return true;
	}
	return false;
}

/* All that tell some point's core cycles. Returns whether there are any. */
static bool print_clocks(FILE *to, const struct calm_document *document)
{
	bool any = false;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(clock_texts); i++) {
		if (!has_clock(document, clock_texts[i].source))
			continue;
		fprintf(to, "%s%s", any ? ", of others by " : "\ncore cycles by ",
			clock_texts[i].text);
		any = true;
	}
	if (any)
		fputc('\n', to);
	return any;
}

/* What the columns mean, and why one has dashes. */
static void print_notes(FILE *to, const struct calm_document *document)
{
	const struct calm_events *events = document->events;
	bool clock = print_clocks(to, document);
	size_t i;

	if (accesses_of(document))
		fprintf(to, "%saccess: %s\n", clock ? "" : "\n", accesses_of(document)->text);
	if (document->n_points && has_bandwidth(document))
		print_bytes_note(to, document);
	for (i = 0; events && i < events->count; i++) {
		const struct calm_event *event = &events->events[i];

		if (event->hidden)
			continue;
		if (event->reason)
			fprintf(to, "%s: not shown: %s\n", event->name, event->reason);
		else if (event->definition)
			fprintf(to, "%s: %s\n", event->name, event->definition);
		else
			fprintf(to, "%s: %s\n", event->name, event->code);
	}
}

static bool has_cycles(const struct calm_measured *measured)
{
	return measured->stats.cycles_per_access.valid;
}

/* Core cycles, or TSC ticks: what is set side by side is in one of them. */
static double median_of(const struct calm_measured *measured, bool cycles)
{
	const struct calm_stats *stats = &measured->stats;

	return cycles ? stats->cycles_per_access.median : stats->tsc_per_access.median;
}

/* Against one lane in the same buffer under the same setting, if that was measured before. */
static void print_speed_up(FILE *to, const struct calm_document *document,
			   const struct calm_measured *measured)
{
	const struct calm_point *point = &measured->result.effective;
	char cell[CELL_MAX];
	size_t i;

	for (i = 0; i < document->n_points; i++) {
		const struct calm_measured *one = &document->points[i];

		if (one->point.lanes == 1 && one->setting == measured->setting &&
		    one->result.effective.size_bytes == point->size_bytes &&
		    one->stats.tsc_per_access.valid)
			break;
	}
	if (i < document->n_points && measured->stats.tsc_per_access.valid &&
	    !is_copy(&measured->point)) {
		const struct calm_measured *one = &document->points[i];
		bool cycles = has_cycles(one) && has_cycles(measured);

		number(cell, true, median_of(one, cycles) / median_of(measured, cycles));
	} else {
		number(cell, false, 0);
	}
	fprintf(to, " %9s", cell);
}

static void print_bandwidth(FILE *to, const struct calm_measured *measured)
{
	const struct calm_summary *rate = &measured->stats.bytes_per_second;
	char cell[CELL_MAX];

	fprintf(to, " %9s %4s", number(cell, rate->valid, rate->median / BYTES_PER_GB),
		measured->fits ? measured->fits->name : "-");
}

static void print_measured(FILE *to, const struct calm_document *document, size_t index)
{
	const struct calm_stats *stats = &document->points[index].stats;
	double to_ns = document->machine.tsc_hz > 0 ? 1e9 / document->machine.tsc_hz : 0;
	struct calm_summary ns = calm_stats_scale(&stats->tsc_per_access, to_ns);
	const struct calm_summary *tsc = &stats->tsc_per_access, *two = &stats->tsc_two_lengths;
	const struct calm_summary *cycles = &stats->cycles_per_access;
	bool has_ns = ns.valid && to_ns > 0;
	char cells[7][CELL_MAX];

	if (!index) {
		print_settings(to, document);
		print_heads(to, document);
	}
	print_place(to, document, &document->points[index]);
	fprintf(to, " %8s %8s %8s %8s %11s %11s %11s",
		number(cells[0], has_ns, ns.median), number(cells[1], has_ns, ns.p5),
		number(cells[2], has_ns, ns.p95), number(cells[3], has_ns && ns.has_mad, ns.mad),
		number(cells[4], tsc->valid, tsc->median),
		number(cells[5], two->valid, two->median),
		number(cells[6], cycles->valid, cycles->median));
	if (has_bandwidth(document))
		print_bandwidth(to, &document->points[index]);
	fprintf(to, " %8" PRIu32, stats->dropped);
	if (has_lanes(document))
		print_speed_up(to, document, &document->points[index]);
	print_counted(to, &document->points[index]);
}

/* What each event counted in one point, a row each. */
static void print_counts(FILE *to, const struct calm_document *document, size_t index)
{
	const struct calm_measured *measured = &document->points[index];
	double accesses = (double)measured->result.effective.loads;
	char size[CALM_SIZE_TEXT_MAX], cells[2][CELL_MAX];
	size_t i;

	if (!index) {
		print_settings(to, document);
		fprintf(to, "%14s %14s %16s %16s  %s\n", "size [bytes]", "accesses", "per access",
			"per pass", "event");
	}
	for (i = 0; i < measured->n_counted; i++) {
		const struct calm_counted *counted = &measured->counted[i];
		double rate = counted->per_access.median;
		bool valid = !counted->reason && counted->per_access.valid;

		if (is_shown(counted))
			fprintf(to, "%14s %14" PRIu64 " %16s %16s  %s\n",
				calm_size_text(size, measured->result.effective.size_bytes),
				measured->result.effective.loads, number(cells[0], valid, rate),
				number(cells[1], valid, rate * accesses), counted->event->name);
	}
}

static void table_point(FILE *to, const struct calm_document *document, size_t index)
{
	if (document->planned)
		print_planned(to, document, index);
	else if (document->subject == CALM_SUBJECT_COUNTS)
		print_counts(to, document, index);
	else
		print_measured(to, document, index);
}

static const char *significance(const struct calm_effect *effect)
{
	if (!effect->has_p)
		return "too few rounds";
	return effect->significant ? "yes" : "no";
}

static const char *range(char *cell, size_t size, const struct calm_effect *effect)
{
	if (!effect->has_interval)
		return "-";
	snprintf(cell, size, "%.3f..%.3f", effect->low, effect->high);
	return cell;
}

static void print_effects(FILE *to, const struct calm_document *document)
{
	const struct calm_derived *derived = document->derived;
	char interval[2 * CELL_MAX], cells[3][CELL_MAX];
	bool cycles = true;
	size_t i;

	for (i = 0; i < derived->n_effects; i++)
		cycles = cycles && has_cycles(derived->effects[i].found) &&
			 has_cycles(derived->effects[i].point);
	fputc('\n', to);
	print_place_heads(to, document, true);
	fprintf(to, " %10s %10s %8s %17s  %s\n", "found", "so", "ratio", "95 % interval",
		"significant");
	for (i = 0; i < derived->n_effects; i++) {
		const struct calm_effect *effect = &derived->effects[i];

		print_place(to, document, effect->point);
		fprintf(to, " %10s %10s %8s %17s  %s\n",
			number(cells[0], true, median_of(effect->found, cycles)),
			number(cells[1], true, median_of(effect->point, cycles)),
			number(cells[2], true, effect->ratio),
			range(interval, sizeof(interval), effect), significance(effect));
	}
	fprintf(to, "%s per %s; ratio: time so by time as found, of each round\n",
		cycles ? "core cycles" : "TSC ticks", unit(document));
}

/* Some prefetcher brings lines for a chase in random order too: the other one of a pair. */
static bool may_be_helped(const struct calm_document *document)
{
	return document->prefetch && document->prefetch->count && !document->machine.prefetch_off;
}

static void print_derived(FILE *to, const struct calm_document *document)
{
	const struct calm_derived *derived = document->derived;
	char size[CALM_SIZE_TEXT_MAX], cells[3][CELL_MAX];
	size_t i;

	fprintf(to, "\n%-8s %16s %14s %16s %18s\n", "level", "claimed [bytes]", "latency [ns]",
		"latency [cycles]", "isolated [cycles]");
	for (i = 0; i < derived->n_levels; i++) {
		const struct calm_level *level = &derived->levels[i];

		fprintf(to, "%-8s %16s %14s %16s %18s\n", level->claimed.name,
			calm_size_text(size, level->claimed.size_bytes),
			number(cells[0], level->has_latency, level->latency_ns),
			number(cells[1], level->has_cycles, level->latency_cycles),
			number(cells[2], level->has_isolated, level->isolated_cycles));
	}
	fprintf(to, "%-8s %16s %14s %16s %18s\n", "memory", "-",
		number(cells[0], derived->has_memory, derived->memory_latency_ns),
		number(cells[1], derived->has_memory_cycles, derived->memory_latency_cycles),
		number(cells[2], derived->has_memory_isolated, derived->memory_isolated_cycles));
	if (may_be_helped(document))
		fprintf(to, "latency: beside what prefetchers bring; "
			"--prefetch off tells a level's own\n");
}

static const char *whole(char buffer[CELL_MAX], uint64_t number)
{
	if (!number)
		return "-";
	snprintf(buffer, CELL_MAX, "%" PRIu64, number);
	return buffer;
}

static const char *hex(char buffer[CELL_MAX], uint32_t number)
{
	if (!number)
		return "-";
	snprintf(buffer, CELL_MAX, "%#" PRIx32, number);
	return buffer;
}

static const char *bytes(char buffer[CALM_SIZE_TEXT_MAX], uint64_t number)
{
	return number ? calm_size_text(buffer, number) : "-";
}

/* Levels of which ways were looked for. */
static bool has_ways(const struct calm_derived *derived)
{
	size_t i;

	for (i = 0; i < derived->n_levels; i++)
		if (derived->levels[i].ways || derived->levels[i].reason)
			return true;
	return false;
}

static void print_ways(FILE *to, const struct calm_derived *derived)
{
	char sizes[2][CALM_SIZE_TEXT_MAX], cells[5][CELL_MAX];
	size_t i;

	fprintf(to, "\n%-6s %13s %6s %8s %17s %21s %13s %24s\n", "level", "line [bytes]", "ways",
		"sets", "capacity [bytes]", "claimed line [bytes]", "claimed ways",
		"claimed capacity [bytes]");
	for (i = 0; i < derived->n_levels; i++) {
		const struct calm_level *level = &derived->levels[i];
		const struct calm_cache *claimed = &level->claimed;

		fprintf(to, "%-6s %13s %6s %8s %17s %21s %13s %24s\n", claimed->name,
			whole(cells[0], level->line_bytes), whole(cells[1], level->ways),
			whole(cells[2], level->sets),
			bytes(sizes[0], level->ways * level->sets * level->line_bytes),
			whole(cells[3], claimed->line_bytes), whole(cells[4], claimed->ways),
			bytes(sizes[1], claimed->size_bytes));
	}
	for (i = 0; i < derived->n_levels; i++)
		if (derived->levels[i].reason)
			fprintf(to, "%s: ways are not known: %s\n",
				derived->levels[i].claimed.name, derived->levels[i].reason);
}

/* Rows whose points have core cycles, or those that have none; nothing if there are no such. */
static void print_parallel_rows(FILE *to, const struct calm_derived *derived, bool in_cycles)
{
	char size[CALM_SIZE_TEXT_MAX], cells[3][CELL_MAX];
	bool headed = false;
	size_t i;

	for (i = 0; i < derived->n_parallelism; i++) {
		const struct calm_parallelism *row = &derived->parallelism[i];

		if (row->in_cycles != in_cycles)
			continue;
		if (!headed)
			fprintf(to, "\n%s per load\n%14s %12s %12s %12s %20s\n",
				in_cycles ? "core cycles" : "TSC ticks", "size [bytes]", "one lane",
				"independent", "fill buffers", "lanes that fill them");
		headed = true;
		fprintf(to, "%14s %12s %12s %12s", calm_size_text(size, row->size_bytes),
			number(cells[0], true, row->latency),
			number(cells[1], true, row->saturated),
			number(cells[2], !row->reason, row->in_flight));
		if (row->lanes)
			fprintf(to, " %20" PRIu32 "\n", row->lanes);
		else
			fprintf(to, " %20s\n", "more than measured");
	}
}

static void print_parallelism(FILE *to, const struct calm_derived *derived)
{
	char size[CALM_SIZE_TEXT_MAX];
	size_t i;

	print_parallel_rows(to, derived, true);
	print_parallel_rows(to, derived, false);
	for (i = 0; i < derived->n_parallelism; i++)
		if (derived->parallelism[i].reason)
			fprintf(to, "%s: %.3f loads at a time, fill buffers are not known: %s\n",
				calm_size_text(size, derived->parallelism[i].size_bytes),
				derived->parallelism[i].in_flight, derived->parallelism[i].reason);
}

static void print_tlbs(FILE *to, const struct calm_derived *derived)
{
	char cells[5][CELL_MAX];
	size_t i;

	fprintf(to, "\n%-8s %6s %9s %6s %6s %22s %25s\n", "TLB", "pages", "entries", "ways",
		"sets", "penalty [core cycles]", "coalescing [4K pages]");
	for (i = 0; i < derived->n_tlbs; i++) {
		const struct calm_tlb *tlb = &derived->tlbs[i];
		bool known = tlb->entries;

		fprintf(to, "%-8s %6s %9s %6s %6s %22s %25s\n", tlb->name,
			calm_word_name(calm_words_pages, tlb->pages), whole(cells[0], tlb->entries),
			whole(cells[1], known ? tlb->ways : 0),
			whole(cells[2], known ? tlb->sets : 0),
			number(cells[3], tlb->has_penalty, tlb->penalty_cycles),
			whole(cells[4], tlb->coalescing));
	}
	for (i = 0; i < derived->n_tlbs; i++)
		if (derived->tlbs[i].reason)
			fprintf(to, "%s, pages %s: entries are not known: %s\n",
				derived->tlbs[i].name,
				calm_word_name(calm_words_pages, derived->tlbs[i].pages),
				derived->tlbs[i].reason);
}

static void print_caches(FILE *to, const struct calm_machine *machine)
{
	char size[CALM_SIZE_TEXT_MAX], cells[2][CELL_MAX];
	size_t i;

	fprintf(to, "\n%-8s %16s %13s %6s  %s\n", "cache", "claimed [bytes]", "line [bytes]",
		"ways", "shared by CPUs");
	for (i = 0; i < machine->n_caches; i++) {
		const struct calm_cache *cache = &machine->caches[i];

		fprintf(to, "%-8s %16s %13s %6s  %s\n", cache->name,
			calm_size_text(size, cache->size_bytes), whole(cells[0], cache->line_bytes),
			whole(cells[1], cache->ways), cache->shared_cpus);
	}
}

static const char *known_number(char buffer[CELL_MAX], bool known, uint32_t number)
{
	if (!known)
		return "-";
	snprintf(buffer, CELL_MAX, "%" PRIu32, number);
	return buffer;
}

static void print_processors(FILE *to, const struct calm_module *module)
{
	char cells[3][CELL_MAX];
	size_t i;

	fprintf(to, "\n%6s %8s %6s %6s %7s %9s %11s\n", "CPU", "online", "node", "core", "package",
		"isolated", "microcode");
	for (i = 0; i < module->n_processors; i++) {
		const struct calm_processor *processor = &module->processors[i];
		bool known = calm_processor_is_known(processor);

		fprintf(to, "%6" PRIu32 " %8s %6" PRIu32 " %6s %7s %9s %11s\n", processor->id,
			processor->online ? "yes" : "no", processor->node,
			known_number(cells[0], known, processor->core),
			known_number(cells[1], known, processor->package),
			processor->isolated ? "yes" : "no", hex(cells[2], processor->microcode));
	}
}

static void print_module(FILE *to, const struct calm_module *module)
{
	char size[CALM_SIZE_TEXT_MAX], name[32];
	size_t i;

	if (!module) {
		fprintf(to, "%-24s %s\n", "module", "not usable");
		return;
	}
	fprintf(to, "%-24s %s, interface %" PRIu32 "\n", "module", module->version, module->abi);
	if (!module->has_limits)
		return;
	fprintf(to, "%-24s %s\n", "largest buffer [bytes]",
		calm_size_text(size, module->max_bytes));
	for (i = 0; module->n_nodes > 1 && i < module->n_nodes; i++) {
		snprintf(name, sizeof(name), "of node %" PRIu32, module->nodes[i].id);
		fprintf(to, "%24s %s\n", name, calm_size_text(size, module->nodes[i].max_bytes));
	}
	fprintf(to, "%-24s %" PRIu32 "\n", "most samples", module->samples_limit);
	fprintf(to, "%-24s %" PRIu32 "\n", "interrupts off [us]", module->slice_us);
}

/* Counters of the CPU that would be measured. */
static void print_counters(FILE *to, const struct calm_document *document)
{
	const struct calm_module *module = document->module;
	size_t i;

	for (i = 0; module && i < module->n_processors; i++) {
		const struct calm_processor *processor = &module->processors[i];
		const struct calm_pmu_info *pmu = &processor->pmu;

		if (processor->id != document->cpu)
			continue;
		if (processor->microarch[0])
			fprintf(to, "%-24s %s\n", "microarchitecture", processor->microarch);
		if (pmu->style)
			fprintf(to, "%-24s %d general of %" PRIu32 " bits, %d fixed\n", "counters",
				__builtin_popcountll(pmu->general), pmu->width,
				__builtin_popcountll(pmu->fixed));
		else
			fprintf(to, "%-24s none that can be used\n", "counters");
	}
}

static void print_number(FILE *to, const char *what, int value)
{
	if (value >= 0)
		fprintf(to, "%-24s %d\n", what, value);
}

static void print_machine(FILE *to, const struct calm_document *document)
{
	const struct calm_machine *machine = &document->machine;

	fprintf(to, "%-24s %s\n", "processor", machine->cpu_model);
	fprintf(to, "%-24s %s\n", "vendor", machine->vendor);
	print_number(to, "family", machine->family);
	print_number(to, "model", machine->model);
	print_number(to, "stepping", machine->stepping);
	if (machine->microcode)
		fprintf(to, "%-24s %#" PRIx32 "\n", "microcode", machine->microcode);
	if (machine->tsc_hz > 0)
		fprintf(to, "%-24s %.0f\n", "time stamp counter [Hz]", machine->tsc_hz);
	fprintf(to, "%-24s %s\n", "kernel", machine->kernel);
	fprintf(to, "%-24s %u\n", "CPUs online", machine->cpus);
	fprintf(to, "%-24s %u\n", "memory nodes", machine->nodes);
	print_counters(to, document);
	print_module(to, document->module);
	print_caches(to, machine);
	if (document->module)
		print_processors(to, document->module);
}

static void print_cpus(char *buffer, size_t size, const struct calm_prefetch_group *group)
{
	size_t i, used = 0;

	buffer[0] = '\0';
	for (i = 0; i < group->n_cpus && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%" PRIu32, i ? "," : "",
					 group->cpus[i]);
}

static void print_group(FILE *to, const struct calm_prefetch_group *group)
{
	char cpus[48], reg[48];
	size_t i;

	print_cpus(cpus, sizeof(cpus), group);
	for (i = 0; i < group->n_prefetchers; i++) {
		const struct calm_prefetcher *row = &group->prefetchers[i];
		const char *state = calm_word_name(calm_words_state, row->state);

		snprintf(reg, sizeof(reg), "%#" PRIx32 " bit %" PRIu32, row->msr, row->bit);
		fprintf(to, "%-8s %-14s %-9s %-5s %-19s %-7s %s%s\n", cpus, row->name,
			state ? state : "unknown", row->held ? "calm" : "found", reg,
			calm_word_name(calm_words_scope, row->scope), row->source,
			row->undocumented ? " (undocumented)" : "");
	}
}

static void print_prefetchers(FILE *to, const struct calm_prefetch_groups *groups)
{
	size_t i;

	if (!groups->count) {
		fprintf(to, "no prefetcher switch is documented for this processor\n");
		return;
	}
	fprintf(to, "%-8s %-14s %-9s %-5s %-19s %-7s %s\n", "CPUs", "prefetcher", "state", "by",
		"register", "scope", "source");
	for (i = 0; i < groups->count; i++)
		print_group(to, &groups->groups[i]);
}

static const char *verdict(const struct calm_event *event)
{
	if (event->reason)
		return event->tested ? "failed" : "not usable";
	return event->tested ? "passed" : "not tested";
}

static void print_events(FILE *to, const struct calm_events *events)
{
	size_t i;

	for (i = 0; i < events->count; i++) {
		const struct calm_event *event = &events->events[i];

		fprintf(to, "%s\n  %-14s %s%s%s\n", event->name, event->code, verdict(event),
			event->reason ? ": " : "", event->reason ? event->reason : "");
		if (event->definition)
			fprintf(to, "  %s\n", event->definition);
		if (event->source)
			fprintf(to, "  source: %s%s\n", event->source,
				event->unconfirmed ? " (not confirmed by the maker)" : "");
	}
}

static void print_noise(FILE *to, const struct calm_document *document)
{
	const struct calm_noise *noise = &document->derived->noise;
	size_t i;

	if (!document->derived->has_noise)
		return;
	fprintf(to, "\n%-16s %10s %10s\n", "quiet level", "samples", "dropped");
	fprintf(to, "%-16s %10" PRIu64 " %10" PRIu64 "\n",
		calm_word_name(calm_words_quiet, document->opts->quiet), noise->samples,
		noise->dropped);
	fprintf(to, "\n%-16s %14s\n", "quantile", "ns per load");
	for (i = 0; i < CALM_NOISE_QUANTILES; i++)
		fprintf(to, "%-16g %14.5f\n", noise->share[i], noise->quantile_ns[i]);
	fprintf(to, "\n%-16s %10s %9s\n", "longer by [%]", "samples", "share [%]");
	for (i = 0; i < CALM_NOISE_BINS; i++) {
		char end[16] = "", range[40];

		if (i + 1 < CALM_NOISE_BINS)
			snprintf(end, sizeof(end), "%g", noise->percent[i + 1]);
		snprintf(range, sizeof(range), "%g..%s", noise->percent[i], end);
		fprintf(to, "%-16s %10" PRIu64 " %9.2f\n", range, noise->bin[i],
			100.0 * (double)noise->bin[i] / (double)noise->samples);
	}
}

static void table_end(FILE *to, const struct calm_document *document)
{
	switch (document->subject) {
	case CALM_SUBJECT_NOISE:
		if (document->derived)
			print_noise(to, document);
		break;
	case CALM_SUBJECT_POINTS:
	case CALM_SUBJECT_COUNTS:
		if (!document->planned)
			print_notes(to, document);
		if (document->derived && has_ways(document->derived))
			print_ways(to, document->derived);
		else if (document->derived && document->derived->n_levels)
			print_derived(to, document);
		if (document->derived && document->derived->line_bytes)
			fprintf(to, "\nline: %" PRIu64 " bytes\n", document->derived->line_bytes);
		if (document->derived && document->derived->n_parallelism)
			print_parallelism(to, document->derived);
		if (document->derived && document->derived->n_tlbs)
			print_tlbs(to, document->derived);
		if (document->derived && document->derived->n_effects)
			print_effects(to, document);
		break;
	case CALM_SUBJECT_EVENTS:
		print_events(to, document->events);
		break;
	case CALM_SUBJECT_MACHINE:
		print_machine(to, document);
		if (document->prefetch && document->prefetch->count) {
			fputc('\n', to);
			print_prefetchers(to, document->prefetch);
		}
		break;
	case CALM_SUBJECT_PREFETCHERS:
		print_prefetchers(to, document->prefetch);
		break;
	}
}

const struct calm_out_ops calm_out_table = {
	.name = "table",
	.point = table_point,
	.end = table_end,
};
