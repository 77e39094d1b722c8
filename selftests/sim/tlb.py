#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm tlb on modelled processors: entries, ways, sets and penalties of each level, for pages of 4 KiB and 2 MiB."""

import math

from lib.explore import documents, name_of, sections, text_of, which
from lib.simtest import check, expect_equal, named, run_tests

COMMAND = "calm tlb --quick --samples 9"
SHARE = 0.01


def arrays(model):
    """The model's arrays of translations: {(level, pages): (entries, ways, penalty)}, and a table of a walk."""
    found = {}
    for head, row in sections(text_of(model, 1)).items():
        if head.startswith("tlb "):
            for pages in row["pages"].replace(" ", "").split(","):
                found[int(row["level"]), pages] = (int(row["entries"]), int(row["ways"]), int(row.get("penalty", 0)))
    walk = sections(text_of(model, 1)).get("walk", {})
    return found, int(walk.get("read", 0)), int(walk.get("pde", 0))


def coalescing(model):
    """Pages that an entry of the first level holds."""
    return next(int(row.get("coalesce", 1)) for head, row in sections(text_of(model, 1)).items()
                if head.startswith("tlb ") and row["level"] == "1" and "4k" in row["pages"])


def near(found, expected, what, noisy=False):
    """Within a hundredth; where there is noise, a twentieth."""
    check(found is not None and math.isclose(found, expected, rel_tol=5 * SHARE if noisy else SHARE), f"{what}: found {found}, expected {expected}")


def check_array(tlb, expected, what):
    """Entries, ways and sets."""
    entries, ways, _ = expected
    expect_equal((tlb["entries"], tlb["ways"], tlb["sets"]), (entries, ways, entries // ways),
                 f"{what}: entries, ways, sets ({tlb['reason']})")


def test_small(model, scale, noisy):
    """Pages of 4 KiB: both levels, what the second one and what a walk costs, and neighbouring frames."""
    document, = documents(model, scale, noisy, COMMAND)
    expect_equal(document["complete"], True, "complete")
    found, read, _ = arrays(model)
    first, second = document["derived"]["tlbs"][:2]
    expect_equal((first["pages"], second["pages"]), ("4k", "4k"), "pages")
    check_array(first, found[1, "4k"], "level 1")
    expect_equal(first["coalescing"], coalescing(model), "coalescing")
    if (2, "4k") not in found:
        check(second["entries"] is None and second["reason"], f"level 2: {second['entries']}")
        return
    check_array(second, found[2, "4k"], "level 2")
    near(first["penalty_cycles"], found[2, "4k"][2], "penalty of level 1", noisy)
    near(second["penalty_cycles"], read, "walk", noisy)


def test_large(model, scale, noisy):
    """Pages of 2 MiB: the first level; the second one has more than a guest has memory for."""
    document, = documents(model, scale, noisy, COMMAND)
    found, _, _ = arrays(model)
    first, second = document["derived"]["tlbs"][2:]
    expect_equal((first["pages"], second["pages"]), ("2m", "2m"), "pages")
    check_array(first, found[1, "2m"], "level 1")
    if (2, "2m") in found:
        near(first["penalty_cycles"], found[2, "2m"][2], "penalty of level 1", noisy)
    check(second["entries"] is None and second["reason"], f"level 2: {second['entries']}")


def cases():
    """Each model with pages of both sizes; a machine without translations has nothing to find."""
    for model, scale, noisy in which():
        if not arrays(model)[0]:
            continue
        yield named(f"{name_of(model, scale, noisy)}.4k", test_small, model, scale, noisy)
        yield named(f"{name_of(model, scale, noisy)}.2m", test_large, model, scale, noisy)


if __name__ == "__main__":
    run_tests(list(cases()))
