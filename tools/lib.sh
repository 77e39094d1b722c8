# SPDX-License-Identifier: GPL-2.0-only
# Shared by the tools: paths, this system's packages, and other suites' packages in a private cache.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build
cache=${XDG_CACHE_HOME:-${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}/.cache}/calm
tool=$(basename "$0")
kernels=(6.1 6.12 7)
# other suites' package lists are asked for anew after a day
lists_minutes=1440

say() { echo "$tool: $*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
	if ((EUID == 0)); then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root to run: $*"
	fi
}

through_sudo() { ((EUID == 0 && ${SUDO_UID:-0} != 0)); }

# through sudo, only packages and modules are root's business; the rest, with home and cache, is the
# caller's. Sets as_caller to the words that go before a command.
find_caller() {
	local name home
	as_caller=()
	through_sudo || return 0
	IFS=: read -r name _ _ _ _ home _ < <(getent passwd "$SUDO_UID") ||
		die "no user has the number $SUDO_UID, which sudo says has called"
	as_caller=(setpriv --reuid "$SUDO_UID" --regid "${SUDO_GID:-$SUDO_UID}" --init-groups
		env HOME="$home" USER="$name" LOGNAME="$name")
}

# become_caller WORD...: once root's part is done, start this tool anew with these words as the caller
become_caller() {
	local closed
	through_sudo || return 0
	find_caller
	"${as_caller[@]}" test -w "$top" || die "the user who called sudo cannot write in $top"
	closed=$("${as_caller[@]}" find "$build" -maxdepth 1 ! -writable -print -quit 2>/dev/null) || true
	[[ -z $closed ]] || die "the user who called sudo cannot write $closed: remove build/, which root has made"
	exec "${as_caller[@]}" "$top/tools/$tool" "$@"
}

missing_packages() {
	local group package
	while read -r group package _; do
		[[ " $* " == *" $group "* ]] || continue
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
			echo "$package"
	done < <(grep -v '^#' "$top/tools/packages.txt")
}

update_packages() { as_root apt-get -q update </dev/null >&2; }

install_packages() {
	say "installing $*"
	{
		update_packages &&
		as_root env DEBIAN_FRONTEND=noninteractive \
			apt-get -q -y --no-install-recommends install "$@"
	} </dev/null >&2 || die "cannot install $*"
}

