// SPDX-License-Identifier: GPL-2.0-only
/* Results as one JSON document; null where something is not known. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include <linux/calm.h>

#include "json.h"
#include "opt.h"
#include "out.h"
#include "stats.h"

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *integer_or_null(bool known, uint64_t value)
{
	return known ? integer(value) : json_null();
}

static json_t *real_or_null(bool known, double value)
{
	return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
	json_t *value = text && text[0] ? json_string(text) : NULL;

	return value ? value : json_null();
}

static json_t *hex_or_null(uint32_t value)
{
	return value ? json_sprintf("%#" PRIx32, value) : json_null();
}

static void put_nulls(json_t *object, const char *const *keys)
{
	for (; *keys; keys++)
		put(object, *keys, json_null());
}

static json_t *size_list(const struct calm_sizes *sizes)
{
	json_t *list;
	size_t i;

	if (!sizes->count)
		return json_null();
	list = json_array();
	for (i = 0; i < sizes->count; i++)
		json_array_append_new(list, integer(sizes->bytes[i]));
	return list;
}

static json_t *settings(const struct calm_document *document)
{
	const struct calm_run_opts *opts = document->opts;
	json_t *object = json_object();

	if (!opts) {
		json_decref(object);
		return json_null();
	}
	put(object, "backend", json_string("kernel"));
	put(object, "cpu", integer(document->cpu));
	put(object, "cpu_reason", text_or_null(document->cpu_reason));
	put(object, "node", integer_or_null(opts->node != CALM_UNSET, opts->node));
	put(object, "quiet", text_or_null(calm_word_name(calm_words_quiet, opts->quiet)));
	put(object, "prefetch", json_string(opts->prefetch));
	put(object, "unsafe_prefetch", json_boolean(opts->unsafe_prefetch));
	put(object, "pages", text_or_null(calm_word_name(calm_words_pages, opts->pages)));
	put(object, "contig", json_boolean(opts->contig));
	put(object, "order", text_or_null(calm_word_name(calm_words_order, opts->order)));
	put(object, "stride_bytes",
	    integer_or_null(opts->stride_bytes && !opts->strides.count, opts->stride_bytes));
	put(object, "sizes_bytes", size_list(&opts->sizes));
	put(object, "strides_bytes", size_list(&opts->strides));
	put(object, "lines", size_list(&opts->lines));
	put(object, "lanes", size_list(&opts->lanes));
	put(object, "width_bytes", integer_or_null(opts->width, opts->width));
	put(object, "min_bytes", integer_or_null(opts->min_bytes != CALM_UNSET, opts->min_bytes));
	put(object, "max_bytes", integer_or_null(opts->max_bytes != CALM_UNSET, opts->max_bytes));
	put(object, "step", integer_or_null(opts->step, opts->step));
	put(object, "loads", integer_or_null(opts->loads != CALM_UNSET, opts->loads));
	put(object, "rounds", integer(opts->rounds));
	put(object, "samples", integer(opts->samples));
	put(object, "warmup", integer(opts->warmup));
	put(object, "seed", integer(opts->seed));
	put(object, "quick", json_boolean(opts->quick));
	put(object, "scheme", text_or_null(calm_word_name(calm_words_scheme, opts->scheme)));
	put(object, "events", text_or_null(opts->events));
	return object;
}

/* Into an object that may have the cache's name already. */
static json_t *cache(const struct calm_cache *cache, json_t *object)
{
	put(object, "capacity_bytes", integer(cache->size_bytes));
	put(object, "line_bytes", integer_or_null(cache->line_bytes, cache->line_bytes));
	put(object, "ways", integer_or_null(cache->ways, cache->ways));
	put(object, "shared_cpus", text_or_null(cache->shared_cpus));
	put(object, "source", json_string("sysfs"));
	return object;
}

