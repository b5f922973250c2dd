#!/bin/bash
# limits.sh - on the machine that users have: what its kernel keeps, quotas and the freezer; and a user without a name.
. "$SRC/tests/lib/vm.sh"
vm_test 'install 120' 'machine 120' 'quota 900' 'freeze 400' 'stranger 200'