# need GROUP...: install what is missing of these groups of tools/packages.txt
need() {
	local missing
	mapfile -t missing < <(missing_packages "$@")
	((!${#missing[@]})) || install_packages "${missing[@]}"
}

# with_lock FILE COMMAND...: one at a time
with_lock() {
	local file=$1
	shift
	mkdir -p "$(dirname "$file")"
	(
		flock 9
		"$@" 9>&-
	) 9>"$file"
}

host_codename() {
	# shellcheck disable=SC1091
	(. /etc/os-release && echo "${VERSION_CODENAME:-}")
}

# mirror [-security]: the base that this system's own apt uses, for its release or its security suite
mirror() {
	local want release codename
	want=$(host_codename)${1:-}
	apt-get indextargets --format '$(RELEASE) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		while read -r release codename uri; do
			[[ $release == "$want" || $codename == "$want" ]] || continue
			echo "$uri"
			break
		done
}

suite_sources() {
	local signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' main security
	main=$(mirror)
	[[ -n $main ]] || die "apt has no source for $(host_codename): see /etc/apt/sources.list"
	echo "deb $signed $main $1 main"
	security=$(mirror -security)
	if [[ $1 != *-* && $1 != forky && -n $security ]]; then
		echo "deb $signed $security $1-security main"
	fi
}

# private_apt SUITE PROGRAM ARGUMENT...: apt with a state of its own, in which nothing is installed. Lists
# of a mirror that stands still are signed, but expired for some suites. Containers often tell apt to keep
# its lists packed and no index of them, which makes each question take seconds.
private_apt() {
	local root=$cache/apt/$1 program=$2
	shift 2
	"$program" -q \
		-o Dir::State="$root" -o Dir::State::lists="$root/lists" \
		-o Dir::State::status="$root/status" -o Dir::Cache="$root/cache" \
		-o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin \
		-o Acquire::GzipIndexes=false -o Acquire::Languages=none \
		-o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root "$@"
}

refresh_locked() {
	local root=$cache/apt/$1
	[[ -z $(find "$root/refreshed" -mmin -$lists_minutes 2>/dev/null) ]] || return 0
	mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
	: >>"$root/status"
	suite_sources "$1" >"$root/sources.list.new"
	mv "$root/sources.list.new" "$root/sources.list"
	if private_apt "$1" apt-get --error-on=any update >"$root/log" 2>&1; then
		touch "$root/refreshed"
	elif [[ -e $root/refreshed ]]; then
		say "cannot refresh the package lists of $1, going on with the old ones"
	else
		cat "$root/log" >&2
		die "cannot get the package lists of $1"
	fi
}

refresh() { with_lock "$cache/apt/$1.lock" refresh_locked "$1"; }

# newest SUITE PACKAGE: the version that the suite offers
newest() {
	local version
	refresh "$1"
	version=$(private_apt "$1" apt-cache policy "$2" 2>/dev/null | sed -n 's/^ *Candidate: //p')
	[[ -n $version && $version != '(none)' ]] || die "$1 has no package $2"
	echo "$version"
}

unpack_locked() {
	local dir=$1 suite=$2 work
	shift 2
	[[ ! -e $dir ]] || return 0
	work=$(mktemp -d "$dir.XXXXXX")
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	mkdir "$work/debs" "$work/tree"
	(cd "$work/debs" && private_apt "$suite" apt-get download "$@" >"$work/log" 2>&1) || {
		cat "$work/log" >&2
		# the mirror may have newer versions by now: ask it the next time
		rm -f "$cache/apt/$suite/refreshed"
		die "cannot fetch $* from $suite; a second try will use new package lists"
	}
	for deb in "$work"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$work/tree" --no-same-owner "${unpack_options[@]}"
		basename "$deb" .deb >>"$work/tree/packages"
	done
	"$unpack_finish" "$work/tree" "$dir"
	mv "$work/tree" "$dir"
}

# unpack DIR SUITE PACKAGE...: DIR holds these packages, unpacked; whole or not there at all.
# unpack_options go to tar; unpack_finish TREE DIR changes the tree before it gets its name.
unpack_options=()
unpack_finish=:

unpack() {
	[[ -e $1 ]] || with_lock "$1.lock" unpack_locked "$@"
}

# the C library of the newest release that newer suites' programs are started with
newer_libraries() {
	local version dir unpack_options=() unpack_finish=flatten_libraries
	version=$(newest trixie libc6)
	dir=$cache/libs/trixie-$version
	mkdir -p "$cache/libs"
	unpack "$dir" trixie libc6 libelf1t64 zlib1g libzstd1 libssl3t64
	echo "$dir"
}

flatten_libraries() {
	find "$1/usr/lib/x86_64-linux-gnu" -maxdepth 1 -name '*.so*' -exec mv -t "$1" {} +
	rm -rf "$1/usr" "$1/lib64" "$1/etc"
}

# wrap_newer TREE FINAL FOLDER...: newer suites' programs need a newer C library than this system's, so
# start them by their own loader. What runs here stays as it is: on the suite's own release, everything.
# FINAL is the name that TREE will have.
wrap_newer() {
	local tree=$1 final=$2 file libs=''
	shift 2
	while read -r file; do
		head -c 4 "$file" | grep -q ELF || continue
		ldd "$file" 2>&1 | grep -q 'not found' || continue
		libs=${libs:-$(newer_libraries)}
		mv "$file" "$file.elf"
		printf '#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s %s "$@"\n' \
			"$libs" "$libs" "${file/#"$tree"/"$final"}.elf" >"$file"
		chmod 755 "$file"
	done < <(find "${@/#/$tree/}" -type f -perm /111)
}
