# SPDX-License-Identifier: GPL-2.0-only
# KTAP for tests written in shell: plan COUNT, then that many times try NAME COMMAND...
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 number=0 planned=0

plan() {
	planned=$1
	echo 'TAP version 13'
	echo "1..$1"
}

# try NAME COMMAND...: passes when COMMAND, a function as a rule, returns 0; what it prints is shown otherwise
try() {
	local name=$1
	shift
	number=$((number + 1))
	# not as a condition, where set -e would do nothing
	(
		set -e
		"$@"
	) >"$work/said" 2>&1
	# shellcheck disable=SC2181
	if (($? == 0)); then
		echo "ok $number $name"
	else
		sed 's/^/# /' "$work/said"
		echo "not ok $number $name"
		failed=1
	fi
}

# skip NAME REASON
skip() {
	number=$((number + 1))
	echo "ok $number $1 # SKIP $2"
}

finish() {
	((number == planned)) || { echo "# $number of $planned tests were run"; failed=1; }
	exit $failed
}

# same WHAT FOUND EXPECTED
same() {
	[[ $2 == "$3" ]] || { printf '%s: found %q, expected %q\n' "$1" "$2" "$3"; return 1; }
}

# ends_with STATUS PID: a background job's exit status
ends_with() {
	local status=0
	wait "$2" || status=$?
	same status "$status" "$1"
}

# status_of COMMAND...: its exit status in $status, its output in $work/out and $work/err
status_of() {
	status=0
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# said WHAT STATUS TEXT: how a command of the guest's ended, and a regular expression among its words. In
# $work/guest the words of each command stand before a line "=== WHAT STATUS".
said() {
	local words
	words=$(awk -v what="$1" '$1 == "===" { if ($2 == what) { printf "%s", text; print "status " $3 }; text = ""; next }
		{ text = text $0 "\n" }' "$work/guest")
	echo "$words"
	grep -qx "status $2" <<<"$words"
	grep -qE "$3" <<<"$words"
}
