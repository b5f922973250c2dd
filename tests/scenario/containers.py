#!/usr/bin/python3
"""containers.py - stop, start, restart, rm, logs, inspect, top, events and the forms of ps, as programs."""
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
import time

from scenario import BERTH, HOSTILE, Fake, berth, case, case_of_patience, made, main, neutral, ps, wait_for

OURS = made("berth-a", "a")


def engine(**more):
    return Fake(containers=[{"name": "berth-a", "labels": OURS}, {"name": "web"}, {"name": "old", "state": "exited"}],
                **more)


def states(fake):
    return dict(line.split(" ", 1) for line in
                berth("ps", "-a", "--format", "{{.Name}} {{.State}}", fake=fake).out.decode().splitlines())


def acts(fake):
    return [r for r in fake.requests() if r.startswith(("POST", "DELETE")) and "_fake" not in r]


@case
def ps_forms():
    with engine() as fake:
        ids = berth("ps", "-q", fake=fake).out.split()
        assert len(ids) == 2 and all(len(i) == 12 for i in ids), ids
        assert berth("ps", "-q", "-f", "agent=a", fake=fake).out.split() == ids[:1]
        assert berth("ps", "--filter", "name=we", "--filter", "state=running", "--format", "{{.Name}}\\t{{.Image}}",
                     fake=fake).out == b"web\tbox:1\n"
        assert berth("ps", "-aq", "-f", "name=web", "-f", "name=old", fake=fake).out.count(b"\n") == 2
        document = json.loads(berth("ps", "--format", "json", "-f", "name=web", fake=fake).out)
        assert [c["name"] for c in document["containers"]] == ["web"]
        berth("ps", "-f", "colour=red", fake=fake).fails_with(2, "--filter takes id, name")
        berth("ps", "--format", "{{.Colour}}", fake=fake).fails_with(2, "--format has no field")
        berth("ps", "--format", "Name", fake=fake).fails_with(2, "text with fields such as {{.Name}}, not \"Name\"")


@case
def ps_filters_as_docker():
    rows = [{"name": "web", "image": "busybox"}, {"name": "web-2", "image": "docker.io/library/busybox:1.36", "state": "paused"},
            {"name": "aweb", "image": "reg.example:5000/team/tool", "health": "healthy"}, {"name": "sick", "health": "unhealthy"},
            {"name": "ended", "state": "exited"}, {"name": "made", "state": "created"}]
    wanted = {"name=^web$": "web", "name=^/web$": "web", "name=web": "aweb web web-2", "name=^web": "web web-2", "name=eb-?[0-9]": "web-2",
              "name=b$": "aweb web", "name=x|sick": "sick", "name=nobody": "", "name=": "aweb sick web web-2",
              "state=running": "aweb sick web", "state=exited": "ended", "status=created": "made", "status=dead": "",
              "health=none": "web web-2", "health=healthy": "aweb", "health=unhealthy": "sick", "health=starting": "",
              "image=busybox:latest": "web", "image=busybox": "web web-2", "image=docker.io/library/busybox": "web web-2",
              "image=docker.io/busybox:1.36": "web-2", "image=team/tool": "aweb", "image=tool:latest": "aweb", "image=5000": "aweb",
              "image=nothing": ""}
    refused = {"name=(": "is not a regular expression", "state=Running": "created, running, paused, restarting, removing, exited or dead",
               "status=up": "created, running", "state=": "created, running", "health=sick": "starting, healthy, unhealthy or none",
               "id=xyz": "digits", "id=": "digits", "host=there": "--all-hosts", "name": "takes id, name", "colour=x": "takes id, name",
               "label=": "KEY or KEY=VALUE", "label==x": "KEY or KEY=VALUE", "exited=no": "an exit code", "exited=": "an exit code", "exited=-1": "an exit code",
               "name!=web": "takes id, name"}
    with Fake(containers=rows) as fake:
        def names(*filters):
            done = berth("ps", "--format", "{{.Name}}", *(a for f in filters for a in ("-f", f)), fake=fake)
            assert done.code == 0, (filters, done.err)
            return " ".join(done.out.decode().split())
        for text, want in wanted.items():
            assert names(text) == want, (text, names(text))
        assert names("name=web", "name=sick", "state=running") == "aweb sick web"
        assert names("state=exited", "status=created") == "ended made"
        assert names("state=exited", "name=web") == ""
        for text, why in refused.items():
            for verb in ("ps", "logs"):
                if text[:4] != "host" or verb == "ps":
                    berth(verb, "-f" if verb == "ps" else "--filter", text, fake=fake).fails_with(2, why)


