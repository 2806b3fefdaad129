"""Files of other tools and results of ours: valid and mutated ones."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from attack.mutate import mutated_bytes, mutated_document, mutated_text, odd_text, odd_value
from attack.scenarios import FILES, REPO, SINGLE, aqm, toml

sys.path.insert(0, str(REPO / "tests" / "python"))
from captures import Segment, ethernet, pcap, pcapng

Drawn = tuple[list[str], dict[str, bytes]]


def draw_capture(rng: random.Random, runs: bool) -> Drawn:
    """Draw a capture, for goodput or RTT."""
    times = sorted(rng.randrange(10**9, 5 * 10**9) for _ in range(rng.choice((2, 8, 30))))
    of_rtt = rng.random() < (0.4 if len(times) == 30 or not runs else 0)
    if not runs and rng.random() < 0.2:
        times = [time * rng.choice((1, 10**6, 10**9)) % 2**62 for time in times]
    segments = [
        Segment(time, seq=rng.randrange(2**32), payload=rng.choice((0, 100, 1448)), ack=rng.randrange(2**32))
        for time in times
    ]
    for segment in segments[::2]:
        segment.back = True
    whole = [(one.time_ns, ethernet(one.ip6() if rng.random() < 0.1 else one.ip4())) for one in segments]
    far = [(time + 10**6 * (-1) ** one.back, frame) for one, (time, frame) in zip(segments, whole, strict=True)]
    if rng.random() < 0.5:
        data = [pcapng(frames) for frames in (whole, far)]
    else:
        data = [pcap([(max(time, 0) % (2**32 * 10**9), frame) for time, frame in frames]) for frames in (whole, far)]
    if not runs:
        data = [mutated_bytes(rng, one) if rng.random() < 0.8 else one for one in data]
    step = rng.choice(("5 s", "100 ms", "1 us", "1ns", odd_text(rng))) if not runs else rng.choice(("5 s", "77 ms"))
    words = ["pcap", "rtt", "a.pcap", "b.pcap"] if of_rtt else ["pcap", "goodput", "a.pcap", "--step", step]
    return words + _json(rng), {"a.pcap": data[0], "b.pcap": data[1]}


def draw_log(rng: random.Random, runs: bool) -> Drawn:
    """Draw a log of Mahimahi or a trace of ns-2, for conversion."""
    lines, at = [], 0
    if rng.random() < 0.5:
        lines, name, target = ["# mahimahi mm-link (Downlink) [t.down]", "# base timestamp: 0"], "a.log", "b.tr"
        for _ in range(rng.randrange(2, 20)):
            at += rng.randrange(30)
            lines += [f"{at} + 1500", f"{at} # 1500", f"{at + 3} - 1500 3"]
            if rng.random() < 0.2:
                lines.append(f"{at + 3} d 1 1500")
    else:
        name, target = "a.tr", "b.log"
        for number in range(rng.randrange(2, 20)):
            at += rng.randrange(30)
            rest = f"0 1 tcp 1500 ------- 1 0.0 1.0 {number} {number}"
            lines += [f"+ {at / 1000} {rest}", f"- {(at + 3) / 1000} {rest}"]
    data = "\n".join(lines).encode() + b"\n"
    if not runs:
        data = _mutated_lines(rng, data) if rng.random() < 0.6 else mutated_bytes(rng, data)
    words = ["log", "convert", name, target if runs else rng.choice((target, name, "c.txt", odd_text(rng)))]
    if not runs and rng.random() < 0.2:
        words += rng.choice((["--nodes", odd_text(rng)], ["--nodes", "0-1"], ["--link", odd_text(rng)]))
    return words + _json(rng), {name: data}


def draw_trace(rng: random.Random, runs: bool) -> Drawn:
    """Draw a trace of delivery opportunities or a series of rates, to measure, convert or run."""
    if rng.random() < 0.5:
        name, at, times = "a.down", 0, []
        for _ in range(rng.randrange(3, 100)):
            at += rng.choice((0, 0, 1, 2, 30, 30, 400)) if runs else rng.choice((0, 1, 2**20, 2**31, 50))
            times.append(at + 1)
        data = b"".join(b"%d\n" % time for time in times)
        target = "b.csv"
    else:
        name, target = "a.csv", "b.down"
        data = b"time [s],rate [Mbit/s]\n" + b"".join(b"%d,%d\n" % (at, rng.randrange(1, 20)) for at in range(5))
    if not runs:
        data = _mutated_lines(rng, data) if rng.random() < 0.5 else mutated_bytes(rng, data)
    choices = [["trace", "stats", name], ["trace", "convert", name, "-o", target]]
    run = ["compare", "--aqm", "codel", "--trace", name, "--duration", "100ms", "--flows", "1", "-o", "out"]
    if rng.random() < 0.03 and name == "a.down":
        return [*run, "--plot", "x.svg"], {name: data}
    words = rng.choice(choices)
    if not runs and rng.random() < 0.3:
        words = [
            *words,
            *rng.choice((["--mtu", odd_text(rng)], ["--step", odd_text(rng)], ["--bursts", odd_text(rng)])),
        ]
    return words + _json(rng), {name: data}


def draw_result(rng: random.Random, runs: bool, stored: Path) -> Drawn:
    """Draw a command that reads a result: valid, or with a mutated manifest or table."""
    files = {f"r/{path.name}": path.read_bytes() for path in sorted(stored.iterdir())}
    if not runs:
        kind = rng.randrange(5)
        if kind < 3:
            manifest = json.loads(files["r/manifest.json"])
            if kind == 0:
                manifest["summary"] = mutated_document(rng, manifest["summary"])
            else:
                manifest = mutated_document(rng, manifest)
            files["r/manifest.json"] = json.dumps(manifest).encode("utf-8", "surrogatepass")
        elif kind == 3:
            files["r/manifest.json"] = mutated_bytes(rng, files["r/manifest.json"])
        else:
            table = rng.choice([name for name in sorted(files) if name.endswith(".parquet")])
            files[table] = mutated_bytes(rng, files[table])
        if rng.random() < 0.05:
            del files[rng.choice(sorted(files))]
    words = rng.choice(
        (
            ["pcap", "export", "r", "--side", rng.choice(("in", "out")), "-o", "x.pcapng"],
            ["log", "convert", "r", rng.choice(("x.tr", "x.log"))],
            ["aqm", "diff", "codel", "--log", "r"],
        )
    )
    if rng.random() < 0.03:
        words = ["plot", rng.choice(("cdf", "box", "drops", "ellipse", "window", "bytes", "state")), "r", "-o", "x.svg"]
    return [*words, *(_json(rng) if words[0] != "aqm" else [])], files


def draw_own(rng: random.Random, runs: bool) -> Drawn:
    """Draw a queue manager in Python, run in a short scenario."""
    text = FILES["mine.py"].decode()
    if not runs:
        kind = rng.randrange(4)
        body = rng.choice(_BODIES)
        if kind == 0:
            text = mutated_bytes(rng, text.encode()).decode("latin-1")
        elif kind == 1:
            text += f"\n    def {rng.choice(_METHODS)}:\n        {body}\n"
        elif kind == 2:
            text = text.replace("self.depth, self.target = depth, target", body)
        else:
            text = f"{rng.choice(_HEADS)}\n{text}" if rng.random() < 0.5 else f"{text}\n{rng.choice(_HEADS)}\n"
    around = rng.choice(("{}", "fq({})", "{} exclude_ce"))
    own = around.format(rng.choice(("mine.py:Mine", "mine.py:Mine depth 5")))
    if not runs and rng.random() < 0.1:
        own = mutated_text(rng, own)
    flows = [{"kind": "tcp", "rtt": "10 ms", "count": 2}]
    link = {"rate": "10 Mbit/s", "aqm": own, "limit": "20 packets"}
    document = {"duration": "60 ms", "link": link, "flows": flows, "probes": {"state": "10 ms"}}
    return ["run", "s.toml", "-o", "out"], {"mine.py": text.encode("utf-8", "surrogatepass"), "s.toml": toml(document)}


def draw_vector(rng: random.Random, runs: bool) -> Drawn:
    """Draw a vector as recorded from a kernel, compared with a queue manager of ours."""
    at, rows = 0, []
    for _ in range(rng.randrange(2, 12)):
        at += rng.randrange(10**6)
        row = {"arrival_ns": at, "size": 1500, "flow": rng.randrange(3), "ecn": 0}
        rows.append(row | {"verdict": "pass", "departure_ns": at + 10**6})
    meta: Any = {"qdisc": "codel limit 1000 target 5ms", "rate_bps": 12_000_000, "t0_mono_ns": 10**12, "seed": 1}
    if not runs:
        if rng.random() < 0.5:
            meta = mutated_document(rng, meta)
        else:
            rows = mutated_document(rng, rows)
    lines = rows if isinstance(rows, list) else [rows]
    files = {"v.jsonl": "\n".join(map(json.dumps, lines)).encode(), "v.meta.json": json.dumps(meta).encode()}
    if not runs and rng.random() < 0.3:
        name = rng.choice(sorted(files))
        files[name] = mutated_bytes(rng, files[name])
    return ["aqm", "diff", "codel@linux" if runs else rng.choice(SINGLE[:9]), "--vector", "v"], files


def draw_shell(rng: random.Random, runs: bool) -> Drawn:
    """Draw an emulator shell around a command that does nothing."""
    rate = rng.choice(("10mbit", "1mbit@0s,9mbit@1s", "t.down", '{"rate": "9 Mbit/s", "delay": "1 ms"}'))
    words = rng.choice(
        (
            ["link", "--rate", rate, "--aqm", rng.choice(("codel", "pie ecn", "fq_codel")), "--limit", "50 packets"],
            ["link", "--up", "5mbit", "--down", rate, "--log", "log"],
            ["delay", rng.choice(("1ms", "1ms@0s,3ms@1s"))],
            ["loss", rng.choice(("1%", "0.01", "p 0.1 r 0.5"))],
        )
    )
    if runs:
        return [*words, "--", "true"], FILES
    first = words[0]
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(words))
        changed = mutated_text(rng, words[at]) if rng.random() < 0.5 else odd_text(rng)
        words = [*words[:at], changed, *words[at + rng.randrange(2) :]]
    words[0] = "doctor" if rng.random() < 0.01 else first
    return [*words, "--", rng.choice(("true", "true", "/nothing"))], FILES


def draw_compare(rng: random.Random, runs: bool) -> Drawn:
    """Draw a command line without a scenario file."""
    if runs:
        kind = rng.randrange(4)
        if kind == 0:
            return ["aqm", "show", aqm(rng), *_json(rng)], FILES
        if kind == 1:
            return ["aqm", "diff", rng.choice(SINGLE[:-2]), rng.choice(SINGLE[:-2]), "--packets", "200"], {}
        if kind == 2:
            return ["trace", "synth", "lte", "--duration", "2 s", "--seed", str(rng.randrange(9)), "-o", "x.down"], {}
        return [*rng.choice((["aqm", "list"], ["reproduce"], ["scenario", "schema"], ["--version"]))], {}
    words = list(rng.choice(_LINES))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(words))
        change = rng.randrange(5)
        if change == 0:
            words[at] = mutated_text(rng, words[at])
        elif change == 1:
            words.insert(at, rng.choice((*_OPTIONS, odd_text(rng))))
        elif change == 2 and len(words) > 1:
            del words[at]
        elif change == 3:
            words[at] = odd_text(rng)
        else:
            words += [rng.choice(_OPTIONS), odd_text(rng)]
    return _harmless(words), FILES


def _harmless(words: list[str]) -> list[str]:
    """Replace arguments that would run for hours."""
    if words[:1] == ["reproduce"] and "list" not in words:
        return ["reproduce", "--figure", *words[1:]]
    return ["aqm", *words] if words[:1] in (["doctor"], ["kernel"]) else words


def _mutated_lines(rng: random.Random, data: bytes) -> bytes:
    lines = [line.split() for line in data.decode().splitlines()]
    for _ in range(rng.randrange(1, 4)):
        words = rng.choice(lines)
        if not words:
            continue
        at = rng.randrange(len(words))
        change = rng.randrange(4)
        if change == 0:
            words[at] = rng.choice(
                (odd_text(rng), str(odd_value(rng, 0)), str(rng.choice((2**31, 2**32, 2**63, 2**64))))
            )
        elif change == 1:
            del words[at]
        elif change == 2:
            words.insert(at, words[at])
        else:
            rng.shuffle(lines)
    return "\n".join(map(" ".join, lines)).encode("utf-8", "surrogatepass") + b"\n"


def _json(rng: random.Random) -> list[str]:
    return ["--json"] if rng.random() < 0.3 else []


_METHODS = (
    *(
        "dequeue(self, cx, queue)",
        "dequeue(self)",
        "update(self, at, cx)",
        "next_update(self)",
        "overflowed(self, cx, meta)",
    ),
    *("observe(self)", "attach(self, limits, link)", "emptied(self, cx)", "dequeu(self, cx, queue)", "__del__(self)"),
    *("__init__(self, a=object())", "__init__(self, target)", "__getattribute__(self, name)", "__str__(self)"),
)
_BODIES = (
    *(
        "1 / 0",
        "return 5",
        "return None",
        "raise SystemExit(3)",
        "raise BaseException('x')",
        "return queue.pop()",
        "pass",
    ),
    *(
        "queue.pop(); return queue.pop()",
        "return queue.drop(0) or queue.pop()",
        "return -1",
        "return 2 ** 64",
        "return 'x'",
    ),
    *("raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})", "raise GeneratorExit", "return float('nan')"),
    *(
        "return {'\\x1b': 1.0}",
        "return {1: 2}",
        "return {str(i): i for i in range(100)}",
        "return cx",
        "cx.x = 1",
        "del self",
    ),
    *(
        "queue.mark(10 ** 9)",
        "return cx.below(0)",
        "import nothing_of_that_name",
        "return object()",
        "yield 1",
        "exit(4)",
    ),
    *(
        "raise StopIteration",
        "raise MemoryError",
        "raise RecursionError",
        "return self.dequeue(cx, queue)",
        "raise OSError(28, 'x')",
    ),
)
_HEADS = (
    "1 / 0",
    "raise SystemExit(0)",
    "exit(5)",
    "import nothing_of_that_name",
    "Mine = 5",
    "del Mine",
    "\x00",
    "def f(:",
    "é = 1",
)
_LINES = (
    ["compare", "--aqm", "codel,pie", "--duration", "50ms", "--flows", "1,2", "--plot", "x.gif"],
    ["compare", "--aqm", "codel", "--rate", "1mbit,2mbit", "--duration", "50ms", "--rtt", "10ms", "--plot", "/"],
    ["aqm", "show", "codel target 7ms"],
    ["aqm", "show", "fq(codel@act ecn) flows 16"],
    ["aqm", "show", "mine.py:Mine depth 3"],
    ["aqm", "diff", "codel", "pie", "--packets", "100", "--rate", "3mbit", "--limit", "50 packets"],
    ["aqm", "list", "--json"],
    ["trace", "synth", "lte", "--preset", "verizon-short", "--duration", "2 s", "-o", "x.down"],
    ["trace", "convert", "t.down", "-o", "x.csv", "--step", "100 ms"],
    ["trace", "plot", "t.down", "-o", "x.gif"],
    ["plot", "cdf", "none", "-o", "x.png"],
    ["plot", "heatmap", ".", "--x", "link.rate", "--metric", "jain"],
    ["pcap", "export", "none", "--side", "in", "-o", "x.pcapng"],
    ["log", "convert", "t.down", "x.tr", "--nodes", "1-2"],
    ["scenario", "schema"],
    ["reproduce", "gao2015", "--assume", "list"],
    ["reproduce", "gao2015", "--figure", "fig0"],
    ["run", "mine.py", "-o", "out"],
    ["sweep", "t.down", "-o", "out"],
    ["doctor", "now"],
)
_OPTIONS = (
    *(
        "--json",
        "--help",
        "-o",
        "--seed",
        "--set",
        "--jobs",
        "--aqm",
        "--rate",
        "--rtt",
        "--flows",
        "--duration",
        "--warmup",
    ),
    *("--seeds", "--until", "--metric", "--max-seeds", "--paired", "--cc", "--stack", "--limit", "--plot", "--trace"),
    *("--no-code", "--ecn", "--framing", "--reverse-rate", "--engine", "--x", "--y", "--packets", "--vector", "--log"),
)
