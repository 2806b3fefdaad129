"""Frames for pandas: without pyarrow, and with a clear error if pandas is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT
from sojourn.base.errors import MissingError
from sojourn.base.frames import to_pandas

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def result() -> sj.Result:
    sets = {"duration": "1500 ms", "probes.packets": True, "probes.headers": True, "probes.queue": "10 ms"}
    return sj.Scenario.parse(SHORT, sets).run()


def test_without_pyarrow(tmp_path: Path) -> None:
    text = """
import sys
sys.modules["pyarrow"] = None
import sojourn as sj
found = sj.compare(["codel", "pie"], flows=[1, 2], duration="1 s")
assert found.to_pandas().groupby("aqm")["goodput_bps"].mean().index.tolist() == ["codel", "pie"]
assert len(found.results[0].to_pandas("packets")) == found.results[0].packets.height > 100
"""
    subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True)


def test_every_frame_has_its_numbers(result: sj.Result) -> None:
    for name in ("summary", "links", "groups", "flow_totals", "histogram", "packets", "waiting", "headers", "queue"):
        local, reference = getattr(result, name), result.to_pandas(name)
        assert list(reference.columns) == local.columns
        assert len(reference) == local.height
        for column in local.iter_columns():
            found = reference[column.name]
            values = [None if pd.isna(value) else value for value in found.tolist()]
            assert values == column.to_list(), (name, column.name)
            if column.dtype.is_float():
                assert found.dtype == "float64", "numbers, no objects"
    with pytest.raises(sj.InputError, match='did you mean "packets"'):
        result.to_pandas("packet")


def test_comparisons_and_studies(tmp_path: Path) -> None:
    frame = sj.compare(["codel", "pie"], duration="1 s").to_pandas()
    assert frame["aqm"].tolist() == ["codel", "pie"]
    assert frame["goodput_bps_ci95"].dtype == "float64"
    assert frame["goodput_bps_ci95"].isna().all(), "one seed has no interval"
    (tmp_path / "study.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\nseeds = 2\n")
    runs = sj.Study.load(tmp_path / "study.toml").run()
    assert runs.to_pandas()["fingerprint"].tolist() == runs.runs["fingerprint"].to_list()


def test_gaps_keep_the_kind_of_a_column() -> None:
    table = pl.DataFrame({"n": [1, None], "on": [True, None], "x": [0.5, None], "word": ["a", None], "no": [None] * 2})
    kinds = {name: str(kind) for name, kind in to_pandas(table).dtypes.items()}
    assert kinds["n"] == "Int64"
    assert kinds["on"] == "boolean"
    assert kinds["x"] == kinds["no"] == "float64"


def test_a_missing_pandas_is_named(result: sj.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingError, match="pandas is missing; install it: pip install pandas"):
        result.to_pandas()
