"""The result of one run: its summary and its tables as Polars frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.base.errors import InputError, unknown
from sojourn.base.frames import Columns, readable_table, to_pandas
from sojourn.base.late import pl
from sojourn.base.notebook import lab_widget
from sojourn.figures.api import Plots
from sojourn.model.analysis.labels import names_of
from sojourn.model.analysis.metrics import in_html, table_of_runs
from sojourn.model.analysis.stats import quantile
from sojourn.model.aqms.registry import own_parameters, parameters
from sojourn.model.aqms.spelling import references, spelled_aqm
from sojourn.model.results import later
from sojourn.model.results.columns import of_frame, packets_of_link, sojourn_histogram
from sojourn.model.results.flat import flat_group, flat_link, flat_node, flat_queue, flat_summary
from sojourn.model.results.queues import SIDES, Queue, queues_of
from sojourn.model.results.recorded import RecordedTable, in_units, recorded_tables, with_names
from sojourn.model.results.tables import LazyTable, in_memory, of_columns
from sojourn.model.results.words import FIRST_DROP, SENDER_WORDS

if TYPE_CHECKING:
    import pandas as pd

    from sojourn._core import Output
    from sojourn.model.scenarios.scenario import Scenario

_PACKETS = "--set probes.packets=true"
_SENDERS = "--set probes.senders=true, if it has a TCP sender"
LOG_FIGURES = "only timeseries, cdf, ccdf, box, drops, window, bytes and rates can be drawn from it"


class Result:
    """One run. Frames carry units in their names: `time_s`, `sojourn_ms`; a link is "forward", "reverse" or named.

    For a shell (`sojourn link --log`) the directions are "down" and "up", and summary and figures have both.
    """

    def __init__(
        self,
        scenario: Scenario | None,
        seed: int,
        totals: Mapping[str, Any],
        tables: Mapping[str, Callable[[], pl.DataFrame]],
    ) -> None:
        """Combine a summary with tables that are read lazily; a log has no scenario."""
        self._scenario = scenario
        self.seed = seed
        self.totals = dict(totals)
        self.folder: Path | None = None
        self.engine = "simulate"
        """Engine that ran it, and its build if that matters."""
        self.found = False
        """Whether it was read from earlier results instead of being simulated now."""
        self.own_parameters: dict[str, dict[str, Any]] | None = None
        """Every parameter of the queue managers in Python, by path of the AQM, as recorded at run time."""
        self.written: Mapping[str, int] = {}
        """Row counts of the tables already written as files, in the folder where the result will be stored."""
        self.files: Mapping[str, Callable[[], Path]] = {}
        """Tables stored as files, each checked on access."""
        self.files_as_columns: Mapping[str, Callable[[], Columns | None]] = {}
        """The same as arrays; None for a table that only Polars reads."""
        self._tables = dict(tables)
        self._link: str | None = None
        self._start_ns: int | None = None
        """Start of the statistics, if later than in the summary."""

    @classmethod
    def of(cls, scenario: Scenario, seed: int, output: Output, folder: Path | None = None) -> Result:
        """Wrap the core's output; tables that it wrote are in `folder`."""
        tables = of_columns(output.tables())
        if folder is not None:
            tables |= {name: partial(_read_parquet, folder / f"{name}.parquet") for name in output.written}
        result = cls(scenario, seed, json.loads(output.summary), tables)
        result.written = output.written
        return result

    @property
    def scenario(self) -> Scenario:
        """Scenario of the run; raises `InputError` for a log, which has none."""
        if self._scenario is None:
            raise InputError(f"{self.folder}: a log has no scenario; {LOG_FIGURES}")
        return self._scenario

    @property
    def is_log(self) -> bool:
        """Whether it was read from a packet log, and has neither scenario nor summary."""
        return self._scenario is None

    @property
    def is_shell(self) -> bool:
        """Whether it is a shell, whose command made the traffic: either direction may carry the data."""
        return self._scenario is not None and self.engine == "emulate" and not self._scenario.document["flows"]

    @property
    def directions(self) -> list[Result]:
        """Results that figures show unless a link was chosen: a shell's directions with packets, else the run."""
        if not self.is_shell or self._link is not None:
            return [self]
        both = [self.at(name) for name in self.link_names]
        return [one for one in both if one.number("arrived")] or both

    @property
    def duration_s(self) -> float:
        """Length of the run in seconds; for a log, the time of its last line."""
        return float(self.totals["duration_s"])

    @property
    def warmup_s(self) -> float:
        """Warm-up that the statistics leave out, in seconds: given by the scenario, or found; 0 for a log."""
        return float(self.totals.get("warmup_s", 0.0)) if self._start_ns is None else self._start_ns / 1e9

    @property
    def settled(self) -> bool | None:
        """Whether a steady state was found; None if the warm-up was given."""
        found = self.totals.get("settled")
        return None if found is None else bool(found)

    @property
    def not_settled(self) -> str | None:
        """Why no steady state was found; None if one was, or if the warm-up was given."""
        found = self.totals.get("not_settled")
        return None if found is None else str(found)

    @property
    def fingerprint(self) -> str:
        """64-bit fingerprint of all verdicts and departures, as 16 hexadecimal digits."""
        return str(self.totals["fingerprint"])

    @cached_property
    def aqm_parameters(self) -> dict[str, Any]:
        """Every parameter of every queue manager by path, e.g. link.aqm.target, including the inner ones of fq(…)."""
        noted = self.own_parameters
        if noted is None:
            noted = {} if self.folder else own_parameters(self.scenario)
        found: dict[str, Any] = {}
        for path, table in self.scenario.aqm_tables.items():
            values = noted.get(path, table) if references(table) else parameters(table)
            found |= {f"{path}.{name}": value for name, value in values.items() if name not in ("name", "profile")}
        return found

    @property
    def plot(self) -> Plots:
        """Figures of this run, a method for each kind, such as `plot.cdf()`."""
        return Plots(lambda: (self.directions, names_of(self.directions)))

    def lab(self) -> Any:
        """Return a widget for Jupyter and marimo (extra `lab`) that plays the run back, or reruns it with its seed.

        Playback needs recorded packets (probe `packets`).
        """
        return lab_widget(self)

    def add_table(self, name: str, table: pl.DataFrame) -> None:
        """Add a table that was recorded elsewhere."""
        self._tables |= in_memory({name: table})

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the result with its tables, because the folder may not exist after loading."""
        if self.own_parameters is None and not self.is_log and not self.folder:
            self.own_parameters = own_parameters(self.scenario)
        return self.__dict__ | {
            "files": {},
            "files_as_columns": {},
            "_tables": in_memory({name: self.table(name) for name in self.table_names}),
        }

    @property
    def table_names(self) -> list[str]:
        """Names of the tables that this run recorded."""
        return sorted(self._tables)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table as recorded: integer nanoseconds, links and fates by number."""
        if name not in self._tables:
            where = self.folder or "this result"
            if self.is_log:
                raise InputError(f"{where}: a log has no table {name!r}; {LOG_FIGURES}")
            if self.is_shell:
                remedy = "capture it (sojourn link --pcap), or run it as a scenario (sojourn run --engine emulate)"
                raise InputError(f"{where}: a shell does not record {name!r}, which only its programs know; {remedy}")
            raise InputError(f"{where} has no table {name!r}; run it again with {_PROBES.get(name, 'its probe')}")
        return self._tables[name]()

    def packets_of_link(self) -> Columns:
        """Columns `time_s`, `sojourn_ms` and `dropped` of the packets of `link`."""
        return packets_of_link(self)

    def columns(self, name: str) -> Columns:
        """Columns of a table as recorded, as arrays."""
        if (read := self.files_as_columns.get(name)) is not None and (found := read()) is not None:
            return found
        table = self._tables.get(name)
        if isinstance(table, LazyTable) and (found := table.columns) is not None:
            return found
        return of_frame(self.table(name))

    @cached_property
    def summary_rows(self) -> list[dict[str, Any]]:
        """Rows of `summary`."""
        links = self.link_names if self.is_shell and self._link is None else [self.link]
        return [self._about(link) for link in links]

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row about `link`: utilisation, goodput, delays, drops, marks, fairness, warm-up, fingerprint.

        `goodput_bps` is payload that arrived for the first time in the window, `delivered_bps` payload delivered in
        order in it. A shell has a row for each direction, down and up, named in `link`, unless one was chosen.
        """
        return table_of_runs(self.summary_rows)

    def _about(self, link: str) -> dict[str, Any]:
        """A row of the summary."""
        about = flat_summary(self.totals)
        if link != self.link_names[0]:
            own = next((row for row in self._link_rows if row["link"] == link), None)
            if own is None:
                raise InputError(f"link {link!r}: the summary has all stations together; leave the link out")
            about |= {key: value for key, value in own.items() if key != "link"}
        if self._start_ns is not None:
            about |= later.whole_row(self, self._start_ns) | {"warmup_s": self.warmup_s}
            about |= later.summary_row(self, self._start_ns, self.link_number(link))
        row = {"aqm": spelled_aqm(self.at(link).setup["aqm"]), "seed": self.seed, **about}
        if not self.is_shell:
            return row
        link_totals = self.totals["emulation"]["links"].get(link, {})
        first = row["goodput_bps"] if link == self.link_names[0] else None  # older results lack the other direction's
        return {"link": link, **row, "goodput_bps": link_totals.get("goodput_bps", first)}

    def number(self, column: str) -> float | None:
        """A column of `summary`; None if the run has no value, e.g. the delay without packets."""
        found = self.summary_rows[0].get(column)
        return None if found is None else float(found)

    def sojourn_ms(self, q: float) -> float | None:
        """Quantile `q`, 0 to 1, of the sojourn time at `link` in the statistics window; None without a packet."""
        return quantile(self.histogram_of(self.link), q)

    def summary_from(self, start_s: float) -> dict[str, Any]:
        """The row of `summary` with statistics from `start_s` on, for a run whose warm-up was found.

        The start is rounded as in `since`.
        """
        return dict(self.since(start_s).summary_rows[0])

    def since(self, start_s: float) -> Result:
        """Return this result with statistics from `start_s` s on, if its warm-up was found from the run.

        The start is not before the current one, and is rounded up to the next possible instant: these are half a per
        cent of the run apart and end at half of it. `summary`, `number`, `sojourn_ms`, `histogram`, `flow_totals` and
        figures use that window, and so do `links` and `groups` except for video and media; `nodes`, and `links` beside
        a wireless LAN, exist only for the run's own warm-up and raise `InputError`.
        """
        if start_s <= self.warmup_s:
            return self
        start = later.start_ns(self, start_s)
        other = self._copy()
        other._start_ns = start
        return other

    @property
    def links(self) -> pl.DataFrame:
        """One row per link: of the first bottleneck, then of the others; a wireless LAN's stations share one row."""
        return pl.DataFrame(self.link_rows)

    @property
    def link_rows(self) -> list[dict[str, Any]]:
        """Rows of `links`."""
        if self._start_ns is None:
            return self._link_rows
        if any("wlan" in hop for hop in (self.totals, *self.totals["hops"])):
            self._refuse_later("links")
        return [
            row | later.summary_row(self, self._start_ns, number, whole=False)
            for number, row in enumerate(self._link_rows)
        ]

    @cached_property
    def _link_rows(self) -> list[dict[str, Any]]:
        names = dict.fromkeys(queue.direction for queue in self._queues)
        links = zip(names, self._link_totals, strict=True)
        return [{"link": name, **flat_link(link)} for name, link in links]

    @property
    def _link_totals(self) -> list[Mapping[str, Any]]:
        pairs = [self.totals["links"], *self.totals["hops"]]
        return [pair[direction] for pair in pairs for direction in ("forward", "reverse")]

    @property
    def queues_within(self) -> pl.DataFrame:
        """One row per queue within a qdisc that has several: `link`, `queue`, and columns as in `links`.

        These are DualPI2's L4S and classic queue, CAKE's tins, bands and classes.
        """
        return pl.DataFrame(self.queue_rows, infer_schema_length=None)

    @property
    def queue_rows(self) -> list[dict[str, Any]]:
        """Rows of `queues_within`."""
        pairs = zip(self._link_rows, self._link_totals, strict=True)
        return [
            {"link": row["link"], "queue": queue["name"], **flat_queue(queue)}
            for row, link in pairs
            for queue in link.get("queues", [])
        ]

    @cached_property
    def link_names(self) -> list[str]:
        """Names of the links by number: those of the first bottleneck are "forward" and "reverse".

        In a graph every link has its name, and its reverse direction "NAME reverse".

        In a wireless LAN the access point's queue is "forward", and those of its stations "station 0" and so on; in a
        graph they are "NAME" and "NAME station 0". The directions of a shell's link are "down" and "up".
        """
        return [queue.name for queue in self._queues]

    @cached_property
    def _queues(self) -> list[Queue]:
        """Every queue by its number."""
        is_graph = self._scenario is not None and self._scenario.is_graph
        return queues_of(self.totals, list(self.scenario.links) if is_graph else None, of_shell=self.is_shell)

    @property
    def _queue(self) -> Queue:
        """The queue that `link` names."""
        return next(queue for queue in self._queues if queue.name == self.link)

    @property
    def link(self) -> str:
        """Name of the link that `summary` and figures are about: the first one, or the choice of `at`."""
        return self._link or self.link_names[0]

    @property
    def is_link_chosen(self) -> bool:
        """Whether figures state which link they show: one chosen by `at`, or one of a graph."""
        return self._link is not None or (self._scenario is not None and self._scenario.is_graph)

    def at(self, link: str) -> Result:
        """Return this result with `summary` and figures about another link, one of `link_names`."""
        other = self._copy()
        other._link = self.link_names[self.link_number(link)]
        return other

    def link_number(self, link: str) -> int:
        """Number of a link in tables, by its name."""
        name = SIDES.get(link, link) if self.is_shell else link
        if name not in self.link_names:
            raise unknown("link", link, self.link_names)
        return self.link_names.index(name)

    def _copy(self) -> Result:
        """Copy this result without the frames that depend on the link or on the start of the statistics."""
        other = object.__new__(type(self))  # `copy` would pickle, and read every table
        other.__dict__ |= self.__dict__
        for name in ("summary_rows", "summary", "nodes", "groups", "flow_totals"):
            other.__dict__.pop(name, None)
        return other

    def _refuse_later(self, frame: str) -> None:
        if self._start_ns is not None:
            own = float(self.totals["warmup_s"])
            raise InputError(f"{frame}: available only from the run's own warm-up of {own:g} s on; use its own result")

    @property
    def setup(self) -> dict[str, Any]:
        """Keys of `link` in the scenario."""
        names = {name: name for name in self.scenario.links}
        if self.is_shell:
            names |= {own: name for name, own in SIDES.items()}
        return self.scenario.links.get(names.get(self._queue.direction, ""), {})

    @property
    def wlan(self) -> dict[str, Any] | None:
        """Summary of the wireless LAN that `link` belongs to; None if it belongs to none."""
        found: dict[str, Any] | None = [self.totals, *self.totals["hops"]][self._queue.hop].get("wlan")
        return found

    @property
    def stations(self) -> int:
        """Stations of the wireless LAN that `link` belongs to; 0 if it belongs to none."""
        return len(self.wlan["stations"]) if self.wlan else 0

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """One row per sender of the wireless LAN of `link`, access point first: airtime, frames, times, aggregates."""
        self._refuse_later("nodes")
        wlan = self.wlan
        if wlan is None:
            raise InputError(no_wlan(self))
        names = ["access point", *(f"station {number}" for number in range(self.stations))]
        nodes = [{"airtime_down": None, **wlan["access_point"]}, *wlan["stations"]]
        rows = [{"node": name, **flat_node(node)} for name, node in zip(names, nodes, strict=True)]
        return pl.DataFrame(rows, infer_schema_length=None)

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row per flow group: goodput, connections, times (`completion_p50_ms`), calls, video, RPM, media."""
        return pl.DataFrame([flat_group(group) for group in self.group_totals], infer_schema_length=None)

    @property
    def group_totals(self) -> list[dict[str, Any]]:
        """Entries of `groups` in the summary, from the start of the statistics on."""
        found: list[dict[str, Any]] = self.totals["groups"]
        return found if self._start_ns is None else later.groups(self, self._start_ns)

    @cached_property
    def flow_totals(self) -> pl.DataFrame:
        """One row per flow that lasts for the whole run: goodput, bytes, retransmissions, timeouts."""
        flows = self.totals["flows"]
        if self._start_ns is not None and flows:
            flows = later.flows(self, self._start_ns)
        return pl.DataFrame(flows, infer_schema_length=None)

    @property
    def station_airtimes(self) -> list[dict[str, float]]:
        """`airtime` and `airtime_down` of each station of the wireless LAN of `link`, as shares of time."""
        if self.wlan is None:
            raise InputError(no_wlan(self))
        if self._start_ns is None:
            return [{key: one[key] for key in ("airtime", "airtime_down")} for one in self.wlan["stations"]]
        first = next(number for number, queue in enumerate(self._queues) if queue.hop == self._queue.hop)
        return later.airtimes(self, self._start_ns, first, self.stations)

    packets = RecordedTable(
        "Every sent or dropped packet of all links (probe `packets`), with its sojourn time and fate.",
        _PACKETS,
    )

    @property
    def drops(self) -> pl.DataFrame:
        """Every drop of all links (probe `drops`, else from `packets`); `number` counts the flow's arrivals there."""
        if "drops" in self.table_names or "packets" not in self.table_names:
            return in_units(self, self.table("drops"))
        keys = ("link", "flow", "arrival")
        reached = [self.table(name).select(keys) for name in ("packets", "waiting") if name in self.table_names]
        number = pl.col("arrival").rank("ordinal").over("link", "flow").cast(pl.UInt32) - 1
        numbers = pl.concat(reached).with_columns(number=number)
        lost = self.table("packets").filter(pl.col("fate") >= FIRST_DROP)
        return in_units(self, lost.join(numbers, on=keys, how="left").select(_DROPS))

    waiting = RecordedTable("Packets that were in the queues when the run ended (probe `packets`).", _PACKETS)

    transfers = RecordedTable(
        "Every completed transfer (probe `transfers`): group, flow, start, duration, bytes.",
        "--set probes.transfers=true",
    )
    video = RecordedTable(
        "Every segment that video players fetched (probe `transfers`): rate, times, buffer, stalls.",
        "--set probes.transfers=true, if it has flows of the kind video",
    )
    rpm_probes = RecordedTable(
        "Every probe time of responsiveness tests (probe `transfers`): `kind` by the draft's name.",
        "--set probes.transfers=true, if it has flows of the kind rpm",
        {"kind": ("tcp_f", "tls_f", "http_f", "http_l")},
    )
    media = RecordedTable(
        "Every report received by media senders (probe `media`): the rate after it, delay, losses, marks.",
        "--set probes.media=true, if it has flows of the kind media",
    )

    @property
    def accesses(self) -> pl.DataFrame:
        """Every attempt to send a frame or an aggregate over a wireless LAN's channel (probe `accesses`).

        In a graph the column `link` names the sending queue.
        """
        frame = in_units(self, self.table("accesses"))
        if not self.scenario.is_graph:
            return frame
        return frame.insert_column(1, frame.select(with_names("node", self.link_names).alias("link")).to_series())

    headers = RecordedTable(
        "Transport header of every packet that reached a queue (probe `headers`).",
        "--set probes.packets=true --set probes.headers=true",
    )
    segments = RecordedTable(
        "Every segment that a TCP sender has sent (probe `senders`), in the order of events.", _SENDERS, SENDER_WORDS
    )
    acks = RecordedTable(
        "Every acknowledgment that a TCP sender has received (probe `senders`).", _SENDERS, SENDER_WORDS
    )
    ack_ranges = RecordedTable(
        "Every range of every ACK frame that a QUIC sender has received (probe `senders`).",
        "--set probes.senders=true, if it has a QUIC sender",
        SENDER_WORDS,
    )
    losses = RecordedTable("Every segment that a TCP sender considered lost (probe `senders`).", _SENDERS, SENDER_WORDS)
    senders = RecordedTable(
        "State of each TCP sender after every event that changed it (probe `senders`).", _SENDERS, SENDER_WORDS
    )
    queue = RecordedTable("Queue length over time (probe `queue`).", '--set probes.queue="10 ms"')
    flows = RecordedTable(
        "Window, RTT and goodput of each flow over time (probe `flows`).", '--set probes.flows="100 ms"'
    )
    state = RecordedTable(
        "State variables of the AQM over time, by name (probe `state`).", '--set probes.state="10 ms"'
    )
    utilisation = RecordedTable(
        "Utilisation per step and link (probe `utilisation`).", '--set probes.utilisation="1 s"'
    )

    @property
    def histogram(self) -> pl.DataFrame:
        """Histogram of sojourn time of all packets sent in the window; mergeable over runs."""
        lower, upper = pl.col("lower_ns") / 1e6, pl.col("upper_ns") / 1e6
        return self.sojourn_bins.select(
            with_names("link", self.link_names), lower.alias("lower_ms"), upper.alias("upper_ms"), "count"
        )

    def histogram_of(self, link: str) -> Columns:
        """Columns `lower_ms`, `upper_ms` and `count` of a link's histogram of sojourn times."""
        return sojourn_histogram(self, link)

    @property
    def sojourn_bins(self) -> pl.DataFrame:
        """The table `sojourn_histogram` as recorded, from the start of the statistics on."""
        return pl.DataFrame(self.bin_columns)

    @property
    def bin_columns(self) -> Columns:
        """Columns of `sojourn_bins`."""
        return self.columns("sojourn_histogram") if self._start_ns is None else later.bins(self, self._start_ns)

    @property
    def totals_from_start(self) -> dict[str, Any]:
        """The summary as recorded, with statistics from the start that `since` has chosen."""
        return self.totals if self._start_ns is None else later.totals(self, self._start_ns)

    @property
    def first_queues(self) -> list[int]:
        """Number of the first queue of each link direction; of a wireless LAN's stations that of the first station."""
        ends = [(queue.hop, queue.direction) for queue in self._queues]
        return [ends.index(end) for end in dict.fromkeys(ends)]

    def to_pandas(self, name: str = "summary") -> pd.DataFrame:
        """One of the frames above by its name, such as "summary", "packets" or "groups", as a pandas frame."""
        if name not in _FRAMES:
            raise unknown("frame", name, list(_FRAMES))
        return to_pandas(getattr(self, name))

    def slices(self, name: str, rows: int) -> Iterator[pl.DataFrame]:
        """Rows of a table as recorded, in slices of at most `rows`; a stored table is not read as a whole."""
        if name not in self.files:
            yield from self.table(name).iter_slices(rows)
            return
        path = self.files[name]()
        frame = pl.scan_parquet(path)
        with readable_table(path):
            height = frame.select(pl.len()).collect().item()
        for start in range(0, height, rows):
            with readable_table(path):
                part = frame.slice(start, rows).collect()
            yield part

    def __repr__(self) -> str:
        if self.is_log:
            return f"<Result of the log {self.folder}>"
        return f"<Result {self.scenario.aqm}, seed {self.seed}: {self.fingerprint}>"

    def _repr_html_(self) -> str:
        if self.is_log:
            return f"<pre>{escape(repr(self))}</pre>"
        return in_html(self.summary, ["aqm", "seed"])


def _read_parquet(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path)


def no_wlan(result: Result) -> str:
    """Error text for a missing wireless LAN, with the remedy."""
    if result.scenario.is_graph:
        return f"link {result.link!r} is not a wireless LAN; choose one with --link, in Python with at"
    return "this bottleneck is not a wireless LAN; describe one in [wlan]"


_RECORDED = recorded_tables(Result)
_FRAMES = (
    *("summary", "links", "groups", "flow_totals", "nodes", "histogram", "drops", "accesses"),
    *_RECORDED,
)
_DROPS = ("time_ns", "link", "flow", "number", "bytes", "sojourn_ns", "fate")
_PROBES = {
    **{name: table.probe for name, table in _RECORDED.items()},
    "drops": "--set probes.drops=true",
    "accesses": "--set probes.accesses=true, if its bottleneck is a [wlan]",
    "windows": "--set warmup=auto",
}
