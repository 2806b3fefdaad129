"""Scenarios as scripts for ns-2, unsupported scenarios, and recorded runs. No ns-2 needed.

`SOJOURN_BLESS=1` updates the scripts; `python -m record` in this folder updates the runs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, printed_json
from ns2_scenarios import BASE, FOLDER, NS2, PLUGIN, dumbbell, ftp
from sojourn import InputError, Scenario
from sojourn.engines.ns2.script import script

ALL = {**{name: (document, False) for name, document in NS2.items()}, **{n: (d, True) for n, d in PLUGIN.items()}}


@pytest.mark.parametrize("name", ALL)
def test_a_scenario_has_the_script_that_is_kept(name: str) -> None:
    document, plugin = ALL[name]
    text = script(Scenario.build(document), 7, plugin=plugin).text
    kept = FOLDER / f"{name}.tcl"
    if os.environ.get("SOJOURN_BLESS"):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8")


def test_every_script_that_is_kept_belongs_to_a_scenario() -> None:
    assert len(NS2) >= 20
    assert {path.stem for path in FOLDER.glob("*.tcl")} == set(ALL)


def test_seeds_draw_other_numbers_and_starts() -> None:
    scenario = Scenario.build(NS2["red"])
    first, second, again = (script(scenario, seed, plugin=False).text for seed in (1, 2, 1))
    assert first == again != second


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"link": {"aqm": "codel"}},
            "link.aqm: the engine ns2 has no codel@rfc8289 of its own; choose one ",
        ),
        ({"link": {"aqm": "red@linux min 9kB max 30kB"}}, "link.aqm: the engine ns2 has no red@linux of its own"),
        ({"link": {"aqm": "red bandwidth 3mbit"}}, "link.aqm.bandwidth: the engine ns2 uses the link's rate; leave"),
        ({"link": {"aqm": "ared"}}, "link.aqm.gentle_slope: the engine ns2 does not move the slope beyond max"),
        (
            {"link": {"aqm": "red", "limit": "1001 B"}},
            "link.limit: the engine ns2 counts RED's bytes in units of avpkt",
        ),
        (
            {"link": {"aqm": "red queue_in_bytes off", "limit": "20 kB"}},
            "link.limit: the engine ns2 counts packets",
        ),
        ({"link": {"aqm": "pi n 9"}}, "link.aqm.n: the engine ns2 needs explicit gains; write a and b"),
        (
            {"link": {"aqm": "rem@ns2 alpha 0.2"}},
            "link.aqm.alpha: the engine ns2 supports only alpha 0.1; leave it out",
        ),
        (
            {"link": {"aqm": "rem ecn"}},
            "link.aqm.mark_on_departure: the engine ns2 always marks on departure; switch it on",
        ),
        ({"link": {"aqm": "rem", "limit": "9 kB"}}, "link.limit: the engine ns2 counts packets here; write e.g."),
        ({"link": {"aqm": "sfq@ns2 depth 9"}}, "link.aqm.depth: the engine ns2 cannot set depth of sfq; leave it out"),
        (
            {"link": {"aqm": "sfq@ns2"}, "flows": [BASE]},
            "flows[0].count: the engine ns2 has a single host for each group",
        ),
        (
            {"link": {"limit": ["9 packets", "9 kB"]}},
            "link.limit: the engine ns2 accepts only one limit; keep one of them",
        ),
        ({"link": {"limit": "2147483647 packets"}}, "link.limit: the engine ns2 counts up to 2147483646; lower it"),
        ({"link": {"rate": "4 Mbit/s@0s,2 Mbit/s@2s"}}, "link.change: the engine ns2 ends a transmission as planned"),
        ({"link": {"rate": "0 bit/s@0s,4 Mbit/s@2s", "change": "latch"}}, "link."),
        ({"link": {"loss": 0.01}}, "link.loss: the engine ns2 does not support loss behind the queue; leave it out"),
        ({"link": {"below": "9 packets wake 3 packets"}}, "link.below: the engine ns2 has no buffer below the queue"),
        ({"link": {"tick": "1 ms"}}, "link.tick: the engine ns2 delays without a clock; leave it out"),
        ({"link": {"gro": "50 us"}}, "link.gro: the engine ns2 has no super-packets; leave it out"),
        ({"flows": [ftp(gro="50 us")]}, "flows[0].gro: the engine ns2 has no super-packets; leave it out"),
        ({"link": {"overhead": "38 B"}}, "link.overhead: the engine ns2 adds no framing; leave it out"),
        ({"link": {"overhead": "-4 B"}}, "link.overhead: the engine ns2 adds no framing; leave it out"),
        ({"link": {"framing": "atm"}}, "link.framing: the engine ns2 adds no framing; leave it out"),
        ({"flows": [{"kind": "tcp"}]}, "flows[0].stack: the engine ns2 has ns-2's TCP, not linux-6.1; write stack"),
        ({"flows": [ftp(nagle=True)]}, "flows[0].nagle: the engine ns2 sends whole packets only; leave it out"),
        ({"flows": [ftp(cc="cubic")]}, "flows[0].cc: the engine ns2 does not send cubic; choose reno or newreno"),
        ({"flows": [ftp(size="9 kB", pause="1 s")]}, "flows[0].pause: the engine ns2 opens one connection for each"),
        (
            {"flows": [ftp(count=2, rtt_stagger="1 ms")]},
            "flows[0].rtt_stagger: the engine ns2 has a single delay for all",
        ),
        (
            {"flows": [ftp(receive_window="900 B")]},
            "flows[0].receive_window: the engine ns2 counts windows in segments; write",
        ),
        (
            {"flows": [ftp(middlebox="bleach")]},
            "flows[0].middlebox: the engine ns2 does not classify packets; leave it out",
        ),
        ({"flows": [ftp(count=1001)]}, "flows[0].count: the engine ns2 supports at most 1000 access links in a group"),
        (
            {"flows": [{"kind": "web", "interval": "1 s", "size": "9 kB"}]},
            "flows[0].kind: the engine ns2 does not send web; choose",
        ),
        (
            {"flows": [{"kind": "browser", "size": "9 kB"}]},
            "flows[0].kind: the engine ns2 does not send browser; choose",
        ),
        ({"flows": [{"kind": "rpm"}]}, "flows[0].kind: the engine ns2 does not send rpm; choose"),
        (
            {"flows": [{"kind": "media", "control": "nada"}]},
            "flows[0].kind: the engine ns2 does not send media; choose",
        ),
        (
            {"flows": [{"kind": "video", "ladder": ["1 Mbit/s"]}]},
            "flows[0].kind: the engine ns2 does not send video; choose",
        ),
        (
            {"flows": [{"kind": "packmime", "connections_per_second": 3}]},
            "flows[0].stack: the engine ns2 has ns-2's TCP, not linux-6.1; write stack",
        ),
        (
            {"flows": [{"kind": "cbr", "rate": "1 Mbit/s", "ecn": "ect0"}]},
            "flows[0].ecn: the engine ns2 sends datagrams without ECN",
        ),
        (
            {"probes": {"state": "1 s"}},
            "probes.state: the engine ns2 does not record the state of its queues; leave it out",
        ),
        (
            {"probes": {"headers": True, "packets": True}},
            "probes.headers: the engine ns2 does not record transport headers",
        ),
        ({"wlan": {"stations": [{}]}, "link": None}, "wlan: the engine ns2 has no wireless LAN; simulate it"),
    ],
)
def test_unsupported_scenarios_are_refused_by_name(changes: dict[str, Any], text: str) -> None:
    link = changes.pop("link", {})
    document = dumbbell(*changes.pop("flows", [ftp()]), link=link or {}, **changes)
    if link is None:
        del document["link"]
        document["flows"] = [{"kind": "tcp", "stack": "ns2", "cc": "reno"}]
    with pytest.raises(InputError) as refused:
        script(Scenario.build(document), 1, plugin=False)
    assert str(refused.value).startswith(text), refused.value
    assert "\n" not in str(refused.value)


def test_packets_of_one_size_fit_a_red_that_counts_bytes_and_others_do_not() -> None:
    red = {"aqm": "red avpkt 1000B", "limit": "7 packets"}
    made = script(Scenario.build(dumbbell(ftp(), link=red)), 1, plugin=False)
    assert made.network.links[0].queue.settings["limit_"] == "10", "10000 bytes: 6 packets of 1500 fit below, 7 do not"
    with pytest.raises(InputError, match="packets differ in size"):
        script(Scenario.build(dumbbell(ftp(), ftp(mss="900 B"), link=red)), 1, plugin=False)


def test_the_command_writes_a_script_and_refuses_in_one_line(cli: Cli, repo: Path) -> None:
    file = repo / "scenarios" / "ns2.toml"
    shown = cli("ns2", "script", file)
    assert shown.exit_code == 0 and "TCP/Newreno TCPSink 1460 684 4 0" in shown.stdout and "$ns run" in shown.stdout
    assert cli("ns2", "script", file, "-o", "x/y.tcl", "--seed", 3).exit_code == 0
    assert Path("x/y.tcl").read_text().startswith("# four Newreno agents through RED: a scenario of Sojourn, seed 3.")
    assert printed_json(cli("ns2", "script", file, "--json"))["script"].strip() == shown.stdout.strip()
    refused = cli("ns2", "script", file, "--set", "link.aqm=codel")
    assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
    assert cli("ns2", "script", file, "--set", "link.aqm=codel", "--plugin").exit_code == 0


def test_without_ns2_a_run_names_the_package(cli: Cli, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    refused = cli("run", repo / "scenarios" / "ns2.toml", "--engine", "ns2")
    assert refused.exit_code == 3
    assert refused.stderr == "Error: ns: ns-2 is not installed; on Debian or Ubuntu: apt install ns2\n"
