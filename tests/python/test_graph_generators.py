"""`sojourn scenario row`, `mesh`, `tree` and `fat-tree`: scenarios of graphs by size and seed."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import networkx as nx
import pytest

from conftest import Cli
from sojourn import InputError, Scenario
from sojourn.base.inputs import parse_toml
from sojourn.model.scenarios.graphs import MAX_LINKS, Load, fat_tree, mesh, row, tree


def graph_of(text: str) -> tuple[dict[str, Any], nx.Graph]:
    """The canonical scenario of a text, and its links as a graph."""
    document = Scenario.build(parse_toml(text)).document
    graph = nx.Graph((link["from"], link["to"]) for link in document["links"])
    assert set(graph) == {node["name"] for node in document["nodes"]} and nx.is_connected(graph)
    assert graph.number_of_edges() == len(document["links"]), "no two links join the same nodes"
    return document, graph


def test_a_row_is_a_path() -> None:
    document, graph = graph_of(row(7, Load(flows=30, rates=["3 Mbit/s"], delay="4 ms", aqm="pie", duration="2 s")))
    assert Counter(dict(graph.degree).values()) == {1: 2, 2: 6}
    link = document["links"][3]
    assert (link["rate"], link["delay"], link["aqm"]["name"], document["duration"]) == (
        "3 Mbit/s",
        "4 ms",
        "pie",
        "2 s",
    )
    assert len(document["flows"]) == 30 and len({(flow["from"], flow["to"]) for flow in document["flows"]}) > 10


@pytest.mark.parametrize(("nodes", "degree", "links"), [(2, 1, 1), (30, 3.2, 48), (12, 11, 66), (9, 16 / 9, 8)])
def test_a_mesh_has_its_mean_degree(nodes: int, degree: float, links: int) -> None:
    _, graph = graph_of(mesh(nodes, degree, Load()))
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (nodes, links)


def test_a_tree_has_a_rate_per_level() -> None:
    document, graph = graph_of(tree([2, 3, 4], Load(rates=["9 Gbit/s", "5 Gbit/s", "1 Gbit/s"])))
    assert nx.is_tree(graph)
    assert Counter(link["rate"] for link in document["links"]) == {"9 Gbit/s": 2, "5 Gbit/s": 6, "1 Gbit/s": 24}
    hosts = {node["name"] for node in document["nodes"] if node["kind"] == "host"}
    assert len(hosts) == 24 and all(graph.degree(host) == 1 for host in hosts)
    assert all(flow["from"] == "core" and flow["to"] in hosts for flow in document["flows"])


def test_a_fat_tree_spreads_flows_over_its_shortest_paths() -> None:
    document, graph = graph_of(fat_tree(4, Load(flows=60)))
    hosts = {node["name"] for node in document["nodes"] if node["kind"] == "host"}
    assert len(hosts) == 16 and all(graph.degree(node) == (1 if node in hosts else 4) for node in graph)
    for flow in document["flows"]:
        shortest = nx.shortest_path_length(graph, flow["from"], flow["to"])
        assert len(flow["route"]) == len(flow["return_route"]) == shortest
    crossed = {link for flow in document["flows"] for link in flow["route"] if link.startswith("core")}
    assert len(crossed) == 16, "every link of the core carries a flow"


def test_a_seed_gives_one_graph() -> None:
    for make in (lambda load: mesh(20, 3, load), lambda load: fat_tree(4, load), lambda load: row(9, load)):
        assert make(Load(seed=3)) == make(Load(seed=3)) != make(Load(seed=4))


def test_wrong_sizes_are_refused_at_once() -> None:
    for make, message in [
        (lambda: row(0, Load()), "links: 0; write 1 to 32,767"),
        (lambda: row(10**12, Load()), "links: 1,000,000,000,000; write 1 to 32,767"),
        (lambda: tree([10**6, 10**6], Load()), "links: 1,000,000; write 1 to 32,767"),
        (lambda: tree([], Load()), "fan-outs: write at least 1 for each level"),
        (lambda: tree([2, 2], Load(rates=["1 Mbit/s"] * 3)), "rate: 3 rates for 2 levels"),
        (lambda: fat_tree(5, Load()), "k: 5; write an even number"),
        (lambda: fat_tree(10**6, Load()), "write 1 to 32,767"),
        (lambda: mesh(1, 3, Load()), "nodes: 1; write at least 2"),
        (lambda: mesh(10, 20, Load()), "degree: 20 with 10 nodes; write 1.8 to 9"),
        (lambda: mesh(10, float("nan"), Load()), "degree: nan"),
        (lambda: row(3, Load(rates=["fast"])), "rate"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            make()


def test_the_commands_print_scenarios(cli: Cli) -> None:
    for args in (["row", "3"], ["mesh", "5", "--degree", "2"], ["tree", "2", "2"], ["fat-tree", "2"]):
        document = parse_toml(cli("scenario", *args, "--flows", "2", "--seed", "7").stdout)
        assert len(document["flows"]) == 2 and document["seed"] == 7, args
    assert MAX_LINKS == 32_767
