#!/bin/bash
# podman.sh - podman's service as an engine: tests that were written for docker, against it as they are; the walls that
# podman has no words for, seen from inside; and podman without root, whose containers are watched and where nothing is made.
set -u
. "$SRC/tests/lib/engine.sh"
. "$SRC/tests/lib/check.sh"
cd "$TMPDIR" || exit 1
p=$TMPDIR/p r=$(mktemp -d /tmp/pr.XXXXXX) user='' agent=pod$$
clean_up() {
	umount "$TMPDIR/tree/on" 2>/dev/null
	DOCKER_HOST=unix://$p/podman.sock "$BERTH" down --all --yes >/dev/null 2>&1
	podman_stop "$p"
	podman_stop "$r" "$user"
}
trap clean_up EXIT

# What tests of docker's run here, each as tests/run would run it.
same="engine/agents engine/tools engine/clean"
[ "${BERTH_SOAK-}" != 1 ] || same+=" engine/lane engine/paths engine/pool engine/cli engine/tool_cli"

run_there() { # TEST
	local place=$TMPDIR/s status command=$SRC/tests/$1.sh
	[ -x "$command" ] || command=$SRC/tests/$1.py
	[ -x "$command" ] || command=$BUILD/${1/\//_}
	mkdir -m 700 "$place" "$place/t" "$place/h" "$place/r"
	env HOME="$place/h" TMPDIR="$place/t" XDG_RUNTIME_DIR="$place/r" BERTH_TEST_ENGINE="unix://$p/podman.sock" \
		BERTH_TEST_ENGINE_DIR="$p" BERTH_TEST_PODMAN=1 "$command" >said 2>&1 </dev/null
	status=$?
	rm -rf "$place"
	grep -v '^ok \|^\[       OK \]' said
	return $status
}

if ! podman_start "$p"; then
	echo "not ok podman starts"
	exit 1
fi
for one in $same; do
	check "$one" run_there "$one"
done

of='walls'
export DOCKER_HOST=unix://$p/podman.sock THE_KEY='a secret'
mkdir ws docs 'ws,ro=false' tree tree/on && chmod 755 ws docs tree && chown 1000:1000 ws 'ws,ro=false'
echo no >docs/a
mount -t tmpfs -o size=1m below tree/on && echo below >tree/on/file
cat >team.yaml <<YAML
agents:
  $agent: {image: "box:1", workspace: ./ws, memory: 64m, cpus: 0.5, pids: 64, tmp: 8m, secrets: [key], context_paths: [{path: ./docs}, {path: ./tree}]}
custom_tools:
  greet: {type: docker, image: "box:1", script: 'echo "hello \$1"; exit 3'}
secrets: {key: {env: THE_KEY}}
YAML
sed 's|: ./ws,|: "./ws,ro=false",|' team.yaml >comma.yaml
chmod 644 ./*.yaml
inside() { "$BERTH" exec "$agent" -- sh -c "exec 2>&1; $1"; }

check 'a comma in a path is refused' says 4 '*podman cannot mount *ws,ro=false*comma*' "$BERTH" up comma.yaml
check 'and nothing is made' test -z "$(docker ps -aq)"
check 'up' says 0 '*' "$BERTH" up team.yaml
check 'everything that was asked for is in force' bash -c '"$BERTH" up --json team.yaml >up.json; cat up.json; grep -q "\"enforced\"" up.json'
check 'and nothing differs from it' says 0 '*' "$BERTH" ps --json
check 'the lane is there' bash -c '"$BERTH" exec --json "$0" -- true | grep -q "\"path\": \"lane\""' "$agent"
check 'files in memory are limited' says 0 '4096' inside 'df -i /tmp | awk "END {print \$2}"'
# shellcheck disable=SC2016 # for the shell in there
check 'a flood of them ends, and the container lives' says 0 '*No space*lives' inside \
	'i=0; while true >/tmp/$i; do i=$((i + 1)); done; echo lives'
check 'no place is writable that was not asked for' says 0 '*Read-only file system*' inside 'echo x >/var/tmp/x; :'
check 'what is in memory has its owner' says 0 '1000 1000' inside 'stat -c %u /run /run/secrets | tr "\n" " " | sed "s/ $//"'
check 'a secret is there' says 0 'a secret' inside 'cat /run/secrets/key'
check 'and nowhere in the engine' bash -c '! docker inspect "berth-$0" | grep -q "a secret"' "$agent"
check 'what is mounted below a place to read does not come along' says 0 '' inside 'cat /*/*/*/tree/on/* 2>/dev/null; cat $(dirname $PWD)/tree/on/* 2>/dev/null; :'
check 'a place to read is' says 0 '*Read-only*' inside 'echo x >$(dirname $PWD)/docs/a; :'
check 'no new privileges, a filter, no capability' says 0 '*CapBnd:?0000000000000000*NoNewPrivs:?1*Seccomp:?2*' inside 'cat /proc/self/status'
check 'a tool' says 3 'hello you' "$BERTH" -c team.yaml tool run greet -- you
docker restart -t 0 "berth-$agent" >/dev/null
check 'a start that was not berth'"'"'s is refused' says 125 '*limits of its files in memory*berth up*' "$BERTH" exec "$agent" -- true
check 'up gives it everything again' says 0 '*' "$BERTH" up team.yaml
check 'the limit as well' says 0 '4096' inside 'df -i /tmp | awk "END {print \$2}"'
docker run -d --name foreign --network none box:1 sleep 1000 >/dev/null
printf 'a\020\021b' >keys
check 'Ctrl-P Ctrl-Q are bytes as others' bash -c '"$BERTH" exec -i foreign -- cat <keys | cmp - keys'
check 'a command ends as it ends' says 7 'out' "$BERTH" exec foreign -- sh -c 'echo out; exit 7'
check 'one that is not there' says 127 '*' "$BERTH" exec foreign -- /no/such/program
check 'one that takes too long is ended' says 124 '*' "$BERTH" exec --timeout 1 foreign -- sh -c 'sleep 7004 & sleep 7004'
check 'with what it started' bash -c '! docker top foreign | grep 7004'
check 'it is removed without a grace' says 0 '*' timeout 60 "$BERTH" rm -f --yes --foreign foreign
check 'down' says 0 '*' "$BERTH" down team.yaml
check 'nothing is left' test -z "$(docker ps -aq)"
"$BERTH" doctor --json >doctor.json
check 'doctor says what it lacks' bash -c 'cat doctor.json; grep -q "accepts a seccomp filter only as a file" doctor.json'
check 'in its form' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/doctor.json" <doctor.json
umount tree/on

of='without root'
user=$(podman_user "$r")
podman_start "$r" "$user" || { echo "not ok podman without root starts"; exit 1; }
export DOCKER_HOST=unix://$r/podman.sock
check 'up is refused' says 4 '*podman 4*runs without root*' "$BERTH" up team.yaml
check 'a tool is' says 125 '*podman 4*runs without root*' "$BERTH" -c team.yaml tool run greet -- you
check 'and nothing is made' test -z "$(docker ps -aq)$(docker volume ls -q)"
check 'doctor says why' says 0 '*agents and tools are refused on this podman*' "$BERTH" doctor
docker run -d --name watched --network none box:1 sh -c 'echo word; exec sleep 1000' >/dev/null
check 'its containers are listed' says 0 '*watched*running*' "$BERTH" ps
check 'a command runs in them' says 7 'out' "$BERTH" exec watched -- sh -c 'echo out; exit 7'
check 'and is ended in time' says 124 '*' "$BERTH" exec --timeout 1 watched -- sleep 7003
check 'with what it started' bash -c '! docker top watched | grep 7003'
check 'logs' says 0 '*word*' "$BERTH" logs watched
check 'stop' says 0 '*' "$BERTH" stop -t 0 --foreign watched
check 'rm' says 0 '*' "$BERTH" rm --yes --foreign watched
check 'nothing is left' test -z "$(docker ps -aq)"
exit $bad
