"""Queue managers as Python classes: those of the registry, made from it, and the base of a user's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from sojourn import _core
from sojourn.errors import InputError, unknown
from sojourn.scenario import spelled_aqm

if TYPE_CHECKING:
    from sojourn._core import Cx, Fifo, Limits, Link, Meta
    from sojourn.scenario import Scenario

EXCLUDE_CE = "exclude_ce"
"""The flag of nearly every queue manager."""

Verdict = Literal["accept", "mark", "drop"]
"""What becomes of an arriving packet; a mark on one that is not ECN-capable is a drop."""


class _Configured(type):
    """Calls a user's class with numbers for texts: `MyAqm(target="5 ms")` gives its `__init__` nanoseconds."""

    def __call__(cls, *args: Any, **params: Any) -> Any:
        if issubclass(cls, Registered):
            return super().__call__(*args, **params)
        from sojourn import user_aqms

        user = cast("type[Aqm]", cls)
        text, values = user_aqms.configure(user, args, params)
        made = user_aqms.make(user)(values)
        made._text = text
        return made


class Aqm(metaclass=_Configured):
    """A queue manager: derive from it to write one, `class MyAqm(sojourn.Aqm)`; docs/python_aqm.md tells how.

    The methods are those of the Rust trait, and none is needed: what a class does not define is not called. Times are
    whole nanoseconds. An instance that a program makes stands for the class and its parameters; each queue makes one
    of its own. `text` is the spelling in files and on the command line.
    """

    judges_overflow: ClassVar[bool] = False
    """Whether `enqueue` judges also packets that do not fit into the limits, and may make room for them."""

    _digest: ClassVar[str | None] = None
    _text: str = ""

    def __init_subclass__(cls) -> None:
        """Note the source, which is part of what a result is stored under."""
        from sojourn.user_aqms import source_digest

        cls._digest = source_digest(cls)

    def attach(self, limits: Limits, link: Link) -> None:
        """Tell, once and first, how much the queue may hold and what it feeds."""

    def enqueue(self, cx: Cx, meta: Meta, queue: Fifo) -> Verdict | None:
        """Judge an arriving packet, which is not yet in `queue`: "accept" (or None), "mark" or "drop"."""
        return None

    def dequeue(self, cx: Cx, queue: Fifo) -> Meta | None:
        """Choose what to transmit: drop or mark at will, then pop. `queue` may be empty."""
        return queue.pop()

    def next_update(self) -> int | None:
        """Tell when `update` is due next, in ns; asked after `attach` and after each update."""
        return None

    def update(self, at: int, cx: Cx) -> None:
        """Do periodic work; called for each due instant with the scheduled time, also when idle or late."""

    def overflowed(self, cx: Cx, meta: Meta) -> None:
        """Learn that the limits refused an arriving packet."""

    def emptied(self, cx: Cx) -> None:
        """Learn that a dequeue has just emptied the queue."""

    def shed(self, cx: Cx, n: int) -> None:
        """Learn that the limits took `n` packets from the head of this queue, one of several, to make room."""

    def unscheduled(self) -> None:
        """Learn that the queue, one of several and empty, has lost its place among those served in turn."""

    def observe(self) -> dict[str, float]:
        """Show state variables by name; times in seconds."""
        return {}

    @property
    def text(self) -> str:
        """Spelling in files and on the command line."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Aqm) and bool(self.text) and other.text == self.text)

    def __hash__(self) -> int:
        return hash(self.text) if self.text else id(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text}>"


class Registered(Aqm):
    """A configured queue manager of the registry."""

    algorithm: ClassVar[str] = ""
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        """Refuse what would run without its Python."""
        if "algorithm" not in cls.__dict__:
            raise TypeError(f"{cls.__bases__[0].__name__} runs in Rust and cannot be extended; derive from sojourn.Aqm")

    def __init__(self, profile: str | None = None, **params: object) -> None:
        """Configure `profile` (None: the plain one) with parameters by name, e.g. ``target="5 ms"``."""
        known = _parameter_names(find(self.algorithm))
        own = {argument(name): name for name in known}
        params = {own.get(name, name): value for name, value in params.items()}
        for name in params:
            if name not in known:
                raise unknown(f"parameter of {self.algorithm}", name, known or ["none"])
        head = f"{self.algorithm}@{profile}" if profile else self.algorithm
        words = [word for name, value in params.items() for word in param_words(name, value)]
        self._text = spelled_aqm(" ".join([head, *words]))


def aqm_text(aqm: Aqm | type[Aqm] | str) -> str:
    """Shortest spelling of a queue manager given as a text, an instance or a class."""
    return spelled_aqm(str(aqm() if isinstance(aqm, type) else aqm))


@cache
def registered_parameters(table: str) -> dict[str, Any]:
    """Every parameter of a queue manager given as a JSON table, also of the one in brackets of fq."""
    found: dict[str, Any] = json.loads(_core.parse_aqm(table, "/"))["parameters"]
    return found


def own_parameters(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """The same of every queue manager in Python of a scenario, by path of the AQM; loads them."""
    from sojourn.user_aqms import references

    tables = {path: json.dumps(table) for path, table in scenario.aqm_tables.items() if references(table)}
    return {path: json.loads(_core.parse_aqm(table, "/"))["parameters"] for path, table in tables.items()}


@cache
def registry() -> dict[str, Any]:
    """All that the core registers: AQMs, TCP stacks, congestion controls, kinds of traffic."""
    found = json.loads(_core.registry())
    assert isinstance(found, dict)
    return found


def find(name: str) -> dict[str, Any]:
    """Registry entry of an algorithm."""
    entries = {entry["name"]: entry for entry in registry()["aqms"]}
    if name not in entries:
        raise unknown("AQM", name, list(entries))
    found = entries[name]
    assert isinstance(found, dict)
    return found


@cache
def aqm_class(name: str) -> type[Registered] | None:
    """Class called `name`: a registered name in any capitalisation, with or without underscores."""
    for entry in registry()["aqms"]:
        if entry["name"].replace("_", "") == name.lower():
            about = {"algorithm": entry["name"], "__doc__": _doc(entry), "__module__": "sojourn"}
            signature = _signature(entry)
            return type(name, (Registered,), {**about, "__init__": _initialiser(signature), "__signature__": signature})
    return None


def class_names() -> list[str]:
    """Names under which the classes are found."""
    return [class_name(entry) for entry in registry()["aqms"]]


def class_name(entry: Mapping[str, Any]) -> str:
    """Name of the class of an entry of the registry: fq_codel is FqCodel."""
    return "".join(part.capitalize() for part in str(entry["name"]).split("_"))


def _initialiser(signature: Signature) -> Callable[..., None]:
    """`__init__` of a class that takes these arguments."""

    def __init__(self: Registered, profile: str | None = None, **more: object) -> None:  # noqa: N807
        Registered.__init__(self, profile, **more)

    own = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *signature.parameters.values()]
    __init__.__signature__ = Signature(own)  # type: ignore[attr-defined]
    return __init__


def _signature(entry: Mapping[str, Any]) -> Signature:
    """What a class takes, with the defaults of its plain profile: for help and completion."""
    read: dict[str, Callable[[str], Any]] = {"flag": lambda text: text == "true", "count": int, "number": float}
    defaults = {param["name"]: read.get(param["kind"], str)(param["default"]) for param in entry["params"]}
    named = [
        Parameter(argument(name), Parameter.KEYWORD_ONLY, default=defaults.get(name, False))
        for name in _parameter_names(entry)
    ]
    return Signature([Parameter("profile", Parameter.POSITIONAL_OR_KEYWORD, default=None), *named])


def _parameter_names(entry: Mapping[str, Any]) -> list[str]:
    return [*(str(param["name"]) for param in entry["params"]), *([EXCLUDE_CE] if entry[EXCLUDE_CE] else [])]


def argument(name: str) -> str:
    """Name of a parameter in a call: one that Python keeps for itself has an underscore behind it, `raise_`."""
    return f"{name}_" if iskeyword(name) else name


def split_list(text: str) -> list[str]:
    """Split a list of AQMs at the commas that stand outside brackets: "codel,fq(pie)"."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    names = [part.strip() for part in parts]
    if not all(names):
        raise InputError(f'--aqm: "{text}" has an empty name; write e.g. "codel,pie"')
    return names


def param_words(name: str, value: object) -> list[str]:
    """A parameter in tc's spelling."""
    if value is True:
        return [name]
    if value is False:
        return [f"no{name}"]
    return [name, param_text(value)]


def param_text(value: object) -> str:
    """A parameter's value as one word."""
    return str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")


def _doc(entry: dict[str, Any]) -> str:
    params = [f"    {p['name']}: {p['doc']} Default {p['default']}." for p in entry["params"]]
    return "\n".join(
        [f"{entry['summary']}.", "", f"Source: {entry['source']}.", "", "Parameters", "----------", *params]
    )
