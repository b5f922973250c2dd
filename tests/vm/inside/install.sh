#!/bin/bash
# install.sh - berth comes to this machine.
. "$(dirname "$0")/lib.sh"
# Without a network: what it depends on is there, or dpkg says what is not.
check 'the package is installed' dpkg -i "$IN/berth.deb"
check 'its AppArmor profile is loaded' grep -q '^berth-agent (enforce)' /sys/kernel/security/apparmor/profiles
check 'and starts' says 0 'berth [0-9]*' user berth --version
check 'nothing that it is linked to is missing' bash -c '! ldd /usr/libexec/berth/berth-core | grep "not found"'
check 'the demo image' docker import "$IN/box.tar" box:1
