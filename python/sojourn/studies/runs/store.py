"""Results on disk: one folder per run, named by a hash of everything that determines its numbers."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from sojourn import _core, engines
from sojourn.base import memory
from sojourn.base.errors import InputError, MissingError, refuse_damaged
from sojourn.base.files import check_writable, new_folder, write_file, write_unpublished
from sojourn.base.frames import Columns, readable_table
from sojourn.base.inputs import parse_json, read_bytes
from sojourn.base.late import pl
from sojourn.base.units import quantity
from sojourn.engines import SIMULATE
from sojourn.io.logs import load_log
from sojourn.model.analysis.labels import flatten
from sojourn.model.aqms.loading import digest
from sojourn.model.aqms.registry import own_parameters
from sojourn.model.aqms.spelling import by_content, control_by_content, is_reference
from sojourn.model.results.result import Result
from sojourn.model.results.shape import find_mismatch
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.order import places

FORMAT = 4
"""Version of the folder's layout and of the meaning of its columns."""
MANIFEST = "manifest.json"


def run_hash(scenario: Scenario, seed: int, engine: str = SIMULATE) -> str:
    """Name of the run: a hash of canonical scenario, contents of its files, seed, engine and format version.

    The files are traces, distribution tables, and the sources of queue managers in Python.
    """
    return _hash(
        _subject(scenario, *map(_pairs, (_traces(scenario), _sources(scenario) | _controls(scenario)))), seed, engine
    )


def world_hash(scenario: Scenario) -> str:
    """Hash of what a scenario describes: with the contents of its traces, but without its seed.

    Queue managers and controls of users count by the name of their file and class, because their code may change.
    """
    names = {name: name.rpartition("/")[2] for name in scenario.user_code()}
    described = _by_content(scenario.document, _traces(scenario), names)
    text = _sorted({key: value for key, value in described.items() if key not in ("seed", "name")})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(
    scenario: Scenario,
    seed: int,
    root: Path,
    command: list[str],
    progress: Callable[[float], None] | None = None,
    engine: str = SIMULATE,
) -> Result:
    """Run a scenario into ``root/<hash>``; engines that can do so write the tables during the run.

    The hash is that of the result: for an emulated run that `sojourn ctl` changed, it includes the `[[changes]]`.
    """
    if not engines.writes(engine):
        check_writable(root)
        return save(engines.run(scenario, seed, engine, progress), root, command)
    name = run_hash(scenario, seed, engines.identity(engine, scenario))
    with new_folder(root / name) as part:
        result = engines.run(scenario, seed, engine, progress, part)
        if run_hash(scenario, seed, engines.identity(engine, scenario)) != name:
            files = ", ".join([*(str(path) for path in scenario.traces()), *scenario.user_code()])
            raise InputError(f"{files}: changed during the run, which is not stored; run it again")
        manifest = _manifest(result, name, part, command)
        write_unpublished(part / MANIFEST, _text(manifest))
    # Skip reading and checking the files just written: that takes as many steps as the rest of a short run.
    return _result(root / name, manifest, scenario)


def save(result: Result, root: Path, command: list[str]) -> Result:
    """Write a result to ``root/<hash>`` and return it as read from there."""
    name = run_hash(result.scenario, result.seed, result.engine)
    with new_folder(root / name) as part:
        write_unpublished(part / MANIFEST, _text(_manifest(result, name, part, command)))
    return load(root / name)


def save_in(result: Result, folder: Path, command: list[str]) -> Result:
    """Write a result into an existing folder, beside its sources."""
    name = run_hash(result.scenario, result.seed, result.engine)
    text = _text(_manifest(result, name, folder, command))
    write_file(folder / MANIFEST, lambda file: file.write(text))
    return load(folder)


def _manifest(result: Result, name: str, folder: Path, command: list[str]) -> dict[str, Any]:
    """Manifest of the run called `name`; its tables are written into the folder if they are not there yet."""
    tables = {name: _write_table(folder, name, result) for name in result.table_names}
    return {
        "format": FORMAT,
        "hash": name,
        "engine": result.engine,
        "sojourn": _core.version(),
        "command": command,
        "seed": result.seed,
        "fingerprint": result.fingerprint,
        "scenario": result.scenario.document,
        "traces": _traces(result.scenario),
        "aqms": _sources(result.scenario),
        **({"controls": controls} if (controls := _controls(result.scenario)) else {}),
        **({"parameters": own} if (own := own_parameters(result.scenario)) else {}),
        "summary": result.totals,
        "tables": tables,
    }