@case
def ps_by_label_and_exit_code():
    rows = [{"name": "a", "labels": {"x": "1", "com.example.team": "red"}}, {"name": "b", "labels": {"x": "2", "com.example.team": "red"}}, {"name": "c", "labels": {"xy": "1", "e": ""}},
            {"name": "d", "labels": None}, {"name": "old", "labels": {"x": "1"}, "state": "exited", "exit": 137}, {"name": "good", "state": "exited"}]
    wanted = {("label=x",): "a b", ("label=x=1",): "a", ("label=x", "label=com.example.team=red"): "a b", ("label=x=1", "label=x=2"): "", ("label=e",): "c", ("label=e=",): "c",
              ("label=x=",): "", ("label=com.example",): "", ("label=x=1", "state=exited"): "old", ("exited=137",): "old", ("exited=0",): "good", ("exited=0", "exited=137"): "good old",
              ("exited=1",): "", ("label=x", "name=b"): "b"}
    with Fake(containers=rows) as fake:
        for filters, want in wanted.items():
            done = berth("ps", "--format", "{{.Name}}", *(a for f in filters for a in ("-f", f)), fake=fake)
            assert (done.code, " ".join(done.out.decode().split())) == (0, want), (filters, done.out, done.err)
        done = berth("logs", "--filter", "label=x=2", fake=fake)
        assert (done.code, done.out) == (0, b"ready\n"), (done.out, done.err)


@case
def what_waits_for_its_next_run_is_not_up():
    with Fake(containers=[{"name": "loop", "state": "restarting", "exit": 3}, {"name": "web"}]) as fake:
        assert berth("ps", "--format", "{{.Name}} {{.State}} {{.Up}}", "-f", "name=loop", fake=fake).out == b"loop restarting -\n"
        assert [c["uptime_s"] is None for c in ps(fake)["containers"]] == [True, False]


@case
def ps_where_asked():
    ports = {"80/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8080"}]}
    with Fake(containers=[{"name": "web", "ports": ports, "restarts": 2},
                          {"name": "old", "state": "exited", "exit": 3}]) as fake:
        line = "{{.Name}} {{.Ports}} {{.Networks}} {{.ExitCode}} {{.Restarts}}"
        out = berth("ps", "-a", "--format", line, fake=fake).out
        assert out == b"old - none 3 0\nweb 8080->80/tcp none - 2\n", out
        table = berth("ps", fake=fake).out.decode().splitlines()
        assert table[0].endswith("  PORTS") and table[1].endswith("8080->80/tcp"), table
        web = json.loads(berth("ps", "--json", fake=fake).out)["containers"][0]
        assert (web["ports"], web["networks"]) == ("8080->80/tcp", "none"), web


@case
def acts_by_name_id_and_agent():
    with engine() as fake:
        assert berth("stop", "a", "-t", "7", fake=fake).out == b"berth-a\n"
        assert any("/stop?t=7" in r for r in acts(fake)), acts(fake)
        assert states(fake)["berth-a"].startswith("exited")
        assert berth("start", "berth-a", fake=fake).code == 0
        assert states(fake)["berth-a"] == "running"
        ident = berth("ps", "-q", "-f", "agent=a", fake=fake).out.decode().strip()
        assert berth("restart", ident[:6], fake=fake).out == b"berth-a\n"
        berth("stop", "nobody", "a", fake=fake).fails_with(1, "no container and no agent named nobody")
        assert states(fake)["berth-a"] == "running", "nothing half done"
        berth("stop", "a", "-t", "soon", fake=fake).fails_with(2, "--time takes")


@case
def acts_leave_what_is_not_berths():
    with engine() as fake:
        for verb in ("stop", "start", "restart", "rm"):
            berth(verb, "web", fake=fake).fails_with(2, "--foreign")
        assert not acts(fake), acts(fake)
        assert berth("stop", "--foreign", "web", fake=fake).code == 0
        assert states(fake)["web"].startswith("exited")


@case_of_patience
def stopping_by_a_silent_engine_ends_soon():
    silent = {"match": "POST .*/stop|/containers/[0-9a-f]{64}/json", "do": "hang", "after": 3}
    with engine(faults=[silent]) as fake:
        berth("stop", "a", fake=fake).fails_with(1, "did not answer in time")
        assert not acts(fake), acts(fake)


