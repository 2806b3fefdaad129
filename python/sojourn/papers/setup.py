"""A paper's statements about its set-up, its unstated parts, and alternatives for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError, unknown
from sojourn.base.inputs import parse_json

Assumed = Mapping[str, Any]
"""Non-default values of assumptions, by name."""
ANY = "*"
"""In `Assumption.swaps`: any queue manager."""


@dataclass(frozen=True)
class Setting:
    """One line of the set-up, as plain text."""

    item: str
    stated: str
    """The paper's statement; empty if there is none."""
    chosen: str = ""
    """Our choice if the paper states nothing, or our model of its statement."""


@dataclass(frozen=True)
class Assumption:
    """An unstated part of a paper's set-up, with alternatives to our choice.

    Its value is that of a key, or, with `swaps`, a word for other queue managers than those of the study files.
    """

    sets: str
    """Dotted path of the scenario's key; with `swaps` paths, separated by commas."""
    chosen: Any
    """Value in the package's studies."""
    alternatives: tuple[Any, ...]
    """Other plausible values; any value that the key accepts can be assumed."""
    note: str
    figures: tuple[str, ...] = ()
    """Figures that it concerns; all if empty."""
    swaps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Replacements of queue managers, by alternative: of a whole text of the study files, or of its first word, with
    the parameters kept; `*` matches any, and stands for it in the replacement.
    """
    stated: bool = False
    """Whether the paper states it: another value is worth a run, but contradicts its text."""
    is_file: bool = False
    """Whether other values are files of the user's, so there is nothing to try without one."""

    def concerns(self, figure_id: str) -> bool:
        """Whether it changes the runs of a figure."""
        return not self.figures or figure_id in self.figures


def parse_assumed(texts: tuple[str, ...], known: Mapping[str, Assumption]) -> dict[str, Any]:
    """Parse `KEY=VALUE` texts; a value is JSON (`false`, `10`) or else a text (`200 s`)."""
    assumed: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InputError(f'--assume: "{text}" is not KEY=VALUE; write e.g. {_example(known)}, or list, or all')
        if name not in known:
            raise unknown("assumption", name, list(known))
        if name in assumed:
            raise InputError(f"--assume: {name} is given twice; leave one out")
        if known[name].swaps:
            _refuse_other_words(name, value, known[name])
        own_file = known[name].is_file and value != spelled(known[name].chosen)
        assumed[name] = value if known[name].swaps else _file(name, value) if own_file else _value(value)
    return assumed


def spelled(value: Any) -> str:
    """A value as an argument of `--assume`."""
    return value if isinstance(value, str) else json.dumps(value)


def spelled_all(assumed: Assumed) -> str:
    """Assumptions as arguments of `--assume`."""
    return ", ".join(f"{name}={spelled(value)}" for name, value in assumed.items())


def concerning(known: Mapping[str, Assumption], assumed: Assumed, figure_id: str) -> dict[str, Any]:
    """Assumptions that concern a figure."""
    return {name: value for name, value in assumed.items() if known[name].concerns(figure_id)}


def refuse_unconcerned(known: Mapping[str, Assumption], assumed: Assumed, figures: Sequence[str]) -> None:
    """Raise `InputError` for an assumption that changes no run of the figures."""
    for name in assumed:
        if not any(known[name].concerns(figure_id) for figure_id in figures):
            about = ", ".join(known[name].figures)
            raise InputError(f"--assume: {name} has no effect in {', '.join(figures)}; it concerns {about}")


def sets_of(known: Mapping[str, Assumption], assumed: Assumed, figure_id: str) -> dict[str, Any]:
    """Keys of the scenario that the assumptions set for a figure; keys without a value are omitted, as in its file."""
    set_to = concerning(known, assumed, figure_id)
    return {known[name].sets: value for name, value in set_to.items() if not known[name].swaps and value is not None}


def swaps_of(known: Mapping[str, Assumption], assumed: Assumed, figure_id: str) -> dict[str, list[Mapping[str, str]]]:
    """Replacements of queue managers for a figure, by key of the scenario.

    Several for one key are in the order of the paper's package; those with a wildcard come last.
    """
    found: dict[str, list[Mapping[str, str]]] = {}
    taken = concerning(known, assumed, figure_id)
    swaps = [
        (known[name].sets, known[name].swaps[taken[name]]) for name in known if taken.get(name) in known[name].swaps
    ]
    for sets, others in sorted(swaps, key=lambda pair: ANY in pair[1]):
        for path in sets.split(", "):
            found.setdefault(path, []).append(others)
    return found


def swapped(name: str, swaps: Sequence[Mapping[str, str]]) -> str:
    """Apply replacements to a queue manager of the study files, one after another."""
    for others in swaps:
        first, _, parameters = name.partition(" ")
        if name in others:
            name = others[name]
        elif first in others:
            name = f"{others[first]} {parameters}".strip()
        elif ANY in others:
            name = others[ANY].replace(ANY, name)
    return name


def _refuse_other_words(name: str, value: str, about: Assumption) -> None:
    """Raise `InputError` for a value that is neither the chosen one nor one of the swaps."""
    words = [about.chosen, *about.swaps]
    if value not in words:
        raise unknown(f"--assume: value of {name}", value, words)


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _file(name: str, text: str) -> str:
    """Path of a file relative to the user's folder; study files resolve paths relative to themselves."""
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise InputError(f"--assume: {name}={text}: no such file; give the path of one")
    return str(path)


def _example(known: Mapping[str, Assumption]) -> str:
    for name, about in known.items():
        if about.alternatives:
            return f'{name}="{spelled(about.alternatives[0])}"'
    return "KEY=VALUE"
