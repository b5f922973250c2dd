#!/bin/bash
# workspace_branch.sh - `take --branch`: an agent's work as a commit and a branch, and nothing that was planted runs or leads out.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
umask 022
all=$PWD/data/berth/workspaces
site=$all/projects/site
fork=$all/tasks/site-1
ran=$PWD/ran
mkdir "$ran"

git_in() { git -C "$site" -c core.hooksPath=/dev/null "$@"; }
take() { "$BERTH" workspace apply site-1 . --into site "$@"; }
nothing_ran() { test -z "$(ls "$ran")" || { ls "$ran"; false; }; }
# describe: the index, HEAD, branches and files of the project; no objects
describe() {
	(cd "$site" && find . -path ./.git/objects -prune -o -type f -printf '%p %m %T@ ' -exec sha256sum {} \; | sort)
}

"$BERTH" workspace create project site >made || exit 1
for i in a b c; do seq 30 >"$site/src/$i"; done
ln -s b "$site/src/link"
git_in add -A && git_in commit -qm one || exit 1
"$BERTH" workspace fork site 1 >made || exit 1
sed -i '1s/$/ agent/; 30s/$/ agent/' "$fork/src/a"
sed -i '5s/$/ agent/' "$fork/src/b" && sed -i '5s/$/ person/' "$site/src/b" && git_in commit -qam two
mkdir -p "$fork/src/new/deep" && printf '#!/bin/sh\r\n' >"$fork/src/new/deep/run" && chmod 4755 "$fork/src/new/deep/run"
head -c 20M /dev/urandom >"$fork/large"
rm "$fork/src/c" "$fork/src/link" && echo file >"$fork/src/link"
echo 'not committed' >>"$site/src/c"
describe >before
check 'what is in conflict with HEAD refuses it' says 1 \
	'*changed  src/a*conflict src/b*it changed there, too*blocked  src/link*nothing was applied: 1 in conflict, 1 blocked' take --branch one
rm "$fork/src/link" && ln -s b "$fork/src/link"
check 'nothing is done' diff before <(describe)
check 'refused in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace apply site-1 src/a --into site --branch one
check 'as a branch' says 0 '*3 applied, 0 the same already, *branch agent/one is *' \
	"$BERTH" workspace apply site-1 src/a src/new large --into site --branch agent/one
check 'on HEAD' test "$(git_in rev-parse agent/one^)" = "$(git_in rev-parse HEAD)"
check 'with what was taken, and nothing else' test \
	"$(git_in diff --name-only main agent/one | tr '\n' ' ')" = 'large src/a src/new/deep/run '
check 'byte by byte' diff <(git_in cat-file blob agent/one:src/new/deep/run) <(printf '#!/bin/sh\r\n')
check 'a large one, too' cmp "$fork/large" <(git_in cat-file blob agent/one:large)
check 'executable, with no other bit' says 0 '100755 *' git_in ls-tree agent/one src/new/deep/run
check 'by whom' test "$(git_in log -1 --format=%an agent/one)" = tasks/site-1
check 'index, files and HEAD are as they were' diff <(grep -v '/refs\|/logs' before) <(describe | grep -v '/refs\|/logs')
check 'it is whole' git_in fsck --strict
check 'a name that is taken' says 1 '*no branch was made: there is a branch of that name*' \
	"$BERTH" workspace apply site-1 src/a --into site --branch agent/one
for name in 'a b' 'a..b' '../x' '-x' 'x.lock' '@{' '' 'HEAD' "$(printf 'a\033[31m')" "$(head -c 300 /dev/zero | tr '\0' x)"; do
	check "no name of one: ${name:0:9}" says 2 '*not a name of a branch*' "$BERTH" workspace apply site-1 src/a --into site "--branch=$name"
