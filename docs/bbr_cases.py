"""Run the test cases of the BBRv3 draft in `scenarios/bbr`, judge them and write `data/bbr3-cases.csv`.

`python docs/bbr_cases.py` takes less than a minute. The pacing rate gives the phase: 2.77 times the bandwidth in
Startup, half in Drain, 5/4 in ProbeBW_UP and 9/10 in ProbeBW_DOWN. `python docs/site/parts.py` then renews the page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

import polars as pl

import sojourn as sj

FILE = Path(__file__).with_name("data") / "bbr3-cases.csv"
SCENARIOS = FILE.parents[2] / "scenarios" / "bbr"
MARGIN = 0.99
"""Pacing rate as a share of the bandwidth."""
PAYLOAD = 1448 / 1500
"""Share of payload in a full packet."""
MSS = 1448


@dataclass(frozen=True)
class SenderState:
    """State of the sender after an event."""

    time: float
    state: str
    cwnd: int
    in_flight: int
    pacing: float
    srtt: float


@dataclass(frozen=True)
class Span:
    """A time span with a constant pacing gain."""

    gain: float
    states: tuple[SenderState, ...]
    end: float

    @property
    def begin(self) -> float:
        """Start in s."""
        return self.states[0].time

    @property
    def rounds(self) -> float:
        """Duration in round trips, by the smoothed RTT."""
        times = [*(state_at.time for state_at in self.states), self.end]
        return sum((b - a) / s.srtt for a, b, s in zip(times, times[1:], self.states, strict=False) if s.srtt)


Verdict = tuple[bool, str]
"""Whether the case passes, and the measured values."""


class Trace:
    """Trace of the sender in a run."""

    def __init__(self, name: str, seed: int = 1) -> None:
        scenario = sj.Scenario.parse((SCENARIOS / f"{name}.toml").read_text(encoding="utf-8"))
        self.result = scenario.run(seed)
        columns = ("time_s", "state", "cwnd", "in_flight", "pacing_bps", "srtt_ms")
        # Exclude the client's requests.
        rows = self.result.senders.filter(pl.col("end") == "source").select(columns).iter_rows()
        self.states = [SenderState(t, str(s), c, f, p, r / 1e3) for t, s, c, f, p, r in rows if p == p]

    def spans(self, bandwidth_mbps: float) -> list[Span]:
        """Split the trace into spans of one gain each, relative to `bandwidth_mbps` of payload."""
        unit = bandwidth_mbps * 1e6 * MARGIN
        parts = [(gain, tuple(part)) for gain, part in groupby(self.states, lambda s: nearest(s.pacing / unit))]
        ends = [part[0].time for _, part in parts[1:]] + [self.states[-1].time]
        return [Span(gain, part, end) for (gain, part), end in zip(parts, ends, strict=True)]

    def between(self, begin: float, end: float) -> list[SenderState]:
        """States from `begin` to `end`, in s."""
        return [state_at for state_at in self.states if begin <= state_at.time < end]

    @property
    def goodput_mbps(self) -> float:
        """Payload delivered in order."""
        return float(self.result.groups["goodput_bps"][0]) / 1e6


GAINS = (0.5, 0.9, 1.0, 1.25, 2.77)


def nearest(gain: float) -> float:
    """Return the nominal gain within 3 % of `gain`, or 0."""
    return next((known for known in GAINS if abs(gain / known - 1) < 0.03), 0.0)


def first(spans: list[Span], gain: float, after: float = 0.0) -> Span | None:
    """Return the first span of a gain."""
    return next((span for span in spans if span.gain == gain and span.begin >= after), None)


BANDWIDTH = 20 * PAYLOAD
BDP = 20e6 * 0.04 / 8 / 1500


def startup_plateau() -> Verdict:
    """The bandwidth is within 2 %, and the plateau lasts three rounds."""
    spans = Trace("startup-plateau").spans(BANDWIDTH)
    plateau = first(spans, 2.77)
    drain = first(spans, 0.5, plateau.begin) if plateau else None
    cruise = first(spans, 1.0, drain.begin) if drain else None
    if not plateau or not drain or not cruise:
        return False, "no plateau, Drain or cruise"
    found = cruise.states[0].pacing / 1e6 / MARGIN
    rounds = Span(
        2.77, tuple(s for span in spans for s in span.states if plateau.begin <= s.time < drain.begin), drain.begin
    ).rounds
    fits = abs(found / BANDWIDTH - 1) < 0.02 and 2 <= rounds <= 4
    return fits, f"{found:.2f} of {BANDWIDTH:.2f} Mbit/s, {rounds:.1f} rounds"


def startup_loss() -> Verdict:
    """Startup ends with the first recovery of a whole round that loses more than 2 %; then most of the link is used."""
    trace = Trace("startup-loss")
    highest, lost, before = 0.0, 0.0, ""
    for state_at in trace.states:
        highest = max(highest, state_at.pacing)
        lost = state_at.time if state_at.state == "recovery" != before else lost
        before = state_at.state
        if state_at.pacing < 0.6 * highest:
            break
    rounds = (state_at.time - lost) / 0.04
    used = trace.goodput_mbps / BANDWIDTH
    return rounds <= 3 and used >= 0.8, f"{rounds:.1f} rounds of recovery; {used:.0%} of the link"


def drain() -> Verdict:
    """Drain paces at half the rate until one BDP is in flight, in at most three rounds."""
    span = drained("drain")
    if not span:
        return False, "no Drain"
    left = span.states[-1].in_flight / BDP
    return left <= 1.1 and span.rounds <= 3.5, f"{left:.2f} products in flight after {span.rounds:.1f} rounds"


def drain_slower() -> Verdict:
    """Drain ends after at most three rounds."""
    span = drained("drain-slower")
    return (span is not None and span.rounds <= 4), f"{span.rounds:.1f} rounds" if span else "no Drain"


def drained(name: str) -> Span | None:
    """Return the span at half the rate after the plateau of Startup."""
    spans = Trace(name).spans(BANDWIDTH)
    plateau = first(spans, 2.77)
    return first(spans, 0.5, plateau.begin) if plateau else None


def probe_up() -> Verdict:
    """UP at 5/4 until three rounds without growth, DOWN at 9/10 until one BDP is in flight."""
    spans = Trace("probe-up").spans(BANDWIDTH)
    ups, downs = ([span for span in spans if span.gain == gain] for gain in (1.25, 0.9))
    if len(ups) < 3 or len(downs) < 3:
        return False, f"{len(ups)} searches"
    rounds = [span.rounds for span in ups]
    left = [span.states[-1].in_flight / BDP for span in downs]
    fits = all(1 <= n <= 5 for n in rounds) and all(n <= 1.1 for n in left)
    return fits, f"{len(ups)} times, at most {max(rounds):.1f} rounds, then {max(left):.2f} products in flight"


def probe_rtt() -> Verdict:
    """Every five seconds half a BDP is in flight, for 200 ms plus at most two rounds."""
    trace = Trace("probe-rtt")
    low = [state_at for state_at in trace.states if state_at.time > 1 and state_at.cwnd <= 0.55 * BDP]
    dips = [list(dip) for _, dip in groupby(low, key=lambda s: round(s.time / 5.25))]
    lasts = [dip[-1].time - dip[0].time for dip in dips]
    between = [b[0].time - a[0].time for a, b in pairwise(dips)]
    fits = len(dips) >= 3 and all(0.2 <= n <= 0.3 for n in lasts) and all(5 <= n <= 5.5 for n in between)
    return fits, f"{len(dips)} times, every {max(between, default=0):.2f} s, for {max(lasts, default=0) * 1e3:.0f} ms"


def sub_packet() -> Verdict:
    """At most twice the minimum window of three bursts of two, once the rate is measured; the link is used."""
    trace = Trace("sub-packet")
    late = trace.between(20, 150)
    most = max(state_at.in_flight for state_at in late)
    used = trace.goodput_mbps / (0.1 * PAYLOAD)
    return most <= 12 and used > 0.95, f"at most {most} packets in flight after 20 s; {used:.0%} of the link"


def faster() -> Verdict:
    """Nine tenths of the new rate within two probes, about seven seconds."""
    unit = 100 * PAYLOAD * 1e6 * MARGIN
    near = next((s.time - 10 for s in Trace("faster").between(10, 25) if s.pacing >= 0.9 * unit), None)
    return near is not None and near <= 7, f"after {near:.2f} s" if near else "not within 15 s"


def slower() -> Verdict:
    """Losses halve the short-term bound before the next probe; the old maximum remains for at most two more probes."""
    trace = Trace("slower")
    searches = [span for span in trace.spans(100 * PAYLOAD) if span.gain == 1.25 and span.begin > 10]
    if not searches:
        return False, "no search"
    old = 100 * PAYLOAD * 1e6 * MARGIN
    least = min(state_at.pacing for state_at in trace.between(10, searches[0].begin)) / old
    unit = 10 * PAYLOAD * 1e6 * MARGIN
    found = next((s.time for s in trace.between(searches[-1].end, 25) if s.pacing <= 1.1 * unit), None)
    fits = least <= 0.5 and len(searches) <= 2 and found is not None
    at = f"the rate is found {found - 10:.1f} s after the change" if found else "the rate is not found"
    return fits, f"{least:.2f} of the rate before; {len(searches)} more searches; {at}"


def outage() -> Verdict:
    """A spurious timeout is undone: the previous window and rate within a second after the outage."""
    trace = Trace("outage")
    before, after = trace.between(9, 10)[-1], trace.between(11, 11.6)
    back = after[-1]
    fits = any(state_at.state == "loss" for state_at in trace.states) and back.pacing >= 0.95 * before.pacing
    return (
        fits and back.cwnd >= 0.95 * before.cwnd,
        f"window {before.cwnd}, then {back.cwnd} at {back.time - 10.5:.1f} s",
    )


def reordering() -> Verdict:
    """A spurious recovery does not reduce the rate and ends within a round trip."""
    trace = Trace("reordering")
    before, after = trace.between(9, 9.9)[-1], trace.between(9.9, 10.2)
    recovering = [state_at.time for state_at in after if state_at.state == "recovery"]
    least = min(state_at.pacing for state_at in after) / before.pacing
    lasts = max(recovering, default=0.0) - min(recovering, default=0.0)
    return bool(recovering) and least >= 1.0 and lasts <= 0.06, f"{least:.2f} of the rate; {lasts * 1e3:.0f} ms"


def policer() -> Verdict:
    """Most of the policer's rate is used, with at most 5 % loss."""
    trace = Trace("policer")
    used = trace.goodput_mbps / (10 * PAYLOAD)
    lost = float(trace.result.groups["retransmissions"][0] / trace.result.groups["sent"][0])
    return used >= 0.9 and lost <= 0.05, f"{used:.0%} of the policer's rate, {lost:.1%} lost"


