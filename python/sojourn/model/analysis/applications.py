"""Application results of a run in words: pages, video, responsiveness, calls; and the repairs of a capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def applications(totals: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each flow group in a run's totals that models an application or replays a capture."""
    for number, group in enumerate(totals["groups"]):
        if group["kind"] == "browser":
            yield f"flows[{number}], pages: {_pages(group)}"
        if video := group.get("video"):
            yield f"flows[{number}], video: {_video(video)}"
        if rpm := group.get("rpm"):
            yield f"flows[{number}], responsiveness: {_rpm(rpm)}"
        if capture := group.get("capture"):
            yield f"flows[{number}], capture: {_capture(capture)}"
        if media := group.get("media"):
            yield f"flows[{number}], media: {_media(media)}"


def _pages(group: Mapping[str, Any]) -> str:
    times = group["completion_ms"]
    if not group["transfers"]:
        return "none finished in the window"
    count = f"{group['transfers']} page" + ("s" if group["transfers"] > 1 else "")
    return f"{count}, median {_time(times['p50'])}, 95 % within {_time(times['p95'])}"


def _video(video: Mapping[str, Any]) -> str:
    if video["rate_bps"] is None:
        return f"no segment arrived in the window, {_stalls(video)}"
    began = "" if video["startup_ms"] is None else f", first picture after {_time(video['startup_ms'])}"
    return f"{video['rate_bps'] / 1e6:.2f} Mbit/s on average, {video['switches']} switches, {_stalls(video)}{began}"


def _stalls(video: Mapping[str, Any]) -> str:
    return f"{video['stalls']} stalls, {video['stalled_s']:.1f} s in all" if video["stalled_s"] else "no stall"


def _rpm(rpm: Mapping[str, Any]) -> str:
    if rpm["rpm"] is None:
        return "no probe of each kind was answered"
    parts = f"foreign {rpm['foreign_rpm']:.0f}, on the load {rpm['loaded_rpm']:.0f}"
    network = f"without the sender's socket {rpm['rpm_in_network']:.0f} RPM"
    return f"{rpm['rpm']:.0f} RPM, {rpm['class']}, confidence {rpm['confidence']} ({parts}); {network}"


def _capture(capture: Mapping[str, Any]) -> str:
    sent = f"{capture['packets']} packets" if "packets" in capture else f"{capture['transfers']} transfers"
    repair_texts = {
        "reordered": "with timestamps out of order",
        "clock_steps": "clock steps removed",
        "duplicates": "removed as duplicates",
    }
    repairs = [f"{capture[key]} {text}" for key, text in repair_texts.items() if capture[key]]
    large = capture["super_packets"]
    cut = [f"{large} above the MTU, {capture['pieces']} on the wire"] if large and "packets" in capture else []
    return "; ".join([sent, *cut, *repairs])


def _media(media: Mapping[str, Any]) -> str:
    if media["target_bps"] is None:
        return "no frame was sent in the window"
    rate = f"target {media['target_bps'] / 1e6:.2f} Mbit/s on average"
    if media["queueing_ms"]["p95"] is None:
        return f"{rate}, nothing arrived"
    queueing = f"95 % of the packets queued for less than {_time(media['queueing_ms']['p95'])}"
    # Frames sent before the window may arrive within it, so more can arrive than were sent.
    made, whole, late = (media[key] for key in ("frames", "frames_whole", "frames_late"))
    return f"{rate}, {queueing}; {made} frames sent, {whole} complete, {late} of them late"


def _time(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.2f} s"
