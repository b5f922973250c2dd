#!/bin/bash
# idle.sh - an agent in which nothing runs is paused by its rule, and the next command wakes it at once; what a person
# paused stays so; nobody stays paused when the keeper dies.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
agent=idle$$
box=berth-$agent
mkdir -m 700 data state ws
chown 1000:1000 ws
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
chmod 755 .
trap '"$BERTH" down --all --yes >/dev/null 2>&1; docker rm -f $box >/dev/null 2>&1; docker volume rm -f berth-home-$box >/dev/null 2>&1' EXIT
printf 'agents: {%s: {image: "box:1", workspace: "./ws", memory: 64m, pids: 64, idle: {pause: 5s}}}\n' "$agent" >team.yaml
chmod 644 team.yaml

state() { docker inspect -f '{{.State.Status}}' "$box"; }
paused() { [ "$(state)" = paused ]; }
running() { [ "$(state)" = running ]; }
keeper() { cut -d' ' -f1 "$XDG_RUNTIME_DIR/berth/keeper"; }
no_note() { [ -z "$(ls "$XDG_RUNTIME_DIR/berth/refused" 2>/dev/null)" ]; }

# held SCRIPT: a command that then goes on without using the processor until let_go, whose code is the command's.
held() {
	: >held.out
	"$BERTH" exec "$agent" -- sh -c "$1; read -r x <'$PWD/ws/gate'" >>held.out 2>&1 &
	job=$!
}
let_go() {
	timeout 60 sh -c 'echo >ws/gate' && wait $job
}

check 'up' says 0 '*' "$BERTH" up team.yaml
mkfifo ws/gate
check 'idle, it is paused' wait_for 60 paused
check 'the log says by which rule' says 0 "*container.pause*$box*idle*" "$BERTH" audit list
held 'echo here'
check 'a command wakes it' wait_for 60 grep -qx here held.out
check 'and it runs' running
check 'to its end' let_go
check 'the log says so' wait_for 60 eval '"$BERTH" audit list --act container.unpause | grep -q "$box"'
check 'idle again, again' wait_for 60 paused
for i in 1 2 3 4 5 6; do "$BERTH" exec "$agent" -- echo "$i" >"out.$i" 2>&1 & done
wait
check 'six at once wake it once' test "$(cat out.* | sort | tr -d '\n')" = 123456
wait_for 60 paused

# What a person paused is theirs: one who is slow about it finds that the rule was quicker, and tries again.
by_hand() { "$BERTH" exec "$agent" -- true && docker pause "$box"; }
check 'a person pauses it' wait_for 60 by_hand
check 'and nothing is noted' wait_for 60 no_note
check 'what a person paused is not woken' says 125 '*paused*' "$BERTH" exec --timeout 3 "$agent" -- true
check 'it stays paused' paused
begun=$SECONDS
docker unpause "$box" >/dev/null
check 'nor is one that somebody else let go on taken for asleep' wait_for 60 paused
took=$((SECONDS - begun))
docker unpause "$box" >/dev/null
check 'the note goes' wait_for 60 no_note

# What runs in it is not idle, for longer than it was idle before it was paused.
held 'setsid sleep 300 >/dev/null 2>&1 & echo here'
wait_for 60 grep -qx here held.out || echo 'not ok the command did not begin'
check 'what runs keeps it awake' fails wait_for $((took + 4)) paused
check 'to its end' let_go
rm ws/gate
wait_for 60 paused
check 'nobody stays paused when the keeper dies' eval 'kill -9 "$(keeper)"; wait_for 60 running'
check 'and its note is gone' wait_for 60 no_note
check 'a command runs' says 0 here "$BERTH" exec "$agent" -- echo here

check 'up again starts a keeper' says 0 '*' "$BERTH" up team.yaml
check 'which pauses it' wait_for 60 paused
last=$(keeper)
check 'a paused one goes down' says 0 '*' "$BERTH" down --all --yes
check 'and nothing is left of it' no_note
gone() { ! kill -0 "$1" 2>/dev/null; }
check 'the keeper ends with the last' wait_for 60 gone "$last"
printf 'agents: {%s: {image: "box:1", workspace: "./ws", idle: {pause: soon}}}\n' "$agent" >bad.yaml
check 'a time is asked for' says 2 '*expected a time*' "$BERTH" up bad.yaml
exit $bad
