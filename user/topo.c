// SPDX-License-Identifier: GPL-2.0-only
/* Caches, cores and nodes of this machine, by hwloc; which CPU to measure on. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <hwloc.h>
#include <linux/calm.h>

#include "topo.h"

#define ISOLATED_FILE "/sys/devices/system/cpu/isolated"

/**
 * struct calm_topo - the machine
 * @hwloc: its topology
 * @isolated: CPUs outside the scheduler's domains
 */
struct calm_topo {
	hwloc_topology_t hwloc;
	hwloc_bitmap_t isolated;
};

/* What has hwloc look elsewhere (hwloc manual, "Environment Variables"). */
static const char *const elsewhere[] = {
	"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH", "HWLOC_THISSYSTEM",
};

bool calm_topo_is_here(const struct calm_topo *topo)
{
	return hwloc_topology_is_thissystem(topo->hwloc);
}

static int refuse_elsewhere(struct calm_error *error)
{
	const char *name = "hwloc";
	size_t i;

	for (i = CALM_ARRAY_SIZE(elsewhere); i-- > 0;)
		if (getenv(elsewhere[i]))
			name = elsewhere[i];
	return calm_error_set(error, CALM_EXIT_USAGE, -EXDEV,
			      "%s tells of another machine: unset it, or set HWLOC_THISSYSTEM=1 if it is this one",
			      name);
}

/* Isolation is not in hwloc's topology, and says nothing of a saved one. */
static void read_isolated(struct calm_topo *topo)
{
	char line[4096];
	FILE *file;

	if (!calm_topo_is_here(topo))
		return;
	file = fopen(ISOLATED_FILE, "r");
	if (!file)
		return;
	if (fgets(line, sizeof(line), file) && line[strspn(line, " \t\n")])
		hwloc_bitmap_list_sscanf(topo->isolated, line);
	fclose(file);
	hwloc_bitmap_and(topo->isolated, topo->isolated,
			 hwloc_topology_get_topology_cpuset(topo->hwloc));
}

void calm_topo_free(struct calm_topo *topo)
{
	if (!topo)
		return;
	hwloc_topology_destroy(topo->hwloc);
	hwloc_bitmap_free(topo->isolated);
	free(topo);
}

int calm_topo_load(struct calm_topo **topo, bool any, struct calm_error *error)
{
	struct calm_topo *new = calm_alloc(1, sizeof(*new));

	new->isolated = hwloc_bitmap_alloc();
	if (!new->isolated || hwloc_topology_init(&new->hwloc))
		goto err_free;
	/* Also the CPUs that this process may not use: the module may. */
	if (hwloc_topology_set_flags(new->hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_load(new->hwloc))
		goto err_destroy;
	if (!any && !calm_topo_is_here(new)) {
		calm_topo_free(new);
		return refuse_elsewhere(error);
	}
	read_isolated(new);
	*topo = new;
	return 0;

err_destroy:
	hwloc_topology_destroy(new->hwloc);
err_free:
	hwloc_bitmap_free(new->isolated);
	free(new);
	return calm_error_set(error, CALM_EXIT_FAILED, -EIO,
			      "cannot read this machine's topology (is /sys mounted?)");
}

/*
 * CPUs of the fastest core type, all if the types cannot be told apart. hwloc
 * lists types by rising efficiency, which is -1 where it cannot rank them.
 */
static hwloc_bitmap_t fastest_cpus(const struct calm_topo *topo, bool *ranked)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topo->hwloc));
	int kinds = hwloc_cpukinds_get_nr(topo->hwloc, 0), efficiency = -1;
	hwloc_bitmap_t kind = hwloc_bitmap_alloc();

	if (kinds > 1)
		hwloc_cpukinds_get_info(topo->hwloc, (unsigned int)kinds - 1, kind, &efficiency,
					NULL, NULL, 0);
	*ranked = efficiency >= 0 && hwloc_bitmap_intersects(cpus, kind);
	if (*ranked)
		hwloc_bitmap_and(cpus, cpus, kind);
	hwloc_bitmap_free(kind);
	return cpus;
}

