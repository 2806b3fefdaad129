"""Queue managers written in Python, by name: `my_aqm.py:MyAqm` for a class in a file, `module:MyAqm` for another one.

A file is read and executed once for each version of it, as a module of its own; what ran and what a result's hash
covers is the same text. A class that was defined elsewhere (in a notebook, in a program) is known in this process only.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote

from sojourn import _core
from sojourn.errors import AqmError, InputError, said
from sojourn.hooks import hooks_of

if TYPE_CHECKING:
    from sojourn.aqms import Aqm

REFERENCE = re.compile(r"[^\s(),@]+:[^\s(),@:]+")
"""A class by name, as it is written in the spelling of an AQM. A blank, bracket, comma, @ or % in a path is escaped."""


def algorithm_named(name: str, base: str) -> _core.Algorithm:
    """The class called `name` as an algorithm of the core; the core calls this. Relative paths start from `base`."""
    with _judging(name):
        return algorithm(find(name, base))


def find(name: str, base: Path | str = ".") -> type[Aqm]:
    """The class called `name`; the file or module that it is in is executed, so `no_code` refuses it."""
    place, _, qualified = name.rpartition(":")
    is_file = place.endswith(".py")
    if not is_file and name in _live:
        return _live[name]
    if _forbidden:
        raise InputError(f"{name}: would run that code; leave out --no-code if you trust it")
    found: Any = _load(_file(place, Path(base))) if is_file else _module(place)
    for part in qualified.split("."):
        if not hasattr(found, part):
            raise InputError(f"{place} has no class {qualified!r}; {_hint(found)}")
        found = getattr(found, part)
    return _checked(found, name)


def algorithm(cls: type[Aqm]) -> _core.Algorithm:
    """The class as an algorithm of the core, made once."""
    name = reference(cls)
    known: dict[str, _core.Algorithm] = cls.__dict__.get("_algorithms") or {}
    if name not in known:
        doc = next(iter((cls.__doc__ or "").strip().splitlines()), "").rstrip(".")
        methods = hooks_of(cls)
        known[name] = _core.Algorithm(name, doc, _parameters(cls), make(cls), methods, bool(cls.judges_overflow))
        type.__setattr__(cls, "_algorithms", known)
    return known[name]


def configure(cls: type[Aqm], args: tuple[object, ...], given: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """Spelling of the class called with these arguments, and what its `__init__` gets."""
    from sojourn.aqms import param_text

    names = [name for name, _, _ in _parameters(cls)]
    if len(args) > len(names):
        raise InputError(f"{cls.__qualname__} takes {len(names)} parameters, {len(args)} were given")
    texts = {**dict(zip(names, args, strict=False)), **given}
    return algorithm(cls).configure([(name, param_text(value)) for name, value in texts.items()])


def make(cls: type[Aqm]) -> Any:
    """A function that makes an instance from what `__init__` gets, without reading texts."""

    def instance(params: dict[str, Any]) -> Aqm:
        made = cls.__new__(cls)
        cls.__init__(made, **params)
        return made

    return instance


def reference(cls: type[Aqm]) -> str:
    """Name by which every process finds the class; where none can, one that this process knows."""
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None) or ""
    importable = cls.__module__ != "__main__" and "<locals>" not in cls.__qualname__
    if importable and path.endswith(".py") and cls._digest == _digest_of(path):
        return f"{_escape(path)}:{cls.__qualname__}"
    name = f"{cls.__module__}:{cls.__qualname__}"
    _live[name] = cls
    return name


def references(aqm: Mapping[str, Any]) -> list[str]:
    """Names of the user's classes in the table of an AQM."""
    return REFERENCE.findall(str(aqm["name"]))


def digest(name: str) -> str:
    """SHA-256 of the source that the class called `name` was defined in."""
    found = find(name)._digest
    if found is None:
        raise InputError(f"{name}: its source cannot be read, so a stored result would not tell what ran; use a file")
    return found


def by_content(name: str, digests: Mapping[str, str]) -> str:
    """Name of an AQM with each file named by its contents, so that a moved file is the same."""
    return REFERENCE.sub(lambda ref: f"{digests[ref[0]]}:{ref[0].rpartition(':')[2]}", name)


def in_files(names: list[str]) -> bool:
    """Whether other processes can load all of these classes."""
    return all(name.rpartition(":")[0].endswith(".py") for name in names)


def label(aqm: Mapping[str, Any]) -> str:
    """Spelling of the table of an AQM that is, or has in its brackets, a user's class; does not load the class."""
    from sojourn.aqms import param_words
    from sojourn.scenario import spelled_aqm

    name, params = str(aqm["name"]), {key: value for key, value in aqm.items() if key not in ("name", "profile")}
    if "(" not in name:
        return shown(" ".join([name, *(word for pair in params.items() for word in param_words(*pair))]))
    inner = name[name.index("(") + 1 : -1]
    around = spelled_aqm({**aqm, "name": name.replace(inner, _STAND_IN)})
    return shown(around.replace(_STAND_IN, inner, 1))


def shown(text: str) -> str:
    """Spelling with shorter paths: relative ones below the current folder."""
    here = f"{_escape(str(Path.cwd()))}/"
    return REFERENCE.sub(lambda ref: ref[0].removeprefix(here), text)


def refuse_while_loading() -> None:
    """Refuse to start runs from a file that is being loaded as a queue manager."""
    if path := getattr(_loading, "path", None):
        raise InputError(f'{path}: starts runs while it is loaded; put them below `if __name__ == "__main__":`')


def source_digest(cls: type) -> str | None:
    """SHA-256 of the source that a class is being defined in; None where there is no source, as at a prompt."""
    module = sys.modules.get(cls.__module__)
    if known := getattr(module, "__source_digest__", None):
        return str(known)
    path = getattr(module, "__file__", None) or ""
    if path.endswith(".py"):
        return _digest_of(path)
    try:
        return hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
    except (OSError, TypeError):
        return None


def _file(place: str, base: Path) -> Path:
    """The file that a name means: from the folder of the scenario, else from the current one."""
    path = Path(unquote(place))
    for folder in (base, Path.cwd()):
        if (folder / path).is_file():
            return (folder / path).resolve()
    where = f" in {base.resolve()}" if not path.is_absolute() else ""
    raise InputError(f'{place}: no such file{where}; write e.g. "my_aqm.py:MyAqm"')


def _load(path: Path) -> ModuleType:
    """The module of a file, in its present version."""
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
                raise AqmError(f"{path}: cannot be loaded: {said(error)}") from error
        return sys.modules[name]


@contextmanager
def no_code() -> Iterator[None]:
    """Refuse, within the block and in every thread, to run queue managers in Python that are named by their files."""
    _forbidden.append(True)
    try:
        yield
    finally:
        _forbidden.pop()


@contextmanager
def _judging(name: str) -> Iterator[None]:
    """Tell whatever a class raises while it is looked at as an error of that class."""
    try:
        yield
    except (InputError, AqmError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise AqmError(f"{name}: cannot be used: {said(error)}") from error


@contextmanager
def _loading_of(path: Path) -> Iterator[None]:
    outer = getattr(_loading, "path", None)
    _loading.path = path
    try:
        yield
    finally:
        _loading.path = outer


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (ImportError, ValueError, TypeError) as error:
        raise InputError(f'{name}: no such module ({error}); write e.g. "my_aqm.py:MyAqm"') from None


def _checked(found: Any, name: str) -> type[Aqm]:
    from sojourn.aqms import Aqm, Registered

    if not isinstance(found, type) or not issubclass(found, Aqm) or issubclass(found, Registered):
        raise InputError(f"{name} is no queue manager; derive the class from sojourn.Aqm")
    return found


def _hint(module: Any) -> str:
    from sojourn.aqms import Aqm

    names = [name for name, item in vars(module).items() if isinstance(item, type) and issubclass(item, Aqm)]
    return f"it has {', '.join(names)}" if names else "derive one from sojourn.Aqm"


def _parameters(cls: type[Aqm]) -> list[tuple[str, Any, list[str]]]:
    """Name, default and words of each parameter of `__init__`."""
    if cls.__init__ is object.__init__:
        return []
    taken = list(inspect.signature(cls.__init__).parameters.values())[1:]
    found = [param for param in taken if param.kind not in (param.VAR_POSITIONAL, param.VAR_KEYWORD)]
    for param in found:
        if param.default is param.empty:
            raise InputError(f'{cls.__qualname__}: parameter {param.name} needs a default, e.g. {param.name}="5 ms"')
    words = _words(cls)
    return [(param.name, param.default, words.get(param.name, [])) for param in found]


def _words(cls: type[Aqm]) -> dict[str, list[str]]:
    """Words of the parameters annotated as Literal."""
    try:
        hints = get_type_hints(cls.__init__)
    except (NameError, AttributeError, TypeError):
        return {}
    return {name: [str(word) for word in get_args(hint)] for name, hint in hints.items() if get_origin(hint) is Literal}


def _escape(path: str) -> str:
    return re.sub(r"[\s%@(),:]", lambda char: quote(char[0], safe=""), path)


def _digest_of(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


_STAND_IN = "codel"
_forbidden: list[bool] = []
_live: dict[str, type[Aqm]] = {}
_loading = threading.local()
_lock = threading.RLock()
