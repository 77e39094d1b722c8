// SPDX-License-Identifier: GPL-2.0-only
/* Truth log: what its lines say of windows, registers and the end, and that it repeats itself. */
#include <jansson.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "modeltext.h"

#define MACHINE										\
	"[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = Skylake\n" TIMING		\
	"[cache l1d]\nsize = 1K\nways = 2\nline = 64\nlatency = 4\n"			\
	"[cache l2]\nsize = 4K\nways = 4\nline = 64\nlatency = 12\n"			\
	"[pmu]\nstyle = intel\nversion = 4\ngp = 4\nfixed = 3\nfull_width = yes\n"	\
	"[msr]\n0x1a4 = 0xf\n"

#define LINES	128

/* What a log holds, line by line. */
struct log {
	char *text;
	size_t size;
	unsigned int count;
	json_t *line[LINES];
};

/* A clock read, a counter enabled, 100 loads, both read again, all of it disabled. */
static void window(struct sim_cpu *cpu, uint64_t *insns)
{
	uint64_t value;
	unsigned int i;

	sim_cpu_instructions(cpu, *insns += 10);
	sim_msr_write(cpu, 0x186, 0x4308d1);
	sim_msr_write(cpu, 0x38f, 1);
	sim_cpu_instructions(cpu, *insns += 5);
	sim_rdpmc(cpu, 0, &value);
	sim_cpu_instructions(cpu, *insns += 3);
	sim_tsc(cpu);
	for (i = 0; i < 100; i++)
		sim_mem_access(cpu, ++*insns, 64 * i, 64 * i, 8, SIM_LOAD);
	sim_cpu_interrupt(cpu);
	sim_cpu_instructions(cpu, *insns += 2);
	sim_tsc(cpu);
	sim_cpu_instructions(cpu, *insns += 3);
	sim_rdpmc(cpu, 0, &value);
	sim_cpu_instructions(cpu, *insns += 5);
	sim_msr_write(cpu, 0x38f, 0);
}

/* Some windows and registers on a machine; what it has logged. */
static void record(struct log *log, const char *machine_text, unsigned int windows)
{
	struct sim_model *m = model_from("%s", machine_text);
	FILE *out = open_memstream(&log->text, &log->size);
	struct sim_machine *machine = machine_from(m, 2, out);
	struct sim_cpu *cpu = sim_cpu_new(machine, 0);
	uint64_t insns = 0, value;
	char *at, *end;

	/* perf of the guest enables none, but leaves the enable bits alone */
	sim_msr_write(cpu, 0x38f, 0);
	while (windows--)
		window(cpu, &insns);
	sim_msr_read(cpu, 0x10, &value);
	sim_msr_read(cpu, 0xe8, &value);
	sim_msr_write(cpu, 0xe8, 7);
	sim_cpu_of_module(cpu, true);
	sim_msr_read(cpu, 0xe8, &value);
	sim_cpu_of_module(cpu, false);
	sim_msr_read(cpu, 0x34, &value);
	sim_msr_write(cpu, 0x1a4, 0x10);
	sim_msr_write(cpu, 0x1a4, 0x5);
	sim_msr_read(cpu, 0x18a, &value);
	sim_machine_exit(machine);
	sim_machine_free(machine);
	sim_model_free(m);
	fclose(out);
	log->count = 0;
	for (at = log->text; *at; at = end + 1) {
		end = strchr(at, '\n');
		log->line[log->count++] = json_loadb(at, end - at, JSON_REJECT_DUPLICATES, NULL);
	}
}

static void forget(struct log *log)
{
	while (log->count)
		json_decref(log->line[--log->count]);
	free(log->text);
}

/* The n-th line of a type. */
static json_t *nth(const struct log *log, const char *type, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < log->count; i++)
		if (!strcmp(json_string_value(json_object_get(log->line[i], "type")), type) && !n--)
			return log->line[i];
	return NULL;
}

static long long number(json_t *object, const char *part, const char *key)
{
	json_t *found = json_object_get(part ? json_object_get(object, part) : object, key);

	return json_is_integer(found) ? json_integer_value(found) : -1;
}

