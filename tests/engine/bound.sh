#!/bin/bash
# bound.sh - an agent in a workspace by its name: made by `up --create`, at the same path inside, held until `down`.
# shellcheck disable=SC2317 # functions called by name
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/wait.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
tree=$PWD/data/berth/workspaces agent=bound$$
trap '"$BERTH" down --all --yes >/dev/null 2>&1' EXIT

team() {
	cat >"$1" <<YAML
agents:
  $2: {image: "box:1", workspace: task:fix, memory: 64m, pids: 64}
YAML
	chmod 644 "$1"
}
held_by() {
	"$BERTH" workspace show --json fix | python3 -c 'import json, sys; print(*[h["container"] for h in json.load(sys.stdin)["held_by"]])'
}

team team.yaml "$agent"
team other.yaml "${agent}o"
check 'one that is not there' says 2 '*task fix of the agent*does not exist*berth workspace create task fix*' "$BERTH" up team.yaml
"$BERTH" workspace create project site >made && echo one >"$tree/projects/site/docs/t"
"$BERTH" workspace share --as v1 site docs --into templates >made
check 'it is made' says 0 "*up*created: $tree/tasks/fix*" "$BERTH" up --create team.yaml
check 'as a whole' test -f "$tree/tasks/fix/context.json"
check 'its files are those of who runs inside, at the same path' says 0 "$tree/tasks/fix"$'\n1000' \
	"$BERTH" exec "$agent" -- sh -c 'pwd; stat -c %u prompt.md; echo done >output'
check 'no other task is seen there' says 0 'fix' "$BERTH" exec "$agent" -- ls "$tree/tasks"
check 'what it wrote' grep -qx 'done' "$tree/tasks/fix/output"
check 'it is held' test "$(held_by)" = "berth-$agent"
check 'which list shows' says 0 "*fix*berth-$agent (agent $agent)*" "$BERTH" workspace list
check 'and show' says 0 "*in use by*berth-$agent (agent $agent)*" "$BERTH" workspace show fix
check 'and usage counts it' says 0 '*1 in use' "$BERTH" workspace usage
check 'another agent does not get it' says 1 "*the task fix is in use by the container berth-$agent of the agent $agent*" \
	"$BERTH" up other.yaml
check 'nor is anything left of that one' says 1 '*' docker inspect "berth-${agent}o"
check 'up again changes nothing' says 0 '*unchanged*' "$BERTH" up team.yaml
check 'its version of what all share' says 0 'one' "$BERTH" exec "$agent" -- cat "$tree/shared/templates/docs/t"
check 'is read-only' says 0 '*' "$BERTH" exec "$agent" -- grep -q " $tree/shared/templates [a-z0-9]* ro," /proc/mounts
echo two >"$tree/projects/site/docs/t"
"$BERTH" workspace share --as v2 site docs --into templates >made
check 'and stays what it was' says 0 '*unchanged*' "$BERTH" up team.yaml
check 'also for who looks now' says 0 'one' "$BERTH" exec "$agent" -- cat "$tree/shared/templates/docs/t"
box=$tree/shared/inter_task/fix/maker
"$BERTH" workspace create task maker >made && echo result >"$tree/tasks/maker/files/r"
check 'what another task hands over' says 0 '*1 handed over*' "$BERTH" workspace hand-over maker fix files
check 'is there while it runs' says 0 result "$BERTH" exec "$agent" -- cat "$box/files/r"
check 'to be read only' says 1 '*create*' "$BERTH" exec "$agent" -- sh -c "echo x >>'$box/files/r'"
check 'nor could root' says 0 '*' "$BERTH" exec "$agent" -- grep -q " $tree/shared/inter_task/fix [a-z0-9]* ro," /proc/mounts
check 'and is as it was' grep -qx result "$box/files/r"
check 'config check tells it' says 0 "*$tree/shared/inter_task/fix*handed over by other tasks*" "$BERTH" config check team.yaml
check 'down' says 0 '*down*' "$BERTH" down team.yaml
check 'lets go of it' test -z "$(held_by)"
check 'then another one has it' says 0 '*up*' "$BERTH" up other.yaml
check 'held by that one' test "$(held_by)" = "berth-${agent}o"
docker rm -f "berth-${agent}o" >/dev/null
check 'it is held though somebody removed the container' test "$(held_by)" = "berth-${agent}o"
check 'until it is down' says 0 '*was not up*' "$BERTH" down other.yaml
check 'then no longer' test -z "$(held_by)"
# One at a time: the second waits in line, and comes up when the first is down; one that is ended leaves the line.
echo 'workspaces: {active: 1}' >one.set
sed 's/task:fix/task:next/' other.yaml >next.yaml
sed "s/task:fix/task:last/; s/${agent}o/${agent}l/" other.yaml >last.yaml
check 'the first of the line' says 0 '*up*' "$BERTH" --settings one.set up team.yaml
"$BERTH" --settings one.set up --create next.yaml >next.out 2>next.err &
next=$!
wait_for 60 grep -q 'waiting: 1 of 1 tasks are active (workspaces.active), 0 before this one' next.err
"$BERTH" --settings one.set up --create last.yaml >last.out 2>last.err &
last=$!
wait_for 60 grep -q 'waiting: 1 of 1 .* 1 before this one' last.err
check 'what waits has no container' fails docker inspect "berth-${agent}o"
check 'others are not kept by it' says 0 '*' "$BERTH" clean --dry-run
kill -INT $last
wait $last
check 'one that is ended is told' test $? = 1
check 'why' grep -q 'cancelled while 1 of 1 tasks were active' last.err
check 'the first goes down' says 0 '*down*' "$BERTH" down team.yaml
wait $next
check 'the second is up' test $? = 0
check 'and has its workspace' says 0 "$tree/tasks/next" "$BERTH" exec "${agent}o" -- pwd
"$BERTH" down next.yaml >/dev/null
# All tasks together: the next one waits until there is room.
echo 'workspaces: {total_bytes: 1m, active: 0}' >total.set
"$BERTH" workspace create task large >/dev/null && head -c 2000000 /dev/zero >"$tree/tasks/large/files/zeroes"
"$BERTH" workspace mark large failed >/dev/null
"$BERTH" --settings total.set up team.yaml >full.out 2>full.err &
first=$!
wait_for 60 grep -q 'waiting: all tasks together hold .* more than 1.0M (workspaces.total_bytes), 0 before this one; the largest: tasks/large (.*, failed)' full.err
check 'it waits' kill -0 $first
check 'without a container' fails docker inspect "berth-$agent"
check 'room is made' says 0 '*removed*' "$BERTH" workspace clean large
wait $first
check 'then it is up' test $? = 0
"$BERTH" down team.yaml >/dev/null
# One that is archived is not made a second time, empty.
sed 's/task:fix/task:stored/' team.yaml >stored.yaml
"$BERTH" workspace create task stored >/dev/null && echo kept >"$tree/tasks/stored/files/r"
"$BERTH" workspace archive stored >/dev/null
for create in '' --create; do
	# shellcheck disable=SC2086 # none or one word
	check "an archived one is named: up $create" says 1 '*the task stored * is archived; *workspace unarchive tasks/stored*' \
		"$BERTH" up $create stored.yaml
	check 'and nothing is in its place' test ! -e "$tree/tasks/stored"
done
if [ "$(id -u)" = 0 ]; then
	"$BERTH" workspace create task mine >/dev/null
	sed 's/task:fix/task:mine/' team.yaml >mine.yaml
	check "root's own task is not given away silently" says 4 '*belongs to root*chown -R 1000:1000*' "$BERTH" up mine.yaml
fi
exit "$bad"
