"""Congestion controls in shared libraries, by name: runs, rejected libraries, and faults of libraries."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sojourn as sj
from conftest import REPO, Cli, Process, entries, printed_json
from test_libraries import CC, built, without_progress

pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler, which is absent")

SOURCE = REPO / "crates" / "capi" / "tests" / "faulty_cc.c"
WORLD = """
duration = "9 s"
[link]
rate = "7.3 Mbit/s"
delay = "3 ms"
aqm = "droptail"
limit = "31 packets"
[[flows]]
kind = "tcp"
cc = "./faulty.so"
count = 2
spread = "170 ms"
rtt = "37 ms"
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cc-libraries")
    built(SOURCE, folder / "faulty.so")
    built(SOURCE, folder / "steering.so", "-DSTEERS")
    built(SOURCE, folder / "future.so", "-DFUTURE=6")
    (folder / "text.so").write_text("no library\n")
    return folder


@pytest.fixture
def scenario(tmp_path: Path, libraries: Path) -> Path:
    """Return a scenario that uses faulty.so, with all libraries in its folder."""
    for name in ("faulty.so", "steering.so", "future.so", "text.so"):
        shutil.copy(libraries / name, tmp_path / name)
    path = tmp_path / "world.toml"
    path.write_text(WORLD)
    return path


def test_a_library_runs_by_name_and_its_digest_is_part_of_the_result(cli: Cli, scenario: Path) -> None:
    assert cli("run", scenario.name, "-o", "out").exit_code == 0
    [folder] = entries(Path("out"))
    about = json.loads((Path("out") / folder / "manifest.json").read_text())
    library = str(scenario.parent / "faulty.so")
    assert about["scenario"]["flows"][0]["cc"] == library
    assert list(about["controls"]) == [library]
    plain = cli("run", scenario.name, "--set", "flows.0.cc=./faulty.so:faulty harmless", "--json")
    assert printed_json(plain)["fingerprint"] == about["fingerprint"], "fields of the host cannot be changed"
    other = cli("run", scenario.name, "--set", "flows.0.cc=./faulty.so:other")
    assert other.exit_code == 2
    assert 'no congestion control "other", only "faulty"' in other.output


def test_a_table_passes_the_words_of_a_text(scenario: Path) -> None:
    own = {"name": str(scenario.parent / "faulty.so"), "text": "cwnd  0"}
    assert sj.Scenario.load(scenario).replace({"flows.0.cc": own}).at("flows.0.cc").endswith("faulty.so cwnd 0")


def test_a_changed_library_has_another_hash_and_a_moved_one_has_not(scenario: Path, libraries: Path) -> None:
    from sojourn.studies.runs.store import run_hash

    first = run_hash(sj.Scenario.load(scenario), 5)
    moved = scenario.parent / "elsewhere.so"
    shutil.copy(libraries / "faulty.so", moved)
    text = WORLD.replace("./faulty.so", "./elsewhere.so")
    (scenario.parent / "moved.toml").write_text(text)
    assert run_hash(sj.Scenario.load(scenario.parent / "moved.toml"), 5) == first
    shutil.copy(libraries / "steering.so", moved)
    assert run_hash(sj.Scenario(sj.Scenario.load(scenario).canonical.replace("faulty.so", "steering.so")), 5) != first


@pytest.mark.parametrize("words", [["run", "world.toml"], ["compare", "--aqm", "codel", "--cc", "./faulty.so"]])
def test_no_code_covers_controls(cli: Cli, scenario: Path, words: list[str]) -> None:
    ran = cli(*words, "--no-code")
    assert ran.exit_code == 2
    assert "faulty.so: would run its code; leave out --no-code if you trust it" in ran.output


@pytest.mark.parametrize(
    ("control", "reported"),
    [
        ("faulty.so cwnd 0", "faulty.so cwnd 0: grow: cwnd is 0; keep it from 1 to 1073741824 (at "),
        ("faulty.so cwnd in bytes", "grow: cwnd is 2147483648; keep it from 1 to 1073741824 (at "),
        ("faulty.so ssthresh 0", "grow: ssthresh is 0; keep it from 1 to 2147483647 (at "),
        ("faulty.so ssthresh too large", "ssthresh: its value is 2147483648; keep it from 1 to 2147483647 (at "),
        ("faulty.so window in ssthresh", "ssthresh: changes the window; return the value instead (at "),
        ("faulty.so paces", "grow: sets pacing_rate or mss; only a control with `ack` does that (at "),
        ("faulty.so refuses later", "create: wants another parameter (at "),
        ("steering.so no rate", "ack: pacing_rate is 0; give a rate in bit/s, or leave it unpaced (at "),
        ("steering.so larger segments", "ack: mss is 1449; keep it from 1 to 1448 (at "),
        ("steering.so cwnd 0", "ack: cwnd is 0; keep it from 1 to 1073741824 (at "),
    ],
)
def test_a_broken_rule_ends_the_run_by_name_call_and_time(
    cli: Cli, scenario: Path, control: str, reported: str
) -> None:
    ran = cli("run", scenario.name, "--set", f"flows.0.cc=./{control}", "-o", "out")
    assert ran.exit_code == 2, ran.output
    assert reported in ran.output
    assert not Path("out").exists() or not entries(Path("out"))


@pytest.mark.parametrize(
    ("control", "reported"),
    [
        ("none.so", "none.so: no such file in "),
        ("text.so", "text.so: cannot be loaded: "),
        ("future.so", "future.so: is built for version 7 of sojourn_cc.h; rebuild it with this one, version 1"),
        ("faulty.so refuses", "faulty.so refuses: wants another parameter"),
    ],
)
def test_a_library_that_cannot_be_used_is_refused(cli: Cli, scenario: Path, control: str, reported: str) -> None:
    ran = cli("run", scenario.name, "--set", f"flows.0.cc={control}")
    assert ran.exit_code == 2
    assert ran.output.startswith("Error: ")
    assert "flows[0].cc: " in ran.output
    assert reported in ran.output


ENDS = {
    "crashes": "segmentation fault (at ",
    "divides": "arithmetic fault, such as a division by zero (at ",
    "aborts": "abort, as by a panic or a failed assertion (at ",
    "exits": "exit (at ",
    "recurses": "stack overflow, as of endless recursion (at ",
    "jumps": "",  # an undefined jump: a fault, or the next call
    "ends the thread": "",
}


@pytest.mark.parametrize(("fault", "reported"), ENDS.items())
@pytest.mark.parametrize(("library", "call"), [("faulty.so", "grow"), ("steering.so", "ack")])
def test_a_library_that_ends_the_program_is_named(
    process: Process, scenario: Path, fault: str, reported: str, library: str, call: str
) -> None:
    ran = process("run", scenario.name, "--set", f"flows.0.cc=./{library} {fault}", "-o", "out")
    assert ran.returncode == 2
    [line] = without_progress(ran.stderr)
    ended = f"Error: {scenario.parent / library}: {call} ended the program: "
    assert line.startswith(ended)
    assert reported in line.removeprefix(ended)
    assert not list(scenario.parent.rglob("*.part"))


def test_a_crash_while_connections_are_freed_is_named(process: Process, scenario: Path) -> None:
    ran = process("run", scenario.name, "--set", "flows.0.cc=./faulty.so crashes at the end")
    assert ran.returncode == 2
    ended = f"Error: {scenario.parent / 'faulty.so'}: free ended the program: segmentation fault"
    assert ended in ran.stderr.splitlines()
