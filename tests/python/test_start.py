"""The command line starts fast: help loads click and no heavy module."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HEAVY = ["numpy", "polars", "matplotlib", "scipy", "rich", "sojourn._core"]


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import sys
from sojourn.apps.cli import cli
try:
    cli.main(["--help"], prog_name="sojourn")
except SystemExit as stop:
    assert stop.code == 0
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "compare" in done.stdout


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, sojourn; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_commands_load_nothing_heavy_before_they_run() -> None:
    code = f"""
import sys
from importlib import import_module
from sojourn.apps.cli import COMMANDS
for module, _ in COMMANDS.values():
    import_module(module)
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_runs_load_matplotlib_only_for_figures() -> None:
    code = "import sys, sojourn; sojourn.compare, sojourn.Study; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (("run", "first.toml", "-o", "out"), ["numpy", "polars", "matplotlib", "scipy", "rich", "tomlkit"]),
        (("compare", "--aqm", "droptail,codel", "--duration", "2 s", "-o", "out"), ["polars", "scipy", "rich"]),
    ],
    ids=["run", "compare"],
)
def test_commands_load_only_their_needs(tmp_path: Path, words: Sequence[str], absent: list[str]) -> None:
    """A short run takes less time than the import of any of these. The second call finds the runs of the first."""
    (tmp_path / "first.toml").write_text(FIRST, encoding="utf-8")
    code = f"""
import sys
from sojourn.apps.cli import cli
try:
    cli.main({list(words)}, prog_name="sojourn")
except SystemExit as stop:
    assert stop.code == 0
print([name for name in {absent} if name in sys.modules])
"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert "goodput" in done.stdout
        assert done.stdout.splitlines()[-1] == "[]"


FIRST = """
duration = "1 s"
warmup = "0 s"
link = { rate = "10 Mbit/s", aqm = "fq_codel" }
flows = [{ kind = "tcp", count = 2, rtt = "40 ms" }]
"""


def test_help_takes_little_cpu_time() -> None:
    def cpu_s() -> float:
        before = _children_s()
        subprocess.run([sys.executable, "-m", "sojourn", "--help"], capture_output=True, check=True)
        return _children_s() - before

    assert min(cpu_s() for _ in range(5)) < 0.15


def test_help_of_every_command_names_it() -> None:
    from click.testing import CliRunner

    from sojourn.apps.cli import COMMANDS, cli

    for name in COMMANDS:
        result = CliRunner().invoke(cli, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert f"Usage: cli {name}" in result.output


def test_help_of_run_mentions_the_schema() -> None:
    from click.testing import CliRunner

    from sojourn.apps.cli import cli

    assert "sojourn scenario schema" in CliRunner().invoke(cli, ["run", "--help"]).output


def test_version_is_the_core_s() -> None:
    import sojourn

    done = subprocess.run([sys.executable, "-m", "sojourn", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"sojourn {sojourn.__version__}\n"


def _children_s() -> float:
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
