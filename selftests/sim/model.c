// SPDX-License-Identifier: GPL-2.0-only
/* Model files: what is wrong in them is named with its line, and what is right is taken over. */
#include <dirent.h>

#include "kselftest_harness.h"
#include "modeltext.h"

#define REST	TIMING L1D PMU_NONE
#define GOOD	CPU_INTEL REST
#define FIRST_TLB	"[tlb a]\nlevel = 1\npages = 4k\nentries = 8\nways = 4\n"
#define SECOND_TLB(name, entries, ways)							\
	"[tlb " name "]\nlevel = 2\npages = 4k\nentries = " #entries "\nways = " #ways "\n"

/* The line number in the error counts those of the macros: CPU_INTEL 4, TIMING 4, L1D 5. */
static const struct {
	int line;
	const char *text;
	const char *error;
} errors[] = {
	{ __LINE__, "", "model:0: there is no [cpu]" },
	{ __LINE__, CPU_INTEL, "model:4: there is no [timing]" },
	{ __LINE__, CPU_INTEL TIMING, "model:8: there is no [cache]" },
	{ __LINE__, CPU_INTEL TIMING L1D, "model:13: there is no [pmu]" },
	{ __LINE__, "x = 1\n", "model:1: 'x' stands before the first section" },
	{ __LINE__, "nonsense\n",
	  "model:1: 'nonsense' is neither a [section] nor key = value" },
	{ __LINE__, "[cpu\n", "model:1: '[cpu' lacks its ]" },
	{ __LINE__, "[cpux]\n", "model:1: unknown section [cpux]" },
	{ __LINE__, "[cpu x]\n", "model:1: [cpu] takes no name" },
	{ __LINE__, "[cache]\n", "model:1: [cache] needs a name" },
	{ __LINE__, "[cpu]\n[cpu]\n", "model:1: [cpu] lacks vendor" },
	{ __LINE__, GOOD "[cpu]\n", "model:16: [cpu] is there already" },
	{ __LINE__, GOOD CPU_INTEL, "model:16: [cpu] is there already" },
	{ __LINE__, "[cpu]\nvendor = via\n", "model:2: vendor: 'via' is none of intel, amd" },
	{ __LINE__, "[cpu]\nvendor =\n", "model:2: vendor has no value" },
	{ __LINE__, "[cpu]\nvendor = intel\nvendor = intel\n",
	  "model:3: vendor is given twice" },
	{ __LINE__, "[cpu]\nvendors = intel\n", "model:2: unknown key 'vendors' in [cpu]" },
	{ __LINE__, "[cpu]\nqemu_cpu = a'b\n",
	  "model:2: qemu_cpu: quotes and control characters are not allowed" },
	{ __LINE__, "[cpu]\nvendor = intel\nqemu_cpu = max\n" REST,
	  "model:1: [cpu] lacks microarch" },
	{ __LINE__, "[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = 8086\n" REST,
	  "model:15: [cpu] microarch: no event codes of '8086' are known; use none and [event]" },
	{ __LINE__, CPU_INTEL "threads = 0\n", "model:5: threads: '0' is not within 1 to 8" },
	{ __LINE__, CPU_INTEL "threads = 9\n", "model:5: threads: '9' is not within 1 to 8" },
	{ __LINE__, CPU_INTEL "threads = two\n", "model:5: threads: 'two' is no number" },
	{ __LINE__, CPU_INTEL "threads = -1\n", "model:5: threads: '-1' is no number" },
	{ __LINE__, CPU_INTEL "threads = 0x\n", "model:5: threads: '0x' is no number" },
	{ __LINE__, CPU_INTEL "threads = 2 2\n", "model:5: threads: '2 2' is no number" },
	{ __LINE__, CPU_INTEL "threads = 18446744073709551616\n",
	  "model:5: threads: '18446744073709551616' is no number" },
	{ __LINE__, CPU_INTEL "threads = 4294967298\n",
	  "model:5: threads: '4294967298' is not within 1 to 8" },
	{ __LINE__, CPU_INTEL TIMING "core_ratio = 3/0\n",
	  "model:9: core_ratio: '3/0' is no fraction" },
	{ __LINE__, CPU_INTEL TIMING "core_ratio = 17/16\n",
	  "model:9: core_ratio: '17/16' is not within 1 to 16" },
	{ __LINE__, GOOD "[tlb a]\nlevel = 1\npages = 4k, 8k\n",
	  "model:18: pages: '4k, 8k' is no list of 4k, 2m, 1g" },
	{ __LINE__, GOOD "[tlb a]\nlevel = 1\npages = 4k\nentries = 10\nways = 4\n",
	  "model:16: tlb a: entries is no multiple of ways" },
	{ __LINE__, GOOD "[tlb a]\nlevel = 1\npages = 2m\nentries = 8\nways = 4\n",
	  "model:16: tlb a: there is none of level 1 for pages of 4k" },
	{ __LINE__, GOOD "[tlb a]\nlevel = 1\npages = 4k\nentries = 8\nways = 4\ncoalesce = 3\n",
	  "model:16: tlb a: coalesce is no power of two" },
	{ __LINE__, GOOD "[tlb a]\nlevel = 1\npages = 4k\nentries = 8\nways = 4\n"
	  "[tlb b]\nlevel = 1\npages = 2m, 4k\nentries = 8\nways = 4\n",
	  "model:21: tlb b: another one of its level holds pages of the same size" },
	{ __LINE__, GOOD FIRST_TLB SECOND_TLB("b", 8, 4) SECOND_TLB("c", 16, 4),
	  "model:26: tlb c: another one holds pages of the same size, and is not like it" },
	{ __LINE__, GOOD FIRST_TLB SECOND_TLB("b", 8, 4) SECOND_TLB("c", 8, 4)
	  SECOND_TLB("d", 8, 4),
	  "model:31: tlb d: two others of its level hold pages of the same size" },
	{ __LINE__, GOOD "[allocation a]\nlevel = 2\ncore = 0\nmask = 1\n",
	  "model:16: allocation a: there is no level 2" },
	{ __LINE__, GOOD "[allocation a]\nlevel = 1\ncore = 0\nmask = 4\n",
	  "model:16: allocation a: mask has more bits than the level has ways" },
	{ __LINE__, GOOD "[allocation a]\nlevel = 1\ncore = 0\nmask = 1\n"
	  "[allocation b]\nlevel = 1\ncore = 0\nmask = 2\n",
	  "model:20: allocation b: another one is about the same core and level" },
	{ __LINE__, GOOD "[allocation a]\nmask = 0\n",
	  "model:17: mask: '0' is not within 1 to 18446744073709551615" },
	{ __LINE__, GOOD "[noise]\njitter = 101\n",
	  "model:17: jitter: '101' is not within 0 to 100" },
	{ __LINE__, GOOD "[prefetch]\n", "model:16: [prefetch] needs a name" },
	{ __LINE__, GOOD "[prefetch a]\nlevel = 1\n", "model:16: [prefetch] lacks kind" },
	{ __LINE__, GOOD "[prefetch a]\nkind = stream\nlevel = 2\n",
	  "model:16: prefetch a: there is no level 2" },
	{ __LINE__, GOOD "[prefetch a]\nkind = stride\n",
	  "model:17: kind: 'stride' is none of next_line, adjacent, stream, ip_stride, region, "
	  "up_down, multipath, next_page, pointers" },
	{ __LINE__, GOOD "[prefetch a]\nkind = stream\nlevel = 1\n[prefetch a]\n",
	  "model:19: prefetch a is there already" },
	{ __LINE__, GOOD "[prefetch abcdefghijklmnopqrstuvwxyz]\n",
	  "model:16: prefetch abcdefghijklmnopqrstuvwxyz: more than 23 characters" },
	{ __LINE__, GOOD "[prefetch a]\nentries = 65\n",
	  "model:17: entries: '65' is not within 1 to 64" },
	{ __LINE__, GOOD "[prefetch a]\ndisable = 0x1a4 bit 0\n",
	  "model:17: disable: '0x1a4 bit 0' is not 'msr REGISTER bit 0..63' or none" },
	{ __LINE__, GOOD "[prefetch a]\ndisable = msr 0x1a4 bit 64\n",
	  "model:17: disable: 'msr 0x1a4 bit 64' is not 'msr REGISTER bit 0..63' or none" },
	{ __LINE__, GOOD "[prefetch a]\ndisable = msr 0x1a4 bit 1 2\n",
	  "model:17: disable: 'msr 0x1a4 bit 1 2' is not 'msr REGISTER bit 0..63' or none" },
	{ __LINE__, GOOD "[prefetch a]\nkind = stream\nlevel = 1\ndisable = msr 0x1a4 bit 0\n",
	  "model:16: prefetch a: [msr] has no 0x1a4 with bit 0" },
	{ __LINE__, GOOD "[msr]\n0x1a4 = 0xe\n[prefetch a]\nkind = stream\nlevel = 1\n"
	  "disable = msr 0x1a4 bit 0\n",
	  "model:18: prefetch a: [msr] has no 0x1a4 with bit 0" },
	{ __LINE__, GOOD "[fault]\ndrop_cpu = 256\n",
	  "model:17: drop_cpu: '256' is not within 0 to 255" },
	{ __LINE__, CPU_INTEL "[cache l3]\n", "model:5: cache l3: level 2 must come before it" },
	{ __LINE__, CPU_INTEL "[cache l2d]\n",
	  "model:5: cache: 'l2d' is none of l1d, l1, l2, l3, l4, l5" },
	{ __LINE__, GOOD L1D, "model:16: cache l1d: level 1 is there already" },
	{ __LINE__, GOOD "[cache l1]\n", "model:16: cache l1: level 1 is there already" },
	{ __LINE__, "[cache l1d]\nsize = 32Q\n", "model:2: size: '32Q' is no number" },
	{ __LINE__, "[cache l1d]\nsize = 1.5K\n", "model:2: size: '1.5K' is no number" },
	{ __LINE__, "[cache l1d]\nsize = 99999999999999G\n",
	  "model:2: size: '99999999999999G' is no number" },
	{ __LINE__, "[cache l1d]\nsize = 128\n",
	  "model:2: size: '128' is not within 256 to 4294967296" },
	{ __LINE__, "[cache l1d]\nways = 65\n", "model:2: ways: '65' is not within 1 to 64" },
	{ __LINE__, "[cache l1d]\nline = 16\n", "model:2: line: '16' is not within 32 to 256" },
	{ __LINE__, "[cache l1d]\nline = 512\n", "model:2: line: '512' is not within 32 to 256" },
	{ __LINE__, "[cache l1d]\nreplace = lfu\n",
	  "model:2: replace: 'lfu' is none of lru, plru, fifo, mru, random, qlru_h11_m1_r0_u0, "
	  "qlru_h00_m1_r0_u1, qlru_h00_m1_r2_u1, qlru_h11_m1_r1_u2, qlru_h00_m2_r0_u0_umo" },
	{ __LINE__, "[cache l1i]\nlatency = 4\n", "model:2: unknown key 'latency' in [cache]" },
	{ __LINE__, CPU_INTEL TIMING PMU_NONE "[cache l1d]\nsize = 960\nways = 5\nline = 48\n"
	  "latency = 4\n", "model:11: cache l1d: line is no power of two" },
	{ __LINE__, CPU_INTEL TIMING PMU_NONE "[cache l1d]\nsize = 1000\nways = 2\nline = 64\n"
	  "latency = 4\n", "model:11: cache l1d: size is no multiple of ways times line" },
	{ __LINE__, CPU_INTEL TIMING PMU_NONE "[cache l1d]\nsize = 768\nways = 12\nline = 64\n"
	  "latency = 4\nreplace = plru\n",
	  "model:11: cache l1d: replace = plru needs ways of a power of two" },
	{ __LINE__, CPU_INTEL TIMING PMU_NONE "[cache l1d]\nsize = 4K\nways = 64\nline = 64\n"
	  "latency = 4\nreplace = plru\n",
	  "model:11: cache l1d: replace = plru has at most 32 ways" },
	{ __LINE__, CPU_INTEL TIMING PMU_NONE "[cache l1d]\nsize = 768\nways = 4\nline = 64\n"
	  "latency = 4\nindex = virtual\n",
	  "model:11: cache l1d: index = virtual needs sets of a power of two" },
	{ __LINE__, CPU_AMD TIMING PMU_NONE "[cache l1d]\nsize = 4K\nways = 4\nline = 256\n"
	  "latency = 4\n",
	  "model:11: cache l1d: line: AMD's CPUID has room for 128 bytes at most" },
	{ __LINE__, CPU_INTEL TIMING L1D "inclusion = inclusive\n" PMU_NONE,
	  "model:9: cache l1d: nothing is inside level 1" },
	{ __LINE__, CPU_INTEL TIMING L1D "latency = 200\n", "model:14: latency is given twice" },
	{ __LINE__, CPU_INTEL TIMING "[cache l1d]\nsize = 1K\nways = 2\nline = 64\nlatency = 200\n"
	  PMU_NONE, "model:9: cache l1d: latency must be below memory's" },
	{ __LINE__, GOOD "[cache l2]\nsize = 4K\nways = 2\nline = 64\nlatency = 4\n",
	  "model:16: cache l2: latency must exceed that of the level inside" },
	{ __LINE__, GOOD "[cache l2]\nsize = 4K\nways = 2\nline = 128\nlatency = 9\n",
	  "model:16: cache l2: all data caches have one line size" },
	{ __LINE__, GOOD "[cache l2]\nsize = 4K\nways = 2\nline = 64\nlatency = 9\n"
	  "index = virtual\n", "model:16: cache l2: index = virtual is for level 1" },
	{ __LINE__, GOOD "[cache l2]\nsize = 4K\nways = 2\nline = 64\nlatency = 9\n"
	  "scope = package\n[cache l3]\nsize = 4K\nways = 2\nline = 64\nlatency = 19\n",
	  "model:22: cache l3: fewer CPUs share it than the level inside" },
	{ __LINE__, GOOD "[cache l2]\nsize = 4K\nways = 2\nline = 64\nlatency = 9\n"
	  "[cache l3]\nsize = 4K\nways = 2\nline = 64\nlatency = 19\ninclusion = exclusive\n",
	  "model:21: cache l3: exclusive needs the level inside to be inclusive or exclusive" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\nversion = 6\n",
	  "model:16: version: '6' is not within 0 to 5" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\ngp = 4\n",
	  "model:16: [pmu] style = intel does not go with version" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\nversion = 2\n",
	  "model:16: [pmu] style = intel does not go with gp" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = amd-v2\ngp = 6\n",
	  "model:16: [pmu] style = amd-v2 does not go with the vendor" },
	{ __LINE__, CPU_AMD TIMING L1D "[pmu]\nstyle = intel\nversion = 2\ngp = 4\n",
	  "model:17: [pmu] style = intel does not go with the vendor" },
	{ __LINE__, CPU_AMD TIMING L1D "[pmu]\nstyle = amd-legacy\ngp = 6\n",
	  "model:16: [pmu] style = amd-legacy does not go with gp" },
	{ __LINE__, CPU_AMD TIMING L1D "[pmu]\nstyle = amd-v2\ngp = 6\nwidth = 40\n",
	  "model:17: [pmu] style = amd-v2 does not go with width" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\nversion = 1\ngp = 2\nfixed = 1\n",
	  "model:18: [pmu] style = intel does not go with fixed, as version 1 has none" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\nversion = 1\ngp = 2\n"
	  "full_width = yes\n", "model:18: [pmu] style = intel does not go with full_width" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\nversion = 2\ngp = 2\n"
	  "anythread = yes\n", "model:18: [pmu] style = intel does not go with anythread" },
	{ __LINE__, CPU_INTEL TIMING L1D "[pmu]\nstyle = intel\nfull_width = maybe\n",
	  "model:16: full_width: 'maybe' is none of no, yes" },
	{ __LINE__, GOOD "[fault]\ncounter_zero = 0\n",
	  "model:17: [pmu] style = none does not go with counter_zero of [fault]" },
	{ __LINE__, GOOD "[fault]\ncounter_zero = 8\n",
	  "model:17: counter_zero: '8' is not within 0 to 7" },
	{ __LINE__, GOOD "[fault]\nmsr_zero = 0xc4-0xc1\n",
	  "model:17: msr_zero: '0xc4-0xc1' is no list of at most 32 register numbers" },
	{ __LINE__, GOOD "[fault]\nmsr_zero = 0-32\n",
	  "model:17: msr_zero: '0-32' is no list of at most 32 register numbers" },
	{ __LINE__, GOOD "[event]\n0x3c = cycles\n",
	  "model:17: event: '0x3c' is not EVENT/UMASK, at most 0xfff/0xff" },
	{ __LINE__, GOOD "[event]\n0x1000/0 = cycles\n",
	  "model:17: event: '0x1000/0' is not EVENT/UMASK, at most 0xfff/0xff" },
	{ __LINE__, GOOD "[event]\n0x3c/0 = ticks\n",
	  "model:17: event: nothing is called 'ticks'" },
	{ __LINE__, GOOD "[event]\n0x3c/0 = cycles\n60/0 = cycles\n",
	  "model:18: event: 60/0 is given twice" },
	{ __LINE__, GOOD "[msr]\nx = 1\n", "model:17: msr: 'x' is no register number" },
	{ __LINE__, GOOD "[msr]\n1 = x\n",
	  "model:17: msr: 1 needs MASK [RESET [SCOPE]], RESET within MASK" },
	{ __LINE__, GOOD "[msr]\n1 = 0xf 0x10\n",
	  "model:17: msr: 1 needs MASK [RESET [SCOPE]], RESET within MASK" },
	{ __LINE__, GOOD "[msr]\n1 = 0xf 0 socket\n",
	  "model:17: msr: 1 needs MASK [RESET [SCOPE]], RESET within MASK" },
	{ __LINE__, GOOD "[msr]\n1 = 0xf\n0x1 = 0xf\n", "model:18: msr: 0x1 is given twice" },
	{ __LINE__, GOOD "[script x]\n", "model:16: script: 'x' is no window number" },
	{ __LINE__, GOOD "[script 1]\n[script 1]\n", "model:17: script 1 is there already" },
	{ __LINE__, GOOD "[script 1]\nsmis = 1\n", "model:17: unknown key 'smis' in [script]" },
};

