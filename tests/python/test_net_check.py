"""`sojourn net check`: equal runs, and the first difference with its likely cause."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import REPO, Cli, printed_json
from test_gate import WORLD, error_of

PROGRAM = [sys.executable, str(REPO / "tests" / "python" / "gate_program.py"), "world.toml"]


@pytest.fixture
def check(tmp_path: Path, cli: Cli) -> Callable[..., Any]:
    (tmp_path / "world.toml").write_text(WORLD)
    return lambda *words, options=(): cli("net", "check", *options, "--", *words)


def test_equal_runs(check: Any) -> None:
    found = check(*PROGRAM, options=("--runs", "3"))
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("decisions: equal in 3 runs, 2 networks, 100 datagrams\n")
    about = printed_json(check(*PROGRAM, options=("--json",)))
    assert about["level"] == "decisions" and list(about["decisions"]) == ["call, seed 1", "call, seed 2"]


@pytest.mark.parametrize(
    ("fault", "guess", "datagram"),
    [
        ("clock", "only the time differs: a real clock is read", 21),
        ("draw", "the size differs: a random draw", 21),
        ("order", "the same datagrams in another order", None),
        ("short", "one run sends more", 21),
    ],
)
def test_the_first_difference_is_named(check: Any, fault: str, guess: str, datagram: int | None) -> None:
    found = check(*PROGRAM, fault, options=("--json",))
    assert found.exit_code == 3, found.output
    about = json.loads(found.stdout)
    assert about["level"] == "none" and about["fault"] == "call, seed 1" and about["run"] == 2
    assert guess in about["difference"]["guess"]
    assert datagram in (None, about["difference"]["datagram"])
    text = check(*PROGRAM, fault).stdout
    assert "not deterministic: run 2 differs from run 1: call, seed 1" in text and "run 1: " in text


def test_what_cannot_be_compared(check: Any) -> None:
    assert "COMMAND: nosuch: No such file" in error_of(check("nosuch"))
    failed = check("false")
    assert failed.exit_code == 1 and "exit status 1; it printed nothing" in failed.stderr
    assert "it wrote no record" in error_of(check("true"))
    fails = check(*PROGRAM, "fails")
    assert fails.exit_code == 0 and "exit status 1, 1" in fails.stdout, "a failing test may be deterministic"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("", "line 1 is not"),
        ("sojourn-decisions 1\n", "line 2 is not a JSON object"),
        ("sojourn-decisions 1\n{}\n", "its name is not that of call-1.json"),
        ("HEAD5 a b c 1 - -", "line 3: truncated"),
        ("HEAD5 a b c 1 -\n", "line 3: not a decision"),
        ("HEAD5 a b c 1 ect9 -\n", "line 3: not a decision"),
        ("HEAD-5 a b c 1 - -\n", "line 3: not a decision"),
        ("HEAD5 a b c 1 - -\n4 a b c 1 - -\n", "line 4: earlier than the line before it"),
        ("HEAD" + "9" * 10_000 + "\n", "line 3: truncated"),
    ],
)
def test_a_damaged_log_is_one_line(check: Any, line: str, error: str) -> None:
    about = {"name": "call", "world": "0" * 16, "seed": 1, "scenario": {}}
    head = f"sojourn-decisions 1\n{json.dumps(about)}\n"
    rest = {
        "summary": {},
        "histogram": {},
        "fingerprint": "a" * 16,
        "decisions": "b" * 16,
        "versions": {"sojourn": "1"},
    }
    Path("bad.py").write_text(
        "import os\nout = os.environ['SOJOURN_NET_OUT']\n"
        f"open(out + '/call-1.decisions', 'w').write({line.replace('HEAD', head)!r})\n"
        f"open(out + '/call-1.json', 'w').write({json.dumps({'format': 1, **about, **rest})!r})\n"
    )
    found = check(sys.executable, "bad.py")
    assert found.exit_code == 2 and error in error_of(found)
