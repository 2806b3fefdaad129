//! The medium between a link's server and its far end: loss, a delay that changes, the tick of a delay emulator.

use crate::scenario::{Gilbert, LinkSpec, LossSpec, Steps};
use sojourn_aqm::{Duration, Instant, Rng};

/// A medium with loss, a delay that changes or a tick.
#[derive(Debug)]
pub(crate) struct Medium {
    loss: Option<LossProcess>,
    delays: Vec<(Instant, Duration)>,
    /// Index of the last packet's step in `delays`.
    at: usize,
    /// Whether packets may overtake each other.
    reorders: bool,
    /// Packets arrive only at multiples of this. Rounded up: Dummynet counts whole ticks from the arrival's tick and
    /// may be early by less than one; here a delay is never below the configured one.
    tick: Option<Duration>,
    last_arrival: Instant,
}

/// A loss model with its random stream.
#[derive(Debug)]
struct LossProcess {
    rng: Rng,
    kind: LossKind,
}

#[derive(Debug)]
enum LossKind {
    Random(f64),
    /// The chain, whether its state is bad, and the start of its current step.
    Gilbert(Gilbert, bool, Instant),
}

impl Medium {
    /// The medium of link `index`; `None` for a lossless constant delay.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64) -> Option<Box<Self>> {
        let may_lose = spec.loss.is_some() || spec.changes.iter().any(|change| change.loss.is_some());
        if !may_lose && !spec.delays.changes() && spec.tick.is_none() {
            return None;
        }
        let mut medium = Self::build(spec.loss, &spec.delays, spec.reorder, index, seed);
        medium.tick = spec.tick;
        Some(medium)
    }

    /// A medium with the given loss model and delays, without a tick.
    pub fn build(
        loss: Option<LossSpec>,
        delays: &Steps<Duration>,
        reorders: bool,
        index: usize,
        seed: u64,
    ) -> Box<Self> {
        let loss = loss.map(|loss| LossProcess::new(loss, Rng::stream(seed, "loss", index as u64)));
        Box::new(Self { loss, delays: steps(delays), at: 0, reorders, tick: None, last_arrival: Instant::ZERO })
    }

    /// Replaces the loss model; a chain starts in its stationary distribution.
    pub fn set_loss(&mut self, loss: LossSpec, rng: Rng) {
        self.loss = Some(LossProcess::new(loss, rng));
    }

    /// When a packet whose last bit leaves the server at `end` reaches the far end; `None` if it is lost.
    pub fn arrival(&mut self, end: Instant) -> Option<Instant> {
        if self.is_lost(end) { None } else { Some(self.delayed(end)) }
    }

    /// Whether a packet whose last bit leaves the server at `end` is lost.
    #[inline]
    pub fn is_lost(&mut self, end: Instant) -> bool {
        self.loss.as_mut().is_some_and(|loss| loss.is_lost(end))
    }

    /// Sets the delay of packets that leave from `at` until the next step; no packet may have left since `at`.
    pub fn set_delay(&mut self, at: Instant, delay: Duration) {
        match self.delays.binary_search_by_key(&at, |&(since, _)| since) {
            Ok(i) => self.delays[i].1 = delay,
            Err(i) => self.delays.insert(i, (at, delay)),
        }
    }

    /// When a packet that is not lost, and whose last bit leaves the server at `end`, reaches the far end.
    #[inline]
    pub fn delayed(&mut self, end: Instant) -> Instant {
        while self.delays.get(self.at + 1).is_some_and(|&(since, _)| since <= end) {
            self.at += 1;
        }
        let at = end + self.delays[self.at].1;
        let at = self.tick.map_or(at, |tick| next_tick(at, tick));
        if self.reorders {
            return at;
        }
        self.last_arrival = self.last_arrival.max(at);
        self.last_arrival
    }
}

impl LossProcess {
    fn new(spec: LossSpec, mut rng: Rng) -> Self {
        let kind = match spec {
            LossSpec::Random(probability) => LossKind::Random(probability),
            LossSpec::Gilbert(chain) => {
                // Start in the stationary distribution.
                let bad = rng.uniform() < chain.p / (chain.p + chain.r);
                LossKind::Gilbert(chain, bad, Instant::ZERO)
            }
        };
        Self { rng, kind }
    }

    /// Whether the packet that leaves at `now` is lost.
    fn is_lost(&mut self, now: Instant) -> bool {
        let probability = match &mut self.kind {
            LossKind::Random(probability) => *probability,
            LossKind::Gilbert(chain, bad, since) => {
                let steps = match chain.step {
                    None => 1,
                    Some(step) => {
                        let steps = (now - *since).as_nanos() / step.as_nanos();
                        *since += step * steps;
                        steps
                    }
                };
                *bad = self.rng.uniform() < bad_after(chain, *bad, steps);
                if *bad { chain.bad } else { chain.good }
            }
        };
        self.rng.uniform() < probability
    }
}

/// The first tick at or after `at`; ticks count from the start of the run.
fn next_tick(at: Instant, tick: Duration) -> Instant {
    let tick = tick.as_nanos() as u64;
    Instant::from_nanos(at.as_nanos().div_ceil(tick) * tick)
}

