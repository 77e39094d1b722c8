#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Output, exit status and files of a guest's command arrive as they were made.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"
run=$top/tools/vm/run

# every byte value, zero and line ends included, a MiB each way, written in turns
binary_data() {
	head -c 1048577 /dev/urandom >"$work/one"
	head -c 1048575 /dev/urandom >"$work/two"
	status_of "$run" --put "$work/one" --put "$work/two" -- sh -c '
		for i in 0 1 2 3 4 5 6 7 8; do
			dd if=one bs=131072 skip=$i count=1 2>/dev/null
			dd if=two bs=131072 skip=$i count=1 >&2 2>/dev/null
		done
		exit 42'
	same status "$status" 42
	cmp "$work/one" "$work/out"
	cmp "$work/two" "$work/err"
}

# the reader is slow: what the guest wrote last must survive its power-off
slow_reader() {
	"$run" -- sh -c 'head -c 3000000 /dev/zero; echo end' | { sleep 8; cat; } >"$work/slow"
	same size "$(stat -c %s "$work/slow")" 3000004
	same end "$(tail -c 4 "$work/slow")" end
}

closed_reader() {
	local statuses
	set +e
	timeout 60 "$run" -- sh -c 'while echo y; do :; done' 2>/dev/null | head -1 >"$work/head"
	statuses=("${PIPESTATUS[@]}")
	set -e
	same output "$(<"$work/head")" y
	same status "${statuses[0]}" $((128 + 13))
}

# it comes while the command runs, not at its end
streams_at_once() {
	local line
	coproc guest { "$run" -- sh -c 'echo first; sleep 100'; }
	# shellcheck disable=SC2154
	read -r -t 60 line <&"${guest[0]}"
	same line "$line" first
	kill -TERM "$guest_PID"
	ends_with $((128 + 15)) "$guest_PID"
}

out_folder() {
	mkdir "$work/results"
	chmod 750 "$work/results"
	status_of "$run" --out "$work/results/deep" -- sh -c '
		mkdir /out/a; head -c 200000 /dev/urandom >/out/a/random; md5sum </out/a/random; ln -s a/random /out/link'
	same status "$status" 0
	same content "$(md5sum <"$work/results/deep/link")" "$(<"$work/out")"
	same stderr "$(<"$work/err")" ''
}

# a program with shared libraries, in the folder where the command runs
put_program() {
	status_of "$run" --put "$(command -v gcc)" --kernel 7 -- ./gcc -dumpversion
	same status "$status" 0
	same output "$(<"$work/out")" "$(gcc -dumpversion)"
}

not_found() {
	status_of "$run" -- no-such-program
	same status "$status" 127
	grep -q 'no-such-program: No such file' "$work/err"
}

nodes() {
	status_of "$run" --smp 4 --numa 2 --mem 1G --append 'calm.word=1 other' -- sh -c '
		nproc; cat /sys/devices/system/node/node*/cpulist; cat /proc/cmdline'
	same status "$status" 0
	same output "$(head -3 "$work/out" | tr '\n' ' ')" '4 0-1 2-3 '
	grep -q 'calm.word=1 other$' "$work/out"
}

loaded() {
	status_of "$run" -- sh -c 'grep -c "^calm " /proc/modules; echo "$HWLOC_COMPONENTS"; ls -d /out /tmp /dev/null'
	same output "$(tr '\n' ' ' <"$work/out")" '1 -x86 /dev/null /out /tmp '
	status_of "$run" --no-load -- sh -c 'grep -c "^calm " /proc/modules; insmod /calm.ko && rmmod calm && echo done'
	same output "$(tr '\n' ' ' <"$work/out")" '0 done '
}

plan 9
try 'a MiB of any bytes each on stdout and stderr, and status 42' binary_data
try 'output outlives the guest' slow_reader
try 'a closed reader ends the command by SIGPIPE' closed_reader
try 'output comes at once, SIGTERM reaches the command' streams_at_once
try '/out arrives in --out' out_folder
try 'a put program has its libraries' put_program
try 'a command that is not there: 127' not_found
try 'processors, nodes and kernel words as asked' nodes
try 'calm.ko is loaded, with --no-load not' loaded
finish
