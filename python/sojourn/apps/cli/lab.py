"""`sojourn lab`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options


@click.command("lab")
@click.argument("path", metavar="[SCENARIO|RESULT]", type=options.PATH, required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port on this machine [any].")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@options.no_code
def command(path: Path | None, port: int, no_browser: bool) -> None:
    """Show the simulator in the browser: a SCENARIO, a RESULT (its folder), or a first scenario.

    The page is served to this machine only, until Ctrl-C. For the exercises of a course see python -m
    sojourn.apps.labs.
    """
    import signal
    import webbrowser
    from contextlib import ExitStack, suppress

    from sojourn.apps.cli import output
    from sojourn.apps.lab.server import Server
    from sojourn.apps.lab.start import of_path

    start = of_path(path)
    # Nothing is lost on exit, so there is no message; if Ctrl-C is ignored, it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt), Server(start, port) as server:
        output.print_note(f"Lab: {server.url}")
        output.print_note("Press Ctrl-C to stop.")
        with ExitStack() as kept:
            if not no_browser:
                webbrowser.open(kept.enter_context(server.page()).as_uri())
            server.serve_forever()