static json_t *machine(const struct calm_machine *machine)
{
	json_t *object = json_object(), *caches = json_array();
	size_t i;

	put(object, "cpu_model", text_or_null(machine->cpu_model));
	put(object, "vendor", text_or_null(machine->vendor));
	put(object, "family", integer_or_null(machine->family >= 0, (uint64_t)machine->family));
	put(object, "model", integer_or_null(machine->model >= 0, (uint64_t)machine->model));
	put(object, "stepping",
	    integer_or_null(machine->stepping >= 0, (uint64_t)machine->stepping));
	put(object, "microcode", hex_or_null(machine->microcode));
	put(object, "kernel", text_or_null(machine->kernel));
	put(object, "tsc_hz", real_or_null(machine->tsc_hz > 0, machine->tsc_hz));
	put(object, "cpus", integer(machine->cpus));
	put(object, "nodes", integer(machine->nodes));
	for (i = 0; i < machine->n_caches; i++) {
		json_t *row = json_object();

		put(row, "name", json_string(machine->caches[i].name));
		json_array_append_new(caches, cache(&machine->caches[i], row));
	}
	put(object, "caches", caches);
	return object;
}

static json_t *pmu(const struct calm_pmu_info *pmu)
{
	const char *style = calm_word_name(calm_words_pmu, pmu->style);
	json_t *object;

	if (!pmu->style)
		return json_null();
	object = json_object();
	put(object, "style", text_or_null(style));
	put(object, "version", integer_or_null(pmu->version, pmu->version));
	put(object, "general_counters", integer((uint64_t)__builtin_popcountll(pmu->general)));
	put(object, "fixed_counters", integer((uint64_t)__builtin_popcountll(pmu->fixed)));
	put(object, "width_bits", integer_or_null(pmu->width, pmu->width));
	return object;
}

static json_t *processors(const struct calm_module *module)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < module->n_processors; i++) {
		const struct calm_processor *processor = &module->processors[i];
		bool known = calm_processor_is_known(processor);
		json_t *row = json_object();

		put(row, "cpu", integer(processor->id));
		put(row, "online", json_boolean(processor->online));
		put(row, "isolated", json_boolean(processor->isolated));
		put(row, "node", integer(processor->node));
		put(row, "package", integer_or_null(known, processor->package));
		put(row, "core", integer_or_null(known, processor->core));
		put(row, "family", integer_or_null(known, processor->family));
		put(row, "model", integer_or_null(known, processor->model));
		put(row, "stepping", integer_or_null(known, processor->stepping));
		put(row, "microcode", hex_or_null(processor->microcode));
		put(row, "microarch", text_or_null(processor->microarch));
		put(row, "core_type", integer_or_null(processor->core_type, processor->core_type));
		put(row, "pmu", pmu(&processor->pmu));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *memory_nodes(const struct calm_module *module)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < module->n_nodes; i++) {
		json_t *row = json_object();

		put(row, "node", integer(module->nodes[i].id));
		put(row, "max_bytes", integer(module->nodes[i].max_bytes));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *module(const struct calm_document *document)
{
	const struct calm_module *module = document->module;
	json_t *object;

	if (!module)
		return json_null();
	object = json_object();
	put(object, "version", text_or_null(module->version));
	put(object, "abi", integer(module->abi));
	put(object, "max_bytes", integer_or_null(module->has_limits, module->max_bytes));
	put(object, "samples_limit", integer_or_null(module->has_limits, module->samples_limit));
	put(object, "slice_us", integer_or_null(module->has_limits, module->slice_us));
	if (document->subject == CALM_SUBJECT_MACHINE) {
		put(object, "processors", processors(module));
		put(object, "memory_nodes", memory_nodes(module));
	}
	return object;
}

static json_t *quiet(const struct calm_document *document)
{
	const struct calm_module *module = document->module;
	double tsc_hz = document->machine.tsc_hz;
	json_t *object = json_object();
	uint64_t longest = 0;
	size_t i;

	for (i = 0; i < document->n_points; i++)
		if (document->points[i].stats.slice_tsc > longest)
			longest = document->points[i].stats.slice_tsc;
	put(object, "level", text_or_null(calm_word_name(calm_words_quiet, document->opts->quiet)));
	put(object, "park", json_null());
	put(object, "slice_us",
	    integer_or_null(module && module->has_limits, module ? module->slice_us : 0));
	put(object, "longest_slice_us",
	    real_or_null(longest && tsc_hz > 0, (double)longest * 1e6 / tsc_hz));
	return object;
}

static json_t *summary(const struct calm_summary *summary)
{
	json_t *object;

	if (!summary->valid)
		return json_null();
	object = json_object();
	put(object, "min", real_or_null(true, summary->min));
	put(object, "p5", real_or_null(true, summary->p5));
	put(object, "median", real_or_null(true, summary->median));
	put(object, "p95", real_or_null(true, summary->p95));
	put(object, "mad", real_or_null(summary->has_mad, summary->mad));
	put(object, "within_rounds_mad", real_or_null(summary->has_within, summary->within_mad));
	put(object, "between_rounds_mad", real_or_null(summary->has_between, summary->between_mad));
	return object;
}

static json_t *summary_in_ns(const struct calm_summary *ticks, double tsc_hz)
{
	struct calm_summary ns;

	if (tsc_hz <= 0)
		return json_null();
	ns = calm_stats_scale(ticks, 1e9 / tsc_hz);
	return summary(&ns);
}

static json_t *disturbed(const struct calm_stats *stats)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < stats->n_disturbed; i++) {
		json_t *row = json_object();

		put(row, "cause", json_string(stats->disturbed[i].cause));
		put(row, "samples", integer(stats->disturbed[i].samples));
		json_array_append_new(array, row);
	}
	return array;
}

