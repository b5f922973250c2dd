#!/usr/bin/python3
"""check.py - `berth check`: the line, the codes and the conditions of a monitoring plug-in."""
import os
import re
import socket

from scenario import HOSTILE, Fake, berth, case, case_of_patience, main, made, neutral

HERE = {"name": socket.gethostname(), "root": "/"}  # then the disk is that of this machine
ENGINE = "FAKE:ENGN:0001/2a0c975e"  # of the root directory /
FIGURES = ("agents", "up", "down", "unhealthy", "restarting", "oom", "limits", "blocked", "drift", "disk")
QUIET = ["--warning", "drift>9,disk>100%", "--critical", "disk>100%"]


def agent(name, **more):
    return {"name": "berth-" + name, "labels": made("berth-" + name, name, engine=ENGINE), **more}


def check(code, *args, words=(), fake=None, **options):
    return read(berth("check", *args, fake=fake, **options), code, words)


def check_in_time(code, seconds, words, fake):
    """Of an engine that hangs at something: on a busy machine that is not all that takes its time."""
    for longer in (1, 4, 16):
        result = berth("check", "--timeout", str(seconds * longer), *QUIET, fake=fake)
        if result.code == code and all(word.encode() in result.out for word in words):
            break
    return read(result, code, words)


def read(result, code, words):
    """One line, its state that of the exit code, with the performance data of all figures."""
    state = ("OK", "WARNING", "CRITICAL", "UNKNOWN")[code]
    text = result.out.decode()
    assert result.code == code, (result.code, text, result.err)
    assert result.err == b"", result.err
    assert re.fullmatch(rf"BERTH {state} - [^|\n]+(\|( [a-z]+=(U|[0-9.]+%?);[^; ]*;[^; ]*;0(;100)?){{10}})?\n", text), text
    neutral(result.out)
    for word in words:
        assert word in text, (word, text)
    return text, dict(w.split("=", 1) for w in text.partition("|")[2].split())


@case
def check_is_ok():
    with Fake(containers=[agent("a"), agent("b"), {"name": "web", "state": "exited", "exit": 1}], **HERE) as fake:
        text, data = check(0, *QUIET, fake=fake, words=["2 of 2 agents up, disk ", "audit log intact |"])
        assert tuple(data) == FIGURES, data
        assert data["up"] == "2;;;0" and data["down"] == "0;;0;0" and data["drift"] == "2;9;;0", data
        assert data["disk"].endswith(";100;100;0;100"), data
    with Fake(containers=0, **HERE) as fake:
        check(0, "--warning", "disk>100%", "--critical", "disk>100%", fake=fake, words=["0 of 0 agents up"])
        check(2, "--critical", "agents<1", fake=fake, words=["0 agents (agents<1)"])


@case
def check_finds_each():
    for more, words in (({"state": "exited", "exit": 3}, ["1 down (a: stopped, exit 3)", "down=1;;0;0"]),
                        ({"health": "unhealthy"}, ["1 unhealthy (a)", "unhealthy=1;;0;0"]),
                        ({"state": "restarting"}, ["1 restarting (a)", "down=0;;0;0"]),
                        ({"restarts": 7}, ["restarting=0;"]),  # an hour ago
                        ({"state": "exited", "exit": 137, "oom": True}, ["1 out of memory (a)", "a: ended: out of memory"])):
        with Fake(containers=[agent("a", **more)], **HERE) as fake:
            check(0 if "restarts" in more else 2, *QUIET, fake=fake, words=words)
    with Fake(containers=[agent("a", memory=97 << 20, limit=100 << 20)], **HERE) as fake:
        check(1, *QUIET, fake=fake, words=["1 at a limit (a: memory at 97 %)", "limits=1;0;;0"])
        check(2, *QUIET, "--critical", "limits>0,disk>100%", fake=fake, words=["BERTH CRITICAL - 1 at a limit"])
    with Fake(containers=[agent("a")], **HERE) as fake:  # up, and no team file says so
        check(1, "--warning", "disk>100%", "--critical", "disk>100%", fake=fake, words=["1 not as declared (a: its team file"])


@case
def check_conditions():
    """Those given replace the usual ones of their figures, and no others."""
    with Fake(containers=[agent("a"), agent("b", state="exited")], **HERE) as fake:
        check(2, *QUIET, fake=fake, words=["1 down (b: "])
        check(0, *QUIET, "--critical", "down>1,disk>100%", fake=fake, words=["down=1;;1;0"])
        check(1, "--warning", "drift>9 , disk>100%, up < 2", "--critical", "down>1,disk>100%", fake=fake, words=["1 up (up < 2)", "up=1;2:;;0"])
        check(2, *QUIET, "--critical", "disk>100%,(down>0 and up<2) or agents=7", fake=fake, words=["CRITICAL - (down>0 and up<2) or agents=7;"])
        for op, shown in ((">=0", "@0:"), ("<=100", "@~:100"), ("!=7", "7:7"), (">0", "0")):
            check(2, *QUIET, "--critical", "down>1,disk" + op, fake=fake, words=[f";{shown};0;100"])
        for bad, words in (("dsk>1", ['--critical "dsk>1"', 'unknown column "dsk"', '"disk"']), ("", ["column missing"]), ("disk>90%,,up>1", ["column missing"]),
                           ("disk>lots", ["lots"]), ("state=up", ["state"]), ("disk>1 for 5m", ["alerts"]), ("disk ~ 9", ["number"]), ("(up>1", ["not closed"])):
            check(3, "--critical", bad, fake=fake, words=words)
        assert not [r for r in fake.requests() if r.startswith(("POST", "DELETE", "PUT"))], fake.requests()


