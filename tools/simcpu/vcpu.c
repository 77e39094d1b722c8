// SPDX-License-Identifier: GPL-2.0-only
/* Registers of a vCPU by the plugin API. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vcpu.h"

struct qemu_plugin_scoreboard *vcpu_scores;
unsigned int vcpu_count;

struct vcpu *vcpus[VCPU_MAX];

static const struct {
	const char *name;
	size_t offset;
} reg_names[] = {
	{ "rax", offsetof(struct vcpu, general[0]) },
	{ "rcx", offsetof(struct vcpu, general[1]) },
	{ "rdx", offsetof(struct vcpu, general[2]) },
	{ "rbx", offsetof(struct vcpu, general[3]) },
	{ "rsp", offsetof(struct vcpu, general[4]) },
	{ "rbp", offsetof(struct vcpu, general[5]) },
	{ "rsi", offsetof(struct vcpu, general[6]) },
	{ "rdi", offsetof(struct vcpu, general[7]) },
	{ "r8", offsetof(struct vcpu, general[8]) },
	{ "r9", offsetof(struct vcpu, general[9]) },
	{ "r10", offsetof(struct vcpu, general[10]) },
	{ "r11", offsetof(struct vcpu, general[11]) },
	{ "r12", offsetof(struct vcpu, general[12]) },
	{ "r13", offsetof(struct vcpu, general[13]) },
	{ "r14", offsetof(struct vcpu, general[14]) },
	{ "r15", offsetof(struct vcpu, general[15]) },
	{ "eflags", offsetof(struct vcpu, eflags) },
	{ "fs_base", offsetof(struct vcpu, fs_base) },
	{ "gs_base", offsetof(struct vcpu, gs_base) },
	{ "cr4", offsetof(struct vcpu, cr4) },
};

static struct qemu_plugin_register *find_register(const GArray *regs, const char *name)
{
	const struct qemu_plugin_reg_descriptor *reg = (const void *)regs->data;

	for (unsigned int i = 0; i < regs->len; i++)
		if (!strcmp(reg[i].name, name))
			return reg[i].handle;
	fprintf(stderr, "simcpu: this QEMU has no register %s\n", name);
	return NULL;
}

static bool find_registers(struct vcpu *v)
{
	GArray *regs = qemu_plugin_get_registers();
	bool found = true;

	for (size_t i = 0; i < sizeof(reg_names) / sizeof(reg_names[0]); i++) {
		struct qemu_plugin_register **handle = (void *)((char *)v + reg_names[i].offset);

		*handle = find_register(regs, reg_names[i].name);
		found &= !!*handle;
	}
	g_array_free(regs, true);
	return found;
}

/*
 * QEMU may move the entries when it adds a vCPU, and does so before it calls back for that one. All
 * are there before the guest wakes the second one, let alone runs a module.
 */
static void find_scores(void)
{
	for (unsigned int i = 0; i < vcpu_count; i++)
		if (vcpus[i])
			vcpus[i]->score = qemu_plugin_scoreboard_find(vcpu_scores, i);
}

struct vcpu *vcpu_new(unsigned int index, struct sim_cpu *sim)
{
	struct vcpu *v;

	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->index = index;
	v->sim = sim;
	v->generation = PAGE_GENERATION;
	v->buf = g_byte_array_new();
	if (!find_registers(v)) {
		free(v);
		return NULL;
	}
	vcpus[index] = v;
	find_scores();
	return v;
}

uint64_t vcpu_read(struct vcpu *v, struct qemu_plugin_register *reg)
{
	uint64_t value = 0;

	/* QEMU appends to the array */
	g_byte_array_set_size(v->buf, 0);
	if (qemu_plugin_read_register(reg, v->buf))
		memcpy(&value, v->buf->data, v->buf->len < 8 ? v->buf->len : 8);
	return value;
}

static void write_bytes(struct vcpu *v, struct qemu_plugin_register *reg, const void *value,
			unsigned int len)
{
	g_byte_array_set_size(v->buf, len);
	memcpy(v->buf->data, value, len);
	qemu_plugin_write_register(reg, v->buf);
}

void vcpu_write(struct vcpu *v, struct qemu_plugin_register *reg, uint64_t value)
{
	write_bytes(v, reg, &value, sizeof(value));
}

void vcpu_write_eflags(struct vcpu *v, uint32_t value)
{
	write_bytes(v, v->eflags, &value, sizeof(value));
}
