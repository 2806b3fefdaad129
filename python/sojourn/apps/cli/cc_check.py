"""`sojourn cc check` and `sojourn cc diff`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.terminal import echo

SEED = click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Seed of the connections."
)


@click.command("check")
@click.argument("name", shell_complete=names.CONTROLS)
@click.option(
    "--events",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Number of calls in random connections.",
)
@SEED
@options.as_json
@click.pass_context
def check_command(ctx: click.Context, name: str, events: int, seed: int, as_json: bool) -> None:
    """Check the congestion control NAME in random and in scripted connections over TCP and QUIC.

    It must move again after losses, time-outs and pauses, keep its window in proportion to path and application, not
    grow in memory, and do the same twice, in copies and in a second process. Its reactions to time-outs, marks, idle
    periods and needless reductions are noted, and so are those to a halved rate, a blackout, marks on all packets and
    loss. The exit code is 1 if a rule is broken; notes do not count.
    """
    import json

    from sojourn import _core
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.studies.reactions import react

    base = str(Path.cwd())
    with _second_process(name, base, events, seed) as second, progress() as report:
        found = json.loads(_core.check_cc(name, base, events, seed, lambda share: report(share, 0, 1)))
        found["parts"].append(_compared(found["fingerprint"], second))
    found["passed"] = all(part["outcome"] != "failed" for part in found["parts"])
    found["reactions"] = react(name)
    if as_json:
        output.print_json({"control": name, "seed": seed} | found)
    else:
        for line in _check_lines(name, found):
            echo(line)
    ctx.exit(0 if found["passed"] else 1)


@click.command("diff")
@click.argument("a", shell_complete=names.CONTROLS)
@click.argument("b", shell_complete=names.CONTROLS)
@click.option(
    "--events",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    metavar="N",
    help="Number of calls to compare.",
)
@SEED
@click.option(
    "--stack",
    "stacks",
    multiple=True,
    metavar="NAME",
    help="Only over this stack: linux-6.1, linux-3.13 or quic-rfc9002; repeat it for several [all].",
)
@options.as_json
@click.pass_context
def diff_command(
    ctx: click.Context, a: str, b: str, events: int, seed: int, stacks: tuple[str, ...], as_json: bool
) -> None:
    """Make the same calls to the congestion controls A and B; show the first one after which they differ.

    A carries random connections over TCP and QUIC. B gets A's calls, each with the window that A had before it, so that
    differences do not accumulate. The exit code is 0 if all calls have equal results, else 1.
    """
    import json

    from sojourn import _core
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.base.progress import progress

    with progress() as report:
        text = _core.diff_cc(a, b, str(Path.cwd()), events, seed, lambda share: report(share, 0, 1), list(stacks))
    found = json.loads(text)
    if found["fault"] is not None:
        raise InputError(found["fault"])
    if as_json:
        output.print_json({"a": a, "b": b, "seed": seed} | found)
    else:
        for line in _diff_lines(a, b, found):
            echo(line)
    ctx.exit(0 if found["first_difference"] is None and found["calls"] > 0 else 1)


FINGERPRINT = """
import json, sys
from sojourn import _core
spelling, base, events, seed = sys.argv[1:]
print(json.loads(_core.check_cc(spelling, base, int(events), int(seed)))["fingerprint"])
"""
"""Program of the second process."""


@contextmanager
def _second_process(name: str, base: str, events: int, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Run the same check in another process, with another order of sets and dictionaries of text."""
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-c", FINGERPRINT, name, base, str(events), str(seed)]
    env = os.environ | {"PYTHONHASHSEED": hash_seed}
    with subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as second:
        try:
            yield second
        finally:
            second.kill()


def _compared(fingerprint: str, second: subprocess.Popen[str]) -> dict[str, str]:
    """Part of the report about the second process."""
    stdout, stderr = second.communicate()
    if second.returncode != 0:
        last = (stderr.strip().splitlines() or [f"exit code {second.returncode}"])[-1]
        outcome, detail = "failed", f"the second process ended with: {last}"
    elif stdout.strip() != fingerprint:
        outcome, detail = "failed", f"calls and results differ: {fingerprint} here, {stdout.strip()} there"
    else:
        outcome, detail = "passed", f"equal calls and results: {fingerprint}"
    return {"name": "two processes", "outcome": outcome, "detail": detail}


def _check_lines(name: str, found: dict[str, Any]) -> Iterator[str]:
    from sojourn.studies.reactions import REACTIONS, spelled_reaction

    verdict = "keeps every rule" if found["passed"] else "breaks a rule"
    yield f"{name}: {verdict} ({found['calls']:,} calls, {found['connections']} random connections)"
    for part in found["parts"]:
        yield f"    {part['name']}: {part['outcome']}: {part['detail']}"
    yield "Reactions over tail drop of one bandwidth-delay product:"
    for reaction in REACTIONS:
        value = spelled_reaction(reaction, found["reactions"][reaction.name])
        yield f"    {reaction.name}: {value} {reaction.unit} ({reaction.meaning})"


def _diff_lines(a: str, b: str, found: dict[str, Any]) -> Iterator[str]:
    yield from (f"A: {a}", f"B: {b}")
    yield from found["needs"]
    first = found["first_difference"]
    if first is None:
        compared = f"{found['calls']:,} calls in {found['connections']} connections"
        yield f"No difference in {compared}" if found["calls"] else "No calls compared: the faces differ"
        return
    yield f"First difference: call {first['number']:,}, in connection {first['connection']} over {first['stack']}"
    yield f"    {first['call']}"
    yield f"    {first['field']}: A {first['a']}, B {first['b']}"
    yield "Before it:"
    yield from (f"    {call}" for call in first["earlier"])
