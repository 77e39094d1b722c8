#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each exit status with the words that go with it, and what becomes of results that cannot be written."""

import csv
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
# pylint: disable=wrong-import-position
from clitest import (CALM, DATA, REPLAY, TOP, attribute, attributes, calm, document, enum, environment,
                     expect, lines_of, payload_of, run_tests)

LATENCY = "latency --cpu 1 --events none --size 4K --quick".split()
ROUNDS = "latency --cpu 1 --events none --size 16K,1500000 --rounds 2 --samples 3 --pages 4k --format json".split()
SIGINT = "latency --cpu 1 --events none --size 8M --rounds 4 --samples 50 --format json".split()
ATTR = enum("CALM_A_")
STATE = enum("CALM_STATE_")


def info_reply(version=1, abi=1):
    """A recording up to GET_INFO's reply, with another version of something in it."""
    lines = []
    for line in lines_of("info"):
        words = line.split()
        if words[0] == "send" and words[2] == "dump":
            break
        if words[0] == "open":
            words[2] = str(version)
        if words[:3] == ["reply", "0", "1"]:
            words[3] = b"".join(
                attribute(kind, abi if kind == ATTR["ABI"] else data)
                for kind, data in attributes(payload_of(words[3]))).hex()
        lines.append(" ".join(words))
    return lines


def with_memory(max_bytes):
    """too-large.replay with another limit of a buffer."""
    lines = []
    for line in lines_of("too-large"):
        words = line.split()
        if words[:3] == ["reply", "0", "1"]:
            words[3] = b"".join(
                attribute(kind, struct.pack("=Q", max_bytes) if kind == ATTR["MAX_BYTES"] else data)
                for kind, data in attributes(payload_of(words[3]))).hex()
        lines.append(" ".join(words))
    return lines


def refusal(code, text=None, attr=None, missing=None, limits=None):
    """busy.replay with another refusal of RUN: errno, words, offset of an attribute, limits."""
    lines = lines_of("busy")
    last = lines.pop().split()
    payload = bytes.fromhex(last[3])
    quoted = struct.unpack_from("=I", payload, 4)[0]
    tlvs = b""
    if text:
        tlvs += attribute(1, text)
    if attr:
        offset, request = 20, payload[24:4 + quoted]
        for kind, data in attributes(request):
            if kind == ATTR[attr]:
                break
            offset += (4 + len(data) + 3) & ~3
        tlvs += attribute(2, offset)
    if limits:
        tlvs += attribute(4 | 0x8000, attribute(4, struct.pack("=Q", limits[0])) +
                          attribute(5, struct.pack("=Q", limits[1])))
    if missing:
        tlvs += attribute(5, ATTR[missing])
    end = struct.pack("=i", -code) + payload[4:4 + quoted] + tlvs
    return lines + [f"error 0 {512 if tlvs else 0} {end.hex()}"]


def run_answer(*answers):
    """busy.replay with these lines instead of the refusal of RUN."""
    return [*lines_of("busy")[:-1], *answers]


def failed_job():
    """rounds.replay whose first job fails after its samples, and calm goes no further."""
    lines = []
    for line in lines_of("rounds"):
        words = line.split()
        if words[:3] == ["reply", "1", "3"]:
            pairs = [(kind, STATE["FAILED"] if kind == ATTR["STATE"] and len(words[3]) > 200 else data)
                     for kind, data in attributes(payload_of(words[3]))]
            if len(words[3]) > 200:
                pairs += [(ATTR["ERROR"], 12), (ATTR["REASON"], "no memory for the buffer")]
            words[3] = b"".join(attribute(*pair) for pair in pairs).hex()
        lines.append(" ".join(words))
        if words[0] == "done" and any(one.startswith("send 0 do 2") for one in lines):
            return lines
    raise AssertionError("no end of a dump in the recording")


EPERM, ENOENT, EIO, EBUSY, ENODEV, EINVAL, ERANGE, ENOMEM = 1, 2, 5, 16, 19, 22, 34, 12


def until(name, word):
    """A recording up to the acknowledgement of the first request that WORD answers, and of the prefetchers behind it."""
    lines = lines_of(name)
    last = 2 + next(i for i, line in enumerate(lines) if line.startswith(word))
    if lines[last].startswith("send 1 dump 6"):
        last = 1 + next(i for i, line in enumerate(lines) if line.startswith("done"))
    return lines[:last]


