#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm on modelled processors: latencies, rates of events and estimates are the model's; broken counters are named."""

import json
import math
import os
import re

from lib.simtest import (check, expect_equal, model_text, named, once, read_model, run_guest, run_tests,
                         size_bytes)

FULL = "CALM_TEST_FULL" in os.environ
MODELS = ["zen4", "golden-cove", "zen2", "skylake-x", "line128"] + (["haswell", "zen3", "gracemont", "crestmont"] if FULL else [])
# no event of theirs counts what a first TLB misses
NO_TLB_EVENT = ["gracemont"]
# as small as leaves what the module itself touches room beside a buffer in the first level; and whole
SCALES = [4] + ([1] if FULL else [])
SCHEMES = MODELS[:2 if FULL else 1]
# the scheme takes 250 passes of 1,000,000 loads a point: of the first two levels, or of all
SCHEME_SCALES = [4]
SCHEME_POINTS = None if FULL else 2
NEGATIVE_RUN = "--quick"
# what is asked for where there are no counters
EXPLICIT_RUN = "--quick --events l1-miss"
# negative machines whose counters are as good as others'
WORKING = ["counter-held", "prefetch-dropped"]
MISSES = ["l1-miss", "l2-miss", "l3-miss"]
SHARE = 0.005
# lines of the buffer that the module's own, touched behind the lead-in, may have replaced in a window
OWN_LINES = 4
TIME = ["--time-limit", "3000"] if FULL else []
# one load a page: pages that each first level holds, only each second one, and none; walks of one table
PAGE = 4096
PAGES = [32, 256, 4096]
PAGE_RUN = (f"--pages 4k --stride {PAGE} --size {','.join(str(n * PAGE) for n in PAGES)} --rounds 1 --samples 5 "
            "--loads 16384 --events l1-miss,l2-miss,dtlb-miss,walks")
# a model whose TLBs keep neighbouring pages as one entry: as many as it then has room for, and half as many more
COALESCING = "zen4"
CONTIGUOUS_RUN = PAGE_RUN.replace("--pages 4k", "--pages 4k-contig").replace(f"{32 * PAGE},", "")
# all prefetchers on, that of the other line of a pair among them, and what the events' own tests say then
PREFETCHING = ["skylake-x"] + (["golden-cove", "haswell", "gracemont", "crestmont"] if FULL else [])
PREFETCHED_RUN = "--size 4K --quick --events l1-miss,l2-miss,l3-miss"
# it follows the loads of a chase, so that its tests are good with prefetchers off only
FOLLOWS_POINTERS = ["crestmont"]
NO_COUNTERS = "the CPU has no performance counters that can be used"


