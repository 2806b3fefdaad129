"""Results, comparisons and studies can be pickled and copied, to other processes and without their folders."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT
from sojourn.io.logs import load_log, write_log

SETS = {"duration": "1500 ms", "probes.packets": True, "probes.state": "10 ms"}
COPIES = {"pickle": lambda one: pickle.loads(pickle.dumps(one)), "deepcopy": copy.deepcopy, "copy": copy.copy}


@pytest.fixture(params=COPIES)
def copied(request: pytest.FixtureRequest) -> Any:
    return COPIES[request.param]


class Shallow(sj.Aqm):
    """A class that only this program has."""

    def __init__(self, depth: int = 20) -> None:
        self.depth = depth

    def enqueue(self, cx: Any, meta: Any, queue: Any) -> str:
        return "drop" if len(queue) >= self.depth else "accept"


@pytest.mark.parametrize("aqm", ["codel", Shallow(depth=9)], ids=str)
def test_a_result(copied: Any, aqm: Any) -> None:
    result = sj.Scenario.parse(SHORT, {**SETS, "link.aqm": aqm}).run()
    again = copied(result)
    assert again.table_names == result.table_names
    for name in result.table_names:
        assert again.table(name).equals(result.table(name))
    assert again.summary.equals(result.summary)
    assert again.packets.equals(result.packets)
    assert (again.scenario, again.seed, again.fingerprint) == (result.scenario, result.seed, result.fingerprint)
    assert again.aqm_parameters == result.aqm_parameters


def test_a_stored_result_without_its_folder(copied: Any, tmp_path: Path) -> None:
    scenario = sj.Scenario.parse(SHORT, SETS)
    found = sj.compare(["codel", "pie"], duration="1 s", flows=1, seeds=2, out=tmp_path / "out")
    [first, *_] = found.results
    again = copied(found)
    assert again.table.equals(found.table)
    packets = first.packets
    if copied is not copy.copy:
        shutil.rmtree(tmp_path / "out")
    assert again.results[0].packets.equals(packets)
    assert again.paired().equals(found.paired())
    assert copied(scenario) == scenario


def test_a_study_and_its_result(copied: Any, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\nseeds = 2\n")
    study = sj.Study.load(tmp_path / "study.toml")
    found = study.run()
    assert copied(study).points == study.points
    assert copied(study).run().runs.equals(found.runs)
    assert copied(found).runs.equals(found.runs)


def test_a_log(copied: Any, tmp_path: Path) -> None:
    path = write_log(sj.Scenario.parse(SHORT, SETS).run(), tmp_path / "a.log")
    log = load_log(path)
    assert copied(log).packets.equals(log.packets)


def test_queue_managers_of_the_registry(copied: Any) -> None:
    aqm = sj.Codel("act", target="7 ms")
    assert copied(aqm) == aqm
    assert copied(sj.Codel) is sj.Codel


def test_another_process_reads_a_pickle(tmp_path: Path) -> None:
    found = sj.compare(["codel", "pie"], duration="1 s", flows=1)
    (tmp_path / "found.pickle").write_bytes(pickle.dumps(found))
    text = "import pickle, sys; found = pickle.load(open('found.pickle', 'rb'))\n"
    text += "found.table.write_parquet('table.parquet'); assert not [m for m in sys.modules if 'matplotlib' in m]"
    subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True)
    assert pl.read_parquet(tmp_path / "table.parquet").equals(found.table)