static const struct leaf {
	const char *bytes;
	size_t offset;
} leaves[] = {
	{ "4096", offsetof(struct calm_round, leaves_4k) },
	{ "2097152", offsetof(struct calm_round, leaves_2m) },
	{ "1073741824", offsetof(struct calm_round, leaves_1g) },
};

static uint64_t leaf_count(const struct calm_round *round, const struct leaf *leaf)
{
	return *(const uint64_t *)((const char *)round + leaf->offset);
}

/* Leaves of the first round; the module maps every round's buffer alike. */
static json_t *leaf_bytes(const struct calm_result *result)
{
	json_t *object;
	size_t i;

	if (!result->n_rounds)
		return json_null();
	object = json_object();
	for (i = 0; i < CALM_ARRAY_SIZE(leaves); i++)
		if (leaf_count(result->rounds, &leaves[i]))
			put(object, leaves[i].bytes,
			    integer(leaf_count(result->rounds, &leaves[i])));
	return object;
}

/* Frames that follow their predecessor, of all that have one; mean of the rounds. */
static json_t *adjacent_share(const struct calm_result *result)
{
	double share = 0;
	size_t i;

	for (i = 0; i < result->n_rounds; i++) {
		const struct calm_round *round = &result->rounds[i];
		uint64_t frames = round->leaves_4k + 512 * round->leaves_2m +
				  512 * 512 * round->leaves_1g;

		if (frames < 2)
			return json_null();
		share += (double)round->adjacent_frames / (double)(frames - 1);
	}
	return real_or_null(result->n_rounds, share / (double)result->n_rounds);
}

static json_t *contiguous_bytes(const struct calm_result *result)
{
	uint64_t least = UINT64_MAX;
	size_t i;

	for (i = 0; i < result->n_rounds; i++)
		if (result->rounds[i].contiguous_bytes < least)
			least = result->rounds[i].contiguous_bytes;
	return integer_or_null(result->n_rounds, least);
}

/* The node, if all frames of all rounds came from one. */
static json_t *node(const struct calm_result *result)
{
	uint64_t mask = 0;
	size_t i;

	for (i = 0; i < result->n_rounds; i++)
		mask |= result->rounds[i].node_mask;
	if (!mask || mask & (mask - 1))
		return json_null();
	return integer((uint64_t)__builtin_ctzll(mask));
}

static json_t *seeds(const struct calm_result *result)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < result->n_rounds; i++)
		json_array_append_new(array, integer(result->rounds[i].seed));
	return array;
}

static json_t *counts(const uint64_t *count, uint32_t n_counts)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < n_counts; i++)
		json_array_append_new(array, integer(count[i]));
	return array;
}

