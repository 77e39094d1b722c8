#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What calm finds out of modelled processors, command by command, beside the values of their models: shipped and random ones."""

import math
import os

from lib.explore import FULL, MODELS, POSITIVE, SCALE, documents, name_of, sections, text_of
from lib.simtest import check, expect_equal, named, run_tests, size_bytes

SHARE = 0.01
# what chance may add where there is noise; whole numbers stay the same
NOISY_SHARE = 0.05
PAGES = {"4k": 4096, "2m": 2 << 20}
# entries of 512 neighbouring pages in a table
TABLE = 512
KILO = 1024
WAYS = "calm ways --quick --samples 9"
TLB = "calm tlb --quick --samples 9"
# the same with all prefetchers on
TLB_ON = f"{TLB} --pages 4k --prefetch on"
# lines that fit at some distances and not at others
CURVE = "calm ways --quick --events l1-miss --lines 8,256 --strides 64,4K,4160"
COPY = "calm copy --rounds 1 --samples 1 --warmup 1 --events none"
# of lanes, which lanes.py tests, one for the latency and numbers that some models have
LANES = (1, 12, 16)
RANDOM = f"calm random --lanes {','.join(map(str, LANES))} --rounds 1 --samples 1 --warmup 1 --events none"
# the same with all prefetchers on
RANDOM_ON = f"{RANDOM} --prefetch on"
# caches do not matter to these two, whose buffers are larger than all of them
SMALL = 16
RANDOM_MACHINES = 20
# where there is noise one of 20 passes is an outlier: of 9 most are not
SAMPLES = ("--samples 1", "--samples 9")
# what a level's own policy, or the hash of its slices, may lose of a quarter of it
LOST = 0.02
LATENCY_SHARE = 0.005
LOADS = 131072


def caches(model, scale):
    """The model's data caches, from the inside outward."""
    rows = [row for head, row in sections(text_of(model, scale)).items() if head.startswith("cache ") and head != "cache l1i"]
    return sorted(rows, key=lambda row: size_bytes(row["size"]))


def geometry(row):
    """Ways, sets, line and capacity."""
    ways, line, size = int(row["ways"]), int(row["line"]), size_bytes(row["size"])
    return ways, size // ways // line, line, size


def timing(model):
    """Section timing."""
    return sections(text_of(model, 1))["timing"]


def arrays(model):
    """The model's translations: {(level, pages): (entries, ways, penalty, coalesce)}, the sum where two arrays have some of them."""
    found = {}
    for head, row in sections(text_of(model, 1)).items():
        if not head.startswith("tlb "):
            continue
        for pages in row["pages"].replace(" ", "").split(","):
            entries, ways = found.get((int(row["level"]), pages), (0, 0))[:2]
            found[int(row["level"]), pages] = (entries + int(row["entries"]), ways + int(row["ways"]), int(row.get("penalty", 0)),
                                               int(row.get("coalesce", 1)))
    return found


