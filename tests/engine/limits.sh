#!/bin/bash
# limits.sh - a workspace of an agent holds no more than it may: its container stands still until a person raises the
# limit, makes room or lets it go on; and what watches over that may die.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
agent=limits$$
mkdir -m 700 data state
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
chmod 755 .
tree=$PWD/data/berth/workspaces/tasks/lim
files=$tree/files
trap '"$BERTH" down --all --yes >/dev/null 2>&1; docker rm -f berth-$agent >/dev/null 2>&1; docker volume rm -f berth-home-berth-$agent >/dev/null 2>&1' EXIT
printf 'agents: {%s: {image: "box:1", workspace: "task:lim", memory: 256m, cpus: 1, pids: 64}}\n' "$agent" >team.yaml
chmod 644 team.yaml

keeper() { cat "$XDG_RUNTIME_DIR/berth/keeper"; }
keeps() { "$BERTH" doctor --json | grep -q '"kept by process'; }
frozen() { "$BERTH" workspace show lim --json | python3 -c 'import json,sys; sys.exit(json.load(sys.stdin)["limits"]["frozen"] is None)'; }
runs() { ! frozen; }
# inside SCRIPT: in the background, where the workspace is. What writes there takes its time, as a keeper does that has
# to wait for a processor: a megabyte, or a hundred files, and a fifth of a second; where it has stood, at once.
slowly='i=0; while [ $i -lt 100 ]; do head -c 1000000 /dev/zero; i=$((i + 1)); [ -e stood ] || sleep 0.2; done'
inside() { "$BERTH" exec "$agent" -- sh -c "cd $files; $1" >exec.out 2>&1 & job=$!; }
ended() { ! kill -0 "$job" 2>/dev/null; }

check 'nothing keeps where nobody has a workspace' says 0 '*' "$BERTH" doctor
check 'up' says 0 '*' "$BERTH" up --create team.yaml
check 'something keeps its limits' keeps
first=$(keeper)
case $VARIANT in
asan | tsan) echo 'skip in a few megabytes: what a sanitizer keeps beside each byte counts, too' ;;
*) check 'in a few megabytes' test "$(awk '/^Private/ {n += $2} END {print n}' "/proc/$first/smaps_rollup")" -le 4096 ;;
esac
check 'and another one does not' says 1 '*another keeper is already running*' "$BERTH" workspace keep
check 'what holds is shown' says 0 '*1.0G, 10,000 files, counted; a breach is frozen*' "$BERTH" workspace show lim
check 'and as JSON' fits workspace "$BERTH" workspace show lim --json
check 'a limit that is none' says 2 '*--bytes takes*' "$BERTH" workspace limit lim --bytes much
check 'files that are none' says 2 '*--files takes*' "$BERTH" workspace limit lim --files -1
check 'an end that is none' says 2 '*freeze, warn, kill or refuse*' "$BERTH" workspace limit lim --on-breach stop
check 'nothing asked' says 2 '*--bytes, --files and --on-breach*' "$BERTH" workspace limit lim
check 'not in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace limit lim --bytes 20m
check 'one of its own' says 0 'tasks/lim: 20M, 10,000 files*' "$BERTH" workspace limit lim --bytes 20m

of='bytes'
inside "($slowly) >big; echo through"
check 'more than it may' wait_for 60 frozen
check 'it is not much more' test "$(stat -c %s "$files/big")" -lt 90000000
check 'why is shown' says 0 "*berth-$agent is frozen: the task lim holds *, and its limit is 20M*" "$BERTH" workspace show lim
check 'and told to who wants to run something' says 125 '*its limit is 20M*workspace thaw*' "$BERTH" exec --timeout 5 "$agent" -- true
check 'it is on record' says 0 '*workspace.breach*tasks/lim*action=freeze*' "$BERTH" audit list
check 'a checkpoint can be made of it' says 0 '*over *files*' "$BERTH" workspace checkpoint lim over
check 'and it still stands' frozen
: >"$files/stood"
check 'raised' says 0 '*1.0G*' "$BERTH" workspace limit lim --bytes 1g
check 'it goes on' wait_for 60 runs
check 'to its end' wait_for 60 ended
check 'as if nothing had been' grep -qx through exec.out
check 'lowered below what it holds' says 0 '*20M*' "$BERTH" workspace limit lim --bytes 20m
check 'it stands' wait_for 60 frozen
rm "$files/big" "$files/stood"
check 'with room made it goes on' wait_for 60 runs

of='a person lets it go on'
inside 'echo begun; while [ ! -e go ]; do sleep 0.1; done; rm a go; echo room'
check 'it waits' wait_for 60 grep -q begun exec.out # who comes later is refused
head -c 30000000 /dev/zero >"$files/a"
check 'it stands' wait_for 60 frozen
: >"$files/go"
check 'let go' says 0 '*holds more than its limit*1 container runs again*' "$BERTH" workspace thaw lim
check 'it makes room and ends' wait_for 60 ended
check 'in order' grep -qx room exec.out

