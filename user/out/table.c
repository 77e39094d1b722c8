// SPDX-License-Identifier: GPL-2.0-only
/* Results as a table for people: a row as soon as a point is there. */
#include <inttypes.h>

#include <linux/calm.h>

#include "opt.h"
#include "out.h"
#include "stats.h"

#define CELL_MAX 32

static const char *number(char buffer[CELL_MAX], bool valid, double value)
{
	if (valid)
		snprintf(buffer, CELL_MAX, "%.3f", value);
	else
		snprintf(buffer, CELL_MAX, "-");
	return buffer;
}

static void print_settings(FILE *to, const struct calm_document *document)
{
	const struct calm_run_opts *opts = document->opts;
	char stride[CALM_SIZE_TEXT_MAX];

	fprintf(to, "CPU %" PRIu32 " (%s), pages %s, order %s, stride %s, rounds %" PRIu64
		    " of %" PRIu64 " samples\n",
		document->cpu, document->cpu_reason, calm_word_name(calm_words_pages, opts->pages),
		calm_word_name(calm_words_order, opts->order),
		calm_size_text(stride, opts->stride_bytes), opts->rounds, opts->samples);
}

static void print_planned(FILE *to, const struct calm_document *document, size_t index)
{
	const struct calm_measured *measured = &document->points[index];
	char size[CALM_SIZE_TEXT_MAX];

	if (!index) {
		print_settings(to, document);
		fprintf(to, "%14s %14s %14s %14s\n", "size [bytes]", "loads/sample", "two lengths",
			"estimate [s]");
	}
	fprintf(to, "%14s %14" PRIu64 " %14s %14.3f\n",
		calm_size_text(size, measured->point.size_bytes), measured->point.loads,
		measured->point.flags & CALM_F_TWO_LENGTHS ? "yes" : "no", measured->estimate_s);
}

static void print_measured(FILE *to, const struct calm_document *document, size_t index)
{
	const struct calm_stats *stats = &document->points[index].stats;
	double to_ns = document->machine.tsc_hz > 0 ? 1e9 / document->machine.tsc_hz : 0;
	struct calm_summary ns = calm_stats_scale(&stats->tsc_per_access, to_ns);
	const struct calm_summary *tsc = &stats->tsc_per_access, *two = &stats->tsc_two_lengths;
	bool has_ns = ns.valid && to_ns > 0;
	char size[CALM_SIZE_TEXT_MAX], cells[6][CELL_MAX];

	if (!index) {
		print_settings(to, document);
		fprintf(to, "%14s %35s %23s\n", "", "ns per load", "TSC ticks per load");
		fprintf(to, "%14s %8s %8s %8s %8s %11s %11s %8s\n", "size [bytes]", "median", "p5",
			"p95", "mad", "median", "two lengths", "dropped");
	}
	fprintf(to, "%14s %8s %8s %8s %8s %11s %11s %8" PRIu32 "\n",
		calm_size_text(size, document->points[index].result.effective.size_bytes),
		number(cells[0], has_ns, ns.median), number(cells[1], has_ns, ns.p5),
		number(cells[2], has_ns, ns.p95), number(cells[3], has_ns && ns.has_mad, ns.mad),
		number(cells[4], tsc->valid, tsc->median),
		number(cells[5], two->valid, two->median),
		stats->dropped);
}

static void table_point(FILE *to, const struct calm_document *document, size_t index)
{
	if (document->planned)
		print_planned(to, document, index);
	else
		print_measured(to, document, index);
}

static void print_derived(FILE *to, const struct calm_derived *derived)
{
	char size[CALM_SIZE_TEXT_MAX], cell[CELL_MAX];
	size_t i;

	fprintf(to, "\n%-8s %16s %14s\n", "level", "claimed [bytes]", "latency [ns]");
	for (i = 0; i < derived->n_levels; i++) {
		const struct calm_level *level = &derived->levels[i];

		fprintf(to, "%-8s %16s %14s\n", level->claimed.name,
			calm_size_text(size, level->claimed.size_bytes),
			number(cell, level->has_latency, level->latency_ns));
	}
	fprintf(to, "%-8s %16s %14s\n", "memory", "-",
		number(cell, derived->has_memory, derived->memory_latency_ns));
}

static void print_caches(FILE *to, const struct calm_machine *machine)
{
	char size[CALM_SIZE_TEXT_MAX];
	size_t i;

	fprintf(to, "\n%-8s %16s %13s %6s  %s\n", "cache", "claimed [bytes]", "line [bytes]",
		"ways", "shared by CPUs");
	for (i = 0; i < machine->n_caches; i++) {
		const struct calm_cache *cache = &machine->caches[i];

		fprintf(to, "%-8s %16s %13" PRIu32 " %6" PRIu32 "  %s\n", cache->name,
			calm_size_text(size, cache->size_bytes), cache->line_bytes, cache->ways,
			cache->shared_cpus);
	}
}

static void print_processors(FILE *to, const struct calm_module *module)
{
	size_t i;

	fprintf(to, "\n%6s %8s %6s %6s %7s %9s %11s\n", "CPU", "online", "node", "core", "package",
		"isolated", "microcode");
	for (i = 0; i < module->n_processors; i++) {
		const struct calm_processor *processor = &module->processors[i];

		fprintf(to, "%6" PRIu32 " %8s %6" PRIu32 " %6" PRIu32 " %7" PRIu32, processor->id,
			processor->online ? "yes" : "no", processor->node, processor->core,
			processor->package);
		fprintf(to, " %9s %#11" PRIx32 "\n", processor->isolated ? "yes" : "no",
			processor->microcode);
	}
}

static void print_module(FILE *to, const struct calm_module *module)
{
	char size[CALM_SIZE_TEXT_MAX];

	if (!module) {
		fprintf(to, "%-24s %s\n", "module", "not usable");
		return;
	}
	fprintf(to, "%-24s %s, interface %" PRIu32 "\n", "module", module->version, module->abi);
	if (!module->has_limits)
		return;
	fprintf(to, "%-24s %s\n", "largest buffer [bytes]",
		calm_size_text(size, module->max_bytes));
	fprintf(to, "%-24s %" PRIu32 "\n", "most samples", module->samples_limit);
	fprintf(to, "%-24s %" PRIu32 "\n", "interrupts off [us]", module->slice_us);
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
	print_module(to, document->module);
	print_caches(to, machine);
	if (document->module)
		print_processors(to, document->module);
}

static void table_end(FILE *to, const struct calm_document *document)
{
	switch (document->subject) {
	case CALM_SUBJECT_POINTS:
		if (document->derived)
			print_derived(to, document->derived);
		break;
	case CALM_SUBJECT_MACHINE:
		print_machine(to, document);
		break;
	}
}

const struct calm_out_ops calm_out_table = {
	.name = "table",
	.point = table_point,
	.end = table_end,
};
