"""egress_end.py - an agent's end of egress without a container, for tests."""
import fcntl
import os
import resource
import socket
import struct
import subprocess

PATIENCE = 60


class End:
    """What `berth up` starts for an agent; its init is a process that sleeps, its listener is ours."""

    def __init__(self, box, *rules, files=None):
        place = os.path.join(os.environ["XDG_RUNTIME_DIR"], "berth", "egress")
        os.makedirs(place, 0o700, exist_ok=True)
        os.chmod(os.path.dirname(place), 0o700)
        rules_file, control = f"{place}/{box}.rules", f"{place}/{box}.sock"
        with open(rules_file, "w", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in rules))
        self.init = subprocess.Popen(["sleep", "600"])
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(control):
            os.unlink(control)
        self.control.bind(os.path.relpath(control))
        self.control.listen(16)
        lane = os.open("/dev/null", os.O_RDONLY)
        self.agent = socket.create_server(("127.0.0.1", 0), backlog=4096)
        held = [self.control.fileno(), os.pidfd_open(self.init.pid), lane, self.agent.fileno()]

        def give():
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in held]  # free ones: none of these is lost
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.p = subprocess.Popen([f"{os.environ['BUILD']}/berth-egress", box, rules_file, "1"], preexec_fn=give, close_fds=False,
                                  env={"ASAN_OPTIONS": "detect_leaks=0"})  # which needs more than an end keeps

    def ask(self, target):
        """A connection that has asked for it."""
        s = socket.create_connection(self.agent.getsockname(), PATIENCE)
        s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        return s

    def connect(self, host):
        with self.ask(f"{host}:443") as s:
            return s.recv(4096).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.init.kill()
        self.init.wait()
        assert self.p.wait(PATIENCE) == 0
        self.control.close()
        self.agent.close()


def tell(box, *rules, what=3):
    """As `berth net allow` and `forget` do it, for an agent whose container there is not."""
    text = "".join(line + "\n" for line in rules).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(PATIENCE)
        s.connect(f"berth/egress/{box}.sock")
        s.send(struct.pack("II", what, len(text)) + text)
        assert s.recv(4096), rules  # its usage: they are taken


def rows(box, what, count=0):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(PATIENCE)
        s.connect(f"berth/egress/{box}.sock")
        s.send(struct.pack("II", what, count))
        return list(iter(lambda: s.recv(4096), b""))


def logged(box):
    """The ids of the connections that its log has."""
    return [struct.unpack_from("Q", event)[0] for event in rows(box, 2, 512)]


def reached(box):
    """What berth net usage prints: connections by target; "" has all others, and comes last, always."""
    found = [struct.unpack_from("=254s22xHxxQ", row) for row in rows(box, 9)]
    assert [port for _, port, _ in found].index(0) == len(found) - 1, found
    return {host.split(b"\0")[0].decode(): n for host, _, n in found}


def tell_routes(box, *lines):
    """As `berth up` does it."""
    tell(box, *lines, what=7)


def established(s):
    head = b""
    while b"\r\n\r\n" not in head:
        more = s.recv(39 - len(head))
        assert more, head
        head += more
    assert head.startswith(b"HTTP/1.1 200"), head
