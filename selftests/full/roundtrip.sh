#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The smallest job takes at most five round trips of GET_INFO, by tools/bench/roundtrip, on each of Debian's kernels.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"
. "$top/tools/lib.sh"

small_job() { "$top/tools/bench/roundtrip" --kernel "$1"; }

plan ${#kernels[@]}
for kernel in "${kernels[@]}"; do
	try "a small job on $kernel" small_job "$kernel"
done
finish
