"""Pages replayed by servers behind emulated links; nothing else answers.

The servers are the peer of a closed shell, so names, addresses and ports lead to the replay or nowhere. The peer is
also the name server: it knows no name but those of the recording, and counts the others.
"""

from __future__ import annotations

import json
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.apps.web.proxy import (
    READY_S,
    Answer,
    certificate,
    mitmdump,
    read_log,
    read_recording,
    run,
    scratch,
    settings,
)
from sojourn.base.errors import InputError

__all__ = ["ENDED", "NAMES", "READY", "READY_S", "SAID", "Replay", "replay"]

READY, ENDED, SAID, NAMES, SHELL = "ready", "ended", "said", "names", "shell"
"""Files in the folder of a replay: the token of ready servers; the end of mitmproxy and its output; refused names; the
log of the shell."""


class Replay(NamedTuple):
    """Result of a replay."""

    code: int
    """Exit code of the command; 1 instead of 0 if no request was answered."""
    requests: list[Answer]
    """Requests that reached the servers."""
    left_out: list[Answer]
    """Exchanges that cannot be replayed, because their hosts have no names."""
    refused: dict[str, int]
    """Attempts to reach hosts outside of the recording, by name or by address and port."""

    @property
    def answered(self) -> list[Answer]:
        """Requests with a recorded response."""
        return [answer for answer in self.requests if not answer.made_up]


def replay(file: Path, command: Sequence[str]) -> Replay:
    """Run a command in a network with the hosts of a recording, which respond as recorded.

    Each host name resolves to the other end of a shell, where every recorded port is served, with TLS if it was used;
    so a browser opens the same connections as before, through the shells that the command starts. All else is refused.
    """
    answers = read_recording(file)
    named = [answer for answer in answers if answer.is_named]
    if not named:
        raise InputError(f"{file}: no request in it has a host name; record such a page")
    with scratch() as folder:
        token = secrets.token_hex()
        shell = [sys.executable, "-m", "sojourn", "delay", "0s", "--quiet", "--log", str(folder / SHELL)]
        shell += ["--peer", _peer(file, named, folder, token)]
        shell += [word for host in sorted({answer.host for answer in named}) for word in ("--host", host)]
        ready = [sys.executable, "-m", "sojourn.apps.web.ready", str(folder), token]
        code = run([*shell, "--", *ready, *command], certificate(folder))
        left_out = [answer for answer in answers if not answer.is_named]
        found = Replay(code, read_log(folder), left_out, _refused(folder))
        return found if code or found.answered else found._replace(code=1)


def _peer(file: Path, named: Sequence[Answer], folder: Path, token: str) -> str:
    """Command of the other end: the name server, and mitmproxy with a server for each recorded port."""
    places = sorted({(answer.scheme, answer.port) for answer in named})
    # The upstream port is dead: unrecorded requests get 404, and no other host is contacted.
    modes = [word for scheme, port in places for word in ("--mode", f"reverse:{scheme}://127.0.0.1:9@{port}")]
    fixed = ["connection_strategy=lazy", "upstream_cert=false", "keep_host_header=true"]
    fixed += ["server_replay_extra=404", "server_replay_reuse=true", "server_replay_ignore_port=true"]
    words = [mitmdump(), "-q", *modes, "--server-replay", str(file.resolve()), *settings(folder)]
    words += [word for setting in fixed for word in ("--set", setting)]
    variables = {"SOJOURN_WEB_LOG": str(folder / "log"), "SOJOURN_WEB_READY": f"{folder / READY}:{token}"}
    servers = shlex.join(["env", *(f"{name}={value}" for name, value in variables.items()), *words])
    names = shlex.join([sys.executable, "-m", "sojourn.apps.web.names", str(folder / NAMES)])
    said, ended = shlex.quote(str(folder / SAID)), shlex.quote(str(folder / ENDED))
    return f"{names} >/dev/null 2>&1 & {servers} >{said} 2>&1; : >{ended}"


def _refused(folder: Path) -> dict[str, int]:
    """Refused attempts: names that the name server did not know, and destinations that the shell refused."""
    found: dict[str, int] = {}
    lines = (folder / NAMES).read_text(encoding="utf-8").splitlines() if (folder / NAMES).exists() else []
    for name in lines:
        found[name] = found.get(name, 0) + 1
    report: dict[str, Any] = {}
    if (file := folder / SHELL / "shell.json").exists():
        report = json.loads(file.read_bytes())
    for one in (report.get("refused") or {}).get("destinations", ()):
        address = f"[{one['address']}]" if ":" in one["address"] else one["address"]
        found[f"{address}:{one['port']}"] = one["packets"]
    return found
