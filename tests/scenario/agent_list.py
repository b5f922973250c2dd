#!/usr/bin/python3
"""agent_list.py - `berth agent list`: every agent, its state, and why it needs attention in the words of the console."""
import json
import os
import subprocess

from scenario import HOSTILE, Fake, berth, case, case_of_patience, main, made, neutral

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def agent(name, **more):
    return {"name": "berth-" + name, "labels": made("berth-" + name, name), **more}


def listed(*args, fake, code=0):
    result = berth(*args, "agent", "list", "--json", fake=fake)
    assert result.code == code, result.err
    subprocess.run(["/usr/bin/python3", f"{TESTS}/lib/schema.py", f"{TESTS}/data/schema/agents.json"], input=result.out, check=True)
    document = result.json()
    assert document["complete"], document
    return {a["id"]: a for a in document["agents"]}


@case
def agents_and_their_needs():
    boxes = [agent("a"), agent("b", state="exited", exit=3), agent("c", health="unhealthy"), agent("d", memory=97 << 20, limit=100 << 20),
             agent("e", state="exited", exit=137, oom=True), {"name": "web"}]
    with Fake(containers=boxes) as fake:
        by = listed(fake=fake)
        assert {i: (a["state"], a["attention"]) for i, a in by.items()} == {
            "a": ("up", None), "b": ("stopped", "stopped, exit 3"), "c": ("up", "unhealthy"), "d": ("up", "memory at 97 % of its limit"),
            "e": ("stopped", "ended: out of memory")}, by
        assert by["a"]["path"] == "engine" and by["b"]["path"] is None, by
        assert by["a"]["attention_since"] is None and by["b"]["attention_since"], by
        table = berth("agent", "list", fake=fake)
        assert table.code == 0 and table.err == b"", table.err
        rows = {line.split()[0]: line for line in table.out.decode().splitlines()}
        assert rows["AGENT"].split() == ["AGENT", "STATE", "PATH", "SINCE", "ATTENTION"], rows
        assert rows["a"].split()[1:] == ["up", "engine", "-", "-"] and rows["b"].split()[2] == "-" and "2h00m  stopped, exit 3" in rows["b"], rows
        assert not [r for r in fake.requests() if r.startswith(("POST", "DELETE", "PUT"))], fake.requests()


@case
def agents_of_a_file():
    with open("team.yaml", "w", encoding="utf-8") as f:
        f.write("agents:\n  a: {image: 'box:1', workspace: ./ws}\n  z: {image: 'box:1', workspace: ./ws2}\n")
    os.chmod("team.yaml", 0o600)
    for name in ("ws", "ws2"):
        os.makedirs(name, exist_ok=True)
    with Fake(containers=[agent("a")]) as fake:
        by = listed("-c", "team.yaml", fake=fake)
        assert by["a"]["state"] == "up" and by["z"]["state"] == "down" and by["z"]["attention"] is None, by
    berth("agent", "list", env={"DOCKER_HOST": "unix:///nonexistent/no.sock"}).fails_with(3, "no.sock")


@case
def names_are_neutral():
    boxes = [{"name": f"x{n}", "labels": made(f"x{n}", name)} for n, name in enumerate(HOSTILE)]
    with Fake(containers=[*boxes, *({"name": f"y{n}", "labels": {"berth.agent": name, "berth.role": "agent"}} for n, name in enumerate(HOSTILE))]) as fake:
        neutral(berth("agent", "list", fake=fake).out)
        json.loads(berth("agent", "list", "--json", fake=fake).out)


@case_of_patience
def what_is_not_known_in_time():
    with Fake(containers=[agent("a")], faults=[{"match": "[0-9a-f]{64}/json", "do": "hang"}]) as fake:
        result = berth("agent", "list", "--json", fake=fake)
        assert result.code == 0 and not result.json()["complete"], (result.out, result.err)


main()
