"""Scenarios that a page has run by the native core: recorded tables, and restrictions on requests."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from sojourn.apps.lab.payload import payload
from sojourn.base.errors import InputError, explain
from sojourn.base.files import temporary_folder
from sojourn.base.units import seconds
from sojourn.model.aqms.loading import no_code
from sojourn.model.aqms.spelling import escape
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

SAMPLES = 4000
"""Samples of states and flows over a run."""
SHORTEST_S = 0.001
MAX_NAME, MAX_PART = 900, 255
"""Maximum characters of a file name with its folders, and maximum bytes of each part, as in file systems."""


def run_recorded(scenario: Scenario, seed: int | None) -> Result:
    """Run a scenario with the probes that views need, unless it has its own."""
    step = max(seconds(scenario.document["duration"]) / SAMPLES, SHORTEST_S)
    present = scenario.document["probes"]
    steps = {f"probes.{name}": f"{step:.6f} s" for name in ("state", "flows") if name not in present}
    return scenario.replace({"probes.packets": True, **steps}).run(seed, progress=False)


def run_request(request: Any) -> bytes:
    """Run a page's request: a text, optionally a seed, and uploaded files; returns the result as the page's payload.

    No other file of this machine is read, and no user code is run.
    """
    if not isinstance(request, Mapping) or not isinstance(request.get("text"), str):
        raise InputError('the request has no text; send {"text": "…"}')
    if _in_bytes(request["text"]) is None:
        raise InputError("text: contains an unpaired surrogate; send valid Unicode")
    seed, files = request.get("seed"), request.get("files") or {}
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64):
        raise InputError(f"seed: {seed!r} is not a whole number from 0 to {2**64 - 1}")
    if not isinstance(files, Mapping):
        raise InputError("files: expected an object of names and contents")
    with temporary_folder("sojourn-lab-") as folder, no_code("run it outside of the lab (sojourn run)"):
        folder = folder.resolve()
        try:
            for name, data in files.items():
                _write(folder / _plain(name), str(name), _decoded(name, data))
            scenario = Scenario.parse(request["text"], base=folder, within=True)
            return payload(run_recorded(scenario, seed), folder)
        except Exception as error:
            if (known := explain(error)) is None:
                raise
            raise InputError(strip_folder(folder, known[1])) from None


def strip_folder(folder: Path, text: str) -> str:
    """Remove a folder from the file names in a text."""
    for place in (str(folder), escape(str(folder))):
        text = text.replace(f"{place}/", "").replace(place, ".")
    return text


def _write(place: Path, name: str, contents: bytes) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise InputError(f"files: {name!r} is inside another file; give each a name of its own") from None


def _in_bytes(text: str) -> bytes | None:
    """A text in UTF-8; None for lone surrogates, which JSON can spell but no file or core accepts."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _plain(name: Any) -> PurePosixPath:
    """Validate a file name as a path below a folder."""
    path = PurePosixPath(str(name))
    parts = [_in_bytes(part) for part in path.parts]
    if any(part is None or len(part) > MAX_PART for part in parts) or len(str(name)) > MAX_NAME:
        limits = f"{MAX_NAME} characters of Unicode, {MAX_PART} bytes between two slashes"
        raise InputError(f"files: {str(name)[:40]!r}… is not a file name; give up to {limits}")
    if path.is_absolute() or ".." in path.parts or "\\" in str(name) or not path.name or "\0" in str(name):
        raise InputError(f"files: {name!r} is not the name of a file beside the scenario")
    return path


def _decoded(name: str, data: Any) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise InputError(f"files: {name!r} is not base64") from None
