"""Scenarios that a page has run by the native core: what is recorded for it, and what a request may name."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sojourn.aqms.loading import no_code
from sojourn.base.errors import InputError
from sojourn.base.units import seconds
from sojourn.lab.files import names_of_files
from sojourn.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from sojourn.results.result import Result

SAMPLES = 4000
"""Samples of states and flows over a run."""
SHORTEST_S = 0.001


def recorded(scenario: Scenario, seed: int | None) -> Result:
    """Run a scenario with the probes that views are made of, where it has none of its own."""
    step = max(seconds(scenario.document["duration"]) / SAMPLES, SHORTEST_S)
    present = scenario.document["probes"]
    steps = {f"probes.{name}": f"{step:.6f} s" for name in ("state", "flows") if name not in present}
    return scenario.replace({"probes.packets": True, **steps}).run(seed, progress=False)


def requested(request: Any) -> Result:
    """Run what a page asks for: a text, perhaps a seed, and files that it has given.

    Nothing else of this machine is read, and no code of anybody's is run.
    """
    if not isinstance(request, Mapping) or not isinstance(request.get("text"), str):
        raise InputError('the request has no text; send {"text": "…"}')
    seed, files = request.get("seed"), request.get("files") or {}
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64):
        raise InputError(f"seed: {seed!r} is no whole number from 0 to {2**64 - 1}")
    if not isinstance(files, Mapping):
        raise InputError("files: names with their contents are expected")
    with TemporaryDirectory(prefix="sojourn-lab-") as folder, no_code():
        for name, data in files.items():
            place = Path(folder) / _plain(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_decoded(name, data))
        _check_files(request["text"], files)
        return recorded(Scenario.parse(request["text"], base=folder), seed)


def _check_files(text: str, files: Mapping[str, Any]) -> None:
    """Refuse a text that names a file of this machine instead of one that came with it."""
    missing = [name for name in names_of_files(text) if name not in files]
    if missing:
        raise InputError(f"{missing[0]!r} is not here; give the file as well")


def _plain(name: Any) -> PurePosixPath:
    """The name of a file below a folder."""
    path = PurePosixPath(str(name))
    if path.is_absolute() or ".." in path.parts or "\\" in str(name) or not path.name or "\0" in str(name):
        raise InputError(f"files: {name!r} is no name of a file beside the scenario")
    return path


def _decoded(name: str, data: Any) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise InputError(f"files: {name!r} is not base64") from None
