// SPDX-License-Identifier: GPL-2.0-only
/* Groups of CPUs that share prefetcher switches: saved, changed, read back and restored. */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <uapi/linux/calm.h>

#include "cpuid.h"
#include "model.h"
#include "msr.h"
#include "prefetch.h"

/*
 * A register has a stack of two changes: that of calm_prefetch_hold(), and on top
 * of it that of a run. Bits that neither has changed stay whatever others make of them.
 */
struct reg {
	u32 msr;
	u64 found;	/* bits in held and run, as they were before either */
	u64 held;	/* bits that hold has set */
	u64 value;	/* what it has set them to */
	u64 run;	/* bits that the run may change */
	u64 base;	/* what they were when it began */
};

/* CPUs that share registers. */
struct group {
	raw_spinlock_t lock;	/* guards reg; held with interrupts off, on a CPU of the group */
	const struct calm_prefetch_set *set;
	u32 id;
	u32 nr;
	struct reg reg[CALM_PREFETCH_MSRS_MAX];
};

/* What a job does to a group. */
struct member {
	struct group *group;
	u32 cpu;
	struct calm_prefetch_watch watch;
};

struct calm_prefetch_run {
	const struct calm_job_spec *spec;
	u32 nr;
	struct member members[];
};

/* Something to do on a CPU, with what came of it. */
struct op {
	struct group *group;
	int (*act)(struct op *op, struct reg *reg);
	const struct calm_prefetch_setting *setting;
	u32 nr_settings;
	u32 flags;
	u32 on;
	struct calm_prefetch_watch *watch;
	const struct reg *undo;	/* what act_undo() goes back to */
	bool all;		/* go on behind a register that fails */
	struct reg before[CALM_PREFETCH_MSRS_MAX];
	int err;
	u32 msr;
	const char *why;
};

static DEFINE_PER_CPU(const struct calm_prefetch_set *, sets);
static struct group *groups;
static u32 nr_groups;
static DEFINE_SPINLOCK(groups_lock);	/* guards that list, which only grows */

/* ---- what a CPU has ---- */

static bool has_leaf(u32 leaf)
{
	return cpuid_eax(leaf & 0x80000000) >= leaf;
}

void calm_prefetch_probe(void)
{
	const struct calm_model *model = calm_model_find(smp_processor_id());
	const struct calm_prefetch_set *set = model ? model->prefetchers : NULL;

	if (set && set->cpuid_leaf &&
	    !(has_leaf(set->cpuid_leaf) && cpuid_eax(set->cpuid_leaf) & BIT(set->cpuid_bit)))
		set = NULL;
	this_cpu_write(sets, set);
}

/* NULL where no switch is known, and for a CPU that was never online. */
static const struct calm_prefetch_set *set_of(unsigned int cpu)
{
	return per_cpu(sets, cpu);
}

int calm_prefetch_find(const char *name)
{
	const struct calm_prefetch_name *row;
	int id;

	for (id = 0; (row = calm_prefetch_name(id)); id++)
		if (!strcmp(row->name, name))
			return id;
	return -ENOENT;
}

bool calm_prefetch_shares(unsigned int a, unsigned int b)
{
	const struct calm_prefetch_set *set = set_of(a);

	return set && set == set_of(b) &&
	       calm_model_scope_id(a, set->scope) == calm_model_scope_id(b, set->scope);
}

static struct group *find_group(const struct calm_prefetch_set *set, u32 id)
{
	u32 i;

	for (i = 0; i < nr_groups; i++)
		if (groups[i].set->scope == set->scope && groups[i].id == id)
			return &groups[i];
	return NULL;
}

static void add_register(struct group *group, u32 msr)
{
	u32 i;

	for (i = 0; i < group->nr; i++)
		if (group->reg[i].msr == msr)
			return;
	group->reg[group->nr++].msr = msr;
}

