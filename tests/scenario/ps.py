#!/usr/bin/python3
"""ps.py - `berth ps` against engines that are old, new, slow, broken and hostile."""
import json
import os
import random

from scenario import HOSTILE, Fake, berth, case, case_of_patience, main, neutral, ps


@case
def ps_lists():
    with Fake(containers=[{"name": "one", "cpu": 40, "memory": 64 << 20, "labels": {"berth.agent": "a", "berth.role": "agent"}},
                          {"name": "two", "state": "exited", "exit": 137, "oom": True}]) as fake:
        one, two = ps(fake)["containers"]
        assert (one["name"], one["agent"], one["role"], one["state"]) == ("one", "a", "agent", "running")
        assert one["memory_bytes"] == 64 << 20, one
        assert abs(one["cpu_percent"] - 40) < 8, one
        assert one["memory_limit_bytes"] is None
        assert (two["state"], two["exit_code"], two["oom_killed"], two["cpu_percent"]) == ("exited", 137, True, None)
        table = berth("ps", fake=fake)
        assert table.code == 0 and b"one" in table.out and b"two" not in table.out, table.out
        assert b"two" in berth("ps", "--all", fake=fake).out


@case
def ps_negotiates_versions():
    for version, api, floor, cgroup in (("20.10.24", "1.41", "1.12", 1), ("24.0.7", "1.43", "1.12", 2), ("25.0.3", "1.44", "1.24", 2),
                                        ("28.2.2", "1.50", "1.24", 2), ("29.1.0", "1.52", "1.44", 2), ("29.6.0", "1.56", "1.40", 2)):
        with Fake(version=version, api=api, min_api=floor, cgroup=cgroup) as fake:
            document = ps(fake)
            assert len(document["containers"]) == 3
            assert document["engine"]["version"] == version
            assert all(c["memory_bytes"] for c in document["containers"]), document
            used = {tuple(map(int, r.split("/v")[1].split("/")[0].split("."))) for r in fake.requests() if "/v1." in r}
            assert used, fake.requests()
            low, high = (tuple(map(int, v.split("."))) for v in (floor, api))
            assert all(max(low, (1, 41)) <= v <= high for v in used), (version, used)


@case
def ps_refuses_too_old():
    with Fake(version="19.03.0", api="1.40") as fake:
        result = berth("ps", fake=fake)
        assert result.code in (1, 3), result.code
        result.fails_with(result.code, "1.40", "1.41")


@case
def ps_speaks_to_podman():
    with Fake(version="4.3.1", api="1.41", product="podman") as fake:
        document = ps(fake)
        assert document["engine"]["product"] == "podman"
        assert len(document["containers"]) == 3
        # podman 4.3 answers 400 to one-shot together with stream
        assert not any("one-shot" in r and "stream=true" in r for r in fake.requests())


@case
def ps_is_logged():
    with Fake(containers=[{"name": h, "env": ["NAME=hidden-value"]} for h in HOSTILE]) as fake:
        log = os.path.join(fake.dir, "log")
        assert berth("ps", "--json", fake=fake, env={"BERTH_LOG": log + ":engine"}).code == 0
        assert os.stat(log).st_mode & 0o7777 == 0o600
        with open(log, "rb") as f:
            lines = f.read()
        assert b" engine > GET /v1." in lines and b" engine < 200 GET /v1." in lines, lines
        assert b" commands " not in lines
        assert all(0x20 <= b < 0x7f or b == 10 for b in lines)
        assert b"hidden-value" not in lines
        os.unlink(log)
        assert berth("ps", fake=fake).code == 0
        assert not os.path.exists(log)
        berth("ps", fake=fake, env={"BERTH_LOG": log + ":cellar"}).fails_with(2, "cellar", "engine, lane")
        os.symlink("/dev/null", log)
        berth("ps", fake=fake, env={"BERTH_LOG": log}).fails_with(2, log, "link")


@case
def ps_engine_absent():
    berth("-H", "unix:///nonexistent/e.sock", "ps").fails_with(3, "/nonexistent/e.sock")
    berth("ps", env={"DOCKER_HOST": "unix:///nonexistent/d.sock"}).fails_with(3, "/nonexistent/d.sock", "DOCKER_HOST")
    berth("-H", "tcp://127.0.0.1:1", "ps").fails_with(3, "127.0.0.1")


@case
def ps_wrong_usage():
    berth("ps", "--jsno").fails_with(2, "--json")
    berth("pss").fails_with(2, "ps")
    berth("-H", "ssh://-oHost", "ps").fails_with(2, "ssh")


