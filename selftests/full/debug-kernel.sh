#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The debug kernel notices what it is there for, and tools/vm/run then ends with 125.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"
run=$top/tools/vm/run

# complains HOW TEXT: the command returns 0, yet the kernel's complaint counts, and is shown
complains() {
	status_of "$run" --kernel debug --time-limit 1800 --put "$module" -- sh -c "insmod plant.ko how=$1; exit 0"
	cat "$work/err"
	same status "$status" 125
	same stdout "$(<"$work/out")" ''
	grep -q "$2" "$work/err"
}

# with nothing planted it keeps quiet, kmemleak's scans included
quiet() {
	status_of "$run" --kernel debug --time-limit 1800 -- \
		sh -ec 'calm latency --cpu 1 --size 64K --quick; echo scan >/sys/kernel/debug/kmemleak; dmesg'
	cat "$work/err"
	same status "$status" 0
	grep -q '64K' "$work/out"
	grep -q 'kasan: KernelAddressSanitizer initialized' "$work/out"
	grep -q 'kmemleak: Kernel memory leak detector initialized' "$work/out"
	grep -q 'Lock dependency validator' "$work/out"
}

module=$("$top/tools/build-module" debug "$top/selftests/full/plant") || exit 1
plan 7
try 'a run without a fault is 0' quiet
try 'a write out of bounds is 125' complains bounds 'KASAN: slab-out-of-bounds in plant_bounds'
try 'a use after free is 125' complains freed 'KASAN: slab-use-after-free in plant_freed'
try 'a shift by too much is 125' complains shift 'UBSAN: shift-out-of-bounds in .*plant.c'
try 'sleeping with interrupts off is 125' complains sleep 'sleeping function called from invalid context'
try 'locks in both orders are 125' complains order 'possible circular locking dependency'
try 'lost memory is 125' complains leak 'plant_leak'
finish
