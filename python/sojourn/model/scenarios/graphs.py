"""Graphs of the usual shapes as scenario files: a row, a random mesh, a provider's tree, a fat tree."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from tomlkit import string

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_toml
from sojourn.model.scenarios.scenario import Scenario

MAX_LINKS = 32_767
"""Maximum number of links of a scenario."""


@dataclass(frozen=True)
class Load:
    """Rates and delay of the links, and the flows over them.

    `rates` are one for all links, or one per level of a tree from the top down. `flows` TCP flows run between ends
    drawn by `seed`.
    """

    rates: Sequence[str] = ("100 Mbit/s",)
    delay: str = "1 ms"
    aqm: str = "codel"
    flows: int = 10
    duration: str = "10 s"
    seed: int = 1


@dataclass(frozen=True)
class _Flow:
    source: str
    sink: str
    route: Sequence[str] = ()
    return_route: Sequence[str] = ()


@dataclass
class _Graph:
    name: str
    nodes: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    links: list[tuple[str, str, int]] = field(default_factory=list)
    """Both ends, and the level of the link."""

    def add(self, near: str, far: str, level: int = 0) -> None:
        self.links.append((near, far, level))


def row(links: int, load: Load) -> str:
    """A row of `links` links; flows run between any two of its nodes, in either direction."""
    _check_links(links, least=1)
    nodes = [f"n{i}" for i in range(links + 1)]
    graph = _Graph("row", nodes, links=[(near, far, 0) for near, far in pairwise(nodes)])
    return _text(graph, load, lambda draw: _Flow(*draw.two(nodes)))


def mesh(nodes: int, degree: float, load: Load) -> str:
    """A random connected graph of `nodes` nodes with `degree` links per node on average; flows between any two."""
    if nodes < 2:
        raise InputError(f"nodes: {nodes}; write at least 2")
    links = round(nodes * degree / 2) if math.isfinite(degree) else 0
    if not nodes - 1 <= links <= nodes * (nodes - 1) // 2:
        least = 2 * (nodes - 1) / nodes
        raise InputError(f"degree: {degree:g} with {nodes} nodes; write {least:.3g} to {nodes - 1}")
    _check_links(links, least=1)
    names = [f"n{i}" for i in range(nodes)]
    draw = _Draw("links", load.seed)
    joined = {(draw.below(i), i) for i in range(1, nodes)}  # connects every node to an earlier one
    while len(joined) < links:
        near, far = sorted((draw.below(nodes), draw.below(nodes)))
        if near != far:
            joined.add((near, far))
    graph = _Graph("mesh", names, links=[(names[near], names[far], 0) for near, far in sorted(joined)])
    return _text(graph, load, lambda draw: _Flow(*draw.two(names)))


def tree(fan_outs: Sequence[int], load: Load) -> str:
    """A provider's tree: the core has `fan_outs[0]` nodes below it, each of these `fan_outs[1]`, and so on.

    Leaves are hosts, and all flows are downloads from the core to one of them.
    """
    if not fan_outs or min(fan_outs) < 1:
        raise InputError("fan-outs: write at least 1 for each level, e.g. 4 8 16")
    graph, level = _Graph("tree", ["core"]), ["core"]
    for depth, fan_out in enumerate(fan_outs):
        _check_links(len(graph.links) + len(level) * fan_out, least=1)
        below = [(parent, f"{'' if depth == 0 else parent + '.'}{i}") for parent in level for i in range(fan_out)]
        for parent, child in below:
            graph.add(parent, child, depth)
        level = [child for _, child in below]
        graph.nodes += level
    graph.hosts = set(level)
    return _text(graph, load, lambda draw: _Flow("core", draw.one(level)))


def fat_tree(k: int, load: Load) -> str:
    """A fat tree of switches with `k` ports (Al-Fares et al. 2008): k³/4 hosts in k pods, (k/2)² switches at the core.

    Flows run between any two hosts. Data and acknowledgments each take one of the equally short paths, drawn per flow
    as a hash of its addresses would choose it.
    """
    if k < 2 or k % 2:
        raise InputError(f"k: {k}; write an even number of ports, e.g. 4")
    _check_links(3 * k**3 // 4, least=1)
    half = k // 2
    graph = _Graph("fat-tree", [f"core{i}" for i in range(half * half)])
    for pod in range(k):
        graph.nodes += [f"p{pod}a{i}" for i in range(half)] + [f"p{pod}e{i}" for i in range(half)]
        for i in range(half):
            for j in range(half):
                graph.add(f"core{i * half + j}", f"p{pod}a{i}")
                graph.add(f"p{pod}a{i}", f"p{pod}e{j}")
    hosts = [(pod, edge, i) for pod in range(k) for edge in range(half) for i in range(half)]
    for pod, edge, i in hosts:
        graph.nodes.append(_host(pod, edge, i))
        graph.add(f"p{pod}e{edge}", _host(pod, edge, i))
    graph.hosts = {_host(*host) for host in hosts}

    def flow(draw: _Draw) -> _Flow:
        near, far = draw.two(hosts)
        routes = [_route(draw, half, near, far), _route(draw, half, far, near)]
        return _Flow(_host(*near), _host(*far), *routes)

    return _text(graph, load, flow)


_Host = tuple[int, int, int]
"""Pod, edge switch in it, and number below that."""


def _host(pod: int, edge: int, number: int) -> str:
    return f"p{pod}e{edge}h{number}"


def _route(draw: _Draw, half: int, near: _Host, far: _Host) -> list[str]:
    """Links of a shortest path from one host to another: up to a drawn aggregation and core switch, and down."""
    up, down = f"p{near[0]}e{near[1]}", f"p{far[0]}e{far[1]}"
    ends = [f"{up}-{_host(*near)}"], [f"{down}-{_host(*far)}"]
    above = draw.below(half)
    if up == down:
        return [*ends[0], *ends[1]]
    if near[0] == far[0]:
        switch = f"p{near[0]}a{above}"
        return [*ends[0], f"{switch}-{up}", f"{switch}-{down}", *ends[1]]
    core, out, back = f"core{above * half + draw.below(half)}", f"p{near[0]}a{above}", f"p{far[0]}a{above}"
    return [*ends[0], f"{out}-{up}", f"{core}-{out}", f"{core}-{back}", f"{back}-{down}", *ends[1]]


_T = TypeVar("_T")


class _Draw:
    """Draws by seed. All use `Random.random`, the only draw that Python promises to repeat in later versions."""

    def __init__(self, what: str, seed: int) -> None:
        self._random = random.Random(f"{what} {seed}")

    def below(self, count: int) -> int:
        return int(self._random.random() * count)

    def one(self, items: Sequence[_T]) -> _T:
        return items[self.below(len(items))]

    def two(self, items: Sequence[_T]) -> tuple[_T, _T]:
        first, second = self.below(len(items)), self.below(len(items) - 1)
        return items[first], items[second + (second >= first)]


def _check_links(links: int, *, least: int) -> None:
    if not least <= links <= MAX_LINKS:
        raise InputError(f"links: {links:,}; write {least} to {MAX_LINKS:,}")


def _text(graph: _Graph, load: Load, flow: Callable[[_Draw], _Flow]) -> str:
    """The scenario as TOML, checked."""
    levels = 1 + max(level for *_, level in graph.links)
    if len(load.rates) not in (1, levels):
        raise InputError(
            f"rate: {len(load.rates)} rates for {levels} levels of links; write one for all, or one per level"
        )
    text = "".join(f"{line}\n" for line in _lines(graph, load, flow))
    Scenario.build(parse_toml(text))
    return text


def _lines(graph: _Graph, load: Load, flow: Callable[[_Draw], _Flow]) -> Iterator[str]:
    draw = _Draw("flows", load.seed)
    yield from (f"name = {_word(graph.name)}", f"duration = {_word(load.duration)}", f"seed = {load.seed}")
    yield "nodes = ["
    for node in graph.nodes:
        kind = ', kind = "host"' if node in graph.hosts else ""
        yield f"  {{ name = {_word(node)}{kind} }},"
    yield from ("]", "links = [")
    own = f"delay = {_word(load.delay)}, aqm = {_word(load.aqm)}, reverse = {{ aqm = {_word(load.aqm)} }}"
    for near, far, level in graph.links:
        rate = _word(load.rates[level if len(load.rates) > 1 else 0])
        name = _word(f"{near}-{far}")
        yield f"  {{ name = {name}, from = {_word(near)}, to = {_word(far)}, rate = {rate}, {own} }},"
    yield from ("]", "flows = [")
    for _ in range(load.flows):
        one = flow(draw)
        routes = {"route": one.route, "return_route": one.return_route}
        words = [f", {key} = [{', '.join(map(_word, route))}]" for key, route in routes.items() if route]
        ends = f"from = {_word(one.source)}, to = {_word(one.sink)}"
        yield f'  {{ kind = "tcp", spread = "1 s", {ends}{"".join(words)} }},'
    yield "]"


def _word(text: str) -> str:
    return string(text).as_string()
