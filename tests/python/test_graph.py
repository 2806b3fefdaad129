"""Graphs of links: paths of flows, and names of links in all results."""

from __future__ import annotations

import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from conftest import REPO, Cli, printed_json
from sojourn import InputError, Result, Scenario, load
from sojourn.model.analysis.labels import flatten, names_of

GRAPHS = 1000
MESH = REPO / "scenarios" / "mesh.toml"


def made_up(draw: random.Random) -> dict[str, Any]:
    """A random connected graph with few distinct delays, so that many paths tie, with hosts and flows."""
    nodes = draw.randint(2, 12)
    pairs = [(draw.randrange(node), node) for node in range(1, nodes)]
    pairs += [(a, b) for a, b in (draw.choices(range(nodes), k=2) for _ in range(draw.randint(0, 2 * nodes))) if a != b]
    draw.shuffle(pairs)
    delays = [f"{ms} ms" for ms in range(draw.choice([1, 2, 4, 30]))]
    links = []
    for number, pair in enumerate(pairs):
        near, far = draw.sample(pair, 2)
        link = {"name": f"l{number}", "from": f"n{near}", "to": f"n{far}", "rate": "1 Mbit/s"}
        links.append(link | {"delay": draw.choice(delays), "reverse": {"delay": draw.choice(delays)}})
    ends = [draw.sample(range(nodes), 2) for _ in range(6)]
    return {
        "duration": "1 s",
        "nodes": [{"name": f"n{node}", "kind": draw.choice(["router"] * 4 + ["host"])} for node in range(nodes)],
        "links": links,
        "flows": [{"kind": "tcp", "from": f"n{near}", "to": f"n{far}"} for near, far in ends],
    }


def network_of(document: dict[str, Any]) -> nx.MultiDiGraph:
    """Both directions of all links: index in the file as key, name in results, delay in ms."""
    graph = nx.MultiDiGraph()
    for number, link in enumerate(document["links"]):
        name, near, far = link["name"], link["from"], link["to"]
        graph.add_edge(near, far, key=number, name=name, delay=int(link["delay"].split()[0]))
        graph.add_edge(far, near, key=number, name=f"{name} reverse", delay=int(link["reverse"]["delay"].split()[0]))
    return graph


def expected(graph: nx.MultiDiGraph, hosts: set[str], near: str, far: str) -> list[str] | None:
    """Minimum-delay path by networkx; ties go to the fewest links, then to the first in the file."""
    open_to_all = graph.subgraph([node for node in graph if node not in hosts or node in (near, far)])
    try:
        shortest = list(nx.all_shortest_paths(open_to_all, near, far, weight="delay"))
    except nx.NetworkXNoPath:
        return None
    choices = []
    for path in shortest:
        hops = [graph[a][b] for a, b in itertools.pairwise(path)]
        taken = [min((link["delay"], key) for key, link in links.items()) for links in hops]
        numbers = [number for _, number in taken]
        names = [links[number]["name"] for links, number in zip(hops, numbers, strict=True)]
        choices.append((len(path), numbers, names))
    return min(choices)[2]


def test_paths_are_networkx_s_on_a_thousand_graphs() -> None:
    draw, compared, ties = random.Random(20261122), 0, 0
    for _ in range(GRAPHS):
        document = made_up(draw)
        graph, hosts = network_of(document), {node["name"] for node in document["nodes"] if node["kind"] == "host"}
        wanted = []
        for flow in document["flows"]:
            near, far = flow["from"], flow["to"]
            both = expected(graph, hosts, near, far), expected(graph, hosts, far, near)
            assert (both[0] is None) == (both[1] is None)
            wanted.append(both)
        unreachable = [place for place, both in enumerate(wanted) if both[0] is None]
        if unreachable:
            with pytest.raises(InputError, match=rf"^flows\[{unreachable[0]}\]\.to: no links lead from"):
                Scenario.build(document)
            reachable = [flow for flow, both in zip(document["flows"], wanted, strict=True) if both[0] is not None]
            if not reachable:
                continue
            document, wanted = {**document, "flows": reachable}, [both for both in wanted if both[0] is not None]
        assert Scenario.build(document).routes == wanted, json.dumps(document)
        compared += 2 * len(wanted)
        ends = [(flow["from"], flow["to"]) for flow in document["flows"]]
        ties += sum(len(list(nx.all_shortest_paths(graph, *pair, weight="delay"))) > 1 for pair in ends)
    assert compared > 8 * GRAPHS and ties > GRAPHS, "enough paths, many with others of the same delay"


@pytest.fixture(scope="module")
def result() -> Result:
    return Scenario.load(
        MESH, {"duration": "8 s", "warmup": "2 s", "probes.packets": True, "probes.state": "0.1 s"}
    ).run()


NAMES = [
    name for link in ("metro", "uplink", "detour", "northwest", "spur", "dsl") for name in (link, f"{link} reverse")
]


def test_results_call_links_by_their_names(result: Result) -> None:
    assert result.link_names == NAMES == result.links["link"].to_list() == list(result.scenario.links)
    for table in (result.packets, result.queue, result.utilisation, result.histogram, result.state):
        seen = set(table["link"].cast(str).to_list())
        assert seen <= set(NAMES) and "metro" in seen
    assert result.scenario.routes == [
        (["uplink", "metro", "dsl"], ["dsl reverse", "metro reverse", "uplink reverse"]),
        (["metro", "spur"], ["spur reverse", "metro reverse"]),
        (["detour", "northwest"], ["metro reverse"]),
    ]
    flows = dict(zip(range(6), [0, 0, 0, 1, 1, 2], strict=True))
    crossed = {(link, flows[flow]) for link, flow in result.packets.select("link", "flow").iter_rows()}
    routes = enumerate(result.scenario.routes)
    assert crossed == {(name, group) for group, both in routes for path in both for name in path}


