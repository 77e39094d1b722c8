// SPDX-License-Identifier: GPL-2.0-only
/* From the name of an event to what the module programs: abstract, table, libpfm4 and raw names. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>
#include <perfmon/pfmlib.h>

#include "events.h"

/* Bits of an event select (SDM vol. 3, IA32_PERFEVTSELx; AMD PPR, PERF_CTL). */
#define SELECT_EDGE	(1ULL << 18)
#define SELECT_INVERT	(1ULL << 23)
#define CMASK_SHIFT	24
#define UMASK2_SHIFT	40
#define SELECT_COMMON	(0xffffULL | SELECT_EDGE | SELECT_INVERT | 0xffULL << CMASK_SHIFT)
#define SELECT_INTEL	(SELECT_COMMON | 0xffULL << UMASK2_SHIFT)
#define SELECT_AMD	(SELECT_COMMON | 0xfULL << 32)

/* USR, OS, pin control, INT, ANY and EN: the module's affair. */
#define SELECT_CONTROL	0x7b0000ULL

/* Names offered for one that is unknown. */
#define NEAR_MAX 3

/**
 * struct bound - events of Intel that only some of the lowest four counters count
 * @uarch: how the names of their microarchitectures begin
 * @mask: bits of an event select that tell them
 * @select: those bits
 * @counters: counters that count them
 *
 * From Linux 6.12, arch/x86/events/intel/core.c, intel_*_event_constraints; 1CDH of Lion Cove as it
 * was corrected later.
 */
