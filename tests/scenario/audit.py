#!/usr/bin/python3
"""audit.py - what is done is recorded before it is done, and the record can be checked."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from scenario import Fake, berth, case, main, neutral


class State:
    """A state directory of its own while the `with` lasts, and a fake engine that looks into it."""

    def __init__(self, **scenario):
        self.dir = tempfile.mkdtemp(prefix="s")
        self.log = os.path.join(self.dir, "berth/audit")
        self.env = {"XDG_STATE_HOME": self.dir}
        self.fake = Fake(audit=self.log, **scenario)

    def __enter__(self):
        self.fake.start()
        return self

    def __exit__(self, *_):
        self.fake.__exit__()
        shutil.rmtree(self.dir)

    def console(self, *lines, options=()):
        script = os.path.join(self.dir, "script")
        with open(script, "w", encoding="utf-8") as f:
            f.write("\n".join(["size 120 24", *lines, ""]))
        return berth(*options, "--script", script, fake=self.fake, env=self.env)

    def audit(self, *args):
        return berth("audit", *args, env=self.env)

    def records(self, *args):
        lines = self.audit("list", "--json", *args).out.decode().splitlines()
        *records, last = [json.loads(line) for line in lines]
        assert last["summary"]["records"] == len(records), last
        return records

    def asked(self):
        return [r for r in self.fake.requests() if r.split(" ")[0] in ("POST", "DELETE")]


def fits(schema, document):
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    done = subprocess.run([sys.executable, f"{tests}/lib/schema.py", f"{tests}/data/schema/{schema}.json"],
                          input=document, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# A dialog takes keys only after a person could have seen it.
def confirmed(key, *answer, then):
    return ["key G", f"key {key}", "wait Cancel", "advance 400", *answer, f"wait {then}"]


@case
def intent_is_on_disk_when_the_request_arrives():
    with State(containers=[{"name": "web", "labels": {"berth.agent": "agent_a"}}]) as s:
        result = s.console("wait web", *confirmed("P", "key y", then="Paused 1 container."))
        assert result.code == 0, result.out + result.err
        result = s.console("wait web", *confirmed("D", "type web", "key Enter", then="Removed 1 container."))
        assert result.code == 0, result.out + result.err
        assert len(s.asked()) == 2, s.asked()
        done = s.records("--act", "container.*")
        assert [(r["act"], r["phase"], r["outcome"]) for r in done] == [
            ("container.pause", "intent", None), ("container.pause", "outcome", "ok"),
            ("container.remove", "intent", None), ("container.remove", "outcome", "ok")], done
        assert all(r["name"] == "web" and r["agent"] == "agent_a" and r["program"] == "console" for r in done)
        assert done[1]["intent"] == done[0]["seq"] and done[3]["intent"] == done[2]["seq"]
        assert s.audit("verify").code == 0


@case
def what_cannot_be_recorded_is_not_done():
    with State(containers=[{"name": "web"}]) as s:
        os.mkdir(os.path.join(s.dir, "berth"), 0o700)
        with open(s.log, "w", encoding="ascii"):
            pass  # a file where the directory of the log should be
        s.fake.door("set", {"audit": None})
        result = s.console("wait web", *confirmed("K", "type web", "key Enter", then="not"))
        assert s.asked() == [], s.asked()
        assert result.code == 0, result.out + result.err


READ_ONLY = ["key :", "type ro", "key Enter"]


@case
def read_only_ends_only_when_that_is_recorded():
    with State(containers=[{"name": "web"}]) as s:
        result = s.console("wait web", *READ_ONLY, "wait nothing will be changed", *READ_ONLY, "wait Read-only is off.",
                           *confirmed("P", "key y", then="Paused 1 container."))
        assert result.code == 0, result.out + result.err
        assert [(r["phase"], r["outcome"], r["params"]["read_only"]) for r in s.records("--act", "policy.change")] == [
            ("event", "ok", "on"), ("intent", None, "off"), ("outcome", "ok", "off")]
    with State(containers=[{"name": "web"}]) as s:
        os.mkdir(os.path.join(s.dir, "berth"), 0o700)
        with open(s.log, "w", encoding="ascii"):
            pass  # no log can be opened
        s.fake.door("set", {"audit": None})
        result = s.console("wait web", *READ_ONLY, "wait nothing will be changed", *READ_ONLY, "wait could not be recorded",
                           "key G", "key P", "wait `pause` is disabled", "refuse Cancel")
        assert result.code == 0, result.out + result.err
        assert s.asked() == [], s.asked()


def refusing(s, name, *keys, then):
    """The console with the settings of the state directory, at the row of that name."""
    result = s.console(f"wait {name}", "key /", f"type {name}", "key Enter", "key G", *keys, f"wait {then}",
                       options=("--settings", os.path.join(s.dir, "berth.yaml")))
    assert result.code == 0, result.out + result.err
    assert s.asked() == [], s.asked()


def policy_refuses(s, rules):
    """What a row shows is refused at the key; what only the engine's list says, at the gate, which records it."""
    with open(os.path.join(s.dir, "berth.yaml"), "w", encoding="ascii") as f:
        f.write(rules)
    refusing(s, "db-main", "key K", "refuse Cancel", then="Will not kill container db-main: its name is protected")
    refusing(s, "web", *confirmed("K", "type web", "key Enter", then="protected"), then="protected")
    refused = s.records("--outcome", "refused")
    assert [(r["act"], r["name"], r["phase"]) for r in refused] == [("container.kill", "web", "event")], refused
    assert "keep" in refused[0]["error"], refused
    assert s.records("--text", "nothing-such|container.k[i]ll") == s.records("--act", "container.kill")