/* There is room for as many groups as there can be CPUs. */
static struct group *add_group(const struct calm_prefetch_set *set, u32 id)
{
	struct group *group = &groups[nr_groups];
	u32 i;

	raw_spin_lock_init(&group->lock);
	group->set = set;
	group->id = id;
	for (i = 0; i < set->nr; i++)
		add_register(group, set->rows[i].msr);
	nr_groups++;
	return group;
}

static struct group *group_of(unsigned int cpu)
{
	const struct calm_prefetch_set *set = set_of(cpu);
	struct group *group;
	u32 id;

	if (!set)
		return NULL;
	id = calm_model_scope_id(cpu, set->scope);
	spin_lock(&groups_lock);
	group = find_group(set, id);
	if (!group)
		group = add_group(set, id);
	spin_unlock(&groups_lock);
	return group;
}

/* ---- settings into bits ---- */

/* What a setting wants of a prefetcher: enum calm_prefetch, 0 for nothing. */
static u32 wanted(const struct calm_prefetch_setting *setting, const struct calm_prefetcher *row,
		  u32 flags)
{
	if (setting->off & BIT(row->id))
		return CALM_PREFETCH_OFF;
	if (setting->on & BIT(row->id))
		return CALM_PREFETCH_ON;
	if (setting->found & BIT(row->id))
		return CALM_PREFETCH_FOUND;
	if (row->undocumented && !(flags & CALM_F_UNSAFE_PREFETCH) &&
	    setting->all != CALM_PREFETCH_FOUND)
		return 0;
	return setting->all;
}

/* The bits of a register that a setting turns to @state. Their value has the switch's polarity. */
static u64 bits_for(const struct op *op, const struct calm_prefetch_setting *setting,
		    const struct reg *reg, u32 state, u64 *value)
{
	const struct calm_prefetch_set *set = op->group->set;
	bool on = state == CALM_PREFETCH_ON;
	u64 mask = 0;
	u32 i;

	for (i = 0; i < set->nr; i++) {
		const struct calm_prefetcher *row = &set->rows[i];

		if (row->msr != reg->msr || wanted(setting, row, op->flags) != state)
			continue;
		mask |= BIT_ULL(row->bit);
		if (value && row->set_is_on == on)
			*value |= BIT_ULL(row->bit);
	}
	return mask;
}

static u64 bits_of(const struct op *op, const struct calm_prefetch_setting *setting,
		   const struct reg *reg, u64 *value)
{
	return bits_for(op, setting, reg, CALM_PREFETCH_OFF, value) |
	       bits_for(op, setting, reg, CALM_PREFETCH_ON, value);
}

static u64 merge(u64 old, u64 mask, u64 value)
{
	return (old & ~mask) | (value & mask);
}

/* ---- on a CPU of the group, with interrupts off ---- */

static int fault(struct op *op, const struct reg *reg, int err, const char *why)
{
	op->msr = reg->msr;
	op->why = why;
	return err;
}

static int read(struct op *op, const struct reg *reg, u64 *value)
{
	return calm_msr_read(reg->msr, value) ?
		fault(op, reg, -ENXIO, "reading the prefetchers' register faults") : 0;
}

/* Masked, read back, and undone if that does not show what was written. */
static int change(struct op *op, const struct reg *reg, u64 mask, u64 value)
{
	u64 old, new, back;
	int err = read(op, reg, &old);

	if (err)
		return err;
	new = merge(old, mask, value);
	if (new == old)
		return 0;
	if (calm_msr_write(reg->msr, new))
		return fault(op, reg, -ENXIO, "writing the prefetchers' register faults");
	err = read(op, reg, &back);
	if (!err && !((back ^ new) & mask))
		return 0;
	calm_msr_write(reg->msr, old);
	return err ?: fault(op, reg, -EIO, "the prefetchers' register did not keep a value");
}

