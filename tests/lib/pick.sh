# pick.sh - which tests tests/run runs: labels, tests by name, those that failed last.
#
# Source it; it wants $SRC, $all (the labels), $labels (those to run) and $VARIANT.  A test is named LABEL.NAME after its file, tests/LABEL/NAME.{c,sh,py}.

failed_last=$SRC/build-test/failed
picked=() # as they were asked for: labels and names
again=()  # names that failed in this run
times=()  # "SECONDS NAME" of each

# The names of a label's tests.
list_tests() {
	local file
	for file in "$SRC/tests/$1"/*.c "$SRC/tests/$1"/*.sh "$SRC/tests/$1"/*.py; do
		case $file in
		*/term.c) continue ;; # a part of its neighbours
		*.c) [ -e "$file" ] || continue ;;
		*) [ -x "$file" ] || continue ;;
		esac
		file=${file##*/}
		echo "$1.${file%.*}"
	done | sort -u
}

list_all() {
	local label
	# shellcheck disable=SC2154 # tests/run sets it
	for label in $all; do
		list_tests "$label"
	done
}

pick() {
	local label=${1%%.*}
	if [[ " $all " != *" $label "* ]]; then
		echo "tests/run: there is no label \"$label\"; labels are: $all" >&2
		exit 2
	elif [ "$label" != "$1" ] && ! list_tests "$label" | grep -qxF "$1"; then
		echo "tests/run: there is no test \"$1\"; tests/run --list names them" >&2
		exit 2
	fi
	picked+=("$1")
	[[ " ${labels[*]} " == *" $label "* ]] || labels+=("$label")
}

pick_again() {
	local name
	[ -e "$failed_last" ] || { echo "tests/run: no run has ended here yet, so none has failed" >&2; exit 2; }
	[ -s "$failed_last" ] || { echo "nothing failed in the last run"; exit 0; }
	while read -r name; do
		pick "$name"
	done <"$failed_last"
}

# Of the labels that run in one build, asan: what another build alone can show, and what two of them should.
# ThreadSanitizer makes a program some ten times slower, so only what has many threads and ends in time;
# it loses its own count of descriptors where libuv closes them by the bare system call, under engine.paths for one.
tsan_too="engine.agents engine.clean engine.many engine.pool engine.tools terminal.console"
release_only="golden.valgrind"

# Is LABEL.NAME to run in this variant?
wanted() {
	local label=${1%%.*}
	case $VARIANT:$label in
	tsan:engine | tsan:terminal) [[ " $tsan_too " == *" $1 "* ]] || return 1 ;;
	release:golden) [[ " $release_only " == *" $1 "* ]] || return 1 ;;
	*) [[ $VARIANT = release || " $release_only " != *" $1 "* ]] || return 1 ;;
	esac
	[ ${#picked[@]} = 0 ] || [[ " ${picked[*]} " == *" $label "* || " ${picked[*]} " == *" $1 "* ]]
}

# A label's ctests that are wanted, as a pattern for ctest; empty: none.
wanted_pattern() {
	local name out=''
	while read -r name; do
		wanted "$name" && out+=${out:+|}${name#*.}
	done < <(list_tests "$1")
	[ -z "$out" ] || echo "^$1\\.($out)\$"
}

# took NAME SECONDS ok|FAIL
took() {
	times+=("$2 $1 ($VARIANT)")
	[ "$3" = ok ] || again+=("$1")
}

show_slowest() {
	[ ${#times[@]} -gt 1 ] || return
	printf '%s\n' "${times[@]}" | sort -rn | head -n 10 | awk '{ t = $1; $1 = ""; printf "slow     %s  %.1f s\n", substr($0, 2), t }'
}

remember_failed() {
	[ ! -d "$SRC/build-test" ] || printf '%s\n' "${again[@]}" | sort -u | grep . >"$failed_last"
}
