"""CAKE at the base rates of cake-autorate, from its configuration (`config.NAME.sh`).

Source: cake-autorate (`defaults.sh`, `config.primary.sh`). Differs: the rates are fixed; the controller, which changes
the bandwidth of a CAKE that another program set up, is not simulated. The output of `tc qdisc show` after the
configuration has the other parameters of that CAKE.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sojourn.base.errors import InputError
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends.shell import Assignment, assignments
from sojourn.io.tc.front_ends.translation import Translation


def recognises(text: str) -> bool:
    """Whether a text is a configuration of cake-autorate."""
    return OWN.search(text) is not None


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc for a CAKE in each direction; raises `InputError` for rates that are none."""
    found = Translation(options)
    variables: dict[str, Assignment] = {}
    shown: list[tuple[int, str]] = []
    for one in assignments(text):
        if isinstance(one, Assignment):
            variables[one.name] = one
        elif one[1].startswith("qdisc "):
            shown.append(one)
        elif not (shown and one[1][:1].isspace()):  # statistics are indented
            found.note_line(*one)
    devices = {side: _device(found, variables, side) for side in ("dl", "ul")}
    found.options = replace(options, download=options.download or devices["dl"], upload=options.upload or devices["ul"])
    if devices["dl"] == devices["ul"]:
        raise InputError(f"dl_if and ul_if are both {devices['dl']}; give each direction its device")
    for side, device in devices.items():
        line, rate = _rate(found, variables, side)
        cake = next((one for one in shown if re.match(rf"qdisc cake \S+ dev {re.escape(device)} root ", one[1])), None)
        if cake is not None:
            shown.remove(cake)
            found.commands.append((cake[0], re.sub(r" bandwidth \S+", f" bandwidth {rate}kbit", cake[1])))
        else:
            found.add(line, "qdisc add", device, f"root cake bandwidth {rate}kbit")
            why = "cake-autorate does not set them, and the output of tc is not in the input"
            found.assume(line, f"{device}: CAKE has its default parameters; {why}")
    for number, words in shown:
        found.note_line(number, words)
    known = [one.name for one in variables.values() if KNOWN.fullmatch(one.name) and one.name not in USED]
    for one in variables.values():
        if one.name not in USED and one.name not in known:
            found.note(one.line, f"{one.name}={one.value}")
    if known:
        found.notes.append(f"the controller is not simulated: {', '.join(known)}")
    return found


def _device(found: Translation, variables: dict[str, Assignment], side: str) -> str:
    name = f"{side}_if"
    one = variables.get(name)
    if one is not None and one.is_literal and one.value:
        return one.value
    default = DEVICES[side]
    why = "is missing" if one is None or one.is_literal else f"{one.value} is known to the shell alone"
    found.assume(one.line if one else 1, f"{name} {why}; {default} is taken")
    return default


def _rate(found: Translation, variables: dict[str, Assignment], side: str) -> tuple[int, int]:
    """Line and base rate of a direction in kbit/s."""
    base = variables.get(f"base_{side}_shaper_rate_kbps")
    line, rate = 1, BASE_KBPS
    if base is None:
        found.assume(line, f"base_{side}_shaper_rate_kbps is missing; the default of cake-autorate, {rate}, is taken")
    else:
        line, rate = base.line, _kbps(base)
    bounds = [variables.get(f"{end}_{side}_shaper_rate_kbps") for end in ("min", "max")]
    adjusts = variables.get(f"adjust_{side}_shaper_rate")
    if adjusts is not None and adjusts.value == "0":
        found.assume(line, f"the bandwidth is {rate} kbit/s; adjust_{side}_shaper_rate=0 leaves it as it was set")
        return line, rate
    between = " between " + " and ".join(str(_kbps(one)) for one in bounds if one) if all(bounds) else ""
    found.assume(line, f"the bandwidth stays at {rate} kbit/s, the base rate; cake-autorate moves it{between}")
    return line, rate


def _kbps(one: Assignment) -> int:
    if not one.is_literal or not re.fullmatch("[0-9]{1,9}", one.value) or not int(one.value):
        raise InputError(f"line {one.line}: {one.name}: {one.value!r} is not a number of kbit/s; write e.g. 20000")
    return int(one.value)


OWN = re.compile(r"^[ \t]*(?:export[ \t]+)?(?:(?:min|base|max)_[du]l_shaper_rate_kbps|adjust_[du]l_shaper_rate)=", re.M)
DEVICES = {"dl": "ifb-wan", "ul": "wan"}
BASE_KBPS = 20_000
"""Default base rate in kbit/s, of both directions."""
USED = {f"{word}_{side}_shaper_rate_kbps" for word in ("min", "base", "max") for side in ("dl", "ul")} | {
    *("dl_if", "ul_if", "adjust_dl_shaper_rate", "adjust_ul_shaper_rate"),
}
KNOWN = re.compile(
    r"output_\w+_(?:stats|changes)|debug|log_\w+|pinger_method|reflectors\w*|randomize_reflectors|retain_reflector_stats|"
    r"no_pingers|reflector_\w+|[du]l_\w*owd_delta\w*_thr_ms|enable_sleep_function|connection_\w+_thr_kbps|"
    r"sustained_idle_sleep_thr_s|min_shaper_rates_enforcement|startup_wait_s|ping_extra_args|ping_prefix_string|"
    r"irtt_session_duration_m|monitor_\w+_interval_ms|bufferbloat_\w+|alpha_\w+|shaper_rate_\w+|high_load_thr|"
    r"decay_refractory_period_ms|stall_detection_thr|global_ping_response_timeout_s|if_up_check_interval_s"
)
"""Variables of the controller."""
