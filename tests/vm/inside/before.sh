#!/bin/bash
# before.sh - agents up, and then the machine is rebooted under them.
. "$(dirname "$0")/lib.sh"
check 'agents are up before the reboot' user berth up team.yaml
check 'and one of them works' says 0 'hello' user berth exec two -- echo hello
docker inspect -f '{{.Id}}' berth-one >"$KEEP/id"
