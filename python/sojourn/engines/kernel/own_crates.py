"""A user's queue managers in Rust, linked into the guest's kernel together with Sojourn's own.

The source of a crate, as `sojourn aqm new` writes it, is copied and compiled without the standard library; the macro
that exports a shared library registers the queue manager instead.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn.base.digests import digest_of
from sojourn.base.errors import InputError, MissingError
from sojourn.base.inputs import parse_toml, read_text
from sojourn.engines.kernel import library
from sojourn.model.aqms.registry import registry

MAX_FILES = 200
NAME = "sojourn_own"
"""Library of the workspace that `write` makes."""
ALLOWED = frozenset({"sojourn-aqm", "sojourn-library"})
"""Dependencies of a crate; others may need the standard library or the network."""
_EXPORT = re.compile(r'\bsojourn_library\s*::\s*export!\s*[({\[]\s*"([^"]+)"')
_MANIFEST = """\
[package]
name = "{name}"
version = "0.0.0"
edition = "{edition}"

[dependencies]
{dependencies}
"""
_ROOT = """\
#![no_std]
extern crate sojourn_qdisc;

#[unsafe(no_mangle)]
fn sojourn_qdisc_own(see: &mut dyn FnMut(&'static str, &'static sojourn_aqm::registry::Algorithm)) {{
{calls}}}
"""
_LIBRARY = """\
//! `export!` of the crate `sojourn-library` for a kernel.
#![no_std]
/// Registers a queue manager.
#[macro_export]
macro_rules! export {
    ($name:literal, $summary:literal, $source:literal, $algorithm:expr) => {
        #[doc(hidden)]
        pub fn sojourn_own() -> &'static ::sojourn_aqm::registry::Algorithm {
            &$algorithm
        }
    };
}
"""


@dataclass(frozen=True)
class OwnCrate:
    """A crate with a queue manager."""

    path: Path
    library: str
    """Name of its library: `my_aqm` of `libmy_aqm.so`, which scenarios name."""
    edition: str
    sources: Mapping[str, str]
    """Files below `src` by path."""

    @property
    def digest(self) -> str:
        """Digest of all that is compiled."""
        named = [(self.library, self.edition), *sorted(self.sources.items())]
        return digest_of((name, text.encode()) for name, text in named)


def read(given: Iterable[Path]) -> list[OwnCrate]:
    """Crates by their folders; raises `InputError`."""
    crates = [_read(folder) for folder in given]
    names = [crate.library for crate in crates]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"--aqm: two crates have the name {twice[0]}; give one of them another")
    return crates


def _read(folder: Path) -> OwnCrate:
    manifest = parse_toml(read_text(folder / "Cargo.toml", "crate's Cargo.toml"))
    package, target = manifest.get("package", {}), manifest.get("lib", {})
    name = target.get("name") or str(package.get("name", "")).replace("-", "_")
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise InputError(f'{folder / "Cargo.toml"}: names no package; write e.g. [package] name = "my_aqm"')
    if name in (entry["name"] for entry in registry()["aqms"]):
        raise InputError(f"{folder / 'Cargo.toml'}: Sojourn has a queue manager {name}; give the crate another name")
    if "path" in target:
        raise InputError(f"{folder / 'Cargo.toml'}: lib.path is not read; move the library to src/lib.rs")
    if others := sorted(set(manifest.get("dependencies", {})) - ALLOWED):
        raise InputError(
            f"{folder / 'Cargo.toml'}: needs {others[0]}, which a kernel does not get; a crate has core, alloc and "
            "sojourn-aqm"
        )
    paths = sorted((folder / "src").rglob("*.rs"))
    if len(paths) > MAX_FILES:
        raise InputError(f"{folder}: has more than {MAX_FILES} source files; give the folder of one crate")
    sources = {str(path.relative_to(folder / "src")): read_text(path, "Rust source") for path in paths}
    if "lib.rs" not in sources:
        raise InputError(f"{folder}: has no src/lib.rs; give the folder of a crate, as sojourn aqm new writes it")
    exported = [(file, found) for file, text in sources.items() for found in _EXPORT.findall(text)]
    if len(exported) != 1 or exported[0][0] != "lib.rs":
        places = ", ".join(f'"{found}" in src/{file}' for file, found in exported) or "none"
        raise InputError(
            f"{folder}: a crate exports one queue manager from src/lib.rs, by sojourn_library::export!; here: {places}"
        )
    return OwnCrate(folder, name, str(package.get("edition", "2015")), sources)


def make(crates: Sequence[OwnCrate], work: Path) -> Path:
    """Compile Sojourn's queue managers with those of `crates` into an object file and return its path."""
    if not library.is_checkout():
        raise MissingError("--aqm: the sources of Sojourn are missing, which a wheel does not have; use a checkout")
    folder = work / "crates"
    shutil.rmtree(folder, ignore_errors=True)
    write(crates, folder)
    target = work / "own_qdisc.o"
    with errors_at_users(crates, folder):
        library.compile_object(folder, (), NAME, target)
    return target


