"""Unbounded nesting and cycles in texts: a one-line error with place and remedy, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from conftest import Process
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json, parse_toml
from sojourn.io.tc import lines
from sojourn.io.tc.scenario import load

DEEP = "queue managers are nested more than 64 deep; use fewer levels"
FLAT = "tables or lists are nested more than 64 deep; write them flatter"
PAIRS = {
    "tbf": ("tbf rate 1mbit burst 2kB { ", " }"),
    "fq": ("fq(", ")"),
    "prio": ("prio { band 2 { ", " } }"),
    "htb": ("htb { class 1 rate 1mbit { ", " } }"),
    "netem": ("netem delay 3ms { ", " }"),
}


def scenario(aqm: str) -> str:
    return f"duration = '90 ms'\n[link]\nrate = '5 Mbit/s'\naqm = '{aqm}'\n[[flows]]\nkind = 'tcp'\n"


def one_line(stderr: str) -> str:
    [line] = [line for line in stderr.splitlines() if line.strip()]
    assert "Traceback" not in line
    assert len(line) < 600
    return line


@pytest.mark.parametrize("kind", PAIRS)
def test_queue_managers_within_each_other(process: Process, tmp_path: Path, kind: str) -> None:
    (begin, end), deep = PAIRS[kind], tmp_path / "deep.toml"
    for depth in (65, 3000):
        deep.write_text(scenario(begin * depth + "codel" + end * depth))
        done = process("run", deep)
        assert done.returncode == 2
        line = one_line(done.stderr)
        assert line.startswith(f"Error: {deep}: link.aqm: ")
        assert line.endswith(DEEP) or (kind, depth) == ("fq", 65)  # fq has no other flow queue as child
    if kind != "fq":
        deep.write_text(scenario(begin * 64 + "codel" + end * 64))
        assert process("run", deep).returncode == 0


@pytest.mark.parametrize("words", [["compare", "--duration", "1s", "--aqm"], ["aqm", "show"], ["aqm", "check"]])
def test_every_command_that_reads_one(process: Process, words: list[str]) -> None:
    done = process(*words, "netem { " * 3000)
    assert done.returncode == 2
    assert one_line(done.stderr).endswith(DEEP)


def test_objects_read_the_same_texts() -> None:
    with pytest.raises(InputError, match=DEEP):
        sj.Queue("prio { band 1 { " * 999)
    with pytest.raises(InputError, match=DEEP):
        sj.Scenario.parse(scenario("codel"), {"link.aqm": "tbf { " * 999})


CIRCLES = {
    "class 2 parent 1 rate 1mbit; class 1 parent 1 rate 1mbit": "class 2: its parents form a loop, 1 below 1",
    "class 5 rate 2mbit; class 1 parent 2 rate 1mbit; class 2 parent 3 rate 1mbit; class 3 parent 1 rate 1mbit": (
        "class 1: its parents form a loop, 1 below 2 below 3 below 1"
    ),
}


@pytest.mark.parametrize("classes", CIRCLES)
def test_a_circle_of_classes_is_named(process: Process, tmp_path: Path, classes: str) -> None:
    (tmp_path / "circle.toml").write_text(scenario(f"htb {{ {classes} }}"))
    done = process("run", "circle.toml", timeout=60)
    assert done.returncode == 2
    assert f"link.aqm: {CIRCLES[classes]}; attach one of them to the root" in one_line(done.stderr)


SHAPED = """tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:10 htb rate 7mbit
tc class add dev eth0 parent {} classid 1:20 htb rate 3mbit ceil 7mbit
tc class add dev eth0 parent {} classid 1:30 htb rate 2mbit
tc class add dev eth0 parent {} classid 1:40 htb rate 1mbit
"""


@pytest.mark.parametrize("parents", [("1:40", "1:20", "1:20"), ("1:", "1:30", "1:30"), ("1:", "1:40", "1:30")])
def test_a_circle_of_classes_in_tcs_words(tmp_path: Path, parents: tuple[str, str, str]) -> None:
    (tmp_path / "tc.txt").write_text(SHAPED.format(*parents))
    with pytest.raises(InputError, match=r"tc.txt: line 1: htb: class \w+: its parents form a loop, .* below "):
        load(tmp_path / "tc.txt")


def nested(depth: int) -> str:
    """A netem in a tbf in a netem …, in tc's output format."""
    message = ["qdisc tbf 1: dev eth0 root refcnt 2 rate 9Mbit burst 4Kb lat 50ms"]
    message += [f"qdisc netem {n:x}: dev eth0 parent {n - 1:x}:1 limit 100 delay 1ms" for n in range(2, depth + 2)]
    return "\n".join(message)


def test_disciplines_of_tc_within_each_other(tmp_path: Path) -> None:
    (tmp_path / "tc.txt").write_text(nested(64))
    assert load(tmp_path / "tc.txt").text.count("netem") == 64
    for depth in (65, 5000):
        (tmp_path / "tc.txt").write_text(nested(depth))
        with pytest.raises(InputError, match=r"line 66: qdiscs are nested more than 64 deep; use fewer levels"):
            load(tmp_path / "tc.txt")


