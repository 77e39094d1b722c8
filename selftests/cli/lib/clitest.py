# SPDX-License-Identifier: GPL-2.0-only
"""Running calm against recordings, and printing KTAP, for the tests beside this folder."""

import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import traceback

import jsonschema

TOP = pathlib.Path(__file__).resolve().parents[3]
DATA = TOP / "selftests" / "data"
SCHEMA = json.loads((TOP / "Documentation" / "calm-1.schema.json").read_text())
CALM = TOP / "build" / "calm"
REPLAY = TOP / "build" / "selftests" / "cli" / "calm-replay"
SANITIZE = TOP / "build" / "selftests" / "cli" / "calm-replay-sanitize"


def run_tests(tests):
    """Run functions, or pairs of a name and a function, and print KTAP. A test fails by raising."""
    print(f"TAP version 13\n1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name, function = test if isinstance(test, tuple) else (test.__name__, test)
        try:
            function()
            print(f"ok {number} {name}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} {name}", flush=True)
    return 1 if failed else 0


def payload_of(word):
    """The bytes that a word of a recording stands for; a dash is none."""
    return b"" if word == "-" else bytes.fromhex(word)


def environment(recording=None):
    """What a run of calm sees: a saved machine, and the recording that answers it."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("HWLOC", "CALM"))}
    env["HWLOC_XMLFILE"] = str(DATA / "machine.xml")
    # the recordings were made on it
    env["HWLOC_THISSYSTEM"] = "1"
    # runs also where leaks cannot be looked for, such as under a tracer
    env["ASAN_OPTIONS"] = "abort_on_error=1"
    if recording:
        env["CALM_REPLAY"] = str(recording)
    return env


def calm(recording, *words, program=REPLAY, **options):
    """Run calm; RECORDING is a name in selftests/data, or the lines of one."""
    with tempfile.TemporaryDirectory() as folder:
        path = None
        if isinstance(recording, str):
            path = DATA / f"{recording}.replay"
        elif recording is not None:
            path = pathlib.Path(folder) / "lines.replay"
            path.write_text("\n".join(recording) + "\n")
        return subprocess.run([program, *words], env=environment(path), stdin=subprocess.DEVNULL,
                              stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False, **options)


def lines_of(name):
    """The lines of a recording."""
    return (DATA / f"{name}.replay").read_text().splitlines()


def expect(result, status, stderr=""):
    """The exit status, and a pattern that stderr holds."""
    assert result.returncode == status, \
        f"status {result.returncode}, expected {status}\n{result.stderr}{result.stdout or ''}"
    assert re.search(stderr, result.stderr), f"no {stderr!r} in {result.stderr!r}"


def document(result):
    """The one JSON document on stdout, checked against the schema; NaN and the like are refused."""
    def refuse(constant):
        raise AssertionError(f"{constant} in the document")

    found = json.loads(result if isinstance(result, str) else result.stdout, parse_constant=refuse)
    jsonschema.validate(found, SCHEMA)
    return found


# ---- netlink attributes, decoded and encoded without the program under test ----

def attributes(data):
    """Pairs of type and payload."""
    place = 0
    while place + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, place)
        yield kind & 0x3fff, data[place + 4:place + length]
        place += (length + 3) & ~3


def attribute(kind, payload):
    """One attribute, padded."""
    if isinstance(payload, int):
        payload = struct.pack("=I", payload)
    elif isinstance(payload, str):
        payload = payload.encode() + b"\0"
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + bytes(-len(data) % 4)


def number(payload):
    """An unsigned number of four or eight bytes."""
    return int.from_bytes(payload, "little")


def enum(prefix):
    """Numbers of the uapi header's names that start with PREFIX, without it, counted as C does."""
    text = (TOP / "include" / "uapi" / "linux" / "calm.h").read_text()
    values = {}
    for body in re.findall(r"enum[ \w]*\{(.*?)\};", text, re.S):
        value = -1
        for name, given in re.findall(r"(\w+)(?: = (\d+))?,?\n", body):
            value = int(given) if given else value + 1
            if name.startswith(prefix):
                values[name[len(prefix):]] = value
    return values
