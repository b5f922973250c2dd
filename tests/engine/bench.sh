#!/bin/bash
# bench.sh - `berth -H ... bench run` measures on the engine that it is told, and makes the small image that it lacks.
unset DOCKER_HOST BERTH_BENCH_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
url=$BERTH_TEST_ENGINE
export BERTH_TEST_ENGINE=unix:///nonexistent/docker.sock
docker="docker -H $url"
$docker tag box:1 "kept-box:$$" && $docker rmi box:1 >/dev/null || exit 1
trap '$docker image inspect box:1 >/dev/null 2>&1 || $docker tag "kept-box:$$" box:1; $docker rmi "kept-box:$$" >/dev/null 2>&1' EXIT

# shellcheck disable=SC2016 # a program for bash -c
check 'an engine that is not there' bash -c '"$0" bench run --smoke --no-history clean/remove | grep "not run: no engine answers at unix:///nonexistent/docker.sock"' "$BERTH"
check 'a read-only berth makes no image' says 4 '*' "$BERTH" -H "$url" --read-only bench run --smoke --no-history clean/remove
# shellcheck disable=SC2016 # likewise
check 'there is none' bash -c '! docker -H "$0" image inspect box:1' "$url"
check 'the engine of -H' says 0 '*1 cases measured, 0 failed*' "$BERTH" -H "$url" bench run --smoke --no-history clean/remove
# shellcheck disable=SC2086 # a command and its options
check 'has the image now' $docker image inspect box:1
exit "${bad:?}"
