# shellcheck shell=bash
# package.sh - the .deb of a build. Source it, with SRC and BUILD set.
#
#   package_make FOLDER    make it and put it there. It is made in the build tree: one after the other.

package_make() {
	(
		flock -w 600 9 || { echo "Another holds the build for 10 minutes." >&2; exit 1; }
		rm -f "$BUILD"/berth_*.deb
		cmake --build "$BUILD" --target package && mv "$BUILD"/berth_*.deb "$1/"
	) 9>>"$SRC/build-test/release.lock"
}
