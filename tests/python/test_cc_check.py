"""`sojourn cc check` and `sojourn cc diff`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from conftest import REPO
from sojourn import _core
from sojourn.apps.cli.cc import command

EVENTS = ["--events", "3000"]


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, [*args, *EVENTS])
    return result.exit_code, result.output


def test_a_registered_control_passes_in_both_processes() -> None:
    code, output = run("check", "cubic", "--json")
    found = json.loads(output)
    assert code == 0 and found["passed"], output
    parts = {part["name"]: part["outcome"] for part in found["parts"]}
    assert parts["two processes"] == parts["stuck"] == parts["bounds"] == parts["copies"] == "passed"
    assert "failed" not in parts.values()


def test_a_broken_rule_ends_with_code_1() -> None:
    code, output = run("check", "prague@0.6")
    assert code == 1 and "bounds: failed: quic-rfc9002" in output, output


def test_a_control_equals_itself_and_differs_from_another() -> None:
    assert run("diff", "reno", "reno")[0] == 0
    code, output = run("diff", "reno", "cubic")
    assert code == 1
    assert "First difference: call" in output and "Before it:" in output, output
    code, output = run("diff", "reno", "bbr")
    assert code == 1 and "face: window and steer" in output, output


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(_core.InputError, match="did you mean"):
        _core.check_cc("cubik", "/", 100, 1)
    with pytest.raises(_core.InputError, match="did you mean"):
        _core.diff_cc("cubic", "cubik", "/", 100, 1)


@pytest.mark.parametrize(("control", "own"), [("reno", "my_reno.py:MyReno"), ("cubic", "my_cubic.py:MyCubic")])
def test_the_examples_in_python_do_what_the_built_in_controls_do(control: str, own: str) -> None:
    stacks = ["linux-6.1", "quic-rfc9002"]
    found = json.loads(_core.diff_cc(control, f"{REPO}/examples/python-cc/{own}", "/", 60_000, 7, None, stacks))
    assert found["first_difference"] is None
    assert found["calls"] >= 60_000
    with pytest.raises(_core.InputError, match='unknown stack of the comparison "linux-6"'):
        _core.diff_cc(control, control, "/", 10, 1, None, ["linux-6"])
