#!/bin/bash
# left_behind.sh - what a command over the engine starts ends with it, whatever it does to its session, its parents
# and its environment; and where that cannot be promised it is said.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
box=lb$$
trap 'docker rm -f "$box" >/dev/null 2>&1' EXIT
. "$SRC/tests/lib/engine.sh"

nobody() { # PATTERN: no such process in the container any more
	docker top "$box" -o pid,args >top
	cat top
	! grep -q "$1" top
}

only() { # the container's own and nobody else
	docker top "$box" -o pid,args >top
	cat top
	[ "$(wc -l <top)" -le "$before" ]
}

docker run -d --name "$box" --network none box:1 /demo/idle.sh >/dev/null || exit 1
docker top "$box" -o pid,args >top
before=$(wc -l <top)
# A session of its own, two forks, no environment, all at once.
flee='setsid env -i /bin/sh -c "/bin/sh -c \"exec /bin/busybox sleep 4711\" & exit" & '
"$BERTH" exec --json "$box" -- sh -c "$flee exit 0" >document
check 'it fled and its main process ended' nobody 4711
check 'the document says that all of it was ended' grep -q '"tree": "whole"' document
"$BERTH" exec --json --timeout 1 "$box" -- sh -c "$flee exec sleep 4712" >document
check 'the time-out' grep -q '"ended": "timeout"' document
check 'ends it too' nobody 471
bomb='f() { f & f & }; f; sleep 4713'
"$BERTH" exec --json --timeout 2 "$box" -- sh -c "ulimit -u 2000; $flee $bomb" >document 2>/dev/null
check 'and what forks meanwhile' only
stopped() {
	docker top "$box" -o pid,stat,args >top
	grep -q ' T.* kill -STOP' top && grep -q ' sleep 4715' top
}
"$BERTH" exec "$box" -- sh -c 'sleep 4714 & setsid env -i sleep 4715 & kill -STOP $$' &
pid=$!
wait_for 60 stopped || echo "not ok it runs"
kill -TERM $pid
wait $pid
check 'what stops itself ends with a signal to berth' only
# Others in the container are left alone.
docker exec -d "$box" sleep 4799
"$BERTH" exec "$box" -- sh -c "$flee exit 0"
check 'what others started lives' bash -c 'docker top "$0" | grep -q 4799' "$box"
groups_left() {
	[ -z "$(find /sys/fs/cgroup -path "*$(docker inspect -f '{{.Id}}' "$box")*" -type d -name 'berth-*')" ]
}
check 'no cgroup is left' groups_left

# What the gate must not change.
docker exec "$box" env | sort >one
"$BERTH" exec "$box" -- env | grep -v '^BERTH_RUN=' | sort >two
check 'the environment is as ever' diff one two
codes() {
	local code argv=("$@")
	"$BERTH" exec "$box" -- "${argv[@]:1}" >said 2>&1
	code=$?
	cat said
	[ $code = "$1" ]
}
check 'its own exit code' codes 7 sh -c 'exit 7'
check 'what is not there is 127' codes 127 /no/such/program
check 'nor by name' codes 127 nosuchprogram
check 'what cannot be executed is 126' codes 126 /etc/passwd
check 'words stay words' bash -c '[ "$("$0" exec "$1" -- printf "%s|" "a b" "" "\$x" "-n")" = "a b||\$x|-n|" ]' "$BERTH" "$box"
check 'input comes through' bash -c '[ "$(echo in | "$0" exec "$1" -- cat)" = in ]' "$BERTH" "$box"

# No shell, no gate: said to be a best effort.
docker exec "$box" rm /bin/sh
"$BERTH" exec --json "$box" -- /bin/busybox true >document
check 'without a shell in there it is a best effort' grep -q '"tree": "best effort"' document
check 'and runs' grep -q '"exit_code": 0' document
far=$(engine_tcp "$BERTH_TEST_ENGINE_DIR") || exit 1
leaves() { # PATTERN OPTIONS...: on a busy machine the time may be over before anything was asked to start, which leaves nothing
	local seconds
	for seconds in 1 4 16; do
		"$BERTH" -H "$far" exec "${@:2}" --timeout $seconds "$box" -- /bin/busybox sleep 4798 >far 2>&1
		! grep -q "$1" far || return 0
	done
	cat far
	return 1
}
check 'one that nobody can end is left' leaves '"tree": "left"' --json
check 'and that is said' leaves 'could be ended; some may still run'
exit $bad