static json_t *raw_sample(const struct calm_sample *sample)
{
	json_t *object = json_object();

	put(object, "tsc", integer((uint64_t)sample->tsc));
	put(object, "tsc_double",
	    integer_or_null(sample->has_double, (uint64_t)sample->tsc_double));
	put(object, "tsc_empty", integer((uint64_t)sample->tsc_empty));
	put(object, "windows", integer(sample->windows));
	put(object, "slice_tsc", integer(sample->slice_tsc));
	put(object, "disturb", integer(sample->disturb));
	put(object, "other_frequency", json_boolean(sample->other_frequency));
	put(object, "passed_over", json_boolean(sample->passed_over));
	put(object, "smis", integer_or_null(sample->has_smis, sample->smis));
	put(object, "interrupts", integer_or_null(sample->has_interrupts, sample->interrupts));
	put(object, "aperf", integer_or_null(sample->has_clocks, sample->aperf));
	put(object, "mperf", integer_or_null(sample->has_clocks, sample->mperf));
	put(object, "clock_tsc", integer_or_null(sample->clock_tsc, sample->clock_tsc));
	put(object, "counts", counts(sample->count, sample->n_counts));
	put(object, "counts_empty", counts(sample->count_empty, sample->n_counts_empty));
	put(object, "counts_double", counts(sample->count_double, sample->n_counts_double));
	return object;
}

/* One array for each round, in the order of the samples. */
static json_t *raw(const struct calm_result *result)
{
	json_t *rounds = json_array(), *current = NULL;
	size_t i;

	for (i = 0; i < result->n_samples; i++) {
		if (!i || result->samples[i].round != result->samples[i - 1].round) {
			current = json_array();
			json_array_append_new(rounds, current);
		}
		json_array_append_new(current, raw_sample(&result->samples[i]));
	}
	return rounds;
}

static uint64_t stride_of(const struct calm_measured *measured)
{
	const struct calm_point *point = &measured->point;

	return point->n_layouts ? point->layouts[measured->layout].stride_bytes :
				  measured->result.effective.stride_bytes;
}

static void put_place(json_t *object, const struct calm_measured *measured)
{
	const struct calm_point *point = &measured->result.effective;
	json_t *cpus = json_array();

	json_array_append_new(cpus, integer(point->cpu));
	put(object, "loop", json_string(point->loop));
	put(object, "cpus", cpus);
	put(object, "node", node(&measured->result));
	put(object, "requested_size_bytes", integer(measured->point.requested_size_bytes));
	put(object, "size_bytes", integer(point->size_bytes));
	put(object, "stride_bytes", integer(stride_of(measured)));
	put(object, "lanes", integer_or_null(measured->point.lanes, measured->point.lanes));
	put(object, "pair", json_null());
	put(object, "pages", text_or_null(calm_word_name(calm_words_pages, point->pages)));
	put(object, "contig", json_boolean(point->flags & CALM_F_CONTIGUOUS));
	put(object, "leaf_bytes", leaf_bytes(&measured->result));
	put(object, "contiguous_bytes", contiguous_bytes(&measured->result));
	put(object, "adjacent_frames_share", adjacent_share(&measured->result));
	put(object, "order", text_or_null(calm_word_name(calm_words_order, point->order)));
	put(object, "prefetch",
	    json_string(measured->setting ? measured->setting->label : "found"));
	put(object, "loads", integer(point->loads));
	put(object, "warmup", integer(point->warmup));
}

/* Where the elements lie, if not one in each stride. */
static void put_layout(json_t *object, const struct calm_measured *measured)
{
	const struct calm_point *point = &measured->point;
	const struct calm_layout none = { .name = NULL };
	const struct calm_layout *layout =
		point->n_layouts ? &point->layouts[measured->layout] : &none;

	put(object, "layout", text_or_null(layout->name));
	put(object, "lines", integer_or_null(layout->name, layout->lines));
	put(object, "block", integer_or_null(layout->name, layout->block));
	put(object, "step_bytes", integer_or_null(layout->name, layout->step_bytes));
	put(object, "places", integer_or_null(layout->name, layout->places));
	put(object, "place_bytes", integer_or_null(layout->name, layout->place_bytes));
}

