//! Segmentation in the sender's host: several segments leave as one burst, the last of them with PSH, and so does the
//! last one of each buffer in which the application's data wait.
//!
//! Source: Linux 6.1.192 `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_update_pacing_rate`. Linux builds such bursts also for devices that cannot (4.17 on): they are then cut just
//! above the device. A buffer has up to 64 kB, and no burst is taken from two of them.

use super::sender::{Sender, State};
use super::{Ticks, Wire};
use sojourn_aqm::{Duration, Instant};

/// The sender's memory of its bursts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    /// The last transmission.
    pub last: Instant,
    /// Segments that are left of the buffer that is being sent; nothing before the first one.
    left: Option<u32>,
}

/// What the sender has to say about a burst that could go out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It goes out.
    Now,
    /// It waits for the window to open further; the congestion window is what keeps the rest of the buffer from going.
    WaitsForWindow,
    /// It waits, and the window has room for the whole buffer.
    Waits,
}

impl Sender {
    /// Sends what the window allows, in bursts. Returns whether the congestion window keeps something from being sent.
    #[inline(never)]
    pub(super) fn send_bursts(&mut self, right_edge: u64, now: Ticks, wire: &mut impl Wire) -> bool {
        let most = self.burst_size();
        loop {
            let room = self.window.cwnd.saturating_sub(self.board.in_flight());
            if room == 0 {
                return true;
            }
            let unsent = self.queue.unsent();
            let left = match self.bursts.left {
                Some(left) if left > 0 => left,
                Some(_) => self.buffer(),
                // The first one is filled up again when its first burst has gone.
                None => self.buffer() + most,
            };
            let left = left.min(unsent);
            // A lone last segment of a buffer never waits.
            if left > 1 {
                match self.turn(room, left, left == unsent, right_edge, most) {
                    Turn::Now => {}
                    Turn::WaitsForWindow => return true,
                    Turn::Waits => return false,
                }
            }
            // Half the window at the most: two bursts in flight keep the acknowledgments coming.
            let burst = room.min(most).min((self.window.cwnd / 2).max(1)).min(left.max(1));
            for i in 0..burst {
                if !self.queue.fits(right_edge) || !wire.has_room() {
                    self.pushes = false;
                    self.bursts.left = Some(left.saturating_sub(i));
                    return false;
                }
                self.pushes = i + 1 == burst && (i > 0 || left == 1);
                self.send_one(now, wire);
            }
            self.bursts.left = Some(left.saturating_sub(burst));
            self.pushes = false;
        }
    }

    /// Segments of a full buffer: 64 kB, or half of what the receiver takes.
    fn buffer(&self) -> u32 {
        let bytes = (self.receive_window / 2).min(BUFFER);
        (bytes as u32 / self.window.mss).max(1)
    }

    /// Segments of a burst: about a millisecond of the rate at which the connection sends, at least two.
    fn burst_size(&self) -> u32 {
        let window = &self.window;
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let segments = window.cwnd.max(self.board.packets_out()) as u64 * percent / 100;
        let srtt_us = (self.rtt.srtt() as u64 * self.stack.rtt_unit.as_nanos() as u64 / 1_000).max(1);
        let per_ms = segments * BURST_US / srtt_us;
        (per_ms as u32).clamp(LEAST_BURST, (BUFFER as u32 / window.mss).max(LEAST_BURST))
    }

    /// Whether the burst goes out now: it waits if little of the window is open and the next acknowledgment is near.
    /// `left` segments remain of its buffer, which is the last one or has others behind it.
    fn turn(&self, room: u32, left: u32, is_last: bool, right_edge: u64, most: u32) -> Turn {
        // Also a burst that has just been sent makes the rest wait.
        if self.state >= State::Recovery || self.at - self.bursts.last > RECENT {
            return Turn::Now;
        }
        let mss = self.window.mss as u64;
        let (open, offered) = (room as u64 * mss, right_edge.saturating_sub(self.queue.nxt()));
        let limit = open.min(offered);
        let window = self.receive_window.min(self.window.cwnd as u64 * mss);
        let whole = !is_last && limit >= left as u64 * mss;
        if limit >= most as u64 * mss || whole || limit >= window / WINDOW_DIVISOR {
            return Turn::Now;
        }
        let rtt = self.rtt_from_units(self.rtt.srtt() as u32);
        let near = (rtt / 2).min(RECENT);
        match self.board.head() {
            Some(head) if head.sent + rtt <= self.at + near => {}
            _ => return Turn::Now,
        }
        match open < offered && room <= left {
            true => Turn::WaitsForWindow,
            false => Turn::Waits,
        }
    }
}

/// A burst waits only if something was sent within this time, and if an acknowledgment is due within it.
const RECENT: Duration = Duration::from_millis(1);

/// Linux takes 1/1024 s of the pacing rate.
const BURST_US: u64 = 1_000_000 / 1_024;

const LEAST_BURST: u32 = 2;

/// Bytes of a buffer: 64 KiB less what headers take (`sk_gso_max_size`).
const BUFFER: u64 = 65_279;

/// Linux `tcp_tso_win_divisor`: a third of the window is worth sending.
const WINDOW_DIVISOR: u64 = 3;