# recording, words, exit status, what stderr says
ROWS = [
    (None, [], 1, r"Usage: calm COMMAND"),
    (None, ["frobnicate"], 1, r"^calm: unknown command 'frobnicate'"),
    (None, ["latency", "--frobnicate"], 1, r"^calm: unknown option '--frobnicate'; calm latency --help lists the options$"),
    (None, ["latency", "--size", "32Q"], 1, r"^calm: size: unknown unit 'Q' in '32Q' \(allowed K, M, G, T\)$"),
    (None, ["latency", "--format", "xml"], 1, r"^calm: format: 'xml' is unknown \(allowed table, json, csv\)$"),
    (None, ["info", "--format", "csv"], 1, r"^calm: format: 'csv' is unknown \(allowed table, json\)$"),
    (None, ["latency", "--format", "csv", "--raw"], 1, r"^calm: raw: --format 'csv' does not hold samples \(allowed json\)$"),
    (None, ["info", "--size", "4K"], 1, r"^calm: unknown option '--size'; calm info --help lists the options$"),
    (None, ["latency", "--dry-run", "--cpu", "9"], 5, r"^calm: cpu: '9' is not online here \(allowed 0-3\)$"),
    (None, ["latency", "--dry-run", "--node", "7"], 5, r"^calm: node: '7' is not online here \(allowed 0-1\)$"),
    (None, ["latency", "--scheme", "e2"], 1, r"^calm: scheme: 'e2' is unknown \(allowed median, e1\)$"),
    (None, ["latency", "--scheme", "e1", "--rounds", "3"], 1, r"^calm: scheme: 'e1' cannot be given together with --rounds$"),
    (None, ["latency", "--events", ""], 1, r"^calm: events: '' is empty$"),
    (None, ["latency", "chase"], 1, r"^calm: unexpected word 'chase' \(calm latency takes none\)$"),
    (None, ["latency", "--prefetch", "of"], 1, r"^calm: prefetch: 'of' is unknown \(allowed found, off, on, both, each, off:NAME,"),
    (None, ["copy", "--strides", "7"], 1, r"^calm: strides: '7' is out of range \(allowed 8..1M\)$"),
    (None, ["copy", "--strides", "65,2M"], 1, r"^calm: strides: '2M' is out of range \(allowed 8..1M\)$"),
    (None, ["copy", "--size", "8K", "--strides", "5000"], 1, r"^calm: size: '8K' holds fewer than two strides"),
    (None, ["copy", "--size", "512"], 1, r"^calm: size: '512' is out of range \(allowed 1K..64T\)$"),
    (None, ["random", "--lanes", "0"], 1, r"^calm: lanes: '0' is out of range \(allowed 1..16\)$"),
    (None, ["random", "--lanes", "1,17"], 1, r"^calm: lanes: '17' is out of range \(allowed 1..16\)$"),
    (None, ["random", "--lanes", "1,,2"], 1, r"^calm: lanes: '' is empty \(allowed 1..16\)$"),
    (None, ["random", "--lanes", "two"], 1, r"^calm: lanes: 'two' is not a number \(allowed 1..16\)$"),
    (None, ["random", "--size", "48M"], 1, r"^calm: size: '48M' is not a power of two \(allowed 16..64T\)$"),
    (None, ["random", "--stride", "24"], 1, r"^calm: stride: '24' is not a power of two \(allowed 8..1M\)$"),
    (None, ["random", "--lanes", "4,3", "--loads", "1000"], 1, r"^calm: loads: '1000' is not a multiple of 3 lanes$"),
    (None, ["random", "--dry-run", "--size", "64K,128"], 1,
     r"^calm: size: '128' holds fewer than 16 strides, one for each lane \(allowed from 1K\)$"),
    (None, ["random", "--dry-run", "--size", "512", "--stride", "128", "--lanes", "4,8"], 1,
     r"^calm: size: '512' holds fewer than 8 strides, one for each lane \(allowed from 1K\)$"),
    (None, ["ways", "--lines", "8"], 1, r"^calm: lines: can only be given together with --strides$"),
    (None, ["count", "stride", "--order", "page-local"], 1,
     r"^calm: order: 'page-local' is not that of loop stride \(allowed linear\)$"),
    (None, ["count", "random", "--order", "linear"], 1, r"^calm: order: 'linear' is not that of loop random \(allowed random\)$"),
    (None, ["count", "random", "--size", "64K,100K"], 1, r"^calm: size: '100K' is not a power of two \(allowed 16..64T\)$"),
    (None, ["count", "random", "--stride", "24"], 1, r"^calm: stride: '24' is not a power of two \(allowed 8..1M\)$"),
    (None, ["count", "chase", "--events", "none"], 1, r"^calm: events: 'none' leaves nothing to count"),
    (None, ["random", "--order", "linear"], 1, r"^calm: unknown option '--order'"),
    (None, ["latency", "--loop", "write"], 1, r"^calm: loop: 'write' is unknown \(allowed load, store, atomic, flush\)$"),
    (None, ["random", "--loop", "store"], 1, r"^calm: unknown option '--loop'"),
    (None, ["latency", "--order", "page"], 1, r"^calm: order: 'page' is unknown \(allowed random, linear, page-local\)$"),
    (None, ["stride", "--strides", "64,12"], 1, r"^calm: strides: '12' is not a multiple of 8 \(allowed 8..1M\)$"),
    (None, ["stride", "--strides", "64,2M"], 1, r"^calm: strides: '2M' is out of range \(allowed 8..1M\)$"),
    (None, ["stride", "--width", "12"], 1, r"^calm: width: '12' is unknown \(allowed 8, 16, 32, 64\)$"),
    (None, ["stride", "--width", "64", "--strides", "64,56"], 1,
     r"^calm: strides: '56' is less than the width of a load \(allowed 64..1M\)$"),
    (None, ["copy", "--width", "16"], 1, r"^calm: unknown option '--width'; calm copy --help lists the options$"),
    (None, ["stride", "--size", "4K", "--strides", "4K"], 1, r"^calm: size: '4K' holds fewer than two strides \(allowed 8K..64T\)$"),
    (None, ["noise", "--size", "4K,8K"], 1, r"^calm: size: expected one size, found 2$"),
    (None, ["ways", "--lines", "1"], 1, r"^calm: lines: '1' is out of range \(allowed 2..64K\)$"),
    (None, ["ways", "--lines", "8,70000"], 1, r"^calm: lines: '70000' is out of range \(allowed 2..64K\)$"),
    (None, ["ways", "--lines", "many"], 1, r"^calm: lines: 'many' is not a number \(allowed 2..64K\)$"),
    (None, ["ways", "--strides", "64,100"], 1, r"^calm: strides: '100' is not a multiple of 8 \(allowed 8..1M\)$"),
    (None, ["ways", "--pages", "3m"], 1, r"^calm: pages: '3m' is unknown \(allowed 4k, 4k-contig, 2m, 1g\)$"),
    (None, ["ways", "--size", "4K"], 1, r"^calm: unknown option '--size'; calm ways --help lists the options$"),
    (None, ["tlb", "--pages", "5k"], 1, r"^calm: pages: '5k' is unknown \(allowed 4k, 4k-contig, 2m, 1g\)$"),
    (None, ["tlb", "--strides", "64"], 1, r"^calm: unknown option '--strides'; calm tlb --help lists the options$"),
    ("no-module", ["tlb"], 3, r"^calm: module calm is not loaded"),
    (None, ["noise", "--samples", "0"], 1, r"^calm: samples: '0' is out of range \(allowed 1..1048576\)$"),
    (None, ["noise", "--quiet", "deep"], 1, r"^calm: quiet: 'deep' is unknown \(allowed cpu\)$"),
    ("no-module", ["noise"], 3, r"^calm: module calm is not loaded"),
    ("no-module", ["ways"], 3, r"^calm: module calm is not loaded"),
    (None, ["stride", "--order", "random"], 1, r"^calm: unknown option '--order'"),
    (None, ["prefetch", "of"], 1, r"^calm: unknown word 'of' \(allowed show, off, on, restore, off:NAME,"),
    (None, ["prefetch", "off", "on"], 1, r"^calm: unexpected word 'on'"),
    # before the module is asked to switch anything
    ("no-module", ["prefetch", "off", "-o", "/nonexistent/x"], 2,
     r"^calm: output: cannot write '/nonexistent/x': No such file or directory$"),
    (None, ["prefetch", "--cpus", "1-"], 1, r"^calm: cpus: '1-' is no list of CPUs \(allowed as 0-3,8\)$"),
    (None, ["prefetch", "off", "--cpus", "4294967295"], 1, r"^calm: cpus: '4294967295' is out of range \(allowed 0..1023\)$"),
    (None, ["prefetch", "off", "--cpus", "0,99999999999999999999"], 1, r"^calm: cpus: '9{20}' is out of range \(allowed 0..1023\)$"),
    (None, ["prefetch", "--cpus", "0-1024"], 1, r"^calm: cpus: '0-1024' is out of range \(allowed 0..1023\)$"),
    (None, ["prefetch", "--cpus", "0,3-1"], 1, r"^calm: cpus: '0,3-1' is no list of CPUs \(allowed as 0-3,8\)$"),
    (None, ["prefetch", "--cpus", "0--1"], 1, r"^calm: cpus: '0--1' is no list of CPUs \(allowed as 0-3,8\)$"),
    (None, ["prefetch", "--cpus", "0,"], 1, r"^calm: cpus: '0,' is no list of CPUs \(allowed as 0-3,8\)$"),
    (None, ["prefetch", "--cpus", "0,77"], 5, r"^calm: cpus: '77' is not online here \(allowed "),
    (until("info", "reply 0 1"), ["latency", "--cpu", "1", "--prefetch", "both"], 5,
     r"^calm: prefetch: no prefetcher switch is documented for this processor$"),
    (until("info", "reply 0 1"), ["prefetch", "off"], 5,
     r"^calm: prefetch: no prefetcher switch is documented for this processor$"),
    (None, ["count"], 1, r"^calm: which loop\? \(allowed chase, parallel, random, stride, stride16, stride32, stride64, store, atomic, flush, copy, turn\)$"),
    (None, ["count", "chaise"], 1, r"^calm: unknown loop 'chaise' \(allowed chase, parallel, random, stride, stride16, stride32, stride64, store, atomic, flush, copy, turn\)$"),
    (None, ["count", "chase", "turn"], 1, r"^calm: unexpected word 'turn' \(calm count takes one LOOP\)$"),
    (None, ["count", ""], 1, r"^calm: LOOP: '' is empty$"),
    (None, ["events", ""], 1, r"^calm: PATTERN: '' is empty$"),
    (None, [""], 1, r"^calm: unknown command ''; calm --help lists the commands$"),
    (None, ["--hel"], 1, r"^calm: unknown command '--hel'"),
    (None, ["latency", "-o/nonexistent/x", "--size", "4K", "--dry-run"], 2,
     r"^calm: output: cannot write '/nonexistent/x': No such file or directory$"),
    (None, ["latency", "-o/", "--size", "4K", "--dry-run"], 2, r"^calm: output: cannot write '/': Is a directory$"),
    (None, ["latency", "-o", "x" * 300, "--size", "4K", "--dry-run"], 2, r"^calm: output: cannot write 'x+': File name too long$"),
    ("no-module", ["info", "-o", "/nonexistent/x"], 2,
     r"^calm: module calm is not loaded[^\n]*\ncalm: output: cannot write '/nonexistent/x': No such file or directory$"),
    (until("count", "reply 0 1"), ["count", "chase", "--cpu", "1", "--events", "fixed9"], 5,
     r"^calm: events: 'fixed9' is no fixed counter of this CPU \(it has none\)$"),
    (until("count", "reply 0 1"), ["count", "chase", "--cpu", "1", "--events", "l1-miss,l1-miss"], 1, r"^calm: events: 'l1-miss' is there twice$"),
    (until("count", "reply 0 1"), ["count", "chase", "--cpu", "1", "--events",
                                   "l2_cache_req_stat.dc_hit_in_l2,L2_CACHE_REQ_STAT:DC_HIT_IN_L2"], 1,
     r"^calm: events: 'L2_CACHE_REQ_STAT:DC_HIT_IN_L2' is there twice$"),
    (until("count", "reply 0 1"), ["count", "chase", "--cpu", "1", "--events", "r1:cmask=-1"], 1,
     r"^calm: events: unknown modifier 'cmask=-1' in 'r1:cmask=-1' \(allowed cmask=N, umask2=N, N up to 255, inv, edge\)$"),
    (None, ["count", "chase", "--min", "4K"], 1, r"^calm: unknown option '--min'; calm count --help"),
    ("no-module", ["count", "chase"], 3, r"^calm: module calm is not loaded"),
    ("no-module", ["events"], 3, r"^calm: module calm is not loaded"),
    (until("event-names", "reply 0 1"), ["events", "--cpu", "1", "nonsense"], 1, r"^calm: no event of Zen4 matches 'nonsense'$"),
    (until("count", "reply 0 1"), ["count", "chase", "--cpu", "1", "--events", "l1-mis"], 1,
     r"^calm: events: 'l1-mis' is unknown on Zen4 \(nearest: l1-miss, l2-miss, l3-miss\)$"),
    (until("count", "reply 0 1"), ["count", "chase", "--cpu", "1", "--events", "r4300C0"], 1,
     r"^calm: events: 'r4300C0' has bits that are not an event's \(allowed within 0xfff84ffff\)$"),
    (until("info", "reply 0 1"), LATENCY[:3] + ["--events", "l1-miss"], 5,
     r"^calm: events: 'l1-miss': no event names are known for this processor"),
    ("no-module", LATENCY, 3, r"^calm: module calm is not loaded \(insmod calm.ko"),
    ("no-module", ["info"], 3, r"^calm: module calm is not loaded"),
    (["open 0 2"], LATENCY, 3, r"module calm speaks version 2 of its protocol, this program version 1"),
    (info_reply(abi=7), LATENCY, 3, r"module calm 0.1.0 has interface 7, this program needs interface 1"),
    (info_reply(abi=7), ["info"], 3, r"has interface 7, this program needs interface 1"),
    (["open 0 -1"], LATENCY, 4, r"^calm: netlink: Operation not permitted$"),
    ("not-permitted", LATENCY, 4, r"calm: needs CAP_SYS_ADMIN"),
    (refusal(EPERM), LATENCY, 4, r"calm: needs CAP_SYS_ADMIN$"),
    ("no-cpu", ["latency", "--events", "none", "--cpu", "3", "--size", "4K", "--quick"], 5, r"calm: cpu: no such CPU$"),
    ("no-node", ["latency", "--events", "none", "--cpu", "1", "--node", "1", "--size", "4K", "--quick"], 5,
     r"calm: node: no such memory node$"),
    ("too-large", ["latency", "--events", "none", "--cpu", "1", "--size", "4K,1T", "--quick"], 5,
     r"calm: size: '1T' is more memory than can be had now \(allowed 128\.\."),
    ("too-large", ["ways", "--events", "none", "--cpu", "1", "--lines", "8,65536", "--strides", "4K,1M"], 5,
     r"calm: strides: 65536 lines at '1M' take 67107844K, more memory than can be had now \(allowed up to [^)]+\)$"),
    # a search that cannot begin
    ("too-large", ["tlb", "--events", "none", "--cpu", "1", "--pages", "1g"], 5,
     r"^calm: nothing was measured: there is memory for too few such pages to try any \(573524K of memory can be had now\)$"),
    (with_memory(8192), ["tlb", "--events", "none", "--cpu", "1"], 2,
     r"^calm: nothing was measured: there is memory for too few such pages to try any \(8K of memory can be had now\)$"),
    (with_memory(64), ["ways", "--events", "none", "--cpu", "1"], 2,
     r"^calm: nothing was measured: a layout that it needs was not measured \(64 of memory can be had now\)$"),
    (with_memory(64), ["ways", "--events", "none", "--cpu", "1", "--pages", "2m"], 5, r"^calm: nothing was measured: "),
    ("busy", LATENCY, 2, r"calm: another job is running; there is one at a time$"),
    (refusal(ERANGE, "buffer must hold at least two lines", "SIZE_BYTES", limits=(128, 1073741824)),
     LATENCY, 1, r"calm: size-bytes: buffer must hold at least two lines \(allowed 128\.\.1073741824\)$"),
    (refusal(EINVAL, missing="SEED"), LATENCY, 1, r"calm: seed: is missing$"),
    (refusal(EINVAL, "required attribute is missing", missing="WARMUP"), LATENCY, 1,
     r"calm: warmup: required attribute is missing$"),
    (refusal(ENOMEM, "no memory for the job"), LATENCY, 2, r"calm: no memory for the job$"),
    # unloaded since: the kernel knows no family of that number
    (refusal(ENOENT), LATENCY, 3, r"^calm: module calm is no longer loaded$"),
    # a node may lack what was not asked for
    (refusal(ENODEV, "gone"), LATENCY, 2, r"calm: gone$"),
    # answers that are no answers
    (run_answer("reply 0 2 00"), LATENCY, 3, r"answer is not understood"),
    (run_answer("reply 0 2 0800"), LATENCY, 3, r"answer is not understood"),
    (run_answer("reply 0 4 -"), LATENCY, 3, r"answer is not understood"),
    (run_answer("error 0 0 00"), LATENCY, 3, r"answer is not understood"),
    (run_answer("error 0 256 0000000014000000200005000000000000000000"), LATENCY, 3, r"answer is not understood"),
    (run_answer("fail 0 -5"), LATENCY, 2, r"calm: netlink: Input/output error$"),
]


