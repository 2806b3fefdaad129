"""`sojourn lab`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.cli import options


@click.command("lab")
@click.argument("path", metavar="[SCENARIO|RESULT]", type=options.PATH, required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port on this machine [any].")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@options.no_code
def command(path: Path | None, port: int, no_browser: bool) -> None:
    """Show the simulator in the browser: a SCENARIO, a RESULT (its folder), or a first scenario.

    It serves the page to this machine only, until Ctrl-C. Exercises for a course are another thing: python -m
    sojourn.labs.
    """
    import webbrowser

    from sojourn.cli import output
    from sojourn.lab.server import Server
    from sojourn.lab.start import of_path

    with Server(of_path(path), port) as server:
        output.say(f"Lab: {server.url}")
        output.say("Ctrl-C ends it.")
        if not no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            output.say("")