static const struct bound {
	const char *uarch;
	uint64_t mask;
	uint64_t select;
	uint64_t counters;
} bounds[] = {
	{ "Core 2", 0xff, 0x10, 0x1 },		/* FP_COMP_OPS_EXE */
	{ "Core 2", 0xff, 0x11, 0x2 },		/* FP_ASSIST */
	{ "Core 2", 0xff, 0x12, 0x2 },		/* MUL */
	{ "Core 2", 0xff, 0x13, 0x2 },		/* DIV */
	{ "Core 2", 0xff, 0x14, 0x1 },		/* CYCLES_DIV_BUSY */
	{ "Core 2", 0xff, 0x18, 0x1 },		/* IDLE_DURING_DIV */
	{ "Core 2", 0xff, 0x19, 0x2 },		/* DELAYED_BYPASS */
	{ "Core 2", 0xff, 0xa1, 0x1 },		/* RS_UOPS_DISPATCH_CYCLES */
	{ "Core 2", 0xff, 0xc9, 0x1 },		/* ITLB_MISS_RETIRED */
	{ "Core 2", 0xff, 0xcb, 0x1 },		/* MEM_LOAD_RETIRED */
	{ "Nehalem", 0xfc, 0x40, 0x3 },		/* L1D_CACHE_LD, _ST, _LOCK, L1D_ALL_REF */
	{ "Nehalem", 0xff, 0x48, 0x3 },		/* L1D_PEND_MISS */
	{ "Nehalem", 0xff, 0x4e, 0x3 },		/* L1D_PREFETCH */
	{ "Nehalem", 0xff, 0x51, 0x3 },		/* L1D */
	{ "Nehalem", 0xff, 0x63, 0x3 },		/* CACHE_LOCK_CYCLES */
	{ "Westmere", 0xff, 0x51, 0x3 },
	{ "Westmere", 0xff, 0x60, 0x1 },	/* OFFCORE_REQUESTS_OUTSTANDING */
	{ "Westmere", 0xff, 0x63, 0x3 },
	{ "Westmere", 0xff, 0xb3, 0x1 },	/* SNOOPQ_REQUEST_OUTSTANDING */
	{ "SandyBridge", 0xff, 0x48, 0x4 },	/* L1D_PEND_MISS */
	{ "SandyBridge", 0xffff, 0x1c0, 0x2 },	/* INST_RETIRED.PREC_DIST */
	{ "SandyBridge", 0xffff, 0x2a3, 0x4 },	/* CYCLE_ACTIVITY, those of L1D */
	{ "SandyBridge", 0xffff, 0x6a3, 0x4 },
	{ "SandyBridge", 0xff, 0xcd, 0x8 },	/* MEM_TRANS_RETIRED */
	{ "IvyBridge", 0xffff, 0x148, 0x4 },
	{ "IvyBridge", 0xffff, 0x1c0, 0x2 },
	{ "IvyBridge", 0xffff, 0x8a3, 0x4 },
	{ "IvyBridge", 0xffff, 0xca3, 0x4 },
	{ "Haswell", 0xffff, 0x148, 0x4 },
	{ "Haswell", 0xffff, 0x1c0, 0x2 },
	{ "Haswell", 0xffff, 0x8a3, 0x4 },
	{ "Haswell", 0xffff, 0xca3, 0x4 },
	{ "Haswell", 0xff, 0xcd, 0x8 },
	{ "Broadwell", 0xffff, 0x148, 0x4 },
	{ "Broadwell", 0x8ff, 0x8a3, 0x4 },
	{ "Skylake", 0xffff, 0x1c0, 0x2 },
	{ "CascadeLake", 0xffff, 0x1c0, 0x2 },
	{ "SapphireRapids", 0xffff, 0x4a4, 0x1 }, /* TOPDOWN.BAD_SPEC_SLOTS */
	{ "SapphireRapids", 0xffff, 0x8a4, 0x1 }, /* TOPDOWN.BR_MISPREDICT_SLOTS */
	{ "SapphireRapids", 0xff, 0xce, 0x1 },
	{ "EmeraldRapids", 0xffff, 0x4a4, 0x1 },
	{ "EmeraldRapids", 0xffff, 0x8a4, 0x1 },
	{ "EmeraldRapids", 0xff, 0xce, 0x1 },
	{ "GraniteRapids", 0xffff, 0x4a4, 0x1 },
	{ "GraniteRapids", 0xffff, 0x8a4, 0x1 },
	{ "GraniteRapids", 0xff, 0xce, 0x1 },
	{ "GoldenCove", 0xffff, 0x4a4, 0x1 },
	{ "GoldenCove", 0xffff, 0x8a4, 0x1 },
	{ "GoldenCove", 0xff, 0xce, 0x1 },
	{ "RedwoodCove", 0xffff, 0x4a4, 0x1 },
	{ "RedwoodCove", 0xffff, 0x8a4, 0x1 },
	{ "RedwoodCove", 0xff, 0xce, 0x1 },
	{ "LionCove", 0xffff, 0x148, 0x4 },
	{ "LionCove", 0xffff, 0x175, 0x4 },
	{ "LionCove", 0xffff, 0x8a3, 0x4 },
	{ "LionCove", 0xffff, 0xca3, 0x4 },
	{ "LionCove", 0xffff, 0x4a4, 0x1 },
	{ "LionCove", 0xffff, 0x8a4, 0x1 },
	{ "LionCove", 0xffff, 0x10a4, 0x1 },
	{ "LionCove", 0xffff, 0x1b1, 0x8 },
	{ "LionCove", 0xffff, 0x1cd, 0xc },	/* MEM_TRANS_RETIRED, of loads */
	{ "LionCove", 0xffff, 0x2cd, 0x3 },
};

/*
 * Counters of a code that no row of the table tells of. Those above the fourth count but a part of
 * Intel's events and read 0 for all others (as above, intel_icl_event_constraints and others); what
 * they count the first four count too.
 */
#define COUNTERS_INTEL 0xfULL

const struct calm_events_uarch *calm_events_find_uarch(const char *name)
{
	size_t i;

	for (i = 0; i < calm_events_n_uarchs; i++)
		if (!strcmp(calm_events_uarchs[i].name, name))
			return &calm_events_uarchs[i];
	return NULL;
}

static unsigned int vendor_of(const char *name)
{
	return !strcmp(name, "GenuineIntel") ? CALM_VENDOR_INTEL :
	       !strcmp(name, "AuthenticAMD") ? CALM_VENDOR_AMD : UINT_MAX;
}

const struct calm_events_uarch *calm_events_identify(const struct calm_machine *machine)
{
	const struct calm_events_model *row;

	for (row = calm_events_models; row->uarch; row++) {
		const struct calm_events_uarch *uarch = calm_events_find_uarch(row->uarch);

		if (uarch && !row->core_type && uarch->vendor == vendor_of(machine->vendor) &&
		    row->family == machine->family && row->first <= machine->model &&
		    machine->model <= row->last && row->first_stepping <= machine->stepping &&
		    machine->stepping <= row->last_stepping)
			return uarch;
	}
	return NULL;
}

