#!/bin/bash
# shell.sh - shellcheck over every shell script.
cd "$SRC" || exit 1
git ls-files -co --exclude-standard | while read -r f; do
	[ -f "$f" ] && { [[ $f == *.sh ]] || head -n 1 "$f" | grep -qaE '^#!.*\b(ba)?sh\b'; } && echo "$f"
done | xargs shellcheck -x -S warning -s bash
