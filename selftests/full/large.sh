#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pass of 1 GiB cut into many slices, and one beyond 4 GiB in a guest of 9 GiB: sizes are whole from command line to chain.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

# chase MEMORY SIZE: one pass over a buffer, set up and gone round once before it
chase() {
	document=$("$top/tools/vm/run" --mem "$1" --time-limit 3600 -- calm latency --cpu 1 --size "$2" --rounds 1 \
		--samples 1 --warmup 0 --events none --no-progress --format json) || true
}

number=0 failed=0

# answer NAME KEY VALUE...: the point has these values
answer() {
	local name=$1 bad=''
	number=$((number + 1))
	shift
	while (($#)); do
		grep -qE "^ +\"$1\": $2,?\$" <<<"$document" || bad+="# $1 is not $2"$'\n'
		shift 2
	done
	if [[ -z $bad ]]; then
		echo "ok $number $name"
	else
		printf '%s' "$bad"
		echo "not ok $number $name"
		failed=1
	fi
	grep -E '"(slices|interrupts)"' <<<"$document" | sed 's/^/# /' || true
}

# a slice holds 10 ms, and no memory serves 16 Mi loads, each waiting for the last, in the 1 s of a hundred
slices='[1-9][0-9]{2,}' interrupts='[1-9][0-9]+'

echo 'TAP version 13'
echo 1..3
chase 2G 1G
answer 'a pass of 1 GiB, in many slices' complete true size_bytes 1073741824 loads 16777216 2097152 512 samples 1 \
	slices "$slices" interrupts "$interrupts"
chase 9G 5G
answer 'a chain of 80 Mi elements, walked and counted' complete true size_bytes 5368709120 loads 83886080 \
	2097152 2560 node 0
answer 'a pass over all of them, in many slices' slices "$slices" interrupts "$interrupts" samples 1
exit $failed
