"""Names for shell completion: queue managers, congestion controls, figures, papers, examples, Flent's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""Type of `shell_complete` of an argument or option."""


def _completing(names: Callable[[], Iterable[tuple[str, str]]]) -> Complete:
    """Complete names with their descriptions, also as items of a comma-separated list."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, word = incomplete.rpartition(",")
        return [CompletionItem(before + comma + name, help=about) for name, about in names() if name.startswith(word)]

    return complete


def _aqms() -> Iterator[tuple[str, str]]:
    from sojourn.model.aqms.registry import registry

    for entry in registry()["aqms"]:
        yield entry["name"], entry["summary"]
        yield from ((profile["spelling"], profile["summary"]) for profile in entry["profiles"][1:])


def _controls() -> Iterator[tuple[str, str]]:
    from sojourn.model.aqms.registry import registry

    return ((entry["name"], entry["summary"]) for entry in registry()["ccs"])


def _figures() -> Iterator[tuple[str, str]]:
    from sojourn.figures import KINDS

    return ((name, kind.about) for name, kind in KINDS.items())


def _papers() -> Iterator[tuple[str, str]]:
    from sojourn.papers import PAPERS

    return ((name, "") for name in PAPERS)


def _paper_figures(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Figures of the paper on the command line, or of all papers."""
    from sojourn.papers import PAPERS, paper

    chosen = ctx.params.get("paper")
    names = dict.fromkeys(name for one in ([chosen] if chosen in PAPERS else PAPERS) for name in paper(one).figures)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _examples() -> Iterator[tuple[str, str]]:
    from sojourn.model.scenarios.examples import examples

    return ((one.name, one.about) for one in examples())


def _flent_tests() -> Iterator[tuple[str, str]]:
    from sojourn.io.flent.tests import TESTS

    return ((name, definition.about) for name, definition in TESTS.items())


AQMS = _completing(_aqms)
CONTROLS = _completing(_controls)
FIGURES = _completing(_figures)
PAPERS = _completing(_papers)
PAPER_FIGURES: Complete = _paper_figures
EXAMPLES = _completing(_examples)
FLENT_TESTS = _completing(_flent_tests)
