//! The live view: rates, delays and drops of both directions on the last line of the terminal.

use crate::path::{Counters, Direction, PathKind};
use crate::sys::clock::monotonic_ns;
use sojourn_aqm::Instant;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Counters that the event loop publishes to display threads.
#[derive(Clone, Default)]
pub struct SharedCounters(Arc<Mutex<[Counters; 2]>>);

/// Columns of the live view per direction, up first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterView {
    /// Rate, backlog, drops and marks.
    pub rates: [bool; 2],
    /// Sojourn time, or the delay if there is no queue.
    pub delays: [bool; 2],
}

impl MeterView {
    /// All columns of both directions.
    pub const EVERYTHING: Self = Self { rates: [true; 2], delays: [true; 2] };

    /// Whether any column is shown.
    pub fn is_enabled(self) -> bool {
        self != Self::default()
    }
}

/// Statistics of both directions over one period, up first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Departure rate in Mbit/s of IP.
    pub rate_mbit: [f64; 2],
    /// Mean sojourn time in the queue in ms, or without a queue the delay of the last packet. `None` without packets.
    pub time_ms: [Option<f64>; 2],
    /// Packets dropped.
    pub drops: [u64; 2],
    /// Packets marked.
    pub marks: [u64; 2],
}

impl Sample {
    /// Difference of two snapshots taken `ns` apart, of directions with or without `queues`.
    pub fn between(before: &[Counters; 2], now: &[Counters; 2], ns: u64, queues: bool) -> Self {
        let each = |i: usize| (&before[i], &now[i]);
        let time = |(before, now): (&Counters, &Counters)| {
            let packets = if queues { now.sojourn.0 - before.sojourn.0 } else { now.departed.0 - before.departed.0 };
            let mean = || {
                if queues { (now.sojourn.1 - before.sojourn.1) as f64 / packets as f64 } else { now.delay_ns as f64 }
            };
            (packets > 0).then(|| mean() / 1e6)
        };
        Self {
            rate_mbit: [0, 1]
                .map(each)
                .map(|(before, now)| (now.departed.1 - before.departed.1) as f64 * 8e3 / ns.max(1) as f64),
            time_ms: [0, 1].map(each).map(time),
            drops: [0, 1].map(each).map(|(before, now)| now.dropped - before.dropped),
            marks: [0, 1].map(each).map(|(before, now)| now.marked - before.marked),
        }
    }
}

/// Publishes the counters of the event loop.
pub struct CounterPublisher {
    counters: SharedCounters,
    next: std::cell::Cell<u64>,
}

/// Drawing thread: a write to the terminal may block, which the event loop must not.
pub struct Meter {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SharedCounters {
    /// Counters of both directions, up first, at most 10 ms old.
    pub fn counters(&self) -> [Counters; 2] {
        self.0.lock().map(|counters| *counters).unwrap_or_default()
    }
}

impl CounterPublisher {
    /// Publishes to `shared`.
    pub fn of(shared: SharedCounters) -> Self {
        Self { counters: shared, next: std::cell::Cell::new(0) }
    }

