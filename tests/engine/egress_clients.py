#!/usr/bin/env python3
"""egress_clients.py - the programs that agents use, through the proxy, with the environment that commands are given.

They are this machine's, run in the container's network; the servers are the test's own, on loopback: a web server with a
certificate of an authority of its own (packages of pip and npm, a git repository), a plain one (apt), and sshd.  Each is
tried with a host that a rule allows and with one that none does.
"""
import functools
import glob
import hashlib
import http.server
import io
import json
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import BERTH, begin, case, done, inspect_pid, write_team  # noqa: E402

ID = begin("clients", "127.77.0.3 web.test other.test")
GUEST = os.path.join(os.environ["BUILD"], "berth-guest")
HERE, TMP = "127.77.0.3", os.getcwd()
CA = os.path.join(TMP, "ca.pem")


def run(*args, env=None, **kwargs):
    return subprocess.run(args, check=True, capture_output=True, text=True, env=env, timeout=120, **kwargs).stdout


def make_certificates():
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", CA, "-days", "2", "-subj", "/CN=own",
        "-addext", "keyUsage=critical,keyCertSign")
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "req.pem", "-subj", "/CN=web.test")
    with open("ext", "w", encoding="ascii") as f:
        f.write("subjectAltName=DNS:web.test,DNS:other.test\n")
    run("openssl", "x509", "-req", "-in", "req.pem", "-CA", CA, "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
        "-extfile", "ext")


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked = []

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        self.asked.append((self.headers.get("Host"), self.path) if hasattr(self, "headers") else None)


def serve(port, secure):
    server = http.server.ThreadingHTTPServer((HERE, port), functools.partial(Quiet, directory="www"))
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert.pem", "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def make_site():
    os.makedirs("www/simple/tiny")
    os.makedirs("www/npm")
    os.makedirs("www/apt")
    with open("www/x", "w", encoding="ascii") as f:
        f.write("page\n")
    wheel = "www/simple/tiny/tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as z:
        z.writestr("tiny.py", "")
        z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("tiny-1.0.dist-info/RECORD", "")
    with open("www/simple/tiny/index.html", "w", encoding="ascii") as f:
        f.write('<!DOCTYPE html><html><body><a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a></body></html>')
    os.mkdir("package")
    with open("package/package.json", "w", encoding="ascii") as f:
        json.dump({"name": "tiny", "version": "1.0.0"}, f)
    with tarfile.open("www/npm/tiny-1.0.0.tgz", "w:gz") as t:
        t.add("package")
    with open("www/npm/tiny-1.0.0.tgz", "rb") as f:
        digest = hashlib.sha1(f.read()).hexdigest()
    with open("www/npm/tiny", "w", encoding="ascii") as f:
        json.dump({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "tiny", "version": "1.0.0", "dist": {"shasum": digest, "tarball": "https://web.test/npm/tiny-1.0.0.tgz"}}}}, f)
    with open("www/apt/Packages", "w", encoding="ascii") as f:
        f.write("Package: tiny\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.test>\nFilename: ./tiny.deb\nSize: 1\n"
                f"SHA256: {'0' * 64}\nDescription: x\n\n")


def make_repository():
    run("git", "init", "-q", "src")
    git = ("git", "-C", "src", "-c", "user.name=x", "-c", "user.email=x@example.test")
    run(*git, "commit", "-q", "--allow-empty", "-m", "one")
    run("git", "clone", "-q", "--bare", "src", "www/repo.git")
    run("git", "-C", "www/repo.git", "update-server-info")


make_certificates()
make_site()
serve(443, True)
serve(80, False)
SSH_PORT = 2222
write_team(f"network: {{allow: [web.test, 'web.test:80', 'web.test:{SSH_PORT}', {HERE}, '{HERE}:80', '{HERE}:{SSH_PORT}']}}")
run(BERTH, "up", "team.yaml")
PID = inspect_pid()
GIVEN = dict(line.split("=", 1) for line in run(BERTH, "exec", ID, "--", "env").splitlines() if "=" in line)
os.mkdir("home")
ENV = {k: v for k, v in GIVEN.items() if "proxy" in k.lower() or k == "GIT_SSH_COMMAND"} | {
    "PATH": os.environ["PATH"], "HOME": os.path.join(TMP, "home"), "LC_ALL": "C.UTF-8", "SSL_CERT_FILE": CA, "CURL_CA_BUNDLE": CA,
    "PIP_CERT": CA, "NODE_EXTRA_CA_CERTS": CA, "NPM_CONFIG_CAFILE": CA, "GIT_SSL_CAINFO": CA, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false", "GIT_TERMINAL_PROMPT": "0", "NPM_CONFIG_FETCH_RETRIES": "0"}


def inside(*args, good=True, **env):
    p = subprocess.run(["nsenter", f"--net=/proc/{PID}/ns/net", *args], capture_output=True, text=True, env=ENV | env, timeout=120)
    assert (p.returncode == 0) == good, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr


def is_refused_only(fn):
    """What no rule allows is told to the proxy, and to no server."""
    asked = len(Quiet.asked)
    out = fn()
    assert not any("other.test" in str(a) for a in Quiet.asked[asked:]), Quiet.asked[asked:]
    return out


@case("curl", "curl")
def _():
    assert inside("curl", "-sS", "https://web.test/x") == "page\n"
    assert inside("curl", "-sS", "http://web.test/x") == "page\n"
    assert "403" in is_refused_only(lambda: inside("curl", "-sS", "https://other.test/x", good=False))
    assert "no rule allows other.test:80" in is_refused_only(lambda: inside("curl", "-sS", "http://other.test/x"))
    inside("curl", "-sS", "--noproxy", "*", "--resolve", f"web.test:443:{HERE}", "https://web.test/x", good=False)
    inside("curl", "-sS", "--socks5-hostname", "127.0.0.1:3128", "https://web.test/x")


@case("wget", "wget")
def _():
    assert "page" in inside("wget", "-q", "-O", "-", "--ca-certificate", CA, "https://web.test/x")
    is_refused_only(lambda: inside("wget", "-q", "-O", "-", "--ca-certificate", CA, "https://other.test/x", good=False))


@case("python: urllib")
def _():
    get = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read())"
    assert "page" in inside(sys.executable, "-c", get, "https://web.test/x")
    assert "403" in is_refused_only(lambda: inside(sys.executable, "-c", get, "https://other.test/x", good=False))


