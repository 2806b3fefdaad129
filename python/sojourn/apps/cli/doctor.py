"""`sojourn doctor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sojourn.apps.cli import options


@click.command("doctor")
@click.option("--no-rates", is_flag=True, help="Do not measure which rates are emulated faithfully.")
@options.tables
@options.as_json
def command(no_rates: bool, as_json: bool) -> None:
    """Check what this machine can emulate faithfully, and what each command lacks. Takes about twenty seconds.

    The exit code is 3 if shells are not possible at all.
    """
    import json

    from sojourn import _core
    from sojourn.base.progress import lines

    # The checks fork, so they precede everything that starts a thread.
    with lines("measurements") as callback:
        found = json.loads(_core.doctor(callback, not no_rates))
    found["commands"] += _web_commands(found["commands"])

    from sojourn.apps.cli import output

    if as_json:
        output.print_json(found)
    else:
        _print(found)
    if not found["possible"]:
        raise SystemExit(3)


def _web_commands(shells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `sojourn web`, whose programs are not ours."""
    from sojourn.apps.web.browser import browser
    from sojourn.apps.web.proxy import mitmdump

    none = dict.fromkeys(NEEDS, "none")
    closed = next((row for row in shells if row["command"].startswith("--peer")), None)
    rows = [
        none | {"command": "web record", "kernel": "none; mitmproxy"} | _found(mitmdump),
        (closed or none) | {"command": "web replay"} | _found(mitmdump),
        none | {"command": "web load", "kernel": "none; Chromium"} | _found(browser),
    ]
    if closed is not None and not closed["possible"]:
        rows[1] |= {key: closed[key] for key in ("possible", "text", "remedy")}
    return rows


def _found(find: Callable[[], str]) -> dict[str, Any]:
    """Whether a program is found, and the error if not."""
    from sojourn.base.errors import MissingError

    try:
        find()
    except MissingError as error:
        return {"possible": False, "text": str(error), "remedy": str(error).partition("; ")[2]}
    return {"possible": True, "text": None, "remedy": None}


def _print(found: dict[str, Any]) -> None:
    from sojourn.apps.cli import output

    rows = [
        [check["name"], "ok" if check["ok"] else "missing", check["text"], check["remedy"] or ""]
        for check in found["checks"]
    ]
    output.print_text_table(["check", "", "", "remedy"], rows)
    rows = [
        [row["command"], "ok" if row["possible"] else "impossible", *(row[key] for key in NEEDS)]
        for row in found["commands"]
    ]
    output.print_text_table(["command", "", *NEEDS], rows)
    for row in found["commands"]:
        if not row["possible"]:
            output.print_note(f"{row['command']}: {row['text']}")
    timer = found.get("timer_ns")
    if timer:
        median, late = timer["p50"] / 1e3, timer["p99"] / 1e3
        output.print_note(f"A wait ends {median:.0f} us late (median), {late:.0f} us (99 %).")
    rates = [
        [
            rate["rate"],
            f"{rate['throughput_bps'] / 1e6:.0f}",
            f"{rate['utilisation']:.3f}",
            f"{rate['late_p99_ns'] / 1e3:.0f}",
            str(rate["hidden_drops"]),
            f"{rate['cpu_share'] * 100:.0f}",
            f"{rate['faithful_runs']} of {rate['runs']}",
        ]
        for rate in found["rates"]
    ]
    if rates:
        headings = ["rate", "Mbit/s", "utilisation", "late us (99 %)", "hidden drops", "CPU %", "faithful"]
        output.print_table(headings, rows=rates, title="one TCP flow upward, medians")
        output.print_note(_highest(found))


def _highest(found: dict[str, Any]) -> str:
    """The median of the rounds, and their range."""
    best, rounds = found["highest_faithful_rate"], found["highest_faithful_rates"]
    if best is None:
        return "None of the tested rates is emulated faithfully now."
    low, high = rounds[0] or "none", rounds[-1]
    spread = f"the same in all {len(rounds)} rounds" if low == high else f"{low} to {high} in {len(rounds)} rounds"
    return f"Highest faithful rate: {best} ({spread})."


NEEDS = ("device", "namespace", "capability", "kernel")
"""Needs of a command; `kernel` is the least version of Linux."""
