#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every kind of access to memory, decoded in a guest's module: what the caches made of it."""

from lib.simtest import build_module, check, expect_equal, named, once, run_guest, run_tests

# PerfMonV2; L2 inclusive of L1, L3 exclusive of L2
MODEL = "zen4"
LINES = 16

# per window what the log must say; whatever is not named must be 0
EXPECTED = {
    "loads": {"load_mem": LINES, "fill_load_mem": LINES},
    "loads_indexed": {"load_mem": LINES, "fill_load_mem": LINES},
    "prefetch_t0": {"prefetches": LINES, "fill_prefetch_mem": LINES, "load_l1": LINES},
    "prefetch_t1": {"prefetches": LINES, "load_l2": LINES, "fill_load_l2": LINES},
    "prefetch_t2": {"prefetches": LINES, "load_l3": LINES, "fill_load_l3": LINES},
    # L2 is inclusive, so even this one goes there
    "prefetch_nta": {"prefetches": LINES, "fill_prefetch_mem": LINES, "load_l1": LINES},
    "prefetch_w": {"prefetches": LINES, "fill_prefetch_mem": LINES, "load_l1": LINES},
    "clflush": {"store_mem": LINES, "fill_store_mem": LINES, "flushes": LINES,
                "mem_writes": LINES, "load_mem": LINES, "fill_load_mem": LINES},
    "clflushopt": {"store_mem": LINES, "fill_store_mem": LINES, "flushes": LINES,
                   "mem_writes": LINES, "load_mem": LINES, "fill_load_mem": LINES},
    "clwb": {"store_mem": LINES, "fill_store_mem": LINES, "flushes": LINES,
             "mem_writes": LINES, "load_l1": LINES},
    # the dirty line is written, then the two stores combined
    "store_nt": {"store_mem": LINES, "fill_store_mem": LINES, "nt_stores": 2 * LINES,
                 "mem_writes": 2 * LINES, "load_mem": LINES, "fill_load_mem": LINES},
    "two_lines": {"load_mem": LINES, "fill_load_mem": 2 * LINES},
    "two_pages": {"load_mem": 1, "fill_load_mem": 2, "load_l1": 1},
    # two locked instructions, each of which reads and writes
    "locked": {"load_mem": LINES, "fill_load_mem": LINES, "load_l1": LINES, "store_l1": 2 * LINES},
    # one access an element; the first in each of 4 lines misses
    "string_move": {"load_mem": 4, "fill_load_mem": 4, "load_l1": 252,
                    "store_mem": 4, "fill_store_mem": 4, "store_l1": 252},
    "string_store": {"store_mem": 4, "fill_store_mem": 4, "store_l1": 28},
}

# what time, instructions and translations make of it is the matter of other tests
ELSEWHERE = {"cycles", "instructions", "ref_cycles", "slots",
             "cycles_user", "instructions_user", "ref_cycles_user", "slots_user",
             "walk_load", "walk_store", "stlb_load", "stlb_store"}


@once
def windows():
    """Totals by the name of the window."""
    run = run_guest(MODEL, "insmod /simops.ko && dmesg", put=[build_module("ops-module")], prefetch=False)
    names = [line.split()[2] for line in run.lines("simops: window")]
    logged = [line["totals"] for line in run.truth if line["type"] == "window"]
    check(names, "the module has run nothing")
    expect_equal(len(logged), len(names), "windows in the log")
    return dict(zip(names, logged))


def test_totals(name):
    """Everything that happened in a window."""
    totals = {key: value for key, value in windows()[name].items() if value and key not in ELSEWHERE}
    expect_equal(totals, EXPECTED[name], name)


def test_write_back_all():
    """WBINVD: all that was dirty is written, the module's own lines too, and nothing is left."""
    totals = windows()["write_back_all"]
    expect_equal((totals["store_mem"], totals["load_mem"]), (LINES, LINES), "misses")
    check(totals["mem_writes"] >= LINES, f"lines written: {totals['mem_writes']}")


def test_all_known():
    """Each window of the module is looked at."""
    expect_equal(set(windows()), set(EXPECTED) | {"write_back_all"}, "windows")


if __name__ == "__main__":
    run_tests([named(name, test_totals, name) for name in EXPECTED] +
              [test_write_back_all, test_all_known])
