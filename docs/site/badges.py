"""Badges of the front page: SVG files in docs/badges, so that readers do not load them from another host.

Their texts come from files of the project, e.g. requirements and licence.
"""

from __future__ import annotations

import re
from pathlib import Path

from sojourn.base.files import write_if_changed
from sojourn.studies.score.badge import two_words

ROOT = Path(__file__).parents[2]
BLUE, GREEN = "#245a92", "#2e7d32"


def badges() -> dict[str, str]:
    """Return the badges by file name."""
    python = _found(r'^requires-python = ">=(.+)"', "pyproject.toml")
    rust = _found(r'^rust-version = "(.+)"', "Cargo.toml")
    licence = _found(r'^license = "(.+)"', "Cargo.toml").replace(" OR ", " or ")
    version = _found(r'^version = "(.+)"', "Cargo.toml")
    shown = {
        "version": ("version", version, BLUE),
        "python": ("Python", f"{python} or newer", BLUE),
        "rust": ("Rust", f"{rust} or newer", BLUE),
        "licence": ("licence", licence, GREEN),
    }
    return {
        f"{name}.svg": two_words(left, right, color, f"{left}: {right}") + "\n"
        for name, (left, right, color) in shown.items()
    }


def _found(pattern: str, file: str) -> str:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, (pattern, file)
    return found[1]


def main() -> None:
    """Write the badges."""
    folder = ROOT / "docs" / "badges"
    folder.mkdir(exist_ok=True)
    for name, text in badges().items():
        data = text.encode()
        write_if_changed(folder / name, lambda file, data=data: file.write(data))


if __name__ == "__main__":
    main()
