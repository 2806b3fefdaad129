"""A result as bytes that the page plays back (`decodePayload` in web/src/core)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.units import seconds

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

TABLES = ("packets", "waiting", "state", "queue", "flows", "sojourn_histogram")
"""Tables for the views, if recorded."""
MAX_PACKETS = 2_000_000
"""Maximum number of packets included: 80 MB in the page."""
_MAGIC = b"SOJOURN1"
_KINDS = {"UInt8": "u8", "UInt16": "u16", "UInt32": "u32"}
_DTYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f64": "<f8"}


def payload(result: Result, folder: Path | None = None) -> bytes:
    """The summary of a result, its scenario, and its tables as columns; file names lose the prefix `folder`."""
    if result.is_log:
        raise InputError(f"{result.folder}: a log has no scenario, so the lab cannot show it")
    document = result.scenario.document
    frames = {name: result.table(name) for name in TABLES if name in result.table_names}
    if len(frames.get("packets", ())) > MAX_PACKETS:
        frames = {name: frame for name, frame in frames.items() if name not in ("packets", "waiting")}
    parts: list[bytes] = []
    tables = {name: _columns(frame, parts) for name, frame in frames.items()}
    head = {
        "checked": {
            "scenario": document,
            "queues": result.link_names,
            "flows": [_flow(flow, document) for flow in result.totals["flows"]],
            "need_bytes": result.scenario.need[0],
        },
        "seed": result.seed,
        "duration_ns": round(1e9 * seconds(document["duration"])),
        "summary": result.totals,
        "tables": tables,
    }
    text = json.dumps(head)
    if folder is not None:
        text = text.replace(f"{json.dumps(str(folder))[1:-1]}/", "")
    encoded = text.encode()
    begin = _MAGIC + len(encoded).to_bytes(4, "little") + encoded
    return b"".join([_padded(begin), *parts])


def _columns(frame: pl.DataFrame, parts: list[bytes]) -> dict[str, list[Any]]:
    """Append each column to `parts`; returns kind, offset and rows by name."""
    found = {}
    for column in frame.iter_columns():
        kind = _KINDS.get(str(column.dtype), "f64")
        offset = sum(map(len, parts))
        parts.append(_padded(column.to_numpy().astype(np.dtype(_DTYPES[kind])).tobytes()))
        found[column.name] = [kind, offset, len(column)]
    return found


def _flow(flow: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    group = flow.get("group")  # missing in older emulated runs
    cc = None if group is None else document["flows"][group].get("cc")
    return {"group": group, "kind": flow["kind"], "cc": cc, "direction": flow["direction"]}


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)