static bool has_pmu_of_intel(const struct calm_processor *processor)
{
	return processor->pmu.style == CALM_PMU_INTEL;
}

/*
 * Event 00H of Intel is counted by no general counter. With a unit mask it is how perf writes a
 * fixed counter, plus one, and libpfm4 how it writes reference cycles (Linux 6.12,
 * arch/x86/events/intel/core.c, FIXED_EVENT_CONSTRAINT; libpfm4 4.13, intel_icl_events.h). Other
 * names for which libpfm4 says so, as TOPDOWN:SLOTS, are not what those counters count.
 */
static bool is_pseudo(const struct calm_processor *processor, uint64_t select)
{
	return has_pmu_of_intel(processor) && !(select & 0xff);
}

#define PSEUDO_REFERENCE 0x300

static int use_pseudo(const struct calm_processor *processor, const char *word,
		      struct calm_event *event, struct calm_error *error)
{
	bool by_name = event->source;
	uint64_t number = (event->select >> 8) - 1;

	if (by_name ? event->select == PSEUDO_REFERENCE : event->select && number < 3) {
		event->is_fixed = processor->pmu.fixed >> number & 1;
		event->fixed = (uint32_t)number;
	}
	if (!event->is_fixed)
		return calm_error_set(error, CALM_EXIT_ABSENT, -EINVAL,
				      "events: '%s' is event 00, which no counter of this CPU counts",
				      word);
	event->select = 0;
	event->counters = UINT64_MAX;
	return 0;
}

static uint64_t counters_of(const struct calm_processor *processor, uint64_t select)
{
	size_t i;

	if (!has_pmu_of_intel(processor))
		return UINT64_MAX;
	for (i = 0; i < CALM_ARRAY_SIZE(bounds); i++)
		if (!strncmp(processor->microarch, bounds[i].uarch, strlen(bounds[i].uarch)) &&
		    (select & bounds[i].mask) == bounds[i].select)
			return bounds[i].counters;
	return COUNTERS_INTEL;
}

static void set_code(struct calm_event *event)
{
	if (event->is_fixed)
		snprintf(event->code, sizeof(event->code), "fixed%" PRIu32, event->fixed);
	else
		snprintf(event->code, sizeof(event->code), "r%04" PRIX64, event->select);
}

void calm_events_row(const struct calm_events_row *row, struct calm_event *event)
{
	*event = (struct calm_event){
		.name = calm_text("%s", row->name),
		.select = row->select,
		.is_fixed = row->fixed >= 0,
		.fixed = row->fixed >= 0 ? (uint32_t)row->fixed : 0,
		.counters = row->counters,
		.known = row->known,
		.definition = row->definition,
		.source = row->source,
		.unconfirmed = row->unconfirmed,
	};
	set_code(event);
}

/* A row that this CPU has a counter for. */
static bool usable(const struct calm_events_row *row, const struct calm_pmu_info *pmu)
{
	return row->fixed >= 0 ? pmu->fixed >> row->fixed & 1 : pmu->general & row->counters;
}

/* The maker's dot and libpfm4's colon are the same, upper and lower case too. */
static bool is_name(const char *name, const char *word)
{
	size_t i;

	for (i = 0; name[i] && word[i]; i++) {
		char c = word[i] == ':' ? '.' : word[i];

		if (tolower((unsigned char)name[i]) != tolower((unsigned char)c))
			return false;
	}
	return !name[i] && !word[i];
}

static const struct calm_events_row *find_row(const struct calm_events_uarch *uarch,
					      const struct calm_pmu_info *pmu, const char *word)
{
	const struct calm_events_row *found = NULL;
	size_t i;

	for (i = 0; uarch && i < uarch->n_rows; i++) {
		if (!is_name(uarch->rows[i].name, word))
			continue;
		if (usable(&uarch->rows[i], pmu))
			return &uarch->rows[i];
		if (!found)
			found = &uarch->rows[i];
	}
	return found;
}

