#!/bin/bash
# standard.sh - every program with descriptor 0, 1 or 2 closed: it says what it would have said, where it can, and none
# of its own files gets that number.
cd "$TMPDIR" || exit 1
bad=0
export DOCKER_HOST=unix:///nowhere/s
echo word >file

# closed NAME PATTERN-OF-OUT PATTERN-OF-ERR STATUS COMMAND...: as with all three open, but what is closed is not there.
closed() {
	local name=$1 out=$2 err=$3 status=$4 fd got why
	shift 4
	for fd in 0 1 2; do
		why=''
		: >out
		: >err
		case $fd in
		0) "$@" >out 2>err <&- ;;
		1) "$@" </dev/null 2>err >&- ;;
		2) "$@" </dev/null >out 2>&- ;;
		esac
		got=$?
		# What cannot be printed is no success.
		if [ $fd = 1 ] && [ -n "$out" ]; then
			[ $got = 1 ] && grep -qi 'bad file descriptor' err || why="exit $got, $(head -n 3 err)"
		else
			[ $got = "$status" ] || why="exit $got instead of $status"
			[ $fd = 1 ] || [ -z "$out" ] || grep -qE "$out" out || why="$why; printed $(head -n 3 out)"
			[ $fd = 2 ] || [ -z "$err" ] || grep -qE "$err" err || why="$why; said $(head -n 3 err)"
		fi
		if [ -z "$why" ]; then
			echo "ok descriptor $fd closed: $name"
		else
			echo "not ok descriptor $fd closed: $name"
			sed 's/^/# /' <<<"$why"
			bad=1
		fi
	done
}

closed berth '^berth [0-9]' '' 0 "$BERTH" --version
closed berth-core '' 'nowhere' 3 "$BERTH" ps
closed 'berth-core, printing' 'kernel' '' 1 "$BERTH" doctor
closed berth-files 'word' '' 0 "$BERTH" files search word file
closed berth-image '' 'nowhere' 3 "$BERTH" image untag x
closed berth-bench 'files_read' '' 0 "$BERTH" bench list
exit $bad
