#!/bin/bash
# format.sh - clang-format has nothing to change.
cd "$SRC" || exit 1
git ls-files -co --exclude-standard -- '*.c' '*.h' | xargs -r clang-format --dry-run -Werror