TEST(each_line_is_json)
{
	struct log log;
	unsigned int i;

	record(&log, MACHINE, 2);
	EXPECT_LT(5, log.count);
	for (i = 0; i < log.count; i++)
		EXPECT_TRUE(json_is_object(log.line[i])) TH_LOG("line %u", i);
	EXPECT_EQ(log.line[0], nth(&log, "start", 0));
	EXPECT_EQ(2, number(log.line[0], NULL, "cpus"));
	EXPECT_EQ(log.line[log.count - 1], nth(&log, "exit", 1));
	forget(&log);
}

TEST(windows)
{
	struct log log;
	json_t *w;

	record(&log, MACHINE, 2);
	EXPECT_EQ(NULL, nth(&log, "window", 2));
	w = nth(&log, "window", 1);
	ASSERT_NE(NULL, w);
	EXPECT_EQ(0, number(w, NULL, "cpu"));
	EXPECT_EQ(1, number(w, NULL, "window"));
	EXPECT_EQ(1, number(w, NULL, "interrupts"));
	EXPECT_EQ(0, number(w, NULL, "exceptions"));
	/* from enable to disable, and between the clock reads around the loads */
	EXPECT_EQ(5 + 3 + 100 + 2 + 3 + 5, number(w, "totals", "instructions"));
	EXPECT_EQ(100 + 2, number(w, "between", "instructions"));
	EXPECT_EQ(100, number(w, "totals", "load_mem"));
	EXPECT_EQ(100, number(w, "between", "load_mem"));
	EXPECT_EQ(0, number(w, "between", "load_l1"));
	EXPECT_EQ(100, number(w, "between", "fill_load_mem"));
	EXPECT_EQ(100 * 200, number(w, "between", "cycles"));
	EXPECT_EQ(-1, number(w, "between", "load_l3"));
	EXPECT_EQ(-1, number(w, "between", "fill_load_l1"));
	/* the counter as the guest read it */
	w = json_object_get(json_object_get(w, "counters"), "gp0");
	EXPECT_EQ(100, number(w, NULL, "last") - number(w, NULL, "first"));
	EXPECT_EQ(2, number(w, NULL, "reads"));
	forget(&log);
}

/* Reads and writes in order; no value where the read faults; clocks where a module reads them. */
static const struct {
	const char *op, *msr, *value;
	bool fault;
} accesses[] = {
	{ "write", "0x38f", "0x0", false }, { "write", "0x186", "0x4308d1", false },
	{ "write", "0x38f", "0x1", false }, { "write", "0x38f", "0x0", false },
	{ "write", "0xe8", "0x7", false },  { "read", "0xe8", "0x7", false },
	{ "read", "0x34", "0x0", false },   { "write", "0x1a4", "0x10", true },
	{ "write", "0x1a4", "0x5", false }, { "read", "0x18a", "null", true },
};

TEST(registers)
{
	struct log log;
	unsigned int i;

	record(&log, MACHINE, 1);
	for (i = 0; i < ARRAY_SIZE(accesses); i++) {
		json_t *line = nth(&log, "msr", i);
		const char *value = json_string_value(json_object_get(line, "value"));

		EXPECT_STREQ(accesses[i].op, json_string_value(json_object_get(line, "op")));
		EXPECT_STREQ(accesses[i].msr, json_string_value(json_object_get(line, "msr")))
			TH_LOG("access %u", i);
		EXPECT_STREQ(accesses[i].value, value ? value : "null");
		EXPECT_EQ(accesses[i].fault, json_is_true(json_object_get(line, "fault")));
	}
	EXPECT_EQ(NULL, nth(&log, "msr", i));
	forget(&log);
}

static const char *final_value(const struct log *log, unsigned int cpu, const char *msr)
{
	json_t *msrs = json_object_get(nth(log, "exit", cpu), "msrs");
	const char *text = json_string_value(json_object_get(msrs, msr));

	return text ? text : "";
}

TEST(exit_lines)
{
	struct log log;

	record(&log, MACHINE, 3);
	EXPECT_EQ(3, number(nth(&log, "exit", 0), NULL, "windows"));
	EXPECT_EQ(0, number(nth(&log, "exit", 1), NULL, "windows"));
	EXPECT_EQ(300, number(nth(&log, "exit", 0), "totals", "load_mem"));
	EXPECT_EQ(0, number(nth(&log, "exit", 1), "totals", "load_mem"));
	EXPECT_STREQ("0x5", final_value(&log, 0, "0x1a4"));
	EXPECT_STREQ("0x0", final_value(&log, 1, "0x1a4"));
	EXPECT_STREQ("0x4308d1", final_value(&log, 0, "0x186"));
	EXPECT_STREQ("0x12c", final_value(&log, 0, "0xc1"));
	EXPECT_STREQ("0xf", final_value(&log, 1, "0x38f"));
	EXPECT_STREQ("", final_value(&log, 0, "0xe8"));
	forget(&log);
}