def row_test(row):
    recording, words, status, stderr = row

    def test():
        result = calm(recording, *words)
        expect(result, status)
        assert re.search(stderr, result.stderr, re.M), f"no {stderr!r} in {result.stderr!r}"
        if words[:1] == ["latency"]:
            assert result.stdout == "", f"unexpected on stdout: {result.stdout}"

    name = recording if isinstance(recording, str) else "made" if recording else "none"
    return f"{' '.join(words) or 'no words'} ({name}): {status}", test


def help_is_asked_for():
    for words in (["--help"], ["latency", "--help"], ["info", "-h"]):
        result = calm(None, *words)
        expect(result, 0)
        assert result.stdout.startswith("Usage: calm") and result.stderr == ""
    result = calm(None, "--help")
    assert "info" in result.stdout and "latency" in result.stdout and "bandwidth" not in result.stdout
    result = calm(None, "--version")
    expect(result, 0)
    assert result.stdout.startswith("calm ")


def events_without_module_are_told_untested():
    """By family and model, on a saved machine of a processor that is known."""
    text = (DATA / "machine.xml").read_text()
    for name, value in (("CPUFamilyNumber", 25), ("CPUModelNumber", 97)):
        text = re.sub(rf'name="{name}" value="\d+"', f'name="{name}" value="{value}"', text)
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder) / "machine.xml"
        machine.write_text(text)
        env = {**environment(DATA / "no-module.replay"), "HWLOC_XMLFILE": str(machine)}
        result = subprocess.run([REPLAY, "events", "l1-miss", "--cpu", "1"], env=env, capture_output=True, text=True, check=False)
    expect(result, 3, r"^calm: module calm is not loaded")
    assert re.match(r"l1-miss\n  rDF43 +not tested\n  loads that the first-level data cache did not serve", result.stdout), result.stdout


