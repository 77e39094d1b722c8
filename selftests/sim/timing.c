// SPDX-License-Identifier: GPL-2.0-only
/* The core's time against closed forms: lanes, fences, stores, width, and decoded instructions. */
#include "decode.h"
#include "kselftest_harness.h"
#include "modeltext.h"

#define MEMORY	200
#define HIT	4

/* What an instruction of a program is, and what it does when it runs. */
struct step {
	struct sim_micro micro;
	char access;		/* 'l'oad, 's'tore or 0 */
	uint64_t addr;
};

FIXTURE(core)
{
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
	struct step step[8192];
	unsigned int steps;
	uint64_t fresh;
	uint64_t clock[8];	/* what each clock read showed in the last run */
	unsigned int clocks;
	bool apart;		/* told before their accesses, which then take the long way */
};

static void stop(FIXTURE_DATA(core) *self)
{
	if (!self->machine)
		return;
	sim_machine_free(self->machine);
	sim_model_free(self->model);
	self->machine = NULL;
}

FIXTURE_SETUP(core)
{
	memset(self, 0, sizeof(*self));
}

FIXTURE_TEARDOWN(core)
{
	stop(self);
}

/* A machine of 4 instructions and 3 loads in a cycle, unless the text says otherwise. */
static void start_on(FIXTURE_DATA(core) *self, const char *cpu, const char *timing)
{
	self->model = model_from("%s[timing]\ntsc_hz = 2000000000\nmemory = 200\nclock = 24\n%s"
				 PMU_NONE L1D, cpu, timing);
	self->machine = machine_from(self->model, 1, NULL);
	self->cpu = sim_cpu_new(self->machine, 0);
	self->fresh = 1 << 20;
}

#define WIDE	"width = 4\nload_ports = 3\nrob = 224\nfill_buffers = 10\n"
#define start(timing)	start_on(self, CPU_INTEL, timing)

/* The instruction with these bytes, and the address of its access, if it has one. */
static void add(FIXTURE_DATA(core) *self, const char *bytes, size_t length, char access,
		uint64_t addr)
{
	struct step *step = &self->step[self->steps++];
	struct sim_insn insn;

	if (!sim_decode((const uint8_t *)bytes, length, 0, &insn))
		abort();
	*step = (struct step){ .micro = insn.micro, .access = access, .addr = addr };
}

#define insn(text)		add(self, text, sizeof(text) - 1, 0, 0)
#define insn_at(text, how, at)	add(self, text, sizeof(text) - 1, how, at)
/* a line that is in no cache */
#define new_line()		(self->fresh += 4096)

/* mov (%rN), %rN for the first eight lanes, and the same of r8 to r15 */
static void chase_step(FIXTURE_DATA(core) *self, unsigned int lane, uint64_t addr)
{
	const char legacy[] = { 0x48, 0x8b, lane << 3 | lane };
	const char extended[] = { 0x4d, 0x8b, (lane & 7) << 3 | (lane & 7) };

	/* rsp and r12 would need a SIB byte, rbp and r13 a displacement */
	if (lane < 8)
		add(self, legacy, sizeof(legacy), 'l', addr);
	else
		add(self, extended, sizeof(extended), 'l', addr);
}

static const unsigned int lanes[] = { 0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 14, 15 };

/* Run what was added, and begin anew. Return the core cycles until all is complete. */
static uint64_t run(FIXTURE_DATA(core) *self)
{
	struct sim_micro micro[8192];
	struct sim_cpu *cpu = self->cpu;
	uint64_t begin, insns;
	unsigned int i;

	for (i = 0; i < self->steps; i++)
		micro[i] = self->step[i].micro;
	sim_time_settle(cpu);
	begin = cpu->time.now;
	insns = cpu->insns;
	self->clocks = 0;
	sim_block_enter(cpu, insns, micro, self->steps);
	for (i = 0; i < self->steps; i++) {
		const struct step *step = &self->step[i];

		insns++;
		if (self->apart || !step->access)
			sim_cpu_instructions(cpu, insns);
		if (step->micro.kind >= SIM_MICRO_CLOCK)
			self->clock[self->clocks++] = cpu->time.now;
		if (step->access)
			sim_mem_access(cpu, insns, step->addr, step->addr, 8,
				       step->access == 'l' ? SIM_LOAD : SIM_STORE);
	}
	sim_time_drain(cpu);
	self->steps = 0;
	return cpu->time.cycle - begin;
}

