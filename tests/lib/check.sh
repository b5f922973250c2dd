# check.sh - what a test script looks at, a line for each. Source it, with TMPDIR set, and end with `exit $bad`.
#
#   check NAME COMMAND...    says "ok NAME" where the command succeeds, else "not ok NAME" and the beginning of what it
#                            said, and sets bad=1; $of goes before the name. The command is run by this shell
#   says STATUS PATTERN COMMAND...   for check: the command's exit code, and both its outputs together
#   fails COMMAND...         likewise: it does not succeed
#   fits SCHEMA COMMAND...   likewise: what it prints is a document of tests/data/schema

bad=0

check() {
	local name=${of:+$of: }$1
	shift
	if "$@" >"$TMPDIR/check.out" 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		sed 's/^/# /' "$TMPDIR/check.out" | head -n 60
		# shellcheck disable=SC2034 # for the script to end with
		bad=1
	fi
}

says() {
	local status=$1 pattern=$2 said text got
	shift 2
	said=$(mktemp "$TMPDIR/says.XXXXXX") || return
	# A pipe would be at its end only when all that was started in the background is.
	("$@") >"$said" 2>&1 </dev/null
	got=$?
	text=$(<"$said")
	rm -f "$said"
	echo "exit $got: $text"
	# shellcheck disable=SC2053 # a pattern
	[ "$got" = "$status" ] && [[ $text == $pattern ]]
}

fails() {
	! "$@"
}

fits() {
	local schema=$1
	shift
	"$@" </dev/null | python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/$schema.json"
}
