#!/bin/bash
# attacks.sh - tests/attack/hardening.py on this kernel: with AppArmor, cgroup v2 and systemd's driver.
. "$(dirname "$0")/lib.sh"
trap - EXIT
# Some of it wants the programs beside each other, as in a build tree, and a hard link to the engine's socket in /tmp.
export SRC=$IN/src BUILD=/opt/berth-build BERTH_TEST_ENGINE=unix:///tmp/docker.sock
export BERTH=$BUILD/berth HOME=/root TMPDIR=/tmp PYTHONDONTWRITEBYTECODE=1 BERTH_SLOWER=10
mkdir -p $BUILD /etc/systemd/system/docker.socket.d
cp "$IN"/build/* /usr/bin/berth /usr/libexec/berth/* $BUILD/
printf '[Socket]\nListenStream=/tmp/docker.sock\n' >/etc/systemd/system/docker.socket.d/tmp.conf
check 'the engine listens in /tmp too' bash -c 'systemctl daemon-reload && systemctl stop docker && systemctl restart docker.socket && systemctl start docker'
python3 "$SRC/tests/attack/hardening.py" "$@" 2>&1
