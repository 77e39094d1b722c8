#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tools/check-window accepts the chase loop as it is, and notices each thing that must not be in a window.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

# a change of kmod/loops/chase.c by sed, and what check-window must then say
rows=(
	's/"dec %\[blocks\]/"mov %%rax, -8(%%rsp)\\n\\t" &/|foreign memory access in the window'
	's/"dec %\[blocks\]/"incl 8(%[at])\\n\\t" &/|foreign memory access in the window'
	's/"dec %\[blocks\]/"movq $1, (%%rsp)\\n\\t" &/|foreign memory access in the window'
	's/"dec %\[blocks\]/"mov %%gs:0x10, %%rax\\n\\t" &/|foreign memory access in the window'
	's/"dec %\[blocks\]/"mov (%%rax), %%rax\\n\\t" &/|foreign memory access in the window'
	's/"dec %\[blocks\]/"mov calm_loop_find(%%rip), %%rax\\n\\t" &/|reference to calm_loop_find'
	's/"dec %\[blocks\]/"call calm_loop_find\\n\\t" &/|forbidden in the window'
	's/"dec %\[blocks\]/"push %%rax\\n\\tpop %%rax\\n\\t" &/|forbidden in the window'
	's/"dec %\[blocks\]/"wrmsr\\n\\t" &/|forbidden in the window'
	's/"dec %\[blocks\]/"rep movsb\\n\\t" &/|forbidden in the window'
	's/"dec %\[blocks\]/"jo calm_loop_find\\n\\t" &/|jump out of the window'
	's/"dec %\[blocks\]/"jmp *%%rax\\n\\t" &/|jump out of the window'
	's/CHASE_UNROLL 64/CHASE_UNROLL 63/|only 63 accesses between two branches'
	's/CALM_WINDOW_CLOSE(end)/"xor %[end], %[end]\\n\\t"/|has no window'
	's/calm_loop_chase/calm_loop_other/|is not there'
)

compile() {
	local file=$1
	shift
	gcc-12 -O2 -fno-stack-protector -fcf-protection=none -fno-pie -I"$top/include/uapi" -I"$top/kmod" \
		-I"$top/kmod/loops" "$@" -c -o "$file.o" "$file.c"
}

accepted() {
	cp "$top/kmod/loops/chase.c" "$work/good.c"
	compile "$work/good"
	"$top/tools/check-window" --only chase "$work/good.o"
}

noticed() {
	sed "$1" "$top/kmod/loops/chase.c" >"$work/bad.c"
	! cmp -s "$work/bad.c" "$top/kmod/loops/chase.c" || { echo "sed changed nothing"; return 1; }
	compile "$work/bad"
	status_of "$top/tools/check-window" --only chase "$work/bad.o"
	same status "$status" 1
	grep -qF "calm_loop_chase $2" "$work/err" || { echo "stderr says: $(<"$work/err")"; return 1; }
}

traced() {
	cp "$top/kmod/loops/chase.c" "$work/traced.c"
	compile "$work/traced" "$@"
	status_of "$top/tools/check-window" --only chase "$work/traced.o"
	same status "$status" 1
	grep -q 'is traced at its entry' "$work/err"
}

# one more instruction of no effect makes two windows differ
different() {
	sed 's/"dec %\[blocks\]/"mov %%rax, %%rax\\n\\t" &/' "$top/kmod/loops/chase.c" >"$work/other.c"
	cp "$top/kmod/loops/chase.c" "$work/one.c"
	compile "$work/one"
	compile "$work/other"
	"$top/tools/check-window" --only chase "$work/one.o"
	"$top/tools/check-window" --only chase "$work/other.o"
	status_of "$top/tools/check-window" --only chase "$work/one.o" "$work/other.o"
	same status "$status" 1
	grep -q 'differs' "$work/err"
}

no_object() {
	status_of "$top/tools/check-window" "$work/nothing.o"
	same status "$status" 1
	grep -q 'nothing.o' "$work/err"
	same lines "$(wc -l <"$work/err")" 1
}

plan $((${#rows[@]} + 5))
try 'the loop as it is' accepted
for row in "${rows[@]}"; do
	try "noticed: ${row#*|}" noticed "${row%%|*}" "${row#*|}"
done
try 'a call of the tracer' traced -pg -mfentry
try 'a place for the tracer' traced -pg -mfentry -mrecord-mcount -mnop-mcount
try 'different bytes' different
try 'no such object' no_object
finish