@once
def levels(model, scale):
    """Data caches of the model: (bytes, latency), then memory; and the line's size."""
    found, line = [], 0
    for head, rows in read_model(model).items():
        if head.startswith("cache ") and head != "cache l1i":
            row = dict(rows)
            line = int(row["line"])
            found.append((size_bytes(row["size"]) // scale, int(row["latency"])))
    found.sort()
    return found, int(dict(read_model(model)["timing"])["memory"]), line


def sizes(model, scale):
    """One buffer for each level, and one far beyond the last."""
    found, _, _ = levels(model, scale)
    # a level that takes what the one inside it drops holds less of a buffer than both together
    return [size // 2 for size, _ in found] + [found[-1][0] * 6]


def timing(model, key, default):
    """A value of the model's timing."""
    return dict(read_model(model)["timing"]).get(key, default)


@once
def measure(model, scale, *runs):
    """Status, what was said, and document of each run of calm latency in a guest."""
    _, _, line = levels(model, scale)
    places = f"--stride {line} --size {','.join(str(size) for size in sizes(model, scale))} "
    command = "; ".join(
        f"{'calm prefetch on >/dev/null; ' if words == PREFETCHED_RUN else ''}"
        f"calm latency --cpu 1 {'' if '--size' in words else places}--format json {words} "
        f">/document 2>/said; echo status $?; cat /said; echo; cat /document; echo; echo END"
        for words in runs)
    output = run_guest(f"{model}@1/{scale}" if scale > 1 else model, command,
                       smp=2, load=True, log=False, prefetch=False, words=TIME).output
    found = []
    for part in output.split("\nEND\n")[:-1]:
        said, _, document = part.partition("\n{")
        found.append((int(re.search(r"^status (\d+)$", said, re.M)[1]), said,
                      json.loads("{" + document) if document else None))
    expect_equal(len(found), len(runs), "runs")
    return found


def guest(model, scale):
    """What is measured by default."""
    return measure(model, scale, *runs_of(model, scale))[0]


def guest_e1(model, scale):
    """By the scheme of experiment E1."""
    return measure(model, scale, *runs_of(model, scale))[2]


def guest_pages(model, scale):
    """One load a page."""
    return measure(model, scale, *runs_of(model, scale))[1]


def runs_of(model, scale):
    """By default and a load a page on each model, and by the scheme of experiment E1 on some."""
    scheme = model in SCHEMES and scale in SCHEME_SCALES
    pages = PAGE_RUN.replace("dtlb-miss,", "") if model in NO_TLB_EVENT else PAGE_RUN
    contiguous = model == COALESCING and scale == SCALES[0]
    prefetched = model in PREFETCHING and scale == SCALES[0]
    scheme_sizes = ",".join(str(size) for size in sizes(model, scale)[:SCHEME_POINTS])
    return ["--rounds 2 --samples 3 --loads 131072", pages] + \
           ([f"--scheme e1 --size {scheme_sizes}"] if scheme else []) + \
           ([CONTIGUOUS_RUN] if contiguous else []) + \
           ([PREFETCHED_RUN] if prefetched else []) + \
           ([PREFETCHED_RUN + " --prefetch off"] if prefetched and model in FOLLOWS_POINTERS else [])


def negative(model):
    """A broken machine, in its whole size."""
    return measure(f"negative/{model}", 1, *negative_runs(model))[0]


def negative_runs(model):
    """Of one model without counters they are asked for, too."""
    return [NEGATIVE_RUN, EXPLICIT_RUN] if model == "no-pmu" else [NEGATIVE_RUN]


def near(found, expected, what):
    """Within half a percent."""
    check(found is not None and math.isclose(found, expected, rel_tol=SHARE),
          f"{what}: found {found}, expected {expected}")


def done(result):
    """The points of a run that went well."""
    status, said, document = result
    expect_equal(status, 0, f"exit status, having said {said}")
    expect_equal(document["complete"], True, "complete")
    return document["points"]


def penalty(model, pages):
    """Cycles that the model's second level of translations adds, 0 without one."""
    for head, rows in read_model(model).items():
        row = dict(rows)
        if head.startswith("tlb ") and row["level"] == "2" and pages in row["pages"]:
            return int(row["penalty"])
    return 0


def per_access(point, name):
    """How often an event happened at a load."""
    return point["events"].get(name, {}).get("per_access") or 0


def translation(model, point):
    """
    Cycles of a load for which the first TLB has no room: in a whole model large pages may be too many for it.
    What is counted, or what random references to so many pages must miss.
    """
    share = per_access(point, "dtlb-miss")
    if model in NO_TLB_EVENT:
        first = [dict(rows) for head, rows in read_model(model).items() if head == "tlb l1"]
        share = max(0, 1 - int(first[0]["entries"]) * (2 << 20) / point["size_bytes"])
    return share * penalty(model, "2m")


def check_cycles(model, points, scale):
    """Each level takes the core cycles of the model."""
    found, memory, _ = levels(model, scale)
    for point, latency in zip(points, [latency for _, latency in found] + [memory]):
        near(point["cycles_per_access"]["median"], latency + translation(model, point),
             f"{point['size_bytes']} bytes: cycles")


def check_rates(points):
    """A level is missed by every load or by none."""
    for place, point in enumerate(points):
        for number, name in enumerate(MISSES):
            event = point["events"][name]
            expect_equal(event["reason"], None, f"{point['size_bytes']} bytes: {name}")
            expected = point["loads"] if place > number else 0
            check(abs(event["per_pass"] - expected) <= OWN_LINES,
                  f"{point['size_bytes']} bytes: {name}: found {event['per_pass']} per pass, expected {expected}")


def test_cycles(model, scale):
    """Cycles of each level."""
    points = done(guest(model, scale))
    check_cycles(model, points, scale)
    near(points[0]["cycles_per_access_two_lengths"]["median"], levels(model, scale)[0][0][1],
         "two lengths")


def test_rates(model, scale):
    """Events of each level."""
    check_rates(done(guest(model, scale)))


def test_clock(model, scale):
    """The core clock, and the counter that it comes from."""
    up, down = (int(x) for x in timing(model, "core_ratio", "1/1").split("/"))
    for point in done(guest(model, scale)):
        expect_equal(point["clock_source"], "fixed", "clock")
        near(point["core_hz"], int(timing(model, "tsc_hz", "0")) * up / down, "core clock")
        near(point["cycles_per_access"]["median"], point["tsc_per_access"]["median"] * up / down,
             "cycles of ticks")


def test_tlb(model, scale):
    """Loads that no TLB, the second one or the first one serves: how many, and what they take."""
    found, _, _ = levels(model, scale)
    (_, first), (_, second), (_, third) = found[:3]
    walk = int(dict(read_model(model)["walk"])["read"])
    for point, (misses, walks) in zip(done(guest_pages(model, scale)), [(0, 0), (1, 0), (1, 1)]):
        place = f"{point['size_bytes'] // PAGE} pages"
        for name, expected in (("dtlb-miss", misses), ("walks", walks)):
            if name not in point["events"] and model in NO_TLB_EVENT:
                continue
            expect_equal(point["events"][name]["reason"], None, f"{place}: {name}")
            check(abs(per_access(point, name) - expected) <= SHARE,
                  f"{place}: {name}: found {per_access(point, name)}, expected {expected}")
        near(point["cycles_per_access"]["median"],
             first + per_access(point, "l1-miss") * (second - first) + per_access(point, "l2-miss") * (third - second)
             + misses * penalty(model, "4k") + walks * walk, f"{place}: cycles")


def test_coalescing(model, scale):
    """More pages than entries: all are there if four that lie beside each other are one, none if they lie apart."""
    apart, beside = done(guest_pages(model, scale))[1:], done(measure(model, scale, *runs_of(model, scale))[-1])
    rows = dict(read_model(model))
    for head, number, name, place in (("tlb l1", PAGES[1], "dtlb-miss", 0), ("tlb l2_4k", PAGES[2], "walks", 1)):
        array = dict(rows[head])
        check(int(array["entries"]) < number <= int(array["entries"]) * int(array["coalesce"]), f"{number} pages in {array}")
        for points, expected, text in ((apart, 1, "apart"), (beside, 0, "beside each other")):
            event = points[place]["events"][name]
            expect_equal((points[place]["size_bytes"], event["reason"]), (number * PAGE, None), f"pages {text}")
            check(abs(event["per_access"] - expected) <= SHARE, f"{number} pages {text}: {event['per_access']} {name}")


def test_prefetched(model, scale):
    """
    Prefetchers on: events pass their tests all the same, where none follows a chase; where one does they fail, and
    pass where the run has prefetchers off.
    """
    runs = [done(run)[0]["events"] for run in measure(model, scale, *runs_of(model, scale))]
    if model in FOLLOWS_POINTERS:
        reason = runs[-2][MISSES[0]]["reason"] or ""
        check("a prefetcher may read ahead" in reason, f"reason: {reason}")
    for name in MISSES:
        expect_equal((runs[-1][name]["reason"], runs[-1][name]["per_pass"]), (None, 0), name)


def check_isolated(model, scale, document):
    """What miss rates make of the means."""
    found, memory, _ = levels(model, scale)
    derived = document["derived"]
    for level, (_, latency), _ in zip(derived["levels"], found, document["points"]):
        near(level["latency_isolated_cycles"], latency, f"{level['name']} by miss rates")
    if len(document["points"]) <= len(found):
        return
    near(derived["memory"]["latency_isolated_cycles"], memory + translation(model, document["points"][-1]),
         "memory by miss rates")


def test_estimates(model, scale):
    """Latency of each level by miss rates."""
    done(guest(model, scale))
    check_isolated(model, scale, guest(model, scale)[2])


def test_scheme(model, scale):
    """The scheme of experiment E1: its settings, and the same numbers."""
    points = done(guest_e1(model, scale))
    document = guest_e1(model, scale)[2]
    for point in points:
        expect_equal((point["rounds"], point["samples"], point["warmup"], point["loads"]),
                     (5, 50, 3, 1000000), "rounds, samples, warm-up passes, loads")
    check_cycles(model, points, scale)
    check_rates(points)
    check_isolated(model, scale, document)


def test_working(model):
    """Counters that are as good as others'."""
    points = done(negative(model))
    check_cycles(f"negative/{model}", points, 1)
    check_rates(points)
    check("is not used" not in negative(model)[1], negative(model)[1])


def test_without(model):
    """No counters: times all the same, events null, a notice."""
    points = done(negative(model))
    check_cycles(f"negative/{model}", points, 1)
    check(f"no events are counted: {NO_COUNTERS}" in negative(model)[1], negative(model)[1])
    for point in points:
        expect_equal(point["clock_source"], "aperf", "clock")
        for name in MISSES + ["dtlb-miss"]:
            expect_equal((point["events"][name]["per_access"], point["events"][name]["reason"]),
                         (None, NO_COUNTERS), name)


def test_explicit(model):
    """No counters, but events were asked for: another status, and no document."""
    status, said, document = measure(f"negative/{model}", 1, *negative_runs(model))[1]
    expect_equal((status, document), (5, None), "status and document")
    check(f"events: {NO_COUNTERS}" in said, said)


def test_dead(model, counters):
    """Counters that do not count are named and not used; the others do."""
    points = done(negative(model))
    said = sorted(int(x) for x in re.findall(r"counter (\d+) is not used: it counted 0 instructions where 4224",
                                             negative(model)[1]))
    expect_equal(said, counters, "counters said to be dead")
    check_cycles(f"negative/{model}", points, 1)
    check_rates(points)


def test_short(model):
    """Counters of 24 bits: right where a window is short enough, null where it is not."""
    points = done(negative(model))
    check_cycles(f"negative/{model}", points, 1)
    check_rates(points[:1])
    expect_equal((points[0]["clock_source"], points[-1]["clock_source"]), ("fixed", "aperf"), "clocks")
    event = points[-1]["events"]["l1-miss"]
    expect_equal((event["per_access"], event["reason"]), (None, "the counter is too short for a window"),
                 "l1-miss in memory")


@once
def without_clocks():
    """A machine that has neither counters nor APERF, and a core that is faster than its TSC; its run."""
    text = model_text("negative/no-pmu").replace("[timing]\n", "[timing]\ncore_ratio = 3/2\n")
    places = ",".join(str(size) for size in sizes("negative/no-pmu", 1))
    return run_guest(f"{text}\n[fault]\nmsr_fault = 0xe7,0xe8\n",
                     f"calm latency --cpu 1 --size {places} --quick --format json 2>/dev/null", smp=2, load=True)


def test_calibrated():
    """The core clock by additions of a cycle each: its name, its rate, and the cycles of each level."""
    run = without_clocks()
    clocks = [line for line in run.truth if line["type"] == "msr" and line["msr"] in ("0xe7", "0xe8")]
    check(clocks and all(line["fault"] for line in clocks), "APERF and MPERF were not asked for, or are there")
    points = json.loads(run.output)["points"]
    check_cycles("negative/no-pmu", points, 1)
    for point in points:
        expect_equal(point["clock_source"], "calibrated", "clock")
        near(point["core_hz"], 4500000000, "core clock")
        near(point["tsc_per_access"]["median"], point["cycles_per_access"]["median"] * 2 / 3, "ticks")


SCRIPT = "calm latency --cpu 1 --size 16K --rounds 1 --samples 40 --events l1-miss --format json"


def scripted_model(windows, width):
    """The machine with interruptions in these windows, {number: lines}, and counters of so many bits."""
    text = re.split(r"^\[script", model_text("negative/scripted"), flags=re.M)[0]
    text = text.replace("full_width = yes", f"full_width = yes\nwidth = {width}")
    return text + "".join(f"[script {number}]\n{lines}\n" for number, lines in windows.items())


@once
def window_count(width):
    """How many windows the job has, the last ones of which are the point's."""
    run = run_guest(scripted_model({}, width), f"{SCRIPT} >/dev/null", smp=2, load=True)
    return sum(line["type"] == "window" for line in run.truth)


def interrupted(windows, width=48, words=()):
    """The one point of a run in which that happens."""
    run = run_guest(scripted_model(windows, width), SCRIPT, smp=2, load=True, log=False, words=words)
    return json.loads(run.output[run.output.index("{"):])["points"][0]


def test_disturbances():
    """
    Two system management interrupts, two non-maskable ones that nobody asked for and a step of the core clock cost
    five samples, each by its name, and nothing else; the kernel wonders, and goes on.
    """
    last = window_count(48)
    step = "fast = 1000000\nafter = 12288"
    point = interrupted({last - 20: "smi = 1\ncycles = 50000", last - 41: "smi = 1\ncycles = 50000",
                         last - 30: step, last - 31: step, last - 50: "nmi = yes", last - 61: "nmi = yes"},
                        words=["--expect", "NMI received for unknown reason|Dazed and confused"])
    expect_equal({row["cause"]: row["samples"] for row in point["disturbed"]}, {"smi": 2, "nmi": 2, "frequency": 1},
                 "disturbed")
    expect_equal((point["samples"], point["dropped"]), (40, 5), "samples and dropped ones")
    expect_equal(point["clock_source"], "fixed", "clock")
    near(point["cycles_per_access"]["median"], 4, "cycles")
    near(point["cycles_per_access"]["p95"], 4, "cycles, 95 % quantile")


def test_frequency():
    """A step of the core clock in the windows of one sample costs it by APERF, too: counters are too short there."""
    last = window_count(22)
    step = "aperf = 1000000\nmperf = 500000"
    # behind the lead-in; of two windows in a row one is a pass, the other one of twice the length, which tells
    # no frequency
    point = interrupted({last - number: f"{step}\nafter = 12288" for number in (30, 31)}, 22)
    expect_equal(point["clock_source"], "aperf", "clock")
    expect_equal(point["disturbed"], [{"cause": "frequency", "samples": 1}], "disturbed")
    expect_equal((point["samples"], point["dropped"]), (40, 1), "samples and dropped ones")
    near(point["cycles_per_access"]["median"], 4, "cycles")


def test_noisy():
    """Loops take up to 2 percent longer by chance: so does their median, and their samples differ."""
    command = "calm latency --cpu 1 --size 16K --rounds 3 --samples 9 --loads 16384 --events l1-miss --format json"
    output = run_guest("negative/noisy", command, smp=2, load=True, log=False).output
    cycles = json.loads(output[output.index("{"):])["points"][0]["cycles_per_access"]
    check(4 < cycles["p5"] < cycles["median"] < cycles["p95"], f"cycles: {cycles}")
    # of 27 evenly spread samples the median is within a third of the middle
    check(4 * 1.003 < cycles["median"] < 4 * 1.017, f"median: {cycles['median']}")


def case(test, model, scale):
    """A test of a model, whole or with smaller caches."""
    return named(f"{model}{f'@1/{scale}' if scale > 1 else ''}.{test.__name__[5:]}", test, model, scale)


TESTS = [case(test, model, scale) for scale in SCALES for model in MODELS
         for test in (test_cycles, test_rates, test_clock, test_tlb, test_estimates)]
TESTS += [case(test_coalescing, COALESCING, SCALES[0])]
TESTS += [case(test_prefetched, model, SCALES[0]) for model in PREFETCHING]
TESTS += [case(test_scheme, model, scale) for scale in SCHEME_SCALES for model in SCHEMES]
TESTS += [named(f"{model}.working", test_working, model) for model in WORKING]
TESTS += [named(f"{model}.without_counters", test_without, model) for model in ("no-pmu", "pmu-v1")]
TESTS += [named("no-pmu.explicit", test_explicit, "no-pmu"),
          named("no-clocks.calibrated", test_calibrated),
          named("counter-zero.dead", test_dead, "counter-zero", [2]),
          named("partial-pmu.dead", test_dead, "partial-pmu", [2, 3]),
          named("counter-wrap.short", test_short, "counter-wrap"),
          named("scripted.disturbances", test_disturbances),
          named("scripted.frequency_by_aperf", test_frequency)]

if FULL:
    TESTS += [named("noisy.median", test_noisy)]

if __name__ == "__main__":
    run_tests(TESTS)
