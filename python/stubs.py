"""Writes `model/aqms/managers.pyi`: every queue manager of the registry with its parameters, for editors and mypy.

`python python/stubs.py` writes the file; a test compares it with the output of `stub`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn.model.aqms.registry import EXCLUDE_CE, INSIDE, argument, class_name, registry

TARGET = Path(__file__).parent / "sojourn" / "model" / "aqms" / "managers.pyi"
KINDS = {
    "time": "str",
    "bytes": "str",
    "rate": "str",
    "count": "int",
    "number": "float",
    "flag": "bool",
    "bands": "str",
    "class": "str",
    "distribution": "str",
}
"""Python type of each kind of parameter; a quantity with a unit is a text such as "5 ms"."""
WIDTH = 112


def stub() -> str:
    """Return the text of the stub file."""
    entries = registry()["aqms"]
    names = ", ".join(f'"{class_name(entry)}"' for entry in entries)
    lines = [
        '"""The queue managers of the registry with their parameters; written by `make stubs`."""',
        "",
        "from typing import Literal, final",
        "",
        "from sojourn.model.aqms.aqm import Aqm",
        "from sojourn.model.aqms.registered import RegistryAqm",
        "",
        *_wrapped(f"__all__ = [{names}]", ""),
    ]
    for entry in entries:
        lines += ["", *_class(entry)]
    return "\n".join(lines) + "\n"


def _class(entry: dict[str, Any]) -> Iterator[str]:
    yield "@final"
    yield f"class {class_name(entry)}(RegistryAqm):"
    yield from _doc(f"{entry['summary']}.\n\nSource: {entry['source']}.", "    ")
    yield "    def __init__("
    yield "        self,"
    profiles = ", ".join(f'"{profile["name"]}"' for profile in entry["profiles"])
    yield from _wrapped(f"profile: Literal[{profiles}] | None = None,", "        ")
    flag = {"name": EXCLUDE_CE, "kind": "flag", "choices": []}
    params = [*entry["params"], *([flag] if entry[EXCLUDE_CE] else [])]
    if params:
        yield "        *,"
    for param in params:
        yield from _wrapped(f"{argument(param['name'])}: {_type(param)} = ...,", "        ")
    if entry["holds"]:
        yield f"        {INSIDE}: Aqm | type[Aqm] | str | None = ...,"
    yield "    ) -> None:"
    about = [f"{argument(param['name'])}: {param['doc']} Default {param['default']}." for param in entry["params"]]
    if entry["holds"]:
        about.append(f"{INSIDE}: Child queue manager, as in tc's braces: an object or its text. Default none.")
    yield from _doc(
        "\n".join([f"Configure a profile, None for the default profile{':' if about else '.'}", *about]), "        "
    )


def _type(param: dict[str, Any]) -> str:
    if param["kind"] == "choice":
        return f"Literal[{', '.join(repr(word) for word in param['choices'])}]".replace("'", '"')
    return KINDS[param["kind"]]


def _doc(text: str, indent: str) -> Iterator[str]:
    yield f'{indent}"""' + "\n".join(_wrapped_text(text.replace("\\", "\\\\"), indent)).lstrip()
    yield f'{indent}"""'


def _wrapped_text(text: str, indent: str) -> Iterator[str]:
    for paragraph in text.split("\n"):
        wrapped = textwrap.wrap(paragraph, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ")
        yield from wrapped or [""]


def _wrapped(code: str, indent: str) -> Iterator[str]:
    """Wrap code at `WIDTH`; every space in it must be inside brackets."""
    return iter(textwrap.wrap(code, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    "))


if __name__ == "__main__":
    TARGET.write_text(stub(), encoding="utf-8")