def _text(manifest: dict[str, Any]) -> bytes:
    # One line per key: indenting the whole document happens in pure Python, and takes as long as a short run.
    lines = (f" {json.dumps(key)}: {_encoded(value)}" for key, value in manifest.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def load(folder: Path | str) -> Result:
    """Read a result folder; raises `InputError` if the result is damaged or was changed."""
    folder = Path(folder)
    return _result(folder, read_manifest(folder))


def find(scenario: Scenario, seed: int, root: Path, engine: str = SIMULATE) -> Result | None:
    """Return the finished run of this scenario and seed under `root`, if there is one."""
    folder = root / run_hash(scenario, seed, engine)
    return _result(folder, _own_manifest(folder)) if folder.exists() else None


def adopt(scenario: Scenario, seed: int, others: Sequence[Path], root: Path, engine: str = SIMULATE) -> Result | None:
    """Copy the finished run of this scenario and seed to `root`, if one of the folders `others` has it intact."""
    name = run_hash(scenario, seed, engine)
    for other in others:
        if (other / name).exists():
            manifest = _own_manifest(other / name)
            with new_folder(root / name) as part:
                for table in manifest["tables"]:
                    _copy(_checked_table(other / name, manifest, table), part)
                _copy(other / name / MANIFEST, part)
            return load(root / name)
    return None


def check_source(folder: Path, names: Iterable[str]) -> None:
    """Raise `InputError` if a folder to merge contains none of the runs called `names`."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one that `sojourn sweep -o` wrote")
    if any((folder / name).exists() for name in names):
        return
    for manifest in sorted(folder.glob(f"[!.]*/{MANIFEST}")):
        read_manifest(manifest.parent)  # raises if the format differs
    raise InputError(f"{folder}: holds no run of this study; give the folder of one of its shards")


def _result(folder: Path, manifest: dict[str, Any], scenario: Scenario | None = None) -> Result:
    """Result described by a manifest; without `scenario` that is read from the manifest, too."""
    tables = {name: (lambda name=name: _read_table(folder, manifest, name)) for name in manifest["tables"]}
    scenario = scenario or Scenario(json.dumps(manifest["scenario"], ensure_ascii=False))
    result = Result(scenario, manifest["seed"], manifest["summary"], tables)
    result.folder = folder
    result.files = {name: partial(_checked_table, folder, manifest, name) for name in manifest["tables"]}
    result.files_as_columns = {name: partial(_read_columns, folder, manifest, name) for name in manifest["tables"]}
    result.engine = manifest["engine"]
    result.own_parameters = manifest.get("parameters", {})
    return result


def load_all(paths: list[Path]) -> list[Result]:
    """Results in the given folders, and logs; a folder of result folders means all of them."""
    found: list[Result] = []
    alone: list[Result] = []
    for path in paths:
        if path.is_file():
            found.append(load_log(path))
        elif (path / MANIFEST).exists() or not any(path.glob(f"[!.]*/{MANIFEST}")):
            alone.append(load(path))
            found.append(alone[-1])
        else:
            found += _in_order([load(manifest.parent) for manifest in path.glob(f"[!.]*/{MANIFEST}")])
    # Folders of one study given one by one, as a shell lists them, are also in its order.
    roots = {str(result.folder.parent) for result in alone if result.folder}
    if len(roots) == 1 and all(
        result.folder and result.folder.name in places(result.folder.parent) for result in alone
    ):
        ordered = iter(_in_order(alone))
        given = {id(result) for result in alone}
        found = [next(ordered) if id(result) in given else result for result in found]
    return found


def _in_order(results: Sequence[Result]) -> list[Result]:
    """Results of one folder in the order of their study; results without a study follow, in the order of `_order`."""
    known = places(results[0].folder.parent) if results[0].folder else {}
    last = len(known)

    def place(result: Result) -> tuple[int, tuple[str, int, list[float], int]]:
        own = known.get(result.folder.name, last) if result.folder else last
        return own, _order(result)

    return sorted(results, key=place)


def _order(result: Result) -> tuple[str, int, list[float], int]:
    """Sort key: queue manager, number of flows, every other number of the scenario, and seed."""
    flows = sum(int(flow["count"]) for flow in result.scenario.document["flows"])
    numbers = [(quantity(value) or (0.0, ""))[0] for key, value in flatten(result).items() if key != "seed"]
    return result.scenario.aqm, flows, numbers, result.seed


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a folder's manifest, checked for consistency and against the files beside it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such result folder; give a folder that `sojourn run` wrote")
    if not (folder / MANIFEST).exists():
        if any(folder.glob("*.records")):
            raise InputError(f"{folder}: log of a shell, not yet a result; run: sojourn log repair {folder}")
        raise InputError(
            f"{folder}: not a result, it has no {MANIFEST}; give a folder that `sojourn run` wrote, or one of such"
        )
    try:
        text = read_bytes(folder / MANIFEST)
    except InputError:
        refuse_damaged(folder, f"{MANIFEST} cannot be read")
    try:
        manifest = parse_json(text)
    except ValueError:
        refuse_damaged(folder, f"{MANIFEST} is not valid JSON")
    if not isinstance(manifest, dict) or not manifest.keys() >= _KEYS:
        lacking = _KEYS - manifest.keys() if isinstance(manifest, dict) else _KEYS
        refuse_damaged(folder, f"{MANIFEST} lacks {', '.join(sorted(lacking))}")
    if manifest["format"] != FORMAT:
        remedy = f"this version reads {FORMAT}; run it again"
        raise InputError(f"{folder}: result format {manifest['format']}, written by {manifest['sojourn']}; {remedy}")
    _check_manifest(folder, manifest)
    return manifest


def _own_manifest(folder: Path) -> dict[str, Any]:
    """Manifest of a run to reuse: it must have been computed by the same version."""
    if folder.is_dir() and not (folder / MANIFEST).exists():
        refuse_damaged(folder, f"{MANIFEST} is missing")
    manifest = read_manifest(folder)
    if manifest["sojourn"] != _core.version():
        remedy = "choose another place with -o, or move the folder away"
        raise InputError(
            f"{folder}: computed by sojourn {manifest['sojourn']}, but this is {_core.version()}; {remedy}"
        )
    return manifest


def trace_digest(path: Path) -> str:
    """SHA-256 of a trace file, cached until the file changes."""
    try:
        about = path.stat()
        return _digest_once(path, about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give the path of a readable trace") from None


@cache
def _digest_once(path: Path, _modified_ns: int, _size: int) -> str:
    return _digest(path)


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    try:
        sources = manifest.get("aqms", {}) | manifest.get("controls", {})
        subject = _by_content(manifest["scenario"], manifest["traces"], sources)
        name = _hash(_sorted(subject), manifest["seed"], manifest["engine"])
        same = manifest["summary"]["fingerprint"] == manifest["fingerprint"]
        sizes = {name: about["bytes"] for name, about in manifest["tables"].items() if about["sha256"]}
    except (KeyError, TypeError, AttributeError, ValueError):
        refuse_damaged(folder, f"{MANIFEST} is not a manifest")
    if name != manifest["hash"]:
        refuse_damaged(folder, f"scenario or seed in {MANIFEST} were changed")
    if not same:
        refuse_damaged(folder, "its fingerprint does not match its summary")
    if (place := find_mismatch(manifest)) is not None:
        refuse_damaged(folder, f"{place} in {MANIFEST} is missing or invalid")
    graph = "nodes" in manifest["scenario"]  # its first link is in the list
    if len(manifest["summary"]["hops"]) + graph != len(manifest["scenario"].get("links", [])):
        refuse_damaged(folder, f"scenario and summary in {MANIFEST} have different links")
    groups = range(len(manifest["scenario"]["flows"]))
    if any(flow.get("group", 0) not in groups for flow in manifest["summary"]["flows"]):
        refuse_damaged(folder, f"scenario and summary in {MANIFEST} have different flows")
    for table, size in sizes.items():
        file = folder / f"{table}.parquet"
        try:
            about = file.stat()
        except OSError:
            refuse_damaged(folder, f"{file.name} is missing")
        if not stat.S_ISREG(about.st_mode):
            refuse_damaged(folder, f"{file.name} is missing")
        if about.st_size != size:
            refuse_damaged(folder, f"{file.name} has {about.st_size} of {size} bytes")


def _traces(scenario: Scenario) -> dict[str, str]:
    return {str(path): trace_digest(path) for path in scenario.traces()}


def _sources(scenario: Scenario) -> dict[str, str]:
    return {name: digest(name) for name in scenario.user_aqms()}


def _controls(scenario: Scenario) -> dict[str, str]:
    return {name: digest(name) for name in scenario.user_controls()}


def _hash(subject: str, seed: int, engine: str) -> str:
    """Hash of the JSON text of these four with sorted keys; `subject` is the scenario's text."""
    text = f'{{"engine": {_sorted(engine)}, "format": {FORMAT}, "scenario": {subject}, "seed": {_sorted(seed)}}}'
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=256)
def _subject(scenario: Scenario, traces: _Pairs, sources: _Pairs) -> str:
    """Text of a scenario for hashing. Cached, because its runs differ only in their seeds, and each hashes twice."""
    return _sorted(_by_content(scenario.document, dict(traces), dict(sources)))


