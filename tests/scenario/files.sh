#!/bin/bash
# files.sh - `berth files`: every verb, its JSON, exit codes, and what must not be reached.
# shellcheck disable=SC2016,SC2053,SC2086,SC2317 # patterns; programs for bash -c; functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"

# json VERB PATTERN COMMAND...: what it prints is as the schema says, and the pattern is in it.
json() {
	local verb=$1 pattern=$2
	shift 2
	"$@" >json.out 2>json.err </dev/null
	cat json.out json.err
	python3 - "$SRC/tests/data/schema/files_$verb.json" <<'PY' && [[ $(<json.out) == $pattern ]]
import json, sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}

def check(value, schema, at):
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    assert any(type(value) is TYPES[k] for k in kinds), (at, value, kinds)
    assert value == schema.get("const", value), at
    assert value in schema.get("enum", [value]), at
    if isinstance(value, dict):
        for key in schema["required"]:
            assert key in value, (at, key)
        for key, member in value.items():
            check(member, schema["properties"][key], at + "." + key)
    if isinstance(value, list):
        for item in value:
            check(item, schema["items"], at + "[]")

schema = json.load(open(sys.argv[1]))
text = open("json.out").read()
try:
    documents = [json.loads(text)]
except ValueError:
    documents = [json.loads(line) for line in text.splitlines()]
for document in documents:
    check(document, schema, "")
PY
}

mkdir -p root/sub outside from/sub
printf 'one\ntwo\nthree\n' >root/a
printf 'two and two\n' >root/sub/b
printf 'SECRET\n' >outside/secret
ln -s ../outside/secret root/leak
printf 'new a\n' >from/a
printf 'new b\n' >from/sub/b

check read says 0 $'one\ntwo\nthree\ntwo and two' "$BERTH" files read --root root a sub/b
check 'read lines' says 0 'two' "$BERTH" files read --root root --lines 2:2 a
check 'read json' json read '*"schema": "berth.files_read/1"*"token": "1:*"text": "two and two\\n"*' "$BERTH" files read --root root --json sub/b
mkdir slash && echo x >slash/f
check 'a name with a slash at its end is of a directory: not read' says 2 '*slash/f/ is not a directory.*' "$BERTH" files read slash/f/
check 'not written' says 2 '*slash/new/ is not a directory*' "$BERTH" files write slash/new/
check 'not made by a copy of a file' says 2 '*slash/new/ is not a directory*' "$BERTH" files copy slash/f slash/new/
check 'nor by moving it' says 2 '*slash/new/ is not a directory*' "$BERTH" files move slash/f slash/new/
check 'not deleted' says 2 '*slash/f/ is not a directory.*' "$BERTH" files delete slash/f/
check 'all stays' test "$(ls slash)" = f
check 'a directory is copied' says 0 '*' "$BERTH" files copy slash/ copied/
check 'and moved' says 0 '*' "$BERTH" files move copied/ moved/
check 'with what is in it' test -f moved/f
rm -r slash moved
check 'a link that leads out' says 4 '*a link on the way leads outside the allowed directory, or*' "$BERTH" files read --root root leak
ln -s "$PWD/root/a" root/absolute
check 'so does one that is absolute, and this is the reason' says 4 '*or is absolute; only relative links are followed' "$BERTH" files read --root root absolute
rm root/absolute
ln -s b root/circle && ln -s circle root/b
check 'links in a circle are called so' says 4 '*links form a loop' "$BERTH" files read --root root circle
rm root/circle root/b
check 'a path that leads out' says 4 '*leads outside the allowed directory' "$BERTH" files read --root root ../outside/secret
check 'an absolute path below a root' says 4 '*absolute path*' "$BERTH" files read --root root /etc/passwd
check 'an absolute path without one' says 0 "$(cat root/a)" "$BERTH" files read "$PWD/root/a"
ln -s "$PWD/root" elsewhere
check 'one that is not there is called as it was given' says 1 'berth: cannot read /nosuch/x: *' "$BERTH" files read /nosuch/x
mkfifo a-pipe
check 'what is searched is a file or a directory' says 1 'berth: cannot scan a-pipe: it, or what its path leads through, is not a directory' \
	"$BERTH" files search x a-pipe
