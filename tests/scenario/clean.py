#!/usr/bin/python3
"""clean.py - `berth clean` against an engine that changes its mind, fails and goes away."""
import json
import os
import re
import signal
import subprocess
import sys

from scenario import BERTH, HOSTILE, Fake, berth, case, main, neutral, on_terminal, wait_for

AUDIT = os.path.join(os.environ.get("XDG_STATE_HOME", os.path.expanduser("~/.local/state")), "berth/audit")


def fits(schema, document):
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    done = subprocess.run([sys.executable, f"{tests}/lib/schema.py", f"{tests}/data/schema/{schema}.json"],
                          input=json.dumps(document), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def ended(*names, **more):
    return [{"name": name, "state": "exited", **more} for name in names]


def deletes(fake):
    return [r for r in fake.requests() if r.startswith("DELETE")]


def clean(fake, *args, code=0):
    result = berth("clean", *args, fake=fake)
    assert result.code == code, (result.code, result.out, result.err)
    return result


def plan_of(fake):
    document = clean(fake, "--foreign", "--dry-run", "--json").json()
    fits("clean_plan", document)
    return document


def carry_out(fake, plan, code=0, *args):
    path = os.path.join(fake.dir, "plan.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(plan, f)
    document = clean(fake, "--plan", path, "--json", *args, code=code).json()
    fits("clean", document)
    return document, {i["name"]: i["outcome"] for i in document["items"]}


@case
def clean_says_the_plan_and_does_nothing():
    with Fake(containers=ended("a", "b") + [{"name": "c"}]) as fake:
        result = clean(fake, "--foreign", code=2)
        assert b"nothing was done" in result.err and b"2 to remove" in result.out, result.out
        clean(fake, "--foreign", "--dry-run")
        clean(fake, "--foreign", "--json", code=2)
        # Without --foreign these are nobody's business.
        assert b"nothing of berth's" in clean(fake).out
        assert not deletes(fake), deletes(fake)


@case
def clean_yes():
    """The fake refuses a removal whose intent is not on disk."""
    with Fake(containers=ended("a", "b") + [{"name": "c"}], audit=AUDIT) as fake:
        document = clean(fake, "--foreign", "--yes", "--json").json()
        fits("clean", document)
        assert document["removed"] == 2 and not document["error"], document
        assert len(deletes(fake)) == 2
        assert [c["name"] for c in berth("ps", "--json", "--all", fake=fake).json()["containers"]] == ["c"]
        assert b"nothing to clean up" in clean(fake, "--foreign", "--yes").out


@case
def clean_changed_between_plan_and_run():
    with Fake(containers=ended("same", "started", "gone")) as fake:
        plan = plan_of(fake)
        ids = {i["name"]: i["id"] for i in plan["items"]}
        # What became a candidate later is not in the plan, and another container of a listed name is another.
        fake.door("set", {"containers": [
            {"name": "same", "state": "exited", "id": ids["same"]}, {"name": "started", "id": ids["started"]},
            {"name": "gone", "state": "exited", "id": "ab" * 32}, {"name": "later", "state": "exited"}]})
        document, ends = carry_out(fake, plan)
        assert ends == {"same": "removed", "started": "skipped", "gone": "gone"}, ends
        assert (document["removed"], document["gone"], document["skipped"]) == (1, 1, 1), document
        assert len(deletes(fake)) == 1 and ids["same"] in deletes(fake)[0], deletes(fake)
        # And again: what is gone is gone.
        document, ends = carry_out(fake, plan)
        assert ends["same"] == "gone", ends
        assert (document["removed"], document["gone"]) == (0, 2), document


@case
def clean_only_what_is_marked():
    with Fake(containers=ended("a", "b", "c")) as fake:
        plan = plan_of(fake)
        for item in plan["items"]:
            item["marked"] = item["name"] == "b"
        document, _ = carry_out(fake, plan)
        assert document["removed"] == 1 and len(deletes(fake)) == 1


@case
def clean_engine_refuses():
    for status, outcome, code in ((404, "gone", 0), (409, "skipped", 0), (500, "failed", 1)):
        with Fake(containers=ended("a", "b")) as fake:
            plan = plan_of(fake)
            bad = next(i["id"] for i in plan["items"] if i["name"] == "a")
            fake.door("set", {"faults": [{"match": f"DELETE .*{bad}", "do": "status", "status": status}]})
            document, ends = carry_out(fake, plan, code)
            assert ends == {"a": outcome, "b": "removed"}, (status, ends)
            assert bool(document["error"]) == bool(code), document


@case
def clean_engine_lost():
    """From the second removal on nobody answers: what was not begun is left, and said to be."""
    with Fake(containers=ended(*(f"c{n}" for n in range(40)))) as fake:
        plan = plan_of(fake)
        fake.door("set", {"faults": [{"match": "DELETE", "do": "reset", "after": 1},
                                     {"match": "filters", "do": "reset", "after": 20}]})
        document, ends = carry_out(fake, plan, 3)
        assert document["removed"] >= 1 and document["failed"] >= 1, document
        assert document["kept"] > 0 and document["removed"] + document["failed"] + document["kept"] == 40, document
        fake.door("set", {"faults": []})
        document, ends = carry_out(fake, plan)
        assert document["removed"] + document["gone"] == 40, document


@case
def clean_engine_drips():
    """Each answer would come, in an hour; all of the plan has a limit, and what it left is named."""
    # A busy machine needs longer for the two that are answered at once.
    for seconds in (1, 5, 25):
        if engine_drips(seconds):
            return
    raise AssertionError("fewer than two are removed within 25 s")


def engine_drips(seconds):
    with Fake(containers=ended(*(f"c{n}" for n in range(20))), audit=AUDIT) as fake:
        plan = plan_of(fake)
        fake.door("set", {"faults": [{"match": "DELETE", "do": "slow", "delay": 10, "after": 2}]})
        document, ends = carry_out(fake, plan, 1, "--timeout", str(seconds))
        if document["removed"] < 2:
            return False
        assert "took too long" in document["error"], document["error"]
        assert document["removed"] == 2 and document["failed"] >= 1, document
        assert document["removed"] + document["failed"] + document["kept"] == 20, document
        assert set(ends.values()) == {"removed", "failed", "kept"}, ends
        fake.door("set", {"faults": []})
        _, ends = carry_out(fake, plan)
        assert set(ends.values()) <= {"removed", "gone"}, ends
    return True


def interrupt(fake, plan, request, times):
    """Carry the plan out, C-c once the engine was asked for `request` so often: the document, and how each ended."""
    path = os.path.join(fake.dir, "plan.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(plan, f)
    run = subprocess.Popen([BERTH, "-H", fake.url, "clean", "--plan", path, "--json"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    wait_for(lambda: sum(request in r for r in fake.requests()) >= times, "the engine was not asked so often")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 1 and b"cancelled" in err, (run.returncode, err)
    document = json.loads(out)
    fits("clean", document)
    return document, {i["name"]: i["outcome"] for i in document["items"]}


@case
def clean_cancelled_while_the_engine_hangs():
    with Fake(containers=ended(*(f"c{n}" for n in range(20)))) as fake:
        plan = plan_of(fake)
        fake.door("set", {"faults": [{"match": "DELETE", "do": "hang", "after": 2}]})
        # Eight at once: a ninth is asked for when one has ended.
        document, ends = interrupt(fake, plan, "DELETE", 9)
        # Not given up, as a call alone is after half a minute and more.
        told = {i["message"] for i in document["items"] if i["outcome"] == "failed"}
        assert told and all(text.startswith("Stopped waiting for the engine's answer") for text in told), told
        assert document["removed"] + document["failed"] + document["kept"] == 20, document
        assert document["kept"] and set(ends.values()) == {"removed", "failed", "kept"}, ends


@case
def clean_engine_talks_nonsense():
    with Fake(containers=ended("a")) as fake:
        for body in ("", "null", "[1, {}, {\"Id\": 5}]", "{\"Volumes\": 5}", "[{\"Id\": \"" + "a" * 64 + "\", \"Names\": 7, \"Mounts\": [1]}]"):
            for match in ("containers/json", "networks", "volumes", "images/json", "system/df"):
                fake.door("set", {"faults": [{"match": match, "do": "body", "body": body}], "containers": ended("a")})
                result = berth("clean", "--foreign", "--yes", fake=fake)
                assert result.code in (0, 1), (match, body, result.code, result.err)
                neutral(result.out + result.err)


@case
def clean_another_engine():
    with Fake(containers=ended("a"), id="ONE") as one, Fake(containers=ended("a"), id="TWO") as two:
        path = os.path.join(one.dir, "plan.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(plan_of(one), f)
        result = clean(two, "--plan", path, code=1)
        assert b"a different one" in result.err, result.err
        assert not deletes(two)


@case
def clean_hostile_names():
    with Fake(containers=ended(*HOSTILE)) as fake:
        shown = clean(fake, "--foreign", "--dry-run", "--json")
        neutral(shown.out)
        document = shown.json()
        fits("clean_plan", document)
        assert len(document["items"]) == len(HOSTILE)
        for item in document["items"]:
            item["marked"] = False
        assert carry_out(fake, document)[0]["removed"] == 0
        result = clean(fake, "--foreign", "--yes")
        neutral(result.out)
        assert b"%d removed" % len(HOSTILE) in result.out, result.out


@case
def clean_asks_on_a_terminal():
    with Fake(containers=ended("a", "b")) as fake:
        for answer in (b"\n", b"y\n", b"1\n", b"22\n", b"\x04"):
            code, said = on_terminal(("-H", fake.url, "clean", "--foreign"), b"change nothing: ", answer)
            assert code == 0 and b"Nothing was done" in said, (answer, code, said)
        assert not deletes(fake)
        code, said = on_terminal(("-H", fake.url, "clean", "--foreign"), b"change nothing: ", b"2\n")
        assert code == 0 and b"2 removed" in said, (code, said)
        assert len(deletes(fake)) == 2


@case
def clean_wrong_usage():
    with Fake(containers=ended("a")) as fake:
        berth("clean", "--yes", "--dry-run", fake=fake).fails_with(2, "one of")
        berth("clean", "--foreign", "--plan", "x", fake=fake).fails_with(2, "--foreign")
        berth("clean", "--plan", "/nonexistent", fake=fake).fails_with(2, "/nonexistent")
        berth("clean", "--plan", "/dev/null", fake=fake).fails_with(2, "not a regular file")
        with open(os.path.join(fake.dir, "empty"), "w", encoding="utf-8"):
            pass
        berth("clean", "--plan", os.path.join(fake.dir, "empty"), fake=fake).fails_with(2, "not a clean-up plan")
        berth("clean", "--plan", "/", fake=fake).fails_with(2, "cannot be read")
        result = berth("--read-only", "clean", "--foreign", "--yes", fake=fake)
        assert result.code == 4 and b"read-only" in result.err.lower(), result.err
        assert not deletes(fake)
    berth("-H", "unix:///nonexistent/e.sock", "clean").fails_with(3)


@case
def clean_policy():
    """What is protected is shown, and kept, also by a plan that was made before."""
    with Fake(containers=ended("db-1", "tmp-1")) as fake:
        plan = plan_of(fake)
        settings = os.path.join(fake.dir, "berth.yaml")
        with open(settings, "w", encoding="utf-8") as f:
            f.write("protected: {names: ['db-*']}\n")
        path = os.path.join(fake.dir, "plan.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(plan, f)
        shown = berth("--settings", settings, "clean", "--foreign", "--dry-run", fake=fake).out
        assert re.search(rb"keep +container db-1 .*protected", shown), shown
        result = berth("--settings", settings, "clean", "--plan", path, "--json", fake=fake)
        assert result.code == 4, (result.code, result.err)
        assert {i["name"]: i["outcome"] for i in result.json()["items"]} == {"db-1": "refused", "tmp-1": "removed"}


@case
def clean_linked():
    """The target of a link has the alias first among its names: it is protected by its own."""
    with Fake(containers=ended("db-1", names=["/api/db", "/db-1"]) + ended("tmp-1", names=["/api/db-2", "/tmp-1"])) as fake:
        settings = os.path.join(fake.dir, "berth.yaml")
        with open(settings, "w", encoding="utf-8") as f:
            f.write("protected: {names: ['db-*']}\n")
        result = berth("--settings", settings, "clean", "--foreign", "--yes", "--json", fake=fake)
        assert result.code == 0, (result.code, result.err)
        assert {i["name"]: i["outcome"] for i in result.json()["items"]} == {"tmp-1": "removed"}, result.out
        assert len(deletes(fake)) == 1, deletes(fake)


main()
