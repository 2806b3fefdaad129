"""The scripts of the media congestion controls equal the output of the second implementations."""

import runpy
from pathlib import Path

import pytest

GENERATOR = runpy.run_path(str(Path(__file__).parents[1] / "media" / "generate.py"))
FOLDER: Path = GENERATOR["SCRIPTS_FOLDER"]


@pytest.mark.parametrize("name", GENERATOR["SCRIPTS"])
def test_scripts_equal_the_second_implementation_s_output(name: str) -> None:
    assert (FOLDER / f"{name}.txt").read_text() == GENERATOR["script"](name), "run: python tests/media/generate.py"
