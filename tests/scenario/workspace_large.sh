#!/bin/bash
# workspace_large.sh - take, hand-over and share of files that no memory holds: all or nothing, on a full disk and killed, too.
# shellcheck disable=SC2317 # functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
umask 022
tree=$PWD/data/berth/workspaces
maker=$tree/tasks/maker/files
box=$tree/shared/inter_task/reader/maker/files

for t in maker reader; do "$BERTH" workspace create task $t >made || exit 1; done
"$BERTH" workspace create project site >made || exit 1
openssl enc -aes-128-ctr -nosalt -pass pass:x </dev/zero 2>/dev/null | head -c 70M >"$maker/noise"
echo small >"$maker/small"
truncate -s 300M "$maker/holes" && printf end >>"$maker/holes"
check 'handed over' says 0 "*new      files/noise  *3 handed over*" "$BERTH" workspace hand-over maker reader files
check 'as it was' cmp "$maker/noise" "$box/noise"
check 'with its holes' test "$(stat -c %s "$box/holes")" = 314572803 -a "$(stat -c %b "$box/holes")" -lt 100000
check 'a second time nothing changes' says 0 '*0 handed over, 3 the same already*' "$BERTH" workspace hand-over maker reader files
check 'one byte is another file' bash -c '
	printf X | dd of="$1/noise" bs=1 seek=70000000 conv=notrunc status=none &&
		"$BERTH" workspace hand-over maker reader files | grep -q "^conflict files/noise" && cmp "$1/noise" "$2/noise"' sh "$maker" "$box"
check 'shared' says 0 '*new      files/noise*shared/ is version big' "$BERTH" workspace share --as big maker files/noise --into datasets
check 'as it is' cmp "$maker/noise" "$tree/shared/datasets/files/noise"
check 'taken' says 0 '*2 applied*' "$BERTH" workspace apply maker files/noise files/small --into site
check 'into the project' cmp "$maker/noise" "$tree/projects/site/files/noise"
check 'of a checkpoint' bash -c '
	"$BERTH" workspace checkpoint maker then >made && rm "$1/noise" && mkdir from-point &&
		"$BERTH" workspace apply maker@then files/noise files/holes --into "$PWD/from-point" &&
		cmp "$2/projects/site/files/noise" from-point/files/noise && cmp "$1/holes" from-point/files/holes' sh "$maker" "$tree"

# However much it is, it is read in pieces.
cat >least.py <<'EOP'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
EOP
# A sanitizer keeps more beside each byte, but not all of them either.
case $VARIANT in asan | tsan) most=900000 ;; *) most=100000 ;; esac
for i in 1 2 3 4; do cp "$maker/holes" "$maker/more$i"; done
check "1.5 GB in less than $most KiB" test "$(python3 least.py "$BERTH" workspace apply maker files --into "$PWD/from-point")" -lt $most
check 'all of it' cmp "$maker/holes" from-point/files/more4
rm "$maker"/more?

# A secret wherever it is; and what could not be looked through to its end passes by a person's word only.
rm -rf "$box" && yes 'an ordinary line of text' | head -c 12M >"$maker/log"
printf '\nsee gh%s\n' p_16C7e42F292c6912E7710c838347Ae178B4a >>"$maker/log"
check 'a secret at its end' says 4 '*secret   files/log:503318  likely a token*nothing was handed over*' \
	"$BERTH" workspace hand-over maker reader files/log
truncate -s 1025M "$maker/holes"
check 'one that is longer than is looked through' says 4 \
	'*unchecked files/holes *only its first GiB*nothing was shared: 1 file of it could not be scanned*' \
	"$BERTH" workspace share maker files/holes --into datasets
check 'as JSON' fits workspace_take "$BERTH" workspace apply --json --dry-run maker files/holes --into site
check 'a person may say so' says 0 '*unchecked files/holes*1 handed over*' "$BERTH" workspace hand-over --secrets maker reader files/holes
truncate -s 300G "$maker/holes"
check 'there is an end to all of it' says 4 '*more than 256 GiB in one batch*' "$BERTH" workspace apply maker files/holes --into site
rm "$maker/holes"

# Killed at any time: all of it is there, or nothing.
cp "$tree/projects/site/files/noise" "$maker/noise"
killed() {
	local i n
	for i in {1..6}; do
		rm -rf kill && mkdir kill && echo old >kill/old
		timeout -s KILL "0.$(printf %02d $((RANDOM % 30 + 2)))" "$BERTH" workspace apply maker files --into "$PWD/kill" >out 2>&1
		"$BERTH" files write --root kill --from "$PWD/least.py" after >out 2>&1
		n=$(find kill/files -type f 2>/dev/null | wc -l)
		[ "$n" = 0 ] || [ "$n" = 3 ] || { find kill; return 1; }
		[ "$n" = 0 ] || cmp "$maker/noise" kill/files/noise || return 1
	done
}
check 'killed in the middle' killed

# On a disk that is full, before and while it is written.
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=20m none small 2>err; then
	echo old >small/old
	check 'no room' says 1 '*not enough space: * needed, * free*' "$BERTH" workspace apply maker files --into "$PWD/small"
	check 'nothing is left' test "$(ls -A small)" = old
	rm "$maker/noise"
	check 'what has room passes' says 0 '*2 applied*' "$BERTH" workspace apply maker files --into "$PWD/small"
	umount small
	# Bytes are free, but no more names: the last of many fails.
	mount -t tmpfs -o size=100m,nr_inodes=40 none small && echo old >small/old
	for i in {1..60}; do cp "$maker/small" "$maker/many$i"; done
	check 'a disk that is full in the middle' says 1 '*No space left*' "$BERTH" workspace apply maker files --into "$PWD/small"
	check 'has nothing half done' test "$(ls -A small)" = old
	umount small
fi
check 'each act is on record' says 0 '*' "$BERTH" audit verify
exit "$bad"
