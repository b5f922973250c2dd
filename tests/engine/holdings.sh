#!/bin/bash
# holdings.sh - images, volumes and networks on a real engine: what is listed, who uses it, what a plan of chosen things removes and
# what it leaves alone, by command and in the console.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
n=hold$$
trap 'docker rm -f $n-a $n-b >/dev/null 2>&1; docker volume rm -f $n-v $n-w $n-x >/dev/null 2>&1; docker network rm $n-n $n-m >/dev/null 2>&1
docker image rm -f $n:1 team/$n:2 team/$n:4 $n:3 $n:keep >/dev/null 2>&1' EXIT

# Three images with layers of their own; the first has three names.
for i in 1 3 keep; do
	printf 'FROM box:1\nRUN echo %s >/mark\nLABEL com.docker.compose.project=shop\n' "$i" | docker build -q -t "$n:$i" - >/dev/null || exit 1
done
docker tag "$n:1" "team/$n:2"
docker tag "$n:1" "team/$n:4"
for v in v w x; do docker volume create "$n-$v" >/dev/null; done
docker network create --internal "$n-n" >/dev/null
docker network create "$n-m" >/dev/null
docker run -d --name "$n-a" --network "$n-n" -v "$n-v:/v" "$n:3" sleep 600 >/dev/null || exit 1
docker create --name "$n-b" --network none -v "$n-w:/v" box:1 true >/dev/null

has() { # KIND PYTHON-EXPRESSION over `one(NAME)`
	"$BERTH" "$1" ls --json >doc.json 2>doc.err || { cat doc.err; return 1; }
	/usr/bin/python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/$1.json" <doc.json &&
		KIND=$1 /usr/bin/python3 -c "
import json, os, sys
d = json.load(open('doc.json'))
def one(name):
    got = [x for x in d[os.environ['KIND']] if name in x.get('names', []) + [x.get('name')]]
    assert len(got) == 1, (name, got)
    return got[0]
users = lambda x: {u['name']: u['running'] for u in x.get('used_by', x.get('members'))}
print(d if not ($2) else 'ok')
sys.exit(not ($2))"
}

check 'an image with several names is one' has images "one('$n:1') == one('team/$n:2') and not users(one('$n:1'))"
check 'its layers are shared with its base' has images "d['measured'] and 0 < one('$n:1')['shared_bytes'] < one('$n:1')['size_bytes']"
check 'an image is used, and made by a project' has images "users(one('$n:3')) == {'$n-a': True} and one('$n:3')['owner'] == 'compose shop'"
check 'a volume is used, also by one that is stopped' has volumes \
	"users(one('$n-v')) == {'$n-a': True} and users(one('$n-w')) == {'$n-b': False} and not users(one('$n-x')) and one('$n-x')['size_bytes'] == 0"
check 'a network has members with addresses' has networks \
	"one('$n-n')['internal'] and one('$n-n')['members'][0]['address'] and one('$n-n')['subnets'] and not one('$n-m')['members']"
check 'and the engine its own' has networks "one('bridge')['owner'] == 'engine'"
check 'ids alone' bash -c "\$BERTH volumes ls -q | grep -qx $n-x"
check 'the table' says 0 "*IMAGE*USED BY*$n:1*" "$BERTH" image ls

check 'completion knows them' bash -c "\$BERTH complete -- volumes rm $n- | grep -q $n-v && \$BERTH complete -- networks rm $n- | grep -q $n-m && \$BERTH complete -- image rm $n | grep -q $n:keep"

# Nothing goes that is used, and nothing beside it.
check 'a used volume stays, and all else' says 1 "*Nothing was removed, because $n-w stays: the container $n-b, which is stopped, has it.*" \
	"$BERTH" volumes rm --yes "$n-x" "$n-w"
