#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the first commands say to bad words, when a machine is refused, and that the module is unloaded.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

# the first model that there is
models=("$top"/tools/simcpu/models/*.cpu)
first=$(basename "${models[0]}" .cpu)

# tool and words, then what stderr must say
words=(
	"quickstart --frob|unknown word '--frob'"
	"quickstart here|unknown word 'here'"
	"quickstart --model|--model: a value is missing: expected"
	"quickstart --model zen9|--model 'zen9': expected $first"
	"quickstart --model zen4.cpu|--model 'zen4.cpu': expected $first"
	"quickstart --model zen4 --here|--model 'zen4': with --here"
	"test-fresh|no release: expected bookworm trixie"
	"test-fresh sid|release 'sid': expected bookworm trixie"
	"test-fresh trixie bookworm|unknown word 'bookworm'"
	"test-fresh --frob trixie|unknown word '--frob'"
	"test-fresh trixie --|no command after --"
	"test-fresh --user --with-cache trixie|--with-cache: the cache is not for another user"
	"check --frob|unknown word '--frob'"
	"check --only|--only: a value is missing"
	"check --only guest|--only 'guest': expected host or vm"
)

refused() {
	local line
	read -ra line <<<"$1"
	status_of "$top/tools/${line[0]}" "${line[@]:1}"
	same status "$status" 1
	same stdout "$(<"$work/out")" ''
	grep -qF -- "$2" "$work/err" || { echo "stderr says: $(<"$work/err")"; return 1; }
}

helps() {
	status_of "$top/tools/$1" --help
	same status "$status" 0
	same stderr "$(<"$work/err")" ''
	grep -q "^usage: tools/$1 " "$work/out"
}

fake=$work/system

# a machine that can measure; each row below spoils one thing
good_system() {
	rm -rf "$fake"
	mkdir -p "$fake"/{proc/{self,sys/kernel},lib/modules,sys/{module/module/parameters,kernel/security}}
	echo 'flags		: fpu lm pni' >"$fake/proc/cpuinfo"
	echo 'CapBnd:	000001ffffffffff' >"$fake/proc/self/status"
	: >"$fake/proc/modules"
	echo 0 >"$fake/proc/sys/kernel/modules_disabled"
	echo N >"$fake/sys/module/module/parameters/sig_enforce"
	echo '[none] integrity confidentiality' >"$fake/sys/kernel/security/lockdown"
	secure_boot 0
}

secure_boot() {
	mkdir -p "$fake/sys/firmware/efi/efivars"
	printf '\6\0\0\0\'"$1" >"$fake/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
}

# what is spoiled, exit status, what is said
systems=(
	"nothing|0|"
	"echo 'flags : fpu pni' >proc/cpuinfo|5|not an x86-64 one"
	"rm proc/modules|4|does not load modules"
	"echo 1 >proc/sys/kernel/modules_disabled|4|kernel.modules_disabled"
	"echo 'CapBnd: 00000000a80425fb' >proc/self/status|4|this is a container"
	"secure_boot 1|4|secure boot is on"
	"rm -r sys/firmware|0|"
	"echo 'none [integrity] confidentiality' >sys/kernel/security/lockdown|4|locked down (integrity)"
	"echo 'none integrity [confidentiality]' >sys/kernel/security/lockdown|4|locked down (confidentiality)"
	"rm sys/kernel/security/lockdown|0|"
	"echo Y >sys/module/module/parameters/sig_enforce|4|module.sig_enforce"
	"rm -r sys/module/module|0|"
	"mkdir sys/module/calm|2|calm is loaded already"
	"echo 'flags : fpu lm hypervisor' >proc/cpuinfo|0|this is a virtual machine"
)

nothing() { :; }

# in_here COMMAND: with the functions of tools/here.sh, on the fake system
in_here() {
	# shellcheck disable=SC1091
	(
		tool=quickstart
		. "$top/tools/lib.sh"
		tool=quickstart
		system=$fake
		. "$top/tools/here.sh"
		system=$fake build=$work/build
		eval "$1"
	) >"$work/out" 2>"$work/err" </dev/null
}

checked() {
	good_system
	(cd "$fake" && eval "$1")
	status=0
	in_here here_check || status=$?
	same status "$status" "$2"
	same stdout "$(<"$work/out")" ''
	same 'lines said' "$(wc -l <"$work/err")" "$([[ -z $3 ]] && echo 0 || echo 1)"
	[[ -z $3 ]] || grep -qF -- "$3" "$work/err" || { echo "stderr says: $(<"$work/err")"; return 1; }
}

# the tool itself ends with what the check says, before it asks for root
tool_checks() {
	good_system
	secure_boot 1
	status_of env CALM_TEST_SYSTEM="$fake" "$top/tools/quickstart" --here
	same status "$status" 4
	same stderr "$(<"$work/err")" \
		'quickstart: cannot measure here: secure boot is on: the kernel takes signed modules only, see README.md'
}

headers() {
	good_system
	mkdir -p "$fake/lib/modules/1.2.3/build"
	touch "$fake/lib/modules/1.2.3/build/Makefile"
	in_here 'uname() { echo 1.2.3; }; here_headers'
	same stderr "$(<"$work/err")" ''
}

no_headers() {
	good_system
	status=0
	in_here 'uname() { echo 1.2.3; }; apt-cache() { :; }; update_packages() { :; }; here_headers' || status=$?
	same status "$status" 5
	grep -q 'no headers of the running kernel.*linux-headers-1.2.3' "$work/err"
}

fetched_headers() {
	good_system
	in_here 'uname() { echo 1.2.3; }; apt-cache() { echo found; }
		install_packages() { echo "$*" >$fake/installed; }; here_headers'
	same installed "$(<"$fake/installed")" linux-headers-1.2.3
}

# put_program NAME LINE...: found first in PATH
put_program() {
	mkdir -p "$work/bin"
	printf '%s\n' '#!/bin/bash' "${@:2}" >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# the module is loaded when its folder is there; each step leaves a line
good_modules() {
	good_system
	put_program insmod "echo insmod >>$fake/log" "mkdir $fake/sys/module/calm"
	put_program rmmod "echo rmmod >>$fake/log" "rmdir $fake/sys/module/calm"
}

measure='PATH=$work/bin:$PATH as_caller=() status=0
	here_measure calm.ko latency
	echo "status $status" >>$fake/log
	exit $status'

# put_calm: what stands for build/calm, from standard input
put_calm() {
	mkdir -p "$work/build"
	cat >"$work/build/calm"
	chmod +x "$work/build/calm"
}

# logged LINE...: these steps were taken, and no module is left
logged() {
	same steps "$(<"$fake/log")" "$(printf '%s\n' "$@")"
	[[ ! -e $fake/sys/module/calm ]]
}

unloads_after() {
	good_modules
	put_calm <<-END
	#!/bin/sh
	echo "calm \$*" >>$fake/log
	exit $1
	END
	status=0
	in_here "$measure" || status=$?
	same status "$status" "$1"
	logged insmod 'calm latency' rmmod "status $1"
}

cannot_load() {
	good_modules
	put_program insmod "echo 'insmod: ERROR: could not insert module calm.ko: $1' >&2" 'exit 1'
	status=0
	in_here "$measure" || status=$?
	same status "$status" "$2"
	logged "status $2"
	grep -qF "$1" "$work/err"
}

cannot_unload() {
	good_modules
	put_program rmmod 'exit 1'
	put_calm <<<$'#!/bin/sh\nexit 0'
	status=0
	in_here "$measure" || status=$?
	same status "$status" 2
	grep -q 'calm is still loaded' "$work/err"
}

# killed SIGNAL STATUS LINE: the measurement is ended by a signal once LINE is in the log
killed() {
	local i
	(
		trap - INT QUIT TERM HUP
		in_here "echo \$BASHPID >$fake/pid; $measure"
	) &
	for ((i = 0; i < 1000; i++)); do
		! grep -qsx "$3" "$fake/log" || break
		sleep 0.02
	done
	kill "-$1" "$(<"$fake/pid")"
	ends_with "$2" $!
}

ended_in_measuring() {
	good_modules
	put_calm <<-END
	#!/bin/bash
	trap 'echo calm INT >>$fake/log; exit 130' INT
	trap 'echo calm TERM >>$fake/log; exit 143' TERM
	echo calm >>$fake/log
	while :; do sleep 0.05; done
	END
	killed "$1" "$3" calm
	logged insmod calm "calm $2" rmmod "status $3"
}

# the signal waits until insmod has ended
ended_in_loading() {
	good_modules
	put_program insmod "echo insmod >>$fake/log" 'sleep 0.5' "mkdir $fake/sys/module/calm"
	killed "$1" "$2" insmod
	logged insmod rmmod
}

plan $((${#words[@]} + 3 + ${#systems[@]} + 4 + 2 + 2 + 1 + 4 + 4))
for row in "${words[@]}"; do
	try "refused: ${row%|*}" refused "${row%|*}" "${row#*|}"
done
for name in quickstart test-fresh check; do
	try "help of $name" helps "$name"
done
for row in "${systems[@]}"; do
	IFS='|' read -r spoil code text <<<"$row"
	try "checked: $spoil" checked "$spoil" "$code" "$text"
done
try 'the tool ends with the check' tool_checks
try 'headers are there' headers
try 'no headers anywhere' no_headers
try 'headers from Debian' fetched_headers
try 'unloads after success' unloads_after 0
try 'unloads after failure' unloads_after 2
try 'the kernel wants a signature' cannot_load 'Key was rejected by service' 4
try 'the kernel has other symbols' cannot_load 'Invalid module format' 2
try 'the module stays' cannot_unload
try 'SIGINT in measuring' ended_in_measuring INT INT 130
try 'SIGTERM in measuring' ended_in_measuring TERM TERM 143
try 'SIGHUP in measuring' ended_in_measuring HUP TERM 143
try 'SIGQUIT in measuring' ended_in_measuring QUIT TERM 143
try 'SIGINT in loading' ended_in_loading INT 130
try 'SIGTERM in loading' ended_in_loading TERM 143
try 'SIGHUP in loading' ended_in_loading HUP 129
try 'SIGQUIT in loading' ended_in_loading QUIT 131
finish
