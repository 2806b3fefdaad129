//! Synthetic arrivals that bring out differences: every control law activates, rests, and activates again.

use super::Arrival;
use crate::packet::{Ecn, Meta};
use crate::rate::Rate;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// `packets` packets of eight flows for a link of `rate`, the same for the same `seed`.
///
/// Arrivals are Poisson. The offered load is redrawn uniformly from 0.4 to 1.6 in phases of 0.5 s on average
/// (exponential), so the queue builds up and empties repeatedly. 70 % of the packets have 1500 bytes, the others 64 to
/// 1499; flows 4 to 7 are ECT(0), the others Not-ECT; flow 0 sends about two of five packets.
pub fn arrivals(seed: u64, packets: usize, rate: Rate) -> Vec<Arrival> {
    let mut rng = Rng::stream(seed, "arrivals", 0);
    let (mut at, mut phase_end, mut load) = (Instant::ZERO, Instant::ZERO, 1.0);
    let mut next = || {
        while at >= phase_end {
            load = 0.4 + 1.2 * rng.uniform();
            phase_end += PHASE.mul_f64(rng.exponential());
        }
        let mean = rate.time_for(MEAN_BYTES).mul_f64(1.0 / load);
        at += mean.mul_f64(rng.exponential());
        let len = if rng.below(10) < 7 { 1500 } else { 64 + rng.below(1436) as u32 };
        let flow = rng.below(12).saturating_sub(4) as u32;
        let ecn = if flow < 4 { Ecn::NotEct } else { Ecn::Ect0 };
        let hosts = (2 * flow, 2 * flow + 1);
        Arrival { at, meta: Meta { hosts, ..Meta::new(len, flow).with_ecn(ecn) } }
    };
    (0..packets).map(|_| next()).collect()
}

const PHASE: Duration = Duration::from_millis(500);
/// 0.7 × 1500 + 0.3 × 781.5.
const MEAN_BYTES: u64 = 1284;
