"""The WebAssembly module compared with the native core: equal fingerprints, and the page's interface."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn import Scenario
from sojourn.base.inputs import parse_toml

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "web" / "build" / "sojourn.wasm"
LARGEST = 4_700_000
"""Maximum size of the module in bytes; brotli reduces it to less than a quarter."""

pytestmark = [
    pytest.mark.skipif(not MODULE.exists(), reason="the WebAssembly module is not built (make web)"),
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to run the WebAssembly module"),
]

ODD = """
seed = 987654321
duration = "5.9 s"
[link]
rate = "7.77 Mbit/s@0s,1.3 Mbit/s@2.1s"
delay = "3.3 ms"
aqm = "fq(pie target 9ms ecn)"
limit = "333 packets"
loss = "0.3%"
[[flows]]
kind = "tcp"
cc = "bbr"
count = 2
rtt = "41 ms"
[[flows]]
kind = "web"
interval = "313 ms"
size = "71 kB"
[[flows]]
kind = "voice"
direction = "reverse"
"""


def in_module(wanted: list[dict[str, object]]) -> list[str]:
    """Fingerprints of scenarios run by the module."""
    command = ["node", str(ROOT / "tests" / "web" / "run.mjs"), str(MODULE)]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def test_every_shipped_scenario_has_its_native_fingerprint() -> None:
    paths = [path for path in sorted((ROOT / "scenarios").glob("*.toml")) if runs_as_it_is(path)]
    assert len(paths) > 20
    files = {path.name: base64.b64encode(path.read_bytes()).decode() for path in (ROOT / "scenarios").glob("*.down")}
    found = in_module([{"text": path.read_text(), "files": files} for path in paths])
    native = [Scenario.load(path).run().fingerprint for path in paths]
    assert dict(zip(paths, found, strict=True)) == dict(zip(paths, native, strict=True))


def runs_as_it_is(path: Path) -> bool:
    """Whether a file is a single scenario: not a study, and without drawn keys."""
    return not {"sweep", "draw"} & parse_toml(path.read_text()).keys()


def test_an_odd_scenario_has_its_native_fingerprint_with_every_seed() -> None:
    seeds = [None, 0, 77, 2**53 - 1]
    found = in_module([{"text": ODD, "seed": seed} for seed in seeds])
    assert found == [Scenario.parse(ODD).run(seed).fingerprint for seed in seeds]
    assert len(set(found)) == len(seeds)


def test_the_interface_behaves_as_documented() -> None:
    done = subprocess.run(
        ["node", "--test", "tests/web/core.test.mjs"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_the_module_has_no_imports_and_is_small() -> None:
    size = MODULE.stat().st_size
    assert size < LARGEST, f"{size} B"
    script = (
        "const m = new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));"
        "console.log(WebAssembly.Module.imports(m).length)"
    )
    done = subprocess.run(["node", "-e", script, str(MODULE)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
