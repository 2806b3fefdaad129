"""`sojourn reproduce`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.figures import FigureArgs, look_options
from sojourn.engines import SIMULATE

if TYPE_CHECKING:
    from sojourn.apps.cli.claims import PaperOutput
    from sojourn.papers import Paper
    from sojourn.papers.reproduction import Reproduction

    Make = Callable[[Paper, str, Mapping[str, Any]], Reproduction]


@click.command("reproduce")
@click.argument("paper", required=False, shell_complete=names.PAPERS)
@click.option(
    "--figure", metavar="ID", shell_complete=names.PAPER_FIGURES, help="Only this figure or table, e.g. table1."
)
@click.option(
    "--claims",
    is_flag=True,
    help="Print every claim with its verdict, including those not run. Without PAPER, all papers.",
)
@click.option("--quick", is_flag=True, help="Use three seeds at most. Without PAPER, all papers.")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Number of seeds [as in the study].")
@click.option(
    "--assume",
    "assume",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change an assumption where PAPER leaves something open. `list` shows them, `all` tries each alternative.",
)
@click.option(
    "--search",
    type=click.IntRange(min=2),
    metavar="N",
    help="Try N combinations of what PAPER leaves open, scored on half of its figures and checked on the other half.",
)
@options.engine
@click.option("--short", is_flag=True, help="Use the figure's shorter study, if it has one. No claims are judged.")
@look_options
@options.of_study
@click.pass_context
def command(
    ctx: click.Context,
    paper: str | None,
    figure: str | None,
    claims: bool,
    quick: bool,
    seeds: int | None,
    assume: tuple[str, ...],
    search: int | None,
    engine: str,
    short: bool,
    wanted: FigureArgs,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Reproduce the results of PAPER: published | measured ± 95 % CI | verdict, figures, and a report.

    Without PAPER the papers and their figures are listed; with --claims, --quick or --seeds all papers are made. The
    exit code is 1 if a claim fails; one that the authors' own runs or their tool contradict does not count. Figures are
    written as PNG and SVG, and in the format given by --format. Emulation runs in real time, so choose one figure. Its
    files go to a folder of their own.

    --search draws no figure: it tries combinations of assumptions and scores them on figures that it did not use. Tried
    combinations are kept, so an interrupted search resumes.
    """
    from sojourn import papers
    from sojourn.apps.cli import claims as shown

    several = quick or claims or seeds is not None
    if paper is None and (figure or assume or ((short or jobs or engine != SIMULATE) and not several)):
        raise click.UsageError(f"no PAPER given; expected one of {', '.join(papers.PAPERS)}")
    if quick and seeds is not None:
        raise click.UsageError(f"--quick uses at most {papers.QUICK_SEEDS} seeds; leave out one of them")
    if "list" in assume and (len(assume) > 1 or figure or claims or several or short):
        raise click.UsageError("--assume list cannot be combined with other options; leave the rest out")
    if search is not None:
        if paper is None or assume or claims or short or engine != SIMULATE:
            raise click.UsageError("--search accepts only PAPER, --figure, --seeds, --jobs and -o; leave the rest out")
        from sojourn.apps.cli.search import search_paper

        search_paper(papers.paper(paper), figure, search, seeds or 1, jobs, out, as_json)
        return
    if paper is None and not several:
        shown.print_papers(as_json)
        return
    chosen = [papers.paper(name) for name in ([paper] if paper else papers.PAPERS)]
    if "list" in assume:
        shown.print_assumptions(chosen[0], as_json)
        return
    wanted.check()
    make = _maker(seeds, jobs, out, engine, short, quick)
    made = [_make(one, figure, assume, out, engine, make, wanted) for one in chosen]
    shown.print_all(made, claims, as_json)
    ctx.exit(1 if any(verdict["verdict"] == "failed" for one in made for verdict in one.verdicts) else 0)


def _maker(seeds: int | None, jobs: int | None, out: Path, engine: str, short: bool, quick: bool) -> Make:
    """Function that makes a figure of a paper under some assumptions."""
    from sojourn.base.progress import progress
    from sojourn.papers.reproduction import reproduce as reproduce_figure

    def make(paper: Paper, figure_id: str, assumed: Mapping[str, Any]) -> Reproduction:
        line = options.command_line()
        with progress() as report:
            return reproduce_figure(
                paper.id,
                figure_id,
                seeds=seeds,
                assumed=assumed,
                engine=engine,
                short=short,
                quick=quick,
                root=out,
                jobs=jobs,
                command=line,
                progress=report,
            )

    return make


def _make(
    paper: Paper, figure: str | None, assume: tuple[str, ...], out: Path, engine: str, make: Make, wanted: FigureArgs
) -> PaperOutput:
    """Make figures of a paper and write all their files."""
    from sojourn.apps.cli.claims import PaperOutput
    from sojourn.figures.canvas import style
    from sojourn.papers.engine import figures_on
    from sojourn.papers.report import folder_of, write_figure, write_page
    from sojourn.papers.setup import parse_assumed, refuse_unconcerned
    from sojourn.papers.vary import variations

    vary = "all" in assume
    if vary and len(assume) > 1:
        raise click.UsageError("--assume all cannot be combined with others: it tries each assumption separately")
    assumed = {} if vary else parse_assumed(assume, paper.assumptions)
    figures, left_out = ([paper.figure_name(figure)], {}) if figure else figures_on(paper, engine)
    refuse_unconcerned(paper.assumptions, assumed, figures)
    done = [make(paper, figure_id, assumed) for figure_id in figures]
    varied = list(variations(paper, figures, lambda name, values: make(paper, name, values))) if vary else []
    folder = folder_of(out, paper.id, assumed, done[0])
    with style(wanted.look):
        written = [path for one in done for path in write_figure(one, folder, wanted.format)]
    page = write_page(done, folder, varied=varied, command=options.command_line(), left_out=left_out)
    options.warn_without_run(page)
    return PaperOutput(paper, done, varied, [*written, page], page, whole=figure is None, left_out=left_out)
