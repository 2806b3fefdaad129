"""Every command works, and prints only JSON with --json."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import polars as pl
import pytest

from conftest import REPO, SHORT, Cli, Process, entries, printed_json


def test_run_prints_a_table_and_stores_the_result(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    result = cli("run", scenario_file, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "utilisation" in result.output
    assert "forward" in result.output
    [folder] = (tmp_path / "out").iterdir()
    assert entries(folder) == {"manifest.json", "sojourn_histogram.parquet"}
    assert f"Results: {Path('out') / folder.name}" in result.output


def test_run_as_json(cli: Cli, scenario_file: Path) -> None:
    found = printed_json(cli("run", scenario_file, "--json", "--seed", "7", "--set", "link.rate=5 Mbit/s"))
    assert found["seed"] == 7
    assert found["scenario"]["link"]["rate"] == "5 Mbit/s"
    assert found["summary"]["fingerprint"] == found["fingerprint"]
    assert Path(found["folder"], "manifest.json").exists()


def test_set_without_a_value_is_refused(cli: Cli, scenario_file: Path) -> None:
    result = cli("run", scenario_file, "--set", "link.rate")
    assert result.exit_code == 2
    assert 'has no "="' in result.output


def test_compare_prints_table_assumptions_and_figure(cli: Cli, tmp_path: Path) -> None:
    result = cli("compare", "--aqm", "droptail,codel,codel@act,pie@draft00", "--duration", "5 s")
    assert result.exit_code == 0, result.output
    for text in ("droptail", "codel@act", "pie@draft00", "sojourn", "p99", "Jain"):
        assert text in result.output
    assert "link: 10 Mbit/s, delay 0 s, limit 1000 packets" in result.output
    assert "reverse: 10 Mbit/s, delay 0 s, droptail, limit 1000 packets" in result.output
    assert "5 s, the first 2.5 s (auto) not counted" in result.output
    [figure] = (tmp_path / "results").glob("compare-*.png")
    assert f"Figure: results/{figure.name}" in result.output


def test_compare_on_a_rate_that_changes(cli: Cli) -> None:
    result = cli("compare", "--aqm", "droptail,codel", "--rate", "10mbit@0s,1mbit@2s", "--duration", "4 s")
    assert result.exit_code == 0, result.output
    assert "link: 10 Mbit/s@0 s,1 Mbit/s@2 s, delay 0 s" in result.output
    assert cli("compare", "--aqm", "codel", "--rate", "10mbit@0s,1mbit@0s").exit_code == 2


def test_run_on_every_kind_of_link(cli: Cli, scenario_file: Path) -> None:
    bucket = {"bucket": "5 Mbit/s", "burst": "9 kB", "peak": "9 Mbit/s"}
    for keys in ({"poisson": "5 Mbit/s"}, {"cox": "5 Mbit/s"}, bucket):
        sets = [arg for key, value in ({"rate": ""} | keys).items() for arg in ("--set", f"link.{key}={value}")]
        found = printed_json(cli("run", scenario_file, *sets, "--json"))
        assert set(keys) <= set(found["scenario"]["link"])
        assert found["summary"]["links"]["forward"]["packets"] > 0
    lossy = printed_json(cli("run", scenario_file, "--set", "link.loss=0.05", "--json"))
    links = lossy["summary"]["links"]
    assert links["forward"]["lost"] > 0
    assert links["reverse"]["lost"] == 0


def test_compare_as_json_with_seeds(cli: Cli) -> None:
    args = ["compare", "--aqm", "codel,pie", "--duration", "3 s", "--seeds", "3", "--plot", "a.svg", "--json"]
    found = printed_json(cli(*args))
    assert [row["aqm"] for row in found["table"]] == ["codel", "pie"]
    assert all(row["seeds"] == 3 and row["sojourn_mean_ms_ci95"] > 0 for row in found["table"])
    assert [(run["aqm"], run["seed"]) for run in found["runs"]] == [(a, s) for a in ("codel", "pie") for s in (1, 2, 3)]
    assert found["setup"]["reverse"]["aqm"]["name"] == "droptail"
    assert found["figure"] == "a.svg"
    assert Path("a.svg").read_text().startswith("<?xml")


def test_compare_follows_a_trace_and_its_sibling(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.down").write_text("2\n4\n")
    (tmp_path / "x.up").write_text("1\n")
    args = ["--rtt", "40ms", "--flows", "4", "--duration", "3s", "--trace", "x.down", "--json"]
    found = printed_json(cli("compare", "--aqm", "droptail,codel", *args))
    assert found["setup"]["link"]["trace"] == str(tmp_path / "x.down")
    assert found["setup"]["reverse"]["trace"] == str(tmp_path / "x.up")
    assert all(0 < row["utilisation"] <= 1 for row in found["table"])


def test_main_job_on_a_recorded_trace(process: Process, shared: Path) -> None:
    trace = shared / "traces" / "Verizon-LTE-short.down"
    args = ["--trace", trace, "--rtt", "40ms", "--flows", "4", "--duration", "120s"]
    done = process("compare", "--aqm", "droptail,codel,codel@act,pie@draft00", *args)
    assert done.returncode == 0, done.stderr
    assert "Verizon-LTE-short.up" in done.stdout
    assert "Figure: results/compare-" in done.stdout


def test_manifest_has_the_origin_of_a_result(process: Process, scenario_file: Path, tmp_path: Path) -> None:
    done = process("run", scenario_file, "--seed", "3")
    assert done.returncode == 0, done.stderr
    [manifest] = tmp_path.glob("results/*/manifest.json")
    found = json.loads(manifest.read_text())
    assert found["command"] == ["sojourn", "run", str(scenario_file), "--seed", "3"]
    assert found["seed"] == 3
    assert found["engine"] == "simulate"
    assert found["scenario"]["flows"][0]["count"] == 2
    assert found["hash"] == manifest.parent.name
    assert found["sojourn"].count(".") == 2


def test_plot_every_kind_and_in_every_format(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    from sojourn.figures import KINDS

    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    names = ("packets=true", "senders=true", "state=10 ms", "flows=200 ms")
    probes = [word for name in names for word in ("--set", f"probes.{name}")]
    for aqm in ("codel", "droptail"):
        assert cli("run", scenario_file, "--set", f"link.aqm={aqm}", *probes).exit_code == 0
    wlan = REPO / "scenarios" / "wlan.toml"
    assert cli("run", wlan, "--set", "duration=3 s", "--set", "warmup=1 s", "-o", "wlan").exit_code == 0
    call = REPO / "scenarios" / "media" / "5.6.toml"
    assert cli("run", call, "--set", "duration=7 s", "--set", "warmup=1 s", "-o", "call").exit_code == 0
    assert len(KINDS) >= len(starts)
    for kind, (suffix, start) in zip(KINDS, cycle(starts.items())):
        of = {"airtime": "wlan", "media": "call"}.get(kind, "results")
        result = cli("plot", kind, of, "-o", f"{kind}.{suffix}")
        assert result.exit_code == 0, result.output
        assert (tmp_path / f"{kind}.{suffix}").read_bytes().startswith(start)
    found = printed_json(cli("plot", "cdf", *(tmp_path / "results").iterdir(), "--json"))
    assert found["figure"] == "cdf.png"
    assert len(found["results"]) == 2


def test_plot_without_packets_names_the_probe(cli: Cli, scenario_file: Path) -> None:
    assert cli("run", scenario_file).exit_code == 0
    result = cli("plot", "timeseries", "results")
    assert result.exit_code == 2
    assert "--set probes.packets=true" in result.output


def test_plot_of_an_unknown_kind_names_the_nearest(cli: Cli) -> None:
    result = cli("plot", "timeserie", "results")
    assert result.exit_code == 2
    assert 'did you mean "timeseries"?' in result.output


@pytest.mark.parametrize("name", ["codel", "codel@act", "droptail", "pie@draft00 target 10ms"])
def test_aqm_show(cli: Cli, name: str) -> None:
    result = cli("aqm", "show", name)
    assert result.exit_code == 0, result.output
    assert result.output.startswith(name.split("@")[0])
    found = printed_json(cli("aqm", "show", name, "--json"))
    assert found["chosen"]["name"] == found["name"]
    assert found["source"]


def test_aqm_list(cli: Cli) -> None:
    result = cli("aqm", "list")
    assert result.exit_code == 0
    assert "codel@act" in result.output
    names = [entry["name"] for entry in printed_json(cli("aqm", "list", "--json"))]
    assert {"droptail", "codel", "pie"} <= set(names)


def test_aqm_show_has_all_of_the_registry(cli: Cli) -> None:
    for entry in printed_json(cli("aqm", "list", "--json")):
        shown = " ".join(cli("aqm", "show", entry["profiles"][0]["spelling"]).output.split())
        assert entry["source"] in shown
        for param in entry["params"]:
            assert param["doc"].split()[0] in shown
            bounds = param["choices"] or (
                ["false", "true"] if param["kind"] == "flag" else [param["min"], param["max"]]
            )
            assert all(str(bound).split()[0] in shown for bound in bounds), param["name"]
        several = entry["profiles"] if len(entry["profiles"]) > 1 else []  # a single profile is not listed
        assert all(profile["spelling"] in shown for profile in several)
        state = f"{entry['state_bytes']} bytes {'per flow' if entry['by_flow'] else 'of the manager'}"
        assert f"{state}, {entry['queue_bytes']} " in shown
        # The manager is a part of the queue, or all of it if it has children.
        assert entry["by_flow"] or entry["state_bytes"] <= entry["queue_bytes"]


def test_aqm_show_of_a_configured_one_shows_its_values(cli: Cli) -> None:
    shown = cli("aqm", "show", "codel@linux target 7ms").output
    [target] = [line.split() for line in shown.splitlines() if line.startswith("target ")]
    assert target[-8:] == ["7", "ms", "5", "ms", "1", "us", "10", "s"]
    assert "differs in" in shown
    plain = cli("aqm", "show", "codel").output
    assert " value " not in plain.splitlines()[3]


def test_state_of_a_composition_counts_both_parts(cli: Cli) -> None:
    def state(name: str) -> int:
        return int(printed_json(cli("aqm", "show", name, "--json"))["chosen"]["state_bytes"])

    assert state("fq(codel)") - state("fq(droptail)") == state("codel") - state("droptail")


def test_sweep_writes_one_row_per_run(cli: Cli, tmp_path: Path) -> None:
    study = '[sweep]\n"link.aqm" = ["codel", "pie"]\n"flows.0.count" = [1, 4]\nseeds = 2\n'
    (tmp_path / "study.toml").write_text(SHORT + study)
    found = printed_json(cli("sweep", "study.toml", "--json"))
    assert [(row["link.aqm"], row["flows.0.count"]) for row in found["table"]] == [
        ("codel", 1),
        ("codel", 4),
        ("pie", 1),
        ("pie", 4),
    ]
    runs = pl.read_parquet(found["runs"])
    assert runs.height == 8 == len(set(found["folders"]))
    assert runs["seed"].to_list() == [1, 2] * 4
    assert "codel" in cli("sweep", "study.toml").output


def test_scenario_schema_is_json(cli: Cli) -> None:
    assert "properties" in printed_json(cli("scenario", "schema"))


def test_progress_goes_to_stderr_only(process: Process, scenario_file: Path) -> None:
    done = process("run", scenario_file, "--set", "duration=4000 s", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["duration_s"] == 4000
    lines = done.stderr.splitlines()
    # At the last update the run may be finished but not yet written.
    assert all(line.startswith(("0 of 1 runs, ", "1 of 1 runs, ")) and " left" in line for line in lines), lines


def test_cc_show_has_all_of_the_registry(cli: Cli) -> None:
    registered = printed_json(cli("cc", "list", "--json"))
    assert {"reno", "cubic", "vegas", "ledbat++"} <= {entry["name"] for entry in registered}
    listed = cli("cc", "list").output
    for entry in registered:
        shown = " ".join(cli("cc", "show", entry["name"]).output.split())
        for name in (entry["name"], entry["alias"] or entry["name"]):
            assert printed_json(cli("cc", "show", name, "--json")) == entry
            assert name in shown
        assert entry["source"] and entry["source"] in shown and entry["summary"] in listed
        assert f"{entry['state_bytes']} bytes" in shown
        assert all(stack in shown for stack in entry["stacks"]) or "in every stack" in shown
        assert all(f"{constant['value']}" in shown for constant in entry["constants"]), entry["name"]
        assert all(param["name"] in shown and param["default"] in shown for param in entry["params"]), entry["name"]


def test_cc_show_of_an_unknown_one_names_the_nearest(cli: Cli) -> None:
    result = cli("cc", "show", "vega")
    assert result.exit_code == 2
    assert 'did you mean "vegas"?' in result.output


def test_a_control_with_per_ack_callbacks_refuses_older_stacks(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "old.toml"
    file.write_text(
        'duration = "1 s"\n[link]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "tcp"\ncc = "vegas"\nstack = "linux-3.8"\n'
    )
    result = cli("run", file)
    assert result.exit_code == 2
    assert "flows[0].cc: vegas needs" in result.output and "linux-3.13 or linux-6.1" in result.output


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("comapre",), "compare"),
        (("lnk",), "link"),
        (("pcap", "goodputs"), "goodput"),
        (("aqm", "lits"), "list"),
        (("import", "tcc", "router.txt"), "tc"),
    ],
)
def test_a_misspelled_command_gets_a_suggestion(cli: Cli, words: tuple[str, ...], near: str) -> None:
    result = cli(*words)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert f'"{words[-1] if words[0] != "import" else "tcc"}" is unknown; did you mean "{near}"?' in result.output


def test_an_unknown_command_gets_the_list_of_commands(cli: Cli) -> None:
    result = cli("flent", "qqqq")
    assert result.exit_code == 2
    assert 'command "qqqq" is unknown; expected one of export, show' in result.output


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (["aqm", "show", "CoDel"], ["aqm", "show", "codel"]),
        (["aqm", "show", "FQ_CoDel"], ["aqm", "show", "fq_codel"]),
        (["cc", "show", "BBR"], ["cc", "show", "bbr"]),
        (["cc", "show", "CUBIC"], ["cc", "show", "cubic"]),
        (["reproduce", "Gao2015", "--assume", "list"], ["reproduce", "gao2015", "--assume", "list"]),
    ],
)
def test_the_case_of_a_name_does_not_matter(cli: Cli, written: list[str], plain: list[str]) -> None:
    one, other = cli(*written), cli(*plain)
    assert one.exit_code == other.exit_code == 0, one.output
    assert one.output == other.output