static void put_samples(json_t *object, const struct calm_document *document,
			const struct calm_measured *measured)
{
	const struct calm_stats *stats = &measured->stats;
	double tsc_hz = document->machine.tsc_hz;

	put(object, "seeds", seeds(&measured->result));
	put(object, "rounds", integer(document->planned ? measured->point.rounds : stats->rounds));
	put(object, "samples",
	    integer(document->planned ? measured->point.rounds * measured->point.samples :
					stats->samples));
	put(object, "complete", json_boolean(measured->complete));
	put(object, "refused", text_or_null(stats->refused));
	put(object, "dropped", integer(stats->dropped));
	put(object, "disturbed", disturbed(stats));
	put(object, "slices", integer_or_null(stats->samples, stats->windows));
	put(object, "interrupts", integer_or_null(stats->has_interrupts, stats->interrupts));
	put(object, "tsc_hz", real_or_null(tsc_hz > 0, tsc_hz));
	put(object, "core_hz",
	    real_or_null(stats->clock_source && tsc_hz > 0, tsc_hz * stats->core_per_tsc));
	put(object, "clock_source", text_or_null(stats->clock_source));
	put(object, "overhead_cycles",
	    real_or_null(!!stats->clock_source, stats->overhead_cycles));
	put(object, "overhead_tsc", real_or_null(stats->has_overhead, stats->overhead_tsc));
	put(object, "overhead_share", real_or_null(stats->has_overhead, stats->overhead_share));
}

static json_t *events(const struct calm_measured *measured)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < measured->n_counted; i++) {
		const struct calm_counted *counted = &measured->counted[i];
		const struct calm_summary *rate = &counted->per_access;
		bool known = !counted->reason && rate->valid;
		json_t *row;

		if (counted->event->hidden)
			continue;
		row = json_object();
		put(row, "per_access", real_or_null(known, rate->median));
		put(row, "mad", real_or_null(known && rate->has_mad, rate->mad));
		put(row, "per_pass",
		    real_or_null(known,
				 rate->median * (double)measured->result.effective.loads));
		put(row, "code", text_or_null(counted->event->code));
		put(row, "reason", text_or_null(counted->reason));
		put(object, counted->event->name, row);
	}
	return object;
}

static json_t *point(const struct calm_document *document, const struct calm_measured *measured)
{
	static const char *const absent[] = {
		"bus_bytes_per_second", "offered_bytes_per_second", "per_cpu", NULL,
	};
	const struct calm_stats *stats = &measured->stats;
	double tsc_hz = document->machine.tsc_hz;
	json_t *object = json_object();

	put(object, "experiment", json_string(document->command));
	put_place(object, measured);
	put_samples(object, document, measured);
	put(object, "cycles_per_access", summary(&stats->cycles_per_access));
	put(object, "cycles_per_access_two_lengths", summary(&stats->cycles_two_lengths));
	put(object, "tsc_per_access", summary(&stats->tsc_per_access));
	put(object, "ns_per_access", summary_in_ns(&stats->tsc_per_access, tsc_hz));
	put(object, "tsc_per_access_two_lengths", summary(&stats->tsc_two_lengths));
	put(object, "bytes_per_second", summary(&stats->bytes_per_second));
	put_nulls(object, absent);
	put(object, "raw",
	    document->opts->raw && !document->planned ? raw(&measured->result) : json_null());
	put(object, "events", events(measured));
	put_layout(object, measured);
	put(object, "access_bytes",
	    integer_or_null(measured->access_bytes, measured->access_bytes));
	put(object, "fits", text_or_null(measured->fits ? measured->fits->name : NULL));
	if (document->planned)
		put(object, "estimate_s", real_or_null(true, measured->estimate_s));
	return object;
}

static bool agrees(const struct calm_level *level)
{
	const struct calm_cache *claimed = &level->claimed;

	return level->ways == claimed->ways && level->line_bytes == claimed->line_bytes &&
	       level->ways * level->sets * level->line_bytes == claimed->size_bytes;
}