/* So many lanes that run beside each other, n loads of new lines each. */
static uint64_t time_of_lanes(FIXTURE_DATA(core) *self, unsigned int n_lanes, unsigned int n)
{
	unsigned int i, lane;

	for (i = 0; i < n; i++)
		for (lane = 0; lane < n_lanes; lane++)
			chase_step(self, lanes[lane], new_line());
	return run(self);
}

/* The memory's latency passes once for each round, while the lanes fit the fill buffers. */
TEST_F(core, lanes_run_beside_each_other)
{
	unsigned int n;

	start(WIDE);
	for (n = 1; n <= 10; n++) {
		uint64_t time = time_of_lanes(self, n, 20);

		EXPECT_LE(20 * MEMORY, time) TH_LOG("%u lanes", n);
		/* a port too few in a cycle, and dispatch, delay the last lanes at the begin */
		EXPECT_GE(20 * MEMORY + 5, time) TH_LOG("%u lanes", n);
	}
}

/* Reservations of buffers stand in a ring by their cycles: what was there a round ago is gone. */
TEST_F(core, fill_buffers_are_free_again)
{
	unsigned int i, n;

	start("width = 4\nload_ports = 1\nrob = 224\nfill_buffers = 3\n");
	while (self->cpu->time.cycle < 4 * SIM_AHEAD) {
		/* misses behind and beside each other, then a time in which there is none */
		for (n = 1; n <= 3; n++) {
			uint64_t time = time_of_lanes(self, n, 5);

			ASSERT_LE(5 * MEMORY, time);
			ASSERT_GE(5 * MEMORY + 8, time)
				TH_LOG("%u lanes, cycle %lu", n, self->cpu->time.cycle);
		}
		for (i = 0; i < self->cpu->time.cycle % 977; i++)
			insn("\x48\x31\xc0");	/* xor %rax, %rax */
		run(self);
	}
}

/* A program of chases, stores and sums in an order that a seed chooses. */
static void add_random_steps(FIXTURE_DATA(core) *self, unsigned int *seed)
{
	unsigned int i, what;

	for (i = 0; i < 500; i++) {
		what = rand_r(seed) % 16;
		if (what < 12)
			chase_step(self, lanes[what], rand_r(seed) % 1024 * 64);
		else if (what == 12)
			/* mov %rax, (%rsi) */
			insn_at("\x48\x89\x06", 's', rand_r(seed) % 1024 * 64);
		else if (what == 13)
			/* add (%rsi), %rax */
			insn_at("\x48\x03\x06", 'l', rand_r(seed) % 1024 * 64);
		else
			insn("\x48\x01\xc6");	/* add %rax, %rsi */
	}
}

/* Fewer pages than the programs touch: hits in level 1 wait for translations, too. */
#define FEW_PAGES							\
	"[tlb l1]\nlevel = 1\npages = 4k\nentries = 4\nways = 4\n"	\
	"[walk]\nread = 9\npde = 4\npdpte = 4\npml4e = 2\n"

