"""Options of disciplines and classes: words with their values, and the options that our parser accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.records import Class, Qdisc, TcConfig
from sojourn.io.tc.words import count_of
from sojourn.model.aqms.registry import parsed


def pairs(kind: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield words with their values; an unknown word has the numbers after it."""
    left = list(words)
    while left:
        word = left.pop(0)
        yield word, " ".join(take_values(kind, word, left))


def take_values(kind: str, word: str, left: list[str]) -> list[str]:
    """Take the values of a word from the words after it; an unknown word has the numbers there."""
    count = count_of(kind, word)
    count = len(list(takewhile(values.is_value, left))) if count is None else count
    taken = left[:count]
    del left[:count]
    return taken


def convert(of: Qdisc | Class, pair: tuple[str, str], read: Callable[[str], str], config: TcConfig) -> str:
    """Convert the value of a word; empty for an unreadable one of tc's output, which is noted.

    Raises `InputError` for a command with such a value, which tc refuses.
    """
    word, value = pair
    try:
        return read(value).replace(" ", "")
    except InputError as error:
        if not of.is_shown:
            raise InputError(f"line {of.line}: {of.title} {word}: {error}") from None
        config.note(of.line, f"{of.title}: {word} {value}: {error}")
        return ""


def accepted(of: Qdisc | Class, options: list[str], text: str, config: TcConfig) -> list[str]:
    """Options that our parser accepts in a text with a place for them, one after another; others are noted.

    Raises `InputError` if a command has the others.
    """
    if refusal(text.format(" ".join(options))) is None:
        return options
    found: list[str] = []
    for option in options:
        error = refusal(text.format(" ".join([*found, option])))
        if error is None:
            found.append(option)
        elif not of.is_shown:
            raise InputError(f"line {of.line}: {of.title}: {error}")
        else:
            config.note(of.line, f"{of.title}: {option}: {error}")
    return found


def refusal(text: str) -> InputError | None:
    """Why our parser refuses a queue manager; None if it accepts it."""
    try:
        parsed(text)
    except InputError as error:
        return error
    return None
