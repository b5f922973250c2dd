"""profile_bench.py - the container section of the CIS Docker benchmark (1.6.0, section 5) on what berth makes.

From `docker inspect` data, as docker-bench-security reads it; where its own test proves little the stronger form is
asked for as well: no capability at all instead of none beyond the defaults, no-new-privileges by its value, a profile
of ours instead of any.
"""
import json
import os

from room import attack, processes

CHECKS = {}


def check(number):
    def keep(function):
        CHECKS[number] = function
        return function
    return keep


def host(c):
    return c["HostConfig"]


def lsm(c):
    """5.1 is about swarm, 5.2 and 5.3 about modules that this kernel may not have."""
    try:
        with open("/sys/kernel/security/lsm", encoding="ascii") as f:
            modules = f.read().split(",")
    except OSError:
        modules = []
    return modules


check("5.2")(lambda c: bool(c["AppArmorProfile"]) or "apparmor" not in lsm(c))
check("5.3")(lambda c: bool(host(c)["SecurityOpt"]))
check("5.4")(lambda c: not host(c)["CapAdd"] and host(c)["CapDrop"] == ["ALL"])
check("5.5")(lambda c: host(c)["Privileged"] is False)
SYSTEM = ("/", "/boot", "/dev", "/etc", "/lib", "/proc", "/sys", "/usr")


def of_the_system(m):
    """A directory of the host's.  The init is one file, berth's own, read-only; installed it lies below /usr."""
    if m["Type"] != "bind" or m["Destination"] == "/.berth/init" and not m["RW"] and os.path.isfile(m["Source"]):
        return False
    return any(m["Source"] == d or d != "/" and m["Source"].startswith(d + "/") for d in SYSTEM)


check("5.6")(lambda c: not any(of_the_system(m) for m in c["Mounts"]))
check("5.7")(lambda c: not any("sshd" in name(pid) for pid in processes(c["Id"])))
check("5.8")(lambda c: not c["NetworkSettings"]["Ports"])
check("5.9")(lambda c: not host(c)["PortBindings"] and not host(c)["PublishAllPorts"])
check("5.10")(lambda c: host(c)["NetworkMode"] != "host")
check("5.11")(lambda c: 0 < host(c)["Memory"] == host(c)["MemorySwap"])
check("5.12")(lambda c: host(c)["NanoCpus"] > 0)
check("5.13")(lambda c: host(c)["ReadonlyRootfs"] is True)
check("5.14")(lambda c: not host(c)["PortBindings"])
check("5.15")(lambda c: host(c)["RestartPolicy"]["Name"] in ("", "no") and host(c)["RestartPolicy"]["MaximumRetryCount"] == 0)
check("5.16")(lambda c: host(c)["PidMode"] == "")
check("5.17")(lambda c: host(c)["IpcMode"] == "private")
check("5.18")(lambda c: not host(c)["Devices"] and not host(c).get("DeviceRequests") and not host(c).get("DeviceCgroupRules"))
check("5.19")(lambda c: {"core", "nofile", "fsize"} <= {u["Name"] for u in host(c)["Ulimits"] or ()} and all(u["Soft"] == u["Hard"] for u in host(c)["Ulimits"]))
check("5.20")(lambda c: all(m.get("Propagation", "") in ("", "rprivate", "private") for m in c["Mounts"]))
check("5.21")(lambda c: host(c)["UTSMode"] == "")
check("5.22")(lambda c: any(o.startswith("seccomp={") and json.loads(o[8:])["defaultAction"] == "SCMP_ACT_ERRNO" for o in host(c)["SecurityOpt"]))
check("5.25")(lambda c: host(c)["CgroupParent"] == "")
check("5.26")(lambda c: "no-new-privileges:true" in host(c)["SecurityOpt"])
# Berth's own in the place of the image's: once an hour, for each is an engine exec, some fifty commands over the lane.
check("5.27")(lambda c: c["Config"]["Healthcheck"]["Test"][:3] == ["CMD", "/.berth/init", "health"] and c["State"]["Health"]["Status"] in ("starting", "healthy")
              and c["Config"]["Healthcheck"]["Interval"] == 3600 * 10**9)
check("5.29")(lambda c: (host(c)["PidsLimit"] or 0) > 0)
check("5.30")(lambda c: list(c["NetworkSettings"]["Networks"]) in ([], ["none"]))
check("5.31")(lambda c: host(c)["UsernsMode"] == "" and host(c)["CgroupnsMode"] == "private")
check("5.32")(lambda c: not any(os.path.basename(m["Source"]).endswith(".sock") for m in c["Mounts"]))


def name(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


@attack("cis-section-5")
def section_five(room):
    for agent in (room.a, room.b):
        c = room.engine.inspect("berth-" + agent)
        for number, holds in CHECKS.items():
            room.finding("cis-section-5", holds(c), f"{number} on {agent}")
        masked = set(host(c)["MaskedPaths"] or ())
        room.finding("cis-section-5", {"/proc/kcore", "/proc/keys", "/sys/firmware"} <= masked, f"masked paths {masked}")
        room.finding("cis-section-5", {"/proc/sys", "/proc/sysrq-trigger"} <= set(host(c)["ReadonlyPaths"] or ()), "read-only paths")
        room.finding("cis-section-5", not c["Config"]["User"].startswith("0"), f"user {c['Config']['User']}")
    done = room.up_report
    enforced = [e for a in done["agents"] for e in a["enforced"]]
    room.finding("cis-section-5", len(enforced) >= 30 and all(e["same"] for e in enforced), f"as asked: {[e for e in enforced if not e['same']]}")
    # And every other container of berth's that is up by now: nothing that a feature loosened without saying so.
    for other in room.engine.names():
        c = room.engine.inspect(other)
        labels = (c or {}).get("Config", {}).get("Labels") or {}
        if labels.get("berth.proof") and labels.get("berth.role") in ("agent", "tool", "pool") and host(c)["ReadonlyRootfs"]:
            bad = [n for n in ("5.4", "5.5", "5.10", "5.13", "5.18", "5.22", "5.26", "5.29", "5.32") if not CHECKS[n](c)]
            room.finding("cis-section-5", not bad, f"{other}: {bad}")
