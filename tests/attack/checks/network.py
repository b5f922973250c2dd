"""network.py - checks 55 and 56: no way out; and private networks with named peers."""
import socket
import subprocess
import threading

from room import attack


@attack(55)
def none(room):
    name = "attack-" + room.tag
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + name)
    abstract.listen()
    listening = socket.socket()
    listening.bind(("0.0.0.0", 0))
    listening.listen(16)
    reached = []

    def accept(door, what):
        try:
            while True:
                door.accept()[0].close()
                reached.append(what)
        except OSError:
            pass
    for door, what in ((abstract, "abstract"), (listening, "tcp")):
        threading.Thread(target=accept, args=(door, what), daemon=True).start()
    mine = subprocess.run(["hostname", "-I"], stdout=subprocess.PIPE, check=False).stdout.decode().split()
    networks = room.engine.ask("GET", "/networks")[1]
    gateways = [c["Gateway"] for n in networks for c in (n["IPAM"]["Config"] or []) if c.get("Gateway")]
    room.try_inside(room.a, "network", "none", name, listening.getsockname()[1], *mine[:3], *gateways[:3])
    done = room.exec(room.a, "nslookup", "example.com", timeout=120)
    room.finding(55, done.code != 0, "a name")
    room.finding(55, not reached, f"the host's sockets were reached: {reached}")
    abstract.close()
    listening.close()
    # And the other way: nothing of the container is in the host's network.
    settings = room.engine.inspect("berth-" + room.a)
    room.finding(55, settings["HostConfig"]["NetworkMode"] == "none" and not settings["NetworkSettings"]["Ports"], "no ports are published")


@attack("named-peers")
def peers(room):
    """Agents of one private network reach each other, and nobody else reaches them or is reached."""
    one, two, other, out = (room.tag + n for n in ("p1", "p2", "p3", "p4"))
    text = "agents:\n" + "".join(f"  {a}:\n    image: attack:1\n    workspace: {room.workspace('ws-' + a)}\n    memory: 64m\n    network: {n}\n"
                                for a, n in ((one, f"{{internal: {room.tag}net}}"), (two, f"{{internal: {room.tag}net}}"),
                                             (other, f"{{internal: {room.tag}far}}"), (out, "bridge")))
    text += f"networks:\n  {room.tag}net: {{members: [{one}, {two}]}}\n  {room.tag}far: {{members: [{other}]}}\n"
    done = room.up(text, "peers.yaml")
    assert done.code == 0, done

    name = "named-peers"
    networks = room.engine.inspect("berth-" + two)["NetworkSettings"]["Networks"]
    address = next(iter(networks.values()))["IPAddress"]
    server = room.popen("exec", two, "--", "/attack/inside", "network", "serve", "7777")
    assert server.stdout.readline() == b"listening\n"
    said = {a: room.inside(a, "network", "reach", address, 7777, timeout=120).out.decode().strip() for a in (one, other, out, room.a)}
    room.finding(name, said[one] == "reached", f"the peer: {said[one]}")
    for a in (other, out, room.a):
        room.finding(name, said[a] != "reached", f"a stranger: {said[a]}")
    by_name = room.exec(one, "nslookup", "berth-" + two, timeout=120)
    room.finding(name, address.encode() in by_name.out, f"the peer by its name: {by_name.out[-200:]!r}")
    gateway = next(iter(networks.values()))["Gateway"] or address.rpartition(".")[0] + ".1"
    for where, port in ((gateway, 7778), ("10.0.0.1", 443), ("169.254.169.254", 80), ("8.8.8.8", 53)):
        got = room.inside(one, "network", "reach", where, port, timeout=120).out.decode().strip()
        room.finding(name, got != "reached", f"from the private network to {where}: {got}")
    server.kill()
    server.communicate()
    rate = room.berth("up", room.team(f"agents:\n  {room.tag}r:\n    image: attack:1\n    workspace: {room.path('ws-b')}\n    memory: 64m\n"
                                        "    network: bridge\n    network_rate: 1m\n", "rate.yaml"))
    room.finding(name, rate.code == 0 or rate.code in (2, 4) and b"rate" in rate.err, f"a rate limit is kept or refused: {rate!r}")
    room.berth("down", room.path("rate.yaml"))


@attack(56)
def allow_list(room):
    """Only what a rule names is reached, in no spelling anything else; and the host's end has nothing to be taken."""
    reached, ports, agent = [], {}, room.tag + "al"

    def accept(door, what):
        while True:
            door.accept()[0].close()
            reached.append(what)
    for what, address in (("allowed", "127.0.0.1"), ("other", "0.0.0.0")):
        door = socket.socket()
        door.bind((address, 0))
        door.listen(16)
        ports[what] = door.getsockname()[1]
        threading.Thread(target=accept, args=(door, what), daemon=True).start()
    done = room.up(f"agents:\n  {agent}:\n    image: attack:1\n    workspace: {room.workspace('ws-' + agent)}\n    memory: 64m\n"
                   f"    network: {{allow: ['127.0.0.1:{ports['allowed']}']}}\n", "allow.yaml")
    assert done.code == 0, done

    def connect(host, port):
        return room.exec(agent, "/.berth/init", "connect", host, str(port), timeout=120)
    got = connect("127.0.0.1", ports["allowed"])
    room.finding(56, got.code == 0 and reached == ["allowed"], f"what is allowed: {got!r} {reached}")
    for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:ffff:7f00:1",
                 "host.docker.internal", "127.0.0.1.", "user@127.0.0.1", "127.0.0.1\r\nX: y", "metadata.google.internal", "169.254.169.254"):
        got = connect(host, ports["other"])
        room.finding(56, got.code != 0, f"{host!r}: {got!r}")
    for words in (("127.0.0.1", f"{ports['allowed']}0"), ("127.0.0.1", f"+{ports['allowed']}"), ("127.0.0.1", "0"), ("127.0.0.1", "-1"),
                  ("127.0.0.1", f"{ports['allowed']} HTTP/1.1\r\nX:"), ("127.0.0.1", f"{ports['allowed'] + 65536}")):
        got = connect(*words)
        room.finding(56, got.code != 0, f"{words!r}: {got!r}")
    said = room.inside(agent, "network", "reach", "127.0.0.1", ports["other"], timeout=120).out.decode().strip()
    room.finding(56, said != "reached", f"without the proxy: {said}")
    done = room.exec(agent, "nslookup", "example.com", timeout=120)
    room.finding(56, done.code != 0, "a name")
    room.finding(56, reached == ["allowed"], f"the host's sockets were reached: {reached}")
    settings = room.engine.inspect("berth-" + agent)
    room.finding(56, settings["HostConfig"]["NetworkMode"] == "none", "there is no network")
    room.berth("down", room.path("allow.yaml"))
