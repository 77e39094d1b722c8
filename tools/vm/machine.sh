# SPDX-License-Identifier: GPL-2.0-only
# The guest's processor: which QEMU, its -cpu and plugin, and the kernel words that go with them.
# shellcheck shell=bash disable=SC2034

# For comparing speeds, CALM_SIM_MEMORY=empty leaves the model out of memory accesses, =off the plugin
# out of QEMU.
sim_memory=${CALM_SIM_MEMORY:-model}

# choose_machine SIM TRUTH: sets qemu (program and first words), and kernel_words. SIM is the file of a
# modelled processor, which logs to TRUTH; without one the guest has QEMU's own.
choose_machine() {
	if [[ -n $1 ]]; then
		choose_model "$1" "$2"
		return
	fi
	[[ -z $2 ]] || die "--truth $2: needs --sim, only a modelled processor knows the truth"
	# without cx16 Debian's 6.12 boots each time; with it, QEMU 7.2 makes it panic in one run of three
	qemu=(qemu-system-x86_64 -cpu 'max,-cx16')
	kernel_words=()
}

choose_model() {
	local file=${1%@*} plugin=$build/simcpu/simcpu.so described program
	[[ -r $file && ! -d $file ]] || die "--sim '$1': cannot read $file"
	file=$(realpath "$file")${1#"$file"}
	need build sim
	with_lock "$build/make.lock" make -s --no-print-directory -C "$top" simcpu >&2
	described=$("$build/simcpu/describe" "$file") || die "--sim '$1' is no model"
	eval "$described"
	if [[ -n $2 ]]; then
		: >"$2" || die "--truth '$2': cannot write there"
		plugin+=",truth=$(comma "$(realpath "$2")")"
	fi
	program=$("$top/tools/simcpu/get-qemu")
	# outside x2APIC mode an MSR of its range faults, which simcpu uses to raise #GP
	qemu=("$program" -cpu "$SIM_QEMU_CPU,-x2apic")
	[[ $sim_memory == off ]] ||
		qemu+=(-plugin "$plugin,model=$(comma "$file"),memory=$sim_memory")
	# the modelled TSC's rate, nothing that calibrates, randomises or counts by itself, and none of
	# the warnings about what this identity's real processor is vulnerable to
	kernel_words=("tsc_early_khz=$SIM_TSC_KHZ" tsc=unstable nmi_watchdog=0 norandmaps
		randomize_kstack_offset=off mitigations=off)
}

# QEMU's options end at a single comma
comma() { echo "${1//,/,,}"; }
