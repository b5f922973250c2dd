#!/bin/bash
# limits.sh - commands in a process that may open very few files: what they give is whole, or they say that it is not.
cd "$TMPDIR" || exit 1
bad=0
mkdir many
for ((i = 0; i < 300; i++)); do echo two >"many/$i"; done
export DOCKER_HOST=unix:///nowhere

# bear NAME COMMAND...: with every number of descriptors it gives as many lines and ends with the same code as with
# many, or says why not.
bear() {
	local name=$1 n status lines whole why=''
	shift
	"$BERTH" "$@" >out 2>err </dev/null
	whole=$?
	lines=$(wc -l <out)
	rm -rf copied
	for n in {3..20} 32 48; do
		(ulimit -n "$n" && exec "$BERTH" "$@") >out 2>err </dev/null
		status=$?
		rm -rf copied
		[ $status = $whole ] && [ "$(wc -l <out)" = "$lines" ] && continue
		[ $status -gt 0 ] && [ $status -lt 128 ] && grep -qiE 'too many open files|loading shared libraries|ulimit' out err && continue
		why="$why; with $n: exit $status, $(wc -l <out) lines, $(head -n 3 err)"
	done
	if [ -z "$why" ]; then
		echo "ok few descriptors: $name"
	else
		echo "not ok few descriptors: $name"
		echo "# $why"
		bad=1
	fi
}

# thread NAME COMMAND...: with next to no threads, as a user of its own where root runs this, it does what it does
# with many or says why not; no signal ends it.
account=()
begun=$(ps -eLo euid= | awk -v u="$(id -u)" '$1 == u' | wc -l)
if [ "$(id -u)" = 0 ]; then
	account=(setpriv --reuid 61234 --regid 61234 --clear-groups)
	begun=0
fi
place=$(mktemp -d /tmp/limits.XXXXXX)
trap 'rm -rf "$place"' EXIT
cp "$(dirname "$BERTH")"/berth{,-*} "$place" 2>/dev/null
cp -r many "$place"
[ ${#account[@]} = 0 ] || chown -R 61234:61234 "$place"
# (The sanitizer's search for leaks has a thread of its own; the same commands are searched elsewhere.)
thread() {
	local name=$1 n status whole why='' ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	shift
	export ASAN_OPTIONS
	cd "$place" || exit 1
	"${account[@]}" env HOME="$place" TMPDIR="$place" XDG_RUNTIME_DIR="$place" ./berth "$@" >/dev/null 2>&1 </dev/null
	whole=$?
	for n in {1..8}; do
		status=$("${account[@]}" env HOME="$place" TMPDIR="$place" XDG_RUNTIME_DIR="$place" \
			prlimit --nproc=$((begun + n)) ./berth "$@" 2>&1 </dev/null >/dev/null | tail -n 3; echo "exit ${PIPESTATUS[0]}")
		[[ $status = *"exit $whole" ]] && continue
		[[ $status = *ulimit* || $status = *'no thread'* ]] && [[ $status != *'exit 1'[2-9]? ]] && continue
		why="$why; with $n: $status"
	done
	cd "$OLDPWD" || exit 1
	if [ -z "$why" ]; then
		echo "ok few threads: $name"
	else
		echo "not ok few threads: $name"
		echo "# $why"
		bad=1
	fi
}

thread search files search two many
thread ps ps
thread plan clean --dry-run
thread audit audit list
thread console --script /dev/null

bear search files search two many
bear scan files scan many
bear read files read many/1 many/2
bear copy files copy many copied
bear transform files transform two three many
bear ps ps
bear doctor doctor
bear audit audit list
bear image image untag x
bear check config check nowhere.yaml
bear console --script /dev/null
exit $bad
