"""Writes the test scripts of the congestion controls: events, each with the window of a second implementation after it.

`python tests/controls/generate.py` writes crates/tcp/tests/controls/NAME.txt; tests compare these with
its output, and the crate's controls with these. A line is an event, its words, `=`, then cwnd, ssthresh and
cwnd_cnt after the event:

| event | words |
|---|---|
| `with` | names and values: parameters of the next connection |
| `new` | cwnd, ssthresh: new connection |
| `start` | now: transmission starts with nothing in flight (`CA_EVENT_TX_START`) |
| `hear` | now, packets, RTT or `-`, una, nxt, state, `slow` or `fast`, one-way delay: ACK without growth |
| `ack` | the same, and `full` or `part`: whether cwnd-limited; the window may grow |
| `state` | now, state, nxt |
| `loss` | now, state, nxt: ssthresh is set, the state is entered |
| `end` | now, nxt: the reduction ends at ssthresh, and the state is Open |
| `timeout` | now, in flight, nxt |
| `undo` | now, cwnd, ssthresh, nxt: the state is Open |
| `set` | cwnd: the stack sets the window |

Times are in microseconds, una and nxt in bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from second import CONTROLS  # noqa: E402
from second.control import INFINITE, MSS, Ack, Control  # noqa: E402

SCRIPTS_FOLDER = HERE.parents[1] / "crates" / "tcp" / "tests" / "controls"


class Connection:
    """A connection over a link of `rate` packets per second behind a queue; RTTs in microseconds."""

    def __init__(
        self,
        lines: list[str],
        make: Callable[[int, int], Control],
        cwnd: int,
        ssthresh: int = INFINITE,
        **params: float,
    ) -> None:
        self.lines, self.control = lines, make(cwnd, ssthresh)
        self.control.configure(params)
        self.now, self.una, self.nxt, self.state = 1_000_000, 0, 0, "Open"
        self.rate, self.base, self.noise, self.max_acks = 1000, 40_000, 12345, 12
        if params:
            self.write("with", *(f"{name} {value_text(name, value)}" for name, value in params.items()))
        self.write("new", cwnd, ssthresh)
        self.start()

    def write(self, *words: object) -> None:
        c = self.control
        self.lines.append(f"{' '.join(str(word) for word in words)} = {c.cwnd} {c.ssthresh} {c.cnt}")

    def start(self) -> None:
        self.control.start(self.now)
        self.write("start", self.now)
        self.nxt = self.una + self.control.cwnd

    @property
    def queue(self) -> int:
        """Queueing delay of the data in flight, in µs."""
        return max(0, (self.nxt - self.una) * 1_000_000 // self.rate - self.base)

    def draw(self, below: int) -> int:
        self.noise = (self.noise * 1103515245 + 12345) % 2**31
        return (self.noise >> 8) % below

    def notify(self, packets: int, rtt: int | None, slow: bool) -> tuple[Ack, tuple[object, ...]]:
        one_way = 5_000_000 + (self.base // 2 + self.queue if rtt is None else rtt - self.base // 2)
        nxt = self.nxt
        self.una += packets
        una, nxt = 1 + MSS * self.una, 1 + MSS * nxt
        ack = Ack(packets, rtt, una, nxt, self.state, slow, one_way)
        kind = "slow" if slow else "fast"
        words = (self.now, packets, "-" if rtt is None else rtt, una, nxt, self.state, kind, one_way)
        self.control.on_ack(self.now, ack)
        return ack, words

    def ack_only(self, packets: int, rtt: int | None = None, slow: bool = True) -> None:
        _, words = self.notify(packets, rtt, slow)
        self.write("hear", *words)

    def ack(self, packets: int, rtt: int | None, full: bool = True, slow: bool = False) -> None:
        ack, words = self.notify(packets, rtt, slow)
        self.control.grow(self.now, ack, full)
        self.write("ack", *words, "full" if full else "part")
        if full:
            self.nxt = max(self.nxt, self.una + self.control.cwnd)

    def round(self, per_ack: int = 2, full: bool = True, rtts: bool = True) -> None:
        """One round trip, with at most `max_acks` ACKs, which then cover more packets."""
        end = self.nxt
        per_ack = max(per_ack, -(-(end - self.una) // self.max_acks))
        while self.una < end:
            packets = min(per_ack, end - self.una)
            rtt = self.base + self.queue + self.draw(self.base // 200 + 1)
            in_flight = self.nxt - self.una
            self.now += max(packets * 1_000_000 // self.rate, packets * rtt // in_flight)
            self.ack(packets, rtt if rtts else None, full)
        if not full:
            self.nxt = self.una + max(self.control.cwnd // 2, 1)

    def rounds(self, number: int, per_ack: int = 2, full: bool = True) -> None:
        for _ in range(number):
            self.round(per_ack, full)

    def until_queue(self, limit_us: int, per_ack: int = 2, rounds: int = 12) -> None:
        """Round trips until the queueing delay is `limit_us`."""
        for _ in range(rounds):
            if self.queue >= limit_us:
                break
            self.round(per_ack)

    def enter(self, state: str) -> None:
        self.state = state
        self.control.state(self.now, state, 1 + MSS * self.nxt)
        self.write("state", self.now, state, 1 + MSS * self.nxt)

    def lose(self, state: str = "Recovery", dups: int = 3) -> None:
        """A loss or a mark, with the window reduction."""
        self.begin(state, dups)
        for _ in range(2):
            self.now += 900
            self.ack_only(0, self.base + self.queue, True)
        self.now += self.base
        self.ack_only(self.nxt - self.una, None)
        self.end()

    def begin(self, state: str, dups: int = 3) -> None:
        if state == "Recovery":
            self.now += 1000
            self.ack_only(0, self.base + self.queue + 700)
            self.enter("Disorder")
            for _ in range(dups - 1):
                self.now += 1000
                self.ack_only(0, self.base + self.queue + 300)
        c = self.control
        c.ssthresh, c.cnt = c.threshold(self.now), 0
        self.state = state
        c.state(self.now, state, 1 + MSS * self.nxt)
        self.write("loss", self.now, state, 1 + MSS * self.nxt)

    def end(self) -> None:
        c = self.control
        c.cwnd = c.ssthresh
        c.completed()
        self.state = "Open"
        c.state(self.now, "Open", 1 + MSS * self.nxt)
        self.write("end", self.now, 1 + MSS * self.nxt)
        self.nxt = max(self.nxt, self.una + c.cwnd)

    def timeout(self) -> None:
        c = self.control
        self.now += 300_000
        c.ssthresh = c.timeout_threshold(self.now)
        c.cwnd, c.cnt, self.state = 1, 0, "Loss"
        c.state(self.now, "Loss", 1 + MSS * self.nxt)
        self.write("timeout", self.now, 0, 1 + MSS * self.nxt)
        self.now += self.base
        self.ack(1, None, slow=True)
        self.una, self.nxt = self.nxt, self.nxt
        self.enter("Open")
        self.nxt = self.una + c.cwnd

    def undo(self, cwnd: int, ssthresh: int) -> None:
        c = self.control
        c.undo()
        c.cwnd, c.ssthresh = max(c.cwnd, cwnd), max(c.ssthresh, ssthresh)
        self.state = "Open"
        c.state(self.now, "Open", 1 + MSS * self.nxt)
        self.write("undo", self.now, cwnd, ssthresh, 1 + MSS * self.nxt)

    def set(self, cwnd: int) -> None:
        self.control.cwnd = cwnd
        self.write("set", cwnd)
        self.nxt = max(self.nxt, self.una + cwnd)

    def pause(self, us: int) -> None:
        """Everything is acknowledged, then the sender is idle for `us`."""
        while self.nxt > self.una:
            self.ack(min(max(2, self.control.cwnd // 12), self.nxt - self.una), self.base, full=False)
        self.now += us
        self.nxt = self.una
        self.start()


def value_text(name: str, value: float) -> str:
    """A parameter's value as in scenarios."""
    return f"{value}us" if name == "target" else str(value).lower()


