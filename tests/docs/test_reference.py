"""The scenario pages have the generated tables of keys; the results pages have every table and column."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sojourn import InputError, Result, Scenario, Study, _core
from tables import Table

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[str, str] = runpy.run_path(str(DOCS / "scenario" / "generate.py"))["pages"]()


@pytest.mark.parametrize("page", sorted(PAGES))
def test_tables_of_keys_are_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page], "run: make pages"


def test_every_key_has_a_meaning_and_an_order() -> None:
    def check(schema: dict[str, Any], place: str) -> None:
        properties = schema.get("properties", {})
        if "x-order" in schema:
            assert set(schema["x-order"]) == {name for name, key in properties.items() if "description" in key}, place
        for name, key in properties.items():
            check(key, f"{place}.{name}")
            check(key.get("items", {}), f"{place}.{name}")

    schema = json.loads(_core.scenario_schema())
    check(schema, "scenario")
    for kind in schema["properties"]["flows"]["items"]["oneOf"]:
        name = kind["properties"]["kind"]["const"]
        assert set(kind["x-order"]) == set(kind["properties"]), name


def part(document: str, heading: str) -> str:
    """Return the text under a heading of a page or of one in its folder, up to the next of the same level."""
    page = DOCS / document
    for text in (path.read_text(encoding="utf-8") for path in (page, *sorted(page.with_suffix("").glob("*.md")))):
        if level := re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE):
            return re.split(rf"^{level[1]} ", text[level.end() :], flags=re.MULTILINE)[0]
    raise AssertionError(f"{document} has no heading {heading!r}")


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables, without heads and rules."""
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return [row for row in cells if row[0].startswith("`")]


def names(text: str) -> set[str]:
    return {name for row in rows(text) for name in re.findall(r"`([^`]+)`", row[0])}


@pytest.fixture(scope="module")
def result() -> Result:
    tcp = {"kind": "tcp", "rtt": "20 ms"}
    voice = {"kind": "voice"}
    probes = {
        "packets": True,
        "headers": True,
        "drops": True,
        "transfers": True,
        "senders": True,
        "queue": "10 ms",
        "flows": "10 ms",
        "state": "10 ms",
        "utilisation": "100 ms",
    }
    link = {"rate": "10 Mbit/s", "aqm": "codel"}
    links = [{"name": "second", "rate": "5 Mbit/s"}]
    return Scenario.build(
        {"duration": "1 s", "link": link, "links": links, "flows": [tcp, voice], "probes": probes}
    ).run()


@pytest.fixture(scope="module")
def wireless() -> Result:
    tcp = {"kind": "tcp", "rtt": "20 ms"}
    probes = {"accesses": True}
    wlan: dict[str, Any] = {"stations": [{}]}
    return Scenario.build({"duration": "1 s", "warmup": "auto", "wlan": wlan, "flows": [tcp], "probes": probes}).run()


@pytest.fixture(scope="module")
def settled() -> Result:
    poisson = {"kind": "poisson", "rate": "5 Mbit/s"}
    link = {"rate": "10 Mbit/s"}
    return Scenario.build({"duration": "5 s", "warmup": "auto", "link": link, "flows": [poisson]}).run()


@pytest.fixture(scope="module")
def applications() -> Result:
    video = {"kind": "video", "ladder": ["1 Mbit/s"], "segment": "100 ms"}
    rpm = {"kind": "rpm", "interval": "100 ms"}
    link = {"rate": "10 Mbit/s"}
    media = {"kind": "media", "control": "nada"}
    probes = {"transfers": True, "media": True}
    return Scenario.build({"duration": "1 s", "link": link, "flows": [video, rpm, media], "probes": probes}).run()


@pytest.fixture(scope="module")
def tables(result: Result, wireless: Result, settled: Result, applications: Result) -> dict[str, pl.DataFrame]:
    of_all = (result, wireless, settled, applications)
    return {name: one.table(name) for one in of_all for name in one.table_names}


