#!/bin/bash
# audit_acts.sh - an engine's containers while the log's disk is full: nothing begins, what ends something or frees
# space goes on by the reserve, and the console says so.
# shellcheck disable=SC2015,SC2181,SC2317 # the trap calls clean
[ "$(id -u)" = 0 ] || { echo "mounting takes root"; exit 77; }
[ -n "${BERTH_TEST_ENGINE-}" ] || { echo "there is no engine"; exit 77; }
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@"
. "$SRC/tests/lib/engine.sh"
bad=0
agent=ad$$ stopped=ads$$ removed=adr$$
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" && chmod 755 . || exit 1
clean() {
	docker rm -f "berth-$agent" "berth-late$agent" "$stopped" "$removed" >/dev/null 2>&1
	docker volume rm -f "berth-home-berth-$agent" >/dev/null 2>&1
	umount -l "$TMPDIR/state" 2>/dev/null
}
trap clean EXIT
result() {
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		sed 's/^/# /' out err 2>/dev/null | head -40
		bad=1
	fi
}
mkdir -p state config/berth ws ws2
chown 1000:1000 ws ws2
mount -t tmpfs -o mode=700,size=6m none state || { echo "tmpfs cannot be mounted here"; exit 77; }
export XDG_STATE_HOME=$PWD/state XDG_CONFIG_HOME=$PWD/config
cat >team.yaml <<YAML
agents:
  $agent: {image: "box:1", workspace: ./ws, memory: 64m}
custom_tools:
  wait: {type: docker, image: "box:1", script: 'echo started; exec sleep 7003'}
  mark: {type: docker, image: "box:1", script: 'echo >made.tool', isolation: {filesystem: workspace}}
YAML
cat >late.yaml <<YAML
agents:
  late$agent: {image: "box:1", workspace: ./ws2, memory: 64m}
YAML
berth() {
	"$BERTH" "$@" >out 2>err </dev/null
}
# One sentence, that exit code.
refused() {
	local want=$1 got=0
	shift
	berth "$@" || got=$?
	sed -i '/^berth: 1 orphan /d' err # it tells of what clean will find
	[ $got = "$want" ] && [ "$(wc -l <err)" = 1 ] && grep -q 'could not be recorded' err
}
# The console, driven by lines; what it drew is in out.
console() {
	{ echo 'size 140 30'; cat; } >script
	"$BERTH" --script script >out 2>err </dev/null
}
# Acts and how far they came, oldest first.
listed() {
	"$BERTH" audit list | grep -c "$1"
}
of_role() {
	docker ps -aq --filter "label=berth.role=$1" --filter "label=berth.proof" | sort
}
# The child that signs the log still writes for a moment, and gives space back.
settled() {
	wait_for 60 mount -o remount,ro state || echo '# somebody still writes there'
	mount -o remount,rw state
}
# Long records first, then short ones, until there is no place for either.
fill() {
	local until=$((SECONDS + 300))
	dd if=/dev/zero of=state/filler bs=4k 2>/dev/null
	for word in "$(printf '%04000d' 0)" '' ''; do
		while [ "$SECONDS" -lt "$until" ]; do
			"$BERTH" exec "$agent" -- true "$word" 2>/dev/null || break
		done
		settled
	done
	[ "$SECONDS" -lt "$until" ] || { echo "# the log still takes records after five minutes"; return 1; }
}

tools=$(of_role tool)
berth up team.yaml && berth exec "$agent" -- true
result $? 'an agent comes up'
docker run -d --name "$stopped" --network none box:1 /demo/idle.sh >/dev/null
docker run -d --name "$removed" --network none box:1 /demo/idle.sh >/dev/null
# What a killed berth leaves behind, for the clean-up.
mkfifo pipe
exec 4<>pipe
"$BERTH" -c team.yaml tool run wait >pipe 2>/dev/null 4>&- &
pid=$!
read -rt 120 -u 4 _ || echo '# the tool says nothing'
exec 4>&-
kill -9 $pid
wait $pid 2>/dev/null
orphan=$(comm -13 <(echo "$tools") <(of_role tool))
[ -n "$orphan" ]
result $? 'a killed tool leaves its container'

