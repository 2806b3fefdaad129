"""Runs of a gate's worlds: by the tested program, or by the simulator."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.files import temporary_folder
from sojourn.base.progress import Progress
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.gating.decisions import check_log
from sojourn.studies.gating.file import GateFile
from sojourn.studies.gating.program import Program
from sojourn.studies.gating.records import SEED, Record, check_seeds, listed, read_records
from sojourn.studies.gating.sentences import World, evidence_of_record
from sojourn.studies.runs import store
from sojourn.studies.runs.runner import Run, Runner
from sojourn.studies.runs.worker import Worker
from sojourn.studies.sentences import Run as Evidence


@dataclass(frozen=True)
class WorldInfo:
    """A world as its runs describe it."""

    name: str
    scenario: World
    world: str
    """Hash of what the scenario describes."""
    engine: str
    """Version of Sojourn that ran it."""


@dataclass(frozen=True)
class GateRun:
    """A finished run of a world with one seed."""

    info: WorldInfo
    seed: int
    decisions: str
    """Hash of its decisions."""
    evidence: Evidence
    """The run as sentences measure it."""


BATCH = 256
"""Maximum number of simulated runs that are in memory at a time."""


class NotDeterministicError(Exception):
    """Two runs of one world and seed differ; the text has the details."""


class Source(Protocol):
    """Runs of the worlds of a gate."""

    other_names: list[str]
    """Names of networks that the gate does not list."""

    def worlds(self) -> list[WorldInfo]:
        """The worlds, in the file's order, else by name.

        A tested program runs them with seed 1 first.
        """

    def runs(self, seeds: Sequence[int], names: Sequence[str]) -> Iterator[GateRun]:
        """Run the worlds of these names with each seed."""

    def check_determinism(self) -> None:
        """Run seed 1 twice, in two processes; raises `NotDeterministicError` if the decisions differ."""

    def repetition(self, world: str, seed: int) -> str:
        """Command that repeats a run."""


@contextmanager
def opened(gate: GateFile, runner: Runner, tell: Progress | None = None) -> Iterator[Source]:
    """Yield the source of a gate's runs."""
    if not gate.command:
        yield Simulated(gate, runner, tell)
        return
    with temporary_folder("sojourn-gate-") as folder:
        yield Tested(gate, folder, tell)


@dataclass
class Simulated:
    """The simulator's runs; finished ones are not computed again."""

    gate: GateFile
    runner: Runner
    tell: Progress | None = None
    other_names: list[str] = field(default_factory=list)
    """None: all worlds are those of the file."""
    _scenarios: dict[str, Scenario] = field(default_factory=dict)
    _infos: list[WorldInfo] = field(default_factory=list)

    def worlds(self) -> list[WorldInfo]:
        """Read the scenario files."""
        if not self._infos:
            paths = {world.name: world.path for world in self.gate.worlds if world.path is not None}
            self._scenarios = {name: Scenario.load(path) for name, path in paths.items()}
            self._infos = [
                WorldInfo(name, scenario, store.world_hash(scenario), _core.version())
                for name, scenario in self._scenarios.items()
            ]
        return self._infos

    def runs(self, seeds: Sequence[int], names: Sequence[str]) -> Iterator[GateRun]:
        """Do the runs on all cores."""
        asked = [(info, seed) for info in self.worlds() if info.name in names for seed in seeds]
        for start in range(0, len(asked), BATCH):
            part = asked[start : start + BATCH]
            self.runner.progress = self._after(start, len(asked))
            results = self.runner([Run(self._scenarios[info.name], seed) for info, seed in part])
            for (info, seed), result in zip(part, results, strict=True):
                yield GateRun(info, seed, result.fingerprint, result)
            self.runner.done.clear()  # results are large; their numbers are kept by the caller

    def _after(self, start: int, total: int) -> Progress:
        """Progress of a batch as that of all runs."""

        def tell(_share: float, finished: int, _of: int) -> None:
            if self.tell:
                self.tell((start + finished) / total, start + finished, total)

        return tell

    def check_determinism(self) -> None:
        """Compare runs with those in another process: of the worlds with code of users, else of the first world."""
        self.worlds()
        own = [name for name, scenario in self._scenarios.items() if scenario.user_code()]
        for name in own or list(self._scenarios)[:1]:
            [first] = self.runner([Run(self._scenarios[name], 1)])
            second = self._second(name)
            if second != first.fingerprint:
                raise NotDeterministicError(
                    f"{name}, seed 1: fingerprint {first.fingerprint}, in a second process {second}; look for random "
                    "draws, clocks and sets in the code that is tested"
                )

    def _second(self, name: str) -> str:
        """Fingerprint in another process."""
        worker = Worker(may_end=True, extra=_other_hash_seed())
        try:
            return worker.do(self._scenarios[name], 1, None, [], lambda _share: None).fingerprint
        finally:
            worker.stop()

    def repetition(self, world: str, seed: int) -> str:
        """Command line of one run."""
        path = next(one.path for one in self.gate.worlds if one.name == world)
        return f"sojourn run {shlex.quote(str(path))} --seed {seed}"


