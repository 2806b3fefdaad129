//! Errors of the channel: the probability that a frame is lost, by rate, signal-to-noise ratio and length.
//!
//! The curves are those of ns-3 3.44's error models, evaluated at 1536 bytes: its table (the default there; 9 Mbit/s by
//! its older formula) and the NIST model. Between their points log10(PER / (1 - PER)) is linear in decibels; beyond
//! them it is extrapolated.
//!
//! 802.11n uses the curve of the 802.11g rate with the same modulation and coding, with the ratio of each stream.
//! 64-QAM 5/6 has no such rate: it needs 1 dB more than 64-QAM 3/4, the difference of the minimum sensitivities in the
//! standard (IEEE 802.11-2012 table 20-22: -65 and -64 dBm).

use super::phy::{ACK_BYTES, Bitrate, MAC_OVERHEAD};
use crate::random::normal;
use sojourn_aqm::{Duration, Instant, Rng};

/// The source of the error curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorModel {
    /// ns-3's table.
    Table,
    /// The NIST model, which needs 2 to 4 dB more.
    Nist,
}

impl ErrorModel {
    /// Probability that a frame of `mpdu` bytes is lost at `rate` (not 802.11b) with a ratio of `snr` dB.
    pub fn loss(self, rate: Bitrate, snr: f64, mpdu: u32) -> f64 {
        let share = f64::from(mpdu) / f64::from(1500 + MAC_OVERHEAD);
        let (curve, surplus) = curve(rate);
        // Equal parts of a frame survive with equal probability.
        -libm::expm1(share * ln_survival(self.points(curve), snr - surplus))
    }

    /// Probability that the response of `bytes` bytes to a frame at `rate` is lost: the curve of full frames, shifted
    /// so that half of all acknowledgments are lost at the same ratio as in ns-3.
    pub fn response_loss(self, rate: Bitrate, snr: f64, bytes: u32) -> f64 {
        let (i, _) = curve(rate.response());
        let share = f64::from(bytes) / f64::from(ACK_BYTES);
        -libm::expm1(share * ln_survival(self.points(i), snr - (ACK_HALF_LOST[i] - TABLE[i][1])))
    }

    fn points(self, curve: usize) -> &'static [f64; 5] {
        match self {
            Self::Table => &TABLE[curve],
            Self::Nist => &NIST[curve],
        }
    }
}

/// Index of a rate's curve, and the dB that it needs in addition.
fn curve(rate: Bitrate) -> (usize, f64) {
    match rate.mcs() {
        None => (rate.ofdm_index().expect(IS_OFDM), 0.0),
        Some(mcs) => HT[mcs as usize % HT.len()],
    }
}

/// Logarithm of the probability that a full frame survives; `points` are the ratios with loss rates [`LOSSES`].
fn ln_survival(points: &[f64; 5], snr: f64) -> f64 {
    let logits = LOSSES.map(|loss| libm::log10(loss / (1.0 - loss)));
    let i = points[1..4].iter().take_while(|&&point| snr > point).count();
    let slope = (logits[i + 1] - logits[i]) / (points[i + 1] - points[i]);
    let logit = logits[i] + slope * (snr - points[i]);
    -libm::log1p(libm::pow(10.0, logit.min(MAX_LOGIT)))
}

/// The signal-to-noise ratio between an access point and a station, equal in both directions.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Mean, in dB.
    mean: f64,
    /// Standard deviation of the fading in dB, and its coherence time.
    fading: Option<(f64, Duration)>,
    /// Current deviation, and the time of its last update.
    deviation: f64,
    at: Instant,
    rng: Rng,
}

impl Signal {
    /// A ratio around `mean`; fading is a Gauss-Markov process that starts from its stationary distribution.
    pub fn new(mean: f64, fading: Option<(f64, Duration)>, mut rng: Rng) -> Self {
        let deviation = fading.map_or(0.0, |(sd, _)| sd * normal(&mut rng));
        Self { mean, fading, deviation, at: Instant::ZERO, rng }
    }

    /// Whether a frame is lost at `now`; `loss` is its loss probability at a given ratio.
    pub fn is_lost(&mut self, now: Instant, loss: impl Fn(f64) -> f64) -> bool {
        if let Some((sd, coherence)) = self.fading {
            let correlation = libm::exp(-((now - self.at).as_nanos() as f64) / coherence.as_nanos() as f64);
            self.deviation =
                correlation * self.deviation + (1.0 - correlation * correlation).sqrt() * sd * normal(&mut self.rng);
            self.at = now;
        }
        let loss = loss(self.mean + self.deviation);
        self.rng.uniform() < loss
    }
}

const IS_OFDM: &str = "a scenario with signal-to-noise ratios has no rates of 802.11b";

/// By scheme within a stream: BPSK 1/2, QPSK 1/2 and 3/4, 16-QAM 1/2 and 3/4, 64-QAM 2/3, 3/4 and 5/6.
const HT: [(usize, f64); 8] =
    [(0, 0.0), (2, 0.0), (3, 0.0), (4, 0.0), (5, 0.0), (6, 0.0), (7, 0.0), (7, MORE_FOR_FIVE_SIXTHS)];

/// In dB.
const MORE_FOR_FIVE_SIXTHS: f64 = 1.0;

/// Loss rates of a full frame at the ratios in the tables.
const LOSSES: [f64; 5] = [0.9, 0.5, 0.1, 0.01, 0.001];