static json_t *level(const struct calm_level *level)
{
	static const char *const curve[] = { "knee_bytes", "bracket_bytes", NULL };
	static const char *const nature[] = { "shared_by", "inclusion", "replacement", NULL };
	const struct calm_cache *claimed = &level->claimed;
	json_t *object = json_object();

	put(object, "name", json_string(level->claimed.name));
	put_nulls(object, curve);
	put(object, "capacity_bytes",
	    integer_or_null(level->ways, level->ways * level->sets * level->line_bytes));
	put(object, "line_bytes", integer_or_null(level->line_bytes, level->line_bytes));
	put(object, "ways", integer_or_null(level->ways, level->ways));
	put(object, "sets", integer_or_null(level->sets, level->sets));
	put(object, "reason", text_or_null(level->reason));
	put(object, "confidence", real_or_null(level->has_confidence, level->confidence));
	put(object, "latency_cycles", real_or_null(level->has_cycles, level->latency_cycles));
	put(object, "latency_isolated_cycles",
	    real_or_null(level->has_isolated, level->isolated_cycles));
	put(object, "latency_ns", real_or_null(level->has_latency, level->latency_ns));
	put_nulls(object, nature);
	put(object, "claimed", cache(claimed, json_object()));
	put(object, "agrees",
	    level->ways && claimed->ways ? json_boolean(agrees(level)) : json_null());
	return object;
}

/* How a prefetcher fares when it alone is turned off, in the point where that shows most. */
static const struct calm_effect *effect_of(const struct calm_derived *derived, const char *name)
{
	const struct calm_effect *most = NULL;
	size_t i;

	for (i = 0; i < derived->n_effects; i++) {
		const struct calm_effect *effect = &derived->effects[i];
		const struct calm_setting *setting = effect->point->setting;

		if (setting->state != CALM_PREFETCH_OFF || setting->n_names != 1 ||
		    strcmp(setting->names[0], name))
			continue;
		if (!most || effect->significant > most->significant ||
		    (effect->significant == most->significant &&
		     fabs(log(effect->ratio)) > fabs(log(most->ratio))))
			most = effect;
	}
	return most;
}

static json_t *interval(const struct calm_effect *effect)
{
	json_t *array = json_array();

	json_array_append_new(array, real_or_null(effect->has_interval, effect->low));
	json_array_append_new(array, real_or_null(effect->has_interval, effect->high));
	return array;
}

/* Points that differ by lanes or by layout alone have one size and stride. */
static void put_effect(json_t *object, const struct calm_document *document,
		       const struct calm_effect *effect)
{
	put(object, "point", integer((uint64_t)(effect->point - document->points)));
	put(object, "size_bytes", integer(effect->point->result.effective.size_bytes));
	put(object, "stride_bytes", integer(stride_of(effect->point)));
	put(object, "pairs", integer(effect->pairs));
	put(object, "ratio", real_or_null(true, effect->ratio));
	put(object, "interval", interval(effect));
	put(object, "p", real_or_null(effect->has_p, effect->p));
	put(object, "significant",
	    effect->has_p ? json_boolean(effect->significant) : json_null());
}

static json_t *effect(const struct calm_document *document, const char *name)
{
	const struct calm_effect *effect =
		document->derived ? effect_of(document->derived, name) : NULL;
	json_t *object;

	if (!effect)
		return json_null();
	object = json_object();
	put(object, "experiment", json_string(document->command));
	put_effect(object, document, effect);
	return object;
}

/* A register that could be read has the switch, as far as anybody can tell. */
static json_t *present(const struct calm_prefetcher *prefetcher)
{
	return prefetcher->state ? json_true() : json_null();
}

static json_t *prefetcher(const struct calm_prefetcher *prefetcher)
{
	json_t *row = json_object();

	put(row, "name", json_string(prefetcher->name));
	put(row, "kind", text_or_null(prefetcher->kind));
	put(row, "register", json_sprintf("%#" PRIx32, prefetcher->msr));
	put(row, "bit", integer(prefetcher->bit));
	put(row, "scope", text_or_null(calm_word_name(calm_words_scope, prefetcher->scope)));
	put(row, "present", present(prefetcher));
	put(row, "documented", json_boolean(!prefetcher->undocumented));
	put(row, "source", text_or_null(prefetcher->source));
	put(row, "state", text_or_null(calm_word_name(calm_words_state, prefetcher->state)));
	put(row, "held", json_boolean(prefetcher->held));
	return row;
}

static bool has_cpu(const struct calm_prefetch_group *group, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < group->n_cpus; i++)
		if (group->cpus[i] == cpu)
			return true;
	return false;
}

