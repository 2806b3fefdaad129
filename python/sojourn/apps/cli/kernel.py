"""`sojourn kernel`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("kernel", cls=Group)
def command() -> None:
    """Build the real Linux kernel for simulated time, and compare our queue managers with its own."""


@command.command("build")
@click.option("--version", metavar="V", help="Linux 6.1, 6.12 or 7.3 [6.1].")
@click.option("--qdisc", "qdiscs", multiple=True, metavar="FILE.c", help="Queue discipline of your own; NAME=FILE.c.")
@click.option("--cc", "ccs", multiple=True, metavar="FILE.c", help="Congestion control of your own; NAME=FILE.c.")
@click.option("--aqm", "aqms", multiple=True, type=options.PATH, metavar="CRATE", help="Crate with a queue manager.")
@click.option("--source", type=options.PATH, metavar="TREE", help="Kernel tree of your own, with a --cache of its own.")
@click.option("--cache", type=options.PATH, metavar="DIR", help="Folder for kernels [the user's cache].")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Number of parallel compilers [all cores].")
@options.as_json
def build_command(
    version: str | None,
    qdiscs: tuple[str, ...],
    ccs: tuple[str, ...],
    aqms: tuple[Path, ...],
    source: Path | None,
    cache: Path | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Download, patch, configure, build and test a kernel. It is not installed, and root is not needed.

    The source comes from the machine's package manager; that of 7.3 is in the backports of Debian 13. An interrupted
    build continues where it stopped; a finished kernel is not built again. For all commands, $SOJOURN_KERNEL replaces
    the cache folder.

    Files of your own (sch_mine.c, tcp_mine.c) are compiled into a kernel beside the plain one, in seconds once that is
    built. A scenario names them: aqm = "kernel:mine like codel target 5ms", cc = "kernel:mine". NAME=FILE.c registers
    a file under another name, for one that has a name of Linux. A crate as sojourn aqm new writes it runs there, too,
    in the simulator's spelling: aqm = "libmy_aqm.so target 8ms". All kernels in a --cache may be of a --source of your
    own; $SOJOURN_KERNEL then selects them.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import steps
    from sojourn.engines.kernel import own_crates, own_files, own_tree
    from sojourn.engines.kernel.build import build
    from sojourn.engines.kernel.cache import VERSIONS, root
    from sojourn.engines.kernel.own_build import Additions

    began = time.monotonic()
    files = [*own_files.read(own_files.QDISC, qdiscs), *own_files.read(own_files.CONTROL, ccs)]
    crates = own_crates.read(aqms)
    if source and not cache:
        raise click.UsageError("--source needs --cache DIR, a folder for its kernels alone")
    with steps() as report:
        if source:
            report(0, "reading the tree")
        tree = own_tree.read(source, version) if source else None
        own = Additions(files, crates, tree)
        named = tree.version if tree else version or VERSIONS[0]
        kernel = build(named, root(cache), own=own, jobs=jobs, progress=report)
    if as_json:
        about = {"linux": kernel.version, "digest": kernel.digest, "folder": str(kernel.image.parent)}
        output.print_json(about | {"seconds": round(time.monotonic() - began, 1)})
        return
    having = f" with {kernel.own}" if kernel.own else ""
    echo(f"Linux {kernel.version}{having} in simulated time, build {kernel.digest}: {kernel.image.parent}")


@command.command("compare")
@click.option(
    "--aqm", "aqms", required=True, metavar="A,B,…", help="Disciplines, by their names in the kernel, or all."
)
@click.option(
    "--patterns",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Patterns per discipline.",
)
@click.option("--packets", type=click.IntRange(min=1, max=100_000), default=500, show_default=True, metavar="N")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Seed of the patterns."
)
@click.option(
    "--version", default="6.1", show_default=True, metavar="V", help="Version of the kernel: 6.1, 6.12 or 7.3."
)
@click.option(
    "--builds", metavar="A,B", help="Compare two kernels instead: versions, or 6.1:mine for a file's discipline."
)
@options.jobs
@options.tables
@options.as_json
@click.pass_context
def compare_command(
    ctx: click.Context,
    aqms: str,
    patterns: int,
    packets: int,
    seed: int,
    version: str,
    builds: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Play random arrivals through the kernel's queue disciplines and ours; count equal verdicts.

    Each pattern draws its own rate, loads, sizes, bursts, flows, ECN fields, limits and parameters. Verdicts are equal
    if the packet was sent, marked or dropped at the same nanosecond. The exit code is 1 if any differs.

    With --builds two kernels are compared with each other, each with its own discipline, or with that of a file that
    was compiled into it and reads the same words of tc: --builds 6.1,6.12 or --builds 6.1,6.1:mine. The name sojourn
    means Sojourn's queue manager in the kernel: --builds 6.1,6.1:sojourn.
    """
    from sojourn.apps.cli import output
    from sojourn.apps.cli.difference import print_difference
    from sojourn.base.progress import progress
    from sojourn.engines.kernel.cache import built, root
    from sojourn.engines.kernel.compare import compare
    from sojourn.engines.kernel.compare_builds import compare_builds, parse
    from sojourn.engines.kernel.own_qdisc import TC
    from sojourn.engines.kernel.patterns import LINES, NAMES, supports
    from sojourn.studies.runs.runner import cores

    pair = parse(builds, root()) if builds else []
    kernels = [build.kernel for build in pair] or [built(version)]
    known = LINES if any(build.own == TC for build in pair) else NAMES
    supported = [name for name in known if all(supports(kernel.version, name) for kernel in kernels)]
    names = supported if aqms == "all" else [name.strip() for name in aqms.split(",")]
    settings = {"patterns": patterns, "packets": packets, "seed": seed, "jobs": jobs or cores()}
    with progress() as report:
        if pair:
            found = compare_builds(pair, names, **settings, progress=report)
        else:
            found = compare(kernels[0], names, **settings, progress=report)
    if as_json:
        output.print_json({"seed": seed, "compared": [one.to_dict() for one in found]})
    else:
        rows = [
            [one.aqm, f"{one.percent:.4f}", f"{one.agreeing_patterns} of {one.patterns}", f"{one.packets}"]
            for one in found
        ]
        output.print_table(["discipline", "agreement, %", "patterns alike", "packets"], rows)
        for one in found:
            if one.left_out:
                packets = sum(one.left_out.values())
                output.print_note(
                    f"{one.aqm}: {packets} packets of {len(one.left_out)} patterns left out "
                    f"({100 * packets / (one.packets + packets):.2f} %), from the first one on that the kernel's own "
                    "queue lost"
                )
            if one.first:
                output.print_note(f"{one.aqm}, pattern {one.first_pattern}, the first that differs:")
                print_difference(one.first)
    ctx.exit(1 if any(one.lines for one in found) else 0)