/* Somebody else has changed what we hold. */
static int check_held(struct op *op, const struct reg *reg, u64 now)
{
	if (!((now ^ reg->value) & reg->held))
		return 0;
	return fault(op, reg, -EIO, "a prefetcher that calm had set was changed by somebody else");
}

static int act_begin(struct op *op, struct reg *reg)
{
	u64 now;
	u32 i;
	int err = read(op, reg, &now);

	if (!err)
		err = check_held(op, reg, now);
	if (err)
		return err;
	reg->run = 0;
	for (i = 0; i < op->nr_settings; i++)
		reg->run |= bits_of(op, &op->setting[i], reg, NULL);
	reg->found = merge(reg->found, reg->run & ~reg->held, now);
	reg->base = now & reg->run;
	return 0;
}

static int act_apply(struct op *op, struct reg *reg)
{
	u64 value = 0, mask = bits_of(op, op->setting, reg, &value);
	u32 i = op->watch->nr;

	if (mask & ~reg->run)
		return fault(op, reg, -ENODEV, "the CPU went offline");
	value = merge(reg->base, mask, value);
	op->watch->reg[i].msr = reg->msr;
	op->watch->reg[i].mask = reg->run;
	op->watch->reg[i].value = value;
	op->watch->nr++;
	return change(op, reg, reg->run, value);
}

static int act_end(struct op *op, struct reg *reg)
{
	u64 mask = reg->run;

	reg->run = 0;
	return mask ? change(op, reg, mask, reg->base) : 0;
}

/* What hold is going to change. */
static int act_find(struct op *op, struct reg *reg)
{
	u64 now, mask = bits_of(op, op->setting, reg, NULL) & ~reg->held;
	int err = mask ? read(op, reg, &now) : 0;

	if (mask && !err)
		reg->found = merge(reg->found, mask, now);
	return err;
}

static int act_hold(struct op *op, struct reg *reg)
{
	u64 now, value = 0, mask = bits_of(op, op->setting, reg, &value);
	u64 undo = bits_for(op, op->setting, reg, CALM_PREFETCH_FOUND, NULL) & reg->held;
	bool changed;
	int err;

	if (!(mask | undo))
		return 0;
	err = read(op, reg, &now);
	if (err)
		return err;
	changed = check_held(op, reg, now);
	if (changed && mask)
		return -EIO;
	err = change(op, reg, mask | undo, merge(value, undo, reg->found));
	if (err)
		return err;
	reg->held = (reg->held | mask) & ~undo;
	reg->value = merge(reg->value, mask, value);
	return 0;
}

/* What both changes together found, on the last CPU of a group or at the end of everything. */
static int act_restore(struct op *op, struct reg *reg)
{
	u64 mask = reg->held | reg->run;

	reg->held = 0;
	reg->run = 0;
	return mask ? change(op, reg, mask, reg->found) : 0;
}

/* Only what this hold has changed. */
static int act_undo(struct op *op, struct reg *reg)
{
	const struct reg *before = &op->undo[reg - op->group->reg];
	u64 mask = (reg->held ^ before->held) |
		   (reg->held & before->held & (reg->value ^ before->value));
	u64 value = merge(reg->found, before->held, before->value);

	*reg = *before;
	return mask ? change(op, reg, mask, value) : 0;
}

static int act_read(struct op *op, struct reg *reg)
{
	const struct calm_prefetch_set *set = op->group->set;
	u64 now;
	u32 i;
	int err = read(op, reg, &now);

	for (i = 0; !err && i < set->nr; i++) {
		const struct calm_prefetcher *row = &set->rows[i];

		if (row->msr == reg->msr && !(now & BIT_ULL(row->bit)) == !row->set_is_on)
			op->on |= BIT(i);
	}
	return err;
}

