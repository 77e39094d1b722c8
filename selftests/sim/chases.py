#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm latency with each loop and in each order, against the model's file."""

import json
import re

from lib.simtest import check, expect_equal, named, once, read_model, run_guest, run_tests, size_bytes

SCALE = 16
MODELS = ("zen4", "golden-cove")
# core cycles come from APERF and MPERF here, which are read a little farther apart than the time stamps
WITHIN = 2e-3
LATENCY = "calm latency --cpu 1 --events none --prefetch off --rounds 1 --samples 2 --warmup 1 --no-progress --format json"
MARK = "=== part"
MEMORY = 8 << 20


def section(model, head):
    return dict(read_model(model)[head])


def places(model):
    """Sizes, each within one level or in memory alone, and the latency there."""
    found, inner = [], 0
    for name in ("l1d", "l2", "l3"):
        size = size_bytes(section(model, f"cache {name}")["size"]) // SCALE
        check(not inner or 2 * inner <= size // 2, f"{name} has no size of its own")
        found.append((size // 2, int(section(model, f"cache {name}")["latency"])))
        inner = size
    check(MEMORY >= 4 * inner, "a buffer that a cache holds")
    return found + [(MEMORY, int(section(model, "timing")["memory"]))]


@once
def measured(model):
    """Documents of one guest: each loop, then each order, and one with prefetchers."""
    sizes = ",".join(str(size) for size, _ in places(model))
    commands = [f"{LATENCY} --loop {loop} --size {sizes}" for loop in ("load", "store", "atomic", "flush")]
    commands += [f"{LATENCY} --order {order} --size {sizes}" for order in ("linear", "page-local")]
    commands.append(f"{LATENCY} --order page-local --pages 4k --size {MEMORY}")
    commands.append(f"{LATENCY.replace('--prefetch off', '--prefetch found')} --order linear --size {MEMORY}")
    script = "".join(f"{command} || exit\necho '{MARK}'\n" for command in commands)
    output = run_guest(f"{model}@1/{SCALE}", script, smp=2, load=True, log=False).output
    return [json.loads(text) for text in output.split(f"{MARK}\n")[:-1]]


def cycles(point):
    return (point["cycles_per_access_two_lengths"] or point["cycles_per_access"])["median"]


def compare(model, index, loop, order, more, only=None):
    """Each place's latency, or memory's alone, and so many cycles more."""
    document = measured(model)[index]
    expect_equal([(point["loop"], point["order"]) for point in document["points"]], [(loop, order)] * 4, "loop and order")
    for point, (size, latency) in zip(document["points"], places(model)):
        expect_equal(point["size_bytes"], size, "size")
        expected = (only or latency) + more
        check(abs(cycles(point) - expected) <= WITHIN * expected, f"{size} bytes: found {cycles(point)}, expected {expected}")


def load(model):
    compare(model, 0, "chase", "random", 0)


def store(model):
    """The model's loads do not look into the store buffer, so that forwarding takes no time: the load's latency is left."""
    compare(model, 1, "store", "random", 0)


def atomic(model):
    """What is no move takes a cycle more than its load."""
    compare(model, 2, "atomic", "random", 1)


def flush(model):
    """Memory, whatever the size. AMD's MFENCE waits for all before it, so also for the cycle that the flush takes."""
    more = 1 if section(model, "cpu")["vendor"] == "amd" else 0
    compare(model, 3, "flush", "random", more, only=places(model)[-1][1])


def linear(model):
    """No prefetcher, no difference."""
    compare(model, 4, "chase", "linear", 0)


def foreseen_tells_no_level(model):
    """In an order that prefetchers see through a load does not take what memory does, and nothing says so."""
    quiet, read_ahead = measured(model)[4], measured(model)[7]
    memory = places(model)[-1][1]
    found = quiet["derived"]["memory"]["latency_cycles"]
    check(found is not None and abs(found - memory) <= WITHIN * memory, f"without: found {found}, expected {memory}")
    check(cycles(read_ahead["points"][0]) < memory / 2, "prefetchers change nothing")
    expect_equal(read_ahead["derived"]["memory"]["latency_cycles"], None, "memory as prefetchers make it")


def page_local(model):
    compare(model, 5, "chase", "page-local", 0)


def page_local_translates_once(model):
    """A miss of the first TLB for each page of 64 lines, where its pages are more than that holds and the second has them."""
    point = measured(model)[6]["points"][0]
    pages, entries, penalty = MEMORY // 4096, {"1": 0, "2": 0}, 0
    for head, rows in read_model(model).items():
        row = dict(rows)
        if re.match(r"tlb ", head) and "4k" in row["pages"]:
            entries[row["level"]] += int(row["entries"])
            penalty = int(row["penalty"]) if row["level"] == "2" else penalty
    check(entries["1"] < pages <= entries["2"], f"{pages} pages do not single out a level")
    expected = places(model)[-1][1] + penalty / 64
    check(abs(cycles(point) - expected) <= 0.05, f"found {cycles(point)}, expected {expected}")


TESTS = [named(f"{model}: {test.__name__}", test, model) for model in MODELS
         for test in (load, store, atomic, flush, linear, foreseen_tells_no_level, page_local, page_local_translates_once)]

if __name__ == "__main__":
    run_tests(TESTS)
