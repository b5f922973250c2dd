#!/bin/bash
# networks.sh - a private network: its members reach each other by name, and nothing else at all.
. "$SRC/tests/lib/engine.sh"
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
a=na$$ b=nb$$ c=nc$$ listener='' server=''
in_engine() {
	nsenter -t "$(cat "$BERTH_TEST_ENGINE_DIR/docker.pid")" -n "$@"
}
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; [ -z "$listener" ] || kill "$listener" 2>/dev/null
	docker rm -f "foreign-$$" "berth-$a" "berth-$b" "berth-$c" >/dev/null 2>&1
	docker volume rm -f "berth-home-berth-$a" "berth-home-berth-$b" "berth-home-berth-$c" >/dev/null 2>&1' EXIT

mkdir wa wb wc && chmod 755 . && chown 1000:1000 wa wb wc
cat >team.yaml <<YAML
agents:
  $a: {image: "box:1", workspace: ./wa, memory: 32m, network: {internal: team}}
  $b: {image: "box:1", workspace: ./wb, memory: 32m, network: {internal: team}}
  $c: {image: "box:1", workspace: ./wc, memory: 32m, network: {internal: other}}
custom_tools:
  fetch: {type: docker, image: "box:1", script: 'nc -w 10 $a 8000 </dev/null',
    isolation: {network: {internal: team}}}
networks:
  team: {members: [$a, $b, fetch]}
  other: {members: [$c]}
YAML
"$BERTH" up team.yaml || exit 1
check 'two networks are there' \
	bash -c 'docker network ls --filter label=berth.role=network -q | wc -l | grep -qx 2'
check 'bringing up again changes nothing' bash -c '"$BERTH" up team.yaml | grep -c "unchanged" | grep -qx 3'

address() { # CONTAINER
	docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$1"
}
hello='while :; do echo hello | nc -l -p 8000; done' # a server
get() { # AGENT HOST PORT: what it says
	"$BERTH" exec "$1" -- nc -w 1 "$2" "$3" </dev/null
}
"$BERTH" exec "$a" -- sh -c "$hello" &
server=$!
says() { # WORD COMMAND...
	local word=$1
	shift
	"$@" | grep -qx "$word"
}
wait_for 60 says hello get "$a" 127.0.0.1 8000
check 'a member reaches a member by name' wait_for 60 says hello get "$b" "$a" 8000
check 'a tool that is a member, too' wait_for 60 says hello "$BERTH" -c team.yaml tool run fetch
check 'the network of another name does not' fails get "$c" "$(address "berth-$a")" 8000

docker run -d --name "foreign-$$" box:1 sh -c "$hello" >/dev/null
check 'the ordinary network works' wait_for 60 says hello docker exec "foreign-$$" nc -w 1 127.0.0.1 8000
check 'but reaches no member' fails docker exec "foreign-$$" nc -w 1 "$(address "berth-$a")" 8000
check 'which is not reached from inside' fails get "$a" "$(address "foreign-$$")" 8000

# The host: something listens on all its addresses, the bridges' own among them.
# (Not by in_engine: that would be a shell, and the listener its child.)
nsenter -t "$(cat "$BERTH_TEST_ENGINE_DIR/docker.pid")" -n /usr/bin/python3 -m http.server 9000 --directory wa >/dev/null 2>&1 &
listener=$!
wait_for 60 in_engine curl -sf -m 10 http://127.0.0.1:9000/
gateway=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "berth-$a" | sed 's/[0-9]*$/1/')
docker0=$(in_engine ip -4 -o addr show docker0 | sed 's/.*inet \([0-9.]*\).*/\1/')
check "the listener answers on docker0 ($docker0)" in_engine curl -sf -m 20 "http://$docker0:9000/" -o /dev/null
check "the network's own gateway ($gateway) is nobody" fails get "$a" "$gateway" 9000
check "the host's docker0 is not reached" fails get "$a" "$docker0" 9000
check 'and no IPv6 address' bash -c '! "$BERTH" exec '"$a"' -- cat /proc/net/if_inet6 | grep -v " lo$" | grep -q .'
check 'names of the outside world are not asked for' fails "$BERTH" exec --timeout 5 "$a" -- nslookup example.org
check 'not even by way of the host' \
	bash -c "docker inspect -f '{{.HostConfig.Dns}}' berth-$a | grep -qx '\[127.0.0.1\]'"

# Somebody else's container on it: then nobody joins any more.
full=$(docker inspect -f '{{range \$n, \$x := .NetworkSettings.Networks}}{{\$n}}{{end}}' "berth-$a" 2>/dev/null ||
	docker network ls --filter label=berth.role=network --format '{{.Name}}' | grep '^berth-team-')
docker network connect "$full" "foreign-$$"
check 'a stranger on the network is refused company' \
	bash -c '! "$BERTH" -c team.yaml tool run fetch 2>err; grep -q "not a member" err'
docker network disconnect "$full" "foreign-$$"

kill $server
"$BERTH" down team.yaml >/dev/null
check 'when the last one is down the networks are gone' \
	bash -c '! docker network ls --filter label=berth.role=network -q | grep -q .'
check 'making and removing them is in the log' \
	bash -c '"$BERTH" audit list --act "network.*" | grep -c "network" | grep -qvx "[0-3]"'

# A rate limit is in the kernel, at both ends, and read back; where it makes no sense it is refused.
cat >rate.yaml <<YAML
agents:
  $a: {image: "box:1", workspace: ./wa, memory: 32m, network: bridge, network_rate: 1m}
YAML
if in_engine tc qdisc replace dev lo root tbf rate 1gbit burst 1m latency 10ms 2>/dev/null; then
	in_engine tc qdisc del dev lo root
	check 'a rate limit is set and read back' bash -c \
		'"$BERTH" up --json rate.yaml | tr -d "\n " | grep -q "\"what\":\"networkrate\",\"asked\":\"1.0M/s\",\"actual\":\"1.0M/s\",\"same\":true"'
	check "at the engine's end, too" bash -c "nsenter -t $(cat "$BERTH_TEST_ENGINE_DIR/docker.pid") -n tc qdisc show | grep -q 'tbf.*rate 8388Kbit'"
	check 'where nothing is to be limited it is refused' bash -c \
		'sed "s/bridge/none/" rate.yaml >none.yaml; ! "$BERTH" up none.yaml 2>err; grep -q "nothing to limit" err'
	"$BERTH" down rate.yaml >/dev/null
else
	check 'a rate limit that the kernel cannot keep is refused' bash -c \
		'! "$BERTH" up rate.yaml 2>err; grep -q "never ignores a" err'
fi
far=$(engine_tcp "$BERTH_TEST_ENGINE_DIR") || exit 1
check 'one of an engine reached over a network is refused' bash -c \
	"! \"\$BERTH\" -H $far up rate.yaml 2>err && grep -q 'its engine is not on this machine' err"
"$BERTH" down rate.yaml >/dev/null
cat >stranger.yaml <<YAML
agents:
  $a: {image: "box:1", workspace: ./wa, network: {internal: team}}
networks: {team: {members: []}}
YAML
check 'who is no member is told so' bash -c '! "$BERTH" up stranger.yaml 2>err; grep -q "is not among the members" err'
exit $bad