def test_result_tables(tables: dict[str, pl.DataFrame]) -> None:
    headings = re.findall(r"^### `(\w+)`$", (DOCS / "results" / "tables.md").read_text("utf-8"), re.MULTILINE)
    rows = Table.read("columns.csv").rows
    assert headings == list(dict.fromkeys(row["table"] for row in rows)) and set(headings) == set(tables)
    short = {"UInt8": "u8", "UInt16": "u16", "UInt32": "u32", "UInt64": "u64", "Float64": "f64"}
    for name, table in tables.items():
        columns = {row["column"]: row["type"] for row in rows if row["table"] == name}
        found = {column: short[str(kind)] for column, kind in table.schema.items()}
        if name == "state":  # its other columns are state variables of the queue managers
            assert columns.pop("NAME") == "f64"
            found = {column: found[column] for column in ("time_ns", "link")}
        assert columns == found, name


def test_summary_keys(result: Result, wireless: Result, settled: Result) -> None:
    rows = Table.read("summary.csv").rows
    documented = {key for row in rows for key in row["key"].split(", ")}
    documented |= {key for row in rows for key in re.findall(r"`([\w.-]+)`", row["meaning"])}
    link = result.totals["links"]["forward"]
    group, flow = result.totals["groups"][0], result.totals["flows"][0]
    wlan = wireless.totals["wlan"]
    parts = [
        result.totals,
        wireless.totals,
        settled.totals,
        wlan,
        wlan["stations"][0],
        wlan["stations"][0]["rates"][0],
        wlan["rtts"][0],
        result.totals["hops"][0],
        link,
        link["sojourn_ms"],
        link["dropped_by"],
        group,
        group["completion_ms"],
        flow,
    ]
    known = {key for table in parts for key in table} - {"links"} | {"links.forward", "links.reverse"}
    assert known <= documented


def toml_blocks(document: str) -> list[str]:
    text = (DOCS / document).read_text(encoding="utf-8")
    return re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_examples_can_run(tmp_path: Path) -> None:
    scenario, changes, draw, tables, sweep = toml_blocks("scenario.md")
    wlan, graph, shared, house = toml_blocks("scenario/graph.md")
    assert len(Scenario.parse(wlan).document["wlan"]["stations"]) == 2
    assert Scenario.parse(scenario).document["flows"][0]["count"] == 4
    assert Scenario.parse(graph).routes
    assert Scenario.parse(shared).document["links"][0]["aqm"]["profile"] == "linux-6.1"
    changed = Scenario.parse(f"{scenario}\n{changes}").document["link"]
    assert (changed["rate"], changed["delay"]) == ("10 Mbit/s@0 s,2 Mbit/s@5 s,20 Mbit/s@8 s", "5 ms@0 s,60 ms@8 s")
    assert len(Scenario.parse(house).document["links"][1]["wlan"]["stations"]) == 2
    (tmp_path / "study.toml").write_text(f"{scenario}\n{sweep}", encoding="utf-8")
    study = Study.load(tmp_path / "study.toml")
    assert (len(study.points), len(study.seeds)) == (9, 10)
    (tmp_path / "drawn.toml").write_text(f"{scenario}\n{draw}", encoding="utf-8")
    assert Scenario.load(tmp_path / "drawn.toml", seed=7).document["flows"][0]["count"] in (1, 2, 4, 8)
    without = scenario.replace('rate = "10 Mbit/s"\n', "")
    (tmp_path / "tables.toml").write_text(f"{without}\n{tables}", encoding="utf-8")
    links = [Scenario.load(tmp_path / "tables.toml", seed=seed).document["link"] for seed in range(1, 9)]
    assert {"rate" in link for link in links} == {"bucket" in link for link in links} == {True, False}


def test_the_errors_are_as_shown() -> None:
    scenario = toml_blocks("scenario.md")[0]
    for right, wrong in (('rate = "10 Mbit/s"', 'rate = "10"'), ("rtt =", "rtts =")):
        with pytest.raises(InputError) as refused:
            Scenario.parse(scenario.replace(right, wrong))
        assert str(refused.value) in (DOCS / "scenario.md").read_text(encoding="utf-8").splitlines()