@case
def a_label_is_no_ownership():
    """Anybody can set labels: a container that claims to be berth's, one with another's proof, and one of another engine."""
    claims = {**OURS, "berth.proof": "0" * 64}
    with Fake(containers=[{"name": "claims", "labels": {k: v for k, v in OURS.items() if k != "berth.proof"}}, {"name": "forged", "labels": claims},
                          {"name": "copied", "labels": OURS}, {"name": "far", "labels": made("far", "b", engine="OTHER")},
                          {"name": "role", "labels": {"berth.role": "tool"}}, {"name": "mine", "labels": made("mine", role="tool")}]) as fake:
        for name, *verb in (("claims", "stop"), ("forged", "start"), ("copied", "rm", "-f", "-y"), ("far", "kill"), ("role", "limit", "-m", "64m"),
                            ("claims", "restart"), ("claims", "pause")):
            berth(*verb, name, fake=fake).fails_with(2, "did not create " + name, "--foreign")
        assert not acts(fake), acts(fake)
        assert berth("stop", "mine", fake=fake).code == 0


@case
def one_word_means_one_container():
    rows = [{"name": "r1", "id": "aa" * 32}, {"name": "berth-r1", "id": "bb" * 32, "labels": made("berth-r1", "r1")},
            {"name": "x", "id": "cafe1234" + "0" * 56}, {"name": "cafe1", "id": "dd" * 32}, {"name": "y", "id": "cafe5678" + "0" * 56},
            {"name": "berth-r2", "id": "ee" * 32, "labels": made("berth-r2", "r2")}, {"name": "fake", "id": "ff" * 32, "labels": {"berth.agent": "r2"}},
            {"name": "p", "id": "12" * 32, "labels": {"berth.agent": "r3"}}, {"name": "q", "id": "34" * 32, "labels": {"berth.agent": "r3"}}]
    looks = (["logs"], ["stats", "--no-stream"], ["top"], ["events"], ["kill", "--foreign"], ["limit", "-m", "64m"])
    with Fake(containers=rows, log=["one"]) as fake:
        for word, one, other in (("r1", "aaaaaaaaaaaa for the container r1", "bbbbbbbbbbbb for the container berth-r1 of the agent r1"),
                                 ("cafe", "cafe12340000 for the container x", "cafe56780000 for the container y"),
                                 ("r3", "121212121212 for the container p", "343434343434 for the container q")):
            for verb in looks if word == "r1" else looks[:1]:
                berth(*verb, word, fake=fake).fails_with(2, word + " means two containers", one, other)
            done = berth("exec", word, "--", "true", fake=fake)
            assert done.code == 125 and b"is ambiguous" in done.err and one.encode() in done.err and (word == "r3" or other.encode() in done.err), done.err
        assert not acts(fake), acts(fake)
        table = berth("stats", "--no-stream", "aaaa", "cafe1", fake=fake).out.decode().splitlines()
        assert [line.split()[0] for line in table[1:]] == ["cafe1", "r1"], table
        for word, name in (("cafe1", "cafe1"), ("cafe12", "x"), ("dd" * 32, "cafe1"), ("r2", "berth-r2")):
            assert json.loads(berth("inspect", word, fake=fake).out)[0]["Name"] == "/" + name, word


@case
def beginnings_of_ids_to_exec():
    """What several ids begin with is refused with two of them; the one digit that is an agent's name is its."""
    rows = [{"name": f"n{k}", "id": f"cafe{k}" + "0" * 59} for k in range(3)] + [{"name": "berth-c", "id": "bb" * 32, "labels": {"berth.agent": "c"}}]
    for version, api in (("20.10.24", "1.41"), ("28.2.2", "1.50")):
        with Fake(containers=rows, version=version, api=api, stream=["x"]) as fake:
            done = berth("exec", "cafe", "--", "true", fake=fake)
            assert done.code == 125 and b"cafe is ambiguous: use cafe00000000 for the container n0, or cafe10000000 for the container n1." in done.err, done.err
            assert not [r for r in fake.requests() if "/exec" in r], fake.requests()
            for word, full in (("cafe1", rows[1]["id"]), ("c", rows[3]["id"])):
                berth("exec", "--timeout", "5", word, "--", "true", fake=fake)
                asked = [r for r in fake.requests() if r.endswith("/exec")]
                assert asked and f"/containers/{full}/exec" in asked[-1], (word, asked)


