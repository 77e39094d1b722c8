// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answering rdmsr, wrmsr, rdpmc, rdtsc, rdtscp and cpuid of kernel code from the model: QEMU
 * executes the instruction natively, then the registers are put right.
 *
 * The answer cannot be given by skipping the instruction: x86 TCG keeps the arithmetic flags
 * unevaluated and does not store their state before a callback inside a block, so that leaving the
 * block there (qemu_plugin_set_pc) spoils EFLAGS. At the start of a block that state is stored.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "intercept.h"
#include "landing.h"
#include "pmi.h"
#include "sim.h"
#include "vcpu.h"

/* why the next block of a vCPU must call block_start() */
#define PENDING_RDPMC 1
#define PENDING_FIXUP 2

/* EFLAGS bits that TCG keeps outside the eflags register, and RF */
#define EFLAGS_ELSEWHERE 0x10cd5
#define EFLAGS_ALWAYS 0x2

#define CALL_INSNS 32

/* reads and writes of this MSR raise #GP unless x2APIC is on (SDM vol. 3, 11.12.1.2) */
#define MSR_FAULTING 0x8ff

/* vectors, and where Linux maps the IDT for all CPUs (CPU_ENTRY_AREA_RO_IDT) */
#define VECTOR_UD 6
#define VECTOR_GP 13
#define IDT_BASE 0xfffffe0000000000

/* what the processor pushes for an exception without an error code */
struct frame {
	uint64_t rip, cs, rflags, rsp, ss;
};

/*
 * Fix-ups whose instruction was the last of its block: the task may be on another vCPU when it
 * goes on, so all vCPUs look here. Such places are rare, and a task waits at one at a time.
 */
static struct {
	pthread_mutex_t lock;
	struct fixup fixup[64];
	unsigned int count;
} late = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * A site is passed to callbacks as the address of the next instruction, whose upper 16 bits are
 * all ones in kernel code, with {operation, length, last of its block} in those bits: QEMU
 * translates blocks again and again, so that memory per site would leak.
 */
static void *pack(uint64_t next_pc, enum sim_op op, unsigned int length, bool last)
{
	uint64_t tag = op | length << 8 | (uint64_t)last << 12;

	return (void *)(next_pc << 16 >> 16 | tag << 48);
}

static uint64_t packed_pc(const void *data)
{
	return (uint64_t)data | 0xffffULL << 48;
}

static unsigned int packed_tag(const void *data)
{
	return (uint64_t)data >> 48;
}

static void set_pending(struct vcpu *v, uint64_t bit)
{
	__atomic_fetch_or(&v->score->pending, bit, __ATOMIC_RELAXED);
}

static void clear_pending(struct vcpu *v, uint64_t bit)
{
	__atomic_fetch_and(&v->score->pending, ~bit, __ATOMIC_RELAXED);
}

static void push_late(const struct fixup *fixup)
{
	pthread_mutex_lock(&late.lock);
	if (late.count == sizeof(late.fixup) / sizeof(late.fixup[0])) {
		fprintf(stderr, "simcpu: too many answers wait for their task\n");
		late.count--;
	}
	late.fixup[late.count++] = *fixup;
	for (unsigned int cpu = 0; cpu < vcpu_count; cpu++)
		if (vcpu_get(cpu))
			set_pending(vcpu_get(cpu), PENDING_FIXUP);
	pthread_mutex_unlock(&late.lock);
}

static bool pop_late(uint64_t pc, uint64_t rsp, struct fixup *fixup)
{
	bool found = false;

	pthread_mutex_lock(&late.lock);
	for (unsigned int i = late.count; i-- > 0 && !found;) {
		if (late.fixup[i].pc != pc || late.fixup[i].rsp != rsp)
			continue;
		*fixup = late.fixup[i];
		late.fixup[i] = late.fixup[--late.count];
		found = true;
	}
	for (unsigned int cpu = 0; cpu < vcpu_count && !late.count; cpu++)
		if (vcpu_get(cpu))
			clear_pending(vcpu_get(cpu), PENDING_FIXUP);
	pthread_mutex_unlock(&late.lock);
	return found;
}

