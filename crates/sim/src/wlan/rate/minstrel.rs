//! Minstrel: the rate with the highest expected throughput, by the acknowledgments of the last tenths of a second.
//!
//! Source: the description of the madwifi project and the behaviour of mac80211's `minstrel` in Linux 3.10.
//! Probabilities are in units of 1/65,536. Collisions count as failures because a sender cannot distinguish them from
//! channel errors.

use super::{RateControl, RetryChain};
use crate::radio::phy::{Bitrate, MAC_OVERHEAD, SHORT_SLOT};
use sojourn_aqm::{Duration, Instant, Rng};

/// Statistics of one receiver.
#[derive(Clone, Debug)]
pub struct Minstrel {
    rates: Vec<RateStats>,
    /// Indices into `rates`: highest and second highest throughput, highest success probability.
    best: usize,
    second: usize,
    safest: usize,
    updated: Instant,
    frames: u32,
    sampled: u32,
    /// Samples in the second stage, which may not have been sent.
    deferred: u32,
    /// Order of the sampled rates, and the next index into it.
    table: Vec<usize>,
    next: usize,
}

#[derive(Clone, Debug)]
struct RateStats {
    rate: Bitrate,
    /// Airtime of a frame of 1200 bytes without retries.
    perfect: Duration,
    /// Attempts that fit into a segment of the retry chain, and those currently allowed.
    most_tries: u8,
    tries: u8,
    /// Samples left in this interval.
    samples: u32,
    attempts: u32,
    successes: u32,
    /// Moving average of the success probability.
    probability: u32,
    /// Intervals without an attempt.
    skipped: u32,
}

impl Minstrel {
    /// Empty statistics; `rates` are in ascending order.
    pub fn new(rates: &[Bitrate], mut rng: Rng) -> Self {
        let table = sampling_order(rates.len(), &mut rng);
        Self {
            rates: rates.iter().copied().map(RateStats::new).collect(),
            best: 0,
            second: 0,
            safest: 0,
            updated: Instant::ZERO,
            frames: 0,
            sampled: 0,
            deferred: 0,
            table,
            next: 0,
        }
    }

    /// Whether a sample is due: a tenth of all frames are samples.
    fn is_sampling(&mut self) -> bool {
        let due = i64::from(self.frames * LOOKAROUND_PERCENT / 100);
        let behind = due - i64::from(self.sampled) - i64::from(self.deferred / 2);
        if behind < 0 {
            return false;
        }
        if self.frames >= FRAMES_COUNTED {
            (self.frames, self.sampled, self.deferred) = (0, 0, 0);
        }
        // Samples missed over a long time are not made up for.
        let most = 2 * self.rates.len() as i64;
        if behind > most {
            self.sampled += (behind - most) as u32;
        }
        true
    }

    fn next_sample(&mut self) -> usize {
        let index = self.table[self.next];
        self.next = (self.next + 1) % self.table.len();
        index
    }

    fn stage(&self, index: usize) -> (Bitrate, u8) {
        (self.rates[index].rate, self.rates[index].tries)
    }

    fn chain(&self, first: usize, second: usize) -> RetryChain {
        RetryChain::new([
            self.stage(first),
            self.stage(second),
            self.stage(self.safest),
            (self.rates[0].rate, MAX_TRIES),
        ])
    }

    fn update(&mut self, now: Instant) {
        self.updated = now;
        self.rates.iter_mut().for_each(RateStats::update);
        let throughput: Vec<u64> = self.rates.iter().map(RateStats::throughput).collect();
        self.best = first_of_greatest(&throughput, usize::MAX);
        self.second = first_of_greatest(&throughput, self.best);
        let reliable: Vec<u64> = self
            .rates
            .iter()
            .zip(&throughput)
            .map(|(r, &t)| if r.probability >= percent(95) { t } else { 0 })
            .collect();
        self.safest = match reliable.iter().any(|&t| t > 0) {
            true => first_of_greatest(&reliable, usize::MAX),
            false => {
                let shares: Vec<u64> = self.rates.iter().map(|r| u64::from(r.probability)).collect();
                first_of_greatest(&shares, usize::MAX)
            }
        };
    }
}

