#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tools/check-window accepts a chase in a window, and notices each thing that must not be in one.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

# what stands in the middle of the window, and what check-window must say of it
rows=(
	'mov %rax, -8(%rsp)|foreign memory access in the window'
	'incl 8(%rsi)|foreign memory access in the window'
	'movq $1, (%rsp)|foreign memory access in the window'
	'mov %gs:0x10, %rax|foreign memory access in the window'
	'mov (%rax), %rax|foreign memory access in the window'
	'mov (%rsi), %rax|foreign memory access in the window'
	'mov other(%rip), %rax|reference to other'
	'call other|forbidden in the window'
	'push %rax; pop %rax|forbidden in the window'
	'wrmsr|forbidden in the window'
	'rdmsr|forbidden in the window'
	'cpuid|forbidden in the window'
	'rep movsb|forbidden in the window'
	'lock incl (%rsi)|forbidden in the window'
	'jo other|jump out of the window'
	'jmp *%rax|jump out of the window'
	'jo 9f|jump out of the window'
)

# chase FILE UNROLL MIDDLE [OPTION]...: an object with a chase of our own, which counts an event too
chase() {
	local file=$1 unroll=$2 middle=$3
	shift 3
	cat >"$file.c" <<-END
	void other(void);
	void calm_loop_chase(void **from);
	void calm_loop_chase(void **from)
	{
		void *at = *from;
		long count = 1000, sum = 0;

		asm volatile("rdpmc; sub %%rax, %2; lfence; rdtsc; sub %%rax, %2; .p2align 6; 1:\n\t"
			     ".rept $unroll; mov (%0), %0; .endr\n\t"
			     "${middle//%/%%}\n\t"
			     "dec %1; jnz 1b; lfence; rdtsc; add %%rax, %2; jc 2f; rdpmc; add %%rax, %2; 2:"
			     : "+S"(at), "+D"(count), "+r"(sum) : "c"(0) : "rax", "rdx", "cc", "memory");
		*from = at;
		asm volatile("9:" : : "r"(sum));
	}
	END
	gcc-12 -O2 -fno-stack-protector -fcf-protection=none -fno-pie "$@" -c -o "$file.o" "$file.c"
}

window() { "$top/tools/check-window" --only chase "$@"; }

accepted() {
	chase "$work/good" 64 'lea 8(%rsp), %rax; nopw 0(%rax)'
	window "$work/good.o"
}

the_loop_itself() {
	gcc-12 -O2 -fno-stack-protector -fcf-protection=none -I"$top/include/uapi" -I"$top/kmod" \
		-c -o "$work/chase.o" "$top/kmod/loops/chase.c"
	window "$work/chase.o"
}

# refused TEXT FILE...
refused() {
	local text=$1
	shift
	status_of window "$@"
	same status "$status" 1
	grep -qF -- "$text" "$work/err" || { echo "stderr says: $(<"$work/err")"; return 1; }
}

noticed() {
	chase "$work/bad" 64 "$1"
	refused "calm_loop_chase $2" "$work/bad.o"
}

too_short() {
	chase "$work/short" 63 ''
	refused 'only 63' "$work/short.o"
}

traced() {
	chase "$work/traced" 64 '' "$@"
	refused 'is traced at its entry' "$work/traced.o"
}

# of two windows that are good each, one has an instruction of no effect more
different() {
	chase "$work/one" 64 ''
	chase "$work/two" 64 'mov %rax, %rax'
	window "$work/one.o" "$work/one.o"
	window "$work/two.o"
	refused 'differs' "$work/one.o" "$work/two.o"
}

no_time() {
	chase "$work/untimed" 64 ''
	sed -i 's/rdtsc/nop/' "$work/untimed.c"
	gcc-12 -O2 -c -o "$work/untimed.o" "$work/untimed.c"
	refused 'has no window' "$work/untimed.o"
}

no_loop() {
	echo 'int nothing;' >"$work/empty.c"
	gcc-12 -c -o "$work/empty.o" "$work/empty.c"
	refused 'is not there' "$work/empty.o"
}

no_object() {
	refused 'nothing.o' "$work/nothing.o"
	same lines "$(wc -l <"$work/err")" 1
}

plan $((${#rows[@]} + 9))
try 'a chase' accepted
try 'the chase of kmod/loops' the_loop_itself
for row in "${rows[@]}"; do
	try "noticed: ${row%|*}" noticed "${row%|*}" "${row#*|}"
done
try 'too few loads between branches' too_short
try 'a call of the tracer' traced -pg -mfentry
try 'a place for the tracer' traced -pg -mfentry -mrecord-mcount -mnop-mcount
try 'different bytes' different
try 'no time stamps' no_time
try 'no loop' no_loop
try 'no such object' no_object
finish
