//! Westwood+: Reno that after a loss sets the window to the estimated bandwidth times the minimum RTT instead of
//! halving it (L. A. Grieco and S. Mascolo, CCR 34(2), 2004).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_westwood.c`) on every stack: RTTs in jiffies; bytes acknowledged per RTT or
//! 50 ms, whichever is longer, through a two-stage filter. A duplicate counts as one segment, which a later cumulative
//! acknowledgment subtracts again.
//!
//! Differs: an acknowledgment that arrives with no data outstanding is ignored (Linux counts a window update as a
//! duplicate).
//!
//! # When to use
//!
//! For losses that are not congestion: on a radio link a random loss leaves the window at the link's rate. Behind a
//! full drop-tail queue a loss drains the queue and no more, so the link stays busy.

use super::{
    Ack, CongestionControl, CongestionEvent, Constant, ControlDocs, Needs, Window, WindowControl, WindowEvent, reno,
};
use crate::stack::Stack;
use crate::{Clock, Ticks};
use sojourn_aqm::Duration;

/// Westwood+. Times are in jiffies.
#[derive(Clone, Debug)]
pub struct Westwood {
    clock: Clock,
    /// Bytes per jiffy after the first stage of the filter (`bw_ns_est`).
    bw_ns_est: u32,
    /// Bytes per jiffy after the second stage of the filter (`bw_est`).
    bw_est: u32,
    /// Start of the current measurement interval; none before data was sent.
    rtt_win_sx: Option<Ticks>,
    /// Bytes acknowledged in the current interval.
    bk: u32,
    /// Bytes before this sequence number are counted; none before the first acknowledgment.
    snd_una: Option<u64>,
    /// Bytes counted for duplicates that no cumulative acknowledgment has covered yet.
    accounted: u32,
    /// Last RTT.
    rtt: u32,
    /// Minimum RTT.
    rtt_min: u32,
    /// The next acknowledgment resets the minimum RTT.
    reset_rtt_min: bool,
}

impl Default for Westwood {
    fn default() -> Self {
        Self::new(Clock::new(Duration::from_millis(1)))
    }
}

impl Westwood {
    fn new(clock: Clock) -> Self {
        let rtt = clock.ticks_at_least_one(INIT_RTT) as u32;
        Self {
            clock,
            bw_ns_est: 0,
            bw_est: 0,
            rtt_win_sx: None,
            bk: 0,
            snd_una: None,
            accounted: 0,
            rtt,
            rtt_min: rtt,
            reset_rtt_min: true,
        }
    }

    /// Ends the measurement interval when it is longer than an RTT and 50 ms.
    fn update_window(&mut self, now: Ticks) {
        let delta = (now - *self.rtt_win_sx.get_or_insert(now)) as u32;
        if self.rtt > 0 && delta > self.rtt.max(self.clock.ticks_at_least_one(RTT_MIN) as u32) {
            let sample = self.bk / delta;
            if (self.bw_ns_est, self.bw_est) == (0, 0) {
                (self.bw_ns_est, self.bw_est) = (sample, sample);
            } else {
                self.bw_ns_est = filter(self.bw_ns_est, sample);
                self.bw_est = filter(self.bw_est, self.bw_ns_est);
            }
            (self.bk, self.rtt_win_sx) = (0, Some(now));
        }
    }

    /// Bytes to count for an acknowledgment that advanced `snd_una` by `acked_bytes`.
    fn acked_count(&mut self, acked_bytes: u32, mss: u32) -> u32 {
        if acked_bytes == 0 {
            self.accounted += mss;
            return mss;
        }
        if acked_bytes <= mss {
            return acked_bytes;
        }
        // Partial or delayed acknowledgment: bytes counted for duplicates are not counted again.
        if self.accounted >= acked_bytes {
            self.accounted -= acked_bytes;
            return mss;
        }
        acked_bytes - std::mem::take(&mut self.accounted)
    }

    /// Window for the estimated bandwidth and the minimum RTT.
    fn bw_rttmin(&self, mss: u32) -> u32 {
        (self.bw_est.wrapping_mul(self.rtt_min) / mss).max(2)
    }
}

impl ControlDocs for Westwood {
    const SOURCE: &'static str = "L. A. Grieco and S. Mascolo, CCR 34(2), 2004; Linux 6.1 tcp_westwood.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("TCP_WESTWOOD_RTT_MIN", millis(RTT_MIN), "ms", "Minimum window of the bandwidth measurement."),
        Constant::new("TCP_WESTWOOD_INIT_RTT", millis(INIT_RTT), "ms", "RTT assumed before the first sample."),
        Constant::new("filter", OLD as u64, "/ 8", "Weight of the old value in each stage of the filter."),
    ];
}

impl CongestionControl for Westwood {
    fn needs(&self) -> Needs {
        Needs { reports: true, ..Needs::default() }
    }

    fn attach(&mut self, stack: &Stack, _: bool) {
        *self = Self::new(stack.clock());
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Westwood {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        reno::halved(window)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        reno::increase(window, ack.packets);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.rtt = self.clock.ticks_rounded_up(rtt) as u32;
        }
        let counted = *self.snd_una.get_or_insert(ack.una);
        self.update_window(self.clock.ticks(ack.now));
        let acked_bytes = (ack.una - counted) as u32;
        // The kernel's fast path counts `snd_una` alone (`westwood_fast_bw`).
        let bytes = if ack.slow_path { self.acked_count(acked_bytes, window.mss) } else { acked_bytes };
        self.bk = self.bk.wrapping_add(bytes);
        self.snd_una = Some(ack.una);
        self.rtt_min = if std::mem::take(&mut self.reset_rtt_min) { self.rtt } else { self.rtt_min.min(self.rtt) };
    }

    fn event_ssthresh(&mut self, window: &Window, cause: CongestionEvent) -> Option<u32> {
        (cause == CongestionEvent::TimeOut).then(|| {
            self.reset_rtt_min = true;
            self.bw_rttmin(window.mss)
        })
    }

    fn event(&mut self, window: &mut Window, event: WindowEvent) {
        match event {
            WindowEvent::Reduced => {
                window.ssthresh = self.bw_rttmin(window.mss);
                window.cwnd = window.ssthresh;
            }
            WindowEvent::Restarted { now, .. } => {
                self.rtt_win_sx.get_or_insert(self.clock.ticks(now));
            }
            WindowEvent::TimedOut => {}
        }
    }
}

/// `westwood_do_filter`.
fn filter(old: u32, new: u32) -> u32 {
    (OLD * old + new) >> 3
}

const fn millis(span: Duration) -> u64 {
    span.as_nanos() as u64 / 1_000_000
}

/// Weight of the old value, in 1/8.
const OLD: u32 = 7;
/// `TCP_WESTWOOD_RTT_MIN`.
const RTT_MIN: Duration = Duration::from_millis(50);
/// `TCP_WESTWOOD_INIT_RTT`.
const INIT_RTT: Duration = Duration::from_secs(20);
