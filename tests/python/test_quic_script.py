"""The script of QUIC's loss recovery equals its generator's output, and each mechanism affects it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

GENERATOR: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "quic" / "generate.py"))
WRITTEN = GENERATOR["SCRIPT"].read_text(encoding="utf-8").splitlines()


def test_the_script_equals_the_second_implementation_s_output() -> None:
    assert GENERATOR["script"]() == WRITTEN, "run: python tests/quic/generate.py"


@pytest.mark.parametrize("mechanism", GENERATOR["Recovery"].MECHANISMS)
def test_loss_detection_without_a_mechanism_breaks_the_script(mechanism: str) -> None:
    assert GENERATOR["script"](mechanism) != WRITTEN
