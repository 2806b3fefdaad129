//! Segmentation in the sender's host: several segments leave as one burst, the last of them with PSH.
//!
//! Source: Linux 6.1 `tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer`, `tcp_update_pacing_rate`. Linux builds
//! such bursts also for devices that cannot (4.17 on): they are then cut just above the device.

use super::sender::{Sender, State};
use super::{Ticks, Wire};
use sojourn_aqm::{Duration, Instant};

/// The sender's memory of its bursts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    /// The last transmission.
    pub last: Instant,
}

impl Sender {
    /// Sends what the window allows, in bursts. Returns whether the window keeps something from being sent.
    #[inline(never)]
    pub(super) fn send_bursts(&mut self, right_edge: u64, now: Ticks, wire: &mut impl Wire) -> bool {
        let most = self.burst_size();
        let recent = self.at - self.bursts.last <= RECENT;
        loop {
            let room = self.window.cwnd.saturating_sub(self.board.in_flight());
            if room == 0 {
                return true;
            }
            let left = self.app_limit.saturating_sub(self.snd_nxt).div_ceil(self.window.mss as u64);
            // A lone last segment never waits.
            if recent && left > 1 && self.defers(room, right_edge, most) {
                return true;
            }
            // Half the window at the most: two bursts in flight keep the acknowledgments coming.
            let burst = room.min(most).min((self.window.cwnd / 2).max(1));
            for i in 0..burst {
                if !self.may_send_next(right_edge) || !wire.has_room() {
                    return false;
                }
                self.pushes = i > 0 && i + 1 == burst;
                self.send_one(now, wire);
            }
            self.pushes = false;
        }
    }

    /// Segments of a burst: about a millisecond of the rate at which the connection sends, at least two.
    fn burst_size(&self) -> u32 {
        let window = &self.window;
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let segments = window.cwnd.max(self.board.packets_out()) as u64 * percent / 100;
        let srtt_us = (self.rtt.srtt() as u64 * self.stack.rtt_unit.as_nanos() as u64 / 1_000).max(1);
        let per_ms = segments * BURST_US / srtt_us;
        (per_ms as u32).clamp(LEAST_BURST, MOST_BURST)
    }

    /// Whether it pays to wait for the window to open further: acknowledgments stream in, and the next one is near.
    fn defers(&self, room: u32, right_edge: u64, most: u32) -> bool {
        if self.state >= State::Recovery {
            return false;
        }
        let offered = (right_edge.saturating_sub(self.snd_nxt) / self.window.mss as u64).min(u32::MAX as u64) as u32;
        let limit = room.min(offered);
        if limit >= most || limit >= self.window.cwnd / WINDOW_DIVISOR {
            return false;
        }
        let half_rtt = self.rtt_from_units(self.rtt.srtt() as u32) / 2;
        self.board.head().is_some_and(|head| self.at - head.sent >= half_rtt)
    }
}

/// Only a transmission within this time makes the sender wait. `Differs:` Linux looks at the time of the last one
/// before each burst, and what is measured of Linux 6.1 agrees with a look before the first one of an acknowledgment
/// only: single flows over CoDel at 10 Mbit/s send 3.3 ms of median queue, and 4.5 ms with the other reading.
const RECENT: Duration = Duration::from_millis(1);

/// Linux takes 1/1024 s of the pacing rate.
const BURST_US: u64 = 1_000_000 / 1_024;

const LEAST_BURST: u32 = 2;

/// 64 kB.
const MOST_BURST: u32 = 44;

/// Linux `tcp_tso_win_divisor`: a third of the window is worth sending.
const WINDOW_DIVISOR: u32 = 3;
