#!/bin/bash
# agents.sh - on the machine that users have: an ordinary user and his agents, from doctor to a reboot under them.
#
# With BERTH_SOAK=1 also all of tests/attack, on that kernel.
. "$SRC/tests/lib/vm.sh"
parts=('install 120' 'loop 300' 'agents 400' 'apparmor 400' 'restarts 300')
[ -z "${BERTH_SOAK-}" ] || parts+=('ends 400' 'attacks 4000')
vm_test "${parts[@]}" 'before 200' reboot 'after 200'
