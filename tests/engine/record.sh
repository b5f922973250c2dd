#!/bin/bash
# record.sh - --record and --replay: a session with a real engine makes the same pictures without one, holds no secret,
# and does nothing when it is played.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
name=record-$$
trap 'docker -H "$BERTH_TEST_ENGINE" rm -f "$name" >/dev/null 2>&1' EXIT
docker -H "$BERTH_TEST_ENGINE" run -d --name "$name" --network none -e PLAIN=opensesame1 -e DB_PASSWORD=opensesame2 \
	--label api_token=opensesame3 box:1 sh -c 'while :; do echo it works; sleep 1; done' --password=opensesame4 \
	>/dev/null || exit 1

cat >session.script <<END
size 100 30
wait $name
type /$name
key Enter
wait CPU
key Enter
wait Isolation
dump
key Tab Tab Tab
wait DB_PASSWORD
dump
key Esc
key i
wait Args
dump
key Esc
key l
wait it works
dump
key Esc
key Space D
wait Remove
dump
key Esc
key 8
snapshot
dump
END
"$BERTH" -H "$BERTH_TEST_ENGINE" --script session.script --record session.rec >/dev/null 2>says
check 'a session is recorded' test $? = 0
"$BERTH" -H "$BERTH_TEST_ENGINE" --script session.script --record again.rec >seen.txt
check 'only its owner may read it' test "$(stat -c %a session.rec)" = 600
check 'there is no secret in it' sh -c '! zcat session.rec again.rec | grep -q opensesame'
check 'nor was one on the screen' sh -c '! grep -q opensesame seen.txt'

before=$(sha256sum session.rec)
"$BERTH" -H "$BERTH_TEST_ENGINE" --record session.rec --script session.script >/dev/null 2>says
check 'a file that is there is not written over' test $? = 2 -a "$(sha256sum session.rec)" = "$before"
check 'which is said' grep -q 'already exists' says
"$BERTH" --record x.rec --replay session.rec >/dev/null 2>&1
check 'one does not record a replay' test $? = 2 -a ! -e x.rec
"$BERTH" --record x.rec ps >/dev/null 2>&1
check 'nor a command' test $? = 2 -a ! -e x.rec

# Neither the engine nor anything of this machine is there.
mkdir -p nothing
alone() {
	env -i PATH=/nonexistent HOME="$TMPDIR/nothing" DOCKER_HOST="unix://$TMPDIR/no-engine" "$BERTH" "$@"
}
alone --replay again.rec >pictures.txt 2>says
check 'without an engine it makes the same pictures' grep -q 'pictures, all as they were recorded' says
# What the script saw is among what the replay shows.
cat >among.py <<'PY'
import re, sys
seen = open("seen.txt").read()
played = re.split(r"^# .*\n", open("pictures.txt").read(), flags=re.M)
for part in played:
    seen = seen.replace(part, "") if part else seen
sys.exit(seen.count("\n") > 60)
PY
check 'and prints them' python3 among.py
printf 'wait DB_PASSWORD\ndump\ngone DB_PASSWORD\nkey q\n' >step.script
alone --replay again.rec --script step.script >stepped 2>says
check 'a script steps through it, and presses nothing' grep -q 'what is pressed in a replay is on the recording' says
check 'up to what it waits for' grep -q 'DB_PASSWORD  \*' stepped
check 'nothing is written' test -z "$(find nothing -type f)"

# What a console that is killed has written is played.
printf 'wait %s\nsnapshot\nsnapshot\nsnapshot\nsnapshot\nwait never there\n' "$name" >long.script
"$BERTH" -H "$BERTH_TEST_ENGINE" --script long.script --record cut.rec >/dev/null 2>&1 &
for _ in $(seq 1200); do
	zcat cut.rec 2>/dev/null | grep -q '"picture"' && break
	sleep 0.05
done
kill -9 $!
wait $! 2>/dev/null
alone --replay cut.rec >cut.txt 2>says
check 'one that was cut off is played up to there' grep -q 'all as they were recorded; the console was ended' says
check 'to its end' grep -q "$name" cut.txt

# A recording is from a stranger.
{
	zcat again.rec | head -n 3
	for key in : t r a n s f o r m Space a Space b Space . Enter; do
		printf '{"at": 1, "wall": 1, "input": {"what": "key", "key": "%s"}}\n' "$key"
	done
	printf '{"at": 1, "wall": 1, "picture": 1}\n'
} >hostile.rec
alone --replay hostile.rec >hostile.txt 2>says
check 'what is pressed in it starts nothing' grep -q 'A replay starts nothing' hostile.txt
check 'what is not as it was is told' grep -q 'not as they were recorded' says
head -c 300 again.rec >damaged.rec
head -c 4000 /dev/urandom >>damaged.rec
alone --replay damaged.rec >/dev/null 2>says
check 'a damaged one is refused' test $? = 2
alone --replay /dev/zero >/dev/null 2>says
check 'so is what is not a file' test $? = 2
(ulimit -f 1; trap '' XFSZ; "$BERTH" -H "$BERTH_TEST_ENGINE" --script session.script --record full.rec >/dev/null 2>says)
check 'where it cannot be written the session goes on, and that is told' test $? = 1
check 'with a sentence' grep -q 'cannot be written' says
exit "$bad"
