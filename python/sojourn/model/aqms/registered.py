"""Queue managers of the registry as Python classes, generated from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, Signature
from typing import Any, ClassVar

from sojourn.base.errors import unknown
from sojourn.model.aqms.aqm import Aqm
from sojourn.model.aqms.registry import INSIDE, argument, find, parameter_names, registry
from sojourn.model.aqms.spelling import param_words, spelled_aqm
from sojourn.model.aqms.user_class import UserClassMeta


class _RegistryMeta(UserClassMeta):
    """Metaclass with Python's own call: the core parses the parameters of registered managers."""

    __call__ = type.__call__


class RegistryAqm(Aqm, metaclass=_RegistryMeta):
    """A configured queue manager of the registry."""

    algorithm: ClassVar[str] = ""
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        """Reject subclasses, whose Python code would never run."""
        if "algorithm" not in cls.__dict__:
            raise TypeError(f"{cls.__bases__[0].__name__} runs in Rust and cannot be extended; derive from sojourn.Aqm")

    def __init__(self, profile: str | None = None, **params: object) -> None:
        """Configure `profile` (None: the default one) with parameters by name, e.g. ``target="5 ms"``.

        A classful qdisc takes the content of tc's braces as `inside`: a queue manager, or text.

        >>> import sojourn as sj
        >>> print(sj.Tbf(rate="5 Mbit/s", burst="5 kB", inside=sj.FqCodel(ecn=True)))
        tbf rate 5Mbit/s burst 5000B { fq_codel }
        >>> print(sj.Htb(default="10", inside="class 10 rate 2mbit { fq_codel }"))
        htb default 10 { class 10 rate 2Mbit/s { fq_codel } }
        """
        entry = find(self.algorithm)
        inside = params.pop(INSIDE, None) if entry["holds"] else None
        known = parameter_names(entry)
        own = {argument(name): name for name in known}
        params = {own.get(name, name): value for name, value in params.items()}
        for name in params:
            if name not in known:
                raise unknown(f"parameter of {self.algorithm}", name, known or ["none"])
        name = "fq(droptail)" if self.algorithm == "fq" else self.algorithm  # plain fq is Linux's pacing scheduler
        head = f"{name}@{profile}" if profile else name
        words = [word for name, value in params.items() for word in param_words(name, value)]
        braces = [] if inside is None else [f"{{ {inside() if isinstance(inside, type) else inside} }}"]
        self._text = spelled_aqm(" ".join([head, *words, *braces]))


@cache
def aqm_class(name: str) -> type[RegistryAqm] | None:
    """Class called `name`: a registered name in any capitalisation, with or without underscores."""
    for entry in registry()["aqms"]:
        if entry["name"].replace("_", "") == name.lower():
            about = {"algorithm": entry["name"], "__doc__": _doc(entry), "__module__": "sojourn"}
            signature = _signature(entry)
            return type(
                name, (RegistryAqm,), {**about, "__init__": _initialiser(signature), "__signature__": signature}
            )
    return None


def _initialiser(signature: Signature) -> Callable[..., None]:
    """Create `__init__` with a given signature."""

    def __init__(self: RegistryAqm, profile: str | None = None, **more: object) -> None:  # noqa: N807
        RegistryAqm.__init__(self, profile, **more)

    own = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *signature.parameters.values()]
    __init__.__signature__ = Signature(own)  # type: ignore[attr-defined]
    return __init__


def _signature(entry: Mapping[str, Any]) -> Signature:
    """Signature of a class, with the defaults of its default profile: for help and completion."""
    read: dict[str, Callable[[str], Any]] = {"flag": lambda text: text == "true", "count": int, "number": float}
    defaults = {param["name"]: read.get(param["kind"], str)(param["default"]) for param in entry["params"]}
    named = [
        Parameter(argument(name), Parameter.KEYWORD_ONLY, default=defaults.get(name, False))
        for name in parameter_names(entry)
    ]
    if entry["holds"]:
        named.append(Parameter(INSIDE, Parameter.KEYWORD_ONLY, default=None))
    return Signature([Parameter("profile", Parameter.POSITIONAL_OR_KEYWORD, default=None), *named])


def _doc(entry: dict[str, Any]) -> str:
    params = [f"    {p['name']}: {p['doc']} Default {p['default']}." for p in entry["params"]]
    return "\n".join(
        [f"{entry['summary']}.", "", f"Source: {entry['source']}.", "", "Parameters", "----------", *params]
    )
