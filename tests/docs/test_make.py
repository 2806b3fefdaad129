"""The Makefile and the CI script behave as documented."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run make in the project, as from a fresh shell."""
    hidden = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PATH"] = path or environment["PATH"]
    command = [shutil.which("make") or "make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


def help_lines() -> dict[str, str]:
    lines = make().stdout.splitlines()[1:]
    return dict(line.split(None, 1) for line in lines)


@pytest.mark.parametrize(
    "target", ["demo", "test", "check", "bench", "soak", "fuzz", "museum", "docs", "site", "capi", "clean"]
)
def test_help_lists_target(target: str) -> None:
    assert len(help_lines()[target]) > 10


def test_every_target_of_the_help_can_be_planned() -> None:
    for target in help_lines():
        planned = make("--dry-run", target)
        assert planned.returncode == 0, planned.stderr


def test_readme_names_targets_that_exist() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {name for d in documents for name in re.findall(r"(?:`|\$ )make ([a-z-]+)", d.read_text(encoding="utf-8"))}
    assert named >= {"demo", "test", "check"}
    assert named <= help_lines().keys()


def test_check_is_lint_and_the_readmes_test_command() -> None:
    plan = make("--dry-run", "--always-make", "check").stdout
    for command in (
        "fmt --all --check",
        "clippy --workspace",
        "clippy --package sojourn-net",
        "ruff check",
        "ruff format --check",
        "mypy",
        "commits.py",
    ):
        assert plan.count(command) == 1, command
    tests = make("--dry-run", "--always-make", "test").stdout
    for command in ("cargo test --workspace", "-m pytest tests/python tests/docs"):
        assert plan.count(command) == tests.count(command) == 1, command


def test_ci_runs_lint_and_tests_once() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "for step in lint test; do" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("missing", ["cargo", "cc", "python3"])
def test_a_missing_tool_is_named_in_one_line(missing: str, tmp_path: Path) -> None:
    for tool in ("bash", "sed", "find", "touch", "env", "cargo", "cc", "python3"):
        if tool != missing:
            (tmp_path / tool).symlink_to(shutil.which(tool) or "/bin/true")
    ran = make("VENV=" + str(tmp_path / "venv"), str(tmp_path / "venv" / ".made"), path=str(tmp_path))
    assert ran.returncode != 0
    assert f"make: {missing} is missing: install" in ran.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("tool", "expected_text", "error"),
    [
        ("cargo", "cargo 1.63.0", "make: cargo 1.63.0 is too old; Rust 1.85"),
        ("python3", "Python 3.9.2", "make: python3 is Python 3.9.2; Python 3.10"),
    ],
)
def test_an_old_tool_is_named_in_one_line(tool: str, expected_text: str, error: str, tmp_path: Path) -> None:
    old = tmp_path / tool
    old.write_text(f'#!/bin/bash\n[[ $1 == -c ]] && exit 1\necho "{expected_text}"\n')
    old.chmod(0o755)
    ran = make(
        "VENV=" + str(tmp_path / "venv"), str(tmp_path / "venv" / ".made"), path=f"{tmp_path}:{os.environ['PATH']}"
    )
    assert ran.returncode != 0
    assert error in ran.stderr
    assert not (tmp_path / "venv").exists()


def test_skipped_tests_are_listed_with_their_reasons(tmp_path: Path) -> None:
    rust = "running 3 tests\ntest a ... ok\ntest b ... ignored, too slow\n\nsuccesses:\n\n---- a stdout ----\n"
    rust += "skipped: no traces beside the project\n\nsuccesses:\n    a\n\n"
    rust += "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    (tmp_path / "rust.log").write_text(rust)
    (tmp_path / "python.log").write_text(
        "SKIPPED [2] tests/a.py:3: no traces\n===== 7 passed, 2 skipped in 1.00s =====\n"
    )
    listed = make(f"LOGS={tmp_path}", "results", "skipped").stdout
    assert listed == (
        "cargo test: 2 passed; 0 failed; 1 ignored; 1 test binaries\n"
        "pytest: ===== 7 passed, 2 skipped in 1.00s =====\n"
        "skipped:\n"
        "  cargo test: b ignored too slow\n"
        "  cargo test: no traces beside the project\n"
        "  pytest: [2] tests/a.py:3: no traces\n"
    )
    (tmp_path / "rust.log").write_text("test result: ok. 2 passed; 0 failed; 0 ignored;\n")
    (tmp_path / "python.log").write_text("===== 7 passed in 1.00s =====\n")
    assert make(f"LOGS={tmp_path}", "skipped").stdout == "skipped:\n  nothing\n"
