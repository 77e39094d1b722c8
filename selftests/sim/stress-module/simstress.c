// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run each instruction that simcpu answers many times with interrupts on, and check its result,
 * the arithmetic flags around it and the registers that it must leave alone.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/processor.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define rdmsrl rdmsrq
#define rdmsrl_safe rdmsrq_safe
#define wrmsrl_safe wrmsrq_safe
#endif

static unsigned int loops = 300000;
module_param(loops, uint, 0444);
MODULE_PARM_DESC(loops, "iterations of each form");

static unsigned int gp_loops = 30000;
module_param(gp_loops, uint, 0444);
MODULE_PARM_DESC(gp_loops, "iterations of each form that faults");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "CPU to run on, or -1: threads that move between all CPUs");

#define FLAGS_ARITHMETIC 0x8d5		/* CF PF AF ZF SF OF */
/* no processor has it; the test's model says that it faults */
#define MSR_ABSENT 0xc3f
#define CTR_BITS GENMASK_ULL(47, 0)

/* where a vendor keeps its first counter, and what must fault there */
struct vendor {
	u32 ctr, stride, counters;
	u32 leaf;
	u32 gp_msr;
	u64 gp_value;
	u32 gp_rdpmc;
};

static const struct vendor intel = {
	.ctr = 0x4c1, .stride = 1, .counters = 4, .leaf = 0xa,
	.gp_msr = 0x1a4, .gp_value = 1ULL << 40, .gp_rdpmc = 0x1f,
};

static const struct vendor amd = {
	.ctr = 0xc0010201, .stride = 2, .counters = 6, .leaf = 0x80000008,
	.gp_msr = MSR_ABSENT, .gp_value = 1ULL << 40, .gp_rdpmc = 0x1f,
};

static const struct vendor *vendor;

/* registers before and after one instruction */
struct regs {
	u64 ax, bx, cx, dx, flags;
};

/*
 * Run INSN after an addition that sets the flags by @x and @y, then read the flags back. r8 to
 * r11, rsi and rdi hold marks that must survive.
 */
#define RUN(INSN, name)								\
static noinline u64 run_##name(struct regs *r, u64 x, u64 y)			\
{										\
	u64 spoilt;								\
										\
	asm volatile("mov $0x1111, %%r8\n\tmov $0x2222, %%r9\n\t"		\
		     "mov $0x3333, %%r10\n\tmov $0x4444, %%r11\n\t"		\
		     "mov %[x], %%rsi\n\t"					\
		     "add %[y], %%rsi\n\t"					\
		     INSN "\n\t"						\
		     "pushf\n\t"						\
		     "pop %%rdi\n\t"						\
		     "xor $0x1111, %%r8\n\txor $0x2222, %%r9\n\t"		\
		     "xor $0x3333, %%r10\n\txor $0x4444, %%r11\n\t"		\
		     "or %%r9, %%r8\n\tor %%r10, %%r8\n\tor %%r11, %%r8\n\t"	\
		     "mov %[x], %%r9\n\tadd %[y], %%r9\n\t"			\
		     "xor %%r9, %%rsi\n\tor %%rsi, %%r8\n\t"			\
		     "mov %%r8, %[spoilt]\n\t"					\
		     : "+a"(r->ax), "+b"(r->bx), "+c"(r->cx), "+d"(r->dx),	\
		       "=&D"(r->flags), [spoilt] "=&r"(spoilt)			\
		     : [x] "r"(x), [y] "r"(y)					\
		     : "rsi", "r8", "r9", "r10", "r11", "cc", "memory");	\
	return spoilt;								\
}

/* the same with a fault: 0xfa in rbx says that the exception table sent it on */
#define FAULT(INSN)								\
	"1: " INSN "\n\t"							\
	"jmp 3f\n\t"								\
	"2: mov $0xfa, %%ebx\n\t"						\
	"3:\n\t"								\
	_ASM_EXTABLE(1b, 2b)

/* the last instruction of a page, and so of QEMU's block: it ends in another way */
#define ENDS_PAGE(INSN)								\
	"jmp 9f\n\t"								\
	".p2align 12, 0xcc\n\t"							\
	".skip 4094, 0xcc\n\t"							\
	"9: " INSN

RUN("nop", nop)
RUN("rdmsr", rdmsr)
RUN(ENDS_PAGE("rdmsr"), rdmsr_page)
RUN(ENDS_PAGE("rdtsc"), rdtsc_page)
RUN(ENDS_PAGE("cpuid"), cpuid_page)
RUN(ENDS_PAGE("rdpmc"), rdpmc_page)
RUN(".byte 0x3e, 0x0f, 0x32", rdmsr_prefix)
RUN("wrmsr", wrmsr)
RUN("rdtsc", rdtsc)
RUN("rdtscp", rdtscp)
RUN("cpuid", cpuid)
RUN("rdpmc", rdpmc)
RUN("rdpmc\n\tnop\n\tnop", rdpmc_nop)
RUN(FAULT("rdmsr"), rdmsr_fault)
RUN(FAULT("wrmsr"), wrmsr_fault)
RUN(FAULT("rdpmc"), rdpmc_fault)

