#!/bin/bash
# archive.sh - a source archive, without .git and in a folder with a blank, has the same sources and passes the same.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
. "$SRC/tests/lib/check.sh"
of="an archive"
copy="$TMPDIR/an archive"
mkdir "$copy" && sources >"$TMPDIR/tracked" && tar -c -T "$TMPDIR/tracked" | tar -x -C "$copy" || exit 1
mkdir "$copy/build-test" && echo 'int x;' >"$copy/build-test/made.c" # what was built there is no source

check "the same sources" diff "$TMPDIR/tracked" <(SRC=$copy sources)
for lint in tree include; do
	check "$lint" env SRC="$copy" "$copy/tests/lint/$lint.sh"
done
exit $bad
