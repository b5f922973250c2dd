#!/bin/bash
# workspace_results.sh - `berth workspace put-result`, `results`, `drop-result`: what tasks found, and who may read it.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
tree=$PWD/data/berth/workspaces

for t in a b; do "$BERTH" workspace create task $t >made || exit 1; done
"$BERTH" workspace create project site >made || exit 1
echo 1,2 >"$tree/tasks/a/files/t.csv"
ln -s /etc/passwd "$tree/tasks/a/files/out"

check 'none yet' says 0 '' "$BERTH" workspace results
check 'a text' says 0 'tasks/a: count kept, 2 bytes' "$BERTH" workspace put-result a count 42
check 'its text' says 0 42 "$BERTH" workspace results a count
check 'the file is mine alone' test "$(stat -c %a "$tree/.results.db")" = 600
check 'one for all' fits workspace_put_result "$BERTH" workspace put-result --json --shareable a answer 'yes, it is'
check 'a path' says 0 '*table kept*' "$BERTH" workspace put-result --path files/t.csv a table
check 'from standard input' bash -c 'printf "two\nlines\n" | "$BERTH" workspace put-result --stdin a text'
check 'as it came' diff <(printf 'two\nlines\n') <("$BERTH" workspace results a text)
check 'all of them' says 0 '*a *answer*every task*yes, it is*a *count*42*a *table*path files/t.csv*a *text*two*' "$BERTH" workspace results
check 'as JSON' fits workspace_results "$BERTH" workspace results --json
check 'another task reads what is for all' says 0 'TASK *NAME *SIZE *AGE *READ BY *TEXT*a *answer*' "$BERTH" workspace results --as b
check 'and only that' bash -c '! "$BERTH" workspace results --as b | grep -q count'
check 'not by its name either' says 1 '*no result count that this one may read*' "$BERTH" workspace results --as b a count
check 'its own it reads' says 0 42 "$BERTH" workspace results --as a tasks/a count
check 'a path that leads out' says 4 '*is not a path in tasks/a*' "$BERTH" workspace put-result --path ../b/prompt.md a x
check 'one through a link' says 4 '*is not a path in tasks/a*' "$BERTH" workspace put-result --path files/out a x
check 'an absolute one' says 4 '*is not a path in tasks/a*' "$BERTH" workspace put-result --path /etc/passwd a x
check 'one that is not there' says 1 '*is not a path in tasks/a*' "$BERTH" workspace put-result --path files/none a x
check 'a name that is none' says 2 '*not a valid result name*' "$BERTH" workspace put-result a ../x 1
check 'of a project' says 2 '*only tasks have results*' "$BERTH" workspace put-result site x 1
check 'no text, or two' says 2 '*give one of*' "$BERTH" workspace put-result --path files a x 1
check 'nothing at all' says 2 '*give one of*' "$BERTH" workspace put-result a x
check 'a secret for all' says 4 '*probably contains a secret*' "$BERTH" workspace put-result --shareable a key 'password = "abcDEF123456ghi"'
check 'too long' bash -c 'head -c 70000 /dev/zero | tr "\0" x | "$BERTH" workspace put-result --stdin a big; test $? != 0'
check 'control characters reach no terminal' bash -c '
	"$BERTH" workspace put-result a evil "$(printf "\033[31mred")" >made && ! "$BERTH" workspace results | grep -q "$(printf "\033")"'
check 'refused in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace put-result a x 1
rm -rf "$tree/tasks/a"
check 'they stay when the task is gone' says 0 42 "$BERTH" workspace results a count
"$BERTH" workspace create task a >made
check 'but are not those of the next one of that name' bash -c '! "$BERTH" workspace results --as a | grep -q count'
check 'one is dropped' says 0 'tasks/a: count dropped' "$BERTH" workspace drop-result a count
check 'and gone' says 1 '*no result count*' "$BERTH" workspace results a count
check 'dropping what is not there' says 1 '*no result count*' "$BERTH" workspace drop-result a count
head -c 4096 /dev/urandom >"$tree/.results.db"
check 'a damaged file is told, and left alone' says 1 '*are damaged: move that file away*' "$BERTH" workspace results
check 'all else works' says 0 '*' "$BERTH" workspace list
exit "$bad"
