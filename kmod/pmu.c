// SPDX-License-Identifier: GPL-2.0-only
/* Saves the PMU, counts for us, and puts all of it back, from wherever an NMI interrupts that. */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/smp.h>
#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <asm/nmi.h>

#include "cpuid.h"
#include "msr.h"
#include "pmu.h"

#define SELECT_OS	BIT_ULL(17)
#define SELECT_INT	BIT_ULL(20)
#define SELECT_ENABLE	BIT_ULL(22)

/* FIXED_CTR_CTRL: four bits for each counter. */
#define FIXED_BITS(index, bits)	((u64)(bits) << (4 * (index)))
#define FIXED_OS		1
#define FIXED_ANY_RING		3
#define FIXED_PMI		8
#define FIXED_ALL		15

#define GLOBAL_FIXED	32
#define RDPMC_FIXED	BIT(30)

#define DEBUGCTL_TRACES	(BIT_ULL(6) | BIT_ULL(7))	/* TR, BTS */
#define RTIT_TRACE_EN	BIT_ULL(0)
#define CPUID7_EBX_PT	BIT(25)

/* Its 32 bits set, so that any number becomes it by OR. */
#define NO_SUCH_MSR	~0U

/**
 * enum borrow_state - what a CPU is doing with its PMU
 * @IDLE: it is not ours
 * @SAVING: between the first register read and the counters running
 * @BORROWED: counting for us
 * @RESTORING: putting back, with everything stopped
 * @RESUMING: all is back but for what lets others' counters run again
 */
enum borrow_state {
	IDLE,
	SAVING,
	BORROWED,
	RESTORING,
	RESUMING,
};

/**
 * struct borrow - what was found on a CPU, as far as it has been changed
 * @plan: whose counters these are
 * @state: enum borrow_state
 * @lost: not 0: an NMI put everything back already, nothing may be written any more
 * @nmis: NMIs seen, ever
 * @global_ctrl: found there
 * @fixed_ctrl: found there
 * @select: found in each of our event selects
 * @counter: found in each of our counters
 * @stopped: selects that had to be stopped one by one, by number
 * @found_select: found in all selects, without global control
 * @touched_select: bit i set: select i of the plan may have been written
 * @touched_counter: the same for counters
 * @touched_fixed: the same for FIXED_CTR_CTRL
 * @touched_global: the same for GLOBAL_CTRL
 *
 * A value is saved before its touched bit is set, and the bit before the register is written.
 */
struct borrow {
	const struct calm_pmu_plan *plan;
	enum borrow_state state;
	u32 lost;
	u32 nmis;
	u64 global_ctrl;
	u64 fixed_ctrl;
	u64 select[CALM_COUNTERS_MAX];
	u64 counter[CALM_COUNTERS_MAX];
	u32 stopped;
	u64 found_select[CALM_PMU_GENERAL_MAX];
	u32 touched_select;
	u32 touched_counter;
	bool touched_fixed;
	bool touched_global;
};

static DEFINE_PER_CPU(struct calm_pmu_info, pmu_info);
static DEFINE_PER_CPU(struct borrow, borrows);

static int refuse(int err, const char **why, const char *text)
{
	*why = text;
	return err;
}

/* ---- registers ---- */

extern const char calm_pmu_write_begin[], calm_pmu_write_insn[];

static bool lost(const struct borrow *b)
{
	return READ_ONCE(b->lost);
}

/*
 * Writes a register unless the borrow was lost. An NMI between the test and
 * the write would let through a write to a register that is no longer ours.
 * Its handler cannot change where it returns to (on x86-64 the frame that IRET
 * takes is a copy made before), only general registers: so that the test is
 * made without a branch, and turns the number of the register into one that
 * does not exist, whose fault is caught.
 */
static noinline __noclone int write_unless_lost(const struct borrow *b, u32 msr, u64 value)
{
	int err = 0;

	asm volatile("calm_pmu_write_begin:\n\t" ANNOTATE_NOENDBR "\n\t"
		     "movl (%[lost]), %%esi\n\t"
		     "orl %%esi, %%ecx\n"
		     "calm_pmu_write_insn:\n\t" ANNOTATE_NOENDBR "\n\t"
		     "wrmsr\n"
		     "2:\n"
		     ".pushsection .text.unlikely, \"ax\"\n"
		     "3: mov %[eio], %[err]\n\t"
		     "jmp 2b\n"
		     ".popsection\n"
		     _ASM_EXTABLE(calm_pmu_write_insn, 3b)
		     : [err] "+r"(err), "+c"(msr)
		     : [lost] "r"(&b->lost), "a"((u32)value), "d"((u32)(value >> 32)),
		       [eio] "i"(-EIO)
		     : "rsi", "memory", "cc");
	return lost(b) ? 0 : err;
}