def aggregation() -> Verdict:
    """The window exceeds two BDPs, and the link is used."""
    trace = Trace("aggregation")
    cwnd = max(state_at.cwnd for state_at in trace.between(2, 4))
    used = trace.goodput_mbps / BANDWIDTH
    return cwnd > 2 * BDP and used >= 0.95, f"{cwnd / BDP:.1f} products; {used:.0%} of the link"


def long_startup() -> Verdict:
    """One ProbeRTT falls into Startup, which continues and finds the link's rate."""
    trace = Trace("long-startup")
    states = trace.states
    drops = [b.time for a, b in pairwise(states) if b.cwnd < 0.5 * a.cwnd]
    unit = 100e6 * PAYLOAD * MARGIN
    found = next((state_at.time for state_at in states if state_at.pacing >= 2.77 * 0.97 * unit), None)
    if not drops or found is None:
        return False, f"{len(drops)} dips, the rate {'is not' if found is None else 'is'} found"
    return 5 <= drops[0] < found, f"at {drops[0]:.1f} s; the plateau is reached at {found:.1f} s"


def startup_app_limited() -> Verdict:
    """Startup's gain over the maximum sample until the end; the window is at most four responses."""
    states = Trace("startup-app-limited").between(1, 10)
    lowest, most = min(state_at.pacing for state_at in states), max(state_at.cwnd for state_at in states)
    # One response of 14 segments per round trip, times the gain; the window is twice as much plus a burst.
    fits = lowest >= 0.95 * states[0].pacing and lowest >= 2.5 * 14 * MSS * 8 / 0.05 and most <= 4 * 14
    return fits, f"{lowest / 1e6:.1f} Mbit/s from 1 s to the end; a window of at most {most} segments"