/* what each test carries from one iteration to the next */
struct state {
	u64 seed, last_tsc;
	u32 aux;
	struct regs leaf;
};

static u64 next(struct state *s)
{
	s->seed = s->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return s->seed;
}

/* operands that give every combination of flags now and then */
static void operands(struct state *s, u64 *x, u64 *y)
{
	u64 pick = next(s) >> 60;

	*x = next(s);
	*y = pick & 1 ? -*x : next(s);
	if (pick & 2)
		*x = S64_MAX;
	if (pick & 4)
		*y = pick & 8;
}

typedef u64 (*run_fn)(struct regs *r, u64 x, u64 y);

/* run it, and the same without it; true if flags or other registers differ */
static bool spoils(run_fn run, struct regs *r, struct state *s)
{
	struct regs plain = *r;
	u64 x, y, bad;

	operands(s, &x, &y);
	run_nop(&plain, x, y);
	bad = run(r, x, y);
	bad |= (r->flags ^ plain.flags) & FLAGS_ARITHMETIC;
	bad |= ~r->flags & X86_EFLAGS_IF;
	return bad;
}

static u32 counter_msr(u64 i)
{
	return vendor->ctr + vendor->stride * (u32)(i % vendor->counters);
}

static u64 counter_value(u64 i)
{
	return (i * 0x9e3779b97f4a7c15ULL >> 3) & CTR_BITS;
}

static bool moved_wrmsr(u32 msr, u64 value, struct state *s)
{
	struct regs r = { .ax = (u32)value, .bx = 0x77, .cx = msr, .dx = value >> 32 };

	return spoils(run_wrmsr, &r, s) || r.ax != (u32)value || r.cx != msr ||
	       r.dx != value >> 32 || r.bx != 0x77;
}

static bool read_is_wrong(run_fn run, u32 index, u64 value, struct state *s)
{
	struct regs r = { .ax = ~0ULL, .bx = 0x55, .cx = index, .dx = ~0ULL };

	return spoils(run, &r, s) || r.ax != (u32)value || r.dx != value >> 32 ||
	       r.cx != index || r.bx != 0x55;
}

static bool bad_rdmsr(struct state *s, u64 i)
{
	static const run_fn run[] = { run_rdmsr, run_rdmsr_prefix, run_rdmsr_page };

	return read_is_wrong(run[i % 3], counter_msr(i), counter_value(i % vendor->counters), s);
}

static bool bad_rdmsrl(struct state *s, u64 i)
{
	u64 value;

	rdmsrl(counter_msr(i), value);
	return value != counter_value(i % vendor->counters);
}

static bool bad_rdpmc(struct state *s, u64 i)
{
	static const run_fn run[] = { run_rdpmc, run_rdpmc_nop, run_rdpmc_page };
	u32 index = i % vendor->counters;

	return read_is_wrong(run[i % 3], index, counter_value(index), s);
}

static bool bad_wrmsr(struct state *s, u64 i)
{
	/* ends with what the other tests expect of this counter */
	u64 value = i + vendor->counters >= loops ? counter_value(i % vendor->counters) :
						    counter_value(i + 12345);

	return moved_wrmsr(counter_msr(i), value, s) ||
	       read_is_wrong(run_rdmsr, counter_msr(i), value, s);
}

static bool tsc_is_wrong(struct state *s, const struct regs *r)
{
	u64 tsc = r->dx << 32 | r->ax;
	bool bad = r->dx >> 32 || r->ax >> 32 || tsc < s->last_tsc;

	s->last_tsc = tsc;
	return bad || r->bx != 0x66;
}

static bool bad_rdtsc(struct state *s, u64 i)
{
	struct regs r = { .ax = ~0ULL, .bx = 0x66, .cx = 0x1234, .dx = ~0ULL };

	return spoils(i & 1 ? run_rdtsc : run_rdtsc_page, &r, s) || tsc_is_wrong(s, &r) ||
	       r.cx != 0x1234;
}

static bool bad_rdtscp(struct state *s, u64 i)
{
	struct regs r = { .ax = ~0ULL, .bx = 0x66, .cx = ~0ULL, .dx = ~0ULL };

	return spoils(run_rdtscp, &r, s) || tsc_is_wrong(s, &r) || r.cx != s->aux;
}