NOKPROBE_SYMBOL(write_unless_lost);	/* a probe would run its instructions elsewhere */

/* If an NMI came into the middle of the above, its write must go nowhere. */
static void spoil_write(struct pt_regs *regs)
{
	unsigned long begin = (unsigned long)calm_pmu_write_begin;
	unsigned long insn = (unsigned long)calm_pmu_write_insn;

	if (regs->ip < begin || regs->ip > insn)
		return;
	regs->si = NO_SUCH_MSR;
	regs->cx = NO_SUCH_MSR;
}

static u32 rdpmc_index(const struct calm_pmu_counter *c)
{
	return c->fixed ? RDPMC_FIXED | c->index : c->index;
}

/* Reads a counter without a register access; only for those that prepare() has tried. */
static u64 read_counter(const struct calm_pmu_counter *c)
{
	u32 low, high;

	asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(rdpmc_index(c)));
	return (u64)high << 32 | low;
}

static bool can_rdpmc(const struct calm_pmu_counter *c)
{
	u32 low, high;
	bool good = true;

	asm volatile("1: rdpmc\n"
		     "2:\n"
		     ".pushsection .text.unlikely, \"ax\"\n"
		     "3: xorb %b[good], %b[good]\n\t"
		     "jmp 2b\n"
		     ".popsection\n"
		     _ASM_EXTABLE(1b, 3b)
		     : "=a"(low), "=d"(high), [good] "+r"(good)
		     : "c"(rdpmc_index(c)) : "cc");
	return good;
}

static u32 select_msr(const struct calm_pmu_info *info, u32 index)
{
	return info->select + info->step * index;
}

static u32 counter_msr(const struct calm_pmu_plan *plan, const struct calm_pmu_counter *c)
{
	if (c->fixed)
		return CALM_MSR_FIXED_CTR0 + c->index;
	return plan->counter_msr + plan->info->step * c->index;
}

static u64 width_mask(const struct calm_pmu_plan *plan, u32 index)
{
	u32 width = plan->counter[index].fixed ? plan->info->fixed_width : plan->info->width;

	return GENMASK_ULL(width - 1, 0);
}

u64 calm_pmu_cut(const struct calm_pmu_plan *plan, u32 index, u64 difference)
{
	return difference & width_mask(plan, index);
}

static u64 global_bit(const struct calm_pmu_counter *c)
{
	return BIT_ULL(c->fixed ? GLOBAL_FIXED + c->index : c->index);
}

static u64 global_bits(const struct calm_pmu_plan *plan)
{
	u64 bits = 0;
	u32 i;

	for (i = 0; i < plan->nr; i++)
		bits |= global_bit(&plan->counter[i]);
	return bits;
}

static bool uses_fixed(const struct calm_pmu_plan *plan)
{
	u32 i;

	for (i = 0; i < plan->nr; i++)
		if (plan->counter[i].fixed)
			return true;
	return false;
}

/* ---- giving back ---- */

/* Stops our counters so that they can be written. */
static int stop_ours(struct borrow *b)
{
	const struct calm_pmu_plan *plan = b->plan;
	int err = 0;
	u32 i;

	if (b->touched_global)
		return write_unless_lost(b, plan->info->global_ctrl, 0);
	for (i = 0; i < plan->nr; i++)
		if (b->touched_select & BIT(i))
			err |= write_unless_lost(b, select_msr(plan->info, plan->counter[i].index),
						 0);
	return err;
}

/* Overflows that our counting caused and that nobody else waits for. */
static int clear_our_overflows(struct borrow *b)
{
	const struct calm_pmu_plan *plan = b->plan;
	u64 ours = 0;
	u32 i;

	if (!plan->info->global_status)
		return 0;
	for (i = 0; i < plan->nr; i++)
		if (b->touched_counter & BIT(i) && read_counter(&plan->counter[i]) < b->counter[i])
			ours |= global_bit(&plan->counter[i]);
	return ours ? write_unless_lost(b, plan->info->global_clear, ours) : 0;
}

