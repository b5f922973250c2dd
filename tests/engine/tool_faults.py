#!/usr/bin/env python3
"""tool_faults.py - berth or the engine is killed at each step of a tool's call, of `up` and of `clean`.

A proxy stands between berth and the engine and counts requests.  A kill point is (request number,
before it reaches the engine | after the engine's answer, before berth sees it): nothing is timed and
nothing slept for.  Afterwards `berth clean` must find exactly what the dead processes left, and
nothing of a living berth or of other people's.
"""
import glob
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import urllib.parse

SRC = os.environ["SRC"]
BERTH = os.environ["BERTH"]
ENGINE = os.environ["BERTH_TEST_ENGINE"].removeprefix("unix://")
SOAK = os.environ.get("BERTH_SOAK")
os.chdir(os.environ["TMPDIR"])
bad = 0


def case(function):
    global bad
    try:
        function()
        print("ok", function.__name__)
    except Exception:
        bad = 1
        for line in traceback.format_exc().splitlines():
            print("#", line)
        print("not ok", function.__name__)
    sys.stdout.flush()


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("engine", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def api(method, target, body=None, path=ENGINE):
    c = Unix(path)
    c.request(method, "/v1.41" + target, json.dumps(body) if body is not None else None,
              {"Content-Type": "application/json"})
    r = c.getresponse()
    data = r.read()
    c.close()
    if r.status >= 400:
        raise RuntimeError(f"{method} {target}: {r.status} {data[:300]}")
    return json.loads(data) if data else None


def containers(path=ENGINE, **filters):
    f = urllib.parse.quote(json.dumps({k: [v] for k, v in filters.items()}))
    return api("GET", f"/containers/json?all=1&filters={f}", path=path)


class Proxy:
    """Counts requests; `at(number, method, target, when)` runs before a request is passed on and
    before its answer is, and returns "stop" to pass on nothing more, or bytes to answer with."""

    def __init__(self, at, upstream=ENGINE):
        self.path = tempfile.mktemp(prefix="p", suffix=".sock", dir=os.getcwd())
        self.at, self.upstream, self.n = at, upstream, 0
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.listener.close()
        os.unlink(self.path)

    def serve(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(conn,), daemon=True).start()

    @staticmethod
    def message(f):
        """One head with its body, as bytes; None at the end."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = f.readline()
            if not line:
                return None
            head += line
        fields = {k.strip().lower(): v.strip() for k, _, v in
                  (line.partition(b":") for line in head.split(b"\r\n")[1:])}
        body = b""
        if b"content-length" in fields:
            body = f.read(int(fields[b"content-length"]))
        elif fields.get(b"transfer-encoding") == b"chunked":
            while True:
                size = f.readline()
                piece = f.read(int(size, 16) + 2)
                body += size + piece
                if int(size, 16) == 0:
                    break
        return head + body

    def relay(self, conn):
        up = socket.socket(socket.AF_UNIX)
        try:
            up.connect(self.upstream)
            client, server = conn.makefile("rb"), up.makefile("rb")
            while request := self.message(client):
                method, target = request.split(b" ", 2)[:2]
                with self.lock:
                    number, self.n = self.n, self.n + 1
                said = self.at(number, method.decode(), target.decode(), "before")
                if said is None:
                    up.sendall(request)
                    if method == b"HEAD":
                        answer = b""
                        while not answer.endswith(b"\r\n\r\n"):
                            answer += server.readline()
                    else:
                        answer = self.message(server)
                    if self.at(number, method.decode(), target.decode(), "after") or not answer:
                        break
                    conn.sendall(answer)
                elif said == "stop":
                    break
                else:
                    conn.sendall(said)
        except OSError:
            pass
        finally:
            conn.close()
            up.close()


def run(url, *args, **more):
    env = dict(os.environ, DOCKER_HOST="unix://" + url)
    return subprocess.Popen([BERTH, *args], env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def ended(p, limit=120):
    out, err = p.communicate(timeout=limit)
    return p.returncode, out.decode(), err.decode()


def started(p, limit=120):
    """It says "started" within the limit."""
    late = threading.Timer(limit, p.kill)
    late.start()
    try:
        line = p.stdout.readline()
    finally:
        late.cancel()
    assert line == b"started\n", f"{p.args} said {line} in {limit} s"


def requests_of(*args):
    """What a whole run asks the engine: [(method, target)]."""
    seen = []

    def at(number, method, target, when):
        if when == "before":
            seen.append((method, target))

    proxy = Proxy(at)
    code, _, err = ended(run(proxy.path, *args))
    proxy.close()
    assert code == 0, err
    return seen


def killed_at(number, when, *args):
    """Run, and kill it with -9 at that point.  Its pid, when it came so far."""
    box = {}
    ready = threading.Event()

    def at(n, method, target, w):
        if (n, w) == (number, when):
            ready.wait()
            os.kill(box["p"].pid, signal.SIGKILL)
            box["p"].wait()
            box["hit"] = True
            return "stop"
        return None

    proxy = Proxy(at)
    box["p"] = run(proxy.path, *args)
    ready.set()
    ended(box["p"])
    proxy.close()
    assert box.get("hit"), f"{args} asked fewer than {number + 1} times"
    return box["p"].pid


def points(seen, whens=("before", "after")):
    """Around each request that changes something; with --soak around every one."""
    return [(i, when) for i, (method, _) in enumerate(seen)
            for when in (("before", "after") if SOAK else whens)
            if SOAK or method in ("POST", "DELETE")]


def owner_of(c):
    label = c["Labels"].get("berth.owner")
    return json.loads(label)["pid"] if label else None


def plan(path=ENGINE):
    code, out, err = ended(run(path, "clean", "--dry-run", "--json"))
    assert code == 0, err
    return json.loads(out)["items"]


def clean(path=ENGINE):
    # A lane just prepared may belong to somebody who is about to make its container; these are old.
    for name in lanes():
        lane = os.environ["XDG_RUNTIME_DIR"] + "/berth/lanes/" + name
        os.utime(lane, (0, 0))
    code, out, err = ended(run(path, "clean", "--yes"))
    assert code == 0, out + err


def lanes():
    return {os.path.basename(p) for p in glob.glob(os.environ["XDG_RUNTIME_DIR"] + "/berth/lanes/*")}


me = f"f{os.getpid()}"
for name in ("ws",):
    os.mkdir(name)
    os.chown(name, 1000, 1000)
os.chmod(".", 0o755)
with open("team.yaml", "w") as f:
    f.write(f"""custom_tools:
  quick-{me}: {{type: docker, image: "box:1", script: "true"}}
  slow-{me}: {{type: docker, image: "box:1", script: "echo started; exec sleep 7010"}}
""")


def agent_file(i):
    name = f"{me}x{i}"
    with open(f"{name}.yaml", "w") as f:
        f.write(f'agents:\n  {name}: {{image: "box:1", workspace: ./ws, memory: 32m}}\n')
    return name, f"{name}.yaml"


def tool_killed_at_each_step():
    quick = ("-c", "team.yaml", "tool", "run", f"quick-{me}")
    sibling = run(ENGINE, "-c", "team.yaml", "tool", "run", f"slow-{me}")
    started(sibling)
    living = [c["Id"] for c in containers(name=f"berth-tool-slow-{me}")]
    assert len(living) == 1
    foreign = api("POST", f"/containers/create?name=foreign-{me}", {
        "Image": "box:1", "Cmd": ["true"],
        "Labels": dict(containers(id=living[0])[0]["Labels"])})["Id"]
    seen = requests_of(*quick)
    assert any("create" in t for _, t in seen) and seen[-1][0] == "DELETE", seen
    dead = {killed_at(n, when, *quick): (seen[n], when) for n, when in points(seen)}
    left = {c["Id"]: c for c in containers(name=f"berth-tool-quick-{me}")}
    # What was made and not yet removed is there, once each, and says whose it was.
    made = [pid for pid, ((method, target), when) in dead.items()
            if not ("create" in target and when == "before")
            and not (method == "DELETE" and when == "after")
            and seen.index((method, target)) >= next(i for i, s in enumerate(seen) if "create" in s[1])]
    assert sorted(owner_of(c) for c in left.values()) == sorted(made), (left, dead)
    found = {i["id"] for i in plan() if i["type"] == "container" and i["marked"]}
    assert found >= set(left), "clean does not find all that was left"
    assert not found & set(living), "a living berth's container is in the plan"
    assert foreign not in found, "a copied label made somebody else's container ours"
    clean()
    assert not containers(name=f"berth-tool-quick-{me}")
    assert [c["Id"] for c in containers(name=f"berth-tool-slow-{me}")] == living
    sibling.send_signal(signal.SIGTERM)
    assert ended(sibling)[0] == 143
    assert not containers(name=f"berth-tool-slow-{me}")
    api("DELETE", f"/containers/{foreign}")
    assert not [name for name in lanes() if me in name], lanes()


def start_that_fails():
    """Create ok and start fails: nothing is left."""
    def at(n, method, target, when):
        if when == "before" and target.endswith("/start"):
            body = b'{"message":"no, said the test"}'
            return (b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(body)) + body
        return None

    proxy = Proxy(at)
    code, _, err = ended(run(proxy.path, "-c", "team.yaml", "tool", "run", f"quick-{me}"))
    name, file = agent_file("start")
    up = ended(run(proxy.path, "up", file))
    proxy.close()
    assert code == 125 and "no, said the test" in err, (code, err)
    assert up[0] == 1 and "no, said the test" in up[2], up
    assert not containers(name=me)
    assert not [n for n in lanes() if me in n], lanes()
    api("DELETE", f"/volumes/berth-home-berth-{name}?force=1")


def up_killed_at_each_step():
    name, file = agent_file("whole")
    seen = requests_of("up", file)
    ended(run(ENGINE, "down", file))
    api("DELETE", f"/volumes/berth-home-berth-{name}?force=1")
    dead, files = set(), {}
    for i, (n, when) in enumerate(points(seen, ("after",))):
        name, file = agent_file(i)
        files[name] = file
        dead.add(killed_at(n, when, "up", file))
    helpers = {c["Id"] for c in containers(label="berth.role=helper") if owner_of(c) in dead}
    found = {i["id"] for i in plan() if i["type"] == "container" and i["marked"]}
    assert helpers <= found, "a dead process's helper is not found"
    # Coming up again mends whatever state it was left in.
    for name, file in files.items():
        code, _, err = ended(run(ENGINE, "up", file))
        assert code == 0, (name, err)
        code, out, err = ended(run(ENGINE, "exec", name, "--", "echo", "works"))
        assert (code, out) == (0, "works\n"), (name, err)
    for name, file in files.items():
        assert ended(run(ENGINE, "down", file))[0] == 0
    clean()
    assert not containers(name=f"berth-{me}")
    assert not [c for c in containers(label="berth.role=helper") if owner_of(c) in dead]
    assert not [n for n in lanes() if me in n], lanes()
    for name in files:
        api("DELETE", f"/volumes/berth-home-berth-{name}?force=1")


def orphan():
    """A tool that runs, and whose berth is dead."""
    p = run(ENGINE, "-c", "team.yaml", "tool", "run", f"slow-{me}")
    started(p)
    p.kill()
    p.communicate()


def clean_killed_at_each_step():
    """Stopped or not, removed or not: the next clean-up ends what this one began."""
    clean()
    orphan()
    seen = requests_of("clean", "--yes")
    assert [m for m, t in seen if m != "GET"].count("DELETE") == 1, seen
    for n, when in points(seen):
        orphan()
        killed_at(n, when, "clean", "--yes")
        left = containers(name=f"berth-tool-slow-{me}")
        assert len(left) == (seen[n][0] != "DELETE" or when == "before"), (seen[n], when, left)
        clean()
        assert not containers(name=f"berth-tool-slow-{me}"), (seen[n], when)
        assert not [name for name in lanes() if me in name], (seen[n], when, lanes())
    code, out, err = ended(run(ENGINE, "audit", "verify"))
    assert code == 0, out + err


def shell(text):
    subprocess.run(["bash", "-c", f'. "{SRC}/tests/lib/engine.sh"; ' + text], check=True,
                   stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def engine_killed_at_each_step():
    """The engine dies in the middle of create, start and remove, and comes back."""
    top = tempfile.mkdtemp(prefix="tf", dir="/tmp")
    own = f"{top}/e"
    shell(f"engine_start {own}")
    try:
        quick = ("-c", "team.yaml", "tool", "run", f"quick-{me}")
        steps = [("/start", "after"), ("DELETE", "before")]
        if SOAK:
            steps.append(("/containers/create", "after"))
            steps = [(step, when) for step, _ in steps for when in ("before", "after")]
        for step, when in steps:
            def at(n, method, target, w, step=step, when=when):
                if w == when and (method == step or target.split("?")[0].endswith(step)):
                    shell(f"engine_kill {own}")
                    return "stop"
                return None

            proxy = Proxy(at, f"{own}/docker.sock")
            code, out, err = ended(run(proxy.path, *quick))
            proxy.close()
            shell(f"engine_again {own}")
            left = containers(f"{own}/docker.sock", name=f"berth-tool-quick-{me}")
            assert len(left) <= 1, left
            if step == "DELETE":
                # It ran; that its container is left is said, and what ran in it is ended.
                assert code == 0 and "could not be removed" in err, (code, err)
                assert left and left[0]["State"] != "running", left
            else:
                assert code == 125 and err, (step, code, err)
            clean(f"{own}/docker.sock")
            assert not containers(f"{own}/docker.sock", name=f"berth-tool-quick-{me}")
        code, _, err = ended(run(f"{own}/docker.sock", *quick))
        assert code == 0, err
    finally:
        shell(f"engine_stop {own}")
        os.rmdir(top)


for test in (tool_killed_at_each_step, start_that_fails, up_killed_at_each_step,
             clean_killed_at_each_step, engine_killed_at_each_step):
    case(test)
sys.exit(bad)
