#!/usr/bin/env python3
"""mcp_resources.py - `berth mcp` without an engine: resources, who listens to them, tasks, and what a person is asked."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, PATIENCE, Client, case, main  # noqa: E402
from person import Person  # noqa: E402
from scenario import Fake  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
os.environ["XDG_DATA_HOME"] = os.path.join(os.getcwd(), "data")
os.environ["DOCKER_HOST"] = f"unix://{os.getcwd()}/none.sock"
TASKS = "io.modelcontextprotocol/tasks"
KNOWS = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}}}
LISTEN = "io.modelcontextprotocol/subscriptionId"
NAMES = ("journal", "limits", "network", "workspace")
subprocess.run([BERTH, "workspace", "create", "task", "fix"], check=True, stdout=subprocess.DEVNULL)
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"agents:\n  one: {{image: 'box:1', workspace: {os.getcwd()}/data/berth/workspaces/tasks/fix, memory: 64m, forks: 1}}\n")
os.chmod("team.yaml", 0o644)


def uri(name):
    return f"berth://agent/one/{name}"


def note(c, method):
    """The next notification of that method."""
    with c.news:
        assert c.news.wait_for(lambda: [x for x in c.notes if x["method"] == method], PATIENCE), (method, c.notes)
        found = [x for x in c.notes if x["method"] == method][0]
        c.notes.remove(found)
    return found["params"]


def read(c, name):
    got = c.ask("resources/read", uri=uri(name))["result"]["contents"]
    assert len(got) == 1 and got[0]["uri"] == uri(name) and got[0]["mimeType"] == "application/json", got
    return json.loads(got[0]["text"])


@case("resources are listed and read, in both eras")
def _():
    for era in ("old", "new"):
        with Client("team.yaml", era=era) as c:
            got = c.ask("resources/list")["result"]
            assert [r["uri"] for r in got["resources"]] == [uri(n) for n in NAMES], got
            assert ("ttlMs" in got) == (era == "new"), got
            assert c.ask("resources/templates/list")["result"]["resourceTemplates"][0]["uriTemplate"] == uri("{what}")
            assert read(c, "journal") == {"commands": []}
            assert read(c, "network") == {"network": "none"}
            assert read(c, "workspace")["name"] == "fix"
            limits = {x["what"]: x for x in read(c, "limits")["limits"]}
            assert limits["memory_bytes"]["asked"] == 64 << 20 and limits["memory_bytes"]["enforced"] is None, limits
            assert limits["workspace_files"]["used"] > 0, limits
            for bad in ("berth://agent/two/journal", "file:///etc/passwd", "", uri("")):
                error = c.ask("resources/read", uri=bad)["error"]
                assert error["code"] == (-32002 if era == "old" else -32602) and error["data"]["uri"] == bad, error
            assert c.ask("resources/read")["error"]["code"] == -32602


@case("limits: what is asked for, in force and used, and why there is no usage of the others")
def _():
    settings = {"NanoCpus": 5 * 10**8, "Tmpfs": {"/tmp": "rw,nosuid,nodev,size=16777216,nr_inodes=64,exec,mode=1777"},
                "Ulimits": [{"Name": "nofile", "Soft": 512, "Hard": 1024}, {"Name": "RLIMIT_FSIZE", "Soft": 5, "Hard": 4 << 30}]}
    box = {"name": "berth-one", "memory": 8 << 20, "limit": 64 << 20, "pids": 3, "pids_limit": 100, "inspect": [{"HostConfig": settings}]}
    rows = ["memory_bytes", "cpus", "pids", "tmp_bytes", "file_bytes", "open_files", "command_timeout_s"]
    with Fake(containers=[box, {"name": "berth-one-2", "limit": 7}]) as fake, Client("team.yaml", "-H", fake.url) as c:
        got = c.call("limits")
        limits = {x.pop("what"): x for x in got["limits"]}
        assert got["up"] and not got["note"] and list(limits) == [*rows, "workspace_bytes", "workspace_files"], got
        assert limits["memory_bytes"] == {"asked": 64 << 20, "enforced": 64 << 20, "used": 8 << 20}, limits
        assert limits["pids"].items() >= {"enforced": 100, "used": 3}.items(), limits
        assert limits["cpus"]["enforced"] == 0.5 and limits["cpus"]["used"] is not None, limits
        assert [limits[row]["enforced"] for row in rows[3:]] == [16 << 20, 4 << 30, 1024, 60], limits
        assert all(limits[row]["note"] and "used" not in limits[row] for row in rows[3:]), limits
        assert limits["command_timeout_s"]["asked"] is None and all(limits[row]["asked"] for row in rows[:6]), limits
        assert limits["workspace_files"]["used"] > 0, limits
        quota = {"HostConfig": {"NanoCpus": 0, "CpuQuota": 150000, "CpuPeriod": 100000, "Ulimits": None, "Tmpfs": {"/tmp": "size=none"}}}
        fake.door("set", {"containers": [{**box, "inspect": [quota]}]})
        limits = {x["what"]: x for x in c.call("limits")["limits"]}
        assert limits["cpus"]["enforced"] == 1.5 and all(limits[row]["enforced"] is None for row in rows[3:6]), limits


def change():
    subprocess.run([BERTH, "workspace", "checkpoint", "fix"], check=True, stdout=subprocess.DEVNULL)


@case("a session subscribes, is told, and subscribes no more")
def _():
    with Client("team.yaml") as c:
        assert c.ask("resources/subscribe", uri=uri("none"))["error"]["code"] == -32002
        assert c.ask("resources/subscribe", uri=uri("workspace"))["result"] == {}
        # The first look is what later ones are compared with, and nobody says when it was.
        until = time.monotonic() + PATIENCE
        while not c.notes:
            assert time.monotonic() < until
            change()
            time.sleep(0.3)
        assert note(c, "notifications/resources/updated") == {"uri": uri("workspace")}
        assert c.ask("resources/unsubscribe", uri=uri("workspace"))["result"] == {}


@case("a request listens until it is cancelled")
def _():
    with Client("team.yaml", era="new") as c:
        assert c.ask("resources/subscribe", uri=uri("workspace"))["error"]["code"] == -32601
        assert c.ask("subscriptions/listen")["error"]["code"] == -32602
        n = c.begin("subscriptions/listen",
                    notifications={"resourceSubscriptions": [uri("workspace"), "x:/none", 7], "toolsListChanged": True})
        got = note(c, "notifications/subscriptions/acknowledged")
        assert got["notifications"] == {"resourceSubscriptions": [uri("workspace")]} and got["_meta"][LISTEN] == n, got
        until = time.monotonic() + PATIENCE
        while not c.notes:
            assert time.monotonic() < until
            change()
            time.sleep(0.3)
        got = note(c, "notifications/resources/updated")
        assert got["uri"] == uri("workspace") and got["_meta"][LISTEN] == n, got
        c.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n, "_meta": c.meta()}})
        m = c.begin("subscriptions/listen", notifications={})
        assert note(c, "notifications/subscriptions/acknowledged")["notifications"] == {}
    assert n not in c.answers and c.answers[m]["result"]["_meta"][LISTEN] == m, c.answers


@case("tasks are for those who know them")
def _():
    with Client("team.yaml", era="new") as c:
        assert TASKS in c.ask("server/discover")["result"]["capabilities"]["extensions"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            error = c.ask(method, taskId="none")["error"]
            assert error["code"] == -32021 and TASKS in error["data"]["requiredCapabilities"]["extensions"], error
            assert c.ask(method, KNOWS, taskId="none")["error"]["code"] == -32602
        assert c.ask("subscriptions/listen", notifications={"taskIds": ["x"]})["error"]["code"] == -32021
        assert c.ask("tools/call", KNOWS, name="list_allowed_directories")["result"]["resultType"] == "complete"
    with Client("team.yaml") as c:
        assert c.ask("tasks/get", taskId="none")["error"]["code"] == -32601


@case("progress is told of a call that comes when all was quiet for long")
def _():
    with Client("team.yaml") as c:
        for token in ("a", "b", "c"):
            n = c.begin("tools/call", {"progressToken": token}, name="limits")
            c.wait(n)
        with Person(BERTH):
            n = c.begin("tools/call", {"progressToken": "last"}, name="fork", arguments={"count": 2})
            # Where the machine is slow the calls before took long enough to be told of, too.
            while note(c, "notifications/progress")["progressToken"] != "last":
                pass
            c.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n}})


@case("more forks than the file allows: a person is asked, and says no, and yes")
def _():
    with Client("team.yaml", era="new") as c:
        assert len(c.call("fork", count=1)["forks"]) == 1
        assert "console" in c.fails("fork", count=1)
        with Person(BERTH) as p:
            n = c.begin("tools/call", KNOWS, name="fork", arguments={"count": 2, "reason": "to \x1b[31mtry"})
            task = c.wait(n)["result"]
            assert task["resultType"] == "task" and task["status"] == "working" and "result" not in task, task
            # The client is never asked, and what it answers all the same decides nothing.
            for answer in ({}, {"action": "accept", "content": {"allow": True}}):
                assert c.ask("tasks/update", KNOWS, taskId=task["taskId"], inputResponses={"x": answer})["result"]["resultType"] == "complete"
                got = c.ask("tasks/get", KNOWS, taskId=task["taskId"])["result"]
                assert got["status"] == "working" and "person" in got["statusMessage"] and "inputRequests" not in got, got
            m = c.begin("subscriptions/listen", KNOWS, notifications={"taskIds": [task["taskId"], "none"]})
            assert note(c, "notifications/subscriptions/acknowledged")["notifications"] == {"taskIds": [task["taskId"]]}
            p.see("one asks: fork tasks/fix into 2")
            p.type("4")
            p.see("asks you")
            p.type("C")
            p.confirm("Stop the job")
            got = note(c, "notifications/tasks")
            assert got["status"] == "completed" and got["result"]["isError"] and got["_meta"][LISTEN] == m, got
            assert "refused" in got["result"]["content"][0]["text"], got
            got.pop("_meta")
            again = c.ask("tasks/get", KNOWS, taskId=task["taskId"])["result"]
            assert again.items() >= got.items(), (again, got)
            n = c.begin("tools/call", name="fork", arguments={"count": 2})
            p.see("asks you")
            p.type("Home", "Y")
            p.confirm("Allow: fork tasks/fix into 2")
            assert len(c.wait(n)["result"]["structuredContent"]["forks"]) == 2
            n = c.begin("tools/call", KNOWS, name="fork", arguments={"count": 3})
            task = c.wait(n)["result"]["taskId"]
            assert c.ask("tasks/cancel", KNOWS, taskId=task)["result"]["resultType"] == "complete"
            until = time.monotonic() + PATIENCE
            while c.ask("tasks/get", KNOWS, taskId=task)["result"]["status"] != "cancelled":
                assert time.monotonic() < until
    out = subprocess.run([BERTH, "audit", "list", "--json", "--act", "job.allow"], capture_output=True, text=True, check=True).stdout
    assert out.count('"asked_by"') >= 1 and "fork tasks/fix into 2" in out, out


main()
