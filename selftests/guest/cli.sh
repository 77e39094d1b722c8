#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# calm against the loaded module, where recordings cannot tell: signals, a killed client, a vanished CPU, a full disk.
work=$(mktemp -d)
count=0 failed=0
long='latency --cpu 1 --size 4M --rounds 100 --samples 100 --no-progress --format json'

# answer NAME STATUS: of the command before; what it said goes with a failure
answer() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count $1"
	else
		head -n 20 "$work/out" "$work/err" | sed 's/^/# /'
		echo "not ok $count $1"
		failed=1
	fi
}

# expect NAME STATUS PATTERN COMMAND...: exit status, and what stdout or stderr holds
expect() {
	name=$1 expected=$2 pattern=$3
	shift 3
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = "$expected" ] && grep -q -- "$pattern" "$work/out" "$work/err"
	answer "$name" $?
}

# a job that would run for minutes; returns once it holds the module
start_long() {
	# shellcheck disable=SC2086
	calm $long >"$work/long" 2>"$work/err" &
	job=$!
	until grep -q '^calm [0-9]* [1-9]' /proc/modules; do
		kill -0 $job || return
		sleep 0.1
	done
}

# ended_by SIGNAL STATUS: the long job ends soon, and its document is kept
ended_by() {
	start_long
	sleep 1
	kill "-$1" $job
	wait $job
	status=$?
	cp "$work/long" "$work/out"
	[ $status = "$2" ] && grep -q '"complete": false' "$work/long" && grep -q "\"ended_by\": \"SIG$1\"" "$work/long" &&
		grep -q '"tsc_per_access": {' "$work/long"
	answer "ended by SIG$1" $?
}

echo 'TAP version 13'
echo 1..17
expect 'info' 0 '^module  *[0-9]' calm info
expect 'document' 0 '"complete": true' calm latency --cpu 1 --size 4K,64K --quick --format json
expect 'pages of 4k' 0 '"4096": 16' calm latency --cpu 1 --size 64K --quick --pages 4k --format json
expect 'more memory than there is' 5 "size: '1T' is more memory than can be had now" calm latency --size 1T
ended_by INT 130
ended_by TERM 143

start_long
expect 'one job at a time' 2 'another job is running; there is one at a time' calm latency --cpu 1 --size 4K --quick
kill -9 $job
wait $job
sleep 1
expect 'a killed client leaves nothing' 0 '64K' calm latency --cpu 1 --size 64K --quick

start_long
sleep 1
echo 0 >/sys/devices/system/cpu/cpu1/online
wait $job
status=$?
cp "$work/long" "$work/out"
[ $status = 2 ] && grep -q '"ended_by": "error"' "$work/long" && grep -q '"tsc_per_access": {' "$work/long"
answer 'a vanished CPU' $?
expect 'a CPU that is offline' 5 "cpu: '1' is not online here" calm latency --cpu 1 --size 4K --quick
echo 1 >/sys/devices/system/cpu/cpu1/online
expect 'it is back' 0 '4K' calm latency --cpu 1 --size 4K --quick

mkdir "$work/disk"
mount -t tmpfs -o size=4k tmpfs "$work/disk"
expect 'a full disk loses nothing' 2 '"complete": true' \
	calm latency --cpu 1 --size 4K,64K --quick --format json -o "$work/disk/result"
[ -z "$(ls "$work/disk")" ]
answer 'a full disk is left as it was' $?
umount "$work/disk"

echo nobody:x:65534:65534::/:/bin/sh >/etc/passwd
expect 'not permitted' 4 'needs CAP_SYS_ADMIN' su nobody -s /bin/sh -c 'calm latency --cpu 1 --size 4K --quick'
# the module is given back by each client
expect 'nobody holds the module' 0 '^calm [0-9]* 0 ' grep '^calm ' /proc/modules
rmmod calm
expect 'without the module' 3 'not loaded' calm latency --cpu 1 --size 4K --quick
insmod /calm.ko
expect 'loaded again' 0 '4K' calm latency --cpu 1 --size 4K --quick
rm -r "$work"
exit $failed
