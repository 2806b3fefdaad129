"""First steps of a user: a first scenario, copies of shipped ones, shell completion and its failures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from conftest import REPO, Cli, printed_json

FOLDER = REPO / "python" / "sojourn" / "model" / "scenarios" / "shipped"
SHIPPED = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml")} - {"score/setup"}


def test_the_first_scenario_runs(cli: Cli, tmp_path: Path) -> None:
    made = cli("init")
    assert made.exit_code == 0, made.output
    assert "sojourn run scenario.toml" in made.output
    found = printed_json(cli("run", "scenario.toml", "--set", "duration=2.3 s", "--json"))
    assert found["scenario"]["link"]["rate"] == "20 Mbit/s"
    assert [flow["kind"] for flow in found["scenario"]["flows"]] == ["tcp", "voice"]
    assert cli("plot", "timeseries", found["folder"]).exit_code == 0, "its packets are recorded"


def test_the_first_scenario_has_the_given_options(cli: Cli) -> None:
    requests = ("--rate", "7.3 Mbit/s", "--rtt", "61 ms", "--flows", 3, "--aqm", "pie target 20ms ecn")
    assert cli("init", *requests, "mine.toml").exit_code == 0
    found = printed_json(cli("run", "mine.toml", "--set", "duration=1 s", "--json"))["scenario"]
    assert (found["link"]["rate"], found["link"]["aqm"]["name"]) == ("7.3 Mbit/s", "pie")
    assert (found["flows"][0]["count"], found["flows"][0]["access_delay"]) == (3, "30.5 ms")


@pytest.mark.parametrize("option", [("--rate", "5"), ("--rtt", "soon"), ("--aqm", "codle")])
def test_a_first_scenario_that_cannot_be_is_not_written(cli: Cli, tmp_path: Path, option: tuple[str, str]) -> None:
    assert cli("init", *option).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(cli: Cli, tmp_path: Path) -> None:
    Path("scenario.toml").write_text("mine")
    refused = cli("init")
    assert refused.exit_code == 2
    assert "already exists" in refused.output
    assert Path("scenario.toml").read_text() == "mine"
    Path("outages.down").write_text("mine too")
    assert cli("example", "outages").exit_code == 2
    assert not Path("outages.toml").exists(), "none of its files is written"


def test_every_shipped_scenario_is_a_documented_example(cli: Cli) -> None:
    found = printed_json(cli("example", "--json"))
    assert {one["name"] for one in found} == SHIPPED
    assert [one["name"] for one in found][:2] == ["access-points", "adsl"], "those in folders are last"
    assert all(len(one["about"]) > 20 and "\n" not in one["about"] for one in found)
    commands = {one["name"]: one["command"] for one in found}
    assert (commands["codel"], commands["loads"], commands["score/bidir"]) == ("run", "sweep", "sweep")
    short, every = cli("example").output, cli("example", "--all").output
    assert "in score/" in short and "score/bidir" not in short
    assert "score/bidir" in every


def test_a_copied_study_includes_its_base(cli: Cli, tmp_path: Path) -> None:
    assert cli("example", "score/bidir").exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"bidir.toml", "setup.toml"}
    assert sj.Study.load(tmp_path / "bidir.toml").points
    assert cli("example", "score/tunnel").exit_code == 0, "what both extend is there already"
    (tmp_path / "setup.toml").write_text("mine")
    assert cli("example", "score/flood").exit_code == 2


@pytest.mark.parametrize("name", ["outages", "two-way"])
def test_a_copied_example_runs(cli: Cli, name: str) -> None:
    made = cli("example", name)
    assert made.exit_code == 0, made.output
    assert f"sojourn run {name}.toml" in made.output
    assert cli("run", f"{name}.toml", "--set", "duration=1.7 s", "--set", "warmup=0 s").exit_code == 0


def test_an_example_can_be_printed_and_a_misspelled_one_gets_a_suggestion(cli: Cli, tmp_path: Path) -> None:
    printed = cli("example", "codel", "--print")
    assert printed.output.strip() == (REPO / "scenarios" / "codel.toml").read_text().strip()
    assert 'did you mean "codel"?' in cli("example", "codle").output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sojourn comp", {"compare", "completion"}),
        ("sojourn lin", {"link"}),
        ("sojourn plot cc", {"ccdf"}),
        ("sojourn compare --aqm droptail,pi2", {"droptail,pi2"}),
        ("sojourn cc show west", {"westwood"}),
        ("sojourn reproduce gao", {"gao2015"}),
        ("sojourn reproduce schwarzkopf2016 --figure table", {"table1", "table5"}),
        ("sojourn example two", {"two-way"}),
    ],
)
def test_completion(line: str, expected: set[str]) -> None:
    reported = {"_SOJOURN_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = _sojourn(env=os.environ | reported)
    assert {item.partition(",")[2] for item in done.stdout.split()} == expected, done.stderr


def test_completion_is_installed_where_the_shell_looks(tmp_path: Path) -> None:
    home = os.environ | {"HOME": str(tmp_path), "SHELL": "/bin/bash", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    home.pop("BASH_COMPLETION_USER_DIR", None)
    assert _sojourn("completion", env=home).returncode == 0
    file = tmp_path / ".local/share/bash-completion/completions/sojourn"
    loaded = subprocess.run(["bash", "-c", f"source {file}; complete -p sojourn"], capture_output=True, text=True)
    assert "sojourn" in loaded.stdout, loaded.stderr
    assert _sojourn("completion", "fish", env=home).returncode == 0
    assert (tmp_path / ".config/fish/completions/sojourn.fish").exists()
    reported = _sojourn("completion", "zsh", env=home)
    assert "fpath" in reported.stdout
    unknown = _sojourn("completion", env=home | {"SHELL": "/bin/csh"})
    assert (unknown.returncode, "choose bash, zsh or fish" in unknown.stderr) == (2, True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_reader_that_goes_ends_the_command_quietly() -> None:
    line = f"'{sys.executable}' -m sojourn aqm list | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    first, code = done.stdout.splitlines()
    assert first.startswith("droptail:")
    assert code in ("141", "0"), "0 where all was written before the reader went"
    assert done.stderr == ""


def test_folders_are_not_made_for_a_slip(cli: Cli, tmp_path: Path) -> None:
    done = cli("compare", "--aqm", "droptail", "--duration", "1 s", "--plot", "no/such/dir/x.png")
    assert done.exit_code == 2
    assert "no such folder no/such/dir" in done.output
    assert not list(tmp_path.iterdir())
    assert cli("compare", "--aqm", "droptail", "--duration", "1 s", "--plot", "new/x.png").exit_code == 0


def _sojourn(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sojourn", *args], capture_output=True, text=True, env=env)