TEST(errors_name_their_line)
{
	char err[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		err[0] = 0;
		EXPECT_EQ(NULL, model_try(errors[i].text, err, sizeof(err)));
		EXPECT_STREQ(errors[i].error, err) TH_LOG("row at line %d", errors[i].line);
	}
}

TEST(a_zero_byte_is_an_error)
{
	char path[] = "/tmp/simcpu-test-XXXXXX", err[256] = "";
	int fd = mkstemp(path);

	ASSERT_EQ(8, write(fd, "[cpu]\0\n\n", 8));
	close(fd);
	EXPECT_EQ(NULL, sim_model_load(path, err, sizeof(err)));
	EXPECT_NE(NULL, strstr(err, ":1: the line holds a zero byte"));
	unlink(path);
}

TEST(a_missing_file_is_named)
{
	char err[256];

	EXPECT_EQ(NULL, sim_model_load("/nowhere/x.cpu", err, sizeof(err)));
	EXPECT_STREQ("/nowhere/x.cpu: No such file or directory", err);
}

TEST(values_arrive)
{
	struct sim_model *m = model_from("# comment\n  [ cpu ]\t# another\nvendor=amd\n"
		"qemu_cpu = EPYC,family=23,model-id=A B\nmicroarch = Zen2\nthreads = 2\n"
		"cluster = 4\ncore_type = efficient\n" TIMING "core_ratio = 6/4\n"
		"[cache l1d]\nsize = 48K\nways = 12\nline = 64\nlatency = 5\nindex = virtual\n"
		"[cache l1i]\nsize = 32K\nways = 8\nline = 64\n"
		"[cache l2]\nsize = 1280K\nways = 20\nline = 64\nlatency = 15\n"
		"inclusion = inclusive\nscope = cluster\nreplace = lru\n"
		"[cache l3]\nsize = 14080K\nways = 11\nline = 64\nlatency = 75\n"
		"inclusion = exclusive\nscope = package\n"
		"[pmu]\nstyle = amd-extcore\ngp = 6\nabsent = zero\n"
		"[event]\n0x1ff/0x10 = load_l2_miss\n"
		"[msr]\n0xc0000108 = 0x3f 0x01 cluster\n"
		"[fault]\ncounter_held = 5\ncounter_start = 0xffffffff0000\n"
		"msr_fault = 0x10, 0x20-0x22\n"
		"[script 7]\nsmi = 2\naperf = 1K\n");

	EXPECT_EQ(SIM_AMD, m->cpu.vendor);
	EXPECT_STREQ("EPYC,family=23,model-id=A B", sim_model_qemu_cpu(m));
	EXPECT_EQ(2, m->cpu.threads);
	EXPECT_EQ(4, m->cpu.cluster);
	EXPECT_EQ(SIM_CORE_EFFICIENT, m->cpu.core_type);
	EXPECT_EQ(2000000000, sim_model_tsc_hz(m));
	EXPECT_EQ(3, m->timing.core_ratio.num);
	EXPECT_EQ(2, m->timing.core_ratio.den);
	EXPECT_EQ(3, m->caches);
	EXPECT_EQ(64, m->cache[0].sets);
	EXPECT_EQ(SIM_INDEX_VIRTUAL, m->cache[0].index);
	EXPECT_EQ(1024, m->cache[1].sets);
	EXPECT_EQ(20480, m->cache[2].sets);
	EXPECT_EQ(SIM_EXCLUSIVE, m->cache[2].inclusion);
	EXPECT_EQ(64, m->instruction.sets);
	EXPECT_EQ(SIM_ABSENT_ZERO, m->pmu.absent);
	EXPECT_EQ(0x1ff, m->event[0].event);
	EXPECT_EQ(SIM_SCOPE_CLUSTER, m->msr[0].scope);
	EXPECT_EQ(1, m->msr[0].reset);
	EXPECT_EQ(-1, m->fault.counter_zero);
	EXPECT_EQ(5, m->fault.counter_held);
	EXPECT_EQ(4, m->fault.msr_fault.count);
	EXPECT_EQ(0x22, m->fault.msr_fault.msr[3]);
	EXPECT_EQ(7, m->script[0].window);
	EXPECT_EQ(1024, m->script[0].aperf);
	sim_model_free(m);
}

