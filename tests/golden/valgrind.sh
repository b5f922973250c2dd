#!/bin/bash
# valgrind.sh - every golden screen drawn under valgrind: nothing on it hangs on a byte that was never set.  The
# sanitizers do not look for that, and valgrind cannot run them, so this takes the release build.
cd "$TMPDIR" || exit 1
exec valgrind --quiet --error-exitcode=9 --child-silent-after-fork=yes "$BUILD/golden_screens"