def has_requests():
    return not subprocess.run([sys.executable, "-c", "from pip._vendor import requests"], capture_output=True, check=False).returncode


@case("python: requests", *([] if has_requests() else ["requests, which pip brings"]))
def _():
    get = "import sys; from pip._vendor import requests; r = requests.get(sys.argv[1]); r.raise_for_status(); print(r.text)"
    assert "page" in inside(sys.executable, "-c", get, "https://web.test/x", REQUESTS_CA_BUNDLE=CA)
    assert "403" in is_refused_only(lambda: inside(sys.executable, "-c", get, "https://other.test/x", good=False, REQUESTS_CA_BUNDLE=CA))


def has_pip():
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0


@case("pip", *([] if has_pip() else ["pip of this python"]))
def _():
    args = (sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--retries", "0", "-d", "wheels", "tiny", "--index-url")
    inside(*args, "https://web.test/simple/")
    assert glob.glob("wheels/tiny-1.0*.whl")
    is_refused_only(lambda: inside(*args, "https://other.test/simple/", good=False))


def find_node():
    """One that knows NODE_USE_ENV_PROXY: this machine's, or npm's, which is kept for the next run; None if npm cannot be reached."""
    def knows(node):
        version = tuple(int(x) for x in run(node, "--version").strip().lstrip("v").split(".")[:2])
        return version >= (24, 0) or (22, 21) <= version < (23, 0)
    if shutil.which("node") and knows("node"):
        return "node"
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
    kept = os.path.join(os.environ["BERTH_TEST_CACHE"], "node-24")
    if not os.path.exists(kept):
        if not machine or not shutil.which("npm"):
            return None
        got = subprocess.run(["npm", "pack", "--silent", f"node-linux-{machine}@24"], capture_output=True, text=True, timeout=300)
        if got.returncode:
            return None
        with tarfile.open(got.stdout.strip()) as t, open(kept + ".new", "wb") as f:
            shutil.copyfileobj(t.extractfile("package/bin/node"), f)
        os.chmod(kept + ".new", 0o755)
        os.rename(kept + ".new", kept)
    return kept


NODE = find_node()


@case("node: fetch", *([] if NODE else ["node that knows NODE_USE_ENV_PROXY (22.21, 24), here or from npm"]))
def _():
    get = "fetch(process.argv[1]).then(async r => console.log(await r.text())).catch(e => {console.error(e.cause || e); process.exit(1)})"
    assert GIVEN["NODE_USE_ENV_PROXY"] == "1"
    assert "page" in inside(NODE, "-e", get, "https://web.test/x", NODE_USE_ENV_PROXY="1")
    is_refused_only(lambda: inside(NODE, "-e", get, "https://other.test/x", good=False, NODE_USE_ENV_PROXY="1"))


@case("npm", "npm", "node")
def _():
    os.mkdir("npm")
    inside("npm", "pack", "--silent", "--registry", "https://web.test/npm/", "--pack-destination", "npm", "tiny")
    assert glob.glob("npm/tiny-1.0.0.tgz")
    is_refused_only(lambda: inside("npm", "pack", "--silent", "--registry", "https://other.test/npm/", "--pack-destination", "npm", "tiny", good=False))


# Where it is a way to one in a home, that is not the test's.
CARGO = {"CARGO_HTTP_CAINFO": CA, "CARGO_HTTP_TIMEOUT": "30", "CARGO_NET_RETRY": "0", "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.join(
    pwd.getpwuid(os.getuid()).pw_dir, ".rustup"))}


def has_cargo():
    return shutil.which("cargo") and not subprocess.run(["cargo", "--version"], capture_output=True, env=os.environ | CARGO, check=False).returncode