def unknown_is_a_dash():
    """A system that tells no line and no ways: the table has no zero, as the document has none."""
    text = re.sub(r'cache_(linesize|associativity)="\d+"', r'cache_\1="0"', (DATA / "machine.xml").read_text())
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder) / "machine.xml"
        machine.write_text(text)
        env = {**environment(DATA / "no-module.replay"), "HWLOC_XMLFILE": str(machine)}
        result = subprocess.run([REPLAY, "info"], env=env, capture_output=True, text=True, check=False)
    rows = re.findall(r"^L\d.*$", result.stdout, re.M)
    assert rows and all(row.split()[2:4] == ["-", "-"] for row in rows), result.stdout


def cpu_that_was_never_online_is_unknown():
    """The kernel knows but its number: no zero stands for the rest, and no microcode is 0."""
    field, zeros = enum("CALM_A_PROCESSOR_"), ("FAMILY", "MODEL", "STEPPING", "MICROCODE", "PACKAGE", "CORE")
    lines = []
    for line in lines_of("info"):
        words = line.split()
        if words[:3] == ["reply", "0", "1"]:
            pairs = list(attributes(payload_of(words[3])))
            last = max(i for i, (kind, _) in enumerate(pairs) if kind == ATTR["PROCESSOR"])
            fields = [(kind, 0 if kind in [field[name] for name in zeros] else data)
                      for kind, data in attributes(pairs[last][1]) if kind != field["ONLINE"]]
            pairs[last] = (pairs[last][0], b"".join(attribute(*pair) for pair in fields))
            words[3] = b"".join(attribute(*pair) for pair in pairs).hex()
        lines.append(" ".join(words))
    result = calm(lines, "info")
    expect(result, 0)
    assert re.search(r"^ +1 +no +0 +- +- +no +-$", result.stdout, re.M), result.stdout
    row = document(calm(lines, "info", "--format", "json"))["module"]["processors"][1]
    assert [row[name.lower()] for name in zeros] == [None] * len(zeros), row


