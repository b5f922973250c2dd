#!/bin/bash
# quota.sh - limits of workspaces that the file system itself keeps, on XFS and ext4 with project quotas; and an agent
# that wants out of its project.
# shellcheck source=tests/vm/inside/lib.sh
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
chmod 755 "$work"
cd "$work" || exit 1
export HOME=/root XDG_RUNTIME_DIR=$work/run
mkdir -m 700 run
trap 'berth down --all --yes >/dev/null 2>&1; docker volume rm berth-home-berth-quo >/dev/null 2>&1; umount "$work"/on-xfs "$work"/on-ext4; exit $bad' EXIT

on_xfs() { truncate -s 512M xfs && mkfs.xfs -q -m reflink=1 xfs && mkdir on-xfs && mount -o loop,prjquota xfs on-xfs; }
on_ext4() {
	truncate -s 512M ext4 && mkfs.ext4 -q -O quota,project -E quotatype=prjquota ext4 && mkdir on-ext4 &&
		mount -o loop,prjquota ext4 on-ext4
}
begin() { # WHERE: with data of its own
	export XDG_DATA_HOME=$work/on-$1/data XDG_STATE_HOME=$work/on-$1/state
	mkdir -m 700 "$XDG_DATA_HOME" "$XDG_STATE_HOME" && chmod 755 "$work/on-$1"
	tasks=$XDG_DATA_HOME/berth/workspaces/tasks
	berth workspace create task quo >/dev/null
}
kind() { berth workspace show "$1" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["limits"]["kind"])'; }
usage_kind() { berth workspace usage --json | python3 -c 'import json,sys; print(*(w["limits"]["kind"] for w in json.load(sys.stdin)["workspaces"]))'; }
run() { berth exec quo -- sh -c "cd $tasks/quo/files; $1"; }
small() { [ "$(stat -c %s "$tasks/quo/files/$1")" -le "$2" ]; }
room() { # FILES: XFS forgets what was removed when it has the time
	[ "$(berth workspace show quo --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["limits"]["quota"]["used_files"])')" -le "$1" ]
}
attack() {
	local out
	out=$(berth exec quo -- sh -c "cd $tasks/quo/files; $work/tools/attack-inside quota 10485760 200 $work/on-$where/docs")
	echo "$out"
	[ "$(grep -c '^0 held' <<<"$out")" -ge 20 ] && ! grep -q BROKE <<<"$out"
}

mkdir tools && cp "$IN/build/attack-inside" tools/
for where in xfs ext4; do
	check "$where is there" "on_$where"
	begin $where
	mkdir -m 777 on-$where/docs
	cat >team.yaml <<-YAML
		agents: {quo: {image: "box:1", workspace: "task:quo", memory: 64m, pids: 32,
		  context_paths: [{path: ./tools}, {path: ./on-$where/docs, permission: write}]}}
	YAML
	files=$tasks/quo/files
	# What was there before counts: as deep as a path may not be, and what cannot be opened is no reason to fail.
	head -c 6000000 /dev/zero >"$files/before"
	mkdir "$files/deep" && : >"$files/deep/er" && mkfifo "$files/fifo" && ln -s /etc/passwd "$files/link"
	python3 - "$files/deep" <<-'PY'
		import os, sys
		os.chdir(sys.argv[1])
		for _ in range(30):
		    os.mkdir("d" * 200)
		    os.chdir("d" * 200)
		open("bottom", "wb").write(bytes(2_000_000))
	PY
	chown -hR 1000:1000 "$tasks/quo"
	berth workspace create task other >/dev/null && mkdir "$tasks/other/files/mounted" && mount -t tmpfs none "$tasks/other/files/mounted"
	check "$where: what is mounted in one is none of it" says 0 '*5.0M*project quota*' berth workspace limit other --bytes 5m
	umount "$tasks/other/files/mounted"
	check "$where: it goes" says 0 "*" berth workspace clean other
	check "$where: before it is up it is counted" says 0 counted kind quo
	check "$where: up" says 0 '*' berth up team.yaml
	check "$where: from then on the file system keeps it" says 0 'project quota' kind quo
	check "$where: in usage, too" says 0 'project quota' usage_kind
	# So that nothing but the file system stops it.
	check "$where: a limit" says 0 '*10M*project quota*recorded*' berth workspace limit quo --bytes 10m --on-breach warn
	check "$where: too much" says 1 '*' run 'head -c 20000000 /dev/zero >big'
	check "$where: went to the limit, with what was there before" small big 3000000
	check "$where: the file system's own count is shown" says 0 '*10M*own count*' berth workspace show quo
	check "$where: raised" says 0 '*50M*' berth workspace limit quo --bytes 50m
	check "$where: it fits" says 0 '' run 'head -c 20000000 /dev/zero >big'
	check "$where: a checkpoint" says 0 '*' berth workspace checkpoint quo full
	check "$where: what is removed" says 0 '' rm -r "$files/big" "$files/deep"
	check "$where: comes back" says 0 '*' berth workspace restore quo full
	check "$where: as it was" small big 20000000
	check "$where: in its project" says 1 '*' run 'head -c 30000000 /dev/zero >more'
	check "$where: a fork is one of its own" says 0 '*quo-1*' berth workspace fork quo 1
	check "$where: and not in it" says 0 counted kind quo-1
	check "$where: all is removed" says 0 '' rm -r "$files/before" "$files/big" "$files/more" "$files/deep"
	check "$where: and no longer counted" wait_for 60 room 30
	check "$where: what an agent may hold" says 0 '*10M, 200 files*' berth workspace limit quo --bytes 10m --files 200
	check "$where: it gets no further, and not out" attack
	check "$where: a project that its owner left on the host" chattr -p 7 "$tasks/quo"
	check "$where: is not said to be kept" says 0 counted kind quo
	chattr -p 0 "$tasks/quo"
	check "$where: is so again with the next limit" says 0 '*project quota*' berth workspace limit quo --bytes 20m
	check "$where: no limit" says 0 '*any size, any number of files, counted*' berth workspace limit quo --files none --bytes none
	check "$where: all of it" says 0 '' run 'head -c 30000000 /dev/zero >big'
	check "$where: down" says 0 '*' berth down team.yaml
	check "$where: archived" says 0 '*' berth workspace archive quo
	check "$where: and brought back" says 0 '*' berth workspace unarchive quo
	check "$where: the log is sound" says 0 '*' berth audit verify
	docker volume rm berth-home-berth-quo >/dev/null
done
mkdir on-plain
begin plain
check 'where the file system keeps none it is counted' says 0 '*10M*counted*' berth workspace limit quo --bytes 10m
check 'and said so' says 0 counted kind quo
rm -r on-plain
