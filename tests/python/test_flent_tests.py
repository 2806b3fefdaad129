"""Flent's tests by name: traffic, measurements, data files and figures."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.io.flent.export import export
from sojourn.io.flent.files import load_flent, save_flent
from sojourn.io.flent.scenario import flows_of_test
from sojourn.io.flent.tests import TESTS, dscp
from sojourn.io.flent.traffic import traffic_of

HOSTS = ("13 ms", "37 ms", "90.5 ms")


def _compare(test: str, aqm: str = "fq_codel", **changes: object) -> sj.Comparison:
    rtt = HOSTS if TESTS[test].takes_hosts else "37 ms"
    settings: dict[str, object] = {"rate": "7.3 Mbit/s", "reverse_rate": "2.9 Mbit/s", "rtt": rtt, "seeds": [7]}
    return sj.compare(aqm, test=test, **{"duration": "3 s", **settings, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("test", TESTS)
def test_a_test_is_exported_under_its_name_with_its_series(test: str) -> None:
    [result] = _compare(test).results
    definition = TESTS[test]
    data = export(result, test=test)
    names = {name for name in data.results if not name.endswith((" avg", " sum", " fairness", " totals"))}
    hosts = [f" rtt-{rtt.removesuffix(' ms')}ms" for rtt in HOSTS] if definition.takes_hosts else [""]
    count = 4 if definition.takes_flows else 1 if definition.takes_hosts else 0
    expected = {
        f"TCP {way}{ending.removesuffix(' rtt-{rtt}ms')}{host}"
        for way, streams in definition.by_direction.items()
        for ending in streams.endings(count if streams.each and not streams.count else streams.count)
        for host in hosts
    }
    expected |= {f"Ping (ms) {ping}{host}" for ping in definition.pings for host in hosts}
    if definition.voice:
        expected |= {f"VoIP::{what}" for what in ("bitrate", "delay", "jitter", "loss", "induced_delay")}
    assert names == expected
    assert data.name == test


def test_flows_carry_the_classes_and_controls_of_their_names() -> None:
    [result] = _compare("cubic_bbr").results
    traffic = traffic_of(result, "cubic_bbr")
    groups = result.scenario.document["flows"]
    for flow, name in zip(traffic.flows, traffic.names, strict=True):
        group = groups[flow.group]
        assert group["cc"].startswith("bbr" if "BBR" in name else "cubic"), name
        assert group.get("dscp") == (None if name.endswith("BE") else "CS1"), name
    marks = [group.get("dscp") for group in flows_of_test("rrul", 4, ["40 ms"], {}) if group["kind"] == "request"]
    assert marks == ["EF", "CS1", None, None]
    assert [dscp(word) for word in (" CS0_BE", " CS1_BK", " BK", " BE3", "UDP CS6", "UDP EF", "ICMP", "")] == [
        *(None, "CS1", "CS1", None, "CS6", "EF", None, None)
    ]


def test_both_directions_have_the_queue_manager_and_tins_see_the_classes() -> None:
    found = _compare("rrul", ["droptail", "cake diffserv4 bandwidth 7mbit"])
    for result, aqm in zip(found.results, found.aqms, strict=True):
        document = result.scenario.document
        assert document["link"]["aqm"] == document["reverse"]["aqm"]
        assert aqm.startswith(document["link"]["aqm"]["name"])
    tail, cake = found.results
    own = {flow["group"]: flow["goodput_bps"] for flow in cake.totals["flows"][:4]}
    assert min(own, key=own.__getitem__) == 1, "the background tin gets least"
    assert tail.fingerprint != cake.fingerprint


def test_the_table_has_the_test_s_measurements() -> None:
    found = _compare("rrul_be", duration="6 s", warmup="2 s")
    [result], [row] = found.results, found.table.to_dicts()
    tcp = [flow for flow in result.totals["flows"] if flow["kind"] == "tcp"]
    down = [flow["goodput_bps"] for flow in tcp if flow["direction"] == "forward"]
    up = [flow["goodput_bps"] for flow in tcp if flow["direction"] == "reverse"]
    assert len(down) == len(up) == 4
    assert (row["download_bps"], row["upload_bps"]) == (pytest.approx(sum(down)), pytest.approx(sum(up)))
    assert row["jain"] == pytest.approx(sum(down) ** 2 / (4 * sum(x * x for x in down)))
    assert row["goodput_bps"] is None and row["mos"] is None
    transfers = result.transfers
    counted = transfers.filter(transfers["start_s"] >= 2.0)["duration_s"].to_numpy() * 1e3
    assert row["ping_mean_ms"] == pytest.approx(counted.mean()) and row["ping_p95_ms"] > 37


def test_uploads_have_the_numbers_of_the_reverse_link() -> None:
    found = _compare("tcp_nup", "codel", flows=3)
    [result], [row] = found.results, found.table.to_dicts()
    assert result.link == "reverse" and "download_bps" in row and row["download_bps"] is None
    assert row["utilisation"] > 0.8 and 1.8e6 < row["upload_bps"] < 2.9e6
    assert [group["count"] for group in result.scenario.document["flows"] if group["kind"] == "tcp"] == [3]


def test_each_host_has_its_own_round_trip_time_and_all_are_one_load() -> None:
    found = _compare("rtt_fair_var_down", ["droptail", "fq_codel"], duration="12 s")
    assert found.table["aqm"].to_list() == ["droptail", "fq_codel"] and found.loads == [{}]
    for result, row in zip(found.results, found.table.to_dicts(), strict=True):
        traffic = traffic_of(result)
        assert traffic.test == "rtt_fair_var_down" and [flow.rtt_ms for flow in traffic.flows] == [13, 37, 90.5]
        assert row["warmup_min_s"] == 6, "tail drop does not settle, and both are over the same time"
        later = result.since(6).flow_totals
        goodput = later.filter(kind="tcp")["goodput_bps"].to_list()
        assert row["download_bps"] == pytest.approx(sum(goodput)) and row["jain"] == pytest.approx(
            sum(goodput) ** 2 / (3 * sum(x * x for x in goodput))
        )
    tail, fair = found.table["jain"].to_list()
    assert fair > 0.97 > tail, "tail drop favours the nearest host"


def test_a_call_is_spoken_in_both_directions() -> None:
    [result] = _compare("voip", duration="5 s", warmup="2 s").results
    calls = [
        (group["direction"], flow["goodput_bps"])
        for group, flow in zip(result.scenario.document["flows"], result.totals["flows"], strict=True)
        if group["kind"] == "voice"
    ]
    # 50 packets per second of 200 B, with 28 B of IP and UDP headers.
    assert calls == [(direction, pytest.approx(68_800, rel=0.02)) for direction in ("reverse", "forward")]


def test_the_delay_of_a_call_is_that_which_its_receiver_counts() -> None:
    """The core measures one-way delays; here they are computed from queue, link and path."""
    found = _compare("voip-1up", "droptail", duration="7 s", warmup="2 s")
    [result] = found.results
    data = export(result, test="voip-1up")
    group = result.totals["groups"][1]
    assert group["kind"] == "voice"
    times, delays = data.samples("VoIP::delay")
    window = times >= 2.0
    assert delays[window].mean() == pytest.approx(group["delay_ms"], rel=0.01)
    assert data.samples("VoIP::jitter")[1][window[1:]].mean() == pytest.approx(group["delay_variation_ms"], rel=0.05)
    # 50 packets of 200 B per second.
    steps, rate = data.steps("VoIP::bitrate")
    assert rate[steps > 2.5].mean() == pytest.approx(80.0, rel=0.1)
    assert data.metadata["SERIES_META"]["VoIP::bitrate"]["UNITS"] == "Kbits/s"


def test_lost_packets_of_a_call_are_counted() -> None:
    [result] = _compare("voip-1up", "droptail", limit="12 packets", duration="7 s").results
    data = export(result, test="voip-1up")
    flow = result.totals["flows"][1]["id"]
    packets = result.packets.filter((result.packets["flow"] == flow) & (result.packets["link"] == "reverse"))
    lost = packets.filter(packets["fate"].cast(str).str.starts_with("dropped")).height
    assert lost > 0 and sum(data.steps("VoIP::loss")[1]) == lost


def test_unknown_tests_are_refused(cli: Cli, tmp_path: Path) -> None:
    for given, word in (
        (("--test", "rull"), 'did you mean "rrul"'),
        (("--test", "rrul", "--flows", "7"), "leave the number of flows out"),
        (("--test", "rtt_fair_var"), "rtt_fair_var has hosts at different distances; give some, e.g. --rtt 20ms,50ms"),
        (("--test", "rtt_fair_var", "--rtt", "20ms,0.02s"), "at different distances"),
        (("--test", "rtt_fair_var_up", "--rtt", "20ms,50ms", "--flows", "7"), "leave the number of flows out"),
        (("--columns", "ping_p95_ms"), "ping_p95_ms"),
        (("--until", "5%", "--metric", "ping_p95_ms", "--duration", "2 s"), "Flent's tests"),
    ):
        shown = cli("compare", "--aqm", "codel", *given)
        assert shown.exit_code == 2 and word in shown.stderr, shown.output
    [result] = _compare("tcp_upload").results
    with pytest.raises(InputError, match="the run none"):
        export(result, test="voip-1up")


def test_the_command_writes_tables_and_data_files(cli: Cli, tmp_path: Path) -> None:
    shared = ("compare", "--test", "rrul_icmp", "--aqm", "codel,pie", "--duration", "2 s", "--seeds", "2", "-o", "out")
    reported = printed_json(cli(*shared, "--json"))
    assert [row["aqm"] for row in reported["table"]] == ["codel", "pie"]
    assert {"download_bps", "ping_p95_ms"} <= {row["metric"] for row in reported["paired"]}
    files = [Path(name) for name in reported["flent"]]
    assert [load_flent(path).metadata["TITLE"] for path in files] == ["codel", "pie"]
    again = cli(*shared, "--csv", "--columns", "ping_p95_ms,download_bps")
    assert again.exit_code == 0 and again.stdout.splitlines()[0].startswith("aqm,ping_p95_ms,")
    text = cli(*shared).output
    assert "4 tcp cubic (linux-6.1) reverse" in text and all(f"Data: {path}" in text for path in files)


def _drawn(cli: Cli, *arguments: str) -> list[dict[str, str]]:
    shown = cli("plot", *arguments, "-o", "drawn.csv")
    assert shown.exit_code == 0, shown.output
    return list(csv.DictReader(io.StringIO(Path("drawn.csv").read_text())))


def test_figures_show_the_data_of_the_files(cli: Cli, tmp_path: Path, test_of_flent: list[sj.Result]) -> None:
    files = [
        str(save_flent(export(result, title=f"{name} 4mbit"), tmp_path / f"{name}.flent.gz"))
        for name, result in zip(("tail", "long"), test_of_flent, strict=True)
    ]
    data = load_flent(files[0])
    rows = [row for row in _drawn(cli, "totals", *files) if row["series"] == "tail"]
    download = [row for row in rows if "download" in "".join(row)]
    for way in ("download", "upload"):
        wanted = data.steps(f"TCP {way}")
        columns = [name for name in rows[0] if way in name.lower()]
        own = [float(row[columns[0]]) for row in rows if row[columns[0]]]
        assert own == pytest.approx(wanted[1].tolist())
    assert download
    shares = _drawn(cli, "cdf", *files)
    assert {row["series"] for row in shares} == {"tail", "long"}, "what both titles have is left out"
    [first, *_] = [row for row in shares if row["series"] == "tail"]
    pings = data.samples("Ping (ms) ICMP")[1]
    assert float(first["ping_ms"]) == pytest.approx(pings.min())
    assert {row["series"] for row in _drawn(cli, "rates", files[0])} == {"download", "upload"}
    assert {row["place"] for row in _drawn(cli, "box", files[0]) if row["place"]} >= {"ICMP"}
    times = [float(row["time_s"]) for row in _drawn(cli, "timeseries", files[0])]
    assert times == pytest.approx(data.samples("Ping (ms) ICMP")[0].tolist())


def test_results_and_data_files_are_drawn_together(cli: Cli, tmp_path: Path) -> None:
    reported = printed_json(
        cli("compare", "--test", "tcp_download", "--aqm", "codel", "--duration", "2 s", "-o", "out", "--json")
    )
    [path] = reported["flent"]
    names = {row["series"] for row in _drawn(cli, "totals", "out", path)}
    assert names == {"codel", Path(path).name}
    (tmp_path / "real").mkdir()
    real = save_flent(load_flent(path), tmp_path / "real" / "measured.flent.gz")
    for arguments, word in (
        (("heatmap", str(real)), "cannot be drawn from measurements"),
        (("rates", str(real), "--step", "1"), "leave the options out"),
        (("cdf", str(real), "--link", "reverse"), "have no links"),
    ):
        shown = cli("plot", *arguments)
        assert shown.exit_code == 2 and word in shown.stderr, shown.output


def test_a_file_without_pings_is_reported(cli: Cli, tmp_path: Path) -> None:
    [result] = _compare("tcp_download").results
    data = export(result, test="tcp_download")
    bare = {name: values for name, values in data.results.items() if not name.startswith("Ping")}
    path = save_flent(type(data)(data.metadata, data.x_values, bare, {}), tmp_path / "bare.flent.gz")
    for kind in ("cdf", "box", "timeseries"):
        shown = cli("plot", kind, str(path))
        assert shown.exit_code == 2 and "no pings in it" in shown.stderr
    assert cli("plot", "totals", str(path), "-o", "a.png").exit_code == 0


@pytest.mark.parametrize(
    ("test", "plot"), [("rrul", "all_scaled"), ("voip-rrul", "totals_loss"), ("tcp_4up", "totals")]
)
def test_flent_opens_and_draws_them(tmp_path: Path, test: str, plot: str) -> None:
    program = shutil.which("flent")
    if program is None:
        pytest.skip("flent is not installed (Debian: flent)")
    path = save_flent(export(_compare(test).results[0], test=test), tmp_path / "a.flent.gz")
    drawn = tmp_path / "a.png"
    command = [program, "-i", str(path), "-p", plot, "-o", str(drawn)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert "ERROR" not in done.stderr.upper(), done.stderr


def test_pings_of_a_file_have_no_gaps_where_the_queue_is_short() -> None:
    """A ping every 200 ms, or as soon as there is a response."""
    [result] = _compare("rrul", duration="4 s").results
    times, values = export(result, test="rrul").samples("Ping (ms) UDP EF")
    assert np.diff(times).max() < 0.2 + values.max() / 1e3