TEST(a_scale_divides_sets_alone)
{
	struct sim_model *full, *part;
	char err[256];

	full = sim_model_load("tools/simcpu/models/zen4.cpu", err, sizeof(err));
	ASSERT_NE(NULL, full) TH_LOG("%s", err);
	part = sim_model_load("tools/simcpu/models/zen4.cpu@1/8", err, sizeof(err));
	ASSERT_NE(NULL, part) TH_LOG("%s", err);
	EXPECT_STREQ("zen4", sim_model_name(full));
	EXPECT_STREQ("zen4@1/8", sim_model_name(part));
	EXPECT_EQ(full->cache[2].size / 8, part->cache[2].size);
	EXPECT_EQ(full->cache[0].sets / 8, part->cache[0].sets);
	EXPECT_EQ(full->cache[0].ways, part->cache[0].ways);
	EXPECT_EQ(full->cache[2].latency, part->cache[2].latency);
	sim_model_free(full);
	sim_model_free(part);
	EXPECT_EQ(NULL, sim_model_load("tools/simcpu/models/zen4.cpu@1/128", err, sizeof(err)));
	EXPECT_NE(NULL, strstr(err, "cache l1d: 64 sets cannot be divided by 128"));
	EXPECT_EQ(NULL, sim_model_load("tools/simcpu/models/zen4.cpu@2/1", err, sizeof(err)));
	EXPECT_NE(NULL, strstr(err, "'@2/1' is no scale: @1/N is"));
}

