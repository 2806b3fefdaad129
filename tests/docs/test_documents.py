"""The commands and programs shown in the documents run, and print what is shown."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forking import forking

from documents import ROOT, SHARED, Section, Step, checkout, documents, run, sections
from sojourn.engines.kernel.cache import find
from sojourn.engines.ns2.plugin import find as find_plugin

EMULATED = re.compile(r"\b(sojourn (link|delay|loss|mm-\w+|doctor)|bin/mm-\w+|--engine emulate)\b")
SHELL = [sys.executable, "-m", "sojourn", "delay", "0s", "--", "true"]
CAN_EMULATE = subprocess.run(SHELL, capture_output=True, check=False).returncode == 0


def words(line: str) -> str:
    return " ".join(line.split())


SECTIONS = [section for document in documents() for section in sections(document) if section.steps]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder with a `sojourn` that has been started already."""
    with forking(tmp_path_factory.mktemp("forking")) as tools:
        yield tools


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: re.sub(r"\W+", "-", section.name))
def test_commands_run(section: Section, tmp_path: Path, started: Path) -> None:
    if not SHARED.is_dir() and any("../shared" in step.text for step in section.steps):
        pytest.skip("needs the traces in ../shared, which is absent")
    if not CAN_EMULATE and any(EMULATED.search(step.text) for step in section.steps):
        pytest.skip("runs programs behind an emulated link, which this machine does not permit")
    if not shutil.which("curl") and any("curl " in step.text for step in section.steps):
        pytest.skip("needs curl, which is absent")
    if find() is None and any("kernel" in step.text for step in section.steps):
        pytest.skip("needs a built kernel (sojourn kernel build)")
    if not shutil.which("ns") and any("--engine ns2" in step.text for step in section.steps):
        pytest.skip("needs ns-2 (apt install ns2)")
    if find_plugin() is None and any("ns2-plugin" in step.text or "ns2 build" in step.text for step in section.steps):
        pytest.skip("needs a plugin for ns-2 (make capi, sojourn ns2 build)")
    folder = checkout(tmp_path)
    for step in section.steps:
        ran = run(step, folder, started)
        assert step.may_end_with(ran.returncode), f"{step.text}\n{ran.stdout}\n{ran.stderr}"
        assert "Traceback" not in ran.stderr, ran.stderr
        printed = {words(line) for line in (ran.stdout + ran.stderr).splitlines()}
        for line in step.shown:
            assert words(line) in printed | {"", "…"}, f"{step.text}\nprinted no line {line!r}:\n{ran.stdout}"
    for figure in section.figures:
        assert (folder / figure).is_file(), f"no command has drawn {figure}"


def test_the_readme_is_among_them() -> None:
    commands = [step.text for section in SECTIONS if section.name.startswith("README.md") for step in section.steps]
    for command in ("sojourn compare", "sojourn run", "sojourn plot", "sojourn reproduce", "import sojourn"):
        assert any(command in text for text in commands), command


def test_the_queue_manager_shown_is_the_one_that_is_tested() -> None:
    example = (ROOT / "examples" / "python-aqm" / "my_codel.py").read_text(encoding="utf-8")
    assert f"```python\n{example}```" in (ROOT / "docs" / "python_aqm.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", ["aqm show codel", "aqm show codle", "run none.toml", "--version", "compare --help"])
def test_a_forked_command_is_like_one_that_is_started(words: str, started: Path, tmp_path: Path) -> None:
    step = Step(["bash", "-c"], f"sojourn {words}")
    one, other = run(step, tmp_path), run(step, tmp_path, started)
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def test_signals_reach_a_forked_command(started: Path, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text('duration = "100000 s"\n[link]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "tcp"\n')
    words = [str(started / "sojourn"), "run", "long.toml"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as command:
        assert command.stderr is not None
        assert "of 1 runs" in command.stderr.readline(), "it runs"
        command.send_signal(signal.SIGINT)
        assert command.wait(30) == 130
        assert "Interrupted" in command.stderr.read()
