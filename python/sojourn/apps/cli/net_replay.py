"""`sojourn net replay`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo


@click.command("replay")
@click.argument("log", type=options.PATH)
@click.option(
    "--expect",
    "sentences",
    multiple=True,
    metavar="SENTENCE",
    help='Sentence that must be true, e.g. "p99(delay, call) < 30 ms"; more than once for several.',
)
@options.as_json
@click.pass_context
def replay_command(ctx: click.Context, log: Path, sentences: tuple[str, ...], as_json: bool) -> None:
    """Send the datagrams of a decision log, FILE.decisions, at their times, without the programs that sent them.

    The queues meet the same packets, so the fingerprint is that of the run that wrote the log. The exit code is 1 if it
    is not, or if a sentence is not true.
    """
    from sojourn import _core
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError

    if not log.is_file():
        raise InputError(f"{log}: no such file; give a decision log, FILE.decisions")
    report, expected = _core.replay_decisions(log)
    verdicts = [report.judge(sentence) for sentence in sentences]
    is_same = expected in ("", report.fingerprint)
    if as_json:
        output.print_json(
            {
                "name": report.name,
                "seed": report.seed,
                "fingerprint": report.fingerprint,
                "expected_fingerprint": expected or None,
                "decisions": report.decisions,
                "summary": report.summary,
                "expected": [{"sentence": one.sentence, "holds": one.holds} for one in verdicts],
            }
        )
    else:
        link = report.summary["links"]["forward"]
        echo(f"{report.name}, seed {report.seed}: {report.datagrams} datagrams, {link['dropped']} packets dropped")
        echo(f"fingerprint {report.fingerprint}, {'as recorded' if is_same else f'but {expected} was recorded'}")
        for one in verdicts:
            echo(f"{'true' if one.holds else 'false'}: {one.sentence}")
            for text, unit, left, right in one.sides:
                echo(f"  {text}: {left:.4g} {unit} against {right:.4g} {unit}".rstrip())
    ctx.exit(0 if is_same and all(one.holds for one in verdicts) else 1)
