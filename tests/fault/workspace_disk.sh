#!/bin/bash
# workspace_disk.sh - every verb that writes, on a full disk: nothing half done stays, what was there does.
# shellcheck disable=SC2010,SC2317 # names are ours; the trap calls clean
[ "$(id -u)" = 0 ] || { echo "mounting takes root"; exit 77; }
# In a mount namespace of our own: a container started meanwhile would take our mounts with it.
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@"
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
tree=$PWD/data/berth/workspaces
tasks=$tree/tasks
clean() {
	umount -l "$TMPDIR/data" 2>/dev/null
}
trap clean EXIT

disk() {
	umount -l data 2>/dev/null
	mkdir -p data
	mount -t tmpfs -o "mode=700,$1" none data || { echo "tmpfs cannot be mounted here"; exit 77; }
}

# leave KIB: so much is free, and no more.
leave() {
	local free
	rm -f data/filler
	free=$(($(stat -f -c %a data) * $(stat -f -c %S data) / 1024))
	head -c $(((free - $1) * 1024)) /dev/zero >data/filler
}

large() {
	head -c 1500K /dev/urandom >"$tasks/t/files/$1"
}

# What the task holds, and all that is kept of it.
describe() {
	(cd "$tasks/t" && find . -printf '%p %m %s %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}
kept() {
	(cd data/berth/checkpoints/tasks/t && find checkpoints packs synced restoring -printf '%p %s\n' 2>/dev/null | sort)
}
nothing_half() {
	! ls -A "$tasks" | grep '^\.' && "$BERTH" workspace list >listed && ! grep -v -e KIND -e ' t ' -e ' t-[12] ' listed
}

# create
disk size=4m
"$BERTH" workspace create task t >made || exit 1
leave 0
check 'no room for a task' says 1 '*No space left*' "$BERTH" workspace create task other
check 'nothing of it is there' nothing_half
rm data/filler
check 'with room it is made' says 0 "$tasks/other" "$BERTH" workspace create task other
disk size=4m,nr_inodes=40
"$BERTH" workspace create task t >made || exit 1
for i in $(seq 40); do : >"data/i$i" || break; done 2>/dev/null
rm -f data/i1 data/i2 data/i3
check 'no inodes for a task' says 1 '*No space left*' "$BERTH" workspace create task other
check 'nothing of it is there, either' nothing_half

# checkpoint
disk size=7m
"$BERTH" workspace create task t >made || exit 1
large big
"$BERTH" workspace checkpoint t a >made || exit 1
large more
leave 1000
describe >was
kept >kept.was
check 'no room for a checkpoint' says 1 '*No space left*' "$BERTH" workspace checkpoint t b
check 'it is not there' says 1 '*no checkpoint b*' "$BERTH" workspace diff t@b t
check 'nor anything of it' diff kept.was <(kept)
check 'the task is as it was' diff was <(describe)
check 'the other checkpoint is sound' says 0 '*' "$BERTH" workspace verify t
rm data/filler
check 'with room it is made' says 0 '*' "$BERTH" workspace checkpoint t b
"$BERTH" workspace drop t b >made && rm "$tasks/t/files/more"

# fork: there is room for two
describe >was
check 'no room for three forks' says 1 '*2 of 3 forks were made (t-1, t-2): *No space left*' "$BERTH" workspace fork t 3
check 'two are there' test -d "$tasks/t-1" -a -d "$tasks/t-2" -a ! -e "$tasks/t-3"
check 'nothing of the third' nothing_half
whole() {
	local fork
	for fork in t-1 t-2; do
		diff <(sed -E '/context.json|^\. /d' was) <(cd "$tasks/$fork" && find . -printf '%p %m %s %T@ %l\n' | sort | sed -E '/context.json|^\. /d' &&
			find . -type f -print0 | sort -z | xargs -0 sha256sum | sed /context.json/d) || return 1
	done
}
check 'they are whole' whole
check 'what was forked is as it was' diff was <(describe)
rm -rf "$tasks"/t-? data/berth/checkpoints/tasks/t-?
leave 100
check 'no room for one' says 1 '*No space left*' "$BERTH" workspace fork t 1
check 'it is not there' test ! -e "$tasks/t-1"
check 'nor anything of it' nothing_half
rm data/filler
check 'with room it is made' says 0 "$tasks/t-1" "$BERTH" workspace fork t 1
rm -rf "$tasks"/t-? data/berth/checkpoints/tasks/t-?

# restore: there is no room for the checkpoint of what is there, or for what comes back
large more
leave 1000
describe >was
kept >kept.was
check 'no room for what would be undone' says 1 '*No space left*' "$BERTH" workspace restore t a
check 'nothing was restored' diff was <(describe)
check 'nothing is kept' diff kept.was <(kept)
rm data/filler "$tasks/t/files/more" "$tasks/t/files/big"
leave 1000
describe >was
check 'no room for what would come back' says 1 '*everything is as it was before*No space left*' "$BERTH" workspace restore t a
check 'it is' diff <(sed '/^\.\/files [0-9]/d; /^\. /d' was) <(describe | sed '/^\.\/files [0-9]/d; /^\. /d')
check 'no restore is pending' test ! -e data/berth/checkpoints/tasks/t/restoring
rm data/filler
check 'with room it is restored' says 0 '*' "$BERTH" workspace restore t a
check 'with its content' test "$(stat -c %s "$tasks/t/files/big")" = 1536000

# archive and unarchive
disk size=8m
"$BERTH" workspace create task t >made || exit 1
large big
archives() {
	(cd "$tree/archives" && find . -type f)
}
leave 500
describe >was
check 'no room for an archive' says 1 '*not enough space for the archive*' "$BERTH" workspace archive t
check 'the task is as it was' diff was <(describe)
check 'nothing of an archive is there' test -z "$(archives)"
rm data/filler
check 'with room it is archived' says 0 '*archived*' "$BERTH" workspace archive t
leave 500
check 'no room for what comes back' says 1 '*No space left*' "$BERTH" workspace unarchive t
check 'nothing of it is there' test -z "$(ls -A "$tasks")"
check 'the archive is' test "$(archives)" = ./tasks/t.tar.zst
check 'and sound' says 0 '*sound*' "$BERTH" workspace verify
rm data/filler
check 'with room it comes back' says 0 "$tasks/t" "$BERTH" workspace unarchive t
check 'as it was' diff was <(describe)

# apply, hand-over and share
"$BERTH" workspace create project site >made && "$BERTH" workspace create task u >made || exit 1
others() {
	(cd "$tree" && find projects/site shared/ .versions -type d -printf '%p %m\n' -o -printf '%p %m %s %T@\n' | sort)
}
echo small >"$tasks/t/files/small"
"$BERTH" workspace share --as v1 t files/small --into templates >made || exit 1
"$BERTH" workspace hand-over t u files/small >made || exit 1
others >was
leave 1000
check 'no room for what is applied' says 1 '*not enough space*' "$BERTH" workspace apply t files/big --into site
check 'for what is handed over' says 1 '*not enough space*' "$BERTH" workspace hand-over t u files/big
check 'for what is shared' says 1 '*space*' "$BERTH" workspace share t files/big --into datasets
check 'all is as it was' diff was <(others)
rm data/filler
check 'with room it is applied' says 0 '*1 applied*' "$BERTH" workspace apply t files/big --into site
check 'handed over' says 0 '*1 handed over*' "$BERTH" workspace hand-over t u files/big
exit $bad
