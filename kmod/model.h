/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU is: its microarchitecture by vendor, family, model and core type. */
#ifndef CALM_MODEL_H
#define CALM_MODEL_H

#include <linux/types.h>

struct calm_prefetch_set;

/**
 * struct calm_model - a row of the table of models
 * @vendor: X86_VENDOR_*
 * @family: as the kernel counts it
 * @model_first: models of this row
 * @model_last: and the last of them
 * @core_type: CPUID 1AH EAX[31:24], 0 for parts that are not hybrid
 * @stepping_first: steppings of this row
 * @stepping_last: and the last of them
 * @name: microarchitecture, as tables of events name it
 * @prefetchers: what it has of those
 */
struct calm_model {
	u8 vendor;
	u8 family;
	u8 model_first;
	u8 model_last;
	u8 core_type;
	u8 stepping_first;
	u8 stepping_last;
	const char *name;
	const struct calm_prefetch_set *prefetchers;
};

/**
 * calm_model_probe() - find out what the calling CPU is
 *
 * Uses CPUID only.
 */
void calm_model_probe(void);

/**
 * calm_model_core_type() - what kind of core a CPU is
 * @cpu: CPU that was probed
 *
 * Return: CPUID 1AH EAX[31:24] on hybrid parts, else 0.
 */
u8 calm_model_core_type(unsigned int cpu);

/**
 * calm_model_scope_id() - which group of CPUs a CPU shares registers with
 * @cpu: CPU that was probed
 * @scope: enum calm_scope
 *
 * Return: a number that is the same for the CPUs of a group and for no other.
 */
u32 calm_model_scope_id(unsigned int cpu, u32 scope);

/**
 * calm_model_find() - look a CPU up
 * @cpu: CPU that was probed
 *
 * Return: its row, or NULL: such a CPU still measures.
 */
const struct calm_model *calm_model_find(unsigned int cpu);

#endif
