"""Demo of a comparison on a generated trace: ``python -m sojourn.demo -o out``."""

from __future__ import annotations

from pathlib import Path

import click

AQMS = ("droptail", "codel", "codel@act", "pie@draft00")
SECONDS = 60
SEED = 1


@click.command()
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
def demo(out: Path) -> None:
    """Make an LTE-like trace, send four TCP flows over it through four queue managers, show the results."""
    from sojourn.apps.cli.compare import print_comparison
    from sojourn.base.progress import progress
    from sojourn.io.traces.delivery import synth_lte, write_trace
    from sojourn.studies.comparison import compare

    for preset, name in (("verizon-short", "lte.down"), ("verizon-short-up", "lte.up")):
        write_trace(synth_lte(preset, SECONDS, SEED), out / name)
    command = ["python", "-m", "sojourn.demo", "-o", str(out)]
    with progress() as report:
        found = compare(
            AQMS,
            trace=out / "lte.down",
            rtt="40 ms",
            flows=4,
            duration=f"{SECONDS} s",
            out=out / "results",
            command=command,
            progress=report,
        )
    figure = found.plot(out / "demo.png")
    print_comparison(found)
    click.echo(f"Figure: {figure.resolve()}")


def main() -> None:
    """Run the demo with the command line's error messages and exit codes."""
    from sojourn.apps.cli import leaving
    from sojourn.base.interrupt import stop_at_ctrl_c

    stop_at_ctrl_c()
    with leaving():
        demo.main(prog_name="python -m sojourn.demo", standalone_mode=False)


if __name__ == "__main__":
    main()
