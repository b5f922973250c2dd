"""boxed.py - for tests of one agent's network: its team, commands of berth, its container's network from inside, servers.

begin() comes first.  What is done inside is done by a thread in the container's network namespace; servers are this
machine's, on loopback, and names mean what a hosts file of the test's own says.  case(NAME) runs the test that it stands
before; done() ends with what became of them.
"""
import ctypes
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from said import everything

PATIENCE = 60
BERTH = os.environ["BERTH"]
PROXY_PORT = 3128
libc = ctypes.CDLL(None, use_errno=True)
agent, failed = "", 0


def begin(name, *hosts):
    """In the test's folder, in a mount namespace with these lines of /etc/hosts.  Returns the agent's name."""
    global agent
    os.chdir(os.environ["TMPDIR"])
    if hosts and "OWN_HOSTS" not in os.environ:
        write("hosts", "\n".join(("127.0.0.1 localhost", *hosts)) + "\n")
        os.environ["OWN_HOSTS"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", "sh", "-c",
                              'mount --bind hosts /etc/hosts && exec "$@"', "sh", sys.executable, sys.modules["__main__"].__file__])
    os.environ["DOCKER_HOST"] = os.environ["BERTH_TEST_ENGINE"]
    os.mkdir("ws")
    os.chown("ws", 1000, 1000)
    agent = f"{name}{os.getpid()}"
    return agent


def case(name, *programs):
    """Tests of programs that this machine does not have are named."""
    def run(fn):
        global failed
        missing = [p for p in programs if not shutil.which(p)]
        if missing:
            print("note not tried, for there is no", ", ".join(missing) + ":", name)
            return
        try:
            fn()
            print("ok", name)
        except Exception as e:  # pylint: disable=broad-except
            at = e.__traceback__.tb_next
            print("not ok", name)
            print("#", type(e).__name__, str(e)[-1500:].replace("\n", " | "), "line", at and at.tb_lineno)
            failed = 1
        sys.stdout.flush()
    return run


def done():
    sys.exit(failed)


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def write_team(more, rest="", options=""):
    """A team of the one agent; `more` are lines of its own, `rest` lines of the file."""
    write("team.yaml", f"agents:\n  {agent}: {{image: 'box:1', workspace: {os.getcwd()}/ws, memory: 64m, pids: 64, {options}\n    {more}}}\n{rest}")


def berth(*args, code=0, env=None):
    p = subprocess.run([BERTH, *args], capture_output=True, text=True, errors="replace", timeout=120, env={**os.environ, **(env or {})})
    assert p.returncode == code, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout + (p.stderr if code else "")


def wait_until(what):
    until = time.monotonic() + PATIENCE
    while not (got := what()):
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.01)
    return got


def inspect_pid():
    p = subprocess.run(["docker", "inspect", "-f", "{{.State.Pid}}", f"berth-{agent}"], capture_output=True, text=True, check=True)
    return int(p.stdout)


def inside(fn):
    """fn() in a thread of its own, which is in the container's network."""
    got = []

    def enter():
        fd = os.open(f"/proc/{inspect_pid()}/ns/net", os.O_RDONLY)
        assert not libc.setns(fd, 0), os.strerror(ctypes.get_errno())
        os.close(fd)
        try:
            got.append(fn())
        except OSError as e:
            got.append(e)
    t = threading.Thread(target=enter)
    t.start()
    t.join()
    if isinstance(got[0], OSError):
        raise got[0]
    return got[0]


def give_v6():
    """Engines of most kinds switch it off in containers without a network."""
    subprocess.run(["nsenter", f"--net=/proc/{inspect_pid()}/ns/net", "sh", "-c",
                    "cd /proc/sys/net/ipv6/conf && echo 0 >all/disable_ipv6 && echo 0 >lo/disable_ipv6"], check=True)


def client(family=socket.AF_INET):
    """A connection to the proxy, from inside."""
    def reach():
        s = socket.socket(family)
        s.settimeout(PATIENCE)
        s.connect(("127.0.0.1" if family == socket.AF_INET else "::1", PROXY_PORT))
        return s
    return inside(reach)


def connect(target, family=socket.AF_INET):
    """CONNECT to what is named as it stands, text or bytes: the connection, and the head of the answer."""
    target = target if isinstance(target, bytes) else target.encode()
    s = client(family)
    s.sendall(b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n")
    head = b""
    while b"\r\n\r\n" not in head and (more := s.recv(1)):
        head += more
    return s, head


def clients(n):
    """Many at once."""
    def reach():
        made = []
        for _ in range(n):
            made.append(socket.create_connection(("127.0.0.1", PROXY_PORT), PATIENCE))
        return made
    return inside(reach)


def say(text, family=socket.AF_INET):
    with client(family) as s:
        s.sendall(text if isinstance(text, bytes) else text.encode())
        return everything(s)


def end_pids(*words):
    """The processes of berth-egress that have these words."""
    found, want = [], [b"berth-egress", *(w.encode() for w in words or (f"berth-{agent}",))]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                argv = f.read().split(b"\0")
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
            if argv[:len(want)] == want and state != "Z":
                found.append(int(pid))
        except (OSError, IndexError):
            pass
    return found


def end_pid():
    return (end_pids() or [0])[0]


class Server(threading.Thread):
    """Counts who comes, keeps what they say, answers by fn(server, conn); nobody is answered without one."""

    def __init__(self, fn, address="127.0.0.1", port=0, family=socket.AF_INET, backlog=2048, make=socket.socket):
        super().__init__(daemon=True)
        self.fn, self.came, self.heard, self.conns = fn, 0, b"", []
        self.socket = make(family)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.listen(backlog)
        self.port = self.socket.getsockname()[1]
        if fn:
            self.start()

    def run(self):
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            self.came += 1
            self.conns = [c for c in self.conns if c.fileno() >= 0] + [conn]
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        try:
            self.fn(self, conn)
        except (OSError, ValueError):
            pass
        conn.close()

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for conn in self.conns:
            conn.close()


def echo(server, conn):
    while data := conn.recv(65536):
        conn.sendall(data)
