#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A module, /proc/cpuinfo, sysfs, user space's CPUID, hwloc and libpfm4 see one processor."""

import re
import struct

from lib.simtest import (TOP, build, build_module, check, expect_equal, named, once,
                         read_model, run_guest, run_tests, size_bytes)

# libpfm4's names for each model's processor. Version 4.13 takes only one model number for a Zen 4, and
# does not know the desktop's Golden Cove; Debian 13's knows it by a number that its small cores have too.
PFM = {"zen2": {"amd64_fam17h_zen2"}, "zen4": {"amd64_fam19h_zen4"}, "skylake-x": {"skx"},
       "golden-cove": {"adl_glc", "adl_grt"}, "line128": {"hsw"}}
PFM_RECOGNISES = {"zen2", "skylake-x", "line128"}
TYPES = {1: "data", 2: "instruction", 3: "unified"}
SYSFS = """
cd /sys/devices/system/cpu/cpu0/cache
for i in index*; do
    echo "sysfs level $(cat $i/level) type $(cat $i/type) size $(cat $i/size)" \
         "line $(cat $i/coherency_line_size) ways $(cat $i/ways_of_associativity)"
done
"""


@once
def guest(model):
    """All views of the processor, from one guest."""
    build(["make", "-s", "-C", TOP, "build/simcpu/identity"])
    return run_guest(model, f"set -e\ninsmod /simidentity.ko\ndmesg\ncat /proc/cpuinfo\n/identity\n{SYSFS}", put=[build_module("identity-module"),
                                       TOP / "build" / "simcpu" / "identity"])


def module_cpuid(model):
    """The module's CPUID: (leaf, subleaf) to its four registers."""
    found = {}
    for line in guest(model).lines("simidentity: 0x"):
        word = line.split()
        inside, kernel = word[4:8], word[9:13]
        expect_equal(kernel, inside, f"leaf {word[1]}, kernel text against module text")
        found[int(word[1], 0), int(word[2])] = [int(x, 16) for x in inside]
    check(found, "the module printed nothing")
    return found


def brand(leaves):
    """The processor's name as leaves 0x80000002 to 0x80000004 spell it."""
    raw = b"".join(struct.pack("<4I", *leaves[0x80000002 + i, 0]) for i in range(3))
    return raw.rstrip(b"\0").decode().strip()


def family_model_stepping(eax):
    """Display family and model (SDM vol. 2, CPUID)."""
    family, model = eax >> 8 & 15, eax >> 4 & 15
    if family in (6, 15):
        model |= eax >> 12 & 0xf0
    if family == 15:
        family += eax >> 20 & 0xff
    return family, model, eax & 15


def wanted_identity(model):
    """What the model file asks QEMU for."""
    words = dict(read_model(model)["cpu"])["qemu_cpu"]
    return tuple(int(re.search(rf"\b{key}=(\d+)", words)[1])
                 for key in ("family", "model", "stepping"))


def test_identity(model):
    """Vendor, family, model, stepping and name."""
    leaves = module_cpuid(model)
    output = guest(model).output
    info = dict(re.findall(r"^(vendor_id|cpu family|model|stepping|model name)\s*: (.*?)\s*$", output,
                           re.M))
    user = re.search(r"^cpuid vendor (\S+) family (\d+) model (\d+) stepping (\d+)$", output, re.M)
    wanted = wanted_identity(model)
    expect_equal(family_model_stepping(leaves[1, 0][0]), wanted, "module")
    expect_equal(tuple(int(x) for x in user.groups()[1:]), wanted, "user space's CPUID")
    expect_equal(tuple(int(info[k]) for k in ("cpu family", "model", "stepping")), wanted,
                 "/proc/cpuinfo")
    vendor = struct.pack("<3I", *(leaves[0, 0][i] for i in (1, 3, 2))).decode()
    expect_equal(vendor, user[1], "vendor, module against user space")
    expect_equal(info["vendor_id"], user[1], "vendor, /proc/cpuinfo against user space")
    name = re.search(r"^cpuid brand (.*?)\s*$", output, re.M)[1]
    expect_equal(brand(leaves), name, "name, module against user space")
    expect_equal(info["model name"], name, "name, /proc/cpuinfo against user space")