def _pairs(digests: dict[str, str]) -> _Pairs:
    return tuple(digests.items())


def _by_content(document: dict[str, Any], traces: dict[str, str], sources: dict[str, str]) -> dict[str, Any]:
    """Return the scenario with file names replaced by digests, so that a moved file gives the same run."""

    def named(link: dict[str, Any]) -> dict[str, Any]:
        own: dict[str, Any] = {"trace": traces[link["trace"]]} if link.get("trace") else {}
        if "reverse" in link:
            own["reverse"] = named(link["reverse"])
        if "aqm" in link:
            own["aqm"] = by_content(link["aqm"], sources, traces)
        return {**link, **own}

    links: dict[str, Any] = {key: named(document[key]) for key in ("link", "reverse") if key in document}
    if "links" in document:
        links["links"] = [named(hop) for hop in document["links"]]
    if "changes" in document:
        links["changes"] = [_changes_by_content(entry, named) for entry in document["changes"]]
    return {**document, **links, "flows": [_flow_by_content(flow, traces, sources) for flow in document["flows"]]}


def _flow_by_content(flow: dict[str, Any], traces: dict[str, str], sources: dict[str, str]) -> dict[str, Any]:
    own: dict[str, Any] = {"file": traces[flow["file"]]} if "file" in flow else {}
    if is_reference(str(flow.get("cc", "")).partition(" ")[0]):
        own["cc"] = control_by_content(flow["cc"], sources)
    return {**flow, **own}


