"""Hosts that flows share: under CAKE, in replays, and the addresses that the kernel's queues see."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from captures import pcap
from sojourn import InputError, Scenario
from sojourn.engines.emulated.ports import Ports
from sojourn.engines.hosts import hosts_of
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.host_shares import BANDS, compare
from sojourn.engines.kernel.hosts import CLIENT_PORTS, HostTable
from sojourn.engines.kernel.network import lay_out

CAKE = {"rate": "10 Mbit/s", "delay": "4 ms", "aqm": "cake dual-dsthost", "limit": "10240 packets"}
TCP = {"kind": "tcp", "cc": "cubic", "stack": "linux-6.1"}


def home(*flows: dict[str, Any], **changes: Any) -> Scenario:
    return Scenario.build({"duration": "9 s", "warmup": "3 s", "link": CAKE, "flows": list(flows), **changes})


def rates(scenario: Scenario) -> list[float]:
    """Goodput of each group in Mbit/s."""
    return [group["goodput_bps"] / 1e6 for group in scenario.run(1).totals["groups"]]


def udp(source: str, destination: str, port: int, payload: int) -> bytes:
    addresses = b"".join(bytes(map(int, address.split("."))) for address in (source, destination))
    head = struct.pack(">BBHHHBBH", 0x45, 0, 28 + payload, 0, 0, 64, 17, 0)
    return head + addresses + struct.pack(">HHHH", 443, port, 8 + payload, 0) + bytes(payload)


def tcp(source: str, destination: str, port: int, seq: int, payload: int) -> bytes:
    addresses = b"".join(bytes(map(int, address.split("."))) for address in (source, destination))
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0)
    return head + addresses + struct.pack(">HHIIHHHH", 443, port, seq, 1, 0x5010, 99, 0, 0) + bytes(payload)


RAW_IP = 101


def test_a_replay_keeps_the_hosts_of_its_capture(tmp_path: Path) -> None:
    """16 flows of one machine at home and one of another, each of 2 Mbit/s, over 10 Mbit/s."""
    flows = [("192.168.1.5", 4000 + n) for n in range(16)] + [("192.168.1.77", 4000)]
    frames = [
        (5_000_000 * step + 1_000 * n, udp("203.0.113.9", host, port, 1222))
        for step in range(1600)
        for n, (host, port) in enumerate(flows)
    ]
    (tmp_path / "home.pcap").write_bytes(pcap(frames, nano=True, link=RAW_IP))
    scenario = home({"kind": "pcap", "file": str(tmp_path / "home.pcap")}, duration="8 s")
    result = scenario.run(1)
    sent = [flow["goodput_bps"] / 1e6 for flow in result.totals["flows"]]
    assert sent[16] == pytest.approx(1.956, abs=0.03), "less than half the link: nothing of it is dropped"
    assert sum(sent[:16]) == pytest.approx(7.82, abs=0.05)
    single = scenario.replace({"link.rate": "3 Mbit/s"}).run(1).totals["flows"]
    assert single[16]["goodput_bps"] / 1e6 == pytest.approx(1.46, abs=0.05), "half of the link"
    assert max(flow["goodput_bps"] for flow in single[:16]) < 0.12e6


def test_transfers_of_a_capture_have_its_hosts(tmp_path: Path) -> None:
    """Eight long transfers to one machine and one to another, which has what a single CUBIC uses of half the link."""
    machines = [*(("192.168.1.5", 4000 + n) for n in range(8)), ("192.168.1.77", 4000)]
    frames = [
        (1_000 * n + k, tcp("203.0.113.9", host, port, 1 + 1_000_000 * k, 1000))
        for n, (host, port) in enumerate(machines)
        for k in range(50)
    ]
    (tmp_path / "home.pcap").write_bytes(pcap(sorted(frames, key=lambda one: one[0]), nano=True, link=RAW_IP))
    replay = {"kind": "pcap", "file": str(tmp_path / "home.pcap"), "send": "transfers"}
    packets = home(replay, probes={"packets": True}).run(1).packets.filter(pl.col("link") == "forward")
    sent = packets.filter((pl.col("time_s") > 3) & (pl.col("fate").cast(pl.String) == "sent"))
    by_host = sent.group_by("to_host").agg(pl.col("bytes").sum(), pl.col("flow").n_unique())
    flows = dict(by_host.select("flow", "bytes").iter_rows())
    assert flows.keys() == {1, 8}
    assert flows[1] / sum(flows.values()) == pytest.approx(0.45, abs=0.03)


def test_a_capture_decides_its_hosts(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap([(0, udp("10.0.0.1", "10.0.0.2", 9, 30))], nano=True, link=RAW_IP))
    with pytest.raises(InputError, match=r"flows\[0\].host: the capture's addresses are the hosts; leave it out"):
        home({"kind": "pcap", "file": str(tmp_path / "a.pcap"), "host": "pc"})


def test_names_change_the_hash_and_their_absence_does_not() -> None:
    plain, named = home(TCP), home({**TCP, "host": "pc"})
    assert "host" not in plain.document["flows"][0] and plain.canonical != named.canonical
    assert rates(plain) == rates(named), "one flow has the link for itself"


def test_traced_queues_see_an_address_for_each_host() -> None:
    scenario = home({**TCP, "count": 3, "host": "pc"}, {**TCP, "direction": "reverse", "host": "pc", "peer_host": "x"})
    table = HostTable.of(scenario.document)
    assert hosts_of(scenario.document).tolist() == [[0, 1]] * 3 + [[1, 3]]
    assert table.is_shared
    rows = np.frombuffer(table.table(), "<u4").reshape(-1, 3).tolist()
    step = CLIENT_PORTS // 3
    assert rows == [[0, 1, 0], [0, 1, step], [0, 1, 2 * step], [1, 3, 0]]
    ends = lay_out(scenario.document).ends
    assert [end.in_queues for end in ends] == [("10.128.0.0", "10.128.0.1")] * 3 + [("10.128.0.1", "10.128.0.3")]
    assert len({end.source_address for end in ends}) == 4
    alone = lay_out(home(TCP, TCP).document)
    assert not alone.hosts.is_shared
    assert [end.in_queues for end in alone.ends] == [(end.source_address, end.sink_address) for end in alone.ends]


def test_a_host_with_two_classes_is_refused_by_the_kernel_engine() -> None:
    link = {**CAKE, "aqm": "prio"}
    flows = [{**TCP, "class": f"1:{band}", "host": "pc", "peer_host": "server"} for band in (1, 2)]
    with pytest.raises(InputError, match="chooses a class by address, one for each host"):
        lay_out(home(*flows, link=link).document)
    filters = lay_out(home(flows[0], flows[0], link=link).document).files["L.tc"]
    assert filters.count("10.128.0.0/32") == filters.count("10.128.0.1/32") == 1, "not one for each flow"


def test_ports_tell_hosts_apart_in_the_emulator() -> None:
    flows = [{**TCP, "count": 5, "hosts": 2}, {**TCP, "host": "pc"}, {**TCP, "direction": "reverse", "host": "pc"}]
    ports = Ports.of(home(*flows).document)
    assert [list(group) for group in ports.by_group] == [[5001, 5002, 5001, 5002, 5001], [5003], [5004]]
    assert ports.hosts == ["5001=1,0", "5002=6,0", "5003=3,2", "5004=3,5"]
    assert not Ports.of(home({**TCP, "count": 4}).document).hosts, "all flows have the same two"


@pytest.mark.parametrize("number", [4, 6, 7])
def test_shares_of_hosts_are_those_of_the_kernel(kernel: Kernel, number: int) -> None:
    """One mix each of flows, dual-dsthost and triple-isolate."""
    mix = compare(1, number, "kernel")
    assert mix.difference <= BANDS["kernel"], (mix.simulated, mix.other)