/* Up to the first register that fails; what puts back tries the others too. */
static void act_locked(struct op *op)
{
	struct group *group = op->group;
	u32 i;

	for (i = 0; i < group->nr; i++)
		op->before[i] = group->reg[i];
	for (i = 0; i < group->nr && (!op->err || op->all); i++) {
		int err = op->act(op, &group->reg[i]);

		op->err = op->err ?: err;
	}
}

static void act_here(void *arg)
{
	struct op *op = arg;
	unsigned long flags;

	raw_spin_lock_irqsave(&op->group->lock, flags);
	act_locked(op);
	raw_spin_unlock_irqrestore(&op->group->lock, flags);
}

/* ---- from everywhere ---- */

/* A CPU that is about to go is left to calm_prefetch_leave(). */
static bool reachable(unsigned int cpu)
{
	return cpu_online(cpu) && cpu_active(cpu);
}

static bool serves(unsigned int cpu, const struct group *group)
{
	return reachable(cpu) && set_of(cpu) == group->set &&
	       calm_model_scope_id(cpu, group->set->scope) == group->id;
}

static int find_cpu(const struct group *group, unsigned int first)
{
	unsigned int cpu;

	if (serves(first, group))
		return first;
	for_each_online_cpu(cpu)
		if (serves(cpu, group))
			return cpu;
	return -ENODEV;
}

static int act_on(struct op *op, unsigned int first, struct calm_prefetch_fault *fault)
{
	int cpu;

	cpus_read_lock();
	cpu = find_cpu(op->group, first);
	if (cpu < 0 || smp_call_function_single(cpu, act_here, op, true)) {
		op->err = -ENODEV;
		op->why = "the CPU went offline";
	}
	cpus_read_unlock();
	if (op->err)
		*fault = (struct calm_prefetch_fault){
			.why = op->why,
			.cpu = cpu < 0 ? first : cpu,
			.msr = op->msr,
		};
	return op->err;
}

static struct op run_op(struct calm_prefetch_run *run, const struct member *member,
			int (*act)(struct op *op, struct reg *reg))
{
	return (struct op){
		.group = member->group,
		.act = act,
		.setting = run->spec->settings,
		.nr_settings = run->spec->nr_settings,
		.flags = run->spec->flags,
	};
}

static struct member *find_member(struct calm_prefetch_run *run, const struct group *group)
{
	u32 i;

	for (i = 0; i < run->nr; i++)
		if (run->members[i].group == group)
			return &run->members[i];
	return NULL;
}

static struct calm_prefetch_run *alloc_run(const struct calm_job_spec *spec)
{
	struct calm_prefetch_run *run;
	u32 i;

	run = kvzalloc(struct_size(run, members, spec->nr_cpus), GFP_KERNEL);
	if (!run)
		return NULL;
	run->spec = spec;
	for (i = 0; i < spec->nr_cpus; i++) {
		struct group *group = group_of(spec->cpus[i]);

		if (group && !find_member(run, group))
			run->members[run->nr++] = (struct member){
				.group = group,
				.cpu = spec->cpus[i],
			};
	}
	return run;
}

static int no_memory(struct calm_prefetch_fault *fault)
{
	*fault = (struct calm_prefetch_fault){ .why = "no memory for the prefetchers' state" };
	return -ENOMEM;
}

int calm_prefetch_begin(const struct calm_job_spec *spec, struct calm_prefetch_run **run_out,
			struct calm_prefetch_fault *fault)
{
	struct calm_prefetch_run *run = alloc_run(spec);
	struct calm_prefetch_fault ignored;
	u32 i;
	int err = 0;

	if (!run)
		return no_memory(fault);
	for (i = 0; !err && i < run->nr; i++) {
		struct op op = run_op(run, &run->members[i], act_begin);

		err = act_on(&op, run->members[i].cpu, fault);
	}
	if (err) {
		calm_prefetch_end(run, &ignored);
		return err;
	}
	*run_out = run;
	return 0;
}

