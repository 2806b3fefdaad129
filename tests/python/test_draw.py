"""Keys drawn by the seed: distributions, runs, studies, and the file of drawn values."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from conftest import SHORT, Cli
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_toml
from sojourn.model.scenarios.draw import Draw
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.study import Study

HERE = Path()
SEEDS = range(1, 2001)


def _values(entry: str, base: Path = HERE, path: str = "link.rate") -> list[Any]:
    draw = Draw.read(parse_toml(f'"{path}" = {entry}'), base)
    return [draw.values(seed)[path] for seed in SEEDS]


def _file(tmp_path: Path, draw: str, rest: str = "") -> Path:
    path = tmp_path / "drawn.toml"
    path.write_text(f"{SHORT}[draw]\n{draw}\n{rest}")
    return path


def test_a_value_depends_only_on_seed_and_path() -> None:
    one = Draw.read(parse_toml('link.rate = { uniform = ["1 Mbit/s", "9 Mbit/s"] }'), HERE)
    two = Draw.read(
        parse_toml('"flows.0.count" = { choice = [1, 2] }\n"link.rate" = { uniform = ["1 Mbit/s", "9 Mbit/s"] }'), HERE
    )
    digest = hashlib.sha256(b'["draw", 7, "link.rate"]').digest()
    place = (int.from_bytes(digest[:8], "big") >> 11) / 2**53
    assert one.values(7) == {"link.rate": f"{1 + 8 * place:.6g} Mbit/s"}
    assert two.values(7)["link.rate"] == one.values(7)["link.rate"] != one.values(8)["link.rate"]


def test_uniform_numbers_lie_between_their_ends() -> None:
    numbers = [float(text.removesuffix(" ms")) for text in _values('{ uniform = ["10 ms", "200 ms"] }')]
    assert stats.kstest(numbers, stats.uniform(10, 190).cdf).pvalue > 0.001
    assert all(10 <= number <= 200 and float(f"{number:.6g}") == number for number in numbers)


def test_the_logarithm_of_log_uniform_numbers_is_uniform() -> None:
    numbers = [float(text.split()[0]) for text in _values('{ log_uniform = ["500 kbit/s", "0.2 Gbit/s"] }')]
    assert stats.kstest([log(number) for number in numbers], stats.uniform(log(5e-4), log(400)).cdf).pvalue > 0.001
    assert all(5e-4 <= number <= 0.2 for number in numbers)


@pytest.mark.parametrize(
    ("entry", "shares"),
    [
        ("{ uniform = [3, 7] }", dict.fromkeys(range(3, 8), 1 / 5)),
        ("{ log_uniform = [1, 3] }", {n: log((n + 1) / n) / log(4) for n in (1, 2, 3)}),
        ('{ choice = ["codel", "pie", "fq(codel)"] }', dict.fromkeys(("codel", "pie", "fq(codel)"), 1 / 3)),
    ],
)
def test_whole_numbers_and_choices_have_their_shares(entry: str, shares: dict[Any, float]) -> None:
    counted = Counter(_values(entry))
    assert counted.keys() == shares.keys()
    expected = [share * len(SEEDS) for share in shares.values()]
    assert stats.chisquare([counted[value] for value in shares], expected).pvalue > 0.001


def test_numbers_without_a_unit_stay_numbers() -> None:
    assert all(isinstance(value, float) and 0.5 <= value <= 2.5 for value in _values("{ uniform = [0.5, 2.5] }"))


def test_traces_are_files_of_a_pattern(tmp_path: Path) -> None:
    for name in ("b.down", "a.down", "c.up"):
        (tmp_path / name).write_text("1\n")
    assert set(_values('{ trace = "*.down" }', tmp_path, "link.trace")) == {"a.down", "b.down"}
    absolute = {str(tmp_path / "a.down"), str(tmp_path / "b.down")}
    assert set(_values(f'{{ trace = "{tmp_path}/*.down" }}', tmp_path, "link.trace")) == absolute


def test_several_paths_get_one_value() -> None:
    draw = Draw.read(parse_toml('"link.rate, reverse.rate" = { uniform = ["1 Mbit/s", "9 Mbit/s"] }'), HERE)
    rate, reverse = draw.values(3).values()
    assert rate == reverse and draw.paths == ["link.rate", "reverse.rate"]


def test_a_text_has_drawn_parts_with_names_of_their_own() -> None:
    entry = '{ write = "{a}@0s,{b}@{at}", a = { choice = ["9 Mbit/s"] }, b.choice = ["1 Mbit/s", "2 Mbit/s"], '
    draw = Draw.read(parse_toml(f'"link.rate, reverse.rate" = {entry}at.uniform = ["3 s", "5 s"] }}'), HERE)
    found = Counter()
    for seed in SEEDS:
        values = draw.values(seed)
        assert values.keys() == {"link.rate", "reverse.rate"} and len(set(values.values())) == 1
        first, second = values["link.rate"].split(",")
        later, at = second.split("@")
        assert first == "9 Mbit/s@0s" and 3 <= float(at.removesuffix(" s")) < 5
        found[later] += 1
    assert stats.chisquare([found["1 Mbit/s"], found["2 Mbit/s"]]).pvalue > 0.001
    alone = Draw.read(parse_toml('"link.rate, reverse.rate.at" = { uniform = ["3 s", "5 s"] }'), HERE)
    assert draw.values(7)["link.rate"].endswith(next(iter(alone.values(7).values())))


def test_tables_are_chosen_whole_and_drawn_inside() -> None:
    text = """
    [link."link.*"]
    choice = [{ rate.uniform = ["1 Mbit/s", "9 Mbit/s"] }, { bucket = "3 Mbit/s", burst.choice = ["9 kB", "20 kB"] }]
    """.replace("[link.", "[")
    draw = Draw.read(parse_toml(text), HERE)
    assert draw.paths == ["link.rate", "link.bucket", "link.burst"]
    found = Counter(tuple(draw.values(seed)) for seed in SEEDS)
    assert found.keys() == {("link.rate",), ("link.bucket", "link.burst")}
    assert stats.chisquare(list(found.values())).pvalue > 0.001
    assert {draw.values(seed).get("link.burst") for seed in SEEDS} == {None, "9 kB", "20 kB"}


def test_packets_are_whole() -> None:
    assert set(_values('{ uniform = ["3 packets", "5 packets"] }')) == {"3 packets", "4 packets", "5 packets"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('[draw]\n"link.rate" = { write = "{a}", b = { choice = ["1 Mbit/s"] } }', "draw.link.rate.write: not a text"),
        ('[draw]\n"link.rate" = { write = "{a!r}", a = { choice = [1] } }', "draw.link.rate.write: not a text"),
        ('[draw]\n"link.rate" = { write = "{a", a = { choice = [1] } }', "draw.link.rate.write: not a text"),
        ('[draw]\n"link.rate" = { write = "1 Mbit/s" }', "are those of nothing beside it"),
        (
            '[draw]\n"link.rate" = { write = "{a}", a = { write = "{b}", b.choice = [1] } }',
            "draw.link.rate.a: a nested write",
        ),
        (
            '[draw]\n"link.rate" = { write = "{a}", a = { uniform = [3] } }',
            "draw.link.rate.a.uniform: not a range of two ends",
        ),
        ('[draw]\n"link.*" = { uniform = [3, 4] }', "draw.link.*: a star needs tables as values"),
        ('[draw]\n"link.*" = { choice = [3, 4] }', "draw.link.*.choice: not a list of tables"),
        (
            '[draw]\n"link.*" = { choice = [{ rate = { uniform = [3] } }] }',
            "draw.link.*.0.rate.uniform: not a range of two ends",
        ),
        ("draw = 3", "draw: not a table"),
        ("[draw]", "draw: not a table"),
        ('[draw]\n"link.rate" = 3', "draw.link.rate: unknown distribution; expected one of uniform, log_uniform"),
        ('[draw]\n"link.rate" = { normal = [1, 2] }', "draw.link.rate: unknown distribution"),
        ('[draw]\n"link.rate" = { uniform = ["9 Mbit/s"] }', "draw.link.rate.uniform: not a range of two ends"),
        ('[draw]\n"link.rate" = { uniform = ["9 Mbit/s", "1 Mbit/s"] }', "draw.link.rate.uniform: an empty range"),
        (
            '[draw]\n"link.rate" = { uniform = ["9 ms", "10 Mbit/s"] }',
            "draw.link.rate.uniform: its two ends have different units",
        ),
        ('[draw]\n"flows.0.count" = { log_uniform = [0, 4] }', "draw.flows.0.count.log_uniform: 0 has no logarithm"),
        ('[draw]\n"link.aqm" = { choice = [] }', "draw.link.aqm.choice: not a list of values"),
        ('[draw]\n"link.trace" = { trace = "*.nothing" }', 'draw.link.trace.trace: no file matches "*.nothing"'),
        ('[draw]\n"flows.9.count" = { choice = [1] }', "9"),
        ('[draw]\n"seed, seed" = { choice = [1] }', "draw.seed: is given twice; leave one out"),
        ('[draw]\n"a, b" = { choice = [1] }\n"b" = { choice = [2] }', "draw.b: is given twice"),
        ('[draw]\n"link.*" = { choice = [{ mtu = 9, "mtu, rate" = 3 }] }', "draw.link.*.0.mtu: is given twice"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(tmp_path: Path, cli: Cli, entry: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    for sweep in ("", "[sweep]\nseeds = 2\n"):
        file.write_text(f"{entry}\n{SHORT}{sweep}" if not entry.startswith("[") else f"{SHORT}{entry}\n{sweep}")
        done = cli("sweep" if sweep else "run", file, "-o", tmp_path / "out")
        assert done.exit_code == 2 and message in done.stderr and "wrong.toml" in done.stderr


def test_a_drawn_run_equals_that_of_the_file_of_drawn_values(tmp_path: Path, cli: Cli) -> None:
    file = _file(
        tmp_path,
        '"link.rate" = { log_uniform = ["1 Mbit/s", "20 Mbit/s"] } # any access\n'
        'link.aqm.target = { uniform = ["1 ms", "20 ms"] }\n"flows.0.count" = { uniform = [1, 5] }',
    )
    cli("run", file, "--seed", "41", "-o", tmp_path / "one")
    written = tmp_path / "written.toml"
    written.write_text(cli("scenario", "draw", file, "--seed", "41").stdout)
    cli("run", written, "-o", tmp_path / "two")
    [one], [two] = (list((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert one.name == two.name, "the same hash, so the same scenario, and seed"
    assert "draw" not in parse_toml(written.read_text()) and parse_toml(written.read_text())["seed"] == 41
    assert Scenario.load(file, seed=41) == Scenario.load(written) != Scenario.load(file, seed=42)


def test_keys_that_are_set_are_not_drawn(tmp_path: Path) -> None:
    file = _file(tmp_path, '"link.rate" = { uniform = ["1 Mbit/s", "9 Mbit/s"] }')
    assert Scenario.load(file, {"link.rate": "30 Mbit/s"}, seed=3).document["link"]["rate"] == "30 Mbit/s"
    assert Study.load(file, sets={"link.rate": "30 Mbit/s"}, seeds=2).drawn == []


def test_a_seed_that_is_set_draws(tmp_path: Path) -> None:
    file = _file(tmp_path, '"link.rate" = { uniform = ["1 Mbit/s", "9 Mbit/s"] }')
    requests = Scenario.load(file, seed=5)
    assert Scenario.load(file, {"seed": "5"}) == Scenario.load(file, {"seed": 5}) == requests != Scenario.load(file)
    study = Study.load(file, sets={"seed": 5})
    assert study.seeds == [5]
    assert [run.scenario.document["link"]["rate"] for run in study.runs] == [requests.document["link"]["rate"]]


def test_in_a_study_every_seed_has_its_values_and_queue_managers_share_them(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        '"link.rate" = { log_uniform = ["2 Mbit/s", "20 Mbit/s"] }\n"flows.0.count" = { choice = [1, 2] }',
        '[sweep]\n"link.aqm" = ["codel", "pie"]\nseeds = 3\n',
    )
    study = Study.load(file)
    assert study.drawn == ["link.rate", "flows.0.count"] and study.swept == ["link.aqm"]
    result = pickle.loads(pickle.dumps(study.run()))
    runs = result.runs
    rates = runs["link.rate"].to_list()
    assert rates[:3] == rates[3:] and len(set(rates)) == 3
    for one, rate in zip(result.results, rates, strict=True):
        link, reverse = one.scenario.document["link"], one.scenario.document["reverse"]
        assert link["rate"] == reverse["rate"] == rate, "the reverse path follows where the file leaves it out"
    assert result.table.height == 2 and result.table["seeds"].to_list() == [3, 3]
    assert result.has_pairs and set(result.paired()["link.aqm"]) == {"pie"}
    later = study.replace({"warmup": "1 s"})
    assert {run.scenario.document["warmup"] for run in later.runs} == {"1 s"}
    assert [run.scenario.document["link"]["rate"] for run in later.runs] == rates


def test_a_drawn_study_is_written_for_one_seed(tmp_path: Path, cli: Cli) -> None:
    base = tmp_path / "base.toml"
    base.write_text(SHORT)
    file = tmp_path / "study.toml"
    file.write_text(
        'extends = "base.toml"\n[draw]\nlink.aqm.target = { uniform = ["1 ms", "20 ms"] }\n'
        '[sweep]\n"link.aqm" = ["codel", "pie"]\nseeds = [5, 6]\n'
    )
    written = tmp_path / "written.toml"
    written.write_text(cli("scenario", "draw", file, "--seed", "6").stdout)
    drawn, plain = Study.load(file, seeds=[6]), Study.load(written)
    assert plain.seeds == [6] and plain.drawn == []
    assert [run.scenario.document["link"] for run in plain.runs] == [
        run.scenario.document["link"] for run in drawn.runs
    ]


def test_a_key_is_drawn_or_swept(tmp_path: Path) -> None:
    file = _file(tmp_path, '"link.rate" = { choice = ["1 Mbit/s"] }', '[sweep]\n"link.rate" = ["2 Mbit/s"]\n')
    with pytest.raises(InputError, match=r"draw\.link\.rate: is swept as well"):
        Study.load(file)


def test_a_file_without_the_table_has_nothing_to_draw(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "plain.toml"
    file.write_text(SHORT)
    done = cli("scenario", "draw", file)
    assert done.exit_code == 2 and "draw: no such table" in done.stderr
