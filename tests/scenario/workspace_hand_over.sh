#!/bin/bash
# workspace_hand_over.sh - `berth workspace hand-over`: what a task gives another one to read, and what never passes.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
umask 077
tree=$PWD/data/berth/workspaces
from=$tree/tasks/maker
box=$tree/shared/inter_task/reader/maker

for t in maker reader; do "$BERTH" workspace create task $t >made || exit 1; done
"$BERTH" workspace create project site >made || exit 1
mkdir "$from/files/deep"
echo one >"$from/files/deep/a"
printf '#!/bin/sh\n' >"$from/files/run" && chmod 4711 "$from/files/run"
ln -s /etc/passwd "$from/files/out"
mkfifo "$from/files/pipe"
ln "$from/files/deep/a" "$from/files/other-name"

cat >want <<'EOT'
new      files/deep/a  4
new      files/other-name  4
dropped  files/out  0  a symbolic link
dropped  files/pipe  0  a device, socket or FIFO
new      files/run  10  executable  without its set-id bits
EOT
check 'what would pass' diff want <("$BERTH" workspace hand-over --dry-run maker reader files)
check 'a dry run leaves nothing' test ! -e "$box"
check 'nor does a refusal' says 4 '*read-only*' "$BERTH" --read-only workspace hand-over maker reader files
check 'nothing at all' test ! -e "$box"
check 'it is handed over' says 0 "*3 handed over, 0 the same already, 2 dropped: $box" \
	"$BERTH" workspace hand-over maker reader files
check 'with its content' test "$(cat "$box/files/deep/a")" = one
check 'readable by another user, and no more' test \
	"$(cd "$box" && stat -c '%a' . files files/deep files/deep/a files/run | tr '\n' ' ')" = '755 755 755 644 755 '
check 'no inode is shared' test "$(stat -c %h "$box/files/deep/a")" = 1
check 'a second time nothing changes' says 0 '*0 handed over, 3 the same already*' "$BERTH" workspace hand-over maker reader files
echo two >"$from/files/deep/a"
check 'what is new replaces it' fits workspace_hand_over "$BERTH" workspace hand-over --json maker reader files/deep
check 'by its content' test "$(cat "$box/files/deep/a")" = two
printf '%s\n' 'key 0' 'wait maker' 'key /' 'type ^maker' 'key Enter' 'key j' 'key P' 'type reader files/deep' 'key Enter' \
	'wait 1 the same already' >script
check 'from the console' "$BERTH" -H "unix://$PWD/no-engine" --script script
echo one >"$from/files/f" && echo last >"$from/files/l"
printf '%s\n' 'key 0' 'wait maker' 'key /' 'type ^maker' 'key Enter' 'key j' 'key P' "type reader $(printf 'files/f %.0s' {1..60})files/l" 'key Enter' \
	'wait 2 handed over' >script
check 'all that is typed' "$BERTH" -H "unix://$PWD/no-engine" --script script
check 'to its end' test "$(cat "$box/files/l")" = last
rm -f "$from/files/"[fl] "$box/files/"[fl]
check 'to itself' says 2 '*tasks/maker has that already*' "$BERTH" workspace hand-over maker maker files
check 'to a project' says 2 '*projects/site is a project*' "$BERTH" workspace hand-over maker site files
check 'from a project' says 2 '*projects/site is a project*' "$BERTH" workspace hand-over site reader src
check 'to one that is not there' says 1 '*no workspace*' "$BERTH" workspace hand-over maker nobody files
check 'a path that leads out' says 1 '*../reader is not in*' "$BERTH" workspace hand-over maker reader ../reader
check 'of a checkpoint' bash -c '
	"$BERTH" workspace checkpoint maker then >made && echo three >"$1/files/deep/a" &&
		"$BERTH" workspace hand-over maker@then reader files/deep | grep -q "^same .*files/deep/a"' sh "$from"

printf 'x\ntoken = "abcDEF123456ghiJKL"\n' >"$from/files/notes"
echo A=1 >"$from/.env"
check 'a likely secret stays, with file and line' says 4 \
	'*secret   files/notes:2  likely*nothing was handed over: 1 likely secret in it*' "$BERTH" workspace hand-over maker reader files/notes
check 'is not there' test ! -e "$box/files/notes"
check 'the secret itself is not told' bash -c '! "$BERTH" workspace hand-over maker reader files/notes 2>&1 | grep -q abcDEF'
check 'nor its environment' says 4 '*secret   .env*' "$BERTH" workspace hand-over maker reader .env
check 'but when a person says so' says 0 '*1 handed over*' "$BERTH" workspace hand-over --secrets maker reader files/notes
check 'a link in its place is not followed' bash -c '
	mkdir elsewhere && rm -rf "$1" && ln -s "$PWD/elsewhere" "$1" &&
		! "$BERTH" workspace hand-over maker reader files/deep && test -z "$(ls elsewhere)" && rm "$1"' sh "$box"
check 'nor one deeper in it' bash -c '
	mkdir -p "$1" && ln -s "$PWD/elsewhere" "$1/files" &&
		! "$BERTH" workspace hand-over maker reader files/deep && test -z "$(ls elsewhere)"' sh "$box"
check 'the next task of that name gets none of it' bash -c '
	rm -rf "$1/tasks/reader" && "$BERTH" workspace create task reader && test ! -e "$1/shared/inter_task/reader"' sh "$tree"
check 'it is in the log, with what was refused' says 0 '*tasks/maker*' "$BERTH" audit list --act workspace.hand_over --outcome refused
check 'which is whole' says 0 '*' "$BERTH" audit verify
exit "$bad"
