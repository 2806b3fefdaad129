//! The live view: rates, delays and drops of both directions on the last line of the terminal.

use crate::path::{Counters, Direction};
use crate::sys::clock::monotonic_ns;
use sojourn_aqm::Instant;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a loop and those who show it share.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<[Counters; 2]>>);

/// Where the loop leaves its counters.
pub struct Gauges {
    board: Board,
    next: std::cell::Cell<u64>,
}

/// The thread that draws; drawing may wait for the terminal, the loop may not.
pub struct Meter {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Board {
    /// The counters of both directions, up first, as they were up to ten milliseconds ago.
    pub fn counters(&self) -> [Counters; 2] {
        self.0.lock().map(|counters| *counters).unwrap_or_default()
    }
}

impl Gauges {
    /// Those of a board.
    pub fn of(board: Board) -> Self {
        Self { board, next: std::cell::Cell::new(0) }
    }

    /// Leaves the counters of both directions, a hundred times a second.
    pub fn show(&self, now: Instant, up: &Direction, down: &Direction) {
        if now.as_nanos() < self.next.get() {
            return;
        }
        self.next.set(now.as_nanos() + 10_000_000);
        // If another thread is reading just now, the next turn will do.
        if let Ok(mut counters) = self.board.0.try_lock() {
            *counters = [up.counters(), down.counters()];
        }
    }
}

impl Meter {
    /// Starts to draw what is on `board` on the standard error, `label` first.
    pub fn start(label: String, board: &Board) -> io::Result<Self> {
        let (board, ended) = (board.clone(), Arc::new(AtomicBool::new(false)));
        let theirs = ended.clone();
        let thread = thread::Builder::new().name("meter".to_string()).spawn(move || draw(&board, &theirs, &label))?;
        Ok(Self { ended, thread: Some(thread) })
    }
}

impl Drop for Meter {
    /// Gives the last line back.
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn draw(board: &Board, ended: &AtomicBool, label: &str) {
    let mut last = [Counters::default(); 2];
    let mut at = monotonic_ns();
    let mut screen = Screen::new();
    while !ended.load(Ordering::Relaxed) {
        thread::park_timeout(EVERY);
        let counters = board.counters();
        let now = monotonic_ns();
        let text = line(label, &last, &counters, (now - at).max(1));
        screen.show(&text);
        (last, at) = (counters, now);
    }
    screen.clear();
}

/// The line for what happened between two looks, `ns` apart.
fn line(label: &str, before: &[Counters; 2], now: &[Counters; 2], ns: u64) -> String {
    let mut text = label.to_string();
    for (name, before, now) in [("up", &before[0], &now[0]), ("down", &before[1], &now[1])] {
        let bits = (now.departed.1 - before.departed.1) * 8;
        let mbits = bits as f64 * 1e3 / ns as f64;
        let delay_ms = now.delay_ns as f64 / 1e6;
        let _ = write!(
            text,
            "  {name} {mbits:7.2} Mbit/s {delay_ms:6.1} ms {:4} waiting {:4} dropped {:4} marked",
            now.backlog, now.dropped, now.marked
        );
    }
    text
}

/// The last line of a terminal; without a terminal a line now and then.
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
            // The rest of the screen scrolls by itself, above the line; the cursor stays inside it.
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

/// Time between two looks.
const EVERY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_the_rate_since_the_last_look() {
        let before = Counters { departed: (10, 15_000), ..Counters::default() };
        let now =
            Counters { departed: (110, 165_000), dropped: 3, marked: 4, backlog: 7, delay_ns: 5_250_000, ..before };
        let text = line("link", &[before, before], &[now, before], 100_000_000);
        // 150,000 bytes in 0.1 s.
        let up = "up   12.00 Mbit/s    5.2 ms    7 waiting    3 dropped    4 marked";
        let down = "down    0.00 Mbit/s    0.0 ms    0 waiting    0 dropped    0 marked";
        assert_eq!(text, format!("link  {up}  {down}"));
    }
}
