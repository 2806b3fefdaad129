"""Sojourn's queue disciplines as an object file for the guest's kernel.

A checkout makes it from `crates/qdisc` and needs cargo; the wheel has it.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.base.commands import run_command
from sojourn.base.digests import digest_of
from sojourn.base.errors import MissingError
from sojourn.base.files import temporary_folder, write_file
from sojourn.base.inputs import tomllib

CHECKOUT = Path(__file__).parents[4]
CRATES = ("aqm", "qdisc")
"""Crates that the object file contains."""
PACKED = Path(__file__).parent / "guest" / "sojourn_qdisc.o.xz"
"""The object file of the wheel."""
CALLERS_SETTINGS = ("CARGO_PROFILE_", "CARGO_BUILD_", "CARGO_ENCODED_", "RUSTFLAGS")
OUTPUT_LINES = 200
"""Lines of the compiler's output that an error may show."""
UNNEEDED_SECTIONS = (".llvmbc", ".llvmcmd", ".comment")


def is_checkout() -> bool:
    """Whether the crates are here."""
    return (CHECKOUT / "crates" / "qdisc" / "Cargo.toml").is_file()


def is_at_hand() -> bool:
    """Whether a build has the library: a checkout's crates, or the object file of a wheel."""
    return is_checkout() or PACKED.exists()


@cache
def digest() -> str:
    """Digest of the library that a build would take; raises `MissingError` without one."""
    if is_checkout():
        return digest_of((path.name, path.read_bytes()) for path in sorted(_sources()))
    if not is_at_hand():
        raise MissingError(f"{PACKED.name} is missing, which only a wheel of Sojourn has; install it from one")
    return digest_of([(PACKED.name, PACKED.read_bytes())])


def make(into: Path) -> Path:
    """Make the object file in a folder, unless that of the same sources is there, and return its path."""
    target, made_from = into / "sojourn_qdisc.o", into / "sojourn_qdisc.digest"
    if not (target.exists() and made_from.exists() and made_from.read_text(encoding="utf-8") == digest()):
        _make(into, target)
        made_from.write_text(digest(), encoding="utf-8")
    return target


def _make(into: Path, target: Path) -> None:
    if is_checkout():
        package = ["--locked", "--package", "sojourn-qdisc", "--features", "freestanding"]
        compile_object(CHECKOUT, package, "sojourn_qdisc", target)
    else:
        target.write_bytes(lzma.decompress(PACKED.read_bytes()))


def compile_object(crate: Path, words: Sequence[str], name: str, target: Path) -> None:
    """Compile the library `name` in the folder `crate` into an object file with our functions, for a kernel.

    `words` are cargo's. Files between are kept in the folder of `target`. Raises `MissingError`.
    """
    into = target.parent
    built = into / "library"
    cargo("rustc", [*words, "--profile", "kernel", "--crate-type", "staticlib"], crate, built)
    archive = built / "kernel" / f"lib{name}.a"
    kept = _exports()
    joined = into / "joined.o"
    roots = [word for name in kept for word in ("-u", name)]
    run_command(["ld", "-r", "--gc-sections", *roots, "-o", str(joined), str(archive)], into)
    removed = [word for section in UNNEEDED_SECTIONS for word in ("-R", section)]
    globals_ = [f"--keep-global-symbol={name}" for name in kept]
    run_command(["objcopy", *globals_, *removed, "--strip-unneeded", str(joined), str(target)], into)
    joined.unlink()


def cargo(
    command: str, words: Sequence[str], folder: Path, built: Path, settings: Mapping[str, str] | None = None
) -> None:
    """Run cargo in `folder` without settings of a caller's own builds; it builds into `built`.

    Raises `MissingError` with the compiler's errors, or without cargo.
    """
    if shutil.which("cargo") is None:
        raise MissingError("cargo is missing; install Rust from https://rustup.rs, or Sojourn from a wheel")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(CALLERS_SETTINGS)}
    line = ["cargo", command, "--quiet", "--target-dir", str(built), *words]
    run_command(line, folder, environment=environment | dict(settings or {}), last_lines=OUTPUT_LINES)


def profiles() -> dict[str, Any]:
    """The workspace's profiles `kernel`, for the object file, and `release`, which it inherits."""
    with (CHECKOUT / "Cargo.toml").open("rb") as file:
        found = tomllib.load(file)["profile"]
    return {name: found[name] for name in ("release", "kernel")}


def pack(path: Path) -> None:
    """Write the compressed object file, for a wheel."""
    with temporary_folder("sojourn-library-") as folder:
        packed = lzma.compress(make(folder).read_bytes(), preset=9)
    write_file(path, lambda file: file.write(packed))


def _exports() -> list[str]:
    """Names of the library's functions."""
    border = (CHECKOUT / "crates" / "qdisc" / "src" / "border.rs").read_text(encoding="utf-8")
    return re.findall(r'pub unsafe extern "C" fn (\w+)', border)


def _sources() -> list[Path]:
    crates = [CHECKOUT / "crates" / name for name in CRATES]
    found = [path for crate in crates for path in (crate / "src").rglob("*.rs")]
    return [*found, *(crate / "Cargo.toml" for crate in crates), CHECKOUT / "Cargo.lock", CHECKOUT / "Cargo.toml"]
