"""`sojourn link --expect`: sentences about an emulated link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import Process
from shells import needs_shells, python, shell

LINK = ("link", "--up", "2mbit", "--down", "3mbit", "--aqm", "codel")


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("goodput > 1 Mbit/s", "only programs know it; a link knows sojourn, utilisation, drops, marks, packets"),
        ("p95(sojourn, reverse) < 5 ms", '"reverse" is unknown; expected one of A, codel, sojourn, down, up'),
        ("p95(sojourn, up) <", "is not a condition"),
    ],
)
def test_a_link_refuses_sentences_before_the_command(
    process: Process, tmp_path: Path, sentence: str, message: str
) -> None:
    done = process(*LINK, "--expect", sentence, "--", "touch", str(tmp_path / "ran"))
    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "ran").exists()


SEND = """
import os, socket, time
plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(120):
    plug.sendto(b"x" * 1000, (os.environ["SOJOURN_HOST"], 9))
    time.sleep(0.002)
"""
"""Twice the rate of the link's outgoing direction."""


@needs_shells
def test_a_link_is_judged_by_its_own_log(tmp_path: Path) -> None:
    true = "p95(sojourn, up) > 20 ms and target(up) < 6 ms and packets(up) >= 50"
    done = shell(*LINK, "--expect", true, "--", *python(SEND), env=_with_tmp(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    at = lines.index(f"link: met     {true}")
    assert lines[at + 1].startswith("link:         p95(sojourn, up) = ") and "target(up) = 5 ms" in lines[at + 2]
    assert not list(tmp_path.iterdir()), "the log was needed for the sentence only"

    log = tmp_path / "log"
    missed = ("--expect", "p95(sojourn, up) < 1 ms", "--expect", true, "--quiet", "--log", log)
    done = shell(*LINK, *missed, "--", *python(SEND), env=_with_tmp(tmp_path))
    assert done.returncode == 1
    assert "link: missed  p95(sojourn, up) < 1 ms" in done.stderr and "link: met" not in done.stderr
    assert (log / "manifest.json").is_file()


@needs_shells
def test_the_exit_code_of_a_failed_command_remains(tmp_path: Path) -> None:
    done = shell(*LINK, "--expect", "drops(up) > 50 %", "--", "sh", "-c", "exit 7", env=_with_tmp(tmp_path))
    assert done.returncode == 7 and "missed" not in done.stderr
    done = shell(*LINK, "--expect", "drops(up) > 50 %", "--", "no-such-program", env=_with_tmp(tmp_path))
    assert done.returncode == 127
    assert not list(tmp_path.iterdir())


def _with_tmp(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder)}
