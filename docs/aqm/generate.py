"""Writes the page of every queue discipline from the registry and the doc comments of its source.

`python docs/aqm/generate.py` writes the pages beside this file; a test compares them with its output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sojourn as sj
from sojourn import _core
from sojourn.base.markdown import doc_comment, module_source, parameter_table, table
from sojourn.model.aqms.registry import registry

HERE = Path(__file__).parent
EXCLUDE_CE = (
    "Each that manages one queue or flows apart takes one flag more: with `exclude_ce` (`ared ecn exclude_ce`) packets "
    "that carry CE are left out of what its algorithm measures, as khademi2013 recommends in section 7. It then sees a "
    "backlog without them, and sojourn times without the time that the link spent on such packets in between. Limits "
    "and statistics count every packet."
)
# Changed parameters for examples, by name and kind.
CHANGES = {
    ("jitter", "time"): "delay 20ms 5ms distribution normal loss 0.1% { fq_codel }",
    ("gap", "count"): "delay 10ms reorder 25% 50% gap 5 loss gemodel 1% 30% duplicate 0.1%",
    ("tins", "choice"): "bandwidth 50mbit diffserv4 dual-srchost docsis",
    ("ack_filter", "choice"): "unlimited besteffort ack-filter",
    ("target", "time"): "target 20ms",
    ("ecn", "flag"): "ecn",
    ("quantum", "bytes"): "quantum 300B",
    ("penalty_rate", "count"): "target 30 penalty_rate 20",
    ("qref", "number"): "n 60 rtt 100ms",
    ("peakrate", "rate"): "rate 10mbit burst 5kB { fq_codel }",
    ("bands", "count"): "{ band 1 match dscp EF; band 2 { fq_codel } }",
    ("r2q", "count"): (
        "default 20 { class 1 rate 10mbit; class 10 parent 1 rate 2mbit ceil 10mbit match dscp EF; "
        "class 20 parent 1 rate 8mbit ceil 10mbit { fq_codel } }"
    ),
    ("maxrate", "rate"): "maxrate 20mbit",
}
SOURCES = HERE.parents[1] / "crates" / "aqm" / "src"


def pages() -> dict[str, str]:
    """Return all pages by file name."""
    entries = registry()["aqms"]
    return {"README.md": _index(entries)} | {f"{entry['name']}.md": _page(entry) for entry in entries}


def _index(entries: list[dict[str, Any]]) -> str:
    rows = [
        [f"[`{entry['name']}`]({entry['name']}.md)", entry["summary"], str(len(entry["profiles"])), _state(entry)]
        for entry in entries
    ]
    return "\n".join(
        [
            "# Queue disciplines",
            "",
            "One page each, written by `docs/aqm/generate.py` from the registry and the source. "
            "`sojourn aqm list` and `sojourn aqm show NAME` print the same.",
            "",
            EXCLUDE_CE,
            "",
            *table(["name", "what it does", "profiles", "state"], rows),
            "",
        ]
    )


def _page(entry: dict[str, Any]) -> str:
    name = entry["name"]
    text, use = doc_comment(name, module_source(SOURCES, name))
    lines = [f"# `{name}`", "", *text, "", "## When to use it", "", *use, ""]
    lines += ["## How to write it", "", "```toml", *_examples(entry), "```", ""]
    lines += ["## Parameters", ""]
    lines += parameter_table(entry["params"])
    lines += [
        "",
        "## Profiles",
        "",
        *table(["profile", "what it is", "differs from the plain one in"], _profiles(entry)),
    ]
    lines += ["", "## State", "", f"{_state(entry)}, packets not counted. The probe `state` records {_observed(name)}."]
    lines += ["", "## Sources", "", f"{entry['source']}.", ""]
    return "\n".join(lines)


def _examples(entry: dict[str, Any]) -> list[str]:
    """Example lines of a scenario: the name, a profile, a parameter."""
    name, params = entry["name"], {(param["name"], param["kind"]) for param in entry["params"]}
    texts = [name if name != "fq" else "fq(codel@act ecn)"]
    texts += [profile["spelling"] for profile in entry["profiles"][1:2]]
    texts += [f"{name} {words}" for param, words in CHANGES.items() if param in params][:2]
    spelled = dict.fromkeys(json.loads(_core.parse_aqm(text))["text"] for text in texts)
    return [f'link.aqm = "{text}"' for text in spelled]


def _profiles(entry: dict[str, Any]) -> list[list[str]]:
    plain = entry["profiles"][0]["values"]
    rows = []
    for profile in entry["profiles"]:
        changed = [f"`{name}` {value}" for name, value in profile["values"].items() if value != plain[name]]
        rows.append([f"`{profile['spelling']}`", profile["summary"], ", ".join(changed)])
    return rows


def _state(entry: dict[str, Any]) -> str:
    return f"{entry['state_bytes']} bytes per {'flow' if entry['by_flow'] else 'queue'}"


def _observed(name: str) -> str:
    queue = sj.Queue("fq(droptail)" if name == "fq" else name)  # plain fq is sch_fq
    queue.push(0)
    return ", ".join(f"`{variable}`" for variable in queue.state()) or "nothing"


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
