// SPDX-License-Identifier: GPL-2.0-only
/* Results as comma-separated values: a flat row for each point or event of the JSON document. */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "out.h"

/**
 * enum source - where a column's value stands
 * @ROW: in the point or event, at the column's own name
 * @DOCUMENT: in the document, at the column's own name
 * @AMOUNT: in the point; what its object does not name is there zero times
 * @CAUSE: in the point's list of disturbances, which names what occurred only
 */
enum source {
	ROW,
	DOCUMENT,
	AMOUNT,
	CAUSE,
};

/**
 * struct column - a column
 * @name: its heading, the field's name in the JSON document with a dot before each nested one
 * @source: where its value stands
 */
struct column {
	const char *name;
	enum source source;
};

#define SUMMARY(name) \
	{ name ".min", ROW }, { name ".p5", ROW }, { name ".median", ROW }, \
	{ name ".p95", ROW }, { name ".mad", ROW }, { name ".within_rounds_mad", ROW }, \
	{ name ".between_rounds_mad", ROW }

/* The order stays; new columns come at the end. */
static const struct column point_columns[] = {
	{ "experiment", ROW },
	{ "loop", ROW },
	{ "cpus", ROW },
	{ "node", ROW },
	{ "requested_size_bytes", ROW },
	{ "size_bytes", ROW },
	{ "stride_bytes", ROW },
	{ "lanes", ROW },
	{ "pair", ROW },
	{ "pages", ROW },
	{ "leaf_bytes.4096", AMOUNT },
	{ "leaf_bytes.2097152", AMOUNT },
	{ "leaf_bytes.1073741824", AMOUNT },
	{ "contiguous_bytes", ROW },
	{ "adjacent_frames_share", ROW },
	{ "order", ROW },
	{ "prefetch", ROW },
	{ "loads", ROW },
	{ "warmup", ROW },
	{ "seeds", ROW },
	{ "rounds", ROW },
	{ "samples", ROW },
	{ "complete", ROW },
	{ "ended_by", DOCUMENT },
	{ "refused", ROW },
	{ "dropped", ROW },
	{ "disturbed.slice", CAUSE },
	{ "disturbed.smi", CAUSE },
	{ "disturbed.nmi", CAUSE },
	{ "disturbed.frequency", CAUSE },
	{ "disturbed.prefetcher", CAUSE },
	{ "disturbed.unknown", CAUSE },
	{ "slices", ROW },
	{ "tsc_hz", ROW },
	{ "core_hz", ROW },
	{ "clock_source", ROW },
	{ "overhead_cycles", ROW },
	{ "overhead_tsc", ROW },
	{ "overhead_share", ROW },
	SUMMARY("cycles_per_access"),
	SUMMARY("cycles_per_access_two_lengths"),
	SUMMARY("tsc_per_access"),
	SUMMARY("tsc_per_access_two_lengths"),
	SUMMARY("ns_per_access"),
	SUMMARY("bytes_per_second"),
	SUMMARY("bus_bytes_per_second"),
	{ "offered_bytes_per_second", ROW },
	{ "estimate_s", ROW },
	{ "machine.cpu_model", DOCUMENT },
	{ "machine.microcode", DOCUMENT },
	{ "machine.kernel", DOCUMENT },
	{ "module.version", DOCUMENT },
	{ "contig", ROW },
	{ "interrupts", ROW },
	{ "layout", ROW },
	{ "lines", ROW },
	{ "block", ROW },
	{ "step_bytes", ROW },
	{ "places", ROW },
	{ "place_bytes", ROW },
	{ "access_bytes", ROW },
	{ "fits", ROW },
	{ NULL, ROW },
};

static const struct column noise_columns[] = {
	{ "level", ROW },
	{ "from_percent", ROW },
	{ "to_percent", ROW },
	{ "samples", ROW },
	{ NULL, ROW },
};

static const struct column event_columns[] = {
	{ "name", ROW },
	{ "code", ROW },
	{ "definition", ROW },
	{ "source", ROW },
	{ "confirmed", ROW },
	{ "tested", ROW },
	{ "reason", ROW },
	{ NULL, ROW },
};

/* What a point says of each event, in columns named events.EVENT.FIELD. */
static const char *const counted_fields[] = { "per_access", "mad", "per_pass", "code", "reason" };

/**
 * struct sheet - what a document's rows are
 * @rows: its array in the document, or NULL: it is no list
 * @columns: what is told of each
 * @counted: columns for the document's events follow
 */
struct sheet {
	const char *rows;
	const struct column *columns;
	bool counted;
};

static const struct sheet sheets[] = {
	[CALM_SUBJECT_POINTS] = { "points", point_columns, true },
	[CALM_SUBJECT_COUNTS] = { "points", point_columns, true },
	[CALM_SUBJECT_EVENTS] = { "events", event_columns, false },
	[CALM_SUBJECT_NOISE] = { NULL, noise_columns, false },
};

/* As RFC 4180 quotes; a line ends as all lines here do. */
static void put_text(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	fputc('"', to);
}

