#!/bin/bash
# workspace_diff.sh - `berth workspace fork`, `diff`, `overlap`: the same start for several, and what each made of it.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
tasks=$PWD/data/berth/workspaces/tasks
projects=$PWD/data/berth/workspaces/projects

# What a tree holds but context.json: names, modes, times and contents.
describe() {
	(cd "$1" && find . ! -name context.json -mindepth 1 -printf '%p %m %T@ %l\n' | sort &&
		find . -type f ! -name context.json -print0 | sort -z | xargs -0 sha256sum)
}

"$BERTH" workspace create task other >made || exit 1
"$BERTH" workspace create task fix >made || exit 1
printf 'one\ntwo\nthree\n' >"$tasks/fix/files/a"
printf 'a\0b' >"$tasks/fix/files/bin"
ln -s /etc "$tasks/fix/files/out"
mkdir -m 2750 "$tasks/fix/files/dir"
check 'two forks' says 0 "*$tasks/fix-1*$tasks/fix-2*" "$BERTH" workspace fork fix 2
check 'each has all that was there' diff <(describe "$tasks/fix") <(describe "$tasks/fix-2")
check 'and a context of its own' grep -q '"task_id": "fix-2"' "$tasks/fix-2/context.json"
check 'the next is called by the next number' fits workspace_fork "$BERTH" workspace fork --json fix 1
check 'and is there' test -d "$tasks/fix-3"
check 'no fork' says 2 '*1 to 100 tasks*' "$BERTH" workspace fork fix 0
check 'too many' says 2 '*1 to 100 tasks*' "$BERTH" workspace fork fix 101
check 'in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace fork fix 1
check 'of nothing' says 1 '*no workspace*' "$BERTH" workspace fork nothing 1

printf 'one\n2\nthree\n' >"$tasks/fix-1/files/a"
printf 'more' >>"$tasks/fix-1/files/bin"
rm "$tasks/fix-1/files/out" && mkdir "$tasks/fix-1/files/out"
chmod 755 "$tasks/fix-1/output"
evil=$(printf 'e\033[31mvil\nx')
printf 'new\033[31m\n' >"$tasks/fix-1/files/$evil"
rm "$tasks/fix-1/prompt.md" && chmod 755 "$tasks/fix-1/.env" && mkfifo "$tasks/fix-1/files/pipe"
cat >want <<'EOF'
diff --git a/files/a b/files/a
--- a/files/a
+++ b/files/a
@@ -1,3 +1,3 @@
 one
-two
+2
 three
diff --git a/files/bin b/files/bin
Binary files a/files/bin and b/files/bin differ
diff --git a/files/out b/files/out
deleted file mode 120000
--- a/files/out
+++ /dev/null
@@ -1 +0,0 @@
-/etc
\ No newline at end of file
EOF
check 'what differs' diff want <("$BERTH" workspace diff fix fix-1 files/a files/bin files/out)
check 'in lines' diff - <("$BERTH" workspace diff --stat fix fix-1 files/a files/bin files/out) <<'EOF'
changed  files/a  14, 12  +1 -1
changed  files/bin  3, 7  binary
type     files/out  -> /etc, directory
0 added, 0 removed, 2 changed, 1 of another type, 0 of another mode or owner; +1 -1 lines
EOF
# Secrets are not shown but on request, and then as a patch that applies.
"$BERTH" workspace create task leak >made && "$BERTH" workspace fork leak 1 >made
printf 'before\nTOKEN=a8f5f167f44f4964\nafter\n' >"$tasks/leak-1/files/conf"
printf 'PORT=80\n' >"$tasks/leak-1/.env"
check 'a likely secret is masked, and that is told' says 0 '*+before?+TOKEN=\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*?+after*likely secrets are masked*--secrets*' \
	"$BERTH" workspace diff leak leak-1 files/conf
