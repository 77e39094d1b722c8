// SPDX-License-Identifier: GPL-2.0-only
/* The table of CPU models; a new CPU is a new row. */
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <asm/cpufeature.h>

#include "cpuid.h"
#include "model.h"

#define CORE 0x40	/* CPUID 1AH EAX[31:24] */
#define ATOM 0x20

#define INTEL(model, name)		{ X86_VENDOR_INTEL, 6, model, model, 0, 0, 255, name }
#define INTEL_STEPPINGS(model, first, last, name) \
	{ X86_VENDOR_INTEL, 6, model, model, 0, first, last, name }
#define INTEL_HYBRID(model, core, atom)	\
	{ X86_VENDOR_INTEL, 6, model, model, CORE, 0, 255, core }, \
	{ X86_VENDOR_INTEL, 6, model, model, ATOM, 0, 255, atom }
#define AMD(family, first, last, name)	{ X86_VENDOR_AMD, family, first, last, 0, 0, 255, name }

/*
 * Intel: mapfile.csv of github.com/intel/perfmon. AMD: bsp_init_amd() in
 * Linux 6.12, arch/x86/kernel/cpu/amd.c.
 */
static const struct calm_model models[] = {
	INTEL(0x3c, "Haswell"),
	INTEL(0x45, "Haswell"),
	INTEL(0x46, "Haswell"),
	INTEL(0x3f, "Haswell-EP"),
	INTEL(0x3d, "Broadwell"),
	INTEL(0x47, "Broadwell"),
	INTEL(0x56, "Broadwell-DE"),
	INTEL(0x4f, "Broadwell-EP"),
	INTEL(0x4e, "Skylake"),
	INTEL(0x5e, "Skylake"),
	INTEL(0x8e, "Skylake"),
	INTEL(0x9e, "Skylake"),
	INTEL(0xa5, "Skylake"),
	INTEL(0xa6, "Skylake"),
	INTEL_STEPPINGS(0x55, 0, 4, "Skylake-X"),
	INTEL_STEPPINGS(0x55, 5, 15, "CascadeLake-X"),
	INTEL(0x7d, "IceLake"),
	INTEL(0x7e, "IceLake"),
	INTEL(0x8c, "TigerLake"),
	INTEL(0x8d, "TigerLake"),
	INTEL(0xa7, "RocketLake"),
	INTEL(0x6a, "IceLake-SP"),
	INTEL(0x6c, "IceLake-SP"),
	INTEL(0x8f, "SapphireRapids"),
	INTEL(0xcf, "EmeraldRapids"),
	INTEL(0xad, "GraniteRapids"),
	INTEL(0xae, "GraniteRapids"),
	INTEL_HYBRID(0x97, "GoldenCove(ADL/RPL P-core)", "Gracemont"),
	INTEL_HYBRID(0x9a, "GoldenCove(ADL/RPL P-core)", "Gracemont"),
	INTEL_HYBRID(0xb7, "GoldenCove(ADL/RPL P-core)", "Gracemont"),
	INTEL_HYBRID(0xba, "GoldenCove(ADL/RPL P-core)", "Gracemont"),
	INTEL_HYBRID(0xbf, "GoldenCove(ADL/RPL P-core)", "Gracemont"),
	INTEL(0xbe, "Gracemont"),
	INTEL_HYBRID(0xaa, "RedwoodCove(MTL P-core)", "Crestmont(MTL E-core)"),
	INTEL_HYBRID(0xac, "RedwoodCove(MTL P-core)", "Crestmont(MTL E-core)"),
	INTEL_HYBRID(0xb5, "RedwoodCove(MTL P-core)", "Crestmont(MTL E-core)"),
	INTEL(0xaf, "Crestmont(SierraForest)"),
	INTEL(0xb6, "Crestmont(GrandRidge)"),
	INTEL_HYBRID(0xc5, "LionCove(ARL P-core)", "Skymont(ARL E-core)"),
	INTEL_HYBRID(0xc6, "LionCove(ARL P-core)", "Skymont(ARL E-core)"),
	INTEL_HYBRID(0xbd, "LionCove(LNL P-core)", "Skymont(LNL E-core)"),
	INTEL(0xdd, "Darkmont(ClearwaterForest)"),
	AMD(0x17, 0x00, 0x2f, "Zen1"),
	AMD(0x17, 0x50, 0x5f, "Zen1"),
	AMD(0x17, 0x30, 0x4f, "Zen2"),
	AMD(0x17, 0x60, 0x7f, "Zen2"),
	AMD(0x17, 0x90, 0x91, "Zen2"),
	AMD(0x17, 0xa0, 0xaf, "Zen2"),
	AMD(0x19, 0x00, 0x0f, "Zen3"),
	AMD(0x19, 0x20, 0x5f, "Zen3"),
	AMD(0x19, 0x10, 0x1f, "Zen4"),
	AMD(0x19, 0x60, 0xaf, "Zen4"),
	AMD(0x1a, 0x00, 0x2f, "Zen5"),
	AMD(0x1a, 0x40, 0x4f, "Zen5"),
	AMD(0x1a, 0x60, 0x7f, "Zen5"),
	AMD(0x1a, 0xd0, 0xd7, "Zen5"),
};

static DEFINE_PER_CPU(u8, core_types);

void calm_model_probe(void)
{
	bool hybrid = boot_cpu_has(X86_FEATURE_HYBRID_CPU) && cpuid_eax(0) >= 0x1a;

	this_cpu_write(core_types, hybrid ? cpuid_eax(0x1a) >> 24 : 0);
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
