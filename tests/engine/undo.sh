#!/bin/bash
# undo.sh - a container that was removed is made anew as it was, on a real engine: by rm and by a plan.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
n=undo$$
finish() {
	docker rm -f "$n" "$n-other" "$n-agent" >/dev/null 2>&1
	docker network rm "$n-net" "$n-two" >/dev/null 2>&1
	docker volume rm -f "$n-vol" >/dev/null 2>&1
}
trap finish EXIT
docker network create "$n-net" >/dev/null && docker network create "$n-two" >/dev/null || exit 1

# What an undone one must have, whatever the engine numbers anew.
facts() {
	docker inspect "$n" | python3 -c '
import json, sys
c = json.load(sys.stdin)[0]
h = c["HostConfig"]
net = {k: sorted(a for a in (v["Aliases"] or []) if not c["Id"].startswith(a)) for k, v in c["NetworkSettings"]["Networks"].items()}
mounts = sorted((m["Type"], m.get("Name", m["Source"]), m["Destination"], m["RW"]) for m in c["Mounts"])
print(json.dumps([c["Config"]["Image"], c["Config"]["Cmd"], sorted(c["Config"]["Env"]), c["Config"]["Labels"], c["Config"]["User"], c["Config"]["WorkingDir"],
                  h["Memory"], h["NanoCpus"], h["PidsLimit"], h["CapDrop"], h["ReadonlyRootfs"], h["RestartPolicy"], h["PortBindings"], h["SecurityOpt"],
                  net, mounts, c["State"]["Running"]]))'
}
make() {
	docker run -d --name "$n" --network "$n-net" --network-alias web -e "A=b c" -e 'Q="$(x)' --label l=v -m 64m --cpus 0.5 --pids-limit 50 \
		--cap-drop ALL --security-opt no-new-privileges --read-only -u 1000 -w /tmp -v "$n-vol:/named" -v /anonymous -v "$TMPDIR:/host:ro" \
		-p 127.0.0.1::80 box:1 sh -c 'sleep 600; echo "$A"' >/dev/null && docker network connect --alias second "$n-two" "$n" &&
		docker exec -u 0 "$n" sh -c 'echo kept >/anonymous/f'
}
make || exit 1
facts >before
check 'nothing yet' says 0 '' "$BERTH" undo
check 'read-only removes nothing, so nothing can be undone' says 4 '*' "$BERTH" --read-only rm --foreign -f -y "$n"
"$BERTH" rm --foreign -f -y "$n" >/dev/null || exit 1
check 'it is gone' bash -c '! docker inspect "$0" >/dev/null 2>&1' "$n"
check 'listed' says 0 "*ago  $n  box:1" "$BERTH" undo
check 'undo --json fits its schema' fits undo "$BERTH" undo --json
check 'for this user alone' bash -c '[ "$(stat -c %a "$XDG_RUNTIME_DIR"/berth/undo/*)" = 600 ]'
check 'not in read-only' says 4 '*read-only*' "$BERTH" --read-only undo "$n"
docker run -d --name "$n" --network none box:1 sleep 600 >/dev/null
check 'not over another of that name' says 1 '*already in use*' "$BERTH" undo "$n"
docker rm -f "$n" >/dev/null
check 'not on another engine' says 3 '*' "$BERTH" -H unix:///nowhere.sock undo "$n"
ln -s "${DOCKER_HOST#unix://}" alias.sock
check 'nor on one that only says it is the same' says 1 '*was on another engine*name that with --host*' "$BERTH" -H "unix://$PWD/alias.sock" undo "$n"
check 'made anew' says 0 "*  $n was recreated and runs*" "$BERTH" undo "$n"
facts >after
same() {
	diff before after
}
check 'as it was' same
check 'with its anonymous volume' bash -c '[ "$(docker exec "$0" cat /anonymous/f)" = kept ]' "$n"
check 'only once' says 1 '*No container*' "$BERTH" undo "$n"
check 'on record' bash -c "\$BERTH audit list --act container.create --json | grep -q '\"outcome\": \"ok\"'"

# A network that is gone: nothing is left of the attempt, and it is made once that is there again.
facts >before
"$BERTH" rm --foreign -f -y "$n" >/dev/null || exit 1
docker network rm "$n-two" >/dev/null
check 'what is in the way is said' says 1 "*$n-two*" "$BERTH" undo "$n"
check 'nothing half done' bash -c '! docker inspect "$0" >/dev/null 2>&1' "$n"
docker network create "$n-two" >/dev/null
check 'then it is made' says 0 '*was recreated*' "$BERTH" undo "$n"
facts >after
check 'with all of it' same

# By a plan; stopped ones stay stopped.
docker stop -t 0 "$n" >/dev/null
facts >before
"$BERTH" clean --foreign --yes >clean.out 2>&1
check 'removed by the plan' bash -c '! docker inspect "$0" >/dev/null 2>&1' "$n"
check 'and undone' says 0 "*  $n was recreated;*" "$BERTH" undo "$n"
facts >after
check 'stopped as it was' same

# A damaged file, one of another shape, and one that is too old.
mkdir -p "$XDG_RUNTIME_DIR/berth/undo"
bad_file=$XDG_RUNTIME_DIR/berth/undo/$(printf '%064d' 7)
now=$(date +%s)000
for text in '{' '[]' '{"engine":"x","removed_ms":'"$now"',"inspect":7}' '{"engine":"x","removed_ms":1,"inspect":{}}'; do
	printf %s "$text" >"$bad_file"
	check "no crash on $text" says 0 '*' "$BERTH" undo
	"$BERTH" undo 0000000000000000 >/dev/null 2>&1
	check "and nothing is made of it" test $? = 1
	rm -f "$bad_file"
done
exit "$bad"