def another_machine_is_refused():
    """Wherever hwloc's topology comes from, before the module is asked for anything."""
    plain = {key: value for key, value in environment(DATA / "no-module.replay").items() if not key.startswith("HWLOC")}
    for name, value in (("HWLOC_XMLFILE", str(DATA / "machine.xml")), ("HWLOC_SYNTHETIC", "l2:2 core:2 pu:2"),
                        ("HWLOC_THISSYSTEM", "0")):
        env = {**plain, name: value}
        for words in (["info"], ["events", "l1-miss"], ["prefetch"], ["prefetch", "off"], LATENCY):
            result = subprocess.run([REPLAY, *words], env=env, capture_output=True, text=True, check=False)
            expect(result, 1, rf"^calm: {name} tells of another machine: unset it, or set HWLOC_THISSYSTEM=1 if it is this one$")
            assert result.stdout == "", result.stdout
    env = {**plain, "HWLOC_XMLFILE": str(DATA / "machine.xml"), "HWLOC_THISSYSTEM": "1"}
    expect(subprocess.run([REPLAY, *LATENCY], env=env, capture_output=True, text=True, check=False), 3)


def memory_that_nobody_asked_for_is_no_absence():
    """Caches so large that no buffer is larger: a failure, but 5 is for a size that was given."""
    text = re.sub(r'cache_size="16777216"', 'cache_size="1073741824"', (DATA / "machine.xml").read_text())
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder) / "machine.xml"
        machine.write_text(text)
        env = {**environment(DATA / "too-large.replay"), "HWLOC_XMLFILE": str(machine)}
        for command, words, status in (("copy", [], 2), ("random", [], 2), ("copy", ["--size", "8G"], 5)):
            result = subprocess.run([REPLAY, command, "--events", "none", "--cpu", "1", *words], env=env,
                                    capture_output=True, text=True, check=False)
            expect(result, status, r"^calm: size: '[48]G' is more memory than can be had now")


