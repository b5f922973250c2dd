#!/bin/bash
# loop.sh - a task in an image of its own on a loop device: what an agent can fill, what berth's verbs do across the
# mount, and that a workspace which is not mounted is never taken for an empty one.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
agent=loop$$
mkdir -m 700 data state small
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
chmod 755 .
tree=$PWD/data/berth/workspaces
box=$tree/tasks/box
image=$tree/.images/task:box
end() {
	"$BERTH" down --all --yes >/dev/null 2>&1
	docker rm -f "$agent-other" >/dev/null 2>&1
	docker volume rm -f "berth-home-berth-$agent" >/dev/null 2>&1
	findmnt -rno TARGET | grep "^$PWD/" | xargs -r -n 1 umount -l
}
trap end EXIT

say() { "$BERTH" workspace show "$1" --json | python3 -c "import json,sys; d=json.load(sys.stdin); print($2)"; }
kind() { say "$1" 'd["limits"]["kind"]'; }
in_box() { "$BERTH" exec "$agent" -- sh -c "cd $box/files; $1"; }
mounted() { findmnt -rno OPTIONS "$box"; }
backed() { losetup -nO BACK-FILE | grep -c "$PWD/"; }
describe() { (cd "$1" && find . -printf '%p %m %s %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
nothing_of() { ! ls "$tree/tasks/$1" && ! ls "$tree"/.images/*"task:$1" && ! ls "$tree/.limits/task:$1.new"; }
as_it_was() { describe "$box" | diff before -; }
refused() { says 1 '*not mounted*' "$BERTH" workspace "$@"; }
may_grow() { (($((16#$(sed -n 's/^CapEff:\t//p' /proc/self/status))) >> 24 & 1)); }
room() { [ "$(stat -f -c '%b' "$box")" -gt "$1" ]; }

check 'a project has none' says 2 '*--loop is for tasks only*' "$BERTH" workspace create project site --loop 20m
check 'a size that is none' says 2 '*--loop takes a size*' "$BERTH" workspace create task box --loop 0
check 'more than can be' says 2 '*up to 8T*' "$BERTH" workspace create task box --loop 100t
# The tree may be closed to others, with the programs and the lists that sanitizers read.
other=$(mktemp -d /dev/shm/loop.XXXXXX)
cp "$(dirname "$BERTH")"/berth{,-files} "$other" && mkdir "$other/home" && chown -R 65534:65534 "$other"
check 'nobody but root' says 2 '*only root*' setpriv --reuid 65534 --regid 65534 --clear-groups \
	env -u XDG_RUNTIME_DIR -u LSAN_OPTIONS -u TSAN_OPTIONS XDG_DATA_HOME="$other/home" XDG_STATE_HOME="$other/home" HOME="$other/home" \
	"$other/berth" workspace create task box --loop 20m
rm -rf "$other"
mount -t tmpfs -o size=30m none small
check 'what the disk cannot hold' says 1 '*cannot reserve*No space*' env XDG_DATA_HOME="$PWD/small" "$BERTH" workspace create task big --loop 1g
check 'leaves nothing' test -z "$(find small -path '*big*')"
umount small
check 'a task with an image' says 0 "$box" "$BERTH" workspace create task box --prompt 'Fill it.' --loop 20m
check 'is one as any' grep -qx 'Fill it.' "$box/prompt.md"
check 'with nothing else in it' test ! -e "$box/lost+found"
check 'it is mounted so that nothing in it is a device or set-uid' [ "$(mounted | grep -o 'nosuid,nodev')" = nosuid,nodev ]
check 'its image is ours alone' test "$(stat -c '%U %a %h' "$image")" = 'root 600 1'
check 'all of its space is taken' test "$(($(stat -c '%b * 512' "$image")))" -ge "$(stat -c %s "$image")"
size=$(stat -c %s "$image")
check 'twice' says 1 '*already exists*' "$BERTH" workspace create task box --loop 20m
check 'how it is kept is shown' says 0 'loop image' kind box
check 'beside asked and used' says 0 'True' say box 'd["limits"]["bytes"] == 20<<20 and 20<<20 <= d["limits"]["quota"]["bytes"] < 30<<20'
check 'to a person, too' says 0 '*20M, * files, loop image*own count*' "$BERTH" workspace show box
check 'as its schema says' fits workspace "$BERTH" workspace show box --json
check 'counted across the mount' says 0 'True' say box 'd["files"] == 5 and d["directories"] >= 2 and d["unread"] == 0'
check 'in usage' says 0 '*tasks/box  loop image*' "$BERTH" workspace usage
check 'as its schema says, too' fits workspace_usage "$BERTH" workspace usage --json

chown -hR 1000:1000 "$box"
printf 'agents: {%s: {image: "box:1", workspace: "task:box", memory: 64m, pids: 32}}\n' "$agent" >team.yaml
umount "$box"
check 'where it is not mounted nobody gets in' test "$(stat -c '%u %a' "$box")" = '0 0'
check 'up mounts it again' says 0 '*' "$BERTH" up team.yaml
check 'an agent writes in it' in_box 'head -c 3000000 /dev/zero >mine'
check 'and sees it as its own' in_box 'test "$(stat -c %u .)" = 1000'
"$BERTH" workspace limit box --on-breach warn >/dev/null
check 'too much fails' says 1 '*' in_box 'head -c 80000000 /dev/zero >big'
check 'and stops at the limit' test "$(stat -c %s "$box/files/big")" -lt 23000000
check 'or what is left of it' says 1 '*No space*' sh -c 'exec dd if=/dev/zero of="$0/files/more" bs=1M count=30' "$box"
rm -f "$box/files/more"
if may_grow; then
	check 'a larger one' says 0 '*100M*loop image*' "$BERTH" workspace limit box --bytes 100m
	check 'has room' in_box 'head -c 80000000 /dev/zero >big'
	check 'and none is made smaller' says 0 '*50M*loop image*' "$BERTH" workspace limit box --bytes 50m
	check 'for it cannot' room 25000
else
	check 'where the kernel lets nobody resize it, it is said' says 1 '*larger*CAP_SYS_RESOURCE*' "$BERTH" workspace limit box --bytes 100m
	check 'and all is as before' test "$(stat -c %s "$image")" = "$size"
	check 'a smaller one is counted' says 0 '*10M*loop image*' "$BERTH" workspace limit box --bytes 10m
fi
check 'no size is none' says 2 '*needs a size*' "$BERTH" workspace limit box --bytes none
check 'more files than it can hold' says 4 '*at most * files and cannot*' "$BERTH" workspace limit box --files 100000000
check 'are not said to be its limit' says 0 10000 say box 'd["limits"]["files"]'
check 'more than the disk has' says 1 '*No space*' "$BERTH" workspace limit box --bytes 7t
check 'changes nothing' says 0 '*[51]0M, *' "$BERTH" workspace show box
rm "$box/files/big"
check 'an agent has it, so it stays' says 1 '*in use by*' "$BERTH" workspace archive box

of='across the mount'
mkdir "$box/files/other" && mount -t tmpfs none "$box/files/other" && : >"$box/files/other/not ours"
ln "$box/files/mine" "$box/files/same"
check 'a checkpoint' says 0 '*below 1 mount*one *' "$BERTH" workspace checkpoint box one
umount "$box/files/other"
describe "$box" >before
echo changed >"$box/files/mine" && rm "$box/files/same"
check 'diff' says 0 '*files/mine*files/same*' "$BERTH" workspace diff --stat box@one box
check 'what is mounted in it is none of it' test -z "$("$BERTH" workspace diff --stat box@one box | grep ours)"
check 'restore' says 0 '*' "$BERTH" workspace restore box one
check 'is exact' as_it_was
check 'fork' says 0 "$tree/tasks/box-1" "$BERTH" workspace fork box 1
check 'is one in the tree' says 0 counted kind box-1
mkdir target
check 'apply' says 0 '*' "$BERTH" workspace apply box files/mine --into "$PWD/target"
check 'has it whole' cmp target/files/mine "$box/files/mine"
check 'hand-over' says 0 '*' "$BERTH" workspace hand-over box box-1 files/mine
check 'verify' says 0 '*' "$BERTH" workspace verify
check 'down' says 0 '*' "$BERTH" down team.yaml
of='not mounted'
check 'it can be unmounted' wait_for 60 umount "$box"
chmod 644 "$image"
check 'it is not mounted' test -z "$(mounted)"
check 'listed' says 0 '*box *not mounted*' "$BERTH" workspace list
check 'not counted' says 0 '*tasks/box*not mounted*' "$BERTH" workspace usage
for verb in 'checkpoint box two' 'restore box one' 'archive box' 'clean box' 'fork box 1' 'show box' 'limit box --bytes 1g' 'diff box box@one' \
	"apply box files --into $PWD/target" 'hand-over box box-1 files/mine'; do
	# shellcheck disable=SC2086 # words
	check "$verb" refused $verb
done
chmod 600 "$image" && chown 65534 "$image"
check "somebody else's is not mounted" refused show box
chown 0 "$image" && ln "$image" "$tree/second"
check 'nor one with a second name' refused show box
rm "$tree/second" && mv "$image" "$tree/away" && ln -s ../away "$image"
check 'nor a link' says 1 '*' "$BERTH" workspace show box
rm "$image" && mv "$tree/away" "$image"
check 'mounted again' says 0 'loop image' kind box
check 'as it was' as_it_was
of='the end'
docker run -d --name "$agent-other" -v "$box:$box" box:1 sleep 1000 >/dev/null
check 'a container that berth does not know has it, at the same path' says 1 '*has it mounted*' "$BERTH" workspace archive box
docker rm -f "$agent-other" >/dev/null
unshare -m --propagation private sleep 1000 &
copy=$!
check 'who only copied the table of mounts keeps it from nothing' wait_for 60 sh -c '[ "$(readlink /proc/$0/ns/mnt)" != "$(readlink /proc/$$/ns/mnt)" ]' "$copy"
check 'archive' says 0 '*' "$BERTH" workspace archive box
kill "$copy" && wait "$copy" 2>/dev/null
check 'leaves nothing' nothing_of box
check 'nor a device' wait_for 60 sh -c '! losetup -nO BACK-FILE | grep -q "$0/"' "$PWD"
check 'unarchive' says 0 '*' "$BERTH" workspace unarchive box
check 'is one in the tree' says 0 counted kind box
check 'with what was in it' cmp target/files/mine "$box/files/mine"
create() { "$BERTH" workspace create task "$1" --loop 4m >"said.$2" 2>&1; echo $? >>"said.$2"; }
for i in 1 2 3 4; do
	create same $i &
	create own$i own$i &
done
wait
check 'of four at once one is made' test "$(grep -lx 0 said.[1-4] | wc -l)" = 1
check 'and of others each' test "$(grep -lx 0 said.own[1-4] | wc -l)" = 4
check 'all are mounted' test "$(backed)" = 5
check 'the same inode everywhere, and yet not the same' says 0 'tasks/own1: done' "$BERTH" workspace mark own1 'done'
check 'for one alone' says 0 '*own1 *done*own2 *open*' "$BERTH" workspace list
check 'clean' says 0 '*' "$BERTH" workspace clean same own1 own2 own3 own4
check 'takes them away' test "$(backed)" = 0
check 'a new one of that name' says 0 '*' "$BERTH" workspace create task own1 --loop 4m
check 'is open' says 0 '*own1 *open*' "$BERTH" workspace list
check 'and goes' says 0 '*' "$BERTH" workspace clean own1
of='a restore that does not fit'
big=$tree/tasks/big
"$BERTH" workspace create task big >/dev/null
head -c 60000000 /dev/urandom >"$big/files/too much"
for i in 1 2 3 4 5 6 7 8 9; do mkdir "$big/files/$i" && head -c 100000 /dev/urandom >"$big/files/$i/some"; done
check 'a checkpoint' says 0 '*' "$BERTH" workspace checkpoint big large
check 'stays with the name' says 0 '*' "$BERTH" workspace clean big
check 'in less room' says 0 '*' "$BERTH" workspace create task big --loop 20m
mkdir "$big/files/1" && head -c 15000000 /dev/urandom >"$big/files/1/what is there" && echo b >"$big/files/1/some" && ln -s x "$big/files/2"
box=$big
describe "$box" >before
check 'fails' says 1 '*everything is as it was before*No space*' "$BERTH" workspace restore big large
check 'and all is as it was' as_it_was
check 'nothing is half done' says 0 None say big 'd["pending"]'
check 'what fits goes on' says 0 '*1 removed*' sh -c 'echo new >"$1/files/new"; one=$("$0" workspace checkpoints big | grep -o "^before-[^ ]*"); "$0" workspace restore big "$one"' "$BERTH" "$big"
check 'as before' as_it_was
check 'and it goes' says 0 '*' "$BERTH" workspace clean big
of=
check 'the log is sound' says 0 '*' "$BERTH" audit verify
exit $bad