/* Nothing for what is not known; the elements of a list have spaces between them. */
static void put_value(FILE *to, const json_t *value)
{
	const json_t *element;
	size_t i;

	if (!value || json_is_null(value)) {
		return;
	} else if (json_is_string(value)) {
		put_text(to, json_string_value(value));
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, element) {
			if (i)
				fputc(' ', to);
			put_value(to, element);
		}
	} else {
		json_dumpf(value, to, JSON_ENCODE_ANY | JSON_COMPACT | CALM_JSON_REALS);
	}
}

/* The value at a name with dots, and the object that should hold its last part. */
static const json_t *find(const json_t *object, const char *name, const json_t **holder)
{
	char *copy = calm_text("%s", name), *rest = copy, *part;

	*holder = NULL;
	while ((part = strsep(&rest, "."))) {
		*holder = object;
		object = json_object_get(object, part);
	}
	free(copy);
	return object;
}

static void put_amount(FILE *to, const json_t *row, const char *name)
{
	const json_t *holder, *value = find(row, name, &holder);

	if (!value && json_is_object(holder))
		fputc('0', to);
	else
		put_value(to, value);
}

/* A point that was only planned has dropped nothing, and kept nothing either. */
static void put_cause(FILE *to, const json_t *document, const json_t *row, const char *name)
{
	const char *cause = strchr(name, '.') + 1;
	const json_t *one;
	size_t i;

	if (json_is_true(json_object_get(document, "dry_run")))
		return;
	json_array_foreach(json_object_get(row, "disturbed"), i, one) {
		if (strcmp(json_string_value(json_object_get(one, "cause")), cause))
			continue;
		put_value(to, json_object_get(one, "samples"));
		return;
	}
	fputc('0', to);
}

static void put_cell(FILE *to, const json_t *document, const json_t *row,
		     const struct column *column)
{
	const json_t *holder;

	switch (column->source) {
	case ROW:
		put_value(to, find(row, column->name, &holder));
		break;
	case DOCUMENT:
		put_value(to, find(document, column->name, &holder));
		break;
	case AMOUNT:
		put_amount(to, row, column->name);
		break;
	case CAUSE:
		put_cause(to, document, row, column->name);
		break;
	}
}

static void put_heads(FILE *to, const json_t *document, const struct sheet *sheet)
{
	const struct column *column;
	const json_t *event;
	size_t i, j;

	for (column = sheet->columns; column->name; column++) {
		if (column != sheet->columns)
			fputc(',', to);
		put_text(to, column->name);
	}
	json_array_foreach(sheet->counted ? json_object_get(document, "events") : NULL, i, event) {
		const char *name = json_string_value(json_object_get(event, "name"));

		for (j = 0; j < CALM_ARRAY_SIZE(counted_fields); j++) {
			char *head = calm_text("events.%s.%s", name, counted_fields[j]);

			fputc(',', to);
			put_text(to, head);
			free(head);
		}
	}
	fputc('\n', to);
}

static void put_row(FILE *to, const json_t *document, const struct sheet *sheet, const json_t *row)
{
	const struct column *column;
	const json_t *event;
	size_t i, j;

	for (column = sheet->columns; column->name; column++) {
		if (column != sheet->columns)
			fputc(',', to);
		put_cell(to, document, row, column);
	}
	json_array_foreach(sheet->counted ? json_object_get(document, "events") : NULL, i, event) {
		const char *name = json_string_value(json_object_get(event, "name"));
		const json_t *counted = json_object_get(json_object_get(row, "events"), name);

		for (j = 0; j < CALM_ARRAY_SIZE(counted_fields); j++) {
			fputc(',', to);
			put_value(to, json_object_get(counted, counted_fields[j]));
		}
	}
	fputc('\n', to);
}

/* A row for each bin of each level's histogram. */
static void put_bins(FILE *to, const json_t *document, const struct sheet *sheet)
{
	const json_t *levels = json_object_get(json_object_get(document, "derived"), "noise");
	const json_t *level;
	json_t *bin;
	size_t i, j;

	json_array_foreach(levels, i, level) {
		json_array_foreach(json_object_get(level, "histogram"), j, bin) {
			json_object_set(bin, "level", json_object_get(level, "level"));
			put_row(to, document, sheet, bin);
		}
	}
}

/* Each row tells how the whole ended, so none is written before that is known. */
static void csv_point(FILE *to, const struct calm_document *document, size_t index)
{
	(void)to;
	(void)document;
	(void)index;
}

static void csv_end(FILE *to, const struct calm_document *document)
{
	const struct sheet *sheet = &sheets[document->subject];
	json_t *whole = calm_json_document(document);
	const json_t *row;
	size_t i;

	put_heads(to, whole, sheet);
	if (document->subject == CALM_SUBJECT_NOISE)
		put_bins(to, whole, sheet);
	json_array_foreach(sheet->rows ? json_object_get(whole, sheet->rows) : NULL, i, row)
		put_row(to, whole, sheet, row);
	json_decref(whole);
}

const struct calm_out_ops calm_out_csv = {
	.name = "csv",
	.point = csv_point,
	.end = csv_end,
};