@case
def ps_faults_of_the_list():
    """Whatever the list is replaced by: a sentence, an exit code, in bounded time."""
    path = r"GET .*/containers/json"
    for fault in ({"do": "reset"}, {"do": "cut"}, {"do": "cut", "bytes": 0}, {"do": "garble"}, {"do": "raw", "raw": "SSH-2.0-OpenSSH_9.2\r\n"},
                  {"do": "raw", "raw": "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n[]"},
                  {"do": "status", "status": 500, "message": "no space left on device"},
                  {"do": "status", "status": 404, "message": "gone \x1b[31mred"},
                  {"do": "body", "body": ""}, {"do": "body", "body": "null"}, {"do": "body", "body": "{}"}, {"do": "body", "body": "[[[[1"},
                  {"do": "body", "body": "[" * 100000}, {"do": "body", "body": "[{\"Id\":7}]"}, {"do": "body", "body": "[\"x\", null, 3]"},
                  {"do": "body", "body": "[{\"Id\":\"../../etc\",\"Names\":[\"/x\"]}]"}):
        with Fake(faults=[{"match": path, **fault}]) as fake:
            result = berth("ps", "--json", fake=fake)
            if result.code == 0:  # what could not be read was left out
                assert result.json()["containers"] == [], (fault, result.out)
            else:
                assert result.code in (1, 3), (fault, result.code)
                result.fails_with(result.code)


@case_of_patience
def ps_engine_hangs():
    for path in ("_ping", "containers/json"):
        with Fake(faults=[{"match": path, "do": "hang"}]) as fake:
            result = berth("ps", fake=fake, timeout=180)
            assert result.code in (1, 3), result.code
            result.fails_with(result.code)


@case
def ps_one_byte_at_a_time():
    with Fake(containers=2, faults=[{"match": ".", "do": "slow"}]) as fake:
        assert [c["name"] for c in ps(fake)["containers"]] == ["box-0", "box-1"]


@case_of_patience
def ps_one_container_without_statistics():
    with Fake(containers=3, faults=[{"match": "stats", "do": "status", "status": 500, "times": 1}]) as fake:
        assert len(ps(fake)["containers"]) == 3
    for body in ("", "null", "[]", '{"cpu_stats":null,"memory_stats":{"usage":"many"}}', '{"cpu_stats":{"cpu_usage":{"total_usage":-5}}}'):
        with Fake(containers=1, faults=[{"match": "stats", "do": "body", "body": body}]) as fake:
            (row,) = ps(fake)["containers"]
            assert not row["cpu_percent"], (body, row)


@case_of_patience
def ps_container_vanishes_between_list_and_inspect():
    with Fake(containers=3, faults=[{"match": r"GET .*/containers/[0-9a-f]{64}/", "do": "status", "status": 404, "message": "No such container"}]) as fake:
        assert berth("ps", "--json", fake=fake).code == 0


@case
def ps_keeps_64_bits():
    big = (1 << 63) - 1
    with Fake(cgroup=2, containers=[{"name": "big", "stats": {"memory_stats": {"usage": big, "limit": (1 << 64) - 1, "stats": {"inactive_file": 2}},
                                                              "pids_stats": {"current": (1 << 53) + 1, "limit": (1 << 53) + 3}}}]) as fake:
        (row,) = ps(fake)["containers"]
        assert row["memory_bytes"] == big - 2, row["memory_bytes"]
        assert row["pids"] == (1 << 53) + 1, row["pids"]
        assert row["pids_limit"] == (1 << 53) + 3, row["pids_limit"]


@case
def ps_hostile_text():
    rows = [{"name": text, "image": text, "labels": {"berth.agent": text, "com.docker.compose.project": text, text: text}} for text in HOSTILE]
    with Fake(containers=rows, name=HOSTILE[0], version="20.10.\x1b[2J") as fake:
        for args in (["ps", "--all"], ["doctor"]):
            result = berth(*args, fake=fake)
            assert result.code in (0, 1), result.err
            neutral(result.out)
            neutral(result.err)
        result = berth("ps", "--json", "--all", fake=fake)
        assert result.code == 0, result.err
        neutral(result.out)  # escaped inside the JSON
        assert len(result.json()["containers"]) == len(rows)


@case
def ps_null_and_unknown_fields():
    ident = "ab" * 32
    body = json.dumps([{"Id": ident, "Names": None, "Image": None, "ImageID": None, "Labels": None, "State": "hibernating", "Status": None,
                        "Created": None, "NetworkSettings": None, "Mounts": None, "HostConfig": None, "Future": {"a": [1, {}]}}])
    with Fake(containers=[{"name": "x", "id": ident}], faults=[{"match": "containers/json", "do": "body", "body": body}]) as fake:
        (row,) = ps(fake)["containers"]
        assert row["id"] == ident
        assert row["agent"] is None


@case
def ps_thousand_containers():
    with Fake(containers=1000) as fake:
        rows = ps(fake)["containers"]
        assert len(rows) == 1000
        assert len({r["id"] for r in rows}) == 1000


@case_of_patience
def ps_any_garbage():
    """Bodies of random bytes and random JSON, the same on every run."""
    random.seed(2)
    words = ['{', '}', '[', ']', ',', ':', '"Id"', '"Names"', '"State"', 'null', 'true', '1e999', '-0', '"\\ud800"', '"\\u0000"', '12345678901234567890123', ' ']
    for _ in range(12):
        body = "".join(random.choice(words) for _ in range(random.randrange(1, 60)))
        with Fake(containers=2, faults=[{"match": random.choice(["containers/json", "/info", "/version", "stats", "[0-9a-f]{64}/json"]), "do": "body", "body": body}]) as fake:
            result = berth("ps", "--json", fake=fake)
            assert result.code in (0, 1, 3), (body, result.code)
            if result.code == 0:
                result.json()


main()