static int restore_selects(struct borrow *b)
{
	const struct calm_pmu_plan *plan = b->plan;
	unsigned long stopped = b->stopped;
	unsigned int n;
	int err = 0;
	u32 i;

	for (i = 0; i < plan->nr; i++) {
		if (!(b->touched_select & BIT(i)))
			continue;
		err |= write_unless_lost(b, select_msr(plan->info, plan->counter[i].index),
					 b->select[i]);
		stopped &= ~BIT(plan->counter[i].index);
	}
	for_each_set_bit(n, &stopped, CALM_PMU_GENERAL_MAX)
		err |= write_unless_lost(b, select_msr(plan->info, n), b->found_select[n]);
	return err;
}

/*
 * Puts back whatever was touched while nothing runs. To be done once only,
 * before resume(): counters that run again must not be set back.
 */
static int restore(struct borrow *b)
{
	const struct calm_pmu_plan *plan = b->plan;
	int err = stop_ours(b);
	u32 i;

	err |= clear_our_overflows(b);
	for (i = 0; i < plan->nr; i++)
		if (b->touched_counter & BIT(i))
			err |= write_unless_lost(b, counter_msr(plan, &plan->counter[i]),
						 b->counter[i]);
	if (b->touched_fixed)
		err |= write_unless_lost(b, CALM_MSR_FIXED_CTR_CTRL, b->fixed_ctrl);
	if (plan->info->global_ctrl)
		err |= restore_selects(b);
	return err;
}

/* Lets others' counters run again. To be done again does no harm. */
static int resume(struct borrow *b)
{
	if (!b->plan->info->global_ctrl)
		return restore_selects(b);
	return b->touched_global ?
		write_unless_lost(b, b->plan->info->global_ctrl, b->global_ctrl) : 0;
}

static void enter(struct borrow *b, enum borrow_state state)
{
	barrier();
	WRITE_ONCE(b->state, state);
	barrier();
}

/* Whether a register reads as @expected. */
static bool reads(u32 msr, u64 expected)
{
	u64 value;

	return !calm_msr_read(msr, &value) && value == expected;
}

/* Whether a counter ran for its owner when it was saved. */
static bool ran(const struct borrow *b, u32 i)
{
	const struct calm_pmu_counter *c = &b->plan->counter[i];

	return c->fixed ? b->fixed_ctrl & FIXED_BITS(c->index, FIXED_ANY_RING) :
			  b->select[i] & SELECT_ENABLE;
}

/* Whether all is as it was, but for counters that already run again. */
static bool is_restored(const struct borrow *b)
{
	const struct calm_pmu_plan *plan = b->plan;
	u32 i;

	if (b->touched_global && !reads(plan->info->global_ctrl, b->global_ctrl))
		return false;

	if (b->touched_fixed && !reads(CALM_MSR_FIXED_CTR_CTRL, b->fixed_ctrl))
		return false;
	for (i = 0; i < plan->nr; i++) {
		const struct calm_pmu_counter *c = &plan->counter[i];

		if (b->touched_select & BIT(i) &&
		    !reads(select_msr(plan->info, c->index), b->select[i]))
			return false;
		if (b->touched_counter & BIT(i) && !ran(b, i) && read_counter(c) != b->counter[i])
			return false;
	}
	return true;
}

static void forget(struct borrow *b)
{
	enter(b, IDLE);
	b->stopped = 0;
	b->touched_select = 0;
	b->touched_counter = 0;
	b->touched_fixed = false;
	b->touched_global = false;
}

int calm_pmu_give_back(struct calm_pmu_plan *plan, bool verify, const char **why)
{
	struct borrow *b = this_cpu_ptr(&borrows);
	bool good = true;
	int err;

	if (!plan->nr)
		return 0;
	enter(b, RESTORING);
	err = restore(b);
	enter(b, RESUMING);
	err |= resume(b);
	if (verify)
		good = is_restored(b);
	good |= lost(b);	/* what was compared was no longer ours */
	forget(b);
	if (err)
		return refuse(-EIO, why, "a counter register faulted when it was put back");
	return good ? 0 : refuse(-EIO, why, "a counter register did not keep what was put back");
}

/* ---- borrowing ---- */

/* Without global control each counter that runs has to be stopped by its own select. */
static int stop_one_by_one(struct borrow *b, const char **why)
{
	const struct calm_pmu_info *info = b->plan->info;
	unsigned long general = info->general;
	unsigned int n;
	u64 select;

	for_each_set_bit(n, &general, CALM_PMU_GENERAL_MAX) {
		if (calm_msr_read(select_msr(info, n), &select))
			return refuse(-EIO, why, "an event select register faults");
		b->found_select[n] = select;
		if (!(select & SELECT_ENABLE))
			continue;
		barrier();
		b->stopped |= BIT(n);
		if (write_unless_lost(b, select_msr(info, n), select & ~SELECT_ENABLE))
			return refuse(-EIO, why, "an event select register faults");
	}
	return 0;
}

