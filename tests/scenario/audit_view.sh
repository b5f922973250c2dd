#!/bin/bash
# audit_view.sh - the Audit view on a log that commands wrote: local time, checkpoints left out, filters.
cd "$TMPDIR" || exit 1
bad=0
export XDG_STATE_HOME=$TMPDIR/state TZ=Asia/Kathmandu

look() {
	local name=$1 text
	shift
	cat >view.script
	if text=$("$BERTH" -H "unix://$TMPDIR/no-engine" --script view.script 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name"
		printf '# %s\n' "${text//$'\n'/$'\n# '}"
		bad=1
	fi
}

look 'before the first record it says what will be here' <<'END'
key 6
wait There is no audit log in
expect is listed here
END

mkdir tree && touch tree/a
"$BERTH" files scan tree >/dev/null || bad=1
"$BERTH" files read tree/none >/dev/null 2>&1 && bad=1
at=$("$BERTH" audit list --json --act file.scan --outcome ok | sed -n 's/.*"at": *"\([^"]*\)".*/\1/p' | head -n 1)
[ -n "$at" ] || { echo 'not ok the scan is on record'; exit 1; }
shown=$(date -d "$at" +%H:%M:%S)

look 'times are those of the clock in the header' <<END
key 6
wait file.scan
expect $shown 
size 40 12
expect ${shown%:*} $(printf %-10.10s "$(id -un)") file.scan
END

# An intent and its outcome are two records and one row; one without an outcome is a row.
"$BERTH" audit list --json --act file.scan | grep -c "file.scan" >records
[ "$(<records)" = 2 ] || { echo "not ok a scan has two records: $(<records)"; bad=1; }
look 'an intent and its outcome are one row' <<'END'
key 6
wait file.scan
refuse intent
key /
type act=file.scan
key Enter
wait filter: act=file.scan  1
refuse intent
key Enter
expect outcome of
key Esc Esc /
type act=file.scan outcome=none
key Enter
wait intent
END

look 'checkpoints are rows when they are asked for' <<'END'
key 6
wait file.scan
refuse log.checkpoint
key e
wait log.checkpoint
expect file.scan
key e
gone log.checkpoint
wait file.scan
END

look 'the prompt says what a filter is made of' <<'END'
key 6
wait file.scan
key /
expect regex, agent= act= target= outcome= since= until=
type outcome=failed
refuse agent= act=
key Enter
gone file.scan
wait file.read
key Esc /
type act=log.*
key Enter
wait log.checkpoint
END

look 'words are one regular expression, and a broken one is refused' <<'END'
key 6
wait file.scan
key /
type nothing-such|file\.sc[a-z]n act=file.* tree
key Enter
gone file.read
wait No record matches
key Esc /
type nothing-such|file\.sc[a-z]n
key Enter
wait file.scan
gone file.read
key Esc /
type scan(
key Enter
wait is not a regular expression
END
# On a terminal a line is a line, in local time, and says how it ended, however long the names are.
long=$(printf 'long-%.0s' {1..20})
mkdir "$long" && "$BERTH" files scan "$long" >/dev/null && "$BERTH" workspace create task "${long:0:40}" >/dev/null &&
	"$BERTH" workspace checkpoint "${long:0:40}" >/dev/null || bad=1
got=$(script -qec "stty cols 80; '$BERTH' audit list" /dev/null </dev/null | tr -d '\r')
if [ -n "$got" ] && ! grep -qE '.{81}' <<<"$got" && grep -q "$shown .* file.scan .* ok" <<<"$got" &&
	! grep -vE ' (ok|failed|intent)( |$)' <<<"$got"; then
	echo 'ok a list fits the terminal'
else
	echo 'not ok a list fits the terminal'
	printf '# %s\n' "${got//$'\n'/$'\n# '}"
	bad=1
fi
exit $bad
