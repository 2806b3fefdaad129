"""`sojourn pcap`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo

if TYPE_CHECKING:
    import polars as pl

    from sojourn.io.pcap.capture import Capture

capture = options.PATH
parquet = click.option(
    "-o", "--output", "target", type=capture, metavar="FILE.parquet", help="Write all values to a table."
)


@click.group("pcap", cls=Group)
def command() -> None:
    """Write captures from results; measure RTT and goodput in captures, simulated or real (pcap and pcapng)."""


@command.command("export")
@click.argument("result", type=capture)
@click.option(
    "--side", required=True, type=options.Word(["in", "out"]), help="Capture point: before or after the queue."
)
@click.option(
    "--link",
    metavar="LINK",
    help="Link of the queue: forward, reverse or a name [the first one]. For rtt, use both: both directions at the "
    "first bottleneck.",
)
@click.option("--payload", is_flag=True, help="Write the payload too (zeros), not just the headers.")
@click.option("-o", "--output", "target", required=True, type=capture, metavar="FILE.pcapng", help="File to write.")
@options.as_json
def export_command(result: Path, side: str, link: str | None, payload: bool, target: Path, as_json: bool) -> None:
    """Write the packets on one side of a queue, for tshark and similar tools.

    The run needs probes.packets and probes.headers. Timestamps are in ns: the arrival with --side in, the start of
    transmission with --side out. A comment on each packet has its sojourn time and fate.
    """
    from sojourn.apps.cli import output
    from sojourn.io.pcap.export import export
    from sojourn.studies.runs.store import load

    loaded = load(result)
    link = link or loaded.link
    packets = export(loaded, target, side=side, link=link, payload=payload)
    if as_json:
        output.print_json({"file": str(target), "packets": packets, "side": side, "link": link})
    else:
        suffix = f" of {link}" if loaded.is_shell else ""
        echo(f"Capture: {target}, {packets} packets{suffix}")


@command.command("rtt")
@click.argument("a", type=capture)
@click.argument("b", type=capture, required=False)
@parquet
@options.tables
@options.as_json
def rtt_command(a: Path, b: Path | None, target: Path | None, as_json: bool) -> None:
    """Print the RTT between the points of two captures, A and B, or from one beside the senders, A.

    Between two points it is measured by synthetic packet pairs: each sample is a packet from A to B and the next packet
    of its flow from B to A. The time between them at B is subtracted, so the clocks need not agree. With one capture
    each sample is the time from a TCP segment that was sent once to the acknowledgment that its arrival triggered.
    Samples that may include a delayed acknowledgment are counted separately, and left out of flows with other samples.
    """
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.io.pcap.rtt import rtt, summarise
    from sojourn.io.pcap.sender import sender_rtt, without_delayed_acks

    every = None
    if b is not None:
        samples = rtt(_packets(a), _packets(b))
    else:
        capture = _capture(a)
        try:
            every = sender_rtt(capture.packets, capture.blocks)
        except InputError as error:
            raise InputError(f"{a}: {error}") from None
        samples = without_delayed_acks(every)
    summary = summarise(samples)
    _write(samples, target)
    if as_json:
        flows = [{"flow": row.pop("flow"), "rtt_ms": row} for row in summary.to_dicts()]
        for flow in flows:
            flow["samples"] = flow["rtt_ms"].pop("samples")
        output.print_json(
            {"a": str(a), "b": str(b) if b else None, "flows": flows, "file": str(target) if target else None}
            | ({} if every is None else {"delayed": every.height - samples.height})
        )
        return
    names = summary.columns[2:]
    rows = [
        [row["flow"], str(row["samples"]), *(f"{row[name]:.3f}" for name in names)]
        for row in summary.head(MAX_SHOWN).to_dicts()
    ]
    output.print_table(
        ["flow", "samples", *(f"{name}\nms" for name in names)],
        rows,
        title="RTT between A and B" if b else "RTT from A on",
    )
    if every is not None and every.height > samples.height:
        output.print_note(f"{every.height - samples.height} more samples may include a delayed acknowledgment")
    _print_omitted(summary.height)


@command.command("goodput")
@click.argument("file", type=capture)
@click.option("--step", default="5 s", show_default=True, metavar="TIME", help="Width of the intervals.")
@parquet
@options.tables
@options.as_json
def goodput_command(file: Path, step: str, target: Path | None, as_json: bool) -> None:
    """Print the goodput of each flow in a capture and of all together, step by step.

    Goodput is payload that was not seen before; retransmissions of seen payload do not count.
    """
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.io.pcap.goodput import goodput

    step_ns = options.quantity("--step", step, "duration_ns")
    if step_ns == 0:
        raise InputError(f"--step: {step} is not a width; write e.g. 5 s")
    packets = _packets(file)
    try:
        table = goodput(packets, step_ns)
    except InputError as error:
        raise InputError(f"{file}: --step: {error}") from None
    _write(table, target)
    if as_json:
        output.print_json({"file": str(file), "step_s": step_ns / 1e9, "goodput": table.to_dicts()})
        return
    flows = table["flow"].unique(maintain_order=True).to_list()
    wide = table.pivot("flow", index="time_s", values="goodput_bps")
    shown = wide if output.one_table() else wide.head(MAX_STEPS)
    rows = [
        [f"{row['time_s']:g}", *(f"{row[flow] / 1e6:.3f}" for flow in flows[:MAX_SHOWN])] for row in shown.to_dicts()
    ]
    headings = [flow.replace(" > ", "\n> ") for flow in flows[:MAX_SHOWN]]
    output.print_table(["from\ns", *headings], rows, title="Goodput in Mbit/s")
    if wide.height > shown.height:
        output.print_note(f"… and {wide.height - shown.height} more steps, see --json or -o")
    _print_omitted(len(flows))


@command.command("show")
@click.argument("file", type=capture)
@parquet
@options.tables
@options.as_json
def show_command(file: Path, target: Path | None, as_json: bool) -> None:
    """Print the flows of a capture: packets, goodput, payload seen twice, ECN, RTT.

    RTT is measured from a TCP segment to the acknowledgment that its arrival triggered, i.e. beyond the capture point:
    beside a sender it is the whole RTT, and payload seen twice is retransmitted payload.
    """
    from sojourn.apps.cli import output
    from sojourn.io.pcap.show import flows

    capture = _capture(file)
    table = flows(capture.packets, capture.blocks)
    _write(table, target)
    if as_json:
        output.print_json({"file": str(file), "flows": table.to_dicts()})
        return
    rows = [
        [
            row["flow"],
            f"{row['start_s']:.3f}",
            f"{row['duration_s']:.3f}",
            str(row["packets"]),
            _or_none(row["goodput_bps"], 1e-6, 3),
            _or_none(row["repeated"], 100, 2),
            f"{100 * row['ect']:.1f}",
            str(row["ce"]),
            _or_none(row["rtt_p50_ms"], 1, 3),
            _or_none(row["rtt_p95_ms"], 1, 3),
            _or_none(row["delayed"], 100, 1),
        ]
        for row in table.head(MAX_SHOWN).to_dicts()
    ]
    headings = ["flow", "start\ns", "duration\ns", "packets", "goodput\nMbit/s", "repeated\n%", "ECT\n%", "CE"]
    output.print_table([*headings, "RTT p50\nms", "RTT p95\nms", "delayed\n%"], rows, title="Flows")
    _print_omitted(table.height)


def _or_none(value: float | None, factor: float, digits: int) -> str:
    return "" if value is None else f"{factor * value:.{digits}f}"


def _packets(file: Path) -> pl.DataFrame:
    """Packets of a capture."""
    return _capture(file).packets


def _capture(file: Path) -> Capture:
    """Read a capture; print a warning line about unusable parts."""
    from sojourn.io.pcap.capture import load_capture

    found = load_capture(file)
    if found.warning:
        echo(f"Warning: {found.warning}", err=True)
    return found


def _write(table: pl.DataFrame, target: Path | None) -> None:
    if target:
        from sojourn.base.files import write_file

        write_file(target, lambda file: table.write_parquet(file))


def _print_omitted(rows: int) -> None:
    from sojourn.apps.cli import output

    if rows > MAX_SHOWN:
        output.print_note(f"… and {rows - MAX_SHOWN} more flows, see --json or -o")


MAX_STEPS = 2000
"""Maximum number of steps in a printed table."""
MAX_SHOWN = 20
"""Maximum number of flows in a printed table, including the total."""
