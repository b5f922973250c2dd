#!/bin/bash
# names.sh - a private function says by its name what it does, verb and object, and no other file has one of that name.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
bad=0

# Called so wherever there is one: what a group of cmocka's tests and a case of berth bench do before and after.
ops='setup teardown'

# FILE LINE static|public NAME, read as clang-format leaves it: a head begins in the first column and ends with { or ;
functions() {
	# shellcheck disable=SC2016
	sources '*.c' | xargs awk '
		FNR == 1 || /^[^A-Za-z_ \t{]/ { begun = 0 }
		/^[A-Za-z_]/ { begun = FNR; head = "" }
		begun { head = head " " $0 }
		begun && match(head, /[;{=]/) {
			end = substr(head, RSTART, 1)
			head = substr(head, 1, RSTART - 1)
			line = begun
			begun = 0
			gsub(/__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)|\t/, " ", head)
			if (end == "=" || head !~ /^ +[A-Za-z_][A-Za-z0-9_ *]*[ *][A-Za-z_][A-Za-z0-9_]* *\([^*]/)
				next
			static = head ~ /^ +(inline +)?static /
			sub(/ *\(.*/, "", head)
			sub(/.*[ *]/, "", head)
			if (head != "_Atomic" && (static || end == "{"))
				print FILENAME, line, (static ? "static" : "public"), head
		}'
}

report() { # WHAT LINES
	if [ -n "$2" ]; then
		echo "not ok $1"
		# shellcheck disable=SC2001 # every line is indented
		sed 's/^/# /' <<<"$2"
		bad=1
	else
		echo "ok $1"
	fi
}

# Of each file a function once: it may be declared before it is defined.
found=$(functions | awk '!seen[$1, $4]++')
[ -n "$found" ] || { echo "not ok no functions are found below $SRC"; exit 1; }

awk '$3 == "static" { n++; one += $4 !~ /_/ } END { printf "note %d private functions, %d named by one word\n", n, one }' <<<"$found"
report "a private function says what it does with what" "$(awk -v ops=" $ops " '
	$3 == "static" && $4 !~ /_/ && !index(ops, " " $4 " ") {
		printf "%s:%d: %s: name it by a verb and an object (append_row, read_mountinfo), in the words of the trade\n", $1, $2, $4
	}' <<<"$found")"
report "and is the only one of its name" "$(awk -v ops=" $ops " '
	!index(ops, " " $4 " ") {
		if (($4 in where) && ($3 == "static" || kind[$4] == "static"))
			printf "%s:%d: %s: there is one in %s, too; say in the name what this one does it with\n", $1, $2, $4, where[$4]
		else {
			where[$4] = $1 ":" $2
			kind[$4] = $3
		}
	}' <<<"$found")"
exit $bad