def manual_has_every_option_and_command():
    manual = (TOP / "Documentation" / "calm.8.rst").read_text()
    for command in ("info", "latency", "count", "events"):
        assert f"calm {command}" in manual, command
        for option in re.findall(r"--[a-z-]+", calm(None, command, "--help").stdout):
            assert option in manual, option


def info_without_module_tells_of_the_machine():
    result = calm("no-module", "info", "--format", "json")
    expect(result, 3)
    found = document(result)
    assert found["module"] is None and found["machine"]["caches"] and found["complete"] is False


def failed_job_keeps_its_samples():
    result = calm(failed_job(), *ROUNDS)
    expect(result, 2, r"calm: the job failed: no memory for the buffer")
    found = document(result)
    assert found["complete"] is False and found["ended_by"] == "error"
    assert len(found["points"]) == 1 and found["points"][0]["complete"] is False
    assert found["points"][0]["samples"] == 6 and found["points"][0]["tsc_per_access"]
    assert any("no memory for the buffer" in notice for notice in found["notices"])


def lost_messages_are_read_again():
    """A full socket loses messages: the dump is repeated from the first sample not yet there."""
    lines, dumps = [], 0
    for line in lines_of("rounds"):
        words = line.split()
        if words[:3] == ["send", "1", "dump"]:
            dumps += 1
            # that of the prefetchers, and the first one of samples
            if dumps <= 2:
                lines += [line, "fail 1 -12"]
        lines.append(line)
    expect(calm(lines, *ROUNDS), 0)
    assert document(calm(lines, *ROUNDS))["points"] == document(calm("rounds", *ROUNDS))["points"]


def signal_test(number, name):
    """Cancels, reads on to the end, writes what was measured, and says how it ended."""
    def test():
        lines = lines_of("sigint")
        cancel = next(i for i, line in enumerate(lines) if line.startswith("send 0 do 4"))
        lines.insert(cancel, "pause 1 30000")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lines.replay"
            path.write_text("\n".join(lines) + "\n")
            with subprocess.Popen([REPLAY, *SIGINT], env=environment(path), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                # asleep in the pause: the handler is there, and the wait is interrupted
                while "nanosleep" not in sleeping_in(process.pid):
                    time.sleep(0.01)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=20)
        assert process.returncode == 128 + number, f"status {process.returncode}\n{stderr}"
        found = document(stdout)
        assert found["complete"] is False and found["ended_by"] == name
        assert len(found["points"]) == 1 and found["points"][0]["complete"] is False
        assert 0 < found["points"][0]["samples"] < 200
    return f"ended by {name}", test


