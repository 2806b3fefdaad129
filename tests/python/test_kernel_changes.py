"""`[[changes]]` on the kernel engine: tc changes a queue discipline at the given time."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from sojourn import InputError, Scenario, engines
from sojourn.engines.kernel import changes
from sojourn.engines.kernel.cache import find
from sojourn.engines.kernel.network import START_NS, lay_out

FLOWS = [{"kind": "tcp", "cc": "cubic", "stack": "linux-6.1", "rtt": "20 ms", "count": 2}]


def build(aqm: str, *entries: dict[str, Any], **more: Any) -> Scenario:
    link = {"rate": "10 Mbit/s", "aqm": aqm, **more.pop("link", {})}
    document = {"duration": "10 s", "warmup": "1 s", "link": link, "flows": FLOWS, "changes": list(entries), **more}
    return Scenario.build(document)


def job(scenario: Scenario) -> tuple[list[str], dict[str, str]]:
    network = lay_out(scenario.document)
    before = len(network.job)
    changes.add(scenario.document, network)
    return network.job[before:], {name: network.files[name] for name in network.changes}


def test_changes_are_lines_of_tc_at_their_instants() -> None:
    scenario = build(
        "codel@linux",
        {"at": "2 s", "link": {"aqm": "codel@linux target 40ms", "limit": "70 packets"}},
        {"at": "3 s", "link": {"limit": "90 packets", "rate": "4 Mbit/s"}, "reverse": {"limit": "9 packets"}},
        {"at": "10 s", "link": {"limit": "5 packets"}},
    )
    lines, files = job(scenario)
    made = "qdisc change dev f parent 1:1 handle 10: {}\n"
    assert files == {
        "change0.tc": made.format("codel limit 70 target 40000us interval 100000us noecn"),
        "change1.tc": made.format("codel limit 90 target 40000us interval 100000us noecn"),
        "change2.tc": made.format("pfifo limit 9"),
    }, "the rate is in the schedule, and nothing changes at the end"
    assert [line for line in lines if line.startswith("at ")] == ["at L", "at -", "at L", "at -", "at R", "at -"]
    waits = [line.split()[-2:] for line in lines if line.startswith("exec ")]
    assert waits == [
        [str(START_NS + at - 1), f"change{n}.tc"] for n, at in enumerate((2 * 10**9, 3 * 10**9, 3 * 10**9))
    ]


def test_another_manager_has_a_new_handle() -> None:
    _, files = job(
        build(
            "codel@linux",
            {"at": "2 s", "link": {"aqm": "red@linux target 5ms"}},
            {"at": "3 s", "link": {"aqm": "pie@linux", "limit": "70 packets"}},
            {"at": "4 s", "link": {"limit": "60 packets"}},
            {"at": "5 s", "reverse": {"aqm": "fq_codel@linux"}},
        )
    )
    assert [files[f"change{number}.tc"].split(" limit ")[0] for number in range(4)] == [
        "qdisc replace dev f parent 1:1 handle 11: red",
        "qdisc replace dev f parent 1:1 handle 12: pie",
        "qdisc change dev f parent 1:1 handle 12: pie",
        "qdisc replace dev f parent 1:1 handle 11: fq_codel",
    ]
    assert files["change0.tc"].splitlines()[1].startswith("qdisc add dev f parent 11:1 handle 1011: pfifo limit ")


def test_a_number_of_flows_is_left_out_as_linux_wants_it() -> None:
    _, files = job(
        build("fq_codel@linux flows 64", {"at": "2 s", "link": {"aqm": "fq_codel@linux flows 64 target 9ms"}})
    )
    assert " flows " not in files["change0.tc"] and " target 9000us " in files["change0.tc"]


@pytest.mark.parametrize(
    ("aqm", "change", "place", "reason"),
    [
        (
            "codel@linux",
            {"aqm": "tbf rate 5mbit burst 5kB { codel }"},
            "changes[0].link.aqm",
            "does not replace tbf while it runs",
        ),
        (
            "tbf@linux rate 5mbit burst 5kB { codel }",
            {"aqm": "codel"},
            "changes[0].link.aqm",
            "does not replace tbf while it runs",
        ),
        ("codel@linux", {"aqm": "fq"}, "changes[0].link.aqm", "does not tell a queue when senders want"),
        ("codel@linux", {"loss": 0.01}, "changes[0].link.loss", "does not support loss behind the queue"),
        ("sfq@linux", {"limit": "9 packets"}, "changes[0].link.limit", "does not change sfq while it runs"),
        ("red@linux target 5ms", {"limit": "9 packets"}, "changes[0].link.limit", "does not change red while it runs"),
    ],
)
def test_unsupported_changes_are_refused(aqm: str, change: dict[str, Any], place: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        engines.check("kernel", build(aqm, {"at": "2 s", "link": change}))
    assert str(refused.value).startswith(f"{place}: the engine kernel {reason}")


def test_other_engines_name_engines_with_changes() -> None:
    with pytest.raises(InputError, match="use --engine simulate, emulate or kernel"):
        engines.check("ns2", build("codel", {"at": "2 s", "link": {"limit": "9 packets"}}))


@pytest.mark.skipif(find() is None, reason="no kernel is built; run sojourn kernel build")
@pytest.mark.parametrize(
    ("aqm", "change", "limit_ms"),
    [
        ("codel@linux", {"aqm": "codel@linux target 40ms"}, (25, 45)),
        ("fq_codel@linux", {"aqm": "fq_codel@linux target 30ms"}, (15, 40)),
        # 20 packets of 1500 bytes, framed, take 24.2 ms.
        ("droptail", {"limit": "20 packets"}, (10, 24.3)),
        ("cake@linux bandwidth 9mbit", {"aqm": "cake@linux bandwidth 2mbit"}, (10, 60)),
        ("codel@act", {"aqm": "codel@act target 40ms"}, (25, 45)),
        ("sojourn:tbf rate 9mbit burst 5kB { codel }", {"aqm": "sojourn:tbf rate 3mbit burst 5kB { codel }"}, (5, 60)),
    ],
)
def test_a_queue_changes_in_the_guest(aqm: str, change: dict[str, Any], limit_ms: tuple[float, float]) -> None:
    link = {"limit": "20000 packets"} if "cake" in aqm else {"limit": "1000 packets"}
    scenario = build(aqm, {"at": "4 s", "link": change}, link=link, probes={"packets": True})
    runs = [engines.run(scenario, 1, engine) for engine in ("simulate", "kernel", "kernel")]
    assert runs[1].fingerprint == runs[2].fingerprint, "the change comes at the same nanosecond"
    for result in runs[:2]:
        packets = result.packets.filter((pl.col("link") == "forward") & pl.col("sojourn_ms").is_not_null())
        before = packets.filter(pl.col("time_s").is_between(2, 4))["sojourn_ms"].median()
        after = packets.filter(pl.col("time_s").is_between(6, 10))["sojourn_ms"].median()
        assert isinstance(before, float) and isinstance(after, float)
        assert limit_ms[0] < after < limit_ms[1], result.engine
        assert after < before if aqm == "droptail" else after > 1.5 * before, result.engine


@pytest.mark.skipif(find() is None, reason="no kernel is built; run sojourn kernel build")
def test_another_manager_starts_with_an_empty_queue() -> None:
    scenario = build(
        "droptail",
        {"at": "4 s", "link": {"aqm": "codel@linux"}},
        {"at": "7 s", "link": {"aqm": "red@linux target 30ms"}},
        link={"limit": "100 packets"},
        probes={"packets": True},
    )
    runs = [engines.run(scenario, 1, engine) for engine in ("simulate", "kernel", "kernel")]
    assert runs[1].fingerprint == runs[2].fingerprint, "the change comes at the same nanosecond"
    for result in runs[:2]:
        packets = result.packets.filter(pl.col("link") == "forward")
        removed = packets.filter(pl.col("fate") == "dropped: replaced")
        at = removed.filter(pl.col("time_s") < 5)["time_s"].to_list()
        assert 30 <= len(at) <= 100, (result.engine, len(at))
        assert all(abs(one - 4) < 1e-6 for one in at), result.engine
        counted = result.links.filter(pl.col("link") == "forward")["dropped_replaced"].item()
        assert counted == len(removed), "both are counted"
        kept = packets.filter(pl.col("sojourn_ms").is_not_null())
        before, after, last = (
            kept.filter(pl.col("time_s").is_between(begin, end))["sojourn_ms"].median()
            for begin, end in ((2, 4), (5, 7), (8, 10))
        )
        assert before > 60 and after < 15 < last, (result.engine, before, after, last)