def common(path: Connection) -> None:
    """A typical connection: slow start, losses, a mark, a timeout, an idle period, an application-limited sender."""
    path.rounds(3, 1)
    path.until_queue(30_000)
    path.lose()
    path.rounds(6)
    path.rounds(2, full=False)
    path.until_queue(30_000, rounds=25)
    path.lose("Cwr")
    path.rounds(3, 4)
    path.begin("Recovery")
    path.now += 2000
    path.undo(path.control.cwnd, path.control.ssthresh + 3)
    path.rounds(3)
    path.timeout()
    path.rounds(7)
    path.pause(2_000_000)
    path.rounds(4)


def script_scalable(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    big = Connection(lines, make, 300, 250)
    big.rate, big.base = 5000, 60_000
    big.rounds(5, 16)
    big.lose()
    big.rounds(5, 16)
    return lines


def script_highspeed(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    # others.md: from row 0 a window of 1000 goes to row 7, by eight per ACK, and falls to 676.
    big = Connection(lines, make, 1000, 1000)
    big.rate, big.base = 20_000, 50_000
    big.rounds(2, 3)
    big.lose()
    big.rounds(2, 8)
    big.lose()
    big.rounds(2, 8)
    huge = Connection(lines, make, 100_000, 100_000)
    huge.rate, huge.base = 1_000_000, 100_000
    huge.rounds(2, 2000)
    huge.lose()
    huge.rounds(1, 2000)
    Connection(lines, make, 37, 42).rounds(3, 3)
    return lines


def script_cubic(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    cubic_life(Connection(lines, make, 60, 40))
    cubic_life(Connection(lines, make, 60, 40, fast_convergence=False))
    cubic_life(Connection(lines, make, 60, 40, beta=819, bic_scale=82))
    cubic_life(Connection(lines, make, 60, 40, tcp_friendliness=False, beta=512, bic_scale=7))
    cubic_life(Connection(lines, make, 10, hystart=False, initial_ssthresh=23))
    for params in (
        {"hystart_detect": 1}, {"hystart_detect": 2}, {"hystart_detect": 0}, {"hystart_low_window": 45},
        {"hystart_detect": 1, "hystart_ack_delta_us": 900}, {"hystart": False},
    ):  # fmt: skip
        start = Connection(lines, make, 10, **params)
        start.max_acks = 100
        start.rounds(5, 1)
    return lines


def cubic_life(path: Connection) -> None:
    """Losses above and below the last maximum, a long time without a loss, and short RTTs."""
    path.rounds(6, 4)
    path.lose()
    path.rounds(2, 4)
    path.base = 15_000
    path.rounds(18, 4)
    path.lose()
    path.rounds(3, 4)
    path.lose()
    path.rounds(35, 4)
    # Far below the curve: one segment per two packets.
    path.now += 20_000_000
    path.rounds(2, 4)
    path.lose()
    path.rounds(4, 4)
    path.pause(2_000_000)
    path.rounds(4, 4)
    path.timeout()
    path.rounds(8, 4)
    path.base, path.rate = 5_000, 10_000
    path.rounds(8, 4)
    path.lose("Cwr")
    path.rounds(20, 4)


def script_vegas(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    path = Connection(lines, make, 10)
    path.rounds(12)
    path.set(60)
    path.rounds(14)
    path.set(41)
    path.rounds(6)
    path.rate = 1500
    path.rounds(10)
    # One ACK per round trip gives no sample.
    path.rounds(4, 1000)
    common(path)
    # The minimum RTT measured after an idle period is larger.
    path.base = 70_000
    path.pause(1_000_000)
    path.rounds(6)
    Connection(lines, make, 2).rounds(4)
    long = Connection(lines, make, 5000, 1000)
    long.rate, long.base = 5000, 150_000
    long.rounds(2, 250)
    for params in ({"alpha": 7, "beta": 11, "gamma": 45}, {"alpha": 0, "beta": 3, "gamma": 0}):
        other = Connection(lines, make, 10, **params)
        other.rounds(14)
        other.lose()
        other.rounds(25)
        other.set(60)
        other.rounds(14)
    return lines


def script_yeah(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    big = Connection(lines, make, 150, 150)
    big.rate, big.base = 5000, 40_000
    big.rounds(26, 32)
    big.lose()
    big.rounds(8, 32)
    big.lose()
    big.rounds(4, 32)
    # A competing flow fills the queue: the window stays in slow mode.
    big.rate = 2000
    big.rounds(24, 32)
    big.lose()
    big.rounds(3, 32)
    # Fast mode again for fifty round trips, then a queue.
    long = Connection(lines, make, 20, 20)
    long.rate, long.base = 20_000, 100_000
    long.rounds(3)
    long.rate = 150
    long.rounds(5, 4)
    long.rate = 20_000
    long.rounds(54, 12)
    long.set(400)
    long.rate = 100
    long.rounds(6, 32)
    long.lose()
    long.rounds(3, 32)
    long.base, long.rate = 180_000, 20_000
    long.pause(1_000_000)
    long.rounds(4, 8)
    long.set(300)
    long.rate = 1300
    long.rounds(4, 8)
    reno = Connection(lines, make, 60, 50)
    reno.rounds(40, 12)
    reno.rate = 200
    reno.rounds(4, 12)
    overshoot = Connection(lines, make, 300, 200)
    overshoot.rate, overshoot.base = 1000, 40_000
    overshoot.ack_only(0, 40_000)
    overshoot.rounds(4, 16)
    overshoot.rate = 300
    overshoot.lose()
    overshoot.rounds(2, 16)
    overshoot.set(300)
    overshoot.lose("Cwr")
    overshoot.rounds(1, 16)
    overshoot.begin("Cwr")
    overshoot.end()
    overshoot.round(16)
    overshoot.set(300)
    overshoot.rounds(3, 1000)
    return lines


def script_westwood(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    path = Connection(lines, make, 30, 30)
    path.base = 20_500
    for dups in (3, 12, 25):
        path.rounds(8)
        path.lose(dups=dups)
        path.rounds(2)
        path.ack_only(2, path.base + 1_000)
    # The measurement window ends between duplicate ACKs.
    path.lose(dups=70)
    path.rounds(8)
    path.lose()
    path.base = 90_000
    path.rounds(5)
    path.timeout()
    path.rounds(9)
    path.lose()
    path.rounds(2)
    return lines


def script_illinois(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    path = Connection(lines, make, 60, 40)
    path.rounds(12, 4)
    path.lose()
    path.rounds(8, 4)
    # The rate increases: five round trips of low delay.
    path.rate = 4000
    path.rounds(9, 4)
    path.rounds(2, 4, full=False)
    path.rounds(2, 4)
    path.rate = 1000
    path.rounds(3, 8)
    path.lose()
    path.timeout()
    path.rounds(8, 4)
    early = Connection(lines, make, 40, 30)
    early.round(rtts=False)
    early.rounds(3)
    Connection(lines, make, 11, 8).rounds(5)
    slow = Connection(lines, make, 40, 30)
    slow.base, slow.rate = 3_000_000, 6
    slow.rounds(3, 4)
    for params in ({"win_thresh": 47, "theta": 3}, {"win_thresh": 0, "theta": 9}):
        other = Connection(lines, make, 60, 40, **params)
        other.rounds(12, 4)
        other.lose()
        other.rounds(8, 4)
        other.rate = 4000
        other.rounds(12, 4)
        other.timeout()
        other.rounds(4, 4)
    return lines


def script_bic(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    life = Connection(lines, make, 10)
    # The mean number of packets per ACK is that of the connection, not of the script.
    life.max_acks = 50
    common(life)
    path = Connection(lines, make, 60, 40)
    path.max_acks = 60
    path.rounds(4)
    path.lose()
    path.rounds(14)
    path.lose()
    path.rounds(2)
    path.lose()
    path.rounds(8)
    big = Connection(lines, make, 700, 500)
    big.rate, big.base = 20_000, 30_000
    big.max_acks = 120
    big.rounds(1, 5)
    big.lose()
    big.rounds(3, 4)
    big.rounds(2, 8)
    big.lose(dups=9)
    big.rounds(2, 8)
    big.timeout()
    big.rounds(4, 4)
    small = Connection(lines, make, 13, 8)
    small.rounds(6)
    small.lose()
    small.rounds(3)
    other = Connection(
        lines, make, 60, fast_convergence=False, max_increment=5, low_window=23, beta=700, initial_ssthresh=33,
        smooth_part=9,
    )  # fmt: skip
    other.max_acks = 60
    for _ in range(3):
        other.rounds(7)
        other.lose()
    other.rounds(2)
    other.lose()
    other.rounds(8)
    other.timeout()
    other.rounds(6)
    other.set(25)
    other.lose()
    other.rounds(8)
    return lines


def script_htcp(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    path = Connection(lines, make, 60, 40)
    # A constant rate: from the third loss on, beta follows the RTTs.
    for _ in range(4):
        path.rounds(24, 4)
        path.lose()
    # Several seconds without a loss.
    path.base, path.rate = 200_000, 4000
    path.rounds(14, 40)
    path.lose()
    path.rounds(8, 40)
    path.begin("Recovery")
    path.now += 2000
    path.undo(path.control.cwnd, path.control.ssthresh)
    path.rounds(4, 40)
    path.lose("Cwr")
    # The RTT jumps.
    path.rate = 500
    path.rounds(3, 8)
    path.lose()
    path.rounds(6, 8)
    # Consecutive losses: deliveries during recovery give no rate sample.
    row = Connection(lines, make, 60, 40)
    for _ in range(3):
        row.rounds(20, 4)
        row.lose()
    for _ in range(3):
        row.lose("Cwr")
    row.rounds(3, 4)
    near = Connection(lines, make, 30, 30)
    near.base = 4_000
    for _ in range(3):
        near.rounds(12, 4)
        near.lose()
    for params in ({"use_rtt_scaling": False}, {"use_bandwidth_switch": False}):
        other = Connection(lines, make, 60, 40, **params)
        for rounds in (20, 20, 9, 20):
            other.rounds(rounds, 4)
            other.lose()
        other.rate = 3000
        other.rounds(20, 4)
        other.lose()
        other.rounds(8, 4)
    return lines


def script_ledbat(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    path = Connection(lines, make, 10)
    path.rounds(60, 4)
    # A competing flow fills the queue.
    for rate in (300, 120, 60):
        path.rate = rate
        path.rounds(6)
        path.rounds(1, full=False)
    path.rate = 12
    path.rounds(12)
    # The base delay increases; after ten minutes it is the new minimum.
    path.rate, path.base = 1000, 120_000
    path.set(30)
    for _ in range(13):
        path.now += 55_000_000
        path.rounds(2, 4)
    other = Connection(lines, make, 10, target=5_000, gain=10.0, base_history=3, current_filter=7, min_cwnd=5)
    other.rounds(20, 4)
    other.rate = 120
    other.rounds(6)
    other.rate, other.base = 1000, 120_000
    other.set(30)
    for _ in range(6):
        other.now += 55_000_000
        other.rounds(2, 4)
    Connection(lines, make, 10, target=37_500, gain=0.3).rounds(40, 4)
    return lines


def script_ledbat_pp(make: Callable[[int, int], Control]) -> list[str]:
    lines: list[str] = []
    common(Connection(lines, make, 10))
    for base in (5_000, 40_000, 100_000):
        path = Connection(lines, make, 2)
        path.base = base
        path.rounds(40, 4)
        path.rate = 250
        path.rounds(4)
        path.rounds(1, full=False)
        path.rate = 1000
        path.rounds(30, 4)
        path.lose()
        path.rounds(8, 4)
    crowded = Connection(lines, make, 40, 30)
    crowded.rounds(2, 4)
    crowded.rate = 100
    crowded.rounds(5, 4)
    other = Connection(lines, make, 10, target=25_000, base_history=3, current_filter=7, min_cwnd=5)
    other.rounds(40, 4)
    other.rate = 250
    other.rounds(4)
    other.rate, other.base = 1000, 120_000
    for _ in range(6):
        other.now += 55_000_000
        other.rounds(2, 4)
    return lines


SCRIPTS: dict[str, Callable[[Callable[[int, int], Control]], list[str]]] = {
    "cubic": script_cubic,
    "vegas": script_vegas,
    "westwood": script_westwood,
    "highspeed": script_highspeed,
    "scalable": script_scalable,
    "htcp": script_htcp,
    "illinois": script_illinois,
    "bic": script_bic,
    "yeah": script_yeah,
    "ledbat": script_ledbat,
    "ledbat++": script_ledbat_pp,
}


def script(name: str, off: str = "", ignored: str = "") -> list[str]:
    """Lines of a control's script, without the mechanism `off` and with the parameter `ignored` at its default."""

    def make(cwnd: int, ssthresh: int) -> Control:
        control = CONTROLS[name](cwnd, ssthresh, off)
        control.ignored = ignored
        return control

    return SCRIPTS[name](make)


if __name__ == "__main__":
    for each in SCRIPTS:
        (SCRIPTS_FOLDER / f"{each}.txt").write_text("\n".join(script(each)) + "\n", encoding="utf-8")
