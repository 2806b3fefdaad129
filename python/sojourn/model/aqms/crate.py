"""Template for a queue manager in Rust: a crate that builds a shared library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.files import new_folder

CHECKOUT = Path(__file__).parents[4]
"""Root of the checkout that contains this package."""
RESERVED = ("crate", "self", "super", "type", "match", "move", "async", "final", "abstract", "test", "core", "std")


def write_crate(name: str, folder: Path, sources: Path | None = None) -> Path:
    """Write a crate into a new folder; it depends on Sojourn's crates in `sources`, by default this checkout.

    The library is `lib{name}_aqm.so`, the algorithm is called `name`. Raises `InputError` if the name is invalid for a
    crate, if the folder exists, or if the sources lack the crates.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or name in RESERVED:
        raise InputError(f'"{name}" is not the name of a crate; write lower-case letters, digits and _, e.g. my_red')
    if folder.exists():
        raise InputError(f"{folder} already exists; choose another folder")
    about = f"The queue manager {name} for Sojourn {_core.version()}"
    text = manifest(f"{name}_aqm", about, ("aqm", "library"), sources)
    with new_folder(folder) as part:
        (part / "src").mkdir()
        (part / "Cargo.toml").write_text(text, encoding="utf-8")
        (part / "src" / "lib.rs").write_text(source(name), encoding="utf-8")
    return folder


def source(name: str) -> str:
    """Source of the crate, with its names replaced."""
    text = files("sojourn.model.aqms.template").joinpath("lib.rs").read_text(encoding="utf-8")
    upper, camel = name.upper(), "".join(word.capitalize() for word in name.split("_"))
    text = text.replace("libmy_aqm", f"lib{name}_aqm").replace('"my"', f'"{name}"')
    return re.sub(r"\bMY\b", upper, re.sub(r"\bMy\b", camel, text))


def manifest(package: str, about: str, crates: Sequence[str], sources: Path | None) -> str:
    """Manifest of a shared library with the description `about`, which depends on `crates` of Sojourn in `sources`.

    The sources are by default this checkout. Raises `InputError` if they lack the crates.
    """
    root = (sources or CHECKOUT).resolve()
    if not (root / "crates" / "library" / "Cargo.toml").is_file():
        raise InputError(f"{root}: the crates of Sojourn are missing; give its sources, --sources DIR")
    paths = {crate: str(root / "crates" / crate).replace("\\", "/") for crate in crates}
    dependencies = "".join(f'sojourn-{crate} = {{ path = "{path}" }}\n' for crate, path in paths.items())
    return f"""\
[package]
name = "{package}"
version = "0.1.0"
edition = "2024"
description = "{about}"

[lib]
crate-type = ["cdylib"]

[dependencies]
{dependencies}
[workspace]
"""
