"""Writes a drawn scenario or study as an ordinary file, which can be shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_text
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.scenarios.draw import Draw, seed_of
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.study import AQM_PARAMETER, Study, read_document, set_path


def drawn_text(path: Path, seed: int | None) -> str:
    """TOML of a file with the values drawn by `seed` (default: the file's) in place of its table `[draw]`.

    The seed is written too. Comments are kept unless the file extends another one. Raises `InputError` if there is no
    such table, or if the drawn scenario cannot run.
    """
    import tomlkit

    document = read_document(path)
    draw = Draw.take(document, path.parent)
    if draw is None:
        raise InputError(f'{path}: draw: no such table; write [draw] and e.g. "link.rate" = {{ … }} below it')
    taken = seed_of(document) if seed is None else seed
    text = read_text(path)
    toml: Any = tomlkit.parse(text)
    if "extends" in toml:
        toml = tomlkit.parse(tomlkit.dumps(document))
    toml.pop("draw", None)
    values = draw.values(taken)
    parameters = {name: value for name, value in values.items() if AQM_PARAMETER.search(name)}
    for name, value in values.items():
        if name not in parameters:
            set_path(toml, name, value, f"draw.{name}")
    if "sweep" in toml:
        Study.load(path, seeds=[taken])
        toml["sweep"].update({name: [value] for name, value in parameters.items()} | {"seeds": [taken]})
    else:
        made = Scenario.load(path, seed=taken)
        for name in {name.rpartition(".aqm.")[0] for name in parameters}:
            set_path(toml, f"{name}.aqm", spelled_aqm(made.at(name)["aqm"]), f"draw.{name}.aqm")
    toml["seed"] = taken
    return tomlkit.dumps(toml)
