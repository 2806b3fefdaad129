"""Result folders: complete or absent, reused, and rejected if damaged."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn import AqmError, InputError
from sojourn.apps.lab.start import of_result
from sojourn.studies.runs import runner, store

MANY_KINDS = {
    "duration": "2 s",
    "link": {"rate": "10 Mbit/s", "aqm": "codel"},
    "flows": [
        {"kind": "tcp", "rtt": "20 ms"},
        {"kind": "voice", "rtt": "20 ms"},
        {"kind": "web", "rtt": "20 ms", "interval": "200 ms", "size": "31 kB"},
    ],
    "probes": {"packets": True, "queue": "100 ms", "flows": "100 ms", "state": "100 ms"},
}
"""A scenario with a large manifest."""


@pytest.fixture
def folder(cli: Cli, scenario_file: Path) -> Path:
    found = printed_json(cli("run", scenario_file, "--json", "--set", "probes.packets=true"))
    return Path(found["folder"]).resolve()


def _edit_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


DAMAGES = {
    "manifest missing": (lambda f: (f / "manifest.json").unlink(), "not a result, it has no manifest.json"),
    "manifest cut off": (
        lambda f: (f / "manifest.json").write_text((f / "manifest.json").read_text()[:100]),
        "not valid JSON",
    ),
    "manifest no object": (lambda f: (f / "manifest.json").write_text("[]"), "manifest.json lacks"),
    "manifest without keys": (lambda f: (f / "manifest.json").write_text("{}"), "manifest.json lacks"),
    "summary of another type": (lambda f: _edit_manifest(f, summary=3), "not a manifest"),
    "fingerprint changed": (lambda f: _edit_manifest(f, fingerprint="0" * 16), "fingerprint"),
    "seed changed": (lambda f: _edit_manifest(f, seed=99), "scenario or seed"),
    "table missing": (lambda f: (f / "packets.parquet").unlink(), "packets.parquet is missing"),
    "table cut off": (
        lambda f: (f / "packets.parquet").write_bytes((f / "packets.parquet").read_bytes()[:-9]),
        "packets.parquet has",
    ),
    "table altered": (
        lambda f: (f / "sojourn_histogram.parquet").write_bytes(
            bytes(byte ^ 1 for byte in (f / "sojourn_histogram.parquet").read_bytes())
        ),
        "was modified after it was written",
    ),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_folder_is_refused(cli: Cli, folder: Path, case: str) -> None:
    damage, expected = DAMAGES[case]
    damage(folder)
    result = cli("plot", "cdf", folder, "-o", "x.png")
    assert result.exit_code == 2, result.output
    assert str(folder) in result.stderr
    assert expected in result.stderr
    assert "delete" not in result.stderr
    assert not Path("x.png").exists()


def test_damaged_folder_is_not_taken_for_a_finished_run(cli: Cli, folder: Path, scenario_file: Path) -> None:
    (folder / "packets.parquet").unlink()
    result = cli("run", scenario_file, "--set", "probes.packets=true")
    assert result.exit_code == 2
    assert "move this folder away" in result.stderr


def test_result_of_another_format_is_refused(cli: Cli, folder: Path) -> None:
    _edit_manifest(folder, format=99)
    result = cli("plot", "cdf", folder)
    assert result.exit_code == 2
    assert "format 99" in result.stderr


def test_finished_run_is_not_computed_again(
    cli: Cli, folder: Path, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    monkeypatch.setattr(sj.Scenario, "run", refuse)
    found = printed_json(cli("run", scenario_file, "--json", "--set", "probes.packets=true"))
    assert Path(found["folder"]).resolve() == folder
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before


def test_stored_result_equals_the_computed_one(tmp_path: Path) -> None:
    computed = sj.Scenario.parse(SHORT, {"probes.packets": True}).run()
    stored = store.save(computed, tmp_path, [])
    assert stored.totals == computed.totals
    assert stored.scenario == computed.scenario
    for name in computed.table_names:
        assert stored.table(name).equals(computed.table(name)), name


def test_a_table_is_the_same_at_each_access() -> None:
    result = sj.Scenario.parse(SHORT, {"probes.packets": True}).run()
    first = result.table("packets")
    assert first.height > 0
    first.insert_column(0, pl.Series("mine", [1] * first.height))
    again = result.table("packets")
    assert again.columns == first.columns[1:]
    assert again.equals(first.drop("mine"))


def test_a_run_into_a_folder_equals_the_result_read_from_it(tmp_path: Path) -> None:
    scenario = sj.Scenario.parse(SHORT, {"probes.packets": True, "probes.queue": "10 ms"})
    given = store.run(scenario, 3, tmp_path, ["sojourn", "run"])
    assert given.folder is not None
    read = store.load(given.folder)
    assert given.totals == read.totals
    assert given.scenario == read.scenario
    assert (given.seed, given.engine, given.found) == (read.seed, read.engine, read.found)
    assert given.own_parameters == read.own_parameters
    assert given.table_names == read.table_names
    for name in given.table_names:
        assert given.table(name).equals(read.table(name)), name
    (given.folder / "packets.parquet").write_bytes(b"")
    with pytest.raises(sj.InputError, match="was modified after it was written"):
        given.table("packets")


def test_hash_covers_all_inputs(tmp_path: Path) -> None:
    base = sj.Scenario.parse(SHORT)
    hashes = {
        store.run_hash(base, 1),
        store.run_hash(base, 2),
        store.run_hash(base, 1, "emulate"),
        store.run_hash(base.replace({"link.rate": "11 Mbit/s"}), 1),
    }
    assert len(hashes) == 4
    assert store.run_hash(sj.Scenario.parse(SHORT.replace('"10 Mbit/s"', '"10000 kbit/s"')), 1) in hashes


def test_hash_covers_the_contents_of_a_trace_and_not_its_place(tmp_path: Path) -> None:
    def hash_of(path: Path, text: str) -> str:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return store.run_hash(sj.Scenario.parse(SHORT.replace('rate = "10 Mbit/s"', f'trace = "{path}"')), 1)

    first = hash_of(tmp_path / "a" / "x.trace", "1\n")
    assert hash_of(tmp_path / "b" / "y.trace", "1\n") == first
    assert hash_of(tmp_path / "a" / "x.trace", "1\n2\n") != first


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OSError, match="No space"):
        store.save(sj.Scenario.parse(SHORT).run(), tmp_path / "deep" / "out", [])
    assert list(tmp_path.iterdir()) == []


def test_a_failing_run_keeps_the_finished_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = store.run

    def fail_on_two(scenario: sj.Scenario, seed: int, *others: Any) -> sj.Result:
        if seed == 2:
            raise OSError(28, "No space left on device")
        return real(scenario, seed, *others)

    monkeypatch.setattr(store, "run", fail_on_two)
    scenario = sj.Scenario.parse(SHORT)
    with pytest.raises(OSError, match="No space"):
        runner.run_all([runner.Run(scenario, 1), runner.Run(scenario, 2)], tmp_path, jobs=1)
    assert [folder.name for folder in tmp_path.iterdir()] == [store.run_hash(scenario, 1)]


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values in a manifest; of lists only the first entry."""
    yield place
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _places(one, (*place, key))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*place, 0))