/* The short way of loads, which is most of what the model is asked, takes the same time. */
TEST_F(core, the_short_way_takes_the_same_time)
{
	static uint64_t time[2][200];
	unsigned int way, i, seed, n_loads = 0;

	for (way = 0; way < 2; way++) {
		start(WIDE FEW_PAGES);
		self->apart = way;
		for (i = 0, seed = 1; i < ARRAY_SIZE(time[way]); i++) {
			add_random_steps(self, &seed);
			n_loads += self->step[0].micro.loads;
			time[way][i] = run(self);
		}
		stop(self);
	}
	EXPECT_LT(0, n_loads);
	for (i = 0; i < ARRAY_SIZE(time[0]); i++)
		EXPECT_EQ(time[1][i], time[0][i]) TH_LOG("program %u", i);
}

/* Two lanes more than fill buffers: as many lines in the same time as with the buffers' number. */
TEST_F(core, fill_buffers_limit_lanes)
{
	uint64_t time;

	start("width = 4\nload_ports = 3\nrob = 224\nfill_buffers = 5\n");
	time = time_of_lanes(self, 12, 50);
	EXPECT_LE(50 * 12 / 5 * MEMORY, time);
	EXPECT_GE(50 * 12 / 5 * MEMORY + 2 * MEMORY, time);
}

/* With a small reorder buffer lanes wait for room in it: 16 instructions are 4 rounds of 4. */
TEST_F(core, the_reorder_buffer_limits_independent_loads)
{
	unsigned int i;
	uint64_t time;

	start("width = 4\nload_ports = 4\nrob = 16\nfill_buffers = 64\n");
	for (i = 0; i < 1600; i++)
		insn_at("\x48\x8b\x06", 'l', new_line());	/* mov (%rsi), %rax */
	time = run(self);
	EXPECT_LE(1600 / 16 * MEMORY, time);
	/* a group follows when the one before it retires, 4 in a cycle */
	EXPECT_GE(1600 / 16 * (MEMORY + 4), time);
}

TEST_F(core, independent_hits_take_the_ports)
{
	unsigned int i;

	start(WIDE);
	insn_at("\x48\x8b\x06", 'l', 64);
	run(self);
	for (i = 0; i < 3000; i++)
		insn_at("\x48\x8b\x06", 'l', 64);
	EXPECT_EQ(3000 / 3 - 1 + HIT, run(self));
}

TEST_F(core, independent_instructions_take_the_width)
{
	unsigned int i;

	start(WIDE);
	for (i = 0; i < 4000; i++)
		insn("\xb8\x01\x00\x00\x00");			/* mov $1, %eax */
	EXPECT_EQ(4000 / 4, run(self));
}

TEST_F(core, dependent_instructions_take_a_cycle_each)
{
	unsigned int i;

	start(WIDE);
	for (i = 0; i < 4000; i++)
		insn("\x48\x01\xc0");				/* add %rax, %rax */
	EXPECT_EQ(4000, run(self));
	/* xor %eax, %eax waits for nothing, so that these are chains of two */
	for (i = 0; i < 4000; i++)
		i % 2 ? insn("\x31\xc0") : insn("\x48\x01\xc0");
	EXPECT_GE(1002, run(self));
}

/* What stands between two loads of new lines, and whether they run beside each other then. */
static const struct {
	int line;
	const char *text;
	unsigned int length;
	bool intel, amd;
} between[] = {
	{ __LINE__, "\x90", 1, true, true },			/* nop */
	{ __LINE__, "\x0f\xae\xe8", 3, false, false },		/* lfence */
	{ __LINE__, "\x0f\xae\xf0", 3, false, false },		/* mfence */
	{ __LINE__, "\x0f\xae\xf8", 3, true, true },		/* sfence */
	{ __LINE__, "\x0f\x31", 2, true, true },		/* rdtsc */
	{ __LINE__, "\x0f\x01\xf9", 3, true, true },		/* rdtscp */
	{ __LINE__, "\x0f\x33", 2, true, true },		/* rdpmc */
	{ __LINE__, "\x0f\xa2", 2, false, false },		/* cpuid */
	{ __LINE__, "\x0f\x30", 2, false, false },		/* wrmsr */
	{ __LINE__, "\x0f\x01\xe8", 3, false, false },		/* serialize */
};

