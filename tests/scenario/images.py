#!/usr/bin/python3
"""images.py - `berth image` against engines whose progress streams fail late, lie, break off or never end."""
import itertools
import json
import os
import signal
import subprocess
import tempfile
import threading

from scenario import BERTH, HOSTILE, Fake, berth, case, main, neutral, wait_for

LAYERS = [{"status": "Pulling from library/x", "id": "latest"}] + [
    {"status": status, "id": layer, **({"progressDetail": {"current": now, "total": 1000}} if now else {})}
    for layer in ("aaaaaaaaaaaa", "bbbbbbbbbbbb")
    for status, now in (("Pulling fs layer", 0), ("Downloading", 400), ("Downloading", 300), ("Downloading", 1000), ("Extracting", 500),
                        ("Pull complete", 0))] + [{"status": "Status: Downloaded newer image for x:latest"}]
STEPS = [{"stream": "Step 1/2 : FROM box:1"}, {"stream": "\n"}, {"stream": " ---> aaa\nStep 2/2 : RUN tr"}, {"stream": "ue\n"},
         {"aux": {"ID": "sha256:" + "ab" * 32}}, {"stream": "Successfully built abab\n"}]


def context(dockerfile="FROM box:1\n"):
    where = tempfile.mkdtemp(prefix="c")
    with open(os.path.join(where, "Dockerfile"), "w", encoding="utf-8") as f:
        f.write(dockerfile)
    return where


def schema(document, name):
    lib = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    subprocess.run(["/usr/bin/python3", os.path.join(lib, "lib/schema.py"), os.path.join(lib, "data/schema", name)], input=document, check=True)


@case
def image_pull():
    with Fake(stream=LAYERS) as fake:
        result = berth("image", "pull", "--json", "x", fake=fake)
        assert result.code == 0, result.err
        schema(result.out, "image.json")
        document = result.json()
        # Both layers once, however often they were told of.
        assert (document["image"], document["transferred_bytes"], document["layers"]) == ("x:latest", 2000, 1), document
        assert any("fromImage=x%3Alatest" in r for r in fake.requests()), fake.requests()
        plain = berth("image", "pull", "x", fake=fake)
        assert plain.code == 0 and b"x:latest is ready" in plain.out and b"aaaaaaaaaaaa: Pull complete" in plain.out, plain.out
        assert plain.err == b"", plain.err


@case
def image_build():
    with Fake(stream=STEPS) as fake:
        result = berth("image", "build", "-t", "y:1", context(), fake=fake)
        assert result.code == 0, result.err
        assert b"\nStep 2/2 : RUN true\n" in result.out, result.out
        schema(berth("image", "build", "--json", "-t", "y:1", context(), fake=fake).out, "image.json")
        (request,) = {r for r in fake.requests() if "/build" in r}
        assert "t=y%3A1" in request and "dockerfile=Dockerfile" in request, request


@case
def image_build_by_name():
    """NAME DIR, as the console's :build takes it; NAME alone builds what is here."""
    where = context()
    with Fake(stream=STEPS) as fake:
        assert berth("image", "build", "y:2", where, fake=fake).code == 0
        assert berth("image", "build", "y:3", fake=fake, cwd=where).code == 0
        assert berth("image", "build", "runtime", where, fake=fake).code == 0
        asked = "".join(r for r in fake.requests() if "/build" in r)
        assert all(t in asked for t in ("t=y%3A2", "t=y%3A3", "t=runtime")), asked
        twice = berth("image", "build", "-t", "a", "b", where, fake=fake)
        assert twice.code == 2 and b"The image has a name" in twice.err, twice.err
        nothing = berth("image", "build", "y:3", fake=fake, cwd="/")
        assert nothing.code == 2 and b"no Dockerfile here" in nothing.err, nothing.err


