#!/usr/bin/python3
"""containers.py - logs, ps, stats, events and inspect against docker's, on a scripted engine that sends what a real one rarely does.

An input is a word: each of its letters is a frame of a log, a container or an event, so that what fails is made small letter by letter."""
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../lib"), os.path.join(HERE, "../scenario")]
import oracle  # noqa: E402
from scenario import BERTH, Fake  # noqa: E402

SHORT, SOAK = os.environ.get("BERTH_TEST_CHANGED"), os.environ.get("BERTH_SOAK")
LOGS = 10 if SHORT else 2000 if SOAK else 30  # a dozen processes each
ROWS = 8 if SHORT else 500 if SOAK else 20
T = 1_700_000_000 * 10**9
BETWEEN = "1700000000.002500000"  # of the lines of a log

FRAMES = {"o": {"text": "out"}, "e": {"text": "err", "err": True}, "p": {"text": "part-", "part": True}, "q": {"text": "errpart-", "err": True, "part": True},
          "h": {"raw": "\x01\0\0\0\0\0\0\0"}, "b": {"text": ""}, "u": {"text": "h\u00e9llo \u5927\U0001f600 " * 3},
          "l": {"text": "\u00e9l" * 9000}, "r": {"text": "50%\r100%\r"}, "n": {"text": "nul\0byte"}, "i": {"text": "bad\udcff\udce5\udca4 utf"}, "x": {"text": "\x1b[31mred\x1b[0m"},
          "s": {"text": "2023-11-14T22:13:20.000000000Z stamp"}, "t": {"text": "back", "at": T - 10**12}, "f": {"text": "err", "err": True, "at": T + 10**15}}


def rows_of_logs(words):
    rows = []
    for n, word in enumerate(words):
        log = [{"at": T + k * 1000003, **FRAMES[letter]} for k, letter in enumerate(word.decode())]
        rows += [{"name": f"l{n}", "log": log, "split": (1, 5, 4096)[n % 3]}, {"name": f"t{n}", "tty": True, "split": (4096, 1, 5)[n % 3], "log": [v for v in log if "raw" not in v]}]
    return rows


