#!/bin/bash
# packages.sh - packages: preinstall: once, as root, with a network, hardened otherwise, kept as an image.
#
# The image's installers are stand-ins that fetch from a server of the test's; with BERTH_SOAK=1 also Debian's
# own pip, in an image that is built for it.
export DOCKER_HOST=$BERTH_TEST_ENGINE
. "$SRC/tests/lib/engine.sh"
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
server=''
base=pk-$$:1
clean_up() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	"$BERTH" down --all --yes >/dev/null 2>&1
	docker volume ls -q | grep "^berth-home-berth-pk$$" | xargs -r docker volume rm >/dev/null 2>&1
	docker images -q --filter "label=test.of=$base" | sort -u | xargs -r docker image rm -f >/dev/null 2>&1
}
trap clean_up EXIT

prepared() {
	docker images -q --filter "label=test.of=$base" --filter 'reference=berth/prepared' | wc -l
}
leftovers() {
	docker ps -aq --filter name=berth-prepare | wc -l
}

# The server listens where a container on the engine's bridge finds it.
netns=/proc/$(cat "$BERTH_TEST_ENGINE_DIR/docker.pid")/ns/net
gateway=$(nsenter --net="$netns" ip -4 -o addr show docker0 | awk '{sub("/.*", "", $4); print $4}')
mkdir index
echo 'what was fetched' >index/good
nsenter --net="$netns" /usr/bin/python3 -u -m http.server -d index -b "$gateway" 0 >server.out 2>server.log &
server=$!
wait_for 60 grep -q 'port [0-9]' server.out || { cat server.out server.log; echo "not ok the server starts"; exit 1; }
index=http://$gateway:$(grep -o 'port [0-9]*' server.out | cut -d ' ' -f 2)

mkdir image
cat >image/install <<'SH'
#!/bin/sh
# Every installer: what it was asked for is the last word of each argument that is no option.
echo "$(basename "$0") $* in $HOME"
grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status >/usr/local/status
for word; do
	case $word in
	good | @*/good) wget -q -O "/usr/local/$(basename "$0")-good" "$INDEX/good" || exit 5 ;;
	broken) echo 'looking for broken'; printf 'half\rthe reason: \033[31mthere is no broken\n' >&2; exit 4 ;;
	hang) echo hanging; sleep 600 ;;
	esac
done
echo "$PIP_USER $NPM_CONFIG_PREFIX $GREETING" >/usr/local/environment
SH
cat >image/Dockerfile <<DOCKER
FROM box:1
LABEL test.of=$base
COPY install /usr/bin/apt-get
COPY install /usr/bin/python3
COPY install /usr/bin/npm
RUN chmod 755 /usr/bin/apt-get /usr/bin/python3 /usr/bin/npm && mkdir -p /usr/local
ENV KEPT=yes
CMD ["/bin/echo", "the base's own command"]
DOCKER
"$BERTH" image build -t "$base" image >build.log 2>&1 || { cat build.log; echo "not ok the test's image"; exit 1; }

mkdir -m 0777 ws
team() { # AGENT... PACKAGES
	local packages=${*: -1} agent
	echo "agents:"
	for agent in "${@:1:$#-1}"; do
		printf '  pk%s%s: {image: "%s", workspace: %s/ws, memory: 64m, pids: 64, env: {INDEX: "%s", GREETING: hello}, packages: {preinstall: %s}}\n' \
			$$ "$agent" "$base" "$PWD" "$index" "$packages"
	done
}
umask 077
all='{system: [good], python: [good, "b==1"], npm: ["@scope/good"]}'

# Two agents with the same lists at once: one preparation.
team a b "$all" >team.yaml
check 'packages are installed' says 0 '*apt-get install*good*python3 -m pip install*good b==1*npm install*@scope/good*up *up *' "$BERTH" up team.yaml
check 'once for both' [ "$(grep -c 'GET /good' server.log)" = 3 ]
check 'one image' [ "$(prepared)" = 1 ]
check 'the preparation has left' [ "$(leftovers)" = 0 ]
check 'what was installed is there' says 0 'what was fetched*what was fetched*what was fetched*' \
	"$BERTH" exec "pk$$"a -- sh -c 'cat /usr/local/apt-get-good /usr/local/python3-good /usr/local/npm-good'
check 'the agent is as hardened as ever' says 0 '1000*Read-only*CapBnd:*0000000000000000*NoNewPrivs:*1*' \
	"$BERTH" exec "pk$$"b -- sh -c 'exec 2>&1; id -u; touch /usr/local/x; grep -E "CapBnd|NoNewPrivs" /proc/self/status'
check 'installers are root with six capabilities and no more' says 0 \
	'Uid:*0*CapEff:*00000000000000db*CapBnd:*00000000000000db*NoNewPrivs:*1*Seccomp:*2*' "$BERTH" exec "pk$$"a -- cat /usr/local/status
check 'they install for everybody, with the variables of the definition' says 0 '0 /usr/local hello*' \
	"$BERTH" exec "pk$$"a -- cat /usr/local/environment
check 'no label of the image proves anything, its own configuration is back' bash -c '
	id=$(docker images -q --filter "label=test.of=$1" --filter reference=berth/prepared)
	docker image inspect "$id" >image.json
	/usr/bin/python3 -c "
