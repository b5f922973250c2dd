#!/bin/bash
# ends.sh - tests/attack/left_behind.sh on cgroup v2: what a command over the engine starts ends with it.
. "$(dirname "$0")/lib.sh"
trap - EXIT
export SRC=$IN/src BERTH=/usr/bin/berth BERTH_TEST_ENGINE=unix:///run/docker.sock BERTH_TEST_ENGINE_DIR=/run
export HOME=/root TMPDIR=/tmp/ends
mkdir -p "$TMPDIR"
bash "$SRC/tests/attack/left_behind.sh" || { echo "not ok left_behind.sh: exit $?"; exit 1; }
