#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random machines: each is one that could be, and the kernel sees some as their models say (tools/check --full); figures.py measures them."""

import importlib.machinery
import importlib.util
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


@once
def seen(seed):
    """What the kernel of a guest of the machine says of its caches."""
    output = run_guest(made(seed), """
for folder in /sys/devices/system/cpu/cpu0/cache/index*; do
	echo CACHE $(cat $folder/level $folder/size $folder/ways_of_associativity $folder/coherency_line_size)
done""", log=False).output
    return re.findall(r"^CACHE (\d+) (\d+)K (\d+) (\d+)$", output, re.M)


def test_geometry(seed):
    """What CPUID says."""
    expect_equal(seen(seed), [(str(n), str(int(cache["size"]) // 1024), cache["ways"], cache["line"])
                              for n, cache in enumerate(caches(seed), 1)], f"seed {seed}: caches")


TESTS = [test_all_are_models, test_same_seed, test_variety, test_bad_seed]
TESTS += [named(f"seed_{seed}.geometry", test_geometry, seed) for seed in FRESH]

if __name__ == "__main__":
    run_tests(TESTS)
