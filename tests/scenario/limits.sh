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

bear search files search two many
bear scan files scan many
bear read files read many/1 many/2
bear copy files copy many copied
bear transform files transform two three many
bear ps ps
bear doctor doctor
bear audit audit list
bear image image list
bear check config check nowhere.yaml
bear console --script /dev/null
exit $bad
