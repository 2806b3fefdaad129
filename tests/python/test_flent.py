"""Data files of Flent: all versions are read, results are exported, and damaged files give a one-line error."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.io.flent.export import export
from sojourn.io.flent.figures import TestData as FlentTest
from sojourn.io.flent.files import FlentData, load_flent, save_flent
from sojourn.io.flent.summary import summary
from sojourn.io.flent.traffic import traffic_of
from sojourn.model.analysis.labels import Name
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

STAMP = "2017-05-30T15:42:47.075621Z"
T0_S = 1496158967.075621


def _document(version: int = 4, **changes: Any) -> dict[str, Any]:
    """A file in Flent's format, with a UDP ping and an ICMP ping."""
    metadata = {
        "NAME": "tcp_1down",
        "TITLE": "untidy",
        "TIME": STAMP,
        "T0": STAMP,
        "STEP_SIZE": 0.2,
        "LENGTH": 0.7,
        "TOTAL_LENGTH": 1.1,
        "SERIES_META": {"TCP download": {"UNITS": "Mbits/s", "MEAN_VALUE": 4.7}},
    }
    document: dict[str, Any] = {
        "version": version,
        "metadata": metadata,
        "x_values": [0.0, 0.2, 0.4, 0.6, 0.8],
        "results": {
            "TCP download": [None, 4.31, 4.97, 5.08, None],
            "Ping (ms) ICMP": [31.4, 33.9, 36.2, 35.7, 34.1],
            "Ping (ms) UDP BE": [31.0, 34.0, 36.0, 35.0, 34.0],
        },
        "raw_values": {
            "TCP download": [
                {"t": T0_S + 0.31, "val": 4.64, "dur": 0.21},
                {"t": T0_S + 0.53, "val": 5.02, "dur": 0.22},
            ],
            "Ping (ms) ICMP": [{"t": T0_S + at / 10, "val": 31.4 + at, "seq": at} for at in range(7)],
            "Ping (ms) UDP BE": [
                {"t": T0_S + 0.1, "val": 25.0, "dur": 0.2},
                {"t": T0_S + 0.3, "val": 40.0, "dur": 0.2},
            ],
        },
    }
    return document | changes


def _written(path: Path, document: Any) -> Path:
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return path


def test_statistics_of_sockets_have_their_own_units_and_are_no_flows() -> None:
    units = {
        "TCP upload": "Mbit/s",
        "TCP upload::2": "Mbit/s",
        "TCP upload::tcp_cwnd": "segments",
        "TCP upload::2::tcp_rtt": "ms",
        "TCP upload::tcp_rtt_var": "ms",
        "TCP upload::tcp_bbr_mrtt": "ms",
        "TCP upload::tcp_pacing_rate": "Mbit/s",
        "TCP upload::tcp_delivery_rate": "Mbit/s",
        "TCP upload::tcp_bbr_cwnd_gain": "",
        "TCP upload avg::tcp_rtt": "ms",
        "Ping (ms) ICMP": "ms",
    }
    data = FlentData({"NAME": "tcp_upload"}, [0.0, 1.0], {name: [1.0, 2.0] for name in units})
    assert {name: data.unit(name) for name in units} == units
    flows = FlentTest(Name("upload"), data)
    assert list(flows.flows) == ["TCP upload", "TCP upload::2"]
    assert list(flows.rate("upload")[1]) == [2.0, 4.0]  # type: ignore[index]
    assert FlentData({"NAME": "x", "SERIES_META": {"TCP a::tcp_cwnd": {"UNITS": "packets"}}}, [], {}).unit(
        "TCP a::tcp_cwnd"
    ) == ("packets")


