"""Changes of a scenario in words: another queue manager at the same shaped rate, other parameters, or keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from sojourn.base.errors import InputError
from sojourn.base.units import limit_text, quantity, rates
from sojourn.io.tc.disciplines import CAKE, CAKE_LIMIT, KINDS
from sojourn.io.tc.parents import DEVICE_LIMIT
from sojourn.model.aqms.registry import find, parsed, registry
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.shaping import SHAPERS, Shaping, at_shaped_rate, shaping

LINKS = {"forward": "link", "reverse": "reverse"}
"""The link of a direction."""
TOWARDS = {"forward": "down", "reverse": "up"}
"""Short name of a direction; the home is behind the forward link."""
PREFIXES = {**{short: direction for direction, short in TOWARDS.items()}, **{name: name for name in LINKS}}
"""Direction of a change by the word before its colon."""


def apply_changes(scenario: Scenario, changes: Sequence[str], directions: Sequence[str]) -> Scenario:
    """Apply all changes in order.

    Raises `InputError` if they change nothing, or if the bottleneck would move to a line of unstated rate.
    """
    after = scenario
    for change in changes:
        own, text = _direction(change, directions)
        before, after = after, apply_change(after, text, own)
        if len(own) > 1:
            _check_one_rate(before, after, change)
    if after.document == scenario.document:
        raise InputError(f"--change: {'; '.join(changes)} changes nothing; the scenario already has it")
    _check_bottleneck(scenario, after, changes)
    return after


def apply_change(scenario: Scenario, text: str, directions: Sequence[str]) -> Scenario:
    """Apply a change to a scenario.

    `link.rate=20mbit` sets a key; `fq_codel target 10ms` replaces the queue manager at the shaped rate, and `target
    10ms` changes a parameter of the existing one, also within braces, in each direction whose queue manager has such a
    parameter.
    """
    key, equals, value = text.partition("=")
    if equals:
        return scenario.replace({key.strip(): value.strip()})
    if not text.split():
        raise InputError('--change: empty; write e.g. "target 10ms", "down:cake" or "link.rate=20mbit"')
    if scenario.is_graph:
        raise InputError(f'--change: {text}: the scenario has several links; write e.g. links.0.aqm="{text}"')
    if re.split(r"[\s@({]", text.strip(), maxsplit=1)[0] in _names():
        parsed(text)
        for direction in directions:
            scenario = scenario.replace(_replaced(scenario, direction, text))
        return scenario
    sets: dict[str, str] = {}
    for direction in directions:
        path = f"{LINKS[direction]}.aqm"
        spelled = _spelling(scenario, path)
        new = re.sub(r"[^{};]+", lambda found: _with_words(found[0], text.split()), spelled)
        if new != spelled:
            sets[path] = new
    if not sets:
        raise InputError(
            f'--change: no queue manager of the scenario accepts "{text}"; sojourn aqm show NAME lists parameters'
        )
    return scenario.replace(sets)


def shaping_of(scenario: Scenario, path: str) -> Shaping:
    """Shaping of the queue manager at a path of the scenario, such as `link.aqm`."""
    return shaping(_spelling(scenario, path), _classes(scenario))


def line_rate_bps(scenario: Scenario, path: str) -> float:
    """Maximum rate of the line of the queue manager at a path; infinite if it follows a trace."""
    link = scenario.at(path.rpartition(".")[0])
    return max(rates(link["rate"])) if "rate" in link else inf


def _direction(change: str, directions: Sequence[str]) -> tuple[Sequence[str], str]:
    """Directions and text of a change, whose prefix such as `up:` wins over `directions`."""
    word, colon, text = change.partition(":")
    if not colon or word.strip() not in PREFIXES:
        return directions, change
    if re.match(r"\s*[\w.]+\s*=", text):
        raise InputError(f"--change: {change}: a key names its direction itself; leave out {word.strip()}:")
    return [PREFIXES[word.strip()]], text.strip()


def _replaced(scenario: Scenario, direction: str, text: str) -> dict[str, str]:
    """Keys that replace the queue manager of a direction, at its shaped rate."""
    link = LINKS[direction]
    path = f"{link}.aqm"
    spelled = _spelling(scenario, path)
    sets = {path: text}
    if shaping_of(scenario, path).has_shaper:
        mtu = quantity(scenario.document[link]["mtu"])
        assert mtu is not None
        try:
            kept = at_shaped_rate(spelled, text, int(mtu[0]), _classes(scenario))
        except InputError as error:
            raise InputError(
                f"--change: {text}: cannot keep the rate of {path}, {spelled}: {error}; or state the line's rate, "
                f'--change {link}.rate=RATE --change {link}.aqm="{text}"'
            ) from None
        sets = {path: kept.text, **{f"{link}.{key}": value for key, value in kept.link.items()}}
        # CAKE's 100,000 packets would be minutes of tail drop.
        own = [_default_limit(spelled), *(f"{limit} packets" for limit in re.findall(r"\blimit (\d+)\b", spelled))]
        if limit_text(scenario.document[link].get("limit", "")) in own:
            sets[f"{link}.limit"] = _default_limit(kept.text)
    return sets


def _default_limit(spelled: str) -> str:
    """Default limit in tc of the innermost discipline of a spelling; that of a device's queue if tc lacks it."""
    words = (part.split()[0].partition("@")[0] for part in re.split(r"[{};]", spelled) if part.split())
    innermost = [word for word in words if word in _names()][-1]
    if SHAPERS.get(innermost) == "bandwidth":
        return CAKE_LIMIT
    mappings = (kind for kind in KINDS.values() if kind.name.partition("@")[0] == innermost)
    return next((kind.default_limit for kind in mappings if kind.default_limit), DEVICE_LIMIT)


