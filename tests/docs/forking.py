"""A `sojourn` without its start: a process that has imported the package forks for every command.

Half of a short command's CPU time is imports, and the documents have hundreds. The child is a command like any other:
its arguments, folder, environment, streams and signals are those of its caller, which ends with its exit code.

`python forking.py SOCKET` is the server. It forks a keeper per command, which forks the command and waits for it.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

FORKED = ("aqm", "compare", "log", "pcap", "plot", "reproduce", "run", "score", "sweep", "trace")
"""Commands that may be forked: those that neither build networks nor serve."""
REFUSED = ("--engine", "--attach")
MODULES = (
    *("sojourn.apps.cli.compare", "sojourn.apps.cli.plot", "sojourn.apps.cli.run", "sojourn.apps.cli.sweep"),
    *("sojourn.base.guard", "sojourn.engines.emulated.command", "sojourn.figures.canvas", "sojourn.studies.study"),
)
"""Modules that most of them need."""
NAMED = "import sys; del sys.argv[0]; from sojourn.__main__ import main; main()"
CLIENT = """\
#!{python} -ISE
import array, json, os, signal, socket, sys
name, *words = sys.argv
if os.path.basename(name) != "sojourn":  # a link with the name of a command of Mahimahi's
    os.execv({python!r}, [{python!r}, "-c", {named!r}, name, *words])
if not words or words[0] not in {forked!r} or any(word.startswith({refused!r}) for word in words):
    os.execv({own!r}, [{own!r}, *words])
keeper = socket.socket(socket.AF_UNIX)
keeper.connect({path!r})
asked = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
keeper.sendmsg([len(asked).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
keeper.sendall(asked)
child = int.from_bytes(keeper.recv(8), "big")
for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, lambda number, _: os.kill(child, number))
code = int.from_bytes(keeper.recv(8), "big", signed=True)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def forking(folder: Path) -> Iterator[Path]:
    """Start the server; yields a folder for `PATH`, with a `sojourn` that asks it."""
    path, tools = folder / "socket", folder / "bin"
    tools.mkdir()
    own = str(Path(sys.executable).with_name("sojourn"))
    client = tools / "sojourn"
    values = {"python": sys.executable, "named": NAMED, "forked": FORKED, "refused": REFUSED, "own": own}
    client.write_text(CLIENT.format(**values, path=str(path)), encoding="utf-8")
    client.chmod(0o755)
    words = [sys.executable, __file__, str(path)]
    environment = os.environ | {"COLUMNS": "120", "MPLBACKEND": "Agg"}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdout is not None
        assert server.stdout.readline(), "the server of commands has ended"
        try:
            yield tools
        finally:
            server.kill()


def serve(path: str) -> None:
    """Fork a keeper for each connection; returns in the command's own process only."""
    for module in MODULES:
        import_module(module)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(64)
    print("ready", flush=True)
    while True:
        caller, _ = server.accept()
        if os.fork() == 0:
            server.close()
            return _keep(caller)
        caller.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def _keep(caller: socket.socket) -> None:
    """Fork the command; send its process number and its exit code to the caller; kill a command without a caller."""
    head, rights, _, _ = caller.recvmsg(8, socket.CMSG_SPACE(12))
    streams = array.array("i", rights[0][2])
    asked = b""
    while len(asked) < int.from_bytes(head, "big"):
        asked += caller.recv(1 << 20)
    ended, alive = os.pipe()
    if (child := os.fork()) == 0:
        caller.close()
        os.close(ended)
        return _become(streams, *json.loads(asked))
    os.close(alive)
    caller.sendall(child.to_bytes(8, "big"))
    with suppress(ProcessLookupError):
        ready, _, _ = select.select([ended, caller], [], [])
        if ended not in ready:
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        caller.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))
    os._exit(0)


def _become(streams: Any, words: list[str], folder: str, environment: dict[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["sojourn", *words]


if __name__ == "__main__":
    serve(sys.argv[1])
    from sojourn.__main__ import main

    main()
