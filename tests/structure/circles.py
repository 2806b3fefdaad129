"""Import cycles between the modules of a crate (*circles*), and the number of imports that close them.

    python tests/structure/circles.py crates/tcp crates/aqm crates/sim

A file is a node; `mod.rs` and `name.rs` beside a folder `name` are the file of that module. An edge goes from a file to
each file whose items it names by `use` or by a path that starts with `crate::`, `super::` or `self::`. Code under
`#[cfg(test)]`, test files and mere re-exports (`pub use`) are excluded. *Circles* are strongly connected components of
more than one file. *Upward imports* are the back edges in an order of the files from a greedy heuristic (P. Eades,
X. Lin, W. F. Smyth 1993).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = dict[str, set[str]]


def modules_of(crate: Path) -> dict[tuple[str, ...], Path]:
    """Files of a crate by module path, without tests."""
    root = crate / "src"
    found: dict[tuple[str, ...], Path] = {}
    for file in sorted(root.rglob("*.rs")):
        parts = file.relative_to(root).with_suffix("").parts
        if any(part in ("tests", "test", "case") for part in parts):
            continue
        if parts[-1] in ("mod", "lib"):
            parts = parts[:-1]
        found[parts] = file
    return found


def plain(text: str) -> str:
    """Rust source without comments, string literals and test code."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    kept, place = [], 0
    for test in re.finditer(r"#\[cfg\((?:test|all\(test)[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*", text):
        if test.start() < place:
            continue
        kept.append(text[place : test.start()])
        place = _end_of_item(text, test.end())
    return "".join([*kept, text[place:]])


def _end_of_item(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i + 1
        elif text[i] == ";" and depth == 0:
            return i + 1
    return len(text)


def paths_of(text: str) -> Iterator[tuple[str, ...]]:
    """All paths of a plain source: those of `use` with expanded braces, and those in code."""
    rest = []
    place = 0
    for use in re.finditer(r"(?P<public>pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);", text):
        rest.append(text[place : use.start()])
        place = use.end()
        if not use["public"]:
            yield from _unfolded(re.sub(r"\s+", " ", use["tree"]).strip())
    code = re.sub(r"pub\(in [^)]*\)", "pub", "".join([*rest, text[place:]]))
    for path in re.finditer(r"(?<![\w:])(?:\$?crate|super|self)(?:\s*::\s*\w+)+", code):
        yield tuple(re.split(r"\s*::\s*", path[0].replace("$", "")))


def _unfolded(tree: str, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    head, brace, inner = tree.partition("{")
    steps = tuple(step.strip() for step in head.split("::") if step.strip())
    if not brace:
        yield (*before, *(step.partition(" as ")[0] for step in steps))
        return
    for part in _parts(inner.rpartition("}")[0]):
        yield from _unfolded(part, (*before, *steps))


def _parts(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def exports_of(
    module: tuple[str, ...], text: str, modules: Mapping[tuple[str, ...], Path]
) -> dict[str, tuple[str, ...]]:
    """Names re-exported by a module, with the modules that define them."""
    found = {}
    for use in re.finditer(r"pub(?:\([^)]*\))?\s+use\s+(?P<tree>[^;]+);", text):
        for path in _unfolded(re.sub(r"\s+", " ", use["tree"]).strip()):
            if (target := _module_of(path, module, modules, {})) is not None and path[-1] != "*":
                found[path[-1]] = target
    return found


def _module_of(
    path: tuple[str, ...],
    module: tuple[str, ...],
    modules: Mapping[tuple[str, ...], Path],
    exports: Mapping[tuple[str, ...], Mapping[str, tuple[str, ...]]],
) -> tuple[str, ...] | None:
    here = module
    steps = list(path)
    if steps[0] == "crate":
        here, steps = (), steps[1:]
    elif steps[0] in ("self", "super"):
        while steps and steps[0] in ("self", "super"):
            here = here[:-1] if steps[0] == "super" else here
            steps = steps[1:]
    elif (*here, steps[0]) not in modules:
        return None  # another crate, or an item of this file
    while steps and (*here, steps[0]) in modules:
        here, steps = (*here, steps[0]), steps[1:]
    if steps and steps[0] in exports.get(here, {}):
        return exports[here][steps[0]]
    return here if here in modules else None


def graph_of(crate: Path) -> Graph:
    """Edges between the files of a crate, by their paths below `src`."""
    modules = modules_of(crate)
    texts = {module: plain(file.read_text(encoding="utf-8")) for module, file in modules.items()}
    exports = {module: exports_of(module, text, modules) for module, text in texts.items()}
    names = {module: str(file.relative_to(crate / "src")) for module, file in modules.items()}
    graph: Graph = {name: set() for name in names.values()}
    for module, text in texts.items():
        for path in paths_of(text):
            target = _module_of(path, module, modules, exports)
            if target is not None and target != module:
                graph[names[module]].add(names[target])
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Strongly connected components of more than one file, largest first."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(graph):
        stack = [(start, iter(sorted(graph[start])))] if start not in seen else []
        seen.add(start)
        while stack:
            node, targets = stack[-1]
            target = next((one for one in targets if one not in seen), None)
            if target is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(target)
                stack.append((target, iter(sorted(graph[target]))))
    backward: Graph = {node: set() for node in graph}
    for node, targets in graph.items():
        for target in targets:
            backward[target].add(node)
    found, taken = [], set[str]()
    for start in reversed(order):
        component, left = [], [start]
        while left:
            node = left.pop()
            if node not in taken:
                taken.add(node)
                component.append(node)
                left += sorted(backward[node] - taken)
        if len(component) > 1:
            found.append(sorted(component))
    return sorted(found, key=lambda one: (-len(one), one))


def upward(graph: Graph) -> list[tuple[str, str]]:
    """Back edges in the heuristic's order of the files."""
    left = {node: set(targets) for node, targets in graph.items()}
    first: list[str] = []
    last: list[str] = []

    def degrees(node: str) -> tuple[int, int]:
        return len(left[node] & left.keys()), sum(node in left[other] for other in left if other != node)

    while left:
        counted = {node: degrees(node) for node in sorted(left)}
        sinks = [node for node, (out, _) in counted.items() if out == 0]
        sources = [node for node, (out, into) in counted.items() if into == 0 and out > 0]
        if sinks:
            last = [*sinks, *last]
            chosen = sinks
        elif sources:
            first += sources
            chosen = sources
        else:
            best = max(counted, key=lambda node: (counted[node][0] - counted[node][1], node))
            first.append(best)
            chosen = [best]
        for node in chosen:
            del left[node]
    place = {node: i for i, node in enumerate([*first, *last])}
    return sorted(
        (node, target) for node, targets in graph.items() for target in targets if place[target] < place[node]
    )


def main(crates: list[str]) -> None:
    """Print the circles and upward imports of crates."""
    for crate in crates:
        graph = graph_of(Path(crate))
        found, up = circles(graph), upward(graph)
        edges = sum(map(len, graph.values()))
        sizes = ", ".join(str(len(one)) for one in found) or "none"
        print(f"{crate}: {len(graph)} files, {edges} imports between them; circles of {sizes} files; {len(up)} upward")
        if "-v" in sys.argv:
            for circle in found:
                print("  circle:", ", ".join(circle))
            for node, target in up:
                print(f"  {node} -> {target}")


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "-v"])