done
check 'with force what was in conflict' says 0 '*branch two is *' "$BERTH" workspace apply site-1 src --into site --branch two --force
check 'has it' test "$(git_in cat-file blob two:src/b)" = "$(cat "$fork/src/b")"
check 'one of two hunks' says 0 '*branch half is *' "$BERTH" workspace apply site-1 src/a --into site --branch half --hunks 2
check 'has that one' test "$(git_in diff main half | grep -c '^[+-][0-9]')" = 2
check 'as JSON' fits workspace_take "$BERTH" workspace apply site-1 src/a --into site --branch json --json
check 'nothing that HEAD does not have' says 1 '*no branch was made: there is nothing to apply*' \
	"$BERTH" workspace apply site-1 README.md --into site --branch none
check 'no files are left elsewhere' test -z "$(ls -d "$TMPDIR"/berth-branch* 2>/dev/null)"
"$BERTH" workspace create project young >made
check 'on no commit yet' says 0 '*branch first is *' "$BERTH" workspace apply site-1 src/a --into young --branch first --force
check 'it is the first' test "$(git -C "$all/projects/young" log --format=%s first)" = 'Apply 1 file of tasks/site-1'
mkdir plain
check 'of no repository' says 1 '*no branch was made: no git repository*' "$BERTH" workspace apply site-1 src/a --into "$PWD/plain" --branch x
check 'two at once' bash -c '
	for i in 1 2 3 4; do "$BERTH" workspace apply site-1 src/a --into site --branch race >"race$i" 2>&1 & done; wait
	test "$(grep -l "^branch race is" race? | wc -l)" = 1'
if [ "$(id -u)" = 0 ]; then
	chown -R 12345:12345 "$site"
	check 'of an agent that is another user' says 0 '*branch other is *' "$BERTH" workspace apply site-1 src/a large --into site --branch other
	check 'all of it is theirs' test -z "$(find "$site" ! -uid 12345)"
fi

# --- what an agent may plant, in the project and in what it made ---

tools=$PWD/tools
plant() {
	mkdir -p "$(dirname "$1")"
	printf '#!/bin/sh\ntouch "%s/%s"\ncat\n' "$ran" "$(basename "$1")" >"$1"
	chmod 755 "$1"
}
for hook in pre-commit post-commit commit-msg prepare-commit-msg reference-transaction post-index-change update post-checkout; do
	plant "$site/.git/hooks/$hook"
done
for tool in fsmonitor clean smudge process gpg editor; do plant "$tools/$tool"; done
set_key() { git config -f "$site/.git/config" "$@"; }
set_key core.fsmonitor "$tools/fsmonitor" && set_key core.hooksPath "$site/.git/hooks"
set_key filter.evil.clean "$tools/clean" && set_key filter.evil.smudge "$tools/smudge" && set_key filter.evil.required true
set_key commit.gpgSign true && set_key gpg.program "$tools/gpg" && set_key core.editor "$tools/editor"
set_key core.autocrlf true && set_key core.eol crlf && set_key core.attributesFile "$site/.gitattributes"
printf '* filter=evil text eol=crlf ident\n' >"$site/.gitattributes"
cp "$site/.gitattributes" "$fork/src/.gitattributes" && mkdir -p "$site/.git/info" && cp "$site/.gitattributes" "$site/.git/info/attributes"
# shellcheck disable=SC2016 # what ident would expand
printf '$Id$\n\r\n\n' >"$fork/src/ident"
mkdir -p "$fork/src/sub/.git/hooks" "$fork/.GIT" && plant "$fork/src/sub/.git/hooks/post-checkout" && echo x >"$fork/.GIT/config"
printf '[submodule "x"]\n\tpath = x\n\turl = ext::%s\n\tupdate = !%s\n' "$tools/clean" "$tools/clean" >"$fork/.gitmodules"
cp -a "$site" copy && git -C copy add -A >/dev/null 2>&1
check 'git runs what was planted' test -n "$(ls "$ran")"
rm -rf "${ran:?}"/*
check 'a branch, with all of that' says 0 '*dropped  .GIT/config*dropped  src/sub/.git*branch planted is *' take --branch planted --force
check 'nothing was run' nothing_ran
check 'and nothing was rewritten' cmp "$fork/src/ident" <(git_in -c core.fsmonitor= cat-file blob planted:src/ident)
check 'nothing of git is in it' test -z "$(git_in -c core.fsmonitor= ls-tree -r --name-only planted | grep -i '\.git/')"
# A call that strace does not know any more, for the process ended meanwhile, is ???(.
strace -f -qq -o trace -e trace=execve,execveat,clone,clone3,fork,vfork,socket "$BERTH" workspace apply site-1 src/a --into site --branch traced >out 2>&1
check 'berth-git starts no program and no process, and opens no socket' bash -c '
	pids=$(sed -n "s/^\([0-9]*\) .*execve(.*berth-git.*/\1/p" trace | sort -u); test -n "$pids" || exit 1
	for p in $pids; do grep "^$p " trace; done >of-git; ! grep -v "execve(.*berth-git\|execve resumed\|???( <unfinished ...>$\|+++ .* +++$" of-git'
