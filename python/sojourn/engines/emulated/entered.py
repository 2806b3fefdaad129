"""A shell of the user's in a node of a scenario, while its links and flows run."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn.engines.emulated import engine, topology
from sojourn.model.scenarios.scenario import Scenario


def enter(scenario: Scenario, seed: int, node: str, wishes: topology.Wishes) -> int:
    """Open the user's shell in a node while the flows run; it ends the run, and its exit code is returned.

    What is done there is not in the scenario, so nothing is kept.
    """
    engine.check(scenario)
    entered = topology.Entered(node, [os.environ.get("SHELL", "/bin/sh")])
    with TemporaryDirectory(prefix="sojourn-") as name:
        folder = Path(name)
        spec = engine.spec_of(scenario, seed)
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        line = topology.words(scenario, seed, folder, spec, engine.classes_of(scenario.document), wishes, entered)
        environment = {**os.environ, "SOJOURN_ECN": "1" if spec["ecn"] else "0"}
        with subprocess.Popen([*topology.SHELL, *line], env=environment) as running:
            while running.poll() is None:
                # Ctrl-C is for the command; it has it from the terminal.
                with suppress(KeyboardInterrupt):
                    running.wait()
    return running.returncode
