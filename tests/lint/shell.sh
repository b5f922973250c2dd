#!/bin/bash
# shell.sh - shellcheck over every shell script.
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
sources | xargs -d '\n' awk 'FNR == 1 && (FILENAME ~ /\.sh$/ || /^#!.*[\/ ](ba)?sh( |$)/) {print FILENAME} {nextfile}' |
	xargs shellcheck -x -S warning -s bash
