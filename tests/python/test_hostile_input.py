"""Hostile input: a one-line error and an exit code, never a traceback, an abort, a hang or gigabytes."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from captures import Segment, ethernet, pcap
from conftest import SHORT, Cli, Process, entries, printed_json
from sojourn.model.aqms import loading


def refused(result: Any, *expected: str, code: int = 2) -> None:
    """The exit code, all expected texts in a one-line error, and no traceback."""
    assert result.exit_code == code, (result.output, result.exception)
    for text in expected:
        assert text in result.stderr, result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def folder(cli: Cli, tmp_path: Path) -> Path:
    """A result with all probes."""
    (tmp_path / "short.toml").write_text(SHORT.replace('"3 s"', '"2 s"'))
    sets = ["--set", "probes.packets=true", "--set", 'probes.queue="10 ms"']
    return Path(printed_json(cli("run", "short.toml", "-o", "out", "--json", *sets))["folder"])


def test_goodput_across_a_clock_step_names_the_place(cli: Cli, tmp_path: Path) -> None:
    early = [Segment(10**9 * k, seq=1000 * k, payload=1000) for k in range(3)]
    late = [Segment(1_700_000_000 * 10**9 + 10**9 * k, seq=1000 * k, payload=1000) for k in range(3, 6)]
    (tmp_path / "a.pcap").write_bytes(pcap([(s.time_ns, ethernet(s.ip4())) for s in [*early, *late]]))
    refused(
        cli("pcap", "goodput", "a.pcap"),
        "a.pcap",
        "between its packets 3 and 4 is a gap of 1700000001 s",
        "the clock was set",
    )


def test_goodput_in_steps_of_a_nanosecond_is_refused(cli: Cli, tmp_path: Path) -> None:
    packets = [Segment(10**9 * k, seq=1000 * k, payload=1000) for k in range(30)]
    (tmp_path / "a.pcap").write_bytes(pcap([(s.time_ns, ethernet(s.ip4())) for s in packets]))
    refused(cli("pcap", "goodput", "a.pcap", "--step", "1ns"), "a.pcap: --step", "give wider ones")
    assert cli("pcap", "goodput", "a.pcap", "--step", "1 ms").exit_code == 0, "a long table is cut"


@pytest.mark.parametrize(
    "command",
    [["trace", "synth", "lte", "--duration", "2 s"], ["compare", "--aqm", "codel", "--duration", "1 s", "--plot"]],
)
def test_a_folder_as_output_file_is_refused(cli: Cli, command: list[str]) -> None:
    words = command if command[-1] == "--plot" else [*command, "-o"]
    result = cli(*words, "/")
    assert result.exit_code in (2, 3), result.exception
    assert "Traceback" not in result.stderr
    assert "/: " in result.stderr


EMPTY_NAMES: list[list[str]] = [
    ["run", "short.toml", "-o", ""],
    ["run", ""],
    ["sweep", "short.toml", "-o", ""],
    ["compare", "--aqm", "codel", "-o", ""],
    ["compare", "--aqm", "codel", "--trace", ""],
    ["plot", "cdf", ""],
    ["trace", "synth", "lte", "-o", ""],
    ["trace", "stats", ""],
    ["pcap", "goodput", ""],
    ["log", "convert", "", "x.tr"],
    ["aqm", "diff", "codel", "--log", ""],
    ["reproduce", "nichols2012", "-o", ""],
]


@pytest.mark.parametrize("words", EMPTY_NAMES, ids=" ".join)
def test_an_empty_name_is_not_the_current_folder(cli: Cli, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    refused(cli(*words), "the name is empty")
    assert entries(tmp_path) == {"short.toml"}


MAHIMAHI_LINES = {
    "huge time": "99999999999999999999 + 1500",
    "time beyond 64 bits of ns": "18446744073709 + 1500",
    "huge size": "1 + 99999999999999999999",
    "a number of thousands of digits": f"{'9' * 5000} + 1500",
    "other digits": "² + 1500",
    "waited longer than the run": "0 + 1500\n1 - 1500 9000",
    "huge delay": "0 + 1500\n1 - 1500 99999999999999999999",
    "huge drop": "1 d 99999999999999999999 1500",
}


@pytest.mark.parametrize("case", MAHIMAHI_LINES)
def test_numbers_of_a_log_are_of_this_world(cli: Cli, tmp_path: Path, case: str) -> None:
    text = f"# mahimahi\n# base timestamp: 0\n5 + 1500\n5 - 1500 0\n{MAHIMAHI_LINES[case]}\n"
    (tmp_path / "a.log").write_text(text)
    refused(cli("log", "convert", "a.log", "b.tr"), "a.log: line ")
    assert entries(tmp_path) == {"a.log"}


def test_a_packet_that_leaves_before_it_came_is_refused(cli: Cli, tmp_path: Path) -> None:
    words = "0 1 tcp 1500 ------- 1 0.0 1.0 0 7"
    (tmp_path / "a.tr").write_text(f"+ 2.5 {words}\n- 1.5 {words}\n")
    refused(cli("log", "convert", "a.tr", "b.log"), "a.tr: packet 7 departs at 1.5 s, before its arrival")


DEEP = {
    "lists": "a = " + "[" * 50_000 + "]" * 50_000,
    "dotted keys": "a." * 5000 + "a = 1",
    "dotted headers": f"[{'a.' * 5000}a]",
    "sweep": f"{SHORT}\n[sweep]\n{'a.' * 5000}a = [1]",
    "a number of thousands of digits": f"a = {'9' * 5000}",
}


@pytest.mark.parametrize("case", DEEP)
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_deeply_nested_toml_is_refused(cli: Cli, tmp_path: Path, command: str, case: str) -> None:
    (tmp_path / "deep.toml").write_text(DEEP[case])
    refused(cli(command, "deep.toml", "-o", "out"), "deep.toml: ")


def test_studies_that_extend_each_other_by_other_spellings_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.toml").write_text('extends = "sub/../a.toml"\n')
    refused(cli("sweep", "a.toml"), "a.toml: extends", "itself")


VALUES = {
    "a date in a list": (
        "link.rate",
        '{ uniform = ["1 Mbit/s", 2024-02-29] }',
        "draw.link.rate.uniform[1]: 2024-02-29",
    ),
    "a time of day": ("link.delay", "07:32:00", "draw.link.delay: 07:32:00"),
    "a date with an offset": ("seed", "[1979-05-27T00:32:00-07:00]", "draw.seed[0]: 1979-05-27"),
    "a whole number beyond all": ("flows.0.count", f"[{'7' * 401}]", "draw.flows.0.count[0]: a whole number of"),
    "nesting": (
        "link.rate",
        "[" * 66 + "]" * 66,
        "draw.link.rate[0][0][0][0]…: tables or lists are nested more than 64",
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_that_no_key_takes_are_named_by_their_place(cli: Cli, tmp_path: Path, case: str) -> None:
    path, value, reported = VALUES[case]
    (tmp_path / "odd.toml").write_text(f'{SHORT}\n[draw]\n"{path}" = {value}\n')
    refused(cli("run", "odd.toml", "-o", "out"), "odd.toml: ", reported)
    refused(cli("sweep", "odd.toml", "-o", "out"), "odd.toml: ", reported)


STYLES = {
    "figure.figsize: nan, 3": "figure.figsize: nan; write a number from 0.5 to 100",
    "font.size: inf": "font.size: inf",
    "legend.fontsize: 0": "legend.fontsize: 0; write a number from 1 to",
    "savefig.dpi: 1e9": "savefig.dpi: 1e+09; write a number from 10 to 2400",
    "lines.linewidth: nan": "lines.linewidth: nan",
}


@pytest.mark.parametrize("line", STYLES)
def test_a_number_of_a_style_that_nothing_can_be_drawn_with_is_refused(cli: Cli, folder: Path, line: str) -> None:
    Path("odd.mplstyle").write_text(f"{line}\n")
    refused(cli("plot", "box", folder, "--style", "odd.mplstyle"), f"--style: odd.mplstyle: {STYLES[line]}")


def test_a_table_that_is_no_parquet_is_a_damaged_result_though_its_digest_is_true(cli: Cli, folder: Path) -> None:
    table, manifest = folder / "packets.parquet", folder / "manifest.json"
    whole, text = table.read_bytes(), manifest.read_text()
    draw = random.Random(411)
    message = 0
    for _ in range(25):
        odd = bytearray(whole)
        for _ in range(draw.choice([1, 7, 60])):
            odd[draw.randrange(len(odd))] = draw.randrange(256)
        table.write_bytes(odd)
        digests = [hashlib.sha256(data).hexdigest() for data in (whole, odd)]
        manifest.write_text(text.replace(*digests))
        ran = cli("plot", "timeseries", folder)
        if ran.exit_code:
            refused(ran, "damaged result, packets.parquet")
            message += 1
    assert message > 12


def in_manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return edit


MANIFESTS: dict[str, Callable[[Path], Any]] = {
    "an empty summary": in_manifest(lambda m: m["summary"].clear()),
    "a fairness that is a word": in_manifest(lambda m: m["summary"].update(jain="abc")),
    "a fairness that is no number": in_manifest(lambda m: m["summary"].update(jain=float("nan"))),
    "a number beyond all": in_manifest(lambda m: m["summary"].update(events=10**400)),
    "no sojourn times": in_manifest(lambda m: m["summary"]["links"]["forward"].pop("sojourn_ms")),
    "a quantile that is a list": in_manifest(lambda m: m["summary"]["links"]["forward"]["sojourn_ms"].update(p95=[1])),
    "flows that are a table": in_manifest(lambda m: m["summary"].update(flows={})),
    "a flow of words": in_manifest(lambda m: m["summary"]["flows"][0].update(bytes="many")),
    "another link": in_manifest(lambda m: m["summary"].update(hops=[{"name": "x", **m["summary"]["links"]}])),
    "a table without digest": in_manifest(lambda m: next(iter(m["tables"].values())).pop("sha256")),
    "a list": lambda path: path.write_text("[{}]"),
    "nesting": lambda path: path.write_text('{"a":' * 50_000 + "1" + "}" * 50_000),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe"),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_damaged_manifest_is_refused_by_every_reader(cli: Cli, folder: Path, case: str) -> None:
    MANIFESTS[case](folder / "manifest.json")
    for words in (["plot", "box", folder], ["pcap", "export", folder, "--side", "in", "-o", "x.pcapng"]):
        refused(cli(*words), "damaged result")
    refused(cli("run", "short.toml", "-o", "out", "--set", "probes.packets=true", "--set", 'probes.queue="10 ms"'))


RAISING = {
    "its text raises": ("class Odd(Exception):\n    def __str__(self):\n        return 1 / 0", "raise Odd"),
    "SystemExit": ("", "raise SystemExit(0)"),
    "a base exception": ("class Odd(BaseException): pass", "raise Odd('x')"),
    "a refusal without text": ("class Odd(ValueError):\n    def __str__(self):\n        return 1 / 0", "raise Odd"),
}


@pytest.mark.parametrize("case", RAISING)
@pytest.mark.parametrize("place", ["__init__", "dequeue", "__getattribute__"])
def test_exceptions_of_a_queue_manager_are_reported_as_its_errors(
    process: Process, tmp_path: Path, case: str, place: str
) -> None:
    define, act = RAISING[case]
    arguments = {"__init__": "self", "dequeue": "self, cx, queue", "__getattribute__": "self, name"}[place]
    body = f"    def {place}({arguments}):\n        {act}\n    def emptied(self, cx): pass\n"
    (tmp_path / "bad.py").write_text(f"import sojourn as sj\n{define}\nclass Bad(sj.Aqm):\n{body}")
    (tmp_path / "bad.toml").write_text(SHORT.replace('"codel"', '"bad.py:Bad"'))
    for words in (["run", "bad.toml", "-o", "out"], ["compare", "--aqm", "bad.py:Bad,codel", "-o", "out"]):
        ran = process(*words)
        assert ran.returncode == 2, ran.stderr
        [line] = [line for line in ran.stderr.splitlines() if "%" not in line]
        assert line.startswith("Error: ")
        assert "bad.py" in line or "link.aqm" in line


def test_unraisable_exceptions_are_reported_in_one_line(process: Process, tmp_path: Path) -> None:
    text = "import sojourn as sj\nclass Bad(sj.Aqm):\n    def emptied(self, cx): pass\n"
    (tmp_path / "bad.py").write_text(f"{text}    def __del__(self):\n        1 / 0\n")
    (tmp_path / "bad.toml").write_text(SHORT.replace('"codel"', '"bad.py:Bad"'))
    ran = process("run", "bad.toml", "-o", "out")
    assert ran.returncode == 0
    [reported] = [line for line in ran.stderr.splitlines() if "%" not in line]
    assert reported == "Warning: ignored in Bad.__del__: ZeroDivisionError: division by zero"


def test_a_verdict_that_is_no_word_is_refused(cli: Cli, tmp_path: Path) -> None:
    row = {"arrival_ns": 0, "size": 1500, "flow": 0, "ecn": 0, "verdict": ["pass"], "departure_ns": 5}
    meta = {"qdisc": "codel limit 1000", "rate_bps": 12_000_000, "t0_mono_ns": 10**12, "seed": 1}
    (tmp_path / "v.jsonl").write_text(json.dumps(row))
    (tmp_path / "v.meta.json").write_text(json.dumps(meta))
    refused(cli("aqm", "diff", "codel@linux", "--vector", "v"), "v.jsonl: line 1", "verdict")


NAMES = {"link": "$x_{ $", "file": "a$b_{$.py"}


@pytest.mark.parametrize("kind", ["cdf", "box", "timeseries", "drops", "utilisation", "state", "rates", "ellipse"])
def test_names_are_no_formulas(cli: Cli, tmp_path: Path, kind: str) -> None:
    """matplotlib parses text between two $ as a formula, and fails on invalid ones."""
    (tmp_path / NAMES["file"]).write_text(
        "import sojourn as sj\nclass Mine(sj.Aqm):\n    def observe(self):\n        return {'$y_{$': 1.0}\n"
    )
    more = f'route = ["link", "{NAMES["link"]}"]\n[[links]]\nname = "{NAMES["link"]}"\nrate = "9 Mbit/s"\n'
    (tmp_path / "short.toml").write_text(SHORT.replace('"3 s"', '"1500 ms"') + more)
    sets = ["--set", "probes.packets=true", "--set", "probes.state=10 ms", "--set", "probes.utilisation=100 ms"]
    for aqm in (f"{NAMES['file']}:Mine", "codel"):
        assert cli("run", "short.toml", "-o", "out", "--set", f"link.aqm={aqm}", *sets).exit_code == 0
    drawn = cli("plot", kind, "out", "-o", "x.svg")
    assert drawn.exit_code == 0, (drawn.output, drawn.exception)


def test_two_lines_seven_weeks_apart_take_no_memory(tmp_path: Path) -> None:
    (tmp_path / "a.down").write_text(f"1\n{2**32 - 1}\n")
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))\n"
    limited += "sys.argv[1:] = {!r}; runpy.run_module('sojourn', run_name='__main__')"
    for words, code in (
        (["trace", "stats", "a.down"], 0),
        (["trace", "convert", "a.down", "-o", "b.csv"], 2),
        (["trace", "plot", "a.down", "-o", "b.png"], 2),
    ):
        env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        ran = subprocess.run(
            [sys.executable, "-c", limited.format(words)], cwd=tmp_path, capture_output=True, text=True, env=env
        )
        assert ran.returncode == code, ran.stderr
        assert "Traceback" not in ran.stderr


ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def test_no_escape_character_reaches_the_terminal(cli: Cli, tmp_path: Path) -> None:
    name = json.dumps(ESCAPE)
    (tmp_path / "short.toml").write_text(SHORT.replace('"short"', name).replace('"3 s"', '"2 s"'))
    ran = cli("run", "short.toml", "-o", "out")
    assert ran.exit_code == 0
    assert "\\x1b]0;owned" in ran.stdout
    assert "\x1b" not in ran.output
    reported = cli("run", "short.toml", "-o", "out", "--json")
    assert "\x1b" not in reported.output
    assert json.loads(reported.stdout)["scenario"]["name"] == ESCAPE
    for words in ([f"x{ESCAPE}"], ["plot", f"x{ESCAPE}", "out"], ["run", f"x{ESCAPE}.toml"]):
        assert "\x1b" not in cli(*words).output


@pytest.mark.parametrize("device", ["fifo", "/dev/zero", "/dev/random"])
def test_endless_files_are_refused(process: Process, tmp_path: Path, device: str) -> None:
    path = device
    if device == "fifo":
        os.mkfifo(tmp_path / "fifo.toml")
        path = "fifo.toml"
    commands: list[list[str]] = [["run", path], ["sweep", path], ["log", "convert", path, "x.tr"]]
    commands += [["pcap", "goodput", path], ["trace", "stats", path], ["compare", "--aqm", "codel", "--trace", path]]
    for words in commands:
        ran = process(*words)
        assert ran.returncode == 2, (words, ran.stderr)
        assert "not a regular file" in ran.stderr


def test_a_pipe_is_not_read_to_guess_its_kind(process: Process, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for words in (["plot", "cdf", "pipe"], ["trace", "plot", "pipe", "-o", "a.png"]):
        assert process(*words).returncode == 2, words


TWICE = {
    "codel target 5ms target 6ms": "target of codel is given twice",
    "codel ecn noecn": "ecn of codel is given twice",
    "fq(codel target 5ms target 6ms)": "target of codel is given twice",
    "fq_codel flows 16 flows 16": "flows of fq_codel is given twice",
}


@pytest.mark.parametrize("aqm", TWICE)
def test_a_parameter_given_twice_is_refused(cli: Cli, aqm: str) -> None:
    refused(cli("aqm", "show", aqm), TWICE[aqm])
    with pytest.raises(sj.InputError, match="given twice"):
        sj.Queue(aqm)


def test_an_mtu_that_no_link_has_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    refused(cli("run", "short.toml", "--set", "link.mtu=1 B"), "link.mtu: 1 B is out of range; from 68 B")
    (tmp_path / "t.down").write_text("5\n")
    refused(cli("trace", "stats", "t.down", "--mtu", "1 B"), "mtu: 1 B is below the minimum of IPv4")
    with pytest.raises(sj.InputError, match="below the minimum of IPv4"):
        sj.Queue("codel", mtu=1)


IGNORED: dict[str, tuple[list[str], str]] = {
    "a seed without bursts": (["trace", "convert", "s.csv", "-o", "t.down", "--seed", "3"], "--seed: needs --bursts"),
    "a step of a trace": (["trace", "convert", "s.csv", "-o", "t.down", "--step", "1 s"], "--step: t.down is a trace"),
    "a key twice": (["run", "short.toml", "--set", "seed=1", "--set", "seed=2"], "--set: a key is set twice"),
    "quick and seeds": (["reproduce", "nichols2012", "--quick", "--seeds", "5"], "--quick uses at most 3 seeds"),
    "a list of assumptions": (
        ["reproduce", "gao2015", "--assume", "list", "--quick"],
        "--assume list cannot be combined",
    ),
    "jobs for a list": (["reproduce", "--jobs", "2"], "no PAPER given"),
    "an engine for a list": (["reproduce", "--engine", "kernel"], "no PAPER given"),
    "two limits": (["compare", "--aqm", "codel", "--limit", "5 packets + 9 packets"], "two limits in packets"),
    "one per cent or all": (["run", "short.toml", "--set", "link.loss=1"], "write 1% or 1.0"),
}


@pytest.mark.parametrize("case", IGNORED)
def test_words_that_would_be_ignored_are_refused(cli: Cli, tmp_path: Path, case: str) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "s.csv").write_text("0 s,10 Mbit/s\n1 s,10 Mbit/s\n")
    words, expected = IGNORED[case]
    refused(cli(*words), expected)
    assert entries(tmp_path) == {"short.toml", "s.csv"}


@pytest.mark.parametrize("words", [["loss", "1"], ["delay", "5ms", "--up", "1ms", "--down", "2ms"]], ids=" ".join)
def test_shells_refuse_ambiguous_or_ignored_options(process: Process, words: list[str]) -> None:
    ran = process(*words, "--", "true")
    assert ran.returncode == 2
    assert "write 1% or 1.0" in ran.stderr or "both directions are already set by" in ran.stderr


def test_a_warm_up_holds_for_a_shard_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'{SHORT}\n[sweep]\n"link.aqm" = ["codel", "pie"]\n')
    [folder] = printed_json(cli("sweep", "study.toml", "--shard", "1/2", "--warmup", "2 s", "-o", "o", "--json"))[
        "folders"
    ]
    assert json.loads((Path(folder) / "manifest.json").read_text())["scenario"]["warmup"] == "2 s"


def test_claims_without_a_paper_include_all_papers(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn import papers
    from sojourn.apps.cli import claims, reproduce

    made: list[str] = []
    monkeypatch.setattr(reproduce, "_make", lambda paper, *_: made.append(paper.id))
    monkeypatch.setattr(claims, "print_all", lambda *_: None)
    cli("reproduce", "--claims")
    assert made == list(papers.PAPERS)


CODE = "from pathlib import Path\nPath({!r}).write_text('ran')\nimport sojourn as sj\n"
CODE += "class Mine(sj.Aqm):\n    def dequeue(self, cx, queue):\n        return queue.pop()\n"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """File that the code of mine.py creates; mine.toml and study.toml name mine.py."""
    (tmp_path / "mine.py").write_text(CODE.format(str(tmp_path / "marker")))
    text = SHORT.replace('"codel"', '"mine.py:Mine"').replace('"3 s"', '"2 s"')
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "study.toml").write_text(f"{text}\n[sweep]\nseeds = 2\n")
    return tmp_path / "marker"


NO_CODE: list[list[str]] = [
    ["run", "mine.toml"],
    ["sweep", "study.toml"],
    ["compare", "--aqm", "codel,fq(mine.py:Mine)"],
    ["aqm", "show", "mine.py:Mine"],
    ["aqm", "diff", "codel", "mine.py:Mine"],
    ["aqm", "diff", "codel", "pie", "--scenario", "mine.toml"],
    ["run", "mine.toml", "--set", "link.aqm=mine:Mine"],
]


@pytest.mark.parametrize("words", NO_CODE, ids=" ".join)
def test_no_code_is_run_where_it_is_refused(cli: Cli, marker: Path, words: list[str]) -> None:
    refused(cli(*words, "--no-code"), "would run its code; leave out --no-code")
    assert not marker.exists()


def test_code_is_run_by_default_and_again_after_a_refusal(cli: Cli, marker: Path) -> None:
    assert cli("run", "mine.toml", "--no-code").exit_code == 2
    assert cli("run", "mine.toml", "-o", "out").exit_code == 0
    assert marker.exists()
    with loading.no_code(), pytest.raises(sj.InputError, match="would run its code"):
        sj.Scenario.load("mine.toml")
    sj.Scenario.load("mine.toml")


def test_reading_results_runs_no_code(cli: Cli, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading results of a queue manager in Python never runs its file."""
    for aqm in ("mine.py:Mine", "fq(mine.py:Mine)"):
        sets = ["--set", f"link.aqm={aqm}", "--set", "probes.packets=true", "--set", 'probes.queue="10 ms"']
        ran = cli("run", "mine.toml", "-o", "out", "--set", "probes.headers=true", *sets)
        assert ran.exit_code == 0, ran.output
    folder = str(next(path for path in (marker.parent / "out").iterdir()))
    marker.unlink()
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if not k.startswith("sojourn_aqm_")})
    for words in (
        *(["plot", kind, "out", "-o", "x.png"] for kind in ("cdf", "box", "timeseries", "drops", "ellipse")),
        ["plot", "heatmap", "out", "-o", "x.png"],
        ["aqm", "diff", "codel", "--log", folder],
        ["log", "convert", folder, "x.tr"],
        ["log", "convert", folder, "x.log"],
        ["pcap", "export", folder, "--side", "in", "-o", "x.pcapng"],
    ):
        ran = cli(*words)
        assert ran.exit_code in (0, 1), (words, ran.output)
        assert not marker.exists(), words