def _check_one_rate(before: Scenario, after: Scenario, change: str) -> None:
    """Raise `InputError` if a change without a direction gives both lines one rate, above that of the slower one."""
    paths = [path for path in (f"{link}.aqm" for link in LINKS.values()) if path in before.aqm_tables]
    old, new = ([shaping_of(one, path).rate_bps for path in paths] for one in (before, after))
    if len(set(old)) == 1 or len(set(new)) > 1 or inf in (*old, *new):
        return
    slower = min(range(len(paths)), key=old.__getitem__)
    if new[slower] > old[slower]:
        raise InputError(
            f"--change: {change}: raises the rate of {paths[slower]} from {rate_text(old[slower])} to "
            f"{rate_text(new[slower])}, and its line is only assumed to carry that; say the direction, "
            f'"down:{change}" or "up:{change}"'
        )


def _check_bottleneck(before: Scenario, after: Scenario, changes: Sequence[str]) -> None:
    """Raise `InputError` if a change moves the bottleneck from a shaper to a line whose rate it does not state."""
    keys = {change.partition("=")[0].strip() for change in changes if "=" in change}
    for path in before.aqm_tables:
        place = path.rpartition(".")[0]
        old, line = shaping_of(before, path), line_rate_bps(before, path)
        is_bottleneck = line < inf and old.has_shaper and not line <= old.rate_bps < inf
        if not is_bottleneck or f"{place}.rate" in keys:
            continue
        if path in after.aqm_tables:
            new = shaping_of(after, path)
            if new.rate_bps < line or (new.has_shaper and old.rate_bps == inf):
                continue
        rate = _rate(before, path)
        raise InputError(
            f"--change: {'; '.join(changes)}: removes the shaper of {path} ({rate}), and the line rate behind it is "
            f'unknown; keep its rate, e.g. "cake bandwidth {rate}" or "tbf rate {rate} burst 5kb limit 30kb {{ '
            f"fq_codel }}\", or state the line's, --change {place}.rate=RATE"
        )


def rate_text(rate_bps: float) -> str:
    """A rate for reading, `30 Mbit/s`."""
    return f"{rate_bps / 1e9:.6g} Gbit/s" if rate_bps >= 1e9 else f"{rate_bps / 1e6:.6g} Mbit/s"


def _rate(scenario: Scenario, path: str) -> str:
    rate_bps = shaping_of(scenario, path).rate_bps
    return rate_text(rate_bps).replace(" ", "") if rate_bps < inf else "of a part of it"


def _classes(scenario: Scenario) -> set[str]:
    """Classes that the flows name; "" for flows that name none."""
    return {str(flow.get("class", "")) for flow in scenario.document["flows"]}


def _names() -> set[str]:
    return {str(entry["name"]) for entry in registry()["aqms"]}


def _spelling(scenario: Scenario, path: str) -> str:
    return spelled_aqm(scenario.aqm_tables[path])


def _with_words(spec: str, words: list[str]) -> str:
    """A qdisc with other parameters; unchanged if it is no qdisc, or lacks them."""
    name = spec.split()[0].partition("@")[0] if spec.split() else ""
    if name not in _names():
        return spec
    params = {param["name"]: param["kind"] for param in find(name)["params"]}
    named = [param for param, _ in _paired(words, params)]
    if not set(named) <= set(params):
        return spec
    kept = [word for param, word in _paired(spec.split()[1:], params) if param not in named]
    made = " ".join([spec.split()[0], *kept, *words])
    inside = str(parsed(made)["text"])
    lead, trail = spec[: len(spec) - len(spec.lstrip())], spec[len(spec.rstrip()) :]
    return f"{lead}{inside}{trail}"


def _paired(words: list[str], params: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Parameters with the words that set them; `noecn` sets `ecn`, and CAKE's `besteffort` sets `tins`."""
    left = list(words)
    while left:
        word = left.pop(0)
        name = word.replace("-", "_")
        alone = next((param for param, words in CAKE.items() if word in words and "tins" in params), None)
        if alone:
            yield alone, word
        elif params.get(name) == "flag":
            yield name, word
        elif params.get(name.removeprefix("no")) == "flag":
            yield name.removeprefix("no"), word
        else:
            yield name, f"{word} {left.pop(0)}" if left else word