def _with(manifest: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The manifest with another value at a path, and a matching hash."""
    changed = copy.deepcopy(manifest)
    table = changed
    for key in place[:-1]:
        table = table[key]
    table[place[-1]] = value
    with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError):
        subject = store._by_content(changed["scenario"], changed["traces"], changed.get("aqms", {}))
        changed["hash"] = store._hash(store._sorted(subject), changed["seed"], changed["engine"])
    return changed


@pytest.mark.parametrize("value", [None, [], {}, -1, 1e300], ids=str)
def test_no_value_in_a_manifest_is_taken_for_another(cli: Cli, tmp_path: Path, value: object) -> None:
    """For each path of a manifest, with a matching hash: read as a result, or rejected with a one-line error."""
    scenario = sj.Scenario.build(MANY_KINDS)
    folder = store.run(scenario, 1, tmp_path, ["x"]).folder
    assert folder is not None
    manifest = json.loads((folder / "manifest.json").read_text())
    places = [place for place in _places(manifest) if place]
    assert len(places) > 150
    for place in places:
        (folder / "manifest.json").write_text(json.dumps(_with(manifest, place, value)))
        try:
            result = store.load(folder)
            assert result.summary.height
            str(result), result._repr_html_(), result.groups, result.flow_totals, of_result(result)
            for name in result.table_names:
                result.table(name)
        except (InputError, AqmError) as error:
            assert "\n" not in str(error), place
