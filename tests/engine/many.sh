#!/bin/bash
# many.sh - many at once: six agents brought up by one command's threads, used at the same time, interrupted,
# cleaned up and taken down.  Run under ThreadSanitizer as well, which ends a program at its first race.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
agents=()
for i in 1 2 3 4 5 6; do
	agents+=("many$$$i")
done
trap 'docker rm -f $(docker ps -aqf "name=berth-many$$") >/dev/null 2>&1; docker volume rm -f $(docker volume ls -qf "name=berth-home-berth-many$$") >/dev/null 2>&1' EXIT

mkdir docs
{
	echo 'agents:'
	for agent in "${agents[@]}"; do
		mkdir -m 0755 "ws-$agent" && chown 1000:1000 "ws-$agent"
		echo "  $agent: {image: 'box:1', workspace: $PWD/ws-$agent, memory: 64m, cpus: 1, pids: 64, context_paths: [{path: $PWD/docs}]}"
	done
} >team.yaml

all_enforced() {
	"$BERTH" up --json team.yaml >up.json || { cat up.json; return 1; }
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

# C-c as soon as the first of them is there: it ends in order, with what a C-c ends with or done.
interrupted() {
	local pid status
	"$BERTH" "$@" >interrupted.out 2>&1 &
	pid=$!
	until [ -n "$(docker ps -aqf "name=berth-many$$")" ] || ! kill -0 $pid 2>/dev/null; do
		read -rt 0.02 <> <(:)
	done
	kill -INT $pid 2>/dev/null
	wait $pid
	status=$?
	cat interrupted.out
	! grep -q 'ThreadSanitizer\|AddressSanitizer' interrupted.out && [[ $status =~ ^(0|1|130)$ ]]
}

check 'six agents come up at once, as asked' all_enforced
check 'a command in each of them at once' exec_in_all
check 'up again finds all of them up' "$BERTH" up team.yaml
check 'ps of all of them' "$BERTH" ps --json
check 'the plan of a clean-up' "$BERTH" clean --json --dry-run
check 'they go down at once' "$BERTH" down team.yaml
check 'up, interrupted' interrupted up team.yaml
check 'the same again' "$BERTH" up team.yaml
check 'clean, interrupted' interrupted clean --yes
check 'down after that' "$BERTH" down --all
check 'nothing is left' bash -c "[ -z \"\$(docker ps -aqf name=berth-many$$)\" ]"
exit $bad
