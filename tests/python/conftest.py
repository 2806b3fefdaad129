"""Common fixtures: the repository, and the command line in this process or in a separate one."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sojourn as sj
from drawn_figures import LONG, PROBES, call, cell
from sojourn.engines.kernel.cache import Kernel
from sojourn.figures import KINDS

REPO = Path(__file__).resolve().parents[2]

# A shell without job control starts background processes with SIGINT ignored, which our children would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

Cli = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_finish() -> None:
    """Exempt modules and collected tests from garbage collection, which would walk through them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def repo() -> Path:
    return REPO


@pytest.fixture
def shared() -> Path:
    """Folder of material that we may not ship."""
    folder = REPO.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is absent")
    return folder


@pytest.fixture
def kernel() -> Kernel:
    """The kernel that runs scenarios; tests do not build it, because that takes minutes."""
    from sojourn.engines.kernel import cache

    found = cache.find()
    if found is None:
        pytest.skip("no kernel is built here (sojourn kernel build)")
    return found


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run the command line in this process, in an empty folder."""
    from sojourn.apps.cli import cli as group

    monkeypatch.chdir(tmp_path)

    def invoke(*args: object) -> Result:
        return CliRunner().invoke(group, [str(arg) for arg in args])

    return invoke


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """Run the command line in a process of its own, in an empty folder."""

    def call(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sojourn", *(str(arg) for arg in args)]
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60} | options
        return subprocess.run(command, check=False, **options)

    return call


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of commands empty, for tests of what they print: drawing takes most of a short command."""

    from sojourn.figures import canvas

    def draw(*_arguments: object, **_options: object) -> tuple[SimpleNamespace, list[str]]:
        return SimpleNamespace(figure=None), []

    def save(figure: Any, path: Path, *format_: str | None) -> Path:
        if figure:
            return written(figure, path, *format_)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    written = canvas.save
    monkeypatch.setattr("sojourn.figures.api.draw", draw)
    monkeypatch.setattr("sojourn.figures.canvas.save", save)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """A short scenario."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    return path


@pytest.fixture(scope="session")
def validator() -> Any:
    """Validator of scenarios by the schema, which is checked once: that takes most of a validation."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(sj._core.scenario_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def printed_json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def entries(folder: Path) -> set[str]:
    """Names in a folder, including hidden ones."""
    return {entry.name for entry in folder.iterdir()}


SHORT = """
name = "short"
duration = "3 s"
warmup = "1 s"

[link]
rate = "10 Mbit/s"
aqm = "codel"

[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
count = 2
rtt = "20 ms"
spread = "500 ms"
"""


@pytest.fixture(scope="session")
def study() -> list[sj.Result]:
    """Three queue managers, one with a long name, under two loads."""
    base = sj.Scenario.parse(SHORT, PROBES)
    return [
        base.replace({"link.aqm": aqm, "flows.0.count": count}).run()
        for aqm in ("droptail", LONG, "pie@draft00")
        for count in (1, 7)
    ]


@pytest.fixture(scope="session")
def airtime() -> list[sj.Result]:
    return [cell(), cell(link__aqm="codel")]


@pytest.fixture(scope="session")
def test_of_flent() -> list[sj.Result]:
    return sj.compare(["droptail", LONG], test="tcp_bidirectional", rate="4 Mbit/s", duration="3 s").results


@pytest.fixture(scope="session")
def calls() -> list[sj.Result]:
    return [call(), call(link__aqm="codel")]


@pytest.fixture(scope="session")
def everything(
    study: list[sj.Result], airtime: list[sj.Result], test_of_flent: list[sj.Result], calls: list[sj.Result]
) -> dict[str, list[sj.Result]]:
    """Results that each figure kind can draw."""
    others = {"airtime": airtime, "totals": test_of_flent, "media": calls}
    return {kind: others.get(kind, study) for kind in KINDS}
