#!/bin/bash
# images.sh - `berth image` on a real engine: pull from a registry of the test's own, build, import, cancel, remove.
export DOCKER_HOST=$BERTH_TEST_ENGINE
. "$SRC/tests/lib/engine.sh"
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
registry=''
trap '[ -z "$registry" ] || kill "$registry" 2>/dev/null; docker image rm -f im-$$:1 im-$$:2 im-$$:tar im-$$:keep im-$$:label "${r-x}/tiny:1" >/dev/null 2>&1' EXIT

fits() { # SCHEMA PYTHON-CONDITION COMMAND...
	local schema=$1 condition=$2
	shift 2
	"$@" >doc.json 2>doc.err </dev/null
	cat doc.json doc.err
	/usr/bin/python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/$schema.json" <doc.json &&
		/usr/bin/python3 -c "import json, sys; d = json.load(open('doc.json')); sys.exit(not ($condition))"
}

# -- pull: the registry listens where the engine sees it, in its network namespace
nsenter --net="/proc/$(cat "$BERTH_TEST_ENGINE_DIR/docker.pid")/ns/net" /usr/bin/python3 "$SRC/tests/lib/registry.py" "$TMPDIR/port" &
registry=$!
wait_for 60 test -s port || { echo "not ok the registry starts"; exit 1; }
r=127.0.0.1:$(<port)

# The registry wants a login; the one that `docker login` would have written down is taken.
check 'without a login' says 1 '*berth: cannot pull*docker login*' "$BERTH" image pull "$r/tiny:1"
mkdir -p docker
printf '{"auths": {"%s": {"auth": "%s"}}}' "$r" "$(printf agent:s3cret | base64)" >docker/config.json
export DOCKER_CONFIG=$PWD/docker
# Three layers; of noise, so what is fetched is what they hold.
check 'pull' fits image 'd["ok"] and d["layers"] == 3 and d["transferred_bytes"] >= 3.5 * 2**20 and d["size_bytes"] >= 3.5 * 2**20' \
	"$BERTH" image pull --json "$r/tiny:1"
check 'pull again: it is there' says 0 "*is ready*" "$BERTH" image pull "$r/tiny:1"
check 'an image the registry lacks' says 1 "*berth: cannot pull $r/tiny:9: *" "$BERTH" image pull "$r/tiny:9"
check 'a layer that is not what it should be' says 1 '*berth: cannot pull*' "$BERTH" image pull "$r/lie:1"
check 'and it is not there' says 1 '*no image*' "$BERTH" image untag "$r/lie:1"
# Cancelled while a layer hangs; through the board, as the console does it: images_job.c.
cancel_pull() {
	local pid rc
	"$BERTH" image pull "$r/stall:1" >stall.out 2>stall.err &
	pid=$!
	# The other layers are complete, the last one has begun.
	wait_for 60 bash -c '[ "$(grep -c "Download complete\|Pull complete\|Already exists" stall.out)" -ge 2 ]' || { kill $pid; cat stall.out stall.err; return 1; }
	kill -"$1" $pid
	wait $pid
	rc=$?
	cat stall.err
	[ $rc = 1 ] && grep -q 'cancelled' stall.err && ! docker image inspect "$r/stall:1" >/dev/null 2>&1
}
check 'a pull that hangs is cancelled' cancel_pull INT

# -- build
mkdir -p ctx/keep ctx/drop
echo yes >ctx/keep/a
echo no >ctx/drop/b
echo no >ctx/x.log
echo yes >ctx/keep/y.log
ln -s /etc/passwd ctx/link
printf 'drop\n*.log\n!keep/y.log\n**/*.tmp\n' >ctx/.dockerignore
echo no >ctx/keep/z.tmp
cat >ctx/Dockerfile <<'DOCKER'
FROM box:1
ARG WORD=nothing
COPY . /ctx
RUN cd /ctx && [ -e keep/a ] && [ -e keep/y.log ] && [ ! -e drop ] && [ ! -e x.log ] && [ ! -e keep/z.tmp ] && [ -L link ] && \
    [ "$(stat -c %u keep/a)" = 0 ] && echo "the word is $WORD"
DOCKER
check 'build' says 0 '*Step 4/4 : RUN*the word is harbour*im-*:1 is ready*' \
	"$BERTH" image build -t "im-$$:1" --build-arg WORD=harbour --network none ctx
