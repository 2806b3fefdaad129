"""The packages of `sojourn` depend on each other in one direction, without import cycles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import sojourn
from sojourn.base import aliases

ROOT = Path(sojourn.__file__).parent
ORDER = (
    *("base", "io.traces", "model.aqms", "model.ccs", "model.analysis", "figures", "model.results", "engines"),
    *("model.scenarios",),
    *("io.logs", "io.pcap", "io.qlog", "io.flent", "io.measured", "io.tc"),
    *("studies.runs", "studies", "studies.fitting", "studies.hunting", "studies.gating", "apps.gym", "apps.net"),
    *("engines.validation", "engines.kernel", "engines.ns2", "engines.emulated"),
    *("apps.web", "apps.lab", "papers", "papers.report", "studies.score", "apps.cli", "apps.labs"),
    *("__main__", "demo", "pytest_plugin"),
)
"""Packages and modules of `sojourn`; each imports only those on its left, and a group includes its own modules.

docs/architecture.md has the same order.
"""
SHARED_TYPES = {"sojourn.model.results.result", "sojourn.model.scenarios.scenario"}
"""Types that all modules may import upwards for type checking; no others."""
LATE = {
    "sojourn": "everything: `import sojourn` loads nothing",
    "sojourn.__main__": "click: a shell runs without it, and Ctrl-C works while the rest is loaded",
    "sojourn.apps.cli": "all but click: help starts at once",
    "sojourn.demo": "everything: Ctrl-C works while it is loaded",
    "sojourn.engines.emulated.command": "everything: a shell forks before any thread runs",
    "sojourn.engines": "the core: the command line names the engines before it needs any",
    "sojourn.figures": "the core: help lists the kinds without it",
    "sojourn.figures.api": "matplotlib: runs whose figures nobody asks for",
    "sojourn.figures.canvas": "matplotlib's backend for TeX",
    "sojourn.apps.gym": "PettingZoo: environments with one agent need none",
    "sojourn.pytest_plugin": "the core: pytest loads it in every session",
    "sojourn.apps.gym.render": "matplotlib: episodes of which nobody wants pictures",
}
"""Modules (for packages of commands, with submodules) that import within functions, and the reason."""
LOADERS = {
    *("sojourn", "sojourn.base.aliases", "sojourn.base.notebook", "sojourn.model.aqms.loading", "sojourn.apps.cli"),
    *("sojourn.engines", "sojourn.figures", "sojourn.io.logs", "sojourn.papers"),
}
"""Modules that load others by name: registries, and queue managers of users."""


@dataclass(frozen=True)
class Arrow:
    """An import."""

    source: str
    target: str
    line: int
    in_function: bool
    for_types: bool


@cache
def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


@cache
def arrows() -> list[Arrow]:
    return [arrow for name, tree in modules().items() for arrow in _arrows(name, tree, False, False)]


def _arrows(name: str, tree: ast.AST, in_function: bool, for_types: bool) -> Iterator[Arrow]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in _targets(node):
                if target != name:
                    yield Arrow(name, target, node.lineno, in_function, for_types)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _arrows(name, ast.Module(node.body, []), in_function, True)
            yield from _arrows(name, ast.Module(node.orelse, []), in_function, for_types)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _arrows(name, node, in_function or is_function, for_types)


def _targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Own modules that an import loads: the named one and its parent packages."""
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports name the whole path"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        names = [alias.name for alias in node.names]
    for name in names:
        parts = name.split(".")
        if parts[0] == "sojourn" and parts[1:2] not in ([], ["_core"]):
            yield from {".".join(parts[:end]) for end in range(2, len(parts) + 1)} & modules().keys()


def package(module: str) -> str:
    """Package of `ORDER` that contains a module: the one in its group or the group itself; "" for a plain folder."""
    parts = module.split(".")[1:]
    inner = ".".join(parts[:2])
    if inner in ORDER:
        return inner
    is_folder = len(parts) == 1 and all(isinstance(line, ast.Expr) for line in modules()[module].body)
    return "" if not parts or is_folder else parts[0]


def test_the_order_names_every_package() -> None:
    assert {package(name) for name in modules()} - {""} == set(ORDER)


