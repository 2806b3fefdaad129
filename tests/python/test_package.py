"""What is given away: a source distribution from which everything can be built, tested and read."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import REPO


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return what is in the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    made = subprocess.run(command, cwd=REPO, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    [file] = folder.glob("sojourn-*.tar.gz")
    with tarfile.open(file) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "Makefile",
        "requirements.lock",
        "mkdocs.yml",
        "docs/index.md",
        "scenarios/codel.toml",
        "python/sojourn/scenarios/shipped/outages.down",
        "tests/python/test_package.py",
        "crates/aqm/src/lib.rs",
        "bench/Cargo.toml",
    ],
)
def test_the_source_distribution_has(names: set[str], name: str) -> None:
    assert name in names


def test_nothing_that_is_built_is_in_it(names: set[str]) -> None:
    wrong = [name for name in names if name.endswith((".so", ".pyc")) or Path(name).parts[:1] == ("target",)]
    assert not wrong


def test_every_file_of_the_package_is_in_it(names: set[str]) -> None:
    listed = subprocess.run(["git", "ls-files", "python/sojourn"], cwd=REPO, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    assert set(listed.stdout.split()) <= names