def test_versions_are_read_in_the_units_of_the_newest(tmp_path: Path) -> None:
    """Before version 4 UDP pings were in transactions per second: 25 per second are 40 ms."""
    for version, expected in ((2, [40.0, 25.0]), (3, [40.0, 25.0]), (4, [25.0, 40.0])):
        data = load_flent(_written(tmp_path / "a.flent.gz", _document(version)))
        times, values = data.samples("Ping (ms) UDP BE")
        assert values.tolist() == expected
        assert times == pytest.approx([0.1, 0.3], abs=1e-6)
        assert data.samples("Ping (ms) ICMP")[1].tolist() == pytest.approx([31.4 + at for at in range(7)])
    assert data.name == "tcp_1down"
    assert [data.unit(name) for name in data.results] == ["Mbit/s", "ms", "ms"]
    assert data.traffic_s == pytest.approx((0.2, 0.9))


def test_the_first_version_has_its_raw_values_elsewhere_or_not_at_all(tmp_path: Path) -> None:
    document = _document(1)
    document["metadata"]["SERIES_META"]["Ping (ms) ICMP"] = {"RAW_VALUES": document["raw_values"]["Ping (ms) ICMP"]}
    del document["raw_values"], document["version"]
    data = load_flent(_written(tmp_path / "a.flent.gz", document))
    assert len(data.samples("Ping (ms) ICMP")[0]) == 7
    times, values = data.samples("TCP download")
    assert (times.tolist(), values.tolist()) == ([0.2, 0.4, 0.6], [4.31, 4.97, 5.08])


def test_a_time_without_a_zone_is_local(tmp_path: Path) -> None:
    """Written in UTC+2: the measurements reveal the time zone."""
    document = _document(2)
    document["metadata"] |= {"TIME": "2017-05-30T17:42:40.075621", "T0": "2017-05-30T17:42:47.075621"}
    data = load_flent(_written(tmp_path / "a.flent.gz", document))
    assert data.start_s == pytest.approx(T0_S)


@pytest.mark.parametrize("ending", ["gz", "bz2", ""])
def test_written_files_are_read_back(tmp_path: Path, ending: str) -> None:
    data = load_flent(_written(tmp_path / "a.flent.gz", _document()))
    path = save_flent(data, tmp_path / f"b.flent{'.' * bool(ending)}{ending}")
    first = path.read_bytes()
    assert save_flent(data, path).read_bytes() == first
    again = load_flent(path)
    assert (again.results, again.raw, list(again.x_values)) == (data.results, data.raw, list(data.x_values))
    assert again.metadata == {**data.metadata, "DATA_FILENAME": path.name}
    plain = {"gz": gzip.decompress, "bz2": bz2.decompress, "": bytes}[ending](first)
    assert json.loads(plain)["version"] == 4


def _without(key: str) -> dict[str, Any]:
    document = _document()
    del document["metadata"][key]
    return document