def run(program, *words):
    done = subprocess.run([*program, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def programs(fake):
    return (BERTH, "-H", fake.url), ("env", "DOCKER_API_VERSION=1.41", "docker", "-H", fake.url)


def short_stamps(text):
    """berth prints milliseconds, docker nanoseconds."""
    return re.sub(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d*Z ", rb"\1Z ", text)


STAMP = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z "


def as_meant(tty, pattern, with_stamps):
    """Fits where the two are the same without what berth has more."""
    def fits(_, differs):
        name, options, berth, docker = differs
        return name == tty and ("-t" in options) == with_stamps and all(re.sub(pattern, b"", ours) == short_stamps(theirs) for ours, theirs in zip(map(short_stamps, berth[1:]), docker[1:]))
    return fits


# Where berth is meant to differ: what fits the input and how it differs, and why.
MEANT_LOGS = [
    (as_meant("l", rb"(?<=part-)\n(?=" + STAMP + rb")", True), "what follows a line without a newline, as of a run that ended, begins a line where each has its stamp"),
    (as_meant("t", rb"(?<=part-)" + STAMP, False), "a terminal's bytes have no frames: the stamp of what follows there cannot be told from one that the program printed"),
]


def differ_in_logs(words):
    with Fake(containers=rows_of_logs(words)) as fake, concurrent.futures.ThreadPoolExecutor(oracle.CORES) as pool:
        ours, theirs = programs(fake)

        def one(n):
            for name in (f"l{n}", f"t{n}"):
                for options in ([], ["-t"], *([["-n", "2"], ["--since", BETWEEN, "-t"], ["--until", BETWEEN]] if len(words[n]) > 3 else [])):
                    berth, docker = run(ours, "logs", *options, name), run(theirs, "logs", *options, name)
                    if tuple(map(short_stamps, berth[1:])) != tuple(map(short_stamps, docker[1:])) or berth[0] != docker[0]:
                        return name[0], options, berth, docker
            return None
        return list(pool.map(one, range(len(words))))


CONTAINERS = {"r": {}, "p": {"state": "paused"}, "c": {"state": "created"}, "s": {"state": "restarting"}, "m": {"state": "removing"}, "d": {"state": "dead"},
              "x": {"state": "exited", "status": "Exited (137) 5 weeks ago"}, "z": {"state": "exited", "status": ""}, "a": {"names": ["/other/alias", "/own"]},
              "b": {"names": ["/own", "/other/alias", "/third/x"]}, "i": {"image": "sha256:" + "ab" * 32}, "g": {"image": "reg.example:5000/a/b@sha256:" + "cd" * 32}, "u": {"image": "box"},
              "n": {"labels": None}, "2": {"summary": {"Ports": None, "Mounts": None, "NetworkSettings": None}}, "3": {"summary": {"NetworkSettings": {"Networks": None}, "Command": ""}},
              "4": {"summary": {"HostConfig": {}, "Created": 0}}, "5": {"summary": {"ImageID": "", "Health": {"Status": "healthy"}}}}


def differ_in_ps(words):
    found = []
    for word in words:
        rows = [{"name": f"c{k}", **CONTAINERS[letter]} for k, letter in enumerate(word.decode())]
        for k, row in enumerate(rows):
            row["names"] = [name.replace("own", f"c{k}") for name in row.get("names", [f"/c{k}"])]
        with Fake(containers=rows) as fake:
            ours, theirs = programs(fake)
            both = []
            for options in (["-a"], []):
                berth, docker = (run(program, "ps", *options, "--format", "{{.ID}} {{.Names}} {{.Image}} {{.State}}") for program in (ours, theirs))
                # In berth's state is the exit code, too.
                seen = [sorted(line.split()[:4] for line in got[1].splitlines()) for got in (berth, docker)]
                both.append(None if seen[0] == seen[1] and berth[0] == docker[0] == 0 else (options, seen, berth[2], docker[2]))
            found.append(next(filter(None, both), None))
    return found


STATS = {"u": {"memory_stats": {"usage": 300 << 20, "limit": 1 << 30, "stats": {"inactive_file": 100 << 20}}}, "o": {"memory_stats": {"usage": 300 << 20, "limit": 1 << 30, "stats": {"total_inactive_file": 120 << 20, "inactive_file": 1 << 20}}},
         "c": {"memory_stats": {"usage": 300 << 20, "limit": 1 << 30, "stats": {"cache": 200 << 20}}}, "m": {"memory_stats": {"usage": 5 << 20, "limit": 1 << 30, "stats": {"inactive_file": 50 << 20}}},
         "e": {"memory_stats": {}}, "s": {"memory_stats": {"usage": 7 << 20, "limit": 0}}, "l": {"memory_stats": {"usage": 7 << 20, "limit": 8 << 30, "stats": None}}, "n": {"networks": None},
         "b": {"blkio_stats": {"io_service_bytes_recursive": None}}, "p": {"pids_stats": {}}, "q": {"pids_stats": {"current": 77}}, "w": {"networks": {"a": {"rx_bytes": 1000, "tx_bytes": 2000}, "b": {"rx_bytes": 5, "tx_bytes": 6}}},
         "0": {"cpu_stats": {"cpu_usage": {"total_usage": 0}, "online_cpus": 0}, "precpu_stats": {}}, "v": {"storage_stats": None, "precpu_stats": None}}
SIZES = {"B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size(text):
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    return float(number) * SIZES[unit]


def differ_in_stats(words):
    rows = [{"name": f"s{n}", "stats": {key: value for letter in word.decode() for key, value in STATS[letter].items()}} for n, word in enumerate(words)]
    with Fake(containers=rows, cgroup=2) as fake:
        ours, theirs = programs(fake)
        told = {c["name"]: c for c in json.loads(run(ours, "ps", "--json")[1])["containers"]}
        docker = run(theirs, "stats", "--no-stream", "--format", "{{.Name}}|{{.MemUsage}}|{{.PIDs}}|{{.NetIO}}")
        assert docker[0] == 0, docker
        said = {line.split("|")[0]: line.split("|")[1:] for line in docker[1].decode().splitlines()}
        found = []
        for n, row in enumerate(rows):
            c, (memory, pids, net) = told[f"s{n}"], said[f"s{n}"]
            used, limit = map(size, memory.split(" / "))
            got = [c["memory_bytes"] or 0, c["memory_limit_bytes"] or limit, c["pids"] or 0]
            want = [used, limit, int(pids)]
            if "networks" in row["stats"]:
                got += [c["net_rx_bytes"] or 0, c["net_tx_bytes"] or 0]
                want += list(map(size, net.split(" / ")))
            found.append(None if all(abs(a - b) <= 0.005 * b for a, b in zip(got, want)) else (got, want))
        return found


BASE = {"Type": "container", "Action": "start", "Actor": {"ID": "ab" * 32, "Attributes": {"name": "web", "image": "box:1"}}, "scope": "local", "time": T // 10**9, "timeNano": T}
EVENTS = {"s": {}, "h": {"Action": "health_status: healthy"}, "x": {"Action": "exec_start: sh -c 'a: b'"}, "n": {"Actor": {"ID": "ab" * 32, "Attributes": None}}, "a": {"Actor": {"ID": "ab" * 32}},
          "u": {"Type": "plugin", "Action": "enable"}, "w": {"Type": "weather", "Action": "rain"}, "d": {"Type": "daemon", "Action": "reload", "Actor": {"ID": "", "Attributes": {}}},
          "v": {"Type": "volume", "Action": "prune", "Actor": {"ID": "", "Attributes": {"reclaimed": "0"}}}, "o": {"timeNano": None}, "e": {"Actor": None, "id": "cd" * 32, "status": "start", "from": "box:1"},
          "k": {"Action": "kill", "Actor": {"ID": "ab" * 32, "Attributes": {"signal": "15", "name": "web"}}}, "l": {"Actor": {"ID": "ab" * 32, "Attributes": {"name": "web", "x": "y" * 70000}}},
          "c": {"Action": "create", "Actor": {"ID": "ab" * 32, "Attributes": {"name": "n\u00e4me", "image": ""}}}, "b": {"timeNano": T - 10**12, "time": T // 10**9 - 1000}}


def differ_in_events(words):
    found = []
    for word in words:
        sent = []
        for k, letter in enumerate(word.decode()):
            event = {"timeNano": T + k, **EVENTS[letter]}
            sent.append({key: value for key, value in {**BASE, **event}.items() if value is not None})
        with Fake(containers=1) as fake:
            for event in sent:
                fake.door("event", event)
            ours, theirs = programs(fake)
            options = ["events", "--since", "1", "--until", "1s", "--format"]
            berth = run(ours, *options, "{{.Type}} {{.Action}} {{.Name}} {{.ID}} {{.Time}}")
            docker = run(theirs, *options, '{{.Type}} {{.Action}} {{with .Actor.Attributes.name}}{{.}}{{else}}-{{end}} {{if .Actor.ID}}{{.Actor.ID}}{{else}}{{if .ID}}{{.ID}}{{else}}-{{end}}{{end}} {{.Time}}')
            # What follows the colon of an action is .More in berth.
            said = re.sub(rb"(?m)^(\w+ \w+): .*?( \S+ \S+ \d+)$", rb"\1\2", docker[1])
            found.append(None if berth[1] == said and berth[0] == docker[0] == 0 else (berth, docker[0], said, docker[2]))
    return found


INSPECTED = {"l": {"Config": {"Labels": None}}, "e": {"Config": {"Env": None, "Cmd": None, "Entrypoint": None}}, "m": {"Mounts": None}, "n": {"NetworkSettings": {"Networks": None, "Ports": None}},
             "h": {"HostConfig": {"RestartPolicy": None, "LogConfig": None, "PidsLimit": None}}, "s": {"State": {"Health": None}}, "i": {"Config": {"Healthcheck": {"Test": []}}}, "g": {"GraphDriver": None},
             "b": {"SizeRw": 9007199254740993, "HostConfig": {"Memory": 9223372036854775807}}, "q": {"Path": "<a&b>\u2028\u00e9\"\\"}, "x": {"Unknown": {"a": [{}, [], None, 1.50, -0.0, 1e30]}}}


def differ_in_inspect(words):
    rows = [{"name": f"i{n}", "inspect": [INSPECTED[letter] for letter in word.decode()]} for n, word in enumerate(words)]
    paths = ["{{.Id}} {{.Name}}", "{{.State.Status}} {{.State.Running}} {{.State.Pid}}", "{{json .Config.Labels}} {{json .Mounts}}", "{{ .HostConfig.NetworkMode }} {{.Config.Tty}}",
             "{{json .State.StartedAt}}"]
    with Fake(containers=rows) as fake:
        ours, theirs = programs(fake)

        def one(n):
            berth, docker = run(ours, "inspect", f"i{n}"), run(theirs, "inspect", f"i{n}")
            if berth[0] or docker[0] or json.loads(berth[1]) != json.loads(docker[1]):
                return berth, docker
            for path in paths:
                berth, docker = run(ours, "inspect", "-f", path, f"i{n}"), run(theirs, "inspect", "-f", path, f"i{n}")
                if berth[1] != docker[1] or berth[0] or docker[0]:
                    return path, berth, docker
            return None
        with concurrent.futures.ThreadPoolExecutor(oracle.CORES) as pool:
            return list(pool.map(one, range(len(words))))


def some(rng, letters, n, longest):
    """Each letter alone, then words of them."""
    return [letter.encode() for letter in letters] + ["".join(rng.choice(list(letters)) for _ in range(rng.randrange(1, longest))).encode() for _ in range(n)]


def main():
    if not shutil.which("docker"):
        print("skip containers: there is no docker here")
        return 0
    rng = random.Random(33)
    failed = oracle.check("containers, logs", some(rng, FRAMES, LOGS, 12) + [b"qo"], differ_in_logs, MEANT_LOGS, "docker")
    failed |= oracle.check("containers, ps", some(rng, CONTAINERS, ROWS, 12), differ_in_ps, [], "docker")
    failed |= oracle.check("containers, stats", some(rng, STATS, ROWS * 4, 4), differ_in_stats, [], "docker")
    failed |= oracle.check("containers, events", [word for word in some(rng, EVENTS, 3, 12)[len(EVENTS):]] + ["".join(EVENTS).encode()], differ_in_events, [], "docker")
    failed |= oracle.check("containers, inspect", some(rng, INSPECTED, ROWS, 6), differ_in_inspect, [], "docker")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
