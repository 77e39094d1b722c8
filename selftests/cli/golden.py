#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What calm prints for recordings of the real module: the tables as kept, the numbers as computed here again."""

import csv
import io
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
# pylint: disable=wrong-import-position
from clitest import (DATA, REPLAY, SANITIZE, SCHEMA, TOP, attribute, attributes, calm, document, enum, environment,
                     expect, lines_of, number, payload_of, run_tests)

# the words that selftests/data/record used
WORDS = {
    "info": ["info"],
    "info-public": ["info"],
    "quick": "latency --cpu 1 --events none --size 4K,16K,128K,1M --quick".split(),
    "rounds": "latency --cpu 1 --events none --size 16K,1500000 --rounds 2 --samples 3 --pages 4k".split(),
    "uncounted": "latency --cpu 1 --size 4K --quick".split(),
    "counters": "latency --cpu 1 --size 16K,128K,2M,96M --rounds 2 --samples 3".split(),
    "scheme-e1": "latency --cpu 1 --size 16K,128K --scheme e1 --events l1-miss,l2-miss,l3-miss".split(),
    "count": "count chase --cpu 1 --size 4K,128K --quick --events "
             "cycles,instructions,l1-miss,r0143,r0243,r0843,RETIRED_OPS,r0044".split(),
    "event-names": "events l1 --cpu 1".split(),
    "tlb": "tlb --cpu 1 --events none --quick --pages 4k --prefetch off".split(),
    "noise": "noise --cpu 1 --events none --rounds 2 --samples 20 --loads 16384".split(),
    "ways": "ways --cpu 1 --events none --quick".split(),
    "copy": "copy --cpu 1 --size 1M --strides 16,17,32,33,64,65,128,129 --quick --events none --prefetch off".split(),
    "random": "random --cpu 1 --size 4M,64M --lanes 1,2,16 --quick --events l1-miss --prefetch off".split(),
    "overhead": "latency --cpu 1 --events none --size 4K --loads 10 --quick".split(),
}


def masked(text):
    """The running kernel's release is not the recording's."""
    return text.replace(os.uname().release, "RELEASE")


def golden(name, *more, program=REPLAY):
    """Compare stdout with the kept one; write the found one beside build products to look at."""
    result = calm(name, *WORDS[name], *more, program=program)
    expect(result, 0)
    kept = DATA / f"{name}.{more[-1] if more else 'txt'}"
    found = masked(result.stdout)
    if os.environ.get("CALM_KEEP_GOLDEN"):
        kept.write_text(found)
    assert found == kept.read_text(), f"{kept.name} differs, found:\n{found}"
    return result


def tables():
    for name in WORDS:
        golden(name)


def documents():
    for name in WORDS:
        document(golden(name, "--format", "json"))


def is_list(name):
    """Whether the command's result has rows."""
    return WORDS[name][0] != "info"


def sanitized():
    for name in WORDS:
        golden(name, program=SANITIZE)
        golden(name, "--format", "json", program=SANITIZE)
        if is_list(name):
            golden(name, "--format", "csv", program=SANITIZE)
    result = calm("quick", *WORDS["quick"], "--format", "json", "--raw", program=SANITIZE)
    expect(result, 0)
    for name in ("no-cpu", "no-node", "busy", "not-permitted"):
        result = calm(name, *words_of(name), program=SANITIZE)
        assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, \
            result.stderr


def words_of(name):
    places = {"no-cpu": ["--cpu", "3"], "no-node": ["--cpu", "1", "--node", "1"]}
    return ["latency", "--events", "none", *places.get(name, ["--cpu", "1"]), "--size", "4K", "--quick"]


# ---- comma-separated values, compared with the document ----

