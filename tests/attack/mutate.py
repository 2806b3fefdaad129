"""Mutations of bytes, documents and texts."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

QUANTITIES = (
    *(
        "0",
        "1",
        "-1",
        "5",
        "0 s",
        "1 ns",
        "5 ms",
        "-5 ms",
        "1e3 ms",
        "99999999999 s",
        "0.1 us",
        "1 min",
        "5ms",
        "5 mss",
    ),
    *("10 Mbit/s", "1 bit/s", "0 bit/s", "9e99 Gbit/s", "10Mbit", "1gbit", "10 Mbit/s@0s,1 Mbit/s@1s", "1mbit@5s"),
    *("1500 B", "0 B", "1 B", "65536 B", "1 TB", "1 packets", "0 packets", "1000 packets", "1 packets + 9 kB", "50 ms"),
    *("1%", "101%", "0.5", "nan", "inf", "-0", "1e400", "NaN %", "½", "٣", "5\u00a0ms"),
)
NAMES = (
    "codel",
    "pie",
    "codle",
    "fq(codel)",
    "fq(fq)",
    "fq()",
    "fq(",
    "x.py:X",
    "codel@act",
    "codel@",
    "@",
    "red",
    "sfq",
)
ODD = (
    *(
        "",
        " ",
        "\x00",
        "\x1b[31m",
        "\n",
        "\r",
        "\ufeff",
        "\u202e",
        "a" * 3000,
        "../..",
        "/",
        "/dev/null",
        "~",
        "-",
        "--",
    ),
    *("$x_{", "%s %n", "{}", "[[", "]]", "true", "null", "'", '"', "\\", "☃", "é", ",", ";", "=", "#", "link.rate"),
)
NUMBERS = (0, 1, -1, 2, 3, 7, 64, 255, 256, 65535, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30)
FLOATS = (0.0, -0.0, 0.5, 1.0, 1.5, 1e-300, 1e300, -1.0)


def odd_text(rng: random.Random) -> str:
    """Draw an unusual text."""
    return str(rng.choice([*QUANTITIES, *NAMES, *ODD]))


def odd_value(rng: random.Random, deep: int = 2) -> Any:
    """Draw an unusual value, nested at most `deep` times."""
    kind = rng.randrange(9 if deep else 6)
    if kind < 3:
        return odd_text(rng)
    if kind == 3:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice(FLOATS)
    if kind == 5:
        return rng.random() < 0.5
    if kind == 6:
        return [odd_value(rng, deep - 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {odd_text(rng): odd_value(rng, deep - 1) for _ in range(rng.randrange(3))}
    return None


def mutated_text(rng: random.Random, text: str) -> str:
    """Change a few letters of a text, or replace it."""
    if not text or rng.random() < 0.4:
        return odd_text(rng)
    letters = list(text)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(letters)) if letters else 0
        change = rng.randrange(4)
        if change == 0 and letters:
            del letters[at]
        elif change == 1:
            letters.insert(at, rng.choice("0159-. ,@()[]{}:eé\x1b\x00\"'"))
        elif change == 2 and letters:
            letters[at] = chr(rng.randrange(1, 0x250))
        elif letters:
            letters += letters[:at]
    return "".join(letters)


def mutated_document(rng: random.Random, document: Any, times: int | None = None) -> Any:
    """Rename, remove or add keys of a document, and change values."""
    changed = copy.deepcopy(document)
    for _ in range(times or rng.randrange(1, 4)):
        places = list(_places(changed))
        if not places:
            return odd_value(rng)
        holder, key = rng.choice(places)
        change = rng.randrange(6)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, dict):
            holder[mutated_text(rng, str(key))] = holder.pop(key)
        elif change == 2:
            holder[key] = [holder[key]] * rng.randrange(3) if rng.random() < 0.5 else {"a": holder[key]}
        elif change == 3 and isinstance(holder[key], str):
            holder[key] = mutated_text(rng, holder[key])
        else:
            holder[key] = odd_value(rng)
    return changed


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, remove, repeat, insert or truncate bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(changed) + 1)
        change = rng.randrange(6)
        if change == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            del changed[at : at + rng.choice((1, 2, 4, 16, 100))]
        elif change == 2:
            changed[at:at] = rng.randbytes(rng.choice((1, 2, 4, 16)))
        elif change == 3:
            changed[at:at] = changed[at : at + rng.choice((1, 8, 60))] * rng.choice((1, 2, 50))
        elif change == 4:
            changed[at : at + 4] = rng.choice(
                (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x80\x00\x00\x00", b"\x7f\xff")
            )
        else:
            del changed[at:]
    return bytes(changed)


def toml(document: Any) -> bytes:
    """Format a document as TOML, one value per line; values without TOML syntax as in JSON."""
    if not isinstance(document, dict):
        return _toml(document).encode("utf-8", "surrogatepass")
    return "".join(f"{_key(key)} = {_toml(value)}\n" for key, value in document.items()).encode(
        "utf-8", "surrogatepass"
    )


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value)


def _key(key: Any) -> str:
    return json.dumps(str(key))


def _places(document: Any) -> Any:
    """All values of a document, each as its container and key or index."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in list(items):
        yield document, key
        yield from _places(value)
