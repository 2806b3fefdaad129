"""Parameters of queue managers are keys: set, swept and drawn, also within `fq(…)` and for managers in Python."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn.model.analysis.swept import choose, rest_names
from sojourn.studies.runs.store import load_all

MINE = """
import sojourn as sj


class Mine(sj.Aqm):
    def __init__(self, depth=2, target="5 ms"):
        self.depth, self.target = depth, target

    def enqueue(self, cx, meta, queue):
        late = len(queue) > self.depth and cx.now - queue.meta(0).enqueued > self.target
        return "drop" if late else "accept"
"""
AQMS = ["codel", "fq(codel@act ecn)", "fq_codel", "mine.py:Mine", "fq(mine.py:Mine)"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "short.toml").write_text(SHORT.replace('"3 s"', '"2 s"'))


@pytest.mark.parametrize("aqm", AQMS)
def test_a_parameter_is_set_from_the_command_line(cli: Cli, aqm: str) -> None:
    for sets in ([f"link.aqm={aqm}", "link.aqm.target=7 ms"], ["link.aqm.target=7 ms", f"link.aqm={aqm}"]):
        reported = printed_json(cli("run", "short.toml", "--json", *(word for one in sets for word in ("--set", one))))
        assert "target 7ms" in reported["aqm"], "the parameter is that of the queue manager which is there in the end"
        assert sj.load(reported["folder"]).aqm_parameters["link.aqm.target"] == "7 ms"


@pytest.mark.parametrize("aqm", AQMS)
@pytest.mark.parametrize("first", ["link.aqm", "link.aqm.target"])
def test_a_parameter_is_swept_and_drawn(cli: Cli, tmp_path: Path, aqm: str, first: str) -> None:
    """In any order of the keys, even if one of the values is the default."""
    axes = {"link.aqm": [aqm, f"{aqm} exclude_ce"], "link.aqm.target": ["5 ms", "10 ms", "20 ms"]}
    lines = [f'"{path}" = {json.dumps(axes[path])}' for path in sorted(axes, key=lambda path: path != first)]
    (tmp_path / "study.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\n" + "\n".join(lines))
    reported = printed_json(cli("sweep", "study.toml", "-o", "out", "--json"))
    assert {(row["link.aqm"], row["link.aqm.target"]) for row in reported["table"]} == set(product(*axes.values()))
    assert len({row["fingerprint"] for row in reported["table"]}) == 3
    results = load_all([tmp_path / "out"])
    [target] = choose(results, ["link.aqm.target"])
    assert sorted(target.shown) == [5.0, 5.0, 10.0, 10.0, 20.0, 20.0]
    assert len(set(map(str, rest_names(results, [target])))) == 2, "what is drawn along x is no name of a curve"
    drawn = cli("plot", "heatmap", "out", "--x", "link.aqm.target", "--y", "link.rate", "-o", "x.png")
    assert drawn.exit_code == 0, drawn.output
    assert cli("plot", "ellipse", "out", "--over", "link.aqm.target", "-o", "y.png").exit_code in (0, 2)


def test_flags_counts_and_ranges_are_swept(cli: Cli, tmp_path: Path) -> None:
    sweep = '"link.aqm.ecn" = [true, false]\n"link.aqm.target" = { from = "4 ms", to = "8 ms", step = "4 ms" }\n'
    (tmp_path / "study.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\n{sweep}")
    study = sj.Study.load(tmp_path / "study.toml")
    assert [point.scenario.aqm for point in study.points] == [
        "codel target 4ms ecn",
        "codel target 8ms ecn",
        "codel target 4ms",
        "codel target 8ms",
    ]
    both = sj.Study.load(tmp_path / "study.toml", sets={"link.aqm": "fq(codel)", "link.aqm.interval": "80 ms"})
    assert both.points[0].scenario.aqm == "fq(codel target 4ms interval 80ms ecn)"


def test_parameters_of_other_links_are_keys_too(tmp_path: Path) -> None:
    more = '[[links]]\nname = "second"\nrate = "9 Mbit/s"\naqm = "pie"\n'
    sets = {"links.0.aqm.target": "9 ms", "links.0.reverse.aqm": "codel", "reverse.aqm": "fq(codel)"}
    sets |= {"links.0.reverse.aqm.target": "8 ms", "reverse.aqm.target": "7 ms"}
    result = sj.Scenario.parse(SHORT + more, sets).run()
    found = {path: result.aqm_parameters[path] for path in sets if path.endswith("target")}
    assert found == {path: sets[path] for path in found}


@pytest.mark.parametrize(
    ("aqm", "key", "value", "message"),
    [
        ("codel", "tagret", "5 ms", 'link.aqm: unknown parameter "tagret"; did you mean "target"?'),
        ("fq(codel)", "tagret", "5 ms", 'unknown parameter "tagret"; did you mean "target"?'),
        ("fq(codel)", "flow", "5", 'unknown parameter "flow"; did you mean "flows"?'),
        ("mine.py:Mine", "dept", "5", 'unknown parameter "dept"; did you mean "depth"?'),
        ("fq(mine.py:Mine)", "dept", "5", 'unknown parameter "dept"; did you mean "depth"?'),
        ("codel", "target", "5", 'target: "5" has no unit; write e.g. "5 ms"'),
        ("droptail", "target", "5 ms", 'unknown parameter "target"'),
    ],
)
def test_refusals_name_the_parameter(cli: Cli, tmp_path: Path, aqm: str, key: str, value: str, message: str) -> None:
    ran = cli("run", "short.toml", "--set", f"link.aqm={aqm}", "--set", f"link.aqm.{key}={value}")
    assert (ran.exit_code, message in ran.stderr) == (2, True), ran.stderr
    sweep = f'[sweep]\n"link.aqm" = ["{aqm}"]\n"link.aqm.{key}" = ["{value}"]\n'
    (tmp_path / "study.toml").write_text(f"{SHORT}{sweep}")
    ran = cli("sweep", "study.toml")
    assert (ran.exit_code, message in ran.stderr) == (2, True), ran.stderr


def test_a_parameter_that_some_lack_is_no_axis(cli: Cli, tmp_path: Path) -> None:
    for aqm in ("codel", "droptail"):
        assert cli("run", "short.toml", "--set", f"link.aqm={aqm}", "-o", "out").exit_code == 0
    ran = cli("plot", "utilisation", "out", "--x", "link.aqm.target", "-o", "x.png")
    assert (ran.exit_code, "link.aqm.target: droptail does not have it" in ran.stderr) == (2, True), ran.output
    ran = cli("plot", "utilisation", "out", "--x", "link.aqm.tagret", "-o", "x.png")
    assert ran.exit_code == 2