    /// Publishes the counters of both directions, at most every 10 ms.
    pub fn show(&self, now: Instant, up: &Direction, down: &Direction) {
        if now.as_nanos() < self.next.get() {
            return;
        }
        self.next.set(now.as_nanos() + 10_000_000);
        // Never block the loop: if a reader holds the lock, the next period publishes.
        if let Ok(mut counters) = self.counters.0.try_lock() {
            *counters = [up.counters(), down.counters()];
        }
    }
}

impl Meter {
    /// Starts to draw the columns `shown` of `shared` on standard error, `label` first.
    pub fn start(label: String, shown: MeterView, kind: &PathKind, shared: &SharedCounters) -> io::Result<Self> {
        let (shared, ended) = (shared.clone(), Arc::new(AtomicBool::new(false)));
        let (thread_ended, queues) = (ended.clone(), matches!(kind, PathKind::Link(_)));
        let draws = move || draw(&shared, &thread_ended, &label, shown, queues);
        let thread = thread::Builder::new().name("meter".to_string()).spawn(draws)?;
        Ok(Self { ended, thread: Some(thread) })
    }
}

impl Drop for Meter {
    /// Releases the last line of the terminal.
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn draw(shared: &SharedCounters, ended: &AtomicBool, label: &str, shown: MeterView, queues: bool) {
    let mut last = [Counters::default(); 2];
    let mut at = monotonic_ns();
    let mut screen = Screen::new();
    while !ended.load(Ordering::Relaxed) {
        thread::park_timeout(EVERY);
        let counters = shared.counters();
        let now = monotonic_ns();
        let text = line(label, shown, &Sample::between(&last, &counters, now - at, queues), &counters);
        screen.show(&text);
        (last, at) = (counters, now);
    }
    screen.clear();
}

/// Formats a sample and the counters so far.
fn line(label: &str, shown: MeterView, sample: &Sample, now: &[Counters; 2]) -> String {
    let mut text = label.to_string();
    for (i, name) in ["up", "down"].into_iter().enumerate() {
        let (mbits, c) = (sample.rate_mbit[i], &now[i]);
        let (rate, delay) = (shown.rates[i], shown.delays[i]);
        // Writing to a String cannot fail.
        if rate || delay {
            let _ = write!(text, "  {name}");
        }
        if rate {
            let _ = write!(text, " {mbits:7.2} Mbit/s");
        }
        if delay {
            let ms = sample.time_ms[i].map_or_else(|| "-".to_string(), |ms| format!("{ms:.1}"));
            let _ = write!(text, " {ms:>6} ms");
        }
        if rate {
            let _ = write!(text, " {:4} waiting {:4} dropped {:4} marked", c.backlog, c.dropped, c.marked);
        }
    }
    text
}

/// Status line at the bottom of a terminal; without a terminal, every fourth line is printed.
struct Screen {
    rows: Option<u16>,
    turn: u32,
}

impl Screen {
    fn new() -> Self {
        Self { rows: None, turn: 0 }
    }

    fn show(&mut self, text: &str) {
        let mut out = io::stderr();
        let Some((rows, columns)) = crate::sys::process::terminal_size() else {
            self.turn += 1;
            if self.turn % 4 == 0 {
                let _ = writeln!(out, "{text}");
            }
            return;
        };
        let text: String = text.chars().take(columns.into()).collect();
        let above = rows.saturating_sub(1).max(1);
        let mut drawing = String::new();
        if self.rows != Some(rows) {
            // DECSTBM: only the rows above the line scroll, and the cursor stays among them.
            let _ = write!(drawing, "\n\x1b[1A\x1b7\x1b[1;{above}r\x1b8");
            self.rows = Some(rows);
        }
        let _ = write!(drawing, "\x1b7\x1b[{rows};1H\x1b[7m{text}\x1b[0m\x1b[K\x1b8");
        let _ = out.write_all(drawing.as_bytes());
    }

    fn clear(&mut self) {
        if let Some(rows) = self.rows {
            let _ = write!(io::stderr(), "\x1b7\x1b[r\x1b[{rows};1H\x1b[K\x1b8");
        }
    }
}

/// Refresh period.
const EVERY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_of_the_time_since_the_last_look() {
        let before = Counters { departed: (10, 15_000), sojourn: (10, 70_000_000), dropped: 2, ..Counters::default() };
        let delay_ns = 5_250_000;
        let now = Counters { departed: (110, 165_000), sojourn: (110, 370_000_000), backlog: 7, delay_ns, ..before };
        let now = Counters { dropped: 3, marked: 4, ..now };
        let of = |queues| {
            let sample = Sample::between(&[before, before], &[now, before], 100_000_000, queues);
            (sample, line("link", MeterView::EVERYTHING, &sample, &[now, before]))
        };
        // 150,000 bytes in 0.1 s; 300 ms of 100 packets; no departure in the down direction.
        let (sample, text) = of(true);
        assert_eq!((sample.time_ms, sample.drops, sample.marks), ([Some(3.0), None], [1, 0], [4, 0]));
        let up = "up   12.00 Mbit/s    3.0 ms    7 waiting    3 dropped    4 marked";
        let down = "down    0.00 Mbit/s      - ms    0 waiting    2 dropped    0 marked";
        assert_eq!(text, format!("link  {up}  {down}"));
        assert!(of(false).1.contains("   5.2 ms"), "without a queue it is the delay");
        let columns = |rates, delays| line("link", MeterView { rates, delays }, &of(true).0, &[now, before]);
        let up = "up   12.00 Mbit/s    7 waiting    3 dropped    4 marked";
        assert_eq!(columns([true, false], [false, false]), format!("link  {up}"));
        assert_eq!(columns([false, false], [false, true]), "link  down      - ms");
        assert!(!MeterView::default().is_enabled());
    }
}
