#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What --dry-run prints, without module or privilege, and the progress that a terminal sees."""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
# pylint: disable=wrong-import-position
from clitest import DATA, REPLAY, calm, document, environment, expect, lines_of, run_tests

KIB, MIB = 1024, 1024 * 1024
ROUNDS = "latency --cpu 1 --events none --size 16K,1500000 --rounds 2 --samples 3 --pages 4k --format json".split()


def planned(*words):
    """The document of a dry run. The replay would end at once if the module were asked."""
    result = calm(None, "latency", "--dry-run", "--format", "json", *words)
    expect(result, 0)
    assert result.stderr == "", result.stderr
    return document(result)


def sizes(found):
    return [point["size_bytes"] for point in found["points"]]


def document_of_a_plan():
    found = planned("--min", "4K", "--max", "64M")
    assert found["dry_run"] is True and found["complete"] is False and found["ended_by"] == "dry-run"
    assert found["module"] is None and found["derived"] is None
    assert found["settings"]["min_bytes"] == 4 * KIB and found["settings"]["max_bytes"] == 64 * MIB
    for point in found["points"]:
        assert point["tsc_per_access"] is None and point["ns_per_access"] is None
        assert point["rounds"] == 5 and point["samples"] == 45 and point["estimate_s"] > 0
        assert point["loads"] % (point["size_bytes"] // 64) == 0


def grid_is_dense_enough():
    found = planned("--min", "4K", "--max", "64M")
    points = sizes(found)
    assert points[0] == 4 * KIB and points[-1] == 64 * MIB and points == sorted(set(points))
    low = 4 * KIB
    while low < 64 * MIB:
        assert sum(low <= size < 2 * low for size in points) >= 4, low
        low *= 2
    for cache in found["machine"]["caches"]:
        capacity = cache["capacity_bytes"]
        for start in (capacity // 2, capacity):
            assert sum(start <= size < 2 * start for size in points) >= 8, (cache["name"], start)


def default_range_follows_the_machine():
    points = sizes(planned())
    assert points[0] == 4 * KIB and points[-1] == 64 * MIB


def elsewhere(**variables):
    """The plan for a machine that hwloc is told of by VARIABLES; that it is another one is told, too."""
    env = {key: value for key, value in environment().items() if not key.startswith("HWLOC")}
    result = subprocess.run([REPLAY, "latency", "--dry-run", "--format", "json", "--size", "4K"], env={**env, **variables},
                            capture_output=True, text=True, timeout=60, check=False)
    text = "the plan is for another machine, which hwloc was told of"
    expect(result, 0)
    assert result.stderr == f"calm: {text}\n", result.stderr
    found = document(result)
    assert found["notices"] == [text], found["notices"]
    return found


def default_cpu_has_a_reason():
    settings = elsewhere(HWLOC_XMLFILE=str(DATA / "machine.xml"))["settings"]
    assert settings["cpu"] == 3 and settings["cpu_reason"] == "the highest-numbered CPU"
    settings = planned("--cpu", "0")["settings"]
    assert settings["cpu"] == 0 and settings["cpu_reason"] == "asked for"


def synthetic(description):
    """The plan for a machine that hwloc makes up."""
    return elsewhere(HWLOC_SYNTHETIC=description)


def machines_of_every_shape():
    found = synthetic("pu:1")
    assert found["settings"]["cpu"] == 0 and found["settings"]["cpu_reason"] == "the only CPU"
    assert found["machine"]["caches"] == []
    found = synthetic("numa:2 core:4 pu:2")
    assert found["settings"]["cpu"] == 15 and found["machine"]["nodes"] == 2
    found = synthetic("l3:1(size=8MB) l2:2(size=256kB) l1d:1(size=32kB) core:1 pu:1")
    assert [cache["name"] for cache in found["machine"]["caches"]] == ["L1d", "L2", "L3"]


def settings_reach_the_plan():
    found = planned("--size", "100000", "--stride", "128", "--rounds", "2", "--samples", "3", "--loads",
                    "5000", "--pages", "4k", "--seed", "7", "--node", "1")
    point, = found["points"]
    assert point["requested_size_bytes"] == 100000 and point["size_bytes"] == 99968
    assert point["stride_bytes"] == 128 and point["loads"] == 5000 and point["pages"] == "4k"
    assert point["rounds"] == 2 and point["samples"] == 6
    assert found["settings"]["seed"] == 7 and found["settings"]["node"] == 1


EXPERIMENTS = ("latency", "random", "stride", "copy", "ways", "tlb", "noise", "count")
# what each of them takes: words, and the settings that they become
COMMON = (
    (["--prefetch", "off"], {"prefetch": "off"}),
    (["--prefetch", "both"], {"prefetch": "both", "rounds": 10}),
    (["--prefetch", "off:l1-stream", "--unsafe-prefetch"], {"prefetch": "off:l1-stream", "unsafe_prefetch": True}),
    (["--events", "cycles,l1-miss"], {"events": "cycles,l1-miss"}),
    (["--rounds", "3", "--samples", "7"], {"rounds": 3, "samples": 7}),
    (["--warmup", "4", "--seed", "11"], {"warmup": 4, "seed": 11}),
    (["--quick"], {"quick": True, "rounds": 1, "samples": 5}),
    (["--quick", "--samples", "8"], {"quick": True, "rounds": 1, "samples": 8}),
    (["--pages", "4k-contig"], {"pages": "4k-contig"}),
    (["--node", "1", "--cpu", "2"], {"node": 1, "cpu": 2}),
    (["--loads", "720720"], {"loads": 720720}),
    (["--quiet", "cpu"], {"quiet": "cpu"}),
)


def every_experiment_takes_what_all_take():
    """Each option of all, by its row; points have what was asked for."""
    for command in EXPERIMENTS:
        for words, settings in COMMON:
            result = calm(None, command, *(["chase"] if command == "count" else []), *words, "--dry-run", "--format", "json")
            expect(result, 0)
            found = document(result)
            told = {name: found["settings"][name] for name in settings}
            assert told == settings, f"{command} {' '.join(words)}: {told}"
            asked = found["settings"]
            assert found["points"], command
            for point in found["points"]:
                assert point["rounds"] == asked["rounds"] and point["samples"] == asked["rounds"] * asked["samples"], command
                assert "loads" not in settings or point["loads"] == 720720, command
                assert "pages" not in settings or point["pages"] == "4k-contig", command


def plan_as_a_table():
    result = calm(None, "latency", "--dry-run", "--max", "8K")
    expect(result, 0)
    lines = result.stdout.splitlines()
    assert "estimate [s]" in lines[1] and "size [bytes]" in lines[1]
    assert [line.split()[0] for line in lines[2:]] == ["4K", "4.75K", "5.6875K", "6.75K", "8K"]


# ---- progress ----

def slow_recording():
    """rounds.replay with a pause before each message of samples: long enough for a bar."""
    lines = []
    for line in lines_of("rounds"):
        if line.startswith("reply 1"):
            lines.append("pause 1 300")
        lines.append(line)
    return lines


def on_a_terminal(*words):
    """Run the slow recording with stderr on a terminal: stdout, and what the terminal got."""
    leader, follower = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "lines.replay"
        path.write_text("\n".join(slow_recording()) + "\n")
        with subprocess.Popen([REPLAY, *ROUNDS, *words], env=environment(path), text=True,
                              stdout=subprocess.PIPE, stderr=follower) as process:
            os.close(follower)
            stdout, shown = process.stdout.read(), b""
            while True:
                try:
                    part = os.read(leader, 4096)
                except OSError:
                    break
                if not part:
                    break
                shown += part
            process.wait(timeout=20)
    os.close(leader)
    assert process.returncode == 0, shown
    return stdout, shown.decode()


def terminal_sees_a_bar():
    stdout, shown = on_a_terminal()
    document(stdout)
    assert re.search(r"calm: 2 points, (about|less than) \d+ s\r\n", shown), repr(shown)
    assert re.search(r"\r\[=* *\] 1 of 2 points, (about|less than) \d+ s left", shown), repr(shown)
    # nothing of it stays
    assert shown.endswith("\r\x1b[K"), repr(shown)


def no_progress_is_silent():
    stdout, shown = on_a_terminal("--no-progress")
    document(stdout)
    assert shown == "", repr(shown)


def files_see_the_estimate_only():
    result = calm("rounds", *ROUNDS)
    assert re.fullmatch(r"calm: 2 points, (about|less than) \d+ s\n", result.stderr), result.stderr


if __name__ == "__main__":
    sys.exit(run_tests([
        document_of_a_plan, grid_is_dense_enough, default_range_follows_the_machine,
        default_cpu_has_a_reason, machines_of_every_shape, settings_reach_the_plan, every_experiment_takes_what_all_take,
        plan_as_a_table,
        terminal_sees_a_bar, no_progress_is_silent, files_see_the_estimate_only,
    ]))
