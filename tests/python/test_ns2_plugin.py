"""Our queue managers inside ns-2, if the plugin is built; and errors if something is missing."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from conftest import Cli
from ns2_scenarios import BASE, KITCODEL, NS2, TWO_WAY, codel, dumbbell, ftp
from sojourn import InputError, Scenario
from sojourn.base.errors import MissingError
from sojourn.engines.ns2 import build, installed, plugin, process
from sojourn.engines.ns2.plugin import Plugin
from sojourn.engines.ns2.script import script


@pytest.fixture
def built() -> Plugin:
    """The built plugin."""
    if installed.find() is None:
        pytest.skip("ns-2 is not installed (apt install ns2)")
    if plugin.find() is None:
        pytest.skip("no plugin for ns-2 is built here (make capi, sojourn ns2 build)")
    return plugin.built()


def trace(scenario: Scenario, folder: Path, of: Plugin | None) -> bytes:
    """Trace of ns-2, with our queues or with its own."""
    (folder / "run.tcl").write_text(script(scenario, 7, plugin=of is not None).text, encoding="utf-8")
    process.run(folder / "run.tcl", folder / "trace", [str(of.file)] if of else [])
    return (folder / "trace").read_bytes()


@pytest.mark.parametrize("limit", ["43 packets", "31 kB", "73 ms"])
def test_our_tail_drop_writes_the_trace_of_ns2_s_own_line_by_line(built: Plugin, tmp_path: Path, limit: str) -> None:
    scenario = Scenario.build(dumbbell(*TWO_WAY, duration="20 s", link={"limit": limit}))
    local, reference = (trace(scenario, tmp_path, of) for of in (built, None))
    assert local == reference
    assert local.count(b"\nd ") > 20 and local.count(b"\n") > 50_000


@pytest.mark.parametrize("name", ["drophead", "sfq"])
def test_other_queues_that_draw_nothing_write_the_same_trace_too(built: Plugin, tmp_path: Path, name: str) -> None:
    scenario = Scenario.build(NS2[name] | {"duration": "20 s"})
    assert trace(scenario, tmp_path, built) == trace(scenario, tmp_path, None)


@pytest.mark.parametrize("profile", KITCODEL)
def test_codel_writes_the_trace_of_a_codel_in_cplusplus_line_by_line(
    built: Plugin, tmp_path: Path, profile: str
) -> None:
    digest = hashlib.sha256(trace(Scenario.build(codel(profile)), tmp_path, built)).hexdigest()
    assert digest == KITCODEL[profile]


@pytest.mark.parametrize("aqm", ["fq_codel", "pie@linux", "sfqcodel", "red", "dualpi2", "codel_dt"])
def test_any_queue_manager_runs_there_and_is_near_the_simulator_s(built: Plugin, aqm: str) -> None:
    flows = ftp(count=4, spread="1 s", rtt="60 ms", receive_window="1 MB", access_rate="43 Mbit/s")
    document = dumbbell(flows, duration="40 s", link={"aqm": aqm, "limit": "900 packets"})
    here, there = (Scenario.build(document).run(2, engine=name) for name in ("simulate", "ns2-plugin"))
    assert there.engine == built.identity
    assert there.totals["delivered_bps"] == pytest.approx(here.totals["delivered_bps"], rel=0.05)
    waits = [run.totals["links"]["forward"]["sojourn_ms"]["mean"] for run in (here, there)]
    assert waits[1] == pytest.approx(waits[0], rel=0.25, abs=0.5)


def test_queue_managers_in_python_are_refused() -> None:
    path = Path(__file__).parents[2] / "examples" / "python-aqm" / "my_codel.py"
    scenario = Scenario.build(dumbbell(BASE, link={"aqm": f"{path}:MyCodel"}))
    with pytest.raises(
        InputError, match=r"^link\.aqm: the engine ns2 has the queue managers of Sojourn, none in Python"
    ):
        script(scenario, 1, plugin=True)


def test_without_the_right_plugin_a_run_names_the_remedy(
    cli: Cli, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_NS2", str(tmp_path / "none"))
    command = ("run", repo / "scenarios" / "ns2.toml", "--engine", "ns2-plugin")
    refused = cli(*command)
    assert refused.exit_code == 3
    assert refused.stderr == f"Error: no plugin for ns-2 is built in {tmp_path / 'none'}; run sojourn ns2 build\n"
    folder = tmp_path / "none" / "plugin"
    folder.mkdir(parents=True)
    (folder / plugin.PLUGIN).write_bytes(b"")
    (folder / plugin.METADATA).write_text(json.dumps({"digest": "x", "sojourn": "0.0.1", "recipe": "y"}))
    refused = cli(*command)
    assert refused.exit_code == 3 and refused.stderr.count("\n") == 1
    assert "is the plugin of another version (Sojourn 0.0.1); run sojourn ns2 build" in refused.stderr


def test_missing_build_tools_are_named(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "PLACES", ())
    monkeypatch.setenv("PATH", "/nowhere")
    refused = cli("ns2", "build", "--library", tmp_path, "--cache", tmp_path / "cache")
    assert refused.exit_code == 3
    assert refused.stderr.splitlines() == [
        "Error: building the plugin needs:",
        "  ns: install the package ns2",
        "  g++: install the package g++",
        "  tar: install the package tar",
        "  xz: install the package xz-utils",
        "  tcl.h: install the package tcl-dev",
        "  tclcl.h: install the package libtclcl1-dev",
        "  otcl.h: install the package libotcl1-dev",
        f"  {tmp_path}/lib/libsojourn_aqm.a: run make capi, or name the folder that it wrote with --library",
        f"  {tmp_path}/include/sojourn_aqm.h: run make capi, or name the folder that it wrote with --library",
    ]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("absent", "absent: no such file or folder; give ns-2.35's source, or leave --source out"),
        ("folder", "folder: has no queue/queue.h; give ns-2.35's source or its archive"),
        ("archive", "archive: cannot be unpacked:"),
    ],
)
def test_a_wrong_source_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, text: str) -> None:
    monkeypatch.setattr(build, "missing", lambda _library: [])
    if not shutil.which("xz"):
        pytest.skip("needs xz, which is absent")
    (tmp_path / "folder").mkdir()
    (tmp_path / "archive").write_bytes(b"no archive")
    with pytest.raises(MissingError) as refused:
        build.build(tmp_path, tmp_path / "cache", tmp_path / source)
    assert text in str(refused.value)
    assert not (tmp_path / "cache").exists()


def test_the_compiler_finds_a_library_that_was_named_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source" / "queue").mkdir(parents=True)
    (tmp_path / "source" / "queue" / "queue.h").touch()
    monkeypatch.setattr(build, "missing", lambda _library: [])
    monkeypatch.chdir(tmp_path)
    commands: list[list[str]] = []

    def reported(command: list[str], folder: Path, *, failure: str) -> str:
        assert folder != tmp_path, failure
        commands.append(command)
        raise MissingError(failure)

    monkeypatch.setattr(build, "run_command", reported)
    with pytest.raises(MissingError, match="the plugin cannot be compiled"):
        build.build(Path("made"), tmp_path / "cache", tmp_path / "source")
    [command] = commands
    assert {f"-I{tmp_path}/made/include", f"{tmp_path}/made/lib/libsojourn_aqm.a"} <= set(command)
