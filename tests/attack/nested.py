"""Nested queue disciplines of any depth, for every parser: scenarios, tables, options, tc and ctl."""

from __future__ import annotations

import json
import random
from typing import Any

from attack.mutate import mutated_text, toml
from attack.scenarios import FILES, SINGLE

Drawn = tuple[list[str], dict[str, bytes]]
MAX_DEPTH = 64
PAIRS = (
    ("tbf rate 7mbit burst 9kB latency 40ms { ", " }"),
    ("tbf { ", " }"),
    ("prio { band 2 { ", " } }"),
    ("prio { band 1 match dscp EF; band 3 { ", " }; band 2 { codel } }"),
    ("htb default 7 { class 7 rate 3mbit { ", " }; class 9 rate 1mbit }"),
    ("htb { class 1 rate 1mbit { ", " } }"),
    ("netem delay 3ms 1ms { ", " }"),
    ("netem loss 1% limit 77 { ", " }"),
)
"""Text before and after the child, of disciplines that accept any child."""
ODD_PAIRS = (("fq(", ")"), ("{", "}"), ("(", ")"), ("netem ", " {}"), ("[", "]"), ("cake { ", " }"), ("\t{\n", ";}"))


def nested(rng: random.Random, depth: int, *, odd: bool = False) -> str:
    """Draw a queue manager with `depth` parents, of one kind or of all kinds."""
    pairs = PAIRS + (ODD_PAIRS if odd else ())
    pairs = pairs if rng.random() < 0.5 else (rng.choice(pairs),)
    around = [rng.choice(pairs) for _ in range(depth)]
    inner = rng.choice(
        (*SINGLE[:9], "fq(codel)", "cake", "", "codel; pie") if odd else (*SINGLE[:9], "fq_codel", "sfq")
    )
    return "".join(begin for begin, _ in around) + inner + "".join(end for _, end in reversed(around))


def depth_of(rng: random.Random, runs: bool) -> int:
    """Draw a depth: near the limit, or far beyond it."""
    return rng.choice((1, 2, 3, 9, 40, 63)) if runs else rng.choice((1, 3, 30, 63, 64, 65, 66, 900, 20_000, 100_000))


def odd_nested(rng: random.Random, runs: bool) -> str:
    """Draw a nested text; unless `runs`, brackets may be missing, repeated or exchanged."""
    depth = depth_of(rng, runs)
    text = nested(rng, depth, odd=not runs)
    change = rng.randrange(6)
    if runs or change == 0:
        return text
    if change == 1:
        return text[: rng.randrange(len(text) + 1)]
    if change == 2:
        return text[rng.randrange(len(text)) :] if text else text
    if change == 3:
        return text + rng.choice((" }", ")", "} }", ";", " }" * 70_000))
    if change == 4:
        return text.replace(*rng.choice((("}", "]"), ("{", "{ {"), (" ", ""), ("rate", "rates"))))
    return mutated_text(rng, text) if len(text) < 10_000 else text.swapcase()


def classes(rng: random.Random, circles: bool) -> str:
    """Draw an HTB whose classes have parents, which may form cycles if `circles`."""
    count = rng.choice((1, 2, 3, 5, 30, 70, 400))
    limit = count + 2 if circles else 4  # Linux allows eight levels
    parents = [rng.randrange(1, limit) if circles else rng.randrange(min(limit, own)) for own in range(1, count + 1)]
    texts = []
    for number, parent in enumerate(parents, 1):
        below = f" parent {parent:x}" if parent else ""
        inner = " { codel }" if number not in parents and rng.random() < 0.3 else ""
        texts.append(f"class {number:x}{below} rate {rng.choice((90, 700))}kbit ceil 9mbit{inner}")
    if circles and rng.random() < 0.5:
        rng.shuffle(texts)
    default = rng.randrange(1, count + 1) if circles else count  # the last one is a leaf
    return f"htb default {default:x} {{ " + "; ".join(texts) + " }"


def tc_text(rng: random.Random, runs: bool) -> bytes:
    """Draw nested disciplines or classes in tc's syntax; unless `runs`, they may form cycles."""
    depth = rng.choice((1, 2, 5, 40)) if runs else rng.choice((2, 5, 63, 64, 65, 300, 9_000))
    draw = rng.choice((_tc_disciplines, _tc_classes))
    lines = draw(rng, depth, shows=rng.random() < 0.5, runs=runs)
    if not runs and rng.random() < 0.3:
        rng.shuffle(lines)
    return "\n".join(lines).encode()


def _tc_disciplines(rng: random.Random, depth: int, *, shows: bool, runs: bool) -> list[str]:
    rates = "rate 9Mbit burst 4Kb"
    shown = f"qdisc tbf 1: dev e root {rates} lat 50ms"
    lines = [shown if shows else f"tc qdisc add dev e root handle 1: tbf {rates} latency 50ms"]
    for number in range(2, depth + 2):
        parent = number - 1 if runs or rng.random() < 0.9 else rng.randrange(1, depth + 2)
        kind = "netem" if runs else rng.choice(("netem", "netem", "prio", "mq", "fq_codel", "htb"))
        about = " limit 100 delay 1ms" if kind == "netem" else ""
        shown = f"qdisc {kind} {number:x}: dev e parent {parent:x}:1{about}"
        lines.append(shown if shows else f"tc qdisc add dev e parent {parent:x}:1 handle {number:x}: {kind}{about}")
    return lines


def _tc_classes(rng: random.Random, depth: int, *, shows: bool, runs: bool) -> list[str]:
    default = depth + 1 if runs else 2
    shown = f"qdisc htb 1: dev e root default 0x{default:x}"
    lines = [shown if shows else f"tc qdisc add dev e root handle 1: htb default {default:x}"]
    rates = "rate 1Mbit ceil 9Mbit"
    for number in range(2, depth + 2):
        parent = rng.randrange(1, min(4, number)) if runs else rng.randrange(1, depth + 3)
        above = "root" if parent == 1 and shows else f"parent 1:{'' if parent == 1 else format(parent, 'x')}"
        shown = f"class htb 1:{number:x} {above} {rates}"
        lines.append(shown if shows else f"tc class add dev e {above} classid 1:{number:x} htb {rates}")
    return lines


def draw_nested(rng: random.Random, runs: bool) -> Drawn:
    """Draw a command line that parses a nested text."""
    text = classes(rng, circles=not runs) if rng.random() < 0.3 else odd_nested(rng, runs)
    place = rng.randrange(8)
    if place == 0:
        return ["import", "tc", "t.txt"], {"t.txt": tc_text(rng, runs)}
    if place == 1:
        short = text if len(text) < 60_000 else text[:60_000]  # Linux limits an argument to 128 KiB
        return rng.choice((["aqm", "show", short], ["aqm", "check", short])) if not runs else ["aqm", "show", short], {}
    if place == 2:
        return _ctl(rng, text)
    document: dict[str, Any] = {"duration": "77 ms", "seed": rng.randrange(999)}
    document["link"] = {"rate": "9 Mbit/s", "aqm": text}
    document["flows"] = [{"kind": "tcp", "count": 2}]
    if place == 3:
        document["link"]["aqm"] = "droptail"
        document["changes"] = [{"at": "31 ms", "link": {"aqm": text}}]
    elif place == 4:
        document["reverse"] = {"rate": "1 Mbit/s", "aqm": text}
    elif place == 5 and not runs:
        begin, end = rng.choice((("[", "]"), ('{"a": ', "}"), ('[{"name": ', "}]"), ('{"name": "tbf", "inner": ', "}")))
        depth = min(depth_of(rng, runs), 3_000)
        data = toml(document) + f"more = {begin * depth}3{end * depth}\n".replace('": ', '" = ').encode()
        return ["run", "n.toml", "-o", "out"], FILES | {"n.toml": data}
    elif place == 6:
        words = ["run", "n.toml", "-o", "out", "--set", f"link.aqm={json.dumps(text)[:60_000]}"]
        return words, FILES | {"n.toml": toml(document | {"link": {"rate": "9 Mbit/s"}})}
    return ["run", "n.toml", "-o", "out"], FILES | {"n.toml": toml(document)}


def _ctl(rng: random.Random, text: str) -> Drawn:
    """Draw a shell whose command changes the shell's queue manager; the shell must survive."""
    name = f"attack-{rng.randrange(10**9)}"
    change = rng.choice(("", "up ")) + "aqm " + text
    words = ["link", "--rate", "10mbit", "--name", name, "--", "sh", "change.sh"]
    script = f'"$PYTHON" -m sojourn ctl {name} {{}}\n[ $? -le 3 ] || exit 99\n'
    script = script.format('"$(cat change)"') + script.format('"rate 3mbit"')
    return words, FILES | {"change.sh": script.encode(), "change": change[:60_000].encode()}
