"""Jobs: awaited, cancelled, and with a progress bar in a notebook."""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sojourn as sj
from conftest import SHORT, entries
from sojourn.base import notebook
from sojourn.studies.runs.jobs import Step


def test_a_comparison_is_awaited_and_followed(tmp_path: Path) -> None:
    async def main() -> tuple[list[Step], sj.Comparison]:
        job = sj.start(sj.compare, ["codel", "pie"], duration="4 s", seeds=3, out=tmp_path / "out")
        steps = [step async for step in job]
        assert job.done
        return steps, await job

    steps, found = asyncio.run(main())
    assert (
        found.table["fingerprint"].to_list()
        == sj.compare("codel,pie", duration="4 s", seeds=3).table["fingerprint"].to_list()
    )
    assert steps[0] == Step(0.0)
    assert steps[-1] == Step(1.0, 6, 6)
    assert [step.share for step in steps] == sorted(step.share for step in steps)


def test_a_run_and_a_study_are_awaited_beside_other_things(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\nseeds = 2\n")
    scenario, study = sj.Scenario.parse(SHORT), sj.Study.load(tmp_path / "study.toml")

    async def main() -> tuple[sj.Result, Any]:
        return await asyncio.gather(sj.start(scenario.run, 5), sj.start(study.run))

    result, found = asyncio.run(main())
    assert result.fingerprint == scenario.run(5).fingerprint
    assert found.runs["fingerprint"].to_list() == study.run().runs["fingerprint"].to_list()


LONG = {"duration": "3000 s", "flows": 50, "packets": False}


@pytest.mark.parametrize("by_task", [False, True])
def test_a_cancelled_job_stops_and_leaves_nothing_half_written(tmp_path: Path, by_task: bool) -> None:
    """The run would take minutes."""

    unhandled: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
        job = sj.start(sj.compare, ["codel", "pie"], out=tmp_path / "out", **LONG)

        async def wait() -> object:
            return await job

        task = asyncio.create_task(wait())
        async for step in job:
            if step.share > 0:
                task.cancel() if by_task else job.cancel()
                break
        with pytest.raises(asyncio.CancelledError):
            await task
        assert job.done

    asyncio.run(main())
    gc.collect()
    assert unhandled == [], "asyncio logs the error of a task that nobody asked"
    assert not (tmp_path / "out").exists() or entries(tmp_path / "out") == set()


def test_errors_are_raised_by_await() -> None:
    async def main() -> None:
        job = sj.start(sj.compare, ["codle"])
        assert [step async for step in job] == [Step(0.0)]
        with pytest.raises(sj.InputError, match='did you mean "codel"'):
            await job

    asyncio.run(main())


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, bool]]:
    """Calls of IPython's display: HTML, id, and whether it is an update."""
    seen: list[tuple[str, str, bool]] = []

    def display(shown: dict[str, str], *, raw: bool, display_id: str, update: bool) -> None:
        assert raw
        seen.append((shown["text/html"], display_id, update))

    module: Any = ModuleType("IPython")
    module.get_ipython = lambda: SimpleNamespace(kernel=object())
    module.display = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(notebook, "FIRST_S", 0.0)
    monkeypatch.setattr(notebook, "EVERY_S", 0.0)
    return seen


def test_a_notebook_has_a_bar_that_goes_when_the_work_is_done(displayed: list[tuple[str, str, bool]]) -> None:
    sj.compare(["codel", "pie"], duration="2 s", seeds=2)
    bars = [html for html, _, _ in displayed]
    assert "4 of 4 runs, 100%" in bars[-2]
    assert '<progress value="1.000" max="1"' in bars[-2]
    assert bars[-1] == ""
    assert len({name for _, name, _ in displayed}) == 1, "one bar, replaced"
    assert [update for _, _, update in displayed] == [False, *[True] * (len(displayed) - 1)]


def test_a_bar_is_the_callers_choice(displayed: list[tuple[str, str, bool]]) -> None:
    scenario = sj.Scenario.parse(SHORT)
    scenario.run(progress=False)
    shares: list[float] = []
    scenario.run(progress=shares.append)
    assert displayed == []
    assert shares[-1] == 1.0
    scenario.run()
    assert "100%" in displayed[-2][0]


def test_outside_a_notebook_nothing_is_shown_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    sj.compare("codel", duration="1 s")
    sj.compare("codel", duration="1 s", progress=True)
    assert capsys.readouterr().out == ""
    assert not notebook.in_notebook()