def test_summary_and_figures_are_for_the_requested_link(result: Result) -> None:
    assert result.link == "metro" and result.scenario.aqm == "codel" == result.summary["aqm"][0]
    other = result.at("dsl")
    assert (other.link, other.setup["rate"], other.summary["aqm"][0]) == ("dsl", "7.3 Mbit/s", "fq_codel")
    for one in (result, other):
        row = one.links.row(one.link_names.index(one.link), named=True)
        assert one.summary["utilisation"][0] == row["utilisation"] and one.summary["packets"][0] == row["packets"]
    assert result.summary["packets"][0] != other.summary["packets"][0]
    assert result.summary["goodput_bps"][0] == other.summary["goodput_bps"][0]
    for kind in ("timeseries", "cdf", "rates", "bytes", "window", "drops", "box"):
        first, second = (getattr(one.plot, kind)().data for one in (result, other))
        assert not first.equals(second), kind
    assert [str(name) for one in (result, other) for name in names_of([one])] == ["codel", "fq_codel"]
    figure, _ = other.plot.cdf()
    assert any("link: dsl" in text.get_text() for text in figure.texts)
    with pytest.raises(InputError, match='link "dls" is unknown; did you mean "dsl"'):
        result.at("dls")


def test_names_of_runs_know_the_delays_of_their_routes(result: Result) -> None:
    row = flatten(result)
    assert [row[f"flows.{group}.rtt"] for group in range(3)] == ["60 ms", "45 ms", "50 ms"]
    assert row["link.aqm"] == "codel" and row["links.5.rate"] == "7.3 Mbit/s"


def test_a_graph_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    short = ["--set", "duration=5 s", "--set", "warmup=1 s", "--set", "probes.packets=true"]
    printed = cli("run", MESH, *short, "-o", out)
    assert all(name in printed.stdout for name in NAMES)
    again = printed_json(cli("run", MESH, *short, "--json"))
    assert [hop["name"] for hop in again["summary"]["hops"]] == NAMES[2::2]
    figure = tmp_path / "dsl.csv"
    cli("plot", "bytes", out, "--link", "dsl reverse", "-o", figure)
    assert figure.read_text().count("\n") > 10
    refused = cli("plot", "cdf", out, "--link", "dls", "-o", figure)
    assert refused.exit_code == 2 and 'link "dls" is unknown; did you mean "dsl"?' in refused.stderr
    [folder] = [manifest.parent for manifest in out.rglob("manifest.json")]
    assert load(folder).at("dsl").scenario == Scenario.load(
        MESH, {"duration": "5 s", "warmup": "1 s", "probes.packets": True}
    )
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'extends = "{MESH}"\nduration = "3 s"\nwarmup = "1 s"\n[sweep]\n"links.0.aqm" = ["codel", "droptail"]\n'
    )
    rows = printed_json(cli("sweep", sweep, "--json"))["table"]
    assert [row["links.0.aqm"] for row in rows] == ["codel", "droptail"]
    wrong = cli("run", MESH, "--set", "link.rate=1 Mbit/s")
    assert wrong.exit_code == 2
    assert wrong.stderr.strip().endswith(
        "link: is not allowed beside [[nodes]]; write it as [[links]] with a name, from and to"
    )


def test_routes_need_no_files_of_the_links(tmp_path: Path) -> None:
    trace = tmp_path / "link.down"
    trace.write_text("1\n2\n")
    link = {"trace": str(trace), "aqm": "droptail"}
    row = {
        "duration": "1 s",
        "link": link,
        "links": [{"name": "second", **link}],
        "flows": [{"kind": "tcp", "direction": "reverse", "route": ["link", "second"]}, {"kind": "tcp"}],
    }
    scenario = Scenario.build(row)
    trace.unlink()
    both = [(["second reverse", "reverse"], ["forward", "second"]), (["forward"], ["reverse"])]
    assert scenario.routes == both
    cell = Scenario.build({"duration": "1 s", "wlan": {"stations": [{}]}, "flows": [{"kind": "tcp"}]})
    assert cell.routes == [([], [])]
    station = cell.run().at("station 0")
    with pytest.raises(InputError, match="the summary has all stations together"):
        _ = station.summary


def test_the_graph_of_the_documentation_has_the_paths_that_it_says() -> None:
    text = (REPO / "docs" / "scenario" / "graph.md").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "[[nodes]]" in block]
    graph, server, house = map(Scenario.parse, blocks)
    assert server.routes == [(["device"], ["device reverse"])]
    assert house.routes == [
        (["modem", "air"], ["air reverse", "modem reverse"]),
        (["air reverse", "modem reverse"], ["modem", "air"]),
    ]
    scenario = graph
    assert scenario.routes == [
        (["transit", "fibre", "dsl"], ["dsl reverse", "fibre reverse", "transit reverse"]),
        (["fibre"], ["fibre reverse"]),
        (["satellite"], ["fibre reverse"]),
    ]
    assert next(iter(scenario.links)) == "fibre"
