//! A link that is alternately on and off, for exponentially distributed times as in Mahimahi's mm-onoff, or for fixed
//! times as in its mm-intermittent.

use sojourn_aqm::{Duration, Instant, Rng};

/// Starts on; loses every packet while off.
#[derive(Clone, Debug)]
pub struct OnOff {
    /// `None` if times are fixed.
    rng: Option<Rng>,
    means: [Duration; 2],
    on: bool,
    until: Instant,
}

impl OnOff {
    /// On for `on` (above zero) and off for `off`: means, or exact times if `fixed`. Returns `None` if `off` is zero:
    /// always on.
    pub fn new([on, off]: [Duration; 2], fixed: bool, seed: u64, index: usize) -> Option<Self> {
        if off == Duration::ZERO {
            return None;
        }
        let rng = (!fixed).then(|| Rng::stream(seed, "on-off", index as u64));
        let mut new = Self { rng, means: [off, on], on: true, until: Instant::ZERO };
        new.until = Instant::ZERO + new.span();
        Some(new)
    }

    /// Whether the link is on at `now`, which must not decrease.
    pub fn is_on(&mut self, now: Instant) -> bool {
        if self.rng.is_none() {
            // Skip whole cycles at once: times may be arbitrarily short.
            let cycle = (self.means[0] + self.means[1]).as_nanos();
            let cycles = (now - self.until).as_nanos().max(0) / cycle;
            self.until += Duration::from_nanos(cycles * cycle);
        }
        while self.until <= now {
            self.on = !self.on;
            let span = self.span();
            self.until += span;
        }
        self.on
    }

    /// The next time on or off, at least 1 ns, so that time passes.
    fn span(&mut self) -> Duration {
        let mean = self.means[self.on as usize];
        match &mut self.rng {
            Some(rng) => mean.mul_f64(rng.exponential()).max(Duration::from_nanos(1)),
            None => mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_for_its_share_of_the_time() {
        let (on, off) = (Duration::from_millis(30), Duration::from_millis(10));
        let mut link = OnOff::new([on, off], false, 1, 0).unwrap();
        assert!(link.is_on(Instant::ZERO));
        let n = 1_000_000;
        let states: Vec<bool> = (0..n).map(|ms| link.is_on(Instant::ZERO + Duration::from_millis(ms))).collect();
        // 25,000 cycles: the share has a relative accuracy of 0.4 %.
        let share = states.iter().filter(|&&on| on).count() as f64 / n as f64;
        assert!((share - 0.75).abs() < 0.01, "{share}");
        // Two switches within a millisecond are missed.
        let switches = states.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((40_000..50_500).contains(&switches), "{switches}");
        assert!(OnOff::new([on, Duration::ZERO], false, 1, 0).is_none());
    }

    #[test]
    fn fixed_times_are_those_that_were_given() {
        let mut link = OnOff::new([30, 10].map(Duration::from_millis), true, 1, 0).unwrap();
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        for (us, on) in [(0, true), (29_999, true), (30_000, false), (39_999, false), (40_000, true), (70_000, false)] {
            assert_eq!(link.is_on(at(us)), on, "{us} us");
        }
        assert!(link.is_on(at(40_000_000)), "a thousand turns later it is on again");
        assert!(!link.is_on(at(40_030_000)));
    }
}