import json
c = json.load(open(\"image.json\"))[0][\"Config\"]
ours = {k: v for k, v in c[\"Labels\"].items() if k.startswith(\"berth.\") and not k.startswith(\"berth.prepared\")}
assert set(ours.values()) == {\"\"} and \"berth.proof\" in ours, ours
assert c[\"Labels\"][\"test.of\"] == \"$1\" and \"KEPT=yes\" in c[\"Env\"] and not c[\"Entrypoint\"], c
assert c[\"Cmd\"] == [\"/bin/echo\", \"the base\x27s own command\"], c
assert not [v for v in c[\"Env\"] if v.startswith((\"INDEX=\", \"GREETING=\"))], c[\"Env\"]
"' - "$base"
"$BERTH" down team.yaml >/dev/null
check 'and not again' says 0 '*up *' "$BERTH" up team.yaml
check 'nothing was fetched' [ "$(grep -c 'GET /good' server.log)" = 3 ]

# Failures: a sentence with the installer's last words, and nothing left.
team c '{python: [broken]}' >broken.yaml
check 'an installer that fails' says 1 '*looking for broken*berth: the python packages of pk*could not be installed (exit 4):*the reason:*there is no broken*' \
	"$BERTH" up broken.yaml
check 'its words are neutralised' bash -c '"$BERTH" up broken.yaml >o 2>&1 </dev/null; ! grep -q "[[:cntrl:]]\|half" o'
check 'in JSON, too' bash -c '"$BERTH" up --json broken.yaml >o 2>e </dev/null; [ "$(wc -l <e)" = 1 ] && grep -q "could not be installed" o'
check 'nothing is left of it' [ "$(prepared) $(leftovers)" = '1 0' ]
check 'a missing image names the command' says 1 "*image berth/python:none of pk*\`berth image pull berth/python:none\`*" \
	bash -c 'sed "s|$1|berth/python:none|" broken.yaml >missing.yaml; "$BERTH" up missing.yaml' - "$base"
check 'a shipped one, too' says 1 "*\`berth image build node\`*" \
	bash -c 'sed "s|$1|berth/node:local|" broken.yaml >missing.yaml; "$BERTH" up missing.yaml' - "$base"

cancel() {
	local pid rc
	team d '{npm: [hang]}' >hang.yaml
	"$BERTH" up hang.yaml >hang.out 2>&1 &
	pid=$!
	wait_for 60 grep -q hanging hang.out || { kill $pid; cat hang.out; return 1; }
	kill -INT $pid
	wait $pid
	rc=$?
	cat hang.out
	[ $rc = 1 ] && grep -q cancelled hang.out && [ "$(prepared) $(leftovers)" = '1 0' ]
}
check 'C-c ends a preparation' cancel
check 'all of it is in the log' bash -c '
	"$BERTH" audit list --act agent.up | grep -q "pk.*a .* ok " || exit
	"$BERTH" audit list --act volume.create | grep -q "home.* ok " || exit
	"$BERTH" audit list --act image.build >log
	grep -q "berth/prepared.* ok .*good b==1" log && grep -q "berth/prepared.* failed" log && grep -q "berth/prepared.* cancelled" log'

if [ "${BERTH_SOAK-0}" = 1 ]; then
	python_install() {
		"$BERTH" image build python >python.log 2>&1 || { tail python.log; return 1; }
		mkdir -p wheel
		/usr/bin/python3 - <<'PY'
import zipfile
with zipfile.ZipFile("wheel/click-0.0.1-py3-none-any.whl", "w") as z:
    info = "click-0.0.1.dist-info/"
    z.writestr("click.py", 'word = "it clicks"\n')
    z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: click\nVersion: 0.0.1\n")
    z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(info + "RECORD", "".join(f"{n},,\n" for n in ("click.py", info + "METADATA", info + "WHEEL", info + "RECORD")))
PY
		cp wheel/* index/
		cp wheel/* ws/
		chmod 644 index/* ws/*
		printf 'agents:\n  pk%sp: {image: "berth/python:local", workspace: %s/ws, env: {PIP_NO_INDEX: 1, PIP_FIND_LINKS: "%s", PIP_TRUSTED_HOST: "%s"}%s}\n' \
			$$ "$PWD" "$index" "$gateway" ", packages: {python: [click]}" >pre.yaml
		printf 'agents:\n  pk%sq: {image: "berth/python:local", workspace: %s/ws}\n' $$ "$PWD" >turn.yaml
		"$BERTH" up pre.yaml && "$BERTH" up turn.yaml &&
			[ "$("$BERTH" exec "pk$$"p -- /usr/bin/python3 -c 'import click; print(click.word)')" = 'it clicks' ] &&
			"$BERTH" exec "pk$$"q -- pip install --no-index --find-links "$PWD/ws" click &&
			[ "$("$BERTH" exec "pk$$"q -- /usr/bin/python3 -c 'import click; print(click.word)')" = 'it clicks' ] &&
			"$BERTH" down turn.yaml && "$BERTH" up turn.yaml &&
			[ "$("$BERTH" exec "pk$$"q -- /usr/bin/python3 -c 'import click; print(click.word)')" = 'it clicks' ]
	}
	check 'pip, beforehand and in one turn for the next' python_install
fi
exit $bad