TEST_F(core, fences_separate_loads)
{
	unsigned int i, vendor;

	for (vendor = 0; vendor < 2; vendor++) {
		start_on(self, vendor ? CPU_AMD : CPU_INTEL, WIDE);
		for (i = 0; i < ARRAY_SIZE(between); i++) {
			bool beside = vendor ? between[i].amd : between[i].intel;
			uint64_t time;

			insn_at("\x48\x8b\x06", 'l', new_line());
			add(self, between[i].text, between[i].length, 0, 0);
			insn_at("\x48\x8b\x06", 'l', new_line());
			time = run(self);
			EXPECT_EQ(beside, time < 2 * MEMORY) {
				TH_LOG("row at line %d, vendor %u, %llu cycles", between[i].line,
				       vendor, (unsigned long long)time);
			}
		}
		stop(self);
	}
}

/* A locked addition waits for the load in front of it, and the load behind it waits for that. */
TEST_F(core, locked_instructions_separate_loads)
{
	start(WIDE);
	insn_at("\x48\x8b\x06", 'l', 64);
	run(self);
	insn_at("\x48\x8b\x06", 'l', new_line());
	insn_at("\xf0\x48\x01\x07", 'l', 64);			/* lock add %rax, (%rdi) */
	insn_at("\x48\x8b\x0b", 'l', new_line());		/* mov (%rbx), %rcx */
	EXPECT_LE(2 * MEMORY + HIT, run(self));
}

/* When a clock is read, counted from the begin: behind a load from memory, and after what. */
static const struct {
	int line;
	const char *text;
	unsigned int length;
	const char *clock;
	unsigned int clock_length;
	bool intel, amd;
} clocks[] = {
	{ __LINE__, "\x90", 1, "\x0f\x31", 2, false, false },
	{ __LINE__, "\x0f\xae\xe8", 3, "\x0f\x31", 2, true, true },
	{ __LINE__, "\x0f\xae\xf0", 3, "\x0f\x31", 2, false, true },
	{ __LINE__, "\x90", 1, "\x0f\x01\xf9", 3, true, true },
	{ __LINE__, "\x90", 1, "\x0f\x33", 2, false, false },
};

TEST_F(core, clocks_wait_behind_fences_only)
{
	unsigned int i, vendor;

	for (vendor = 0; vendor < 2; vendor++) {
		start_on(self, vendor ? CPU_AMD : CPU_INTEL, WIDE);
		for (i = 0; i < ARRAY_SIZE(clocks); i++) {
			bool waits = vendor ? clocks[i].amd : clocks[i].intel;
			uint64_t begin;

			sim_time_settle(self->cpu);
			begin = self->cpu->time.now;
			insn_at("\x48\x8b\x1e", 'l', new_line());	/* mov (%rsi), %rbx */
			add(self, clocks[i].text, clocks[i].length, 0, 0);
			add(self, clocks[i].clock, clocks[i].clock_length, 0, 0);
			run(self);
			EXPECT_EQ(begin + (waits ? MEMORY : 0) + 24, self->cpu->time.read) {
				TH_LOG("row at line %d, vendor %u", clocks[i].line, vendor);
			}
		}
		stop(self);
	}
}

static void fence(FIXTURE_DATA(core) *self, unsigned int number, unsigned int left_out)
{
	if (number != left_out)
		insn("\x0f\xae\xe8");
}

/*
 * The order of kmod/loops/window.h, without one fence: fence, counter, fence, time, fence, loads,
 * fence, time, counter; with other loads in flight before it.
 */
