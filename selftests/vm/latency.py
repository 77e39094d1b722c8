#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm latency in a guest: one complete document, with points as close as promised."""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOWEST, HIGHEST = 4 << 10, 64 << 20
COMMAND = ("for i in /sys/devices/system/cpu/cpu0/cache/index*; do "
           "echo $(cat $i/type) $(cat $i/size); done >/out/claims; "
           "exec calm latency --min 4K --max 64M --format json")


def measure():
    """Exit status, standard output, and the cache capacities that the guest's kernel claims."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run(
            [os.path.join(TOP, "tools/vm/run"), "--time-limit", "900", "--out", out, "--",
             "sh", "-c", COMMAND], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        print("".join(f"# {line}\n" for line in run.stderr.splitlines()), end="")
        claims = []
        with open(os.path.join(out, "claims"), encoding="ascii") as f:
            for line in f:
                kind, size = line.split()
                if kind != "Instruction":
                    claims.append(int(size.rstrip("K")) << 10)
        return run.returncode, run.stdout, claims


def in_octave(sizes, low):
    return sum(low <= size < 2 * low for size in sizes)


def results():
    """(name, passed, what was found) of each test."""
    status, text, claims = measure()
    yield "status is 0", status == 0, status
    document = json.loads(text)
    yield "one document, complete", document["complete"] is True, document["complete"]
    points = document["points"]
    sizes = sorted(p["size_bytes"] for p in points)
    yield "from 4K to 64M", (sizes[0], sizes[-1]) == (LOWEST, HIGHEST), (sizes[0], sizes[-1])
    few = [low for low in sizes if 2 * low <= HIGHEST and in_octave(sizes, low) < 4]
    yield "at least 4 points in any octave", not few, few
    inside = [c for c in claims if LOWEST <= c // 2 and 2 * c <= HIGHEST]
    near = {c: sum(c // 2 <= size <= 2 * c for size in sizes) for c in inside}
    yield "at least 8 from half to twice each claimed capacity", \
        bool(near) and all(n >= 8 for n in near.values()), near
    slow = [p["size_bytes"] for p in points if not p["tsc_per_access"] or p["tsc_per_access"]["min"] <= 0]
    yield "each point has a time", not slow, slow
    kept = [p["size_bytes"] for p in points if p["samples"] < 1 or p["samples"] + p["dropped"] < 45]
    yield "no sample vanished", not kept, kept


def main():
    print("TAP version 13\n1..7")
    failed = 0
    for number, (name, passed, found) in enumerate(results(), 1):
        if not passed:
            failed = 1
            print(f"# found {found}")
        print(f"{'ok' if passed else 'not ok'} {number} {name}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
