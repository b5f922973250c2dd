#!/bin/bash
# health.sh - the health check that berth gives its containers: what the engine runs once an hour, run here at will.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
agent=health$$ container=berth-health$$
trap 'docker rm -f $container >/dev/null 2>&1; docker volume rm -f berth-home-$container >/dev/null 2>&1' EXIT
mkdir -p ws "docs/with blank" && chmod 755 ws && chown 1000:1000 ws
echo "agents: {$agent: {image: 'box:1', workspace: $PWD/ws, memory: 64m, cpus: 1, pids: 64, context_paths: [{path: '$PWD/docs/with blank'}]}}" >team.yaml

probe() { # STATUS PATTERN [WORD REPLACEMENT]: the engine's words, one of them changed
	local status=$1 pattern=$2 text got i words=()
	mapfile -t words < <(docker inspect -f '{{range .Config.Healthcheck.Test}}{{println .}}{{end}}' $container | sed '1d;/^$/d')
	for i in "${!words[@]}"; do
		[ $# != 4 ] || [ "${words[i]}" != "$3" ] || words[i]=$4
	done
	text=$(docker exec $container "${words[@]}" 2>&1)
	got=$?
	echo "exit $got: $text"
	# shellcheck disable=SC2053 # a pattern
	[ $got = "$status" ] && [[ $text == $pattern ]]
}
config() {
	[ "$(docker inspect -f '{{index .Config.Healthcheck.Test 0}} {{index .Config.Healthcheck.Test 1}} {{index .Config.Healthcheck.Test 2}} {{.Config.Healthcheck.Interval}} {{.State.Health.Status}}' "$container")" = "CMD /.berth/init health 1h0m0s starting" ]
}
init() {
	docker inspect -f '{{.State.Pid}}' $container
}
waits() { # without a lane; stopped
	[ "$(cat /proc/"$(init)"/comm)" = "$1" ]
}
not_the_users() {
	"$BERTH" ps --json | python3 -c "import json, sys
c = next(c for c in json.load(sys.stdin)['containers'] if c['name'] == '$container')
assert c['health'] is None and c['own_health'] == 'starting', c"
}
cost() { # each an engine exec; told, not judged
	local begin=${EPOCHREALTIME/./} i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		probe 0 'healthy: *' >/dev/null || return
	done
	echo "# a probe by docker exec, with docker's own start and an inspect: $(((${EPOCHREALTIME/./} - begin) / 10000)) ms"
}

check 'up' "$BERTH" up team.yaml
check 'the engine is told of the check' config
check 'it is not shown as a check of the user' not_the_users
check 'healthy' probe 0 'healthy: the init with its lane, * mounts, limits as asked'
check 'another limit of memory is told' probe 1 'unhealthy: the limit of memory is not 1048576' 67108864 1048576
check 'another limit of processes' probe 1 'unhealthy: the limit of processes is not 65' 64 65
check 'another limit of files' probe 1 'unhealthy: the limit of open files is not 7' 1024 7
check 'what is not mounted' probe 1 'unhealthy: not mounted as asked: /elsewhere' "$PWD/ws" /elsewhere
check 'what is writable and should not be' probe 1 'unhealthy: not mounted as asked: /tmp' rw ro
cost
# What a monitor sees of it.  The disk of this machine is not this test's.
monitor() { # CODE PATTERN
	local got
	"$BERTH" check --warning 'disk>100%' --critical 'disk>100%' >line
	got=$?
	cat line
	# shellcheck disable=SC2053 # a pattern
	[ $got = "$1" ] && [[ $(cat line) == $2 ]]
}
check 'a monitor sees that it is as declared' monitor 0 'BERTH OK - 1 of 1 agents up, disk *audit log intact | * drift=0;0;*'
"$BERTH" limit --pids 60 $container >/dev/null
check 'and that it is not' monitor 1 "BERTH WARNING - 1 not as declared ($agent: 1);*"
docker kill $container >/dev/null
check 'and that it was killed' monitor 2 "BERTH CRITICAL - 1 down ($agent: stopped, exit 137);*"
docker rm -f $container >/dev/null
check 'and that it is gone' monitor 2 "BERTH CRITICAL - 1 down ($agent: its container is gone);*"
check 'up after that' "$BERTH" up team.yaml
docker pause $container >/dev/null && docker unpause $container >/dev/null
check 'docker calls it unhealthy after a pause' [ "$(docker inspect -f '{{.State.Health.Status}}' $container)" = unhealthy ]
check 'which it is not' not_the_users
kill -STOP "$(init)"
check 'an init that does not respond' probe 1 'unhealthy: the init does not respond'
kill -CONT "$(init)"
check 'and does again' probe 0 'healthy: *'
docker restart -t 1 $container >/dev/null
check 'started by another it has no lane' waits berth-no-lane
check 'which is unhealthy' probe 1 'unhealthy: process 1 is not the init with its lane*'
check 'up offers it again' "$BERTH" up team.yaml
check 'healthy again' probe 0 'healthy: *'
check 'down' "$BERTH" down team.yaml
exit $bad
