#!/bin/bash
# cli.sh - ps and doctor on a real engine: the fields, the numbers, the shape of the output; and what becomes
# of a command whose output nobody takes.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
agent=cli$$
names="cli-$$-run cli-$$-end berth-$agent"
trap 'docker rm -f $names >/dev/null 2>&1; docker volume rm -f "berth-home-berth-$agent" >/dev/null 2>&1' EXIT

docker run -d --name "cli-$$-run" --network none -m 64m --pids-limit 50 --label berth.agent=a1 \
	--label berth.session=s1 --label berth.role=agent box:1 sh -c 'while :; do :; done' >/dev/null || exit 1
docker run --name "cli-$$-end" --network none box:1 sh -c 'exit 7' >/dev/null

"$BERTH" ps --json >ps.json
check 'ps --json fits its schema' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/ps.json" <ps.json
"$BERTH" ps --all --json >all.json
check 'ps --all --json fits its schema' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/ps.json" <all.json
"$BERTH" doctor --json >doctor.json
check 'doctor --json fits its schema' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/doctor.json" <doctor.json
check 'doctor is content' grep -q '"ok": true' doctor.json

cat >facts.py <<'PY'
import json, sys
run, end = sys.argv[1:]
ps = {c["name"]: c for c in json.load(open("ps.json"))["containers"]}
both = {c["name"]: c for c in json.load(open("all.json"))["containers"]}
assert end not in ps and end in both, "an ended container is only with --all"
c = ps[run]
assert c["state"] == "running" and c["agent"] == "a1" and c["session"] == "s1" and c["role"] == "agent", c
assert c["memory_limit_bytes"] == 64 << 20 and c["pids_limit"] == 50, c
assert c["cpu_percent"] is not None and c["cpu_percent"] > 5, c
assert 0 < c["memory_bytes"] < 64 << 20 and c["pids"] == 1, c
assert c["exit_code"] is None and both[end]["exit_code"] == 7, both[end]
assert both[end]["cpu_percent"] is None and both[end]["uptime_s"] is None, both[end]
assert list(ps) == sorted(ps), "sorted by name"
PY
check 'the facts are right' python3 facts.py "cli-$$-run" "cli-$$-end"

"$BERTH" ps --all >table
check 'the table has a head' grep -qE '^NAME +AGENT +STATE +CPU % +MEM +LIMIT' table
check 'and rows' grep -qE "^cli-$$-end +- +exited 7 " table
check 'no escapes where there is no terminal' bash -c '! grep -q "[[:cntrl:]]" table'
check 'a closed pipe is no crash' bash -c '"$BERTH" ps --json | head -c 1 >/dev/null; [ "${PIPESTATUS[0]}" -le 141 ]'
# In a terminal the table is clipped to its width.
script -qec "stty cols 40; $BERTH ps --all" /dev/null </dev/null | tr -d '\r' >narrow
check 'clipped to the terminal' awk 'length($0) > 40 {exit 1} END {exit NR < 3}' narrow

# Output that goes nowhere.  The time-outs are there because a failure would hang.
mkdir ws && chmod 755 . && chown 1000:1000 ws
cat >team.yaml <<YAML
agents:
  $agent: {image: "box:1", workspace: ./ws, memory: 64m}
custom_tools:
  greet: {type: docker, image: "box:1", script: 'echo hello'}
YAML
chmod 644 team.yaml
"$BERTH" up team.yaml >/dev/null || exit 1
patient=(timeout --foreground 60 "$BERTH")

left() { # ARGUMENTS...: exec them; the reader takes one line and leaves
	local codes
	"${patient[@]}" exec "$@" 2>err | head -n 1 >line
	codes=("${PIPESTATUS[@]}")
	cat line err
	[ "$(cat line)" = y ] && [ ! -s err ] && [ "${codes[0]}" = 141 ]
}

full() { # SENTENCE CODE ARGUMENTS...: berth on a full disk
	local sentence=$1 want=$2 got=0
	shift 2
	"${patient[@]}" "$@" >/dev/full 2>err || got=$?
	cat err
	[ "$got" = "$want" ] && [ "$(grep -c . err)" = 1 ] && grep -q "$sentence: No space left on device" err
}

lost="cannot write the command's output to standard output"
unprinted='Cannot write to standard output'
for box in "$agent" "cli-$$-run"; do
	path=lane container=berth-$agent
	[ "$box" = "$agent" ] || path=engine container=$box
	"$BERTH" exec --json "$box" -- true >document
	check "$path: it is the path" grep -q "\"path\": \"$path\"" document
	check "$path: yes ends with its reader" left "$box" -- yes
	check "$path: what ends on a full disk is 125 and a sentence" \
		full "$lost" 125 exec "$box" -- sh -c 'head -c 1000000 /dev/zero'
	check "$path: so is what would not end" full "$lost" 125 exec "$box" -- yes
	check "$path: and what printed one word" full "$lost" 125 exec "$box" -- echo word
	check "$path: nothing of them is left" bash -c "docker top $container >top && ! grep -E 'yes|zero' top"
	check "$path: --json that is not printed is 125" full "$unprinted" 125 exec --json "$box" -- true
	echo "${patient[*]} exec -t $box -- yes | head -n 1; echo \"code \${PIPESTATUS[0]}\"" >tty.sh
	script -qec 'bash tty.sh' /dev/null </dev/null | tr -d '\r' >seen
	check "$path: with a terminal it is ended for that" bash -c 'cat seen; grep -qx "code 141" seen'
done
check 'tool: a full disk is 125 and a sentence' full "$lost" 125 -c team.yaml tool run greet
check 'tool: --json that is not printed is 125' full "$unprinted" 125 -c team.yaml tool run --json greet
check 'config check: --json that is not printed is no success' full "$unprinted" 1 config check --json team.yaml

# The engine takes one digit of an id for the container; a command meant for an agent must not end up in another.
digit=$(docker inspect -f '{{.Id}}' "berth-$agent" | cut -c1)
chance() { [ "$(docker ps -aq --no-trunc | grep -c "^$digit")" != 1 ] || ! "$BERTH" exec "$digit" -- true; }
check 'one digit of an id is no container to exec' chance
six=$(docker inspect -f '{{.Id}}' "cli-$$-run" | cut -c1-6)
check 'six are' "$BERTH" exec "$six" -- true
check 'nor one to read the statistics of' bash -c "! \"\$BERTH\" stats --no-stream $digit | grep -q $agent"

# An agent that is taken out of its file runs on, and `up` says so.
cp team.yaml whole.yaml
check 'nothing is said of what the file has' bash -c '"$BERTH" up team.yaml 2>&1 >/dev/null | { ! grep "is still running"; }'
sed '/image: "box:1", workspace/d; s/^agents:/agents: {}/' whole.yaml >team.yaml
left_out() {
	"$BERTH" up team.yaml >/dev/null 2>err
	cat err
	grep -qx "berth: berth-$agent is still running, but this file no longer defines its agent: .berth rm -f berth-$agent. removes it." err
}
check 'an agent that its file has no more' left_out
check 'is removed as that says' "$BERTH" rm --yes -f "berth-$agent"
check 'and no longer spoken of' fails left_out
cp whole.yaml team.yaml
"$BERTH" down team.yaml >/dev/null
exit $bad
