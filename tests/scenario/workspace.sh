#!/bin/bash
# workspace.sh - `berth workspace`: made, listed, kept and restored; what is refused; what the log says of it.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/wait.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
tree=$PWD/data/berth/workspaces

# What a tree holds: names, modes, times and contents.
describe() {
	(cd "$1" && find . -printf '%p %m %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

check 'a task' says 0 "$tree/tasks/fix" "$BERTH" workspace create --prompt 'Mend it.' task fix
check 'its prompt' grep -qx 'Mend it.' "$tree/tasks/fix/prompt.md"
check 'nobody else may enter' test "$(stat -c %a "$tree/tasks/fix")" = 700
check 'a project' says 0 "$tree/projects/site" "$BERTH" workspace create project site
check 'it is a git repository' test -f "$tree/projects/site/.git/HEAD"
check 'twice' says 1 '*the task fix already exists*' "$BERTH" workspace create task fix
check 'a kind that is none' says 2 '*a task or a project*' "$BERTH" workspace create thing x
check 'a name that leads out' says 2 '*' "$BERTH" workspace create task ../x
check 'a prompt of a project' says 2 '*--prompt*' "$BERTH" workspace create --prompt x project other
check 'they are listed' says 0 'KIND *NAME *STATE *MODE *AGE *USED BY, GIT*task*fix*project*site*' "$BERTH" workspace list
check 'as JSON' fits workspace_list "$BERTH" workspace list --json
check 'a task that failed' says 0 'tasks/fix: failed' "$BERTH" workspace mark fix failed
check 'is listed as such' says 0 '*task*fix*failed*project*site*open*' "$BERTH" workspace list
check 'as JSON, too' fits workspace_list "$BERTH" workspace list --json
check 'a state that is none' says 2 '*open, done or failed*' "$BERTH" workspace mark fix finished
check 'a project does not end' says 2 '*only tasks have a status*' "$BERTH" workspace mark site 'done'
check 'not in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace mark fix 'done'
check 'another task' says 0 "$tree/tasks/two" "$BERTH" workspace create task two
check 'two at once' says 0 'tasks/fix: done*tasks/two: done' "$BERTH" workspace mark fix tasks/two 'done'
check 'one that is not there: none of them' says 1 '*no workspace "none"*' "$BERTH" workspace mark fix none failed
check 'none was marked' says 0 '*fix *done*' "$BERTH" workspace list
rm -r "$tree/tasks/two"
check 'it goes on' says 0 'tasks/fix: open' "$BERTH" workspace mark fix open

mkdir -p "$tree/tasks/fix/files/deep"
printf 'one\n' >"$tree/tasks/fix/files/deep/a"
ln -s /etc/hostname "$tree/tasks/fix/files/out"
chmod 4711 "$tree/tasks/fix/files/deep/a"
describe "$tree/tasks/fix" >before
top=$(stat -c %i "$tree/tasks/fix")
check 'a checkpoint' fits checkpoint "$BERTH" workspace checkpoint --json fix start
of='automatic checkpoints'
check 'what differs in nothing is not kept' says 0 'tasks/fix is unchanged since start; nothing was saved.' "$BERTH" workspace checkpoint fix --auto 2
check 'a name for a person is another one' says 2 '*begin with auto-*' "$BERTH" workspace checkpoint fix auto-1
check 'with a name' says 2 '*leave out "mine"*' "$BERTH" workspace checkpoint fix mine --auto 2
check 'none kept' says 2 '*from 1 to*' "$BERTH" workspace checkpoint fix --auto 0
check 'a number that is none' says 2 '*from 1 to*' "$BERTH" workspace checkpoint fix --auto 2x
check 'as JSON, unchanged' says 0 '*"unchanged_since":*"start"*' "$BERTH" workspace checkpoint --json fix --auto 2
for i in 1 2 3 4; do
	echo "$i" >"$tree/tasks/fix/files/n"
	check "changed, $i" fits checkpoint "$BERTH" workspace checkpoint --json fix --auto 2
	"$BERTH" workspace checkpoints fix | awk '/^auto-/ {print $1}' >"auto.$i"
done
check 'two stay' test "$(wc -l <auto.4)" = 2
check 'the newest ones' test "$(head -n 1 auto.4)" = "$(tail -n 1 auto.3)"
check 'the older went' test "$(sort -u auto.1 auto.2 auto.3 auto.4 | wc -l)" = 4
check 'that of a person stays' says 0 'NAME *AGE *FILES *SIZE *STORED*start *' "$BERTH" workspace checkpoints fix
check 'it can be gone back to' says 0 '*' "$BERTH" workspace restore fix "$(head -n 1 auto.4)"
check 'in its content' grep -qx 3 "$tree/tasks/fix/files/n"
# waiting: the process $pid waits for a lock on the list of checkpoints
waiting() { grep -q -- "-> FLOCK .* $pid .*:$(stat -c %i "$list") " /proc/locks; }
list=$PWD/data/berth/checkpoints/tasks/fix/checkpoints
exec 8<"$list" && flock -w 60 8
before=$(ls "$list")
echo 5 >"$tree/tasks/fix/files/n"
"$BERTH" workspace checkpoint fix --auto 2 >auto.out 2>&1 8<&- &
pid=$! # wait_for's own processes change $!
check 'one is made after the other' wait_for 60 waiting
check 'and nothing of it before' test "$(ls "$list")" = "$before"
exec 8<&-
check 'then it is' wait $pid
check 'and the oldest goes' test "$("$BERTH" workspace checkpoints fix | awk '/^auto-/ {print $1}' | head -n 1)" = "$(tail -n 1 auto.4)"
check 'who dropped which is on record' says 0 '*workspace.drop*auto-*' "$BERTH" audit list
"$BERTH" workspace restore fix start >/dev/null
for point in $("$BERTH" workspace checkpoints fix | awk 'NR > 1 && !/^start/ {print $1}'); do "$BERTH" workspace drop fix "$point" >/dev/null; done
of=
check 'of that name once' says 1 '*start*' "$BERTH" workspace checkpoint fix start
check 'a name of a checkpoint that leads out' says 2 '*' "$BERTH" workspace checkpoint fix ../x
rm -r "$tree/tasks/fix/files/deep" && echo more >"$tree/tasks/fix/output" && echo new >"$tree/tasks/fix/new"
describe "$tree/tasks/fix" >changed
check 'restored' fits restore "$BERTH" workspace restore --json tasks/fix start
check 'is what it was' diff before <(describe "$tree/tasks/fix")
check 'in the same directory' test "$(stat -c %i "$tree/tasks/fix")" = "$top"
check 'both are listed' fits checkpoints "$BERTH" workspace checkpoints --json fix
undo=$("$BERTH" workspace checkpoints fix | awk '/^before-/ {print $1}')
check 'and undone' says 0 "*is as in $undo*" "$BERTH" workspace restore fix "$undo"
check 'is what it was then' diff changed <(describe "$tree/tasks/fix")
check 'all are sound' says 0 '*start: sound*' "$BERTH" workspace verify fix
check 'one that is not there' says 1 '*no checkpoint*' "$BERTH" workspace restore fix nothing
check 'a workspace that is not there' says 1 '*no workspace*' "$BERTH" workspace checkpoint nothing
check 'all that is known of it' says 0 "*task*$tree/tasks/fix*owner*size*checkpoints*3*start*" "$BERTH" workspace show fix
check 'as JSON' fits workspace "$BERTH" workspace show --json fix
check 'how much is in all' says 0 '*tasks/fix*projects/site*files*in 2 workspaces, 0 in use' "$BERTH" workspace usage
check 'as it was counted' fits workspace_usage "$BERTH" workspace usage --cached --json

# with_mount: usage while a megabyte is mounted in a task, in a name space of its own.
with_mount() {
	unshare -rm sh -c 'mount -t tmpfs none "$1/tasks/fix/logs" && head -c 1000000 /dev/zero >"$1/tasks/fix/logs/big" &&
		"$2" workspace usage --json' sh "$tree" "$BERTH" >mounted.out &&
		python3 -c 'import json; assert json.load(open("mounted.out"))["bytes"] < 100000'
}
if unshare -rm true 2>/dev/null; then
	check 'what is mounted is not counted' with_mount
else
	echo 'skip what is mounted is not counted: unshare -rm does not work here'
fi
check 'in read-only mode' says 4 '*read-only*' "$BERTH" --read-only workspace drop fix start
check 'it is dropped' says 0 'start: dropped*' "$BERTH" workspace drop fix start
check 'and gone' says 1 '*no checkpoint*' "$BERTH" workspace verify fix start

check 'the name alone of two' says 0 '*' "$BERTH" workspace create project fix
check 'is not enough' says 2 '*tasks/fix or projects/fix*' "$BERTH" workspace checkpoint fix
mv "$tree/tasks/fix" aside && ln -s "$PWD/aside" "$tree/tasks/fix"
check 'a link in its place is not a workspace' says 1 '*no workspace*' "$BERTH" workspace checkpoint tasks/fix

# acts: each by its name, with how it ended.
acts() {
	"$BERTH" audit list --json --act 'workspace.*' >acts.out && python3 - <<'PY'
import json

ends = [(r["act"], r["outcome"]) for r in map(json.loads, open("acts.out")) if r.get("phase") == "outcome"]
for act in ("create", "end", "snapshot", "restore", "drop"):
    assert ("workspace." + act, "ok") in ends, (act, ends)
PY
}
check 'all of it is in the log' acts
check 'which is whole' says 0 '*' "$BERTH" audit verify
# What is suspicious: by the kernel's clock, whatever time a file claims.
"$BERTH" workspace create task odd >/dev/null
check 'nothing is suspicious in a new one' says 0 '*flags * none*' "$BERTH" workspace show odd
printf '#!/bin/sh\n' >"$tree/tasks/odd/files/old"
chmod 755 "$tree/tasks/odd/files/old"
check 'without a checkpoint all of it counts' says 0 '*flags * 1 executable file: files/old*' "$BERTH" workspace show odd
"$BERTH" workspace checkpoint odd one >/dev/null
printf '#!/bin/sh\n' >"$tree/tasks/odd/files/a tool"
chmod 755 "$tree/tasks/odd/files/a tool"
touch -d 2001-01-01 "$tree/tasks/odd/files/a tool"
ln -s /etc/passwd "$tree/tasks/odd/files/out"
ln -s files/old "$tree/tasks/odd/in"
token=ghp_$(printf 'aB3dE6gH9j%.0s' 1 2 3)K2mN5p # in parts, so that nobody takes it for one
echo "x = $token" >"$tree/tasks/odd/files/conf"
check 'what is new and executable' says 0 '*flags * 1 executable file since checkpoint one: files/a tool*' "$BERTH" workspace show odd
check 'a link that leads out' says 0 '*1 link leads out of it: files/out to /etc/passwd*' "$BERTH" workspace show odd
check 'a likely secret, which is not shown' says 0 '*1 likely secret since checkpoint one: files/conf:1 (a token of GitHub)*' "$BERTH" workspace show odd
check 'as JSON' fits workspace "$BERTH" workspace show --json odd
{
	printf 'first\nx = %s\n-----BEGIN RSA PRIVATE KEY-----\n' "$token"
	printf 'AAAAinside\n-----END RSA PRIVATE KEY-----\n\033[2Jlast\n'
} >"$tree/tasks/odd/logs/run.log"
{ # of which only the end is read
	printf -- '-----BEGIN RSA PRIVATE KEY-----\n%017000d\nAAAAinside\n-----END RSA PRIVATE KEY-----\nafter\n' 0
} >"$tree/tasks/odd/logs/cut.log"
check 'a snapshot for a bug report' says 0 '*flags *structure*logs*largest files*last changed*logs/run.log*| first*a likely secret*| ^??2Jlast*' \
	"$BERTH" workspace debug odd
check 'without secrets' bash -c '! "$BERTH" workspace debug odd | grep -e ghp_ -e inside'
check 'but with what comes after them' says 0 '*logs/cut.log*a likely secret*| after*' "$BERTH" workspace debug odd
check 'of none that is not there' says 1 '*no workspace*' "$BERTH" workspace debug none

# Only checkpoints of the same workspace wait for each other.
mkfifo "$tree/../hold"
"$BERTH" workspace create task near >made && "$BERTH" workspace create task far >made
"$BERTH" workspace checkpoint near one >made
held_by() { # held_by DIR: locked until the FIFO is closed
	flock "$1" sh -c 'echo held; read -r line' <"$tree/../hold" >held &
	exec 9>"$tree/../hold"
	wait_for 60 grep -q held held
}
held_by "$tree"
check 'none waits for who creates or removes another workspace' says 0 'two *' timeout 60 "$BERTH" workspace checkpoint near two
exec 9>&- && wait
held_by "$tree/../checkpoints/tasks/near"
check 'nor for the checkpoint of another' says 0 'one *' timeout 60 "$BERTH" workspace checkpoint far one
check 'two of one do' says 124 '*' timeout 2 "$BERTH" workspace checkpoint near three
exec 9>&- && wait
check 'and go on' says 0 'three *' "$BERTH" workspace checkpoint near three
exit $bad
