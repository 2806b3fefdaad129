"""`sojourn compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.figures import FigureArgs, figure_options

if TYPE_CHECKING:
    import polars as pl

    from sojourn.studies.comparison import Comparison


def _numbers(_ctx: click.Context, _param: click.Parameter, text: str) -> list[int]:
    """Integers separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise click.BadParameter(f'"{text}" is not a list of whole numbers; write e.g. 4 or 4,64')
    return [int(part) for part in parts]


def _listed(option: str, texts: tuple[str, ...]) -> list[str]:
    """Values separated by commas; the commas of steps ("10mbit@0s,1mbit@5s") belong to the value."""
    return _split(
        option, [part for text in texts for part in ([text] if "@" in text else text.split(","))], "10mbit,50mbit"
    )


def _split(option: str, parts: list[str], example: str) -> list[str]:
    values = [part.strip() for part in parts]
    if not all(values):
        raise click.BadParameter(f"a value of the list is empty; write e.g. {example}", param_hint=option)
    return values


@click.command("compare")
@click.option(
    "--aqm",
    "aqms",
    required=True,
    metavar="A,B,…",
    shell_complete=names.AQMS,
    help="Queue managers, e.g. droptail,codel,codel@act.",
)
@click.option(
    "--rate",
    multiple=True,
    metavar="RATE,…",
    help="Rate of the link, a list of rates, or one rate in steps [10 Mbit/s].",
)
@click.option("--reverse-rate", metavar="RATE", help="Rate of the reverse path [that of the link].")
@click.option("--trace", type=options.PATH, metavar="FILE", help="Trace for the link to follow instead of a rate.")
@click.option(
    "--rtt",
    multiple=True,
    metavar="TIME,…",
    default=["40 ms"],
    show_default=True,
    help="Round-trip time without queues.",
)
@click.option("--flows", metavar="N,…", default="4", show_default=True, callback=_numbers, help="Number of TCP flows.")
@click.option("--ecn", is_flag=True, help='Let the flows use ECN; marking is up to the queue managers ("codel ecn").')
@click.option("--framing", metavar="NAME", help="Link layer, e.g. docsis or pppoe-ptm [ethernet].")
@click.option("--duration", metavar="TIME", default="60 s", show_default=True, help="Simulated time.")
@options.warmup
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", default=1, show_default=True, help="Number of seeds.")
@options.until
@options.metric
@options.max_seeds
@options.paired
@click.option("--cc", multiple=True, metavar="NAME,…", help="Congestion control, or a list [as in scenarios].")
@click.option("--stack", metavar="NAME", help="TCP stack [as in scenarios: the newest Linux].")
@click.option("--limit", metavar="LIMIT", default="1000 packets", show_default=True, help="Size limit of every queue.")
@click.option(
    "--test",
    metavar="NAME",
    shell_complete=names.FLENT_TESTS,
    help="Traffic of one of Flent's tests, e.g. rrul, tcp_nup, voip; writes Flent's data files too.",
)
@options.sets
@options.expect
@click.option("--plot", type=options.NEW_FILE, metavar="FILE", help="File for the figure [in DIR].")
@click.option(
    "--html",
    type=options.NEW_FILE,
    metavar="FILE",
    help="Write an HTML page with tables, figure and an interactive run.",
)
@figure_options
@options.of_study
@click.pass_context
def command(
    ctx: click.Context,
    /,
    aqms: str,
    rate: tuple[str, ...],
    cc: tuple[str, ...],
    rtt: tuple[str, ...],
    paired: str | None,
    sets: tuple[str, ...],
    plot: Path | None,
    html: Path | None,
    wanted: FigureArgs,
    out: Path,
    as_json: bool,
    **setup: Any,
) -> None:
    """Send the same TCP traffic through several queue managers; print a table and draw a figure.

    The reverse path follows the trace's sibling .up if there is one; otherwise it has the rate of the link. Its queue
    is tail drop with 1000 packets; with --test it is that of the link, as both directions are loaded. With several
    seeds the table shows means ± the half width of their 95 % confidence interval, and a second table compares the
    queue managers seed by seed. In --expect A, B, … are the queue managers, or the controls if there is one queue
    manager; a sentence must be true with all seeds, or "SENTENCE in 18" with 18 of them. The exit code is 1 if --until
    was not reached or an expectation is not met.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.figures.api import draw
    from sojourn.figures.canvas import save
    from sojourn.studies.comparison import compare
    from sojourn.studies.flent_files import save_comparison

    output.check_summary(["aqm"], of_test=setup["test"] is not None)
    wanted.check(plot)
    with progress() as report:
        found = compare(
            options.queue_managers(aqms),
            rate=_listed("--rate", rate) or None,
            rtt=_listed("--rtt", rtt),
            cc=_split("--cc", ",".join(cc).split(",") if cc else [], "cubic,bbr") or None,
            sets=options.changes(sets),
            out=out,
            command=options.command_line(),
            progress=report,
            **setup,
        )
    options.warn(found.advice)
    differences = found.paired(paired) if paired or found.has_pairs else None
    figure = plot or out / f"compare-{figure_name(found)}{wanted.suffix}"
    drawn, notes = draw("comparison", found.results, found.names, look=wanted.look)
    wanted.save(drawn.figure, figure)
    data = [] if found.test is None else save_comparison(found, out)
    if html:
        picture = figure if figure.suffix in (".svg", ".png") else save(drawn.figure, figure.with_suffix(".png"))
        write_page(found, differences, picture, notes, html)
        options.warn_without_run(html)
    if as_json:
        runs = [output.result_json(result) for result in found.results]
        document: dict[str, Any] = {"setup": found.setup, "table": found.table.to_dicts(), "notes": found.notes}
        document["warnings"] = found.advice
        document["paired"] = differences.to_dicts() if differences is not None else []
        document["expected"] = [judged.record for judged in found.judgements]
        document["until"] = output.until_json(found.reached) if found.reached else None
        written = {"figure": str(figure), "page": str(html) if html else None, "flent": [str(path) for path in data]}
        output.print_json(document | {"runs": runs} | written)
    else:
        if not (paired and output.one_table()):
            print_comparison(found)
        if differences is not None and (paired or not output.one_table()):
            output.print_note("")
            output.paired_table(differences, [*found.loads[0], "aqm"])
        if found.reached:
            output.print_note(output.until_sentence(found.reached))
        output.print_judgements(found.judgements)
        output.print_note(f"Figure: {figure}")
        if html:
            output.print_note(f"Page: {html}")
        for path in data:
            output.print_note(f"Data: {path}")
        for note in notes:
            output.print_note(f"Note: {note}")
        output.print_note(f"Results: {out}")
    is_met = all(judged.is_met for judged in found.judgements)
    ctx.exit(1 if (found.reached and not found.reached.reached) or not is_met else 0)


def print_comparison(found: Comparison) -> None:
    """Print the table, followed by the settings common to all runs."""
    from sojourn.apps.cli import output

    output.summary_table(found.rows, [*found.loads[0], "aqm"], title=output.title_of_means(found.rows))
    for sentence in [*found.notes, *setup_of(found)]:
        output.print_note(f"  {sentence}")


def setup_of(found: Comparison) -> list[str]:
    """Settings common to all runs, in sentences."""
    from sojourn.apps.cli import output
    from sojourn.model.analysis.warmup import warmup_text

    return output.describe(found.setup | {"warmup": warmup_text(found.rows_of_runs, found.setup["warmup"])})


def write_page(
    found: Comparison, differences: pl.DataFrame | None, picture: Path, remarks: Sequence[str], path: Path
) -> None:
    """Write the comparison as a page."""
    from sojourn.apps.cli import output
    from sojourn.base.files import write_file
    from sojourn.papers.report.comparison import page

    text = page(
        found,
        picture,
        differences=differences,
        title=output.title_of_means(found.rows),
        remarks=remarks,
        setup=setup_of(found),
        command=options.command_line(),
    )
    write_file(path, lambda file: file.write(text.encode()))


def figure_name(found: Comparison) -> str:
    """Name of a figure, unique to these runs."""
    from sojourn.model.analysis.metrics import joint_fingerprint

    return joint_fingerprint([result.fingerprint for result in found.results])[:8]
