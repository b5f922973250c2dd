#!/usr/bin/python3
"""hosts.py - several engines at once: by name, in one table, one of them hanging, lying, dead and back again."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile

from scenario import Fake, berth, case, case_of_patience, made, main, neutral, on_terminal, script, wait_for

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

@contextlib.contextmanager
def hosts(rules=(), home=None, **engines):
    """Fakes by name, known by that name; DOCKER_HOST is `home`, or the first of them."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="h"))
        fakes = {name: stack.enter_context(Fake(**{"id": f"FAKE:ENGN:{n:04}", **scenario})) for n, (name, scenario) in enumerate(engines.items(), 1)}
        path = os.path.join(place, "berth.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("hosts:\n")
            for name, fake in fakes.items():
                f.write(f"  - {{name: {name}, endpoint: \"{fake.url}\"{', read_only: true' if name in rules else ''}}}\n")
            f.write(f"  - {{name: dead, endpoint: \"unix://{place}/none\"}}\n" if "dead" in rules else "")
        env = {"DOCKER_HOST": home or next(iter(fakes.values())).url, "XDG_STATE_HOME": os.path.join(place, "state")}
        yield fakes, ("--settings", path), env


LIVE = "44" * 32


def brought_up(env, *endpoint):
    """The record of an agent that berth brought up on the engine whose id FAKE:ENGN:0001 is; an old one does not say where that engine is."""
    record = os.path.join(env["XDG_STATE_HOME"], "berth/sessions/berth-live.session")
    os.makedirs(os.path.dirname(record), mode=0o700, exist_ok=True)
    os.chmod(os.path.join(env["XDG_STATE_HOME"], "berth"), 0o700)
    with open(os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
        f.write("\n".join(("berth-live", LIVE, "FAKE:ENGN:0001/19bc47c8", "5e55", "live", "spec", "/team.yaml", "1700000000000", "/", *endpoint, "")))
    return record


def boxes(*names, **more):
    return {"containers": [{"name": name, **more} for name in names]}


def fits(document, name):
    subprocess.run(["/usr/bin/python3", os.path.join(TESTS, "lib/schema.py"), os.path.join(TESTS, "data/schema", name)],
                   input=json.dumps(document).encode(), check=True)


@case
def hosts_are_listed():
    with hosts(("dead", "two"), one=boxes("a"), two={**boxes("b", "c"), "version": "24.0.7", "api": "1.43"}) as (_, options, env):
        result = berth(*options, "host", "list", "--json", env=env)
        assert result.code == 0, result.err
        document = result.json()
        fits(document, "hosts.json")
        by = {h["name"]: h for h in document["hosts"]}
        assert list(by) == ["one", "two", "dead"], by
        assert [by[n]["state"] for n in by] == ["up", "up", "unreachable"], by
        assert [by[n]["containers"] for n in by] == [1, 2, None], by
        assert [by[n]["read_only"] for n in by] == [False, True, False], by
        assert by["two"]["version"] == "24.0.7" and by["two"]["latency_ms"] > 0 and by["dead"]["latency_ms"] is None
        assert "no such socket" in by["dead"]["problem"], by["dead"]
        table = berth(*options, "host", "list", env=env)
        assert table.code == 0 and b"no such socket" in table.out and b"read-only" in table.out, table.out
        neutral(table.out)


@case
def hosts_without_any():
    with hosts(one=boxes("a")) as (fakes, _, env):
        by = berth("host", "list", "--json", env=env).json()["hosts"]
        assert [(h["name"], h["state"]) for h in by] == [("local", "up")], by
        gone = berth("host", "list", "--json", env={"DOCKER_HOST": fakes["one"].url + "x"}).json()["hosts"]
        assert [(h["name"], h["state"]) for h in gone] == [("local", "unreachable")], gone


@case
def hosts_are_forgotten_by_name():
    with hosts(one=boxes("a")) as (_, options, env):
        assert berth(*options, "host", "forget", "one", env=env).code == 0
        berth(*options, "host", "forget", "two", env=env).fails_with(1, "unknown host two")


@case
def hosts_by_name():
    with hosts(one=boxes("a"), two=boxes("b")) as (_, options, env):
        assert berth(*options, "-H", "two", "ps", "--format", "{{.Name}}", env=env).out == b"b\n"
        assert berth(*options, "ps", "--format", "{{.Name}}", env=env).out == b"a\n"
        # What is no name of a host means what it means to docker.
        berth(*options, "-H", "three.invalid", "ps", env=env).fails_with(3, "tcp://three.invalid:2375")


@case
def hosts_by_context():
    with hosts(one=boxes("a"), two=boxes("b")) as (fakes, _, env):
        place = tempfile.mkdtemp(prefix="c")
        for n, (name, url) in enumerate((("over-there", fakes["two"].url), ("broken", "gopher://x"), ("\x1b[31mred", fakes["two"].url))):
            os.makedirs(f"{place}/contexts/meta/{n}")
            with open(f"{place}/contexts/meta/{n}/meta.json", "w", encoding="utf-8") as f:
                json.dump({"Name": name, "Endpoints": {"docker": {"Host": url}}}, f)
        env = {**env, "DOCKER_CONFIG": place}
        by = {h["name"]: h for h in berth("--all-contexts", "host", "list", "--json", env=env).json()["hosts"]}
        assert list(by) == ["local", "broken", "over-there"], by
        assert by["over-there"]["state"] == "up" and "gopher" in by["broken"]["problem"], by
        assert len(berth("host", "list", "--json", env=env).json()["hosts"]) == 1


@case
def ps_of_all_hosts():
    with hosts(("dead",), one=boxes("same", "a"), two=boxes("same", "b")) as (_, options, env):
        result = berth(*options, "ps", "--all-hosts", "--json", env=env)
        assert result.code == 3 and b"berth: dead: " in result.err, result.err
        document = result.json()
        fits(document, "ps.json")
        assert [(c["name"], c["host"]) for c in document["containers"]] == [
            ("a", "one"), ("b", "two"), ("same", "one"), ("same", "two")], document["containers"]
        assert all(c["cpu_percent"] is not None for c in document["containers"])
        assert [(h["name"], h["listed"]) for h in document["hosts"]] == [("one", True), ("two", True), ("dead", False)]
        table = berth(*options, "ps", "--all-hosts", "--filter", "host=two", env=env)
        assert b"HOST" in table.out and b"two" in table.out and b"one" not in table.out, table.out
        assert b"HOST" not in berth(*options, "ps", env=env).out
        lines = berth(*options, "stats", "--all-hosts", "--no-stream", env=env)
        assert lines.out.count(b"two") == 2, lines.out


@case_of_patience
def hosts_that_hang_keep_nobody():
    with hosts(one=boxes("a"), two={**boxes("b"), "faults": [{"match": ".", "do": "hang"}]}) as (_, options, env):
        result = berth(*options, "ps", "--all-hosts", "--format", "{{.Name}} {{.Host}}", env=env)
        assert (result.code, result.out) == (3, b"a one\n"), (result.code, result.out, result.err)
        assert b"berth: two: " in result.err


@case
def hosts_that_lie_do_so_of_themselves():
    """It says that it is the other one, with its very containers, and what is no answer at all."""
    one = {"containers": [{"name": "a", "id": "11" * 32}]}
    liar = {"containers": [{"name": "a", "id": "11" * 32, "state": "paused"}], "id": "FAKE:ENGN:0001"}
    with hosts(one=one, two=liar, three={**boxes("c"), "faults": [{"match": "containers/json", "do": "garble"}]}) as (_, options, env):
        document = berth(*options, "ps", "--all-hosts", "--all", "--json", env=env).json()
        assert [(c["host"], c["state"]) for c in document["containers"]] == [("one", "running"), ("two", "paused")], document
        ids = [h["id"] for h in berth(*options, "host", "list", "--json", env=env).json()["hosts"]]
        assert len(set(ids)) == 3 and ids[1] == "@two/" + ids[0], ids


@case
def hosts_that_lie_while_the_one_they_mean_is_away():
    """Its id, its agent's container with labels and all: these are rows of the liar, before that one is back and after."""
    live = {"name": "berth-live", "id": LIVE, "labels": {"berth.agent": "live", "berth.role": "agent", "berth.session": "5e55"}}
    with hosts(one={"containers": [live]}, two={"containers": [{**live, "state": "paused"}], "id": "FAKE:ENGN:0001"}) as (fakes, options, env):
        brought_up(env)
        fakes["one"].stop()
        shown = berth(*options, "ps", "--all-hosts", "--all", "--json", env=env)
        assert shown.code == 3 and [(c["host"], c["state"]) for c in shown.json()["containers"]] == [("two", "paused")], shown.out
        assert shown.json()["engine"]["id"] == "", shown.out
        ids = {h["name"]: h["id"] for h in berth(*options, "host", "list", "--json", env=env).json()["hosts"]}
        assert ids["two"].startswith("@two/FAKE:ENGN:0001/") and not ids["one"], ids
        assert berth(*options, "inspect", "berth-live", env=env).code == 3

        def restart():
            os.unlink(fakes["one"].path)
            fakes["one"].start()

        # No agent is there as long as its engine is away, and then it is in the state that this one tells.
        script("size 140 30\nwait berth-live\nexpect 1 of 2 hosts\nexpect paused\nkey 1\nwait No agent is up\n"
               "key 2\nwait berth-live\nkey S\nwait Stop 1 container\nexpect on two\nadvance 500\nkey y\nwait exited\ndump\n"
               "gone 1 of 2 hosts\nwait running\nkey 1\nwait live\n", options, env, ("1 of 2 hosts", restart))
        acts = {name: [r for r in fake.requests() if r.startswith("POST") and "/_fake" not in r] for name, fake in fakes.items()}
        assert len(acts["two"]) == 1 and "/stop" in acts["two"][0] and not acts["one"], acts
        log = [json.loads(line) for line in berth("audit", "list", "--json", env=env).out.splitlines()]
        assert {r["engine"].split("/")[0] for r in log if r.get("act") == "container.stop"} == {"@two"}, log


@case
def a_host_that_stands_in_for_the_engine_that_is_not_here():
    """Nobody named an engine and none is here: the first host is shown, and is not believed that it is the one whose agents are known."""
    live = {"name": "berth-live", "id": LIVE, "labels": {"berth.agent": "live", "berth.role": "agent", "berth.session": "5e55"}}
    here = [path for path in ("/var/run/docker.sock", "/run/podman/podman.sock") if os.path.exists(path)]
    if here:
        print(f"note not tried, for an engine is here ({here[0]}): a host that stands in for it")
        return
    with hosts(liar={"containers": [live], "id": "FAKE:ENGN:0001"}) as (_, options, env):
        env = {**env, "DOCKER_HOST": "", "DOCKER_CONTEXT": "", "DOCKER_CONFIG": env["XDG_STATE_HOME"], "XDG_RUNTIME_DIR": os.path.dirname(options[1])}
        record = brought_up(env)
        known = berth(*options, "host", "list", "--json", env=env).json()["hosts"]
        assert [(h["name"], h["id"].startswith("@liar/FAKE:ENGN:0001/")) for h in known] == [("liar", True)], known
        script("size 140 30\nwait berth-live\nkey 1\nwait No agent is up\nkey 5\nwait nothing of berth's to clean up\nkey 2\nwait berth-live\nkey S\nwait Stop 1\nadvance 500\nkey y\n"
               "wait exited\n", options, env)
        log = [json.loads(line) for line in berth("audit", "list", "--json", env=env).out.splitlines()]
        assert {r["engine"].split("/")[0] for r in log if r.get("act") == "container.stop"} == {"@liar"}, log
        assert os.path.exists(record)


@case
def alerts_are_of_the_one_that_was_named():
    """A host that gives its container the id of one here is not told of in its place."""
    one = {"containers": [{"name": "mark-b", "id": "33" * 32, "state": "paused"}]}
    liar = {"containers": [{"name": "mark-a", "id": "33" * 32, "state": "paused"}], "id": "FAKE:ENGN:0001"}
    with hosts(one=one, two=liar) as (fakes, options, env):
        told = os.path.join(env["XDG_STATE_HOME"], "told")
        os.makedirs(env["XDG_STATE_HOME"], mode=0o700)
        with open(options[1], "a", encoding="utf-8") as f:
            f.write(f"alerts:\n  - when: 'name ~ \"^mark\" and state = paused'\n    command: 'echo $BERTH_NAME >>{told}'\n")

        def written():
            wait_for(lambda: os.path.exists(told) and "mark-b" in open(told, encoding="utf-8").read(), "nothing was told")
            fakes["two"].stop()  # which ends the script

        script("size 140 30\nwait mark-a\nwait mark-b\nwait 2 hosts\ngone of 2 hosts\ndump\nwait 1 of 2 hosts\n", options, env, ("2 hosts", written))
        with open(told, encoding="utf-8") as f:
            assert f.read().split() == ["mark-b"]


@case
def console_shows_all_hosts():
    with hosts(one=boxes("alpha"), two=boxes("beta")) as (_, options, env):
        script("size 120 30\nwait beta\nwait alpha\nexpect 2 hosts\nexpect HOST\nkey /\ntype host = two\nkey Enter\n"
               "gone alpha\nexpect beta\nkey Escape\nwait alpha\nkey o\nwait two  host\nexpect one  host\nkey o\ngone two  host\n",
               options, env)


@case
def console_of_one_host_is_as_ever():
    with hosts(one=boxes("alpha"), two=boxes("beta")) as (_, options, env):
        script("size 120 30\nwait beta\nrefuse alpha\nrefuse HOST\nrefuse hosts\n", (*options, "-H", "two"), env)


@case
def console_acts_where_the_row_is():
    """Two containers of one id: what is done to one is asked of its own engine, and recorded for that."""
    twin = {"name": "twin", "id": "22" * 32}
    with hosts(("three",), one={"containers": [twin]}, two={"containers": [{**twin, "name": "other"}], "id": "FAKE:ENGN:0001"}, three=boxes("kept")) as (
            fakes, options, env):
        script("size 140 30\nwait twin\nwait other\nwait kept\nkey /\ntype ^other\nkey Enter\ngone twin\n"
               f"key N\ntype HUP\nkey Enter\nwait Send SIGHUP to other\nexpect {fakes['two'].path}\nkey Escape\n"
               "key S\nwait Stop 1 container\nexpect on two\nadvance 500\nkey y\n"
               "wait exited\nkey Escape\nwait twin\nkey /\ntype ^kept\nkey Enter\ngone twin\nkey S\nwait read-only\n", options, env)
        acts = {name: [r for r in fake.requests() if r.startswith("POST") and "/_fake" not in r] for name, fake in fakes.items()}
        assert len(acts["two"]) == 1 and "/stop" in acts["two"][0] and not acts["one"] and not acts["three"], acts
        log = [json.loads(line) for line in berth("audit", "list", "--json", env=env).out.splitlines()]
        done = [r for r in log if r.get("act") == "container.stop"]
        assert {(r["engine"].split("/")[0], r.get("outcome")) for r in done if r["phase"] != "intent"} == {
            ("@two", "ok")}, done


@case
def console_of_a_host_that_dies_and_comes_back():
    with hosts(one=boxes("alpha"), two=boxes("beta")) as (fakes, options, env):
        def restart():
            os.unlink(fakes["two"].path)
            fakes["two"].scenario = boxes("gamma")
            fakes["two"].start()

        # While one is lost the other's rows go on, and the lost one's stay, with their age.
        script("size 140 30\nwait alpha\nwait beta\nwait 2 hosts\ngone of 2 hosts\ndump\nwait 1 of 2 hosts\nexpect alpha\nexpect beta\n"
               "expect two (retry in\ndump\nwait gamma\ngone 1 of 2\nrefuse beta\n", options, env,
               ("2 hosts", fakes["two"].stop), ("1 of 2 hosts", restart))


@case
def console_of_a_host_that_stands_still():
    """Its connections stay, and nothing comes: it is lost within seconds, and the other is as ever."""
    with hosts(one=boxes("alpha"), two=boxes("beta")) as (fakes, options, env):
        def tell(sign):
            return lambda: fakes["two"].process.send_signal(sign)

        script("size 140 30\nwait beta\nwait 2 hosts\ngone of 2 hosts\ndump\nwait 1 of 2 hosts\nexpect alpha\ndump\ngone 1 of 2\nexpect 2 hosts\n",
               options, env, ("2 hosts", tell(signal.SIGSTOP)), ("1 of 2 hosts", tell(signal.SIGCONT)))


@case
def console_waits_for_nobody():
    """The first rows of the one that answers stand there while the others hang, and what is done there goes on."""
    with hosts(one=boxes("alpha"), two={**boxes("beta"), "faults": [{"match": ".", "do": "hang"}]}) as (fakes, options, env):
        script("size 140 30\nwait alpha\nexpect 1 of 2 hosts\nkey S\nwait Stop 1\nadvance 500\nkey y\nwait exited\nrefuse beta\n", options, env)
        assert any("/stop" in r for r in fakes["one"].requests())


def ended(*names):
    return {"containers": [{"name": name, "state": "exited"} for name in names]}


def deleted(fake):
    return [r for r in fake.requests() if r.startswith("DELETE")]


@case
def clean_of_all_hosts():
    with hosts(one=ended("a"), two=ended("b", "c")) as (fakes, options, env):
        words = (*options, "clean", "--all-hosts", "--foreign")
        plan = berth(*words, "--dry-run", "--json", env=env)
        assert plan.code == 0, plan.err
        fits(plan.json(), "clean_plans.json")
        assert [(h["host"], h["problem"], [i["name"] for i in h["plan"]["items"]]) for h in plan.json()["hosts"]] == [
            ("one", None, ["a"]), ("two", None, ["b", "c"])], plan.out
        asked = berth(*words, env=env)
        assert asked.code == 2 and b"3 to remove" in asked.out and b"nothing was done" in asked.err, (asked.out, asked.err)
        assert all(line.split()[0] in (b"one", b"two") for line in asked.out.splitlines() if b"container" in line), asked.out
        assert not deleted(fakes["one"]) and not deleted(fakes["two"])
        # The saved plan, of which one item is to stay.
        saved = plan.json()
        saved["hosts"][1]["plan"]["items"][1]["marked"] = False
        done = berth(*options, "clean", "--all-hosts", "--plan", saved_in(env, saved), "--json", env=env)
        assert done.code == 0, (done.out, done.err)
        fits(done.json(), "clean_hosts.json")
        assert [(h["host"], h["removed"], [(i["name"], i["outcome"]) for i in h["items"]]) for h in done.json()["hosts"]] == [
            ("one", 1, [("a", "removed")]), ("two", 1, [("b", "removed")])], done.out
        lines = berth(*words, "--yes", env=env)
        assert lines.code == 0 and b"removed  container c on two\n" in lines.out and b"1 removed" in lines.out, (lines.out, lines.err)
        log = [json.loads(line) for line in berth("audit", "list", "--json", env=env).out.splitlines()]
        assert {(r["name"], r["engine"].split("/")[0]) for r in log if r.get("act") == "container.remove"} == {
            ("a", "FAKE:ENGN:0001"), ("b", "@two"), ("c", "@two")}, log
        assert berth("audit", "verify", env=env).code == 0


@case
def clean_of_hosts_some_of_which_are_missing_or_read_only():
    with hosts(("dead", "two"), one=ended("a"), two=ended("b")) as (fakes, options, env):
        words = (*options, "clean", "--all-hosts", "--foreign")
        plan = berth(*words, "--dry-run", "--json", env=env)
        assert plan.code == 3 and b"berth: dead: " in plan.err, (plan.code, plan.err)
        fits(plan.json(), "clean_plans.json")
        shown = berth(*words, "--dry-run", env=env)
        assert shown.code == 3 and b"1 to remove" in shown.out and b"read-only: nothing is removed there" in shown.out, shown.out
        done = berth(*words, "--yes", "--json", env=env)
        fits(done.json(), "clean_hosts.json")
        by = {h["host"]: h for h in done.json()["hosts"]}
        assert (by["one"]["removed"], by["two"]["removed"], by["dead"]["plan"]) == (1, 0, None), by
        assert "read-only" in by["two"]["error"] and "no such socket" in by["dead"]["error"], by
        assert done.code == 4 and b"berth: two: " in done.err and b"berth: dead: " in done.err, (done.code, done.err)
        assert len(deleted(fakes["one"])) == 1 and not deleted(fakes["two"])
        assert berth(*options, "--read-only", *words[2:], "--yes", env=env).code == 4
        log = [json.loads(line) for line in berth("audit", "list", "--json", env=env).out.splitlines()]
        assert any(r.get("outcome") == "refused" and r["engine"].startswith("@two/") for r in log), log


def saved_in(env, document):
    """The path of that plan."""
    path = os.path.join(env["XDG_STATE_HOME"], "plan")
    os.makedirs(env["XDG_STATE_HOME"], mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(document if isinstance(document, str) else json.dumps(document))
    return path


@case
def clean_of_hosts_does_not_forget_those_the_plan_lacks():
    with hosts(("dead",), one=ended("a")) as (_, options, env):
        plan = berth(*options, "clean", "--all-hosts", "--foreign", "--dry-run", "--json", env=env).json()
        done = berth(*options, "clean", "--all-hosts", "--plan", saved_in(env, plan), "--json", env=env)
        by = {h["host"]: h for h in done.json()["hosts"]}
        assert done.code == 3 and by["one"]["removed"] == 1, (done.code, done.err)
        assert b"berth: dead: The plan was made without" in done.err and "without" in by["dead"]["error"], done.err


@case
def clean_of_hosts_asks_on_a_terminal():
    with hosts(("dead",), one=ended("a"), two=ended("b")) as (fakes, options, env):
        words = (*options, "clean", "--all-hosts", "--foreign")
        code, said = on_terminal(words, b"change nothing: ", b"\x03", env)
        assert code == 130 and b"cancelled: nothing was done" in said, (code, said)
        code, said = on_terminal(words, b"change nothing: ", b"\n", env)
        assert code == 3 and b"Nothing was done" in said, (code, said)
        assert not deleted(fakes["one"]) and not deleted(fakes["two"])
        code, said = on_terminal(words, b"change nothing: ", b"2\n", env)
        assert code == 3 and b"2 removed" in said and said.count(b"berth: dead: ") == 1, (code, said)


@case_of_patience
def clean_of_hosts_waits_for_none_that_hangs():
    """What is removed on one is removed before the one that hangs has been given up."""
    for seconds in (3, 15):  # for a busy machine
        with hosts(one=ended("a"), two={**ended("b"), "faults": [{"match": "DELETE", "do": "hang"}]},
                   three={**ended("c"), "faults": [{"match": ".", "do": "hang"}]}) as (_, options, env):
            done = berth(*options, "clean", "--all-hosts", "--foreign", "--yes", "--timeout", str(seconds), "--json", env=env)
            by = {h["host"]: h for h in done.json()["hosts"]}
            if by["one"].get("removed") == 1:
                break
    assert done.code == 1 and by["one"]["removed"] == 1 and by["two"]["failed"] == 1 and by["three"]["plan"] is None, (done.code, by, done.err)


@case_of_patience
def clean_of_hosts_locks_none_of_them_out():
    """Each has networks of ours, and takes its time to remove them: at the same time as the other."""
    def slow(number):
        def network(name):
            return {"name": name, "labels": made(name, session="network", engine=f"FAKE:ENGN:{number}/19bc47c8")}
        return {"containers": [], "networks": [network("berth-a"), network("berth-b")], "faults": [{"match": "DELETE", "do": "slow", "delay": 0.01}]}

    with hosts(one=slow("0001"), two=slow("0002")) as (_, options, env):
        env.pop("XDG_STATE_HOME")  # the key of made() is in the usual one
        done = berth(*options, "clean", "--all-hosts", "--yes", "--json", env=env)
        assert done.code == 0, (done.out, done.err)
        assert [(h["removed"], h["skipped"]) for h in done.json()["hosts"]] == [(2, 0), (2, 0)], done.out


@case
def clean_of_hosts_that_say_they_are_another():
    with hosts(one=ended("a"), two={**ended("b"), "id": "FAKE:ENGN:0001"}, three=ended("c")) as (fakes, options, env):
        done = berth(*options, "clean", "--all-hosts", "--foreign", "--yes", "--json", env=env)
        by = {h["host"]: h for h in done.json()["hosts"]}
        assert done.code == 1 and b"berth: two: It is the same engine as one, or a copy" in done.err, (done.code, done.err)
        assert (by["one"]["removed"], by["two"]["plan"], by["three"]["removed"]) == (1, None, 1), by
        assert not deleted(fakes["two"])


@case
def clean_of_other_hosts_leaves_files_here():
    """The engine that is meant is away, and another one has its id but not the agent's container."""
    with hosts(home="unix:///nonexistent/e.sock", two=boxes("b")) as (_, options, env):
        record = brought_up(env)
        done = berth(*options, "clean", "--all-hosts", "--yes", "--json", env=env)
        assert done.code == 3 and [h["items"] for h in done.json()["hosts"]] == [[], []], (done.code, done.out, done.err)
        assert os.path.exists(record)
        only = berth(*options, "-H", "two", "clean", "--dry-run", "--json", env=env)
        assert [(i["type"], i["name"]) for i in only.json()["items"]] == [("leftover", "berth-live")], only.out


@case
def clean_of_hosts_believes_none_that_says_it_is_one_that_is_away():
    """It has the agent's very container, not started yet, with its labels.  Where the engine was when the agent was brought up, it is not."""
    live = {"name": "berth-live", "id": LIVE, "state": "created", "labels": made("berth-live", "live")}
    away = "unix:///nonexistent/e.sock"
    for endpoint, removed, stays in ((away, 0, True), ("", 1, True), (None, 1, False)):
        with hosts(home=away, two={"containers": [live]}) as (fakes, options, env):
            state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
            os.makedirs(os.path.join(env["XDG_STATE_HOME"], "berth"), mode=0o700)
            shutil.copy(os.path.join(state, "berth/owner.key"), os.path.join(env["XDG_STATE_HOME"], "berth/owner.key"))  # of the labels
            record = brought_up(env, fakes["two"].url if endpoint is None else endpoint)
            done = berth(*options, "clean", "--all-hosts", "--yes", "--json", env=env)
            two = {h["host"]: h for h in done.json()["hosts"]}["two"]
            assert done.code != 0 and two.get("removed", 0) == removed == len(deleted(fakes["two"])), (endpoint, done.out, done.err)
            assert (b"It has the id of the engine at unix:///nonexistent/e.sock" in done.err) == (endpoint == away), (endpoint, done.err)
            assert os.path.exists(record) == stays, endpoint


@case
def clean_plans_of_hosts_are_not_trusted():
    with hosts(one=ended("a")) as (fakes, options, env):
        saved = berth(*options, "clean", "--all-hosts", "--foreign", "--dry-run", "--json", env=env).json()
        single = berth(*options, "clean", "--foreign", "--dry-run", "--json", env=env).json()
        for bad, word in (({**saved, "schema": "x"}, "schema"), ({**saved, "more": 1}, "unknown key"), ({**saved, "hosts": {}}, "list"),
                          ({**saved, "hosts": [1]}, "name"), ({**saved, "hosts": saved["hosts"] * 2}, "twice"),
                          ({**saved, "hosts": [{**saved["hosts"][0], "host": "nobody"}]}, "nobody"),
                          ({**saved, "hosts": [{**saved["hosts"][0], "plan": {}}]}, "schema"),
                          ({**saved, "hosts": [{**saved["hosts"][0], "plan": {**single, "plan": "\x1b]52;c;eA==\x07"}}]}, "8 hex digits"),
                          (single, "clean_plans/1"), ("\x00", "plan")):
            berth(*options, "clean", "--all-hosts", "--plan", saved_in(env, bad), env=env).fails_with(2, word)
        assert not deleted(fakes["one"])


if __name__ == "__main__":
    main()