def idle() -> Verdict:
    """After the idle period the previous rate at once, and no window of half a BDP."""
    trace = Trace("idle")
    unit = BANDWIDTH * 1e6 * MARGIN
    pauses = [(a.time, b.time) for a, b in pairwise(trace.states) if b.time - a.time > 5]
    after = [state_at for _, end in pauses for state_at in trace.between(end, end + 1)]
    if len(pauses) < 2:
        return False, f"{len(pauses)} pauses"
    least, rate = min(state_at.cwnd for state_at in after), min(state_at.pacing for state_at in after) / unit
    dips = least <= 0.55 * BDP
    return (
        not dips and rate >= 0.89,
        f"{len(pauses)} pauses; then {rate:.2f} of the rate, at least {least / BDP:.1f} products",
    )


CASES: dict[str, tuple[str, Callable[[], Verdict]]] = {
    "startup-plateau": ("the bandwidth within 2 %, 3 rounds on the plateau", startup_plateau),
    "startup-loss": ("Startup ends within 3 rounds of a recovery", startup_loss),
    "drain": ("Drain ends with one product in flight", drain),
    "drain-slower": ("Drain ends after at most 3 rounds", drain_slower),
    "probe-up": ("UP ends on a plateau, DOWN with one product in flight", probe_up),
    "probe-rtt": ("half a product for 200 ms, every 5 s", probe_rtt),
    "sub-packet": ("at most two minimum windows (12 packets) in flight, and the link is used", sub_packet),
    "faster": ("nine tenths of the new rate after two searches (7 s)", faster),
    "slower": ("the short-term bound halves the rate; the maximum goes after two cycles", slower),
    "outage": ("the window returns to its value before a spurious time-out", outage),
    "reordering": ("a spurious recovery takes nothing from the rate", reordering),
    "policer": ("nine tenths of its rate, at most a twentieth lost", policer),
    "aggregation": ("a window above two products, and the link is used", aggregation),
    "startup-app-limited": ("2.77 times the maximum sample to the end; a window of some bursts", startup_app_limited),
    "idle": ("no ProbeRTT after a pause", idle),
    "long-startup": ("a ProbeRTT within Startup, which continues", long_startup),
}
"""By scenario: the draft's expectation, and the function that judges it."""


def rows() -> list[tuple[str, ...]]:
    """Return one row per case."""
    found = [(name, expected, *judge()) for name, (expected, judge) in CASES.items()]
    return [(name, expected, here, "yes" if fits else "no") for name, expected, fits, here in found]


def main() -> None:
    """Write the file."""
    columns = ("case", "expected", "measured", "met")
    pl.DataFrame(rows(), schema=dict.fromkeys(columns, pl.String), orient="row").write_csv(FILE)


if __name__ == "__main__":
    main()