impl RateControl for Minstrel {
    fn choose(&mut self, _: Instant) -> RetryChain {
        self.frames += 1;
        if !self.is_sampling() {
            return self.chain(self.best, self.second);
        }
        let sample = self.next_sample();
        let slower = self.rates[sample].perfect > self.rates[self.best].perfect;
        if slower && self.rates[sample].skipped < SKIPPED_LONG {
            // A slower rate is sampled only if the best one fails, and counted only then.
            self.deferred += 1;
            return RetryChain { sample: Some(1), ..self.chain(self.best, sample) };
        }
        let statistics = &mut self.rates[sample];
        if statistics.samples == 0 {
            return self.chain(self.best, self.second);
        }
        statistics.samples -= 1;
        self.sampled += 1;
        let then = if sample == self.best { self.second } else { self.best };
        RetryChain { sample: Some(0), ..self.chain(sample, then) }
    }

    fn report(&mut self, now: Instant, chain: &RetryChain, attempts: u8, acknowledged: bool) {
        let mut left = attempts;
        for (stage, (rate, used)) in (0..).zip(chain.used(attempts)) {
            if used == 0 {
                continue;
            }
            left -= used;
            let statistics = self.rates.iter_mut().find(|r| r.rate == rate).expect("the chain is of these rates");
            statistics.attempts += u32::from(used);
            statistics.successes += u32::from(acknowledged && left == 0);
            if stage > 0 && chain.sample == Some(stage) {
                self.sampled += 1;
                self.deferred = self.deferred.saturating_sub(1);
            }
        }
        if now - self.updated >= INTERVAL {
            self.update(now);
        }
    }
}

impl RateStats {
    fn new(rate: Bitrate) -> Self {
        let perfect = rate.airtime(TYPICAL_BYTES + MAC_OVERHEAD);
        let most_tries = tries_in_segment(perfect + rate.ack());
        let nothing = Self {
            rate,
            perfect,
            most_tries,
            tries: most_tries,
            samples: u32::MAX,
            attempts: 0,
            successes: 0,
            probability: 0,
            skipped: 0,
        };
        nothing.with_tries()
    }

    fn update(&mut self) {
        if let Some(share) = (self.successes << SCALE).checked_div(self.attempts) {
            self.probability = (self.probability * OLD_WEIGHT + share * (WEIGHTS - OLD_WEIGHT)) / WEIGHTS;
            (self.attempts, self.successes, self.skipped) = (0, 0, 0);
        } else {
            self.skipped += 1;
        }
        *self = self.clone().with_tries();
    }

    /// Limits attempts and samples of rates that nearly always or nearly never succeed.
    fn with_tries(mut self) -> Self {
        let clear = self.probability > percent(95) || self.probability < percent(10);
        (self.tries, self.samples) = match clear {
            true => ((self.most_tries / 2).min(2), SAMPLES_IF_CLEAR),
            false => (self.most_tries, u32::MAX),
        };
        if self.tries == 0 {
            self.tries = 2;
        }
        self
    }

    /// Expected throughput in arbitrary units.
    fn throughput(&self) -> u64 {
        if self.probability < percent(10) {
            return 0;
        }
        u64::from(self.probability) * 1_000_000_000 / self.perfect.as_nanos() as u64
    }
}

/// Attempts, with growing back-offs, that fit into a segment's time.
fn tries_in_segment(attempt: Duration) -> u8 {
    let (mut spent, mut window, mut tries) = (attempt, 15, 1);
    while tries < MAX_TRIES {
        spent += attempt + SHORT_SLOT * window / 2;
        window = (2 * window + 1).min(1023);
        if spent >= SEGMENT {
            break;
        }
        tries += 1;
    }
    tries
}

/// Ten shuffled lists of all rates except the slowest, which ends every chain anyway.
fn sampling_order(rates: usize, rng: &mut Rng) -> Vec<usize> {
    let mut table = Vec::new();
    for _ in 0..COLUMNS {
        let mut column: Vec<usize> = (1..rates).collect();
        for i in (1..column.len()).rev() {
            column.swap(i, rng.below(i as u64 + 1) as usize);
        }
        table.extend(column);
    }
    table
}

/// Index of the maximum of `values`, the first of equals, except index `left_out`.
fn first_of_greatest(values: &[u64], left_out: usize) -> usize {
    let mut found = if left_out == 0 { 1 } else { 0 };
    for (index, &value) in values.iter().enumerate() {
        if index != left_out && value > values[found] {
            found = index;
        }
    }
    found
}

const fn percent(n: u32) -> u32 {
    (n << SCALE) / 100
}

/// Fractional bits of a probability.
const SCALE: u32 = 16;

/// Weight of the old average, out of 128.
const OLD_WEIGHT: u32 = 96;
const WEIGHTS: u32 = 128;

