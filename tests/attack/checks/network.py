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
    done = room.exec(room.a, "nslookup", "example.com", timeout=60)
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
    said = {a: room.inside(a, "network", "reach", address, 7777, timeout=60).out.decode().strip() for a in (one, other, out, room.a)}
    room.finding(name, said[one] == "reached", f"the peer: {said[one]}")
    for a in (other, out, room.a):
        room.finding(name, said[a] != "reached", f"a stranger: {said[a]}")
    by_name = room.exec(one, "nslookup", "berth-" + two, timeout=60)
    room.finding(name, address.encode() in by_name.out, f"the peer by its name: {by_name.out[-200:]!r}")
    gateway = next(iter(networks.values()))["Gateway"] or address.rpartition(".")[0] + ".1"
    for where, port in ((gateway, 7778), ("10.0.0.1", 443), ("169.254.169.254", 80), ("8.8.8.8", 53)):
        got = room.inside(one, "network", "reach", where, port, timeout=60).out.decode().strip()
        room.finding(name, got != "reached", f"from the private network to {where}: {got}")
    server.kill()
    server.communicate()
    rate = room.berth("up", room.team(f"agents:\n  {room.tag}r:\n    image: attack:1\n    workspace: {room.path('ws-b')}\n    memory: 64m\n"
                                        "    network: bridge\n    network_rate: 1m\n", "rate.yaml"))
    room.finding(name, rate.code == 0 or rate.code in (2, 4) and b"rate" in rate.err, f"a rate limit is kept or refused: {rate!r}")
    room.berth("down", room.path("rate.yaml"))


@attack(56)
def allow_list(room):
    """No egress allow-list exists: a team file that asks for one must be refused, not run without."""
    done = room.berth("up", room.team(f"agents:\n  {room.tag}al:\n    image: attack:1\n    workspace: {room.path('ws-b')}\n"
                                      "    network: {allow: [example.com]}\n", "allow.yaml"))
    if done.code == 2 and room.engine.inspect(f"berth-{room.tag}al") is None:
        room.absent(56, "`network: {allow: [...]}` in a team file is refused with exit 2: there is no allow-list to attack")
    else:
        room.finding(56, False, f"an allow-list is accepted now, and its attacks are not written: {done!r}")
