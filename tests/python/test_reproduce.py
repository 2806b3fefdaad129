"""`sojourn reproduce`: one set-up, published against measured, verdicts as data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result as Invoked

from conftest import Cli, printed_json
from sojourn.papers.judge import VERDICTS as ALL_VERDICTS
from sojourn.papers.schwarzkopf2016 import table1
from sojourn.studies.study import Study

VERDICTS = set(ALL_VERDICTS)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder shared by the tests, so that later tests reuse runs."""
    return tmp_path_factory.mktemp("reproduce")


def _table1(cli: Cli, out: Path, *args: str) -> Invoked:
    return cli("reproduce", "schwarzkopf2016", "--figure", "table1", "--seeds", "2", "-o", out, *args)


def test_claims_as_json(cli: Cli, out: Path) -> None:
    result = _table1(cli, out, "--claims", "--json")
    assert result.exit_code in (0, 1)
    claims = json.loads(result.stdout)
    assert len(claims) == 54
    assert all({"id", "verdict", "expected", "measured", "ci95"} <= claim.keys() for claim in claims)
    assert all(claim["verdict"] in VERDICTS - {"not-run", "contradicted"} for claim in claims)
    values = [claim for claim in claims if claim["kind"] == "value"]
    assert all(claim["measured"] > 0 and claim["n"] == 2 for claim in values)
    # Two runs with equal quantiles have no interval.
    assert all(claim["ci95"] is None or claim["ci95"] > 0 for claim in values)
    assert sum(claim["ci95"] is not None for claim in values) > len(values) / 2
    assert all("pooled" in claim for claim in values if claim["id"].endswith("q99"))
    assert (result.exit_code == 1) == any(claim["verdict"] == "failed" for claim in claims)


def test_table_and_figure(cli: Cli, out: Path) -> None:
    result = _table1(cli, out)
    assert "published" in result.output
    assert "S0-T1-R100-PIE-64-q99" in result.output
    assert "S0-T1-rel6" in result.output
    folder = out / "schwarzkopf2016"
    assert {file.name for file in folder.iterdir()} == {
        "index.html",
        "table1.png",
        "table1.svg",
        "table1.claims.json",
        "table1.parquet",
    }
    whole = json.loads(_table1(cli, out, "--json").stdout)
    assert sum(whole["tally"].values()) == 54
    assert len(whole["figures"][0]["fingerprints"]) == 48


@pytest.mark.parametrize(("truths", "verdict"), [([True, False, True], "undecided"), ([True, False, False], "failed")])
def test_with_few_seeds_a_relation_may_be_reported_as_undecided(
    cli: Cli, out: Path, monkeypatch: pytest.MonkeyPatch, truths: list[bool], verdict: str
) -> None:
    """True for the first seed, false for the second of twenty; and then true or false for the means."""
    others = {name: (lambda _cells: True) for name in table1.RELATIONS}
    message = iter(truths * 3)
    monkeypatch.setattr(table1, "RELATIONS", {**others, "S0-T1-rel6": lambda _cells: next(message)})
    shown, reported = _table1(cli, out), json.loads(_table1(cli, out, "--json").stdout)
    [relation] = [claim for claim in reported["claims"] if claim["id"] == "S0-T1-rel6"]
    assert (relation["verdict"], relation["full"], relation["share"]) == (verdict, 20, 0.5)
    assert reported["tally"]["undecided"] == (verdict == "undecided")
    assert reported["undecided"] == ["S0-T1-rel6"] * reported["tally"]["undecided"]
    assert (shown.exit_code == 1) == any(claim["verdict"] == "failed" for claim in reported["claims"])
    sentence = "S0-T1-rel6 (false in 1 of 2 runs, and it may be in 4 of 20)"
    page = (out / "schwarzkopf2016" / "index.html").read_text()
    assert (sentence in shown.output) == (verdict == "undecided")
    assert ("Undecided, because the missing seeds could change them" in page) == (verdict == "undecided")


def test_papers_are_listed(cli: Cli) -> None:
    assert "schwarzkopf2016" in cli("reproduce").output
    assert printed_json(cli("reproduce", "--json"))[0]["figures"][:3] == ["fig1", "fig2", "table1"]


def test_one_set_up_for_all_cells() -> None:
    """The points differ only in the parameters of the table's rows and columns."""
    study = Study.load(Path(table1.__file__).with_name(table1.STUDY))
    assert len(study.points) == 24
    assert study.seeds == list(range(1, 21))
    rest = set()
    for point in study.points:
        document = json.loads(point.scenario.canonical)
        assert document["link"].pop("delay") == document["reverse"].pop("delay") == point.values["link.delay"]
        assert document["flows"][0].pop("count") == point.values["flows.0.count"]
        document["link"].pop("aqm")
        rest.add(json.dumps(document, sort_keys=True))
    [shared] = rest
    document = json.loads(shared)
    assert document["link"]["rate"] == document["reverse"]["rate"] == "10 Mbit/s"
    assert document["link"]["overhead"] == "7 B"
    assert document["flows"][0]["stack"] == "linux-2.6.29"