static void choose_default(const struct calm_topo *topo, uint32_t *cpu, const char **reason)
{
	bool ranked;
	hwloc_bitmap_t fastest = fastest_cpus(topo, &ranked);
	hwloc_bitmap_t isolated = hwloc_bitmap_dup(topo->isolated);
	hwloc_const_bitmap_t from = fastest;

	*reason = ranked ? "the highest-numbered CPU of the fastest core type" :
			   "the highest-numbered CPU";
	if (!hwloc_bitmap_iszero(isolated)) {
		if (hwloc_bitmap_intersects(isolated, fastest))
			hwloc_bitmap_and(isolated, isolated, fastest);
		from = isolated;
		*reason = "isolated from the scheduler";
	} else if (hwloc_bitmap_last(fastest) == 0 &&
		   hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(topo->hwloc)) > 0) {
		/* CPU 0 alone is of the fastest type: another type is quieter. */
		from = hwloc_topology_get_topology_cpuset(topo->hwloc);
		*reason = "the highest-numbered CPU that is not 0";
	} else if (hwloc_bitmap_last(fastest) == 0) {
		*reason = "the only CPU";
	}
	*cpu = (uint32_t)hwloc_bitmap_last(from);
	hwloc_bitmap_free(isolated);
	hwloc_bitmap_free(fastest);
}

static char *list_text(hwloc_const_bitmap_t set)
{
	char *text = NULL;

	if (hwloc_bitmap_list_asprintf(&text, set) < 0)
		text = calm_text("?");
	return text;
}

static int refuse(struct calm_error *error, const char *option, uint64_t value,
		  hwloc_const_bitmap_t there)
{
	char *list = list_text(there);

	calm_error_set(error, CALM_EXIT_ABSENT, -ENODEV,
		       "%s: '%" PRIu64 "' is not online here (allowed %s)", option, value, list);
	free(list);
	return -ENODEV;
}

int calm_topo_choose_cpu(const struct calm_topo *topo, const struct calm_run_opts *opts,
			 uint32_t *cpu, const char **reason, struct calm_error *error)
{
	hwloc_const_bitmap_t cpus = hwloc_topology_get_topology_cpuset(topo->hwloc);
	hwloc_const_bitmap_t nodes = hwloc_topology_get_topology_nodeset(topo->hwloc);

	if (opts->node != CALM_UNSET && !hwloc_bitmap_isset(nodes, (unsigned int)opts->node))
		return refuse(error, "node", opts->node, nodes);
	if (opts->cpu == CALM_UNSET) {
		choose_default(topo, cpu, reason);
		return 0;
	}
	if (!hwloc_bitmap_isset(cpus, (unsigned int)opts->cpu))
		return refuse(error, "cpu", opts->cpu, cpus);
	*cpu = (uint32_t)opts->cpu;
	*reason = "asked for";
	return 0;
}

/* Reads a number and leaves @text behind it; what is too large is as large as can be. */
static bool read_cpu(const char **text, unsigned int *cpu)
{
	if (!isdigit((unsigned char)**text))
		return false;
	for (*cpu = 0; isdigit((unsigned char)**text); (*text)++)
		*cpu = *cpu < CALM_CPUS_MAX ? 10 * *cpu + (unsigned int)(**text - '0') : *cpu;
	return true;
}

/*
 * Adds N or N-M. hwloc's own reader takes more: an open end, words behind what it can read, and
 * numbers beyond what a CPU can have, which then stand for others or for none.
 */
static int add_range(const char *word, const char *text, hwloc_bitmap_t list,
		     struct calm_error *error)
{
	const char *at = word;
	unsigned int first, last;
	bool valid = read_cpu(&at, &first);

	last = first;
	if (valid && *at == '-') {
		at++;
		valid = read_cpu(&at, &last);
	}
	if (!valid || *at || last < first)
		return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				      "cpus: '%s' is no list of CPUs (allowed as 0-3,8)", text);
	if (last >= CALM_CPUS_MAX)
		return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				      "cpus: '%s' is out of range (allowed 0..%d)", word,
				      CALM_CPUS_MAX - 1);
	if (hwloc_bitmap_set_range(list, first, (int)last))
		return calm_error_set(error, CALM_EXIT_FAILED, -ENOMEM, "out of memory");
	return 0;
}

static int read_list(const char *text, hwloc_bitmap_t list, struct calm_error *error)
{
	char *copy = calm_text("%s", text), *rest = copy, *word;
	int err = 0;

	while (!err && (word = strsep(&rest, ",")))
		err = add_range(word, text, list, error);
	free(copy);
	return err;
}

