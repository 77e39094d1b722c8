#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A buffer and a pass beyond 4 GiB in a guest of 9 GiB: sizes are whole from the command line to the chain.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

echo 'TAP version 13'
echo 1..2
failed=0
document=$("$top/tools/vm/run" --mem 9G --time-limit 1800 -- calm latency --cpu 1 --size 5G --rounds 1 --samples 1 \
	--warmup 0 --events none --no-progress --format json) || true

# answer NUMBER NAME KEY VALUE...: the point has these values
answer() {
	local number=$1 name=$2 bad=''
	shift 2
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
}

answer 1 'a chain of 80 Mi elements, walked and counted' complete true size_bytes 5368709120 loads 83886080 \
	2097152 2560 node 0
answer 2 'a pass over all of them, in many slices' slices '[1-9][0-9]+' interrupts '[0-9]+' samples 1
exit $failed
