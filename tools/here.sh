# SPDX-License-Identifier: GPL-2.0-only
# Measuring on this machine: whether its kernel takes the module, and loading, measuring, unloading.
# shellcheck shell=bash

# where /proc, /sys and /lib/modules are looked for: tests have their own
system=${CALM_TEST_SYSTEM:-}

# fail STATUS REASON
fail() { say "$2"; exit "$1"; }

# Each check prints why it is impossible, or nothing.
why_processor() {
	grep -qs '^flags.* lm ' "$system/proc/cpuinfo" || echo 'the processor is not an x86-64 one'
}

why_modules() {
	[[ -e $system/proc/modules ]] || {
		echo 'the kernel does not load modules, or hides it from this container'
		return
	}
	[[ $(cat "$system/proc/sys/kernel/modules_disabled" 2>/dev/null) != 1 ]] ||
		echo 'loading of modules has been switched off until the next boot (kernel.modules_disabled)'
}

# CAP_SYS_MODULE, bit 16 of linux/capability.h, is not even root's in a container
why_container() {
	local bounding
	bounding=$(awk '/^CapBnd:/ { print $2 }' "$system/proc/self/status" 2>/dev/null)
	((0x${bounding:-0} >> 16 & 1)) || echo 'nobody may load modules here: this is a container'
}

# the variable is four bytes of attributes and one of value (UEFI specification, 3.3)
why_secure_boot() {
	local variable=$system/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
	[[ ! -r $variable || $(od -An -tu1 -j4 -N1 "$variable") -ne 1 ]] ||
		echo 'secure boot is on: the kernel takes signed modules only, see README.md'
}

why_lockdown() {
	local state
	state=$(sed -n 's/.*\[\(.*\)\].*/\1/p' "$system/sys/kernel/security/lockdown" 2>/dev/null) || return 0
	[[ -z $state || $state == none ]] ||
		echo "the kernel is locked down ($state): it takes signed modules only"
}

why_signature() {
	[[ $(cat "$system/sys/module/module/parameters/sig_enforce" 2>/dev/null) != Y ]] ||
		echo 'the kernel was started with module.sig_enforce: it takes signed modules only'
}

why_loaded() {
	[[ ! -e $system/sys/module/calm ]] ||
		echo 'calm is loaded already: use build/calm, or unload it first (sudo rmmod calm)'
}

# checks in their order, and the exit status when one objects
here_checks=(
	'why_processor 5'
	'why_modules 4'
	'why_container 4'
	'why_secure_boot 4'
	'why_lockdown 4'
	'why_signature 4'
	'why_loaded 2'
)

# here_check: returns the status of the first check that objects. A hypervisor is no reason against it.
here_check() {
	local row check status why
	for row in "${here_checks[@]}"; do
		read -r check status <<<"$row"
		why=$("$check")
		[[ -z $why ]] || {
			say "cannot measure here: $why"
			return "$status"
		}
	done
	! grep -qs '^flags.* hypervisor' "$system/proc/cpuinfo" ||
		say 'this is a virtual machine: times include what its host does, and counters may be missing'
}

offers_headers() { [[ -n $(apt-cache --no-all-versions show "linux-headers-$1" 2>/dev/null) ]]; }

# here_headers: the running kernel's headers, from Debian where they are missing
here_headers() {
	local release
	release=$(uname -r)
	[[ ! -e $system/lib/modules/$release/build/Makefile ]] || return 0
	if offers_headers "$release" || { update_packages && offers_headers "$release"; }; then
		install_packages "linux-headers-$release"
		return
	fi
	say "cannot measure here: no headers of the running kernel: apt knows no linux-headers-$release"
	return 5
}

# pass_signals COMMAND...: in a process group of its own, so that a terminal's signal comes once, from us.
# Sets status, and leaves signals to the caller. calm ends its work at SIGINT and SIGTERM.
pass_signals() {
	(
		trap - INT QUIT TERM HUP
		exec setsid "$@"
	) </dev/null &
	child=$!
	trap 'kill -INT "$child" 2>/dev/null || true' INT
	trap 'kill -TERM "$child" 2>/dev/null || true' TERM QUIT HUP
	while kill -0 "$child" 2>/dev/null; do
		wait "$child" || true
	done
	status=0
	wait "$child" || status=$?
}

# no signal comes between a module and its end
unload() {
	trap '' INT QUIT TERM HUP
	[[ ! -e $system/sys/module/calm ]] || rmmod calm || {
		say 'calm is still loaded: see dmesg'
		status=2
	}
	trap - EXIT INT QUIT TERM HUP
}

# load MODULE: the kernel's refusals of an unsigned or unwanted module have an exit status of their own.
# In the foreground, where a signal waits until it is known whether the module is loaded.
load() {
	local said
	said=$(mktemp)
	if insmod "$1" 2>"$said"; then
		rm "$said"
		return
	fi
	say "cannot load the module: $(<"$said")"
	set -- "$(<"$said")"
	rm "$said"
	[[ ! $1 =~ 'not permitted'|'rejected by service'|'Required key' ]] || return 4
	return 2
}

# here_measure MODULE WORD...: sets status; the module is unloaded whatever comes. What root has loaded is
# used by the caller, whom that takes one capability.
here_measure() {
	local module=$1 measure=(${as_caller[@]+"${as_caller[@]}"})
	shift
	trap unload EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 131' QUIT
	trap 'exit 143' TERM
	load "$module" || status=$?
	if ((!status)); then
		((!${#measure[@]})) || measure=("${measure[0]}" --inh-caps +sys_admin --ambient-caps +sys_admin
			"${measure[@]:1}")
		pass_signals ${measure[@]+"${measure[@]}"} "$build/calm" "$@"
	fi
	unload
}
