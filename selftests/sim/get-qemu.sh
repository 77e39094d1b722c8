#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Which QEMU tools/simcpu/get-qemu chooses: one that speaks plugin API 7, and no other.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

get_qemu=$top/tools/simcpu/get-qemu

# a QEMU in front of all others in PATH, written by standard input
put_qemu() {
	mkdir -p "$work/bin"
	cat >"$work/bin/qemu-system-x86_64"
	chmod +x "$work/bin/qemu-system-x86_64"
}

runs() {
	local qemu
	qemu=$("$get_qemu")
	[[ -x $qemu ]]
	"$qemu" --version | grep -q '^QEMU emulator version'
}

at_once() {
	local begin=$EPOCHREALTIME
	"$get_qemu" >/dev/null
	# microseconds; unpacking takes several seconds
	((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/} < 3000000))
}

passes_by_old() {
	put_qemu <<-'END'
	#!/bin/sh
	echo 'QEMU emulator version 10.0.13'
	END
	[[ $(PATH=$work/bin:$PATH "$get_qemu") != "$work/bin/"* ]]
}

passes_by_other_api() {
	put_qemu <<-'END'
	#!/bin/sh
	[ "$1" != --version ] || { echo 'QEMU emulator version 13.0.0'; exit; }
	echo 'plugin requires API version 7, but this QEMU supports only a minimum version of 9' >&2
	exit 1
	END
	[[ $(PATH=$work/bin:$PATH "$get_qemu") != "$work/bin/"* ]]
}

takes_the_systems() {
	local ours
	ours=$("$get_qemu")
	put_qemu <<-END
	#!/bin/sh
	exec "$ours" "\$@"
	END
	[[ $(PATH=$work/bin:$PATH "$get_qemu") == "$work/bin/qemu-system-x86_64" ]]
}

refuses_words() {
	local status=0
	"$get_qemu" --frehs >"$work/out" 2>"$work/err" || status=$?
	((status == 1))
	[[ ! -s $work/out ]]
	grep -q -- "'--frehs'" "$work/err"
}

plan 6
try runs runs
try at_once at_once
try passes_by_old passes_by_old
try passes_by_other_api passes_by_other_api
try takes_the_systems takes_the_systems
try refuses_words refuses_words
finish
