#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm random against the model's file: latency, speed-up by lanes, fill buffers, all to 1 % and most to the cycle."""

import json

from lib.simtest import check, expect_equal, named, once, read_model, run_guest, run_tests

LANES = (1, 2, 3, 8, 12, 13, 16)
# the latency of one lane, and what 12 lanes make of it, have no more than what begins and ends a pass beside
EXACT = 1e-3
WITHIN = 1e-2
IN_ORDER = ["stride", "copy"]
MODELS = ("zen4@1/16", "golden-cove@1/16")


def timing(model):
    """Section timing of the model's file."""
    return {key: int(value) for key, value in read_model(model.split("@")[0])["timing"] if value.isdigit()}


@once
def measured(model):
    """The document of one run."""
    words = f"--cpu 1 --lanes {','.join(map(str, LANES))} --rounds 1 --samples 1 --warmup 1 --events none --prefetch off"
    return json.loads(run_guest(model, f"calm random {words} --no-progress --format json", smp=2, load=True, log=False).output)


def points_of(model):
    """The points of each size: within the last cache, and beyond all."""
    document = measured(model)
    sizes = sorted({point["size_bytes"] for point in document["points"]})
    return [[point for point in document["points"] if point["size_bytes"] == size] for size in sizes]


def points(model):
    """Core cycles per access by lanes; None for independent loads; of memory."""
    return {point["lanes"]: point["cycles_per_access"]["median"] for point in points_of(model)[-1] if point["loop"] not in IN_ORDER}


def near(found, expected, share, what):
    check(abs(found - expected) <= share * expected, f"{what}: found {found}, expected {expected} within {share:.1%}")


def shape(model):
    """A point for each number of lanes, then the one without; of a buffer that the last cache holds, and of one that none does, with lines in order, too."""
    document = measured(model)
    within, beyond = points_of(model)
    for found, more in ((within, []), (beyond, IN_ORDER)):
        loops = ["random", *more]
        expect_equal([point["lanes"] for point in found], [*LANES, *[None] * len(loops)], "lanes")
        expect_equal([point["loop"] for point in found], ["parallel"] * len(LANES) + loops, "loops")
    expect_equal([text for text in document["notices"] if "fits" in text], [], "notices of a small buffer")
    last = document["machine"]["caches"][-1]["capacity_bytes"]
    check(last // 4 < within[0]["size_bytes"] <= last // 2, "a buffer that the last cache does not hold, or far more")
    check(beyond[0]["size_bytes"] >= 4 * last, "a buffer that a cache holds")


def one_lane_is_the_latency(model):
    near(points(model)[1], timing(model)["memory"], EXACT, "cycles per load of one lane")


def lanes_share_it(model):
    """k lanes take a k-th, up to as many as there are fill buffers; those in vector registers a cycle in memory's latency more."""
    memory, buffers = timing(model)["memory"], timing(model)["fill_buffers"]
    for lanes in LANES[1:]:
        near(points(model)[lanes], memory / min(lanes, buffers), EXACT if lanes <= 13 else WITHIN, f"cycles per load of {lanes} lanes")


def independent_loads_saturate(model):
    near(points(model)[None], timing(model)["memory"] / timing(model)["fill_buffers"], WITHIN, "cycles per independent load")


def fill_buffers(model):
    """Within 1 %; the least number of lanes that do as well is theirs, if it was measured. None of a cache, of which too little is known."""
    within, beyond = measured(model)["derived"]["parallelism"]
    buffers = timing(model)["fill_buffers"]
    expect_equal(within["fill_buffers"], None, "fill buffers by the last cache")
    near(beyond["fill_buffers"], buffers, WITHIN, f"fill buffers ({beyond['reason']})")
    expect_equal(beyond["saturating_lanes"], buffers if buffers in LANES else None, "lanes that saturate")


TESTS = [named(f"{model}: {test.__name__}", test, model) for model in MODELS
         for test in (shape, one_lane_is_the_latency, lanes_share_it, independent_loads_saturate, fill_buffers)]

if __name__ == "__main__":
    run_tests(TESTS)