PROTECTED = [{"name": "db-main"}, {"name": "web", "labels": {"keep": "yes"}}]


@case
def policy_refuses_and_the_refusal_is_recorded():
    with State(containers=PROTECTED) as s:
        policy_refuses(s, "protected: {names: [db-*], labels: [keep]}\n")


@case
def what_stays_is_refused_on_record():
    networks = [{"Name": "bridge", "Id": "cd" * 32, "Driver": "bridge", "Scope": "local", "Created": "2026-01-01T00:00:00Z"}]
    with State(faults=[{"match": "GET .*/networks", "do": "body", "body": json.dumps(networks)}]) as s:
        s.audit("list").fails_with(1, "no audit log")
        for words in (["--dry-run"], ["--yes"]):
            berth("networks", "rm", *words, "bridge", fake=s.fake, env=s.env).fails_with(4, "stays")
        assert [(r["name"], r["phase"], r["outcome"]) for r in s.records("--act", "network.remove")] == [("bridge", "event", "refused")]


@case
def a_new_volume_is_on_record():
    with State() as s:
        ws, team = os.path.join(s.dir, "ws"), os.path.join(s.dir, "team.yaml")
        os.mkdir(ws)
        if os.geteuid() == 0:
            os.chown(ws, 1000, 1000)
        with open(team, "w", encoding="ascii") as f:
            f.write(f"agents: {{a: {{image: 'box:1', workspace: {ws}}}}}\n")
        # This engine makes no volumes.
        berth("up", team, fake=s.fake, env=s.env).fails_with(1, "cannot make the volume")
        assert [r.split("/")[-1] for r in s.asked()] == ["create"], s.asked()
        assert [(r["name"], r["agent"], r["phase"], r["outcome"]) for r in s.records("--act", "volume.*")] == [
            ("berth-home-berth-a", "a", "intent", None), ("berth-home-berth-a", "a", "outcome", "failed")]


@case
def host_rules_refuse_at_their_host():
    with State(containers=PROTECTED) as s:
        policy_refuses(s, "hosts:\n  - host: 'unix:///*/e.sock'\n    protected: {names: [db-*], labels: [keep]}\n")
    with State(containers=PROTECTED) as s:
        with open(os.path.join(s.dir, "berth.yaml"), "w", encoding="ascii") as f:
            f.write("hosts:\n  - {host: 'unix:///*', read_only: true}\n")
        for key in "KDSRx":
            refusing(s, "web", f"key {key}", "refuse Cancel", then='the host rule "unix:///*" is read-only')
    with State(containers=PROTECTED) as s:
        settings = os.path.join(s.dir, "berth.yaml")
        with open(settings, "w", encoding="ascii") as f:
            f.write("hosts:\n  - {host: 'tcp://*', read_only: true}\n")
        result = s.console("wait web", *confirmed("P", "key y", then="Paused 1 container."), options=("--settings", settings))
        assert result.code == 0, result.out + result.err
        assert len(s.asked()) == 1, s.asked()