def cell(value):
    """A value of the document as a cell holds it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " ".join(map(cell, value))
    return value if isinstance(value, str) else repr(value)


def same(found, value):
    """Numbers are compared as numbers."""
    if isinstance(value, float):
        return found != "" and float(found) == value
    return found == cell(value)


def expected_cell(head, found, row):
    """What the document says in the place of a column."""
    if head in ("ended_by",) or head.startswith(("machine.", "module.")):
        row = found
    if head.startswith("disturbed."):
        counts = {one["cause"]: one["samples"] for one in row["disturbed"]}
        return None if found["dry_run"] else counts.get(head.split(".")[1], 0)
    if head.startswith("leaf_bytes."):
        return row["leaf_bytes"] and row["leaf_bytes"].get(head.split(".")[1], 0)
    if head.startswith("events."):
        event, field = re.fullmatch(r"events\.(.*)\.(\w+)", head).groups()
        return row["events"][event][field]
    for part in head.split("."):
        row = row and row.get(part)
    return row


def check_rows(text, found, rows):
    table = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert len(table) == len(rows)
    for line, row in zip(table, rows):
        assert None not in line and None not in line.values(), "a row has not as many cells as there are headings"
        for head, value in line.items():
            assert same(value, expected_cell(head, found, row)), \
                f"{head}: {value!r}, expected {expected_cell(head, found, row)!r}"
    return table


def rows_of(name, found):
    """What the command has a row for each of."""
    if name == "noise":
        return [{"level": level["level"], **one} for level in found["derived"]["noise"] for one in level["histogram"]]
    return found["events" if name == "event-names" else "points"]


def rows_of_points():
    for name in filter(is_list, WORDS):
        result = golden(name, "--format", "csv")
        found = document(calm(name, *WORDS[name], "--format", "json"))
        check_rows(result.stdout, found, rows_of(name, found))


def every_field_is_a_column():
    """Each field of a point in the schema, but what is no single value; columns come in the manual's order."""
    point, summary = SCHEMA["$defs"]["point"], SCHEMA["$defs"]["summary"]
    heads = calm("quick", *WORDS["quick"], "--format", "csv").stdout.splitlines()[0].split(",")
    expected = set()
    for field in {*point["properties"], *point["required"]} - {"raw", "per_cpu", "events"}:
        is_summary = point["properties"].get(field, {}).get("$ref", "").endswith("/summary")
        parts = summary["properties"] if is_summary else [None]
        expected |= {f"{field}.{part}" if part else field for part in parts}
    found = {re.sub(r"^(leaf_bytes|disturbed)\..*", r"\1", head) for head in heads}
    found = {head for head in found if not head.startswith(("machine.", "module."))} - {"ended_by"}
    assert found == expected, f"missing {expected - found}, unknown {found - expected}"
    assert len(heads) == len(set(heads))
    for cause in re.findall(r'\{ CALM_DISTURB_\w+, "(\w+)" \}', (TOP / "user" / "stats.c").read_text()):
        assert f"disturbed.{cause}" in heads, cause
    manual = (TOP / "Documentation" / "calm.8.rst").read_text()
    listed = re.search(r"^- what was measured:.*?\n\n", manual, re.M | re.S).group(0)
    told = [name.split(".")[0] for name in re.findall(r"\*(\w[\w.-]*)\*", listed)]
    order = dict.fromkeys(name for name in told if name not in summary["properties"])
    assert list(order) == list(dict.fromkeys(head.split(".")[0] for head in heads + ["events."])), list(order)


def a_plan_has_rows():
    words = [*WORDS["rounds"], "--dry-run", "--format"]
    result = calm(None, *words, "csv")
    expect(result, 0)
    found = document(calm(None, *words, "json"))
    table = check_rows(result.stdout, found, found["points"])
    assert [line["ended_by"] for line in table] == ["dry-run", "dry-run"]


def quoting():
    """A name with all that needs quotes, and one that is empty."""
    odd = 'CPU "4, x"\n, \r\nend'
    text = (DATA / "machine.xml").read_text()
    as_xml = odd.replace('"', "&quot;").replace("\n", "&#10;").replace("\r", "&#13;")
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder) / "machine.xml"
        machine.write_text(re.sub(r'(name="CPUModel" value=)"[^"]*"', rf'\1"{as_xml}"', text))
        env = {**environment(DATA / "quick.replay"), "HWLOC_XMLFILE": str(machine)}
        result = subprocess.run([REPLAY, *WORDS["quick"], "--format", "csv"], env=env, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout.decode(), newline=""), strict=True))
    assert [row["machine.cpu_model"] for row in rows] == [odd] * 4
    assert [row["pair"] for row in rows] == [""] * 4


# ---- the numbers, computed from the recorded bytes ----

def recorded_points(name):
    """Of each dump: its samples as dictionaries, and its rounds."""
    top, nested = enum("CALM_A_"), {"SAMPLE": enum("CALM_A_SAMPLE_"), "ROUND": enum("CALM_A_ROUND_")}
    points = []
    for line in lines_of(name):
        word, socket, *rest = line.split()
        if word == "send" and rest[:2] == ["dump", "3"]:
            points.append({"SAMPLE": [], "ROUND": []})
        if word != "reply" or socket != "1" or rest[0] != "3":
            continue
        for kind, payload in attributes(payload_of(rest[1])):
            for what, names in nested.items():
                if kind == top[what]:
                    values = {key: number(value) for key, value in attributes(payload)}
                    points[-1][what].append({key: values.get(value) for key, value in names.items()})
    return points