/* Those of the measured CPU, with what turning each one off does. */
static json_t *derived_prefetchers(const struct calm_document *document)
{
	const struct calm_prefetch_groups *groups = document->prefetch;
	json_t *array = json_array();
	size_t i, j;

	for (i = 0; groups && i < groups->count; i++) {
		const struct calm_prefetch_group *group = &groups->groups[i];

		for (j = 0; has_cpu(group, document->cpu) && j < group->n_prefetchers; j++) {
			json_t *row = prefetcher(&group->prefetchers[j]);

			put(row, "effect", effect(document, group->prefetchers[j].name));
			json_array_append_new(array, row);
		}
	}
	return array;
}

static json_t *comparisons(const struct calm_document *document)
{
	const struct calm_derived *derived = document->derived;
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < derived->n_effects; i++) {
		json_t *row = json_object();

		put(row, "prefetch", json_string(derived->effects[i].point->setting->label));
		put_effect(row, document, &derived->effects[i]);
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *tlbs(const struct calm_derived *derived)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < derived->n_tlbs; i++) {
		const struct calm_tlb *tlb = &derived->tlbs[i];
		json_t *row = json_object();

		put(row, "name", json_string(tlb->name));
		put(row, "pages", text_or_null(calm_word_name(calm_words_pages, tlb->pages)));
		put(row, "entries", integer_or_null(tlb->entries, tlb->entries));
		put(row, "ways", integer_or_null(tlb->entries, tlb->ways));
		put(row, "sets", integer_or_null(tlb->entries, tlb->sets));
		put(row, "penalty_cycles", real_or_null(tlb->has_penalty, tlb->penalty_cycles));
		put(row, "coalescing", integer_or_null(tlb->coalescing, tlb->coalescing));
		put(row, "reason", text_or_null(tlb->reason));
		json_array_append_new(array, row);
	}
	return array;
}

/* An array of levels of quietness, each with its distribution. */
static json_t *noise(const struct calm_document *document)
{
	const struct calm_noise *noise = &document->derived->noise;
	json_t *levels = json_array(), *quantiles = json_array(), *bins = json_array();
	json_t *object;
	size_t i;

	for (i = 0; i < CALM_NOISE_QUANTILES; i++)
		json_array_append_new(quantiles, json_pack("{s:f, s:f}", "share",
							   noise->share[i], "ns_per_access",
							   noise->quantile_ns[i]));
	for (i = 0; i < CALM_NOISE_BINS; i++) {
		bool last = i + 1 == CALM_NOISE_BINS;

		object = json_object();
		put(object, "from_percent", json_real(noise->percent[i]));
		put(object, "to_percent",
		    real_or_null(!last, last ? 0 : noise->percent[i + 1]));
		put(object, "samples", integer(noise->bin[i]));
		json_array_append_new(bins, object);
	}
	object = json_object();
	put(object, "level", text_or_null(calm_word_name(calm_words_quiet, document->opts->quiet)));
	put(object, "samples", integer(noise->samples));
	put(object, "dropped", integer(noise->dropped));
	put(object, "quantiles", quantiles);
	put(object, "histogram", bins);
	if (document->derived->has_noise)
		json_array_append(levels, object);
	json_decref(object);
	return levels;
}