check 'it is there' docker volume inspect "$n-x" "$n-w"
check 'a used image stays' says 1 "*stays: the container $n-a has it*" "$BERTH" image rm --yes "$n:3"
check 'a network with members stays' says 1 "*stays: the container $n-a has it*" "$BERTH" networks rm --yes "$n-n"
check "the engine's own stays" says 4 "*stays: it is the engine's own*" "$BERTH" networks rm --yes bridge
check 'what is not there' says 1 '*There is no volume no-such*' "$BERTH" volumes rm --yes no-such
check 'two words that exclude each other' says 2 '*takes one of*' "$BERTH" volumes rm --yes --dry-run "$n-x"
check 'without a word nothing happens' says 2 '*nothing was done: give --yes*' "$BERTH" volumes rm "$n-x"
check 'a plan can be looked at' says 0 "*remove volume*$n-x*1 to remove*" "$BERTH" volumes rm --dry-run "$n-x"
check 'read-only' says 4 '*read-only*' "$BERTH" --read-only volumes rm --yes "$n-x"
printf 'protected: {images: ["%s:keep"]}\n' "$n" >keep.yaml
check 'what is protected stays' says 4 '*protected*' "$BERTH" --settings keep.yaml images rm --yes "$n:keep"
# A plan that was saved cannot hold it: the rules would let it pass.
"$BERTH" volumes rm --dry-run --json "$n-x" >plan.json
check 'a saved plan of chosen things is refused' says 2 '*chosen by name*' "$BERTH" clean --plan plan.json
check 'all of it is there' docker volume inspect "$n-x"

# Two at once: each is removed by one of them, and neither fails.
docker volume create "$n-two" >/dev/null
"$BERTH" volumes rm --yes "$n-two" >one.out 2>&1 &
"$BERTH" volumes rm --yes "$n-two" >two.out 2>&1
two=$?
wait $!
one=$?
cat one.out two.out
check 'two at once' bash -c "[ $one = 0 ] || [ $two = 0 ]; ! docker volume inspect $n-two"

check 'a volume goes' says 0 "*removed  volume    $n-x*1 removed*" "$BERTH" volumes rm --yes "$n-x"
check 'it is gone' bash -c "! docker volume inspect $n-x"
check 'one name does not take the others along' says 2 "*is also named*give all its names or its id*" "$BERTH" image rm --yes "team/$n:2"
check 'they are there' docker image inspect "$n:1" "team/$n:2" "team/$n:4"
check 'nor some of them' says 2 "*is also named team/$n:4*" "$BERTH" image rm --yes "$n:1" "team/$n:2"
check 'an image goes with all its names' says 0 "*1 removed*" "$BERTH" image rm --yes "$n:1" "team/$n:2" "team/$n:4"
check 'they are gone' bash -c "for i in $n:1 team/$n:2 team/$n:4; do ! docker image inspect \$i || exit 1; done"
check 'its base is not' docker image inspect box:1
check 'an id is enough' says 0 '*1 removed*' "$BERTH" networks rm --yes "$(docker network inspect -f '{{.Id}}' "$n-m" | cut -c 1-12)"
"$BERTH" image rm --yes --json "$n:keep" >clean.json
check 'the outcome fits its schema' /usr/bin/python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/clean.json" <clean.json
check 'all of it is in the log' bash -c "\$BERTH audit list >log; cat log; grep -q 'volume.remove .*$n-x.* ok' log && grep -q 'image.remove .* ok' log && grep -q 'network.remove .* ok' log"

# The console: the engine measures only for a view that is open; what another program does is seen, and a plan goes by what is there now.
printf 'size 100 30\nwait %s-a\nkey F4\nwait %s-n\nkey Esc\nkey F1\nkey Esc\n' "$n" "$n" >closed.script
BERTH_LOG=closed.log:engine "$BERTH" --script closed.script >closed.out 2>&1
check 'nothing is measured before a view wants it' bash -c 'cat closed.out; grep -q /networks closed.log && ! grep -q system/df closed.log'
cat >view.script <<EOT
size 100 30
wait $n-a
key F3
wait $n-w
key /
type $n-w
key Enter
wait $n-b
key D
wait stays: the container $n-b
key C-s C-u
type $PWD/seen.txt
key Enter
gone $n-b
key D
wait Remove 1 item
advance 400
type 1
key Enter
wait Removed 1 volume
gone ▌● $n-w
EOT
BERTH_LOG=view.log:engine "$BERTH" --script view.script >view.out 2>&1 &
console=$!
wait_for 60 test -s seen.txt
docker rm "$n-b" >/dev/null
wait $console
ended=$?
check 'a volume is removed in the console when its container is gone' bash -c "cat view.out; [ $ended = 0 ] && grep -q system/df view.log && ! docker volume inspect $n-w"
exit $bad
