#!/usr/bin/python3
"""yaml.py - what berth reads in YAML files, against PyYAML, and in env files, against docker create --env-file."""
import glob
import os
import random
import re
import shutil
import sys

sys.path.pop(0)  # else this file is the module yaml
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import oracle  # noqa: E402

SRC, SHORT, SOAK = os.environ["SRC"], os.environ.get("BERTH_TEST_CHANGED"), os.environ.get("BERTH_SOAK")
GENERATED = 300 if SHORT else 50000 if SOAK else 3000
ENV_FILES = 50 if SHORT else 3000 if SOAK else 150  # a process each

VALUES = """~ null Null NULL nUll 'null' "~" '' 0 00 -0 007 010 -010 0o10 08 0x1F 0b11 1_000 +5 -5 42 9223372036854775807 9223372036854775808 1:30 190:20:30 1.5 .5 5. -1.5 +.5 010.5 1e3 1.5e3 1.5e+3
1.5E-3 .inf -.inf .nan .NaN true True TRUE tRuE false yes Yes YES yEs no on Off OFF y n Y N 2026-11-20 2026-11-20T20:45:02Z = << 512m 2g 0512m 1.5GiB '512' "010" a:b a#b http://x/y?z=1&w @x `x %x
!x !!str !!int !<tag:yaml.org,2002:str> &anchor *alias - -- --- ... ? | > [] {} [a] {a: 1} 'it''s' "a\\tb" "\\u00e9" "\\x41" "\\0" "\\/" "a\\nb" x\u00e9 \u65e5\u672c [1,2] [a,] [,a] {a} {a:1} {"a":1} {a: } [a: 1]
"a b" 'a: b' a\\b C:\\dir $HOME ${X} "${X}" \u2028 ,a a, a] *.c .* ..  / ./x ~/x ~x !x *x""".split() + [
    "a # b", "a  b", "a: b", "- a", "", "# c", "a\n  b", "a\n\n  b", "'a\n  b'", "\"a\\\n  b\"", "|\n  a\n  b", ">\n  a\n  b", "|-\n  a\n", "|+\n  a\n\n", ">-\n  a\n\n  b", "|2\n    a", "!!str 010", "!!int '5'",
    "&a x", "!!null ''", "! x", "\n  - a\n  - b", "\n- a\n- b", "\n  b: 1\n  c: 2", "\n  - b: 1\n    c: 2", "[a, [b, c], {d: e}]", "{a: [1, 2], b: {c: d}}", "[a,\n  b]", "'a", "\"a", "[a", "{a: 1", "a\tb", "\ta", "a\t",
    "\t", "1 ", "null # no", "~ # no", "null,", "x\n y", "- - a", "? a", "[null, ~, Null, NULL, '', \"\", null x]", "{a: null, b: ~, c: , d: 010}", "\x07", "\x85", "\u2029", "a\u00a0b", "\ufeff"]