/* What the table knows of a code that came another way. */
static void describe(const struct calm_events_uarch *uarch, struct calm_event *event)
{
	size_t i;

	for (i = 0; uarch && i < uarch->n_rows; i++) {
		const struct calm_events_row *row = &uarch->rows[i];
		bool row_is_fixed = row->fixed >= 0;

		if (event->is_fixed != row_is_fixed ||
		    (event->is_fixed ? event->fixed != (uint32_t)row->fixed :
				       event->select != row->select))
			continue;
		event->counters = row->counters;
		event->known = row->known;
		event->definition = row->definition;
		if (!event->source)
			event->source = row->source;
		return;
	}
}

/* ---- codes ---- */

/* A number of at most 255, decimal or with 0x; true if that is all of @text. */
static bool read_byte(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno && *value <= 0xff;
}

static const struct modifier {
	const char *name;
	bool has_value;
	unsigned int shift;
} modifiers[] = {
	{ "cmask", true, CMASK_SHIFT },
	{ "umask2", true, UMASK2_SHIFT },
	{ "inv", false, 23 },
	{ "edge", false, 18 },
};

static bool apply_modifier(const char *text, uint64_t *select)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(modifiers); i++) {
		size_t len = strlen(modifiers[i].name);
		uint64_t value = 1;

		if (strncmp(text, modifiers[i].name, len))
			continue;
		if (!modifiers[i].has_value && text[len])
			continue;
		if (modifiers[i].has_value &&
		    (text[len] != '=' || !read_byte(text + len + 1, &value)))
			continue;
		*select |= value << modifiers[i].shift;
		return true;
	}
	return false;
}

static int refuse_modifier(const char *word, const char *modifier, struct calm_error *error)
{
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
			      "events: unknown modifier '%s' in '%s' (allowed "
			      "cmask=N, umask2=N, N up to 255, inv, edge)",
			      modifier, word);
}

/* Returns 1 if @word is no code at all. */
static int read_code(const struct calm_processor *processor, const char *word,
		     struct calm_event *event, struct calm_error *error)
{
	uint64_t allowed = has_pmu_of_intel(processor) ? SELECT_INTEL : SELECT_AMD;
	char *copy, *rest, *text;
	char *end;
	int err = 0;

	if ((word[0] != 'r' && word[0] != 'R') || !isxdigit((unsigned char)word[1]))
		return 1;
	copy = calm_text("%s", word);
	rest = copy;
	text = strsep(&rest, ":");
	errno = 0;
	event->select = strtoull(text + 1, &end, 16);
	if (*end || errno)
		err = 1;
	while (!err && (text = strsep(&rest, ":")))
		if (!apply_modifier(text, &event->select))
			err = refuse_modifier(word, text, error);
	free(copy);
	if (!err && event->select & ~allowed)
		err = calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				     "events: '%s' has bits that are not an event's (allowed "
				     "within %#" PRIx64 ")",
				     word, allowed);
	event->counters = counters_of(processor, event->select);
	return err;
}

static int refuse_fixed(const struct calm_pmu_info *pmu, const char *word,
			struct calm_error *error)
{
	char *names = calm_text("it has none");
	unsigned int i, count = 0;

	for (i = 0; i < 16; i++) {
		char *longer;

		if (!(pmu->fixed >> i & 1))
			continue;
		longer = calm_text("%s%sfixed%u", count ? names : "allowed ", count ? ", " : "", i);
		free(names);
		names = longer;
		count++;
	}
	calm_error_set(error, CALM_EXIT_ABSENT, -EINVAL,
		       "events: '%s' is no fixed counter of this CPU (%s)", word, names);
	free(names);
	return -EINVAL;
}

/* Returns 1 if @word is not fixedN. */
static int read_fixed(const struct calm_processor *processor, const char *word,
		      struct calm_event *event, struct calm_error *error)
{
	uint64_t number;

	if (strncmp(word, "fixed", 5) || calm_parse_uint(word + 5, &number))
		return 1;
	if (number > 15 || !(processor->pmu.fixed >> number & 1))
		return refuse_fixed(&processor->pmu, word, error);
	event->is_fixed = true;
	event->fixed = (uint32_t)number;
	event->counters = UINT64_MAX;
	return 0;
}

/* ---- libpfm4 ---- */

