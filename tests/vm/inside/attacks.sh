#!/bin/bash
# attacks.sh - tests/attack/hardening.py on this kernel: with AppArmor, cgroup v2 and systemd's driver.
. "$(dirname "$0")/lib.sh"
export SRC=$IN/src BUILD=$IN/build BERTH=/usr/bin/berth BERTH_TEST_ENGINE=unix:///var/run/docker.sock
export HOME=/root TMPDIR=/tmp PYTHONDONTWRITEBYTECODE=1 BERTH_ATTACK_TIMES=1
trap - EXIT
python3 "$SRC/tests/attack/hardening.py" "$@" 2>&1
