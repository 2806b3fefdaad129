"""Queue managers in shared libraries, by name: runs, rejected libraries, and faults of libraries."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from conftest import REPO, SHORT, Cli, Process, entries, printed_json
from shells import needs_shells
from sojourn.studies.runs import store

CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler, which is absent")


def built(source: Path, library: Path, *options: str) -> Path:
    include = REPO / "crates" / "capi" / "include"
    command = [str(CC), "-shared", "-fPIC", "-I", str(include), *options, "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    built(REPO / "examples" / "c" / "blue.c", folder / "blue.so")
    built(REPO / "crates" / "capi" / "tests" / "faulty.c", folder / "faulty.so")
    return folder


@pytest.fixture
def scenario(tmp_path: Path, libraries: Path) -> Path:
    """Return a scenario that uses blue.so, with blue.so and faulty.so in its folder."""
    for name in ("blue.so", "faulty.so"):
        shutil.copy(libraries / name, tmp_path / name)
    path = tmp_path / "blue.toml"
    path.write_text(SHORT.replace('"codel"', '"blue.so increment 0.07 ecn"\nlimit = "23 packets"'))
    return path


def test_a_library_runs_by_name_in_scenarios_and_on_the_command_line(cli: Cli, scenario: Path) -> None:
    assert cli("run", scenario.name, "-o", "out").exit_code == 0
    [folder] = entries(Path("out"))
    about = json.loads((Path("out") / folder / "manifest.json").read_text())
    assert about["scenario"]["link"]["aqm"]["text"] == "increment 0.07 ecn"
    assert list(about["aqms"]) == [str(scenario.parent / "blue.so")]
    assert sj.Scenario.load(scenario).aqm == "blue.so increment 0.07 ecn"
    ran = cli("compare", "--aqm", "codel,./blue.so increment 0.07", "--duration", "4s", "--seeds", "2", "--json")
    assert ran.exit_code == 0, ran.output
    assert "blue.so increment 0.07" in ran.output
    shown = cli("aqm", "show", "./blue.so increment 0.5")
    assert "BLUE: a drop probability" in shown.output and "increment 0.5" in shown.output


def test_a_library_may_be_named_with_the_queue_manager_in_it(cli: Cli, scenario: Path) -> None:
    plain, named = (
        sj.Scenario.load(scenario, {"link.aqm": f"{name} increment 0.07"}) for name in ("blue.so", "./blue.so:blue")
    )
    assert named == plain and store.run_hash(named, 1) == store.run_hash(plain, 1)
    ran = cli("compare", "--aqm", "codel,./blue.so:blue ecn", "--duration", "2s", "--seeds", "1", "--json")
    assert ran.exit_code == 0, ran.output
    shown = cli("run", scenario.name, "--set", "link.aqm=./blue.so:red")
    assert shown.exit_code == 2
    assert 'blue.so has no queue manager "red", only "blue"; write ./blue.so:blue, or ./blue.so' in shown.stderr
    assert cli("run", scenario.name, "--no-code", "--set", "link.aqm=./blue.so:blue").exit_code == 2


def test_a_table_of_parameters_is_the_same_as_a_text(scenario: Path) -> None:
    text = scenario.read_text()
    table = '{ name = "blue.so", increment = 0.07, ecn = true, freeze_time = "100 ms" }'
    scenario.write_text(text.replace('"blue.so increment 0.07 ecn"', table))
    found = sj.Scenario.load(scenario)
    assert found.aqm == "blue.so increment 0.07 ecn freeze_time 100ms" or found.aqm.endswith(
        "blue.so ecn freeze_time 100ms increment 0.07"
    )
    again = sj.Scenario(found.canonical)
    assert again == found
    assert (
        again.run().fingerprint
        == sj.Scenario.load(scenario, {"link.aqm": "blue.so increment 0.07 ecn"}).run().fingerprint
    )


def test_the_hash_holds_the_librarys_contents_and_not_its_place(scenario: Path, tmp_path: Path) -> None:
    def named(path: Path) -> str:
        return store.run_hash(sj.Scenario.load(scenario, {"link.aqm": str(path)}), 1)

    (tmp_path / "elsewhere").mkdir()
    moved = Path(shutil.copy(tmp_path / "blue.so", tmp_path / "elsewhere" / "b.so.2"))
    other = built(REPO / "examples" / "c" / "blue.c", tmp_path / "other.so", "-O1", "-DOTHER")
    assert named(tmp_path / "blue.so") == named(moved)
    assert named(tmp_path / "blue.so") != named(other)


def test_a_library_that_has_changed_since_it_was_loaded_is_refused(scenario: Path, tmp_path: Path) -> None:
    sj.Scenario.load(scenario)
    built(REPO / "examples" / "c" / "blue.c", tmp_path / "blue.so", "-O1")
    with pytest.raises(sj.InputError, match=r"blue\.so: has changed since it was loaded; start again"):
        sj.Scenario.load(scenario)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "blue.toml"],
        ["compare", "--aqm", "codel,./blue.so"],
        ["aqm", "show", "./blue.so"],
        ["aqm", "check", "./blue.so"],
        ["aqm", "diff", "codel", "./blue.so"],
    ],
    ids=" ".join,
)
def test_no_code_covers_libraries(cli: Cli, scenario: Path, words: list[str]) -> None:
    ran = cli(*words, "--no-code")
    assert ran.exit_code == 2
    assert "blue.so: would run its code; leave out --no-code if you trust it" in ran.output


def test_a_queue_step_by_step_and_two_packet_by_packet(cli: Cli, scenario: Path) -> None:
    queue = sj.Queue(str(scenario.parent / "blue.so"), limit="2 packets")
    assert [queue.push(n, size=77 + n, tag=n) for n in range(3)] == ["queued", "queued", "dropped:limit"]
    assert queue.pop(9) == (0, 9, False)
    assert queue.state() == {"p": 0.02}
    same = cli("aqm", "diff", "droptail", "./blue.so increment 0 decrement 0", "--limit", "31 packets")
    assert same.exit_code == 0, same.output
    assert cli("aqm", "diff", "droptail", "./blue.so", "--limit", "31 packets").exit_code == 1


def test_several_runs_go_to_processes_of_their_own(cli: Cli, scenario: Path) -> None:
    Path("study.toml").write_text(f"{scenario.read_text()}\n[sweep]\nseeds = 3\n")
    ran = cli("sweep", "study.toml", "-o", "out", "--jobs", "2")
    assert ran.exit_code == 0, ran.output
    alone = [sj.Scenario.load(scenario).run(seed).fingerprint for seed in (1, 2, 3)]
    stored = [json.loads(path.read_text()) for path in Path("out").glob("*/manifest.json")]
    assert {about["seed"]: about["fingerprint"] for about in stored} == dict(enumerate(alone, 1))


def test_blue_keeps_to_every_rule(cli: Cli, scenario: Path) -> None:
    ran = cli("aqm", "check", "./blue.so increment 0.3 ecn", "--operations", "60000", "--seed", "5", "--json")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.output)
    assert found["violation"] is None
    assert found["operations"] >= 60_000
    packets = found["packets"]
    assert packets["arrived"] == packets["departed"] + packets["dropped"]
    assert min(packets.values()) > 0
    assert cli("aqm", "check", "codel ecn", "--operations", "9000").exit_code == 0


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        ("twice", "dequeue returns a packet for the second time"),
        ("keeps", "dequeue reports empty but keeps 1 packets"),
        ("keeps at the end", "free keeps 1 packets"),
        ("wrong statistics", "statistics report arrived_bytes 11"),
        ("last first", "Order"),
    ],
)
def test_faults_of_a_library_fail_the_check_by_name(cli: Cli, scenario: Path, fault: str, reported: str) -> None:
    ran = cli("aqm", "check", f"./faulty.so {fault}", "--operations", "9000")
    assert ran.exit_code == 1, ran.output
    assert "faulty.so" in ran.output
    assert reported in ran.output


def test_a_library_that_breaks_a_rule_fails_the_run(cli: Cli, scenario: Path) -> None:
    for fault, reported in [("twice", "for the second time"), ("keeps at the end", "free keeps"), ("errs", "error -5")]:
        ran = cli("run", scenario.name, "--set", f"link.aqm=faulty.so {fault}", "-o", "out")
        assert ran.exit_code == 2, ran.output
        assert "faulty.so: " in ran.output
        assert reported in ran.output
        assert not Path("out").exists() or not entries(Path("out"))


ENDS = {
    "crashes": "segmentation fault",
    "aborts": "abort, as by a panic",
    "exits": "exit",
    "recurses": "stack overflow",
    "jumps": "",  # an undefined jump: a fault, or the next call
    "ends the thread": "",
}


def without_progress(errors: str, fault: str = "") -> list[str]:
    """Lines without progress, which is printed on a busy machine, and without what an undefined jump runs into."""
    lines = [line for line in errors.splitlines() if not re.match(r"\d+ of \d+ runs", line)]
    return lines[-1:] if fault == "jumps" else lines


@pytest.mark.parametrize(("fault", "reported"), ENDS.items())
def test_a_library_that_ends_the_program_is_named(process: Process, scenario: Path, fault: str, reported: str) -> None:
    for words in (
        ["run", scenario.name, "--set", f"link.aqm=faulty.so {fault}"],
        ["aqm", "check", f"./faulty.so {fault}"],
    ):
        ran = process(*words)
        assert ran.returncode == 2
        [line] = without_progress(ran.stderr, fault)
        ended = f"Error: {scenario.parent / 'faulty.so'}: enqueue ended the program: "
        assert line.startswith(ended) and reported in line.removeprefix(ended)


@pytest.mark.parametrize("fault", ["crashes", "exits"])
def test_a_library_that_ends_the_program_is_no_lack_of_memory(process: Process, scenario: Path, fault: str) -> None:
    words = ["run", scenario.name, "--set", f"link.aqm=faulty.so {fault}"]
    size = 6_100_000_000
    ran = process(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
    assert (ran.returncode, ran.stdout) == (2, "")
    ended = f"Error: {scenario.parent / 'faulty.so'}: enqueue ended the program: {ENDS[fault]}"
    assert ended in ran.stderr.splitlines()
    assert "memory" not in ran.stderr


def test_a_crash_in_one_of_several_runs_is_reported(process: Process, scenario: Path) -> None:
    words = ["--aqm", "codel,./faulty.so crashes", "--duration", "3s", "--seeds", "2", "--jobs", "2"]
    ran = process("compare", *words)
    assert ran.returncode == 2
    ended = f"Error: {scenario.parent / 'faulty.so'}: enqueue ended the program: segmentation fault"
    assert ended in ran.stderr.splitlines()
    assert "its process died" not in ran.stderr


@pytest.mark.parametrize("fault", ENDS)
def test_a_library_that_ends_the_program_leaves_nothing_half_written(
    process: Process, scenario: Path, fault: str
) -> None:
    sets = [f"link.aqm=faulty.so {fault}", "probes.packets=true", "probes.state=20 ms"]
    ran = process("run", scenario.name, "-o", "out", *(word for text in sets for word in ("--set", text)))
    assert ran.returncode == 2
    assert len(without_progress(ran.stderr, fault)) == 1, ran.stderr
    assert not list(scenario.parent.rglob("*.part"))


def test_a_library_that_hangs_is_given_up_by_the_check(scenario: Path) -> None:
    code = "from sojourn.model.aqms import conformance\nconformance.PATIENCE_S = 1.5\n"
    code += "conformance.check('./faulty.so hangs', 1000)\n"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=scenario.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr == "Error: ./faulty.so hangs: does not return from a call within 1.5 s\n"


@pytest.mark.parametrize(
    ("aqm", "reported"),
    [
        ("none.so", "none.so: no such file in "),
        ("text.so", "text.so: cannot be loaded: "),
        ("blue.so increment", "increment lacks its value"),
        ("fq(blue.so)", "holds packets itself"),
        ("faulty.so refuses", "faulty.so: error -2"),
    ],
)
def test_unloadable_libraries_give_a_one_line_error(cli: Cli, scenario: Path, aqm: str, reported: str) -> None:
    (scenario.parent / "text.so").write_text("no library")
    ran = cli("run", scenario.name, "--set", f"link.aqm={aqm}")
    assert ran.exit_code == 2
    assert reported in ran.output
    assert len(ran.output.strip().splitlines()) == 1
    assert "link.aqm" in ran.output


EMULATED = """
duration = "2 s"
[link]
rate = "8 Mbit/s"
aqm = "./LIBRARY"
limit = "30 packets"
[reverse]
rate = "8 Mbit/s"
[[flows]]
kind = "tcp"
cc = "reno"
count = 3
rtt = "20 ms"
[probes]
packets = true
"""


@needs_shells
def test_a_library_manages_an_emulated_link(scenario: Path) -> None:
    found = {}
    for library in ("blue.so increment 0.1", "faulty.so", "faulty.so twice"):
        path = scenario.with_name("emulated.toml")
        path.write_text(EMULATED.replace("LIBRARY", library))
        found[library] = sj.Scenario.load(path).run(engine="emulate")
    for library in ("blue.so increment 0.1", "faulty.so"):
        emulation = found[library].totals["emulation"]
        link = emulation["links"]["forward"]
        assert link["agreeing"] == link["replayed"] > 500, library
        assert not any(".so" in fault for fault in emulation["faults"])
    assert found["blue.so increment 0.1"].totals["links"]["forward"]["dropped_by"]["early"] > 0
    [reported] = [fault for fault in found["faulty.so twice"].totals["emulation"]["faults"] if ".so" in fault]
    assert "faulty.so: dequeue returns a packet for the second time" in reported


def test_results_are_read_without_the_library(cli: Cli, scenario: Path) -> None:
    ran = cli("run", scenario.name, "-o", "out", "--set", "probes.packets=true", "--set", "probes.headers=true")
    assert ran.exit_code == 0, ran.output
    (scenario.parent / "blue.so").unlink()
    [folder] = entries(Path("out"))
    for words in (
        ["plot", "cdf", "out", "-o", "x.png"],
        ["log", "convert", f"out/{folder}", "x.tr"],
        ["pcap", "export", f"out/{folder}", "--side", "in", "-o", "x.pcapng"],
    ):
        ran = cli(*words)
        assert ran.exit_code == 0, (words, ran.output)


def test_a_library_is_scored(cli: Cli, scenario: Path) -> None:
    """Its text is passed on; its children are unknown, so the rows about marks exclude it."""
    done = cli(
        "score",
        "./blue.so increment 0.07",
        "--only",
        "flood,ecn-flood",
        "--baseline",
        "codel",
        "--quick",
        "-o",
        "out",
        "--json",
    )
    found = printed_json(done)
    library = found["aqms"][0]
    flood, marked = (row["columns"][library] for row in found["rows"])
    assert library == "blue.so increment 0.07" and flood["numbers"]["utilisation"]["grade"] == "A"
    assert marked["state"] == "not-run" and marked["why"] == "does not mark"
