#!/bin/bash
# parts.sh - what may be missing from a machine is missing from berth, and told; what may not is named as Debian does.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
# hide MODULE...: pkg-config knows everything that is here but these.
hide() {
	local folder module
	rm -rf modules
	mkdir modules
	for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
		[ ! -d "$folder" ] || find "$folder" -name '*.pc' -exec ln -sf -t modules {} +
	done
	for module; do
		rm "modules/$module.pc" || exit 1
	done
}
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
configure() { # FOLDER OPTION...
	PKG_CONFIG_LIBDIR=$PWD/modules cmake --preset debug -S "$SRC" -B "$@" "${launcher[@]}" >log 2>&1
}
stops() {
	! configure "$@"
}
says() {
	tr -s '\n ' '  ' <log | grep -qF -- "$1" || { cat log; false; }
}

hide
check "everything is here" configure all
check "and is told" says "Optional parts: io_uring: yes, terminals and the bench of the console: yes, tests: yes"

hide cmocka vterm liburing
check "cmake needs no optional library" configure few
check "it tells what is not built" says "Optional parts: io_uring: no (Debian: liburing-dev), \
terminals and the bench of the console: no (Debian: libvterm-dev), tests: no (Debian: libcmocka-dev libvterm-dev)"
in_place=(CMakeFiles/berth_files.dir/backend/files/disk/ring_none.c.o CMakeFiles/berth-bench.dir/bench/peers/screen_none.c.o)
compile() {
	cmake --build few --target "$@" >log 2>&1 || { cat log; false; }
}
check "what stands in their place is compiled" compile "${in_place[@]}"
only() {
	! grep -qE 'files/disk/ring\.c|peers/screen\.c|terminals/emulate\.c|tests/unit/' few/compile_commands.json
}
check "they and the tests are not" only

check "tests that are asked for need their libraries" stops few -DBERTH_TESTS=ON
check "and these are named" says "cmocka (Debian: libcmocka-dev), vterm (Debian: libvterm-dev)"

hide yaml-0.1 libarchive libgit2
check "cmake stops where a library is missing" \
	stops none -DCMAKE_FIND_ROOT_PATH="$PWD/modules" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY
for each in "libpcre2-8.a (Debian: libpcre2-dev)" "liburing.a (Debian: liburing-dev)" "yaml-0.1 (Debian: libyaml-dev)" \
	"libyaml.a (Debian: libyaml-dev)" "libcrypto.a (Debian: libssl-dev)" "libarchive (Debian: libarchive-dev)" \
	"libgit2 (Debian: libgit2-dev)"; do
	check "named: $each" says "$each"
done
exit $bad
