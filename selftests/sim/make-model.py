#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random machines: each is one that could be, and calm finds in some what their models say (tools/check --full)."""

import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

from lib.simtest import TOP, check, expect_equal, named, once, run_guest, run_tests

MAKE = TOP / "tools" / "simcpu" / "make-model"
DESCRIBE = TOP / "build" / "simcpu" / "describe"
FULL = "CALM_TEST_FULL" in os.environ
SEEDS = range(1, 201)
# CALM_TEST_SEEDS has those to try again
FRESH = [int(seed) for seed in os.environ.get("CALM_TEST_SEEDS", "").split()]
if FULL and not FRESH:
    FRESH = [int.from_bytes(os.urandom(4), "little") for _ in range(4)]
SHARE = 0.005
# what a level's own policy, or the hash of its slices, may lose of a quarter of it
LOST = 0.02
KILO = 1024
LOADS = 131072


@once
def maker():
    """The program as a module."""
    spec = importlib.util.spec_from_loader("make_model", importlib.machinery.SourceFileLoader("make_model", str(MAKE)))
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


@once
def made(seed):
    """The text of a seed's model."""
    return maker().make(seed)


@once
def sections(seed):
    """Its sections, in order: (head, values by key)."""
    found = []
    for line in made(seed).splitlines():
        if line.startswith("["):
            found.append((line.strip("[]"), {}))
        elif " = " in line:
            key, _, value = line.partition(" = ")
            found[-1][1][key] = value
    return found


def caches(seed):
    """Its levels."""
    return [rows for head, rows in sections(seed) if head.startswith("cache ")]


def test_all_are_models():
    """None of many seeds makes a file that is refused."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpu") as file:
        for seed in SEEDS:
            file.seek(0)
            file.truncate()
            file.write(made(seed))
            file.flush()
            done = subprocess.run([DESCRIBE, file.name], capture_output=True, text=True, check=False)
            check(not done.returncode, f"seed {seed}: {done.stderr}")


def test_same_seed():
    """The same bytes again; another seed, another machine."""
    for seed in SEEDS[:5]:
        again = subprocess.run([MAKE, str(seed)], capture_output=True, text=True, check=True).stdout
        expect_equal(again, made(seed), f"seed {seed}")
    expect_equal(len({made(seed) for seed in SEEDS}), len(SEEDS), "different machines")


def test_variety():
    """What can be drawn is drawn."""
    expect_equal({len(caches(seed)) for seed in SEEDS}, {2, 3, 4}, "levels")
    words = (TOP / "Documentation" / "simcpu.rst").read_text(encoding="utf-8")
    for key, name in (("replace", "cache NAME"), ("inclusion", "cache NAME"), ("scope", "cache NAME"),
                      ("vendor", "cpu"), ("index", "cache NAME")):
        wanted = set(re.search(rf"^ *\[{name}\] {key} (\S+) ", words, re.M)[1].split("|"))
        drawn = {rows[key] for seed in SEEDS for _, rows in sections(seed) if key in rows}
        expect_equal(drawn, wanted - {"physical"}, key)
    expect_equal({any(int(cache["ways"]) % 2 for cache in caches(seed)) for seed in SEEDS}, {True, False}, "odd ways")
    expect_equal({any(head.startswith("tlb") for head, _ in sections(seed)) for seed in SEEDS}, {True, False}, "TLBs")
    kinds = {kind for _, bits in maker().SWITCHES.values() for names in bits.values() for kind in names}
    expect_equal({rows["kind"] for seed in SEEDS for _, rows in sections(seed) if "kind" in rows}, kinds, "prefetchers")


def test_bad_seed():
    """A word that is no seed."""
    for word in ("x", "-1", "1" * 19):
        done = subprocess.run([MAKE, "--", word], capture_output=True, text=True, check=False)
        expect_equal((done.returncode, done.stdout), (1, ""), f"status and output of {word}")
        check(f"'{word}' is no number of 1 to 18 digits" in done.stderr, done.stderr)


def sizes(seed):
    """A buffer well inside each level and well outside the one within it; then one that none holds."""
    found = [int(cache["size"]) for cache in caches(seed)]
    return [found[0] // 4] + [max(size // 4, 2 * inside) for inside, size in zip(found, found[1:])] + [found[-1] * 6]


@once
def measured(seed):
    """The points of calm latency in a guest of the machine, and what its kernel says of the caches."""
    line = caches(seed)[0]["line"]
    places = ",".join(str(size // KILO * KILO) for size in sizes(seed))
    output = run_guest(made(seed), f"""
for folder in /sys/devices/system/cpu/cpu0/cache/index*; do
	echo CACHE $(cat $folder/level $folder/size $folder/ways_of_associativity $folder/coherency_line_size)
done
calm latency --cpu 1 --stride {line} --size {places} --rounds 1 --samples 3 --loads {LOADS} \
	--format json""", smp=2, load=True, log=False, prefetch=False).output
    return json.loads(output[output.index("\n{"):])["points"], re.findall(r"^CACHE (\d+) (\d+)K (\d+) (\d+)$",
                                                                        output, re.M)


def rate(point, level):
    """Misses of a level at a load, None where there is no such level."""
    event = point["events"].get(f"l{level}-miss")
    check(not event or not event["reason"], f"l{level}-miss: {event and event['reason']}")
    return event and event["per_access"]


def expected_cycles(point, latencies):
    """Of a load, by how often each level was missed. The third level's misses count as what is behind it serves."""
    cycles = latencies[0]
    for level in range(1, min(len(latencies), 4)):
        cycles += (rate(point, level) or 0) * (latencies[level] - latencies[level - 1])
    return cycles


def test_geometry(seed):
    """What CPUID says."""
    expect_equal(measured(seed)[1],
                 [(str(n), str(int(cache["size"]) // 1024), cache["ways"], cache["line"])
                  for n, cache in enumerate(caches(seed), 1)], f"seed {seed}: caches")


def test_latency(seed):
    """Each level serves its buffer in its time, and misses that are counted tell the time to half a percent."""
    latencies = [int(cache["latency"]) for cache in caches(seed)] + \
                [int(rows["memory"]) for head, rows in sections(seed) if head == "timing"]
    points = measured(seed)[0]
    expect_equal(len(points), len(latencies), f"seed {seed}: points")
    for level, point in enumerate(points):
        text = f"seed {seed}: {point['size_bytes']} bytes"
        cycles, told = point["cycles_per_access"]["median"], expected_cycles(point, latencies)
        if level > 3:
            told = latencies[level]
        # what a fourth level lost is not counted
        more = LOST * latencies[-1] if level >= 3 and len(latencies) > 4 else 0
        check(abs(cycles - told) <= SHARE * told + more, f"{text}: found {cycles} cycles, its misses make {told}")
        if 0 < level < 4:
            check(rate(point, level) > 0.5, f"{text}: level {level} misses {rate(point, level)} of its loads")
        if level < min(3, len(latencies) - 1):
            missed = rate(point, level + 1)
            check(missed <= LOST, f"{text}: level {level + 1} misses {missed} of its loads")


TESTS = [test_all_are_models, test_same_seed, test_variety, test_bad_seed]
TESTS += [named(f"seed_{seed}.{test.__name__[5:]}", test, seed) for seed in FRESH for test in (test_geometry, test_latency)]

if __name__ == "__main__":
    run_tests(TESTS)