static void window(FIXTURE_DATA(core) *self, unsigned int loads, bool counter,
		   unsigned int left_out)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		insn_at("\x48\x8b\x06", 'l', new_line());
	if (counter) {
		fence(self, 1, left_out);
		insn("\x0f\x33");
	}
	fence(self, 2, left_out);
	insn("\x0f\x31");
	fence(self, 3, left_out);
	for (i = 0; i < loads; i++)
		insn_at("\x48\x8b\x3f", 'l', new_line());	/* mov (%rdi), %rdi */
	fence(self, 4, left_out);
	insn("\x0f\x31");
	if (counter)
		insn("\x0f\x33");
	run(self);
}

/* Whether time, or cycles by a counter, of 16 loads is 16 latencies more than that of none. */
static bool window_is_right(FIXTURE_DATA(core) *self, bool counter, unsigned int left_out)
{
	uint64_t time, count;

	/* nothing but the two clock reads themselves, fenced */
	window(self, 0, false, 0);
	time = self->clock[1] - self->clock[0];
	window(self, 0, true, 0);
	count = self->clock[3] - self->clock[0];
	window(self, 16, counter, left_out);
	if (counter)
		return self->clock[3] - self->clock[0] - count == 16 * MEMORY &&
		       self->clock[2] - self->clock[1] - time == 16 * MEMORY;
	return self->clock[1] - self->clock[0] - time == 16 * MEMORY;
}

TEST_F(core, each_fence_of_a_window_is_needed)
{
	unsigned int left_out;

	start(WIDE);
	EXPECT_TRUE(window_is_right(self, false, 0));
	EXPECT_TRUE(window_is_right(self, true, 0));
	for (left_out = 1; left_out <= 4; left_out++)
		EXPECT_FALSE(window_is_right(self, false, left_out) &&
			     window_is_right(self, true, left_out)) {
			TH_LOG("fence %u", left_out);
		}
}

/* A load does not look for its value among the stores that wait: it takes a hit's time. */
TEST_F(core, stores_are_not_forwarded)
{
	start(WIDE);
	insn_at("\x48\x8b\x06", 'l', 64);
	run(self);
	insn_at("\x48\x89\x07", 's', 64);			/* mov %rax, (%rdi) */
	insn_at("\x48\x8b\x06", 'l', 64);
	EXPECT_EQ(HIT, run(self));
}

/* A second load of a line on its way waits for it, and takes no buffer of its own. */
TEST_F(core, a_line_on_its_way_is_waited_for)
{
	uint64_t line;

	start("width = 4\nload_ports = 3\nfill_buffers = 1\n");
	line = new_line();
	insn_at("\x48\x8b\x06", 'l', line);
	insn_at("\x48\x8b\x06", 'l', line + 8);
	EXPECT_EQ(MEMORY, run(self));
}

/* Prefetches without a buffer share memory's bandwidth of 10 bytes a cycle; a load waits. */
TEST_F(core, bandwidth_delays)
{
	struct sim_answer answer = { .source = SIM_SOURCE_MEM };

	start(WIDE "memory_bandwidth = 10\n");
	sim_cpu_instructions(self->cpu, 1);
	for (; answer.line < 50; answer.line++)
		sim_time_prefetch(self->cpu, &answer, false);
	EXPECT_EQ(50 * 64 / 10 - 7 + MEMORY, self->cpu->time.arriving);
}

/* However many wait, the next one waits for all of them. */
TEST_F(core, no_bandwidth_is_given_away)
{
	struct sim_answer answer = { .source = SIM_SOURCE_MEM };

	start(WIDE "memory_bandwidth = 1\n");
	sim_cpu_instructions(self->cpu, 1);
	for (; answer.line < 5000; answer.line++)
		sim_time_prefetch(self->cpu, &answer, false);
	EXPECT_EQ(5000 * 64 - 64 + MEMORY, self->cpu->time.arriving);
}

