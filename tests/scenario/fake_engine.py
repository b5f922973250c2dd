#!/usr/bin/python3
"""fake_engine.py - a Docker engine that plays a script, on a unix socket.

    fake_engine.py SOCKET [SCENARIO.json]

A scenario is one JSON object; every key may be left out:

    version      "20.10.24": shapes follow it (25 and later lack fields that 20.10 has, 29 has others)
    api, min_api "1.41", "1.12"
    product      "docker" or "podman"
    cgroup       1 or 2: the shape of statistics
    name, root   the host name and the root directory that it reports
    containers   a number, or a list of {name, image, state, labels, tty, env, cpu, memory, log, ...}; "split": the log in pieces of so many bytes,
                 "summary", "inspect" (a list), "stats": members that replace those of the list, of inspect and of stats
    log          lines that every container has written: a list of strings, "e:" in front for stderr, or of objects
                 {"text", "at" (its stamp, ns), "err" (stderr), "part" (no newline), "system" (a complaint of the engine),
                 "raw" (these bytes)}; those with a stamp are chosen by `since` as the engine does: of the first that is
                 not before it, and all after that ("since": "each": only those, as 20.10 does); the first that is
                 after `until` ends it
    log_rate     bytes per second that followed logs go on with
    log_linger   seconds for which a followed log stays open when its container has ended
    audit        the directory of an audit log: what stops, kills, removes or opens a shell is refused
                 with 500 unless its intent is on disk when the request arrives
    networks     further ones of the engine: a list of {name, labels}
    stream       what pull, build and import answer: a list of objects, sent one after the other; with "flood": true
                 for ever, until the client goes away (which then stands in the requests as "GONE")
    made         whether the engine knows every image that is asked for afterwards (true)
    faults       a list of {match, do, ...}: the first whose regular expression finds "METHOD PATH" is
                 applied; "times" limits how often, "after" skips the first N matching requests.
       do: status {status, message}   an error as the engine words it; nothing is done
           hang                       never answer
           reset                      close with a TCP-like reset at once
           cut {bytes}                promise the whole body, send so many bytes of it, close
           slow {delay}               one byte at a time
           body {body}                this text as the body instead ("\\u0000" and worse are fine)
           garble                     every 7th byte of the body replaced
           raw {raw, rest, until}     these bytes instead of any HTTP; the rest once the file `until` is there

Tests talk to it in band: GET /_fake/requests lists "METHOD PATH" of all requests so far, /_fake/headers their headers, /_fake/contexts what
was sent to be built, /_fake/most how many connections there were at once; POST /_fake/set merges
a JSON object into the scenario (containers included); POST /_fake/events {"count", "delay"} sends a flood of
events; POST /_fake/drop cuts every open connection.  Shapes of bodies: Engine API reference v1.41 to v1.52
(docs.docker.com/reference/api/engine) and recorded bodies of Debian's 20.10.24.
"""
import hashlib
import itertools
import io
import json
import os
import re
import socket
import socketserver
import struct
import sys
import threading
import tarfile
import time
from urllib.parse import parse_qs, unquote, urlsplit

START = time.time()
CPUS = 4
MEMORY = 8 << 30


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".123456789Z"