@case
def image_build_of_berths_own():
    """A context that holds berth's configuration, also where a link leads there."""
    with tempfile.TemporaryDirectory() as top, Fake(stream=STEPS) as fake:
        where = os.path.join(top, "dot")
        os.makedirs(os.path.join(where, "berth"))
        with open(os.path.join(where, "Dockerfile"), "w", encoding="utf-8") as f:
            f.write("FROM box:1\n")
        os.symlink("dot", os.path.join(top, ".config"))
        berth("image", "build", "-t", "y:1", where, fake=fake, env={"HOME": top, "XDG_CONFIG_HOME": ""}).fails_with(4, "cannot be a build context")


@case
def image_error_after_200():
    """HTTP 200 and then no: a failure, with what the engine said, whatever follows it."""
    for verb, args in (("pull", ["x"]), ("build", ["-t", "x", context()]), ("import", [__file__, "x"])):
        for wrong in ({"errorDetail": {"message": "no space left"}, "error": "no space left"}, {"error": "no space left"}):
            with Fake(stream=[*STEPS[:2], wrong, *STEPS]) as fake:
                result = berth("image", verb, *args, fake=fake)
                assert result.code == 1 and b"no space left" in result.err and b"is ready" not in result.out, (verb, result.out, result.err)
                document = berth("image", verb, "--json", *args, fake=fake)
                assert document.code == 1
                schema(document.out, "image.json")
                assert "no space left" in document.json()["error"], document.out
                assert not document.json()["ok"]


@case
def image_done_but_not_there():
    with Fake(stream=LAYERS, made=False) as fake:
        result = berth("image", "pull", "x", fake=fake)
        assert result.code == 1 and b"does not exist" in result.err, result.err
    with Fake(stream=STEPS[:4]) as fake:
        result = berth("image", "build", "-t", "x", context(), fake=fake)
        assert result.code == 1 and b"without returning an image id" in result.err, result.err