TEST(a_run_repeats)
{
	struct log a, b;

	record(&a, MACHINE, 4);
	record(&b, MACHINE, 4);
	/* the first line has the name of the file, which is another one each time */
	EXPECT_EQ(a.size, b.size);
	EXPECT_STREQ(strchr(a.text, '\n'), strchr(b.text, '\n'));
	forget(&a);
	forget(&b);
}

/* What is scripted for a window happens between its loads and the reads behind them. */
TEST(scripts)
{
	struct log log;

	record(&log, MACHINE "[script 1]\nsmi = 3\ncycles = 1000\naperf = 500\n", 3);
	EXPECT_EQ(0, number(nth(&log, "window", 0), "totals", "smi"));
	EXPECT_EQ(3, number(nth(&log, "window", 1), "between", "smi"));
	EXPECT_EQ(100 * 200 + 1000, number(nth(&log, "window", 1), "between", "cycles"));
	EXPECT_EQ(0, number(nth(&log, "window", 2), "totals", "smi"));
	EXPECT_STREQ("0x3", final_value(&log, 0, "0x34"));
	EXPECT_STREQ("0x0", final_value(&log, 1, "0x34"));
	forget(&log);

	/* a window has 100 loads: behind more than that nothing can come but its end */
	record(&log, MACHINE "[script 1]\nsmi = 3\nafter = 99\n", 3);
	EXPECT_EQ(3, number(nth(&log, "window", 1), "between", "smi"));
	forget(&log);
	record(&log, MACHINE "[script 1]\nsmi = 3\nafter = 100\n", 3);
	EXPECT_EQ(0, number(nth(&log, "window", 1), "between", "smi"));
	EXPECT_EQ(3, number(nth(&log, "window", 1), "totals", "smi"));
	forget(&log);
}

/* A counter that firmware left running keeps a window open; the end closes and logs it. */
TEST(an_open_window_is_logged_at_the_end)
{
	struct log log;

	record(&log, MACHINE "[fault]\ncounter_held = 3\n", 0);
	EXPECT_EQ(1, number(nth(&log, "exit", 0), NULL, "windows"));
	EXPECT_NE(NULL, nth(&log, "window", 0));
	EXPECT_EQ(1, number(nth(&log, "window", 1), NULL, "cpu"));
	forget(&log);
}

#define WRITES	2000

static void *write_registers(void *arg)
{
	struct sim_cpu *cpu = arg;
	unsigned int i;

	for (i = 0; i < WRITES; i++)
		sim_msr_write(cpu, 0x186, i);
	return NULL;
}

/* Two vCPUs at once: each line is whole, and those of one vCPU are in its order. */
TEST(lines_of_threads_do_not_mix)
{
	struct sim_model *m = model_from("%s", MACHINE);
	unsigned int next[2] = { 0 }, cpu, lines = 0;
	struct sim_machine *machine;
	pthread_t thread[2];
	char *text, *at, *end;
	size_t size;
	FILE *out;

	out = open_memstream(&text, &size);
	machine = machine_from(m, 2, out);
	for (cpu = 0; cpu < 2; cpu++)
		ASSERT_EQ(0, pthread_create(&thread[cpu], NULL, write_registers,
					    sim_cpu_new(machine, cpu)));
	for (cpu = 0; cpu < 2; cpu++)
		pthread_join(thread[cpu], NULL);
	sim_machine_free(machine);
	sim_model_free(m);
	fclose(out);
	for (at = strchr(text, '\n') + 1; *at; at = end + 1) {
		json_t *line;

		end = strchr(at, '\n');
		line = json_loadb(at, end - at, 0, NULL);
		ASSERT_NE(NULL, line);
		cpu = number(line, NULL, "cpu");
		ASSERT_GT(2, cpu);
		EXPECT_EQ(next[cpu]++,
			  strtoul(json_string_value(json_object_get(line, "value")), NULL, 16));
		json_decref(line);
		lines++;
	}
	EXPECT_EQ(2 * WRITES, lines);
	free(text);
}

TEST_HARNESS_MAIN
