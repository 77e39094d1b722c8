#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A kernel that takes signed modules only takes a signed calm.ko, and calm says why it is not loaded else.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

# The debug kernel was built with a key pair of its own, which lies beside its headers.
sign() {
	eval "$("$top/tools/kernel" debug)"
	cp "$module" "$work/signed.ko"
	"$HEADERS/scripts/sign-file" sha256 "$HEADERS"/certs/signing_key.{pem,x509} "$work/signed.ko"
	# the same with another byte in the middle of the text that modinfo shows
	LC_ALL=C sed 's/Cache And Latency Meter/Cache And Latency Metre/' "$work/signed.ko" >"$work/changed.ko"
	! cmp -s "$work/signed.ko" "$work/changed.ko"
}

# one guest for all: each command's words, then "=== WHAT STATUS"
script='
ran() { echo "=== $1 $?"; }
insmod /calm.ko 2>&1; ran unsigned
calm latency --size 4K --quick --no-progress 2>&1; ran explanation
insmod /changed.ko 2>&1; ran changed
insmod /signed.ko 2>&1; ran signed
calm latency --size 4K --quick --no-progress 2>&1; ran measured
# bit 13: an unsigned module was loaded
echo taint $(($(cat /proc/sys/kernel/tainted) >> 13 & 1)); ran taint
rmmod calm 2>&1; ran unload
true'

guest() {
	"$top/tools/vm/run" --kernel debug --time-limit 1800 --no-load --append module.sig_enforce=1 --put "$work/signed.ko" \
		--put "$work/changed.ko" -- sh -c "$script" >"$work/guest"
}

module=$("$top/tools/build-module" debug) || exit 1
# busybox's insmod ends with the errno, here EKEYREJECTED
plan 9
try 'the key of the debug kernel signs' sign
try 'the guest ends without a complaint' guest
try 'an unsigned module is refused' said unsigned 129 'Key was rejected'
try 'calm says why it is not loaded' said explanation 4 \
	'module calm is not loaded, and this kernel loads signed modules only .*module.sig_enforce'
try 'a module that was changed is refused' said changed 129 'Key was rejected'
try 'a signed module loads' said signed 0 .
try 'and measures' said measured 0 4K
try 'without the taint of an unsigned one' said taint 0 'taint 0'
try 'and unloads' said unload 0 .
finish
