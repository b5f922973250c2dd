#!/bin/bash
# restarted.sh - a mount swapped before a start that is not berth's: nothing runs in it, by any road.
#
# An agent that may write the parent of another's path puts a link to the host's secrets in its place; the engine
# resolves it at the next start.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" && chmod 755 . || exit 1
. "$SRC/tests/lib/check.sh"
agent=rs$$
box=berth-$agent
secrets=$TMPDIR/secrets
trap 'tmux -L "$agent" kill-server 2>/dev/null; "$BERTH" down team.yaml >/dev/null 2>&1; "$BERTH" down secret.yaml >/dev/null 2>&1; docker rm -f "rs$$-old" "rs$$-like" "$box" >/dev/null 2>&1
docker volume rm -f "berth-home-$box" "berth-home-berth-s$agent" >/dev/null 2>&1' EXIT

refused() { # berth exec ARGUMENTS...: 125, a sentence that names the remedy, nothing done
	local got=0
	"$BERTH" exec "$@" >said 2>&1 || got=$?
	echo "exit $got"
	cat said
	[ $got = 125 ] && grep -q 'berth up' said && unharmed
}

unharmed() {
	[ "$(cat "$secrets/authorized_keys")" = ours ]
}

mkdir -p "$secrets" a/sub ws 'b c'
echo ours >"$secrets/authorized_keys"
chown -R 1000:1000 a ws 'b c' "$secrets"
cat >team.yaml <<YAML
agents:
  $agent:
    image: "box:1"
    workspace: ./ws
    memory: 64m
    context_paths: [{path: ./a/sub, permission: write}, {path: './b c', permission: read}]
YAML
"$BERTH" up --json team.yaml >document || exit 1
as_declared() {
	python3 -c 'import json; print(*(e["same"] for e in json.load(open("document"))["agents"][0]["enforced"] if e["what"] == "mounts"))' |
		grep -x True
}
check 'its mounts are as declared, one with a blank in its path too' as_declared
harm=(sh -c "echo key >>$PWD/a/sub/authorized_keys")
check 'as brought up it runs' "$BERTH" exec "$agent" -- true
"$BERTH" exec --json "$agent" -- true >document
check 'and says that its mounts are the checked ones' grep -q '"mounts": "checked"' document

# The same mounts after a start that is not ours: compared there and then.
docker restart -t 0 "$box" >/dev/null
"$BERTH" exec --json "$agent" -- true >document
check 'started again with the same mounts it runs' grep -q '"ended": "exit"' document
check 'which were compared again' grep -q '"mounts": "checked"' document

swap() {
	mv a/sub a/sub.real && ln -s "$secrets" a/sub
}
swap_back() {
	rm a/sub && mv a/sub.real a/sub
}

swap
docker restart -t 0 "$box" >/dev/null
check 'a link to the secrets and docker restart' refused "$agent" -- "${harm[@]}"
check 'again' refused "$agent" -- "${harm[@]}"
check 'by the name of the container' refused "$box" -- "${harm[@]}"
with_host() {
	! "$BERTH" -H "$DOCKER_HOST" exec "$agent" -- "${harm[@]}" 2>said && grep -q "berth up" said
}
check 'with -H' with_host
"$BERTH" exec --json "$agent" -- "${harm[@]}" >document 2>/dev/null
check 'the document says refused' grep -q '"ended": "refused"' document
check 'and that the mounts were changed' grep -q '"mounts": "changed"' document
check 'the schema knows it' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/exec.json" <document
"$BERTH" ps --json >ps.json
ps_says() {
	grep -A60 "\"name\": \"$box\"" ps.json | grep -q '"mounts": "changed"'
}
check 'ps says so' ps_says
check 'ps fits its schema' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/ps.json" <ps.json
# The console: its row says so in the colour of what is bad, and its shell does not open.
cat >script <<S
size 140 24
key 2
wait mounts changed
dump styles
S
red() {
	"$BERTH" --script script >picture && python3 - "$box" <<'PY'
import sys
lines = open("picture", encoding="utf-8").read().split("\n")
row = next(n for n, one in enumerate(lines) if sys.argv[1] in one)
at = lines[row].index("mounts changed")
roles = set(lines[row + 1][4 + at:][:len("mounts changed")])
sign = lines[row + 1][4 + lines[row].index("!")]
print(roles, sign, *lines[row:row + 2], sep="\n")
sys.exit(len(roles) != 1 or roles != {sign} or sign in ".b")
PY
}
check 'the console shows the row as changed, in one colour with its sign' red
mux() {
	tmux -L "$agent" -f /dev/null "$@"
}
shows() {
	mux capture-pane -p | grep -qF -- "$1"
}
no_shell() {
	mux new-session -d -x 140 -y 24 "$BERTH" && wait_for 60 shows "$box" && mux send-keys 2 && wait_for 60 shows 'mounts changed' &&
		mux send-keys / && mux send-keys "$box" Enter && mux send-keys x &&
		wait_for 60 shows 'is not what was checked' && mux send-keys "echo key >>$PWD/a/sub/authorized_keys" Enter
	local status=$?
	mux capture-pane -p
	mux kill-server
	[ $status = 0 ] && unharmed
}
. "$SRC/tests/lib/engine.sh"
check 'and opens no shell in it' no_shell
check 'still nothing runs' refused "$agent" -- "${harm[@]}"
docker stop -t 0 "$box" >/dev/null
docker start "$box" >/dev/null
check 'docker stop and start' refused "$agent" -- "${harm[@]}"
docker update --restart always "$box" >/dev/null
kill -9 "$(docker inspect -f '{{.State.Pid}}' "$box")"
restarted() {
	[ "$(docker inspect -f '{{.RestartCount}} {{.State.Running}}' "$box")" = '1 true' ]
}
check 'a restart by policy' wait_for 60 restarted
check 'is refused too' refused "$agent" -- "${harm[@]}"
docker update --restart no "$box" >/dev/null
# The engine refuses that while what it restarts has no network yet.
wait_for 60 docker rename "$box" "rs$$-old"
check 'renamed' refused "rs$$-old" -- "${harm[@]}"
docker rename "rs$$-old" "$box"
docker unpause "$box" >/dev/null 2>&1

