"""User's login shell in a node of a running scenario."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn.engines.emulated import engine, topology
from sojourn.model.scenarios.scenario import Scenario


def enter(scenario: Scenario, seed: int, node: str, live: topology.LiveOptions) -> int:
    """Open the user's shell in a node while the flows run; the run ends with the shell. Returns its exit code.

    No result is kept, because the scenario does not describe what the user does there.
    """
    engine.check(scenario)
    shell = topology.NodeShell(node, [os.environ.get("SHELL", "/bin/sh")])
    with TemporaryDirectory(prefix="sojourn-") as name:
        folder = Path(name)
        spec = engine.spec_of(scenario, seed)
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        line = topology.arguments(scenario, spec, folder, live, shell)
        environment = {**os.environ, "SOJOURN_ECN": "1" if spec["ecn"] else "0"}
        with subprocess.Popen([*topology.SHELL, *line], env=environment) as running:
            while running.poll() is None:
                # The terminal delivers SIGINT to the command as well.
                with suppress(KeyboardInterrupt):
                    running.wait()
    return running.returncode
