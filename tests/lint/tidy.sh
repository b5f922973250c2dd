#!/bin/bash
# tidy.sh - clang-tidy (.clang-tidy says which checks and why not others) over the program and its tools;
# in the tests it mostly stumbles over cmocka, whose assertions it does not know to end a test.
cd "$SRC" || exit 1
command -v clang-tidy >/dev/null || { echo "There is no clang-tidy."; exit 1; }
problem=$(clang-tidy --dump-config 2>&1 >/dev/null)
[ -z "$problem" ] || { echo "$problem"; exit 1; }
# The analyzer walks at most so many states of a function: a sixth of what it would by itself takes a third of
# the time, and found the same here. The long form of the tests goes all the way.
depth=
[ "${BERTH_SOAK:-0}" = 1 ] ||
	depth='--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=40000'
# A cache of files that passed, by what they are made of: an unchanged file is not read again.
cache=$BUILD/tidy
mkdir -p "$cache"
base=$(cat .clang-tidy "$(command -v clang-tidy)" <(echo "$depth") | sha256sum)
one() {
	local key out
	key=$({ echo "$base"; clang -E -P -D_GNU_SOURCE -Iinclude -Ibackend -Itui -Ibench -Itests -I/usr/include/cjson "$1" 2>/dev/null || cat "$1"; } | sha256sum | cut -c 1-40)
	[ -e "$cache/$key" ] && return 0
	# shellcheck disable=SC2086 # words
	out=$(clang-tidy --quiet $depth -p "$BUILD" "$1" 2>/dev/null) && [ -z "$out" ] && { touch "$cache/$key"; return 0; }
	grep -E '(error|warning): ' <<<"$out"
	return 1
}
export -f one
export base cache depth
/usr/bin/python3 -c 'import json, sys
source = sys.argv[2] + "/"
for f in sorted({c["file"] for c in json.load(open(sys.argv[1]))}):
    if f.startswith(source) and not f[len(source):].startswith(("build", "tests/")): print(f)' "$BUILD/compile_commands.json" "$SRC" |
	xargs -d '\n' -n 1 -P "$(nproc)" bash -c 'one "$1"' one
