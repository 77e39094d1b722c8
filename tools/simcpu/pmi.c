// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts on overflow, and by a script. A plugin cannot raise one, but it can write to the
 * guest's devices: the vCPU's own local APIC is made to send itself an NMI, on overflow if its LVT
 * entry for performance counters says so, and that comes behind the block of instructions in which
 * it happened.
 */
#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "pmi.h"
#include "sim.h"
#include "vcpu.h"

#define PMI_ALARM (1ULL << 63)

/* Local APIC outside x2APIC mode; SDM vol. 3, "Advanced programmable interrupt controller" */
#define APIC_ICR 0xfee00300
#define APIC_LVTPC 0xfee00340
#define LVT_MODE 0x700
#define LVT_MASKED 0x10000
#define MODE_NMI 0x400
#define ICR_ASSERT 0x4000
#define ICR_SELF 0x40000

static struct {
	bool wanted;
	bool masks;
} pmi;

void pmi_init(const struct sim_machine *machine)
{
	pmi.wanted = sim_pmi_wanted(machine);
	pmi.masks = sim_pmi_masks(machine);
}

static uint32_t apic_read(struct vcpu *v, uint64_t reg)
{
	uint32_t value = LVT_MASKED;

	g_byte_array_set_size(v->buf, 0);
	if (!qemu_plugin_read_memory_hwaddr(reg, v->buf, sizeof(value)))
		memcpy(&value, v->buf->data, sizeof(value));
	return value;
}

static void apic_write(struct vcpu *v, uint64_t reg, uint32_t value)
{
	g_byte_array_set_size(v->buf, sizeof(value));
	memcpy(v->buf->data, &value, sizeof(value));
	if (qemu_plugin_write_memory_hwaddr(reg, v->buf))
		fprintf(stderr, "simcpu: no local APIC at %#lx\n", reg);
}

static void raise_nmi(struct vcpu *v)
{
	apic_write(v, APIC_ICR, MODE_NMI | ICR_ASSERT | ICR_SELF);
}

static void deliver(struct vcpu *v)
{
	uint32_t entry = apic_read(v, APIC_LVTPC);

	if (entry & LVT_MASKED || (entry & LVT_MODE) != MODE_NMI)
		return;
	if (pmi.masks)
		apic_write(v, APIC_LVTPC, entry | LVT_MASKED);
	raise_nmi(v);
}

static void look(struct vcpu *v)
{
	uint64_t distance = sim_pmu_distance(v->sim);

	if (!distance) {
		if (sim_pmu_interrupt(v->sim))
			deliver(v);
		distance = sim_pmu_distance(v->sim);
	}
	v->score->alarm = distance < PMI_ALARM ? PMI_ALARM - distance : 0;
}

static void block_start(unsigned int cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	sim_cpu_user_instructions(v->sim, v->score->user_insns);
	sim_cpu_instructions(v->sim, v->score->insns);
	look(v);
}

/*
 * Of all other code only blocks that end by something else than a jump forward look at the alarm:
 * there is one of them on each way round a loop, and the callback is what costs most of a boot.
 */
static bool looks(struct qemu_plugin_tb *tb, size_t n)
{
	uint8_t bytes[SIM_INSN_BYTES_MAX];
	size_t length = qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, n - 1), bytes,
					      sizeof(bytes));

	return !sim_jumps_forward(bytes, length);
}

void pmi_block(struct qemu_plugin_tb *tb, size_t n, bool module)
{
	struct qemu_plugin_u64 alarm = { vcpu_scores, offsetof(struct score, alarm) };

	if (!pmi.wanted)
		return;
	if (module || looks(tb, n))
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, block_start, QEMU_PLUGIN_CB_R_REGS,
							  module ? QEMU_PLUGIN_COND_ALWAYS :
								   QEMU_PLUGIN_COND_GE,
							  alarm, PMI_ALARM, NULL);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, alarm, n);
}

void pmi_written(struct vcpu *v)
{
	if (pmi.wanted)
		look(v);
}

void pmi_scripted(struct vcpu *v)
{
	if (sim_cpu_take_nmi(v->sim))
		raise_nmi(v);
}
