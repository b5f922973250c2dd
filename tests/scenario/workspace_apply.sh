#!/bin/bash
# workspace_apply.sh - `berth workspace apply`: what passes from an agent's workspace into a project, and what does not.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
umask 022
tasks=$PWD/data/berth/workspaces/tasks
site=$PWD/data/berth/workspaces/projects/site

# holds FILE TEXT
holds() { test "$(cat "$1")" = "$2"; }
# describe DIR: names, modes, owners, links and contents; no times
describe() {
	(cd "$1" && find . -printf '%p %y %m %U %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

"$BERTH" workspace create project site >made || exit 1
for i in a b c d; do printf '%s\n' $i >"$site/src/$i"; done
"$BERTH" workspace fork site 1 >made || exit 1
fork=$tasks/site-1

# The agent's work, and a person's in the meantime.
echo mine >"$fork/src/a"
echo both >"$fork/src/b" && echo other >"$site/src/b"
echo same >"$fork/src/c" && echo same >"$site/src/c"
echo later >"$site/src/d"
mkdir -p "$fork/src/new" && printf '#!/bin/sh\n' >"$fork/src/new/run" && chmod 4755 "$fork/src/new/run"
rm "$fork/README.md"
describe "$site" >before
cat >want <<'EOT'
dropped  README.md  0  it was removed there
changed  src/a  5
conflict src/b  5  it changed there, too
same     src/c  5
new      src/new/run  10  executable  without its set-id bits
EOT
check 'what would pass' diff want <("$BERTH" workspace apply --dry-run site-1 . --into site)
check 'by its former name, too' diff want <("$BERTH" workspace take --dry-run site-1 . --into site)
check 'which no help shows' test -z "$("$BERTH" help workspace | grep -w take)"
check 'nor a completion' test -z "$("$BERTH" complete -- workspace ta | grep -w ^take)"
check 'a conflict refuses all of it' says 1 '*conflict src/b*nothing was applied: 1 in conflict*' \
	"$BERTH" workspace apply site-1 . --into site
check 'and nothing is done' diff before <(describe "$site")
check 'refused in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace apply site-1 src/a --into site
check 'what is not in conflict' says 0 '*2 applied, 0 the same already, 0 dropped' \
	"$BERTH" workspace apply site-1 src/a src/new --into projects/site
check 'is there' holds "$site/src/a" mine
check 'and executable, with no other bit' test "$(stat -c %a "$site/src/new/run")" = 755
check 'what the agent did not touch stays' holds "$site/src/d" later
check 'with force' fits workspace_take "$BERTH" workspace apply --json --force site-1 . --into site
check 'also what was in conflict' holds "$site/src/b" both
check 'what was removed there stays' test -f "$site/README.md"
check 'a second time there is nothing to do' says 0 '*0 applied, 4 the same already, 1 dropped' \
	"$BERTH" workspace apply site-1 . --into site
rm "$site/src/a"
check 'what the target has no more is a conflict' says 1 '*conflict src/a*no longer exists*' \
	"$BERTH" workspace apply site-1 src/a --into site

# The executable bit passes as the content does, and alone: what only one side changed is what it becomes.
"$BERTH" workspace create project bits >made || exit 1
bits=$tasks/../projects/bits
for i in gains loses gained lost both kept; do echo $i >"$bits/src/$i"; done
chmod +x "$bits/src/loses" "$bits/src/lost" && chmod 640 "$bits/src/gained" "$bits/src/kept"
"$BERTH" workspace fork bits 1 >made || exit 1
fork=$tasks/bits-1
chmod +x "$fork/src/gains" "$fork/src/gained" "$fork/src/both" && chmod -x "$fork/src/loses" "$fork/src/lost"
chmod +x "$bits/src/both" "$bits/src/kept"
echo more >>"$fork/src/gained" && echo more >>"$fork/src/lost" && echo more >>"$fork/src/kept"
echo new >"$fork/src/$(printf 'a\tb')"
cat >want <<'EOT'
new      "src/a\tb"  4
same     src/both  5  executable
changed  src/gained  12  executable
changed  src/gains  6  executable
changed  src/kept  10
changed  src/loses  6  no longer executable
changed  src/lost  10  no longer executable
EOT
check 'the bit, and names that can be given back' diff want <("$BERTH" workspace apply --dry-run bits-1 . --into bits)
check 'passes' says 0 '*6 applied, 1 the same already, 0 dropped' "$BERTH" workspace apply bits-1 . --into bits
cat >want <<'EOT'
both 755
gained 750
gains 755
kept 751
loses 644
lost 644
EOT
check 'to whom may read the file' diff want <(cd "$bits/src" && stat -c '%n %a' both gained gains kept loses lost)
check 'once' says 0 '*0 applied, 7 the same already, 0 dropped' "$BERTH" workspace apply bits-1 . --into bits
"$BERTH" workspace checkpoint bits now >made && mkdir -p bits/src && echo gains >bits/src/gains
check 'without a start it is a conflict' says 1 '*conflict src/gains*executable*there it is not executable*' \
	"$BERTH" workspace apply bits@now src/gains --into "$PWD/bits"
check 'and passes by force' says 0 '*1 applied*' "$BERTH" workspace apply --force bits@now src/gains --into "$PWD/bits"
check 'all of it' test -x bits/src/gains

check 'without a target' says 2 '*--into*' "$BERTH" workspace apply site-1 .
check 'a target that is none' says 1 '*not a workspace*directory*' "$BERTH" workspace apply site-1 . --into "$PWD/nothing"
check 'a path that is not there' says 1 '*src/none is not in*' "$BERTH" workspace apply site-1 src/none --into site
check 'a path from the root' says 2 '*not a path in the workspace*' "$BERTH" workspace apply site-1 /etc/passwd --into site
check 'a path that leads out' says 1 '*../site is not in*' "$BERTH" workspace apply site-1 ../site --into site

# Without a start all that differs is in conflict, and a checkpoint will do.
"$BERTH" workspace create task job >made || exit 1
echo one >"$tasks/job/files/one" && "$BERTH" workspace checkpoint job 'then' >made && echo two >"$tasks/job/files/one"
mkdir -p out/files && echo else >out/files/one
check 'another file is in the way' says 1 '*conflict files/one*there is another*' \
	"$BERTH" workspace apply job@then files --into "$PWD/out"
check 'with force what it held then' says 0 '*1 applied*' "$BERTH" workspace apply --force job@then files --into "$PWD/out"
check 'is there' holds out/files/one one

# What an agent may plant.
evil=$tasks/job
mkdir -p "$evil/files/sub/.git/hooks" "$evil/files/.GIT" "$evil/files/dir" && rm -r out/files
printf 'echo owned\n' >"$evil/files/sub/.git/hooks/post-checkout"
printf '[core]\n\tfsmonitor = ./evil\n' >"$evil/files/.GIT/config"
ln -s /etc/passwd "$evil/files/link" && ln -s /etc "$evil/files/etc" && mkfifo "$evil/files/fifo"
printf 'x' >"$evil/files/$(printf 'e\033[31mvil\nnew  x')"
printf 'TOKEN=%s\nmore\nsee %s%s\n' a8f5f167f44f4964e6c998dee827110c gh p_16C7e42F292c6912E7710c838347Ae178B4a >"$evil/files/conf"
ln "$evil/files/conf" "$evil/files/hard"
check 'all of it' says 0 '*dropped  files/.GIT/config*git*dropped  files/etc*link*dropped  files/fifo*FIFO*dropped  files/link*link*dropped  files/sub/.git/hooks/post-checkout*git*' \
	"$BERTH" workspace apply job files --into "$PWD/out"
check 'only files pass' test -z "$(find out ! -type f ! -type d)"
check 'nothing of git' test -z "$(find out -iname .git)"
rm -r out/files
# A language in which I is no capital of i, as in Turkish.  (glibc never frees what it notes of LOCPATH.)
python3 - <<'PY'
letters = [(chr(c), chr(c + 32)) for c in range(65, 91)]
with open("charmap", "w") as f:
    f.write("<code_set_name> UTF-8\n<mb_cur_min> 1\n<mb_cur_max> 6\n<comment_char> %\n<escape_char> /\nCHARMAP\n")
    f.writelines(f"<U{c:04X}> /x{c:02x} X\n" for c in range(128))
    f.write("END CHARMAP\n")
with open("language", "w") as f:
    f.write("comment_char %\nescape_char /\nLC_CTYPE\n")
    for name, pairs in (("upper", [a for a, _ in letters]), ("lower", [b for _, b in letters])):
        f.write(f"{name} {';'.join(f'<U{ord(c):04X}>' for c in pairs)}\n")
    for name, pairs in (("tolower", letters), ("toupper", [(b, a) for a, b in letters])):
        f.write(f"{name} {';'.join(f'(<U{ord(a):04X}>,<U{ord(b):04X}>)' for a, b in pairs if a not in 'Ii')}\n")
    f.write("END LC_CTYPE\n")
PY
mkdir locales && localedef -c --no-archive -i ./language -f ./charmap "$PWD/locales/xx_XX.UTF-8" 2>localedef.err
check 'not in another language either' says 0 '*dropped  files/.GIT/config*git*' \
	env LOCPATH="$PWD/locales" LC_ALL=xx_XX.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" "$BERTH" workspace apply --dry-run job files --into "$PWD/out"
check 'secrets are told with their line' says 0 '*secret   files/conf:1  likely*secret   files/conf:3  likely a token of GitHub*' \
	"$BERTH" workspace apply --dry-run job files/conf --into "$PWD/out"
check 'and before anything is taken' says 0 'secret   files/conf:1 *new *files/conf *1 applied*' \
	"$BERTH" workspace apply job files/conf --into "$PWD/out"
rm -r out/files
check 'never with their value' test -z "$("$BERTH" workspace apply --dry-run job files --into "$PWD/out" | grep a8f5f)"
mkdir -p out/files && printf 'TOKEN=none\nless\n' >out/files/conf
check 'nor in a hunk' says 0 '*-TOKEN=none*+TOKEN=\*\*\*\*\*\*\*\**see ghp_\*\*\**' \
	"$BERTH" workspace apply --dry-run --patch job files/conf --into "$PWD/out"
check 'as JSON neither' test -z "$("$BERTH" workspace apply --dry-run --patch --json job files/conf --into "$PWD/out" | grep -e a8f5f -e 16C7e)"
check 'but on request' says 0 '*+TOKEN=a8f5f167f44f4964*' \
	"$BERTH" workspace apply --dry-run --patch --secrets job files/conf --into "$PWD/out"
check 'what is applied is what it is' says 0 '*' "$BERTH" workspace apply --force job files/conf --into "$PWD/out"
check 'all of it' cmp "$evil/files/conf" out/files/conf
rm -r out/files
check 'a name is one line, and harmless' says 0 'new      "files/e?033\[31mvil?nnew  x"  1' \
	"$BERTH" workspace apply --dry-run job "files/$(printf 'e\033[31mvil\nnew  x')" --into "$PWD/out"

# Attributes and owners stay behind (setting an owner needs root).
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.evil", b"x")' "$evil/files/one"
without='attributes'
if [ "$(id -u)" = 0 ]; then
	chown 4321:4321 "$evil/files/one" && chmod 6755 "$evil/files/one"
	without='set-id bits, attributes or owner'
fi
check 'attributes and owners are told' says 0 "*new      files/one*without its $without*" \
	"$BERTH" workspace apply job files/one --into "$PWD/out"
check 'and do not pass' test "$(stat -c %u out/files/one)-$(stat -c %a out/files/one | wc -c)" = "$(id -u)-4"
check 'nor do the attributes' test -z "$(python3 -c 'import os; print("".join(os.listxattr("out/files/one")))')"
rm -r out/files

# What lies in wait in the target: nothing is followed, with force neither.
mkdir -p out/files away && ln -s "$PWD/away/x" out/files/one && echo keep >away/x
check 'a link in the place of a file' says 1 '*blocked  files/one*a symbolic link is in the way*' \
	"$BERTH" workspace apply --force job files/one --into "$PWD/out"
check 'is not followed' holds away/x keep
rm -r out/files && ln -s "$PWD/away" out/files
check 'a link in the place of a directory' says 1 '*blocked  files/one*a symbolic link is in the way*' \
	"$BERTH" workspace apply --force job files/one --into "$PWD/out"
check 'is neither' test ! -e away/one
rm out/files && mkdir -p out/sub out/other && ln -s ../other out/files
check 'nor one that stays inside' says 1 '*blocked*' "$BERTH" workspace apply --force job files/one --into "$PWD/out"
check 'nothing came there' test -z "$(ls out/other)"
rm out/files && mkdir -p out/files/one
check 'a directory in the place of a file' says 1 '*blocked  files/one*a directory is there*' \
	"$BERTH" workspace apply --force job files/one --into "$PWD/out"

# acts: takes by their name, with how they ended, and where to.
acts() {
	"$BERTH" audit list --json --act workspace.take | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
ends = [r["outcome"] for r in rows if r.get("phase") == "outcome"]
assert "ok" in ends and "failed" in ends, ends
assert "projects/site" in json.dumps(rows), rows'
}
check 'all of it is in the log' acts

# --- hunks ---

"$BERTH" workspace create project hunks >made || exit 1
hunks=$PWD/data/berth/workspaces/projects/hunks
seq 40 >"$hunks/src/n" && seq 40 >"$hunks/src/m"
"$BERTH" workspace fork hunks 1 >made || exit 1
fork=$tasks/hunks-1
sed -i '2s/$/ two/; 20s/$/ twenty/; 39d' "$fork/src/n"
sed -i '5s/$/ agent/' "$fork/src/m" && sed -i '30s/$/ person/' "$hunks/src/m"
printf 'no end of line' >"$fork/src/o" && printf 'a\0b' >"$fork/src/p"
take() { "$BERTH" workspace apply hunks-1 src --into hunks "$@"; }
check 'hunks are numbered' says 0 '*hunk 1 of 7  conflict src/m  it changed there, too*+5 agent*hunk 2 of 7*person*
hunk 3 of 7  changed  src/n*@@*+2 two*hunk 5 of 7*-39*hunk 6 of 7  new      src/o*the whole file*hunk 7*' take --dry-run --patch
check 'as JSON' fits workspace_take "$BERTH" workspace apply --json --dry-run --patch hunks-1 src --into hunks
describe "$hunks" >before
check 'a list that is none' says 2 '*is not a list of hunks*' take --hunks 1,x
check 'a number that is none' says 2 '*is not a list of hunks*of 1 to 7*' take --hunks 8
check 'nor 0' says 2 '*is not a list of hunks*' take --hunks 0
check 'an end that comes first' says 2 '*is not a list of hunks*' take --hunks 4-3
check 'a huge one' says 2 '*is not a list of hunks*' take --hunks 1-99999999999999999999
check 'none' says 2 '*a list of hunks*' take --hunks ''
check 'both ways' says 2 '*not both*' take --patch --hunks 1
check 'nobody is asked without a terminal' says 2 '*on a terminal*' take --patch
check 'one of a file in conflict' says 1 '*conflict src/m*nothing was applied: 1 in conflict*' take --hunks 1,3
check 'nothing was done' diff before <(describe "$hunks")
plan() { take --dry-run --patch | sed -n 's/^plan //p'; }
seen=$(plan)
check 'a plan has a name' test "${#seen}" = 32 -a "$(plan)" = "$seen"
later=$(sed '2s/$/ else/' "$fork/src/n") && cp "$fork/src/n" n.was && printf '%s\n' "$later" >"$fork/src/n"
check 'what changed since a plan is not taken' says 1 '*nothing was applied*changed since that plan was made*' take --hunks 3 --plan "$seen"
cp n.was "$fork/src/n" && cp "$hunks/src/n" into.was && echo more >>"$hunks/src/n"
check 'nor where the target did' says 1 '*changed since that plan was made*' take --hunks 3 --plan "$seen"
cp into.was "$hunks/src/n"
check 'another one is none' says 1 '*changed since*' take --hunks 3 --plan "${seen/[0-8]/9}"
check 'as it was' diff before <(describe "$hunks")
check 'two of three, and a new file' says 0 '*left     src/m*changed  src/n*new      src/o*2 applied*' take --hunks 3,5-6 --plan "$seen"
seq 40 | sed '2s/$/ two/; 39d' >want
check 'these lines and no other' diff want "$hunks/src/n"
check 'the end that it has' holds "$hunks/src/o" 'no end of line'
check 'what was not chosen stays away' test ! -e "$hunks/src/p"
check 'with force, of a file in conflict' fits workspace_take "$BERTH" workspace apply --json --force hunks-1 src/m --into hunks --hunks 1
seq 40 | sed '5s/$/ agent/; 30s/$/ person/' >want
check 'both lines are in it' diff want "$hunks/src/m"
check 'what is left is one hunk for each' says 0 '*hunk 1 of 3*src/m*hunk 2 of 3*+20 twenty*hunk 3 of 3*src/p*' take --dry-run --patch
check 'the log says which' says 0 '*3,5-6*' "$BERTH" audit list --json
# A person at a terminal.
cat >ask.py <<'EOT'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
said = b""
answers = list(sys.argv[1])
while True:
    try:
        got = os.read(fd, 4096)
    except OSError:
        break
    if not got:
        break
    said += got
    while said.count(b"(q)uit: ") > len(sys.argv[1]) - len(answers):
        if not answers:  # asked once more: the end of what is typed
            os.write(fd, b"\x04")
            break
        os.write(fd, answers.pop(0).encode() + b"\n")
print(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
EOT
ask() { timeout 120 python3 ask.py "$1" "$BERTH" workspace apply hunks-1 src --into hunks --patch; }
printf 'x\n\033[31mred\n' >"$fork/src/o"
check 'asked, no and yes, and something else first' says 0 '*hunk 1 of 4*hunk 1 of 4*src/n*src/o*1 applied*' ask 'xnyq'
check 'what was said yes to' diff <(seq 40 | sed '2s/$/ two/; 20s/$/ twenty/; 39d') "$hunks/src/n"
check 'no byte of a file reaches the terminal' test -z "$(ask q | tr -d '[:print:]\n\r')"
check 'nothing' says 0 '*0 applied*' ask q
rm -rf "$fork/src/long" && seq 3000 >"$fork/src/n"
check 'all of a file' says 0 '*1 applied*' ask dadd
check 'is there' diff "$fork/src/n" "$hunks/src/n"
exit $bad
