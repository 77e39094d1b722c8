#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm ways on modelled processors: ways, sets and line of the first two caches, by counts and by time alone; the curve."""

import json
import os
import subprocess

from lib.simtest import (TOP, check, expect_equal, model_text, named, once, prefetch_off, run_guest, run_tests, size_bytes)

FULL = "CALM_TEST_FULL" in os.environ
MODELS = ["zen4", "golden-cove"]
POSITIVE = MODELS + ["zen2", "zen3", "haswell", "skylake-x", "gracemont", "line128"]
RANDOM = range(1, 21)
SCALE = 4
NOISE = "\n[noise]\njitter = 1\noutlier = 20\noutlier_cycles = 20000\nseed = 7\n"
RUNS = ["--quick", "--quick --events none"]
# a curve: lines that fit at some distances and not at others
CURVE = "--quick --events l1-miss --lines 8,256 --strides 64,4K,4160"
TIME = ["--time-limit", "3000"] if FULL else []


def sections(text):
    """Sections of a model's text as dicts, by the section's head."""
    found, current = {}, None
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            current = found.setdefault(line[1:line.index("]")], {})
        elif "=" in line:
            key, _, value = line.partition("=")
            current[key.strip()] = value.strip()
    return found


def text_of(model):
    """A model of the tree, or of a seed."""
    if not isinstance(model, int):
        return model_text(model)
    return subprocess.run([TOP / "tools" / "simcpu" / "make-model", str(model)], check=True, capture_output=True, text=True).stdout


@once
def measure(model, scale, noisy, *runs):
    """Documents of runs of calm ways in a guest."""
    text = prefetch_off(text_of(model)) + (NOISE if noisy else "")
    command = "".join(f"calm ways --cpu 1 --format json {words} 2>/said || cat /said; echo END\n" for words in runs)
    output = run_guest(scaled(text, scale), command, smp=2, load=True, log=False, words=TIME).output
    return [json.loads(part) for part in output.split("END\n")[:-1]]


def scaled(text, scale):
    """Capacities divided, as behind @ of a file's name."""
    lines, in_cache = [], False
    for line in text.splitlines():
        if line.startswith("["):
            in_cache = line.startswith("[cache ") and "l1i" not in line
        if in_cache and line.startswith("size"):
            line = f"size = {size_bytes(line.split('=')[1].split('#')[0].strip()) // scale}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def caches(model, scale):
    """Ways, sets and line of the model's data caches, from the inside outward."""
    rows = [row for head, row in sections(scaled(text_of(model), scale)).items()
            if head.startswith("cache ") and head != "cache l1i"]
    rows.sort(key=lambda row: size_bytes(row["size"]))
    return [(int(row["ways"]), size_bytes(row["size"]) // int(row["ways"]) // int(row["line"]), int(row["line"]),
             int(row.get("slices", 1))) for row in rows]


def check_levels(model, scale, document):
    """The first two levels as the model has them; a level of hashed slices is not told."""
    expect_equal(document["complete"], True, "complete")
    for number, (ways, sets, line, slices) in enumerate(caches(model, scale)[:2]):
        level = document["derived"]["levels"][number]
        if slices > 1:
            check(level["ways"] is None and level["reason"], f"hashed {level['name']}: {level['ways']}")
            continue
        found = (level["ways"], level["sets"], level["line_bytes"], level["capacity_bytes"])
        expect_equal(found, (ways, sets, line, ways * sets * line), f"{level['name']}: ways, sets, line, capacity"
                     f" ({level['reason']})")
        expect_equal((level["agrees"], level["confidence"]), (True, 1.0), f"{level['name']}: agrees, confidence")


def test_levels(model, scale, noisy, number):
    """By counts, or by time alone."""
    check_levels(model, scale, measure(model, scale, noisy, *runs_of(model, noisy))[number])


def runs_of(model, noisy):
    """One of them with a curve."""
    return RUNS + ([CURVE] if model == MODELS[0] and not noisy else [])


def test_curve(model, scale):
    """Lines miss where more than the ways of a set meet in it."""
    document = measure(model, scale, False, *runs_of(model, False))[2]
    ways, sets, line, _ = caches(model, scale)[0]
    points = document["points"]
    expect_equal([(point["stride_bytes"], point["lines"]) for point in points],
                 [(stride, lines) for stride in (64, 4096, 4160) for lines in (8, 256)], "distances and lines")
    for point in points:
        used = {}
        for number in range(point["lines"]):
            place = number * point["stride_bytes"] // line % sets
            used[place] = used.get(place, 0) + 1
        expected = sum(count for count in used.values() if count > ways) / point["lines"]
        found = point["events"]["l1-miss"]["per_access"]
        check(abs(found - expected) < 0.02, f"{point['lines']} lines {point['stride_bytes']} bytes apart: {found} of"
              f" {expected} misses")
    expect_equal(document["derived"], None, "derived")


def cases():
    """What is tested: two models, one of them with noise; with CALM_TEST_FULL all, and random ones."""
    which = [(MODELS[0], SCALE, False), (MODELS[1], SCALE, True)]
    if FULL:
        which += [(model, 1, noisy) for model in POSITIVE for noisy in (False, True)]
        which += [(model, 1, False) for model in RANDOM]
    for model, scale, noisy in which:
        name = f"{model}{f'@1/{scale}' if scale > 1 else ''}{'.noise' if noisy else ''}"
        for number, how in enumerate(("counts", "time")):
            yield named(f"{name}.{how}", test_levels, model, scale, noisy, number)
    yield named(f"{MODELS[0]}.curve", test_curve, MODELS[0], SCALE)


if __name__ == "__main__":
    run_tests(list(cases()))
