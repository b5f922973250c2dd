#!/bin/bash
# gate.sh [--update] - counts that do not depend on the machine's mood, against tests/bench/gate.baseline.
#
# Per round of each hot path (bench/peers/gate.c): system calls (strace), allocations, bytes moved by system
# calls, instructions (callgrind). What a run costs to start is subtracted: 12 rounds less 2. `exec` is one
# whole "berth exec AGENT -- true" over the lane of a real container, without the process that signs the
# record behind it: it needs BERTH_TEST_ENGINE (image box:1). A line of the
# baseline is PATH COUNT VALUE TOLERANCE% REASON; "at most" is what is checked, and a count that fell by more
# than its tolerance is said, so that the baseline follows. --update writes the new values and keeps the
# reasons: say in the commit why they changed. Another compiler makes other code: a count above that of the
# baseline's (its first line names it) is said and does not fail then.
set -u
base=$SRC/tests/bench/gate.baseline
program=$BUILD/bench-gate
dir=$(mktemp -d "$TMPDIR/gate.XXXXXX") || exit 1
# Names of one length and depth on every machine: berth walks and joins them.
home=$(mktemp -d /tmp/berth-gate.XXXXXX) || exit 1
agent=gate-${home##*.} up=''
trap '[ -z "$up" ] || agent_down; rm -rf "$dir" "$home"' EXIT

in_home() {
	env -i PATH="$PATH" HOME="$home" XDG_RUNTIME_DIR="$home/run" XDG_STATE_HOME="$home/state" \
		DOCKER_HOST="$BERTH_TEST_ENGINE" "$@" </dev/null
}

berth() {
	in_home "$BUILD/berth" "$@"
}

# An agent to run commands in, once. The first one makes directories and log.
agent_up() {
	[ -z "$up" ] || return 0
	mkdir -m 700 "$home/run" && mkdir "$home/ws" && chmod 755 "$home" && chown 1000:1000 "$home/ws" || return
	echo "agents: {$agent: {image: 'box:1', workspace: ./ws}}" >"$home/team.yaml"
	up=1
	berth up "$home/team.yaml" >"$dir/up" 2>&1 && berth exec "$agent" -- true && return
	sed 's/^/# /' "$dir/up"
	return 1
}

agent_down() {
	berth down "$home/team.yaml"
	in_home docker volume rm -f "berth-home-berth-$agent"
} >/dev/null

count_exec_once() {
	case $1 in
	syscalls)
		in_home strace -c -o "$dir/strace" "$BUILD/berth" exec "$agent" -- true || return
		awk '$NF == "total" {print $4}' "$dir/strace" ;;
	instructions)
		in_home valgrind --tool=callgrind --callgrind-out-file=/dev/null --child-silent-after-fork=yes \
			--log-file="$dir/valgrind" "$BUILD/berth" exec "$agent" -- true || return
		sed -n 's/.*Collected : //p' "$dir/valgrind" ;;
	esac
}

# What syncs the log after its command has ended has ended too: a log that is not at rest costs the next one more.
await_log() {
	local until=$((SECONDS + 20))
	while find /proc/[0-9]*/fd -lname "$home/*/audit/head" 2>/dev/null | grep -q .; do
		[ "$SECONDS" -lt "$until" ] || return
	done
}

# The least of several: one that waits once more than it must counts more.
count_exec() {
	for _ in 1 2 3 4 5; do
		await_log
		count_exec_once "$1" || return
	done | sort -n | head -n 1
}

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

# As in "counted with a release build by gcc 12".
counted_by=$(sed -n 's/^# .*counted with a release build by \(gcc [0-9]*\).*/\1/p' "$base")
built_by=$(sed -n 's/^set(CMAKE_C_COMPILER_ID "\(.*\)")/\1/p; s/^set(CMAKE_C_COMPILER_VERSION "\([0-9]*\).*/\1/p' \
	"$BUILD"/CMakeFiles/*/CMakeCCompiler.cmake | xargs | sed 's/^GNU/gcc/')

# The round's share of what many cost more than few.
count_round() { # PATH KIND
	local few=0 many=''
	if [ "$1" = exec ]; then
		agent_up && many=$(count_exec "$2") && many=${many:+$((many * 10))}
	else
		few=$(count "$1" 2 "$2") many=$(count "$1" 12 "$2")
	fi
	[ -n "$few" ] && [ -n "$many" ] && got=$(((many - few) / 10))
}

bad=0 new=''
while read -r path kind want tolerance reason; do
	case $path in '' | '#'*) new+="$path${path:+ }$kind $want $tolerance $reason"$'\n'; continue ;; esac
	case $kind in
	syscalls) tool=strace ;;
	instructions) tool=valgrind ;;
	*) tool=true ;;
	esac
	missing=''
	command -v $tool >/dev/null || missing=$tool
	[ "$path" != exec ] || [ -n "${BERTH_TEST_ENGINE-}" ] || missing=engine
	if [ "$missing" ]; then
		echo "skip $path $kind: there is no $missing"
		new+="$path $kind $want $tolerance $reason"$'\n'
		continue
	fi
	slack=$((want * ${tolerance%\%} / 100)) least=''
	# A second time and a third: a thread that waits once more than it must counts more.
	for _ in 1 2 3; do
		count_round "$path" "$kind" || break
		[ -n "$least" ] && [ "$least" -le "$got" ] || least=$got
		[ "$least" -gt $((want + slack)) ] || break
	done
	if [ -z "$least" ]; then
		echo "not ok $path $kind"
		echo "# it could not be counted"
		bad=1
		continue
	fi
	got=$least
	new+="$path $kind $got $tolerance $reason"$'\n'
	if [ $got -gt $((want + slack)) ] && [ "$built_by" != "$counted_by" ]; then
		echo "skip $path $kind: $got by ${built_by:-an unknown compiler}, and the baseline is $want by $counted_by"
	elif [ $got -gt $((want + slack)) ]; then
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
