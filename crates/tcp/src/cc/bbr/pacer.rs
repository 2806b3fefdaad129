//! The rate at which BBR in Linux paces, the same in version 1 and version 3 but for the gain of the start.

use super::units::{BW_UNIT, bytes_per_s, micros};
use crate::cc::Flight;
use sojourn_aqm::{Duration, Rate};

/// The pacing rate: the first one has the gain `START`, in 1/256, and none is below `LEAST` bytes per second.
#[derive(Clone, Debug, Default)]
pub struct PacingRate<const START: u64, const LEAST: u64> {
    has_seen_rtt: bool,
    /// Bytes per second.
    rate: u64,
}

impl<const START: u64, const LEAST: u64> PacingRate<START, LEAST> {
    /// Bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// `bbr_init_pacing_rate_from_rtt`: the initial window, in an RTT or in a millisecond, with the gain of the start.
    pub fn start(&mut self, flight: &mut Flight) {
        self.has_seen_rtt = flight.srtt > Duration::ZERO;
        let rtt = if self.has_seen_rtt { micros(flight.srtt).max(1) } else { 1_000 };
        let bw = flight.window.cwnd as u64 * BW_UNIT / rtt;
        self.pace(flight, bytes_per_s(bw, flight.window.mss, START));
    }

    /// `bbr_set_pacing_rate`: a rate and a gain; before the path is known to be full only what is faster.
    pub fn set(&mut self, flight: &mut Flight, bw: u64, gain: u64, full: bool) {
        let rate = bytes_per_s(bw, flight.window.mss, gain).max(LEAST);
        if !self.has_seen_rtt && flight.srtt > Duration::ZERO {
            self.start(flight);
        }
        if full || rate > self.rate {
            self.pace(flight, rate);
        }
    }

    fn pace(&mut self, flight: &mut Flight, rate: u64) {
        self.rate = rate.max(LEAST);
        flight.pacing_rate = Some(Rate::from_bps(self.rate * 8));
    }
}

/// `bbr_packets_in_net_at_edt`: of `in_flight` packets and a burst those that are still in the network when the next burst
/// may leave, at the rate `bw`.
pub fn packets_in_net_at_edt(flight: &Flight, in_flight: u32, burst: u32, bw: u64) -> u32 {
    let wait = micros(flight.next_departure.max(flight.now) - flight.now);
    ((in_flight + burst) as u64).saturating_sub(bw * wait / BW_UNIT) as u32
}
