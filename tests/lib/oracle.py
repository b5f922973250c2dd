"""oracle.py - what the scripts of tests/oracle share: berth's judge, docker on a socket where only this answers, date, and a shrinker."""
import concurrent.futures
import itertools
import json
import os
import socketserver
import subprocess
import threading
import urllib.parse

JUDGE = os.path.join(os.environ["BUILD"], "oracle-judge")
CORES = len(os.sched_getaffinity(0))
SHOWN = 5  # differences that are made small and printed


def judge(what, inputs, *words, **env):
    """What berth reads in each of the inputs, by tests/oracle/judge."""
    done = subprocess.run([JUDGE, what, *map(str, words)], input=b"".join(b"%d\n%s" % (len(text), text) for text in inputs), stdout=subprocess.PIPE,
                          env={**os.environ, **env}, check=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.decode(errors="surrogateescape").split("\n")[:-1]]
    assert len(answers) == len(inputs), (len(answers), len(inputs))
    return answers


def shrink(text, is_bad):
    """The bytes of which nothing more can be left out while is_bad."""
    size = max(len(text) // 2, 1)
    while True:
        for at in range(0, len(text), size):
            less = text[:at] + text[at + size:]
            if is_bad(less):
                text = less
                break
        else:
            if size == 1:
                return text
            size //= 2


class Docker:
    """The docker program, and what it would ask of an engine."""

    def __init__(self, folder):
        self.asked, self.numbers = {}, itertools.count()
        asked = self.asked

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                line = self.rfile.readline().split()
                length = 0
                for header in iter(self.rfile.readline, b"\r\n"):
                    if header.lower().startswith(b"content-length:"):
                        length = int(header.partition(b":")[2])
                url = urllib.parse.urlsplit(line[1].decode())
                query = dict(urllib.parse.parse_qsl(url.query))
                answer = b""
                if url.path.endswith("/events"):
                    asked[list(json.loads(query["filters"])["label"])[0]] = query
                elif url.path.endswith("/create"):
                    body = self.rfile.read(length)
                    if not length:
                        for size in iter(lambda: int(self.rfile.readline(), 16), 0):
                            body += self.rfile.read(size)
                            self.rfile.readline()
                    asked[query["name"]] = json.loads(body)
                    answer = b'{"Id": "1", "Warnings": []}'
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(answer), answer))

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            request_queue_size = 100
        path = os.path.join(folder, "docker.sock")
        self.server = Server(path, Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.env = {"PATH": os.environ["PATH"], "HOME": folder, "DOCKER_HOST": "unix://" + path, "DOCKER_API_VERSION": "1.41", "TZ": "UTC0"}

    def run(self, words):
        """What `docker WORDS` asks; NUMBER in a word becomes one that only this run has. None: it refuses."""
        number = f"n{next(self.numbers)}"
        done = subprocess.run([b"docker", *(word.replace(b"NUMBER", number.encode()) for word in words)], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=60)
        assert (done.returncode == 0) == (number in self.asked), (words, done.stderr)
        return self.asked.pop(number, None)

    def run_all(self, runs):
        with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
            return list(pool.map(self.run, runs))


def check(what, inputs, differ, meant, program):
    """Report on inputs: differ(inputs) says of each whether it differs; `meant` is [(does it fit the input and how that differs, why)...]. Whether any differs otherwise."""
    verdicts = differ(inputs)
    bad, as_meant = [], [0] * len(meant)
    for text, differs in zip(inputs, verdicts):
        if not differs:
            continue
        kind = next((i for i, (fits, _) in enumerate(meant) if fits(text, differs)), None)
        if kind is None:
            bad.append(text)
        else:
            as_meant[kind] += 1
    print(f"note oracle {what}: {len(inputs)} inputs, {len(inputs) - sum(map(bool, verdicts))} as {program}, {sum(as_meant)} differ as they are meant to, {len(bad)} otherwise")
    for text in bad[:SHOWN]:
        small = shrink(text, lambda less: any(differs and not any(fits(less, differs) for fits, _ in meant) for differs in differ([less])))
        print(f"# {small!r}: {differ([small])[0]} (of {text!r})")
    print("not ok" if bad else "ok", f"{what}: as {program}")
    same = [why for (_, why), n in zip(meant, as_meant) if not n]
    print(*(f"# no input differs any more: {why}" for why in same), sep="\n", end="\n" if same else "")
    print("not ok" if same else "ok", f"{what}: what is meant to differ from {program} does")
    return bool(bad or same)