/* All groups of CPUs; null where nobody asked or was allowed to. */
static json_t *prefetch_groups(const struct calm_prefetch_groups *groups)
{
	json_t *array;
	size_t i, j;

	if (!groups)
		return json_null();
	array = json_array();
	for (i = 0; i < groups->count; i++) {
		const struct calm_prefetch_group *group = &groups->groups[i];
		json_t *row = json_object(), *cpus = json_array(), *list = json_array();

		for (j = 0; j < group->n_cpus; j++)
			json_array_append_new(cpus, integer(group->cpus[j]));
		for (j = 0; j < group->n_prefetchers; j++)
			json_array_append_new(list, prefetcher(&group->prefetchers[j]));
		put(row, "cpus", cpus);
		put(row, "readable", json_boolean(!group->error));
		put(row, "prefetchers", list);
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *parallelism(const struct calm_derived *derived)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < derived->n_parallelism; i++) {
		const struct calm_parallelism *row = &derived->parallelism[i];
		json_t *object = json_object();

		put(object, "size_bytes", integer(row->size_bytes));
		put(object, "stride_bytes", integer(row->stride_bytes));
		put(object, "latency_cycles", real_or_null(row->in_cycles, row->latency));
		put(object, "saturated_cycles", real_or_null(row->in_cycles, row->saturated));
		put(object, "in_flight", real_or_null(true, row->in_flight));
		put(object, "fill_buffers", real_or_null(!row->reason, row->in_flight));
		put(object, "reason", text_or_null(row->reason));
		put(object, "saturating_lanes", integer_or_null(row->lanes, row->lanes));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *derived(const struct calm_document *document)
{
	const struct calm_derived *derived = document->derived;
	json_t *object, *levels = json_array(), *memory = json_object();
	size_t i;

	for (i = 0; i < derived->n_levels; i++)
		json_array_append_new(levels, level(&derived->levels[i]));
	put(memory, "latency_cycles",
	    real_or_null(derived->has_memory_cycles, derived->memory_latency_cycles));
	put(memory, "latency_isolated_cycles",
	    real_or_null(derived->has_memory_isolated, derived->memory_isolated_cycles));
	put(memory, "latency_ns", real_or_null(derived->has_memory, derived->memory_latency_ns));
	object = json_object();
	put(object, "levels", levels);
	put(object, "memory", memory);
	put(object, "tlbs", tlbs(derived));
	put(object, "noise", noise(document));
	put(object, "prefetchers", derived_prefetchers(document));
	put(object, "comparisons", comparisons(document));
	put(object, "parallelism", parallelism(derived));
	put(object, "line_bytes", integer_or_null(derived->line_bytes, derived->line_bytes));
	return object;
}

static json_t *notices(const struct calm_document *document)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < document->n_notices; i++)
		json_array_append_new(array, json_string(document->notices[i]));
	return array;
}

/* What is counted here, by name; null where nothing was looked for. */
static json_t *definitions(const struct calm_document *document)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; document->events && i < document->events->count; i++) {
		const struct calm_event *event = &document->events->events[i];
		json_t *row;

		if (event->hidden)
			continue;
		row = json_object();
		put(row, "name", json_string(event->name));
		put(row, "code", text_or_null(event->code));
		put(row, "definition", text_or_null(event->definition));
		put(row, "source", text_or_null(event->source));
		put(row, "confirmed", json_boolean(!event->unconfirmed));
		put(row, "tested", json_boolean(event->tested));
		put(row, "reason", text_or_null(event->reason));
		json_array_append_new(array, row);
	}
	return array;
}

static void put_points(json_t *object, const struct calm_document *document)
{
	json_t *points = json_array();
	size_t i;

	for (i = 0; i < document->n_points; i++)
		json_array_append_new(points, point(document, &document->points[i]));
	put(object, "quiet", quiet(document));
	put(object, "points", points);
	put(object, "derived", document->derived ? derived(document) : json_null());
}

static void json_point(FILE *to, const struct calm_document *document, size_t index)
{
	(void)to;
	(void)document;
	(void)index;
}

json_t *calm_json_document(const struct calm_document *document)
{
	json_t *object = json_object();

	put(object, "schema", json_string("calm/1"));
	put(object, "complete", json_boolean(document->complete));
	put(object, "ended_by", text_or_null(document->ended_by));
	put(object, "command", json_string(document->command));
	put(object, "dry_run", json_boolean(document->planned));
	put(object, "settings", settings(document));
	put(object, "machine", machine(&document->machine));
	put(object, "module", module(document));
	put(object, "prefetch", prefetch_groups(document->prefetch));
	put(object, "notices", notices(document));
	if (document->subject != CALM_SUBJECT_MACHINE &&
	    document->subject != CALM_SUBJECT_PREFETCHERS)
		put(object, "events", definitions(document));
	if (document->subject == CALM_SUBJECT_POINTS || document->subject == CALM_SUBJECT_COUNTS ||
	    document->subject == CALM_SUBJECT_NOISE)
		put_points(object, document);
	return object;
}

static void json_end(FILE *to, const struct calm_document *document)
{
	json_t *object = calm_json_document(document);

	json_dumpf(object, to, JSON_INDENT(2) | CALM_JSON_REALS);
	fputc('\n', to);
	json_decref(object);
}

const struct calm_out_ops calm_out_json = {
	.name = "json",
	.point = json_point,
	.end = json_end,
};