check 'and one that is no file' says 4 'berth: cannot read /usr/lib: it is a directory*' "$BERTH" files read /usr/lib
check 'links on its way are followed' says 0 "$(cat root/a)" "$BERTH" files read "$PWD/elsewhere/a"
rm elsewhere
check 'one of several missing' says 1 '*one*does not exist*' "$BERTH" files read --root root a nothing
check scan says 0 $'a\nleak\nsub\nsub/b' "$BERTH" files scan --root root --sort
check 'scan totals' says 0 "2 files, 1 directories, 1 links, 0 others, $(cat root/a root/sub/* 2>/dev/null | wc -c) bytes" "$BERTH" files scan --totals root
check 'scan no more than asked for' says 0 '*berth: the list was cut off at the requested number of entries.*' "$BERTH" files scan --root root --max 1 --totals
check 'and no less' bash -c '[ "$("$BERTH" files scan --root root --max 1 2>/dev/null | wc -l)" = 1 ]'
check 'scan json' json scan '*"path": "sub/b"*"size_bytes": 12*"summary"*"files": 2*' "$BERTH" files scan --root root --json --meta
check search says 0 $'a:2:two\nsub/b:1:two and two' "$BERTH" files search --root root --sort two
check 'search where nothing is' says 2 '*does not exist*' "$BERTH" files search x /nosuchdir
check 'search finds nothing' says 1 '' "$BERTH" files search --root root nowhere
check 'search json' json search '*"column": 1*"summary"*"hits": 2*' "$BERTH" files search --root root --json -E 't[w]o'
check 'search for a wrong pattern' says 2 '*invalid at byte*' "$BERTH" files search -E '(' root
check 'transform shows' says 0 '*not applied yet*-two and two*+2 and 2*' "$BERTH" files transform --root root two 2 sub
check 'and changes nothing' grep -q 'two and two' root/sub/b
check 'transform --apply' says 0 '*2 replacements in 1 files.' "$BERTH" files transform --root root --apply two 2 sub
check 'and changed it' grep -qx '2 and 2' root/sub/b
check 'directories are made on a way that comes back' bash -c 'echo up | "$0" files write --root root --parents g/../h/./i/j && [ "$(cat root/h/i/j)" = up ] && rm -r root/g root/h' "$BERTH"
check 'not on one that leads out' says 4 '*leads outside the allowed directory' "$BERTH" files write --root root --parents g/../../h/j
check 'and nothing of it is left' [ ! -e root/g -a ! -e h ]
check 'write from standard input' bash -c 'echo hello | "$0" files write --root root --parents d/e/f && [ "$(cat root/d/e/f)" = hello ]' "$BERTH"
check 'write a batch' says 0 '' "$BERTH" files write --root root --promise all --from from a sub/b
check 'the batch is there' cmp from/sub/b root/sub/b
check 'write --create over a file' says 1 '*already exists' bash -c 'echo x | "$0" files write --root root --create a' "$BERTH"
token=$("$BERTH" files read --root root --json --hash a | sed -n 's/.*"token": "\(.*\)".*/\1/p')
check 'write what was read' bash -c 'echo mine | "$0" files write --root root --expect "$1" a' "$BERTH" "$token"
check 'write what has changed since' says 1 '*changed since it was read*' bash -c 'echo lost | "$0" files write --root root --expect "$1" a' "$BERTH" "$token"
check 'write through a link' says 4 '*symbolic link*' bash -c 'echo x | "$0" files write --root root leak' "$BERTH"
check 'write json' json write '*"token": "1:*' "$BERTH" files write --root root --json --from from a
check 'transform json' json transform '*"applied": false*"diff": "--- a/*' "$BERTH" files transform --root root --json new old
mkdir root/hard
printf '%03000d\n002\n' 0 >root/hard/line
check 'transform leaves a line out' says 1 '*1 replacements in 1 files*skipped 1 line: *+two*' "$BERTH" files transform --root root -E '(?#)(0+0+)+[23]' two hard
check 'and says so in json' json transform '*"replacements": 1*"gave_up": 1*' "$BERTH" files transform --root root --json -E '(?#)(0+0+)+[23]' two hard
rm -r root/hard
mkdir kinds && { yes text | head -n 3000; printf '\0key\n'; } >kinds/installer && sed -i 1s/text/key/ kinds/installer
printf '\0key\n' >kinds/bin
check 'of what is not text is told that it matches' says 0 '*kinds/installer: binary file matches (a NUL byte at offset 14999)*' "$BERTH" files search key kinds
check 'and of one that is left out, too' says 0 '*berth: 1 file is not text (NUL bytes) and not searched: *' "$BERTH" files search key kinds
check 'it matches, too, when it is named' says 0 'kinds/bin: binary file matches (a NUL byte at offset 0)' "$BERTH" files search key kinds/bin
check 'and in json' json search '*"binary": true*"skipped_binary": 1*' "$BERTH" files search --json key kinds
cp kinds/installer installer.before
check 'it is not changed, and told so' says 0 '*0 replacements in 0 files.*2 files are not text*' "$BERTH" files transform --apply key door kinds
check 'not a byte of it' cmp kinds/installer installer.before
printf '\357\273\277key\n' >kinds/mark
check 'one file alone is changed' says 0 '*1 replacements in 1 files.' "$BERTH" files transform --apply -E '^key$' door kinds/mark
check 'behind its byte order mark' cmp kinds/mark <(printf '\357\273\277door\n')
head -c 65M /dev/zero | tr '\0' '\n' >kinds/large
check 'a file too large to change is told' says 1 '*1 files are too large*' "$BERTH" files transform --apply key door kinds/large
yes 0123456 | head -n 9000000 >kinds/large && echo end >>kinds/large
check 'a large file is read to its end' bash -c '"$0" files read kinds/large | cmp - kinds/large' "$BERTH"
check 'and the lines at it' says 0 $'0123456\nend' "$BERTH" files read --lines 9000000:9000009 kinds/large
check 'from the end' says 0 'end' "$BERTH" files read --tail 1 kinds/large
check 'from a byte' says 0 '56' "$BERTH" files read --offset 71999989 --length 2 kinds/large
check 'what a limit cuts is told' says 1 '*kinds/large: only 9 bytes of it are here (--max-bytes)*' "$BERTH" files read --max-bytes 9 kinds/large
check 'lines or bytes' says 2 '*one of --lines*' "$BERTH" files read --tail 1 --offset 2 kinds/large
check 'a length of nothing' says 2 '*above 0*' "$BERTH" files read --length 0 kinds/large
rm -r kinds
mkdir left && echo key >left/.env && echo key >left/x.log && echo '*.log' >left/.gitignore && mkdir -p left/.git && echo key >left/.git/x
check 'what is hidden or ignored is told where nothing is found' says 1 'berth: 3 entries are hidden or ignored and not searched: --all*' "$BERTH" files search key left
check 'or changed' says 0 '*0 replacements*3 entries are hidden or ignored and not changed: --all*' "$BERTH" files transform key door left
echo key >left/plain
check 'not where something is' says 0 'left/plain:1:key' "$BERTH" files search key left
check 'but in json' json search '*"ignored": 3*' "$BERTH" files search --json key left
check 'it is not what is left out on request' json search '*"ignored": 0*' "$BERTH" files search --json --all --exclude '*.log' key left
rm -r left
printf '%05000d needle %05000d\n' 0 0 >long
check 'of a long line the part with the match' says 0 'long:1:?...? *0 needle 0* ?...?' "$BERTH" files search needle long
check copy says 0 '' "$BERTH" files copy --root root sub copied
mkdir special && mkfifo special/pipe && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("special/socket")'
check 'a copy leaves a socket out, and says so' says 0 '*1 special file (sockets or devices) was not copied.' "$BERTH" files copy special special2
check 'the pipe is copied' test -p special2/pipe -a ! -e special2/socket
check 'in json' json copy '*"special": 1*"error": null*' "$BERTH" files copy --json special special3
check 'copy over it' says 1 '*already exists' "$BERTH" files copy --root root sub copied
check 'copy into itself' says 4 '*into itself' "$BERTH" files copy --root root sub sub/inner
check 'copy json' json copy '*"files": 1*"directories": 1*' "$BERTH" files copy --root root --json sub copied2
check 'move json' json move '*"error": null*' "$BERTH" files move --root root --json copied2 copied3
check move says 0 '' "$BERTH" files move --root root copied moved
check 'move out' says 4 '*leads out*' "$BERTH" files move --root root moved ../stolen
check 'delete a directory' says 4 '*recursive*' "$BERTH" files delete --root root moved
check 'delete -r' json delete '*"schema": "berth.files_delete/1"*"files": 1*' "$BERTH" files delete --root root --json -r moved
check 'it is gone' test ! -e root/moved
# Without --root, operands are those of any program: below here, above, absolute, through a link; what was not to be reached stays.
mkdir -p far/deep && printf 'far\n' >far/deep/f && ln -s "$PWD/far" root/far
here=$PWD
check 'copy to and from absolute paths' says 0 '' "$BERTH" files copy "$here/far/deep/f" "$here/root/f1"
check 'from above' bash -c 'cd root && "$0" files copy ../far/deep/f f2 && cmp f1 f2' "$BERTH"
check 'into a directory that is above' bash -c 'cd root/sub && "$0" files copy ../f1 ../../far/f3 && cmp ../f1 ../../far/f3' "$BERTH"
check 'a failure names both' says 1 "berth: copying $here/nothing to there: *nothing: it does not exist*" "$BERTH" files copy "$here/nothing" there
check 'read from above' bash -c 'cd root && [ "$("$0" files read ../far/f3)" = far ]' "$BERTH"
check 'read through a link that leads elsewhere' says 0 far "$BERTH" files read root/far/f3
check 'write an absolute path' bash -c 'echo w | "$0" files write "$1/far/new/w" --parents && [ "$(cat far/new/w)" = w ]' "$BERTH" "$here"
check 'write far from each other' bash -c '"$0" files write --from from a && cd root && echo up | "$0" files write ../far/up && [ "$(cat ../far/up)" = up ]' "$BERTH"
check 'move' bash -c 'cd root && "$0" files move ../far/up "$1/root/up" && [ "$(cat up)" = up -a ! -e ../far/up ]' "$BERTH" "$here"
check 'scan from above' bash -c 'cd root && [ "$("$0" files scan --sort ../far | tail -n 1)" = ../far/new/w ]' "$BERTH"
check 'search one file' says 0 "$here/far/f3:1:far" "$BERTH" files search far "$here/far/f3"
check 'search from above' bash -c 'cd root && [ "$("$0" files search far ../far/deep)" = ../far/deep/f:1:far ]' "$BERTH"
check 'transform' bash -c 'cd root && "$0" files transform --apply far near ../far/f3 && [ "$(cat ../far/f3)" = near ]' "$BERTH"
check 'delete here and there' bash -c 'cd root && "$0" files delete f2 ../far/f3 "$1/root/f1" && ! ls f1 f2 ../far/f3' "$BERTH" "$here"
check 'a link is deleted, not what it leads to' says 0 '' "$BERTH" files delete -r "$here/root/far"
check 'that is there' test -e far/deep/f -a ! -e root/far
for path in "$here/far/.." .. . "$here/far/." ''; do
	check "delete -r '$path' is refused" bash -c 'cd far && ! "$0" files delete -r "$1" && [ -e deep/f ]' "$BERTH" "$path"
