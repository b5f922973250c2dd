#!/bin/bash
# workspace_share.sh - `berth workspace share` and `shared`: versions, an old one again, what a task keeps, what never passes.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
umask 077
tree=$PWD/data/berth/workspaces
site=$tree/projects/site
now=$tree/shared

describe() { (cd "$1" && find . -type f -printf '%p %m ' -exec cat {} \; | sort); }

"$BERTH" workspace create project site >made || exit 1
"$BERTH" workspace create task early >made || exit 1
mkdir "$site/docs/in"
echo one >"$site/docs/a" && echo same >"$site/docs/in/b"
printf '#!/bin/sh\n' >"$site/docs/run" && chmod 4755 "$site/docs/run"
ln -s /etc/passwd "$site/docs/out"

check 'none yet' says 0 '' "$BERTH" workspace shared
check 'what passes is shared' says 0 \
	'*new      docs/a*dropped  docs/out*a symbolic link*new      docs/run*without its set-id bits*shared/ is version v1' \
	"$BERTH" workspace share --as v1 site docs --into templates
check 'it is there' test "$(cat "$now/templates/docs/a")" = one
check 'for every user, without set-id bits' test \
	"$(stat -c %a "$tree/.versions/v1/templates/docs" "$now/templates/docs/a" "$now/templates/docs/run" | tr '\n' ' ')" = '755 644 755 '
check 'the link is not' test ! -e "$now/templates/docs/out"
describe "$tree/.versions/v1" >v1
"$BERTH" workspace create task old >made
echo two >"$site/docs/a"
check 'a change is another version' fits workspace_share "$BERTH" workspace share --json --as v2 site docs/a --into templates
check 'the present one' test "$(cat "$now/templates/docs/a")" = two
check 'the first is kept as it was' diff v1 <(describe "$tree/.versions/v1")
check 'what is the same is stored once' test "$(stat -c %i "$tree/.versions/v1/templates/docs/in/b")" = \
	"$(stat -c %i "$tree/.versions/v2/templates/docs/in/b")"
check 'no inode is that of the workspace' test "$(stat -c %i "$now/templates/docs/a")" != "$(stat -c %i "$site/docs/a")"
check 'a task keeps what it started with' test "$(cat "$tree/.kept/old/templates/docs/a")" = one
"$BERTH" workspace create task young >made
check 'a later one gets the present one' test "$(cat "$tree/.kept/young/templates/docs/a")" = two
check 'they are listed' says 0 '*  start *0 tasks*  v1 *1 task*\** v2 *1 task*' "$BERTH" workspace shared
check 'as JSON' fits workspace_shared "$BERTH" workspace shared --json
check 'the files of one' says 0 '*templates/docs/a*templates/docs/in/b*' "$BERTH" workspace shared v1
check 'as JSON, too' fits workspace_shared "$BERTH" workspace shared --json v1
check 'those that a task keeps' says 0 '*templates/docs/a*' "$BERTH" workspace shared --as old
check 'something is taken out' says 0 'shared/ is version v3' "$BERTH" workspace share --as v3 --remove templates/docs/in templates/docs/run
check 'and gone' test ! -e "$now/templates/docs/in"
check 'not from the one before' test -e "$tree/.versions/v2/templates/docs/in/b"
check 'an old one is restored' says 0 'shared/ is version v1' "$BERTH" workspace share --restore v1
check 'exactly' diff <(cd "$tree/.versions/v1" && find . -type f | sort) <(cd "$now" && find . -type f | sort)
check 'by its content' test "$(cat "$now/templates/docs/a")" = one
check 'none went' says 0 '*v1*v2*v3*' "$BERTH" workspace shared
check 'the next builds on it' says 0 '*v4*' "$BERTH" workspace share --as v4 site README.md --into configs
check 'with all of it' test -e "$now/templates/docs/in/b" -a -e "$now/configs/README.md"

check 'a name twice' says 1 '*the version v1 of*already exists*' "$BERTH" workspace share --as v1 site docs --into templates
check 'a name that leads out' says 2 '*not a valid version name*' "$BERTH" workspace share --as ../x site docs --into templates
check 'a kind that is none' says 2 '*is not a kind*' "$BERTH" workspace share site docs --into inter_task
check 'nothing said' says 2 '*give one of*' "$BERTH" workspace share site docs
check 'a path that leads out' says 4 '*' "$BERTH" workspace share --as bad --remove templates/../../../tasks/old
check 'what is not there' says 1 '*' "$BERTH" workspace share --as bad --remove templates/nothing
check 'leaves no version' test ! -e "$tree/.versions/bad" -a ! -e "$tree/.versions/.new"
check 'a version that is not there' says 1 '*no version nothing*' "$BERTH" workspace share --restore nothing
printf 'token = "abcDEF123456ghiJKL"\n' >"$site/docs/key"
check 'a likely secret' says 4 '*secret   docs/key:1*nothing was shared*' "$BERTH" workspace share --as bad site docs --into configs
check 'is in no version' bash -c '! grep -rq abcDEF "$1/shared" "$1/.versions"' sh "$tree"
check 'in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace share --restore v2
check 'the task is there' test -d "$tree/tasks/old"

# Killed at any moment: shared/ is one version or the next, and the next change goes well.
killed() {
	local i
	for i in $(seq 1 25); do
		echo "$i" >"$site/docs/a"
		timeout -s KILL "0.0$((RANDOM % 60 + 10))" "$BERTH" workspace share --as "k$i" site docs/a --into templates >killed.out 2>&1
		"$BERTH" workspace shared --json >shared.json || return 1
		"$BERTH" workspace share --as "after$i" site docs/a --into templates >killed.out 2>&1 || return 1
		test "$(cat "$now/templates/docs/a")" = "$i" || return 1
		cmp -s "$tree/.versions/v1/templates/docs/a" <(echo one) || return 1
	done
}
check 'killed in the middle' killed

# Each version has its hashes, after every kill, too.
versions=$tree/.versions
check 'all are sound' says 0 '*shared@start: sound*shared@v2: sound*' "$BERTH" workspace verify
check 'none is without hashes' test -z "$("$BERTH" workspace verify | grep 'no hashes')"
cp -p "$versions/v2/templates/docs/a" a.kept
rm "$versions/v2/templates/docs/a"
check 'a file that is missing' says 1 '*version v2 of shared/ is damaged: templates/docs/a is missing*' "$BERTH" workspace verify
tr '[:print:]' x <a.kept >"$versions/v2/templates/docs/a"
touch -r a.kept "$versions/v2/templates/docs/a"
check 'one that is another' says 1 '*version v2 of shared/ is damaged: templates/docs/a is not what it was*' "$BERTH" workspace verify
cp -p a.kept "$versions/v2/templates/docs/a"
echo more >"$versions/v2/configs/more"
check 'one that was added' says 1 '*version v2 of shared/ is damaged: configs/more was added*' "$BERTH" workspace verify
rm "$versions/v2/configs/more"
check 'as it was' says 0 '*shared@v2: sound*' "$BERTH" workspace verify
printf x >>"$versions/.hashes/v2"
check 'hashes that are damaged' says 1 '*v2*' "$BERTH" workspace verify
rm "$versions/.hashes/v2"
check 'one that is older than the hashes' says 0 '*shared@v2: no hashes were saved*' "$BERTH" workspace verify
exit "$bad"
