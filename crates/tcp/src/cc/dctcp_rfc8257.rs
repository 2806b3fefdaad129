//! DCTCP as in RFC 8257, in floating point.
//!
//! Source: RFC 8257 §3.3 (`DCTCP.Alpha`, `WindowEnd`), §3.4 (no growth rule of its own), §3.5 (losses), §4.2 (`Alpha`
//! starts at 1, g = 1/16). Bytes are counted in whole segments.
//!
//! # When to use
//!
//! To see DCTCP without the rounding of `dctcp@linux`: small fractions of marks move `alpha`, while Linux's integers
//! stay at a fixed point.

use super::{
    Ack, CongestionControl, CongestionEvent, ControlDocs, DeliveryControl, Flight, Needs, Params, Window,
    WindowControl, dctcp, reno,
};
use sojourn_aqm::config;
use sojourn_aqm::params::Value;

config! {
    /// Parameters of DCTCP that RFC 8257 leaves to the implementation.
    pub struct Config {
        /// Gain g with which a new share of marks is averaged (RFC 8257 §4.2 recommends 1/16).
        g: f64 = 1.0 / 16.0, in Value::Number(0.0) => Value::Number(1.0);
    }
}

/// DCTCP as in RFC 8257.
#[derive(Clone, Debug)]
pub struct DctcpRfc8257 {
    /// Estimated fraction of marked bytes.
    alpha: f64,
    /// The observation window ends with the first acknowledgment beyond this sequence number.
    window_end: u64,
    /// Segments delivered in this window, and segments marked among them.
    acked: u64,
    marked: u64,
    /// Window before the last reduction.
    prior_cwnd: u32,
    /// Gain of `alpha`.
    g: f64,
}

impl Default for DctcpRfc8257 {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for DctcpRfc8257 {
    fn from(Config { g }: Config) -> Self {
        Self { alpha: 1.0, window_end: 0, acked: 0, marked: 0, prior_cwnd: 0, g }
    }
}

impl ControlDocs for DctcpRfc8257 {
    const SOURCE: &'static str = "RFC 8257";
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for DctcpRfc8257 {
    fn needs(&self) -> Needs {
        dctcp::NEEDS
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }

    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        Some(self)
    }
}

impl WindowControl for DctcpRfc8257 {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.prior_cwnd = window.cwnd;
        reduced(window.cwnd, self.alpha)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        reno::increase(window, ack.packets);
    }

    fn event_ssthresh(&mut self, window: &Window, _: CongestionEvent) -> Option<u32> {
        self.prior_cwnd = window.cwnd;
        Some(reno::halved(window))
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(self.prior_cwnd)
    }
}

impl DeliveryControl for DctcpRfc8257 {
    fn on_established(&mut self, flight: &mut Flight) {
        self.window_end = flight.nxt;
    }

    fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        self.acked += packets as u64;
        self.marked += ce as u64;
        if flight.una > self.window_end {
            self.alpha = updated(self.alpha, (self.marked, self.acked), self.g);
            (self.window_end, self.acked, self.marked) = (flight.nxt, 0, 0);
        }
    }
}

/// `alpha` after an observation window of `acked` segments, of which `marked` were marked.
fn updated(alpha: f64, (marked, acked): (u64, u64), g: f64) -> f64 {
    alpha * (1.0 - g) + g * (marked as f64 / acked.max(1) as f64)
}

/// Threshold after a mark in a window of `cwnd`: RFC 8257 §3.3 with the minimum of two segments of RFC 5681.
fn reduced(cwnd: u32, alpha: f64) -> u32 {
    ((cwnd as f64 * (1.0 - alpha / 2.0)) as u32).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_the_share_of_marks_wherever_it_starts() {
        for from in [0.0, 0.05, 1.0] {
            let mut alpha = from;
            (0..400).for_each(|_| alpha = updated(alpha, (1, 100), 1.0 / 16.0));
            assert!((alpha - 0.01).abs() < 1e-9, "{alpha} from {from}");
        }
        // (15/16)^8 is 611.0 in 1/1024; Linux's integers yield 614.
        let mut alpha = 1.0;
        (0..8).for_each(|_| alpha = updated(alpha, (0, 100), 1.0 / 16.0));
        assert!((alpha * 1024.0 - 611.0).abs() < 0.05, "{alpha}");
    }

    #[test]
    fn without_marks_alpha_is_a_power_of_one_minus_g() {
        for g in [0.0, 0.1, 0.5, 1.0] {
            let mut alpha = DctcpRfc8257::from(Config { g }).alpha;
            (0..5).for_each(|_| alpha = updated(alpha, (0, 100), g));
            assert!((alpha - (1.0 - g).powi(5)).abs() < 1e-12, "{alpha} with {g}");
        }
    }

    #[test]
    fn a_mark_takes_half_of_alpha() {
        for (cwnd, alpha, ssthresh) in [(10, 1.0, 5), (100, 0.1, 95), (100, 0.01, 99), (3, 1.0, 2)] {
            assert_eq!(reduced(cwnd, alpha), ssthresh, "{cwnd} with {alpha}");
        }
    }
}