# A directory of the same name is not the same directory either.
swap_back
mv a/sub a/sub.real && mkdir a/sub && chown 1000:1000 a/sub
docker restart -t 0 "$box" >/dev/null
check 'another directory under the name' refused "$agent" -- true
rmdir a/sub && mv a/sub.real a/sub
docker restart -t 0 "$box" >/dev/null
check 'the real one again: it runs' "$BERTH" exec "$agent" -- true

# The engine unmakes what was made in a container when it stops: that is why a look after the making holds.
made=$(engine_api "$BERTH_TEST_ENGINE_DIR" POST "/containers/$box/exec" -H 'Content-Type: application/json' \
	-d '{"Cmd":["true"],"AttachStdout":true}' | grep -o '[0-9a-f]\{64\}')
docker restart -t 0 "$box" >/dev/null
late() {
	! engine_api "$BERTH_TEST_ENGINE_DIR" POST "/exec/$made/start" -H 'Content-Type: application/json' -d '{"Detach":false}'
}
check 'what was made before a start does not start' late

# Another container under the name of ours.
docker rename "$box" "rs$$-old"
docker run -d --name "$box" --network none --label "berth.agent=$agent" --label berth.role=agent -v "$secrets:$PWD/a/sub" box:1 \
	/demo/idle.sh >/dev/null
docker stop -t 0 "rs$$-old" >/dev/null
check 'another container under its name' refused "$agent" -- "${harm[@]}"
check 'also by the name itself' refused "$box" -- "${harm[@]}"
docker rm -f "$box" >/dev/null
docker rename "rs$$-old" "$box"
docker start "$box" >/dev/null
check 'ours again' "$BERTH" exec "$agent" -- true

# Its secrets were in the memory of one start; nothing runs without them.
echo hush >token
cat >secret.yaml <<YAML
secrets: {token: {file: ./token}}
agents:
  s$agent: {image: "box:1", workspace: ./ws2, memory: 64m, secrets: [token]}
YAML
mkdir ws2 && chown 1000:1000 ws2
"$BERTH" up secret.yaml >/dev/null || exit 1
check 'an agent with a secret' bash -c '[ "$("$0" exec "$1" -- cat /run/secrets/token)" = hush ]' "$BERTH" "s$agent"
docker restart -t 0 "berth-s$agent" >/dev/null
check 'started again it is refused, for the secret is gone' refused "s$agent" -- true
check 'and again' refused "s$agent" -- true
"$BERTH" exec --json "s$agent" -- true >document 2>/dev/null
check 'the document says refused' grep -q '"ended": "refused"' document
"$BERTH" up secret.yaml >/dev/null
check 'up hands it over anew' bash -c '[ "$("$0" exec "$1" -- cat /run/secrets/token)" = hush ]' "$BERTH" "s$agent"
"$BERTH" down secret.yaml >/dev/null

# A container that is none of ours is not ours to judge.
docker run -d --name "rs$$-like" --network none box:1 /demo/idle.sh >/dev/null
"$BERTH" exec --json "rs$$-like" -- true >document
check 'a stranger runs, and it says not checked' grep -q '"mounts": "not checked"' document
check 'up makes it whole' "$BERTH" up team.yaml
"$BERTH" exec --json "$agent" -- true >document
check 'with its lane' grep -q '"path": "lane"' document
swap
blessed() {
	! "$BERTH" up team.yaml
}
as_it_was=$(docker inspect -f '{{.Id}} {{.State.StartedAt}}' "$box")
check 'up does not bless a link' blessed
left_alone() {
	[ "$(docker inspect -f '{{.Id}} {{.State.StartedAt}}' "$box")" = "$as_it_was" ] && "$BERTH" exec "$agent" -- true
}
check 'and leaves what it refuses to replace running' left_alone
check 'the secrets are as they were' unharmed
exit $bad