class Engine:
    def __init__(self, scenario):
        self.lock = threading.RLock()
        self.scenario = {}
        self.containers = {}
        self.requests = []
        self.headers = []         # of the same requests
        self.events = []          # all that happened, as the engine would send it
        self.contexts = []        # [the image's name, what is in it] of those that were sent to be built
        self.happened = threading.Condition(self.lock)
        self.connections = set()
        self.most = 0             # of them at once
        self.execs = {}
        self.set({"containers": 3, **scenario})

    def set(self, change):
        with self.lock:
            self.scenario.update(change)
            if "containers" in change:
                wanted = change["containers"]
                if isinstance(wanted, int):
                    wanted = [{"name": f"box-{n}"} for n in range(wanted)]
                self.containers = {}
                for n, c in enumerate(wanted):
                    c = {"image": "box:1", "state": "running", "labels": {}, "tty": False, "cpu": 1.0 + n % 50,
                         "memory": (20 + n % 100) << 20, "env": ["PATH=/bin", "API_TOKEN=hunter2"], **c}
                    c["id"] = c.get("id") or hashlib.sha256(f"{n}/{c['name']}".encode("utf-8", "surrogateescape")).hexdigest()
                    c["created"] = START - 3600 - n
                    self.containers[c["id"]] = c
            if "faults" in change:
                for fault in self.scenario["faults"]:
                    fault["seen"] = 0

    def get(self, key, default=None):
        with self.lock:
            return self.scenario.get(key, default)

    def major(self):
        return int(str(self.get("version", "20.10.24")).split(".")[0])

    def fault(self, what):
        with self.lock:
            for fault in self.scenario.get("faults", []):
                if not re.search(fault["match"], what):
                    continue
                fault["seen"] += 1
                turn = fault["seen"] - fault.get("after", 0)
                if turn > 0 and turn <= fault.get("times", 1 << 60):
                    return fault
        return None

    def meant(self, ref):
        """Of that id or name; else those whose ids begin with it."""
        with self.lock:
            rows = list(self.containers.values())
        return [c for c in rows if c["id"] == ref] or [c for c in rows if c["name"] == ref] or [c for c in rows if c["id"].startswith(ref)]

    def find(self, ref):
        return next(iter(self.meant(ref)), None)

    def emit(self, action, c, kind="container"):
        now = time.time_ns()
        event = {"Type": kind, "Action": action, "scope": "local", "time": now // 10**9, "timeNano": now,
                 "Actor": {"ID": c["id"], "Attributes": {"name": c["name"], "image": c["image"], **(c["labels"] or {})}}}
        if self.major() < 29:  # API 1.52 dropped the old spelling
            event.update(status=action, id=c["id"], **{"from": c["image"]})
        with self.lock:
            self.events.append(event)
            self.happened.notify_all()

    # What the engine says about one container, in three sizes.

    def summary(self, c):
        words = {"running": "Up 1 hour", "paused": "Up 1 hour (Paused)", "created": "Created",
                 "restarting": "Restarting (1) 2 seconds ago"}
        return {"Id": c["id"], "Names": c.get("names", ["/" + c["name"]]), "Image": c["image"], "ImageID": "sha256:" + "ab" * 32,
                "Command": "/demo/idle.sh", "Created": int(c["created"]), "Ports": [], "Labels": c["labels"],
                "State": c["state"], "Status": c.get("status", words.get(c["state"], "Exited (0) 2 hours ago")),
                "HostConfig": {"NetworkMode": "none"}, "NetworkSettings": {"Networks": {}}, "Mounts": [], **c.get("summary", {})}

    def inspect(self, c):
        running = c["state"] in ("running", "paused", "restarting")
        state = {"Status": c["state"], "Running": running, "Paused": c["state"] == "paused",
                 "Restarting": c["state"] == "restarting", "OOMKilled": c.get("oom", False), "Dead": False,
                 "Pid": c.get("pid", 4194301) if running else 0, "ExitCode": c.get("exit", 0), "Error": "",
                 "StartedAt": stamp(c["created"] + 1) if c["state"] != "created" else "0001-01-01T00:00:00Z",
                 "FinishedAt": "0001-01-01T00:00:00Z" if running else stamp(START - 7200)}
        if "health" in c:
            state["Health"] = {"Status": c["health"], "FailingStreak": 0, "Log": None}
        network = {"Networks": {"none": {"IPAMConfig": None, "IPAddress": "", "Gateway": ""}},
                   "Ports": c.get("ports", {})}
        if self.major() < 29:
            network["IPAddress"] = ""
        body = {"Id": c["id"], "Created": stamp(c["created"]), "Path": "/demo/idle.sh", "Args": [], "State": state,
                "Image": "sha256:" + "ab" * 32, "Name": "/" + c["name"], "RestartCount": c.get("restarts", 0),
                "Driver": "overlay2", "Platform": "linux", "MountLabel": "", "ProcessLabel": "", "AppArmorProfile": "",
                "ExecIDs": None, "GraphDriver": {"Name": "overlay2", "Data": None}, "Mounts": c.get("mounts", []),
                "HostConfig": {"Binds": None, "NetworkMode": "none", "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
                               "Privileged": False, "ReadonlyRootfs": True, "CapAdd": None, "CapDrop": ["ALL"],
                               "SecurityOpt": ["no-new-privileges"], "Memory": c.get("limit", 0), "NanoCpus": 10**9,
                               "MemorySwap": 0, "PidsLimit": 64, "CpuShares": 0, "CpuQuota": 0, "CpuPeriod": 0,
                               "Init": None, "PidMode": "", "IpcMode": "private", "Runtime": "runc",
                               "LogConfig": {"Type": "json-file", "Config": {}}},
                "Config": {"Hostname": c["id"][:12], "User": "1000:1000", "Tty": c["tty"], "Env": c["env"],
                           "Cmd": ["/demo/idle.sh"], "Image": c["image"], "WorkingDir": "", "Entrypoint": None,
                           "Labels": c["labels"]},
                "NetworkSettings": network}
        for change in c.get("inspect", []):
            for key, value in change.items():
                body[key] = {**body[key], **value} if isinstance(value, dict) and isinstance(body.get(key), dict) else value
        return body

    def stats(self, c):
        elapsed = time.time() - START
        cpu = int((1000 + elapsed) * 1e9 * c["cpu"] / 100)
        memory = {"usage": c["memory"] + (5 << 20), "limit": c.get("limit") or MEMORY}
        if self.get("cgroup", 1) == 1:
            memory.update(max_usage=c["memory"] * 2, failcnt=0,
                          stats={"cache": 5 << 20, "total_inactive_file": 5 << 20, "rss": c["memory"]})
        else:
            memory["stats"] = {"inactive_file": 5 << 20, "anon": c["memory"], "file": 5 << 20}
        zero = {"cpu_usage": {"total_usage": 0, "usage_in_kernelmode": 0, "usage_in_usermode": 0},
                "throttling_data": {"periods": 0, "throttled_periods": 0, "throttled_time": 0}}
        body = {"read": stamp(time.time()), "preread": "0001-01-01T00:00:00Z", "num_procs": 0,
                "id": c["id"], "name": "/" + c["name"], "storage_stats": {},
                "pids_stats": {"current": c.get("pids", 2), "limit": c.get("pids_limit", 64)},
                "blkio_stats": {"io_service_bytes_recursive": [
                    {"major": 254, "minor": 0, "op": op, "value": int(elapsed * rate)}
                    for op, rate in (("Read", 1000), ("Write", 2000))]},
                "cpu_stats": {"cpu_usage": {"total_usage": cpu, "usage_in_kernelmode": 0, "usage_in_usermode": cpu},
                              "system_cpu_usage": int((1000 + elapsed) * 1e9) * CPUS, "online_cpus": CPUS,
                              "throttling_data": zero["throttling_data"]},
                "precpu_stats": zero, "memory_stats": memory,
                "networks": {"eth0": {"rx_bytes": int(elapsed * 500), "tx_bytes": int(elapsed * 250), "rx_packets": 1,
                                      "tx_packets": 1, "rx_errors": 0, "tx_errors": 0, "rx_dropped": 0, "tx_dropped": 0}}}
        if c["state"] not in ("running", "paused"):
            body.update(read="0001-01-01T00:00:00Z", pids_stats={}, memory_stats={}, cpu_stats=zero)
            body.pop("networks")
        body.update(c.get("stats", {}))
        return body


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        engine = self.server.engine
        self.file = self.request.makefile("rb")
        with engine.lock:
            engine.connections.add(self.request)
            engine.most = max(engine.most, len(engine.connections))
        try:
            while self.one(engine):
                pass
        except (OSError, ValueError):
            pass
        finally:
            with engine.lock:
                engine.connections.discard(self.request)
            self.request.close()

    def one(self, engine):
        line = self.file.readline(65536)
        if not line.strip():
            return False
        method, target = line.decode("latin-1").split(" ")[:2]
        headers = {}
        for raw in iter(lambda: self.file.readline(65536), b"\r\n"):
            if not raw:
                return False
            key, _, value = raw.decode("latin-1").partition(":")
            headers[key.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self.read_body(headers)
        url = urlsplit(target)
        path = re.sub(r"^/v[\d.]+(?=/)", "", url.path)
        query = {k: v[-1] for k, v in parse_qs(url.query).items()}
        if path.startswith("/_fake/"):
            self.fake(engine, path, json.loads(body or b"{}"))
            return True
        with engine.lock:
            engine.requests.append(f"{method} {target}")
            engine.headers.append({"path": path, **headers})
        self.head_only, self.method, self.headers, self.body = method == "HEAD", method, headers, body
        self.effect = engine.fault(f"{method} {target}")
        if self.effect:
            lives = self.apply_early()
            if lives is not None:
                return lives
        asked = re.match(r"^/v(\d+)\.(\d+)/", url.path)
        if asked:
            floor = tuple(int(n) for n in engine.get("min_api", "1.12").split("."))
            if (int(asked[1]), int(asked[2])) < floor:
                return self.error(400, f"client version {asked[1]}.{asked[2]} is too old. Minimum supported API version is "
                                  f"{engine.get('min_api')}, please upgrade your client to a newer version")
        for pattern, verb in ROUTES:
            found = re.fullmatch(pattern, f"{method} {path}")
            if found:
                return verb(self, engine, query, *(unquote(g) for g in found.groups()))
        return self.error(404, "page not found")

    def read_body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.file.readline(), 16):
                body += self.file.read(size)
                self.file.readline()
            self.file.readline()
            return body
        return self.file.read(int(headers.get("content-length", 0)))

    # Faults.  None: the request is carried out; else it is not, and False: the connection is done with.

    def apply_early(self):
        do = self.effect["do"]
        if do == "status":
            return self.error(self.effect["status"], self.effect.get("message", "scripted failure"))
        if do == "hang":
            while self.request.recv(4096):
                pass
            return False
        if do == "reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if do == "raw":
            self.request.sendall(self.effect["raw"].encode("latin-1"))
            while "rest" in self.effect and not os.path.exists(self.effect["until"]):
                time.sleep(0.01)
            self.request.sendall(self.effect.get("rest", "").encode("latin-1"))
            return False
        return None

    def send_paced(self, data):
        """Send as the fault wants it; False: the connection ends here."""
        do = self.effect["do"] if self.effect else ""
        if do == "slow":
            for n in range(len(data)):
                self.request.sendall(data[n:n + 1])
                if self.effect.get("delay"):
                    time.sleep(self.effect["delay"])
            return True
        if do == "cut":
            self.request.sendall(data[:self.effect.get("bytes", len(data) // 2)])
            return False
        self.request.sendall(data)
        return True

    def reply(self, status, body=b"", kind="application/json", extra=""):
        do = self.effect["do"] if self.effect else ""
        if do == "body":
            body = self.effect["body"].encode("utf-8", "surrogateescape")
        if do == "garble":
            body = bytes(b ^ 0x55 if n % 7 == 6 else b for n, b in enumerate(body))
        length = "" if status in (204, 304) else f"Content-Length: {len(body)}\r\n"
        engine = self.server.engine
        libpod = f"Libpod-Api-Version: {engine.get('version', '4.3.1')}\r\n" if engine.get("product") == "podman" else ""
        head = (f"HTTP/1.1 {status} X\r\nApi-Version: {engine.get('api', '1.41')}\r\nOstype: linux\r\n{libpod}"
                f"Server: {'Libpod/4.3.1' if engine.get('product') == 'podman' else 'Docker/' + engine.get('version', '20.10.24')} (linux)\r\n"
                f"Content-Type: {kind}\r\n{length}{extra}\r\n").encode()
        if do == "slow":
            return self.send_paced(head + (b"" if self.head_only else body))
        self.request.sendall(head)
        return self.head_only or self.send_paced(body)

    def json(self, value, status=200):
        return self.reply(status, json.dumps(value).encode("utf-8", "surrogateescape") + b"\n")

    def error(self, status, message):
        self.effect = self.effect if self.effect and self.effect["do"] != "status" else None
        return self.json({"message": message}, status)

    def stream(self, kind):
        """Begin a chunked answer; returns the function that sends a piece."""
        self.request.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

        def send(data):
            if not self.send_paced(b"%x\r\n" % len(data) + data + b"\r\n"):
                raise OSError("cut")
        return send

    def with_container(self, engine, ref):
        found = engine.meant(ref)
        if len(found) > 1:
            self.error(400 if engine.major() >= 23 else 500, f"multiple IDs found with provided prefix: {ref}")
        elif not found:
            self.error(404, f"No such container: {ref}")
        return found[0] if len(found) == 1 else None

    # The test's own doors.

    def fake(self, engine, path, body):
        self.effect, self.head_only = None, False
        answer = {}
        if path == "/_fake/requests":
            with engine.lock:
                answer = list(engine.requests)
        elif path == "/_fake/headers":
            with engine.lock:
                answer = list(engine.headers)
        elif path == "/_fake/set":
            engine.set(body)
        elif path == "/_fake/contexts":
            answer = engine.contexts
        elif path == "/_fake/most":
            answer = engine.most
        elif path == "/_fake/log":  # it writes, ends, or begins anew: {"name", "lines", "state", "started"}
            with engine.lock:
                c, log = engine.find(body["name"]), engine.find(body["name"]).get("log", [])
                if "started" in body:
                    c["created"] = body["started"] - 1
                    c["begins"] = c.get("begins", []) + [len(log)]
                c["log"] = log + body.get("lines", [])
                c["state"] = body.get("state", c["state"])
        elif path == "/_fake/emit":
            engine.emit(body["action"], engine.find(body["name"]))
        elif path == "/_fake/event":  # as it is
            with engine.lock:
                engine.events.append(body)
                engine.happened.notify_all()
        elif path == "/_fake/events":
            names = itertools.cycle(list(engine.containers.values()))
            for n in range(body["count"]):
                engine.emit(body.get("action", "exec_start: sh"), next(names))
                if body.get("delay"):
                    time.sleep(body["delay"])
        elif path == "/_fake/drop":
            with engine.lock:
                for other in engine.connections - {self.request}:
                    try:
                        other.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        self.json(answer)

    # The engine's.

    def ping(self, engine, query):
        return self.reply(200, b"OK", "text/plain")

    def version(self, engine, query):
        version = engine.get("version", "20.10.24")
        name = "Podman Engine" if engine.get("product") == "podman" else "Engine"
        return self.json({"Platform": {"Name": ""}, "Components": [{"Name": name, "Version": version, "Details": {}}],
                          "Version": version, "ApiVersion": engine.get("api", "1.41"),
                          "MinAPIVersion": engine.get("min_api", "1.12"), "Os": "linux", "Arch": "amd64",
                          "KernelVersion": "6.1.0", "GoVersion": "go1.19"})

    def info(self, engine, query):
        return self.json({"ID": engine.get("id", "FAKE:ENGN:0001"), "Name": engine.get("name", "fakehost"), "NCPU": CPUS,
                          "MemTotal": MEMORY, "ServerVersion": engine.get("version", "20.10.24"), "Driver": "overlay2",
                          "OperatingSystem": "Fake Linux 1", "KernelVersion": "6.1.0", "Architecture": "x86_64",
                          "DockerRootDir": engine.get("root", "/var/lib/docker"), "CgroupVersion": str(engine.get("cgroup", 1)), "Images": 1,
                          "Containers": len(engine.containers), "OSType": "linux", "SecurityOptions": ["name=seccomp,profile=default"]})

    def list(self, engine, query):
        wanted = json.loads(query.get("filters", "{}")).get("id")
        with engine.lock:
            rows = [engine.summary(c) for c in engine.containers.values()
                    if (query.get("all") in ("1", "true") or c["state"] in ("running", "paused", "restarting"))
                    and (not wanted or c["id"] in wanted)]
        return self.json(rows)

    def inspect(self, engine, query, ref):
        c = self.with_container(engine, ref)
        return self.json(engine.inspect(c)) if c else True

    def stats(self, engine, query, ref):
        c = self.with_container(engine, ref)
        return self.json(engine.stats(c)) if c else True

    def top(self, engine, query, ref):
        c = self.with_container(engine, ref)
        return self.json({"Titles": ["UID", "PID", "PPID", "C", "STIME", "TTY", "TIME", "CMD"], "Processes": [
            ["1000", "4242", "1", "0", "21:00", "?", "00:00:01", "/bin/sh /demo/idle.sh"]]}) if c else True

    def logs(self, engine, query, ref):
        c = self.with_container(engine, ref)
        if not c:
            return True
        lines = c.get("log", engine.get("log", ["ready"]))
        if isinstance(lines, dict):  # {"count", "bytes"}: made here rather than in a file
            lines = ["x" * lines["bytes"]] * lines["count"]
        run, sent, rate = len(c.get("begins", [])), len(lines), engine.get("log_rate", 0)
        lines = self.chosen(engine, query, lines)
        send = self.stream("application/vnd.docker.raw-stream" if c["tty"] else "application/vnd.docker.multiplexed-stream")
        size = c.get("split")
        if size:
            data = b"".join(self.frame(c, query, line) for line in lines)
            lines = []
            for at in range(0, len(data), size):
                send(data[at:at + size])
        for line in lines:
            send(self.frame(c, query, line))
        for n in itertools.count() if query.get("follow") in ("1", "true") else ():
            with engine.lock:
                begins, log = c.get("begins", []), c.get("log", [])
                goes_on = c["state"] in ("running", "paused") and len(begins) == run and c["id"] in engine.containers
                fresh = log[sent:begins[run] if len(begins) > run else len(log)] if isinstance(log, list) else []
                sent += len(fresh)
            for line in fresh:
                send(self.frame(c, query, line))
            if not goes_on:
                time.sleep(engine.get("log_linger", 0))
                break
            if rate:
                send(b"".join(self.frame(c, query, f"line {n}.{k} " + "y" * 88) for k in range(max(1, rate // 2000))))
            elif self.gone():
                return False
            time.sleep(0.05 if rate else 0.01)
        self.request.sendall(b"0\r\n\r\n")
        return True

    @staticmethod
    def chosen(engine, query, lines):
        tail = query.get("tail", "all")
        if tail not in ("all", "-1"):
            lines = lines[-int(tail):] if int(tail) else []
        seconds, _, ns = query.get("since", "0").partition(".")
        since = int(seconds) * 10**9 + int((ns or "0").ljust(9, "0"))
        late = [isinstance(line, str) or line.get("at", since) >= since for line in lines]
        if engine.get("since") == "each":
            lines = [line for line, fits in zip(lines, late) if fits]
        else:
            lines = lines[late.index(True):] if True in late else []
        seconds, _, ns = query.get("until", "0").partition(".")
        until = int(seconds) * 10**9 + int((ns or "0").ljust(9, "0"))
        over = [until > 0 and not isinstance(line, str) and line.get("at", until) > until for line in lines]
        return lines[:over.index(True)] if True in over else lines

    @staticmethod
    def frame(c, query, line):
        if isinstance(line, str):
            line = {"err": line.startswith("e:"), "text": line[2 if line.startswith("e:") else 0:]}
        if "raw" in line:
            return line["raw"].encode("latin-1")
        data = line["text"].encode("utf-8", "surrogateescape")
        if not line.get("part"):
            data += b"\r\n" if c["tty"] else b"\n"
        if query.get("timestamps") in ("1", "true") and not line.get("system"):
            at = stamp(time.time()) if "at" not in line else (
                time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(line["at"] // 10**9)) + f".{line['at'] % 10**9:09}Z")
            data = at.encode() + b" " + data
        if c["tty"]:
            return data
        return struct.pack(">BxxxI", 3 if line.get("system") else 2 if line.get("err") else 1, len(data)) + data

    def events(self, engine, query):
        send = self.stream("application/json")
        sent = 0
        since, until = float(query.get("since", "inf")), float(query.get("until", "inf"))
        with engine.lock:
            sent = len(engine.events)
            old = [e for e in engine.events if e.get("timeNano", since) / 1e9 >= since or "timeNano" not in e]
        for event in old:
            if event.get("timeNano", 0) / 1e9 <= until:
                send(json.dumps(event).encode("utf-8", "surrogateescape") + b"\n")
        while True:
            if time.time() > until:
                self.request.sendall(b"0\r\n\r\n")
                return True
            with engine.lock:
                engine.happened.wait_for(lambda: len(engine.events) > sent, timeout=min(1, max(0.01, until - time.time())))
                fresh, sent = engine.events[sent:], len(engine.events)
            if fresh:
                send(b"".join(json.dumps(e).encode("utf-8", "surrogateescape") + b"\n" for e in fresh))
            elif self.gone():
                return False

    def gone(self):
        self.request.settimeout(0)
        try:
            return self.request.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        finally:
            self.request.settimeout(None)

    def intended(self, engine, ref, verb):
        """Is the intent of this in the log, acknowledged, and still without an outcome?  The head file is
        written after fdatasync of the log returned, so what it covers is on disk."""
        log = engine.get("audit")
        if not log or verb in ("start", "unpause"):
            return True
        with open(os.path.join(log, "head"), encoding="ascii") as f:
            durable = int(re.search(r" seq (\d+) ", f.read())[1])
        waiting = set()
        for name in sorted(n for n in os.listdir(log) if n.endswith(".jsonl")):
            with open(os.path.join(log, name), encoding="utf-8") as f:
                for record in (json.loads(line) for line in f if line.endswith("\n")):
                    if record["act"] != "container." + verb or record.get("id") != ref or record["seq"] > durable:
                        continue
                    if record["phase"] == "intent":
                        waiting.add(record["seq"])
                    else:
                        waiting.discard(record.get("intent"))
        return bool(waiting)

    def act(self, engine, query, ref, verb):
        if not self.intended(engine, ref, verb):
            return self.error(500, "the intent is not on disk")
        after = {"start": ("running", ["start"]), "stop": ("exited", ["kill", "die", "stop"]), "kill": ("exited", ["kill", "die"]),
                 "restart": ("running", ["kill", "die", "stop", "start", "restart"]), "pause": ("paused", ["pause"]),
                 "unpause": ("running", ["unpause"])}
        c = self.with_container(engine, ref)
        if not c:
            return True
        state, events = after[verb]
        if verb in ("start", "stop") and c["state"] == state:
            return self.reply(304)
        if verb in ("pause", "kill") and c["state"] != "running":
            return self.error(409, f"Container {c['id']} is not running")
        with engine.lock:
            c["state"] = state
        for event in events:
            engine.emit(event, c)
        return self.reply(204)

    def remove(self, engine, query, ref):
        if not self.intended(engine, ref, "remove"):
            return self.error(500, "the intent is not on disk")
        c = self.with_container(engine, ref)
        if not c:
            return True
        if c["state"] == "running" and query.get("force") not in ("1", "true"):
            return self.error(409, f"You cannot remove a running container {c['id']}. Stop the container before attempting removal or force remove")
        with engine.lock:
            del engine.containers[c["id"]]
        engine.emit("destroy", c)
        return self.reply(204)

    def exec_create(self, engine, query, ref):
        if not self.intended(engine, ref, "shell"):
            return self.error(500, "the intent is not on disk")
        c = self.with_container(engine, ref)
        if not c:
            return True
        name = hashlib.sha256(os.urandom(8)).hexdigest()
        with engine.lock:
            engine.execs[name] = {"running": False, "exit": None, "ask": json.loads(self.body)}
        return self.json({"Id": name}, 201)

    def exec_start(self, engine, query, name):
        """A shell that says its name, repeats what it hears and ends at "exit N"."""
        self.request.sendall(b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                             b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\nfake$ ")
        run = engine.execs[name]
        run["running"] = True
        heard = b""
        while True:
            data = self.request.recv(4096)
            self.request.sendall(data)
            heard += data
            done = re.search(rb"exit (\d+)[\r\n]", heard)
            if not data or done:
                run.update(running=False, exit=int(done[1]) if done else 129)
                return False

    def exec_inspect(self, engine, query, name):
        run = engine.execs.get(name)
        if not run:
            return self.error(404, f"No such exec instance: {name}")
        return self.json({"ID": name, "Running": run["running"], "ExitCode": run["exit"], "Pid": engine.get("exec_pid", 4194302)})

    def exec_resize(self, engine, query, name):
        return self.reply(200)

    def images(self, engine, query):
        return self.json([{"Id": "sha256:" + "ab" * 32, "RepoTags": ["box:1"], "Size": 2 << 20, "Created": int(START)}])

    def networks(self, engine, query):
        own = [{"Name": n, "Id": hashlib.sha256(n.encode()).hexdigest(), "Driver": n} for n in ("bridge", "host", "none")]
        return self.json(own + [{"Name": n["name"], "Id": hashlib.sha256(n["name"].encode()).hexdigest(), "Driver": "bridge", "Labels": n["labels"]}
                                for n in engine.get("networks", [])])

    def network_remove(self, engine, query, name):
        with engine.lock:
            engine.scenario["networks"] = [n for n in engine.get("networks", []) if hashlib.sha256(n["name"].encode()).hexdigest() != name]
        return self.reply(204)

    def volumes(self, engine, query):
        return self.json({"Volumes": None, "Warnings": None})

    def progress(self, engine, query):
        objects = engine.get("stream")
        if objects is None:
            return self.reply(200, b'{"status":"sha256:' + b"cd" * 32 + b'"}\r\n')
        data = "".join(o if isinstance(o, str) else json.dumps(o) + "\r\n" for o in objects).encode("utf-8", "surrogateescape")
        if not engine.get("flood"):
            return self.reply(200, data)
        send = self.stream("application/json")
        try:
            while True:
                send(data)
        finally:
            with engine.lock:
                engine.requests.append("GONE")

    def build(self, engine, query):
        try:
            with tarfile.open(fileobj=io.BytesIO(self.body), encoding="utf-8", errors="surrogateescape") as tar:
                names = [member.name.rstrip("/") for member in tar]
        except tarfile.TarError:
            return self.error(400, "the context is no tar")
        with engine.lock:
            engine.contexts.append([query.get("t", ""), names])
        return self.progress(engine, query)

    def image(self, engine, query, name):
        if not engine.get("made", True):
            return self.error(404, f"No such image: {name}")
        return self.json({"Id": "sha256:" + "ab" * 32, "RepoTags": [name], "Size": 2 << 20, "Config": {"Labels": None},
                          "RootFS": {"Type": "layers", "Layers": ["sha256:" + "01" * 32]}})

    def image_remove(self, engine, query, name):
        return self.json([{"Untagged": name}, {"Deleted": "sha256:" + "ab" * 32}])


ROUTES = [
    (r"(?:GET|HEAD) /_ping", Handler.ping), (r"GET /version", Handler.version), (r"GET /info", Handler.info),
    (r"GET /containers/json", Handler.list), (r"GET /containers/([^/]+)/json", Handler.inspect),
    (r"GET /containers/([^/]+)/stats", Handler.stats), (r"GET /containers/([^/]+)/top", Handler.top),
    (r"GET /containers/([^/]+)/logs", Handler.logs), (r"GET /events", Handler.events),
    (r"POST /containers/([^/]+)/(start|stop|restart|pause|unpause|kill)", Handler.act),
    (r"DELETE /containers/([^/]+)", Handler.remove), (r"POST /containers/([^/]+)/exec", Handler.exec_create),
    (r"POST /exec/([^/]+)/start", Handler.exec_start), (r"GET /exec/([^/]+)/json", Handler.exec_inspect),
    (r"POST /exec/([^/]+)/resize", Handler.exec_resize), (r"GET /images/json", Handler.images),
    (r"GET /networks", Handler.networks), (r"DELETE /networks/([^/]+)", Handler.network_remove),
    (r"GET /volumes", Handler.volumes), (r"POST /images/create", Handler.progress),
    (r"POST /build", Handler.build), (r"GET /images/(.+)/json", Handler.image), (r"DELETE /images/(.+)", Handler.image_remove),
]


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, path, scenario):
        self.engine = Engine(scenario)
        super().__init__(path, Handler)


def main():
    scenario = {}
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as f:
            scenario = json.load(f)
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
    Server(sys.argv[1], scenario).serve_forever()


if __name__ == "__main__":
    main()
