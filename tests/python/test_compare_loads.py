"""`sojourn compare`: one queue manager or several, at one load or at every combination of several; ECN, framing."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import SHORT, Cli, entries, printed_json
from sojourn.model.aqms.registry import registry
from sojourn.model.scenarios.advice import advice

SHORT_RUN: dict[str, Any] = {"duration": "1 s", "flows": 1}


def test_a_single_queue_manager_is_a_text_a_class_or_an_instance() -> None:
    alone = sj.compare(["codel"], **SHORT_RUN).table["fingerprint"].to_list()
    for aqm in ("codel", sj.Codel, sj.Codel()):
        found = sj.compare(aqm, **SHORT_RUN)
        assert (found.aqms, found.table["fingerprint"].to_list()) == (["codel"], alone)
    assert sj.compare("codel,fq(codel ecn)", **SHORT_RUN).aqms == ["codel", "fq(codel ecn)"]
    assert sj.compare((sj.Codel, "pie"), **SHORT_RUN).aqms == ["codel", "pie"]


def test_every_combination_equals_its_single_run(tmp_path: Path) -> None:
    rates, rtts, flows, aqms = ["7 Mbit/s", "13 Mbit/s"], ["17 ms", "40 ms"], [1, 3], ["codel", "pie"]
    found = sj.compare(aqms, rate=rates, rtt=rtts, flows=flows, duration="1 s", seeds=2, out=tmp_path / "out")
    assert found.table.select("rate", "rtt", "flows", "aqm").rows() == list(product(rates, rtts, flows, aqms))
    assert found.table["seeds"].to_list() == [2] * 16
    for rate, rtt, count, aqm in [("7 Mbit/s", "40 ms", 3, "pie"), ("13 Mbit/s", "17 ms", 1, "codel")]:
        alone = sj.compare(aqm, rate=rate, rtt=rtt, flows=count, duration="1 s", seeds=2)
        row = found.table.row(by_predicate=_is(rate=rate, rtt=rtt, flows=count, aqm=aqm), named=True)
        assert row["fingerprint"] == alone.table["fingerprint"][0]
    differences = found.paired()
    assert differences.select("rate", "rtt", "flows").unique().height == 8
    assert differences["aqm"].unique().to_list() == ["pie"]
    assert found.setup["flows"][0]["count"] == "1 | 3"
    assert found.setup["link"]["rate"] == "7 Mbit/s | 13 Mbit/s"
    assert (found.plot(tmp_path / "x.png")).stat().st_size > 10_000


def _is(**values: object) -> Any:
    import polars as pl

    return pl.all_horizontal(pl.col(name) == value for name, value in values.items())


def test_lists_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    words = ["--rate", "10Mbit/s, 50mbit", "--rtt", "20ms,0.08s", "--flows", "1,2", "--duration", "1s"]
    reported = printed_json(cli("compare", "--aqm", "codel,pie", *words, "-o", "out", "--json"))
    rows = [(row["rate"], row["rtt"], row["flows"], row["aqm"]) for row in reported["table"]]
    assert rows == list(product(["10 Mbit/s", "50 Mbit/s"], ["20 ms", "80 ms"], [1, 2], ["codel", "pie"]))
    assert Path(reported["figure"]).is_file()
    shown = cli("compare", "--aqm", "codel,pie", *words, "-o", "out").stdout
    assert "flows: 1 | 2 tcp" in shown
    assert "link: 10 Mbit/s | 50 Mbit/s" in shown


def test_the_commas_of_steps_are_their_own(cli: Cli) -> None:
    words = ["--rate", "9mbit@0s,3mbit@500ms", "--rate", "5mbit", "--duration", "1s", "--flows", "1", "-o", "out"]
    reported = printed_json(cli("compare", "--aqm", "codel", *words, "--json"))
    assert [row["rate"] for row in reported["table"]] == ["9 Mbit/s@0 s,3 Mbit/s@500 ms", "5 Mbit/s"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--flows", "4,x"], "not a list of whole numbers"),
        (["--flows", "4,"], "not a list of whole numbers"),
        (["--flows", "2,2"], "flows: 2 flows is given twice"),
        (["--rate", "10mbit,10000kbit"], "rate: rate 10 Mbit/s is given twice"),
        (["--rate", "10mbit,"], "a value of the list is empty"),
        (["--rtt", "20ms,5"], "no unit"),
        (["--rate", "1mbit,2mbit", "--trace", "x"], "both a rate and a trace"),
        (["--framing", "docsi"], 'did you mean "docsis"'),
        (["--reverse-rate", "10"], "reverse.rate"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_refusals(cli: Cli, tmp_path: Path, words: list[str], message: str) -> None:
    ran = cli("compare", "--aqm", "codel", *words, "-o", "out")
    assert (ran.exit_code, message in ran.stderr) == (2, True), ran.stderr
    assert entries(tmp_path) == set()
    with pytest.raises(sj.InputError, match="empty list"):
        sj.compare("codel", flows=[])


def test_framing_and_reverse_rate_reach_the_links(cli: Cli) -> None:
    words = ["--framing", "docsis", "--reverse-rate", "1mbit", "--duration", "1s", "-o", "out"]
    setup = printed_json(cli("compare", "--aqm", "codel", *words, "--json"))["setup"]
    assert (setup["link"]["overhead"], setup["reverse"]["overhead"]) == ("18 B", "18 B")
    assert (setup["link"]["rate"], setup["reverse"]["rate"]) == ("10 Mbit/s", "1 Mbit/s")
    shown = cli("compare", "--aqm", "codel", *words).stdout
    assert "link: 10 Mbit/s, delay 0 s, overhead 18 B, mpu 64 B, limit 1000 packets" in shown


WARNING = "codel ecn asks for ECN, which no flow uses"


def test_ecn_marks_where_flows_use_it_and_is_warned_of_where_none_does(cli: Cli) -> None:
    words = ["compare", "--aqm", "codel ecn,codel", "--duration", "3s", "-o", "out"]
    with_ecn, without = cli(*words, "--ecn", "--json"), cli(*words, "--json")
    marks = [[row["mark_rate"] > 0 for row in printed_json(ran)["table"]] for ran in (with_ecn, without)]
    assert marks == [[True, False], [False, False]]
    assert "Warning" not in with_ecn.stderr
    assert without.stderr.count(WARNING) == 1
    assert [text.startswith(WARNING) for text in printed_json(without)["warnings"]] == [True]
    assert printed_json(with_ecn)["warnings"] == []


def test_every_control_that_negotiates_ecn_by_itself_is_known_to_the_warning() -> None:
    for name, stacks in ((one["name"], one["stacks"]) for one in registry()["ccs"]):
        stack = "linux-6.1" if "linux-6.1" in stacks else stacks[-1]
        scenario = sj.Scenario.parse(ECN.format(flow=f'kind = "tcp", cc = "{name}", stack = "{stack}"'))
        marks = scenario.run().totals["links"]["forward"]["marked"]
        assert bool(advice([scenario])) == (marks == 0), name


@pytest.mark.parametrize(
    ("flow", "is_warned_of"),
    [
        ('kind = "tcp", cc = "prague"', False),
        ('kind = "tcp", cc = "dctcp", stack = "quic-rfc9002"', False),
        ('kind = "tcp", stack = "quic-rfc9002"', True),
        ('kind = "tcp", cc = "dctcp dctcp_shift_g 5"', False),
        ('kind = "cbr", rate = "30 Mbit/s"', True),
        ('kind = "cbr", rate = "30 Mbit/s", ecn = "ect0"', False),
        ('kind = "media", control = "scream", max_rate = "30 Mbit/s"', False),
        ('kind = "media", control = "gcc"', True),
    ],
)
def test_ecn_of_other_flows_is_known_to_the_warning(flow: str, is_warned_of: bool) -> None:
    assert bool(advice([sj.Scenario.parse(ECN.format(flow=flow))])) == is_warned_of


ECN = """duration = "3 s"
link = {{ rate = "10 Mbit/s", aqm = "codel ecn" }}
flows = [{{ {flow}, rtt = "20 ms" }}]
"""


def test_the_warning_comes_once_for_a_study_and_for_a_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT.replace('"3 s"', '"1500 ms"'))
    set_ecn = ["--set", "link.aqm=codel ecn"]
    ran = cli("run", "short.toml", *set_ecn, "-o", "out", "--json")
    assert ran.stderr.count("Warning: ") == len(printed_json(ran)["warnings"]) == 1
    ran = cli("run", "short.toml", *set_ecn, "--set", "flows.0.ecn=true", "-o", "out", "--json")
    assert (ran.stderr, printed_json(ran)["warnings"]) == ("", [])

    sweep = '"link.aqm" = ["codel ecn", "fq(pie ecn)", "fq_codel", "codel"]\n'
    (tmp_path / "study.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\n{sweep}seeds = 2\n")
    ran = cli("sweep", "study.toml", "-o", "out", "--json")
    [reported] = printed_json(ran)["warnings"]
    assert ran.stderr.count(reported) == 1
    assert reported.startswith("codel ecn, fq(pie ecn) ask for ECN"), "what a profile marks by itself nobody asked for"
    both = f'{sweep}"flows.0.ecn" = [true, false]\n'
    (tmp_path / "both.toml").write_text(f"{SHORT.replace('3 s', '1500 ms')}[sweep]\n{both}")
    assert sj.Study.load(tmp_path / "both.toml").advice == [], "some flows use it: the others are there to compare"


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_figure_has_a_panel_for_each_load_with_the_same_lines_and_axes(count: int) -> None:
    flows, aqms = list(range(2, count + 2)), ["codel", "pie"]
    found = sj.compare(aqms, flows=flows, duration="2 s", warmup="200 ms")
    figure = found.plot.comparison().figure
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"{n} flows" for n in flows]
    lines = {
        axes: [(line.get_label(), line.get_color(), line.get_linestyle()) for line in axes.lines]
        for axes in figure.axes
    }
    assert len(set(map(tuple, lines.values()))) == 1
    assert [name for name, _, _ in next(iter(lines.values()))] == aqms
    assert len({(axes.get_xlim(), axes.get_ylim(), axes.get_xscale()) for axes in figure.axes}) == 1
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == aqms
