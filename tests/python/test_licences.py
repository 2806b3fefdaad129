"""Licences of dependencies: each crate in Cargo.lock is compatible with MIT OR Apache-2.0."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = {
    *("MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib"),
    *("Unlicense", "CC0-1.0", "Unicode-3.0"),
}
"""Licences without copyleft, by SPDX identifier."""


@pytest.fixture(scope="module")
def packages() -> list[dict[str, Any]]:
    cargo = shutil.which("cargo")
    if cargo is None or not (ROOT / "Cargo.lock").is_file():
        pytest.skip("cargo is not installed")
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--manifest-path", str(ROOT / "Cargo.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return found


def test_every_crate_has_a_licence_that_can_be_shipped(packages: list[dict[str, Any]]) -> None:
    assert len(packages) > 100
    refused = {one["name"]: one["license"] for one in packages if not is_allowed(one["license"] or "")}
    assert not refused, "leave these crates out, or say in ALLOWED why their licence is fine"


def test_our_crates_have_our_licence(packages: list[dict[str, Any]]) -> None:
    own = {one["license"] for one in packages if one["source"] is None}
    assert own == {"MIT OR Apache-2.0"}


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression, or an older list with slashes, can be satisfied with `ALLOWED` licences only."""
    words = re.sub(r"\s*/\s*", " OR ", expression)
    choices = re.split(r"\s+OR\s+(?![^(]*\))", words)
    return any(all(_is_part_allowed(part) for part in re.split(r"\s+AND\s+(?![^(]*\))", choice)) for choice in choices)


def _is_part_allowed(part: str) -> bool:
    inner = re.fullmatch(r"\((.*)\)", part.strip())
    return is_allowed(inner[1]) if inner else part.strip() in ALLOWED


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT/Apache-2.0", True),
        ("MIT OR GPL-3.0-only", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR GPL-2.0-only) AND OpenSSL", False),
        ("MIT AND GPL-2.0-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("", False),
    ],
)
def test_expressions(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed
