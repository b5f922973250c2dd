#!/bin/bash
# workspace_git.sh - the git state of projects: read as git would, and nothing that an agent planted is run or left by.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1
site=$PWD/data/berth/workspaces/projects/site
# Whatever of the agent's runs leaves a file here.
ran=$PWD/ran
mkdir "$ran"

show() { "$BERTH" workspace show "${1:-site}"; }
git_in() { git -C "$site" -c core.hooksPath=/dev/null "$@" >>git.log 2>&1 || { cat git.log; exit 1; }; }
nothing_ran() { test -z "$(ls "$ran")" || { ls "$ran"; false; }; }
# plant PROGRAM...: what leaves a file named as itself
plant() {
	local name
	for name; do
		mkdir -p "$(dirname "$name")"
		printf '#!/bin/sh\ntouch "%s/%s"\ncat\n' "$ran" "$(basename "$name")" >"$name"
		chmod 755 "$name"
	done
}

"$BERTH" workspace create project site >made || exit 1
check 'nothing is known before somebody looks' fits workspace_list "$BERTH" workspace list --json
check 'a new one has no commit, and files that nobody added' says 0 '*git *main: * untracked*' show
git_in add -A
git_in commit -qm one
check 'a commit, and no remote' says 0 '*git *main: 1 commits, no remote*' show
git init -q --bare remote.git
git_in remote add origin "$PWD/remote.git"
git_in push -q origin main
check 'pushed' says 0 '*git *main: clean*' show
echo 1 >"$site/src/a"
echo 1 >"$site/src/b"
git_in add src/a
echo more >>"$site/README.md"
check 'staged, changed, untracked' says 0 '*main: 1 staged, 1 changed, 1 untracked*' show
git_in add -A
git_in commit -qm two
git_in branch aside
check 'what is not pushed' says 0 '*main: 1 not pushed*' show
check 'list tells what was seen last' says 0 '*project*site*main: 1 not pushed*' "$BERTH" workspace list
check 'as JSON' fits workspace "$BERTH" workspace show --json site
check 'as JSON, of all' fits workspace_list "$BERTH" workspace list --json
check 'the index stays as it was' test "$(git -C "$site" status --porcelain | wc -l)" = 0
git_in checkout -q --detach
check 'on no branch' says 0 "*git *$(git -C "$site" rev-parse --short=8 HEAD): 1 not pushed*" show
git_in checkout -q main
[ "$(id -u)" != 0 ] || chown -R 12345:12345 "$site"
check 'of an agent that is another user' says 0 '*main: 1 not pushed*' show

# --- programs ---

tools=$PWD/tools
for hook in pre-commit post-checkout post-index-change fsmonitor-watchman reference-transaction post-rewrite; do
	plant "$site/.git/hooks/$hook"
done
plant "$tools"/{fsmonitor,clean,smudge,process,textconv,external,ssh,pager,editor,credential,gpg,askpass,alias,proc}
git config -f "$site/.git/config" core.fsmonitor "$tools/fsmonitor"
git config -f "$site/.git/config" core.hooksPath "$site/.git/hooks"
git config -f "$site/.git/config" core.sshCommand "$tools/ssh"
git config -f "$site/.git/config" core.pager "$tools/pager"
git config -f "$site/.git/config" core.editor "$tools/editor"
git config -f "$site/.git/config" core.askPass "$tools/askpass"
git config -f "$site/.git/config" core.attributesFile "$tools/attributes"
git config -f "$site/.git/config" credential.helper "$tools/credential"
git config -f "$site/.git/config" gpg.program "$tools/gpg"
git config -f "$site/.git/config" filter.evil.clean "$tools/clean"
git config -f "$site/.git/config" filter.evil.smudge "$tools/smudge"
git config -f "$site/.git/config" filter.evil.required true
git config -f "$site/.git/config" filter.long.process "$tools/process"
git config -f "$site/.git/config" diff.evil.textconv "$tools/textconv"
git config -f "$site/.git/config" diff.external "$tools/external"
git config -f "$site/.git/config" alias.status "!$tools/alias"
printf '%s\n' '* filter=evil diff=evil' 'README.md filter=long' >"$site/.gitattributes"
cp "$site/.gitattributes" "$site/.git/info/attributes" 2>/dev/null ||
	{ mkdir -p "$site/.git/info" && cp "$site/.gitattributes" "$site/.git/info/attributes"; }
printf x >>"$site/src/a"
touch "$site/README.md" "$site/src/b"
# The plants work: git itself runs them.
git -C "$site" -c safe.directory='*' status >/dev/null 2>&1
check 'git runs what was planted' test -n "$(ls "$ran")"
rm -rf "${ran:?}"/*
printf y >>"$site/src/a"
touch "$site/README.md" "$site/src/b"
check 'its state is told' says 0 '*main: * changed*' show
check 'and nothing was run' nothing_ran
(cd "$site" && strace -f -qq -o "$TMPDIR/trace" -e trace=execve,execveat,clone,clone3,fork,vfork,socket \
	"$(dirname "$BERTH")/berth-git" | cat >"$TMPDIR/answer")
check 'it reads' test -s answer
check 'it starts no program and no process, and opens no socket' test "$(grep -cv 'execve(.*berth-git' trace)" = 0
rm -f "$site/.gitattributes" "$site/.git/info/attributes"

# --- what leads out ---

echo 'secret words' >outside
git init -q elsewhere
(cd elsewhere && echo 1 >f && git add f && git -c core.hooksPath=/dev/null commit -qm 'of nobody else') || exit 1
other=$PWD/elsewhere
fresh() { # a project of its own for each
	"$BERTH" workspace create project "$1" >made || exit 1
	dir=$PWD/data/berth/workspaces/projects/$1
}
fresh linked && rm -rf "$dir/.git" && ln -s "$other/.git" "$dir/.git"
check 'a .git that is a link' says 0 '*git *leads elsewhere: not followed*' show linked
fresh worktree && rm -rf "$dir/.git" && echo "gitdir: $other/.git" >"$dir/.git"
check 'a .git that is the file of a worktree' says 0 '*git *leads elsewhere: not followed*' show worktree
fresh common && echo "$other/.git" >"$dir/.git/commondir"
check 'a commondir outside is not there' says 0 '*git *cannot be read*' show common
fresh moved && git config -f "$dir/.git/config" core.worktree "$other"
check 'files elsewhere, as its configuration says, are none of its own' says 0 '*git *cannot be read*' show moved
fresh inward && git config -f "$dir/.git/config" core.worktree /src
check 'files are what is in the directory, wherever it says they are' says 0 '*git *main: 3 untracked*' show inward
fresh alternates && mkdir -p "$dir/.git/objects/info" && echo "$other/.git/objects" >"$dir/.git/objects/info/alternates" &&
	git -C "$other" rev-parse HEAD >"$dir/.git/refs/heads/main"
check 'objects of another repository are not there' says 0 '*git *cannot be read*' show alternates
fresh objects && rm -rf "$dir/.git/objects" && ln -s "$other/.git/objects" "$dir/.git/objects" &&
	git -C "$other" rev-parse HEAD >"$dir/.git/refs/heads/main"
check 'nor through a link' says 0 '*git *cannot be read*' show objects
fresh refs && rm -rf "$dir/.git/refs/heads" && ln -s "$other/.git/refs/heads" "$dir/.git/refs/heads"
check 'nor are branches' says 0 '*git *main: * untracked*' show refs
fresh head && rm "$dir/.git/HEAD" && ln -s "$PWD/outside" "$dir/.git/HEAD"
check 'nor a HEAD' says 0 '*git *cannot be read*' show head
fresh included && git config -f "$dir/.git/config" include.path "$PWD/outside"
check 'what a configuration includes from outside is not there' says 0 '*git *main: *' show included
fresh fifo && mkfifo "$dir/.git/index"
check 'a FIFO that nobody writes ends the look, in time' says 0 '*git *main: too much to be read in time*' timeout 60 "$BERTH" workspace show fifo
fresh words && printf 'ref: refs/heads/a\033[31mb\n' >"$dir/.git/HEAD"
check 'no byte of a name reaches the terminal' test -z "$(show words | tr -d '[:print:]\n')"
fresh broken && head -c 4096 /dev/urandom >"$dir/.git/index"
check 'an index of noise' says 0 '*git *main: *cannot be read*' show broken
fresh large && git config -f "$dir/.git/config" core.bigFileThreshold 1 && truncate -s 1T "$dir/.git/index"
check 'a huge one' says 0 '*git *main: *' show large
fresh none && rm -rf "$dir/.git"
check 'no repository' says 0 '*git *no git repository*' show none
fresh module && mkdir -p "$dir/sub" && cp -a "$site/.git" "$dir/sub/.git" && echo x >"$dir/sub/f" &&
	printf '[submodule "sub"]\n\tpath = sub\n\turl = ext::%s\n\tupdate = !%s\n' "$tools/proc" "$tools/proc" >"$dir/.gitmodules"
check 'a submodule with programs' says 0 '*git *main: *' show module
check 'nothing was run, again' nothing_ran

# --- by who is not root, in a namespace of its own ---

if [ "$(id -u)" = 0 ]; then
	chmod 711 "$TMPDIR" "$TMPDIR/.."
	install -d -o 65534 -g 65534 "$PWD/nobody" "$PWD/nobody/run"
	# Where the programs are, and the lists that sanitizers read, may be closed to others.
	mkdir -m 755 programs && cp "$(dirname "$BERTH")"/berth "$(dirname "$BERTH")"/berth-* programs/ && chmod 755 programs/*
	user=(setpriv --reuid 65534 --regid 65534 --clear-groups env -u TSAN_OPTIONS -u LSAN_OPTIONS HOME="$PWD/nobody" XDG_DATA_HOME="$PWD/nobody"
		XDG_STATE_HOME="$PWD/nobody" XDG_CONFIG_HOME="$PWD/nobody" XDG_CACHE_HOME="$PWD/nobody" XDG_RUNTIME_DIR="$PWD/nobody/run")
	check 'a project of a user' says 0 '*' "${user[@]}" "$PWD/programs/berth" workspace create project site
	check 'is read by a user, or said not to be' says 0 '*git *@(main: 3 untracked|not read: no user namespaces)*' \
		"${user[@]}" "$PWD/programs/berth" workspace show site
fi
exit $bad