LISTED = [f"k: {value}\n" for value in VALUES] + [f"{value}: x\n" for value in VALUES] + [f"- {value}\n" for value in VALUES] + [
    "", "\n", "# only\n", "---\n", "---\n---\n", "...\n", "--- {}\n", "---\na: 1\n...\n", "a: 1\n---\nb: 2\n", "a: 1\n...\nb: 2\n", "%YAML 1.1\n---\na: 010\n", "%YAML 1.2\n---\na: 010\n", "%TAG ! tag:x,2026:\n---\na: !x 1\n",
    "null\n", "~\n", "x\n", "- a\n", "[]\n", "{}\n", "{a: 1}\n", "\ufeffa: 1\n", "\ufeff# c\na: 1\n", "\ufeff", "\ufeff\ufeffa: 1\n", "a: 1\n\ufeffb: 2\n", "a: 1\r\nb: 2\r\n", "a: |\r\n  x\r\n  y\r\nb: 1\r\n", "a: 1\rb: 2\r",
    "a: \"x\r\n  y\"\r\n", "a: 1\0\n", "\0", "a: \0\n", "a: 1\n# \0\nb: 2\n", "a: 1\na: 2\n", "a: 1\n\"a\": 2\n", "a: {b: 1, b: 2}\n", "a: 1\nA: 2\n", "~: 1\nnull: 2\n", "1: a\n01: b\n", "true: 1\nyes: 2\n",
    "x: &a {b: 1}\ny: *a\n", "x: &a [1, 2]\ny: *a\nz: [*a, *a]\n", "x: &a 1\ny: &a 2\nz: *a\n", "x: *a\n", "x: &a [*a]\n", "x: &a {b: *a}\n", "&a x: 1\n*a : 2\n", "&a x: 1\ny: *a\n", "x: &a null\ny: *a\n", "x: &a 010\ny: *a\n",
    "a: &a {b: 1}\nc:\n  <<: *a\n  d: 2\n", "a: &a {b: 1}\nc:\n  <<: [*a]\n", "c:\n  \"<<\": 1\n", "c: {<<: {b: 1}}\n", "? a\n: 1\n", "? [a]\n: 1\n", "? {a: 1}\n: 1\n", "[a]: 1\n", "? |\n  a\n: 1\n", ": 1\n", "'': 1\n", "a:\n",
    "a: \nb: 1\n", "a:\n\nb: 1\n", "a:b\n", "a :1\n", "a : 1\n", "a:  1\n", "a:\t1\n", "\ta: 1\n", "a:\n\tb: 1\n", "a:\n  b: 1\n c: 2\n", " a: 1\nb: 2\n", "  a: 1\n  b: 2\n", "a: 1\n  b: 2\n", "a: b: c\n", "- a\nb: 1\n",
    "a: 1 # c\n", "a: 1#c\n", "a: '#c'\n", "a: \"\\q\"\n", "a: \"\\uD800\"\n", "a: \"\\U00110000\"\n", "a: \"\\U0001F600\"\n", "a: \U0001F600\n", "a: \"\\e\\a\\b\"\n", "a: \"\\N\\_\\L\\P\"\n", "a: \x7f\n", "a: \x9f\n", "a: \ufffe\n",
    "a: [" * 40 + "]" * 40 + "\n", "a: " + "x" * 2000 + "\n", "k" * 1100 + ": 1\n", "\"" + "k" * 1100 + "\": 1\n", "a: 1", "a: |\n  x", "a: !!,\n", "a: [b:]\n", "a: !,\n", "a: |+\n \tb\n\n # c\n", "a: |\n x\n  y\n z\n", "a: >\n x\n y\n\n z\n  w\n", "a: |#c\n x\n", "a: | # c\n x\n",
]
BYTES = [b"a: \xff\n", b"\xff\xfea\0:\0 \x001\0\n\0", b"\xfe\xff\0a\0:\0 \x001\0\n", b"a: \xc0\x80\n", b"a: \xed\xa0\x80\n", b"a: \xf4\x90\x80\x80\n", b"a: \xc3", b"\xef\xbb\xbf\xef\xbb\xbfa: 1\n", b"\xef\xbb", b"# \xff\na: 1\n"]


class Refused(Exception):
    pass


