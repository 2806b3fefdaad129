"""A scenario as commands of tc, ip and the guest's program; unsupported scenarios. No kernel needed."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from sojourn import InputError, Scenario, _core
from sojourn.engines.endpoint_log import EndpointLog, OpenedFlow
from sojourn.engines.kernel import engine
from sojourn.engines.kernel.hosts import HostTable
from sojourn.engines.kernel.network import START_NS, lay_out
from sojourn.engines.kernel.qdisc import DISCIPLINES, queue
from sojourn.engines.kernel.trace import EVENT, OFFERED, TIMED_OUT, entries, timeouts
from sojourn.engines.kernel.traffic import traffic

HTB = """
htb default 20 {
  class 1 rate 10mbit
  class 10 parent 1 rate 2.5mbit ceil 10mbit burst 3kB prio 1 match dscp EF match dscp AF41 { codel@linux }
  class 20 parent 1 rate 8mbit quantum 3000B overhead 18 linklayer atm
}
"""
SENDER = {"stack": "linux-2.6.29", "cc": "reno"}
BASE: dict[str, Any] = {
    "duration": "4 s",
    "warmup": "1 s",
    "link": {"rate": "10 Mbit/s", "delay": "5 ms"},
    "flows": [{"kind": "tcp", **SENDER}],
}


def build(**changes: Any) -> Scenario:
    link = {**BASE["link"], **changes.pop("link", {})}
    return Scenario.build({**BASE, **changes, "link": link})


def line(aqm: str, limit: str = "1000 packets", **link: Any) -> tuple[str, str, str, bool]:
    found = queue("link", build(link={"aqm": aqm, "limit": limit, **link}).document["link"])
    return found.line, found.inner, found.limit, found.drops_early


@pytest.mark.parametrize(
    ("aqm", "limit", "words", "inner", "reported"),
    [
        ("droptail", "50 packets", "pfifo limit 50", "", "50 packets"),
        ("droptail", "30 kB", "bfifo limit 30000", "", "30000 B"),
        ("droptail", "100 ms", "bfifo limit 125000", "", "125000 B"),
        ("drophead", "50 packets", "pfifo_head_drop limit 50", "", "50 packets"),
        ("codel", "90 packets", "codel limit 90 target 5000us interval 100000us noecn", "", "90 packets"),
        (
            "codel@linux target 7ms ecn ce_threshold 1ms",
            "90 packets",
            "codel limit 90 target 7000us interval 100000us ecn ce_threshold 1000us",
            "",
            "90 packets",
        ),
        (
            "fq_codel@linux flows 64 quantum 300B limit 500",
            "1000 packets",
            "fq_codel limit 500 flows 64 quantum 300 memory_limit 33554432 drop_batch 64 target 5000us "
            "interval 100000us ecn",
            "",
            "500 packets",
        ),
        (
            "pie@linux alpha 0.25 target 20ms ecn",
            "1000 packets",
            "pie limit 1000 target 20000us tupdate 15000us alpha 4 beta 20 ecn nobytemode",
            "",
            "1000 packets",
        ),
        (
            "cake",
            "10240 packets",
            "cake unlimited diffserv3 triple-isolate rtt 100000us egress nowash no-ack-filter noatm",
            "",
            "10240 packets",
        ),
        (
            "cake@linux-6.1 bandwidth 7mbit besteffort dual-dsthost rtt 30ms ingress wash ack-filter memlimit 40kB "
            "pppoe-vcmux overhead -4 mpu 64 autorate-ingress",
            "12000 packets",
            "cake bandwidth 7000000bit autorate-ingress besteffort dual-dsthost rtt 30000us ingress wash ack-filter "
            "memlimit 40000 atm overhead -4 mpu 64",
            "",
            "12000 packets",
        ),
        (
            "cake no-split-gso",
            "10240 packets",
            "cake unlimited diffserv3 triple-isolate rtt 100000us egress nowash no-ack-filter no-split-gso noatm",
            "",
            "10240 packets",
        ),
        (
            "red@linux min 12500B max 37500B burst 25 ecn",
            "60 packets",
            "red limit 1000000000 avpkt 1000 bandwidth 10000000bit probability 0.02 ecn min 12500 max 37500 burst 25",
            "pfifo limit 60",
            "60 packets",
        ),
        (
            "ared@linux target 5ms",
            "60 kB",
            "red limit 1000000000 avpkt 1000 bandwidth 10000000bit probability 0.02 adaptative "
            "min 3125 max 9375 burst 6",
            "bfifo limit 60000",
            "60000 B",
        ),
        (
            "choke min 20 max 80 burst 50",
            "90 packets",
            "choke limit 90 min 20 max 80 avpkt 1000 burst 50 bandwidth 10000000bit probability 0.02",
            "",
            "90 packets",
        ),
        (
            "fq_pie mark_ecnth 0.2",
            "90 packets",
            "fq_pie limit 90 flows 1024 quantum 1514 ecn_prob 20 target 15000us tupdate 15000us alpha 2 beta 20 noecn "
            "nobytemode",
            "",
            "90 packets",
        ),
        ("sfq depth 20", "90 packets", "sfq limit 90 depth 20 quantum 1514 flows 128 divisor 1024", "", "90 packets"),
    ],
)
def test_queue_disciplines_in_tc_s_words(aqm: str, limit: str, words: str, inner: str, reported: str) -> None:
    assert line(aqm, limit)[:3] == (words, inner, reported)


def test_managers_that_drop_before_the_queue_is_full() -> None:
    judges = {name for name in DISCIPLINES if queue("link", build(link=_link(name)).document["link"]).drops_early}
    assert judges == {"pie", "fq_pie", "red", "ared", "choke", "sfq_red"}


def _link(name: str) -> dict[str, str]:
    linux = {"pie", "red", "ared"}
    thresholds = " min 12500B max 37500B" if name in ("red", "ared") else ""
    limit = {"limit": "10240 packets"} if name == "cake" else {}
    return {"aqm": f"{name}{'@linux' if name in linux else ''}{thresholds}", **limit}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"link": {"aqm": "netem duplicate 1%"}}, "link.aqm.duplicate: the engine kernel cannot duplicate the packets"),
        ({"link": {"aqm": "fq"}}, "link.aqm: the engine kernel does not tell a queue when senders want to send"),
        ({"link": {"aqm": "codel@linux keep_above"}}, "link.aqm.keep_above: the engine kernel cannot set keep_above"),
        ({"link": {"aqm": "pie@linux max_burst 10ms"}}, "link.aqm.max_burst: the engine kernel cannot set max_burst"),
        ({"link": {"aqm": "pie@linux alpha 0.13"}}, "link.aqm.alpha: the engine kernel counts the gains of PIE in"),
        ({"link": {"aqm": "pie@linux beta 0"}}, "link.aqm.beta: the engine kernel counts the gains of PIE in"),
        (
            {"link": {"aqm": "fq_codel quantum 255B"}},
            "link.aqm.quantum: the engine kernel accepts no quantum below 256",
        ),
        ({"link": {"aqm": "codel target 1500ns"}}, "link.aqm.target: the engine kernel works in whole microseconds"),
        ({"link": {"aqm": "red@linux"}}, "link.aqm.min: the engine kernel needs the thresholds of RED; write e.g."),
        ({"link": {"aqm": "codel", "limit": "30 kB"}}, "link.limit: the engine kernel limits codel by packets"),
        (
            {"link": {"aqm": "cake", "limit": "900 packets"}},
            "link.limit: the engine kernel limits cake only by its own memlimit in bytes; write",
        ),
        (
            {"link": {"aqm": "cake link_header 14", "limit": "10240 packets"}},
            "link.aqm.link_header: the engine kernel cannot set link_header",
        ),
        (
            {"link": {"aqm": "cake rtt 1500ns", "limit": "10240 packets"}},
            "link.aqm.rtt: the engine kernel works in whole microseconds",
        ),
        ({"link": {"limit": ["30 kB", "9 packets"]}}, "link.limit: the engine kernel accepts only one limit"),
        (
            {"link": {"rate": "9 Mbit/s@0s,3 Mbit/s@1s", "change": "opportunity"}},
            "link.change: the engine kernel does not support opportunities",
        ),
        ({"link": {"loss": 0.01}}, "link.loss: the engine kernel does not support loss behind the queue; leave it out"),
        ({"link": {"tick": "1 ms"}}, "link.tick: the engine kernel delays without a clock; leave it out"),
        (
            {"link": {"below": "4 packets bql"}},
            "link.below: the engine kernel needs fixed limits below the queue; write",
        ),
        (
            {"flows": [{"kind": "tcp", "gso": True}], "link": {"overhead": "38 B"}},
            'link.account: the engine kernel counts a super-packet as one frame; write account = "ip" beside gso',
        ),
        (
            {"link": {"gro": "9 us", "mpu": "84 B"}},
            "link.account: the engine kernel counts a super-packet as one frame",
        ),
        (
            {"flows": [{"kind": "tcp", "count": 1001, "gro": "1 ms"}]},
            "flows[0].count: the engine kernel supports at most 1000 access links in a group; leave out gro",
        ),
        (
            {
                "links": [{"name": "second", "rate": "5 Mbit/s", "gro": "1 ms"}],
                "flows": [{"kind": "tcp", "route": route} for route in (["link", "second"], ["link"])],
            },
            "links[0].gro: the engine kernel polls all packets from link alike, but some of them take another route;",
        ),
        (
            {"flows": [{"kind": "tcp", "stack": "linux-3.8", "abc": 2}]},
            "flows[0].abc: the engine kernel has no appropriate byte counting; leave it out",
        ),
        (
            {"flows": [{"kind": "tcp", "pacing": True}]},
            "flows[0].pacing: the engine kernel leaves pacing to the congestion control; leave it out",
        ),
        (
            {"flows": [{"kind": "tcp", "nagle": True}]},
            "flows[0].nagle: the engine kernel delays small segments as Linux does; leave it out",
        ),
        ({"link": {"delay": "5 ms@0s,9 ms@1s"}}, "link.delay: the engine kernel supports constant delays only"),
        ({"link": {"framing": "atm"}}, "link.framing: the engine kernel does not know atm; choose ethernet"),
        (
            {"probes": {"state": "10 ms"}},
            "probes.state: the engine kernel does not record the state of its queue disciplines",
        ),
        ({"probes": {"packets": True, "headers": True}}, "probes.headers: the engine kernel does not record transport"),
        ({"flows": [{"kind": "tcp", "stack": "ns2"}]}, "flows[0].stack: the engine kernel has Linux's TCP, not ns2"),
        (
            {"flows": [{"kind": "tcp", "cc": "newreno"}]},
            "flows[0].cc: the engine kernel does not have newreno; choose reno",
        ),
        ({"flows": [{"kind": "tcp", "delayed_ack": False}]}, "flows[0].delayed_ack: the engine kernel always delays"),
        (
            {"flows": [{"kind": "packmime", "connections_per_second": 5}]},
            "flows[0].kind: the engine kernel does not send",
        ),
        (
            {"flows": [{"kind": "tcp", "middlebox": "tunnel"}]},
            "flows[0].middlebox: the engine kernel has no middlebox",
        ),
        (
            {"flows": [{"kind": "browser", "size": "9 kB"}]},
            "flows[0].kind: the engine kernel does not send browser; choose tcp, web, request, cbr",
        ),
        ({"flows": [{"kind": "rpm"}]}, "flows[0].kind: the engine kernel does not send rpm; choose"),
        (
            {"flows": [{"kind": "media", "control": "nada"}]},
            "flows[0].kind: the engine kernel does not send media; choose",
        ),
        (
            {"flows": [{"kind": "video", "ladder": ["1 Mbit/s"]}]},
            "flows[0].kind: the engine kernel does not send video; choose",
        ),
        (
            {"flows": [{"kind": "cbr", "rate": "1 Mbit/s", "size": "40 B"}]},
            "flows[0].size: the engine kernel sends datagrams",
        ),
        (
            {"flows": [{"kind": "tcp", "count": 1001, "access_rate": "1 Gbit/s"}]},
            "flows[0].count: the engine kernel supports at most 1000 access links in a group; leave out access_rate",
        ),
        (
            {"links": [{"name": "second", "rate": "5 Mbit/s", "loss": 0.01}]},
            "links[0].loss: the engine kernel does not support loss behind the queue; leave it out",
        ),
        (
            {"links": [{"name": "second", "rate": "5 Mbit/s", "reverse": {"aqm": "fq"}}]},
            "links[0].reverse.aqm: the engine kernel does not tell a queue when senders want to send",
        ),
    ],
)
def test_unsupported_scenarios_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as refusal:
        engine.check(build(**changes))
    assert str(refusal.value).startswith(text)
    assert "\n" not in str(refusal.value)


def test_every_kind_of_link_is_refused_but_fixed_rates_and_steps(tmp_path: Any) -> None:
    trace = tmp_path / "x.down"
    trace.write_text("1\n2\n")
    for service in ({"bucket": "9 Mbit/s", "burst": "9 kB"}, {"poisson": "9 Mbit/s"}, {"trace": str(trace)}):
        scenario = Scenario.build(
            {**BASE, "link": {**service, "peak": "20 Mbit/s"} if "bucket" in service else service}
        )
        with pytest.raises(InputError, match="supports only links of a constant rate or of steps"):
            engine.check(scenario)


def test_the_network_of_a_dumbbell() -> None:
    scenario = build(
        link={"overhead": "38 B", "mpu": "84 B", "below": "1514 B"},
        reverse={"rate": "2 Mbit/s@0s,1 Mbit/s@2s", "change": "latch", "account": "ip", "overhead": "10 B"},
        flows=[
            {"kind": "tcp", **SENDER, "count": 2, "access_rate": "100 Mbit/s", "access_delay": "15 ms"}
            | {"initial_window": 4},
            {"kind": "tcp", **SENDER, "direction": "reverse", "ecn": True},
        ],
    )
    network = lay_out(scenario.document)
    assert [(one.source, one.sink, one.source_address, one.sink_address) for one in network.ends] == [
        ("s0", "k0", "10.1.0.0", "10.2.0.0"),
        ("s0", "k0", "10.1.0.1", "10.2.0.1"),
        ("s1", "k1", "10.3.0.2", "10.4.0.2"),
    ]
    assert "link f 5000000 38 84 1514 1514 2 0 0 10000000" in network.job
    steps = f"0 2000000 {START_NS + 2 * 10**9} 1000000"
    assert f"link f 5000000 10 84 0 0 3 1 {steps}" in network.job
    assert "stab overhead 38 mpu 84 mtu 2048 tsize 2048 linklayer ethernet prio" in network.files["L.tc"]
    assert "stab" not in network.files["R.tc"]
    assert "link set f mtu 1538" in network.files["L.ip"] and "link set f mtu 1500" in network.files["R.ip"]
    assert "route add 10.2.0.1/32 dev a0_1 initcwnd 4" in network.files["s0.ip"]
    assert "link a0_1 15000000 0 0 0 0 2 255 0 100000000" in network.job
    ecn = [network.job[i - 1 : i + 1] for i, text in enumerate(network.job) if "tcp_ecn 1" in text]
    assert len(ecn) == 2
    near = network.files["L.ip"].splitlines()
    for device in ("a0_0.p", "a0_1.p", "b1.p"):  # a device must be up to reach an address
        assert near.index(f"link set {device} up") < min(i for i, t in enumerate(near) if t.endswith(f"dev {device}"))


def test_the_network_of_a_row_and_of_a_graph() -> None:
    links = [{"name": "second", "rate": "5 Mbit/s", "aqm": "codel@linux", "reverse": {"rate": "1 Mbit/s"}}]
    flows = [{"kind": "cbr", "rate": "1 Mbit/s", "route": ["link", "second"], "rtt": "90 ms"}]
    flows += [{"kind": "tcp", **SENDER, "direction": "reverse", "route": ["second"]}]
    row = lay_out(build(links=links, flows=flows).document)
    hop = {"rate": "10 Mbit/s", "delay": "5 ms"}
    drawn = [{"name": "first", "from": "a", "to": "b", **hop}, {**links[0], "from": "b", "to": "c"}]
    ways = [{"from": "a", "to": "c"}, {"from": "c", "to": "b"}]
    kept = [{key: value for key, value in flow.items() if key not in ("route", "direction")} for flow in flows]
    document = {
        **{key: value for key, value in BASE.items() if key != "link"},
        "nodes": [{"name": name} for name in "abc"],
        "links": drawn,
        "flows": [{**flow, **ends} for flow, ends in zip(kept, ways, strict=True)],
    }
    graph = lay_out(Scenario.build(document).document)
    for network, nets in ((row, (3, 4)), (graph, (1, 2))):  # second group's addresses
        assert [queue.line for queue in network.queues][::2] == [
            "pfifo limit 1000",
            "codel limit 1000 target 5000us interval 100000us noecn",
        ]
        assert network.traced == ("r0", "f0")
        assert "link f1 0 0 0 0 0 2 3 0 1000000" in network.job
        assert [line for line in network.files["machine.ip"].splitlines() if "f0" in line] == [
            "link add f0 type sojourn",
            "link set f0 netns r0",
            "link set f0.p netns r1 name f0",
        ]
        next_hops = {
            router: [line for line in network.files[f"{router}.ip"].splitlines() if " dev f" in line]
            for router in ("r0", "r1", "r2")
        }
        source, sink = (f"10.{net}.0.1/32" for net in nets)
        assert next_hops == {
            "r0": ["route add 10.2.0.0/32 dev f0"],
            "r1": ["route add 10.1.0.0/32 dev f0", "route add 10.2.0.0/32 dev f1", f"route add {source} dev f1"],
            "r2": ["route add 10.1.0.0/32 dev f1", f"route add {sink} dev f1"],
        }
        assert network.files["r1.tc"].count("root handle 1:") == 2


def test_the_traffic_equals_the_simulator_s() -> None:
    scenario = build(
        flows=[
            {"kind": "tcp", **SENDER, "spread": "1 s", "count": 2, "size": "10 MB", "cc": "cubic"},
            {"kind": "web", **SENDER, "interval": "100 ms", "size": "20 kB"},
            {"kind": "voice", "ecn": "ect0"},
            {"kind": "tcp", **SENDER, "size": "1 MB", "pause": "0 s", "receive_window": "64 kB"},
        ],
        probes={"flows": "100 ms"},
    )
    plan = _core.plan(scenario.canonical, 3)
    reported = traffic(scenario.document, plan, lay_out(scenario.document).ends, [0, 10**9])
    lines = reported.text.splitlines()
    assert lines.pop(1) == "look 1000000000"
    assert lines[0] == f"clock {START_NS} 4000000000 100000000 3 4"
    never = 2**64 - 1
    starts = [source["start_ns"] for source in plan[:2]]
    assert len(set(starts)) == 2 and all(0 <= start < 10**9 for start in starts)
    assert lines[1] == f"bulk s0 k0 10.1.0.0 10.2.0.0 0 0 cubic 1460 0 0 {starts[0]} {never} 10000000 -1"
    assert lines[3] == f"pages s1 k1 10.1.0.2 10.2.0.2 1 -1 reno 1460 0 0 300 20000 0 {2**32 - 1} times.2"
    assert lines[4] == "datagrams s2 k2 10.1.0.3 10.2.0.3 2 2 200 2 times.3"
    assert lines[5].endswith("3 -1 reno 1460 64000 0 0 18446744073709551615 1000000 0")
    assert reported.flows == [0, 1, None, 2, None]
    assert np.frombuffer(reported.files["times.2"], np.uint64).tolist() == [n * 10**8 for n in range(41)]


def test_a_packet_belongs_to_the_flow_of_its_address_and_port() -> None:
    events = np.zeros(4, EVENT)
    events["at"] = [1000, 1000, 2000, 3000]
    events["source"] = [0x0A010001, 0x0A020001, 0x0A030002, 0x0A010000]
    events["destination"] = [0x0A020001, 0x0A010001, 0x0A040002, 0x0A020000]
    events["source_port"] = [10001, 5001, 10000, 5001]
    events["destination_port"] = [5001, 10001, 5001, 10007]
    opened = [OpenedFlow(4, 1, 10001), OpenedFlow(2, 2, 10000), OpenedFlow(9, 0, 10007)]
    hosts = HostTable(np.array([[0, 1], [0, 1], [2, 3]], np.uint32))
    found = entries(events, 1000, opened, hosts)
    assert found["flow"].tolist() == [4, 4, 2, 9]
    assert found["time_ns"].tolist() == [0, 0, 1000, 2000]
    assert (found["from_host"].tolist(), found["to_host"].tolist()) == ([0, 1, 2, 0], [1, 0, 3, 1])
    with pytest.raises(RuntimeError, match="belongs to no flow"):
        entries(events, 1000, opened[:2], hosts)


def test_time_outs_are_counted_by_flow_and_are_no_packets() -> None:
    events = np.zeros(5, EVENT)
    events["what"] = [OFFERED, TIMED_OUT, TIMED_OUT, TIMED_OUT, TIMED_OUT]
    events["source"] = [0x0A010001, 0x0A010001, 0x0A030002, 0x0A010001, 0x0A020001]
    events["destination"] = [0x0A020001, 0x0A020001, 0x0A040002, 0x0A020001, 0x0A010001]
    events["source_port"] = [10001, 10001, 5001, 10001, 5001]
    events["destination_port"] = [5001, 5001, 10000, 5001, 10001]
    opened = [OpenedFlow(4, 1, 10001), OpenedFlow(2, 2, 10000)]
    # The last one is at the end that only acknowledges.
    assert timeouts(events, opened) == {4: 2, 2: 1}
    hosts = HostTable(np.array([[0, 1], [2, 3], [4, 5]], np.uint32))
    assert entries(events, 0, opened, hosts)["flow"].tolist() == [4]
    assert timeouts(events[:1], opened) == {}


HEARD = """opened 0 0 10000 100 100
opened 1 1 10000 0 0
opened 2 2 10000 1500000000 1600000000
bytes 1000000000 0 1000 1300
bytes 1000000000 g 0 1000 1300
datagrams 1000000000 1 10 10 10 10000000 100
done 2 2 1500000000 1900000000 500
closed 2 2 1950000000 7 2
sample 2000000000 0 12 2147483647 20500 11 3000 3900
sample 2000000000 1 0 0 0 0 0 0
bytes 4000000000 0 376000 376200
bytes 4000000000 g 0 376000 376200
bytes 4000000000 g 1 800 800
bytes 4000000000 g 2 500 500
bytes 4000000000 1 800 800
datagrams 4000000000 1 30 28 30 82000000 1800100
left 0 0 300 5
"""


def test_the_summary_of_the_guest_program_s_output() -> None:
    scenario = build(
        flows=[
            {"kind": "tcp", **SENDER},
            {"kind": "cbr", "rate": "1 Mbit/s"},
            {"kind": "web", **SENDER, "interval": "1 s", "size": "500 B"},
        ]
    )
    received, late = EndpointLog.read(HEARD.splitlines()), {0: 3, 2: 1}
    counts = received.counts([0, 1, None], [0, 1, 2], late)
    [ends] = json.loads(_core.end_summaries(scenario.canonical, counts, [10**9], 4 * 10**9))
    flows = ends["flows"]
    assert [(row["id"], row["sent"], row["retransmissions"], row["timeouts"]) for row in flows] == [
        (0, 300, 5, 3),
        (1, 30, 0, 0),
    ]
    # Bytes out of order at the start of the window arrived before it.
    assert (flows[0]["delivered_bytes"], flows[0]["bytes"]) == (375_000, 374_900)
    assert (flows[0]["delivered_bps"], flows[0]["goodput_bps"]) == (375_000 * 8 / 3, 374_900 * 8 / 3)
    assert flows[1]["delay_ms"] == pytest.approx(4.0) and flows[1]["loss_rate"] == pytest.approx(0.1)
    assert flows[1]["delay_variation_ms"] == pytest.approx(0.1)
    groups = ends["groups"]
    assert ends["goodput_bps"] == sum(row["goodput_bps"] for row in groups)
    assert [row["opened"] for row in groups] == [1, 1, 1]
    assert [row["timeouts"] for row in groups] == [3, 0, 1]
    assert [row["sent"] for row in groups] == [300, 30, 7]
    pages = groups[2]
    assert (pages["closed"], pages["transfers"], pages["offered_bytes"], pages["bytes"]) == (1, 1, 500, 500)
    assert pages["completion_ms"]["p50"] == pytest.approx(400, rel=1e-3)
    table = received.flows(10**8, {1})
    assert table.row(0)[-2:] == (3900 * 80, 3000 * 80)
    assert table["cwnd"].to_list()[0] == 12 and table["ssthresh"].to_list()[0] == float("inf")
    assert np.isnan(table["cwnd"].to_list()[1]) and table["srtt_ms"].to_list()[0] == 20.5
    assert received.transfers([0, 1, 2]).row(0) == (2, 2, 1_500_000_000, 400_000_000, 500)
    with pytest.raises(ValueError, match="unexpected output of"):
        EndpointLog.read(["gibberish 1"])
    for key, row in {"closed": [[3, 1]], "groups": [0, 1, 3], "sent": [[0, 9, 1, 1]]}.items():
        wrong = json.dumps(json.loads(counts) | {key: row})
        with pytest.raises(InputError, match=f"counts: {key}: [39] is not in the scenario"):
            _core.end_summaries(scenario.canonical, wrong, [0], 10**9)


def test_small_things() -> None:
    assert tuple(map(_core.jain, ([3.0, 3.0], [1.0, 0.0, 0.0, 0.0], []))) == (1.0, 0.25, 1.0)


def parent_lines(aqm: str, limit: str = "500 packets") -> list[str]:
    made = queue("link", build(link={"aqm": aqm, "limit": limit}).document["link"])
    assert made.parent is not None
    return [made.line, *made.parent.more]


def test_classful_disciplines_become_classes_queues_and_filters() -> None:
    start = "filter add dev {dev} parent 1: protocol ip prio 2 u32 match ip dsfield"
    assert parent_lines(HTB) == [
        "htb default 20 r2q 10 direct_qlen 1000",
        "class add dev {dev} parent 1: classid 1:1 htb rate 10000000bit ceil 10000000bit burst 1600 cburst 1600",
        "class add dev {dev} parent 1:1 classid 1:10 htb rate 2500000bit ceil 10000000bit burst 3000 cburst 1600 "
        "prio 1",
        "qdisc add dev {dev} parent 1:10 handle e000: codel limit 500 target 5000us interval 100000us noecn",
        f"{start} 0xb8 0xfc flowid 1:10",
        f"{start} 0x88 0xfc flowid 1:10",
        "class add dev {dev} parent 1:1 classid 1:20 htb rate 8000000bit ceil 8000000bit burst 1600 cburst 1600 "
        "overhead 18 linklayer atm quantum 3000",
        "qdisc add dev {dev} parent 1:20 handle e001: pfifo limit 500",
    ]
    assert parent_lines("tbf rate 5mbit burst 5kB limit 50kB { codel@linux }") == [
        "tbf rate 5000000bit burst 5000 limit 50000",
        "qdisc add dev {dev} parent 10:1 handle e000: codel limit 500 target 5000us interval 100000us noecn",
    ]
    assert parent_lines("tbf rate 5mbit burst 5kB latency 50ms peakrate 8mbit mtu 1540B") == [
        "tbf rate 5000000bit burst 5000 latency 50000us peakrate 8000000bit mtu 1540"
    ]
    assert parent_lines("prio handle 7 bands 2 priomap 1,1,1,1,1,1,0,0,1,1,1,1,1,1,1,1 { band 1 match dscp 46 }")[
        1:
    ] == [
        "qdisc add dev {dev} parent 7:1 handle e000: pfifo limit 500",
        "filter add dev {dev} parent 7: protocol ip prio 2 u32 match ip dsfield 0xb8 0xfc flowid 7:1",
        "qdisc add dev {dev} parent 7:2 handle e001: pfifo limit 500",
    ]


def test_classes_follow_their_parents_in_any_order() -> None:
    lines = parent_lines("htb { class 3 parent 2 rate 1mbit; class 2 parent 1 rate 2mbit; class 1 rate 3mbit }")
    assert [line.split()[5:8] for line in lines if line.startswith("class")] == [
        ["1:", "classid", "1:1"],
        ["1:1", "classid", "1:2"],
        ["1:2", "classid", "1:3"],
    ]


@pytest.mark.parametrize(
    ("aqm", "named", "found"),
    [
        (HTB, "1:10", "1 1:10"),
        (HTB, "1:0", "1 1:0"),
        (HTB, "1:1", None),  # not a leaf
        (HTB, "2:10", None),
        (HTB, "0:6", None),
        ("prio", "1:3", "1 1:3"),
        ("prio", "1:4", "1 1:2"),  # not a band, so the band of priority 0
        ("prio", "1:0", "1 1:2"),
        ("prio", "0:6", "3 1:1"),
        ("prio", "2:1", "3 1:2"),
        ("tbf rate 5mbit burst 5kB limit 50kB", "1:1", None),
    ],
)
def test_a_class_that_a_group_names_is_found_by_its_addresses(aqm: str, named: str, found: str | None) -> None:
    network = lay_out(build(link={"aqm": aqm}, flows=[{"kind": "tcp", "count": 2, **SENDER, "class": named}]).document)
    lines = [line for line in network.files["L.tc"].splitlines() if "ip src" in line]
    if found is None:
        assert lines == []
        return
    place, flowid = found.split()
    assert [line.split()[14] for line in lines] == ["10.128.0.0/32", "10.128.0.1/32"], "one for each host"
    assert {(line.split()[9], line.split()[-1]) for line in lines} == {(place, flowid)}
    assert network.files["L.tc"].splitlines()[1].split()[4:7] == ["parent", "f000:1", "handle"]


def test_both_ends_set_the_code_point_of_a_group() -> None:
    flows = [{"kind": "tcp", **SENDER, "dscp": "EF"}, {"kind": "cbr", "rate": "1 Mbit/s", "dscp": "CS1", "ecn": "ect0"}]
    document = build(flows=flows).document
    plan = _core.plan(build(flows=flows).canonical, 1)
    lines = traffic(document, plan, lay_out(document).ends, []).text.splitlines()
    assert [line.split()[0] for line in lines] == ["clock", "bulk", "datagrams"]
    assert lines[1].split()[10] == str(46 << 2) and lines[2].split()[8] == str(8 << 2 | 2)


@pytest.mark.parametrize(
    ("aqm", "error"),
    [
        ("tbf", "link.aqm: the engine kernel does not support a tbf without a rate; write tbf rate"),
        ("prio { band 1 match src 3 }", "match src 3: the engine kernel classifies by DSCP and class only"),
        (
            "prio { band 1 { red@linux min 3kB max 9kB } }",
            "link.aqm: the engine kernel does not support red in a class",
        ),
        ("prio { band 1 { tbf { codel } } }", "link.aqm: the engine kernel does not support nested parents"),
        ("prio handle f000", "link.aqm.handle: the engine kernel reserves handles from e000: on"),
    ],
)
def test_unsupported_children_are_refused(aqm: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        line(aqm)


@pytest.mark.parametrize(
    ("aqm", "text"),
    [
        ("codel@act target 7ms ecn", "codel@act target 7ms ecn"),
        ("avq", "avq"),
        ("dualpi2", "dualpi2"),
        ("fq(codel@act) flows 16", "fq(codel@act) flows 16"),
        ("sojourn:codel@linux", "codel@linux"),
        ("sojourn:tbf rate 9mbit burst 5kB { pi2 }", "tbf rate 9Mbit/s burst 5000B { pi2 }"),
    ],
)
def test_queue_managers_that_the_kernel_lacks_are_sojourn_s(aqm: str, text: str) -> None:
    setting = "limit 40packets rate 10000000bit delay 5000000ns mtu 1514"
    link = {"overhead": "14 B", "account": "adjusted"}
    early = not text.startswith("codel")
    assert line(aqm, "40 packets", **link) == (f"sojourn {setting} {text}", "", "40 packets", early)


def test_sojourn_s_queue_takes_limits_together_and_goes_below_a_parent() -> None:
    words, _, limit, _ = line("rem", "30 packets + 20 kB")
    assert words.startswith("sojourn limit 30packets+20000B rate 10000000bit") and limit == "30 packets + 20000 B"
    assert line("sojourn:sfq@linux", "1000 packets")[2:] == ("127 packets", False), "its own limit is lower"
    network = lay_out(build(link={"aqm": "prio { band 1 { codel@act } }"}).document)
    assert re.search(r"parent 1:1 handle e000: sojourn limit 1000packets .* codel@act$", network.files["L.tc"], re.M)


def test_the_random_stream_of_a_queue_is_set_before_and_after_it_is_made() -> None:
    job = engine._job(build(link={"aqm": "pi2"}), 7, "folder")[1]["job"]
    lines = str(job).splitlines()
    made = next(index for index, text in enumerate(lines) if text.startswith("exec tc -batch"))
    drawn = [index for index, text in enumerate(lines) if text.startswith("random ")]
    before, after = ([lines[index] for index in drawn if (index < made) == is_before] for is_before in (True, False))
    assert len(before) == 2 and before == after
