#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The first commands on a bare Debian 12 and 13: by root, through sudo, twice, from elsewhere, and cut short.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

fresh=("$top/tools/test-fresh")
((EUID == 0)) || fresh=(sudo -n "${fresh[@]}")

# ran RELEASE OPTION COMMAND: a command of the shell in a fresh clone
ran() {
	status_of "${fresh[@]}" ${2:+"$2"} "$1" -- bash -ec "$3"
	tail -n 20 "$work/err"
	same status "$status" 0
}

# levels_near NAME SIZE NS CYCLES: how often the table of levels has them, within a thousandth
levels_near() {
	awk -v name="$1" -v size="$2" -v ns="$3" -v cycles="$4" '
		function near(a, b) { return a > b * 0.999 && a < b * 1.001 }
		$1 == name && $2 == size && near($3, ns) && near($4, cycles) { n++ }
		END { print n + 0 }' "$work/out"
}

first_numbers() {
	# shellcheck disable=SC2016
	ran "$1" "$2" "$3
		file=build/quickstart/zen4
		"'grep -q "^<svg" $file.svg && grep -q "\"complete\": true" $file.json'
	# latency of the levels of tools/simcpu/models/zen4.cpu; prefetchers bring a few of a chase's lines by chance
	for row in 'L1d 32K 0.889 4' 'L2 1M 3.111 14' 'L3 32M 11.111 50' 'memory - 52 234'; do
		same "times of $row" "$(levels_near $row)" "$4"
	done
	same 'intervals of one round' "$(grep 'too few rounds' "$work/out" | grep -c '\.\.')" 0
	same 'strided reads, a pair of settings each' "$(grep -cE '^ +64M +64 off .* yes$' "$work/out")" "$4"
	same 'where it is' "$(grep -c '^The picture is in .*zen4.svg' "$work/out")" "$4"
}

check_passes() {
	ran "$1" '' tools/check
	tail -n 1 "$work/out" | grep -qE '^[0-9]+ passed, 0 failed, 0 skipped$'
}

# what test-fresh has left in build/ and among mounts and processes
remains() {
	compgen -G "$top/build/fresh-*" || true
	grep -F "$top/build/fresh-" /proc/mounts || true
	pgrep -f "sleep 98765" || true
}

cut_short() {
	local pid before i
	before=$(remains)
	(
		trap - INT QUIT TERM HUP
		exec "${fresh[@]}" bookworm -- bash -c 'echo begun; sleep 98765'
	) >"$work/begun" 2>&1 </dev/null &
	pid=$!
	for ((i = 0; i < 6000; i++)); do
		! grep -q begun "$work/begun" || break
		sleep 0.1
	done
	kill "-$1" "$pid"
	ends_with "$2" "$pid"
	same remains "$(remains)" "$before"
}

plan 9
for release in bookworm trixie; do
	try "$release: quickstart by root" first_numbers "$release" '' tools/quickstart 1
	# nothing in the clone belongs to root afterwards: test-fresh says 125 otherwise
	try "$release: quickstart through sudo, twice, and from elsewhere" first_numbers "$release" --user \
		'sudo tools/quickstart && (cd / && sudo "$OLDPWD/tools/quickstart")' 2
	try "$release: check" check_passes "$release"
done
try 'nothing is left after SIGINT' cut_short INT 130
try 'nothing is left after SIGTERM' cut_short TERM 143
try 'nothing is left after SIGHUP' cut_short HUP 129
finish