/// Ratios in dB, by rate and loss rate.
const TABLE: [[f64; 5]; 8] = [
    [-0.19, 0.31, 0.94, 1.58, 2.21],
    [1.68, 2.26, 3.05, 3.87, 4.57],
    [2.77, 3.31, 3.96, 4.62, 5.21],
    [5.22, 5.80, 6.45, 7.13, 7.84],
    [8.35, 8.95, 9.72, 10.48, 11.30],
    [11.54, 12.05, 12.82, 13.59, 14.38],
    [15.61, 16.25, 17.07, 18.00, 18.91],
    [16.96, 17.55, 18.39, 19.32, 20.16],
];

const NIST: [[f64; 5]; 8] = [
    [3.08, 3.43, 3.97, 4.59, 5.15],
    [5.92, 6.29, 6.86, 7.53, 8.12],
    [6.09, 6.44, 6.98, 7.60, 8.16],
    [8.93, 9.30, 9.87, 10.54, 11.13],
    [12.53, 12.92, 13.51, 14.20, 14.80],
    [15.63, 16.02, 16.62, 17.32, 17.93],
    [20.36, 20.76, 21.36, 22.07, 22.70],
    [21.58, 22.00, 22.63, 23.36, 24.00],
];

/// Ratio in dB at which half of all acknowledgments are lost, by their rate.
const ACK_HALF_LOST: [f64; 8] = [-1.94, -0.56, 1.08, 3.61, 6.31, 9.51, 13.30, 14.64];

/// Nothing survives beyond this; larger powers of ten would overflow.
const MAX_LOGIT: f64 = 300.0;

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Rate;

    fn of(mbps: u64) -> Bitrate {
        Bitrate::find(Rate::from_bps(mbps * 1_000_000)).unwrap()
    }

    #[test]
    fn losses_at_the_points_of_the_tables_and_between() {
        for (model, tables) in [(ErrorModel::Table, TABLE), (ErrorModel::Nist, NIST)] {
            for (points, &rate) in tables.iter().zip(Bitrate::OFDM) {
                for (&snr, expected) in points.iter().zip(LOSSES) {
                    let loss = model.loss(rate, snr, 1536);
                    assert!((loss / expected - 1.0).abs() < 1e-9, "{model:?} {rate:?} {snr}: {loss}");
                }
                let middle = model.loss(rate, (points[0] + points[1]) / 2.0, 1536);
                // The mean of the logits of 0.9 and 0.5 is the logit of 3/4.
                assert!((middle - 0.75).abs() < 1e-9, "{middle}");
            }
        }
    }

    #[test]
    fn far_from_the_points_all_or_nothing_is_lost() {
        let model = ErrorModel::Table;
        assert!(model.loss(of(54), 40.0, 1536) < 1e-12);
        assert!(model.loss(of(54), 5.0, 1536) > 1.0 - 1e-12);
        assert!(model.loss(of(54), -1000.0, 88) > 1.0 - 1e-12);
        let losses: Vec<f64> = (-50..400).map(|tenth| model.loss(of(24), f64::from(tenth) / 10.0, 1536)).collect();
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0]), "more signal, less loss");
    }

    #[test]
    fn shorter_frames_and_acknowledgments() {
        let model = ErrorModel::Table;
        let half = model.loss(of(54), 17.55, 768);
        assert!((half - (1.0 - 0.5_f64.sqrt())).abs() < 1e-9, "{half}");
        // The acknowledgment of 54 Mbit/s is sent at 24 Mbit/s, that of 9 at 6.
        assert!((model.response_loss(of(54), 6.31, 14) - 0.5).abs() < 1e-9);
        assert!((model.response_loss(of(9), -1.94, 14) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn schemes_of_802_11n_have_the_curves_of_their_modulations() {
        let model = ErrorModel::Table;
        let mcs = |mcs| Bitrate::of_mcs(mcs).unwrap();
        for (n, mbps) in [(0, 6), (1, 12), (2, 18), (3, 24), (4, 36), (5, 48), (6, 54)] {
            for snr in [0.5, 5.5, 12.0, 17.0] {
                let (one, two) = (model.loss(mcs(n), snr, 1538), model.loss(mcs(n + 8), snr, 1538));
                assert!(one == two && one == model.loss(of(mbps), snr, 1538), "MCS {n} at {snr} dB");
            }
        }
        assert_eq!(model.loss(mcs(7), 18.39 + 1.0, 1536), model.loss(of(54), 18.39, 1536));
        // 32 bytes instead of 14, at 6 Mbit/s.
        let survives = |bytes| 1.0 - model.response_loss(mcs(0), -1.5, bytes);
        assert!((libm::log(survives(32)) / libm::log(survives(14)) - 32.0 / 14.0).abs() < 1e-9);
    }

    #[test]
    fn fading_has_its_deviation_and_forgets_itself() {
        let (sd, coherence) = (3.0, Duration::from_millis(100));
        let mut signal = Signal::new(20.0, Some((sd, coherence)), Rng::from_state(1));
        let mut seen = Vec::new();
        for i in 0..100_000 {
            signal.is_lost(Instant::from_nanos(i * 50_000_000), |_| 0.0);
            seen.push(signal.deviation);
        }
        let n = seen.len() as f64;
        let variance = seen.iter().map(|x| x * x).sum::<f64>() / n;
        let next = seen.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n / variance;
        assert!((variance.sqrt() / sd - 1.0).abs() < 0.02, "{variance}");
        assert!((next - libm::exp(-0.5)).abs() < 0.02, "after half the time: {next}");
    }
}
