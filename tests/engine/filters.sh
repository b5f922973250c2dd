#!/bin/bash
# filters.sh - ps --filter beside docker's on one engine: the same filter lists the same containers.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
n=flt$$
trap 'docker rm -f $n $n-2 a$n $n-made $n-end $n-sick >/dev/null 2>&1' EXIT

run=(docker run -d --network none)
{
	"${run[@]}" --name "$n" --label "$n=one" --label team=red box:1 sleep 600 && "${run[@]}" --name "$n-2" box:1 sleep 600 &&
		"${run[@]}" --name "a$n" --health-cmd true --health-interval 1s box:1 sleep 600 &&
		"${run[@]}" --name "$n-sick" --health-cmd false --health-interval 1s --health-retries 1 box:1 sleep 600 &&
		docker create --name "$n-made" --network none box:1 true && docker run --name "$n-end" --network none box:1 true &&
		docker pause "$n-2"
} >/dev/null || exit 1
. "$SRC/tests/lib/engine.sh"
healths() {
	[ "$(docker inspect -f '{{.State.Health.Status}}' "a$n" "$n-sick" | tr '\n' ' ')" = 'healthy unhealthy ' ]
}
check 'they are as healthy as they are meant to be' wait_for 60 healths

same() { # FILTER...: ids, in any order
	local words=() f
	for f; do words+=(--filter "$f"); done
	diff <(docker ps -q "${words[@]}" | sort) <("$BERTH" ps -q "${words[@]}" | sort)
}
id=$(docker inspect -f '{{.Id}}' "$n-end")
for filter in "name=$n" "name=^$n\$" "name=^/$n\$" "name=$n-?[0-9]" "name=$n\$" "name=nobody" \
	"label=$n" "label=$n=one" "label=$n=two" label=team=red \
	"id=${id:0:12}" "id=$(docker ps -q --filter "name=^$n\$")" status={created,running,paused,exited} health={healthy,none}; do
	check "$filter" same "$filter"
done
check 'two values of one key' same "name=^$n\$" "name=$n-2" status=paused status=running
check 'an exit code' diff <(docker ps -aq --filter exited=0 | sort) <("$BERTH" ps -q --filter exited=0 | sort)
check 'two labels' same "label=$n" label=team=red
check 'two values of one label' same "label=$n=one" "label=$n=two"
check 'two keys' same "name=$n" health=healthy
for filter in status=Running health=sick nothing=x; do
	check "both refuse $filter" bash -c '! docker ps -q --filter "$1" 2>/dev/null && ! "$BERTH" ps -q --filter "$1" 2>/dev/null' - "$filter"
done
exit $bad
