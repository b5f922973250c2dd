#!/bin/bash
# version.sh - the version that a build gives itself: from a tag, after it, from an archive, from neither.
cd "$TMPDIR" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_COMMITTER_DATE='1700000000 +0000' SOURCE_DATE_EPOCH=1600000000
g() {
	git -C tree -c user.name=a -c user.email=a@b -c init.defaultBranch=main "$@"
}
mkdir tree out
g init -q
# As they are in the repository; this tree may be an archive itself.
echo '/.git_archival export-subst' >tree/.gitattributes
# shellcheck disable=SC2016
printf '%s\n' 'commit $Format:%H$' 'date $Format:%ct$' 'tag $Format:%(describe:tags=true,match=v[0-9]*)$' >tree/.git_archival
echo 1 >tree/CMakeLists.txt
g add -A
g commit -qm one
bad=0
say_version() { # FOLDER
	cmake "-DSOURCE=$PWD/$1" "-DBINARY=$PWD/out" -DPROJECT=0.1.0 -DIO_URING=true -DBENCH_CONSOLE=false \
		-P "$SRC/configs/package/version.cmake"
}
expect() { # WHAT FOLDER VERSION COMMIT DATE
	say_version "$2"
	if diff out/version.cmake - <<<"set(BERTH_VERSION \"$3\")
set(BERTH_COMMIT \"$4\")
set(BERTH_DATE \"$5\")" && grep -qF "version = \"$3\"" out/build.c && grep -qF "commit = \"$4\"" out/build.c; then
		echo "ok $1"
	else
		echo "not ok $1"
		bad=1
	fi
}
archive() {
	rm -rf archive
	mkdir archive
	g archive HEAD | tar -xC archive
}
one=$(g rev-parse --short=12 HEAD)
expect "without a tag" tree "0.1.0+20231114221320.$one" "$one" 1700000000
archive
expect "an archive without a tag" archive "0.1.0+20231114221320.$one" "$one" 1700000000
g tag v0.2.0-rc1
expect "on a tag, and a candidate comes before its release" tree 0.2.0~rc1 "$one" 1700000000
archive
expect "an archive of a tag" archive 0.2.0~rc1 "$one" 1700000000
touch -d @0 out/build.c
expect "the same again" tree 0.2.0~rc1 "$one" 1700000000
if [ "$(stat -c %Y out/build.c)" = 0 ]; then
	echo "ok what stays the same is not written, and nothing is compiled"
else
	echo "not ok what stays the same is not written, and nothing is compiled"
	bad=1
fi
g commit -q --allow-empty -m two
two=$(g rev-parse --short=12 HEAD)
expect "after a tag" tree "0.2.0~rc1+20231114221320.$two" "$two" 1700000000
archive
expect "an archive after a tag" archive "0.2.0~rc1+20231114221320.$two" "$two" 1700000000
echo 2 >tree/CMakeLists.txt
expect "a tree that was changed" tree "0.2.0~rc1+20231114221320.$two+modified" "$two" 1700000000
mkdir plain
cp tree/.git_archival plain/ # as it is in a tree that git never wrote
expect "neither git nor an archive by it" plain 0.1.0 "" 1600000000
exit $bad
