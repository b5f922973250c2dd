#!/bin/bash
# readme.sh - the README's first commands, as they are written there, on a real engine.
# shellcheck disable=SC2317 # functions are called by name
export DOCKER_HOST=$BERTH_TEST_ENGINE
. "$SRC/tests/lib/check.sh"
cd "$TMPDIR" || exit 1
mkdir bin work && chown 1000:1000 work && ln -s "$BERTH" bin/berth && export PATH=$PWD/bin:$PATH
cat >team.yaml <<E
agents:
  researcher: {image: "box:1", workspace: ./work, memory: 64m, apparmor: optional}
E
trap 'berth down team.yaml >/dev/null 2>&1; docker rm -f web db >/dev/null' EXIT
docker run -d --name web box:1 sh -c 'echo from web; sleep 1000' >/dev/null
docker run -d --name db box:1 sh -c 'echo from db; sleep 1000' >/dev/null

both_logs() {
	local text
	text=$(berth logs -n 20 web db)
	[[ $text == *"from web"* && $text == *"from db"* ]]
}

pages() {
	local page n=0
	for page in $(berth help | sed -n '/^Pages/,$s/^  \([^ ]*\) .*/\1/p'); do
		berth help "$page" | grep "^$page(.) - " || return
		n=$((n + 1))
	done
	[ "$n" -ge 8 ]
}

# The console and attach want a terminal: tests/terminal. Without one, clean needs to be told that nothing is to be removed.
sed -n '/^## First commands/,/^## Concepts/s/^    \(berth .*[^ ]\)  *# .*/\1/p' "$SRC/README.md" |
	sed 's/^berth clean$/& --dry-run/' | grep -vxE 'berth *|berth --read-only *|berth terminal attach .*' >lines
check "the README has commands" [ "$(wc -l <lines)" -ge 6 ]
while read -r line; do
	check "$line" bash -c "exec </dev/null; $line"
	[[ $line != *logs* ]] || check "both logs" both_logs
done <lines
check "every page of the manual" pages
exit $bad
