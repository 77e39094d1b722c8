#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tools/vm/run refuses bad words with status 1 and a sentence that names the word, before any boot.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

# words, then what stderr must say
rows=(
	"--smp 0 -- true|--smp '0': expected a number from 1 to 64"
	"--smp 65 -- true|--smp '65': expected a number from 1 to 64"
	"--smp two -- true|--smp 'two': expected a number"
	"--mem 4 -- true|--mem '4': expected a size such as 512M"
	"--mem 64M -- true|--mem '64M': expected 256M to"
	"--mem 999999G -- true|--mem '999999G': expected 256M to"
	"--numa 9 -- true|--numa '9': expected a number from 1 to 8"
	"--numa 3 --smp 4 -- true|--numa 3: 4 processors cannot be shared out evenly"
	"--numa 2+1 --smp 4 -- true|--numa 2+1: 4 processors cannot be shared out evenly"
	"--numa 2+9 -- true|--numa '9': expected a number from 0 to 8"
	"--kernel 5.10 -- true|--kernel '5.10': expected 6.1 6.12 7 debug"
	"--time-limit 0 -- true|--time-limit '0': expected a number from 1 to 86400"
	"--put /no/such/file -- true|--put '/no/such/file': cannot read it"
	"--out /dev/null/x -- true|--out '/dev/null/x': cannot write there"
	"--sim /no/such.cpu -- true|--sim '/no/such.cpu': cannot read /no/such.cpu"
	"--truth log -- true|--truth log: needs --sim"
	"--deterministic --smp 1 -- true|--deterministic: needs --sim and --smp 1"
	"--deterministic --sim $top/tools/simcpu/models/zen4.cpu -- true|--deterministic: needs --sim and --smp 1"
	"--smp -- true|--smp: a value is missing"
	"--mem|--mem: a value is missing"
	"--frob 1 -- true|unknown word '--frob'"
	"true|unknown word 'true'"
	"--smp 2|no command"
	"--smp 2 --|no command"
)

refused() {
	local words
	read -ra words <<<"$1"
	status_of "$top/tools/vm/run" "${words[@]}"
	same status "$status" 1
	same stdout "$(<"$work/out")" ''
	grep -qF -- "$2" "$work/err" || { echo "stderr says: $(<"$work/err")"; return 1; }
}

plan ${#rows[@]}
for row in "${rows[@]}"; do
	try "refused: ${row%|*}" refused "${row%|*}" "${row#*|}"
done
finish
