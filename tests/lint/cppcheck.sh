#!/bin/bash
# cppcheck.sh - cppcheck over the program; cppcheck.supp lists what it may not say, each with the reason.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
mkdir -p "$BUILD/cppcheck"
sources 'backend/*.c' 'tui/*.c' 'bench/*.c' |
	cppcheck --quiet --file-list=- --error-exitcode=1 --enable=warning,performance,portability --std=c11 \
		--inline-suppr --suppressions-list=<(grep -v '^#' tests/lint/cppcheck.supp) -D_GNU_SOURCE '-DcJSON_ArrayForEach(e,a)=for(e=(a)->child;e;e=e->next)' \
		-Iinclude -Ibackend -Itui -Ibench --cppcheck-build-dir="$BUILD/cppcheck" -j "$(nproc)" \
		--template='{file}:{line}: {severity}: {message} [{id}]'