check 'so is all of a file that holds them' says 0 '*+PORT=\*\*?*' "$BERTH" workspace diff leak leak-1 .env
check 'also what goes away' says 0 '*-TOKEN=\*\*\*\**' "$BERTH" workspace diff leak-1 leak files/conf
check 'where there is none nothing is said' says 0 '' "$BERTH" workspace diff leak leak-1 files/none
check 'it is there for who asks' says 0 '*+TOKEN=a8f5f167f44f4964?+after' "$BERTH" workspace diff --secrets leak leak-1 files/conf
# What an agent names is not shown either: targets of links, names of files.
ln -s /srv/TOKEN=a8f5f167f44f4964 "$tasks/leak-1/files/link"
printf 'KEY=c8f5f167f44f4964\n' >"$tasks/leak-1/files/TOKEN=b8f5f167f44f4964"
printf 'else\n' >"$tasks/leak/files/TOKEN=b8f5f167f44f4964"
check 'the target of a link is masked' says 0 '*+/srv/TOKEN=\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*?*likely secrets are masked*' \
	"$BERTH" workspace diff leak leak-1 files/link
check 'in a list, too' says 0 'added    files/link  -> /srv/TOKEN=\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*?*' \
	"$BERTH" workspace diff --stat leak leak-1 files/link
check 'for who asks it is there' says 0 '*+/srv/TOKEN=a8f5f167f44f4964*' "$BERTH" workspace diff --secrets leak leak-1 files/link
hidden() { # hidden COMMAND...
	"$@" >shown 2>&1
	! grep -E 'TOKEN=[ab]8f5' shown && grep -q 'TOKEN=\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*\*' shown
}
check 'neither are shown by diff' hidden "$BERTH" workspace diff leak leak-1
check 'nor as JSON' hidden "$BERTH" workspace diff --json leak leak-1
check 'nor by show' hidden "$BERTH" workspace show leak-1
check 'nor as JSON' hidden "$BERTH" workspace show --json leak-1
check 'nor by debug' hidden "$BERTH" workspace debug leak-1
check 'nor by overlap' hidden "$BERTH" workspace overlap leak-1 leak
check 'nor by apply' hidden "$BERTH" workspace apply --dry-run leak-1 files --into leak
check 'nor by its hunks' hidden "$BERTH" workspace apply --dry-run --patch leak-1 files --into leak
check 'nor by hand-over' hidden "$BERTH" workspace hand-over --dry-run leak-1 leak files
check 'nor by archive' hidden "$BERTH" workspace archive --as leaked leak-1
"$BERTH" workspace clean archives/leaked >made
check 'what git does not know is a line' says 0 'added    files/pipe  fifo' "$BERTH" workspace diff fix fix-1 files/pipe
applies() {
	rm -rf as && cp -a "$tasks/fix" as && "$BERTH" workspace diff fix fix-1 context.json prompt.md .env files/a files/out "files/$evil" >all.diff && (cd as && "$@" <../all.diff) &&
		[ ! -e as/prompt.md ] && [ -x as/.env ] && [ ! -e as/files/out ] && cmp as/files/a "$tasks/fix-1/files/a" && cmp "as/files/$evil" "$tasks/fix-1/files/$evil"
}
check 'git applies it' applies env GIT_CEILING_DIRECTORIES="$PWD" git apply
check 'so does patch' applies patch -sfp1
check 'a name is one line, and harmless' says 0 'added    "files/e?033\[31mvil?nx"  9  +1 -0*' \
	"$BERTH" workspace diff --stat fix fix-1 "files/$evil"
check 'the other way' says 0 '*removed  "files/e*' "$BERTH" workspace diff --stat fix-1 fix
check 'modes, and a sum' says 0 '*mode     output  0600*, 0755*2 added, 1 removed, 3 changed, 1 of another type, 2 of*' \
	"$BERTH" workspace diff --stat fix fix-1