static void apply_cpuid(struct vcpu *v, const struct fixup *fixup)
{
	static const unsigned int number[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX };
	uint32_t regs[4];

	for (int i = 0; i < 4; i++)
		regs[i] = vcpu_reg(v, number[i]);
	if (!sim_cpuid(v->sim, fixup->leaf, fixup->subleaf, regs))
		return;
	for (int i = 0; i < 4; i++)
		vcpu_set_reg(v, number[i], regs[i]);
}

static void apply(struct vcpu *v, const struct fixup *fixup)
{
	if (fixup->cpuid) {
		apply_cpuid(v, fixup);
		return;
	}
	vcpu_set_reg(v, REG_RAX, (uint32_t)fixup->value);
	vcpu_set_reg(v, REG_RDX, fixup->value >> 32);
}

static void settle(struct vcpu *v)
{
	sim_cpu_user_instructions(v->sim, v->score->user_insns);
	sim_cpu_instructions(v->sim, v->score->insns);
}

static uint64_t wrmsr_value(struct vcpu *v)
{
	return (uint32_t)vcpu_reg(v, REG_RAX) | vcpu_reg(v, REG_RDX) << 32;
}

/* make QEMU raise #GP at this instruction; intercept_discon() puts rcx back */
static void raise_gp(struct vcpu *v, uint64_t pc)
{
	v->gp_pc = pc;
	v->gp_rcx = vcpu_reg(v, REG_RCX);
	vcpu_set_reg(v, REG_RCX, MSR_FAULTING);
}

static void begin_rdpmc(struct vcpu *v, uint64_t pc, unsigned int length)
{
	struct rdpmc *r;

	if (v->rdpmcs == RDPMC_DEPTH) {
		fprintf(stderr, "simcpu: too many rdpmc inside each other\n");
		v->rdpmcs--;
	}
	r = &v->rdpmc[v->rdpmcs++];
	*r = (struct rdpmc){ .pc = pc, .length = length };
	r->fault = sim_rdpmc(v->sim, vcpu_reg(v, REG_RCX), &r->value) == SIM_MSR_GP;
	set_pending(v, PENDING_RDPMC);
}

/*
 * Whether a module wants it. Where the kernel can be Xen's guest, a module's rdmsr is a call of a
 * function of the kernel: the return address that the call stores tells so. From the call to the
 * instruction it is less than CALL_INSNS in all kernels that were tried.
 */
static bool of_module(const struct vcpu *v, uint64_t pc)
{
	return in_module(pc) ||
	       (v->module_store && v->score->insns - v->module_store < CALL_INSNS);
}

/* work out the answer of one instruction; true if registers are to be put right afterwards */
static bool answer(struct vcpu *v, enum sim_op op, uint64_t pc, unsigned int length,
		   struct fixup *fixup)
{
	enum sim_msr_result result;

	settle(v);
	switch (op) {
	case SIM_OP_RDMSR:
		sim_cpu_of_module(v->sim, of_module(v, pc));
		result = sim_msr_read(v->sim, vcpu_reg(v, REG_RCX), &fixup->value);
		if (result == SIM_MSR_GP)
			raise_gp(v, pc);
		return result == SIM_MSR_HANDLED;
	case SIM_OP_WRMSR:
		sim_cpu_serialize(v->sim, v->score->insns);
		/* QEMU ignores writes to MSRs that it does not know */
		if (sim_msr_write(v->sim, vcpu_reg(v, REG_RCX), wrmsr_value(v)) == SIM_MSR_GP)
			raise_gp(v, pc);
		pmi_written(v);
		return false;
	case SIM_OP_RDPMC:
		begin_rdpmc(v, pc, length);
		return false;
	case SIM_OP_RDTSCP:
	case SIM_OP_RDTSC:
		fixup->value = sim_tsc(v->sim);
		return true;
	default:	/* SIM_OP_CPUID */
		sim_cpu_serialize(v->sim, v->score->insns);
		fixup->leaf = vcpu_reg(v, REG_RAX);
		fixup->subleaf = vcpu_reg(v, REG_RCX);
		fixup->cpuid = true;
		return true;
	}
}

