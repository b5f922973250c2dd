#!/bin/bash
# workspace_foreign.sh - workspaces in which files of other users are: what cannot be removed stays as it was and is named,
# and keeps nothing else.
# shellcheck disable=SC2317 # functions called by name
if [ "$(id -u)" != 0 ]; then
	echo 'only root can make files of other users'
	exit 77
fi
place=$(mktemp -d /tmp/foreign.XXXXXX)
trap 'rm -rf "$place"' EXIT
cp "$(dirname "$BERTH")"/berth{,-*} "$place" 2>/dev/null
cp -r "$SRC/tests/lib" "$place"
cd "$place" || exit 1
. "$SRC/tests/lib/check.sh"
mkdir -m 700 data state run
chown -R 61234:61234 .
tree=$place/data/berth/workspaces
# as_user COMMAND...
as_user() {
	setpriv --reuid 61234 --regid 61234 --clear-groups env HOME="$place" TMPDIR="$place" XDG_DATA_HOME="$place/data" \
		XDG_STATE_HOME="$place/state" XDG_RUNTIME_DIR="$place/run" "$@"
}
berth() { as_user ./berth "$@"; }

for task in a b c d e f; do berth workspace create task $task >out || exit 1; done
mkdir -p "$tree/tasks/b/files/"{theirs,closed,open,gone}
touch "$tree/tasks/b/files/"{theirs,closed,open}/x "$tree/tasks/b/prompt.md"
chmod 700 "$tree/tasks/b/files/closed"
chmod 1777 "$tree/tasks/b/files/open"
find "$tree/tasks/b" | sort >before
check 'what cannot go is named' says 1 \
	'tasks/a: removed*tasks/b: tasks/b is unchanged: only their owner or root can remove what is in files/*, files/*, files/* of root*tasks/c: removed' \
	berth workspace clean a b c
check 'it is as it was' diff before <(find "$tree/tasks/b" | sort)
check 'the others are gone' test ! -e "$tree/tasks/a" -a ! -e "$tree/tasks/c"
rm "$tree/tasks/b/files/"{closed,open}/x && rmdir "$tree/tasks/b/files/closed"
check 'nor is it archived and forgotten' says 4 '*tasks/b is unchanged: only their owner or root can remove what is in files/theirs of root' \
	berth workspace archive b
check 'it is as it was' test -e "$tree/tasks/b/files/theirs/x"
rm "$tree/tasks/b/files/theirs/x"
check 'empty directories can go, whoever has them' says 0 'tasks/b: removed' berth workspace clean b

# A whole one, as an agent that is root inside can make it.
mkdir "$tree/tasks/d/more" && chown root "$tree/tasks/d" && chmod 700 "$tree/tasks/d"
check 'one that is closed keeps no other' says 1 'tasks/d: cannot open *tasks/e: removed' berth workspace clean d e
check 'it is still there' test -d "$tree/tasks/d/more"
check 'due ones go, too' says 0 '*' berth workspace mark f 'done'
check 'beside it' says 0 'tasks/f  done *: archived' berth workspace clean --due

# What a dead process left.
mv "$tree/tasks/d" "$tree/tasks/.new.d"
check 'leftovers keep nobody from anything' says 0 "*tasks/g" berth workspace create task g
check 'and are told' says 1 "tasks/g: removed*$tree/tasks/.new.d cannot be removed: *" berth workspace clean g
chown 61234 "$tree/tasks/.new.d"
check 'and go once they can' says 0 '' berth workspace list
check 'gone' test ! -e "$tree/tasks/.new.d"
exit $bad