/// Minimum time between updates of the statistics.
const INTERVAL: Duration = Duration::from_millis(100);

/// Percentage of sample frames, for NICs with multi-rate retry.
const LOOKAROUND_PERCENT: u32 = 10;

/// Frames after which the counts of frames and samples restart.
const FRAMES_COUNTED: u32 = 10_000;

/// Intervals without an attempt after which even a slow rate is sampled in the first stage.
const SKIPPED_LONG: u32 = 20;

/// Samples per interval of a rate that nearly always or nearly never succeeds.
const SAMPLES_IF_CLEAR: u32 = 4;

const COLUMNS: usize = 10;

/// IP bytes of the frame whose airtime is compared.
const TYPICAL_BYTES: u32 = 1_200;

/// Maximum time of the attempts at one rate.
const SEGMENT: Duration = Duration::from_millis(6);

/// Maximum attempts at one rate.
const MAX_TRIES: u8 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    /// Minstrel after `frames` frames, one per 0.5 ms, whose attempts succeed with the given probabilities by rate; and
    /// the attempts at each rate.
    fn play(probabilities: [f64; 8], frames: u64) -> (Minstrel, [u32; 8]) {
        let mut minstrel = Minstrel::new(Bitrate::OFDM, Rng::from_state(3));
        let (mut channel, mut tried) = (Rng::from_state(4), [0; 8]);
        for i in 0..frames {
            let now = Instant::from_nanos(i * 500_000);
            let chain = minstrel.choose(now);
            let (mut attempts, mut acknowledged) = (0, false);
            while let (false, Some(rate)) = (acknowledged, chain.rate(attempts)) {
                let index = rate.ofdm_index().unwrap();
                attempts += 1;
                tried[index] += 1;
                acknowledged = channel.uniform() < probabilities[index];
            }
            minstrel.report(now, &chain, attempts, acknowledged);
        }
        (minstrel, tried)
    }

    #[test]
    fn the_fastest_rate_wins_where_all_succeed() {
        let (minstrel, tried) = play([1.0; 8], 20_000);
        assert_eq!((minstrel.best, minstrel.second, minstrel.safest), (7, 6, 7));
        let share = f64::from(tried[7]) / f64::from(tried.iter().sum::<u32>());
        assert!(share > 0.95, "{tried:?}");
    }

    #[test]
    fn collisions_that_strike_all_rates_leave_the_fastest_first() {
        let (minstrel, tried) = play([0.75; 8], 20_000);
        assert_eq!(minstrel.best, 7);
        let share = f64::from(tried[7]) / f64::from(tried.iter().sum::<u32>());
        assert!(share > 0.95, "{tried:?}");
    }

    #[test]
    fn throughput_and_not_loss_decides() {
        // 36 Mbit/s always succeeds; 54 in 60 % of its attempts: 0.6 / 210 us < 1 / 310 us.
        let mut probabilities = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.6];
        assert_eq!(play(probabilities, 20_000).0.best, 5);
        probabilities[7] = 0.8;
        assert_eq!(play(probabilities, 20_000).0.best, 7);
        // That a slower rate never fails is learned slowly: it is in the first stage only once in two seconds.
        let (minstrel, _) = play([1.0, 1.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 100_000);
        assert_eq!((minstrel.best, minstrel.safest), (2, 1));
    }

    #[test]
    fn attempts_that_fit_into_six_milliseconds() {
        let tries = |index: usize| RateStats::new(Bitrate::OFDM[index]).most_tries;
        // 54 Mbit/s: 244 us each, back-offs of 67, 139, 283, … us; the seventh would end after 6.2 ms. 6 Mbit/s: 1728
        // us.
        assert_eq!((tries(7), tries(0)), (6, 3));
    }

    #[test]
    fn eleven_intervals_of_success_are_95_percent() {
        let mut statistics = RateStats::new(Bitrate::SIX);
        for interval in 1..=11 {
            (statistics.attempts, statistics.successes) = (10, 10);
            statistics.update();
            assert_eq!(statistics.probability > percent(95), interval == 11, "{interval}");
        }
    }

    #[test]
    fn a_tenth_of_the_frames_are_samples() {
        let (minstrel, tried) = play([1.0, 1.0, 1.0, 1.0, 0.6, 0.6, 0.0, 0.0], 9_000);
        assert_eq!(minstrel.best, 5, "0.6 / 302 us is more than 1 / 578 us");
        assert!(minstrel.sampled <= 900 && tried[6] + tried[7] < 900, "{tried:?}");
    }
}
