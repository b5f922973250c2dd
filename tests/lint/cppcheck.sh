#!/bin/bash
# cppcheck.sh - cppcheck over the program; cppcheck.supp lists what it may not say, each with the reason.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
# The short tier reads what differs from the tree that passed last.
contents cppcheck >"$TMPDIR/contents"
! cmp -s "$TMPDIR/contents" "$(passed_list cppcheck)" || exit 0 # exactly this tree passed whole
sources 'backend/*.c' 'tui/*.c' 'bench/*.c' >"$TMPDIR/files"
if [ -n "${BERTH_TEST_CHANGED-}" ] && [ -e "$(passed_list cppcheck)" ]; then
	changed cppcheck <"$TMPDIR/files" >"$TMPDIR/some" && mv "$TMPDIR/some" "$TMPDIR/files"
	[ -s "$TMPDIR/files" ] || exit 0
fi
mkdir -p "$BUILD/cppcheck"
cppcheck --quiet --file-list="$TMPDIR/files" --error-exitcode=1 --enable=warning,performance,portability --std=c11 \
	--inline-suppr --suppressions-list=<(grep -v '^#' tests/lint/cppcheck.supp) -D_GNU_SOURCE '-DcJSON_ArrayForEach(e,a)=for(e=(a)->child;e;e=e->next)' \
	-Iinclude -Ibackend -Itui -Ibench --cppcheck-build-dir="$BUILD/cppcheck" -j "$(nproc)" \
	--template='{file}:{line}: {severity}: {message} [{id}]' || exit
[ -n "${BERTH_TEST_CHANGED-}" ] || passed cppcheck <"$TMPDIR/contents"
