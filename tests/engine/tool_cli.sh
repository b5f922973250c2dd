#!/bin/bash
# tool_cli.sh - `berth tool` and `berth exec` as programs: documents, rules by -c, other people's
# containers, an engine elsewhere, and that nothing is left when they are ended by signals.
. "$SRC/tests/lib/engine.sh"
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
agent=tc$$ door='' far=''
trap 'docker rm -f "foreign-$$" "berth-$agent" >/dev/null 2>&1; docker volume rm -f "berth-home-berth-$agent" >/dev/null 2>&1
	[ -z "$door" ] || kill "$door" 2>/dev/null
	[ -z "$far" ] || rm -rf "$far"' EXIT

exits() { # CODE COMMAND...
	local want=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" = "$want" ] || { echo "exit code $got instead of $want"; return 1; }
}

fits() { # SCHEMA COMMAND...
	local schema=$1
	shift
	"$@" >document || :
	python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/$schema.json" <document
}

mkdir ws && chmod 755 . && chown 1000:1000 ws
cat >team.yaml <<YAML
agents:
  $agent: {image: "box:1", workspace: ./ws, memory: 64m}
custom_tools:
  greet: {type: docker, image: "box:1", script: 'echo "hello \$1"; exit 3'}
  wait: {type: docker, image: "box:1", script: 'echo started; exec sleep 7002'}
  here: {type: docker, image: "box:1", script: 'echo >here; pwd', isolation: {filesystem: workspace}}
YAML
printf '#!/bin/sh -u\necho "$0 got $*"; echo x >"$0"\n' >script.any
printf 'echo by its ending: "$1"\n' >script.sh
cat >scripts.yaml <<YAML
custom_tools:
  bang: {image: "box:1", script: ./script.any, pool: {size: 1}}
  ending: {image: "box:1", script: script.sh}
  line: {image: "box:1", command: 'echo line "\$1"'}