def death_test(*numbers):
    """A signal that leaves no time, or a second one of a kind: no file stays but the one that was there."""
    def test():
        lines = lines_of("sigint")
        cancel = next(i for i, line in enumerate(lines) if line.startswith("send 0 do 4"))
        lines.insert(cancel + 2, "pause 1 30000")
        lines.insert(cancel, "pause 1 30000")
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            replay, path = pathlib.Path(other) / "lines.replay", pathlib.Path(folder) / "result.json"
            replay.write_text("\n".join(lines) + "\n")
            path.write_text("before")
            with subprocess.Popen([REPLAY, *SIGINT, "-o", path, "--save", f"{folder}/other"], env=environment(replay),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: as_by_default(numbers)) as process:
                for number in numbers:
                    # asleep in the first pause, and then in the second one: what was sent is no longer pending
                    while "nanosleep" not in sleeping_in(process.pid) or is_pending(process.pid):
                        time.sleep(0.01)
                    assert len(os.listdir(folder)) == 3, os.listdir(folder)
                    process.send_signal(number)
                _, stderr = process.communicate(timeout=20)
            assert process.returncode == -numbers[-1], f"status {process.returncode}\n{stderr}"
            assert os.listdir(folder) == ["result.json"] and path.read_text() == "before", os.listdir(folder)
    return f"no file is left by {', '.join(number.name for number in numbers)}", test


def as_by_default(numbers):
    """What nohup and a shell's background ignore would be ignored by the program too; and no core is left."""
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def is_pending(pid):
    """Whether a signal was sent that the process has not got yet."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(bits, 16) for bits in re.findall(r"^S\w*Pnd:\s*(\w+)", status, re.M))


def rows_tell_how_it_ended():
    """A job that fails after its samples: its row is there, marked; the rest of the plan has none."""
    result = calm(failed_job(), *ROUNDS[:-1], "csv")
    expect(result, 2, r"calm: the job failed: no memory for the buffer")
    row, = csv.DictReader(result.stdout.splitlines())
    assert row["complete"] == "false" and row["ended_by"] == "error" and row["samples"] == "6", row


def sleeping_in(pid):
    """The system call that a process is in: 'nanosleep' while a replay pauses."""
    try:
        number = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0]
    except (OSError, IndexError):
        return ""
    # x86-64: nanosleep 35, clock_nanosleep 230, which the C library uses
    return "nanosleep" if number in ("35", "230") else ""


def full_disk_loses_nothing():
    for form in ("json", "table", "csv"):
        words = [*ROUNDS[:-1], form]
        result = calm("rounds", *words, "-o", "/dev/full")
        expect(result, 2, r"output: cannot write '/dev/full': No space left on device; the result follows")
        assert result.stdout == calm("rounds", *words).stdout


def a_limit_of_size_loses_nothing():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        result = calm("rounds", *ROUNDS, "-o", path,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
        expect(result, 2, r"output: cannot write '[^']*/result.json': File too large; the result follows")
        assert result.stdout == calm("rounds", *ROUNDS).stdout and os.listdir(folder) == []


def full_stdout_is_an_error():
    with open("/dev/full", "w", encoding="ascii") as full:
        result = calm("rounds", *ROUNDS, stdout=full)
    expect(result, 2, r"cannot write standard output: No space left on device")


def full_stdout_takes_no_help():
    for words in (["--help"], ["--version"], ["latency", "--help"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            expect(calm(None, *words, stdout=full), 2, r"^calm: cannot write standard output: No space left on device$")


def closed_stdout_is_an_error():
    """The file that is opened next must not get what is meant for it."""
    words = ["latency", "--dry-run", "--cpu", "1", "--size", "4K"]
    with tempfile.TemporaryDirectory() as folder:
        saved = pathlib.Path(folder) / "saved"
        result = calm(None, *words, "--save", saved, stdout=None, preexec_fn=lambda: os.close(1))
        expect(result, 2, r"^calm: cannot write standard output: Bad file descriptor$")
        assert saved.read_text() == calm(None, *words, "--format", "json").stdout


def file_is_whole_or_untouched():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        path.write_text("before")
        expect(calm("busy", *LATENCY, "-o", path), 2)
        assert path.read_text() == "before" and os.listdir(folder) == ["result.json"]
        expect(calm("rounds", *ROUNDS, "-o", path), 0)
        document(path.read_text())
        assert os.listdir(folder) == ["result.json"]
        mask = os.umask(0)
        os.umask(mask)
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask
        # through a link to the file that it stands for
        link = pathlib.Path(folder) / "link"
        link.symlink_to(path)
        path.write_text("before")
        expect(calm("rounds", *ROUNDS, "-o", link), 0)
        document(path.read_text())
        assert link.is_symlink()


def saved_besides_the_table():
    with tempfile.TemporaryDirectory() as folder:
        path, other = pathlib.Path(folder) / "result.json", pathlib.Path(folder) / "table"
        words = ROUNDS[:-2]
        result = calm("rounds", *words, "--save", path)
        expect(result, 0)
        assert result.stdout == calm("rounds", *words).stdout
        expect(calm("rounds", *words, "-o", other, "--save", path), 0)
        assert other.read_text() == result.stdout
        assert path.read_text() == calm("rounds", *words, "--format", "json").stdout
        assert sorted(os.listdir(folder)) == ["result.json", "table"]
        expect(calm("busy", *LATENCY, "-o", other, "--save", path), 2)
        assert other.read_text() == result.stdout
        document(path.read_text())
        assert sorted(os.listdir(folder)) == ["result.json", "table"]


def one_file_takes_one_result():
    """However the two options, or the shell, name it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result"
        words = ROUNDS[:-2]
        result = calm(None, *words, "--dry-run", "-o", "result", "--save", "./result", cwd=folder)
        expect(result, 1, r"^calm: save: '[^']*/result' is the file of --output$")
        assert os.listdir(folder) == []
        path.write_text("before\n")
        with open(path, "a", encoding="ascii") as file:
            result = calm(None, *words, "--dry-run", "--save", path, stdout=file)
            expect(result, 1, r"^calm: save: '[^']*/result' is the file of standard output$")
            assert path.read_text() == "before\n"
            expect(calm("rounds", *ROUNDS, "-o", "/dev/stdout", stdout=file), 0)
        assert path.read_text() == "before\n" + calm("rounds", *ROUNDS).stdout
        assert os.listdir(folder) == ["result"]