static int load_folder(const char *folder)
{
	struct dirent *entry;
	struct sim_model *m;
	char path[512], err[512];
	int good = 0;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".cpu"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		m = sim_model_load(path, err, sizeof(err));
		if (!m) {
			fprintf(stderr, "%s\n", err);
			return -1;
		}
		sim_model_free(m);
		good++;
	}
	if (dir)
		closedir(dir);
	return good;
}

#define HYBRID	"[hybrid]\ncores = p.cpu\nothers = e.cpu\nfirst = 2\n"
#define KIND(kind)	CPU_INTEL "core_type = " kind "\n"
#define SHARED(size)	"[cache l2]\nsize = " size "\nways = 4\nline = 64\nlatency = 9\n"	\
			"scope = package\n"
#define P_CORES		KIND("performance") TIMING L1D PMU_NONE
#define E_CORES		KIND("efficient") TIMING L1D PMU_NONE

/* Files p.cpu and e.cpu, then that of the machine; no error: it is one. */
static const struct {
	int line;
	const char *p, *e, *text;
	const char *error;
} hybrids[] = {
	{ __LINE__, P_CORES, E_CORES, HYBRID, NULL },
	{ __LINE__, P_CORES SHARED("4K"), E_CORES SHARED("4K"), HYBRID, NULL },
	{ __LINE__, P_CORES SHARED("4K"), E_CORES SHARED("8K"), HYBRID,
	  "h.cpu:1: [hybrid] a cache of scope package must be the same" },
	{ __LINE__, P_CORES SHARED("4K"), E_CORES, HYBRID,
	  "h.cpu:1: [hybrid] the number of caches must be the same" },
	{ __LINE__, P_CORES, P_CORES, HYBRID,
	  "h.cpu:1: [hybrid] core_type must tell the cores apart" },
	{ __LINE__, P_CORES, GOOD, HYBRID,
	  "h.cpu:1: [hybrid] core_type must tell the cores apart" },
	{ __LINE__, P_CORES, KIND("efficient") "cluster = 4\n" REST, HYBRID,
	  "h.cpu:1: [hybrid] first is in the middle of a core or cluster" },
	{ __LINE__, P_CORES, KIND("efficient") "threads = 2\n" REST, HYBRID,
	  "h.cpu:1: [hybrid] threads must be the same" },
	{ __LINE__, P_CORES, E_CORES "[msr]\n0x1a4 = 1 0 package\n", HYBRID,
	  "h.cpu:1: [hybrid] a register of [msr] has scope package" },
	{ __LINE__, P_CORES, E_CORES, HYBRID PMU_NONE,
	  "h.cpu:5: [hybrid] stands alone in its file" },
	{ __LINE__, P_CORES, E_CORES, "[hybrid]\ncores = p.cpu\nothers = e.cpu\n",
	  "h.cpu:1: [hybrid] lacks first" },
	{ __LINE__, P_CORES, E_CORES, HYBRID "first = 3\n", "h.cpu:5: first is given twice" },
	{ __LINE__, P_CORES, E_CORES, "[hybrid]\ncores = p.cpu\nothers = e.cpu\nfirst = 0\n",
	  "h.cpu:4: first: '0' is not within 1 to 255" },
	{ __LINE__, P_CORES, E_CORES, "[hybrid]\ncores = p.cpu\nothers = x.cpu\nfirst = 2\n",
	  "x.cpu: No such file or directory" },
	{ __LINE__, P_CORES, E_CORES, "[hybrid]\ncores = h.cpu\nothers = e.cpu\nfirst = 2\n",
	  "h.cpu:1: [hybrid] is named by another one" },
	{ __LINE__, P_CORES, "[cpu]\nvendor = via\n", HYBRID,
	  "e.cpu:2: vendor: 'via' is none of intel, amd" },
};

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = { "/p.cpu", "/e.cpu", "/h.cpu", "" };
	char path[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, names[i]);
		remove(path);
	}
}