rm -rf "${ran:?}"/*

# --- what leads out ---

git init -q elsewhere && (cd elsewhere && echo 1 >f && git add f && git -c core.hooksPath=/dev/null commit -qm x) || exit 1
other=$PWD/elsewhere
fresh() {
	"$BERTH" workspace create project "$1" >made || exit 1
	dir=$all/projects/$1
	echo 1 >"$dir/f" && git -C "$dir" add -A && git -C "$dir" -c core.hooksPath=/dev/null commit -qm x
}
out_of() { "$BERTH" workspace apply site-1 src/a --into "$1" --branch b --force; }
find "$other" -type f -exec sha256sum {} \; | sort >untouched
fresh linked && rm -rf "$dir/.git" && ln -s "$other/.git" "$dir/.git"
check 'a .git that is a link' says 1 '*leads elsewhere: not followed*' out_of linked
fresh worktree && rm -rf "$dir/.git" && echo "gitdir: $other/.git" >"$dir/.git"
check 'a .git that is the file of a worktree' says 1 '*leads elsewhere: not followed*' out_of worktree
fresh objects && rm -rf "$dir/.git/objects" && ln -s "$other/.git/objects" "$dir/.git/objects"
check 'objects that lie elsewhere' says 1 '*no branch was made*' out_of objects
fresh heads && rm -rf "$dir/.git/refs/heads" && ln -s "$other/.git/refs/heads" "$dir/.git/refs/heads"
check 'branches that lie elsewhere' says 1 '*no branch was made*' out_of heads
fresh common && echo "$other/.git" >"$dir/.git/commondir"
check 'a commondir elsewhere' says 1 '*no branch was made*' out_of common
fresh logs && rm -rf "$dir/.git/logs" && ln -s "$other" "$dir/.git/logs"
"$BERTH" workspace apply site-1 src/a --into logs --branch b --force >out 2>&1
fresh fifo && rm "$dir/.git/HEAD" && mkfifo "$dir/.git/HEAD"
check 'nothing came elsewhere' diff untouched <(find "$other" -type f -exec sha256sum {} \; | sort)

# --- killed, and a full disk ---

killed() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		timeout -s KILL "0.0$((RANDOM % 90 + 9))" "$BERTH" workspace apply site-1 src/a large --into site --branch "kill$i" >out 2>&1
		git_in -c core.fsmonitor= -c fsck.gitmodulesUpdate=ignore fsck >out 2>&1 || { cat out; return 1; }
		! git_in rev-parse -q --verify "kill$i" >/dev/null || cmp "$fork/large" <(git_in cat-file blob "kill$i:large") || return 1
	done
}
check 'killed in the middle' killed
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=10m none small 2>err; then
	git init -q small/repo && (cd small/repo && echo 1 >f && git add f && git -c core.hooksPath=/dev/null commit -qm x)
	check 'a full disk' says 1 '*no branch was made: it could not be written*' \
		"$BERTH" workspace apply site-1 large --into "$PWD/small/repo" --branch big
	check 'has no branch' test -z "$(git -C small/repo branch --list big)"
	check 'and what it had' git -C small/repo fsck --strict
	umount small
fi
check 'each act is on record' says 0 '*branch*' "$BERTH" audit list --json --act workspace.take
exit "$bad"
