"""Initial content of the page: a scenario with the files that it names, or a result."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.apps.lab.files import check_size, files_beside
from sojourn.apps.lab.native import run_recorded
from sojourn.apps.lab.payload import payload
from sojourn.apps.lab.written import scenario_toml
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_toml, read_bytes, read_text
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.drawn import drawn_text
from sojourn.studies.runs.store import MANIFEST, load

if TYPE_CHECKING:
    from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Start:
    """A scenario's text, or a result's bytes; with neither, the page starts with a scenario of its own."""

    name: str = ""
    text: str | None = None
    seed: int | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    result: bytes | None = None

    def to_json(self, *, native: str | None = None, result: str | None = None) -> dict[str, Any]:
        """JSON for the page (`Start` in web/src/core).

        `native` and `result` are the addresses for native runs and of the result, relative to the page. A result
        without an address is embedded.
        """
        document: dict[str, Any] = {"name": self.name}
        if self.text is not None:
            document["text"] = self.text
        if self.seed is not None:
            document["seed"] = self.seed
        if self.files:
            document["files"] = {name: _base64(data) for name, data in self.files.items()}
        if self.result is not None:
            document["payload"] = {"base64": _base64(self.result)} if result is None else {"url": result}
        if native is not None:
            document["native"] = native
        return document


def of_path(path: Path | None) -> Start:
    """Start from a scenario file, or from the folder of a result.

    A scenario with a queue manager in Python or in a shared library is run here, because the page has no such code.
    """
    if path is None:
        return Start()
    if path.is_dir() or path.name == MANIFEST:
        return of_result(load(path.parent if path.name == MANIFEST else path))
    text = read_text(path)
    document = parse_toml(text)
    if "draw" in document:
        text = drawn_text(path, None)
        document = parse_toml(text)
    scenario = Scenario.load(path)
    if scenario.user_code():
        return of_result(run_recorded(scenario, scenario.seed))
    return Start(scenario.name or path.stem, text, None, files_beside(document, path.parent))


def of_scenario(scenario: Scenario) -> Start:
    """A scenario with explicit defaults, and the files that it names by absolute path."""
    if scenario.user_code():
        return of_result(run_recorded(scenario, scenario.seed))
    files = {str(path): read_bytes(path) for path in scenario.traces()}
    return Start(scenario.name, scenario_toml(scenario), scenario.seed, check_size(files))


def of_result(result: Result) -> Start:
    """Recorded tables of a result; without packets its scenario, which the page reruns with its seed."""
    if result.is_shell:
        remedy = "look at it with sojourn plot timeseries, or run a scenario with flows in the lab"
        raise InputError(f"{result.folder or result}: log of a shell, whose command made the traffic; {remedy}")
    has_packets = "packets" in result.table_names
    if has_packets or result.engine != "simulate" or result.scenario.user_code():
        return Start(result.scenario.name, None, result.seed, {}, payload(result))
    return replace(of_scenario(result.scenario), seed=result.seed)


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