/// Probability of the bad state after `steps` steps.
fn bad_after(chain: &Gilbert, bad: bool, steps: i64) -> f64 {
    match (steps, bad) {
        (0, bad) => f64::from(u8::from(bad)),
        (1, true) => 1.0 - chain.r,
        (1, false) => chain.p,
        (n, bad) => {
            let stationary = chain.p / (chain.p + chain.r);
            let distance = f64::from(u8::from(bad)) - stationary;
            stationary + distance * libm::pow(1.0 - chain.p - chain.r, n as f64)
        }
    }
}

fn steps(delays: &Steps<Duration>) -> Vec<(Instant, Duration)> {
    delays.iter().map(|(at, delay)| (Instant::ZERO + at, delay)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(spec: LossSpec, packets: u64, gap_us: u64) -> Vec<bool> {
        let mut loss = LossProcess::new(spec, Rng::stream(1, "loss", 0));
        (0..packets).map(|i| loss.is_lost(Instant::from_nanos(i * gap_us * 1000))).collect()
    }

    fn mean(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    fn mean_burst(lost: &[bool]) -> f64 {
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        lost.iter().filter(|&&lost| lost).count() as f64 / bursts as f64
    }

    #[test]
    fn one_percent_alone_and_in_bursts_of_five() {
        let n = 2_000_000;
        let random = lost(LossSpec::Random(0.01), n, 1000);
        assert!((mean(&random) - 0.01).abs() < 3e-4, "{}", mean(&random));
        assert!((mean_burst(&random) - 1.01).abs() < 0.01);

        let chain = Gilbert { p: 0.00202, r: 0.2, bad: 1.0, good: 0.0, step: None };
        let bursts = lost(LossSpec::Gilbert(chain), n, 1000);
        // 4000 bursts of 5 ± 4.5: the standard error of the mean is 1.6 %, that of the loss rate about twice as much.
        assert!((mean(&bursts) - 0.01).abs() < 8e-4, "{}", mean(&bursts));
        assert!((mean_burst(&bursts) - 5.0).abs() < 0.25, "{}", mean_burst(&bursts));
    }

    #[test]
    fn losses_in_both_states_have_the_mean_of_the_formula() {
        let chain = Gilbert { p: 0.05, r: 0.15, bad: 0.4, good: 0.02, step: None };
        let found = mean(&lost(LossSpec::Gilbert(chain), 1_000_000, 1000));
        let expected = (0.15 * 0.02 + 0.05 * 0.4) / (0.05 + 0.15);
        assert!((found - expected).abs() < 2e-3, "{found}, expected {expected}");
    }

    #[test]
    fn a_chain_in_time_does_not_care_how_often_it_is_asked() {
        // Bad for 20 ms on average, good for 180 ms.
        let step = Some(Duration::from_millis(1));
        let chain = Gilbert { p: 1.0 / 180.0, r: 0.05, bad: 1.0, good: 0.0, step };
        for (gap_us, expected_burst) in [(250, 80.0), (1000, 20.0), (10_000, 2.5)] {
            let losses = lost(LossSpec::Gilbert(chain), 2_000_000, gap_us);
            assert!((mean(&losses) - 0.1).abs() < 0.012, "{gap_us} us: {}", mean(&losses));
            let burst = mean_burst(&losses);
            assert!((burst / expected_burst - 1.0).abs() < 0.12, "{gap_us} us: {burst}");
        }
    }

    #[test]
    fn packets_arrive_with_the_next_tick() {
        let ms = Duration::from_millis;
        let delays = Steps::from_ordered(vec![(Duration::ZERO, Duration::from_micros(3_700)), (ms(20), ms(1))]);
        let arrivals = |tick_us: Option<i64>, reorders| {
            let mut medium = Medium::build(None, &delays, reorders, 0, 1);
            medium.tick = tick_us.map(Duration::from_micros);
            let ends_us = [1, 300, 301, 4_300, 20_000];
            ends_us
                .map(|end| medium.arrival(Instant::from_nanos(end * 1000)).expect("nothing is lost").as_nanos() / 1000)
        };
        assert_eq!(arrivals(None, true), [3_701, 4_000, 4_001, 8_000, 21_000]);
        // 4.000 ms is a tick; 4.001 ms has missed it.
        assert_eq!(arrivals(Some(1_000), true), [4_000, 4_000, 5_000, 8_000, 21_000]);
        assert_eq!(arrivals(Some(10_000), false), [10_000, 10_000, 10_000, 10_000, 30_000]);
        // No delay is a multiple of this tick: 14.002 ms is the second one of 7.001 ms, 21.003 ms the third.
        assert_eq!(arrivals(Some(7_001), true), [7_001, 7_001, 7_001, 14_002, 21_003]);
    }

    #[test]
    fn certain_and_impossible_losses() {
        assert_eq!(mean(&lost(LossSpec::Random(1.0), 1000, 1)), 1.0);
        assert_eq!(mean(&lost(LossSpec::Random(0.0), 1000, 1)), 0.0);
    }
}