int calm_prefetch_apply(struct calm_prefetch_run *run, u32 index,
			struct calm_prefetch_fault *fault)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < run->nr; i++) {
		struct member *member = &run->members[i];
		struct op op = run_op(run, member, act_apply);

		member->watch.nr = 0;
		op.setting += index;
		op.watch = &member->watch;
		err = act_on(&op, member->cpu, fault);
	}
	return err;
}

const struct calm_prefetch_watch *calm_prefetch_watch(struct calm_prefetch_run *run,
						      unsigned int cpu)
{
	return &find_member(run, group_of(cpu))->watch;
}

bool calm_prefetch_changed(const struct calm_prefetch_watch *watch)
{
	u64 now;
	u32 i;

	for (i = 0; i < watch->nr; i++)
		if (watch->reg[i].mask &&
		    (calm_msr_read(watch->reg[i].msr, &now) ||
		     (now ^ watch->reg[i].value) & watch->reg[i].mask))
			return true;
	return false;
}

/* A group whose last CPU went was restored then. */
int calm_prefetch_end(struct calm_prefetch_run *run, struct calm_prefetch_fault *fault)
{
	struct calm_prefetch_fault one;
	u32 i;
	int err = 0;

	for (i = 0; run && i < run->nr; i++) {
		struct op op = run_op(run, &run->members[i], act_end);
		int gone;

		op.all = true;
		gone = act_on(&op, run->members[i].cpu, &one);
		if (gone && gone != -ENODEV && !err) {
			err = gone;
			*fault = one;
		}
	}
	kvfree(run);
	return err;
}

static void undo_hold(struct calm_prefetch_run *run, const struct op *done, u32 nr)
{
	struct calm_prefetch_fault ignored;

	while (nr--) {
		struct op op = {
			.group = done[nr].group,
			.act = act_undo,
			.undo = done[nr].before,
			.all = true,
		};

		/* a CPU that was gone has nothing to go back to */
		if (done[nr].err != -ENODEV)
			act_on(&op, run->members[nr].cpu, &ignored);
	}
}

static int find_all(struct calm_prefetch_run *run, struct calm_prefetch_fault *fault)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < run->nr; i++) {
		struct op op = run_op(run, &run->members[i], act_find);

		err = act_on(&op, run->members[i].cpu, fault);
	}
	return err;
}

/*
 * What is there is read everywhere before it is changed anywhere. A switch may be shared more
 * widely than the table has it, as that of l2-adjacent on Core 2, which both cores of a die share
 * (Intel SDM vol. 4, MSRs of the Core 2 processors, 1A0H, bit 19): a second group would take for
 * found what the first has set.
 */
int calm_prefetch_hold(const struct calm_job_spec *spec, struct calm_prefetch_fault *fault)
{
	struct calm_prefetch_run *run = alloc_run(spec);
	struct op *done = run ? kvcalloc(run->nr ?: 1, sizeof(*done), GFP_KERNEL) : NULL;
	u32 i;
	int err = 0;

	if (!done) {
		kvfree(run);
		return no_memory(fault);
	}
	err = find_all(run, fault);
	for (i = 0; !err && i < run->nr; i++) {
		done[i] = run_op(run, &run->members[i], act_hold);
		err = act_on(&done[i], run->members[i].cpu, fault);
	}
	if (err)
		undo_hold(run, done, i);
	kvfree(done);
	kvfree(run);
	return err;
}

bool calm_prefetch_read(unsigned int cpu, struct calm_prefetch_state *state)
{
	struct calm_prefetch_fault ignored;
	struct op op = { .group = group_of(cpu), .act = act_read };
	u32 i, j;

	if (!op.group)
		return false;
	*state = (struct calm_prefetch_state){ .set = op.group->set };
	state->err = act_on(&op, cpu, &ignored);
	state->on = op.on;
	for (i = 0; i < op.group->set->nr; i++)
		for (j = 0; j < op.group->nr; j++)
			if (op.before[j].msr == op.group->set->rows[i].msr &&
			    op.before[j].held & BIT_ULL(op.group->set->rows[i].bit))
				state->held |= BIT(i);
	return true;
}