@case
def image_broken_streams():
    where = context()
    for fault in ({"do": "cut"}, {"do": "cut", "bytes": 3}, {"do": "reset"}, {"do": "garble"}, {"do": "body", "body": "{"}, {"do": "body", "body": "[1]"},
                  {"do": "body", "body": "nonsense"}, {"do": "body", "body": "{\"stream\":" + "[" * 5000},
                  {"do": "status", "status": 500, "message": "dial tcp: lookup r on 127.0.0.1:53: no such host"},
                  {"do": "status", "status": 404, "message": "manifest unknown \x1b[31m"},
                  {"do": "raw", "raw": "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"half"}):
        with Fake(stream=STEPS, faults=[{"match": "POST .*/(build|images/create)", **fault}]) as fake:
            result = berth("image", "build", "-t", "x", where, fake=fake)
            assert result.code in (1, 3), (fault, result.code, result.out)
            neutral(result.err)
            neutral(result.out)
            assert b"is ready" not in result.out


@case
def image_hostile_words():
    words = [{"status": text, "id": text, "stream": text + "\n", "aux": {"ID": text}, "progressDetail": {"current": -5, "total": 1 << 62}}
             for text in HOSTILE] + [{"status": "Downloading", "id": "l", "progressDetail": {"current": n, "total": t}}
                                     for n, t in ((1 << 62, 1 << 62), (5, -5), (1e300, 3))]
    with Fake(stream=words + STEPS) as fake:
        for args in (["pull", "x"], ["build", "-t", "x", context()]):
            plain = berth("image", *args, fake=fake)
            assert plain.code == 0, plain.err
            neutral(plain.out + plain.err)
            result = berth("image", args[0], "--json", *args[1:], fake=fake)
            neutral(result.out)
            schema(result.out, "image.json")


@case
def image_huge():
    """An object beyond the limit is left out, a thousand layers are not all counted, a million steps are none."""
    stream = [{"stream": "x" * (3 << 20)}, {"stream": "Step 1/99999999 : no\n"}] + [
        {"status": "Downloading", "id": f"layer{n}", "progressDetail": {"current": 1, "total": 1}} for n in range(2000)] + STEPS
    with Fake(stream=stream) as fake:
        result = berth("image", "build", "-t", "x", context(), fake=fake)
        assert result.code == 0, result.err
        assert len(result.out) < 100000, len(result.out)


@case
def image_endless_is_cancelled():
    """C-c ends it, and the engine sees the connection go."""
    with Fake(stream=[{"stream": "on and on\n"}], flood=True) as fake:
        process = subprocess.Popen([BERTH, "-H", fake.url, "image", "build", "-t", "x", context()], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout.readline() == b"on and on\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1 and b"cancelled" in err, (process.returncode, err)
        wait_for(lambda: "GONE" in fake.requests(), "the engine still sends")


@case
def image_cancelled_while_it_hangs():
    with Fake(faults=[{"match": "POST .*/images/create", "do": "hang"}]) as fake:
        process = subprocess.Popen([BERTH, "-H", fake.url, "image", "pull", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        wait_for(lambda: any("images/create" in r for r in fake.requests()), "nothing was asked for")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1 and b"cancelled" in err, (process.returncode, err)


@case
def image_usage():
    where = context()
    with Fake() as fake:
        for args, word in ((["pull", ""], "valid image name"), (["pull", "-x"], "option"), (["pull", "a b"], "valid image name"),
                           (["pull", "x:1\x1b[31m"], "valid image name"), (["pull", "y" * 300], "valid image name"),
                           (["pull", "a//b"], "valid image name"), (["build", "nosuch"], "shipped"),
                           (["build", "--base", "x", where], "shipped"), (["build", "--file", "Other", where], "Other"),
                           (["build", "--file", "../../etc/passwd", where], "--file"), (["build", "--network", "mars", where], "--network"),
                           (["build", "--build-arg", "x", where], "NAME=VALUE"), (["build", "--max-context", "0", where], "--max-context"),
                           (["build", "--file", "x", "python"], "./python"), (["import", where, "x"], "regular file")):
            berth("image", *args, fake=fake).fails_with(2, word)
        berth("image", "import", "/nonexistent", "x", fake=fake).fails_with(1, "/nonexistent")
        berth("--read-only", "image", "pull", "x", fake=fake).fails_with(4, "read-only")
        berth("--read-only", "image", "remove", "x", fake=fake).fails_with(4, "read-only")
        assert not [r for r in fake.requests() if r.startswith(("POST", "DELETE"))], fake.requests()
    berth("-H", "unix:///nonexistent/e.sock", "image", "list").fails_with(3, "/nonexistent")


@case
def image_context_is_bounded():
    where = context()
    with open(os.path.join(where, "large"), "wb") as f:
        f.truncate(3 << 20)
    with Fake(stream=STEPS) as fake:
        berth("image", "build", "--max-context", "2M", where, fake=fake).fails_with(2, "--max-context", ".dockerignore")
        with open(os.path.join(where, ".dockerignore"), "w", encoding="utf-8") as f:
            f.write("large\n")
        assert berth("image", "build", "--max-context", "2M", where, fake=fake).code == 0
        deep = where
        for _ in range(70):
            deep = os.path.join(deep, "d")
            os.mkdir(deep)
        berth("image", "build", where, fake=fake).fails_with(2, "deep")


@case
def image_context_beside_somebody_who_saves():
    """What goes while the context is read is left out."""
    where = context()
    ended = threading.Event()

    def save():
        for n in itertools.count():
            if ended.is_set():
                return
            path = os.path.join(where, f"f{n % 40}")
            with open(path + ".new", "w", encoding="utf-8") as f:
                f.write("saved")
            os.rename(path + ".new", path)
            os.makedirs(os.path.join(where, f"d{n % 40}"), exist_ok=True)
            os.rmdir(os.path.join(where, f"d{n % 40}"))
    saver = threading.Thread(target=save)
    saver.start()
    try:
        with Fake(stream=STEPS) as fake:
            for _ in range(30):
                done = berth("image", "build", "-t", "y", where, fake=fake)
                assert done.code == 0, done.err
            assert all("Dockerfile" in names for _, names in fake.door("contexts")), fake.door("contexts")
    finally:
        ended.set()
        saver.join()


@case
def image_context_obeys_a_linked_dockerignore():
    """As docker's: the file that a link names; where it names none of the context, nothing is sent."""
    where = context()
    for name in ("secret", "app"):
        with open(os.path.join(where, name), "wb"):
            pass
    os.mkdir(os.path.join(where, "conf"))
    outside = tempfile.NamedTemporaryFile("w")  # pylint: disable=consider-using-with
    for path in (os.path.join(where, "conf/ignore"), outside.name):
        with open(path, "w", encoding="utf-8") as f:
            f.write("secret\nconf\n")
    link = os.path.join(where, ".dockerignore")
    with Fake(stream=STEPS) as fake:
        os.symlink("conf/ignore", link)
        assert berth("image", "build", "-t", "y", where, fake=fake).code == 0
        assert [sorted(names) for _, names in fake.door("contexts")] == [[".dockerignore", "Dockerfile", "app"]], fake.door("contexts")
        for target in (outside.name, "nowhere", ".dockerignore", "conf"):
            os.unlink(link)
            os.symlink(target, link)
            berth("image", "build", "-t", "y", where, fake=fake).fails_with(2, ".dockerignore", "regular" if target == "conf" else "link")
        assert len(fake.door("contexts")) == 1
    outside.close()


@case
def image_context_obeys_the_dockerignore_of_its_dockerfile():
    """As BuildKit: NAME.dockerignore next to the Dockerfile NAME is read instead of .dockerignore; however the path is written, it and the Dockerfile are the same files."""
    where = context()
    os.mkdir(os.path.join(where, "sub"))
    for name, text in (("secret", ""), ("sub/web", "FROM box:1\n"), (".dockerignore", "app\n"), ("sub/web.dockerignore", "*\n!app\n"), ("app", "")):
        with open(os.path.join(where, name), "w", encoding="utf-8") as f:
            f.write(text)
    with Fake(stream=STEPS) as fake:
        for path in ("sub/web", "./sub/web", "sub//web", "sub/./web"):
            assert berth("image", "build", "-t", "y", "-f", path, where, fake=fake).code == 0
        assert [sorted(names) for _, names in fake.door("contexts")] == [["app", "sub/web", "sub/web.dockerignore"]] * 4, fake.door("contexts")
        assert all("dockerfile=sub%2Fweb&" in r for r in fake.requests() if "/build" in r), fake.requests()
        assert berth("image", "build", "-t", "y", where, fake=fake).code == 0
        assert {"secret", "app"} & set(fake.door("contexts")[-1][1]) == {"secret"}, fake.door("contexts")
        with open(os.path.join(where, "Dockerfile.dockerignore"), "w", encoding="utf-8") as f:
            f.write("secret\n[z-a]\n")
        berth("image", "build", "-t", "y", where, fake=fake).fails_with(2, "Dockerfile.dockerignore, line 2", "[z-a]", "range")
        os.unlink(os.path.join(where, "Dockerfile.dockerignore"))
        os.symlink("/nowhere", os.path.join(where, "Dockerfile.dockerignore"))
        berth("image", "build", "-t", "y", where, fake=fake).fails_with(2, "Dockerfile.dockerignore", "link")
        assert len(fake.door("contexts")) == 5


@case
def image_login_comes_from_the_docker_command():
    import base64  # pylint: disable=import-outside-toplevel
    where = tempfile.mkdtemp(prefix="d")
    with open(os.path.join(where, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"auths": {"r.example:5000": {"auth": base64.b64encode(b"me:p:w?>").decode()}, "bad": {"auth": "%%%"}}}, f)
    with Fake(stream=LAYERS) as fake:
        assert berth("image", "pull", "r.example:5000/x:1", fake=fake, env={"DOCKER_CONFIG": where}).code == 0
        assert berth("image", "pull", "x:1", fake=fake, env={"DOCKER_CONFIG": where}).code == 0
        one, none = [h for h in fake.door("headers") if h["path"].startswith("/images/create")]
        login = json.loads(base64.urlsafe_b64decode(one["x-registry-auth"]))
        assert (login["username"], login["password"], login["serveraddress"]) == ("me", "p:w?>", "r.example:5000"), login
        assert "x-registry-auth" not in none, none
    # Docker's own has one entry, however it is named.
    own = "https://index.docker.io/v1/"
    with open(os.path.join(where, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"auths": {own: {"auth": base64.b64encode(b"me:p").decode()}}}, f)
    names = ["x", "team/x:1", "docker.io/library/x", "docker.io/team/x:1", "index.docker.io/team/x"]
    with Fake(stream=LAYERS) as fake:
        for name in names:
            assert berth("image", "pull", name, fake=fake, env={"DOCKER_CONFIG": where}).code == 0, name
        sent = [h for h in fake.door("headers") if h["path"].startswith("/images/create")]
        assert len(sent) == len(names), sent
        for name, h in zip(names, sent):
            assert "x-registry-auth" in h, name
            assert json.loads(base64.urlsafe_b64decode(h["x-registry-auth"]))["serveraddress"] == own, name


@case
def image_verbs():
    """One set of verbs; the former spellings do the same, and neither help nor completion shows them."""
    with Fake() as fake:
        for argv in (["image", "ls"], ["image", "list"], ["images", "ls"]):
            result = berth(*argv, "--json", fake=fake)
            schema(result.out, "images.json")
            assert [i["names"] for i in result.json()["images"]] == [["box:1"]], argv
        for verb in ("untag", "remove"):
            schema(berth("image", verb, "--json", "box:1", fake=fake).out, "image_remove.json")
            assert berth("image", verb, "box:1", fake=fake).out == b"box:1: 1 name removed, 1 layer removed\n"
        for argv in (["image"], ["images"]):
            result = berth(*argv, "rm", "--dry-run", "nobody", fake=fake)
            assert result.code == 1 and b"nobody" in result.err, (argv, result.err)
    shown = ["ls", "build", "pull", "import", "untag", "rm", "prune"]
    for group in ("image", "images"):
        offered = berth("complete", "--", group, "").out.decode()
        assert [line.split("\t")[0] for line in offered.splitlines()] == shown, offered
    usage = berth("image", "--help").out.decode()
    assert [line.split()[1] for line in usage.splitlines() if line.startswith("  image ")] == shown, usage
    everything = berth("complete", "--", "").out.decode().splitlines()
    assert not any(line.startswith("images\t") for line in everything), everything


@case
def held_hostile():
    """Images, volumes and networks of an engine that lies in every field."""
    # As the engine gives them, a number where a text should be among them.
    for bad in HOSTILE + [7, None, [1], {"a": 1}]:
        text = bad if isinstance(bad, str) else "x"
        images = [{"Id": bad}, {"Id": "sha256:" + "ab" * 32, "RepoTags": [bad], "Size": bad, "SharedSize": -5, "Created": bad, "Labels": {text: bad, "berth.image": bad}}]
        volumes = {"Volumes": [{"Name": bad, "Driver": bad, "Mountpoint": bad, "CreatedAt": bad, "Labels": {"com.docker.compose.project": bad}}]}
        networks = [{"Id": bad}, {"Name": bad, "Id": "cd" * 32, "Driver": bad, "Scope": bad, "Internal": bad, "Created": bad, "Labels": bad,
                     "IPAM": {"Config": [{"Subnet": bad, "Gateway": bad}, bad]}}]
        faults = [{"match": f"GET .*/{kind}", "do": "body", "body": json.dumps(body)}
                  for kind, body in (("images/json", images), ("volumes", volumes), ("networks", networks))]
        with Fake(faults=faults) as fake:
            for kind in ("images", "volumes", "networks"):  # images: the former name of the group
                for argv in (["ls"], ["ls", "--fast"], ["ls", "-q"], ["rm", "--dry-run", "--", text.replace("\0", "") or "x"], ["prune", "--dry-run"]):
                    result = berth(kind, *argv, fake=fake, env={"COLUMNS": "400"})
                    assert result.code in (0, 1, 2, 4), (kind, argv, result.code, result.err)
                    neutral(result.out)
                    neutral(result.err)
                result = berth(kind, "ls", "--json", fake=fake)
                assert result.code == 0, result.err
                schema(result.out, kind + ".json")
                # What has no id that an engine gives is none.
                assert len(result.json()[kind]) == 1 or kind == "volumes", result.out


main()