@case
def an_id_names_no_process_of_the_host():
    """An engine that reports a part of every cgroup's path as an id, and a process of the host as the container's and the command's."""
    victim = subprocess.Popen(["sleep", "600"])  # pylint: disable=consider-using-with
    try:
        with open(f"/proc/{victim.pid}/cgroup", encoding="ascii") as f:
            path = f.readline().strip()
        for bad in ("/", ":", "a", path, "../" * 20 + "x", "ab" * 31, "ab" * 32 + "c", "AB" * 32):
            with Fake(containers=[{"name": "evil", "id": bad, "pid": victim.pid}], exec_pid=victim.pid) as fake:
                done = berth("exec", "--timeout", "2", "evil", "--", "true", fake=fake)
                assert victim.poll() is None, bad
                assert done.code == 125 and b"without its full id" in done.err, (bad, done.code, done.err)
                assert not [r for r in fake.requests() if "/exec" in r], fake.requests()
    finally:
        victim.kill()
        victim.wait()


def forward(listener, path):
    """Each connection to an engine's socket."""
    def pipe(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            engine_side = socket.socket(socket.AF_UNIX)
            engine_side.connect(path)
            for pair in ((client, engine_side), (engine_side, client)):
                threading.Thread(target=pipe, args=pair, daemon=True).start()


@case
def an_engine_elsewhere_names_no_process_here():
    """It knows the full id of a container of this host (here a process in a cgroup of that name), and says that this is its own."""
    name, top = os.urandom(32).hex(), next((d for d in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup") if os.path.exists(d + "/cgroup.procs")), None)
    if not top or not os.access(top, os.W_OK):
        return
    group = os.path.join(top, name)
    try:
        os.mkdir(group)
    except OSError:
        return
    victim = subprocess.Popen(["sleep", "600"])  # pylint: disable=consider-using-with
    try:
        with open(group + "/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(victim.pid))
        with Fake(containers=[{"name": "evil", "id": name, "pid": victim.pid}], exec_pid=victim.pid) as fake, \
                socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=forward, args=(listener, fake.path), daemon=True).start()
            for seconds in ("1", "5", "25"):  # on a busy machine the time may be over before it is asked
                done = berth("-H", f"tcp://127.0.0.1:{listener.getsockname()[1]}", "exec", "--timeout", seconds, "evil", "--", "sleep", "9")
                if [r for r in fake.requests() if "/exec" in r]:
                    break
            assert [r for r in fake.requests() if "/exec" in r], (done.code, done.err)
            assert victim.poll() is None, (done.code, done.out, done.err)
    finally:
        victim.kill()
        victim.wait()
        wait_for(lambda: not os.path.exists(group) or remove_group(group), "the cgroup stays")


def remove_group(path):
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


@case
def two_lanes_of_one_agent():
    """Registry entries of containers without sockets, which cannot be asked whether they live."""
    lanes = os.path.join(os.environ["XDG_RUNTIME_DIR"], "berth", "lanes")
    os.makedirs(lanes, mode=0o700, exist_ok=True)
    files = [os.path.join(lanes, name + ".lane") for name in ("left", "right")]
    for path, name in zip(files, ("left", "right")):
        with open(path, "w", encoding="ascii") as f:
            f.write(f"{name}\n{'ab' * 32}\ntwin\nFAKE:ENGN:0001\n5e55\n")
    try:
        done = berth("exec", "twin", "--", "true")
        assert done.code == 125 and b"twin is ambiguous: use " in done.err, done.err
        assert b"left" in done.err and b"right" in done.err, done.err
        berth("net", "list", "twin").fails_with(2, "twin is ambiguous", "left", "right")
    finally:
        for path in files:
            os.unlink(path)


@case
def stats_of_what_is_stopped():
    with engine() as fake:
        table = berth("stats", "--no-stream", "old", fake=fake).out.decode().splitlines()
        assert len(table) == 2 and table[1].split() == ["old", "exited", "0", "-", "-", "-", "-", "box:1"], table
        run = subprocess.Popen([BERTH, "-H", fake.url, "stats", "old", "web"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        read = lambda word: next(line for line in run.stdout if word in line)  # noqa: E731
        assert read(b"old ") and read(b"web ")
        assert berth("start", "--foreign", "old", fake=fake).code == 0
        while b"running" not in read(b"old "):
            pass
        assert berth("rm", "-f", "-y", "--foreign", "old", "web", fake=fake).code == 0
        out, err = run.communicate(timeout=60)
        assert run.returncode == 1 and b"removed" in err, (run.returncode, err)


@case
def rm_by_force_waits_for_no_grace():
    for product, wanted in (("docker", ["DELETE"]), ("podman", ["kill", "DELETE"])):
        with engine(product=product, api="1.41") as fake:
            done = berth("rm", "-f", "--yes", "--foreign", "web", "old", fake=fake)
            assert done.code == 0, (product, done.err)
            said = {}
            for request in acts(fake):
                method, path = request.split(" ")[:2]
                target = path.split("/")[3].split("?")[0]
                said.setdefault(target, []).append("kill" if path.endswith("/kill?signal=SIGKILL") else method)
            # One that does not run cannot be killed, and goes all the same.
            assert list(said.values()) == [wanted, wanted], (product, acts(fake))
            assert set(states(fake)) == {"berth-a"}, states(fake)


@case
def rm_asks():
    with engine() as fake:
        berth("rm", "a", fake=fake).fails_with(2, "--yes")
        assert not acts(fake), acts(fake)
        assert berth("rm", "-f", "--yes", "a", fake=fake).out == b"berth-a\n"
        assert "berth-a" not in states(fake)
        assert any("DELETE" in r and "force=" in r for r in acts(fake)), acts(fake)


@case
def acts_pass_policy_and_audit():
    with engine() as fake:
        berth("--read-only", "stop", "a", fake=fake).fails_with(4, "read-only")
        berth("rm", "--read-only", "-y", "a", fake=fake).fails_with(4, "read-only")
        assert not acts(fake), acts(fake)
        assert berth("stop", "a", fake=fake).code == 0
        said = [json.loads(line) for line in berth("audit", "list", "--act", "container.stop", "--json").out.splitlines()]
        assert [(r["phase"], r["outcome"]) for r in said[:-1]][-3:] == [
            ("event", "refused"), ("intent", None), ("outcome", "ok")], said


@case
def logs_as_asked():
    with engine(log=["one", "e:two", "three"]) as fake:
        result = berth("logs", "web", fake=fake)
        assert (result.out, result.err) == (b"one\nthree\n", b"two\n"), result
        assert b"three" in berth("logs", "-n", "1", "web", fake=fake).out
        both = berth("logs", "-t", "web", "a", fake=fake).out.decode().splitlines()
        assert len(both) == 4 and any(line.startswith("berth-a | 20") for line in both), both
        assert berth("logs", "--until", "3d", "web", fake=fake).out == b""
        berth("logs", "--since", "yesterday", "web", fake=fake).fails_with(2, "not a valid time")
        berth("logs", "nobody", fake=fake).fails_with(1, "nobody")
        for name in ("stats", "logs"):
            berth(name, "-n", "x", "web", fake=fake).fails_with(2)


@case
def times_are_read_alike():
    with engine(log=["one"]) as fake:
        stamp = berth("logs", "-t", "-n", "1", "web", fake=fake).out.decode().split()[0]
        assert berth("logs", "--since", stamp, "web", fake=fake).out == b"one\n", stamp
        assert berth("logs", "--until", "2000-01-01T00:00:00.5+02:00", "web", fake=fake).out == b""
        assert berth("logs", "--since", "1h30m", "web", fake=fake).out == b"one\n"
        for verb in (["logs", "web"], ["audit", "list"], ["audit", "export", "--decisions"], ["report"], ["history", "web"]):
            for option in ("--since", "--until"):
                berth(*verb, option, "2026-02-30", fake=fake).fails_with(2, "that day does not exist")
                for time in ("1h30m", "946684800.25", "2000-01-01T00:00:00.123+02:00"):
                    assert b"valid time" not in berth(*verb, option, time, fake=fake).err, (verb, time)


@case
def json_lines_become_columns():
    lines = ['{"level":"error","ts":"2026-11-20T21:45:02.5Z","msg":"no disk","left":0}', "plain",
             json.dumps({"msg": "\x1b]0;x\x07" + "\u202e", "level": 30}), '{"msg":"cut', json.dumps({"msg": "x", "long": "y" * 20000})]
    with engine(log=lines) as fake, tempfile.NamedTemporaryFile("w", suffix=".script") as script:
        script.write("size 100 20\nwait web\nkey / w e b Enter l\nwait 5 lines\nkey t c\ndump body\nkey c\nexpect \"msg\":\"no disk\"\n"
                     "key c\nrefuse \"msg\":\"no disk\"\nkey w g\nexpect \"msg\":\"no disk\"\n")
        script.flush()
        done = berth("--script", script.name, fake=fake)
        assert done.code == 0, done.err.decode()[-1500:]
        neutral(done.out)
        shown = [line[2:].rstrip() for line in done.out.decode().splitlines()]
        assert "error 21:45:02.5Z  no disk                                  left=0" in shown, shown
        assert "plain" in shown and '{"msg":"cut' in shown and any(s.startswith("info               ^[]0;x^G") for s in shown), shown
        # Too long to be kept whole: as it is, and said.
        assert any(s.startswith('{"msg": "x", "long": "yyy') and s.endswith("cut here") or "…" in s for s in shown), shown


@case
def an_agent_that_ended_well_has_no_cross():
    """As a container."""
    for code, oom, sign in ((0, False, "✓"), (3, False, "✗"), (0, True, "✗")):
        with Fake(containers=[{"name": "berth-a", "labels": OURS, "state": "exited", "exit": code, "oom": oom}]) as fake, \
                tempfile.NamedTemporaryFile("w", suffix=".script") as script:
            script.write(f"size 100 20\nkey 1\nwait {'OOM' if oom else 'exited'} {code}\ndump body\n")
            script.flush()
            done = berth("--script", script.name, fake=fake, env={"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"})
            assert done.code == 0, done.err.decode()[-1500:]
            (row,) = [line for line in done.out.decode().splitlines() if f" {code} " in line + " " and ("exited" in line or "OOM" in line)][:1]
            assert sign in row and ("✗" in row) == (sign == "✗"), row


@case
def logs_follow_until_a_signal():
    with engine(log=["one"], log_rate=1000) as fake:
        run = subprocess.Popen([BERTH, "-H", fake.url, "logs", "-f", "web"], stdout=subprocess.PIPE)
        assert run.stdout.readline() == b"one\n" and run.stdout.readline()
        run.terminate()
        assert run.wait(60) == 0
        run.stdout.close()


@case
def looks():
    with engine() as fake:
        raw = berth("inspect", "web", "a", fake=fake).out
        found = json.loads(raw)
        assert raw.decode() == json.dumps(found, indent=4, ensure_ascii=False) + "\n", raw
        assert [c["Name"] for c in found] == ["/web", "/berth-a"], found
        table = berth("stats", "--no-stream", "web", fake=fake).out
        assert b"web" in table and b"berth-a" not in table, table
        # Without asking the engine: then it would say that this may not have reported any.
        berth("top", "old", fake=fake).fails_with(1, "old has no process: it is not running.")
        assert berth("inspect", "-f", "{{.Name}}", "/web", fake=fake).out == b"/web\n"
        berth("inspect", "/", fake=fake).fails_with(1, "no container and no agent named /")


@case
def events_of_one():
    with engine() as fake:
        run = subprocess.Popen([BERTH, "-H", fake.url, "events", "--json", "a"], stdout=subprocess.PIPE)
        wait_for(lambda: any("/events" in r for r in fake.requests()), "nobody listens")
        for name in ("web", "a"):
            assert berth("stop", "--foreign", name, fake=fake).code == 0
        first = json.loads(run.stdout.readline())
        assert (first["name"], first["type"]) == ("berth-a", "container"), first
        run.terminate()
        assert run.wait(60) == 0
        run.stdout.close()
    subprocess.run(["/usr/bin/python3", os.path.join(os.environ["SRC"], "tests/lib/schema.py"),
                    os.path.join(os.environ["SRC"], "tests/data/schema/event.json")],
                   input=json.dumps(first).encode(), check=True)


@case
def events_since():
    with Fake(containers=[{"id": "a" * 64, "name": "a"}]) as fake:
        berth("events", "--since", "soon", fake=fake).fails_with(2, "soon")
        run = subprocess.Popen([BERTH, "-H", fake.url, "events", "--since", "2020-01-02T03:04:05Z"], stdout=subprocess.PIPE)
        wait_for(lambda: any("/events?since=1577934245." in r for r in fake.requests()), "it does not ask for them")
        fake.door("emit", {"name": "a", "action": "start"})
        assert b"start" in run.stdout.readline()  # from now on it hears the signal
        run.terminate()
        assert run.wait(60) == 0
        run.stdout.close()


@case
def stats_as_asked():
    with Fake(containers=[{"id": "a" * 64, "name": "a"}, {"id": "b" * 64, "name": "b"}]) as fake:
        assert berth("stats", "--no-stream", "--format", "{{.Name}}:{{.State}}", fake=fake).out == b"a:running\nb:running\n"
        assert berth("stats", "--no-stream", "--format", "{{.Name}}", "b", fake=fake).out == b"b\n"
        berth("stats", "--format", "{{.Nothing}}", fake=fake).fails_with(2, "no field")


@case
def events_where_they_fit():
    with engine() as fake:
        berth("events", "-f", "colour=red", fake=fake).fails_with(2, "--filter takes type, event, name or id")
        berth("events", "-f", "type=Container", fake=fake).fails_with(2, "builder, config, container")
        berth("events", "-f", "name=(", fake=fake).fails_with(2, "not a regular expression")
        berth("events", "-f", "event=started", fake=fake).fails_with(2, "started", "nearest: start")
        berth("events", "-f", "event=", fake=fake).fails_with(2, "such as start or die")
        for n, action in enumerate(("health_status: healthy", "health_status: unhealthy", "exec_start: sh -c a:b", "exec_die", "start")):
            fake.door("event", {"Type": "container", "Action": action, "Actor": {"ID": "ab" * 32, "Attributes": {"name": "web"}}, "timeNano": 10**9 + n})
        for value, many in (("health_status", 2), ("health_status: healthy", 1), ("health_status:healthy", 1), ("exec_start", 1), ("exec_start: sh -c a:b", 1), ("exec_start: sh", 0),
                            ("exec_die", 1), ("start", 1)):
            done = berth("events", "--since", "1", "--until", "2", "-f", f"event={value}", fake=fake)
            assert (done.code, done.out.count(b"\n")) == (0, many), (value, done.out, done.err)
        run = subprocess.Popen([BERTH, "-H", fake.url, "events", "--json", "-f", "event=start", "-f", "name=we"],
                               stdout=subprocess.PIPE)
        wait_for(lambda: any("/events" in r for r in fake.requests()), "nobody listens")
        for verb, name in (("stop", "web"), ("stop", "a"), ("start", "a"), ("start", "web")):
            assert berth(verb, "--foreign", name, fake=fake).code == 0
        first = json.loads(run.stdout.readline())
        assert (first["name"], first["action"]) == ("web", "start"), first
        run.terminate()
        assert run.wait(60) == 0
        run.stdout.close()


@case
def one_language_of_formats():
    """Of ps, stats, top, inspect and events: blanks, json, tabs, a table; what is unknown names what there is."""
    rows = [{"name": "web", "labels": {"com.example.team": "one two", "a.b": "x", "a.b.c": "y", "quote": 'say "so"'}}, {"name": "a-longer-name"}]
    with Fake(containers=rows) as fake:
        for verb in (["ps"], ["stats", "--no-stream"]):
            assert berth(*verb, "--format", "{{ .Name }}\\t{{json .State}}", fake=fake).out == b'a-longer-name\t"running"\nweb\t"running"\n'
            assert berth(*verb, "--format", "table {{.Name}}\\t{{.State}} {{.Agent}}", fake=fake).out == \
                b"NAME            STATE AGENT\na-longer-name   running -\nweb             running -\n"
            assert berth(*verb, "--format", "table", fake=fake).out.startswith(b"NAME ")
        assert berth("top", "web", "--format", "{{.PID}} {{.User}} {{.Command}}", fake=fake).out == b"4242 1000 /bin/sh /demo/idle.sh\n"
        assert berth("top", "web", "--format", "table {{.PID}}\\t{{.Command}}", fake=fake).out == b"PID    COMMAND\n4242   /bin/sh /demo/idle.sh\n"

        def inspect(text, *names):
            done = berth("inspect", "-f", text, *(names or ("web",)), fake=fake)
            assert done.code == 0, (text, done.err)
            return done.out.decode()
        assert inspect("{{.State.Status}} {{.Name}}", "web", "a-longer-name") == "running /web\nrunning /a-longer-name\n"
        assert inspect("{{.State.Running}} {{.HostConfig.NanoCpus}} {{.HostConfig.Binds}} {{json .HostConfig.Binds}}") == "true 1000000000 - null\n"
        assert inspect("{{.Config.Labels.com.example.team}}|{{.Config.Labels.a.b}}|{{.Config.Labels.a.b.c}}") == "one two|x|y\n"
        assert inspect("{{.Config.Labels.quote}} {{json .Config.Labels.quote}}") == 'say "so" "say \\"so\\""\n'
        assert inspect("{{.Config.Env.0}}{{json .Config.Cmd}}{{.HostConfig.Binds.nothing}}") == 'PATH=/bin["/demo/idle.sh"]-\n'
        assert json.loads(inspect("{{json .}}"))["Name"] == "/web" and json.loads(inspect("{{json .State}}"))["Status"] == "running"
        assert berth("inspect", "--format", "json", "web", fake=fake).out == berth("inspect", "web", fake=fake).out

        event = ["events", "--since", "2020-01-01", "--until", "1s", "--format"]
        assert berth("stop", "--foreign", "web", fake=fake).code == 0
        now = time.time()
        wait_for(lambda: time.time() > now + 1.1, "the clock stands")
        assert berth(*event, "{{.Type}} {{.Action}} {{json .Name}}", fake=fake).out == \
            b'container kill "web"\ncontainer die "web"\ncontainer stop "web"\n'
        first = berth(*event, "json", fake=fake).out.splitlines()[0]
        assert json.loads(first)["action"] == "kill", first
        stamp = berth(*event, "{{.Time}} {{.TimeNano}} {{.ID}}", "-f", "event=die", fake=fake).out.split()
        assert stamp[1].startswith(stamp[0]) and len(stamp[1]) == 19 and len(stamp[2]) == 64, stamp

        for verb in (["ps"], ["stats"], ["top", "web"], ["inspect", "web"], event[:-1]):
            refused = {"{{.Nothing}}": "--format has no field {{.Nothing}}, only .", "{{.Name": "without }}", "Name": "text with fields such as",
                       "": "text with fields", "{{Name}}": "takes fields such as", "{{if .Name}}": "takes fields such as", "{{json}}": "takes fields such as"}
            for text, why in refused.items():
                berth(*verb, "--format", text, fake=fake).fails_with(2, why)
        berth("inspect", "-f", "{{.State.Nothing}}", "web", fake=fake).fails_with(2, "{{.State.Nothing}}", ".Status, .Running")


@case
def events_until():
    with Fake(containers=[{"name": "web"}]) as fake:
        assert berth("stop", "--foreign", "web", fake=fake).code == 0
        until = str(time.time() + 1)
        done = berth("events", "--until", until, "--format", "{{.Action}}", fake=fake)
        assert (done.code, done.out, done.err) == (0, b"kill\ndie\nstop\n", b"") and time.time() > float(until), done.out
        assert any(f"until={until.split('.', maxsplit=1)[0]}." in r for r in fake.requests()), fake.requests()
        for span in (["--until", "1h"], ["--since", "3h", "--until", "2h"]):
            done = berth("events", *span, fake=fake)
            assert (done.code, done.out, done.err) == (0, b"", b""), done.err
        # They all came, the newest first, before the engine had said what it is.
        fake.door("set", {"faults": [{"match": "GET .*/info", "do": "slow", "delay": 0.0005}]})
        for back in (60, 120):
            fake.door("event", {"Type": "network", "Action": f"create-{back}", "Actor": {"ID": "n"}, "timeNano": time.time_ns() - back * 10**9})
        done = berth("events", "--since", "1h", "--until", "5s", "-f", "type=network", "--format", "{{.Action}}", fake=fake)
        assert (done.code, done.out, done.err) == (0, b"create-60\ncreate-120\n", b""), done.out
        berth("events", "--since", "1h", "--until", "2h", fake=fake).fails_with(2, "--since is after --until")
        berth("events", "--until", "then", fake=fake).fails_with(2, "then")


@case
def hostile_text_is_neutralised():
    with Fake(containers=[{"name": h} for h in HOSTILE]) as fake:
        result = berth("ps", "--format", "{{.Name}}", fake=fake)
        assert result.code == 0, result.err
        neutral(result.out)


main()
