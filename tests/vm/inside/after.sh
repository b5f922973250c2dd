#!/bin/bash
# after.sh - the machine has been rebooted with agents up.
. "$(dirname "$0")/lib.sh"
check 'after the reboot they are stopped, not gone' says 0 "$(cat "$KEEP/id") false" docker inspect -f '{{.Id}} {{.State.Running}}' berth-one
check 'exec says so' says 125 '*is not running*' user berth exec one -- true
check 'what had a restart policy runs' says 0 true docker inspect -f '{{.State.Running}}' kept
check 'up starts them again' user berth up team.yaml
check 'with the lane' says 0 '*"path": "lane"*' user berth exec --json one -- true
check 'what was written is there' says 0 y user berth exec one -- cat /home/user/one/y
check 'the audit log goes on' says 0 '*' user berth audit verify
docker rm -f kept >/dev/null
user berth down team.yaml >/dev/null
check 'down removes them' says 0 '' docker ps -aq
check 'clean finds nothing of theirs' says 0 '*' user berth clean --yes
loop=/var/lib/berth-loop/berth/workspaces/tasks/stays
check 'an image is not mounted, and nobody gets in' says 0 '0 0' stat -c '%u %a' "$loop"
check 'the next verb mounts it' says 0 '*loop image*' env XDG_DATA_HOME=/var/lib/berth-loop XDG_STATE_HOME=/var/lib/berth-loop/state berth workspace show stays
check 'with what was in it' says 0 kept cat "$loop/files/word"
check 'workspaces stay' says 0 y cat /home/user/one/y
