#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make install puts each file in its place and uninstall removes it; dkms builds what was installed; completion knows calm.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"

version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$top/kmod/main.c")
eval "$("$top/tools/kernel" 6.1)"
stage=$work/stage

# apart from what is built for this machine
make_calm() { make -C "$top" BUILD=build/install KDIR="$HEADERS" PREFIX=/usr DESTDIR="$stage" "$@"; }

installs() {
	make_calm install
	local file
	for file in usr/share/man/man8/calm.8 usr/share/calm/{calm-1.schema.json,calm.yaml} \
		usr/share/bash-completion/completions/calm usr/share/doc/calm/{README.md,design.rst} \
		"usr/src/calm-$version/"{dkms.conf,Kbuild,kmod/main.c,include/uapi/linux/calm.h} \
		"lib/modules/$RELEASE/updates/calm.ko"; do
		[[ -f $stage/$file && ! -x $stage/$file ]] || { echo "$file is not there, or can be run"; return 1; }
	done
	[[ $("$stage/usr/bin/calm" --version) == "calm $version" ]]
	same 'version of the module' "$(modinfo -F version "$stage/lib/modules/$RELEASE/updates/calm.ko")" "$version"
	# all that the module is made of, and nothing else
	diff -r <(cd "$top" && git ls-files Kbuild kmod include | sort) \
		<(cd "$stage/usr/src/calm-$version" && find . -type f ! -name dkms.conf -printf '%P\n' | sort)
}

forgets_the_build() {
	local found
	found=$(grep -rlF -e "$top" -e "$stage" "$stage" || true)
	same 'files that name the folder of the build' "$found" ''
}

every_manual_is_installed() {
	local page
	for page in "$top"/Documentation/*.8.rst; do
		page=$(basename "${page%.rst}")
		man --warnings=w -l -E ascii "$stage/usr/share/man/man8/$page" >"$work/text" 2>"$work/warnings"
		same "warnings of $page" "$(cat "$work/warnings")" ''
		grep -q '^NAME' "$work/text"
	done
}

# keys that dkms makes to sign with are not this system's
as_dkms() {
	mok_signing_key=$work/key mok_certificate=$work/certificate dkms "$@" \
		--dkmstree "$work/dkms" --sourcetree "$work/source"
}

builds_by_dkms() {
	mkdir -p "$work/dkms" "$work/source"
	as_dkms add "$stage/usr/src/calm-$version"
	as_dkms build "calm/$version" -k "$RELEASE" --kernelsourcedir "$HEADERS"
	local built
	built=$(find "$work/dkms" -path "*/$RELEASE/*" -name 'calm.ko*')
	[[ $built ]] || { echo 'no module was built'; return 1; }
	same 'its version' "$(modinfo -F version "$built")" "$version"
	as_dkms status | grep -q "^calm/$version, $RELEASE, .*: built"
	as_dkms remove "calm/$version" --all
	[[ -z $(as_dkms status) ]]
}

# complete WORD...: what completion offers for the last word
complete_words() {
	PATH=$stage/usr/bin:$PATH bash -c '
		. "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_calm
		((${#COMPREPLY[@]} == 0)) || printf "%s " "${COMPREPLY[@]}"' _ "$stage/usr/share/bash-completion/completions/calm" "$@"
}

completes() {
	same 'calm l' "$(complete_words calm l)" 'latency '
	same 'calm latency --str' "$(complete_words calm latency --str)" '--stride '
	same 'calm latency --out' "$(complete_words calm latency --out)" '--output '
	same 'calm latency --pages 4' "$(complete_words calm latency --pages 4)" '4k 4k-contig '
	same 'calm latency --format' "$(complete_words calm latency --format '')" 'table json csv '
	same 'calm info --format=' "$(complete_words calm info --format =)" 'table json '
	same 'calm info --format=j' "$(complete_words calm info --format = j)" 'json '
	same 'calm latency --rounds' "$(complete_words calm latency --rounds '')" ''
	same 'calm nonsense --f' "$(complete_words calm nonsense --f)" ''
}

uninstalls() {
	make_calm uninstall
	same 'files that are left' "$(find "$stage" -type f)" ''
	make_calm uninstall
}

# make's own words on what is missing
says_what_is_missing() {
	status_of make -s -C "$top" BUILD=build/install KDIR="$work/nothing" module
	same status "$status" 2
	grep -q "^no kernel headers in $work/nothing: install linux-headers-" "$work/err"
	rm -rf "$top/build/install/man"
	status_of make -s -C "$top" BUILD=build/install RST2MAN=no-such-program man
	same status "$status" 2
	grep -q '^no no-such-program: install python3-docutils$' "$work/err"
}

helps() {
	local told real
	told=$(make -s -C "$top" help | awk '{ print $1 }' | sort)
	real=$(sed -n 's/^\.PHONY: //p' "$top/Makefile" | tr ' ' '\n' | grep -vx help | sort)
	same 'targets of make help' "$told" "$real"
	make -s -C "$top" help | awk 'length > 110 { print "too long: " $0; bad = 1 } END { exit bad }'
}

plan 8
try 'make help names every target' helps
try 'make install' installs
try 'no path of the build is installed' forgets_the_build
try 'the manual pages are sound' every_manual_is_installed
try 'dkms builds the module' builds_by_dkms
try 'completion of words' completes
try 'make uninstall' uninstalls
try 'missing headers and programs are told' says_what_is_missing
finish
