"""Studies: the runs that a file describes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHORT
from sojourn.model.aqms.spelling import split_list
from sojourn.studies.expand import axes_of, combinations
from sojourn.studies.study import Study, tomllib


def _study(tmp_path: Path, sweep: str) -> Study:
    path = tmp_path / "study.toml"
    path.write_text(f"{SHORT}[sweep]\n{sweep}\n")
    return Study.load(path)


def test_lists_are_crossed_in_order(tmp_path: Path) -> None:
    study = _study(tmp_path, '"link.aqm" = ["codel", "pie"]\n"flows.0.count" = [1, 4, 16]\nseeds = [7, 9]')
    assert [tuple(point.values.values()) for point in study.points] == [
        (aqm, count) for aqm in ("codel", "pie") for count in (1, 4, 16)
    ]
    assert [point.scenario.aqm for point in study.points] == ["codel"] * 3 + ["pie"] * 3
    assert [point.scenario.document["flows"][0]["count"] for point in study.points] == [1, 4, 16] * 2
    assert study.seeds == [7, 9]


def test_quotes_are_a_matter_of_taste(tmp_path: Path) -> None:
    quoted = _study(tmp_path, '"link.rate" = ["1 Mbit/s", "2 Mbit/s"]')
    assert _study(tmp_path, 'link.rate = ["1 Mbit/s", "2 Mbit/s"]') == quoted


def test_without_seeds_the_scenario_s_is_taken(tmp_path: Path) -> None:
    assert _study(tmp_path, '"link.aqm" = ["codel"]').seeds == [1]


def test_without_seeds_one_that_is_set_or_swept_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'{SHORT}[sweep]\n"link.aqm" = ["codel"]\n')
    assert Study.load(path, sets={"seed": 7}).seeds == [7]
    assert _study(tmp_path, '"seed" = [9, 4]').seeds == [9]


def test_a_list_of_limits_is_one_value(tmp_path: Path) -> None:
    study = _study(tmp_path, '"link.limit" = [["100 packets", "50 ms"], "10 packets"]')
    assert len(study.points) == 2
    assert study.points[0].scenario != study.points[1].scenario


def test_seeds_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"{SHORT}[sweep]\nseeds = 20\n")
    assert Study.load(path, seeds=3).seeds == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("codel", ["codel"]),
        ("droptail,codel@act , pie", ["droptail", "codel@act", "pie"]),
        ("fq(codel, pie),red", ["fq(codel, pie)", "red"]),
        ("codel target 5ms,pie", ["codel target 5ms", "pie"]),
    ],
)
def test_lists_of_aqms_split_outside_brackets(text: str, names: list[str]) -> None:
    assert split_list(text) == names


@given(st.lists(st.sampled_from(["codel", "fq(pie,codel)", "red min 5 max 9", "a[b,c]"]), min_size=1, max_size=6))
def test_joined_names_split_again(names: list[str]) -> None:
    assert split_list(",".join(names)) == names


def test_values_that_change_together(tmp_path: Path) -> None:
    study = _study(
        tmp_path, '"link.aqm, flows.0.count" = [["codel", 1], ["pie", 4]]\n"link.rate" = ["1 Mbit/s", "2 Mbit/s"]'
    )
    assert [tuple(point.values.values()) for point in study.points] == [
        ("codel", 1, "1 Mbit/s"),
        ("codel", 1, "2 Mbit/s"),
        ("pie", 4, "1 Mbit/s"),
        ("pie", 4, "2 Mbit/s"),
    ]
    assert study.swept == ["link.aqm", "flows.0.count", "link.rate"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{ from = "5 ms", to = "20 ms", step = "7.5 ms" }', ["5 ms", "12.5 ms", "20 ms"]),
        ('{ from = "1 Mbit/s", to = "70 Mbit/s", factor = 8 }', ["1 Mbit/s", "8 Mbit/s", "64 Mbit/s"]),
        ("{ from = 1, to = 64, factor = 4 }", [1, 4, 16, 64]),
        ("{ from = 3, to = 3, step = 1 }", [3]),
    ],
)
def test_ranges_include_both_ends(text: str, values: list[object]) -> None:
    assert [one["a.b"] for one in combinations(axes_of(tomllib.loads(f'"a.b" = {text}')))] == values


def test_a_study_extends_another_file(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(f'{SHORT}[sweep]\n"link.aqm" = ["pie", "codel"]\nseeds = 3\n')
    (tmp_path / "study.toml").write_text(
        'extends = "base.toml"\nduration = "4 s"\n[link]\nrate = "7 Mbit/s"\n[sweep]\n"link.aqm" = ["droptail"]\n'
    )
    study = Study.load(tmp_path / "study.toml")
    assert [point.scenario.aqm for point in study.points] == ["droptail"]
    document = study.points[0].scenario.document
    assert (document["duration"], document["link"]["rate"]) == ("4 s", "7 Mbit/s")
    base = Study.load(tmp_path / "base.toml").points[0].scenario.document
    assert document["flows"] == base["flows"]
    assert study.seeds == [1, 2, 3]