static bool bad_cpuid(struct state *s, u64 i)
{
	struct regs r = { .ax = vendor->leaf, .bx = ~0ULL, .cx = 0, .dx = ~0ULL };

	return spoils(i & 1 ? run_cpuid : run_cpuid_page, &r, s) ||
	       r.ax != s->leaf.ax || r.bx != s->leaf.bx ||
	       r.cx != s->leaf.cx || r.dx != s->leaf.dx;
}

static bool bad_rdmsr_safe(struct state *s, u64 i)
{
	u64 value = 0;

	if (rdmsrl_safe(counter_msr(i), &value) || value != counter_value(i % vendor->counters))
		return true;
	return wrmsrl_safe(vendor->gp_msr, vendor->gp_value) != -EIO;
}

static bool fault_is_wrong(run_fn run, u32 index, u64 value, struct state *s)
{
	struct regs r = { .ax = (u32)value, .bx = 0, .cx = index, .dx = value >> 32 };

	return spoils(run, &r, s) || r.bx != 0xfa || r.ax != (u32)value || r.cx != index ||
	       r.dx != value >> 32;
}

static bool bad_wrmsr_fault(struct state *s, u64 i)
{
	return fault_is_wrong(run_wrmsr_fault, vendor->gp_msr, vendor->gp_value | i, s);
}

static bool bad_rdpmc_fault(struct state *s, u64 i)
{
	return fault_is_wrong(run_rdpmc_fault, vendor->gp_rdpmc, i << 5, s);
}

static bool bad_rdmsr_fault(struct state *s, u64 i)
{
	return fault_is_wrong(run_rdmsr_fault, MSR_ABSENT, i, s);
}

static const struct {
	const char *name;
	bool (*bad)(struct state *s, u64 i);
	bool faults;
	bool one_cpu;		/* keeps something in a register of one CPU */
} tests[] = {
	{ "rdmsr", bad_rdmsr },
	{ "rdmsrl", bad_rdmsrl },
	{ "rdtsc", bad_rdtsc, .one_cpu = true },
	{ "rdtscp", bad_rdtscp, .one_cpu = true },
	{ "wrmsr", bad_wrmsr, .one_cpu = true },
	{ "cpuid", bad_cpuid },
	{ "rdpmc", bad_rdpmc },
	{ "safe", bad_rdmsr_safe, .faults = true },
	{ "wrmsr-fault", bad_wrmsr_fault, .faults = true },
	{ "rdmsr-fault", bad_rdmsr_fault, .faults = true },
	{ "rdpmc-fault", bad_rdpmc_fault, .faults = true },
};

static DECLARE_COMPLETION(finished);

static void prepare(void *unused)
{
	for (u32 i = 0; i < vendor->counters; i++)
		wrmsrl_safe(counter_msr(i), counter_value(i));
}

static int run_tests(void *unused)
{
	struct state s = { .seed = 42 };
	struct regs aux = { };

	s.leaf.ax = vendor->leaf;
	run_cpuid(&s.leaf, 1, 1);
	run_rdtscp(&aux, 1, 1);
	s.aux = aux.cx;
	for (size_t t = 0; t < ARRAY_SIZE(tests); t++) {
		u64 bad = 0, n = tests[t].faults ? gp_loops : loops;

		if (cpu < 0 && tests[t].one_cpu)
			continue;
		s.last_tsc = 0;
		for (u64 i = 0; i < n; i++) {
			bad += tests[t].bad(&s, i);
			if (!(i & 1023))
				cond_resched();
		}
		pr_info("simstress: %s %llu bad %llu\n", tests[t].name, n, bad);
	}
	complete(&finished);
	return 0;
}

static int __init simstress_init(void)
{
	int threads = cpu < 0 ? 4 : 1;
	int ret = 0;

	switch (boot_cpu_data.x86_vendor) {
	case X86_VENDOR_INTEL:
		vendor = &intel;
		break;
	case X86_VENDOR_AMD:
		vendor = &amd;
		break;
	default:
		return -ENODEV;
	}
	on_each_cpu(prepare, NULL, 1);
	for (int i = 0; i < threads; i++) {
		struct task_struct *task = kthread_create(run_tests, NULL, "simstress/%d", i);

		if (IS_ERR(task)) {
			ret = PTR_ERR(task);
			threads = i;
			break;
		}
		if (cpu >= 0)
			kthread_bind(task, cpu);
		wake_up_process(task);
	}
	while (threads--)
		wait_for_completion(&finished);
	if (ret)
		return ret;
	pr_info("simstress: done\n");
	return 0;
}

static void __exit simstress_exit(void)
{
}

module_init(simstress_init);
module_exit(simstress_exit);
MODULE_DESCRIPTION("stress of the instructions that simcpu answers");
MODULE_LICENSE("GPL");
