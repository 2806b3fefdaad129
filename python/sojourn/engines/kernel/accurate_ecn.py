"""A kernel's ECN negotiation and feedback in the ACE field of TCP: ``python -m sojourn.kernel.accurate_ecn``.

Handshake and codepoints of data for each pair of values of `net.ipv4.tcp_ecn` at both ends; a marking queue shows the
receiver's counter. Accurate ECN is RFC 9768, here without its option (`tcp_ecn_option = 0`), as in `crates/tcp`.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from sojourn import _core
from sojourn.base.files import write_file
from sojourn.base.progress import progress
from sojourn.engines.kernel.cache import VERSIONS, Kernel, built
from sojourn.engines.kernel.guest import boot, job_folder
from sojourn.engines.kernel.network import START_NS, lay_out
from sojourn.engines.kernel.trace import OFFERED, SENT, read_trace
from sojourn.engines.kernel.traffic import traffic
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    import numpy.typing as npt

VALUES = range(6)
"""`tcp_ecn`: off; RFC 3168; RFC 3168 passive; accurate; accurate passive, RFC 3168 active; accurate passive."""
CODEPOINTS = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
SYN, ACE_SHIFT, ACE_MASK = 2, 6, 7
RATE, DELAY_NS = 10_000_000, 10_000_000
DOCUMENT: dict[str, Any] = {
    "name": "accurate-ecn",
    "duration": "1 s",
    "warmup": "0 s",
    "link": {"rate": "10 Mbit/s", "delay": "10 ms", "aqm": "codel@linux target 1ms interval 5ms ecn"},
    "flows": [{"kind": "tcp", "cc": "cubic", "stack": "linux-6.1", "ecn": True, "spread": "0 s"}],
}
FORWARD, REVERSE = 0, 1
HEADERS = 52
"""Bytes of the headers of IP and of TCP with timestamps."""


def trace_flow(kernel: Kernel, client: int, server: int) -> npt.NDArray[Any]:
    """Trace of a flow from client to server with these values of `tcp_ecn`."""
    scenario = Scenario.build(DOCUMENT)
    document = scenario.document
    network = lay_out(document)
    plan = _core.plan(scenario.canonical, 1)
    flows = traffic(document, plan, network.ends, _core.starts(scenario.canonical).tolist())
    values = iter((client, server))
    setup = []
    for line in network.job:
        is_tcp_ecn = line.startswith("write /proc/sys/net/ipv4/tcp_ecn ")
        setup.append(f"write /proc/sys/net/ipv4/tcp_ecn {next(values)}" if is_tcp_ecn else line)
        if is_tcp_ecn:
            setup.append("write /proc/sys/net/ipv4/tcp_ecn_option 0")
    with job_folder() as folder:
        router, device = network.traced
        ends = [f"at {router}", f"trace {device} {folder}/trace", "at -", "run traffic out", f"at {router}"]
        files: dict[str, str | bytes] = {**network.files, **flows.files, "traffic": flows.text}
        files["job"] = "\n".join([*setup, *ends, f"flush {device}", "at -", ""])
        boot(kernel, folder, files, seed=1)
        return read_trace(folder / "trace")


def ace(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """ACE field: AE, CWR and ECE as a number (RFC 9768 §3.1)."""
    return events["flags"].astype(int) >> ACE_SHIFT & ACE_MASK


def handshake(events: npt.NDArray[Any]) -> tuple[int, int, int, int]:
    """ACE of the SYN and of the SYN-ACK, then ECN codepoint and ACE of the first data packet."""
    offered = events[events["what"] == OFFERED]
    forward, back = (offered[offered["link"] == link] for link in (FORWARD, REVERSE))
    syn, syn_ack = (one[(one["flags"] & SYN) > 0][0] for one in (forward, back))
    data = forward[forward["bytes"] > HEADERS + 100][0]
    return int(ace(syn)), int(ace(syn_ack)), int(data["ecn"]), int(ace(data))


def feedback(events: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Arrivals of data at the receiver (time, codepoint, payload), and its acknowledgments (time, ACE)."""
    sent = events[(events["what"] == SENT) & (events["link"] == FORWARD)]
    sizes = {row["id"]: row["bytes"] for row in events[(events["what"] == OFFERED) & (events["link"] == FORWARD)]}
    size = np.array([sizes[number] for number in sent["id"]], np.int64)
    at = sent["at"].astype(np.int64) - START_NS + size * 8 * 10**9 // RATE + DELAY_NS
    is_data = size > HEADERS + 100
    data = np.column_stack([at, sent["ecn"], size - HEADERS])[is_data]
    back = events[(events["what"] == OFFERED) & (events["link"] == REVERSE) & ((events["flags"] & SYN) == 0)]
    return data, np.column_stack([back["at"].astype(np.int64) - START_NS, ace(back)])


def vector(kernel: Kernel) -> str:
    """Lines `data AT CODEPOINT BYTES` and `ack AT ACE` in order of time; data first at equal times."""
    data, acks = feedback(trace_flow(kernel, 3, 3))
    lines = [(at, 0, f"data {at} {ecn} {size}") for at, ecn, size in data.tolist()]
    lines += [(at, 1, f"ack {at} {bits}") for at, bits in acks.tolist()]
    return "".join(f"{text}\n" for _, _, text in sorted(lines))


@click.command()
@click.option(
    "--vector",
    "to",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the receiver's counters to this file.",
)
def main(path: Path | None) -> None:
    """Print the table of handshakes, or write a vector of a receiver's feedback."""
    kernel = built(VERSIONS[-1])
    if path:
        text = vector(kernel)
        write_file(path, lambda file: file.write(text.encode()))
        return
    click.echo("| client | server | SYN | answer | data | bits of data |\n|---|---|---|---|---|---|")
    pairs = list(product(VALUES, VALUES))
    with progress() as report:
        for done, (client, server) in enumerate(pairs, 1):
            syn, syn_ack, codepoint, bits = handshake(trace_flow(kernel, client, server))
            report(done / len(pairs), done, len(pairs))
            click.echo(f"| {client} | {server} | {syn:03b} | {syn_ack:03b} | {CODEPOINTS[codepoint]} | {bits:03b} |")


if __name__ == "__main__":
    main()
