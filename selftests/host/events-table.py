#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The table of events is what its generator makes, and has a row for each model that the module names."""
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


def names():
    """Names of the module's models that have no events."""
    text = (TOP / "kmod" / "model.c").read_text(encoding="utf-8")
    wanted = {name for line in re.findall(r"^\t(?:INTEL|AMD)\w*\(.*$", text, re.M)
              for name in re.findall(r'"([^"]+)"', line)}
    known = set(re.findall(r'^\t\{ "([^"]+)", CALM_VENDOR_', TABLE, re.M))
    return "" if wanted and wanted <= known else f"without events: {sorted(wanted - known)}"


def main():
    tests = [("regenerated and compared", generated), ("a changed code is noticed", notices_a_change),
             ("events for each model", names)]
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
