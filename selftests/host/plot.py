#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The picture of a result: its levels, sizes and curves, and what is said of files that hold none."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parents[2]
RESULT = TOP / "selftests" / "data" / "counters.json"
SVG = "{http://www.w3.org/2000/svg}"


def plot(*words):
    """Run it on these words."""
    return subprocess.run([TOP / "tools" / "plot" / "plot", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)


def drawn(folder, document):
    """The texts of the picture of a document, and how many markers of points it has."""
    result, picture = folder / "result.json", folder / "picture.svg"
    result.write_text(json.dumps(document), encoding="utf-8")
    done = plot(result, picture)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", ""), done
    assert sorted(os.listdir(folder)) == ["picture.svg", "result.json"], os.listdir(folder)
    root = xml.etree.ElementTree.parse(picture).getroot()
    assert root.tag == f"{SVG}svg", root.tag
    texts = ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]
    # gnuplot 6 draws a larger white one behind each
    marks = [use for use in root.iter(f"{SVG}use") if use.get("{http://www.w3.org/1999/xlink}href") == "#gpPt6"]
    return texts, sum(use.get("color") != "#FFFFFF" for use in marks)


def document_of(change=lambda document: None):
    """The kept result with a change."""
    document = json.loads(RESULT.read_text(encoding="utf-8"))
    change(document)
    return document


def levels_and_sizes(folder):
    texts, marks = drawn(folder, document_of())
    for text in ("L1d 64K", "4 core cycles", "L2 512K", "14 core cycles", "L3 16M", "50 core cycles", "memory",
                 "234 core cycles", "32K", "1M", "64M", "buffer size [bytes]", "latency of a load [core cycles]"):
        assert text in texts, (text, texts)
    assert marks == 4, marks


def nanoseconds_without_cycles(folder):
    def change(document):
        for point in document["points"]:
            point["cycles_per_access"] = None
    texts, _ = drawn(folder, document_of(change))
    assert "latency of a load [ns]" in texts and "0.889 ns" in texts and "52 ns" in texts, texts


def a_curve_for_each_setting(folder):
    def change(document):
        document["points"] += [{**point, "prefetch": "off"} for point in document["points"]]
    texts, marks = drawn(folder, document_of(change))
    assert "prefetchers found" in texts and "prefetchers off" in texts, texts
    # and one in the key for each
    assert marks == 10, marks


def hostile_names(folder):
    def change(document):
        document["derived"]["levels"][0]["name"] = "L1' \"`touch x`\" $x"
        document["machine"]["cpu_model"] = "it's <a> \"CPU\" & `touch x` $x {/:Bold y}\n_z"
    texts, _ = drawn(folder, document_of(change))
    assert any(text.startswith("it's <a> \"CPU\" & `touch x` $x {/:Bold y} _z, CPU 1") for text in texts), texts
    assert "L1' \"`touch x`\" $x 64K" in texts, texts


def incomplete_is_told(folder):
    def change(document):
        document["complete"] = False
        document["points"] = document["points"][:1]
    texts, marks = drawn(folder, document_of(change))
    assert marks == 1 and any(text.endswith("(incomplete)") for text in texts), texts


def nothing_to_draw(folder):
    rows = [("{", ""), ("[]", "it is no result of calm latency"),
            (json.dumps(document_of(lambda d: d["points"][0].pop("prefetch"))), "it is not as calm writes it"),
            (json.dumps(document_of(lambda d: d.update(points=[3]))), "it is not as calm writes it"),
            ("{}", "it is no result of calm latency"),
            (json.dumps(document_of(lambda d: d.update(command="info"))), "it is no result of calm latency"),
            (json.dumps(document_of(lambda d: d.update(points=[]))), "no point has a latency")]
    path = folder / "result.json"
    for text, said in rows:
        path.write_text(text, encoding="utf-8")
        done = plot(path, folder / "picture.svg")
        assert done.returncode == 2 and done.stderr.startswith(f"plot: {path}: "), done
        assert said in done.stderr, done
        assert os.listdir(folder) == ["result.json"]


def files_that_are_not_there(folder):
    done = plot(folder / "none.json", folder / "picture.svg")
    assert done.returncode == 2 and "none.json" in done.stderr, done
    done = plot(RESULT, folder / "none" / "picture.svg")
    assert done.returncode == 2 and "picture.svg" in done.stderr, done
    assert not os.listdir(folder)


def words():
    for line in ([], ["one"], ["a", "b", "c"]):
        done = plot(*line)
        assert done.returncode == 1 and "usage: tools/plot/plot" in done.stderr and not done.stdout, done
    assert plot("--help").returncode == 0


def main():
    tests = [levels_and_sizes, nanoseconds_without_cycles, a_curve_for_each_setting, hostile_names,
             incomplete_is_told, nothing_to_draw, files_that_are_not_there, lambda folder: words()]
    names = [test.__name__ for test in tests[:-1]] + ["words"]
    print(f"TAP version 13\n1..{len(tests)}", flush=True)
    failed = 0
    for number, (name, test) in enumerate(zip(names, tests), 1):
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(pathlib.Path(folder))
            print(f"ok {number} {name}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed = 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
