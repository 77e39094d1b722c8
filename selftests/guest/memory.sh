#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every kind of memory on two nodes, and from a CPU of a third that has none; the limits of each, long passes, and what is said where a kind is not there.
work=$(mktemp -d)
count=0 failed=0
G1=1073741824

# answer NAME STATUS: of the command before; what it said goes with a failure
answer() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count $1"
	else
		head -n 20 "$work/err" | sed 's/^/# /'
		grep -E -A 2 '"(node|leaf_bytes|contiguous_bytes|adjacent_frames_share|slices|interrupts)"' "$work/out" |
			sed 's/^/# /'
		echo "not ok $count $1"
		failed=1
	fi
}

# chase WORDS...: one point on CPU 0, which node 0 has
chase() {
	calm latency --cpu 0 --rounds 1 --samples 1 --warmup 0 --events none --no-progress --format json "$@" \
		>"$work/out" 2>"$work/err"
}

# value KEY: of the point; keys of the point are indented by six
value() { sed -n "s/^      \"$1\": \(.*\),$/\1/p" "$work/out"; }

# leaves BYTES COUNT: the buffer has so many of that size and no other
leaves() { [ "$(tr -d ' \n' <"$work/out" | grep -o '"leaf_bytes":{[^}]*}')" = "\"leaf_bytes\":{\"$1\":$2}" ]; }

# refused NAME STATUS TEXT WORDS...
refused() {
	name=$1 expected=$2 text=$3
	shift 3
	chase "$@"
	[ $? = "$expected" ] && grep -q -- "$text" "$work/err" && [ ! -s "$work/out" ]
	answer "$name" $?
}

# with what CPUs keep of free pages, which is not counted as free
free_kib() { awk '$1 == "MemFree:" { kib += $2 } $1 == "count:" { kib += 4 * $2 } END { print kib }' /proc/meminfo /proc/zoneinfo; }
# KASAN keeps freed objects for a while, up to a 32nd of all memory
most_kib=16384
[ ! -e /sys/kernel/debug/kmemleak ] || most_kib=131072

# what the kernel is asked for at once: it clears all of that before others may run
tracing=/sys/kernel/tracing
name=$(awk '$3 ~ /^alloc_contig_range(_noprof)?$/ { print $3 }' /proc/kallsyms)
echo "p:calmtest/range $name first=%di:u64 end=%si:u64" >$tracing/kprobe_events
echo 1 >$tracing/events/calmtest/enable

echo 'TAP version 13'
echo 1..30
# page tables and free lists of the first run stay with the kernel
chase --size 64M --pages 4k --node 1
before=$(free_kib)

for node in 0 1; do
	chase --size 16M --pages 4k --node $node && leaves 4096 4096 && [ "$(value node)" = $node ] &&
		[ "$(value contiguous_bytes)" -lt 65536 ]
	answer "4k on node $node" $?
	chase --size 16M --pages 4k-contig --node $node && leaves 4096 4096 && [ "$(value node)" = $node ] &&
		[ "$(value contiguous_bytes)" -ge 4194304 ] && [ "$(value adjacent_frames_share | cut -c 1-4)" != 0.0 ]
	answer "4k-contig on node $node" $?
	chase --size 16M --pages 2m --node $node && leaves 2097152 8 && [ "$(value node)" = $node ]
	answer "2m on node $node" $?
	chase --size 16M --pages 4k-contig --contig --node $node && leaves 4096 4096 &&
		[ "$(value contiguous_bytes)" = 16777216 ] && [ "$(value node)" = $node ] &&
		[ "$(value adjacent_frames_share)" = 1.0 ] && [ "$(value contig)" = true ]
	answer "4k-contig in one run on node $node" $?
done
chase --size 16M --pages 2m --contig && leaves 2097152 8 && [ "$(value contiguous_bytes)" = 16777216 ]
answer '2m in one run' $?
chase --size 100000 --pages 4k-contig && leaves 4096 25 && [ "$(value contiguous_bytes)" = 102400 ]
answer 'a part of a block of neighbouring frames' $?
# address ranges that were just given back lie between free ones for a while
failures=0
for size in 16M 12M 16M 8M 16M 12M 16M 4M 16M 12M 16M 8M 16M 12M; do
	chase --size $size --loads 1000 --pages 4k-contig --contig || failures=$((failures + 1))
