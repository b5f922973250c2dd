#!/bin/bash
# limit.sh - limits of a container that runs, changed by `berth limit` and read back from the kernel.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
export DOCKER_HOST=$BERTH_TEST_ENGINE
box=limit-$$
trap 'docker rm -f $box $box-plain >/dev/null 2>&1' EXIT
docker run -d --name $box --network none -m 64m --memory-swap 64m --cpus 1 --pids-limit 50 --label berth.agent=l1 \
	--label berth.session=s1 --label berth.role=agent box:1 sleep 1000 >/dev/null || exit 1
docker run -d --name $box-plain --network none --cpu-period 50000 --cpu-quota 50000 box:1 sleep 1000 >/dev/null || exit 1

known() { docker inspect -f '{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}' "$1"; }
foreign=--foreign # labels that anybody may set do not make it berth's
# shellcheck disable=SC2086
limit() { "$BERTH" limit --json $foreign "$@" >out.json 2>err; }
field() { python3 -c 'import json,sys; print(json.load(open("out.json"))[sys.argv[1]])' "$1"; }
fits_schema() { python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/limit.json" <out.json; }
is() { [ "$1" = "$2" ] || { echo "# \"$1\" is not \"$2\""; return 1; }; }

check "memory, processors and processes change at once" limit --memory 96m --cpus 0.5 --pids 77 $box
check "the document is as its schema says" fits_schema
check "the kernel holds to it, it says" is "$(field memory_limit_bytes) $(field cpus) $(field pids_limit) $(field read_from)" \
	"100663296 0.5 77 kernel"
check "and the engine has it, with swap as before" is "$(known $box)" "100663296 100663296 500000000 77"
check "one alone leaves the others" limit --pids 60 $box
check "as they were" is "$(known $box)" "100663296 100663296 500000000 60"
check "down again, below what swap was" limit --memory 48m $box
check "with swap" is "$(known $box)" "50331648 50331648 500000000 60"
check "the process inside has the new limit" is "$(docker exec $box sh -c 'cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null')" 60

is_refused() { # CODE WORDS ARG...
	local code=$1 words=$2 before
	shift 2
	before=$(known $box)
	limit "$@"
	is $? "$code" && grep -q -- "$words" err && is "$(known $box)" "$before" && [ ! -s out.json ]
}
check "nothing to change is wrong usage" is_refused 2 "give at least one of" $box
check "too little memory too" is_refused 2 "--memory takes an amount of at least 6m" --memory 1m $box
check "and no number" is_refused 2 "--cpus takes a number of processors" --cpus 0x2 $box
check "and half a process" is_refused 2 "--pids takes a number" --pids 1.5 $box
check "and what is not a number" is_refused 2 "--cpus takes a number of processors" --cpus nan $box
check "who is not there cannot be limited" is_refused 1 "no container" --pids 5 $box-away
foreign=''
check "a stranger's container needs --foreign" is_refused 2 "give --foreign" --pids 40 $box-plain
check "so does one that only calls itself berth's" is_refused 2 "give --foreign" --pids 40 $box
foreign=--foreign
check "more processors than there are is the engine's to refuse" is_refused 1 "CPUs" --cpus 4000 $box
"$BERTH" --read-only limit --foreign --pids 9 $box 2>err
check "read-only refuses" is $? 4
check "the other form of a processor's limit is kept" limit --cpus 2 $box-plain
check "in the kernel" is "$(field cpus)" 2
check "as a quota" is "$(docker inspect -f '{{.HostConfig.CpuPeriod}} {{.HostConfig.CpuQuota}}' $box-plain)" "50000 100000"
check "so is a part of one" limit --cpus 0.125 $box-plain
check "which ps prints as it is" is \
	"$("$BERTH" ps --json -f name=$box-plain | python3 -c 'import json, sys; print(json.load(sys.stdin)["containers"][0]["cpus_limit"])')" 0.125
person() { # by the dialog of the console
	PYTHONPATH=$SRC/tests/lib python3 - "$BERTH" "$box" <<'PY'
import sys
from person import Person
with Person(sys.argv[1]) as p:
    p.type("2")
    p.see(sys.argv[2])
    p.type("/", f"name = {sys.argv[2]}", "Enter")
    p.see("1 of ")
    p.type("G", "L")
    p.see("limits of " + sys.argv[2])
    p.type("pids=33 memory=48m", "Enter")
    p.confirm("Limit " + sys.argv[2])
    p.see("pids 33, as the kernel says")
PY
}
check "a person does so by a dialog" person
check "which changes that alone" is "$(known $box)" "50331648 50331648 500000000 33"
check "what was done and refused is in the log" bash -c "'$BERTH' audit list --json --act container.limit >log &&
	grep -c '\"outcome\": *\"ok\"' log | grep -qx 6 && grep -q '\"outcome\": *\"refused\"' log && grep -q 'memory_bytes' log"
check "the log is whole" "$BERTH" audit verify
exit $bad
