"""A user's queue disciplines and congestion controls as C files of a kernel: names, copies, and checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.base.digests import digest_of
from sojourn.base.errors import InputError
from sojourn.base.inputs import read_text

MAX_BYTES = 4_000_000
"""Maximum size of a file; the kernel's largest one of these kinds has 0.1 MB."""
MAX_HEADERS = 100
MAX_NAME = 15
"""Maximum length of a name: `IFNAMSIZ` and `TCP_CA_NAME_MAX` of Linux, less the final zero."""


@dataclass(frozen=True)
class Kind:
    """A kind of files."""

    key: str
    """Name of their list in the tree's Makefile and in a kernel's metadata."""
    option: str
    """Option of `sojourn kernel build`."""
    what: str
    struct: str
    """Structure that a file registers."""
    member: str
    """Its member with the name."""
    known: str
    """Pattern of the kernel's own files of that kind."""
    names: str
    """Regular expression of a name."""


QDISC = Kind("qdiscs", "--qdisc", "queue discipline", "Qdisc_ops", "id", "net/sched/sch_*.c", r"[A-Za-z0-9]\w*")
CONTROL = Kind(
    "controls", "--cc", "congestion control", "tcp_congestion_ops", "name", "net/ipv4/tcp_*.c", r"[A-Za-z0-9][\w-]*"
)
KINDS = (QDISC, CONTROL)
ADDED = {QDISC: frozenset({"sojourn"}), CONTROL: frozenset[str]()}
"""Names that we add to the kernel."""


@dataclass(frozen=True)
class OwnFile:
    """A file that is compiled into a kernel."""

    kind: Kind
    path: Path
    """The user's file, for messages."""
    name: str
    """Name of the discipline or the control in the kernel."""
    text: str
    """Contents to compile."""
    headers: Mapping[str, str]
    """The user's headers that it includes, by their name in `#include "…"`."""

    @property
    def stem(self) -> str:
        """Name of the object file without its ending; unlike that of another file."""
        return f"{'sch' if self.kind is QDISC else 'tcp'}_{self.name}"

    @property
    def digest(self) -> str:
        """Digest of all that is compiled."""
        named = [(self.kind.option, self.name), ("", self.text), *sorted(self.headers.items())]
        return digest_of((name, text.encode()) for name, text in named)


def read(kind: Kind, given: Iterable[str]) -> list[OwnFile]:
    """Files given as `FILE.c`, or as `NAME=FILE.c` to register them under another name; raises `InputError`."""
    return [_read(kind, one) for one in given]


def refuse_clashes(files: Sequence[OwnFile], tree: Path) -> None:
    """Refuse two files of one name, and names that the compiled kernel in `tree` has."""
    for kind in KINDS:
        taken = dict.fromkeys(_names_of(kind, tree), f"Linux has a {kind.what}")
        for file in files:
            if file.kind is not kind:
                continue
            if file.name in taken:
                raise InputError(
                    f'{file.path}: {taken[file.name]} "{file.name}"; give this one another name: '
                    f"{kind.option} NAME={file.path}"
                )
            taken[file.name] = f"{file.path} is a {kind.what}"


def _read(kind: Kind, given: str) -> OwnFile:
    name, equals, path = given.partition("=")
    file = Path(path if equals else given)
    text = _read_bounded(file, kind.what)
    found = list(_registered(kind, text))
    if len(found) != 1:
        where = ", ".join(f'line {line}: "{name}"' for _, line, name in found)
        remedy = f"it registers {len(found)} of them ({where}); keep one"
        if not found:
            remedy = f'none is here; write e.g. struct {kind.struct} ops = {{ .{kind.member} = "mine", … }};'
        raise InputError(f"{file}: a {kind.what} is one struct {kind.struct} with its .{kind.member}; {remedy}")
    (start, line, registered), own = found[0], name if equals else found[0][2]
    if not re.fullmatch(kind.names, own) or len(own) > MAX_NAME:
        place = f"{file}:{line}: " if not equals else f"{kind.option} {given}: "
        shape = "letters, digits, _" + (" and -" if kind is CONTROL else "")
        raise InputError(f'{place}"{own}" is not a name of up to {MAX_NAME} {shape}; choose another')
    text = f"{text[:start]}{own}{text[start + len(registered) :]}"
    return OwnFile(kind, file, own, text, _headers(file, text))


def _read_bounded(file: Path, what: str) -> str:
    if file.is_file() and file.stat().st_size > MAX_BYTES:
        raise InputError(f"{file}: has more than {MAX_BYTES} bytes, which no {what} of a kernel has; give its source")
    return read_text(file, what)


def _registered(kind: Kind, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield offset, line and name of each structure that has a name."""
    bare = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0][0] == "/" else found[0], text)
    for table in re.finditer(rf"\bstruct\s+{kind.struct}\s+\w+[^;={{}}]*=\s*\{{", bare):
        member = re.compile(rf'\.{kind.member}\s*=\s*"([^"\n]*)"').search(bare, table.end(), _end(bare, table.end()))
        if member:
            yield member.start(1), bare.count("\n", 0, member.start(1)) + 1, member[1]


def _end(text: str, start: int) -> int:
    """Offset of the brace that closes the one before `start`, or of the text's end."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    return len(text)


def _headers(file: Path, text: str) -> dict[str, str]:
    """The headers that a file includes from its own folder, and those that these include."""
    found: dict[str, str] = {}
    waiting = [text]
    while waiting:
        for name in re.findall(r'^\s*#\s*include\s+"([^"\n]+)"', waiting.pop(), re.MULTILINE):
            path = file.parent / name
            if name in found or "/" in name or not path.is_file():
                continue  # the compiler looks for it among the kernel's
            if len(found) == MAX_HEADERS:
                raise InputError(f"{file}: includes more than {MAX_HEADERS} headers of its folder; join some of them")
            found[name] = _read_bounded(path, "header")
            waiting.append(found[name])
    return found


def _names_of(kind: Kind, tree: Path) -> frozenset[str]:
    """Names of one kind that the compiled kernel has."""
    compiled = [path for path in tree.glob(kind.known) if path.with_suffix(".o").exists()]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in compiled)
    return ADDED[kind] | {name for text in texts for _, _, name in _registered(kind, text)}


_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
"""A comment or a string literal, which may contain the beginning of the other."""