@dataclass
class Tested:
    """Networks of the tested program."""

    gate: GateFile
    folder: Path
    tell: Progress | None = None
    other_names: list[str] = field(default_factory=list)
    """Names of networks that the gate does not list."""
    _first: list[Record] = field(default_factory=list)
    _infos: dict[str, WorldInfo] = field(default_factory=dict)
    _count: int = 0

    def worlds(self) -> list[WorldInfo]:
        """Run seed 1: a mistake in a sentence is then found before the other seeds."""
        if not self._infos:
            self._first = self._records([1])
            self._infos = {record.name: _info(record) for record in self._first}
        return list(self._infos.values())

    def runs(self, seeds: Sequence[int], names: Sequence[str]) -> Iterator[GateRun]:
        """Run the program once with all seeds; it cannot leave out worlds."""
        infos = {info.name: info for info in self.worlds()}
        for record in self._records(seeds):
            if record.name not in names:
                continue
            info = infos[record.name]
            if record.world != info.world:
                raise InputError(
                    f"{record.path.name}: of another world than with seed 1; name the networks differently"
                )
            yield GateRun(info, record.seed, record.decisions, _evidence(record))

    def check_determinism(self) -> None:
        """Run seed 1 again, in another process whose sets of texts have another order."""
        self.worlds()
        before = {record.name: record for record in self._first}
        again = self._records([1], _other_hash_seed())
        for record in again:
            if record.decisions != before[record.name].decisions:
                raise NotDeterministicError(
                    f"{record.name}, seed 1: decisions {before[record.name].decisions}, in a second process "
                    f"{record.decisions}; for the first difference run: sojourn net check -- {self.gate.command}"
                )

    def repetition(self, world: str, seed: int) -> str:
        """Command line of one seed."""
        return f"{SEED}={seed} {self.gate.command}"

    def _records(self, seeds: Sequence[int], extra: Mapping[str, str] | None = None) -> list[Record]:
        self._count += 1
        out = self.folder / str(self._count)
        program = Program(self.gate.words, self.gate.path.parent, f"{self.gate.path}: command")
        program.check(out, program.run(out, seeds, extra, self._counter(seeds)))
        found = self._listed(read_records(out))
        check_seeds(found, seeds)
        for record in found:
            check_log(record)
        return found

    def _counter(self, seeds: Sequence[int]) -> Callable[[int], None]:
        """Function that shows how many networks have ended."""
        total = max(1, len(self.gate.worlds) or len(self._infos)) * len(seeds)

        def tell(count: int) -> None:
            if self.tell:
                self.tell(min(1.0, count / total), count, max(total, count))

        return tell

    def _listed(self, records: Sequence[Record]) -> list[Record]:
        """Records of the gate's worlds in their order; raises `InputError` if one is missing."""
        names = [world.name for world in self.gate.worlds] or sorted({record.name for record in records})
        written = sorted({record.name for record in records})
        place = f"{self.gate.path}: command"
        if not written:
            raise InputError(f"{place}: it wrote no record; build its networks with sojourn-net and finish them")
        if lacking := [name for name in names if name not in written]:
            raise InputError(
                f'{place}: no record of "{lacking[0]}", but of {listed(written)}; correct `worlds`, or the name of the '
                "network"
            )
        if gone := sorted(self._infos.keys() - set(written)):
            raise InputError(f'{place}: no record of "{gone[0]}" this time; the networks must not depend on chance')
        if self._infos and (fresh := sorted(set(names) - self._infos.keys())):
            raise InputError(f'{place}: "{fresh[0]}" has no record of seed 1; run each network with every seed')
        self.other_names = [name for name in written if name not in names]
        return [record for name in names for record in records if record.name == name]


def _other_hash_seed() -> dict[str, str]:
    """Environment that gives sets of texts another order."""
    return {"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}


def _info(record: Record) -> WorldInfo:
    return WorldInfo(record.name, record.scenario, record.world, record.versions["sojourn"])


def _evidence(record: Record) -> Evidence:
    """A record as sentences measure it."""
    try:
        return evidence_of_record(record.scenario, record.summary, record.histogram)
    except InputError as error:
        raise InputError(f"{record.path.name}: {error}") from None