check 'build --json' fits image 'd["ok"] and d["output"][-1].startswith("Successfully tagged")' \
	"$BERTH" image build --json -t "im-$$:2" ctx
printf 'FROM box:1\nRUN echo the reason; exit 3\n' >ctx/Dockerfile
check 'a step that fails' says 1 '*the reason*berth: cannot build im-*returned a non-zero code: 3*' "$BERTH" image build -t "im-$$:3" ctx
check 'and its reason in the document' fits image 'not d["ok"] and "the reason" in d["output"] and d["image"] is None' \
	"$BERTH" image build --json -t "im-$$:3" ctx
printf 'FORM box:1\n' >ctx/Dockerfile
check 'a Dockerfile that is none' says 1 '*berth: cannot build*FORM*' "$BERTH" image build ctx

# The step's container ends with it.
cancel_build() {
	local pid rc
	printf 'FROM box:1\nRUN echo it has be""gun && sleep 600\n' >ctx/Dockerfile
	"$BERTH" image build -t "im-$$:4" ctx >slow.out 2>slow.err &
	pid=$!
	wait_for 60 grep -q '^it has begun' slow.out || { kill $pid; cat slow.out slow.err; return 1; }
	kill -INT $pid
	wait $pid
	rc=$?
	cat slow.err
	[ $rc = 1 ] && grep -q cancelled slow.err && wait_for 60 bash -c '! docker ps -a --no-trunc | grep -q "sleep 600"' &&
		! docker image inspect "im-$$:4" >/dev/null 2>&1
}
check 'a build is cancelled, its container gone' cancel_build

# -- import, list, remove
"$SRC/configs/images/make-base" --busybox >base.tar
check 'import' fits image 'd["ok"] and d["layers"] == 1 and d["transferred_bytes"] > 10**6' "$BERTH" image import --json base.tar "im-$$:tar"
check 'what was imported runs' says 0 'it runs' docker run --rm --network none "im-$$:tar" /bin/sh -c 'echo it runs'
head -c 100000 /dev/urandom >noise.tar
check 'an import of noise' says 1 '*berth: cannot import*' "$BERTH" image import noise.tar "im-$$:noise"
check 'list' fits images "any('im-$$:tar' in i['names'] for i in d['images'])" "$BERTH" image ls --json
# What is protected, by whatever name it is meant; another name of it may go.
docker tag "im-$$:tar" "im-$$:keep"
printf 'protected: {images: ["im-*:keep"]}\n' >keep.yaml
printf 'FROM im-%s:tar\nLABEL stage=production\n' $$ | docker build -q -t "im-$$:label" - >/dev/null 2>&1
printf 'protected: {labels: ["stage=production"]}\n' >label.yaml
for name in "im-$$:keep" "docker.io/library/im-$$:keep" "$(docker image inspect -f '{{.Id}}' "im-$$:keep")"; do
	check "a protected image stays: $name" says 4 '*its image is protected*' "$BERTH" --settings keep.yaml image untag --force "$name"
done
check 'one with a protected label stays' says 4 '*one of its labels is protected*' "$BERTH" --settings label.yaml image untag "im-$$:label"
check 'both are there' docker image inspect "im-$$:keep" "im-$$:label"
check 'its other name goes' fits image_remove 'd["untagged"] == 1' "$BERTH" --settings keep.yaml image untag --json "im-$$:tar"
check 'untag' fits image_remove 'd["untagged"] == 1' "$BERTH" image untag --json "im-$$:2"
docker run -d --name "im-$$" --network none "im-$$:1" sleep 600 >/dev/null
check 'an image in use stays' says 1 '*berth: cannot remove*' "$BERTH" image untag "im-$$:1"
docker rm -f "im-$$" >/dev/null
check 'it can be removed then' says 0 '*removed*' "$BERTH" image untag "im-$$:1"
check 'all of it is in the log' bash -c '
	"$BERTH" audit list >log && for act in image.pull image.build image.import image.remove; do
		grep -q "$act .* ok" log && grep -q "$act .* failed" log || { echo "$act is missing"; exit 1; }
	done && grep -q "image.pull .*cancelled" log && grep -q "image.build .*cancelled" log && ! grep -q s3cret log'
exit $bad
