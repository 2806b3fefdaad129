//! Pacing rate of BBR in Linux; versions 1 and 3 differ only in the initial gain.

use super::units::{BW_UNIT, bytes_per_s, micros};
use crate::cc::Flight;
use sojourn_aqm::{Duration, Rate};

/// Pacing rate: the first one has gain `START_GAIN`, in 1/256; the minimum is `MIN_RATE` bytes per second.
#[derive(Clone, Debug, Default)]
pub struct PacingRate<const START_GAIN: u64, const MIN_RATE: u64> {
    has_seen_rtt: bool,
    /// In bytes per second.
    rate: u64,
}

impl<const START_GAIN: u64, const MIN_RATE: u64> PacingRate<START_GAIN, MIN_RATE> {
    /// Pacing rate in bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// `bbr_init_pacing_rate_from_rtt`: initial window per RTT, or per millisecond without an RTT, times the initial
    /// gain.
    pub fn start(&mut self, flight: &mut Flight) {
        self.has_seen_rtt = flight.srtt > Duration::ZERO;
        let rtt = if self.has_seen_rtt { micros(flight.srtt).max(1) } else { 1_000 };
        let bw = flight.window.cwnd as u64 * BW_UNIT / rtt;
        self.pace(flight, bytes_per_s(bw, flight.window.mss, START_GAIN));
    }

    /// `bbr_set_pacing_rate`: bandwidth times gain; until the pipe is full the rate only grows.
    pub fn set(&mut self, flight: &mut Flight, bw: u64, gain: u64, full: bool) {
        let rate = bytes_per_s(bw, flight.window.mss, gain).max(MIN_RATE);
        if !self.has_seen_rtt && flight.srtt > Duration::ZERO {
            self.start(flight);
        }
        if full || rate > self.rate {
            self.pace(flight, rate);
        }
    }

    fn pace(&mut self, flight: &mut Flight, rate: u64) {
        self.rate = rate.max(MIN_RATE);
        flight.pacing_rate = Some(Rate::from_bps(self.rate * 8));
    }
}

/// `bbr_packets_in_net_at_edt`: packets of `in_flight` and one burst that are still in the network at the earliest
/// departure time of the next burst, at bandwidth `bw`.
pub fn packets_in_net_at_edt(flight: &Flight, in_flight: u32, burst: u32, bw: u64) -> u32 {
    let wait = micros(flight.next_departure.max(flight.now) - flight.now);
    ((in_flight + burst) as u64).saturating_sub(bw * wait / BW_UNIT) as u32
}
