#!/bin/bash
# history.sh - what an agent uses is kept by the keeper while no console runs, then by the console; ends are told of
# afterwards; a CPU limit that stops it is seen; a signal by its name arrives.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
agent=history$$
mkdir -m 700 data state
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
chmod 755 .
trap '"$BERTH" down --all --yes >/dev/null 2>&1; docker rm -f berth-$agent >/dev/null 2>&1; docker volume rm -f berth-home-berth-$agent >/dev/null 2>&1' EXIT
tree=$("$BERTH" workspace create task fix)
chown -R 1000:1000 "$tree"
printf 'agents: {%s: {image: "box:1", workspace: "task:fix", memory: 64m, cpus: 0.05, pids: 64}}\n' "$agent" >team.yaml
chmod 644 team.yaml

# asked EXPRESSION [OPTION...]: of d, what `berth history` says of the agent
asked() {
	local what=$1
	shift
	"$BERTH" history "$agent" --json "$@" 2>/dev/null | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($what))"
}
# A console that sees that the history is kept: of all together, by nobody but a console.  In Agents it would be that of
# the chosen one, if one is listed by then.
printf 'size 100 30\nkey 8\nkey + + + + + + + +\nkey :\ntype history\nkey Enter\nwait highest second\n' >look
{ cat look; echo 'wait nothing that comes'; } >watch
console() { "$BERTH" --script look; }
throttled() { "$BERTH" ps --json | python3 -c "import json, sys; sys.exit(not any((c['throttled_percent'] or 0) > 10 for c in json.load(sys.stdin)['containers'] if c['name'] == 'berth-$agent'))"; }

check 'up' says 0 '*' "$BERTH" up team.yaml
"$BERTH" exec "$agent" -- sh -c 'trap "touch files/hup; exit 0" HUP; touch files/ready; while :; do :; done' >exec.out 2>&1 &
job=$!
wait_for 60 test -e "$tree/files/ready" || echo 'not ok the command did not begin'
check 'without a console the keeper keeps it' wait_for 60 asked "d['points'] and d['container'] == 'berth-$agent' and d['agent'] == '$agent'"
check 'as it is' asked "all(p['memory_limit_bytes'] > 60e6 and p['cpu_percent'] < 40 for p in d['points'])"
check 'and how often its limit stopped it' asked "max(p['throttled_percent'] for p in d['points']) > 10"
check 'and as JSON' fits history "$BERTH" history "$agent" --json
check 'which ps says, too' wait_for 60 throttled
check 'nobody keeps all together' says 1 '*Nothing is kept*' "$BERTH" history --all
check 'a console takes over' wait_for 60 console
check 'and keeps all together' says 0 '*CPU %*' "$BERTH" history --all
check 'it lies in one file of 64 MB at most' test "$(stat -c %s state/berth/history.ring)" -le 64000000

check 'a signal by its name' says 0 "berth-$agent" "$BERTH" kill -s hup "$agent"
check 'arrives' wait_for 60 test -e "$tree/files/hup"
wait $job
check 'and the command ends as it will' test $? = 0
check 'the log says which' says 0 "*container.kill*berth-$agent*SIGHUP*" "$BERTH" audit list

# Out of memory in it, while a console looks; the agent itself runs on. A script waits for half a minute for what does not
# come: the console starts again and again, and the agent gets the processor that it needs to be done in one of them.
docker update --cpus 1 "berth-$agent" >/dev/null
while [ ! -e seen ]; do "$BERTH" --script watch; done >watch.out 2>&1 &
job=$!
check 'a command out of memory is told' wait_for 60 eval "\"\$BERTH\" exec \"\$agent\" -- sh -c 'x=a; while :; do x=\$x\$x; done' >/dev/null 2>&1; asked \"any(x['event'] == 'oom' and x['exit_code'] is None for x in d['events'])\""
touch seen
left() { # the console, which waits on
	pkill -P $job
	! kill -0 $job
}
wait_for 60 left
wait $job

# The engine says OOM of an end that came after one, whoever killed it.
docker kill "berth-$agent" >/dev/null
check 'what happened without a console is told by the next one' wait_for 60 eval "console && asked \"any(x['event'] in ('exited', 'oom') and x['exit_code'] == 137 for x in d['events'])\""
check 'down' says 0 '*' "$BERTH" down --all --yes
check 'what was is kept' asked "d['points'] and any(x['exit_code'] == 137 for x in d['events'])"
exit $bad