int calm_topo_parse_cpus(const struct calm_topo *topo, const char *text, uint32_t **cpus,
			 size_t *n_cpus, struct calm_error *error)
{
	hwloc_const_bitmap_t online = hwloc_topology_get_topology_cpuset(topo->hwloc);
	hwloc_bitmap_t list = hwloc_bitmap_alloc();
	int cpu, err;

	*cpus = NULL;
	*n_cpus = 0;
	err = read_list(text, list, error);
	for (cpu = hwloc_bitmap_first(list); !err && cpu >= 0; cpu = hwloc_bitmap_next(list, cpu))
		if (!hwloc_bitmap_isset(online, (unsigned int)cpu))
			err = refuse(error, "cpus", (uint64_t)cpu, online);
	if (err)
		goto out;
	*cpus = calm_alloc((size_t)hwloc_bitmap_weight(list), sizeof(**cpus));
	for (cpu = hwloc_bitmap_first(list); cpu >= 0; cpu = hwloc_bitmap_next(list, cpu))
		(*cpus)[(*n_cpus)++] = (uint32_t)cpu;
out:
	hwloc_bitmap_free(list);
	return err;
}

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static int number_of(const char *text)
{
	uint64_t value;

	return text && calm_parse_uint(text, &value) == CALM_NUMBER_OK && value < INT32_MAX ?
		       (int)value :
		       -1;
}

static void add_cache(struct calm_machine *machine, hwloc_obj_t object)
{
	const struct hwloc_cache_attr_s *attr = &object->attr->cache;
	struct calm_cache *cache = &machine->caches[machine->n_caches];
	char *cpus;

	if (attr->type == HWLOC_OBJ_CACHE_INSTRUCTION || !attr->size ||
	    machine->n_caches == CALM_CACHES_MAX)
		return;
	snprintf(cache->name, sizeof(cache->name), "L%u%s", attr->depth,
		 attr->type == HWLOC_OBJ_CACHE_DATA ? "d" : "");
	cache->size_bytes = attr->size;
	cache->line_bytes = attr->linesize;
	/* hwloc writes -1 for fully associative: as many ways as lines. */
	if (attr->associativity > 0)
		cache->ways = (uint32_t)attr->associativity;
	else if (attr->associativity < 0 && attr->linesize)
		cache->ways = (uint32_t)(attr->size / attr->linesize);
	cpus = list_text(object->cpuset);
	copy_text(cache->shared_cpus, sizeof(cache->shared_cpus), cpus);
	free(cpus);
	machine->n_caches++;
}

static void describe_package(hwloc_obj_t package, struct calm_machine *machine)
{
	copy_text(machine->cpu_model, sizeof(machine->cpu_model),
		  hwloc_obj_get_info_by_name(package, "CPUModel"));
	copy_text(machine->vendor, sizeof(machine->vendor),
		  hwloc_obj_get_info_by_name(package, "CPUVendor"));
	machine->family = number_of(hwloc_obj_get_info_by_name(package, "CPUFamilyNumber"));
	machine->model = number_of(hwloc_obj_get_info_by_name(package, "CPUModelNumber"));
	machine->stepping = number_of(hwloc_obj_get_info_by_name(package, "CPUStepping"));
}

static unsigned int count(hwloc_const_bitmap_t set)
{
	int weight = hwloc_bitmap_weight(set);

	return weight > 0 ? (unsigned int)weight : 0;
}

void calm_topo_describe(const struct calm_topo *topo, uint32_t cpu, struct calm_machine *machine)
{
	hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topo->hwloc, cpu);
	struct utsname system;

	memset(machine, 0, sizeof(*machine));
	machine->family = -1;
	machine->model = -1;
	machine->stepping = -1;
	if (!uname(&system))
		copy_text(machine->kernel, sizeof(machine->kernel), system.release);
	machine->cpus = count(hwloc_topology_get_topology_cpuset(topo->hwloc));
	machine->nodes = count(hwloc_topology_get_topology_nodeset(topo->hwloc));
	for (; object; object = object->parent) {
		if (hwloc_obj_type_is_cache(object->type))
			add_cache(machine, object);
		else if (object->type == HWLOC_OBJ_PACKAGE)
			describe_package(object, machine);
	}
}