of='who shows it'
of_lim() { python3 -c 'import json,sys; print(next(w for w in json.load(sys.stdin)["workspaces"] if w["name"] == "lim")[sys.argv[1]])' "$1"; }
# known FIELD: as the keeper has it, without a count now.
known() { "$BERTH" workspace usage --cached --json | of_lim "$1"; }
# sees FIELD N: a flag of the keeper's.
sees() { [ "$("$BERTH" workspace show lim --json | python3 -c 'import json,sys; print((json.load(sys.stdin)["live_flags"] or {}).get(sys.argv[1]))' "$1")" = "$2" ]; }
holds() { [ "$(known bytes)" = "$1" ]; }
# The keeper may not have looked yet at what was removed a moment ago.
is_up_to_date() { holds "$("$BERTH" workspace usage --json | of_lim bytes)"; }
"$BERTH" workspace limit lim --bytes 1g >/dev/null
check 'nothing is flagged that was there before' wait_for 60 sees secrets 0
check 'what room was made is known' wait_for 60 is_up_to_date
before=$(known bytes)
inside 'head -c 3000000 /dev/zero >more; echo API_TOKEN=abcd1234efgh5678 >settings; ln -s /etc out; echo x >run; chmod +x run'
check 'it ends' wait_for 60 ended
check 'what it wrote is known without a count' wait_for 60 holds $((before + 3000000 + 27 + 2))
check 'it is the count that limits are enforced by' says 0 '*, as the keeper counts*' "$BERTH" workspace show lim
check 'a likely secret is seen' wait_for 60 sees secrets 1
check 'a link that leads out' sees links_out 1
check 'and an executable' sees executables 1
rm "$files/more" "$files/settings" "$files/out" "$files/run"
check 'gone, they are not' wait_for 60 sees secrets 0
check 'nor is what they held' wait_for 60 holds "$before"

of='files'
check 'limit' says 0 '*500 files*' "$BERTH" workspace limit lim --files 500 --bytes 1g
# shellcheck disable=SC2016 # for the shell in there
inside 'i=0; mkdir -p deep/er; while [ $i -lt 8000 ]; do : >deep/er/$i; i=$((i + 1)); [ $((i % 100)) != 0 ] || [ -e stood ] || sleep 0.2; done; echo through'
check 'a flood stands' wait_for 60 frozen
check 'soon' test "$(find "$files" | wc -l)" -lt 8000
: >"$files/stood"
check 'raised' says 0 '*any number of files*' "$BERTH" workspace limit lim --files none --bytes 200m
check 'it goes on to its end' wait_for 60 ended
rm -r "$files/deep" "$files/stood"
check 'limit again' says 0 '*' "$BERTH" workspace limit lim --bytes 30m

of='without a name'
inside 'exec 3>gone; rm gone; head -c 300000000 /dev/zero >&3; sleep 1000; echo through'
check 'it counts, too' wait_for 60 frozen
check 'ended by a person' says 0 '*' "$BERTH" workspace limit lim --on-breach kill
check 'what runs is killed' wait_for 60 ended
check 'and no container stands' wait_for 60 runs
inside 'head -c 100000000 /dev/zero >big; sleep 1000; echo through'
check 'the next one, too' wait_for 60 ended
check 'before its end' test "$(grep -c through exec.out)" = 0
rm -f "$files/big"

of='the keeper'
check 'freeze again' says 0 '*' "$BERTH" workspace limit lim --on-breach freeze
inside 'head -c 100000000 /dev/zero >big; echo through'
check 'it stands' wait_for 60 frozen
# And whatever else is in its group.
kill -9 -- "-$(cut -d' ' -f5 "/proc/$(keeper)/stat")"
check 'killed, what it froze goes on' wait_for 60 runs
check 'to its end' wait_for 60 ended
check 'that it is lost is shown' says 0 '*keeper lost*' "$BERTH" workspace show lim
check 'by doctor, too' says 0 '*keeper lost*' "$BERTH" doctor
check 'up starts another' says 0 '*' "$BERTH" up team.yaml
check 'another one' test "$(keeper)" != "$first"
check 'which finds it over its limit' wait_for 60 frozen
check 'down, while it stands' says 0 '*down*' timeout 120 "$BERTH" down team.yaml
gone=$(keeper)
check 'it ends with the last one' wait_for 60 test ! -e "/proc/$gone"
check 'and nothing is left frozen' test -z "$(ls "$XDG_RUNTIME_DIR/berth/frozen")"
check 'the log is sound' says 0 '*' "$BERTH" audit verify

of='Ctrl-C in its terminal'
rm -f "$files/big"
check 'up' says 0 '*' "$BERTH" up team.yaml
gone=$(keeper)
kill "$gone"
check 'the first one ends' wait_for 60 test ! -e "/proc/$gone"
# A group of processes of its own, as a shell starts a command; and SIGINT as it was, which it keeps from jobs.
env --default-signal=INT setsid "$BERTH" workspace keep >keep.out 2>&1 &
kept=$!
check 'it keeps' wait_for 60 keeps
check 'limit' says 0 '*' "$BERTH" workspace limit lim --bytes 20m
inside 'head -c 100000000 /dev/zero >big; echo through'
check 'it stands' wait_for 60 frozen
kill -INT -- "-$kept"
wait "$kept"
check 'it ends in order' test "$?" = 0
check 'without a word' test ! -s keep.out
check 'what stood goes on' wait_for 60 runs
check 'to its end' wait_for 60 ended
check 'and nothing is left frozen' test -z "$(ls "$XDG_RUNTIME_DIR/berth/frozen")"
check 'down' says 0 '*down*' timeout 120 "$BERTH" down team.yaml

of='an end without down'
rm -f "$files/big"
check 'up' says 0 '*' "$BERTH" up team.yaml
gone=$(keeper)
docker rm -f "berth-$agent" >/dev/null
check 'it ends by itself' wait_for 60 test ! -e "/proc/$gone"
exit $bad
