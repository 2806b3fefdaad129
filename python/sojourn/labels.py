"""Short names for results that are shown together: what they differ in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn.result import Result
from sojourn.scenario import spelled_aqm


def label_results(results: Sequence[Result]) -> list[str]:
    """Name each result by the keys in which it differs from the others; by its AQM if in none.

    Runs that differ in nothing but the seed have the same name, unless that is all there is.
    A log has the name of its file.
    """
    of_runs = iter(_label_runs([result for result in results if not result.is_log]))
    return [Path(str(result.folder)).name if result.is_log else next(of_runs) for result in results]


def _label_runs(results: Sequence[Result]) -> list[str]:
    flat = [_flatten(result) for result in results]
    keys = list(dict.fromkeys(key for row in flat for key in row))
    differing = [key for key in keys if len({repr(row.get(key)) for row in flat}) > 1]
    if differing != ["seed"]:
        differing = [key for key in differing if key != "seed"]
    return [", ".join(_word(key, row.get(key)) for key in differing) or row["link.aqm"] for row in flat]


def _flatten(result: Result) -> dict[str, Any]:
    document = result.scenario.document
    row: dict[str, Any] = {"link.aqm": result.scenario.aqm}
    row |= {f"link.{key}": value for key, value in document["link"].items() if key != "aqm"}
    reverse = {key: spelled_aqm(value) if key == "aqm" else value for key, value in document["reverse"].items()}
    row |= {f"reverse.{key}": value for key, value in reverse.items()}
    for index, hop in enumerate(document.get("links", [])):
        row |= {f"links.{index}.{key}": value for key, value in hop.items()}
    for index, flow in enumerate(document["flows"]):
        row |= {f"flows.{index}.{key}": value for key, value in flow.items()}
    return row | {"duration": document["duration"], "warmup": document["warmup"], "seed": result.seed}


def _word(key: str, value: Any) -> str:
    if key == "link.aqm":
        return str(value)
    if key.endswith(".count"):
        return "1 flow" if value == 1 else f"{value} flows"
    return f"{key.removeprefix('link.').removeprefix('flows.0.')} {value}"
