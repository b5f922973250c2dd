#!/bin/bash
# format.sh - clang-format has nothing to change.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
sources '*.c' '*.h' | xargs -r clang-format --dry-run -Werror