/* Of a line that is copied two come and one goes, so far ahead as the reorder buffer allows. */
TEST_F(core, copies_take_all_of_the_bandwidth)
{
	unsigned int i;
	uint64_t time;

	start("width = 4\nload_ports = 2\nrob = 512\nfill_buffers = 16\nmemory_bandwidth = 3\n");
	for (i = 0; i < 2000; i++) {
		insn_at("\x48\x8b\x06", 'l', new_line());	/* mov (%rsi), %rax */
		insn_at("\x48\x89\x07", 's', new_line());	/* mov %rax, (%rdi) */
	}
	time = run(self);
	EXPECT_LE((2000 - 1) * 3 * 64 / 3, time);
	EXPECT_GE(2000 * 3 * 64 / 3 + 2 * MEMORY, time);
}

/* A table of what is taken in each cycle. */
#define CYCLES 20000

static uint64_t take_by_cycle(unsigned int *used, unsigned int capacity, uint64_t cycle,
			      unsigned int many)
{
	const uint64_t alone = cycle + (many - 1) / capacity;
	unsigned int taken;

	for (;; cycle++) {
		if (cycle == CYCLES)
			abort();
		taken = capacity - used[cycle];
		if (taken > many)
			taken = many;
		used[cycle] += taken;
		many -= taken;
		if (!many)
			return cycle - alone;
	}
}

/* Lines that are asked for in any order find what others have left. */
TEST_F(core, bandwidth_is_taken_where_it_is_free)
{
	static const unsigned int capacities[] = { 7, 10, 64, 100, 200 };
	static unsigned int used[ARRAY_SIZE(capacities)][CYCLES];
	struct sim_answer answer = { .source = SIM_SOURCE_MEM };
	unsigned int i, n, seed = 1;
	uint64_t expected;
	char timing[100];

	for (i = 0; i < ARRAY_SIZE(capacities); i++) {
		snprintf(timing, sizeof(timing), WIDE "memory_bandwidth = %u\n", capacities[i]);
		start(timing);
		sim_cpu_instructions(self->cpu, 1);
		for (n = 0; n < 1000; n++) {
			answer.line = n;
			answer.extra = rand_r(&seed) % 8000;
			expected = answer.extra + MEMORY +
				   take_by_cycle(used[i], capacities[i], answer.extra, 64);
			sim_time_prefetch(self->cpu, &answer, false);
			ASSERT_EQ(expected, self->cpu->time.arrival[n].cycle)
				TH_LOG("%u bytes in a cycle, line %u", capacities[i], n);
		}
		stop(self);
	}
}

/* So do those of a long program, of which what is over is forgotten. */
TEST_F(core, bandwidth_of_the_past_is_forgotten)
{
	struct sim_answer answer = { .source = SIM_SOURCE_MEM };
	struct sim_bandwidth *memory;
	unsigned int seed = 1;

	start(WIDE "memory_bandwidth = 8\n");
	memory = &self->cpu->time.source[SIM_SOURCE_MEM];
	for (; answer.line < 20 * SIM_SPANS; answer.line++) {
		chase_step(self, 0, new_line());
		run(self);
		answer.extra = rand_r(&seed) % 1000;
		sim_time_prefetch(self->cpu, &answer, false);
		ASSERT_GT(100, memory->last - memory->first);
	}
}

/* Too many that lie apart to be told apart: nobody is through earlier than with all of them. */
TEST_F(core, gaps_are_closed_before_bandwidth_is_given_away)
{
	struct sim_answer answer = { .source = SIM_SOURCE_MEM };
	unsigned int n;

	start(WIDE "memory_bandwidth = 64\n");
	sim_cpu_instructions(self->cpu, 1);
	for (n = 0; n < SIM_SPANS + 10; n++) {
		answer.line = n;
		answer.extra = 2 * n;
		sim_time_prefetch(self->cpu, &answer, false);
	}
	/* of 11 gaps none is left */
	answer.line = n;
	answer.extra = 0;
	sim_time_prefetch(self->cpu, &answer, false);
	EXPECT_EQ(2 * 11 + 1 + MEMORY, self->cpu->time.arrival[n % SIM_ARRIVALS].cycle);
}

TEST_HARNESS_MAIN
