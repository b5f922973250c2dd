#!/bin/bash
# tree.sh - the top level, the size of files, words that mark unfinished work, first comments.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
bad=0
report() {
	if [ -n "$2" ]; then
		echo "not ok $1"
		# shellcheck disable=SC2001
		sed 's/^/# /' <<<"$2"
		bad=1
	else
		echo "ok $1"
	fi
}

# Fail if the list of sources is empty.
report "the sources are found" "$(sources '*.c' | grep -qx tui/main.c || echo "no tui/main.c among them")"
# CMake only finds presets next to CMakeLists.txt.
report "top level holds only what DESIGN names" "$(sources | cut -d / -f 1 | sort -u |
	grep -vxE '\..*|CMakePresets\.json|CMakeLists\.txt|README\.md|include|backend|tui|bench|tests|themes|configs')"
# A test of a whole module may be longer than any of its files.
report "no file over 900 lines, no test over 1200" "$(sources '*.c' '*.h' | xargs wc -l |
	awk '$2 != "total" && $1 > ($2 ~ /^tests\// ? 1200 : 900)')"
report "nothing left to do" "$(sources '*.c' '*.h' '*.sh' '*.py' CMakeLists.txt |
	grep -v '^tests/lint/tree.sh$' | xargs grep -nwE 'TODO|FIXME|XXX' /dev/null)"
report "every source file opens with its comment" "$(sources '*.c' '*.h' |
	xargs awk 'FNR == 1 { if (!/^\/\*/) print FILENAME; nextfile }')"
report "the opening comment names the file" "$(sources '*.c' '*.h' |
	xargs awk 'FNR == 1 { name = FILENAME " - "; sub(/.*\//, "", name); named = index($0, name) }
		FNR == 2 { if (!named && !index($0, name)) print FILENAME; nextfile }')"
report "arrays are sorted by mem_sort, which takes an empty one" "$(sources '*.c' '*.h' | grep -v '^include/berth/mem.h$' | xargs grep -nw qsort /dev/null)"
report "scripts wait for a lock or an answer only so long" "$(sources '*.sh' | grep -v '^tests/lint/tree.sh$' |
	xargs grep -nE '(^|[ ;(|])(/usr/bin/)?(flock [^-]|curl -)' /dev/null | grep -vE ' -m |--max-time|curl --version')"
report "headers are guarded" "$(sources '*.h' | xargs grep -LE '^#ifndef [A-Z0-9_]+_H$')"
exit $bad
