#!/bin/bash
# beside_docker.sh - top, stats, inspect and events beside docker's on one engine: containers in each state.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
n=bd$$
trap 'kill $follower 2>/dev/null; docker rm -f $n-two $n-paused $n-ended $n-made $n-mark >/dev/null 2>&1' EXIT
since=$(date +%s)
{
	docker run -d --name $n-two --network none box:1 sh -c 'sleep 600 & sleep 601' && docker run -d --name $n-paused --network none box:1 sleep 600 &&
		docker pause $n-paused && docker run --name $n-ended --network none box:1 true && docker create --name $n-made --network none box:1 true
} >/dev/null || exit 1

pids_top() {
	diff <(docker top "$1" -eo pid | sed 1d | tr -d ' ' | sort) <("$BERTH" top "$1" | sed 1d | awk '{ print $1 }' | sort)
}
both_processes() {
	[ "$(docker top "$n-two" -eo pid | wc -l)" = 3 ]
}
check 'both processes run' wait_for 60 both_processes
check 'top: two processes' pids_top "$n-two"
check 'top: paused' pids_top "$n-paused"
for name in $n-ended $n-made $n-nobody; do
	check "top: both refuse ${name#"$n-}"}" bash -c '! docker top "$1" 2>/dev/null && ! "$BERTH" top "$1" 2>/dev/null' - "$name"
done

for name in $n-two $n-paused $n-ended $n-made; do
	check "inspect: ${name#"$n-"}" diff <(docker inspect "$name") <("$BERTH" inspect "$name")
done
check 'inspect: by the beginning of an id' diff <(docker inspect "$n-two") <("$BERTH" inspect "$(docker inspect -f '{{.Id}}' "$n-two" | cut -c 1-12)")
check 'inspect: both refuse what is not there' bash -c '! docker inspect "$1" >/dev/null 2>&1 && ! "$BERTH" inspect "$1" 2>/dev/null' - $n-nobody

counts() {
	diff <(docker stats --no-stream --format '{{.Name}} {{.PIDs}}' "$@" | sort) <("$BERTH" stats --no-stream --format '{{.Name}} {{.PIDs}}' "$@" | sort)
}
# A figure that has not come within three seconds is not shown.
check 'stats: processes' eval 'wait_for 60 counts $n-two $n-paused || counts $n-two $n-paused'

# Of the same time the same events, in the same order; the last is a mark that both have come to.
docker create --name $n-mark --network none box:1 true >/dev/null
docker rm $n-mark >/dev/null
docker events --since "$since" --until "$(($(date +%s) + 1))" --filter type=container --format '{{.Action}} {{.Actor.Attributes.name}}' |
	grep " $n-" >docker.events
"$BERTH" events --since "$since" --filter type=container --json >berth.json &
follower=$!
marked() {
	grep -q "destroy.*$n-mark" berth.json
}
check 'events: both come to the end' wait_for 60 marked
kill $follower
python3 -c '
import json, sys
for line in open("berth.json"):
    e = json.loads(line)
    print(e["action"], e["name"])' | grep " $n-" >berth.events
check 'events: the same in the same order' diff docker.events berth.events
check 'events: there are some' grep -q "die $n-ended" berth.events
exit $bad
