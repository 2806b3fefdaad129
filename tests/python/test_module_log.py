"""Logs of the kernel module: their calls replayed through the simulator's queue.

`make module-rig` takes such a log from an unmodified kernel; here `Queue` writes the records.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from conftest import Cli
from sojourn.base.errors import InputError
from sojourn.io.traces import module_log as log
from sojourn.io.traces.module_log import RECORD

CREATED_NS = 7_123_456_789
LINE = "codel@act target 7ms ecn"
REASONS = ["limit", "early", "late", "hard-limit", "replaced"]


def text(line: str = LINE, limit: str = "30packets", created_ns: int = CREATED_NS, first: int = 0) -> list[np.void]:
    """Records of a creation."""
    whole = f"rate 8000000 delay 20000000 seed 5 mtu 1514 limit {limit} {line}".encode()
    records = []
    for at in range(0, len(whole), 24):
        record = np.zeros((), RECORD)
        record["number"], record["kind"] = len(whole) - at, log.TEXT
        start = record.tobytes()[: log.PAYLOAD]
        records.append(np.frombuffer(start + whole[at : at + 24].ljust(24, b"\0"), RECORD)[0])
    return [*records, event(created_ns, log.CREATED, first)]


def event(now: int, kind: int, number: int = 0, code: int = 0) -> np.void:
    return np.array((now, number, kind, code, 0, 0, 0, 0, (0, 0), 0), RECORD)[()]


def traffic(packets: int, first: int = 0, created_ns: int = CREATED_NS) -> list[np.void]:
    """Records of bursts at a queue that is asked for packets every 1 to 2 ms, and of updates at the end."""
    rng, queue = random.Random(11), sj.Queue(LINE, limit="30 packets")
    records: list[np.void] = []
    now, due, number = 0, 0, 0
    while number < packets:
        now += rng.choice([0, 317, 911_003, 2_600_001]) if rng.random() < 0.99 else 60_000_000
        while due < now:
            popped = queue.pop(due)
            records += [event(created_ns + due, log.DROP, *drop) for drop in drops(queue)]
            if popped is None:
                records.append(event(created_ns + due, log.NO_PACKET))
            else:
                ecn = 3 if popped.marked or popped.tag % 7 == 3 else popped.tag % 7
                records.append(event(created_ns + due, log.DEPARTURE, popped.tag, ecn if ecn < 4 else 0))
            due += rng.randrange(1_000_000, 2_000_000)
        tag, size = first + number, rng.randrange(60, 1515)
        ecn = tag % 7 if tag % 7 < 4 else 0
        arrival = np.array((created_ns + now, tag, log.ARRIVAL, 0, 1, size, tag % 5, 0, (1, 2), 4 * 46 + ecn), RECORD)
        records.append(arrival[()])
        queue.push(now, size, flow=tag % 5, ecn=ecn, tag=tag)
        records += [event(created_ns + now, log.DROP, *drop) for drop in drops(queue)]
        number += 1
    return [*records, event(created_ns + now + 1, log.SETTLED)]


def drops(queue: sj.Queue) -> list[tuple[int, int]]:
    return [(tag, REASONS.index(reason)) for tag, reason in queue.dropped()]


def written(folder: Path, records: list[np.void], order: str = "<", cut: int = 0) -> Path:
    path = folder / "v0-1"
    data = np.array(records, RECORD).astype(RECORD.newbyteorder(order)).tobytes()  # type: ignore[arg-type]
    # The text is the same in both orders.
    data = b"".join(
        data[at : at + log.PAYLOAD] + record.tobytes()[log.PAYLOAD :]
        if record["kind"] == log.TEXT
        else data[at : at + 40]
        for at, record in zip(range(0, len(data), 40), records, strict=True)
    )
    path.write_bytes(data[: len(data) - cut])
    return path


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_queue_s_own_line_explains_every_verdict(tmp_path: Path, cli: Cli, order: str) -> None:
    path = written(tmp_path, [*text(), *traffic(2000), event(10**13, log.NO_PACKET)], order, cut=13)
    result = cli("aqm", "diff", "--log", path)
    assert result.exit_code == 0, result.output
    [a, b, arrivals, agreement] = result.output.splitlines()
    assert [a, b] == [f"A: {LINE}", f"B: recorded: {LINE}"]
    assert arrivals == "Arrivals: 2000 arrivals of v0-1, 8 Mbit/s, limit 30packets"
    assert agreement.startswith("Agreement: 100.00 % of 2000 packets")
    kinds = [int(record["kind"]) for record in traffic(2000)]
    assert min(kinds.count(log.DROP), kinds.count(log.NO_PACKET)) > 20


def test_another_line_differs_and_exits_with_1(tmp_path: Path, cli: Cli) -> None:
    path = written(tmp_path, [*text(), *traffic(2000)])
    result = cli("aqm", "diff", "codel@act target 8ms ecn", "--log", path)
    assert result.exit_code == 1, result.output
    assert "First difference: packet" in result.output
    both = cli("aqm", "diff", "codel", "codel@act target 8ms", "--log", path)
    assert both.exit_code == 1, both.output


def test_a_changed_verdict_is_found(tmp_path: Path) -> None:
    records = traffic(2000)
    [place, *_] = [place for place, record in enumerate(records) if record["code"] == 3 and record["number"] % 7 != 3]
    records[place] = event(int(records[place]["now"]), log.DEPARTURE, int(records[place]["number"]), 1)
    first = sj.diff(None, log=written(tmp_path, [*text(), *records])).first_difference
    assert first is not None
    assert first["index"] == records[place]["number"]
    assert (first["a"]["verdict"], first["b"]["verdict"]) == ("mark", "pass")


@pytest.mark.parametrize(
    ("kind", "end"),
    [(log.CHANGE, "a change"), (log.RESET, "a reset"), (log.FAILED, "a failure"), (log.LOST, "lost records")],
)
def test_a_log_is_compared_up_to_its_end(tmp_path: Path, kind: int, end: str) -> None:
    after = int(traffic(300)[-1]["now"]) + 5
    later = traffic(90, 300, after + 10)
    records = [*text(), *traffic(300), event(after, kind, 7), *text(created_ns=after + 9, first=300), *later]
    found = sj.diff(None, log=written(tmp_path, records))
    assert found.source.startswith(f"300 arrivals of v0-1, part 1 of 2, up to {end}, ")
    assert found.agreeing == found.packets == 300


def test_a_refused_change_ends_nothing(tmp_path: Path) -> None:
    records = traffic(300)
    now = int(records[99]["now"])
    refused = [*text("codel target 9ms")[:-1], event(now, log.CHANGE), event(now, log.REFUSED)]
    found = sj.diff(None, log=written(tmp_path, [*text(), *records[:100], *refused, *records[100:]]))
    assert found.agreeing == found.packets == 300


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda records: records[len(text()) :], "not the log of a queue; read .* from its start"),
        (lambda records: [*text()[:-1], *records[len(text()) :]], "the log has no creation"),
        (lambda records: [*records[:20], *records[30:]], "arrivals are not in order"),
        (lambda records: [*records, event(10**12, log.DEPARTURE, 7777), event(2 * 10**12, 6)], "has not arrived"),
        (lambda records: [*text("cake ack-filter"), *records[len(text()) :]], "reads TCP headers"),
        (lambda records: [*text("my_aqm target 1ms"), *records[len(text()) :]], "my_aqm"),
        (lambda records: [*text(limit="many"), *records[len(text()) :]], "many"),
        (lambda records: [*text()[:1], *records[len(text()) - 1 :]], "has another form"),
        (lambda records: text(), "no packet arrived"),
    ],
)  # fmt: skip
def test_damaged_logs_are_refused(tmp_path: Path, change: Callable[[list[np.void]], list[np.void]], error: str) -> None:
    path = written(tmp_path, change([*text(), *traffic(40)]))
    with pytest.raises(InputError, match=error):
        sj.diff(None, log=path)


def test_only_a_module_s_log_has_its_own_line(cli: Cli, tmp_path: Path) -> None:
    result = cli("aqm", "diff", "--scenario", "x.toml")
    assert (result.exit_code, "nothing to compare with; give a second AQM" in result.stderr) == (2, True)
    with pytest.raises(InputError, match="no queue manager; give one"):
        sj.diff(None, "codel", packets=10)
    path = written(tmp_path, [*text(), *traffic(40)])
    assert "leave it out" in cli("aqm", "diff", "--log", path, "--link", "up").stderr


def test_a_log_of_very_many_creations_is_read(tmp_path: Path) -> None:
    records = [*text(), *[event(CREATED_NS, log.CREATED)] * 50_000, *text(), *traffic(40)]
    found = sj.diff(None, log=written(tmp_path, records))
    assert found.source.startswith("40 arrivals of v0-1, part 50002 of 50002, ")
