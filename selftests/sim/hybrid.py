#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A machine with cores of two kinds: each has its own latencies, clocks, counters and prefetchers, and calm tells them apart."""

import json
import math

from lib.simtest import check, expect_equal, named, once, read_model, run_guest, run_tests

SCALE = 8
# vCPU, its cores' model, their kind in CPUID leaf 0x1A, names of their prefetchers, and who shares a switch with it
KINDS = {
    "performance": (1, "golden-cove", 0x40, ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip", "l2-amp"], [1]),
    "efficient": (4, "gracemont", 0x20, ["l2-stream", "l1-next-line", "l1-ip", "l2-amp", "l2-next-line"], [4]),
}
# half of each first level at an eighth, one size within both second ones, within the last one, and beyond it
SIZES = {"performance": "3K,16K,1M,24M", "efficient": "2K,16K,1M,24M"}
RUN = "--rounds 1 --samples 3 --loads 32768 --prefetch off --events cycles,l1-miss --no-progress --format json"
MARK = "=== part"


@once
def guest():
    """What calm says of the machine, then a sweep on a core of each kind."""
    commands = ["calm info --format json", "calm prefetch --format json"]
    commands += [f"calm latency --cpu {KINDS[kind][0]} --size {SIZES[kind]} {RUN}" for kind in KINDS]
    output = run_guest(f"alder-lake@1/{SCALE}", "".join(f"{command} 2>/dev/null\necho; echo '{MARK}'\n" for command in commands),
                       smp=5, load=True, log=False).output
    return [json.loads(part) for part in output.split(MARK)[:len(commands)]]


def prefetchers(kind):
    """calm info and calm prefetch show those of each kind, with who shares their register."""
    cpu, _, core_type, names, cpus = KINDS[kind]
    processors = guest()[0]["module"]["processors"]
    expect_equal(next(row["core_type"] for row in processors if row["cpu"] == cpu), core_type, "core type")
    for document in guest()[:2]:
        group = next(group for group in document["prefetch"] if cpu in group["cpus"])
        expect_equal(group["cpus"], cpus, f"{document['command']}: CPUs that share a switch")
        expect_equal([row["name"] for row in group["prefetchers"]], names, f"{document['command']}: prefetchers")


def latencies(kind):
    """The cycles of the kind's own caches and memory, by its own counter of cycles."""
    cpu, name, _, _, _ = KINDS[kind]
    model = read_model(name)
    truth = [int(dict(rows)["latency"]) for head, rows in model.items() if head.startswith("cache ") and head != "cache l1i"]
    truth.append(int(dict(model["timing"])["memory"]))
    points = guest()[2 + list(KINDS).index(kind)]["points"]
    expect_equal(len(points), len(truth), "points")
    ratio = [int(part) for part in dict(model["timing"]).get("core_ratio", "1/1").split("/")]
    for point, cycles in zip(points, truth):
        text = f"{kind}, {point['size_bytes']} bytes"
        expect_equal((point["cpus"], point["clock_source"]), ([cpu], "fixed"), f"{text}: CPU and clock")
        found = point["cycles_per_access"]["median"]
        print(f"# {text}: {found} cycles, in the model {cycles}")
        check(math.isclose(found, cycles, rel_tol=0.005), f"{text}: found {found} cycles, expected {cycles}")
        check(math.isclose(found, point["tsc_per_access"]["median"] * ratio[0] / ratio[1], rel_tol=0.005), f"{text}: core clock")
        expect_equal(point["events"]["l1-miss"]["reason"], None, f"{text}: l1-miss")
        check(math.isclose(point["events"]["l1-miss"]["per_access"], cycles > truth[0], abs_tol=0.005), f"{text}: l1-miss")


if __name__ == "__main__":
    run_tests([named(f"{kind}.{test.__name__}", test, kind) for kind in KINDS for test in (prefetchers, latencies)])