static void before(unsigned int cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	struct fixup fixup = { .pc = packed_pc(data), .armed = true };
	unsigned int tag = packed_tag(data), length = tag >> 8 & 0xf;
	const bool answered = answer(v, tag & 0xff, fixup.pc - length, length, &fixup);

	pmi_scripted(v);
	if (!answered)
		return;
	if (tag >> 12 & 1) {
		fixup.rsp = vcpu_reg(v, REG_RSP);
		push_late(&fixup);
	} else {
		v->fixup = fixup;
	}
}

static void after(unsigned int cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (!v->fixup.armed)
		return;
	v->fixup.armed = false;
	if (v->fixup.pc == (uint64_t)data)
		apply(v, &v->fixup);
}

static uint64_t gate_offset(struct vcpu *v, unsigned int vector)
{
	uint16_t gate[8];

	g_byte_array_set_size(v->buf, 0);
	if (!qemu_plugin_read_memory_vaddr(IDT_BASE + 16 * vector, v->buf, sizeof(gate)))
		return 0;
	memcpy(gate, v->buf->data, sizeof(gate));
	return gate[0] | (uint64_t)gate[3] << 16 | (uint64_t)gate[4] << 32 |
	       (uint64_t)gate[5] << 48;
}

/* turn the entry of the #UD handler at @rsp into the entry of the #GP handler with error code 0 */
static void enter_gp(struct vcpu *v, const struct rdpmc *r, uint64_t rsp)
{
	static const uint64_t error_code;
	uint64_t handler = gate_offset(v, VECTOR_GP);

	/* this is the right table if its #UD gate leads where QEMU has just gone */
	if (!handler || gate_offset(v, VECTOR_UD) != r->handler) {
		fprintf(stderr, "simcpu: no IDT at %#lx: bad rdpmc becomes #UD\n", IDT_BASE);
		return;
	}
	rsp -= sizeof(error_code);
	g_byte_array_set_size(v->buf, sizeof(error_code));
	memcpy(v->buf->data, &error_code, sizeof(error_code));
	qemu_plugin_write_memory_vaddr(rsp, v->buf);
	vcpu_set_reg(v, REG_RSP, rsp);
	if (in_module(r->pc))
		sim_cpu_exception(v->sim);
	qemu_plugin_set_pc(handler);
}

/* at the entry of the #UD handler: go back behind the rdpmc, with its answer */
static void finish_rdpmc(struct vcpu *v)
{
	const struct rdpmc r = v->rdpmc[v->rdpmcs - 1];
	uint64_t rsp = vcpu_reg(v, REG_RSP);
	struct frame frame;

	g_byte_array_set_size(v->buf, 0);
	if (qemu_plugin_read_memory_vaddr(rsp, v->buf, sizeof(frame)))
		memcpy(&frame, v->buf->data, sizeof(frame));
	else
		frame.rip = 0;
	v->rdpmcs--;
	if (!v->rdpmcs)
		clear_pending(v, PENDING_RDPMC);
	if (frame.rip != r.pc) {
		fprintf(stderr, "simcpu: #UD frame of %#lx where %#lx was expected\n", frame.rip,
			r.pc);
		return;
	}
	if (r.fault) {
		enter_gp(v, &r, rsp);
		return;
	}
	vcpu_set_reg(v, REG_RSP, frame.rsp);
	vcpu_write_eflags(v, (frame.rflags & ~EFLAGS_ELSEWHERE) | EFLAGS_ALWAYS);
	vcpu_set_reg(v, REG_RAX, (uint32_t)r.value);
	vcpu_set_reg(v, REG_RDX, r.value >> 32);
	qemu_plugin_set_pc(frame.rip + r.length);
}

