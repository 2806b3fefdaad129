"""Public module paths: `sojourn.gym` is `sojourn.apps.gym`, and `python -m sojourn.kernel.vectors` runs.

Documents and users' programs name packages without their group, and both names give the same module. This needs a
finder before Python's own, which would load a second copy of a module by the path of its parent.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType

GROUPS = {
    **dict.fromkeys(("aqms", "ccs", "analysis", "results", "scenarios"), "model"),
    **dict.fromkeys(("traces", "logs", "pcap", "qlog", "flent", "measured", "tc"), "io"),
    **dict.fromkeys(("kernel", "ns2", "emulated", "validation"), "engines"),
    **dict.fromkeys(("runs", "fitting", "hunting", "gating", "score"), "studies"),
    "report": "papers",
    **dict.fromkeys(("cli", "lab", "labs", "gym", "net", "web"), "apps"),
}
"""Group of each package that has a public path without it."""


def target(name: str) -> str | None:
    """Real path of a module from its public path; `None` if it is no alias."""
    root, _, rest = name.partition(".")
    package, dot, inner = rest.partition(".")
    if root != "sojourn" or package not in GROUPS:
        return None
    return f"sojourn.{GROUPS[package]}.{package}{dot}{inner}"


def install() -> None:
    """Make the public paths importable; idempotent."""
    if not any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())


class _Aliases:
    """Meta path finder and loader of public paths."""

    def __init__(self) -> None:
        self._own_specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, module: ModuleType | None = None
    ) -> ModuleSpec | None:
        path_of = target(name)
        if path_of is None:
            return None
        from importlib.machinery import ModuleSpec

        real = _spec_of(path_of)
        if real is None:
            return None
        is_package = real.submodule_search_locations is not None
        spec = ModuleSpec(name, self, origin=real.origin, is_package=is_package)  # type: ignore[arg-type]
        if is_package:
            spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from importlib import import_module

        module = import_module(str(target(spec.name)))
        self._own_specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system has replaced by the alias's."""
        module.__spec__ = self._own_specs.pop(module.__name__)

    def get_code(self, name: str) -> CodeType | None:
        """Code object, which `python -m` gets from the loader."""
        real = _spec_of(str(target(name)))
        code: CodeType | None = real.loader.get_code(real.name) if real else None  # type: ignore[union-attr]
        return code


def _spec_of(name: str) -> ModuleSpec | None:
    from importlib.util import find_spec

    return find_spec(name)