def quantile(values, share):
    """Type 7, as R computes it by default."""
    values = sorted(values)
    place = (len(values) - 1) * share
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def deviation(values):
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


def close(found, expected):
    assert found is not None and math.isclose(found, expected, rel_tol=1e-12), \
        f"found {found}, expected {expected}"


def check_summary(found, rounds):
    values = [value for one in rounds for value in one]
    medians = [statistics.median(one) for one in rounds]
    close(found["min"], min(values))
    close(found["p5"], quantile(values, 0.05))
    close(found["median"], statistics.median(medians))
    close(found["p95"], quantile(values, 0.95))
    close(found["mad"], deviation(values))
    close(found["within_rounds_mad"], statistics.median(deviation(one) for one in rounds))
    if len(rounds) > 1:
        close(found["between_rounds_mad"], deviation(medians))
    else:
        assert found["between_rounds_mad"] is None


def numbers_of(name):
    result = calm(name, *WORDS[name], "--format", "json", "--raw")
    expect(result, 0)
    found = document(result)
    recorded = recorded_points(name)
    assert len(found["points"]) == len(recorded) > 0
    for point, one in zip(found["points"], recorded):
        rounds = {}
        for sample in one["SAMPLE"]:
            rounds.setdefault(sample["ROUND"], []).append(sample)
        single, two = [], []
        for samples in rounds.values():
            empty = statistics.median(sample["TSC_EMPTY"] for sample in samples)
            single.append([(sample["TSC"] - sample["WINDOWS"] * empty) / point["loads"]
                           for sample in samples])
            two.append([(sample["TSC_DOUBLE"] - sample["TSC"]) / point["loads"]
                        for sample in samples])
        check_summary(point["tsc_per_access"], single)
        check_summary(point["tsc_per_access_two_lengths"], two)
        check_summary(point["bytes_per_second"],
                      [[point["access_bytes"] * point["tsc_hz"] / value for value in one] for one in single])
        close(point["ns_per_access"]["median"],
              point["tsc_per_access"]["median"] * 1e9 / point["tsc_hz"])
        assert point["seeds"] == [one_round["SEED"] for one_round in one["ROUND"]]
        assert point["contiguous_bytes"] == min(r["CONTIGUOUS_BYTES"] for r in one["ROUND"])
        leaves = {size: one["ROUND"][0][key] for size, key in
                  (("4096", "LEAVES_4K"), ("2097152", "LEAVES_2M"), ("1073741824", "LEAVES_1G"))}
        assert point["leaf_bytes"] == {size: count for size, count in leaves.items() if count}
        raw = [sample for samples in point["raw"] for sample in samples]
        assert [sample["tsc"] for sample in raw] == [s["TSC"] for s in one["SAMPLE"]]
        assert point["samples"] == len(raw) and point["rounds"] == len(rounds) == len(point["raw"])


def numbers():
    for name in ("quick", "rounds", "copy", "noise"):
        numbers_of(name)


