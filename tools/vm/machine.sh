# SPDX-License-Identifier: GPL-2.0-only
# The guest's processor: which QEMU, its -cpu and plugin, and the kernel words that go with them.
# shellcheck shell=bash disable=SC2034

# CALM_SIM_DETAIL=yes has the truth log tell each read of a clock or counter. For comparing speeds,
# CALM_SIM_MEMORY=empty leaves the model out of memory accesses, =off the plugin out of QEMU.
sim_memory=${CALM_SIM_MEMORY:-model}
sim_detail=${CALM_SIM_DETAIL:-no}
sim_icount=no

# What makes two boots equal to the last instruction. Time is the number of instructions, 8 ns each, about
# what QEMU takes for one; a processor that sleeps does so in no time, up to its next timer. All that is
# random in the guest then comes from rdrand, the clock's date and when interrupts came.
deterministic_words=(-icount 'shift=3,sleep=off' -rtc 'base=2026-01-01T00:00:00,clock=vm' -seed 1)

# choose_machine SIM TRUTH: sets qemu (program and first words), accel (its accelerator), threads (of a core)
# and kernel_words. SIM is the file of a modelled processor, which logs to TRUTH; without one the guest has
# QEMU's own.
choose_machine() {
	if [[ -n $1 ]]; then
		choose_model "$1" "$2"
		return
	fi
	[[ -z $2 ]] || die "--truth $2: needs --sim, only a modelled processor knows the truth"
	accel=tcg$(threading qemu-system-x86_64)
	# without cx16 Debian's 6.12 boots each time; with it, QEMU 7.2 makes it panic in one run of three
	qemu=(qemu-system-x86_64 -cpu 'max,-cx16')
	threads=1
	kernel_words=()
}

# threading QEMU: how its processors take turns. A QEMU before 8.1 may translate code while another of its
# processors writes to it, and keep the old translation for good: it did not lock pages before translation.
# Linux replaces instructions as it runs, and its processors then trap or hang on breakpoints that are long gone.
threading() {
	local major minor
	read -r major minor < <("$1" --version | sed -n 's/^QEMU emulator version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
	((${major:-0} * 100 + ${minor:-0} >= 801)) || echo ,thread=single
}

choose_model() {
	local file=${1%@*} plugin=$build/simcpu/simcpu.so described program
	[[ -r $file && ! -d $file ]] || die "--sim '$1': cannot read $file"
	file=$(realpath "$file")${1#"$file"}
	need build sim
	with_lock "$build/make.lock" make -s --no-print-directory -C "$top" simcpu >&2
	described=$("$build/simcpu/describe" "$file") || die "--sim '$1' is no model"
	eval "$described"
	threads=$SIM_THREADS
	if [[ -n $2 ]]; then
		: >"$2" || die "--truth '$2': cannot write there"
		plugin+=",truth=$(comma "$(realpath "$2")")"
	fi
	program=$("$top/tools/simcpu/get-qemu")
	accel=tcg$(threading "$program")
	# outside x2APIC mode an MSR of its range faults, which simcpu uses to raise #GP
	qemu=("$program" -cpu "$SIM_QEMU_CPU,-x2apic")
	[[ $sim_memory == off ]] ||
		qemu+=(-plugin "$plugin,model=$(comma "$file"),detail=$sim_detail,memory=$sim_memory,icount=$sim_icount")
	# the modelled TSC's rate, nothing that calibrates, randomises or counts by itself, and none of
	# the warnings about what this identity's real processor is vulnerable to
	kernel_words=("tsc_early_khz=$SIM_TSC_KHZ" tsc=unstable nmi_watchdog=0 norandmaps
		randomize_kstack_offset=off mitigations=off)
}

# QEMU's options end at a single comma
comma() { echo "${1//,/,,}"; }

# field FILE OFFSET BYTES: an unsigned number in a file
field() { od -An -v -tu"$3" -j"$2" -N"$3" "$1" | tr -d ' '; }

# packed_kernel BZIMAGE: the compressed kernel in it, by the fields setup_sects, payload_offset and
# payload_length of its header (Documentation/x86/boot.rst). Behind it stands its size when unpacked,
# four bytes that are no part of the compressed stream.
packed_kernel() {
	local begin length
	begin=$((512 * ($(field "$1" 497 1) + 1) + $(field "$1" 584 4)))
	length=$(($(field "$1" 588 4) - 4))
	head -c $((begin + length)) "$1" | tail -c "$length"
}

# unpack_kernel BZIMAGE: the ELF image in it
unpack_kernel() {
	case $(packed_kernel "$1" | head -c 4 | od -An -tx1 | tr -d ' ') in
	fd377a58) packed_kernel "$1" | xz -dc ;;
	28b52ffd) packed_kernel "$1" | zstd -dcq ;;
	*) return 1 ;;
	esac
}

# Xen's note 18: where a loader enters that leaves the kernel nothing to unpack (PVH)
has_entry() { readelf -nW "$1" 2>/dev/null | grep -E 'Xen .*(0x00000012|PHYS32_ENTRY)' >/dev/null; }

keep_unpacked() {
	[[ ! -e $1.elf ]] || return 0
	if unpack_kernel "$1" >"$1.elf.new" && has_entry "$1.elf.new"; then
		mv "$1.elf.new" "$1.elf"
	else
		rm -f "$1.elf.new"
		ln -s "$(basename "$1")" "$1.elf"
	fi
}

# boot_image BZIMAGE: what to give to QEMU. To unpack itself takes a guest longer than all the rest of its
# boot, so it starts from the unpacked image where that has an entry for it (PVH, a note of Xen's).
boot_image() {
	with_lock "$1.lock" keep_unpacked "$1"
	echo "$1.elf"
}
