"""Logs of Mahimahi and ns-2: round trips through results, handwritten and malformed logs, and figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn as sj
from conftest import SHORT, Cli, entries, printed_json
from sojourn import InputError
from sojourn.io.logs import load_log, write_log

MS = 10**6
MAHIMAHI = """# mahimahi mm-link (Uplink) [up.trace] > up.log
# command line: mm-link up.trace down.trace
# queue: droptail [packets=2]
# init timestamp: 1700000000000
# base timestamp: 1000
1000 # 1504
1001 + 1504
1003 + 1504
1003 d 2 3008
1004 # 1504
1004 - 1504 3
1010 # 1504
1010 - 1504 7
1011 + 52
"""
NS2 = """+ 1.5 0 2 tcp 1040 ------N 3 0.0 3.1 29 199
- 1.5 0 2 tcp 1040 ------N 3 0.0 3.1 29 199
r 1.506 0 2 tcp 1040 ------N 3 0.0 3.1 29 199
+ 1.506 2 3 tcp 1040 ------N 3 0.0 3.1 29 199
+ 1.507 2 3 cbr 210 ------- 0 1.0 3.0 7 200
d 1.507 2 3 cbr 210 ------- 0 1.0 3.0 7 200
- 1.50825 2 3 tcp 1040 ----E-N 3 0.0 3.1 29 199
+ 1.6 3 2 ack 40 ------- 3 3.1 0.0 29 201
"""


@pytest.fixture(scope="module")
def run() -> sj.Result:
    flows = '[[flows]]\nkind = "cbr"\nrate = "200 kbit/s"\nsize = "301 B"\n'
    sets = {"probes.packets": True, "flows.0.ecn": True, "link.aqm": "codel ecn true", "link.limit": "18 packets"}
    return sj.Scenario.parse(SHORT + flows, sets).run()


@pytest.mark.parametrize("headers", [False, True])
def test_ns2_lines_round_trip(run: sj.Result, tmp_path: Path, headers: bool) -> None:
    if headers:  # packets are queued at the end
        run = run.scenario.replace({"probes.headers": True, "link.limit": "60 packets"}).run()
        assert run.waiting.height > 0
    back = load_log(write_log(run, tmp_path / "x.tr"))
    for table in ("packets", "waiting"):
        local, reference = (result.table(table).sort("link", "arrival") for result in (run, back))
        assert local.height == reference.height
        for name in set(reference.columns) - {"fate"}:
            assert local[name].to_list() == reference[name].to_list(), f"{table}.{name}"
    local, reference = (result.packets.sort("link", "arrival")["fate"].to_list() for result in (run, back))
    assert [fate if fate in ("sent", "marked") else "dropped: unknown" for fate in local] == reference
    assert set(reference) == {"sent", "marked"} | ({"dropped: unknown"} if not headers else set())


def test_ns2_receptions_are_a_transmission_and_a_delay_later(run: sj.Result, tmp_path: Path) -> None:
    lines = [line.split() for line in write_log(run, tmp_path / "x.tr").read_text().splitlines()]
    left = {line[11]: line for line in lines if line[0] == "-"}
    received = [line for line in lines if line[0] == "r"]
    assert 0 <= len(left) - len(received) <= 2
    for line in received:
        sent = left[line[11]]
        assert line[2:] == sent[2:]
        assert abs(float(line[1]) - float(sent[1]) - int(line[5]) * 8 / 10e6) < 1.5e-9
    assert [float(line[1]) for line in lines] == sorted(float(line[1]) for line in lines)


def test_a_mahimahi_log_of_a_result(run: sj.Result, tmp_path: Path) -> None:
    path = write_log(run, tmp_path / "x.log")
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# mahimahi mm-link (Downlink)")
    assert "# base timestamp: 0" in lines
    events = [line.split() for line in lines if not line.startswith("# ")]
    kinds = [event[1] for event in events]
    totals = run.scenario.replace({"warmup": "0 s"}).run().totals["links"]["forward"]
    assert kinds.count("+") == totals["arrived"]
    assert kinds.count("-") == totals["packets"]
    assert kinds.count("d") == totals["dropped"] > 0
    assert kinds.count("#") == 3 * 10_000_000 // 12_000  # as many packets of 1500 bytes as 10 Mbit/s carry in 3 s
    assert [int(event[0]) for event in events] == sorted(int(event[0]) for event in events)
    back = load_log(path)
    local = run.table("packets").filter((pl.col("link") == 0) & (pl.col("fate") < 2))
    reference = back.table("packets").filter(pl.col("fate") < 2)
    assert reference["time_ns"].to_list() == [ns // MS * MS for ns in local["time_ns"]]
    assert reference["bytes"].to_list() == local["bytes"].to_list()
    error = (reference["sojourn_ns"].cast(pl.Int64) - local["sojourn_ns"].cast(pl.Int64)).abs().max()
    assert isinstance(error, int)
    assert error < MS
    assert back.waiting.height == run.table("waiting").filter(pl.col("link") == 0).height


def test_opportunities_of_a_trace(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.down").write_text("3\n3\n7\n")
    text = SHORT.replace('rate = "10 Mbit/s"', f'trace = "{tmp_path / "x.down"}"')
    text = text.replace("[[flows]]", '[reverse]\nrate = "9 Mbit/s"\n[[flows]]')
    result = sj.Scenario.parse(text, {"probes.packets": True}).run()
    lines = write_log(result, tmp_path / "x.log").read_text().splitlines()
    chances = [int(line.split()[0]) for line in lines if line.split()[1] == "#"]
    assert chances[:6] == [3, 3, 7, 10, 10, 14]
    assert len(chances) == 3 * (3000 // 7) + 2  # the last repetition has 4 of its 7 ms


def test_a_mahimahi_log_made_by_hand(tmp_path: Path) -> None:
    (tmp_path / "up.log").write_text(MAHIMAHI)
    log = load_log(tmp_path / "up.log")
    assert log.packets.to_dicts() == [
        {"time_s": 0.003, "bytes": 1504, "sojourn_ms": None, "fate": "dropped: unknown", "link": "forward"},
        {"time_s": 0.003, "bytes": 1504, "sojourn_ms": None, "fate": "dropped: unknown", "link": "forward"},
        {"time_s": 0.004, "bytes": 1504, "sojourn_ms": 3.0, "fate": "sent", "link": "forward"},
        {"time_s": 0.010, "bytes": 1504, "sojourn_ms": 7.0, "fate": "sent", "link": "forward"},
    ]
    assert log.duration_s == 0.011
    assert log.histogram.select("lower_ms", "count").rows() == [(3.0, 1), (7.0, 1)]


def test_an_ns2_trace_made_by_hand(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "all.tr").write_text(NS2)
    refused = cli("plot", "cdf", "all.tr")
    assert refused.exit_code == 2
    assert "all.tr: holds the links 0-2, 2-3, 3-2; choose one: sojourn log convert" in refused.output
    assert printed_json(cli("log", "convert", "all.tr", "one.tr", "--nodes", "2-3", "--json"))["packets"] == 2
    log = load_log("one.tr")
    columns = ["time_ns", "link", "flow", "bytes", "sojourn_ns", "arrival"]
    assert log.table("packets").select(columns).rows() == [
        (1_507_000_000, 0, 0, 210, 0, 1),
        (1_508_250_000, 0, 3, 1040, 2_250_000, 0),
    ]
    assert log.packets.select("fate", "ecn").rows() == [("dropped: unknown", "not-ect"), ("marked", "ect0")]
    assert log.table("waiting").select("time_ns", "link", "bytes").rows() == [(1_600_000_000, 1, 40)]
    assert load_log("all.tr", (3, 2)).packets["link"].to_list() == ["reverse", "reverse"]


def test_figures_of_logs_beside_results(cli: Cli, run: sj.Result, tmp_path: Path) -> None:
    folder = printed_json(cli("run", _written(tmp_path), "--json", "--set", "probes.packets=true"))["folder"]
    for target in ("x.log", "x.tr"):
        assert cli("log", "convert", folder, target).exit_code == 0
    for kind in ("timeseries", "cdf", "ccdf", "box", "drops", "window", "bytes", "rates"):
        drawn = cli("plot", kind, folder, "x.log", "x.tr", "-o", f"{kind}.svg")
        assert drawn.exit_code == 0, drawn.output
        assert Path(f"{kind}.svg").stat().st_size > 5000
    from sojourn.figures.rates import rates
    from sojourn.figures.window import target_of
    from sojourn.model.analysis.labels import names_of
    from sojourn.studies.runs.store import load_all

    results = load_all([Path(folder), Path("x.log"), Path("x.tr")])
    assert [str(name) for name in names_of(results)] == ["codel", "x.log", "x.tr"]
    medians = [result.packets.filter(pl.col("link") == "forward")["sojourn_ms"].median() for result in results]
    assert medians[0] == medians[2]
    assert medians[1] == pytest.approx(medians[0], abs=1)
    # A log, and its last step, end with its last line.
    of_run, of_log, of_trace = (
        [mbps * np.diff(edges) for mbps in (into, out)] for into, out, edges in (rates(one, 1.0) for one in results)
    )
    for mine, exact, whole_ms in zip(of_run, of_trace, of_log, strict=True):
        assert exact == pytest.approx(mine)
        assert whole_ms.sum() == pytest.approx(mine.sum())
    assert [target_of(result) for result in results] == [5.0, None, None]
    refused = cli("plot", "state", "x.log")
    what = "only timeseries, cdf, ccdf, box, drops, window, bytes and rates can be drawn from it"
    assert (refused.exit_code, refused.output) == (2, f"Error: x.log: a log has no table 'state'; {what}\n")
    with pytest.raises(InputError, match="a log has no scenario"):
        _ = results[1].scenario


def _written(folder: Path) -> Path:
    path = folder / "short.toml"
    path.write_text(SHORT)
    return path


MALFORMED = {
    "empty": ("", "empty"),
    "words": ("hello world\n", "line 1: unrecognised log format"),
    "binary": ("\x00\x01\x02 3 4\n", "line 1: unrecognised log format"),
    "cut off": (MAHIMAHI[:-10] + "\n1010 -", "is not an event; the file may be truncated there"),
    "no number": (MAHIMAHI + "1012 + many\n", 'line 15: "many" is not a whole number'),
    "before the base": (MAHIMAHI + "12 + 52\n", "line 15: 12 ms is before the base timestamp 1000"),
    "too many drops": (MAHIMAHI + "1012 d 99999999 1\n", "99999999 packets at once"),
    "ns-2 cut off": (NS2[:-20], "line 8: "),
    "ns-2 no number": (NS2.replace("1.50825", "1.5o"), "line 7: "),
    "ns-2 infinite": (NS2.replace("1.50825", "1e999"), "a number is out of range"),
    "ns-2 leaves twice": (
        NS2.splitlines()[0] + "\n" + 2 * (NS2.splitlines()[1] + "\n"),
        "packet 199 departs at 1.5 s without arrival",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_logs_are_refused_in_one_line(cli: Cli, tmp_path: Path, name: str) -> None:
    text, expected_text = MALFORMED[name]
    (tmp_path / "bad").write_text(text)
    for command in (["plot", "timeseries", "bad"], ["log", "convert", "bad", "out.tr"]):
        result = cli(*command)
        assert result.exit_code == 2, result.output
        assert result.output.startswith("Error: bad: ")
        assert expected_text in result.output
        assert len(result.output.splitlines()) == 1
    assert entries(tmp_path) == {"bad"}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([MAHIMAHI, NS2]), st.text(max_size=20), st.integers(0, 400))
def test_no_noise_is_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str, noise: str, at: int) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.log"
    path.write_text(text[:at] + noise + text[at + 5 :], encoding="utf-8")
    try:
        log = load_log(path)
    except InputError:
        return
    assert log.duration_s >= 0


def test_bad_requests(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "up.log").write_text(MAHIMAHI)
    (tmp_path / "all.tr").write_text(NS2)
    cases = {
        ("up.log", "out.txt"): 'out.txt: ".txt" is not a log format; end the name in .log (Mahimahi), .tr (ns-2)',
        ("up.log", "out.tr", "--nodes", "0-1"): "a log of Mahimahi has no nodes",
        ("all.tr", "out.tr", "--nodes", "0:1"): '--nodes: "0:1" is not a link; write e.g. 2-3',
        ("all.tr", "out.tr", "--nodes", "4-5"): "has no link 4-5; expected one of 0-2, 2-3, 3-2",
        ("up.log", "out.log", "--link", "back"): 'link "back" is unknown; expected one of forward, reverse',
        ("up.log", "out.log", "--link", "reverse"): "no packet reached the link",
        ("none.tr", "out.tr"): "none.tr: No such file",
    }
    for arguments, expected_text in cases.items():
        result = cli("log", "convert", *arguments)
        assert (result.exit_code, expected_text in result.output) == (2, True), result.output
    assert entries(tmp_path) == {"up.log", "all.tr"}