fill && refused 125 exec "$agent" -- sh -c ': >made.exec' && [ ! -e ws/made.exec ]
result $? 'exec is refused, and did nothing'
refused 125 exec "$stopped" -- sh -c ': >/tmp/made' && ! docker exec "$stopped" ls /tmp/made 2>/dev/null
result $? 'over the engine, too'
refused 125 -c team.yaml tool run --workspace ws mark && [ ! -e ws/made.tool ] &&
	[ "$(of_role tool)" = "$(printf '%s\n' "$tools" "$orphan" | grep . | sort)" ]
result $? 'a tool is refused, and has no container'
refused 1 up late.yaml && ! docker inspect "berth-late$agent" >/dev/null 2>&1
result $? 'up is refused, and made nothing'

console <<S
key 2
wait $stopped
wait audit: unavailable
refuse mounts not ch
dump styles
key /
type $stopped
key Enter
key S
wait Stop 1 container
advance 500
key y
wait exited
S
result $? 'the console says so in its header, and stops a container'
# Under each line of the picture is one of the roles it was drawn in.
python3 - <<'PY'
import sys
lines = open("out", encoding="utf-8").read().split("\n")
at = lines[0].find("audit: unavailable")
bad = lines[1][4 + at:][:len("audit: unavailable")]
# The letter of what is bad: it is that of nothing else in the header.
sys.exit(at < 0 or len(set(bad)) != 1 or lines[1].count(bad[0]) != len(bad))
PY
result $? 'in a colour that nothing else there has'
console <<S
key 2
wait $removed
wait $stopped
key /
type $stopped
key Enter
key S
wait Start 1 container
advance 500
key y
wait could not be recorded
expect exited 0
S
[ $? = 0 ] && [ "$(docker inspect -f '{{.State.Running}}' "$stopped")" = false ]
result $? 'but starts none'
console <<S
key 2
wait $removed
key /
type $removed
key Enter
key D
wait Type $removed
advance 500
type $removed
key Enter
wait nothing matches the filter
S
[ $? = 0 ] && ! docker inspect "$removed" >/dev/null 2>&1
result $? 'the console removes a container'
berth down team.yaml && ! docker inspect "berth-$agent" >/dev/null 2>&1
result $? 'down takes an agent down'
berth clean --yes && ! docker inspect "$orphan" >/dev/null 2>&1
result $? 'clean removes what was left behind'

"$BERTH" audit list | tail -n 40 >out
[ "$(listed "container.stop .*$stopped .*intent")" = 1 ] && [ "$(listed "container.stop .*$stopped .*ok")" = 1 ] &&
	[ "$(listed "container.remove .*$removed .*ok")" = 1 ] && [ "$(listed "agent.down .*berth-$agent .*ok")" = 1 ] &&
	[ "$(listed ' clean .*ok')" = 1 ] && [ "$(listed "container.start .*$stopped")" = 0 ] && "$BERTH" audit verify >err
result $? 'all of it is recorded, nothing else is, and the log verifies'

# Where the settings say so it is done without a record, and the number of it is told.
printf 'audit: {unavailable: warn}\n' >config/berth/berth.yaml
console <<S
key 2
wait $stopped
wait audit: unavailable
key /
type $stopped
key Enter
key S
wait Start 1 container
advance 500
key y
wait ● $stopped
S
[ $? = 0 ] && [ "$(docker inspect -f '{{.State.Running}}' "$stopped")" = true ] && [ "$(listed "container.start .*$stopped")" = 0 ]
result $? 'warn: the console starts one, unrecorded'
rm state/filler
console <<S
refuse audit: unavailable
key 6
wait log.gap
S
[ $? = 0 ] && [ "$(listed 'log.gap .*unrecorded=1 .*container.start')" = 1 ]
result $? 'and with space again shows how much is missing'
exit $bad
