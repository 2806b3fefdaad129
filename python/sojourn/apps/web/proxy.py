"""Pages through mitmproxy: recorded by a proxy, and read back.

mitmproxy runs as a separate program (``mitmdump``): its wheel pins libraries to versions that conflict with other
dependencies.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sojourn.base.errors import InputError, MissingError

ADDON = Path(__file__).with_name("addon.py")
READY_S = 60.0
"""Timeout for mitmproxy's start, which first makes a certificate."""
GRACE_S = 10.0
"""Timeout for its exit."""
REMEDY = "install mitmproxy 10 or newer (pipx install mitmproxy), or name its program in SOJOURN_MITMDUMP"


class Answer(NamedTuple):
    """A request and its response, without contents; `bytes` is the length of the body as transferred."""

    scheme: str
    host: str
    port: int
    method: str
    path: str
    status: int
    bytes: int
    made_up: bool

    @property
    def url(self) -> str:
        """The request's URL."""
        usual = {"http": 80, "https": 443}.get(self.scheme) == self.port
        return f"{self.scheme}://{self.host}{'' if usual else f':{self.port}'}{self.path}"

    @property
    def is_named(self) -> bool:
        """Whether its host is a name that can be redirected: neither an address nor this machine."""
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(self.host.strip("[]"))
            return False
        return self.host != "localhost" and not self.host.endswith(".localhost")


def mitmdump() -> str:
    """Path of mitmproxy's program: from SOJOURN_MITMDUMP, beside this Python, or on PATH."""
    beside = Path(sys.executable).with_name("mitmdump")
    named = os.environ.get("SOJOURN_MITMDUMP") or (str(beside) if beside.exists() else "mitmdump")
    found = shutil.which(named)
    if found is None:
        raise MissingError(f"{named} not found; {REMEDY}")
    return found


def read_recording(file: Path) -> list[Answer]:
    """Return the exchanges of a recording, in order."""
    if not file.is_file():
        raise InputError(f"{file}: no such file; make it with `sojourn web record {file} -- COMMAND`")
    with scratch() as folder:
        words = [mitmdump(), "-q", "-n", "-r", str(file), *settings(folder)]
        done = subprocess.run(words, env=_log_environment(folder), capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"{file}: mitmproxy cannot read it: {last_line(done.stdout + done.stderr)}")
        return read_log(folder)


def record(file: Path, command: Sequence[str]) -> tuple[int, list[Answer]]:
    """Run a command with a proxy in its environment (``http_proxy``, ``https_proxy``) that writes its flows to `file`.

    Returns the command's exit code and the recorded exchanges. Programs that honour ``SSL_CERT_FILE`` accept the
    proxy's certificates; others must be configured.
    """
    if file.exists():
        raise InputError(f"{file} already exists; choose another name")
    with scratch() as folder:
        port = _free_port()
        words = [mitmdump(), "-q", "--mode", f"regular@127.0.0.1:{port}", "-w", str(file), *settings(folder)]
        proxy = subprocess.Popen(
            words,
            env=_log_environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            wait_for("127.0.0.1", port, proxy)
            url = f"http://127.0.0.1:{port}"
            names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
            code = run(command, dict.fromkeys(names, url) | certificate(folder))
        finally:
            _end(proxy)
        return code, read_log(folder)


def wait_for(host: str, port: int, proxy: subprocess.Popen[str] | None = None) -> None:
    """Wait until the port is open; raises `MissingError` if `proxy` exits, or after a minute."""
    end = time.monotonic() + READY_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=READY_S):
            return
        if proxy is not None and proxy.poll() is not None:
            raise MissingError(f"mitmproxy does not start: {last_line(proxy.communicate()[0])}")
        if time.monotonic() > end:
            raise MissingError(f"nothing listens at {host}:{port} after {READY_S:.0f} s; start again")
        time.sleep(0.02)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder."""
    with TemporaryDirectory(prefix="sojourn-web-") as folder:
        yield Path(folder)


def settings(folder: Path) -> list[str]:
    """A temporary certificate authority, and our add-on."""
    return ["--set", f"confdir={folder}", "-s", str(ADDON)]


def _log_environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "SOJOURN_WEB_LOG": str(folder / "log")}


def certificate(folder: Path) -> dict[str, str]:
    """Variables with the certificate of the authority in a folder."""
    file = str(folder / "mitmproxy-ca-cert.pem")
    return {"SSL_CERT_FILE": file, "CURL_CA_BUNDLE": file, "SOJOURN_WEB": "yes"}


def read_log(folder: Path) -> list[Answer]:
    """Exchanges that the add-on has logged."""
    with contextlib.suppress(FileNotFoundError):
        lines = (folder / "log").read_text(encoding="utf-8").splitlines()
        return [Answer(**entry) for line in lines if isinstance(entry := json.loads(line), dict)]
    return []


def run(command: Sequence[str], variables: dict[str, Any]) -> int:
    """Run a command; returns its exit code, or 128 plus the signal's number. Ctrl-C is left to the command."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # Restore the default SIGINT handler in the command.
        process = subprocess.Popen(
            command, env={**os.environ, **variables}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        )
        code = process.wait()
    except FileNotFoundError:
        raise InputError(f"{command[0]}: no such program; give its name after --") from None
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


def _end(proxy: subprocess.Popen[str]) -> None:
    """Stop a proxy, which first writes its flows; open clients delay it for a limited time."""
    proxy.send_signal(signal.SIGINT)
    try:
        proxy.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        proxy.kill()
        proxy.communicate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def last_line(text: str) -> str:
    """Last line of a program's output."""
    return (text.strip().splitlines() or ["no output"])[-1]
