"""Parameters without effect are reported: links on no flow's route, keys that affect no packet."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn.model.scenarios.advice import advice

SECOND = '[[links]]\nname = "second"\nrate = "3 Mbit/s"\n'
UNUSED = "links.0 (second): is on no flow's route, so nothing passes it; name it in a route"


def _row(route: str = "") -> str:
    """Two links in a row; by default the flows use only the first one."""
    link, flows = SHORT.split("[[flows]]")
    return f"{link}{SECOND}[[flows]]{flows}{route}"


def test_a_link_on_no_route_is_warned_of(cli: Cli, tmp_path: Path) -> None:
    assert advice([sj.Scenario.parse(SHORT)]) == []
    assert advice([sj.Scenario.parse(_row())]) == [f"{UNUSED} of [[flows]], or leave it out"]
    assert advice([sj.Scenario.parse(_row('route = ["link", "second"]\n'))]) == []
    [first] = advice([sj.Scenario.parse(_row('route = ["second"]\n'))])
    assert first.startswith("link: is on no flow's route")
    # The link has an effect if one point of the study uses it.
    both = [sj.Scenario.parse(_row(route)) for route in ("", 'route = ["link", "second"]\n')]
    assert advice(both) == []
    (tmp_path / "row.toml").write_text(_row())
    done = cli("run", "row.toml", "-o", "out")
    assert done.exit_code == 0 and f"Warning: {UNUSED}" in done.stderr


def test_a_link_of_a_graph_that_only_acknowledgments_cross_is_used() -> None:
    text = """
duration = "1 s"
[[nodes]]
name = "a"
[[nodes]]
name = "b"
[[nodes]]
name = "c"
[[links]]
name = "there"
from = "a"
to = "b"
rate = "7 Mbit/s"
[[links]]
name = "back"
from = "a"
to = "b"
rate = "3 Mbit/s"
[[links]]
name = "aside"
from = "b"
to = "c"
rate = "3 Mbit/s"
[[flows]]
kind = "tcp"
from = "a"
to = "b"
route = ["there"]
return_route = ["back"]
"""
    assert advice([sj.Scenario.parse(text)]) == [
        "links.2 (aside): is on no flow's route, so nothing passes it; name it in a route of [[flows]], or leave it out"
    ]


def test_a_swept_key_without_effect_is_reported_in_one_line(cli: Cli, tmp_path: Path) -> None:
    swept = '"link.aqm" = ["codel", "pie"]\n"links.0.rate" = ["1 Mbit/s", "2 Mbit/s", "9 Mbit/s"]\n'
    (tmp_path / "study.toml").write_text(f"{_row()}[sweep]\n{swept}seeds = 2\n")
    done = cli("sweep", "study.toml", "-o", "out")
    message = [line for line in done.stdout.splitlines() if "nothing here depends on it" in line]
    assert message == ["links.0.rate: 3 values and the same runs with each: nothing here depends on it"]
    assert UNUSED in done.stderr
    # A limit reached with only one queue manager has an effect; one that is never reached has none.
    for limits, expected in ((["9 packets", "900 packets"], 0), (["7000 packets", "9000 packets"], 1)):
        (tmp_path / "limits.toml").write_text(
            f'{SHORT}[sweep]\n"link.aqm" = ["codel", "droptail"]\n"link.limit" = {limits}\n'.replace("'", '"')
        )
        notes = printed_json(cli("sweep", "limits.toml", "-o", "out", "--json"))["notes"]
        assert sum("nothing here depends on it" in note for note in notes) == expected, limits


def test_two_spellings_and_the_warm_up_are_no_keys_without_effect(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        f'{SHORT}[sweep]\n"warmup" = ["700 ms", "900 ms"]\n"link.rate" = ["10 Mbit/s", "10mbit"]\n'
    )
    notes = sj.Study.load(tmp_path / "study.toml").run().notes
    assert not any("nothing here depends" in note for note in notes)


def test_compare_reports_keys_without_effect() -> None:
    """A single short transfer through a queue that never fills."""
    found = sj.compare(["codel", "pie"], rate=["907 Mbit/s"], flows=1, duration="60 ms", warmup="1 ms", rtt="20 ms")
    assert "aqm: 2 values and the same runs with each: nothing here depends on it" in found.notes


def test_hunt_and_fit_report_keys_without_effect(cli: Cli, tmp_path: Path) -> None:
    drawn = '[draw]\n"links.0.rate" = { uniform = ["1 Mbit/s", "5 Mbit/s"] }\n"flows.0.count" = { choice = [1, 5] }\n'
    (tmp_path / "space.toml").write_text(_row() + drawn)
    args = ["hunt", "space.toml", "--aqm", "codel,pie", "--where", "mean(sojourn) > 0 ms", "--evaluations", "4"]
    done = cli(*args, "-o", "out")
    assert UNUSED in done.stderr
    message = [line for line in done.stdout.splitlines() if "nothing here depends" in line]
    assert message == ["links.0.rate: the same runs at both ends of its range: nothing here depends on it"]


def test_fit_reports_keys_without_effect(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    (tmp_path / "row.toml").write_text(_row())
    (tmp_path / "data.toml").write_text(
        '[free]\n"link.rate" = "5..20 Mbit/s"\n"links.0.rate" = "1..9 Mbit/s"\n'
        '[[measured]]\nmetric = "goodput"\nvalue = "8.1 Mbit/s"\nband = "0.1 Mbit/s"\n'
        '[[measured]]\nmetric = "mean"\nvalue = "5 ms"\nband = "2 ms"\n'
        '[[measured]]\nmetric = "drops"\nvalue = "1 %"\nband = "0.5 %"\n'
    )
    done = cli("fit", "row.toml", "data.toml", "-o", "out")
    assert UNUSED in done.stderr, done.output
    assert "links.0.rate: the same runs at both ends of its range: nothing here depends on it" in done.stdout
    assert "link.rate: the same" not in done.stdout
