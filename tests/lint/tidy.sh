#!/bin/bash
# tidy.sh - clang-tidy (.clang-tidy says which checks and why not others) over the program and its tools;
# in the tests it mostly stumbles over cmocka, whose assertions it does not know to end a test.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
command -v clang-tidy >/dev/null || { echo "There is no clang-tidy."; exit 1; }
problem=$(clang-tidy --dump-config 2>&1 >/dev/null)
[ -z "$problem" ] || { echo "$problem"; exit 1; }
# The analyzer walks at most so many states of a function: a sixth of what it would by itself takes a third of
# the time, and found the same here. The long form of the tests goes all the way.
depth=
[ "${BERTH_SOAK:-0}" = 1 ] ||
	depth='--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=40000'
# What passed once is not read again, in any tree: a cache of the texts that passed, as the compiler sees them with
# this build's options, macros and comments included. What does not compile has no such text and is always read.
cache=${BERTH_TEST_CACHE:-$BUILD}/compiled/tidy
mkdir -p "$cache"
[ ! -w "$cache" ] || find "$cache" -type f -mtime +60 -delete
contents tidy >"$TMPDIR/contents"
# Exactly this tree passed whole, on this machine.
[ "${BERTH_SOAK:-0}" = 1 ] || ! cmp -s "$TMPDIR/contents" "$(passed_list tidy)" || exit 0
# The short tier reads what differs from the tree that passed last; where none has, --full has to read all of it first.
if [ -n "${BERTH_TEST_CHANGED-}" ]; then
	[ -e "$(passed_list tidy)" ] || { echo "no tree has passed it here yet: run tests/run lint.tidy, which takes minutes"; exit 77; }
	sources 'backend/*.c' 'tui/*.c' 'bench/*.c' | changed tidy >"$TMPDIR/files"
else
	sources 'backend/*.c' 'tui/*.c' 'bench/*.c' >"$TMPDIR/files"
fi
base=$({ cat .clang-tidy "$(command -v clang-tidy)"; clang-tidy --version; echo "$depth"; } | sha256sum)
one() { # FILE COMPILE-COMMAND
	local text key='' out
	if text=$(eval "$2 -E -C -P -dD" 2>/dev/null); then
		key=$(printf '%s\n' "$base" "$text" | sha256sum | cut -c 1-40)
		[ ! -e "$cache/$key" ] || return 0
	fi
	# shellcheck disable=SC2086 # words
	if out=$(clang-tidy --quiet $depth -p "$BUILD" "$1" 2>/dev/null) && [ -z "$out" ]; then
		[ -z "$key" ] || [ ! -w "$cache" ] || : >"$cache/$key"
		return 0
	fi
	grep -E '(error|warning): ' <<<"$out"
	return 1
}
export -f one
export base cache depth
cd "$BUILD" || exit 1
/usr/bin/python3 -c 'import json, shlex, sys
source = sys.argv[2] + "/"
chosen = {source + line.rstrip("\n") for line in open(sys.argv[3])}
for file, command in sorted({c["file"]: c["command"] for c in json.load(open(sys.argv[1]))}.items()):
    if file in chosen:
        words = shlex.split(command)
        at = words.index("-o")
        print(file, shlex.join(words[:at] + words[at + 2:]), sep="\0", end="\0")' "$BUILD/compile_commands.json" "$SRC" "$TMPDIR/files" |
	xargs -0 -r -n 2 -P "$(nproc)" bash -c 'one "$1" "$2"' one || exit
[ -n "${BERTH_TEST_CHANGED-}" ] || passed tidy <"$TMPDIR/contents"