@case
def check_team_file():
    with open("team.yaml", "w", encoding="utf-8") as f:
        f.write("agents:\n  a: {image: 'box:1', workspace: ./ws}\n  b: {image: 'box:1', workspace: ./ws2}\n")
    os.chmod("team.yaml", 0o600)
    for name in ("ws", "ws2"):
        os.makedirs(name, exist_ok=True)
    with Fake(containers=[agent("a"), agent("c", state="exited")], **HERE) as fake:
        def of(code, words):
            result = berth("-c", "team.yaml", "check", *QUIET, fake=fake)
            assert result.code == code and all(w in result.out.decode() for w in words), (result.code, result.out)
        of(2, ["CRITICAL - 1 down (b); 1 of 2 agents up"])
        fake.door("set", {"containers": [agent("a"), {"name": "berth-b", "labels": {"berth.agent": "b", "berth.role": "agent"}}]})
        of(3, ["UNKNOWN - 1 agent here is not this user's"])
    result = berth("-c", "nowhere.yaml", "check")
    assert result.code == 3 and result.out.startswith(b"BERTH UNKNOWN - ") and b"nowhere.yaml" in result.out, result.out


@case_of_patience
def check_what_is_not_known():
    with Fake(containers=[{"name": "berth-a", "labels": made("berth-a", "a")}]) as fake:  # on another machine: its disk is not read
        check(3, "--warning", "drift>9", fake=fake, words=["UNKNOWN - disk is not known", "disk=U;80;90;0;100"])
    with Fake(containers=[{"name": "x", "labels": {"berth.agent": "x", "berth.role": "agent"}}], **HERE) as fake:
        check(3, *QUIET, fake=fake, words=["not this user's"])
    hang = [{"match": "/stats", "do": "hang"}]
    with Fake(containers=[agent("a")], faults=hang, **HERE) as fake:
        check_in_time(3, 5, ["limits is not known", "limits=U;"], fake)
    with Fake(containers=[agent("a"), agent("b", state="exited")], faults=hang, **HERE) as fake:
        check_in_time(2, 5, ["CRITICAL - 1 down (b: stopped, exit 0); limits is not known"], fake)
    # What cannot be asked is wrong usage, which is no finding.
    for args in (["--no-such"], ["extra"], ["--timeout", "never"], ["--warning"]):
        check(3, *args)


@case
def check_engine():
    check(2, words=["engine: ", "no.sock"], env={"DOCKER_HOST": "unix:///nonexistent/no.sock"})
    for fault in ({"do": "reset"}, {"do": "status", "status": 500, "message": "a|b\nc"}, {"do": "body", "body": "[[["}):
        with Fake(faults=[{"match": "containers/json", **fault}], **HERE) as fake:
            check(2, fake=fake, words=["engine: "])
    with Fake(faults=[{"match": "containers/json", "do": "hang"}], **HERE) as fake:
        check(2, "--timeout", "1", fake=fake, words=["engine: the engine did not answer in time"])
    with Fake(containers=[agent("a")], faults=[{"match": "[0-9a-f]{64}/json", "do": "hang"}], **HERE) as fake:
        check_in_time(3, 1, ["not all looked at in time", "down=U;"], fake)
    with Fake(containers=[{"name": h, "labels": made(h, h, engine=ENGINE)} for h in HOSTILE if "\0" not in h and "\n" not in h and len(h) < 60], **HERE) as fake:
        result = berth("check", fake=fake)
        neutral(result.out)
        assert result.out.count(b"\n") == 1 and result.out.count(b"|") == 1, result.out


@case
def check_audit_log():
    home = os.path.join(os.environ["TMPDIR"], "state")
    env = {"XDG_STATE_HOME": home}
    with Fake(containers=0, **HERE) as fake:
        check(0, *QUIET, fake=fake, env=env, words=["audit log intact"])
        berth("files", "write", "x", env={**env}, cwd=os.environ["TMPDIR"])
        check(0, *QUIET, fake=fake, env=env, words=["audit log intact"])
        folder = os.path.join(home, "berth", "audit")
        (name,) = [n for n in os.listdir(folder) if n.endswith(".jsonl")]
        path = os.path.join(folder, name)
        with open(path, "rb") as f:
            text = f.read()
        with open(path, "wb") as f:
            f.write(text.replace(b"file.write", b"file.wrote"))
        check(2, *QUIET, fake=fake, env=env, words=["CRITICAL - audit log: "])


main()
