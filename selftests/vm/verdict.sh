#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tools/vm/run tells a failing command, a time limit and a complaining kernel apart.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"
run=$top/tools/vm/run

# complains HOW TEXT [WORD]...: the command returns 0, yet the kernel's complaint counts, and is shown
complains() {
	local how=$1 text=$2
	shift 2
	status_of "$run" "$@" --put "$module" -- sh -c "insmod complain.ko how=$how; exit 0"
	same status "$status" 125
	same stdout "$(<"$work/out")" ''
	grep -q "$text" "$work/err"
}

panic() {
	status_of "$run" -- sh -c 'echo before; echo c >/proc/sysrq-trigger; sleep 100'
	same status "$status" 125
	same stdout "$(<"$work/out")" before
	grep -q 'sysrq triggered crash' "$work/err"
}

time_limit() {
	local begin=$SECONDS
	status_of "$run" --time-limit 60 -- sh -c 'echo before; sleep 1000'
	same status "$status" 124
	same stdout "$(<"$work/out")" before
	grep -q 'time limit' "$work/err"
	((SECONDS - begin < 90))
}

no_boot() {
	status_of "$run" --time-limit 60 --append 'rdinit=/nothing' -- true
	same status "$status" 125
	grep -q 'panic' "$work/err"
}

still_in_use() {
	status_of "$run" -- rmmod calm
	same status "$status" 125
	grep -q 'rmmod calm' "$work/err"
}

# interrupted SIGNAL NUMBER: reaches the command, which decides what its end is
interrupted() {
	local pid line
	mkfifo "$work/fifo"
	# a background job of a shell without job control ignores SIGINT: start it where it does not
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$run" -- sh -c "trap 'echo caught; exit 7' $1; echo ready; while :; do sleep 1; done" \
		>"$work/fifo" 2>"$work/err" &
	pid=$!
	exec 3<"$work/fifo"
	read -r -t 60 line <&3
	same line "$line" ready
	kill "-$1" "$pid"
	read -r -t 20 line <&3
	same line "$line" caught
	exec 3<&-
	rm "$work/fifo"
	ends_with 7 "$pid"
}

# two guests of different kernels know nothing of each other
together() {
	local first
	"$run" --kernel 6.12 -- sh -c 'sleep 2; uname -r; exit 3' >"$work/first" 2>&1 &
	first=$!
	status_of "$run" -- sh -c 'uname -r; exit 4'
	same status "$status" 4
	ends_with 3 "$first"
	grep -q '^6\.12' "$work/first"
	grep -q '^6\.1\.' "$work/out"
}

# neither its folder nor its QEMU outlives it
nothing_left() {
	local pid tries=100
	"$run" -- sleep 300 >/dev/null 2>&1 &
	pid=$!
	# before the guest is up: the signal waits for the command
	until qemu_of "$pid" | grep -q .; do
		kill -0 "$pid"
		sleep 0.1
	done
	kill -TERM "$pid"
	ends_with $((128 + 15)) "$pid"
	same folder "$(compgen -G "$top/build/vm.$pid.*")" ''
	# what was killed may take a moment to go on a busy machine
	while ((tries--)) && qemu_of "$pid" | grep -q .; do
		sleep 0.1
	done
	same process "$(qemu_of "$pid")" ''
}

# what the modelled processor says is wrong with it counts, whatever the command returned
model_complains() {
	local folder=$work/model
	mkdir -p "$folder"
	printf '#!/bin/sh\necho "simcpu: no IDT" >&2\n' >"$work/qemu"
	chmod +x "$work/qemu"
	status_of "$top/tools/vm/relay" "$folder" 30 '' '' "$work/qemu" @out@ @err@ @tar@ @ctl@
	same status "$status" 125
	grep -q 'the guest failed: simcpu: no IDT' "$work/err"
}

# boots STATUS NUMBER TEXT [COMMAND]: so often is a guest started whose kernel says this, and does that
boots() {
	local folder=$work/boots
	mkdir -p "$folder"
	: >"$work/starts"
	printf '#!/bin/sh\necho start >>"%s"\necho "%s" >"%s/console"\n%s\n' "$work/starts" "$3" "$folder" "${4:-}" >"$work/qemu"
	chmod +x "$work/qemu"
	status_of "$top/tools/vm/relay" "$folder" 30 '' '' "$work/qemu" @out@ @err@ @tar@ @ctl@
	same status "$status" "$1"
	same starts "$(wc -l <"$work/starts")" "$2"
}

# what emulation alone does to a kernel says nothing of what was to run there
boots_again() {
	boots 125 3 'Oops: int3: 0000 [#1] PREEMPT SMP NOPTI'
	same told "$(grep -c 'booting again' "$work/err")" 2
	boots 125 1 'Oops: general protection fault: 0000 [#1] PREEMPT SMP NOPTI'
	CALM_BOOT_S=1 boots 124 3 'mtrr: your CPUs had inconsistent MTRRdefType settings' 'exec sleep 100'
	same told "$(grep -c 'not up in 1 s.*booting again' "$work/err")" 2
}

qemu_of() { grep -la "/build/vm[.]$1[.]" /proc/[0-9]*/cmdline 2>/dev/null | grep -v "^/proc/$1/"; }

module=$("$top/tools/build-module" 6.1 "$top/selftests/vm/complain") || exit 1
plan 12
try 'a warning is 125' complains warn 'WARNING:.*complain_warn'
try 'an oops is 125' complains oops 'NULL pointer dereference'
try 'an RCU stall is 125' complains stall 'rcu.*detected.* stall' --append rcupdate.rcu_cpu_stall_timeout=3
try 'a panic is 125' panic
try 'a guest that does not come up is 125' no_boot
try 'what emulation alone does boots again, and no other fault does' boots_again
try 'a complaint of the modelled processor is 125' model_complains
try 'a module that cannot be unloaded is 125' still_in_use
try 'the time limit is 124' time_limit
try 'SIGINT reaches the command' interrupted INT
try 'two guests at once' together
try 'an early SIGTERM reaches the command, nothing is left behind' nothing_left
finish
