#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm ways on modelled processors: ways, sets and line of the first two caches, by counts and by time alone; the curve."""

from lib.explore import MODELS, SCALE, documents, name_of, sections, text_of, which
from lib.simtest import check, expect_equal, named, run_tests, size_bytes

RUNS = ["calm ways --quick --samples 9", "calm ways --quick --samples 9 --events none"]
# lines that fit at some distances and not at others
CURVE = "calm ways --quick --events l1-miss --lines 8,256 --strides 64,4K,4160"


def runs_of(model, noisy):
    """One of them with a curve."""
    return RUNS + ([CURVE] if model == MODELS[0] and not noisy else [])


def caches(model, scale):
    """Ways, sets, line and slices of the model's data caches, from the inside outward."""
    rows = [row for head, row in sections(text_of(model, scale)).items() if head.startswith("cache ") and head != "cache l1i"]
    rows.sort(key=lambda row: size_bytes(row["size"]))
    return [(int(row["ways"]), size_bytes(row["size"]) // int(row["ways"]) // int(row["line"]), int(row["line"]),
             int(row.get("slices", 1))) for row in rows]


def test_levels(model, scale, noisy, number):
    """By counts, or by time alone: as the model has them; a level of hashed slices is not told."""
    document = documents(model, scale, noisy, *runs_of(model, noisy))[number]
    expect_equal(document["complete"], True, "complete")
    for place, (ways, sets, line, slices) in enumerate(caches(model, scale)[:2]):
        level = document["derived"]["levels"][place]
        if slices > 1:
            check(level["ways"] is None and level["reason"], f"hashed {level['name']}: {level['ways']}")
            continue
        found = (level["ways"], level["sets"], level["line_bytes"], level["capacity_bytes"])
        expect_equal(found, (ways, sets, line, ways * sets * line),
                     f"{level['name']}: ways, sets, line, capacity ({level['reason']})")
        expect_equal((level["agrees"], level["confidence"]), (True, 1.0), f"{level['name']}: agrees, confidence")


def test_curve(model, scale):
    """Lines miss where more than the ways of a set meet in it."""
    document = documents(model, scale, False, *runs_of(model, False))[2]
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
        check(abs(found - expected) < 0.02,
              f"{point['lines']} lines {point['stride_bytes']} bytes apart: {found} of {expected} misses")
    expect_equal(document["derived"], None, "derived")


def cases():
    """Each model by counts and by time; a curve of one."""
    for model, scale, noisy in which():
        for number, how in enumerate(("counts", "time")):
            yield named(f"{name_of(model, scale, noisy)}.{how}", test_levels, model, scale, noisy, number)
    yield named(f"{MODELS[0]}.curve", test_curve, MODELS[0], SCALE)


if __name__ == "__main__":
    run_tests(list(cases()))
