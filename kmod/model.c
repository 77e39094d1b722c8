// SPDX-License-Identifier: GPL-2.0-only
/* The table of CPU models; a new CPU is a new row. */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <asm/cpufeature.h>
#include <uapi/linux/calm.h>

#include "cpuid.h"
#include "model.h"
#include "prefetch_table.h"

#define CORE 0x40	/* CPUID 1AH EAX[31:24] */
#define ATOM 0x20

#define TOPOLOGY_EXTENSIONS BIT(22)	/* CPUID 8000_0001 ECX */

#define INTEL_STEPPINGS(model, first, last, name, set) \
	{ X86_VENDOR_INTEL, 6, model, model, 0, first, last, name, &calm_prefetch_##set }
#define INTEL(model, name, set) INTEL_STEPPINGS(model, 0, 255, name, set)
#define INTEL_HYBRID(model, core, core_set, atom, atom_set) \
	{ X86_VENDOR_INTEL, 6, model, model, CORE, 0, 255, core, &calm_prefetch_##core_set }, \
	{ X86_VENDOR_INTEL, 6, model, model, ATOM, 0, 255, atom, &calm_prefetch_##atom_set }
/* One that says it is not hybrid has performance cores only: adl_get_hybrid_cpu_type(), below. */
#define INTEL_OR_HYBRID(model, core, core_set, atom, atom_set) \
	INTEL(model, core, core_set), \
	INTEL_HYBRID(model, core, core_set, atom, atom_set)
#define AMD(family, first, last, name, set) \
	{ X86_VENDOR_AMD, family, first, last, 0, 0, 255, name, &calm_prefetch_##set }

/*
 * Intel: mapfile.csv of github.com/intel/perfmon, and for what is older than Haswell
 * arch/x86/include/asm/intel-family.h of Linux 6.12. Alder and Raptor Lake that are not hybrid:
 * arch/x86/events/intel/core.c of it. AMD: bsp_init_amd() in Linux 6.12,
 * arch/x86/kernel/cpu/amd.c.
 */
static const struct calm_model models[] = {
	INTEL(0x0f, "Core 2", core2),
	INTEL(0x17, "Core 2", core2),
	INTEL(0x1d, "Core 2", core2),
	INTEL(0x1a, "Nehalem", intel),
	INTEL(0x1e, "Nehalem", intel),
	INTEL(0x1f, "Nehalem", intel),
	INTEL(0x2e, "Nehalem", intel),
	INTEL(0x25, "Westmere", intel),
	INTEL(0x2c, "Westmere", intel),
	INTEL(0x2f, "Westmere", intel),
	INTEL(0x2a, "SandyBridge", intel),
	INTEL(0x2d, "SandyBridge", intel),
	INTEL(0x3a, "IvyBridge", intel),
	INTEL(0x3e, "IvyBridge", intel),
	INTEL(0x37, "Silvermont", silvermont),
	INTEL(0x4a, "Silvermont", silvermont),
	INTEL(0x4c, "Airmont", silvermont),
	INTEL(0x4d, "Silvermont", silvermont),
	INTEL(0x5a, "Silvermont", silvermont),
	INTEL(0x5c, "Goldmont", silvermont),
	INTEL(0x5f, "Goldmont", silvermont),
	INTEL(0x7a, "GoldmontPlus", silvermont),
	INTEL(0x86, "Tremont", tremont),
	INTEL(0x8a, "Tremont", tremont),
	INTEL(0x96, "Tremont", tremont),
	INTEL(0x9c, "Tremont", tremont),
	INTEL(0x57, "KnightsLanding", knights),
	INTEL(0x85, "KnightsMill", knights),
	INTEL(0x3c, "Haswell", intel),
	INTEL(0x45, "Haswell", intel),
	INTEL(0x46, "Haswell", intel),
	INTEL(0x3f, "Haswell-EP", intel),
	INTEL(0x3d, "Broadwell", intel),
	INTEL(0x47, "Broadwell", intel),
	INTEL(0x56, "Broadwell-DE", intel),
	INTEL(0x4f, "Broadwell-EP", intel),
	INTEL(0x4e, "Skylake", intel),
	INTEL(0x5e, "Skylake", intel),
	INTEL(0x8e, "Skylake", intel),
	INTEL(0x9e, "Skylake", intel),
	INTEL(0xa5, "Skylake", intel),
	INTEL(0xa6, "Skylake", intel),
	INTEL_STEPPINGS(0x55, 0, 4, "Skylake-X", intel),
	INTEL_STEPPINGS(0x55, 5, 15, "CascadeLake-X", intel),
	INTEL(0x7d, "IceLake", intel),
	INTEL(0x7e, "IceLake", intel),
	INTEL(0x8c, "TigerLake", intel),
	INTEL(0x8d, "TigerLake", intel),
	INTEL(0xa7, "RocketLake", intel),
	INTEL(0x6a, "IceLake-SP", intel),
	INTEL(0x6c, "IceLake-SP", intel),
	INTEL(0x8f, "SapphireRapids", intel_amp),
	INTEL(0xcf, "EmeraldRapids", intel_amp),
	INTEL(0xad, "GraniteRapids", granite_rapids),
	INTEL(0xae, "GraniteRapids", granite_rapids),
	INTEL_OR_HYBRID(0x97, "GoldenCove(ADL/RPL P-core)", intel_amp, "Gracemont", gracemont),
	INTEL_OR_HYBRID(0x9a, "GoldenCove(ADL/RPL P-core)", intel_amp, "Gracemont", gracemont),
	INTEL_OR_HYBRID(0xb7, "GoldenCove(ADL/RPL P-core)", intel_amp, "Gracemont", gracemont),
	INTEL_OR_HYBRID(0xba, "GoldenCove(ADL/RPL P-core)", intel_amp, "Gracemont", gracemont),
	INTEL_OR_HYBRID(0xbf, "GoldenCove(ADL/RPL P-core)", intel_amp, "Gracemont", gracemont),
	INTEL(0xbe, "Gracemont", gracemont),
	INTEL_HYBRID(0xaa, "RedwoodCove(MTL P-core)", intel, "Crestmont(MTL E-core)", crestmont),
	INTEL_HYBRID(0xac, "RedwoodCove(MTL P-core)", intel, "Crestmont(MTL E-core)", crestmont),
	INTEL_HYBRID(0xb5, "RedwoodCove(MTL P-core)", intel, "Crestmont(MTL E-core)", crestmont),
	INTEL(0xaf, "Crestmont(SierraForest)", crestmont),
	INTEL(0xb6, "Crestmont(GrandRidge)", crestmont),
	INTEL_HYBRID(0xc5, "LionCove(ARL P-core)", intel, "Skymont(ARL E-core)", crestmont),
	INTEL_HYBRID(0xc6, "LionCove(ARL P-core)", intel, "Skymont(ARL E-core)", crestmont),
	INTEL_HYBRID(0xbd, "LionCove(LNL P-core)", intel, "Skymont(LNL E-core)", crestmont),
	INTEL(0xdd, "Darkmont(ClearwaterForest)", crestmont),
	AMD(0x17, 0x00, 0x2f, "Zen1", zen1),
	AMD(0x17, 0x50, 0x5f, "Zen1", zen1),
	AMD(0x17, 0x30, 0x4f, "Zen2", zen1),
	AMD(0x17, 0x60, 0x7f, "Zen2", zen1),
	AMD(0x17, 0x90, 0x91, "Zen2", zen1),
	AMD(0x17, 0xa0, 0xaf, "Zen2", zen1),
	AMD(0x19, 0x00, 0x0f, "Zen3", zen3),
	AMD(0x19, 0x20, 0x5f, "Zen3", zen3),
	AMD(0x19, 0x10, 0x1f, "Zen4", zen3),
	AMD(0x19, 0x60, 0xaf, "Zen4", zen3),
	AMD(0x1a, 0x00, 0x2f, "Zen5", zen3),
	AMD(0x1a, 0x40, 0x4f, "Zen5", zen3),
	AMD(0x1a, 0x60, 0x7f, "Zen5", zen3),
	AMD(0x1a, 0xd0, 0xd7, "Zen5", zen3),
};

static DEFINE_PER_CPU(u8, core_types);
static DEFINE_PER_CPU(u32[CALM_SCOPE_MODULE + 1], scope_ids);

/* CPUID leaves that describe caches: Intel's, and AMD's in the same format. */
static u32 cache_leaf(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_INTEL ? 4 : 0x8000001d;
}

/* Bits of an APIC ID below those that tell L2 caches apart (SDM vol. 2, CPUID 04H). */
static u32 module_shift(void)
{
	u32 eax, ebx, ecx, edx, i;

	for (i = 0; i < 8; i++) {
		cpuid_count(cache_leaf(), i, &eax, &ebx, &ecx, &edx);
		if (!(eax & 0x1f))
			break;
		if (((eax >> 5) & 7) == 2)
			return get_count_order(((eax >> 14) & 0xfff) + 1);
	}
	return 0;
}

/* Leaf 0BH: SDM vol. 2. Nothing is in it where a processor has no such leaf. */
static bool read_levels(u32 *apic_id, u32 *shift)
{
	u32 eax, ebx, ecx, edx;

	if (cpuid_eax(0) < 0xb)
		return false;
	cpuid_count(0xb, 0, &eax, &ebx, &ecx, &edx);
	if (!ebx)
		return false;
	*apic_id = edx;
	*shift = eax & 0x1f;
	return true;
}

/* For want of it: APM volume 3, Fn8000_001E, as Linux reads it in parse_8000_001e(). */
static bool read_threads(u32 *apic_id, u32 *shift)
{
	u32 eax, ebx, ecx, edx;

	if (boot_cpu_data.x86_vendor != X86_VENDOR_AMD || boot_cpu_data.x86 < 0x17 ||
	    cpuid_eax(0x80000000) < 0x8000001e || !(cpuid_ecx(0x80000001) & TOPOLOGY_EXTENSIONS))
		return false;
	cpuid_count(0x8000001e, 0, &eax, &ebx, &ecx, &edx);
	*apic_id = eax;
	*shift = get_count_order(((ebx >> 8) & 0xff) + 1);
	return true;
}

/* What tells cores and modules apart: the APIC ID without its lowest bits. */
static void probe_scopes(void)
{
	u32 apic_id = cpuid_ebx(1) >> 24, shift = 0;
	u32 *ids = this_cpu_ptr(scope_ids);

	if (!read_levels(&apic_id, &shift))
		read_threads(&apic_id, &shift);
	ids[CALM_SCOPE_CORE] = apic_id >> shift;
	ids[CALM_SCOPE_MODULE] = apic_id >> max(module_shift(), shift);
}

void calm_model_probe(void)
{
	bool hybrid = boot_cpu_has(X86_FEATURE_HYBRID_CPU) && cpuid_eax(0) >= 0x1a;

	this_cpu_write(core_types, hybrid ? cpuid_eax(0x1a) >> 24 : 0);
	probe_scopes();
}

u32 calm_model_scope_id(unsigned int cpu, u32 scope)
{
	return scope == CALM_SCOPE_THREAD ? cpu : per_cpu(scope_ids, cpu)[scope];
}

u8 calm_model_core_type(unsigned int cpu)
{
	return per_cpu(core_types, cpu);
}

const struct calm_model *calm_model_find(unsigned int cpu)
{
	const struct cpuinfo_x86 *c = &cpu_data(cpu);
	u8 core_type = calm_model_core_type(cpu);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		const struct calm_model *row = &models[i];

		if (row->vendor == c->x86_vendor && row->family == c->x86 &&
		    row->model_first <= c->x86_model && c->x86_model <= row->model_last &&
		    row->stepping_first <= c->x86_stepping &&
		    c->x86_stepping <= row->stepping_last && row->core_type == core_type)
			return row;
	}
	return NULL;
}
