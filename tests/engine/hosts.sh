#!/bin/bash
# hosts.sh - two engines at once, one of them behind an sshd in a network of its own: seen, acted on, lost and back.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
. "$SRC/tests/lib/sshd.sh"
near=$BERTH_TEST_ENGINE net=10.213.$(($$ % 250)) link=bh$$ port=2222
export XDG_RUNTIME_DIR=$TMPDIR/r XDG_STATE_HOME=$TMPDIR/state
mkdir -m 700 r
leave() {
	for control in r/berth/ssh/*.ctl; do
		[ -S "$control" ] && ssh -S "$control" -O exit x
	done >/dev/null 2>&1
	sshd_stop
	kill "$hold"
	docker -H "$near" rm -f "near-$$" "berth-plain-$$" "berth-handed-$$" >/dev/null 2>&1
	engine_stop "$TMPDIR/far"
}
trap leave EXIT

unshare --net -- sleep infinity &
hold=$!
inside=(nsenter "--net=/proc/$hold/ns/net")
wait_for 60 bash -c "[ \"\$(readlink /proc/$hold/ns/net)\" != \"\$(readlink /proc/$$/ns/net)\" ]"
ip link add "$link" type veth peer name far0 netns "$hold" && ip addr add "$net.1/30" dev "$link" && ip link set "$link" up &&
	"${inside[@]}" ip addr add "$net.2/30" dev far0 && "${inside[@]}" ip link set far0 up || exit 1
sshd_prepare "$TMPDIR/keys" "$net.2" "$port" && sshd_start "$TMPDIR/keys" "${inside[@]}" || { cat keys/log; exit 1; }
(engine_start "$TMPDIR/far") && engine_run "$TMPDIR/far" "far-$$" >/dev/null || exit 1
docker -H "$near" run -d --name "near-$$" --network none box:1 sleep 1000 >/dev/null || exit 1
far=ssh://$(id -un)@$net.2:$port$TMPDIR/far/docker.sock
cat >berth.yaml <<END
hosts:
  - {name: far, endpoint: "$far"}
END
export DOCKER_HOST=$near
berth() { "$BERTH" --settings berth.yaml "$@"; }

check 'both are listed' says 0 '*local * up *far * up *' berth host list
check 'one by its name' says 0 "far-$$" berth -H far ps --format '{{.Name}}'
check 'the rows of both' says 0 "*near-$$ local*" berth ps --all-hosts --format '{{.Name}} {{.Host}}'
check 'and of the other' says 0 "*far-$$ far*" berth ps --all-hosts --format '{{.Name}} {{.Host}}'
check 'one ssh for all of them' test "$(wc -l <keys/started)" = 1

cat >script <<END
size 140 24
wait near-$$
wait far-$$
wait 2 hosts
gone of 2 hosts
key /
type ^far
key Enter
gone near-$$
key S
wait on far
advance 500
key y
wait exited 
key Esc
wait near-$$
dump
wait 1 of 2 hosts
expect near-$$
expect far-$$
dump
gone 1 of 2
wait far-$$
END
"$BERTH" --settings berth.yaml --script script >seen 2>&1 &
console=$!
wait_for 60 grep -q near seen
check 'what was stopped is the one over there' test "$(docker -H "unix://$TMPDIR/far/docker.sock" inspect -f '{{.State.Running}}' "far-$$")" = false
ip link set "$link" down
at=$(date +%s%N)
wait_for 60 grep -q '1 of 2 hosts' seen
echo "# the network's loss was shown after $((($(date +%s%N) - at) / 1000000)) ms"
ip link set "$link" up
at=$(date +%s%N)
wait "$console"
check 'a host whose network goes and comes back' test $? = 0
echo "# its return after $((($(date +%s%N) - at) / 1000000)) ms"
[ "$bad" = 0 ] || sed 's/^/# /' seen
check 'the record names the host' says 0 '*@far/*' berth audit list --json --act container.stop

# Nothing secret goes to a host that is not marked for it; what has none is brought up.
mkdir ws && chown 1000:1000 ws
cat >team.yaml <<END
agents:
  plain-$$: {image: 'box:1', workspace: $PWD/ws, memory: 64m, pids: 64}
secrets: {key: {env: THE_KEY}}
END
sed "s/plain-$$: {/handed-$$: {secrets: [key], /" team.yaml >handed.yaml
export THE_KEY=hush
printf 'hosts:\n  - {name: here, endpoint: "%s"}\n' "$near" >here.yaml
sed 's/}/, secrets: true}/' here.yaml >trusted.yaml
check 'a host without secrets is given none' says 4 '*secrets would go to*' "$BERTH" --settings here.yaml -H here up handed.yaml
check 'which is recorded' says 0 '*agent.up*refused*' "$BERTH" audit list --json --act agent.up
check 'what has none is brought up' says 0 '*' "$BERTH" --settings here.yaml -H here up team.yaml
check 'and elsewhere, with secrets' says 0 '*' "$BERTH" --settings trusted.yaml -H here up handed.yaml
check 'their hand-over is on record' says 0 '*"secret.hand"*"ok"*"names":*"key"*' "$BERTH" audit list --json --act secret.hand --agent "handed-$$"
check 'they are there' says 0 'hush' "$BERTH" exec "handed-$$" -- cat /run/secrets/key
check 'and down' says 0 '*' "$BERTH" --settings here.yaml -H here down --all --yes

gone_ssh() { ! pgrep -f "r/berth/ssh/[0-9a-f]*.ctl" >/dev/null; }
check 'forgotten' says 0 '' berth host forget far
check 'its ssh has ended' wait_for 60 gone_ssh
check 'and is there again when it is asked for' says 0 "far-$$" berth -H far ps -a --format '{{.Name}}'

# Nothing answers there at all, and the person leaves.
berth host forget far
ip link set "$link" down
was=$(wc -l <keys/started)
printf 'wait near-%s\nadvance 1500\nkey q\n' "$$" >script
check 'a console is left while a host is being connected' says 0 '*' berth --script script
check 'it was' test "$(wc -l <keys/started)" -gt "$was"
check 'and leaves no ssh' gone_ssh
exit "$bad"