TEST(kinds_of_cores)
{
	char folder[] = "/tmp/simcpu-test-XXXXXX", path[64], err[512];
	struct sim_model *m;
	size_t i;

	ASSERT_NE(NULL, mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/h.cpu", folder);
	for (i = 0; i < ARRAY_SIZE(hybrids); i++) {
		write_file(folder, "p.cpu", hybrids[i].p);
		write_file(folder, "e.cpu", hybrids[i].e);
		write_file(folder, "h.cpu", hybrids[i].text);
		err[0] = 0;
		m = sim_model_load(path, err, sizeof(err));
		EXPECT_EQ(!hybrids[i].error, !!m)
			TH_LOG("row at line %d: %s", hybrids[i].line, err);
		if (hybrids[i].error)
			EXPECT_STREQ(hybrids[i].error, err + strlen(folder) + 1)
				TH_LOG("row at line %d", hybrids[i].line);
		sim_model_free(m);
	}
	remove_folder(folder);
}

TEST(models_of_the_tree_load)
{
	EXPECT_LE(5, load_folder("tools/simcpu/models"));
	EXPECT_LE(8, load_folder("tools/simcpu/models/negative"));
}

static void read_text(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "r");
	size_t got = 0;

	if (file) {
		got = fread(text, 1, room - 1, file);
		fclose(file);
	}
	text[got] = 0;
}

