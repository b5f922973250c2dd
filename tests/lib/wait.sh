# shellcheck shell=bash
# wait.sh - waits that end. Source it.
#
#   within SECONDS COMMAND...     run it in a process group of its own, which is killed when the time is over: then 124, else
#                                 its exit code. It may be a function; what it sets is gone with its process
#   wait_for SECONDS COMMAND...   until the command succeeds; 1 where it did not in time. Each attempt has half of it at most,
#                                 so that one that hangs does not take it all

within() {
	local limit=$1 status=124 monitored=$- done_fd pid
	shift
	exec {done_fd}<> <(:)
	set -m # a process group for it
	(
		trap 'echo $? >&$done_fd' EXIT
		"$@" || exit
	) </dev/null &
	pid=$!
	[[ $monitored == *m* ]] || set +m
	# What it starts in the background holds the pipe as well: a line is waited for, not the end.
	if read -rt "$limit" -u "$done_fd" status; then
		wait "$pid" 2>/dev/null || :
	else
		disown "$pid" # one that cannot be killed is not waited for
		kill -TERM -- "-$pid" 2>/dev/null
		read -rt 1 -u "$done_fd" _ || :
		kill -KILL -- "-$pid" 2>/dev/null
		status=124
	fi
	exec {done_fd}>&-
	return "$status"
}

wait_for() {
	local seconds=$1 until=$((SECONDS + $1)) left
	shift
	until left=$((until - SECONDS)) && within $((left < 1 ? 1 : left < (seconds + 1) / 2 ? left : (seconds + 1) / 2)) "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$until" ] || return 1
		read -rt 0.05 <> <(:) || :
	done
}
