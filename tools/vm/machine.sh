# SPDX-License-Identifier: GPL-2.0-only
# The guest's processor: which QEMU, its -cpu and plugin, and the kernel words that go with them.
# shellcheck shell=bash disable=SC2034

# choose_machine SIM TRUTH: sets qemu (program and first words), and kernel_words.
# A modelled processor (SIM, a .cpu file, logging to TRUTH) goes here and nowhere else: its own qemu,
# "-plugin ...", the -cpu string of the model, and words such as tsc_early_khz.
choose_machine() {
	local sim=$1 truth=$2
	[[ -z $sim ]] || die "--sim $sim: modelled processors come later, this version has stock QEMU only"
	[[ -z $truth ]] || die "--truth $truth: comes later, together with --sim"
	# without cx16 Debian's 6.12 boots each time; with it, QEMU 7.2 makes it panic in one run of three
	qemu=(qemu-system-x86_64 -cpu 'max,-cx16')
	kernel_words=()
}