static void block_start(unsigned int cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t pc = (uint64_t)data;
	struct fixup fixup;

	if (v->rdpmcs && v->rdpmc[v->rdpmcs - 1].handler == pc)
		finish_rdpmc(v);
	if (pop_late(pc, vcpu_reg(v, REG_RSP), &fixup))
		apply(v, &fixup);
}

/* the rdpmc that began last, if @from is where it stands and its #UD is still to be delivered */
static struct rdpmc *rdpmc_at(struct vcpu *v, uint64_t from)
{
	struct rdpmc *r = v->rdpmcs ? &v->rdpmc[v->rdpmcs - 1] : NULL;

	return r && r->pc == from && !r->handler ? r : NULL;
}

void intercept_discon(unsigned int cpu, int type, uint64_t from, uint64_t to, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	struct rdpmc *r;
	bool delivery;

	(void)data;
	if (!v)
		return;
	if (type == QEMU_PLUGIN_DISCON_INTERRUPT && in_kernel(to))
		landing_add(to);
	v->module_store = 0;
	/* QEMU reports an exception twice: as such, then its delivery like an interrupt's */
	delivery = type == QEMU_PLUGIN_DISCON_INTERRUPT && from == v->exception_from;
	v->exception_from = type == QEMU_PLUGIN_DISCON_EXCEPTION ? from : 0;
	if (v->gp_pc && v->gp_pc == from) {
		vcpu_set_reg(v, REG_RCX, v->gp_rcx);
		v->gp_pc = 0;
	}
	r = rdpmc_at(v, from);
	if (r) {
		if (delivery)
			r->handler = to;
		return;
	}
	if (type == QEMU_PLUGIN_DISCON_EXCEPTION)
		v->fixup.armed = false;
	if (!in_module(from) || delivery)
		return;
	/* what is left of the block is not executed now */
	sim_block_leave(v->sim, v->score->insns);
	if (type == QEMU_PLUGIN_DISCON_EXCEPTION)
		sim_cpu_exception(v->sim);
	else
		sim_cpu_interrupt(v->sim);
}

bool intercept_wants(enum sim_op op, uint64_t vaddr)
{
	switch (op) {
	case SIM_OP_RDMSR:
	case SIM_OP_WRMSR:
	case SIM_OP_RDPMC:
	case SIM_OP_CPUID:
		return in_kernel(vaddr);
	case SIM_OP_RDTSC:
	case SIM_OP_RDTSCP:
		/* the kernel keeps QEMU's own clock, by which QEMU's timers run */
		return in_module(vaddr);
	default:
		return false;
	}
}

/* registers are put right behind it; rdpmc has its #UD for that */
static bool has_answer(enum sim_op op)
{
	return op != SIM_OP_WRMSR && op != SIM_OP_RDPMC;
}

void intercept_insn(struct qemu_plugin_insn *insn, enum sim_op op, struct qemu_plugin_insn *next)
{
	unsigned int length = qemu_plugin_insn_size(insn);
	uint64_t next_pc = qemu_plugin_insn_vaddr(insn) + length;

	if (!next && has_answer(op))
		landing_add(next_pc);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, before, QEMU_PLUGIN_CB_RW_REGS,
					       pack(next_pc, op, length, !next));
	if (next && has_answer(op))
		qemu_plugin_register_vcpu_insn_exec_cb(next, after, QEMU_PLUGIN_CB_RW_REGS,
						       (void *)next_pc);
}

void intercept_block(struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_u64 pending = { vcpu_scores, offsetof(struct score, pending) };

	if (!landing_at(qemu_plugin_tb_vaddr(tb)))
		return;
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, block_start, QEMU_PLUGIN_CB_RW_REGS_PC,
						  QEMU_PLUGIN_COND_NE, pending, 0,
						  (void *)qemu_plugin_tb_vaddr(tb));
}