/* A model with some bytes changed is a model or an error with a line, never anything else. */
TEST(changed_bytes)
{
	static char text[1 << 14], changed[1 << 14];
	uint64_t state = 88172645463325252ull;
	unsigned int i, n, models = 0;
	char err[512];

	read_text("tools/simcpu/models/golden-cove.cpu", text, sizeof(text));
	ASSERT_LT(100, strlen(text));
	for (i = 0; i < 5000; i++) {
		struct sim_model *m;

		strcpy(changed, text);
		for (n = 0; n <= i % 3; n++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			changed[(state >> 33) % strlen(text)] = (state >> 20) % 95 + ' ';
		}
		err[0] = 0;
		m = model_try(changed, err, sizeof(err));
		if (!m)
			EXPECT_EQ(0, strncmp(err, "model:", 6)) TH_LOG("%s", err);
		models += !!m;
		sim_model_free(m);
	}
	/* most of the bytes are comment */
	EXPECT_LT(900, models);
	EXPECT_GT(4000, models);
}

/* Each key of the parser stands in the documentation with range and default, and no other. */
TEST(documentation_lists_the_keys)
{
	unsigned int in_parser = 0, in_table = 0;
	static char text[1 << 16];
	char line[256], want[512];
	FILE *keys = tmpfile();
	char *at;

	ASSERT_NE(NULL, keys);
	read_text("Documentation/simcpu.rst", text, sizeof(text));
	at = strstr(text, "\nKeys\n----");
	ASSERT_NE(NULL, at);
	sim_model_print_keys(keys);
	rewind(keys);
	while (fgets(line, sizeof(line), keys)) {
		line[strcspn(line, "\n")] = 0;
		snprintf(want, sizeof(want), "\n    %s\n", line);
		EXPECT_NE(NULL, strstr(at, want)) TH_LOG("missing: %s", line);
		in_parser++;
	}
	while ((at = strstr(at, "\n    ["))) {
		in_table++;
		at++;
	}
	EXPECT_EQ(in_parser, in_table);
	fclose(keys);
}

/* The documentation's example is a model. */
TEST(documentation_has_a_model)
{
	static char text[1 << 16];
	char err[256] = "", *from, *to;
	struct sim_model *m;

	read_text("Documentation/simcpu.rst", text, sizeof(text));
	from = strstr(text, "\n    [cpu]");
	ASSERT_NE(NULL, from);
	to = strstr(from, "\n\nFor a processor");
	ASSERT_NE(NULL, to);
	*to = 0;
	m = model_try(from, err, sizeof(err));
	EXPECT_NE(NULL, m) TH_LOG("%s", err);
	sim_model_free(m);
}

TEST_HARNESS_MAIN
