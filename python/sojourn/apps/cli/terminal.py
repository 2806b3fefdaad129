"""The one way to the terminal: text of files and names cannot steer it."""

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
    """Within the block, tell what Python has to ignore, such as an exception in a user's `__del__`, in a line each."""
    told: set[str] = set()

    def tell(found: Any) -> None:
        from sojourn.base.errors import error_line

        name = getattr(found.object, "__qualname__", type(found.object).__name__)
        text = f"Warning: ignored in {name}: {error_line(found.exc_value or found.exc_type())}"
        if text not in told:
            told.add(text)
            with suppress(OSError, ValueError):
                echo(text, err=True)

    before, sys.unraisablehook = sys.unraisablehook, tell
    try:
        yield
    finally:
        sys.unraisablehook = before


def printable(text: str) -> str:
    """The text with what a terminal obeys or cannot show spelled out: an escape character becomes its number."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def printable_json(text: str) -> str:
    """The same for a JSON text, which stays one."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tab and line feed, changes of direction, and halves of characters."""