def test_every_package_of_a_group_has_its_public_path() -> None:
    """The path in documents and users' programs: without the group, and the same module."""
    grouped = dict(name.split(".")[::-1] for name in ORDER if "." in name)
    assert grouped == aliases.GROUPS
    for name in ("gym", "analysis.stats", "kernel.vectors", "emulated.torture", "labs.grade"):
        assert import_module(f"sojourn.{name}") is import_module(f"sojourn.{grouped[name.split('.')[0]]}.{name}")
        assert import_module(f"sojourn.{name}").__spec__.name.split(".")[1] in {*grouped.values()}
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'sojourn.kernel.vector'"):
        import_module("sojourn.kernel.vector")


def test_no_two_modules_need_each_other() -> None:
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for arrow in arrows():
        is_around = arrow.source.startswith(f"{arrow.target}.")  # a package is loaded before its modules
        if not arrow.for_types and (not is_around or _names(arrow)):
            graph[arrow.source].add(arrow.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def _names(arrow: Arrow) -> bool:
    """Whether an import targets the module's own package, not another module in it."""
    return not any(other.startswith(f"{arrow.target}.") for other in _targets_of_lines()[arrow.source, arrow.line])


@cache
def _targets_of_lines() -> dict[tuple[str, int], list[str]]:
    found: dict[tuple[str, int], list[str]] = {}
    for arrow in arrows():
        found.setdefault((arrow.source, arrow.line), []).append(arrow.target)
    return found


def test_packages_depend_in_one_direction() -> None:
    rank = {name: place for place, name in enumerate(ORDER)}
    up = [
        f"{arrow.source}:{arrow.line} imports {arrow.target}"
        for arrow in arrows()
        if not arrow.source.startswith(f"{arrow.target}.") or _names(arrow)
        if package(arrow.source) and rank[package(arrow.source)] < rank.get(package(arrow.target), -1)
        if not (arrow.for_types and _is_shared_type(arrow))
    ]
    assert not up


def _is_shared_type(arrow: Arrow) -> bool:
    return any(f"{shared}.".startswith(f"{arrow.target}.") for shared in SHARED_TYPES)


def test_architecture_has_the_same_order() -> None:
    text = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    reported = re.search(r"^base  <--.*?(?=^```)", text, re.MULTILINE | re.DOTALL)
    assert reported, "docs/architecture.md: the order of the packages is missing"
    assert re.findall(r"[\w.]+", reported[0]) == list(ORDER)


def test_imports_within_functions_have_a_reason() -> None:
    late = {arrow.source for arrow in arrows() if arrow.in_function}
    listed = {name: "sojourn.apps.cli" if name.startswith("sojourn.apps.cli.") else name for name in late}
    unmarked = [name for name, place in listed.items() if place not in LATE]
    assert not unmarked, "import at the top, or say in LATE what it saves"
    assert set(listed.values()) == LATE.keys(), "LATE names modules that import nothing within functions"


def test_modules_are_loaded_by_name_in_registries_only() -> None:
    calls = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
    }
    assert calls == LOADERS


def test_names_in_texts_exist() -> None:
    texts = {
        (name, node.value)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"sojourn(\.[a-z_0-9]+)+", node.value)
    }
    assert len(texts) > 50, "registries name their modules"
    known = {*modules(), "sojourn._core", "sojourn.wasm", "sojourn.ko"}  # files of the lab and of a kernel module
    assert not [(name, text) for name, text in texts if text not in known and aliases.target(text) not in known]


def test_names_imported_from_the_top_exist() -> None:
    """`sojourn` loads names lazily, so a type checker accepts any name."""
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "sojourn":
                for alias in node.names:
                    is_module = f"sojourn.{alias.name}" in {*modules(), "sojourn._core"}
                    assert is_module or alias.name in sojourn.__all__, f"{name}:{node.lineno}: {alias.name}"


@pytest.mark.parametrize("name", sojourn.__all__)
def test_public_names_are_at_the_top(name: str) -> None:
    home = sojourn._HOMES[name]
    assert getattr(sojourn, name) is getattr(import_module(home), name)
