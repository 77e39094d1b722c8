# SPDX-License-Identifier: GPL-2.0-only
# Latency over buffer size. Before this come, from tools/plot/plot: heading, what and unit, first and
# last (bytes), curves (data blocks $curve1..: size, median, p5, p95) with their titles, and for each
# level its arrow and label.
set encoding utf8
set title heading noenhanced
set key top left noenhanced box opaque
if (curves < 2) unset key
set grid ytics lc rgb "#d8d8d8"
set border 3 lc rgb "#606060"
set tics nomirror
set xlabel "buffer size [bytes]"
set ylabel sprintf("%s [%s]", what, unit) noenhanced
set logscale x 2
set xrange [first / 1.2 : last * 1.6]
# 4K, 8K, ... 1M, ... 1G: every octave has a mark, and a label where there is room
array letter[4] = ["K", "M", "G", "T"]
every = last / first > 2**18 ? 2 : 1
set xtics () rotate by 0
do for [octave = 10:49] {
	at = 2.0**octave
	level = octave % every
	if (at >= first / 1.2 && at <= last * 1.6) {
		set xtics add (sprintf("%d%s", 2**(octave % 10), letter[octave / 10]) at level)
	}
}
set logscale y 10
set yrange [lowest / 1.5 : highest * 2.5]
set ytics (1 1, 2 1, 5 1)
do for [power = -2:4] {
	do for [digit in "1 2 5"] {
		value = digit * 10.0**power
		set ytics add (sprintf("%g", value) value)
	}
}
plot for [n = 1:curves] sprintf("$curve%d", n) using 1:2:3:4 with yerrorlines \
	title word_title[n] lc n lw 2 pt 7 ps 0.5
