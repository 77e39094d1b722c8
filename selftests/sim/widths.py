#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Strided reads by loads of each width: lines that they touch, loads in a cycle, bytes in a second; what is not there."""

import json
from math import isclose

from lib.simtest import check, expect_equal, model_text, named, once, read_model, run_guest, run_tests

MODEL = "zen4@1/4"
# those with loads that cross lines, for a width at least
STRIDES = {8: (64, 24), 16: (64, 24), 32: (64, 40, 80)}
# in the first level and beyond it, whose lines this event counts
SMALL, LARGE = 8 << 10, 128 << 10
FILLS = "rDF43"
# instructions for eight loads, two steps of the address and the branches behind them, on the way that is taken
INSTRUCTIONS = {8: 2 * 8 + 7, 16: 2 * 8 + 2 + 7, 32: 8 + 2 + 7}
REFUSAL = "calm stride --cpu 1 --width {} --quick --events none --no-progress 2>&1; echo $?"


def words(width, size, strides):
    return (f"calm stride --cpu 1 --width {width} --size {size} --strides {','.join(map(str, strides))} --rounds 1 --samples 1 "
            f"--warmup 0 --events {FILLS} --prefetch off --no-progress --format json")


@once
def measured():
    """The documents of one guest by width and size, and what it said of 64 bytes."""
    asked = {(width, size): words(width, size, strides if size == LARGE else [64])
             for width, strides in STRIDES.items() for size in (SMALL, LARGE)}
    command = f"echo '['; {'; echo ,; '.join(asked.values())}; echo ']'; {REFUSAL.format('64')}"
    output = run_guest(MODEL, command, smp=2, load=True, log=False).output.strip()
    documents, end = json.JSONDecoder().raw_decode(output)
    return dict(zip(asked, documents)), output[end:].strip()


def points(wanted):
    """Width and point of one size."""
    for (width, size), document in measured()[0].items():
        for point in document["points"] if size == wanted else []:
            yield width, point


def touched(width, stride, size):
    """Lines that a lap touches, per load."""
    count = size // stride
    lines = {byte // 64 for i in range(count) for byte in (i * stride, i * stride + width - 1)}
    return len(lines) / count


def each_line_that_is_touched_is_filled():
    """Also one that a load has only the end of."""
    for width, point in points(LARGE):
        expected = touched(width, point["stride_bytes"], point["size_bytes"])
        found = point["events"][FILLS]["per_access"]
        check(abs(found - expected) < 5e-3, f"width {width}, stride {point['stride_bytes']}: {found} of {expected} lines")


def the_core_sets_the_pace_in_the_first_level():
    """Loads of 8 bytes add up in one register, a cycle each; wider ones wait for the core's width or for its loads."""
    timing = dict(read_model("zen4")["timing"])
    for width, point in points(SMALL):
        expected = max(1 / int(timing["load_ports"]), INSTRUCTIONS[width] / 8 / int(timing["width"]), width == 8)
        found = point["cycles_per_access"]["median"]
        check(expected <= found < 1.06 * expected, f"width {width}: {found} cycles per load, expected {expected}")


def bytes_per_second_follow_from_the_clock():
    """The width of a load, by its ticks of a clock whose rate is the model's."""
    rate = int(dict(read_model("zen4")["timing"])["tsc_hz"])
    for size in (SMALL, LARGE):
        for width, point in points(size):
            ticks = point["tsc_per_access"]["median"]
            check(isclose(point["bytes_per_second"]["median"], width * rate / ticks, rel_tol=1e-6),
                  f"width {width}: {point['bytes_per_second']['median']} bytes per second at {ticks} ticks of {rate} Hz")
            expect_equal(point["fits"], "L1d" if size == SMALL else "L2", f"first cache for {size} bytes")


def loops_are_those_of_the_width():
    for (width, _), document in measured()[0].items():
        expect_equal({point["loop"] for point in document["points"]}, {"stride" if width == 8 else f"stride{width}"}, "loop")
        expect_equal(document["settings"]["width_bytes"], width, "width")


def refusal(width, needs, widths):
    return f"calm: loop: loads of {width} bytes need {needs}, only widths {widths} are here\n5"


def what_is_not_there_names_what_is():
    expect_equal(measured()[1], refusal(64, "AVX-512", "8, 16 and 32"), "64 bytes")
    model = model_text("zen4").replace(",-hypervisor", ",-avx2,-hypervisor")
    output = run_guest(model, "; ".join(map(REFUSAL.format, (32, 64))), smp=2, load=True, log=False).output.strip()
    expect_equal(output, refusal(32, "AVX2", "8 and 16") + "\n" + refusal(64, "AVX-512", "8 and 16"), "without AVX2")


if __name__ == "__main__":
    run_tests([each_line_that_is_touched_is_filled, the_core_sets_the_pace_in_the_first_level,
               bytes_per_second_follow_from_the_clock, loops_are_those_of_the_width, what_is_not_there_names_what_is])