static bool other_active(unsigned int cpu)
{
	unsigned int other;

	for_each_online_cpu(other)
		if (other != cpu && cpu_active(other) && calm_prefetch_shares(cpu, other))
			return true;
	return false;
}

void calm_prefetch_leave(unsigned int cpu)
{
	struct op op = { .group = group_of(cpu), .act = act_restore, .all = true };

	if (op.group && !other_active(cpu))
		act_here(&op);
}

/* One that is added meanwhile, by who reads the state, has nothing to put back. */
static u32 count_groups(void)
{
	u32 nr;

	spin_lock(&groups_lock);
	nr = nr_groups;
	spin_unlock(&groups_lock);
	return nr;
}

void calm_prefetch_restore_all(void)
{
	struct calm_prefetch_fault fault;
	u32 i, nr = count_groups();

	for (i = 0; i < nr; i++) {
		struct op op = { .group = &groups[i], .act = act_restore, .all = true };
		int err = act_on(&op, 0, &fault);

		if (err && err != -ENODEV)
			pr_err("calm: %s: MSR %#x on CPU %u\n", fault.why, fault.msr, fault.cpu);
	}
}

/* ---- what is asked for ---- */

static int refuse(struct calm_prefetch_fault *fault, u32 cpu, int err, const char *why)
{
	*fault = (struct calm_prefetch_fault){ .why = why, .cpu = cpu };
	return err;
}

static u32 documented(const struct calm_prefetch_set *set, u32 flags)
{
	u32 i, mask = 0;

	for (i = 0; i < set->nr; i++)
		if (!set->rows[i].undocumented || flags & CALM_F_UNSAFE_PREFETCH)
			mask |= BIT(set->rows[i].id);
	return mask;
}

static u32 all_of(const struct calm_prefetch_set *set)
{
	return documented(set, CALM_F_UNSAFE_PREFETCH);
}

static int check_setting(const struct calm_prefetch_set *set, unsigned int cpu, u32 flags,
			 const struct calm_prefetch_setting *setting,
			 struct calm_prefetch_fault *fault)
{
	u32 named = setting->off | setting->on | setting->found;
	u32 allowed = documented(set, flags);

	if (named & ~all_of(set))
		return refuse(fault, cpu, -ENOENT, "the CPU has no prefetcher of that name");
	if ((setting->off | setting->on) & ~allowed)
		return refuse(fault, cpu, -EOPNOTSUPP,
			      "the prefetcher's switch is undocumented; unsafe-prefetch allows it");
	if (!allowed && setting->all && setting->all != CALM_PREFETCH_FOUND)
		return refuse(fault, cpu, -EOPNOTSUPP,
			      "no prefetcher switch is documented for this processor");
	return 0;
}

int calm_prefetch_check(const struct calm_job_spec *spec, struct calm_prefetch_fault *fault)
{
	u32 i, j;
	int err = 0;

	for (i = 0; i < spec->nr_cpus; i++) {
		u32 cpu = spec->cpus[i];
		const struct calm_prefetch_set *set = set_of(cpu);

		if (!set && spec->nr_settings)
			return refuse(fault, cpu, -EOPNOTSUPP,
				      "no prefetcher switch is documented for this processor");
		for (j = 0; !err && j < spec->nr_settings; j++)
			err = check_setting(set, cpu, spec->flags, &spec->settings[j], fault);
	}
	return err;
}

int calm_prefetch_init(void)
{
	BUILD_BUG_ON(CALM_PREFETCH_MSRS_MAX < 3);
	groups = kvcalloc(nr_cpu_ids, sizeof(*groups), GFP_KERNEL);
	return groups ? 0 : -ENOMEM;
}

void calm_prefetch_exit(void)
{
	kvfree(groups);
}
