"""Super-packets on the kernel engine: commands of the guest, and, with a kernel, runs compared with the simulator."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from sojourn import Result, Scenario
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.network import CARRY_OVER, NOT_TRACED, lay_out
from sojourn.engines.kernel.offload import OFFLOADS, SPLITS

TCP = {"kind": "tcp", "cc": "reno", "stack": "linux-6.1"}
WEB = {"kind": "web", "interval": "1 s", "size": "20 kB"}


def job(flows: list[dict[str, Any]], **changes: Any) -> list[str]:
    link = {"rate": "10 Mbit/s", "delay": "5 ms", **changes.pop("link", {})}
    return lay_out(Scenario.build({"duration": "4 s", "link": link, "flows": flows, **changes}).document).job


def arguments(lines: list[str], verb: str) -> dict[str, str]:
    """Arguments of a verb, by device."""
    return {line.split()[1]: line.split(maxsplit=2)[2] for line in lines if line.startswith(f"{verb} ")}


def test_without_super_packets_no_device_has_offloads_or_a_card() -> None:
    lines = job([{**TCP, "access_rate": "1 Gbit/s"}, {**WEB}])
    assert not arguments(lines, "card")
    flags = {int(rest.split()[5]) for rest in arguments(lines, "link").values()}
    assert flags == {CARRY_OVER}


def test_a_sender_s_devices_and_the_bottlenecks_take_super_packets() -> None:
    lines = job([{**TCP, "gso": True, "access_rate": "1 Gbit/s"}, TCP], link={"aqm": "cake", "limit": "10240 packets"})
    flags = {device: int(rest.split()[5]) for device, rest in arguments(lines, "link").items()}
    # Also the routers' devices at both ends, which then send the segments of a super-packet without copying.
    assert {flags[device] for device in ("a0_0", "a0_0.p", "b0", "b0.p")} == {CARRY_OVER | OFFLOADS}
    assert flags["a1"] == flags["a1.p"] == CARRY_OVER and not {"b1", "b1.p"} & set(flags)
    # Both directions of the bottleneck have the same name; one is CAKE's, the other queue does not split.
    ways = [line.split()[7] for line in lines if line.startswith("link f ")]
    assert ways == [str(CARRY_OVER | OFFLOADS | SPLITS), str(CARRY_OVER | OFFLOADS)]
    whole = job([{**TCP, "gso": True}], link={"aqm": "cake no-split-gso", "limit": "10240 packets"})
    assert {line.split()[7] for line in whole if line.startswith("link f ")} == {str(CARRY_OVER | OFFLOADS)}


def test_a_link_s_card_receives_all_packets_of_its_queue() -> None:
    flows = [{**TCP, "count": 2, "access_rate": "1 Gbit/s"}, {**TCP, "direction": "reverse"}]
    lines = job(flows, link={"gro": "40 us"})
    assert arguments(lines, "card") == {"a0_0.p": "0 40000", "a0_1.p": "0 40000", "b1.p": "0 40000"}
    assert lines[lines.index("card a0_0.p 0 40000") - 4 :].index("at R") > 0
    both = job(flows, link={"gro": "40 us"}, reverse={"rate": "1 Mbit/s", "gro": "7 us"})
    assert arguments(both, "card") == {**arguments(lines, "card"), "b0.p": "1 7000", "a1.p": "1 7000"}


def test_in_a_row_the_second_link_s_card_receives_the_first_link_s_packets() -> None:
    lines = job(
        [{**TCP, "route": ["link", "second"]}, {**TCP, "route": ["second"]}],
        links=[{"name": "second", "rate": "5 Mbit/s", "gro": "1 ms"}],
    )
    assert arguments(lines, "card") == {"f0": "2 1000000", "a1.p": "2 1000000"}
    assert lines[lines.index("card f0 2 1000000") - 1] == "at r1"


def test_a_host_s_card_is_its_own() -> None:
    flows = [{**TCP, "gro": "50 us", "count": 2}, {**WEB, "gro": "60 us", "gso": True}]
    lines = job(flows)
    assert arguments(lines, "card") == {"b0_0": "2 50000", "b0_1": "3 50000", "a1_0": "4 60000", "b1_0": "5 60000"}
    network = lay_out(Scenario.build({"duration": "1 s", "link": {"rate": "1 Mbit/s"}, "flows": flows}).document)
    assert "route add 10.1.0.1/32 dev b0_1" in network.files["k0.ip"]
    assert "route add 10.2.0.1/32 dev b0_1.p" in network.files["R.ip"]
    assert arguments(lines, "link")["b1_0"] == f"0 0 0 0 0 {CARRY_OVER | OFFLOADS} {NOT_TRACED}"


def both(flow: dict[str, Any], **link: Any) -> tuple[Result, Result]:
    """The same run by the simulator and by the kernel."""
    document = {
        "duration": "2 s",
        "warmup": "500 ms",
        "link": {"rate": "20 Mbit/s", "delay": "10 ms", "overhead": "38 B", "account": "ip", **link},
        "reverse": {"rate": "1 Gbit/s", "overhead": "38 B", "account": "ip"},
        "flows": [{**TCP, "cc": "cubic", **flow}],
        "probes": {"packets": True},
    }
    here, there = (Scenario.build(document).run(1, engine=engine) for engine in ("simulate", "kernel"))
    return here, there


def packets(result: Result, direction: str = "forward") -> pl.DataFrame:
    return result.packets.filter(pl.col("link") == direction).sort("arrival")


@pytest.mark.parametrize(
    ("aqm", "most", "same"),
    [
        ("droptail", 2, 30),
        ("codel@linux", 2, 30),
        ("pie@linux", 2, 30),
        ("cake besteffort no-split-gso", 2, 30),
        ("cake besteffort", 1, 70),
    ],
)
def test_super_packets_leave_the_queue_as_in_the_simulator(kernel: Kernel, aqm: str, most: int, same: int) -> None:
    """In slow start times are equal to the nanosecond; segments leave back to back, each with its framing."""
    here, there = both({"gso": True}, aqm=aqm, limit="10240 packets")
    columns = ["arrival", "bytes", "fate", "time_s"]
    first, expected = (packets(one).select(columns).head(same) for one in (there, here))
    assert first["bytes"].max() == most * 1500
    assert first.equals(expected)
    links, simulated = (one.totals["links"]["forward"] for one in (there, here))
    assert links["utilisation"] == pytest.approx(simulated["utilisation"], abs=0.02)
    assert links["bytes"] == pytest.approx(simulated["bytes"], rel=0.02)
    # The counters of the whole run equal the sum of all packets' sizes.
    sent = packets(there).filter(~pl.col("fate").cast(str).str.contains("drop"))
    wire = sum(size + 38 * -(-size // 1500) for size in sent.filter(pl.col("time_s") >= 0.5)["bytes"])
    assert links["utilisation"] == pytest.approx(wire * 8 / 1.5 / 20e6, abs=0.01)


def test_the_memory_of_segments_does_not_limit_a_window_of_many_megabytes(kernel: Kernel) -> None:
    """The kernel's receiver stopped at 8 MB when each segment of a super-packet was copied into its own page."""
    document = {
        "duration": "1400 ms",
        "link": {"rate": "1 Gbit/s", "delay": "50 ms", "aqm": "codel@linux", "limit": "10240 packets"},
        "flows": [{**TCP, "cc": "cubic", "gso": True, "gro": "50 us"}],
        "probes": {"flows": "100 ms"},
    }
    here, there = (Scenario.build(document).run(1, engine=engine).flows for engine in ("simulate", "kernel"))
    most, expected = (flows["in_flight"].max() for flows in (there, here))
    assert expected > 9000 and most == pytest.approx(expected, rel=0.05)


def test_cards_coalesce_within_a_poll_as_in_the_simulator(kernel: Kernel) -> None:
    flow = {"access_rate": "10 Gbit/s", "gro": "60 us"}
    here, there = both(flow, rate="500 Mbit/s", gro="50 us", aqm="codel@linux", limit="10240 packets")
    joined, expected = (packets(one) for one in (there, here))
    columns = ["arrival", "bytes", "fate", "time_s"]
    # The 30th has two segments here and three there: the rest of a burst is sent with another write.
    assert joined.select(columns).head(29).equals(expected.select(columns).head(29))
    assert joined["bytes"].max() > 60_000 and expected["bytes"].max() > 60_000
    acknowledgments = [packets(one, "reverse").height for one in (there, here)]
    assert acknowledgments[0] == pytest.approx(acknowledgments[1], rel=0.06)
    assert joined.height == pytest.approx(expected.height, rel=0.1)
    plain = both({"access_rate": "10 Gbit/s"}, rate="500 Mbit/s", aqm="codel@linux", limit="10240 packets")[1]
    assert packets(plain)["bytes"].max() == 1500
    assert packets(plain, "reverse").height > 1.1 * acknowledgments[0]
