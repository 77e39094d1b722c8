#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The truth log is whole when a guest is stopped by its time limit.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

model=$top/tools/simcpu/models/zen4.cpu

# one exit line for each vCPU, the last lines of the log
whole() {
	same "exit lines" "$(tail -n 2 "$work/truth" | grep -c '^{"type":"exit","cpu":[01],.*}$')" 2
	same "first line" "$(head -c 15 "$work/truth")" '{"type":"start"'
}

time_limit() {
	status_of "$top/tools/vm/run" --time-limit 20 --smp 2 --no-load --sim "$model" --truth "$work/truth" \
		-- sleep 1000
	same status "$status" 124
	whole
}

plan 1
try time_limit time_limit
finish
