"""What a kernel says with the three bits of ECN in TCP's header: ``python -m sojourn.kernel.accurate_ecn``.

Each value of `net.ipv4.tcp_ecn` that newer kernels have, at either end: what the handshake says, and what data then
carry. A queue that marks shows what the receiver counts. Accurate ECN is RFC 9768, here without its option
(`tcp_ecn_option = 0`), as in `crates/tcp`.
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
"""Of `tcp_ecn`: no ECN; classic; classic if asked; accurate; accurate if asked, asks for classic; accurate if asked."""
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
"""Of IP and TCP with timestamps."""


def seen(kernel: Kernel, client: int, server: int) -> npt.NDArray[Any]:
    """The trace of a flow whose ends have these values; the client sends the data."""
    scenario = Scenario.build(DOCUMENT)
    document = scenario.document
    network = lay_out(document)
    plan = _core.plan(scenario.canonical, 1)
    told = traffic(document, plan, network.ends, _core.starts(scenario.canonical).tolist())
    values = iter((client, server))
    setup = []
    for line in network.job:
        asked = line.startswith("write /proc/sys/net/ipv4/tcp_ecn ")
        setup.append(f"write /proc/sys/net/ipv4/tcp_ecn {next(values)}" if asked else line)
        if asked:
            setup.append("write /proc/sys/net/ipv4/tcp_ecn_option 0")
    with job_folder() as folder:
        router, device = network.traced
        ends = [f"at {router}", f"trace {device} {folder}/trace", "at -", "run traffic out", f"at {router}"]
        files: dict[str, str | bytes] = {**network.files, **told.files, "traffic": told.text}
        files["job"] = "\n".join([*setup, *ends, f"flush {device}", "at -", ""])
        boot(kernel, folder, files, seed=1)
        return read_trace(folder / "trace")


def ace(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """AE, CWR and ECE as a number."""
    return events["flags"].astype(int) >> ACE_SHIFT & ACE_MASK


def handshake(events: npt.NDArray[Any]) -> tuple[int, int, int, int]:
    """The three bits of the SYN and of its answer, then the codepoint and the bits of the first data."""
    offered = events[events["what"] == OFFERED]
    there, back = (offered[offered["link"] == link] for link in (FORWARD, REVERSE))
    asked, answer = (one[(one["flags"] & SYN) > 0][0] for one in (there, back))
    data = there[there["bytes"] > HEADERS + 100][0]
    return int(ace(asked)), int(ace(answer)), int(data["ecn"]), int(ace(data))


def feedback(events: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """When data arrive at the receiver, with codepoint and payload; when it sends acknowledgments, with their bits."""
    sent = events[(events["what"] == SENT) & (events["link"] == FORWARD)]
    sizes = {row["id"]: row["bytes"] for row in events[(events["what"] == OFFERED) & (events["link"] == FORWARD)]}
    size = np.array([sizes[number] for number in sent["id"]], np.int64)
    at = sent["at"].astype(np.int64) - START_NS + size * 8 * 10**9 // RATE + DELAY_NS
    is_data = size > HEADERS + 100
    data = np.column_stack([at, sent["ecn"], size - HEADERS])[is_data]
    back = events[(events["what"] == OFFERED) & (events["link"] == REVERSE) & ((events["flags"] & SYN) == 0)]
    return data, np.column_stack([back["at"].astype(np.int64) - START_NS, ace(back)])


def vector(kernel: Kernel) -> str:
    """Lines `data AT CODEPOINT BYTES` and `ack AT BITS`, in the order of time; data come first."""
    data, acks = feedback(seen(kernel, 3, 3))
    lines = [(at, 0, f"data {at} {ecn} {size}") for at, ecn, size in data.tolist()]
    lines += [(at, 1, f"ack {at} {bits}") for at, bits in acks.tolist()]
    return "".join(f"{text}\n" for _, _, text in sorted(lines))


@click.command()
@click.option(
    "--vector", "to", type=click.Path(path_type=Path, dir_okay=False), help="Write what a receiver counts there."
)
def main(to: Path | None) -> None:
    """Print the table of handshakes; or write a vector of what a receiver counts."""
    kernel = built(VERSIONS[-1])
    if to:
        text = vector(kernel)
        write_file(to, lambda file: file.write(text.encode()))
        return
    click.echo("| client | server | SYN | answer | data | bits of data |\n|---|---|---|---|---|---|")
    pairs = list(product(VALUES, VALUES))
    with progress() as tell:
        for done, (client, server) in enumerate(pairs, 1):
            asked, answer, codepoint, bits = handshake(seen(kernel, client, server))
            tell(done / len(pairs), done, len(pairs))
            click.echo(f"| {client} | {server} | {asked:03b} | {answer:03b} | {CODEPOINTS[codepoint]} | {bits:03b} |")


if __name__ == "__main__":
    main()
