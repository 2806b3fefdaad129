"""`sojourn reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import options

if TYPE_CHECKING:
    from sojourn.judge import Verdict
    from sojourn.papers import Paper, Reproduction


@click.command("reproduce")
@click.argument("paper", required=False)
@click.option("--figure", metavar="ID", help="Only this figure or table, e.g. table1.")
@click.option("--claims", is_flag=True, help="Print every claim about it with its verdict, also those not run.")
@click.option("--quick", is_flag=True, help="Three seeds.")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="So many seeds [the study's].")
@options.jobs
@options.out
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    paper: str | None,
    figure: str | None,
    claims: bool,
    quick: bool,
    seeds: int | None,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Make the results of PAPER again: published | measured ± 95 % CI | verdict, and a figure.

    Without PAPER the papers and their figures are listed. The exit code is 1 if a claim fails.
    """
    from sojourn import papers

    if paper is None:
        if figure or claims or quick or seeds:
            raise click.UsageError(f"no PAPER given; there is {', '.join(papers.PAPERS)}")
        _list_papers(as_json)
        return
    found = papers.paper(paper)
    figures = [figure] if figure else list(found.figures)
    for figure_id in figures:
        found.figure(figure_id)
    seeds = seeds or (papers.QUICK_SEEDS if quick else None)
    done = [_reproduce(paper, figure_id, seeds, jobs, out) for figure_id in figures]
    verdicts = [verdict for one in done for verdict in one.verdicts]
    drawn = [path for one in done for path in _write(one, out)]
    if claims and not figure:
        verdicts += _not_run(found)
    _print(done, verdicts, drawn, claims, as_json)
    ctx.exit(1 if any(verdict["verdict"] == "failed" for verdict in verdicts) else 0)


def _list_papers(as_json: bool) -> None:
    from sojourn import papers
    from sojourn.cli import output

    found = [papers.paper(name) for name in papers.PAPERS]
    if as_json:
        output.print_json([{"id": one.id, "title": one.title, "figures": list(one.figures)} for one in found])
        return
    for one in found:
        click.echo(f"{one.id}: {one.title}")
        for figure_id in one.figures:
            click.echo(f"    --figure {figure_id}  {one.figure(figure_id).TITLE}")


def _reproduce(paper: str, figure_id: str, seeds: int | None, jobs: int | None, out: Path) -> Reproduction:
    from sojourn import papers
    from sojourn.cli.progress import progress

    with progress() as report:
        return papers.reproduce(
            paper, figure_id, seeds=seeds, root=out, jobs=jobs, command=options.command_line(), progress=report
        )


def _not_run(paper: Paper) -> list[Verdict]:
    from sojourn.judge import claims_of, judge

    return judge([claim for claim in claims_of(paper.id) if claim["figure"] not in paper.figures], None)


def _write(done: Reproduction, out: Path) -> list[Path]:
    """Figure as raster and vector, and all runs and verdicts as data."""
    import json

    from sojourn.files import write_file
    from sojourn.plots.canvas import save

    stem = out / done.paper.id / done.figure_id
    drawn = done.paper.figure(done.figure_id).draw(done.study, done.verdicts)
    paths = [save(drawn, stem.with_suffix(suffix)) for suffix in (".png", ".svg")]
    text = json.dumps(done.verdicts, indent=1, ensure_ascii=False) + "\n"
    runs = done.study.runs
    paths.append(write_file(stem.with_suffix(".claims.json"), lambda file: file.write(text.encode())))
    paths.append(write_file(stem.with_suffix(".parquet"), lambda file: runs.write_parquet(file)))
    return paths


def _print(done: list[Reproduction], verdicts: list[Verdict], drawn: list[Path], claims: bool, as_json: bool) -> None:
    from sojourn.cli import output
    from sojourn.judge import tally

    if as_json:
        whole = {"figures": [_figure_json(one) for one in done], "files": [str(path) for path in drawn]}
        output.print_json(verdicts if claims else whole | {"claims": verdicts, "tally": tally(verdicts)})
        return
    for one in done:
        seeds = len(one.study.study.seeds)
        title = f"{one.paper.id}, {one.paper.figure(one.figure_id).TITLE}; {seeds} seeds"
        _print_verdicts(one.verdicts, title)
    if claims and (rest := [verdict for verdict in verdicts if verdict["verdict"] == "not-run"]):
        _print_verdicts(rest, "not run: their figures are not there yet")
    click.echo(", ".join(f"{count} {name}" for name, count in tally(verdicts).items()))
    click.echo(f"Figure: {drawn[0]}" if drawn else "")


def _print_verdicts(verdicts: list[Verdict], title: str) -> None:
    from sojourn.cli import output

    click.echo(f"{title}\n")
    values = [
        [one["id"], f"{one['expected']:g} {one['unit']}", _measured(one), one["verdict"]]
        for one in verdicts
        if one["kind"] != "relation"
    ]
    if values:
        output.print_table(["claim", "published", "measured ± 95 % CI", "verdict"], values)
    relations = [
        [one["id"], one["metric"], _measured(one), one["verdict"]] for one in verdicts if one["kind"] == "relation"
    ]
    if relations:
        output.print_text_table(["claim", "relation", "measured", "verdict"], relations)


def _measured(verdict: Verdict) -> str:
    if verdict["measured"] is None:
        return "–"
    if verdict["kind"] == "relation":
        return f"{str(verdict['measured']).lower()}, {verdict['share']:.0%} of seeds"
    half = "" if verdict["ci95"] is None else f" ± {verdict['ci95']:.2f}"
    return f"{verdict['measured']:.2f}{half}"


def _figure_json(one: Reproduction) -> dict[str, Any]:
    fingerprints = one.study.runs["fingerprint"].to_list()
    return {
        "paper": one.paper.id,
        "figure": one.figure_id,
        "seeds": one.study.study.seeds,
        "fingerprints": fingerprints,
    }