def make_crate():
    os.makedirs("www/cargo/ti/ny")
    os.makedirs("www/cargo/dl/tiny/1.0.0")
    with tarfile.open("www/cargo/dl/tiny/1.0.0/download", "w:gz") as t:
        for name, text in (("Cargo.toml", b'[package]\nname = "tiny"\nversion = "1.0.0"\n'), ("src/lib.rs", b"")):
            info = tarfile.TarInfo("tiny-1.0.0/" + name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text))
    with open("www/cargo/dl/tiny/1.0.0/download", "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    with open("www/cargo/ti/ny/tiny", "w", encoding="ascii") as f:
        f.write(json.dumps({"name": "tiny", "vers": "1.0.0", "deps": [], "cksum": digest, "features": {}, "yanked": False}) + "\n")
    with open("www/cargo/config.json", "w", encoding="ascii") as f:
        json.dump({"dl": "https://web.test/cargo/dl"}, f)
    os.makedirs("crate/src")
    with open("crate/src/lib.rs", "w", encoding="ascii"):
        pass
    with open("crate/Cargo.toml", "w", encoding="ascii") as f:
        f.write('[package]\nname = "own"\nversion = "1.0.0"\n[dependencies]\ntiny = "1"\n')


@case("cargo", *([] if has_cargo() else ["cargo that runs"]))
def _():
    def fetch(host, good):
        return inside("cargo", "fetch", "--manifest-path", "crate/Cargo.toml", "--config", 'source.crates-io.replace-with="own"', "--config",
                      f'source.own.registry="sparse+https://{host}/cargo/"', good=good, CARGO_HOME=os.path.join(TMP, "cargo-" + host), **CARGO)
    make_crate()
    fetch("web.test", True)
    assert glob.glob("cargo-web.test/registry/cache/*/tiny-1.0.0.crate")
    assert "403" in is_refused_only(lambda: fetch("other.test", False))


@case("git over https", "git")
def _():
    make_repository()
    inside("git", "clone", "-q", "https://web.test/repo.git", "clone")
    assert run("git", "-C", "clone", "log", "--format=%s").strip() == "one"
    is_refused_only(lambda: inside("git", "clone", "-q", "https://other.test/repo.git", "clone2", good=False))


@case("git over ssh, by the program in the lane's mount", "git", "ssh", "sshd", "ssh-keygen")
def _():
    for key in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"ssh_{key}")
    os.makedirs("/run/sshd", exist_ok=True)
    daemon = subprocess.Popen([shutil.which("sshd"), "-D", "-e", "-f", "/dev/null", "-p", str(SSH_PORT), "-h", f"{TMP}/ssh_host", "-o",
                               f"ListenAddress={HERE}", "-o", f"AuthorizedKeysFile={TMP}/ssh_user.pub", "-o", "StrictModes=no", "-o", "UsePAM=no",
                               "-o", "PermitRootLogin=yes", "-o", f"PidFile={TMP}/sshd.pid"], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while True:
            with socket.socket() as s:
                if not s.connect_ex((HERE, SSH_PORT)):
                    break
            assert time.monotonic() < until and daemon.poll() is None, "sshd does not come up"
            time.sleep(0.05)
        # The program is this tree's: in the container it stands at the path that is replaced.
        command = GIVEN["GIT_SSH_COMMAND"].replace("/.berth/init", GUEST)
        assert GUEST in command, GIVEN["GIT_SSH_COMMAND"]
        command += f" -F /dev/null -i {TMP}/ssh_user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
        inside("git", "clone", "-q", f"ssh://root@web.test:{SSH_PORT}{TMP}/www/repo.git", "clone3", GIT_SSH_COMMAND=command)
        assert run("git", "-C", "clone3", "log", "--format=%s").strip() == "one"
        inside("git", "clone", "-q", f"ssh://root@other.test:{SSH_PORT}{TMP}/www/repo.git", "clone4", good=False, GIT_SSH_COMMAND=command)
    finally:
        daemon.terminate()
        daemon.wait()


@case("apt", "apt-get")
def _():
    def update(host, good):
        root = os.path.join(TMP, "apt-" + host)
        for path in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "etc/trusted.gpg.d"):
            os.makedirs(f"{root}/{path}", exist_ok=True)
        with open(f"{root}/sources", "w", encoding="ascii") as f:
            f.write(f"deb [trusted=yes] http://{host}/apt ./\n")
        with open(f"{root}/status", "w", encoding="ascii"):
            pass
        out = inside("apt-get", "update", "-o", f"Dir::State={root}/state", "-o", f"Dir::State::status={root}/status", "-o", f"Dir::Cache={root}/cache",
                     "-o", f"Dir::Etc={root}/etc", "-o", f"Dir::Etc::SourceList={root}/sources", "-o", f"Dir::Etc::SourceParts={root}/etc/none",
                     "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=0",
                     good=good)
        return out, glob.glob(f"{root}/state/lists/*Packages*")
    out, lists = update("web.test", True)
    assert lists, out
    out, lists = is_refused_only(lambda: update("other.test", False))
    assert not lists and "403" in out, out


run(BERTH, "down", "team.yaml")
done()
