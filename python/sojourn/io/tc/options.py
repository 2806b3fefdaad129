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


def accepted(
    of: Qdisc | Class,
    options: list[str],
    refuses: Callable[[list[str]], InputError | None],
    config: TcConfig,
    *,
    is_kept: bool = False,
) -> list[str]:
    """Options that `refuses` accepts together; others are noted.

    Raises `InputError` if a command has the others, unless the command `is_kept`.
    """

    def leave_out(option: str, error: InputError) -> None:
        if not of.is_shown and not is_kept:
            raise InputError(f"line {of.line}: {of.title}: {error}")
        config.note(of.line, f"{of.title}: {option}: {error}")

    error = refuses(options)
    if error is None:
        return options
    for option in options:
        others = [one for one in options if one is not option]
        if refuses(others) is None:
            leave_out(option, error)
            return others
    found: list[str] = []
    for option in options:
        if (error := refuses([*found, option])) is None:
            found.append(option)
        else:
            leave_out(option, error)
    return found


def refusal(text: str) -> InputError | None:
    """Why our parser refuses a queue manager; None if it accepts it."""
    return error_of(lambda: parsed(text))


def error_of(call: Callable[[], object]) -> InputError | None:
    """`InputError` of a call; None if it returns."""
    try:
        call()
    except InputError as error:
        return error
    return None


def refusal_in(text: str) -> Callable[[list[str]], InputError | None]:
    """Why our parser refuses options in a text with a place for them."""
    return lambda options: refusal(text.format(" ".join(options)))