@pytest.mark.parametrize(
    ("text", "circle"),
    [
        (
            "qdisc htb 1: dev e root default 1\nclass htb 1:1 root rate 1Mbit\nqdisc htb 1: dev e parent 1:1",
            "htb 1: in htb 1:",
        ),
        (
            "qdisc prio 1: dev e root bands 3\nqdisc tbf 2: dev e parent 1:2 rate 1Mbit burst 9Kb lat 5ms\n"
            "qdisc netem 3: dev e parent 2:1\nqdisc tbf 2: dev e parent 3:1 rate 1Mbit burst 9Kb lat 5ms",
            "netem 3: in tbf 2: in netem 3:",
        ),
        (
            "qdisc mq 1: dev e root\nqdisc mq 2: dev e parent 1:1\nqdisc mq 1: dev e parent 2:1",
            "mq 2: in mq 1: in mq 2:",
        ),
    ],
)
def test_disciplines_of_tc_that_hold_each_other(tmp_path: Path, text: str, circle: str) -> None:
    (tmp_path / "tc.txt").write_text(text)
    with pytest.raises(InputError, match=f"line [0-9]+: qdiscs form a loop, .*{circle}; leave one of them out"):
        load(tmp_path / "tc.txt")


def test_long_texts_of_tc_are_read_at_once(tmp_path: Path) -> None:
    """Thousands of classes with queues, each printed twice, took minutes in a quadratic parser."""
    message = ["tc qdisc add dev eth0 root handle 1: htb default 2"]
    for number in range(2, 5_000):
        message.append(f"tc class replace dev eth0 parent 1: classid 1:{number:x} htb rate 1mbit ceil 9mbit")
        message.append(f"tc qdisc replace dev eth0 parent 1:{number:x} handle {number:x}: fq_codel")
    message += message[1:]
    (tmp_path / "tc.txt").write_text("\n".join(message))
    assert "class 1387 " in load(tmp_path / "tc.txt").text
    shown = ["qdisc htb 1: dev eth0 root default 0x2"]
    for number in range(2, 3_000):
        shown += [
            f"qdisc pfifo {number:x}: dev eth0 parent 1:{number:x} limit 99p",
            f"class htb 1:{number:x} root rate 1Mbit",
        ]
    (tmp_path / "tc.txt").write_text("\n".join(shown))
    assert "class bb7 " in load(tmp_path / "tc.txt").text
    for line in (
        "qdisc fq_codel 0: root " + "dev " * 200_000,
        "filter parent 1: x\n" + "  y\n" * 200_000,
        "a \\\n" * 200_000,
    ):
        (tmp_path / "tc.txt").write_text(line)
        with pytest.raises(InputError, match=f"line 1: more than {lines.MAX_LINE} characters"):
            load(tmp_path / "tc.txt")
    (tmp_path / "tc.txt").write_text("[{}]" * 300_000)
    with pytest.raises(InputError, match="no queue discipline in it"):
        load(tmp_path / "tc.txt")


TEXTS = {
    "a = " + "[" * 90 + "1" + "]" * 90: "line 1, column 69: ",
    "b.c = 1\n" + ".".join("a" * 200) + " = 1": "line 2, column 130: ",
    '{"a": ' + '{"b": ' * 90 + "1" + "}" * 91: "line 1, column 385: ",
    "[x" + ".x" * 63 + "]\na.b = 1": "x: ",
}


@pytest.mark.parametrize("text", TEXTS)
def test_tables_within_each_other(process: Process, tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.toml").write_text(text)
    done = process("run", "deep.toml")
    assert done.returncode == 2
    assert one_line(done.stderr).endswith(f"deep.toml: {TEXTS[text]}{FLAT}")


def test_documents_of_studies_and_results() -> None:
    for depth in (66, 5000):
        with pytest.raises(InputError, match=rf"(a(\[0\]){{5}}…|line 3): {FLAT}"):
            parse_toml("# [[[\nb = '[[[['\na = " + "[" * depth + "]" * depth)
        with pytest.raises(InputError, match=rf"(a(\[0\]){{5}}…|line 2): {FLAT}"):
            parse_json('{"b": "[[\\"[[",\n"a": ' + "[" * depth + "]" * depth + "}")
    assert parse_json("[" * 64 + "]" * 64)


def test_parts_of_a_sentence_within_each_other(process: Process, tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text(
        scenario("codel") + '[draw]\n"flows.0.rtt" = { uniform = ["10 ms", "90 ms"] }\n'
    )
    for sentence in ("not " * 300 + "goodput > 1 Mbit/s", "-" * 300 + "goodput > 1 Mbit/s", "(" * 5000):
        done = process("hunt", "space.toml", "--where", sentence)
        assert done.returncode == 2
        assert "--where: " in one_line(done.stderr)
