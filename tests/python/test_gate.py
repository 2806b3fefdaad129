"""`sojourn gate`: its file, budgets, baselines, comparisons and output, with the simulator and with a program."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from conftest import REPO, Cli
from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.gating import alarms
from sojourn.studies.gating.baseline import read_baseline
from sojourn.studies.gating.decide import Change, compare, difference
from sojourn.studies.gating.file import GateFile
from sojourn.studies.gating.records import check_seeds, read_record, read_records
from sojourn.studies.gating.sentences import evidence_of_record, expression
from sojourn.studies.gating.statistics import (
    ERRORS,
    confidence,
    interval,
    least_visible,
    looks,
    median,
    rank,
    tail,
)

WORLD = """
duration = "8 s"
warmup = "3 s"
[link]
rate = "10 Mbit/s"
aqm = "codel"
limit = "100 packets"
[[flows]]
kind = "tcp"
count = 5
rtt = "40 ms"
spread = "1 s"
"""
BUDGET = '[[budget]]\nsay = "p99(sojourn) < 60 ms"\n'
WATCH = """
[baseline]
file = "base.json"
[[baseline.watch]]
what = "mean(sojourn)"
worse = "up"
by = "40 %"
[[baseline.watch]]
what = "goodput"
worse = "down"
by = "10 %"
"""
SIMULATED = f'worlds = ["world.toml"]\nseeds = 6\n{BUDGET}{WATCH}'
PROGRAM = [sys.executable, str(REPO / "tests" / "python" / "gate_program.py"), "world.toml"]


def of_program(*words: str, seeds: int = 6) -> str:
    return f"seeds = {seeds}\ncommand = {json.dumps(shlex.join([*PROGRAM, *words]))}\n{BUDGET}{WATCH}"


def error_of(found: Any) -> str:
    """The only error line of a command."""
    [line] = [one for one in found.stderr.splitlines() if not re.match(r"\d+ of \d+ ", one)]
    return str(line)


@pytest.fixture
def gate(tmp_path: Path, cli: Cli) -> Callable[..., Any]:
    """Write a gate's file beside a world, and judge it."""
    (tmp_path / "world.toml").write_text(WORLD)

    def judged(text: str, *words: str) -> Any:
        (tmp_path / "gate.toml").write_text(text)
        return cli("gate", "gate.toml", *words)

    return judged


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("seeds = 6\n" + BUDGET, r"gate.toml: worlds: missing; write e.g. worlds = "),
        ('worlds = ["world.toml"]\n', r"no budget and no baseline; write e.g. \[\[budget\]\]"),
        ("worlds = 3\n" + BUDGET, r"worlds: not a list of texts"),
        ("worlds = []\n" + BUDGET, r"worlds: empty"),
        ('worlds = ["dsl"]\n' + BUDGET, r'worlds\[0\]: "dsl" is not a scenario file'),
        ('worlds = ["a/w.toml", "b/w.toml"]\n' + BUDGET, r'worlds\[1\]: two worlds are called "w"'),
        (SIMULATED.replace("world.toml", "none.toml"), r"none.toml: No such file or directory"),
        ("sedes = 6\n" + SIMULATED, r'key "sedes" is unknown; did you mean "seeds"'),
        (SIMULATED.replace("seeds = 6", "seeds = 5"), r"seeds: not a whole number from 6 to 1000"),
        (SIMULATED.replace("seeds = 6", "seeds = true"), r"seeds: not a whole number"),
        (SIMULATED.replace(BUDGET, BUDGET + "in = 7\n"), r"budget\[0\].in: not a whole number from 1 to 6"),
        (SIMULATED.replace(BUDGET, BUDGET + 'worlds = ["dls"]\n'), r'budget\[0\].worlds\[0\]: world "dls" is unknown'),
        (SIMULATED.replace("< 60 ms", "< 60 Mbit/s"), r"gate.toml: budget\[0\].say: .*write both in one unit"),
        (SIMULATED.replace("p99(sojourn) <", "p99(sojorn) <"), r"gate.toml: budget\[0\].say: "),
        (SIMULATED.replace('what = "goodput"\n', ""), r"baseline.watch\[1\].what: missing"),
        (SIMULATED.replace('what = "goodput"', 'what = "gootput"'), r'baseline.watch\[1\].what: "gootput"'),
        (
            SIMULATED.replace('"down"', '"lower"'),
            r'baseline.watch\[1\].worse: "lower" is unknown; write "up" or "down"',
        ),
        (SIMULATED.replace('what = "goodput"', 'what = "mean(sojourn)"'), r"is watched twice"),
        (SIMULATED.replace('file = "base.json"\n', ""), r"baseline.file: missing"),
        (SIMULATED.replace("[[baseline.watch]]", "[[baseline.watches]]"), r'baseline: key "watches" is unknown'),
        (f'worlds = ["world.toml"]\n{BUDGET}command = "a"\n', r'budget\[0\]: key "command" is unknown'),
        ('command = "a \'b"\n' + BUDGET, r"command: no closing quotation"),
        ('command = "  "\n' + BUDGET, r"command: not a text"),
        (f"worlds = {'[' * 200}{']' * 200}\n", r"nested more than"),
        (SIMULATED.replace("p99(sojourn)", "(" * 400), r"gate.toml: budget\[0\].say: "),
        ("budget = [1]\n" + 'worlds = ["world.toml"]\n', r"budget: not a list of tables; write \[\[budget\]\]"),
        ("worlds = " + json.dumps([f"{one}.toml" for one in range(101)]) + "\n" + BUDGET, r"101 entries, at most 100"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_with_a_remedy(gate: Any, text: str, error: str) -> None:
    found = gate(text, "--update")
    assert found.exit_code == 2, found.output
    assert re.search(error, error_of(found)), found.stderr
    assert not Path("base.json").exists() and not Path("results").exists()


def test_a_gate_of_simulated_worlds(gate: Any) -> None:
    missing = gate(SIMULATED)
    assert "base.json: no baseline yet; write one with --update" in error_of(missing)
    updated = gate(SIMULATED, "--update")
    assert updated.exit_code == 0, updated.output
    text = Path("base.json").read_text()
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(json.loads(text)), "its keys are sorted"
    assert len(json.loads(text)["worlds"]["world"]["seeds"]) == 24, "the seeds of all three looks"
    same = gate(SIMULATED, "--json")
    report = json.loads(same.stdout)
    assert same.exit_code == 0 and report["passed"] and report["compared"] == 0
    assert [row["verdict"] for row in report["watches"]] == ["unchanged"] * 2
    assert gate(SIMULATED, "--update").exit_code == 0 and Path("base.json").read_text() == text


def test_another_world_or_version_than_the_baseline_s_is_refused(gate: Any) -> None:
    assert gate(SIMULATED, "--update").exit_code == 0
    text = Path("base.json").read_text()
    Path("world.toml").write_text(WORLD.replace("40 ms", "41 ms"))
    assert "of another world" in error_of(gate(SIMULATED))
    Path("world.toml").write_text("seed = 5\n" + WORLD)
    assert gate(SIMULATED).exit_code == 0, "the default seed is no part of a world"
    for old, new, error in (
        ('"0.1.0"', '"0.0.9"', "by sojourn 0.0.9, this is 0.1.0; update it in a commit of its own"),
        ('"goodput"', '"drops"', 'has no value of "goodput"'),
        ('"world": {', '"word": {', "world: not in the baseline"),
        ('"format": 1', '"format": 2', "format 2, this version reads 1"),
        ("[[3, ", "[[4, ", "is not one seed's line"),
        ("    [[24, ", "    [[25, ", "has no seed 24, of the 24 of the last look"),
        (text, text[: len(text) // 2], "not JSON; restore it from version control"),
        (text, "[]", "is missing or of a wrong type"),
    ):
        Path("base.json").write_text(text.replace(old, new))
        found = gate(SIMULATED)
        assert found.exit_code == 2 and error in error_of(found)
    values = json.loads(text)
    values["worlds"]["world"]["seeds"][2][0][2] *= 1.01
    Path("base.json").write_text(json.dumps(values))
    assert "another build of Sojourn" in error_of(gate(SIMULATED))


def test_a_margin_below_the_least_visible_change_is_refused_and_nothing_written(gate: Any) -> None:
    found = gate(SIMULATED.replace('by = "40 %"', 'by = "0.01 %"'), "--update")
    assert found.exit_code == 2
    assert re.search(r"by: 0.01 % is below the least change that 6 seeds can see in world, [\d.]+ %", error_of(found))
    assert not Path("base.json").exists()
    for by, error in (("0 %", "above zero"), ("5 Mbit/s", "is not in ms"), ("much", "is not a number")):
        assert error in error_of(gate(SIMULATED.replace('by = "40 %"', f'by = "{by}"'), "--update"))
    assert gate(SIMULATED.replace('by = "40 %"', 'by = "0.02 s"'), "--update").exit_code == 0


def test_a_tested_program_that_becomes_slower_is_found(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_SEED", "3")
    assert gate(of_program(), "--update").exit_code == 0
    assert gate(of_program()).exit_code == 0
    found = gate(of_program("link.aqm.target=80ms"), "--json")
    assert found.exit_code == 1, found.output
    report = json.loads(found.stdout)
    slower = report["watches"][0]
    assert (slower["verdict"], slower["seeds"], slower["changed_seeds"]) == ("regression", 12, 6)
    assert slower["low"] > slower["by"] and slower["now"] > slower["before"] and slower["confidence"] > 0.95
    assert report["watches"][1]["verdict"] in ("small", "better")
    [budget] = report["budgets"]
    assert not budget["passed"] and budget["worst"] in budget["false_in"]
    assert budget["repeat"] == f"SOJOURN_SEED={budget['worst']} {shlex.join([*PROGRAM, 'link.aqm.target=80ms'])}"
    assert Path(budget["figure"]).read_bytes().startswith(b"<?xml")
    text = gate(of_program("link.aqm.target=80ms"))
    assert len(text.stdout.splitlines()) <= 15 and "2 of 2 watches compared (Holm): 1 regression" in text.stdout
    shown = gate(of_program("link.aqm.target=80ms"), "--markdown").stdout
    assert "| world | sentence | before | now | interval | verdict |" in shown and "**regression**" in shown
    assert "```sh\nSOJOURN_SEED=" in shown and "](results/gate/gate.call.budget-0.svg)" in shown


def test_faults_of_the_tested_program(gate: Any, tmp_path: Path) -> None:
    before = set(tmp_path.parent.iterdir())
    failed = gate(of_program("fails"), "--update")
    assert failed.exit_code == 1 and "command: exit status 1; the end of its output:" in failed.stderr
    assert "assertion failed: call" in failed.stderr
    drawn = gate(of_program("draw"), "--update")
    assert drawn.exit_code == 3 and "sojourn net check -- " in drawn.stderr
    for command, error in (
        ("nosuch", "command: nosuch: No such file or directory; install it"),
        ("true", "it wrote no record"),
    ):
        found = gate(f"command = {json.dumps(command)}\n{BUDGET}")
        assert found.exit_code == 2 and error in error_of(found)
    lacking = gate(f'worlds = ["worlds/dsl.toml"]\n{of_program()}', "--update")
    assert 'no record of "dsl", but of call' in error_of(lacking)
    assert not Path("base.json").exists() and set(tmp_path.parent.iterdir()) == before


def test_records_are_not_trusted(tmp_path: Path) -> None:
    good: dict[str, Any] = {"format": 1, "name": "call", "world": "0" * 16, "scenario": {}, "seed": 1, "summary": {}}
    good |= {"histogram": {}, "fingerprint": "a" * 16, "decisions": "b" * 16, "versions": {"sojourn": "0.1.0"}}

    def wrote(name: str, record: Any, *, log: bool = True) -> Path:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / f"{name}.json").write_text(record if isinstance(record, str) else json.dumps(record))
        if log:
            (folder / f"{name}.decisions").write_text("")
        return folder

    assert read_records(wrote("call-1", good))[0].seed == 1
    for name, record, error in (
        ("call-1", "", "truncated, or not JSON"),
        ("call-1", json.dumps(good)[:50], "truncated, or not JSON"),
        ("call-1", "[" * 10_000, "nested more than"),
        ("call-1", "[]", "is missing or of a wrong type"),
        ("call-1", good | {"format": 7}, "format 7, this version reads 1"),
        ("call-1", good | {"seed": -1}, "seed is missing or of a wrong type"),
        ("call-1", good | {"seed": 2**70}, "more than 64 bits"),
        ("call-1", good | {"seed": True}, "seed is missing or of a wrong type"),
        ("call-1", good | {"world": "../../etc/passwd"}, "world is missing or of a wrong type"),
        ("call-1", good | {"versions": {}}, "versions.sojourn is missing"),
        ("call-1", good | {"name": "a/b"}, "name is missing or of a wrong type"),
        ("call-2", good, 'is of "call" with seed 1'),
    ):
        with pytest.raises(InputError, match=re.escape(error)) as raised:
            read_records(wrote(name, record))
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    with pytest.raises(InputError, match=r"its decision log call-1\.decisions is missing"):
        read_records(wrote("call-1", good, log=False))
    twice = wrote("call-1", good)
    (twice / "call-01.json").write_text(json.dumps(good))
    (twice / "call-01.decisions").write_text("")
    with pytest.raises(InputError, match=r"call-01\.json: is of|second record"):
        read_records(twice)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(InputError, match="not a regular file"):
        read_record(tmp_path / "pipe.json")
    one = read_records(wrote("call-1", good))
    with pytest.raises(InputError, match='"call": no record of seed 2; the tests must run each network'):
        check_seeds(one, [1, 2])
    with pytest.raises(InputError, match="seed 1 is none of 2-3"):
        check_seeds(one, [2, 3])


@pytest.mark.parametrize("scenario", [{}, {"link": 3}, {"flows": [{}]}, {"link": {"aqm": []}, "flows": 1}])
def test_a_damaged_scenario_of_a_record_is_one_line(gate: Any, scenario: Any) -> None:
    Path("bad.py").write_text(
        "import json, os\nout = os.environ['SOJOURN_NET_OUT']\n"
        f"about = {{'name': 'call', 'world': '0' * 16, 'seed': 1, 'scenario': {scenario!r}}}\n"
        "open(f'{out}/call-1.decisions', 'w').write('sojourn-decisions 1\\n' + json.dumps(about) + '\\n')\n"
        "rest = {'summary': {}, 'histogram': {}, 'fingerprint': 'a' * 16, 'decisions': 'b' * 16}\n"
        "json.dump({'format': 1, **about, **rest, 'versions': {'sojourn': '0.1.0'}}, open(f'{out}/call-1.json', 'w'))\n"
    )
    found = gate(f"command = {json.dumps(shlex.join([sys.executable, 'bad.py']))}\n{BUDGET}")
    assert found.exit_code == 2 and error_of(found).startswith("Error: "), found.stderr


def test_any_damage_to_a_record_is_a_number_or_one_line() -> None:
    scenario = Scenario.parse(WORLD)
    result = scenario.run(1)
    bins = result.table("sojourn_histogram")
    good = {
        "scenario": scenario.document,
        "summary": result.totals,
        "histogram": {name: bins[name].to_list() for name in bins.columns},
    }
    rng = random.Random(1)
    refused = 0
    for _ in range(400):
        record = json.loads(json.dumps(good))
        holder = record[rng.choice(list(record))]
        while tables := [
            key for key, value in holder.items() if isinstance(value, dict) and value and rng.random() < 0.7
        ]:
            holder = holder[rng.choice(tables)]
        holder[rng.choice(list(holder))] = rng.choice([None, 3, -1, "x", [], {}, True, 2**63, 1.5, "10 Mbit/s", inf])
        try:
            run = evidence_of_record(*record.values())
            for what in ("p99(sojourn)", "goodput(flows.0)", "jain", "target", "flows.0.rtt"):
                expression(what, "watch", record["scenario"]).value(run)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 20 < refused < 380


def test_ctrl_c_ends_the_tested_program_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(f'command = "sleep 97.531"\n{BUDGET}')
    place = tmp_path / "temporary"
    place.mkdir()
    command = [sys.executable, "-m", "sojourn", "gate", "gate.toml"]
    env = os.environ | {"TMPDIR": str(place)}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 30
        while not list(place.glob("*/1")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    assert not list(place.iterdir())
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 97.531" not in listed


def test_looks_intervals_and_errors() -> None:
    assert [look.seeds for look in looks(20)] == [20, 40, 80]
    assert [look.seeds for look in looks(100)] == [100] and looks(100)[0].error == ERRORS[-1]
    assert sum(ERRORS) <= 0.01
    assert (rank(20, 0.025), round(confidence(20, 0.025), 3)) == (15, 0.959), "6th to 15th value, 95.9 %"
    assert interval([float(value) for value in range(1, 21)], 0.025) == (6.0, 15.0)
    assert interval([1.0, 2.0], 0.01) is None and rank(6, 0.006) is None
    assert tail(20, 0) == 1.0 and tail(2, 2) == 0.25
    assert median([3.0, 1.0, inf]) == 3.0 and median([1.0, 2.0]) == 1.5
    rng = random.Random(1)
    values = [rng.gauss(100, 3.1) for _ in range(80)]
    assert 1.9 < least_visible(values, 20) < 3.2, "two to three per cent at a spread of 3.1 %"
    assert least_visible([1.0] * 80, 20) == 0.0


def test_a_missing_value_is_worse_than_any() -> None:
    assert difference(1.0, nan, -1) == inf and difference(nan, 1.0, 1) == -inf and difference(nan, nan, 1) == 0.0
    assert difference(3.0, 5.0, 1) == 2.0 and difference(3.0, 5.0, -1) == -2.0


def test_verdicts() -> None:
    noise = [NormalDist().inv_cdf((place + 0.5) / 80) for place in range(80)]
    random.Random(2).shuffle(noise)

    def verdict(shift: float, margin: float, others: int = 0) -> tuple[str, int]:
        changes = [Change(margin), *(Change(5.0) for _ in range(others))]
        rows = dict.fromkeys(changes[1:], noise) | {changes[0]: [shift + one for one in noise]}
        compare(changes, 20, lambda one, seeds: rows[one][:seeds])
        return changes[0].verdict, changes[0].seeds

    assert verdict(0.0, 2.0)[0] == "small"
    assert verdict(3.0, 1.0) == ("regression", 20)
    assert verdict(3.0, 1.0, others=9)[0] == "regression"
    assert verdict(-3.0, 1.0)[0] == "better"
    assert verdict(0.0, 0.01) == ("unclear", 80)
    assert verdict(1.0, 1.0) == ("unclear", 80), "a change as large as the margin"
    assert verdict(-1.0, 1.0) == ("unclear", 80), "the same for the better"


@pytest.mark.parametrize(
    ("worse", "watches", "expected"),
    [(61, 1, "unclear"), (63, 1, "unclear"), (64, 1, "regression"), (64, 10, "unclear"), (67, 10, "regression")],
)
def test_an_effect_must_exceed_chance_for_all_watches_together(worse: int, watches: int, expected: str) -> None:
    """With 100 seeds 61 worse ones put the interval above zero; chance is excluded from 64 on, among ten from 67."""
    assert [rank(100, error) for error in (0.025, 0.005, 0.0005)] == [61, 64, 67]
    rows = {Change(0.0): [1.0] * worse + [-1.0] * (100 - worse)}
    rows |= {Change(0.0): [1.0, -1.0] * 50 for _ in range(watches - 1)}
    compare(list(rows), 100, lambda one, _seeds: rows[one])
    assert next(iter(rows)).verdict == expected


def test_changes_without_effect_raise_no_alarm_and_real_ones_are_found() -> None:
    """A part of the command that writes docs/data; a seeded one."""
    for row in alarms.synthetic_alarms(5, lambda *_: None):
        assert row["by"] == "zero" or row["regressions"] == 0, row
    for row in alarms.synthetic_found(10, lambda *_: None):
        assert float(row["found_with_80_percent"]) == 100.0 and float(row["found_with_40_percent"]) >= 70.0, row
    pool = alarms.simulated(160, lambda *_: None, ("plain",))
    assert all(row["by"] == "zero" or row["regressions"] == 0 for row in alarms.simulated_alarms(pool, 40))


@pytest.mark.parametrize("busy", [False, True])
def test_an_unchanged_program_passes(busy: bool) -> None:
    assert alarms.unchanged(10, busy=busy)


def test_the_tables_of_error_rates_meet_the_demands() -> None:
    alarmed = list(csv.DictReader((REPO / "docs" / "data" / "gate-alarms.csv").read_text().splitlines()))
    assert sum(row["by"] == "least" for row in alarmed) == 64
    assert not any(int(row["regressions"]) for row in alarmed if row["by"] == "least")
    assert all(map(alarms._is_rare, alarmed))
    found = list(csv.DictReader((REPO / "docs" / "data" / "gate-found.csv").read_text().splitlines()))
    assert {row["watches"] for row in found} == {"1", "10"}
    assert all(float(row["found_with_40_percent"]) >= 90 for row in found)


def test_the_example_passes(cli: Cli, tmp_path: Path) -> None:
    shutil.copytree(REPO / "examples" / "gate", tmp_path / "gate")
    found = cli("gate", "gate/gate.toml", "--markdown")
    assert found.exit_code == 0, found.output
    assert "Decisions as in the baseline: nothing to compare" in found.stdout
    before = read_baseline(tmp_path / "gate" / "gate.baseline.json")
    assert {name: len(one.seeds) for name, one in before.items()} == {"cable": 40, "dsl": 40}
    text = (tmp_path / "gate" / "deadline.py").read_text()
    (tmp_path / "gate" / "deadline.py").write_text(text.replace("> self.bound:", "> 2 * self.bound:"))
    slower = cli("gate", "gate/gate.toml")
    assert slower.exit_code == 1 and "REGRESSION" in slower.stdout and "BROKEN" in slower.stdout
    text = text.replace("> self.bound:", "> self.bound * (0.5 + random.random()):").replace(
        "import", "import random\n\nimport", 1
    )
    (tmp_path / "gate" / "deadline.py").write_text(text)
    assert cli("gate", "gate/gate.toml").exit_code == 3


def test_the_example_s_action_needs_no_token() -> None:
    text = (REPO / "examples" / "gate" / "action.yml").read_text()
    assert "GITHUB_STEP_SUMMARY" in text and "token" not in text.replace("needs no token", "")


def test_a_file_may_have_many_seeds_without_a_long_baseline(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(SIMULATED.replace("seeds = 6", "seeds = 1000"))
    assert GateFile.load(tmp_path / "gate.toml").seeds == 1000 and [one.seeds for one in looks(1000)] == [1000]
