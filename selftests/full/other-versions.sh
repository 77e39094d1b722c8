#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Modules that speak another version of the interface, or of the protocol: calm says so, and measures nothing.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"
. "$top/tools/lib.sh"

# build_with NAME DEFINE: the module with 2 for that constant, as $work/NAME.ko
build_with() {
	local folder=$build/selftests/$1
	rm -rf "$folder"
	mkdir -p "$folder"
	cp -r "$top"/{Kbuild,kmod,include} "$folder"
	sed -i "s/^\(#define $2\)[[:space:]]\+1\$/\1 2/" "$folder/include/uapi/linux/calm.h"
	grep -qx "#define $2 2" "$folder/include/uapi/linux/calm.h"
	cp "$("$top/tools/build-module" 6.1 "$folder")" "$work/$1.ko"
}

# one guest for all: each command's words, then "=== WHAT STATUS"
script='
ran() { echo "=== $1 $?"; }
for module in other-interface other-protocol; do
	insmod /$module.ko
	calm info 2>&1; ran $module-info
	calm latency --size 4K --quick --no-progress 2>&1; ran $module-latency
	calm prefetch off 2>&1; ran $module-prefetch
	rmmod calm
done
insmod /calm.ko
calm latency --size 4K --quick --no-progress 2>&1; ran own
rmmod calm'

guest() {
	"$top/tools/vm/run" --no-load --put "$work/other-interface.ko" --put "$work/other-protocol.ko" -- \
		sh -c "$script" >"$work/guest"
}

interface='^calm( [a-z]+)?: module calm [0-9.]+ has interface 2, this program needs interface 1: install both from one build$'
protocol='^calm( [a-z]+)?: the loaded module calm speaks version 2 of its protocol, this program version 1'

plan 10
try 'a module with another interface' build_with other-interface CALM_ABI_VERSION
try 'a module with another protocol' build_with other-protocol CALM_GENL_VERSION
try 'the guest ends without a complaint' guest
for command in info latency prefetch; do
	try "another interface: calm $command" said "other-interface-$command" 3 "$interface"
	try "another protocol: calm $command" said "other-protocol-$command" 3 "$protocol"
done
try 'a module of the same build measures' said own 0 '^ *4K'
finish
