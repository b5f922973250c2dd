#!/bin/bash
# runtime.sh - the shipped images runtime and runtime-sudo, made from Debian's packages, and what MassGen's documents do
# in theirs: tests, data, JavaScript, building, sudo. Both stand on one base, for the packages take two minutes.
export DOCKER_HOST=$BERTH_TEST_ENGINE
. "$SRC/tests/lib/engine.sh"
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
mirror=http://deb.debian.org/debian/dists/bookworm/InRelease
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is not installed"; exit 77; }
curl -sfo /dev/null --max-time 20 "$mirror" || { echo "$mirror cannot be reached"; exit 77; }

agent=rt$$ sudo=rt$$-sudo
clean_up() {
	"$BERTH" down --all --yes >/dev/null 2>&1
	docker volume ls -q | grep "^berth-home-.*rt$$" | xargs -r docker volume rm >/dev/null 2>&1
	docker image rm -f rt-$$:1 rt-$$:sudo berth/base:runtime-sudo >/dev/null 2>&1
}
trap clean_up EXIT

"$BERTH" image build --tag rt-$$:sudo runtime-sudo >sudo.log 2>&1 || { tail -n 20 sudo.log; echo "not ok runtime-sudo is built"; exit 1; }
echo "ok runtime-sudo is built"
check 'what its base has is not installed again' bash -c '! grep -q "Reading package lists" sudo.log'
check 'runtime is built on the same base' "$BERTH" image build --base berth/base:runtime-sudo --tag rt-$$:1 runtime

# A MassGen file: its containers, its image by another name.
mkdir ws && chmod 755 . && chown 1000:1000 ws
cat >team.yaml <<YAML
agents:
  - {id: $agent, backend: {cwd: ws, enable_mcp_command_line: true, command_line_execution_mode: docker,
     command_line_docker_image: "rt-$$:1"}}
  - {id: $sudo, backend: {cwd: ws, enable_mcp_command_line: true, command_line_execution_mode: docker,
     command_line_docker_image: "rt-$$:sudo", command_line_docker_enable_sudo: true}}
YAML
check 'agents come up' says 0 '*' "$BERTH" up team.yaml
runs() { # PATTERN COMMAND...: in the agent without sudo
	local pattern=$1
	shift
	says 0 "$pattern" "$BERTH" exec "$agent" -- "$@"
}

check 'the image stands in /workspace, which is its own' \
	bash -c '[ "$(docker run --rm --network none rt-$1:1 sh -c "pwd; id -u; touch x && ls")" = "/workspace
1000
x" ]' - $$
check 'python is Python 3' runs 'Python 3.*' python --version
check 'data' runs '6.0 3*' python -c 'import numpy, pandas, requests
print(numpy.array([1.0, 2, 3]).sum(), len(pandas.DataFrame({"a": [1, 2, 3]})))'
check 'a script that is written and run' runs '*Hello*' sh -c 'echo "print(\"Hello\")" >hello.py && python hello.py'
check 'tests' runs '*1 passed*' sh -c 'echo "def test_sum(): assert 1 + 1 == 2" >test_sum.py && pytest -q'
check 'a virtual environment' runs 'pip *' sh -c 'python -m venv v && v/bin/pip --version'
check 'C is compiled' runs 'built' sh -c 'printf "#include <stdio.h>\nint main(void) { puts(\"built\"); }\n" >a.c && gcc -o a a.c && ./a'
check 'git' runs '*first*' sh -c 'git init -q r && cd r && echo x >x && git add x && git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline'
check 'what is searched, fetched and unpacked with' runs '*' sh -c 'rg --version && curl --version && unzip -v && jq --version'
check 'JavaScript' runs '42' node -e 'console.log(6 * 7)'
if grep -q '^make-base: npm cannot be reached' sudo.log; then
	echo "# npm could not be reached from here: Node.js is Debian's"
	check 'which Node.js there is, was said' grep -qE "Node.js is Debian's, v[0-9]+" sudo.log
else
	check 'Node.js is 24 or newer' runs 'true' node -p 'Number(process.versions.node.split(".")[0]) >= 24'
	check 'its fetch takes a proxy' runs 'true' node -p 'process.allowedNodeEnvironmentFlags.has("--use-env-proxy")'
fi
check 'npm' runs '*"x"*' sh -c 'mkdir -p x && cd x && npm init -y && npm pkg get name'
check 'without sudo there is none' says 125 '*refused*without sudo*' "$BERTH" exec "$agent" -- sudo id
check 'sudo makes root' says 0 '0' "$BERTH" exec "$sudo" -- sudo id -u
check 'which may install' says 0 '*' "$BERTH" exec "$sudo" -- sudo sh -c 'touch /usr/local/bin/installed && dpkg --configure -a'
check 'and everything else is there, too' says 0 '*' "$BERTH" exec "$sudo" -- sh -c 'python -c "import pandas" && node --version && pwd'
exit $bad