@contextmanager
def errors_at_users(crates: Sequence[OwnCrate], folder: Path) -> Iterator[None]:
    """Turn errors of the compiler about the crates in `folder` into an `InputError` with their places."""
    try:
        yield
    except MissingError as error:
        if found := [shown for line in str(error).splitlines() if (shown := _at_users(line, crates, folder))]:
            hint = "without the standard library: write core:: or alloc:: instead of std::"
            raise InputError("\n  ".join([f"the crate does not compile for a kernel ({hint}):", *found])) from None
        raise


def write(crates: Sequence[OwnCrate], folder: Path) -> None:
    """Write the workspace: a crate with the C functions, the users' crates, and their export macro."""
    root = library.CHECKOUT
    own = "".join(f'{crate.library} = {{ path = "{crate.library}" }}\n' for crate in crates)
    aqm = f'sojourn-aqm = {{ path = "{root / "crates" / "aqm"}" }}\n'
    qdisc = f'sojourn-qdisc = {{ path = "{root / "crates" / "qdisc"}", features = ["freestanding", "own"] }}\n'
    calls = "".join(f'    see("{crate.library}", {crate.library}::sojourn_own());\n' for crate in crates)
    files = {
        "Cargo.toml": _MANIFEST.format(name=NAME.replace("_", "-"), edition="2024", dependencies=f"{aqm}{qdisc}{own}")
        + f'[lib]\npath = "lib.rs"\ncrate-type = ["staticlib"]\n\n[workspace]\n\n{_profiles()}',
        "Cargo.lock": (root / "Cargo.lock").read_text(encoding="utf-8"),
        "lib.rs": _ROOT.format(calls=calls),
        "library/Cargo.toml": _MANIFEST.format(name="sojourn-library", edition="2024", dependencies=""),
        "library/src/lib.rs": _LIBRARY,
    }
    for crate in crates:
        needs = f'{aqm}sojourn-library = {{ path = "../library" }}\n'
        files[f"{crate.library}/Cargo.toml"] = _MANIFEST.format(
            name=crate.library, edition=crate.edition, dependencies=needs
        )
        for name, text in crate.sources.items():
            # On the first line, so that messages have the user's lines.
            start = "#![no_std] " if name == "lib.rs" and "#![no_std]" not in text else ""
            files[f"{crate.library}/src/{name}"] = start + text
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _profiles() -> str:
    """The workspace's profiles as TOML; their values are texts, numbers and flags."""
    tables = library.profiles().items()
    return "\n".join(
        "".join([f"[profile.{name}]\n", *(f"{key} = {json.dumps(value)}\n" for key, value in table.items())])
        for name, table in tables
    )


def _at_users(line: str, crates: Sequence[OwnCrate], folder: Path) -> str | None:
    """A line of the compiler about a user's source, with the user's path; None if it is about another."""
    for crate in crates:
        if f"{crate.library}/src/" in line:
            place = rf"(?:{re.escape(str(folder))}/)?\b{crate.library}/src/"
            return re.sub(place, lambda _found, own=crate: f"{own.path}/src/", line).strip()  # type: ignore[misc]
    return None