@case
def the_private_engine_is_started_and_stopped_on_record():
    with State() as s:
        socket = os.path.join(s.dir, "berth/engine/docker.sock")
        # The one dockerd of this PATH starts nothing.
        false = os.path.join(s.dir, "dockerd")
        with open(false, "w", encoding="ascii") as f:
            f.write('#!/bin/sh\ntouch "${0%/*}/called"\necho not today\nexit 1\n')
        os.chmod(false, 0o755)
        env = {**s.env, "PATH": f"{s.dir}:/usr/bin:/bin"}
        for verb in ("start", "stop"):
            refused = berth("--read-only", "engine", verb, env=env)
            assert refused.code != 0 and b"--read-only" in refused.err, refused.err
        assert not os.path.exists(os.path.join(s.dir, "called"))
        assert berth("engine", "status", env=env).code == 1
        started = berth("engine", "start", env=env)
        assert started.code != 0, started.out
        stopped = berth("engine", "stop", env=env)
        assert stopped.code == 0, stopped.err
        records = s.records("--act", "engine.*")
        assert [(r["act"], r["phase"], r["outcome"]) for r in records] == [
            ("engine.start", "event", "refused"), ("engine.stop", "event", "refused"),
            ("engine.start", "intent", None), ("engine.start", "outcome", "refused" if os.geteuid() else "failed"),
            ("engine.stop", "intent", None), ("engine.stop", "outcome", "ok")], records
        assert all(r["target_type"] == "engine" and r["name"] == f"unix://{socket}" for r in records), records
        assert s.audit("verify").code == 0


@case
def tampering_is_told():
    with State(containers=[{"name": "web"}]) as s:
        s.console("wait web", *confirmed("P", "key y", then="Paused 1 container."))
        head = s.audit("head").out.decode().strip()
        assert s.audit("verify", "--head", head).code == 0
        bundle = os.path.join(s.dir, "bundle")
        assert s.audit("export", bundle).code == 0
        s.audit("export", bundle).fails_with(1, bundle)  # never written over, and then nothing was exported
        records = s.records("--act", "log.export")
        assert [r["name"] for r in records] == [os.path.realpath(bundle)], records
        clean = s.audit("verify", "--json", bundle)
        assert clean.code == 0 and clean.json()["clean"], clean.out
        fits("audit_verify", clean.out)
        fits("audit_head", s.audit("head", "--json").out)
        for line in s.audit("list", "--json").out.splitlines()[:-1]:
            fits("audit", line)
        other = s.audit("verify", "--head", "0" * 64)
        assert other.code == 1 and b"truncated" in other.out, other.out
        name = next(n for n in os.listdir(s.log) if n.endswith(".jsonl"))
        path = os.path.join(s.log, name)
        with open(path, "rb") as f:
            text = f.read()
        with open(path, "wb") as f:
            f.write(text.replace(b'"name":"web"', b'"name":"wex"', 1))
        told = s.audit("verify")
        assert told.code == 1 and told.out.startswith(b"changed: Record "), told.out
        fits("audit_verify", s.audit("verify", "--json").out)
        document = s.audit("verify", "--json").json()
        assert document["fault"] == "changed" and document["at_seq"] == 2, document


@case
def names_stay_in_their_line():
    name = "esc\x1b]0;x\x07 \u202e\x9b31m \"\\"
    with State(containers=[{"name": name}]) as s:
        result = s.console("wait esc", "key i", "wait Id", "key Esc")
        assert result.code == 0, result.out + result.err
        listed = s.audit("list")
        neutral(listed.out)
        assert [r["name"] for r in s.records("--act", "container.inspect")] == [name]
        for name in os.listdir(s.log):
            if name.endswith(".jsonl"):
                with open(os.path.join(s.log, name), "rb") as f:
                    neutral(f.read())