PATHS = ("../../beside", "/tmp/sojourn-beside", "a/b/c", "..", "x\\..\\y")
"""Names that would escape a folder if used as paths."""


@pytest.mark.parametrize("name", PATHS)
def test_names_in_a_file_lead_nowhere(cli: Cli, tmp_path: Path, name: str) -> None:
    """Names of scenarios, nodes and links in all outputs: results, qlog, figures, captures, reports."""
    text = f"""
name = {json.dumps(name)}
duration = "310 ms"
link = {{ rate = "3.1 Mbit/s", aqm = "codel" }}
links = [{{ name = {json.dumps(name)}, rate = "2.3 Mbit/s" }}]
flows = [{{ kind = "tcp", rtt = "17 ms", stack = "quic-rfc9002" }}]
probes = {{ packets = true, headers = true, senders = true, flows = "20 ms" }}
"""
    inner = tmp_path / "one" / "two" / "three"
    inner.mkdir(parents=True)
    os.chdir(inner)
    Path("s.toml").write_text(text)
    before = set(tmp_path.rglob("*")) | set(Path("/tmp").glob("sojourn-beside*"))
    ran = cli("run", "s.toml", "-o", "out", "--qlog", "qlog")
    assert ran.exit_code == 0, ran.output
    [folder] = (inner / "out").iterdir()
    for words in (
        ["plot", "cdf", folder, "-o", "figure.svg"],
        ["plot", "window", folder, "-o", "window.png"],
        ["pcap", "export", folder, "--side", "out", "-o", "x.pcapng"],
    ):
        assert cli(*words).exit_code in (0, 2)
    after = set(tmp_path.rglob("*")) | set(Path("/tmp").glob("sojourn-beside*"))
    names = {path.relative_to(inner).parts[0] for path in after - before if path.is_relative_to(inner)}
    assert names <= {"out", "qlog", "figure.svg", "window.png", "x.pcapng"}
    assert not [path for path in after - before if not path.is_relative_to(inner)]
