// SPDX-License-Identifier: GPL-2.0-only
/* Truth log: what really happened, in lines of JSON, to compare a measurement with. */
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "truth.h"

static const char *const plain_names[RAW_COUNT] = {
	[RAW_CYCLES] = "cycles",
	[RAW_CYCLES_USER] = "cycles_user",
	[RAW_INSNS] = "instructions",
	[RAW_INSNS_USER] = "instructions_user",
	[RAW_REF] = "ref_cycles",
	[RAW_REF_USER] = "ref_cycles_user",
	[RAW_SLOTS] = "slots",
	[RAW_SLOTS_USER] = "slots_user",
	[RAW_MEM_WRITE] = "mem_writes",
	[RAW_STORE_NT] = "nt_stores",
	[RAW_PREFETCH] = "prefetches",
	[RAW_FLUSH] = "flushes",
	[RAW_SMI] = "smi",
	[RAW_HW_OUTER_HIT] = "hw_outer_hit",
	[RAW_HW_OUTER_CACHE] = "hw_outer_cache",
	[RAW_HW_OUTER_MEM] = "hw_outer_mem",
	[RAW_STLB_LOAD] = "stlb_load",
	[RAW_STLB_STORE] = "stlb_store",
	[RAW_WALK_LOAD] = "walk_load",
	[RAW_WALK_STORE] = "walk_store",
};

static const struct {
	unsigned int first;
	unsigned int count;
	const char *name;
} arrays[] = {
	{ RAW_LOAD, SIM_SOURCES, "load" },
	{ RAW_STORE, SIM_SOURCES, "store" },
	{ RAW_FILL_LOAD, SIM_SOURCES, "fill_load" },
	{ RAW_FILL_STORE, SIM_SOURCES, "fill_store" },
	{ RAW_FILL_PREFETCH, SIM_SOURCES, "fill_prefetch" },
	{ RAW_WRITEBACK, SIM_CACHES_MAX, "writeback" },
	{ RAW_FILL_HW, SIM_SOURCES, "fill_hw" },
};

/* Name of a total; false where there is no such level, or no such thing as a fill from level 1. */
static bool raw_name(unsigned int raw, unsigned int levels, char *name, size_t len)
{
	unsigned int i, source;

	if (plain_names[raw]) {
		snprintf(name, len, "%s", plain_names[raw]);
		return true;
	}
	for (i = 0; raw - arrays[i].first >= arrays[i].count; i++)
		;
	source = raw - arrays[i].first;
	if (source == SIM_SOURCE_MEM) {
		snprintf(name, len, "%s_mem", arrays[i].name);
		return true;
	}
	snprintf(name, len, "%s_l%u", arrays[i].name, source + 1);
	return source < levels && (source || strncmp(arrays[i].name, "fill", 4));
}

static void print_totals(FILE *out, const struct sim_cpu *cpu, const char *key,
			 const uint64_t *to, const uint64_t *from)
{
	const char *comma = "";
	char name[32];
	unsigned int i;

	fprintf(out, ",\"%s\":{", key);
	for (i = 0; i < RAW_COUNT; i++) {
		if (!raw_name(i, cpu->model->caches, name, sizeof(name)))
			continue;
		fprintf(out, "%s\"%s\":%" PRIu64, comma, name, to[i] - (from ? from[i] : 0));
		comma = ",";
	}
	fputc('}', out);
}

static FILE *begin_line(struct sim_machine *machine)
{
	if (!machine->truth)
		return NULL;
	while (atomic_flag_test_and_set_explicit(&machine->truth_lock, memory_order_acquire))
		sched_yield();
	return machine->truth;
}

static void end_line(struct sim_machine *machine)
{
	fputs("}\n", machine->truth);
	atomic_flag_clear_explicit(&machine->truth_lock, memory_order_release);
}

void sim_truth_start(struct sim_machine *machine)
{
	FILE *out = begin_line(machine);

	if (!out)
		return;
	fprintf(out, "{\"type\":\"start\",\"model\":\"%s\",\"cpus\":%u", machine->model->name,
		machine->cpus);
	end_line(machine);
}

