#!/bin/bash
# include.sh - who may include what (DESIGN, section 1).
cd "$SRC" || exit 1
. "$SRC/tests/lib/sources.sh"
bad=0
# rule NAME PATTERN EXCEPT FILES...: no file may include PATTERN, apart from those matching EXCEPT.
rule() {
	local name=$1 pattern=$2 except=$3 hits
	shift 3
	hits=$(sources "$@" | grep -E '\.[ch]$' | grep -vE "${except:-^$}" |
		xargs -r grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" /dev/null)
	if [ -n "$hits" ]; then
		echo "not ok $name"
		# shellcheck disable=SC2001 # every line is indented
		sed 's/^/# /' <<<"$hits"
		bad=1
	else
		echo "ok $name"
	fi
}

third='curl/|uv\.h|uv/|cjson/|cJSON|yaml\.h|sqlite3|ncurses|curses\.h|term\.h|openssl/|pcre2|archive|zstd|xxhash|liburing'
modules=$(cd backend && find . -mindepth 1 -maxdepth 1 -type d -printf '%f/|' | sed 's/|$//')
rule "the agreement has no third-party type" "$third" '' include
rule "the agreement sees no half" "$modules|\.\./" '' include
rule "tui sees no curl, uv, cJSON, yaml, sqlite" 'curl/|uv\.h|cjson/|cJSON|yaml\.h|sqlite3' '' tui
rule "tui sees no backend header" "$modules|backend|\.\./" '' tui
rule "only tui/terminal/screen.c sees curses" 'ncurses|curses\.h|term\.h' '^tui/terminal/screen\.c$' tui backend bench include
rule "backend sees neither tui nor bench" 'tui/|bench/|(terminal|widgets|app|views|cli)/' '' backend
rule "backend modules name the module in their includes" '\.\./' '' backend
exit $bad
