"""Entries of a summary as flat rows: columns of frames, with units in their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def flat_summary(totals: Mapping[str, Any]) -> dict[str, Any]:
    """Summary of the forward link and of the whole run as one flat row."""
    keys = ("goodput_bps", "delivered_bps", "jain", "events", "fingerprint", "warmup_s")
    whole = {key: totals[key] for key in keys}
    searched = {key: totals.get(key) for key in ("settled", "not_settled")}
    return {**flat_link(totals["links"]["forward"]), **whole, **jains(totals["groups"]), **searched}


def jains(groups: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Columns with Jain's index of each flow group by number, if several groups have one."""
    indices = {number: group["jain"] for number, group in enumerate(groups) if group.get("jain") is not None}
    return {f"jain_flows_{number}": index for number, index in indices.items()} if len(indices) > 1 else {}


def flat_link(link: Mapping[str, Any]) -> dict[str, Any]:
    """A link of a summary as a row."""
    row = {key: value for key, value in link.items() if not isinstance(value, dict | list)}
    row |= {f"dropped_{reason.replace('-', '_')}": n for reason, n in link["dropped_by"].items()}
    return row | {f"sojourn_{key}_ms": value for key, value in link["sojourn_ms"].items()}


def flat_queue(queue: Mapping[str, Any]) -> dict[str, Any]:
    """A queue within a qdisc as a row, without its name."""
    row = {key: value for key, value in queue.items() if not isinstance(value, dict) and key != "name"}
    return row | {f"sojourn_{key}_ms": value for key, value in queue["sojourn_ms"].items()}


def flat_group(group: Mapping[str, Any]) -> dict[str, Any]:
    """A flow group of a summary as a row."""
    row = {key: value for key, value in group.items() if not isinstance(value, dict)}
    row |= {f"completion_{key}_ms": value for key, value in group["completion_ms"].items()}
    row |= {f"capture_{key}": value for key, value in group.get("capture", {}).items()}
    row |= {f"video_{key}": value for key, value in group.get("video", {}).items()}
    row |= _flat_media(group.get("media", {}))
    return row | {key if key.startswith("rpm") else f"rpm_{key}": value for key, value in group.get("rpm", {}).items()}


def _flat_media(media: Mapping[str, Any]) -> dict[str, Any]:
    row = {f"media_{key}": value for key, value in media.items() if not isinstance(value, dict)}
    times = {quantity: media.get(f"{quantity}_ms", {}) for quantity in ("queueing", "frame")}
    return row | {
        f"media_{quantity}_{key}_ms": value for quantity, all_of in times.items() for key, value in all_of.items()
    }


def flat_node(node: Mapping[str, Any]) -> dict[str, Any]:
    """A wireless LAN's sender as a row."""
    row = {key: value for key, value in node.items() if not isinstance(value, (dict, list))}
    times = {quantity: node[f"{quantity}_ms"] for quantity in ("ring", "mac")}
    if "aggregation" in node:
        sent = node["aggregation"]
        row |= {"aggregates": sent["aggregates"], "aggregated": sent["frames"], "failed": sent["failed"]}
        times["reorder"] = sent["reorder_ms"]
    return row | {f"{quantity}_{key}_ms": value for quantity, all_of in times.items() for key, value in all_of.items()}