check 'as JSON' fits workspace_diff "$BERTH" workspace diff --json fix fix-1
start=$("$BERTH" workspace checkpoints fix | awk '/^fork-/ {print $1; exit}')
check 'of a checkpoint' diff want <("$BERTH" workspace diff "fix@$start" fix-1 files/a files/bin files/out)
check 'of two that are the same' says 0 '' "$BERTH" workspace diff "fix@$start" fix
check 'of a checkpoint that is not there' says 1 '*no checkpoint nope*' "$BERTH" workspace diff fix@nope fix
check 'of none' says 2 '*not a valid checkpoint name*' "$BERTH" workspace diff fix@ fix

# on_terminal COMMAND...: what it prints where a terminal reads it, without control characters but line ends.
on_terminal() {
	python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@" </dev/null
}
harmless() {
	on_terminal "$BERTH" workspace diff fix fix-1 files >shown && grep -q '^+new^\[\[31m' shown && ! grep -q $'\033' shown
}
check 'contents are harmless on a terminal' harmless

printf 'one\n2\nthree\n' >"$tasks/fix-2/files/a"
printf 'else' >"$tasks/fix-2/files/bin"
rm "$tasks/fix-2/output"
cat >want <<'EOF'
files/a  tasks/fix-1 changed, tasks/fix-2 changed; the same
files/bin  tasks/fix-1 changed, tasks/fix-2 changed
output  tasks/fix-1 mode, tasks/fix-2 removed
EOF
check 'the forks of one start overlap' diff want <("$BERTH" workspace overlap fix-1 fix-2)
check 'as JSON' fits workspace_overlap "$BERTH" workspace overlap --json fix-1 fix-2
echo mine >"$tasks/fix/files/bin"
check 'so does what was forked' says 0 'files/bin  tasks/fix changed, tasks/fix-1 changed*' \
	"$BERTH" workspace overlap fix fix-1
printf '%s\n' 'key 0' 'wait fix-1' 'key /' 'type ^fix-[12]$' 'key Enter' 'key *' 'key O' 'wait tasks/fix-1 mode, tasks/fix-2 removed' \
	'key q' 'key u' 'key v' 'wait sound' >script
check 'from the console, which checks them, too' "$BERTH" -H "unix://$PWD/no-engine" --script script
check 'another fork has another start' says 2 '*have no common start*' "$BERTH" workspace overlap fix-1 fix-3
check 'a task that is no fork has none' says 2 '*have no common start*' "$BERTH" workspace overlap other fix
check 'with itself' says 2 '*named twice*' "$BERTH" workspace overlap fix-1 tasks/fix-1
check 'the checkpoint of the start goes' says 0 '*dropped*' "$BERTH" workspace drop fix "$start"
check 'the forks know it still' diff want <("$BERTH" workspace overlap fix-1 fix-2)

# The same of an archive: nothing is unpacked.
printf 'linked\n' >"$tasks/fix-2/files/h1" && ln "$tasks/fix-2/files/h1" "$tasks/fix-2/files/h2"
seq 40000 >"$tasks/fix-2/files/long"
truncate -s 300000 "$tasks/fix-2/files/hole" && printf 'end\n' >>"$tasks/fix-2/files/hole"
"$BERTH" workspace diff fix-1 fix-2 >live
"$BERTH" workspace diff fix-2 fix-1 >back
"$BERTH" workspace archive fix-2 >made
archives=$PWD/data/berth/workspaces/archives
sha256sum "$archives/tasks/fix-2.tar.zst" >sum
check 'an archive, and a workspace' diff live <("$BERTH" workspace diff fix-1 archives/tasks/fix-2)
check 'the other way' diff back <("$BERTH" workspace diff archives/fix-2 fix-1)
check 'as JSON' fits workspace_diff "$BERTH" workspace diff --json archives/fix-2 fix-1
check 'it is the other side of an overlap' diff <(sed 's|tasks/fix-2|archives/&|' want) \
	<("$BERTH" workspace overlap fix-1 archives/fix-2 | grep -v /h)
