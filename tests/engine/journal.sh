#!/bin/bash
# journal.sh - what an agent ran: listed, as an asciicast with its timing, and on the page of `berth report`.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/wait.sh"
agent=jour$$
trap '"$BERTH" down team.yaml >/dev/null 2>&1; docker rm -f "berth-$agent" >/dev/null 2>&1; docker volume rm -f "berth-home-berth-$agent" >/dev/null 2>&1' EXIT
mkdir ws && chmod 755 . && chown 1000:1000 ws
cat >team.yaml <<YAML
agents:
  $agent: {image: "box:1", workspace: ./ws, memory: 64m}
YAML
chmod 644 team.yaml

check 'nothing yet' says 1 '*has not run a command yet*' "$BERTH" journal list "$agent"
"$BERTH" up team.yaml >/dev/null || exit 1
# The second half comes half a second after somebody saw the first.
mkfifo gate
"$BERTH" exec "$agent" -- sh -c 'printf "\033[32mgreen\033[0m one\n"; read x; printf "two\033]0;title\007\n"' <gate >out &
exec 3>gate
wait_for 60 grep -q one out || { echo 'the command says nothing'; exit 1; }
read -rt 0.5 <> <(:)
echo >&3
exec 3>&-
wait $! || exit 1
"$BERTH" exec "$agent" -- sh -c 'echo "<script>alert(1)</script> \"&amp;" >&2; exit 3' 2>/dev/null
"$BERTH" exec "$agent" -- rm -rf / 2>/dev/null

"$BERTH" journal list --json "$agent" >list.json
check 'journal list --json fits its schema' python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/journal.json" <list.json
"$BERTH" journal list "$agent" >list
check 'the list, oldest first' bash -c 'cat list; sed -n 1p list | grep -q "exit 0" && sed -n 2p list | grep -q "exit 3" && sed -n 3p list | grep -q refused'
check 'journal AGENT is journal list' cmp list <("$BERTH" journal "$agent")
check 'the log of an agent is what its commands printed' bash -c '"$0" logs "$1" 2>log.err >log.out && printf "\033[32mgreen\033[0m one\ntwo\033]0;title\007\n" | cmp - log.out && grep -qx "<script>.*" log.err' "$BERTH" "$agent"
check 'its end' bash -c '[ "$("$0" logs -n 1 "$1" 2>&1)" = "<script>alert(1)</script> \"&amp;" ]' "$BERTH" "$agent"
check 'since now' says 0 '' "$BERTH" logs --since "$(date -d tomorrow +%F)" "$agent"
check 'searched' says 0 '*green*' "$BERTH" logs --grep gre "$agent"
check 'as JSON' bash -c '"$0" logs --json "$1" | python3 -c "import json,sys; v=[json.loads(l) for l in sys.stdin]; assert [x[\"stream\"] for x in v] == [\"stdout\", \"stdout\", \"stderr\"], v"' "$BERTH" "$agent"
"$BERTH" logs -f "$agent" >followed 2>&1 &
follower=$!
check 'followed: what was there' wait_for 60 grep -q two followed
"$BERTH" exec "$agent" -- sh -c 'echo third; printf no-end' >/dev/null
check 'and what comes' wait_for 60 bash -c 'grep -qx third followed && grep -q no-end followed && [ "$(grep -c two followed)" = 1 ]'
kill -INT $follower
check 'until C-c' wait $follower
"$BERTH" journal cast "$agent" >all.cast || exit 1
"$BERTH" journal cast --raw "$agent" >raw.cast || exit 1
check 'one, into a file' says 0 '1 command; play *' "$BERTH" journal cast "$agent" 1 -o one.cast
check 'for its owner' test "$(stat -c %a one.cast)" = 600
check 'one that is not there' says 1 '*no longer in its journal*' "$BERTH" journal cast "$agent" 77
check 'no number' says 2 '*is a number from*' "$BERTH" journal cast "$agent" first
cat >cast.py <<'PY'
import json
head, *events = [json.loads(line) for line in open("all.cast")]
assert head["version"] == 2 and head["width"] == 80 and head["idle_time_limit"] == 2, head
assert [e[0] for e in events] == sorted(e[0] for e in events) and all(e[1] == "o" for e in events), events
when = {word: next(e[0] for e in events if word in e[2]) for word in ("green\x1b[0m one\r\n", "two\r\n")}
one, two = when.values()
assert two - one >= 0.2, when
text = "".join(e[2] for e in events)
assert "\x1b]" not in text and "\x07" not in text and "\x1b[32mgreen" in text, text
assert "[exit 3 after" in text and "\r\r\n" not in text, text
raw = "".join(json.loads(line)[2] for line in list(open("raw.cast"))[1:])
assert "two\x1b]0;title\x07\r\n" in raw, raw
PY
check 'the recording' python3 cast.py

"$BERTH" report -o page.html || exit 1
cat >page.py <<'PY'
import html.parser, sys
text = open("page.html", encoding="utf-8").read()
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)
    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
    def handle_data(self, data):
        self.text.append(data)
page = Page()
words = "".join(page.text)
assert "script" not in page.tags and page.tags.count("svg") == 1 and page.tags.count("rect") == 4, page.tags
assert page.tags.count("details") == 4 and "green one" in words and "\x1b" not in words, words
assert "<script>alert(1)</script> \"&amp;" in words, words
assert sys.argv[1] in words and "box:1" in words and "failed: exit 3" in words, words
PY
check 'the page' python3 page.py "$agent"
session=$("$BERTH" ps --json | python3 -c 'import json,sys; print(next(c["session"] for c in json.load(sys.stdin)["containers"] if c["agent"] == sys.argv[1]))' "$agent")
check 'of its session' says 0 '' "$BERTH" report --session "$session" -o session.html
check 'which it names' grep -q "Report of session $session" session.html
"$BERTH" down team.yaml >/dev/null || exit 1
"$BERTH" report --session "$session" -o after.html || exit 1
check 'it is there when the agent is gone' bash -c "grep -q '$agent' after.html && ! grep -q '<details' after.html && grep -q '<rect' after.html"
exit "$bad"