def composed(text):
    """PyYAML's trees, their tags resolved by YAML 1.1."""
    try:
        return list(yaml.compose_all(text, yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Refused(str(error).replace("\n", " ")) from None


BY_TAG = {"tag:yaml.org,2002:" + name: name for name in ("null", "bool", "int", "float", "str")}


def compare(node, berth, at):
    """How berth's node differs from PyYAML's; None."""
    if isinstance(node, yaml.MappingNode):
        if "map" not in berth or len(node.value) != len(berth["map"]):
            return f"{at}: a map of {len(node.value)}, {berth}"
        for (key, value), got in zip(node.value, berth["map"]):
            if not isinstance(key, yaml.ScalarNode) or key.value != got["key"]:
                return f"{at}: the key {getattr(key, 'value', key)!r}, {got['key']!r}"
            found = compare(value, got, f"{at}.{got['key']}")
            if found:
                return found
        return None
    if isinstance(node, yaml.SequenceNode):
        if "list" not in berth or len(node.value) != len(berth["list"]):
            return f"{at}: a list of {len(node.value)}, {berth}"
        return next((found for found in (compare(value, got, f"{at}[]") for value, got in zip(node.value, berth["list"])) if found), None)
    return compare_scalar(node, berth, at)


def compare_scalar(node, berth, at):
    kind = BY_TAG.get(node.tag, "str")
    if "text" not in berth or berth["quoted"] != (node.style is not None):
        return f"{at}: {node.value!r}, {berth}"
    if berth["text"] != ("" if kind == "null" and node.style is None else node.value):
        return f"{at}: {kind} {node.value!r}, {berth}"
    if node.style is not None:
        return None
    try:
        value = yaml.SafeLoader("").construct_object(node) if kind in ("int", "float", "bool") else None
    except ValueError:
        value = None
    for reading in ("int", "number", "bool", "bytes"):
        if reading not in berth or (reading == "bytes" and not re.fullmatch(r"[\d.]+", berth["text"])):
            continue
        if kind not in {"int": ("int",), "number": ("int", "float"), "bool": ("bool",), "bytes": ("int", "float")}[reading] or \
                (float(berth[reading]) != float(value) if reading == "number" else berth[reading] != value if reading != "bytes" else berth[reading] != int(value)):
            return f"{at}: {kind} {node.value!r}, for berth {reading} {berth[reading]}"
    # What PyYAML reads as a number or as true and false, berth has to read so or to refuse as text.
    if (kind == "int" and "int" not in berth) or (kind == "float" and "number" not in berth) or (kind == "bool" and "bool" not in berth):
        return f"{at}: spelled {kind} {node.value!r}, for berth none"
    return None


def differ(inputs):
    found = []
    for text, berth in zip(inputs, oracle.judge("yaml", inputs)):
        try:
            docs = composed(text)
        except Refused as error:
            found.append(None if "error" in berth else f"refused: {error}; berth: {berth}")
            continue
        if "error" in berth:
            found.append(f"berth refuses: {berth['error']}")
        elif len(docs) > 1:
            found.append(f"{len(docs)} documents, berth: {berth}")
        elif not docs or docs[0] is None:
            found.append(None if not berth["root"].get("map", [1]) else f"nothing, berth: {berth}")
        elif isinstance(docs[0], yaml.ScalarNode) and not docs[0].value and berth["root"]["map"] == []:
            found.append(None)
        else:
            found.append(compare(docs[0], berth["root"], ""))
    return found


def refuses(sentence):
    return lambda text, differs: re.search("^berth refuses: .*" + sentence, differs) is not None


def reads(sentence):
    return lambda text, differs: re.search(sentence, differs) is not None


MEANT = [
    (refuses("duplicate key"), "PyYAML takes the last of two equal keys; in a team file one of them is a mistake"),
    (refuses("found the tag"), "berth uses no tags"),
    (refuses("found a merge key"), "berth merges nothing"),
    (refuses("found a second document"), "berth's files are one document"),
    (refuses("at the top"), "berth's files are `key: value` lines"),
    (refuses("found a key that is not a plain word"), "berth has no keys that are lists, maps or aliases"),
    (refuses("found an empty key"), "berth has no empty keys"),
    (refuses("inside of its own anchor"), "berth has no tree that contains itself"),
    (refuses("found more than 32 levels"), "berth has limits"),
    (refuses("found a NUL character"), "berth's texts end at a NUL character"),
    (refuses("found the control character U\\+(FEFF|0085|FFFE|0080)|found the byte|control character U\\+0000"), "berth reads UTF-8 without control characters; PyYAML takes some of them, and UTF-16"),
    (reads(r"^refused: .*'\\t' that cannot start any token"), "PyYAML refuses tabs between words, which YAML has"),
    (reads(r"spelled int '([-+]?0[0-7_]+|[-+]?0[xb].*)'"), "numbers that are octal to YAML 1.1 alone, hexadecimal and binary ones are refused"),
    (reads(r"spelled int '(\+.*|.*[_:].*|9223372036854775808)'"), "whole numbers with sign, _ or : are refused, and those of more than 64 bits"),
    (reads(r"spelled float '(.*\.(inf|nan|NaN)|\+.*|.*[_:].*)'"), "numbers that are none, with sign, _ or : are refused"),
    (reads(r"str '[-+\d.]+[eE][-+\d]*', for berth number|str '-\.\d+', for berth number|float '.*', for berth bytes|str '\d+[eE]\d+'.*bytes"), "1e3 and -.5 are numbers to YAML 1.2; amounts may have a fraction"),
    (reads("^refused: found duplicate anchor"), "PyYAML refuses an anchor of the same name; in YAML the latest counts"),
    (reads(r"^refused: .*but (got|found) '[?#]'"), "PyYAML refuses ? within words of lists, and a comment right behind |; libyaml, with which berth reads, takes both"),
    (refuses("found invalid Unicode character escape code"), "half of a surrogate pair is no character"),
    (refuses("found unexpected ':' \\(while scanning a plain scalar"), "libyaml refuses a : in front of ] and }, which ends no word in PyYAML"),
    (refuses("while (scanning|parsing) a tag|found a tab character where an indentation"), "libyaml refuses some tags, and tabs before a text block"),
    (lambda text, differs: b"&" in text and refuses(r"found the alias \*\w+, expected an anchor")(text, differs), "berth keeps no anchors of keys"),
    (reads("str '[A-Za-z]+', for berth bool"), "true and false in any mixture of capitals"),
]


def generated(rng):
    """Lines of a map, nested; sometimes with one character changed."""
    def block(depth, indent):
        lines = []
        for _ in range(rng.choice((1, 1, 2, 3, 4))):
            key = rng.choice(("a", "b", "c", "image", "null", "010", "'q'", "\"d\"", "e f", "~", "yes", "\u00e9"))
            kind = rng.random()
            if kind < 0.2 and depth < 4:
                lines += [f"{indent}{key}:"] + block(depth + 1, indent + rng.choice(("  ", " ", "    ")))
            elif kind < 0.35:
                lines += [f"{indent}{key}:"] + [f"{indent}{rng.choice(('', '  '))}- {rng.choice(VALUES)}"] * rng.choice((1, 2))
            elif kind < 0.5:
                lines.append(f"{indent}{key}: [{', '.join(rng.choice(VALUES) for _ in range(rng.choice((1, 2, 3))))}]")
            elif kind < 0.6:
                lines.append(f"{indent}{key}: {{{rng.choice(VALUES)}: {rng.choice(VALUES)}, {key}: {rng.choice(VALUES)}}}")
            elif kind < 0.7:
                number = rng.choice(("", "-", "+")) + "".join(rng.choice("0123456789..._e:") for _ in range(rng.choice((1, 2, 3, 5))))
                lines.append(f"{indent}{key}: {number}")
            else:
                lines.append(f"{indent}{key}: {rng.choice(VALUES)}{rng.choice(('', '', ' # c'))}")
        return lines
    text = rng.choice(("\n", "\n", "\n", "\r\n")).join(block(0, "")) + "\n"
    if rng.random() < 0.3:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(("", " ", "\n", ":", "-", "'", '"', "#", "\t", "&a ", "*a", ",", "]", "}")) + text[at + rng.choice((0, 1)):]
    return (rng.choice(("", "", "", "\ufeff", "---\n")) + text).encode()


ENV_LISTED = [
    b"", b"\n", b"A=1\n", b"A=1", b"A=\n", b"A==\n", b"A=b=c\n", b"A=1\r\nB=2\r\n", b"A=1\r", b"A=1\rB=2\n", b"A\rB\n", b"\rA\n", b"\xef\xbb\xbfA=1\n", b"\xef\xbb\xbf# c\nA=1\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\nA=1\n", b"B=1\n\xef\xbb\xbfA=1\n",
    b"\xef\xbb\xbf\xef\xbb\xbfA=1\n", b"A=\xef\xbb\xbf\n", b"# c\n", b"  # c\n", b"A=1 # c\n", b"A=#c\n", b"#A=1\nB=2\n", b"A=1\nA=2\n", b"A=1\nB=2\nA=\n", b"a=1\nA=2\n", b"  A=1\n", b"\tA=1\n", b" \n", b"\t\n", b"\r\n", b"\x0bA=1\n",
    b"A =1\n", b"A\t=1\n", b"A= 1\n", b"A=1 \n", b"A=1\t\n", b"A=a b\n", b"A B=1\n", b"A B\n", b"A\tB=1\n", b"=1\n", b"=\n", b" =1\n", b"A\n", b"HOME\n", b"NOWHERE\n", b"A='1'\n", b"A=\"1\"\n", b"A='1\n", b"A=\"1'\n", b"A='\n", b"A=''\n",
    b"A=\"a\\nb\"\n", b"A=a\\\nB=2\n", b"A=$B\n", b"A=${B}\n", b"A=\\n\n", b"export A=1\n", b"export=1\n", b"export A\n", b"export  A = 1\n", b"exportA=1\n", b"A=1\0\nB=2\n", b"A\0=1\n", b"\0", b"A=1\n\0", b"A=1\n# \0\nB=2\n",
    b"A\0B\0=\x001\0\n\0", b"A=\xff\n", b"\xff=1\n", b"# \xff\nA=1\n", b"A=\xc3\xa9\n", b"\xc3\xa9=1\n", b"1A=1\n", b"A-B=1\n", b"A.B=1\n", b"A:1\n", b"A: 1\n", b"%A=1\n", b"A=" + b"x" * 5000 + b"\n", b"A=\x01\n", b"A=\x1b[31m\n",
    b"\xc2\xa0A=1\n", b"A\xc2\xa0B=1\n", b"A=1\xc2\xa0\n", b"A=1\n\n\nB=2\n\n", b"A=1\x0c\nB=2\n", b"A\x0c=1\n", b"A\x0bB=1\n", b"A,B=1\n", b"A=1;B=2\n", b"'A'=1\n", b"\"A\"=1\n", b"A!=1\n", b"A+=1\n", b"- A=1\n"]

# Lines of which docker has another opinion; without them the programs agree.
ENV_MEANT = [
    (rb"[ \t]*export[ \t].*", "docker takes `export NAME` for a name with a blank; berth reads files that a shell reads, too"),
    (rb"[^=]*=[ \t]*(\"[^\"]*\"|'[^']*')[ \t\r]*", "for docker quotes are part of the value"),
    (rb"[^=]*=([ \t].*|.*[ \t\r])", "for docker blanks around the value are part of it"),
    (rb"[ \t\r]*[^= \t\r]+[ \t\r]+=.*", "docker refuses a blank behind the name"),
    (rb"[ \t\r]*[^=\s\0#\x80-\xff][^= \t\0\x80-\xff]*[ \t\r]*", "docker takes a name alone from its own environment; berth has env_vars for that and warns"),
    (rb"(?s:.*)\0(?s:.*)", "docker passes NUL bytes on, which ends in an error of the engine"),
    (rb"[^\x80-\xff]*[\x80-\xff].*", "docker refuses what is not UTF-8, and knows the blanks of Unicode"),
    (rb"[\x0b\x0c].*|.*[\x0b\x0c][^=]*=.*", "docker skips vertical tabs and form feeds in front of a name and takes them within"),
]


class Env:
    def __init__(self):
        self.docker = oracle.Docker(os.environ["TMPDIR"])
        self.at = 0

    def ask(self, inputs):
        runs = []
        for text in inputs:
            self.at += 1
            path = os.path.join(os.environ["TMPDIR"], f"env{self.at}")
            with open(path, "wb") as file:
                file.write(text)
            runs.append([b"create", b"--name=NUMBER", b"--env-file=" + path.encode(), b"box"])
        return self.docker.run_all(runs)

    def differ(self, inputs):
        found = []
        for said, berth in zip(self.ask(inputs), oracle.judge("env", inputs)):
            want = said and dict(pair.split("=", 1) for pair in said["Env"] or [])
            got = None if "error" in berth or berth["odd"] else dict(berth["env"])
            found.append(None if want == got else f"docker: {want}, berth: {berth}")
        return found

    def differ_otherwise(self, inputs):
        """What differs without the lines that are meant to."""
        found = self.differ(inputs)
        odd = [i for i, differs in enumerate(found) if differs]
        again = self.differ([without_meant(inputs[i]) for i in odd])
        for i, differs in zip(odd, again):
            found[i] = (found[i], differs)
        return found


def meant_lines(text):
    """[(line, the number of its kind or None)...], the mark of editors aside."""
    mark = b"\xef\xbb\xbf" if text.startswith(b"\xef\xbb\xbf") else b""
    return mark, [(line, next((i for i, (pattern, _) in enumerate(ENV_MEANT) if re.fullmatch(pattern, line.rstrip(b"\n").removesuffix(b"\r"))), None))
                  for line in re.findall(rb"[^\n]*\n|[^\n]+", text[len(mark):])]


def without_meant(text):
    mark, lines = meant_lines(text)
    return mark + b"".join(line for line, kind in lines if kind is None)


def env_file(rng):
    names = (b"A", b"B", b"PATH", b"a_b", b"X1", b"A.B", b"export", b"HOME2", b"A B", b"", b"\xc3\xa9")
    values = (b"1", b"", b"a=b", b"a b", b"#c", b"a #c", b"'q'", b"\"q\"", b"$A", b"\\", b"\xc3\xa9", b"'", b"x" * 40, b"{\"a\": 1}", b"https://u:p@h/?q=1#f")
    lines = []
    for _ in range(rng.choice((1, 2, 3, 5))):
        kind = rng.random()
        if kind < 0.1:
            lines.append(rng.choice((b"", b"# c", b"   ", b"  # A=1")))
        else:
            lines.append(rng.choice((b"",) * 6 + (b" ", b"\t", b"export ")) + rng.choice(names) + rng.choice((b"=",) * 8 + (b" =", b"= ", b"", b":")) + rng.choice(values) + rng.choice((b"",) * 8 + (b" ",)))
    end = rng.choice((b"\n", b"\n", b"\r\n"))
    text = end.join(lines) + rng.choice((end, end, b""))
    if rng.random() < 0.1:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice((b"\0", b"\xff", b"=", b" ", b"\n", b"\r", b"#")) + text[at:]
    return (b"\xef\xbb\xbf" if rng.random() < 0.15 else b"") + text


def report_env(rng):
    env = Env()
    inputs = ENV_LISTED + [env_file(rng) for _ in range(ENV_FILES)]
    found = env.differ_otherwise(inputs)
    bad = [text for text, differs in zip(inputs, found) if differs and differs[1]]
    print(f"note oracle env files: {len(inputs)} inputs, {found.count(None)} as docker, {len(inputs) - found.count(None) - len(bad)} differ as they are meant to, {len(bad)} otherwise")
    for text in bad[:oracle.SHOWN]:
        small = oracle.shrink(text, lambda less: any(differs and differs[1] for differs in env.differ_otherwise([less])))
        print(f"# {small!r}: {env.differ_otherwise([small])[0][1]} (of {text!r})")
    print("not ok" if bad else "ok", "env files: as docker")
    used = {kind for text, differs in zip(inputs, found) if differs for _, kind in meant_lines(text)[1]}
    same = [why for i, (_, why) in enumerate(ENV_MEANT) if i not in used]
    print(*(f"# no input differs any more: {why}" for why in same), sep="\n", end="\n" if same else "")
    print("not ok" if same else "ok", "env files: what is meant to differ from docker does")
    return bool(bad or same)


def main():
    rng = random.Random(33)
    shipped = []
    for pattern in ("configs/*.yaml", "configs/examples/**/*.yaml", "themes/*.yaml"):
        for path in sorted(glob.glob(os.path.join(SRC, pattern), recursive=True)):
            with open(path, "rb") as file:
                shipped.append(file.read())
    inputs = shipped + [text.encode("utf-8", "surrogatepass") for text in LISTED] + BYTES + [generated(rng) for _ in range(GENERATED)]
    failed = oracle.check("yaml", inputs, differ, MEANT, "PyYAML")
    if not shutil.which("docker"):
        print("skip env files: there is no docker here")
        return int(failed)
    return int(failed | report_env(rng))


if __name__ == "__main__":
    try:
        import yaml
    except ImportError:
        print("there is no PyYAML here (python3-yaml)")
        sys.exit(77)
    sys.exit(main())
