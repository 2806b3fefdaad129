"""Directions of devices: which one sends to the home, and which one to the Internet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sojourn.base.errors import InputError
from sojourn.io.tc.parents import tree
from sojourn.io.tc.records import INPUT, Device, TcConfig


@dataclass(frozen=True)
class ImportOptions:
    """Options that tc's configuration does not determine."""

    download: str | None = None
    """Device that sends to the home or the subscribers; detected by default."""
    upload: str | None = None
    """Device that sends to the Internet; detected by default."""
    rate: str | None = None
    """Rate of the line in both directions."""
    class_id: str | None = None
    """HTB class of the traffic, such as `1:11`."""


Pair = tuple[Device | None, Device | None]
"""Devices that send to the home and to the Internet."""


def directions(config: TcConfig, options: ImportOptions) -> Pair:
    """Devices of both directions: as given, else by redirection, by the default route, by names, by order."""
    devices = _egress_devices(config)
    down, up = _given_devices(config, options)
    if down is None or up is None:
        down, up = _by_redirection(config, devices, down, up)
        others = [one for one in devices if one is not down and one is not up and not _is_ifb(one, config)]
        shaping = [one for one in others if _shapes(one, options)]
        down, up = _by_name(config, shaping or others, down, up)
    used = {one.name for one in (down, up) if one is not None}
    for one in devices:
        if one.name not in used and one.root:
            config.note(one.root.line, f"{one.name}: {one.root.kind} is left out; --download and --upload name devices")
    return down, up


def _egress_devices(config: TcConfig) -> list[Device]:
    """Devices with an egress queue."""
    return [
        one
        for one in config.devices.values()
        if one.root
        and one.name != "lo"
        and one.root.kind not in INPUT
        and (one.root.kind != "noqueue" or one.ingress_to or one.has_policer)
    ]


def _given_devices(config: TcConfig, options: ImportOptions) -> Pair:
    """Devices given by the user."""
    for name in (options.download, options.upload):
        if name is not None and name not in config.devices:
            raise InputError(f"{name}: no such device; expected one of: {', '.join(config.devices) or 'none'}")
    return (
        config.devices[options.download] if options.download else None,
        config.devices[options.upload] if options.upload else None,
    )


def _by_redirection(config: TcConfig, devices: list[Device], down: Device | None, up: Device | None) -> Pair:
    """An IFB shapes what another device receives: to the home, unless that device faces the home."""
    for ifb in devices:
        if not _is_ifb(ifb, config):
            continue
        parent = next((one for one in devices if one.name == _parent_of(ifb, config)), None)
        if parent is not None and _faces_home(parent.name, config):
            if parent is not up and ifb is not down and (down or parent) is parent and (up or ifb) is ifb:
                _assume_name(config, parent, "home")
                return parent, ifb
        elif ifb is not up:
            outside = parent if parent is not down else None
            return down or ifb, up or (outside if (down or ifb) is ifb else None)
    return down, up


def _by_name(config: TcConfig, left: list[Device], down: Device | None, up: Device | None) -> Pair:
    """Among the other devices: the one of the default route, of a name for the Internet, or the first."""
    ranked = sorted(left, key=lambda one: _rank(one.name, config))
    if up is None and ranked and not (len(ranked) == 1 and down is None and _faces_home(ranked[0].name, config)):
        up = ranked.pop(0)
        if not ranked and up.name != config.routed:
            beside = f", beside {down.name}" if down is not None else ""
            _assume(config, up, f"{up.name} sends to the Internet{beside}")
    if down is None and ranked:
        down = ranked.pop(0)
        _assume_pair(config, down, up)
    return down, up


def _assume_pair(config: TcConfig, down: Device, up: Device | None) -> None:
    """Report how the devices of two directions are told apart, unless the default route does."""
    if up is None:
        _assume_name(config, down, "home")
    elif up.name != config.routed:
        ranks = _rank(down.name, config), _rank(up.name, config)
        why = "by their names" if ranks[0] != ranks[1] else f"because {up.name} is the first"
        _assume(config, up, f"{up.name} sends to the Internet and {down.name} to the home, {why}")


def _assume_name(config: TcConfig, device: Device, side: str) -> None:
    why = "by its name" if not config.routed else f"because the default route leaves by {config.routed}"
    _assume(config, device, f"{device.name} faces the {side}, {why}")


def _assume(config: TcConfig, device: Device, sentence: str) -> None:
    config.assume(device.root.line if device.root else 0, f"{sentence}; --download and --upload choose")


def _rank(name: str, config: TcConfig) -> int:
    """Order of devices from the Internet to the home."""
    if name == config.routed:
        return 0
    return 1 if OUTSIDE.fullmatch(name) else 3 if INSIDE.fullmatch(name) or WIRELESS.fullmatch(name) else 2


def _faces_home(name: str, config: TcConfig) -> bool:
    """Whether a device is known to face the home; a wireless one may be a laptop's."""
    if config.routed in config.devices:
        return name != config.routed
    return INSIDE.fullmatch(name) is not None


def _is_ifb(device: Device, config: TcConfig) -> bool:
    """Whether a device gets the packets that another one receives."""
    return device.name.startswith("ifb") or any(one.ingress_to == device.name for one in config.devices.values())


def _parent_of(ifb: Device, config: TcConfig) -> str:
    """Device whose received packets an IFB gets; sqm-scripts name it `ifb4wan`, qosify `ifb-wan`."""
    redirecting = (one.name for one in config.devices.values() if one.ingress_to == ifb.name)
    return next(redirecting, re.sub("^ifb[4-]?", "", ifb.name))


def _shapes(device: Device, options: ImportOptions) -> bool:
    """Whether a device shapes; false if it cannot be translated."""
    try:
        return bool(tree(device, TcConfig(), options.class_id).bounds)
    except InputError:
        return False


INSIDE = re.compile(r"(br-?(?!wan)\w*|lan\w*|eth\d\.1|vlan1|guest\w*|home\w*|se00)([.@-].*)?")
"""Names of devices that face the home."""
WIRELESS = re.compile(r"wlan.*|wl\w*|ath\d+|ra\d+|phy\d+-ap\d+")
"""Names of wireless devices, which face the home if another device can face the Internet."""
OUTSIDE = re.compile(
    r"(br-)?wan.*|wwan.*|ppp.*|eth\d\.(?!1\b)\d+|vlan2|v?dsl.*|ptm\d.*|nas\d.*|internet.*|lte.*|rmnet.*|usb\d+|cm\d+|ge00"
)
"""Names of devices that face the Internet."""