def footprints():
    """A cache that holds all lines that are touched is named: by the distance of elements, not by the buffer's size alone."""
    for name in ("quick", "copy", "random", "rounds"):
        found = document(calm(name, *WORDS[name], "--format", "json"))
        claimed = [(cache["name"], cache["capacity_bytes"]) for cache in found["machine"]["caches"]]
        assert len(claimed) == 3
        for point in found["points"]:
            touched = min(point["size_bytes"], point["size_bytes"] // point["stride_bytes"] * 64)
            assert point["fits"] == next((name for name, size in claimed if touched <= size), None), point["size_bytes"]


def counted_samples(name):
    """Of each dump: its samples, each with lists of what there may be several of."""
    top, fields = enum("CALM_A_"), enum("CALM_A_SAMPLE_")
    dumps = []
    for line in lines_of(name):
        word, socket, *rest = line.split()
        if word == "send" and rest[:2] == ["dump", "3"]:
            dumps.append([])
        if word != "reply" or socket != "1" or rest[0] != "3":
            continue
        for kind, payload in attributes(payload_of(rest[1])):
            if kind != top["SAMPLE"]:
                continue
            sample = {key: [] for key in fields}
            for field, value in attributes(payload):
                for key, wanted in fields.items():
                    if field == wanted:
                        sample[key].append(number(value))
            dumps[-1].append(sample)
    return dumps


def rate(samples, place, loads):
    """Counts per access of one event: the median of the rounds' medians."""
    medians = []
    for index in sorted({sample["ROUND"][0] for sample in samples}):
        one = [sample for sample in samples if sample["ROUND"][0] == index]
        empty = statistics.median(sample["COUNT_EMPTY"][place] for sample in one)
        medians.append(statistics.median(
            (sample["COUNT"][place] - sample["WINDOWS"][0] * empty) / loads for sample in one))
    return statistics.median(medians)


def counts():
    """Core cycles come first, then the events in the order that they were asked for, over several jobs."""
    for name, shown, groups in (("counters", ["l1-miss", "l2-miss", "l3-miss"], [3]),
                                ("count", ["cycles", "instructions", "l1-miss", "r0143", "r0243", "r0843",
                                           "RETIRED_OPS", "r0044"], [5, 2])):
        points = document(calm(name, *WORDS[name], "--format", "json"))["points"]
        jobs = counted_samples(name)[-len(points) * len(groups):]
        for i, point in enumerate(points):
            places = [(len(groups) * i, place) for place in range(groups[0] + 1)]
            for more, size in enumerate(groups[1:], 1):
                places += [(len(groups) * i + more, place) for place in range(size)]
            found = {event: rate(jobs[job], place, point["loads"])
                     for event, (job, place) in zip(["cycles"] + [e for e in shown if e != "cycles"], places)}
            close(point["cycles_per_access"]["median"], found["cycles"])
            for event in shown:
                value = point["events"][event]["per_access"]
                assert value == found[event] or math.isclose(value, found[event], rel_tol=1e-12), event
                close(point["events"][event]["per_pass"] + 1, value * point["loads"] + 1)
    missing = document(calm("counters", *WORDS["counters"], "--format", "json"))["points"][0]["events"]["dtlb-miss"]
    assert missing["per_access"] is None and "expected 1.00 within 0.02" in missing["reason"]


def settings_and_sizes():
    found = document(calm("rounds", *WORDS["rounds"], "--format", "json"))
    assert found["complete"] is True and found["ended_by"] is None
    assert found["settings"]["sizes_bytes"] == [16384, 1500000]
    assert found["settings"]["cpu_reason"] == "asked for"
    assert found["points"][1]["requested_size_bytes"] == 1500000
    assert found["points"][1]["size_bytes"] == 1500000 // 64 * 64
    assert found["points"][0]["leaf_bytes"] == {"4096": 4}
    assert all(point["node"] == 0 for point in found["points"])
    assert found["quiet"]["longest_slice_us"] > 0
    assert "hostname" not in str(found).lower()


def overhead_is_refused():
    result = calm("overhead", *WORDS["overhead"], "--format", "json")
    expect(result, 0, "no statistics: the overhead is above 10 %")
    point = document(result)["points"][0]
    assert point["tsc_per_access"] is None and point["ns_per_access"] is None
    assert point["overhead_tsc"] > 0 and point["overhead_share"] > 0.1
    assert "10 %" in point["refused"]


# ---- what the recordings do not hold, made from one that does ----

def edited(name, edit):
    """The recording with EDIT applied to the attributes of every samples message."""
    lines = []
    for line in lines_of(name):
        words = line.split()
        if words[:3] == ["reply", "1", "3"]:
            pairs = list(attributes(payload_of(words[3])))
            words[3] = b"".join(attribute(*pair) for pair in edit(pairs)).hex()
        lines.append(" ".join(words))
    return lines


def with_sample_field(pairs, wanted, field, payload):
    """A field of the samples with the WANTED indices set to another value."""
    top, fields = enum("CALM_A_"), enum("CALM_A_SAMPLE_")
    for kind, data in pairs:
        if kind == top["SAMPLE"]:
            inner = dict(attributes(data))
            if number(inner[fields["INDEX"]]) in wanted:
                inner[fields[field]] = payload
            data = b"".join(attribute(*pair) for pair in inner.items())
        yield kind, data


def disturbed_samples_are_counted():
    one = struct.pack("=I", 1)
    lines = edited("rounds", lambda pairs: with_sample_field(pairs, {0, 4}, "DISTURB", one))
    result = calm(lines, *WORDS["rounds"], "--format", "json")
    expect(result, 0)
    whole = document(calm("rounds", *WORDS["rounds"], "--format", "json"))
    for point, before in zip(document(result)["points"], whole["points"]):
        assert point["samples"] == 6 and point["dropped"] == 2
        assert point["disturbed"] == [{"cause": "slice", "samples": 2}]
        assert point["tsc_per_access"] != before["tsc_per_access"]


def no_usable_sample_is_null():
    one = struct.pack("=I", 1)
    lines = edited("rounds", lambda pairs: with_sample_field(pairs, set(range(6)), "DISTURB", one))
    result = calm(lines, *WORDS["rounds"], "--format", "json")
    expect(result, 0, "every sample was disturbed")
    for point in document(result)["points"]:
        assert point["tsc_per_access"] is None and point["dropped"] == 6 and point["rounds"] == 0


def absent_second_length_is_null():
    fields = enum("CALM_A_SAMPLE_")
    top = enum("CALM_A_")

    def without(pairs):
        for kind, data in pairs:
            if kind == top["SAMPLE"]:
                data = b"".join(attribute(*pair) for pair in attributes(data)
                                if pair[0] != fields["TSC_DOUBLE"])
            yield kind, data

    found = document(calm(edited("rounds", without), *WORDS["rounds"], "--format", "json"))
    for point in found["points"]:
        assert point["tsc_per_access_two_lengths"] is None and point["tsc_per_access"] is not None
    assert found["derived"]["levels"][0]["latency_ns"] is None


def no_clock_is_null():
    """Without a rate of the time stamp counter there are ticks, but no nanoseconds."""
    rate = enum("CALM_A_")["TSC_KHZ"]
    lines = []
    for line in lines_of("rounds"):
        words = line.split()
        if words[:3] == ["reply", "0", "1"]:
            words[3] = b"".join(attribute(kind, 0 if kind == rate else data)
                                for kind, data in attributes(payload_of(words[3]))).hex()
        lines.append(" ".join(words))
    found = document(calm(lines, *WORDS["rounds"], "--format", "json"))
    for point in found["points"]:
        assert point["tsc_hz"] is None and point["ns_per_access"] is None
        assert point["tsc_per_access"] is not None
    assert found["machine"]["tsc_hz"] is None


def with_long_windows(without):
    """random.replay whose windows are too long for counters at the second size, and have no fields WITHOUT."""
    top, fields = enum("CALM_A_"), enum("CALM_A_SAMPLE_")
    ticks = {fields[name] for name in ("TSC", "TSC_DOUBLE", "TSC_EMPTY")}

    def longer(data):
        return b"".join(attribute(kind, struct.pack("=Q", number(value) << 24) if kind in ticks else value)
                        for kind, value in attributes(data) if kind not in [fields[name] for name in without])

    lines = []
    later = sum(line.startswith("send 1 dump 3") for line in lines_of("random"))
    for line in lines_of("random"):
        words = line.split()
        later -= words[:4] == ["send", "1", "dump", "3"]
        # the last six points are those of the second size
        if words[:3] == ["reply", "1", "3"] and later < 6:
            words[3] = b"".join(attribute(kind, longer(data) if kind == top["SAMPLE"] else data)
                                for kind, data in attributes(payload_of(words[3]))).hex()
        lines.append(" ".join(words))
    return lines


def rows_of_another_unit_have_a_heading():
    head, row, large = r"^{} per load\n.* one lane .*\n", r" +{} +{}\.000 .*\n", 234 << 24
    both = calm(with_long_windows([]), *WORDS["random"])
    expect(both, 0)
    assert re.search(r"^core cycles by counter, of others by APERF$", both.stdout, re.M), both.stdout
    assert re.search(head.format("core cycles") + row.format("4M", 50) + row.format("64M", large), both.stdout, re.M), both.stdout
    one = calm(with_long_windows(["APERF", "MPERF"]), *WORDS["random"])
    expect(one, 0)
    assert re.search(r"^core cycles by counter$", one.stdout, re.M), one.stdout
    assert re.search(head.format("core cycles") + row.format("4M", 50) + "\n" +
                     head.format("TSC ticks") + row.format("64M", large), one.stdout, re.M), one.stdout


if __name__ == "__main__":
    sys.exit(run_tests([
        tables, documents, rows_of_points, every_field_is_a_column, a_plan_has_rows, quoting, numbers, footprints, counts,
        settings_and_sizes, overhead_is_refused,
        disturbed_samples_are_counted, no_usable_sample_is_null, absent_second_length_is_null,
        no_clock_is_null, rows_of_another_unit_have_a_heading, sanitized,
    ]))
