#!/bin/bash
# ssh.sh - an engine behind a real sshd: commands, the console, what is lost and comes back, what is refused.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
. "$SRC/tests/lib/sshd.sh"
name=ssh-$$ socket=${BERTH_TEST_ENGINE#unix://}
export XDG_RUNTIME_DIR=$TMPDIR/r
mkdir -m 700 r keys
started() { wc -l <keys/started; }

leave() {
	for control in r/berth/ssh/*.ctl; do
		[ -S "$control" ] && ssh -S "$control" -O exit x
	done >/dev/null 2>&1
	sshd_stop
	docker -H "$BERTH_TEST_ENGINE" rm -f "$name" >/dev/null 2>&1
}
trap leave EXIT

port=$(engine_free_port)
sshd_prepare "$TMPDIR/keys" 127.0.0.1 "$port" || exit 1
echo "  LocalForward $(engine_free_port) 127.0.0.1:1" >>keys/config
sshd_start "$TMPDIR/keys" || { cat keys/log; exit 1; }
docker -H "$BERTH_TEST_ENGINE" run -d --name "$name" --network none box:1 \
	sh -c 'echo from afar; exec sleep 1000' >/dev/null || exit 1
me=$(id -un) at=ssh://$(id -un)@127.0.0.1:$port far=ssh://$(id -un)@127.0.0.1:$port$socket

check 'an engine behind ssh' says 0 "$name" "$BERTH" -H "$far" ps -f name="$name" --format '{{.Name}}'
check 'its logs' says 0 '*from afar*' "$BERTH" -H "$far" logs "$name"
check 'a command in one' says 0 '*afar too*' "$BERTH" -H "$far" exec "$name" -- echo afar too
check 'one ssh for all of them' test "$(started)" = 1
check 'its folder is ours alone' test "$(stat -c %a r/berth/ssh)" = 700
for _ in 1 2 3 4; do
	"$BERTH" -H "$far" ps -q >/dev/null 2>&1 &
	jobs[$!]=$!
done
wait "${jobs[@]}"
check 'for several at once, too' test "$(started)" = 1

check 'nothing listens there' says 3 "*nothing answers at /nowhere.sock there*" "$BERTH" -H "$at/nowhere.sock" ps
check 'a key that is not known' says 3 '*Permission denied*ssh-add*' \
	env PATH="$PATH" "$BERTH" -H "ssh://nobody@127.0.0.1:$port$socket" ps
check 'no sshd' says 3 '*ssh: connect to host*refused*' "$BERTH" -H "ssh://$me@127.0.0.1:1" ps
check 'an option for a host' says 2 '*is expected*' "$BERTH" -H "ssh://-oProxyCommand=touch x" ps
check 'a variable in a path' says 2 '*is expected*' env SECRET=hush "$BERTH" -H "$at/run/\${SECRET}" ps
check 'which the host never saw' bash -c '! grep -q hush keys/log'
check 'and a password' says 2 '*passwords are not taken*' "$BERTH" -H "ssh://me:secret@127.0.0.1" ps
check 'without ssh' says 3 '*install openssh-client*' env PATH=/nonexistent "$BERTH" -H "$at/other.sock" ps

BERTH_TEST_ENGINE=$far check 'every verb of the API' "$BUILD/engine_verbs"

# What ssh starts outlives it, if nobody sees to that: here a proxy that ignores the end of its connection, and one that hangs.
cat >>keys/config <<END
Host via
  HostKeyAlias [127.0.0.1]:$port
  ProxyCommand sh -c 'trap "" HUP TERM; socat STDIO TCP:127.0.0.1:$port; exec sleep 70$$1'
Host stuck
  ProxyCommand sh -c 'trap "" HUP TERM; exec sleep 70$$2'
END
proxied() { pgrep -f "^(sh -c trap.*|sleep )70$$$1" >/dev/null; }
gone() { ! proxied "$1"; }
check 'through a proxy' says 0 "$name" "$BERTH" -H "ssh://$me@via$socket" ps -f name="$name" --format '{{.Name}}'
check 'which runs' proxied 1
for control in r/berth/ssh/*.ctl; do
	grep -qz via "/proc/$(ssh -S "$control" -O check x 2>&1 | tr -dc 0-9)/cmdline" && ssh -S "$control" -O exit x 2>/dev/null
done
check 'until the connection ends' wait_for 60 gone 1
"$BERTH" -H ssh://stuck ps >/dev/null 2>&1 &
stuck=$!
check 'a proxy that hangs' wait_for 60 proxied 2
kill -9 "$stuck"
check 'goes with a berth that is killed' wait_for 60 gone 2

# The console, which asks nobody.
cat >script <<END
size 100 24
wait $name
wait 1 up
gone engine lost
dump
key q
END
check 'the console' says 0 "*$name*" "$BERTH" -H "$far" --script script
cat >script <<END
size 100 24
wait $name
dump
wait engine lost
wait Connection refused
dump
gone engine lost
wait $name
dump
END
before=$(started)
tried_again() { [ "$(started)" -gt $((before + 1)) ]; }
BERTH_LOG=$TMPDIR/log:engine "$BERTH" -H "$far" --script script >seen 2>&1 &
console=$!
wait_for 60 grep -q 'containers/json.*200\|200.*containers/json' log
sshd_stop
wait_for 60 tried_again
sshd_start "$TMPDIR/keys"
wait "$console"
status=$?
check 'a console whose sshd goes and comes back' bash -c "cat seen; exit $status"
check 'says what is the matter' grep -q 'engine lost' seen

# Another machine in its place.
sshd_stop
rm keys/host keys/host.pub
ssh-keygen -q -t ed25519 -N '' -f keys/host
sshd_start "$TMPDIR/keys"
check 'a host with another key is refused' says 3 '*Host key verification failed*' "$BERTH" -H "$far" ps
exit "$bad"
