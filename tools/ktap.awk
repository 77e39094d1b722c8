# SPDX-License-Identifier: GPL-2.0-only
# Add up what selftests/run-each printed: first line "PASSED FAILED SKIPPED", then the details of what is
# not as it should be. -v expected=FILE: lines "TEST: NAME" of skips that are no surprise.

function complain(text) {
	details = details "    " test ": " text "\n"
}

function begin(name) {
	test = name
	planned = seen = bad = 0
	said = ""
}

# what a test that ended early left out has failed; so has one that tested nothing
function end(status) {
	if (planned > seen) {
		complain(planned - seen " of " planned " tests were not run, exit status " status)
		failed += planned - seen
	} else if (!seen) {
		complain("tested nothing, exit status " status)
		failed++
	} else if (status && !bad) {
		complain("exit status " status " without a failed test")
		failed++
	}
	test = ""
}

BEGIN {
	while (expected != "" && (getline line < expected) > 0)
		if (line !~ /^(#|$)/)
			known[line] = 1
}

{ sub(/\r$/, "") }

/^# test: / { if (test != "") end("unknown"); begin(substr($0, 9)); next }
/^# exit: / { if (test != "") end(substr($0, 9) + 0); next }
test == "" { next }
/^1\.\.[0-9]+/ { planned += substr($0, 4) + 0; next }

/^ok [0-9]+.*# SKIP/ {
	seen++
	name = $0
	sub(/^ok [0-9]+ (- )?/, "", name)
	sub(/ *# SKIP.*/, "", name)
	skipped++
	if (!((test ": " name) in known)) {
		unexpected++
		complain("unexpected skip: " $0)
	}
	said = ""
	next
}
/^ok [0-9]+/ { seen++; passed++; said = ""; next }
/^not ok [0-9]+/ {
	seen++
	failed++
	bad++
	complain($0 "\n" said)
	said = ""
	next
}
{ if (length(said) < 4000) said = said "        " $0 "\n" }

END {
	if (test != "")
		end("unknown")
	printf "%d %d %d %d\n%s", passed, failed, skipped, unexpected, details
}
