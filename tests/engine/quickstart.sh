#!/bin/bash
# quickstart.sh - the README's first command, on a copy of this tree: what it starts, again, and gone.
export DOCKER_HOST=$BERTH_TEST_ENGINE
. "$SRC/tests/lib/check.sh"
of=quickstart
folder=$HOME/.local/share/berth-demo
mkdir "$TMPDIR/tree" && cd "$TMPDIR/tree" || exit 1
tar -C "$SRC" --exclude='./build*' --exclude=./.git -c . | tar -x || exit 1
trap 'configs/quickstart --stop >/dev/null 2>&1' EXIT
if command -v ccache >/dev/null; then
	# What the release build has compiled: by the same name of the compiler, in a directory of another name.
	export CC=gcc CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD
fi

# soon COMMAND...: within a minute or so.
soon() {
	local _
	for _ in {1..300}; do
		"$@" && return
		sleep 0.2
	done
	return 1
}

names() {
	docker ps --format '{{.ID}} {{.Names}}' | grep -E ' berth-(primes|resting|demo-.*)$' | sort
}

computing() {
	[ "$(build/berth exec primes -- pidof primes.sh | wc -w)" = 1 ]
}

printed() {
	build/berth ps --json | /usr/bin/python3 -c '
import json, sys
rows = {c["name"]: c for c in json.load(sys.stdin)["containers"]}
assert rows["berth-primes"]["agent"] == "primes", rows["berth-primes"]
assert rows["berth-demo-chatter"]["agent"] in ("", None), rows["berth-demo-chatter"]'
}

gone() {
	[ -z "$(names)" ] && [ ! -e "$folder" ] && ! docker image inspect berth-demo:1 &&
		! docker volume ls -q | grep berth-home-berth-primes && ! docker network inspect berth-demo
}

check "it builds and starts the demo" configs/quickstart
before=$(names)
check "two agents and four other containers run" [ "$(wc -l <<<"$before")" = 6 ]
check "one agent computes" soon computing
check "one container writes logs" soon bash -c 'docker logs berth-demo-chatter 2>&1 | grep -q "step done"'
check "berth ps shows them" printed
check "a second run" configs/quickstart
check "changes nothing" [ "$before" = "$(names)" ]
check "and starts no second program" computing
check "--stop" configs/quickstart --stop
check "leaves nothing" gone
check "and again, when all is gone" configs/quickstart --stop
exit $bad