BAD = {
    "text": (b"no JSON", "not JSON"),
    "cut off": (gzip.compress(json.dumps(_document()).encode())[:200], "truncated"),
    "damaged": (b"\x1f\x8b" + bytes(40), "damaged"),
    "another object": (b"{}", "no metadata"),
    "a list": (b"[1, 2]", "no metadata"),
    "newer": (json.dumps(_document(5)).encode(), "version 5"),
    "no test": (json.dumps(_without("NAME")).encode(), "NAME"),
    "no time": (json.dumps({**_document(), "metadata": {"NAME": "rrul", "TIME": "yesterday"}}).encode(), "TIME"),
    "no steps": (json.dumps({**_document(), "x_values": []}).encode(), "x_values"),
    "steps of text": (json.dumps({**_document(), "x_values": ["0"]}).encode(), "x_values"),
    "a short series": (json.dumps({**_document(), "results": {"a": [1]}}).encode(), "results.a"),
    "text in a series": (json.dumps({**_document(), "results": {"a": [1, 2, "3", 4, 5]}}).encode(), "value 2"),
    "infinity": (json.dumps({**_document(), "results": {"a": [1, 2, float("inf"), 4, 5]}}).encode(), "value 2"),
    "raw values that are none": (json.dumps({**_document(), "raw_values": {"a": [3]}}).encode(), "raw_values.a"),
    "raw text": (json.dumps({**_document(), "raw_values": {"a": [{"t": "x"}]}}).encode(), "t of measurement 0"),
    "deep": (b"[" * 100_000, "nested more than"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_data_files_give_a_one_line_error(cli: Cli, tmp_path: Path, case: str) -> None:
    data, word = BAD[case]
    (tmp_path / "a.flent.gz").write_bytes(data)
    shown = cli("flent", "show", "a.flent.gz")
    assert shown.exit_code == 2, shown.output
    assert shown.stderr.startswith("Error: a.flent.gz") and word in shown.stderr, shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def _run(flows: str, rest: str = "") -> Result:
    text = f"""
duration = "11 s"
warmup = "2 s"
link = {{ rate = "7.3 Mbit/s", aqm = "fq_codel" }}
reverse = {{ rate = "1.9 Mbit/s", aqm = "fq_codel" }}
flows = [{flows}]
probes = {{ flows = "200 ms", transfers = true }}
{rest}
"""
    return Scenario.parse(text, {}).run(5)


PING = '{ kind = "request", request = "64 B", size = "64 B", gap = "170 ms", rtt = "43 ms" }'


def test_a_result_is_written_as_the_test_that_it_is() -> None:
    result = _run('{ kind = "tcp", count = 3, rtt = "43 ms" }, ' + PING)
    data = export(result, title="three")
    assert data.name == "tcp_ndown" and data.metadata["TEST_PARAMETERS"] == {"download_streams": "3"}
    flows = [f"TCP download::{number}" for number in (1, 2, 3)]
    assert [name for name in data.results if "::" in name] == flows
    assert len(data.x_values) == 55 and data.metadata["STEP_SIZE"] == 0.2
    rows = np.array([data.results[name] for name in flows], dtype=float)
    assert data.results["TCP download sum"] == pytest.approx(rows.sum(axis=0))
    assert data.results["TCP download avg"] == pytest.approx(rows.mean(axis=0))
    assert data.metadata["SERIES_META"]["TCP download sum"]["UNITS"] == "Mbits/s"
    in_window = rows.sum(axis=0)[[x > 2.0001 for x in data.x_values]].mean()
    total = sum(flow["goodput_bps"] for flow in result.totals["flows"] if flow["kind"] == "tcp")
    assert in_window == pytest.approx(total / 1e6, rel=1e-6)
    times, pings = data.samples("Ping (ms) ICMP")
    requests = result.transfers["duration_s"].to_numpy()[1:] * 1e3
    assert pings == pytest.approx(requests) and pings.min() > 43
    assert times[0] > 0.17  # the first one includes a handshake


def test_names_of_series_by_test() -> None:
    """Equal to those in Flent's own files of these tests."""
    down, up = '{ kind = "tcp", count = 4, rtt = "43 ms" }', '{ kind = "tcp", count = 4, direction = "reverse" }'
    one = '{ kind = "tcp", rtt = "43 ms" }'
    marks = ", ".join(
        f'{{ kind = "tcp", dscp = "{mark}", direction = "{way}" }}'
        for way in ("forward", "reverse")
        for mark in ("CS0", "CS1", "CS5", "EF")
    )
    fair = '{ kind = "tcp", count = 2, rtt = "43 ms", rtt_stagger = "31 ms" }'
    cases = {
        "tcp_download": (one, ["TCP download"], "Ping (ms) ICMP"),
        "tcp_upload": ('{ kind = "tcp", direction = "reverse" }', ["TCP upload"], "Ping (ms) ICMP"),
        "tcp_bidirectional": (
            one + ', { kind = "tcp", direction = "reverse", rtt = "43 ms" }',
            ["TCP download", "TCP upload"],
            "Ping (ms) ICMP",
        ),
        "rrul": (
            marks,
            [f"TCP {way} {mark}" for way in ("download", "upload") for mark in ("BE", "BK", "CS5", "EF")],
            "Ping (ms) ICMP",
        ),
        "rrul_be_nflows": (
            '{ kind = "tcp", count = 2 }, { kind = "tcp", direction = "reverse" }',
            ["TCP download BE::1", "TCP download BE::2", "TCP upload BE::1"],
            "Ping (ms) ICMP",
        ),
        "rtt_fair_var_down": (
            fair,
            ["TCP download BE rtt-43ms", "TCP download BE rtt-74ms"],
            "Ping (ms) ICMP rtt-43ms",
        ),
    }
    for test, (flows, names, ping) in cases.items():
        found = traffic_of(_run(f"{PING}, {flows}"))
        assert (found.test, list(found.names), list(found.pings.values())) == (test, names, [ping])
    four = traffic_of(_run(f"{down.replace('43', '0')}, {up}"), "rrul_be")
    assert four.names[:4] == ("TCP download BE", "TCP download BE2", "TCP download BE3", "TCP download BE4")


def test_tests_that_a_result_is_not_are_refused(cli: Cli, tmp_path: Path) -> None:
    result = _run('{ kind = "tcp", count = 2, rtt = "43 ms" }')
    for test, word in (("rrul", "other flows"), ("rull", 'did you mean "rrul"'), ("tcp_download", "other flows")):
        with pytest.raises(InputError, match=word):
            export(result, test=test)
    with pytest.raises(InputError, match="no TCP flow"):
        export(_run(PING))
    with pytest.raises(InputError, match=r"end it in \.flent\.gz"):
        save_flent(export(result), tmp_path / "a.json")
    (tmp_path / "plain.toml").write_text('duration = "3 s"\nlink = { rate = "5 Mbit/s" }\nflows = [{ kind = "tcp" }]\n')
    folder = printed_json(cli("run", "plain.toml", "-o", "out", "--json"))["folder"]
    refused = cli("flent", "export", folder, "-o", "a.flent.gz")
    assert refused.exit_code == 2 and "probes.flows" in refused.stderr


def test_the_commands_write_and_show(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    folder = printed_json(cli("run", "line.toml", "-o", "out", "--json"))["folder"]
    reported = printed_json(cli("flent", "export", folder, "-o", "a.flent.gz", "--title", "a title", "--json"))
    assert reported["test"] == "tcp_download"
    assert sorted(reported["series"]) == ["Ping (ms) ICMP", "TCP download"]
    shown = printed_json(cli("flent", "show", "a.flent.gz", "--json"))
    assert shown["title"] == "a title"
    rows = {row["series"]: row for row in shown["series"]}
    assert rows["Ping (ms) ICMP"]["p50"] > 20 and 3 < rows["TCP download"]["mean"] < 5
    assert "TCP download" in cli("flent", "show", "a.flent.gz").output
    assert summary(load_flent(tmp_path / "a.flent.gz")) == shown["series"]


LINE = f"""
duration = "6 s"
link = {{ rate = "5 Mbit/s", aqm = "codel" }}
flows = [{{ kind = "tcp", rtt = "20 ms" }}, {PING}]
probes = {{ flows = "200 ms", transfers = true }}
"""


def test_flent_plots_the_written_file(tmp_path: Path) -> None:
    program = shutil.which("flent")
    if program is None:
        pytest.skip("flent is not installed")
    path = save_flent(export(_run('{ kind = "tcp", count = 3, rtt = "43 ms" }, ' + PING)), tmp_path / "a.flent.gz")
    drawn = tmp_path / "a.png"
    done = subprocess.run(
        [program, "-i", str(path), "-p", "totals", "-o", str(drawn)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_a_file_of_nothing_but_steps_has_a_length() -> None:
    data = FlentData({"NAME": "ping", "TIME": STAMP}, [0.0, 0.2, 0.4], {"Ping (ms) ICMP": [1.0, None, 3.0]})
    assert data.traffic_s == (0.0, 0.4)
    assert data.samples("Ping (ms) ICMP")[1].tolist() == [1.0, 3.0]
    with pytest.raises(InputError, match="did you mean"):
        data.steps("Ping (ms) ICMPP")
