"""Loads classes of users: `my_aqm.py:MyAqm` for a class in a file, `module:MyAqm` for another one.

The core loads shared libraries (`blue.so`) itself; the checks (`no_code`) and digests of both are here.

A file is read and executed once per version, as a module of its own; the executed text is the text that a result's hash
covers. A class that was defined elsewhere (in a notebook, in a program) exists in this process only.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from sojourn import _core
from sojourn.base.errors import AqmError, InputError, error_line
from sojourn.model.aqms.aqm import Aqm
from sojourn.model.aqms.registered import RegistryAqm
from sojourn.model.aqms.source import digest_of
from sojourn.model.aqms.spelling import POLICY, is_library, is_policy
from sojourn.model.aqms.user_class import LIVE, UserClass, in_core


class Wanted(NamedTuple):
    """Kind of class behind a name."""

    base: type[UserClass]
    noun: str
    advice: str
    example: str


AQM = Wanted(Aqm, "queue manager", "derive the class from sojourn.Aqm", "my_aqm.py:MyAqm")


def algorithm_named(name: str, base: str) -> _core.Algorithm:
    """The class called `name` as an algorithm of the core; called by the core. Relative paths start from `base`."""
    return cast(_core.Algorithm, class_in_core(name, base, AQM))


def class_in_core(name: str, base: str, wanted: Wanted) -> _core.Algorithm | _core.ControlClass:
    """The class called `name` as the core knows it; an exception of its file becomes an `AqmError`."""
    with _as_aqm_error(name):
        return in_core(find(name, base, wanted))


def find(name: str, base: Path | str = ".", wanted: Wanted = AQM) -> type[UserClass]:
    """Find the class called `name`; executes its file or module, so `no_code` refuses it."""
    place, _, qualified = name.rpartition(":")
    is_file = place.endswith(".py")
    if not is_file and name in LIVE:
        return _checked(LIVE[name], name, wanted)
    refuse_code(name)
    found: Any = _load(_file(place, Path(base), wanted)) if is_file else _module(place, wanted)
    for part in qualified.split("."):
        if not hasattr(found, part):
            raise InputError(f"{place} has no class {qualified!r}; {_hint(found, wanted)}")
        found = getattr(found, part)
    return _checked(found, name, wanted)


def refuse_code(name: str) -> None:
    """Raise `InputError` if `no_code` is in force; the core calls this for shared libraries."""
    if _forbidden:
        raise InputError(f"{name}: would run its code; {_forbidden[-1]}")


def digest(name: str) -> str:
    """SHA-256 of the source file of the class called `name`, or of the shared library, or of the policy."""
    is_file = is_library(name) or is_policy(name)
    found = digest_of(unquote(name.removeprefix(POLICY))) if is_file else find(name, wanted=ANY)._digest
    if found is None:
        raise InputError(f"{name}: its source cannot be read, so a stored result could not record what ran; use a file")
    return found


def refuse_while_loading() -> None:
    """Raise `InputError` if a file that is being loaded as a queue manager starts runs."""
    if path := getattr(_loading, "path", None):
        raise InputError(f'{path}: starts runs while it is loaded; move them below `if __name__ == "__main__":`')


def _file(place: str, base: Path, wanted: Wanted) -> Path:
    """Resolve a file name: relative to the scenario's folder, else to the current one."""
    path = Path(unquote(place))
    for folder in (base, Path.cwd()):
        if (folder / path).is_file():
            return (folder / path).resolve()
    where = f" in {base.resolve()}" if not path.is_absolute() else ""
    raise InputError(f'{place}: no such file{where}; write e.g. "{wanted.example}"')


def _load(path: Path) -> ModuleType:
    """Module of a file, in its current version."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give the path of a readable Python file") from None
    digest = hashlib.sha256(source).hexdigest()
    name = f"sojourn_aqm_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}_{digest[:16]}"
    with _lock:
        if name not in sys.modules:
            module = ModuleType(name)
            module.__file__ = str(path)
            module.__dict__["__source_digest__"] = digest
            sys.modules[name] = module
            try:
                with _loading_of(path):
                    exec(compile(source, str(path), "exec"), module.__dict__)
            except BaseException as error:
                del sys.modules[name]
                if isinstance(error, InputError | KeyboardInterrupt):
                    raise
                raise AqmError(f"{path}: cannot be loaded: {error_line(error)}") from error
        return sys.modules[name]


@contextmanager
def no_code(remedy: str = "leave out --no-code if you trust it") -> Iterator[None]:
    """Refuse, within the block and in every thread, to run queue managers and controls that are named by their files.

    These are Python files and shared libraries. Errors end with the `remedy`.
    """
    _forbidden.append(remedy)
    try:
        yield
    finally:
        _forbidden.pop()


@contextmanager
def _as_aqm_error(name: str) -> Iterator[None]:
    """Convert any exception raised while a class is inspected into an `AqmError` of that class."""
    try:
        yield
    except (InputError, AqmError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise AqmError(f"{name}: cannot be used: {error_line(error)}") from error


@contextmanager
def _loading_of(path: Path) -> Iterator[None]:
    outer = getattr(_loading, "path", None)
    _loading.path = path
    try:
        yield
    finally:
        _loading.path = outer


def _module(name: str, wanted: Wanted) -> ModuleType:
    try:
        return import_module(name)
    except (ImportError, ValueError, TypeError) as error:
        raise InputError(f'{name}: no such module ({error}); write e.g. "{wanted.example}"') from None


def _checked(found: Any, name: str, wanted: Wanted) -> type[UserClass]:
    if not isinstance(found, type) or not issubclass(found, wanted.base) or issubclass(found, RegistryAqm):
        raise InputError(f"{name} is not a {wanted.noun}; {wanted.advice}")
    return found


def _hint(module: Any, wanted: Wanted) -> str:
    names = [name for name, item in vars(module).items() if isinstance(item, type) and issubclass(item, wanted.base)]
    return f"it has {', '.join(names)}" if names else wanted.advice


ANY = Wanted(UserClass, "class of the user", "derive the class from sojourn.Aqm or sojourn.Cc", "my_aqm.py:MyAqm")
_forbidden: list[str] = []
_loading = threading.local()
_lock = threading.RLock()