done
[ $failures = 0 ]
answer 'address ranges aligned as the frames are, again and again' $?
# reserved at boot, given back to all: contiguous as long as nobody takes of it, as CPUs of its node would
for cpu in 1 2; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online; done
echo 0 >/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages
before=$((before + 1048576))
chase --size 1G --stride 4K --pages 1g --node 1 && leaves $G1 1 && [ "$(value contiguous_bytes)" = $G1 ]
answer '1g, a whole leaf' $?
chase --size 64M --pages 1g --node 1 && leaves $G1 1 && [ "$(value contiguous_bytes)" = 67108864 ] &&
	[ "$(value node)" = 1 ]
answer '1g, a part of a leaf' $?
chase --size 128M --stride 4K --pages 4k-contig --contig --node 1 && leaves 4096 32768 &&
	[ "$(value contiguous_bytes)" = 134217728 ]
answer '4k-contig, 128 MiB in one run' $?
refused 'the kinds that there are instead' 5 'no 1 GiB leaves on node 0: pages 2m, 4k, 4k-contig' \
	--size 64M --pages 1g --node 0
for cpu in 1 2; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online; done

refused 'frames that are shuffled are not contiguous' 1 "contig: the frames of --pages '4k' are shuffled" \
	--size 4K --pages 4k --contig
refused 'a node of its own limit' 5 "size: '2G' is more memory than can be had of node 1 now (allowed 128\.\." \
	--size 2G --node 1
refused 'a node that is not there' 5 "node: '3' is not online here" --size 4K --node 3
refused 'a node without memory' 5 'no such memory node' --size 4K --node 2
# near node 1, by the firmware's distances
chase --size 16M --pages 2m --cpu 2 && leaves 2097152 8 && [ "$(value node)" = 1 ]
answer 'a CPU whose node has no memory takes that of the nearest' $?
refused 'the limit of that' 5 "size: '2G' is more memory than can be had of node 1 now (allowed 128\.\." \
	--size 2G --cpu 2
calm info >"$work/out" 2>"$work/err" && [ "$(grep -c '^ *of node [01] [0-9]' "$work/out")" = 2 ]
answer 'limits of both nodes' $?
calm latency --cpu 0 --node 1 --max 1T --dry-run >"$work/out" 2>"$work/err" && grep -q 'node 1, pages 2m' "$work/out"
answer 'a dry run asks nobody' $?

# one pass of 8 Mi loads: more than 20 ms on any machine, of which a slice holds 10
chase --size 64M --loads 8388608 --node 1 && [ "$(value slices)" -ge 3 ] && [ "$(value interrupts)" -gt 0 ]
answer 'a long pass is cut into slices, with interrupts between them' $?
chase --size 4K && [ "$(value slices)" = 1 ] && [ "$(value interrupts)" = 0 ]
answer 'a pass in one slice has no gap' $?

after=$(free_kib)
[ $((before - after)) -lt $most_kib ] || echo "$before KiB were free, now $after KiB" >"$work/err"
[ $((before - after)) -lt $most_kib ]
answer 'all memory is given back' $?

echo 0 >$tracing/events/calmtest/enable
most=$(sed -n 's/.* range: .* first=\([0-9]*\) end=\([0-9]*\)$/\1 \2/p' $tracing/trace |
	awk '$2 - $1 > most { most = $2 - $1 } END { print most + 0 }')
echo >$tracing/kprobe_events
echo "asked for $most frames at once" >"$work/err"
[ "$most" -gt 0 ] && [ "$most" -le 16384 ]
answer 'contiguous frames are asked for 64 MiB at a time' $?

rmmod calm && insmod /calm.ko max_bytes=10000000
refused 'the limit of the module' 5 "size: '10M' is more memory than can be had now (allowed 128\.\.9765\.625K)" \
	--size 10M
chase --size 8M
answer 'what the module allows' $?
chase --max 64M --min 8M --step 1
[ $? = 5 ] && grep -q "max: '64M' is more memory" "$work/err"
answer 'a sweep beyond the limit of the module' $?
rm -r "$work"
exit $failed
