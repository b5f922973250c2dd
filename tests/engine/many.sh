#!/bin/bash
# many.sh - many at once: six agents brought up by one command's threads, six tools, a clean-up beside commands in
# all of them, each of these interrupted, and all taken down.  Run under ThreadSanitizer as well, which ends a program at its first race.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/wait.sh"
agents=()
for i in 1 2 3 4 5 6; do
	agents+=("many$$$i")
done
tool=many$$t
trap 'docker rm -f $(docker ps -aqf "name=berth-tool-$tool") >/dev/null 2>&1; docker rm -f $(docker ps -aqf "name=berth-many$$") >/dev/null 2>&1; docker volume rm -f $(docker volume ls -qf "name=berth-home-berth-many$$") >/dev/null 2>&1' EXIT

mkdir docs
{
	echo 'agents:'
	for agent in "${agents[@]}"; do
		mkdir -m 0755 "ws-$agent" && chown 1000:1000 "ws-$agent"
		echo "  $agent: {image: 'box:1', workspace: $PWD/ws-$agent, memory: 64m, cpus: 1, pids: 64, context_paths: [{path: $PWD/docs}]}"
	done
	echo 'custom_tools:'
	echo "  ${tool}code: {type: docker, image: 'box:1', script: 'exit \$1'}"
	echo "  ${tool}wait: {type: docker, image: 'box:1', script: 'echo started; exec sleep 7007'}"
} >team.yaml
chmod 644 team.yaml

all_enforced() {
	"$BERTH" up --json team.yaml >up.json || { cat up.json; return 1; }
	python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/up.json" <up.json || return
	python3 - <<'PY'
import json
agents = json.load(open("up.json"))["agents"]
assert len(agents) == 6, agents
for a in agents:
    wrong = [e for e in a["enforced"] if not e["same"]]
    assert not wrong and len(a["enforced"]) >= 10, (a["id"], wrong)
PY
}

# Each in all of them at the same time.
exec_in_all() {
	local agent pid pids=() failed=0
	for agent in "${agents[@]}"; do
		"$BERTH" exec "$agent" -- sh -c 'echo here; pwd' &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return $failed
}

tools_at_once() {
	local i pids=() failed=0
	for i in 1 2 3 4 5 6; do
		"$BERTH" -c team.yaml tool run "${tool}code" -- "$i" &
		pids+=($!)
	done
	for i in 1 2 3 4 5 6; do
		wait "${pids[i - 1]}"
		[ $? = "$i" ] || failed=1
	done
	return $failed
}

# A background job ignores SIGINT unless it is given back.
berth() {
	exec env --default-signal=INT "$BERTH" "$@"
}

first_is_there() {
	[ -n "$(docker ps -aqf "name=berth-many$$")" ]
}

# COMMAND succeeds, or the process has ended.
so_or_ended() { # PROCESS COMMAND...
	"${@:2}" || ! kill -0 "$1"
}

# C-c once COMMAND succeeds: it ends in order, with a code of those named.
interrupted() { # CODES COMMAND BERTH'S WORDS...
	local codes=$1 when=$2 pid status
	shift 2
	: >interrupted.out # before COMMAND can see what the one before said
	berth "$@" >interrupted.out 2>&1 &
	pid=$!
	if ! wait_for 120 so_or_ended $pid "$when"; then
		echo "$when: not in two minutes"
		kill -9 $pid
		wait $pid 2>/dev/null
		cat interrupted.out
		return 1
	fi
	kill -INT $pid 2>/dev/null
	wait $pid
	status=$?
	cat interrupted.out
	echo "exit code $status"
	! grep -q 'ThreadSanitizer\|AddressSanitizer' interrupted.out && [[ $status =~ ^($codes)$ ]]
}

has_started() {
	grep -q started interrupted.out
}

orphans() {
	docker ps -aqf "name=berth-tool-$tool"
}

# Three that nobody owns any more.
kill_tools() {
	local i pids=()
	for i in 1 2 3; do
		"$BERTH" -c team.yaml tool run "${tool}wait" >"started$i" &
		pids+=($!)
	done
	for i in 1 2 3; do
		wait_for 120 so_or_ended "${pids[i - 1]}" test -s "started$i" || echo "tool $i does not start"
		[ -s "started$i" ] || { kill -9 "${pids[@]}"; return 1; }
	done
	kill -9 "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	[ "$(orphans | wc -l)" = 3 ]
}

first_is_gone() {
	[ "$(orphans | wc -l)" -lt 3 ]
}

# While commands run in all of the agents.
clean_beside_execs() {
	local pid failed=0 until=$((SECONDS + 180))
	(until [ -z "$(orphans)" ]; do
		[ "$SECONDS" -lt "$until" ] || { echo 'the orphans are still there'; exit 1; }
		exec_in_all || exit
	done) &
	pid=$!
	"$BERTH" clean --yes || failed=1
	[ -z "$(orphans)" ] || { kill $pid; failed=1; }
	wait $pid && [ $failed = 0 ]
}

check 'six agents come up at once, as asked' all_enforced
check 'a command in each of them at once' exec_in_all
check 'up again finds all of them up' "$BERTH" up team.yaml
check 'ps of all of them' "$BERTH" ps --json
check 'the plan of a clean-up' "$BERTH" clean --json --dry-run
check 'six tools at once, each with its own exit code' tools_at_once
check 'exec, interrupted' interrupted 143 has_started exec "${agents[0]}" -- sh -c 'echo started; exec sleep 7007'
check 'a tool, interrupted' interrupted 143 has_started -c team.yaml tool run "${tool}wait"
check 'tools are killed' kill_tools
check 'clean, interrupted' interrupted '0|1|130' first_is_gone clean --yes
check 'clean beside commands in all agents' clean_beside_execs
check 'they go down at once' "$BERTH" down team.yaml
check 'up, interrupted' interrupted '0|1|130' first_is_there up team.yaml
check 'the same again' "$BERTH" up team.yaml
check 'down after that' "$BERTH" down --all --yes
check 'nothing is left' bash -c "[ -z \"\$(docker ps -aqf name=berth-many$$)\" ]"
exit $bad
