"""The scripts of the congestion controls equal their generator's output, and each mechanism affects them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

GENERATOR: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "controls" / "generate.py"))
FOLDER: Path = GENERATOR["SCRIPTS_FOLDER"]
CONTROLS: dict[str, Any] = GENERATOR["CONTROLS"]


def test_every_control_has_its_script() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CONTROLS)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_script_equals_the_second_implementation_s_output(name: str) -> None:
    written = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert written == GENERATOR["script"](name), "run: python tests/controls/generate.py"


@pytest.mark.parametrize(("name", "mechanism"), [(n, m) for n, control in CONTROLS.items() for m in control.MECHANISMS])
def test_a_control_without_a_mechanism_breaks_its_script(name: str, mechanism: str) -> None:
    lacking = GENERATOR["script"](name, mechanism)
    assert lacking != GENERATOR["script"](name)


@pytest.mark.parametrize(("name", "param"), [(n, p) for n, control in CONTROLS.items() for p in control.PARAMS])
def test_a_control_with_a_parameter_at_its_default_breaks_its_script(name: str, param: str) -> None:
    ignoring = GENERATOR["script"](name, ignored=param)
    windows = [line.rpartition(" = ")[2] for line in ignoring]
    assert windows != [line.rpartition(" = ")[2] for line in GENERATOR["script"](name)]
