# SPDX-License-Identifier: GPL-2.0-only
# bash completion of calm: commands, options and their words, as calm's own help tells them.
# shellcheck shell=bash

# help WORD...: calm's help, each option on one line
_calm_help() { ARGP_HELP_FMT=rmargin=2000 calm "$@" --help 2>/dev/null; }

# the words that an option allows stand in parentheses at the end of its line; numbers have a range there
_calm_words() {
	_calm_help "$1" | sed -n "s/^ .* --$2=.*(\(.*\))\$/\1/p" | sed '/\.\./d; s/;.*//; s/,//g'
}

_calm() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words="$(_calm_help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p') --help --version"
	elif [[ $before == = ]]; then
		words=$(_calm_words "${COMP_WORDS[1]}" "${COMP_WORDS[COMP_CWORD - 2]#--}")
	elif [[ $current == = ]]; then
		words=$(_calm_words "${COMP_WORDS[1]}" "${before#--}") current=''
	elif [[ $current == -* ]]; then
		words=$(_calm_help "${COMP_WORDS[1]}" | grep -o -- '^ .* --[a-z0-9-]*' | grep -o -- '--[a-z0-9-]*$')
	elif [[ $before == --* ]]; then
		words=$(_calm_words "${COMP_WORDS[1]}" "${before#--}")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _calm calm