done
check 'the root confines: an absolute path to write' says 4 '*absolute path*' bash -c 'echo x | "$0" files write --root root "$PWD/far/x"' "$BERTH"
check 'and to copy to' says 4 '*absolute path*' "$BERTH" files copy --root root a "$here/far/x"
check 'and what is above' says 4 '*leads outside*' "$BERTH" files delete --root root ../far/deep/f
check 'no stage is left' bash -c '! find . -name ".berth*" | grep .'
rm -r far
check 'nothing outside was touched' grep -qx SECRET outside/secret
check 'read-only' says 4 '*--read-only*' "$BERTH" --read-only files delete --root root a
check 'an invalid number' says 2 '*takes a number*' "$BERTH" files scan --depth x root
check 'a closed output' says 1 '*standard output*' bash -c '"$0" files scan --root root >/dev/full' "$BERTH"
check 'no escape reaches a terminal' bash -c 'touch "root/$(printf "\033[31mred")"; script -qec "\"$0\" files scan --root root --sort" /dev/null | grep -qF "\"\\033[31mred\""' "$BERTH"
mkdir names && : >names/$'a\n[DIR] b' && echo two >names/'say "x"'
check 'a name stays in its line' says 0 '"a?n?DIR? b"*"say ?"x?""' "$BERTH" files scan --root names --sort
check 'or is given as it is' cmp <("$BERTH" files scan --root names --sort -0) <(printf 'a\n[DIR] b\0say "x"\0')
check 'so it does where text is found' says 0 '"say ?"x?"":1:two' "$BERTH" files search --root names two
mv names/'say "x"' names/$'say\n x'
check 'and in a diff, which git applies' bash -c '"$0" files transform --root names two 2 | (cd names && GIT_CEILING_DIRECTORIES=$OLDPWD git apply -p1) && grep -qx 2 names/say*' "$BERTH"
rm -r names
check 'nothing is left over' bash -c '! compgen -G "root/.berth*"'
# `:delete` in the console: what it would be, before anything is.
mkdir -p doom/a/b && printf 12345 >doom/a/f && printf 1 >doom/g
cat >delete.script <<END
key :
type delete -r doom
key Enter
wait $PWD/doom
expect 2 files and 3 directories, 6 bytes in all.
expect cannot be undone
key Esc
wait nothing was done
key :
type delete --root doom a/f g none
key Enter
wait $PWD/doom/a/f
expect 2 files and 0 directories, 6 bytes in all.  1 not found.
key Esc
wait nothing was done
END
check ':delete shows path, count and bytes' "$BERTH" -H "unix://$TMPDIR/no-engine" --script delete.script
check 'and deletes nothing unasked' test -f doom/a/f

# Its second write is the outcome's record.
late_signal() {
	echo here >late && "$BERTH" files read late >/dev/null || return
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 strace -qq -s 200 -o late.calls -e trace=pwrite64 -e inject=pwrite64:signal=SIGTERM:when=2 \
		"$BERTH" files read late || return
	tail -n 2 late.calls
	grep -A1 'intent.*file.read' late.calls | grep -q 'SIGTERM'
}
check 'a signal that comes when all is done changes nothing' says 0 'here*SIGTERM*' late_signal

exit $bad