def _changes_by_content(entry: dict[str, Any], named: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    own: dict[str, Any] = {key: named(entry[key]) for key in ("link", "reverse") if key in entry}
    hops = {"links": {name: named(hop) for name, hop in entry["links"].items()}} if "links" in entry else {}
    return {**entry, **own, **hops}


def _write_table(folder: Path, name: str, result: Result) -> dict[str, Any]:
    path = folder / f"{name}.parquet"
    rows = result.written.get(name)
    if rows is None:
        frame = result.table(name)
        write_file(path, lambda file: frame.write_parquet(file))
        rows = frame.height
    size, digest = _size_and_digest(path)
    return {"rows": rows, "bytes": size, "sha256": digest}


def _read_table(folder: Path, manifest: dict[str, Any], name: str) -> pl.DataFrame:
    path = _checked_table(folder, manifest, name)
    with readable_table(path):
        _check_memory(path, manifest["tables"][name]["rows"])
        frame = pl.read_parquet(path)
    _check_rows(path, frame.height, manifest["tables"][name]["rows"])
    return frame


def _read_columns(folder: Path, manifest: dict[str, Any], name: str) -> Columns | None:
    """Columns of a table that the core wrote; None for others, and for those whose memory Polars must check."""
    rows = manifest["tables"][name]["rows"]
    if rows >= LARGE:
        return None
    path = _checked_table(folder, manifest, name)
    try:
        found = _core.read_table(path)
    except InputError as error:
        refuse_damaged(folder, f"{path.name} cannot be read ({error})")
    for column in (found or {}).values():
        _check_rows(path, len(column), rows)
    return found


def _check_rows(path: Path, found: int, rows: int) -> None:
    if found != rows:
        refuse_damaged(path.parent, f"{path.name} has {found} of {rows} rows")


def _check_memory(path: Path, rows: int) -> None:
    """Raise `MissingError` if a large table does not fit into memory."""
    if rows < LARGE:
        return
    need = rows * sum(_WIDTHS.get(str(kind), 8) for kind in pl.read_parquet_schema(path).values())
    if not memory.is_available(need):
        left = memory.format_bytes(memory.free() or 0)
        raise MissingError(
            f"{path}: its {rows:,} rows take {memory.format_bytes(need)} of memory, {left} are free; "
            "read a part of it (Polars: scan_parquet), or run with a shorter duration"
        )


def _checked_table(folder: Path, manifest: dict[str, Any], name: str) -> Path:
    path = folder / f"{name}.parquet"
    if not path.is_file() or _digest(path) != manifest["tables"][name]["sha256"]:
        refuse_damaged(folder, f"{path.name} was modified after it was written")
    return path


def _copy(path: Path, folder: Path) -> None:
    shutil.copyfile(path, folder / path.name)


def _digest(path: Path) -> str:
    return _size_and_digest(path)[1]


def _size_and_digest(path: Path) -> tuple[int, str]:
    """Size of a file and its SHA-256."""
    size, digest = 0, hashlib.sha256()
    with path.open("rb", buffering=0) as file:  # a buffer costs three more system calls, and a small file is one read
        while block := file.read(1 << 20):
            size += len(block)
            digest.update(block)
    return size, digest.hexdigest()


_encoded = json.JSONEncoder(ensure_ascii=False).encode
_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
"""JSON text of a value, without and with sorted keys."""
_Pairs = tuple[tuple[str, str], ...]
"""Digests of files by name, hashable for caches."""
LARGE = 1_000_000
"""Rows from which on free memory is checked before reading a table."""
_WIDTHS = {"UInt8": 1, "UInt16": 2, "UInt32": 4}
"""Bytes per number; other types take 8."""


_KEYS = {"format", "hash", "engine", "sojourn", "seed", "fingerprint", "scenario", "traces", "summary", "tables"}
