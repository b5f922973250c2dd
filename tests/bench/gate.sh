#!/bin/bash
# gate.sh [--update] - counts that do not depend on the machine's mood, against tests/bench/gate.baseline.
#
# Per round of each hot path (bench/peers/gate.c): system calls (strace), allocations, bytes moved by system
# calls, instructions (callgrind). What a run costs to start is subtracted: 12 rounds less 2. A line of the
# baseline is PATH COUNT VALUE TOLERANCE% REASON; "at most" is what is checked, and a count that fell by more
# than its tolerance is said, so that the baseline follows. --update writes the new values and keeps the
# reasons: say in the commit why they changed.
set -u
base=$SRC/tests/bench/gate.baseline
program=$BUILD/bench-gate
dir=$(mktemp -d "$TMPDIR/gate.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT

# count PATH ROUNDS KIND: prints the count of all rounds together with the start.
count() {
	local path=$1 rounds=$2 kind=$3
	rm -rf "$dir/work" && mkdir -m 700 "$dir/work"
	case $kind in
	syscalls)
		strace -f -c -o "$dir/strace" "$program" "$path" "$rounds" "$dir/work" >/dev/null || return
		awk '$NF == "total" {print $4}' "$dir/strace" ;;
	instructions)
		valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$path" "$rounds" "$dir/work" \
			2>"$dir/valgrind" >/dev/null || return
		sed -n 's/.*Collected : //p' "$dir/valgrind" ;;
	*)
		"$program" "$path" "$rounds" "$dir/work" | awk -v k="$kind" '{for (i = 1; i < NF; i++) if ($i == k) print $(i + 1)}' ;;
	esac
}

bad=0 new=''
while read -r path kind want tolerance reason; do
	case $path in '' | '#'*) new+="$path${path:+ }$kind $want $tolerance $reason"$'\n'; continue ;; esac
	case $kind in
	syscalls) tool=strace ;;
	instructions) tool=valgrind ;;
	*) tool=true ;;
	esac
	command -v $tool >/dev/null || { echo "skip $path $kind: there is no $tool"; continue; }
	few=$(count "$path" 2 "$kind") many=$(count "$path" 12 "$kind")
	if [ -z "$few" ] || [ -z "$many" ]; then
		echo "not ok $path $kind"
		echo "# it could not be counted"
		bad=1
		continue
	fi
	got=$(((many - few) / 10)) slack=$((want * ${tolerance%\%} / 100))
	new+="$path $kind $got $tolerance $reason"$'\n'
	if [ $got -gt $((want + slack)) ]; then
		echo "not ok $path $kind"
		echo "# $got a round, the baseline is $want (+$tolerance): $reason"
		bad=1
	elif [ $got -lt $((want - slack)) ]; then
		echo "ok $path $kind: $got, less than the baseline's $want: tests/bench/gate.sh --update"
	else
		echo "ok $path $kind: $got"
	fi
done <"$base"
if [ "${1-}" = --update ]; then
	printf '%s' "$new" >"$base"
	exit 0
fi
exit $bad