/* 64-bit values are text, as JSON's numbers are exact to 53 bits only. */
void sim_truth_msr(struct sim_cpu *cpu, bool write, uint32_t msr, bool fault, uint64_t value)
{
	FILE *out = begin_line(cpu->machine);

	if (!out)
		return;
	fprintf(out, "{\"type\":\"msr\",\"cpu\":%u,\"op\":\"%s\",\"msr\":\"0x%x\",\"value\":",
		cpu->index, write ? "write" : "read", msr);
	if (write || !fault)
		fprintf(out, "\"0x%" PRIx64 "\"", value);
	else
		fputs("null", out);
	fprintf(out, ",\"fault\":%s", fault ? "true" : "false");
	end_line(cpu->machine);
}

static void print_counters(FILE *out, const struct sim_cpu *cpu)
{
	const char *comma = "";
	unsigned int i;

	fputs(",\"counters\":{", out);
	for (i = 0; i < SIM_COUNTERS; i++) {
		const struct sim_counter *c = &cpu->pmu.counter[i];
		const bool fixed = i >= SIM_GP_MAX;

		if (!c->reads)
			continue;
		fprintf(out, "%s\"%s%u\":{\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",\"reads\":%u}",
			comma, fixed ? "fixed" : "gp", fixed ? i - SIM_GP_MAX : i, c->first,
			c->last, c->reads);
		comma = ",";
	}
	fputc('}', out);
}

static void print_window(struct sim_cpu *cpu)
{
	const struct sim_window *w = &cpu->window;
	FILE *out = begin_line(cpu->machine);

	if (!out)
		return;
	fprintf(out, "{\"type\":\"window\",\"cpu\":%u,\"window\":%u,\"interrupts\":%" PRIu64
		",\"exceptions\":%" PRIu64, cpu->index, w->number, w->interrupts, w->exceptions);
	print_totals(out, cpu, "totals", cpu->raw, w->start);
	print_totals(out, cpu, "between", w->best, NULL);
	if (cpu->machine->detail)
		print_totals(out, cpu, "end", cpu->raw, NULL);
	print_counters(out, cpu);
	end_line(cpu->machine);
}

static const struct sim_script *find_script(const struct sim_model *model, unsigned int window)
{
	unsigned int i;

	for (i = 0; i < model->scripts; i++)
		if (model->script[i].window == window)
			return &model->script[i];
	return NULL;
}

static void run_script(struct sim_cpu *cpu)
{
	const struct sim_script *script = cpu->window.script;

	cpu->window.script = NULL;
	cpu->raw[RAW_SMI] += script->smi;
	cpu->aperf += script->aperf;
	cpu->mperf += script->mperf;
	cpu->fast += script->fast;
	cpu->nmi |= script->nmi;
	sim_time_stop(cpu, script->cycles);
	sim_time_refresh(cpu);
}

static void open_window(struct sim_cpu *cpu)
{
	struct sim_window *w = &cpu->window;
	unsigned int i;

	w->open = true;
	w->interrupts = 0;
	w->exceptions = 0;
	w->script = find_script(cpu->model, w->number);
	memcpy(w->start, cpu->raw, sizeof(w->start));
	memcpy(w->at_read, cpu->raw, sizeof(w->at_read));
	memset(w->best, 0, sizeof(w->best));
	for (i = 0; i < SIM_COUNTERS; i++)
		cpu->pmu.counter[i].reads = 0;
}

static void close_window(struct sim_cpu *cpu)
{
	struct sim_window *w = &cpu->window;
	unsigned int i;

	if (w->script)
		run_script(cpu);
	for (i = 0; i < RAW_COUNT; i++)
		w->sum[i] += cpu->raw[i] - w->start[i];
	print_window(cpu);
	w->open = false;
	w->number++;
}

void sim_window_follow(struct sim_cpu *cpu, bool running)
{
	if (running == cpu->window.open)
		return;
	sim_time_refresh(cpu);
	if (running)
		open_window(cpu);
	else
		close_window(cpu);
}

