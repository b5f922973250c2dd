#!/bin/bash
# workspace_archive.sh - the end of a workspace: archived, brought back, removed when due; what is refused.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/wait.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state XDG_CONFIG_HOME=$PWD/config
tree=$PWD/data/berth/workspaces

# What a tree holds: names, modes, times and contents.
describe() {
	(cd "$1" && find . -printf '%p %m %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

mkdir data
"$BERTH" workspace create task fix >out
mkdir -p "$tree/tasks/fix/files/deep"
printf 'one\n' >"$tree/tasks/fix/files/deep/a"
printf 'API_TOKEN=abcd1234efgh5678\n' >"$tree/tasks/fix/files/settings"
ln -s /etc/hostname "$tree/tasks/fix/files/out"
"$BERTH" workspace checkpoint fix start >out
describe "$tree/tasks/fix" >before

check 'archived, and what looks like a secret is told' \
	says 0 'secret   files/settings:1  likely a value whose name suggests a secret*tasks/fix: archived, 7 files, *' "$BERTH" workspace archive fix
check 'the workspace is gone' test ! -e "$tree/tasks/fix"
check 'the archive is there, for nobody else' test "$(stat -c %a "$tree/archives/tasks/fix.tar.zst")" = 600
check 'it is listed' says 0 'KIND *NAME *AGE *FILES *SIZE *PACKED*task *fix *7 files*' "$BERTH" workspace archives
check 'as JSON' fits workspace_archives "$BERTH" workspace archives --json
check 'any tar reads it' grep -qx files/deep/a <(tar --zstd -tf "$tree/archives/tasks/fix.tar.zst")
check 'who looks for it is told' says 1 '*fix is archived: `berth workspace unarchive fix` restores it.' "$BERTH" workspace diff fix fix@start
check 'show tells what is in it' says 0 '*archive*7 files*unarchive tasks/fix*' "$BERTH" workspace show fix
check 'as JSON' fits workspace "$BERTH" workspace show --json tasks/fix
check 'it is sound, as are its checkpoints' says 0 'start: sound*archives/tasks/fix: sound' "$BERTH" workspace verify fix
check 'not in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace unarchive fix
check 'back' says 0 "$tree/tasks/fix" "$BERTH" workspace unarchive fix
check 'is what it was' diff before <(describe "$tree/tasks/fix")
check 'the archive is gone' test ! -e "$tree/archives/tasks/fix.tar.zst"
check 'no such archive' says 1 '*no archive "fix"*' "$BERTH" workspace unarchive fix
check 'restored from its checkpoint' says 0 '*is as in start*' "$BERTH" workspace restore fix start

# Another of the same name.
check 'as JSON' fits workspace_archive "$BERTH" workspace archive --json fix
"$BERTH" workspace create task fix >out
check 'its name is taken' says 1 '*archive fix.tar.zst already*--as*' "$BERTH" workspace archive fix
check 'nothing was changed' test -e "$tree/tasks/fix/prompt.md"
check 'under another' says 0 'tasks/fix: archived*' "$BERTH" workspace archive --as fix-2 fix
"$BERTH" workspace create task fix >out
check 'nothing is unpacked over a workspace' says 1 '*the task fix already exists*' "$BERTH" workspace unarchive fix
check 'but beside it, and the archive may stay' says 0 "$tree/tasks/other" "$BERTH" workspace unarchive --keep --as other fix
check 'it says its name' grep -q '"task_id": "other"' "$tree/tasks/other/context.json"
check 'the archive stayed' test -e "$tree/archives/tasks/fix.tar.zst"
check 'a name that leads out' says 2 '*not a valid workspace name*' "$BERTH" workspace archive --as ../x fix
check 'one that is none' says 1 '*no archive*' "$BERTH" workspace unarchive ../../x

# Likely secrets are found wherever in a file they are, however long they are.
"$BERTH" workspace create task far >out
long=$(printf 'abcd1234EFGH5678%.0s' {1..40})
{ yes 'an ordinary line' | head -n 200000 && printf 'API_TOKEN=%s\n' "$long"; } >"$tree/tasks/far/files/long"
truncate -s 4M "$tree/tasks/far/files/sparse.key"
printf 'x' >>"$tree/tasks/far/files/sparse.key"
check 'far behind the beginning of a file, and by the name of one with holes' \
	says 0 'secret   files/long:200001  likely *secret   files/sparse.key  likely *archived*' "$BERTH" workspace archive far

# Damage.
printf 'x' | dd of="$tree/archives/tasks/fix.tar.zst" bs=1 seek=300 conv=notrunc status=none
check 'a damaged archive is found' says 1 '*archives/tasks/fix-2: sound*' "$BERTH" workspace verify
check 'and named' says 1 '*the archive * is damaged*' "$BERTH" workspace verify
check 'nothing is made of it' says 1 '*is damaged*' "$BERTH" workspace unarchive --as third fix
check 'nothing at all' test ! -e "$tree/tasks/third" -a -e "$tree/archives/tasks/fix.tar.zst"
printf 'x' >"$tree/archives/tasks/short.tar.zst"
check 'one that is none is listed as such' says 0 '*short *damaged*' "$BERTH" workspace archives
rm "$tree/archives/tasks/short.tar.zst" "$tree/archives/tasks/fix.tar.zst"

# Mounted, as in a container.
if unshare -m true 2>err; then
	mkdir mnt
	unshare -m --propagation private sh -c "mount --bind '$tree/tasks/other/files' mnt && touch mounted && exec sleep 1000" &
	holder=$!
	wait_for 60 test -e mounted || { echo "it is not mounted"; exit 1; }
	check 'what is mounted elsewhere stays' says 1 '*tasks/other is in use: process * has it mounted*' "$BERTH" workspace archive other
	check 'all of it' test -e "$tree/tasks/other/files/deep/a"
	kill $holder
	wait $holder 2>err
	mount -t tmpfs none "$tree/tasks/other/logs"
	check 'something mounted in it stays' says 4 '*something is mounted in other*' "$BERTH" workspace archive other
	umount "$tree/tasks/other/logs"
fi

# What failed is kept as it was.
"$BERTH" workspace create task sealed >out
printf 'one\n' >"$tree/tasks/sealed/files/a"
check 'nothing is said of one that did not fail' says 0 '' "$BERTH" workspace verify sealed
"$BERTH" workspace mark sealed failed >out
check 'one that failed is sound' says 0 'tasks/sealed: sound' "$BERTH" workspace verify sealed
check 'among all' says 0 '*tasks/sealed: sound*' "$BERTH" workspace verify
touch -d 2020-01-01 "$tree/tasks/sealed/files/a"
check 'times are no part of it' says 0 'tasks/sealed: sound' "$BERTH" workspace verify sealed
printf 'two\n' >"$tree/tasks/sealed/files/a"
check 'a file that changed is named' says 1 '*the failed task sealed is damaged: files/a is not what it was*' "$BERTH" workspace verify
printf 'one\n' >"$tree/tasks/sealed/files/a" && : >"$tree/tasks/sealed/files/b"
check 'one that was added' says 1 '*sealed is damaged: files/b was added*' "$BERTH" workspace verify sealed
rm "$tree/tasks/sealed/files/b" "$tree/tasks/sealed/prompt.md"
check 'one that is missing' says 1 '*sealed is damaged: prompt.md is missing*' "$BERTH" workspace verify sealed
"$BERTH" workspace mark sealed failed >out
check 'marked anew it is what it is now' says 0 'tasks/sealed: sound' "$BERTH" workspace verify sealed
"$BERTH" workspace mark sealed 'done' >out
check 'done, it is none of these' says 0 '' "$BERTH" workspace verify sealed
check 'and nothing is kept of it' test ! -e "$tree/.sealed/sealed"
"$BERTH" workspace mark sealed failed >out && rm "$tree/.sealed/sealed"
check 'one of which nothing was saved' says 0 'tasks/sealed: no hashes were saved when it failed' "$BERTH" workspace verify sealed
check 'gets them later' says 0 '*' "$BERTH" workspace clean --due
check 'and is sound' says 0 'tasks/sealed: sound' "$BERTH" workspace verify sealed
"$BERTH" workspace clean sealed >out
check 'with it they go' test ! -e "$tree/.sealed/sealed"

# What the settings say is due.
"$BERTH" workspace create project site >out
"$BERTH" workspace mark other 'done' >out
"$BERTH" workspace mark fix failed >out
check 'which, must be said' says 2 '*use --due*' "$BERTH" workspace clean
check 'what would be done' says 0 'tasks/other  done * ago: would be archived' "$BERTH" workspace clean --due --dry-run
check 'nothing was' test -e "$tree/tasks/other"
check 'not in read-only mode' says 1 '*read-only*' "$BERTH" --read-only workspace clean --due
check 'as JSON' fits workspace_clean "$BERTH" workspace clean --due --json
check 'what is done is archived' test ! -e "$tree/tasks/other" -a -e "$tree/archives/tasks/other.tar.zst"
check 'what failed is kept' test -e "$tree/tasks/fix"
mkdir -p config/berth
printf 'workspaces: {failed_days: 0, idle_days: 0}\n' >config/berth/berth.yaml
check 'all are due' says 0 'tasks/fix  failed * ago: removed*projects/site  changed * ago: archived' "$BERTH" workspace clean --due
check 'gone' test ! -e "$tree/tasks/fix" -a ! -e "$tree/archives/tasks/fix.tar.zst"
check 'a project is archived' test -e "$tree/archives/projects/site.tar.zst"
check 'restored on demand' says 0 "$tree/projects/site" "$BERTH" workspace unarchive site
printf 'workspaces: {failed_days: -1, idle_days: -1, done_days: -1}\n' >config/berth/berth.yaml
check 'none is, ever' says 0 '' "$BERTH" workspace clean --due

# What is named goes, due or not.
"$BERTH" workspace create task gone >out
"$BERTH" workspace checkpoint gone start >out
"$BERTH" workspace create task stays >out
"$BERTH" workspace create task packed >out
"$BERTH" workspace archive packed >out
check 'either named or due' says 2 '*either*' "$BERTH" workspace clean --due gone
check 'one that is none keeps all others' says 1 '*no workspace "none"*' "$BERTH" workspace clean gone none
check 'nothing was removed' test -d "$tree/tasks/gone"
check 'none twice' says 2 '*tasks/gone is named twice.' "$BERTH" workspace clean gone tasks/gone
check 'an archive is named as one' says 1 '*packed is archived*' "$BERTH" workspace clean packed
check 'what would be removed' says 0 'tasks/gone: would be removed*archives/tasks/packed: would be removed' "$BERTH" workspace clean --dry-run gone archives/packed
check 'not in read-only mode' says 1 '*read-only*' "$BERTH" --read-only workspace clean gone
check 'that one is still there, too' test -d "$tree/tasks/gone"
check 'a workspace, for good' says 0 'tasks/gone: removed' "$BERTH" workspace clean gone
check 'it is gone' test ! -e "$tree/tasks/gone"
check 'its checkpoints are not' says 0 '*start: sound*' "$BERTH" workspace verify
check 'an archive, for good' fits workspace_clean "$BERTH" workspace clean --json archives/tasks/packed
check 'it is gone, too' test ! -e "$tree/archives/tasks/packed.tar.zst"
check 'no such archive' says 1 '*no archive "packed"*' "$BERTH" workspace clean archives/packed
check 'one that leads out' says 1 '*no archive*' "$BERTH" workspace clean archives/../../x
check 'the others stay' test -d "$tree/tasks/stays"
check 'both are recorded' test "$("$BERTH" audit list --act workspace.remove --json | grep -c -e '"tasks/gone"' -e '"archives/tasks/packed"')" -ge 2

# Removed after a checkpoint, from which the printed commands bring it back.
"$BERTH" workspace create task kept >out && echo work >"$tree/tasks/kept/file" && "$BERTH" workspace create project kept2 >out
"$BERTH" workspace create task packed >out && "$BERTH" workspace archive packed >out
check 'an archive cannot be saved' says 2 '*is an archive*clean*' "$BERTH" workspace remove kept archives/packed
check 'nothing goes before all are found' says 1 '*no workspace "none"*' "$BERTH" workspace remove kept none
check 'read-only mode saves nothing either' says 4 '*read-only*' "$BERTH" --read-only workspace remove kept
check 'and removes nothing' test -e "$tree/tasks/kept/file"
check 'no checkpoint' test -z "$("$BERTH" workspace checkpoints kept)"
"$BERTH" workspace remove kept kept2 >undo
check 'two go' says 0 'tasks/kept: removed.  To undo: *projects/kept2: removed.  To undo: *' cat undo
check 'they are gone' test ! -e "$tree/tasks/kept" -a ! -e "$tree/projects/kept2"
undo=$(sed -n "s|^tasks/kept: .*To undo: ||p" undo)
check 'the commands are complete' test -n "$undo"
berth() { "$BERTH" "$@"; }
eval "$undo" >out
check 'it is back' grep -qx work "$tree/tasks/kept/file"
"$BERTH" workspace clean archives/packed kept >out

# By itself, once enabled.
if command -v systemd-analyze >out; then
	mkdir -m 700 run
	mkdir units
	cp "$SRC"/configs/systemd/* units
	sed -i "s|^ExecStart=berth|ExecStart=$BERTH|" units/berth-workspaces.service
	check 'the units of systemd' env XDG_RUNTIME_DIR="$PWD/run" systemd-analyze verify --man=no --user units/berth-workspaces.timer
	check 'say what there is' says 0 '' sh -c "$(sed -n 's/^ExecStart=//p' units/berth-workspaces.service)"
fi

# On a disk that is full.
if mkdir small && mount -t tmpfs -o size=700k,nr_inodes=400 none small 2>err; then
	mkdir small/data
	export XDG_DATA_HOME=$PWD/small/data
	tree=$XDG_DATA_HOME/berth/workspaces
	"$BERTH" workspace create task big >out
	head -c 400000 /dev/urandom >"$tree/tasks/big/noise"
	check 'no room' says 1 '*not enough space for the archive of big; nothing was changed*' "$BERTH" workspace archive big
	check 'all is there' test "$(stat -c %s "$tree/tasks/big/noise")" = 400000 -a -z "$(ls -A "$tree/archives/tasks")"
	umount small
fi

check 'each act is on record' grep -q 'workspace.unarchive .*ok' <("$BERTH" audit list)
check 'and each refusal' grep -q 'workspace.archive .*failed' <("$BERTH" audit list)
exit $bad