YAML
sed 's/memory: 64m/memory: 64m, block: ["date.*"]/' team.yaml >strict.yaml
chmod 644 ./*.yaml

scripted() { # TEXT TOOL ARGUMENTS...
	local text=$1 tool=$2
	shift 2
	"$BERTH" -c scripts.yaml tool run "$tool" -- "$@" 2>err | tee out
	cat err
	[ "$(cat out)" = "$text" ]
}
check 'a script is run by its #! line' scripted '/tool/script.any got a  b' bang 'a ' b
check 'and cannot be written by itself' grep -q 'Read-only file system' err
check 'it is what it was' grep -q 'got' script.any
check 'one without by its ending' scripted 'by its ending: x' ending x
check 'command: takes a line' scripted 'line y z' line 'y z'
rm script.sh
check 'a missing one is said' bash -c '! "$BERTH" -c scripts.yaml tool run ending >out 2>&1; cat out; grep -q "script of the tool ending.*No such file" out'

check 'tool list names them' bash -c '"$BERTH" -c team.yaml tool list | grep -q "^greet  *box:1 "'
printf 'custom_tools: {x: {type: docker, image: "b\\e[31m", script: x}}' >escape.yaml
chmod 644 escape.yaml
check 'and refuses names that are none, without showing them raw' \
	bash -c '"$BERTH" -c escape.yaml tool list >list 2>&1; [ $? = 2 ] && ! grep -q "[[:cntrl:]]" list'
check 'tool list --json fits its schema' fits tool_list "$BERTH" -c team.yaml tool list --json
check 'a tool gets arguments and gives its exit code' \
	bash -c '[ "$("$BERTH" -c team.yaml tool run greet -- "a b"; echo "$?")" = "hello a b
3" ]'
check 'tool run --json fits its schema' fits tool_run "$BERTH" -c team.yaml tool run --json greet
check 'and says how it ended' grep -q '"ended": "exit"' document
check 'a wrong name is 125 and names the right ones' \
	bash -c '! "$BERTH" -c team.yaml tool run great 2>err; [ $? = 0 ] && grep -q "greet, wait" err'
check "a tool works in its caller's workspace" \
	bash -c '[ "$("$BERTH" -c team.yaml tool run --workspace ws here)" = "$PWD/ws" ] && [ -e ws/here ]'
check 'but not where it could rewrite the team file' \
	bash -c 'mkdir mine && cp team.yaml mine && chown 1000:1000 mine
		"$BERTH" -c mine/team.yaml tool run --workspace mine here 2>err; [ $? = 125 ] && grep -q "could rewrite" err && [ ! -e mine/here ]'
check 'no team file is a sentence' exits 125 "$BERTH" tool run greet
check 'read-only refuses' exits 125 "$BERTH" -c team.yaml --read-only tool run greet

# In the background, with pid, until it has said something, line: two minutes at most. Open for both here, the pipe
# keeps nobody waiting for its other end.
heard() { # COMMAND...
	mkfifo pipe
	exec 4<>pipe
	"$@" >pipe 4>&- &
	pid=$!
	read -rt 120 -u 4 line || { line=''; echo "# $* says nothing"; }
	exec 4>&-
	rm pipe
}

for sig in INT TERM HUP; do
	# A background job ignores SIGINT unless it is given back.
	heard python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$BERTH" -c team.yaml tool run wait
	kill "-$sig" $pid
	wait $pid
	code=$?
	check "SIG$sig ends the tool and takes the container away" \
		bash -c "[ '$line' = started ] && [ $code = 143 ] && ! docker ps -aq --filter name=berth-tool-wait- | grep -q ."
done

# Killed with -9 it can take nothing away; what it leaves names a process that is dead.
heard "$BERTH" -c team.yaml tool run wait
kill -9 $pid
wait $pid 2>/dev/null
left=$(docker ps -aq --filter name=berth-tool-wait-)
check 'after kill -9 one container is left' [ -n "$left" ]
check 'and its owner is the dead process' bash -c \
	"docker inspect -f '{{index .Config.Labels \"berth.owner\"}}' $left | grep -q '\"pid\":$pid,'"
docker rm -f $left >/dev/null 2>&1

sed 's,./ws,./new,' team.yaml >new.yaml && chmod 644 new.yaml
check 'a workspace that is not there names the way' says 2 '*does not exist*--create*' "$BERTH" up new.yaml
check 'and is not made unasked' [ ! -e new ]
check 'up --create makes it and says so' bash -c '"$BERTH" up new.yaml --create --json >document && grep -q "\"workspace_created\": true" document'
check 'as its schema says' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/up.json" <document
check 'for who runs inside' [ "$(stat -c %u new)" = 1000 ]
check 'once' bash -c '"$BERTH" up new.yaml --create | grep -q unchanged'
"$BERTH" down new.yaml >/dev/null
sed 's,./ws,/etc/new,' team.yaml >etc.yaml && chmod 644 etc.yaml
check 'but not where nothing is mounted' says 4 '*never mounted*' "$BERTH" up --create etc.yaml
check 'nor makes it' [ ! -e /etc/new ]
"$BERTH" up team.yaml >/dev/null || exit 1
check 'exec --json over the lane fits its schema' fits exec "$BERTH" exec --json "$agent" -- true
check 'and says so' grep -q '"path": "lane"' document
check 'without -c the rules of up hold' exits 0 "$BERTH" exec "$agent" -- date
check 'with -c those of the file' exits 125 "$BERTH" -c strict.yaml exec "$agent" -- date
check 'with -c a harmless one runs' exits 0 "$BERTH" -c strict.yaml exec "$agent" -- true
check 'an argument as long as the kernel takes' bash -c '
	[ "$("$BERTH" exec --json '"$agent"' -- sh -c "echo \${#1}" sh "$(printf %0131071d 0)" |
		python3 -c "import json, sys; d = json.load(sys.stdin); print(d[\"stdout\"].strip(), d[\"path\"])")" = "131071 lane" ]'
check 'and as many of them' bash -c '[ "$("$BERTH" exec '"$agent"' -- sh -c "echo \$#" sh $(seq 100000))" = 100000 ]'
check 'exec without -- names the line' bash -c '! "$BERTH" exec --json '"$agent"' ls -l 2>err; grep -q "exec '"$agent"' -- ls -l" err'
check 'a directory and variables' says 0 '/tmp|1|from-here' env HERE=from-here "$BERTH" exec -w /tmp -e A=1 -e HERE "$agent" -- sh -c 'echo "$PWD|$A|$HERE"'
check 'a directory that is not there' exits 125 "$BERTH" exec -w /nowhere "$agent" -- true
check 'and is named' bash -c '"$BERTH" exec -w /nowhere "$1" -- true 2>&1 | grep -q "cannot run true in the directory /nowhere"' - "$agent"
check 'no such variable' exits 125 "$BERTH" exec -e 1A=1 "$agent" -- true
check 'as the user that it is' says 0 1000 "$BERTH" exec -u 1000 "$agent" -- id -u
check 'but as no other' exits 125 "$BERTH" exec -u 0 "$agent" -- id -u
check '-c of an agent that the file lacks' exits 125 "$BERTH" -c team.yaml exec nobody -- true
check 'by its engine, the lane is used all the same' \
	bash -c '"$BERTH" -H "$DOCKER_HOST" exec --json '"$agent"' -- true | grep -q "\"path\": \"lane\""'

# Killed with -9, a client takes its command along: the guest ends it.
heard "$BERTH" exec "$agent" -- sh -c 'echo started; (setsid sleep 7006 &); sleep 7006'
kill -9 $pid
wait $pid 2>/dev/null
check 'after kill -9 of exec its command ends' wait_for 60 bash -c "! docker top berth-$agent | grep -q 'sleep 7006'"

docker run -d --name "foreign-$$" --network none box:1 sleep 7003 >/dev/null
check "exec in somebody else's container" \
	bash -c '[ "$(echo in | "$BERTH" exec foreign-'$$' -- sh -c "cat; echo out; exit 5"; echo $?)" = "in
out
5" ]'
check 'over the engine as any user, with variables' says 0 '7|3' "$BERTH" exec -u 7 -e X=3 "foreign-$$" -- sh -c 'echo "$(id -u)|$X"'
check 'over the engine --json fits its schema' fits exec "$BERTH" exec --json "foreign-$$" -- true
check 'and says so, too' grep -q '"path": "engine"' document
check 'plainly destructive commands are refused there' exits 125 "$BERTH" exec "foreign-$$" -- rm -rf /
check 'its time-out ends the tree' \
	exits 124 "$BERTH" exec --timeout 0.5 "foreign-$$" -- sh -c "trap '' TERM; (setsid sleep 7004 &); sleep 7004"
check 'of which nothing is left' bash -c "! docker top foreign-$$ | grep -q 'sleep 7004'"
cat >tty.sh <<SH
stty rows 33 cols 91
"$BERTH" exec -t foreign-$$ -- sh -c 'i=0; until [ "\$(stty size 2>&1)" = "33 91" ] || [ \$i = 600 ]; do i=\$((i + 1)); sleep 0.1; done; stty size; tty'
SH
script -qec 'bash tty.sh' /dev/null </dev/null | tr -d '\r' >seen
check 'a terminal is given, and its size' bash -c 'cat seen; grep -q "33 91" seen && grep -q "/dev/pts/" seen'

# An engine that is elsewhere, as far as this user can tell: the processes there are not his to end.
if command -v socat >/dev/null; then
	port=$(engine_free_port)
	socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" "UNIX-CONNECT:${BERTH_TEST_ENGINE#unix://}" 2>/dev/null &
	door=$!
	wait_for 60 bash -c ": </dev/tcp/127.0.0.1/$port"
	far=$(mktemp -d /tmp/bo.XXXXXX) # TMPDIR lies below a directory of ours alone
	mkdir -m 700 "$far"/{run,state,home}
	chown -R 65534:65534 "$far"
	elsewhere() {
		setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$far/home" \
			XDG_STATE_HOME="$far/state" XDG_RUNTIME_DIR="$far/run" \
			DOCKER_HOST="tcp://127.0.0.1:$port" "$BERTH" "$@"
	}
	reachable() {
		setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$BERTH" -a -w "$far/run"
	}
	if reachable; then
		check 'from elsewhere it runs' exits 6 elsewhere exec "foreign-$$" -- sh -c 'exit 6'
		elsewhere exec --json "$agent" -- true >document
		check 'the mounts of an agent there are not checked, and it says so' grep -q '"mounts": "not checked"' document
		check 'in a document that fits its schema' \
			python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/exec.json" <document
		elsewhere ps --json >document
		check 'nor does its row claim that they are' bash -c '! grep -q "\"mounts\": \"checked\"" document'
		check 'its time-out ends the tree from inside' exits 124 elsewhere exec --timeout 0.5 "foreign-$$" -- \
			sh -c "trap '' TERM; (setsid sleep 7005 &); sleep 7005"
		check 'of which nothing is left, either' bash -c "! docker top foreign-$$ | grep -q 'sleep 7005'"
		check 'a child that holds the output does not hold the command' \
			exits 0 elsewhere exec "foreign-$$" -- sh -c 'sleep 7005 & exit 0'
	else
		echo 'skip from elsewhere: another user cannot reach the build and the temporary directory'
	fi
else
	echo 'skip from elsewhere: there is no socat'
fi
"$BERTH" down team.yaml >/dev/null
exit $bad