def a_closed_pipe_does_not_end_what_is_saved():
    """Nobody reads the table; the document is written all the same, and no other file stays."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        for words, status in ((["--save", path], 2), (["-o", path, "--format", "json"], 0)):
            reader, writer = os.pipe()
            os.close(reader)
            with open(writer, "w", encoding="ascii") as pipe:
                result = calm("rounds", *ROUNDS[:-2], *words, stdout=pipe)
            expect(result, status, r"calm: cannot write standard output: Broken pipe$" if status else "")
            assert path.read_text() == calm("rounds", *ROUNDS).stdout
            assert os.listdir(folder) == ["result.json"]
            path.unlink()


def before_the_first_job(name):
    """What the program and the module say before the first RUN."""
    lines = lines_of(name)
    return lines[:next(i for i, line in enumerate(lines) if line.startswith("send 0 do 2"))]


def unsaved_is_told():
    words = ROUNDS[:-2]
    recording = before_the_first_job("rounds")
    result = calm(recording, *words, "--save", "/nonexistent/result.json")
    expect(result, 2, r"calm: save: cannot write '/nonexistent/result.json': No such file or directory")
    assert result.stdout == ""
    result = calm("rounds", *words, "--save", "/dev/full")
    expect(result, 2, r"save: cannot write '/dev/full': No space left on device; the result follows")
    table, start, saved = result.stdout.partition("{\n")
    assert table == calm("rounds", *words).stdout
    document(start + saved)


def unwritable_folder_is_told_before_measuring():
    recording = before_the_first_job("rounds")
    result = calm(recording, *ROUNDS, "-o", "/nonexistent/result.json")
    expect(result, 2, r"calm: output: cannot write '/nonexistent/result.json': No such file or directory")
    assert result.stdout == ""


def real_program_without_module():
    """The program itself, not the replay: where no module is loaded it says so."""
    loaded = pathlib.Path("/sys/module/calm").exists()
    result = subprocess.run([CALM, *LATENCY], env=environment(), capture_output=True, text=True,
                            timeout=60, check=False)
    assert loaded or result.returncode == 3, f"{result.returncode} {result.stderr}"


if __name__ == "__main__":
    assert DATA.is_dir()
    sys.exit(run_tests([row_test(row) for row in ROWS] + [
        help_is_asked_for, events_without_module_are_told_untested, unknown_is_a_dash, cpu_that_was_never_online_is_unknown,
        another_machine_is_refused, memory_that_nobody_asked_for_is_no_absence,
        manual_has_every_option_and_command,
        info_without_module_tells_of_the_machine, failed_job_keeps_its_samples,
        rows_tell_how_it_ended,
        lost_messages_are_read_again, signal_test(signal.SIGINT, "SIGINT"),
        signal_test(signal.SIGTERM, "SIGTERM"), death_test(signal.SIGINT, signal.SIGINT),
        death_test(signal.SIGTERM, signal.SIGTERM), death_test(signal.SIGHUP), death_test(signal.SIGQUIT), full_disk_loses_nothing, a_limit_of_size_loses_nothing, full_stdout_is_an_error,
        full_stdout_takes_no_help, closed_stdout_is_an_error,
        file_is_whole_or_untouched, saved_besides_the_table, one_file_takes_one_result, a_closed_pipe_does_not_end_what_is_saved,
        unsaved_is_told, unwritable_folder_is_told_before_measuring,
        real_program_without_module,
    ]))
