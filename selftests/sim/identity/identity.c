// SPDX-License-Identifier: GPL-2.0-only
/* Print who the processor is by user space's CPUID, by libpfm4 and, its caches, by hwloc. */
#include <cpuid.h>
#include <hwloc.h>
#include <perfmon/pfmlib.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void print_cpuid(void)
{
	uint32_t a, b, c, d, family, model;
	char vendor[13] = "", brand[49] = "";

	__cpuid(0, a, b, c, d);
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	__cpuid(1, a, b, c, d);
	family = a >> 8 & 0xf;
	model = a >> 4 & 0xf;
	if (family == 0xf || family == 6)
		model |= a >> 12 & 0xf0;
	if (family == 0xf)
		family += a >> 20 & 0xff;
	printf("cpuid vendor %s family %u model %u stepping %u\n", vendor, family, model, a & 0xf);
	for (int i = 0; i < 3; i++) {
		__cpuid(0x80000002 + i, a, b, c, d);
		memcpy(brand + 16 * i, (uint32_t []){ a, b, c, d }, 16);
	}
	printf("cpuid brand %s\n", brand);
}

static int print_pmus(void)
{
	int ret = pfm_initialize();
	pfm_pmu_t pmu;

	if (ret != PFM_SUCCESS) {
		fprintf(stderr, "libpfm4: %s\n", pfm_strerror(ret));
		return 1;
	}
	for (pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS && info.type == PFM_PMU_TYPE_CORE)
			printf("pfm %s %s\n", info.name, info.is_present ? "present" : "absent");
	}
	pfm_terminate();
	return 0;
}

static void print_cache(hwloc_obj_t cache)
{
	const struct hwloc_cache_attr_s *attr = &cache->attr->cache;

	printf("hwloc cache level %u type %s size %llu line %u ways %d cpus %d\n", attr->depth,
	       attr->type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction" :
	       attr->type == HWLOC_OBJ_CACHE_DATA ? "data" : "unified",
	       (unsigned long long)attr->size, attr->linesize, attr->associativity,
	       hwloc_bitmap_weight(cache->cpuset));
}

static int print_caches(void)
{
	hwloc_topology_t topology;

	if (hwloc_topology_init(&topology) ||
	    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    hwloc_topology_load(topology)) {
		perror("hwloc");
		return 1;
	}
	for (int depth = 0; depth < hwloc_topology_get_depth(topology); depth++)
		for (unsigned int i = 0; i < hwloc_get_nbobjs_by_depth(topology, depth); i++) {
			hwloc_obj_t object = hwloc_get_obj_by_depth(topology, depth, i);

			if (hwloc_obj_type_is_cache(object->type))
				print_cache(object);
		}
	hwloc_topology_destroy(topology);
	return 0;
}

int main(void)
{
	print_cpuid();
	return print_pmus() | print_caches();
}
