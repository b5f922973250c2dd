#!/bin/bash
# machine.sh - berth in the machine that users have: a stock Debian 12, whole, emulated (tests/lib/vm.sh).
#
# tests/vm/inside/start says what happens in there. With BERTH_SOAK=1 also all of tests/attack, on that kernel.
. "$SRC/tests/lib/vm.sh"
cd "$TMPDIR" || exit 1
mkdir -p in/build in/src/tests in/src/configs
limit=1700
[ -z "${BERTH_SOAK-}" ] || { : >in/soak; limit=6000; }
cp "$SRC"/tests/vm/inside/* in/ || exit 1
rm -f "$BUILD"/berth_*.deb
flock -w 600 "$SRC/build-test/release.lock" cmake --build "$BUILD" --target package >package.log 2>&1 || { cat package.log; echo 'not ok the package is made'; exit 1; }
cp "$BUILD"/berth_*.deb in/berth.deb || exit 1
"$SRC/configs/images/make-box" >in/box.tar || exit 1
cp "$BUILD"/{vm-end,attack-inside,attack-evil-guest,attack-execs} in/build/ || exit 1
cp -r "$SRC"/tests/{attack,lib} in/src/tests/ && cp -r "$SRC/configs/images" "$SRC"/configs/*.{yaml,json} in/src/configs/ || exit 1
vm_run "$TMPDIR" "$limit"
status=$?
if [ $status != 0 ] && ! grep -q '^status ' results; then
	echo "not ok the machine did its work: it ended with $status; its console:"
	tail -n 60 console | tr -d '\r' | sed 's/^/# /'
fi
exit $status