static int stop_all(struct borrow *b, const char **why)
{
	const struct calm_pmu_info *info = b->plan->info;

	if (!info->global_ctrl)
		return stop_one_by_one(b, why);
	if (calm_msr_read(info->global_ctrl, &b->global_ctrl))
		return refuse(-EIO, why, "the global counter control register faults");
	barrier();
	b->touched_global = true;
	if (write_unless_lost(b, info->global_ctrl, 0))
		return refuse(-EIO, why, "the global counter control register faults");
	return 0;
}

/* Whether the overflow of a general counter will raise an interrupt that is still to come. */
static bool interrupts(const struct calm_pmu_info *info, unsigned int n)
{
	u64 select;

	return !calm_msr_read(select_msr(info, n), &select) && select & SELECT_INT &&
	       select & SELECT_ENABLE;
}

/* With global status: counters that have overflowed and whose owner wants to know. */
static bool overflow_in_status(const struct calm_pmu_info *info)
{
	unsigned long general, fixed;
	u64 status, fixed_ctrl = 0;
	unsigned int n;

	if (calm_msr_read(info->global_status, &status))
		return false;
	general = status & info->general;
	fixed = (status >> GLOBAL_FIXED) & info->fixed;
	if (fixed)
		calm_msr_read(CALM_MSR_FIXED_CTR_CTRL, &fixed_ctrl);
	for_each_set_bit(n, &fixed, CALM_PMU_GENERAL_MAX)
		if (fixed_ctrl & FIXED_BITS(n, FIXED_PMI))
			return true;
	for_each_set_bit(n, &general, CALM_PMU_GENERAL_MAX)
		if (interrupts(info, n))
			return true;
	return false;
}

/*
 * Without it: perf starts a counter below zero, so that a running one whose
 * top bit is clear has overflowed (arch/x86/events/amd/core.c in Linux does
 * the same test).
 */
static bool overflow_in_counters(const struct borrow *b)
{
	const struct calm_pmu_info *info = b->plan->info;
	unsigned long stopped = b->stopped;
	unsigned int n;
	u64 value;

	for_each_set_bit(n, &stopped, CALM_PMU_GENERAL_MAX)
		if (b->found_select[n] & SELECT_INT &&
		    !calm_msr_read(info->counter + info->step * n, &value) &&
		    !(value & BIT_ULL(info->width - 1)))
			return true;
	return false;
}

static bool overflow_pending(const struct borrow *b)
{
	const struct calm_pmu_info *info = b->plan->info;

	return info->global_status ? overflow_in_status(info) : overflow_in_counters(b);
}

/*
 * A counter that runs and samples into memory by itself must not count for us. PEBS_ENABLE has the
 * bits that GLOBAL_CTRL has (SDM vol. 3, "IA32_PEBS_ENABLE": fixed counters from Ice Lake on).
 */
static bool samples_by_itself(const struct borrow *b, u32 i)
{
	u64 pebs;

	return b->plan->info->has_traces && ran(b, i) &&
	       !calm_msr_read(CALM_MSR_PEBS_ENABLE, &pebs) &&
	       pebs & global_bit(&b->plan->counter[i]);
}

static bool can_restore_counter(const struct calm_pmu_plan *plan, u32 index, u64 value)
{
	if (plan->full_width || plan->counter[index].fixed)
		return true;
	return value == ((u64)(s64)(s32)value & width_mask(plan, index));
}

static int save_select(struct borrow *b, u32 i)
{
	const struct calm_pmu_plan *plan = b->plan;
	u32 index = plan->counter[i].index;

	if (plan->counter[i].fixed)
		return 0;
	if (plan->info->global_ctrl)
		return calm_msr_read(select_msr(plan->info, index), &b->select[i]);
	b->select[i] = b->found_select[index];
	return 0;
}

static int save_counter(struct borrow *b, u32 i, const char **why)
{
	const struct calm_pmu_counter *c = &b->plan->counter[i];

	b->counter[i] = read_counter(c);
	if (!can_restore_counter(b->plan, i, b->counter[i]))
		return refuse(-EBUSY, why, "a counter in use holds what cannot be put back");
	if (save_select(b, i))
		return refuse(-EIO, why, "an event select register faults");
	if (samples_by_itself(b, i))
		return refuse(-EBUSY, why, "a counter is used for precise sampling (PEBS)");
	barrier();
	b->touched_counter |= BIT(i);
	if (!c->fixed)
		b->touched_select |= BIT(i);
	return 0;
}