"$BERTH" workspace archive --as old other >made
check 'two archives' says 0 'removed  *output*, 0 changed, *' "$BERTH" workspace diff --stat archives/tasks/fix-2 archives/old files output
check 'one that began with nothing' says 2 '*have no common start*' "$BERTH" workspace overlap fix-1 archives/old
check 'no such archive' says 1 '*no archive "none"*' "$BERTH" workspace diff archives/none fix-1
check 'nor one that leads out' says 1 '*no archive*' "$BERTH" workspace diff archives/../../x fix-1
check 'nothing was made of it' test ! -e "$tasks/fix-2" -a "$(find "$archives/tasks" -type f | wc -l)" = 2
check 'nor anything of the checkpoints of a name' test ! -e data/berth/checkpoints/tasks/old
check 'it is what it was' sha256sum --quiet -c sum
head -c 2000 "$archives/tasks/fix-2.tar.zst" >head-of-it && tail -c +2001 "$archives/tasks/fix-2.tar.zst" >rest
python3 -c 'd = bytearray(open("head-of-it", "rb").read()); d[900] ^= 4; open("head-of-it", "wb").write(d)'
cat head-of-it rest >"$archives/tasks/fix-2.tar.zst"
check 'of a damaged one no content is told' says 1 '*the archive fix-2 is damaged*' "$BERTH" workspace diff archives/fix-2 fix-1
check 'what one is not asked for is not read' says 0 '' "$BERTH" workspace diff archives/fix-2 fix-1 nothing
python3 -c 'd = bytearray(open("head-of-it", "rb").read()); d[900] ^= 4; open("head-of-it", "wb").write(d)'
cat head-of-it rest >"$archives/tasks/fix-2.tar.zst"
check 'and back' says 0 "*$tasks/fix-2" "$BERTH" workspace unarchive fix-2
check 'it is the same' diff live <("$BERTH" workspace diff fix-1 fix-2 | grep -v files/dir)
"$BERTH" workspace unarchive --as other old >made

rm -r "$tasks/fix-1" && "$BERTH" workspace create task fix-1 >made
check 'another task of that name did not begin so' says 2 '*have no common start*' \
	"$BERTH" workspace overlap fix-1 fix-2

"$BERTH" workspace create project site >made || exit 1
check 'a project' says 0 "*$tasks/site-1*" "$BERTH" workspace fork site 1
check 'is what it was' diff <(describe "$projects/site") <(describe "$tasks/site-1")
check 'with nothing else in it' says 0 '' "$BERTH" workspace diff site site-1
mv "$tasks/site-1" aside && ln -s "$PWD/aside" "$tasks/site-1"
check 'a link in its place is not a workspace' says 1 '*no workspace*' "$BERTH" workspace diff site site-1

# together: every fork gets a name, and keeps the start that its own checkpoint was.
together() {
	local pids=() i
	for i in 1 2 3 4 5 6; do
		"$BERTH" workspace fork --json other 3 >"fork.$i" 2>>errors &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || { cat errors && return 1; }
	done
	python3 - "$BERTH" <<'EOF'
import json, subprocess, sys
forks = [json.load(open(f"fork.{i}")) for i in range(1, 7)]
names = [f["name"] for of in forks for f in of["forks"]]
assert sorted(names) == sorted(f"other-{i}" for i in range(1, 19)), names
for of in forks:
    for f in of["forks"]:
        show = json.loads(subprocess.run([sys.argv[1], "workspace", "show", "--json", f["name"]], check=True, capture_output=True).stdout)
        assert show["forked_from"] == of["checkpoint"], (show, of)
EOF
}
check 'forks made at the same time' together

# acts: a fork by its name, with how it ended.
acts() {
	"$BERTH" audit list --json --act workspace.fork | python3 -c '
import json, sys
ends = [r["outcome"] for r in map(json.loads, sys.stdin) if r.get("phase") == "outcome"]
assert "ok" in ends, ends'
}
check 'forks are in the log' acts
exit $bad
