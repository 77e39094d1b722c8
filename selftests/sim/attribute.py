#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which prefetcher does it: calm --prefetch each names the one that is on and no other, noise or not."""

import math
import os
import re

from lib.simtest import check, expect_equal, named, once, read_model, run_tests, size_bytes
from switches import document, parts

FULL = os.environ.get("CALM_TEST_FULL") == "1"
# Of 10 rounds alike and one setting among 11 the accident's probability is 2 in 1024, below a 22nd of 5 %.
EACH = "--cpu 1 --prefetch each --rounds 10 --samples {samples} --loads {loads} --events none --no-progress --format json"
NAMES = {
    "zen4": ["l1-stream", "l1-stride", "l1-region", "l2-stream", "l2-up-down"],
    "zen3": ["l1-stream", "l1-stride", "l1-region", "l2-stream", "l2-up-down"],
    "golden-cove": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip", "l2-amp"],
    "gracemont": ["l2-stream", "l1-next-line", "l1-ip", "l2-amp", "l2-next-line"],
    "crestmont": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip", "l1-next-page", "l2-amp", "llc-page", "pointer-array",
                  "code-stream", "llc-stream", "l2-next-line"],
    "skylake-x": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip"],
    "haswell": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip"],
    "line128": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip"],
}
# small machines, as far as their first level can be divided
SCALES = {"line128": 16, "haswell": 16}
SCALE = 32 if FULL else 64
# the model fetches nothing for instructions
NOTHING = ["code-stream"]
POINTERS = "pointer-array"
# what fills level 1 saves no time where loads beside each other wait for memory's bandwidth or a fill buffer
IN_TURN = ["l1-stream", "l1-next-line", "l1-next-page"]
# loops up to 2 percent longer, one in 40 by 20000 cycles, and a neighbour that drives lines out
NOISE = "\n[noise]\nseed = 7\njitter = 2\noutlier = 40\noutlier_cycles = 20000\nneighbour = 4\n"
# follows single load instructions, so few that only what is left of a pass behind its unrolled steps is
# followed: the chase takes those by one instruction. Loads beside each other have fill buffers at their limit.
BY_INSTRUCTION = "l1-ip"
REST = 63
# noise, prefetchers: all of every model where there is time
RUNS = [(model, noisy, tuple(NAMES[model])) for model in NAMES for noisy in (False, True)] if FULL else \
       [("zen4", True, ("l2-stream",)), ("skylake-x", False, ("l1-ip",))]


def beyond(model, scale):
    """Bytes of a buffer that no cache holds: a power of two."""
    sizes = [size_bytes(dict(rows)["size"]) for head, rows in read_model(model).items() if re.match(r"cache l[23]", head)]
    return 1 << math.ceil(math.log2(1.25 * sum(sizes) / scale))


def command(model, name, noisy):
    """What shows one prefetcher: a chase for one that follows pointers, else lines in order, in turn or beside each other."""
    samples = 5 if noisy else 1
    if name == POINTERS:
        return f"calm latency --size 8K {EACH.format(samples=samples, loads=16384)}"
    if name in IN_TURN or name == BY_INSTRUCTION:
        return f"calm latency --order linear --size {beyond(model, SCALES.get(model, SCALE))} " \
               f"{EACH.format(samples=samples, loads=REST if name == BY_INSTRUCTION else 16384)}"
    size, line = beyond(model, SCALES.get(model, SCALE)), 128 if model == "line128" else 64
    return f"calm stride --size {size} --strides {line} {EACH.format(samples=samples, loads=size // line)}"


@once
def measured(model, noisy, names):
    """One prefetcher on after the other: each with each one off."""
    commands = []
    for name in names:
        others = ",".join(other for other in NAMES[model] if other != name)
        commands.append(f"calm prefetch restore >/dev/null && calm prefetch off:{others} --cpus 1 >/dev/null && "
                        f"{command(model, name, noisy)} 2>/dev/null")
    found, _ = parts(f"{model}@1/{SCALES.get(model, SCALE)}", commands, log=False, more=NOISE if noisy else "",
                     words=["--time-limit", "3000"])
    return dict(zip(names, found))


def one_is_named(model, noisy, names, name):
    """The one that is on, whether it makes the walk faster or slower, and no other."""
    rows = document(measured(model, noisy, names)[name])["derived"]["comparisons"]
    expect_equal([row["prefetch"] for row in rows], [f"off:{other}" for other in NAMES[model]], "settings")
    for row in rows:
        if row["prefetch"] == f"off:{name}":
            print(f"# {model}{' with noise' if noisy else ''}: {name}: ratio {row['ratio']:.4f}")
    expect_equal([row["prefetch"] for row in rows if row["significant"]], [] if name in NOTHING else [f"off:{name}"],
                 f"significant of {[(row['prefetch'], row['ratio']) for row in rows]}")


# with all of them on, buffers in each cache and in none
LATENCIES = [("8K", "l2"), ("128K", "l3"), ("2M", None)]
TRUTH = "--cpu 1 --rounds 3 --samples 1 --loads 16384 --events none --no-progress --format json"


@once
def chased():
    """Chases with all on: each one off within level 2, and all of them off everywhere."""
    sizes = ",".join(size for size, _ in LATENCIES)
    return parts("crestmont@1/32", [f"calm latency --size 8K {EACH.format(samples=1, loads=16384)}",
                                    f"calm latency --size {sizes} --prefetch both {TRUTH}"], log=False)[0]


def pointers_are_named():
    """A chase is faster with the array-of-pointers prefetcher, by that one alone."""
    rows = document(chased()[0])["derived"]["comparisons"]
    expect_equal([row["prefetch"] for row in rows if row["significant"]], [f"off:{POINTERS}"], f"significant of {rows}")
    row = next(row for row in rows if row["prefetch"] == f"off:{POINTERS}")
    check(row["ratio"] > 1.5, f"not much faster: {row}")


def off_is_the_truth():
    """Off, a chase has the latency of the model; on, it is faster."""
    model = read_model("crestmont")
    truth = [int(dict(model[f"cache {level}"] if level else model["timing"])["latency" if level else "memory"])
             for _, level in LATENCIES]
    points = document(chased()[1])["points"]
    for state in ("found", "off"):
        cycles = [point["cycles_per_access"]["median"] for point in points if point["prefetch"] == state]
        print(f"# {state}: {cycles} cycles")
        expect_equal(len(cycles), len(truth), "points")
        for now, true in zip(cycles, truth):
            check(abs(now - true) <= 0.005 * true if state == "off" else now < 0.75 * true,
                  f"{state}: {now} cycles, the model's latency is {true}")


if __name__ == "__main__":
    run_tests([pointers_are_named, off_is_the_truth] +
              [named(f"{model}{'.noise' if noisy else ''}.{name}", one_is_named, model, noisy, names, name)
               for model, noisy, names in RUNS for name in names])