def latency_of(model):
    """calm latency with a buffer well inside each level and well outside the one within it; then one that none holds."""
    found = [size_bytes(row["size"]) for row in caches(model, 1)]
    found = [found[0] // 4] + [max(size // 4, 2 * inside) for inside, size in zip(found, found[1:])] + [found[-1] * 6]
    return (f"calm latency --stride {caches(model, 1)[0]['line']} --size {','.join(str(size // KILO * KILO) for size in found)} "
            f"--rounds 1 --samples 3 --loads {LOADS}")


def near(found, expected, what, noisy=False):
    """Within a hundredth."""
    check(found is not None and math.isclose(found, expected, rel_tol=NOISY_SHARE if noisy else SHARE),
          f"{what}: found {found}, expected {expected}")


def unknown(row, key, what):
    """What cannot be told is null, and there is a reason."""
    check(row[key] is None and row["reason"], f"{what}: {key} {row[key]}, reason {row['reason']}")


def check_ways(model, scale, _, document):
    """Ways, sets, line and capacity of two levels; one of hashed slices is not told."""
    for level, row in zip(document["derived"]["levels"][:2], caches(model, scale)):
        if int(row.get("slices", 1)) > 1:
            unknown(level, "ways", level["name"])
            continue
        found = (level["ways"], level["sets"], level["line_bytes"], level["capacity_bytes"])
        expect_equal(found, geometry(row), f"{level['name']}: ways, sets, line, capacity ({level['reason']})")
        expect_equal((level["agrees"], level["confidence"]), (True, 1.0), f"{level['name']}: agrees, confidence")


def check_ways_by_time(model, scale, _, document):
    """The same, but a level may be left out that loses some of the lines that fit, at random or to somebody else's."""
    for level, row in zip(document["derived"]["levels"][:2], caches(model, scale)):
        if row.get("replace") in ("random", "mru") and level["ways"] is None:
            unknown(level, "ways", level["name"])
            return
    check_ways(model, scale, _, document)


def check_curve(model, scale, _, document):
    """Lines miss where more than the ways of a set meet in it."""
    ways, sets, line, _ = geometry(caches(model, scale)[0])
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


def check_array(tlb, expected, what):
    """Entries, ways and sets."""
    entries, ways = expected[:2]
    expect_equal((tlb["entries"], tlb["ways"], tlb["sets"]), (entries, ways, entries // ways),
                 f"{what}: entries, ways, sets ({tlb['reason']})")


def check_walk(model, second, entries, noisy):
    """A table's read where the cache of upper tables' entries knows all regions, else up to one for each level."""
    walk = sections(text_of(model, 1))["walk"]
    read = int(walk["read"])
    if int(walk["pde"]) * TABLE > 2 * entries + TABLE:
        near(second["penalty_cycles"], read, "walk", noisy)
        return
    check(second["penalty_cycles"] is not None and (1 - NOISY_SHARE) * read <= second["penalty_cycles"] <= (1 + NOISY_SHARE) * 4 * read,
          f"walk: found {second['penalty_cycles']}, a table takes {read}")


def check_small_pages(model, rows, noisy):
    """4 KiB: both levels, what the second one and what a walk costs, and neighbouring frames."""
    found = arrays(model)
    check_array(rows["L1 dTLB", "4k"], found[1, "4k"], "level 1")
    expect_equal(rows["L1 dTLB", "4k"]["coalescing"], found[1, "4k"][3], "coalescing")
    if (2, "4k") not in found:
        unknown(rows["L2 TLB", "4k"], "entries", "level 2")
        return
    check_array(rows["L2 TLB", "4k"], found[2, "4k"], "level 2")
    near(rows["L1 dTLB", "4k"]["penalty_cycles"], found[2, "4k"][2], "penalty of level 1", noisy)
    check_walk(model, rows["L2 TLB", "4k"], found[2, "4k"][0], noisy)


def check_large_pages(model, rows, noisy):
    """2 MiB: the first level; the second one has more than a guest has memory for."""
    found = arrays(model)
    check_array(rows["L1 dTLB", "2m"], found[1, "2m"], "level 1 of 2m")
    if (2, "2m") in found:
        near(rows["L1 dTLB", "2m"]["penalty_cycles"], found[2, "2m"][2], "penalty of level 1 of 2m", noisy)
    # nor is it looked for where there is too little memory for twice the first one
    if ("L2 TLB", "2m") in rows:
        unknown(rows["L2 TLB", "2m"], "entries", "level 2 of 2m")


def is_uneven(model):
    """Whether lines of a few pages may meet in the first cache, whose misses hide those of translation then."""
    ways, _, _, size = geometry(caches(model, 1)[0])
    return PAGES["4k"] % (size // ways) != 0


def check_uneven(model, document):
    """Told right, or not."""
    for tlb in document["derived"]["tlbs"]:
        if tlb["entries"] is None:
            unknown(tlb, "entries", tlb["name"])
        else:
            check_array(tlb, arrays(model)[int(tlb["name"][1]), tlb["pages"]], tlb["name"])


def check_told(model, noisy, document):
    """What is told of translations is true, and what is not has a reason."""
    found = arrays(model)
    for tlb in document["derived"]["tlbs"]:
        level, pages = int(tlb["name"][1]), tlb["pages"]
        if tlb["reason"]:
            print(f"# {tlb['name']} of {pages}: {tlb['reason']}")
        if tlb["entries"] is None:
            unknown(tlb, "entries", tlb["name"])
            continue
        check((level, pages) in found, f"{tlb['name']} of {pages}: {tlb['entries']} entries, and there is none")
        check_array(tlb, found[level, pages], f"{tlb['name']} of {pages}")
        if tlb["penalty_cycles"] is None:
            continue
        if (level + 1, pages) in found:
            near(tlb["penalty_cycles"], found[level + 1, pages][2], f"penalty of level {level} of {pages}", noisy)
        elif pages == "4k":
            check_walk(model, tlb, tlb["entries"], noisy)


def is_unsure(document):
    """Whether prefetchers, which are off, could not be seen to be: none are known of the processor, or more than it has."""
    return any("prefetchers are on, or may be" in (tlb["reason"] or "") for tlb in document["derived"]["tlbs"])


def check_tlb(model, _, noisy, document):
    """A machine without translation buffers has nothing to find."""
    rows = {(tlb["name"], tlb["pages"]): tlb for tlb in document["derived"]["tlbs"]}
    if is_uneven(model):
        check_uneven(model, document)
        return
    if isinstance(model, int) and is_unsure(document):
        check_told(model, noisy, document)
        return
    if not arrays(model):
        for pages in PAGES:
            unknown(rows["L1 dTLB", pages], "entries", f"level 1 of {pages}")
        return
    check_small_pages(model, rows, noisy)
    check_large_pages(model, rows, noisy)


def check_tlb_on(model, _, noisy, document):
    """With prefetchers a figure may not be told, but none is wrong."""
    check_told(model, noisy, document)


def check_buffers(row, buffers, noisy):
    """Their whole number, however noisy."""
    near(row["fill_buffers"], buffers, f"fill buffers ({row['reason']})", noisy)
    expect_equal(round(row["fill_buffers"]), buffers, "fill buffers")
    if buffers in LANES:
        expect_equal(row["saturating_lanes"], buffers, "lanes that saturate")


def check_buffers_told(row, buffers, noisy):
    """Their number, or a reason."""
    if row["fill_buffers"] is None:
        unknown(row, "fill_buffers", "memory")
        print(f"# fill buffers: {row['in_flight']:.3f} of {buffers}: {row['reason']}")
        return
    check_buffers(row, buffers, noisy)


def check_random(model, _, noisy, document):
    """Latency of memory, and fill buffers, which are not told of a cache; of a random machine they may not be, but never others."""
    rows = timing(model)
    buffers = int(rows["fill_buffers"])
    within, beyond = document["derived"]["parallelism"]
    unknown(within, "fill_buffers", "what the last cache holds")
    # a policy of its own may keep some lines of a random machine's last cache
    near(beyond["latency_cycles"], int(rows["memory"]), "latency", noisy or isinstance(model, int))
    if isinstance(model, int):
        check_buffers_told(beyond, buffers, noisy)
        return
    check_buffers(beyond, buffers, noisy)


def check_random_on(model, _, noisy, document):
    """With prefetchers they may not be told, but no number is wrong."""
    within, beyond = document["derived"]["parallelism"]
    unknown(within, "fill_buffers", "what the last cache holds")
    check_buffers_told(beyond, int(timing(model)["fill_buffers"]), noisy)


def check_copy(model, scale, _, document):
    """The line."""
    expect_equal(document["derived"]["line_bytes"], geometry(caches(model, scale)[0])[2], "line")


def rate(point, level):
    """Misses of a level at a load, None where there is no such level."""
    event = point["events"].get(f"l{level}-miss")
    check(not event or not event["reason"], f"l{level}-miss: {event and event['reason']}")
    return event and event["per_access"]


def expected_cycles(point, latencies):
    """Of a load, by how often each level was missed. The third level's misses count as what is behind it serves."""
    cycles = latencies[0]
    for level in range(1, min(len(latencies), 4)):
        cycles += (rate(point, level) or 0) * (latencies[level] - latencies[level - 1])
    return cycles


def check_latency(model, scale, _, document):
    """Each level serves its buffer in its time, and misses that are counted tell the time to half a percent."""
    latencies = [int(row["latency"]) for row in caches(model, scale)] + [int(timing(model)["memory"])]
    expect_equal(len(document["points"]), len(latencies), "points")
    for level, point in enumerate(document["points"]):
        text = f"{point['size_bytes']} bytes"
        cycles, told = point["cycles_per_access"]["median"], expected_cycles(point, latencies)
        if level > 3:
            told = latencies[level]
        # what a fourth level lost is not counted
        more = LOST * latencies[-1] if level >= 3 and len(latencies) > 4 else 0
        check(abs(cycles - told) <= LATENCY_SHARE * told + more, f"{text}: found {cycles} cycles, its misses make {told}")
        if 0 < level < 4:
            check(rate(point, level) > 0.5, f"{text}: level {level} misses {rate(point, level)} of its loads")
        if level < min(3, len(latencies) - 1):
            missed = rate(point, level + 1)
            check(missed <= LOST, f"{text}: level {level + 1} misses {missed} of its loads")


# What is asked, and what is held against the model.
WAYS_ROWS = (("ways", WAYS, check_ways), ("ways by time", f"{WAYS} --events none", check_ways_by_time))
TLB_ROWS = (("tlb", TLB, check_tlb),)
TLB_ON_ROWS = (("tlb with prefetchers", TLB_ON, check_tlb_on),)
CURVE_ROWS = (("ways of a curve", CURVE, check_curve),)
RANDOM_ROWS = (("random", RANDOM, check_random),)
RANDOM_ON_ROWS = (("random with prefetchers", RANDOM_ON, check_random_on),)
MEMORY_ROWS = RANDOM_ROWS + (("copy", COPY, check_copy),)


def has_switches(model):
    """Whether a machine has prefetchers that can be turned on: none of Zen 2's are documented."""
    return "\ndisable = msr" in text_of(model, 1) and "\nmicroarch = Zen2\n" not in text_of(model, 1)


def of_random_machine(seed):
    """Of one machine, in its whole size."""
    return (("latency", latency_of(seed), check_latency), *WAYS_ROWS, *TLB_ROWS, *RANDOM_ROWS,
            *(TLB_ON_ROWS + RANDOM_ON_ROWS if has_switches(seed) else ()))


def seeds():
    """CALM_TEST_SEEDS has those to try again; in a full run others each time."""
    words = os.environ.get("CALM_TEST_SEEDS", "").split()
    if words or not FULL:
        return [int(word) for word in words]
    return [int.from_bytes(os.urandom(4), "little") for _ in range(RANDOM_MACHINES)]


def table():
    """A guest each: model, what its capacities are divided by, noise or not, and what is run there."""
    yield MODELS[0], SCALE, False, WAYS_ROWS + CURVE_ROWS + TLB_ROWS + TLB_ON_ROWS
    yield MODELS[1], SCALE, True, WAYS_ROWS + TLB_ROWS
    for model in POSITIVE if FULL else []:
        for noisy in (False, True):
            yield model, 1, noisy, WAYS_ROWS + TLB_ROWS + (TLB_ON_ROWS if has_switches(model) else ())
            rows = MEMORY_ROWS + (RANDOM_ON_ROWS if has_switches(model) else ())
            yield model, SMALL, noisy, tuple((what, words.replace(*SAMPLES), test) for what, words, test in rows) if noisy else rows
    for seed in seeds():
        yield seed, 1, False, of_random_machine(seed)


def ask(model, scale, noisy, rows, number):
    """Run all commands of a guest, and look at what one of them found."""
    document = documents(model, scale, noisy, *(words for _, words, _ in rows))[number]
    expect_equal(document["complete"], True, "complete")
    rows[number][2](model, scale, noisy, document)


def cases():
    """A test for each command of each guest, those with a word of CALM_TEST_MODELS alone if there is any."""
    chosen = os.environ.get("CALM_TEST_MODELS", "").split()
    for model, scale, noisy, rows in table():
        if chosen and name_of(model, scale, noisy) not in chosen:
            continue
        for number, (what, _, _) in enumerate(rows):
            yield named(f"{name_of(model, scale, noisy)}: {what}", ask, model, scale, noisy, rows, number)


if __name__ == "__main__":
    run_tests(list(cases()))
