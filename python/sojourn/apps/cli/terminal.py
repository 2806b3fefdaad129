"""Output to the terminal; text of files and names cannot control it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click


def echo(text: Any = "", *, err: bool = False) -> None:
    """Print a line."""
    click.echo(printable(str(text)), err=err)


@contextmanager
def ignored_in_a_line() -> Iterator[None]:
    """Within the block, print exceptions that Python ignores, such as in a user's `__del__`, as one line each."""
    printed: set[str] = set()

    def print_ignored(found: Any) -> None:
        from sojourn.base.errors import error_line

        name = getattr(found.object, "__qualname__", type(found.object).__name__)
        text = f"Warning: ignored in {name}: {error_line(found.exc_value or found.exc_type())}"
        if text not in printed:
            printed.add(text)
            with suppress(OSError, ValueError):
                echo(text, err=True)

    before, sys.unraisablehook = sys.unraisablehook, print_ignored
    try:
        yield
    finally:
        sys.unraisablehook = before


def printable(text: str) -> str:
    """Escape characters that control a terminal or are not printable."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def printable_json(text: str) -> str:
    """Escape the characters in a JSON text, which stays valid."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and line feed, bidirectional overrides, and lone surrogates."""
