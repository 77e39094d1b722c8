#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm copy against the model's file: the line, exactly, and what a byte costs by its distance to the last one."""

import json

from lib.simtest import check, expect_equal, named, once, read_model, run_guest, run_tests

MODELS = ("zen4@1/16", "golden-cove@1/16", "line128@1/16")
STRIDES = (16, 17, 32, 33, 64, 65, 128, 129, 256, 257)


def line(model):
    return int(dict(read_model(model.split("@")[0])["cache l1d"])["line"])


@once
def measured(model):
    """The document of one run with the distances that calm has by itself."""
    words = "--rounds 1 --samples 1 --warmup 1 --events none --prefetch off --no-progress --format json"
    return json.loads(run_guest(model, f"calm copy --cpu 1 {words}", smp=2, load=True, log=False).output)


def costs(model):
    """Core cycles per byte by distance."""
    return {point["stride_bytes"]: point["cycles_per_access"]["median"] for point in measured(model)["points"]}


def same_bytes(model):
    """A point for each distance, on one size that no cache holds, and the same number of bytes copied in each."""
    document = measured(model)
    expect_equal([point["stride_bytes"] for point in document["points"]], list(STRIDES), "distances")
    expect_equal(len({(point["loads"], point["size_bytes"]) for point in document["points"]}), 1, "amounts copied")
    check(document["points"][0]["size_bytes"] >= 8 * document["machine"]["caches"][-1]["capacity_bytes"], "a small buffer")


def line_is_exact(model):
    expect_equal(measured(model)["derived"]["line_bytes"], line(model), "line")


def a_byte_costs_its_share_of_a_line(model):
    """
    Half of a line's at half a line, all of it from there on: each copied byte then needs two lines, as one with another.
    The sweeps of the longest distances touch so few that the last cache has a part of them for the next sweep.
    """
    bytes_, found = line(model), costs(model)
    whole = found[bytes_]
    for stride in STRIDES:
        share = found[stride] / whole
        if stride in (bytes_ // 2, bytes_ // 2 + 1):
            check(0.48 < share < 0.56, f"distance {stride}: {share:.3f} of a line's cost")
        elif bytes_ <= stride <= 2 * bytes_ + 1:
            check(abs(share - 1) < 0.02, f"distance {stride}: {share:.3f} of a line's cost")
        elif stride > bytes_:
            check(0.75 < share < 1.02, f"distance {stride}: {share:.3f} of a line's cost")


def fill_buffers_or_bandwidth_are_the_limit(model):
    """A load and a store take a fill buffer each for memory's latency; two lines come in, and one goes out."""
    timing = {key: int(value) for key, value in read_model(model.split("@")[0])["timing"] if value.isdigit()}
    buffers = 2 * timing["memory"] / timing["fill_buffers"]
    bandwidth = 3 * line(model) / timing["memory_bandwidth"]
    found = costs(model)[line(model)]
    check(0.99 * max(buffers, bandwidth) <= found <= 1.1 * (buffers + bandwidth),
          f"found {found}, fill buffers allow {buffers}, bandwidth {bandwidth}")


TESTS = [named(f"{model}: {test.__name__}", test, model) for model in MODELS
         for test in (same_bytes, line_is_exact, a_byte_costs_its_share_of_a_line, fill_buffers_or_bandwidth_are_the_limit)]

if __name__ == "__main__":
    run_tests(TESTS)