static bool start_pfm(void)
{
	static int started = PFM_ERR_NOINIT;

	if (started == PFM_ERR_NOINIT) {
		/* the CPU that counts need not be the one that this program runs on */
		setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
		started = pfm_initialize();
	}
	return started == PFM_SUCCESS;
}

/* Returns 1 if libpfm4 knows no such event of this CPU. */
static int ask_pfm(const struct calm_processor *processor, const struct calm_events_uarch *uarch,
		   const char *word, struct calm_event *event, struct calm_error *error)
{
	pfm_pmu_encode_arg_t arg = { .size = sizeof(arg) };
	size_t prefix = uarch && uarch->pmu ? strlen(uarch->pmu) : 0;
	char *name;
	int err;

	if (!prefix || !start_pfm())
		return 1;
	if (strstr(word, "::")) {
		if (strncmp(word, uarch->pmu, prefix) || strncmp(word + prefix, "::", 2))
			return 1;
		name = calm_text("%s", word);
	} else {
		name = calm_text("%s::%s", uarch->pmu, word);
	}
	err = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arg);
	if (err == PFM_SUCCESS && arg.count == 1) {
		event->select = arg.codes[0] & ~SELECT_CONTROL;
		event->counters = counters_of(processor, event->select);
		event->source = "libpfm4";
	}
	free(name);
	free(arg.codes);
	if (err != PFM_SUCCESS)
		return 1;
	return arg.count == 1 ? 0 :
		calm_error_set(error, CALM_EXIT_ABSENT, -EINVAL,
			       "events: '%s' needs a register beside its event select, which is not "
			       "written here",
			       word);
}

/* ---- words that are unknown ---- */

/* Edits that make one name of another; upper and lower case are the same. */
static unsigned int distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), i, j;
	unsigned int *row = calm_alloc(m + 1, sizeof(*row)), result;

	for (j = 0; j <= m; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= n; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (j = 1; j <= m; j++) {
			unsigned int same = diagonal + ((a[i - 1] | 32) != (b[j - 1] | 32));
			unsigned int other = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

			diagonal = row[j];
			row[j] = same < other ? same : other;
		}
	}
	result = row[m];
	free(row);
	return result;
}

/**
 * struct nearest - the names that are most like a word
 * @word: the word
 * @name: names, nearest first
 * @distance: how far each is
 * @count: how many
 */
struct nearest {
	const char *word;
	const char *name[NEAR_MAX];
	unsigned int distance[NEAR_MAX];
	size_t count;
};

static void offer(struct nearest *nearest, const char *name)
{
	unsigned int far = distance(nearest->word, name);
	size_t i, j;

	for (i = 0; i < nearest->count; i++)
		if (!strcmp(nearest->name[i], name))
			return;
	for (i = 0; i < nearest->count && nearest->distance[i] <= far; i++)
		;
	if (i == NEAR_MAX)
		return;
	if (nearest->count < NEAR_MAX)
		nearest->count++;
	for (j = nearest->count - 1; j > i; j--) {
		nearest->name[j] = nearest->name[j - 1];
		nearest->distance[j] = nearest->distance[j - 1];
	}
	nearest->name[i] = name;
	nearest->distance[i] = far;
}

/* libpfm4's events of a processor; unit masks follow a colon and are not compared. */
static void offer_pfm(struct nearest *nearest, const char *pmu)
{
	pfm_pmu_info_t info = { .size = sizeof(info) };
	int i, event;

	if (!pmu || !start_pfm())
		return;
	for (i = 0; i < PFM_PMU_MAX; i++) {
		if (pfm_get_pmu_info((pfm_pmu_t)i, &info) != PFM_SUCCESS || strcmp(info.name, pmu))
			continue;
		for (event = info.first_event; event != -1; event = pfm_get_event_next(event)) {
			pfm_event_info_t row = { .size = sizeof(row) };

			if (pfm_get_event_info(event, PFM_OS_NONE, &row) == PFM_SUCCESS)
				offer(nearest, row.name);
		}
	}
}

static int refuse_word(const struct calm_processor *processor, const char *word,
		       struct calm_error *error)
{
	const struct calm_events_uarch *uarch = calm_events_find_uarch(processor->microarch);
	struct nearest nearest = { .word = word };
	size_t i;

