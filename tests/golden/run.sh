#!/bin/sh
# run.sh [--update] [NAME...] - the golden screens (tests/golden/screens.c) of the build in build/.
here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
exec "${BUILD:-$here/build}/golden_screens" "$@"
