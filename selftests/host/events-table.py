#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The table of events is what its generator makes, and has a row for each model whose events are published."""
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
TABLE = (TOP / "user" / "events_table.c").read_text(encoding="utf-8")


def generated():
    """Regenerated and compared."""
    done = subprocess.run([TOP / "tools" / "events" / "generate", "--check"], check=False,
                          capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


def notices_a_change():
    """The comparison can fail."""
    work = TOP / "build" / "events-table"
    subprocess.run(["rm", "-rf", work], check=True)
    (work / "tools").mkdir(parents=True)
    (work / "user").mkdir()
    subprocess.run(["cp", "-r", TOP / "tools" / "events", work / "tools"], check=True)
    (work / "user" / "events_table.c").write_text(TABLE.replace("0x8d1", "0x8d2", 1), encoding="utf-8")
    done = subprocess.run([work / "tools" / "events" / "generate", "--check"], check=False,
                          capture_output=True, text=True)
    return "" if done.returncode == 1 else f"status {done.returncode}"


# what the module knows for its prefetchers alone: older than the tables of events, or never in them
WITHOUT_EVENTS = {
    "Core 2", "Nehalem", "Westmere", "SandyBridge", "IvyBridge", "Silvermont", "Airmont", "Goldmont",
    "GoldmontPlus", "Tremont", "KnightsLanding", "KnightsMill",
}


def names():
    """Names of the module's models that have no events, and those that have some against expectation."""
    text = (TOP / "kmod" / "model.c").read_text(encoding="utf-8")
    wanted = {name for line in re.findall(r"^\t(?:INTEL|AMD)\w*\(.*$", text, re.M)
              for name in re.findall(r'"([^"]+)"', line)}
    known = set(re.findall(r'^\t\{ "([^"]+)", CALM_VENDOR_', TABLE, re.M))
    return "" if wanted - known == WITHOUT_EVENTS and wanted & known else \
        f"without events: {sorted(wanted - known - WITHOUT_EVENTS)}, not so: {sorted(WITHOUT_EVENTS - (wanted - known))}"


def rows_of(text, pattern):
    """Rows that a pattern finds, with numbers as integers."""
    return {tuple(int(x, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", x) else x for x in row)
            for row in re.findall(pattern, text, re.M)}


def models():
    """The module and the program take the same models for the same."""
    here = rows_of(TABLE, r'^\t\{ "([^"]+)", (0x\w+), (0x\w+), (0x\w+), (\d+), (\d+), (\w+) \},$')
    text = (TOP / "kmod" / "model.c").read_text(encoding="utf-8")
    module = set()
    for kind, words in re.findall(r"^\t(INTEL\w*|AMD)\((.*)\),$", text, re.M):
        row = [int(w, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", w) else w.strip('"') for w in words.split(", ")]
        if kind == "INTEL":
            module.add((row[1], 6, row[0], row[0], 0, 15, 0))
        elif kind == "INTEL_STEPPINGS":
            module.add((row[3], 6, row[0], row[0], row[1], row[2], 0))
        # whether one of INTEL_OR_HYBRID is hybrid is not known without the module
        elif kind in ("INTEL_HYBRID", "INTEL_OR_HYBRID"):
            module.add((row[1], 6, row[0], row[0], 0, 15, 0x40))
            module.add((row[3], 6, row[0], row[0], 0, 15, 0x20))
        else:
            module.add((row[3], row[0], row[1], row[2], 0, 15, 0))
    module = {row for row in module if row[0] not in WITHOUT_EVENTS}
    return "" if here == module and len(here) > 40 else \
        f"only in the program: {sorted(here - module)}, only in the module: {sorted(module - here)}"


def main():
    tests = [("regenerated and compared", generated), ("a changed code is noticed", notices_a_change),
             ("events for each model", names), ("the same models", models)]
    print(f"TAP version 13\n1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        fault = test()
        failed += bool(fault)
        if fault:
            print(f"# {fault}")
        print(f"{'not ' if fault else ''}ok {number} {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