/* Before the counters, which may be fixed ones that it tells of whether they run. */
static int save_fixed_control(struct borrow *b, const char **why)
{
	if (!uses_fixed(b->plan))
		return 0;
	if (calm_msr_read(CALM_MSR_FIXED_CTR_CTRL, &b->fixed_ctrl))
		return refuse(-EIO, why, "the control register of fixed counters faults");
	barrier();
	b->touched_fixed = true;
	return 0;
}

static int program_fixed(struct borrow *b)
{
	u64 control;
	u32 i;

	if (!uses_fixed(b->plan))
		return 0;
	control = b->fixed_ctrl;
	for (i = 0; i < b->plan->nr; i++) {
		const struct calm_pmu_counter *c = &b->plan->counter[i];

		if (!c->fixed)
			continue;
		control &= ~FIXED_BITS(c->index, FIXED_ALL);
		control |= FIXED_BITS(c->index, FIXED_OS);
	}
	return write_unless_lost(b, CALM_MSR_FIXED_CTR_CTRL, control);
}

static int program(struct borrow *b)
{
	const struct calm_pmu_plan *plan = b->plan;
	int err = program_fixed(b);
	u32 i;

	for (i = 0; i < plan->nr && !err; i++)
		if (!plan->counter[i].fixed)
			err = write_unless_lost(b, select_msr(plan->info, plan->counter[i].index),
						plan->counter[i].select);
	if (!err && plan->info->global_ctrl)
		err = write_unless_lost(b, plan->info->global_ctrl, global_bits(plan));
	return err;
}

static int save_and_program(struct borrow *b, const char **why)
{
	u32 i;
	int err;

	err = stop_all(b, why);
	if (err)
		return err;
	if (overflow_pending(b))
		return refuse(-EAGAIN, why, "a counter's overflow stays pending");
	err = save_fixed_control(b, why);
	for (i = 0; !err && i < b->plan->nr; i++)
		err = save_counter(b, i, why);
	if (err)
		return err;
	return program(b) ? refuse(-EIO, why, "a counter register faults") : 0;
}

int calm_pmu_borrow(struct calm_pmu_plan *plan, const char **why)
{
	struct borrow *b = this_cpu_ptr(&borrows);
	int err;

	if (!plan->nr)
		return 0;
	b->plan = plan;
	WRITE_ONCE(b->lost, 0);
	enter(b, SAVING);
	err = save_and_program(b, why);
	if (!err && !lost(b)) {
		enter(b, BORROWED);
		return 0;
	}
	restore(b);
	enter(b, RESUMING);
	resume(b);
	forget(b);
	return err ?: refuse(-EAGAIN, why, "interrupted by NMIs again and again");
}

/* ---- NMIs ---- */

/*
 * Runs before perf's own handler, which must find its hardware as it left it.
 * Registers that were not yet touched need nothing.
 */
static notrace int nmi(unsigned int type, struct pt_regs *regs)
{
	struct borrow *b = this_cpu_ptr(&borrows);

	b->nmis++;
	if (READ_ONCE(b->state) == IDLE || lost(b))
		return NMI_DONE;
	if (READ_ONCE(b->state) != RESUMING)
		restore(b);
	resume(b);
	WRITE_ONCE(b->lost, NO_SUCH_MSR);
	spoil_write(regs);
	return NMI_DONE;
}

NOKPROBE_SYMBOL(nmi);

u32 calm_pmu_nmis(void)
{
	return READ_ONCE(this_cpu_ptr(&borrows)->nmis);
}

/* ---- what there is, and which counter takes which event ---- */

void calm_pmu_probe(void)
{
	struct calm_pmu_info info = {};

	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		return;
	switch (boot_cpu_data.x86_vendor) {
	case X86_VENDOR_INTEL:
		calm_pmu_intel_probe(&info);
		break;
	case X86_VENDOR_AMD:
	case X86_VENDOR_HYGON:
		calm_pmu_amd_probe(&info);
		break;
	}
	/* a CPU that comes back is given jobs before this: they must not see less than there was */
	*this_cpu_ptr(&pmu_info) = info;
}

const struct calm_pmu_info *calm_pmu_info(unsigned int cpu)
{
	return per_cpu_ptr(&pmu_info, cpu);
}