@case
def decisions_are_lines_for_other_tools():
    with State(containers=[{"name": "web", "labels": {"berth.agent": "agent_a"}}]) as s:
        refused = berth("--read-only", "stop", "--foreign", "web", fake=s.fake, env=s.env)
        assert refused.code == 4, refused.err
        assert s.audit("list").code == 0
        done = s.audit("export", "--decisions")
        assert done.code == 0, done.err
        neutral(done.out)
        *lines, last = done.out.splitlines()
        assert json.loads(last) == {"summary": {"schema": "berth.decision/1", "decisions": len(lines), "connections_lost": 0, "complete": True, "known_since": None}}, last
        assert len(lines) == 1, lines
        fits("decision", lines[0])
        line, record = json.loads(lines[0]), s.records("--outcome", "refused")[0]
        assert line["kind"] == "policy" and line["decision"] == "deny" and line["act"] == "container.stop", line
        assert line["seq"] == record["seq"] and line["hash"] == record["hash"] and "read-only" in line["reason"].lower(), line
        # Into a file that is made for it, for its owner alone.
        to = os.path.join(s.dir, "decisions")
        assert s.audit("export", "--decisions", to).code == 0
        assert os.stat(to).st_mode & 0o7777 == 0o600
        with open(to, "rb") as f:
            assert f.read() == done.out
        s.audit("export", "--decisions", to).fails_with(1, "cannot make")
        assert s.audit("export", "--decisions", "--until", "2001-01-01").out.count(b"\n") == 1
        s.audit("export").fails_with(2, "needs FILE")
        s.audit("export", "--since", "1h", "x").fails_with(2, "--decisions")


@case
def wrong_use():
    with State() as s:
        s.audit("list").fails_with(1, "no audit log")
        s.audit("list", "--since", "yesterday").fails_with(2, "yesterday")
        s.audit("list", "--outcome", "fine").fails_with(2, "--outcome")
        s.audit("list", "--act", "containers.remove").fails_with(2, "containers.remove", "nearest: container.remove")
        s.audit("list", "--act", "nothing.*").fails_with(2, "nothing.*")
        s.audit("list", "--text", "a(").fails_with(2, "not a regular expression")
        s.audit("verify", "--head", "xyz").fails_with(2, "64")
        s.audit("verify", "/nonexistent").fails_with(1, "/nonexistent")
        s.audit("verify", "/etc/passwd").fails_with(1, "/etc/passwd")


@case
def signals_are_named():
    """Which signal was sent stands in the log; a wrong name reaches nobody."""
    with State(containers=[{"name": "berth-a", "labels": {"berth.agent": "a", "berth.role": "agent"}}, {"name": "web"}]) as s:
        berth("kill", "-s", "TREM", "a", fake=s.fake, env=s.env).fails_with(2, "unknown signal")
        berth("kill", "web", fake=s.fake, env=s.env).fails_with(2, "--foreign")
        assert not s.asked(), s.asked()
        done = berth("kill", "--foreign", "-s", "hup", "a", fake=s.fake, env=s.env)
        assert (done.code, done.out) == (0, b"berth-a\n"), done.err
        done = berth("kill", "--foreign", "web", fake=s.fake, env=s.env)
        assert done.code == 0, done.err
        assert [r.split("?")[1].split(" ")[0] for r in s.asked()] == ["signal=1", "signal=SIGKILL"], s.asked()
        intents = [r for r in s.records("--act", "container.kill") if r["phase"] == "intent"]
        assert [(r["name"], r["params"].get("signal")) for r in sorted(intents, key=lambda r: r["name"])] == [
            ("berth-a", "SIGHUP"), ("web", None)], intents
        # The person, and the agent that it was done to: the same on the command line and in the console.
        who = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip() + "/a "
        lines = s.audit("list", "--act", "container.kill", "--target", "berth-a").out.decode().splitlines()
        assert len(lines) == 2 and all(who in line for line in lines), lines
        shown = s.console("key 6", f"wait {who}")
        assert shown.code == 0, shown.out + shown.err


main()
