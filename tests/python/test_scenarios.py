"""Every file in scenarios/ is valid and runs; the exported schema accepts them and refuses what the core refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import REPO, SHORT, Cli, printed_json
from sojourn.study import read_document

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = sorted((REPO / "scenarios").glob("*.toml")) + sorted((REPO / "python" / "sojourn" / "papers").rglob("*.toml"))


def _is_study(path: Path) -> bool:
    return "sweep" in tomllib.loads(path.read_text())


@pytest.fixture(scope="module")
def validator() -> Any:
    import json

    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(sj._core.scenario_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_there_are_scenarios_and_studies() -> None:
    assert sum(not _is_study(path) for path in FILES) >= 5
    assert sum(_is_study(path) for path in FILES) >= 2


@pytest.mark.parametrize("path", [p for p in FILES if not _is_study(p)], ids=lambda path: path.stem)
def test_scenario_runs(cli: Cli, path: Path) -> None:
    found = printed_json(cli("run", path, "--json"))
    assert found["summary"]["links"]["forward"]["packets"] > 1000


@pytest.mark.parametrize("path", [p for p in FILES if _is_study(p) and "papers" not in p.parts], ids=lambda p: p.stem)
def test_study_runs(cli: Cli, path: Path) -> None:
    found = printed_json(cli("sweep", path, "--json"))
    assert all(row["packets"] > 1000 for row in found["table"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_schema_accepts(validator: Any, path: Path) -> None:
    document = read_document(path)
    document.pop("sweep", None)
    validator.validate(document)


@pytest.mark.parametrize("path", [p for p in FILES if not _is_study(p)], ids=lambda path: path.stem)
def test_schema_accepts_the_canonical_form(validator: Any, path: Path) -> None:
    validator.validate(sj.Scenario.load(path).document)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('rate = "10 Mbit/s"', 'rates = "10 Mbit/s"'),
        ('rate = "10 Mbit/s"', 'rate = "10"'),
        ('rate = "10 Mbit/s"', "rate = 10"),
        ('aqm = "codel"', 'aqm = "codle"'),
        ('kind = "tcp"', 'kind = "tpc"'),
        ("count = 2", "count = 0"),
    ],
)
def test_schema_refuses(validator: Any, old: str, new: str) -> None:
    assert validator.is_valid(tomllib.loads(SHORT))
    assert not validator.is_valid(tomllib.loads(SHORT.replace(old, new)))
    with pytest.raises(sj.InputError):
        sj.Scenario.parse(SHORT.replace(old, new))


def test_poisson_scenario_has_the_textbook_s_wait() -> None:
    """M/D/1: the mean wait is rho / (2 (1 - rho)) service times; at 0.8 and 1.2 ms that is 2.4 ms."""
    scenario = sj.Scenario.load(REPO / "scenarios" / "poisson.toml")
    waits = [scenario.run(seed).summary["sojourn_mean_ms"][0] for seed in range(1, 5)]
    assert sum(waits) / len(waits) == pytest.approx(2.4, rel=0.05)
