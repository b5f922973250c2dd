#!/bin/bash
# freeze.sh - containers stand still while their workspace is read or written, and never longer: commands go on
# afterwards, who dies in the middle leaves nothing frozen, what was left is found, told and let go.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
agent=freeze$$
mkdir -m 700 data state
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
chmod 755 .
trap '"$BERTH" down --all --yes >/dev/null 2>&1; docker rm -f berth-$agent >/dev/null 2>&1; docker volume rm -f berth-home-berth-$agent >/dev/null 2>&1' EXIT
tree=$("$BERTH" workspace create task fix)
chown -R 1000:1000 "$tree"
printf 'agents: {%s: {image: "box:1", workspace: "%s", memory: 64m, cpus: 1, pids: 64}}\n' "$agent" "$tree" >team.yaml
chmod 644 team.yaml

init() { docker inspect -f '{{.State.Pid}}' "berth-$agent"; }
# freezer WORD: by hand what a berth does that then dies; prints nothing.
freezer() {
	local group
	group=$(sed -n 's/^[0-9]*:freezer://p' "/proc/$(init)/cgroup")
	if [ -n "$group" ]; then
		echo "$1" >"/sys/fs/cgroup/freezer$group/freezer.state"
	else
		group=$(sed -n 's/^0:://p' "/proc/$(init)/cgroup")
		[ "$1" = FROZEN ] && echo 1 >"/sys/fs/cgroup$group/cgroup.freeze" || echo 0 >"/sys/fs/cgroup$group/cgroup.freeze"
	fi
}
stands() {
	local group
	group=$(sed -n 's/^[0-9]*:freezer://p' "/proc/$(init)/cgroup")
	if [ -n "$group" ]; then
		grep -q FROZEN "/sys/fs/cgroup/freezer$group/freezer.state"
	else
		grep -q 'frozen 1' "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$(init)/cgroup")/cgroup.events"
	fi
}
runs() { ! stands; }
note() { echo "$XDG_RUNTIME_DIR/berth/frozen/$(docker inspect -f '{{.Id}}' "berth-$agent")"; }

check 'up' says 0 '*' "$BERTH" up team.yaml
check 'a checkpoint says who stood still' says 0 "*berth-$agent was frozen for*ms.*" "$BERTH" workspace checkpoint fix a
check 'and as JSON' fits checkpoint "$BERTH" workspace checkpoint fix b --json
check 'nobody does any more' runs
check 'nor is it noted' test ! -e "$(note)"

"$BERTH" exec "$agent" -- sh -c 'echo mine >files/mine; setsid sleep 7007 & sleep 7007' >exec.out 2>&1 &
job=$!
wait_for 60 test -e "$tree/files/mine" || echo 'not ok the command did not begin'
check 'restore is refused while commands run' says 1 "*run in berth-$agent*--stop*" "$BERTH" workspace restore fix a
check 'they run on' kill -0 $job
check 'a fork, too, is of one moment' says 0 '*tasks/fix-1' "$BERTH" workspace fork fix 1
check 'with --stop they end' fits restore "$BERTH" workspace restore --stop fix a --json
wait $job
check 'and who waited is told' test $? = 137
check 'it is as it was' test ! -e "$tree/files/mine"
check 'commands run again' says 0 here "$BERTH" exec "$agent" -- echo here
exec 8>"$tree/files/open"
check 'who has a file open is named' says 1 "*process * has $tree/files/open open for writing*" "$BERTH" workspace restore --stop fix a
exec 8>&-
check 'closed, it is restored' says 0 '*is as in a*' "$BERTH" workspace restore fix a

# Two at once take turns, and neither lets go what the other reads.
for i in 1 2 3 4 5 6; do "$BERTH" workspace checkpoint fix "at-once-$i" >"out.$i" 2>&1 & done
wait
check 'six at once' test "$(cat out.* | grep -c 'was frozen for')" = 6
check 'no file of them moved' test "$(cat out.* | grep -c 'changed while')" = 0
check 'nobody stands still after them' runs

# Killed while it reads: enough to read that it lasts.
head -c 300000000 /dev/urandom >"$tree/files/large" && chown 1000:1000 "$tree/files/large"
held=$(note)
for i in 1 2 3; do
	"$BERTH" workspace checkpoint fix "killed-$i" >/dev/null 2>&1 &
	job=$!
	# By this shell alone: a process that looks may come too late.
	until [ -e "$held" ] || ! kill -0 $job; do :; done 2>/dev/null
	check "it froze and has not ended ($i)" kill -9 $job
	wait $job 2>/dev/null
	check "killed in the middle, it is thawed ($i)" wait_for 60 runs
	check "and the note is gone ($i)" wait_for 60 test ! -e "$held"
done
rm "$tree/files/large"
check 'another one goes on where that was' says 0 '*was frozen*' "$BERTH" workspace checkpoint fix after

# Killed together with its guard, as by a cgroup's kill.
freezer FROZEN
printf '%s 1 %s 1 0 %s\na checkpoint is made of its workspace\n' 999999 "$(init)" 1700000000000 >"$(note)"
check 'what was left frozen is told' says 125 '*is frozen*berth workspace thaw*' "$BERTH" exec --timeout 5 "$agent" -- true
check 'and let go' says 0 '*1 container runs again*' "$BERTH" workspace thaw fix
check 'it runs' says 0 here "$BERTH" exec "$agent" -- echo here
freezer FROZEN
printf '%s 1 %s 1 0 %s\na checkpoint is made of its workspace\n' 999999 "$(init)" 1700000000000 >"$(note)"
check 'a checkpoint takes it over' says 0 '*was frozen*' "$BERTH" workspace checkpoint fix over
check 'and lets it go' runs

# Who may not write the freezer, or cannot, has the engine pause it.
if unshare -m true; then
	locked() { unshare -m sh -c 'for d in /sys/fs/cgroup /sys/fs/cgroup/freezer; do mount -o bind,ro "$d" "$d" 2>/dev/null || mount -o remount,ro,bind "$d"; done; exec "$@"' sh "$@"; }
	check 'without the freezer the engine pauses it' says 0 '*was frozen*' locked "$BERTH" workspace checkpoint fix engine
	check 'and lets it go' runs
	check 'the engine was asked' says 0 "*container.pause*berth-$agent*" "$BERTH" audit list
fi

# What a person paused is theirs.
docker pause "berth-$agent" >/dev/null
check 'of a paused one a checkpoint is made' says 0 '*paused *files*' "$BERTH" workspace checkpoint fix paused
check 'it stays paused' stands
check 'thaw leaves it alone' says 0 '*no container*' "$BERTH" workspace thaw fix
check 'it still is' stands
check 'unpaused by berth' says 0 "*berth-$agent*" "$BERTH" unpause "berth-$agent"
check 'it runs on' says 0 here "$BERTH" exec "$agent" -- echo here

freezer FROZEN
printf '%s 1 %s 1 0 %s\na checkpoint is made of its workspace\n' 999999 "$(init)" 1700000000000 >"$(note)"
left=$(note)
check 'a frozen one is taken down' says 0 '*down*' timeout 60 "$BERTH" down team.yaml
check 'its note is gone' test ! -e "$left"
check 'the log has it all' says 0 '*' "$BERTH" audit verify
exit $bad