	if (!uarch)
		return calm_error_set(error, CALM_EXIT_ABSENT, -EINVAL,
				      "events: '%s': no event names are known for this processor; "
				      "codes such as r00C0 can be given",
				      word);
	for (i = 0; i < uarch->n_rows; i++)
		offer(&nearest, uarch->rows[i].name);
	offer_pfm(&nearest, uarch->pmu);
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
			      "events: '%s' is unknown on %s (nearest: %s, %s, %s)", word,
			      uarch->name, nearest.name[0], nearest.name[1], nearest.name[2]);
}

int calm_events_resolve(const struct calm_processor *processor, const char *word,
			struct calm_event *event, struct calm_error *error)
{
	const struct calm_events_uarch *uarch = calm_events_find_uarch(processor->microarch);
	const struct calm_events_row *row = find_row(uarch, &processor->pmu, word);
	int err;

	if (row) {
		calm_events_row(row, event);
		return 0;
	}
	memset(event, 0, sizeof(*event));
	err = read_fixed(processor, word, event, error);
	if (err > 0)
		err = read_code(processor, word, event, error);
	if (err > 0)
		err = ask_pfm(processor, uarch, word, event, error);
	if (err > 0)
		err = refuse_word(processor, word, error);
	if (!err && !event->is_fixed && is_pseudo(processor, event->select))
		err = use_pseudo(processor, word, event, error);
	if (err)
		return err;
	event->name = calm_text("%s", word);
	set_code(event);
	describe(uarch, event);
	return 0;
}

void calm_events_cycles(const struct calm_processor *processor, struct calm_event *event)
{
	bool intel = has_pmu_of_intel(processor);

	*event = (struct calm_event){
		.name = calm_text("cycles"),
		.select = intel ? 0x3c : 0x76,
		.is_fixed = processor->pmu.fixed >> 1 & 1,
		.fixed = 1,
		.counters = UINT64_MAX,
		.known = "cycles",
	};
	if (event->is_fixed)
		event->select = 0;
	set_code(event);
}

bool calm_events_is_same(const struct calm_event *a, const struct calm_event *b)
{
	return a->code[0] && !strcmp(a->code, b->code);
}

void calm_events_add(struct calm_events *list, const struct calm_event *event)
{
	list->events = calm_grow(list->events, list->count, &list->capacity, sizeof(*event));
	list->events[list->count++] = *event;
}

static bool is_listed(const struct calm_events *list, const char *word)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (!strcasecmp(list->events[i].name, word))
			return true;
	return false;
}

static int refuse_second(const char *word, struct calm_error *error)
{
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL, "events: '%s' is there twice", word);
}

static void add_absent(const struct calm_processor *processor, const char *word,
		       struct calm_events *list)
{
	const char *uarch = processor->microarch;
	const struct calm_event event = {
		.name = calm_text("%s", word),
		.reason = calm_events_find_uarch(uarch) ?
				  calm_text("no such event is known on %s", uarch) :
				  calm_text("no event names are known for this processor"),
	};

	calm_events_add(list, &event);
}

int calm_events_resolve_list(const struct calm_processor *processor, const char *words,
			     struct calm_events *list, bool lenient, struct calm_error *error)
{
	char *copy = calm_text("%s", words), *rest = copy, *word;
	struct calm_event event;
	int err = 0;

	while (!err && (word = strsep(&rest, ","))) {
		if (!*word)
			err = calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
					     "events: a name is empty in '%s'", words);
		else if (is_listed(list, word))
			err = refuse_second(word, error);
		else
			err = calm_events_resolve(processor, word, &event, error);
		/* a name may be written in several ways */
		if (!err && is_listed(list, event.name)) {
			calm_events_free(&event);
			err = refuse_second(word, error);
		}
		if (!err)
			calm_events_add(list, &event);
		if (err && lenient) {
			add_absent(processor, word, list);
			err = 0;
		}
	}
	free(copy);
	return err;
}

void calm_events_free(struct calm_event *event)
{
	free(event->name);
	free(event->reason);
}

void calm_events_free_list(struct calm_events *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		calm_events_free(&list->events[i]);
	free(list->events);
	*list = (struct calm_events){ NULL, 0, 0 };
}