def wanted_caches(model):
    """(level, type, bytes, line, ways) of the model file, and their number."""
    caches = []
    for head, rows in read_model(model).items():
        if not head.startswith("cache "):
            continue
        name = head.split()[1]
        row = dict(rows)
        kind = {"d": "data", "i": "instruction"}.get(name[2:], "unified")
        caches.append((int(name[1]), kind, size_bytes(row["size"]), int(row.get("line", "64")),
                       int(row["ways"])))
    return sorted(caches)


def cpuid_caches(model):
    """The same from the leaf that lists caches: 4 of Intel, 0x8000001D of AMD."""
    leaves = module_cpuid(model)
    leaf = 4 if leaves[0, 0][1] == 0x756e6547 else 0x8000001d
    caches = []
    for sub in range(8):
        eax, ebx, ecx, _ = leaves[leaf, sub]
        if not eax & 31:
            break
        ways, parts, line = (ebx >> 22) + 1, (ebx >> 12 & 0x3ff) + 1, (ebx & 0xfff) + 1
        caches.append((eax >> 5 & 7, TYPES[eax & 31], ways * parts * line * (ecx + 1), line, ways))
    return sorted(caches)


def text_caches(model, word):
    """The same from sysfs or hwloc."""
    found = re.findall(rf"^{word} level (\d) type (\w+) size (\d+K?) line (\d+) ways (\d+)",
                       guest(model).output, re.M)
    return sorted((int(level), kind.lower(), size_bytes(size), int(line), int(ways))
                  for level, kind, size, line, ways in found)


def test_caches(model):
    """Every level's size, line and ways."""
    wanted = wanted_caches(model)
    expect_equal(cpuid_caches(model), wanted, "module's CPUID")
    expect_equal(text_caches(model, "sysfs"), wanted, "sysfs")
    expect_equal(text_caches(model, "hwloc cache"), wanted, "hwloc")


def test_pfm(model):
    """libpfm4 takes it for the processor that it is, or for none, but never for another one."""
    present = set(re.findall(r"^pfm (\S+) present$", guest(model).output, re.M))
    present -= {"perf", "perf_raw", "ix86arch"}
    check(present <= PFM[model], f"libpfm4 found {present}, expected {PFM[model]}")
    check(present or model not in PFM_RECOGNISES, f"libpfm4 does not recognise {PFM[model]}")


def test_pmu(model):
    """The PMU leaves tell the model's counters."""
    leaves = module_cpuid(model)
    pmu = dict(read_model(model)["pmu"])
    if leaves[0, 0][1] == 0x756e6547:
        eax, _, _, edx = leaves[0xa, 0]
        found = (eax & 0xff, eax >> 8 & 0xff, eax >> 16 & 0xff, edx & 31)
        wanted = tuple(int(pmu[key]) for key in ("version", "gp", "width", "fixed"))
        expect_equal(found, wanted, "leaf 0xA: version, counters, width, fixed ones")
    else:
        extended = leaves[0x80000001, 0][2] >> 23 & 1
        v2, _, _, _ = leaves[0x80000022, 0] if leaves[0x80000000, 0][0] >= 0x80000022 else (0,) * 4
        counters = leaves[0x80000022, 0][1] & 15 if v2 & 1 else 6 if extended else 4
        expect_equal(counters, int(pmu["gp"]), "counters by 0x80000001 and 0x80000022")


TESTS = [named(f"{model}.{test.__name__[5:]}", test, model)
         for model in PFM for test in (test_identity, test_caches, test_pfm, test_pmu)]

if __name__ == "__main__":
    run_tests(TESTS)
