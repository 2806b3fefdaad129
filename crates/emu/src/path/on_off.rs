//! A link that is on and off for exponentially distributed times, as Mahimahi's mm-onoff.

use sojourn_aqm::{Duration, Instant, Rng};

/// On at the start; off, it loses everything.
#[derive(Clone, Debug)]
pub struct OnOff {
    rng: Rng,
    means: [Duration; 2],
    on: bool,
    until: Instant,
}

impl OnOff {
    /// On for `on` in the mean, which is above zero, and off for `off`; a mean of zero for always on.
    pub fn new(on: Duration, off: Duration, seed: u64, index: usize) -> Option<Self> {
        if off == Duration::ZERO {
            return None;
        }
        let mut new =
            Self { rng: Rng::stream(seed, "on-off", index as u64), means: [off, on], on: true, until: Instant::ZERO };
        new.until = Instant::ZERO + new.span();
        Some(new)
    }

    /// Whether it is on at `now`, which never goes back.
    pub fn is_on(&mut self, now: Instant) -> bool {
        while self.until <= now {
            self.on = !self.on;
            let span = self.span();
            self.until += span;
        }
        self.on
    }

    /// At least a nanosecond, so that time passes.
    fn span(&mut self) -> Duration {
        let mean = self.means[self.on as usize];
        mean.mul_f64(self.rng.exponential()).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_for_its_share_of_the_time() {
        let (on, off) = (Duration::from_millis(30), Duration::from_millis(10));
        let mut link = OnOff::new(on, off, 1, 0).unwrap();
        assert!(link.is_on(Instant::ZERO));
        let n = 1_000_000;
        let states: Vec<bool> = (0..n).map(|ms| link.is_on(Instant::ZERO + Duration::from_millis(ms))).collect();
        // 25,000 pairs of times: the share is right to 0.4 % of itself.
        let share = states.iter().filter(|&&on| on).count() as f64 / n as f64;
        assert!((share - 0.75).abs() < 0.01, "{share}");
        // A switch is missed where two fall into a millisecond.
        let switches = states.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((40_000..50_500).contains(&switches), "{switches}");
        assert!(OnOff::new(on, Duration::ZERO, 1, 0).is_none());
    }
}