static void note_counter(struct sim_counter *c, uint64_t value)
{
	if (!c->reads++)
		c->first = value;
	c->last = value;
}

static uint64_t loads_since(const struct sim_cpu *cpu, const uint64_t *from)
{
	uint64_t loads = 0;
	unsigned int i;

	for (i = RAW_LOAD; i < RAW_LOAD + SIM_SOURCES; i++)
		loads += cpu->raw[i] - from[i];
	return loads;
}

/*
 * What was scripted for a window shall lie between the reads at its begin and those at its end:
 * so it happens at the first read that has enough loads before it, ahead of the value that is read.
 */
void sim_window_script(struct sim_cpu *cpu)
{
	struct sim_window *w = &cpu->window;

	if (w->open && w->script && loads_since(cpu, w->start) > w->script->after)
		run_script(cpu);
}

static void print_clock(FILE *out, unsigned int number)
{
	if (number == SIM_COUNTERS)
		fputs(",\"clock\":\"tsc\"", out);
	else if (number < SIM_GP_MAX)
		fprintf(out, ",\"clock\":\"gp%u\"", number);
	else
		fprintf(out, ",\"clock\":\"fixed%u\"", number - SIM_GP_MAX);
}

/* The totals are those since the start of the machine. */
static void print_clock_line(struct sim_cpu *cpu, const char *type, unsigned int number,
			     uint64_t value)
{
	FILE *out = begin_line(cpu->machine);

	if (!out)
		return;
	fprintf(out, "{\"type\":\"%s\",\"cpu\":%u", type, cpu->index);
	print_clock(out, number);
	fprintf(out, ",\"value\":\"0x%" PRIx64 "\"", value);
	print_totals(out, cpu, "totals", cpu->raw, NULL);
	end_line(cpu->machine);
}

/* The measured loop is what lies between the two neighbouring reads that are farthest apart. */
void sim_window_read(struct sim_cpu *cpu, unsigned int number, uint64_t value)
{
	struct sim_window *w = &cpu->window;
	unsigned int i;

	if (cpu->machine->detail) {
		sim_time_refresh(cpu);
		print_clock_line(cpu, "read", number, value);
	}
	if (!w->open)
		return;
	sim_time_refresh(cpu);
	if (number < SIM_COUNTERS)
		note_counter(&cpu->pmu.counter[number], value);
	if (cpu->raw[RAW_INSNS] - w->at_read[RAW_INSNS] > w->best[RAW_INSNS])
		for (i = 0; i < RAW_COUNT; i++)
			w->best[i] = cpu->raw[i] - w->at_read[i];
	memcpy(w->at_read, cpu->raw, sizeof(w->at_read));
}

void sim_truth_overwritten(struct sim_cpu *cpu, unsigned int number, uint64_t value)
{
	if (cpu->machine->detail)
		print_clock_line(cpu, "overwritten", number, value);
}

/* A window that is still open is closed first, and so it is logged. */
void sim_truth_exit_begin(struct sim_cpu *cpu)
{
	FILE *out;

	sim_window_follow(cpu, false);
	out = begin_line(cpu->machine);
	if (!out)
		return;
	fprintf(out, "{\"type\":\"exit\",\"cpu\":%u,\"windows\":%u", cpu->index,
		cpu->window.number);
	print_totals(out, cpu, "totals", cpu->window.sum, NULL);
	fputs(",\"msrs\":{", out);
	cpu->exit_msrs = 0;
}

void sim_truth_exit_msr(struct sim_cpu *cpu, uint32_t msr, uint64_t value)
{
	if (cpu->machine->truth)
		fprintf(cpu->machine->truth, "%s\"0x%x\":\"0x%" PRIx64 "\"",
			cpu->exit_msrs++ ? "," : "", msr, value);
}

void sim_truth_exit_end(struct sim_cpu *cpu)
{
	if (!cpu->machine->truth)
		return;
	fputc('}', cpu->machine->truth);
	end_line(cpu->machine);
	fflush(cpu->machine->truth);
}
