//! Token buckets of `sch_tbf.c` and `act_police.c`. Tokens are nanoseconds at the rate.

use crate::psched::PschedRate;
use crate::time::{Duration, Instant};

/// Bucket of a rate, and of a peak rate if there is one.
#[derive(Clone, Debug)]
pub(crate) struct TokenBuckets {
    rate: Bucket,
    peak: Option<Bucket>,
    /// Time of the last token update.
    t_c: Instant,
}

/// Bucket of one rate.
#[derive(Clone, Debug)]
struct Bucket {
    rate: PschedRate,
    /// Its size.
    size: i64,
    tokens: i64,
}

impl Bucket {
    fn full((rate, size): (PschedRate, i64)) -> Self {
        Self { rate, size, tokens: size }
    }

    /// Tokens after `len` bytes and a refill for `elapsed` nanoseconds; negative if there are too few.
    #[inline]
    fn after(&self, elapsed: i64, len: u32) -> i64 {
        (elapsed + self.tokens).min(self.size) - self.rate.time_for(len)
    }
}

impl TokenBuckets {
    /// Full buckets; each is a rate with its size in nanoseconds.
    pub fn full(rate: (PschedRate, i64), peak: Option<(PschedRate, i64)>) -> Self {
        Self { rate: Bucket::full(rate), peak: peak.map(Bucket::full), t_c: Instant::ZERO }
    }

    /// Takes the tokens for `len` bytes. Returns the waiting time if there are too few.
    #[inline]
    pub fn take(&mut self, now: Instant, len: u32) -> Result<(), Duration> {
        let elapsed = (now - self.t_c).as_nanos().min(self.rate.size);
        let ptoks = self.peak.as_ref().map_or(0, |peak| peak.after(elapsed, len));
        let toks = self.rate.after(elapsed, len);
        if toks < 0 || ptoks < 0 {
            return Err(Duration::from_nanos((-toks).max(-ptoks)));
        }
        (self.t_c, self.rate.tokens) = (now, toks);
        if let Some(peak) = &mut self.peak {
            peak.tokens = ptoks;
        }
        Ok(())
    }

    /// Tokens of the rate, at the last update.
    pub fn tokens(&self) -> Duration {
        Duration::from_nanos(self.rate.tokens)
    }

    /// Tokens of the peak rate, at the last update; zero without one.
    pub fn ptokens(&self) -> Duration {
        Duration::from_nanos(self.peak.as_ref().map_or(0, |peak| peak.tokens))
    }
}
