#!/bin/bash
# workspace_upkeep.sh - an open console ends workspaces that are due and checks what is stored: once, by settings, recorded.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state XDG_CONFIG_HOME=$PWD/config
tree=$PWD/data/berth/workspaces

# console [OPTION...]: one that does what standard input says, without an engine.
console() {
	cat >script && "$BERTH" -H "unix://$PWD/no-engine" "$@" --script script
}

mkdir data
check 'where there is no workspace none is made' console <<'END'
key 0
wait no workspaces yet
END
check 'nor a place for them' test ! -e "$tree"

"$BERTH" workspace create task over >made
"$BERTH" workspace create task bad >made
"$BERTH" workspace create task goes >made
"$BERTH" workspace checkpoint goes start >made
"$BERTH" workspace mark over 'done' >made
"$BERTH" workspace mark bad failed >made
printf 'workspaces: {failed_days: 0}\n' >mine.yaml

read_only() {
	console --read-only <<'END' && test -d "$tree/tasks/over" && test ! -e "$tree/.upkeep"
key 0
wait 3 workspaces
END
}
check 'not by one that is read-only' read_only

# Whoever holds the lock sees to it.
held() {
	touch "$tree/.upkeep" && exec 7<>"$tree/.upkeep" && flock -w 60 7 || return 1
	console <<'END' || return 1
key 0
wait 3 workspaces
END
	exec 7>&-
	test -d "$tree/tasks/over" && test ! -s "$tree/.upkeep"
}
check 'not while another one does' held

check 'what is due ends, by its settings' console --settings mine.yaml <<'END'
wait Expired workspaces: 1 archived, 1 removed.
key 0
wait 1 workspace
END
check 'what is done is archived' test -e "$tree/archives/tasks/over.tar.zst" -a ! -e "$tree/tasks/over"
check 'what failed is gone' test ! -e "$tree/tasks/bad"
check 'others stay' test -d "$tree/tasks/goes"
# recorded ACT NAME: both its intent and its outcome.
recorded() {
	test "$("$BERTH" audit list --json --act "$1" | grep -c "\"$2\"")" = 2
}
check 'it is on record' recorded workspace.archive tasks/over
check 'each is' recorded workspace.remove tasks/bad

"$BERTH" workspace mark goes 'done' >made
again() {
	console --settings mine.yaml <<'END' && test -d "$tree/tasks/goes"
key 0
wait 1 workspace
END
}
check 'not again before it is time' again

# Damage is said.  The time of the last check lies in the future, as after a clock that was set back: it is due.
printf 'workspaces: {clean_hours: 0}\n' >mine.yaml
echo '9999999999999 9999999999999' >"$tree/.upkeep"
find data/berth/checkpoints/tasks/goes -type f -size +0 -exec sh -c 'printf "damage%0100d" 0 >"$1"' sh {} \;
check 'damage is found' console --settings mine.yaml <<'END'
wait Stored workspaces are damaged: 
END
check 'and nothing else was done' test -d "$tree/tasks/goes"
printf 'workspaces: {clean_hours: 0, verify_days: 0}\n' >mine.yaml
: >"$tree/.upkeep"
never() {
	console --settings mine.yaml <<'END' && test ! -s "$tree/.upkeep"
key 0
wait 1 workspace
END
}
check 'never, where that is said' never
exit "$bad"