/* Gives events from @i to @end a counter each, trying again where a choice leads nowhere. */
static bool assign(struct calm_pmu_plan *plan, const struct calm_event *events, u32 i, u32 end,
		   u64 taken)
{
	unsigned long choices;
	unsigned int n;

	if (i == end)
		return true;
	if (plan->counter[i].fixed)
		return assign(plan, events, i + 1, end, taken);
	choices = plan->info->general & events[i].counters & ~taken;
	for_each_set_bit(n, &choices, CALM_PMU_GENERAL_MAX) {
		plan->counter[i].index = n;
		if (assign(plan, events, i + 1, end, taken | BIT_ULL(n)))
			return true;
	}
	return false;
}

static int take_fixed(struct calm_pmu_plan *plan, u32 index, u64 *taken, const char **why)
{
	if (!(plan->info->fixed & BIT_ULL(index)))
		return refuse(-ENOSPC, why, "the CPU has no such fixed counter");
	if (*taken & BIT_ULL(index))
		return refuse(-EINVAL, why, "a fixed counter is asked for twice");
	*taken |= BIT_ULL(index);
	return 0;
}

static u64 rdpmc_list(const struct calm_pmu_plan *plan)
{
	u64 list = 8ULL << (4 * plan->nr);
	u32 i;

	for (i = 0; i < plan->nr; i++)
		list |= ((u64)plan->counter[i].index | (plan->counter[i].fixed ? BIT_ULL(30) : 0))
			<< (4 * i);
	return list;
}

int calm_pmu_assign(struct calm_pmu_plan *plan, unsigned int cpu, const struct calm_event *events,
		    u32 nr, const char **why)
{
	u64 fixed = 0;
	u32 i;
	int err;

	*plan = (struct calm_pmu_plan){ .info = calm_pmu_info(cpu), .nr = nr };
	plan->list = rdpmc_list(plan);
	if (!nr)
		return 0;
	if (!plan->info->style)
		return refuse(-EOPNOTSUPP, why, "the CPU has no counters that can be used");
	for (i = 0; i < nr; i++) {
		plan->guilty = i;
		plan->counter[i].fixed = events[i].is_fixed;
		plan->counter[i].index = events[i].fixed;
		if (events[i].is_fixed) {
			err = take_fixed(plan, events[i].fixed, &fixed, why);
			if (err)
				return err;
			continue;
		}
		if (events[i].select & ~plan->info->selectable)
			return refuse(-EINVAL, why, "select has bits that are not the event's");
		plan->counter[i].select = events[i].select | SELECT_OS | SELECT_ENABLE;
	}
	for (plan->guilty = 0; plan->guilty < nr; plan->guilty++)
		if (!assign(plan, events, 0, plan->guilty + 1, 0))
			return refuse(-ENOSPC, why,
				      "not enough counters that can count these events");
	plan->list = rdpmc_list(plan);
	return 0;
}

static bool trace_runs(void)
{
	u64 value;

	if (!calm_msr_read(CALM_MSR_DEBUGCTL, &value) && value & DEBUGCTL_TRACES)
		return true;
	return cpuid_eax(0) >= 7 && cpuid_ebx(7) & CPUID7_EBX_PT &&
	       !calm_msr_read(CALM_MSR_RTIT_CTL, &value) && value & RTIT_TRACE_EN;
}

int calm_pmu_prepare(struct calm_pmu_plan *plan, const char **why)
{
	u64 capabilities = 0;
	u32 i;

	if (!plan->nr)
		return 0;
	if (plan->info->has_traces && trace_runs())
		return refuse(-EBUSY, why, "a branch or processor trace is running on the CPU");
	if (plan->info->has_capabilities)
		calm_msr_read(CALM_MSR_PERF_CAPABILITIES, &capabilities);
	plan->full_width = plan->info->style != CALM_PMU_INTEL || capabilities & BIT_ULL(13);
	plan->counter_msr = plan->info->style == CALM_PMU_INTEL && plan->full_width ?
		CALM_MSR_A_PMC0 : plan->info->counter;
	for (i = 0; i < plan->nr; i++)
		if (!can_rdpmc(&plan->counter[i]))
			return refuse(-EOPNOTSUPP, why, "reading a counter faults");
	return 0;
}

int calm_pmu_init(void)
{
	return register_nmi_handler(NMI_LOCAL, nmi, NMI_FLAG_FIRST, "calm");
}

void calm_pmu_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, "calm");
}
