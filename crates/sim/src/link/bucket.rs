//! A token bucket.
//!
//! Tokens come in at `rate` up to `burst`; a packet needs one per byte, and is sent at `peak`. The next packet is
//! dequeued when the last one has left, and waits in the shaper for its tokens, as under Linux's TBF with an inner
//! qdisc that cannot peek: its sojourn time ends before that wait. With overdraft, a packet is dequeued only when there
//! are tokens, and is then sent at once, as under HTB.

use super::server::{Pace, TransmissionTimes};
use crate::scenario::BucketService;
use sojourn_aqm::{Duration, Instant, Serializer};

/// State of a token bucket.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    /// Bits per second: bit-nanoseconds of tokens per nanosecond.
    rate: i64,
    /// Depth of the bucket in bit-nanoseconds.
    burst: i64,
    /// Bit-nanoseconds in the bucket at `filled`; negative after an overdraft.
    tokens: i64,
    filled: Instant,
    peak: Serializer,
    overdraft: bool,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(spec: &BucketService) -> Self {
        let burst = spec.burst as i64 * NANOS_PER_BYTE_AT_1_BPS;
        let (rate, peak) = (spec.bucket.as_bps() as i64, Serializer::new(spec.peak));
        Self { rate, burst, tokens: burst, filled: Instant::ZERO, peak, overdraft: spec.overdraft }
    }

    /// Adds the tokens up to `now`.
    fn fill(&mut self, now: Instant) {
        let refill = (now - self.filled).as_nanos() as i128 * self.rate as i128;
        self.tokens = (self.tokens as i128 + refill).min(self.burst as i128) as i64;
        self.filled = now;
    }

    /// Time until there are `need` bit-nanoseconds, rounded up.
    fn wait_for(&self, need: i64) -> Duration {
        let missing = (need - self.tokens).max(0) as u64;
        Duration::from_nanos(missing.div_ceil(self.rate as u64) as i64)
    }
}

impl Pace for TokenBucket {
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        let need = bytes as i64 * NANOS_PER_BYTE_AT_1_BPS;
        self.fill(start);
        let mut begin = start;
        if !self.overdraft {
            begin = start + self.wait_for(need);
            self.fill(begin);
        }
        self.tokens -= need;
        let end = begin + self.peak.time_for(bytes);
        self.fill(end);
        // With overdraft the next packet stays in the queue until there is a token.
        let free = if self.overdraft { end + self.wait_for(1) } else { end };
        TransmissionTimes { end, free }
    }
}

const NANOS_PER_BYTE_AT_1_BPS: i64 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Rate;

    const MBIT: u64 = 1_000_000;

    fn bucket(mbit: u64, burst: u64, peak_mbit: u64, overdraft: bool) -> TokenBucket {
        let (bucket, peak) = (Rate::from_bps(mbit * MBIT), Rate::from_bps(peak_mbit * MBIT));
        TokenBucket::new(&BucketService { bucket, burst, peak, overdraft })
    }

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn a_packet_waits_for_exactly_the_tokens_it_lacks() {
        // 3000 B at 12 Mbit/s: two packets at once, 0.1 ms each at the peak rate; 150 B of tokens come in during each.
        let mut bucket = bucket(12, 3000, 120, false);
        let sent: Vec<TransmissionTimes> = (0..4)
            .scan(us(0), |start, _| {
                let sent = bucket.send(*start, 1500);
                *start = sent.free;
                Some(sent)
            })
            .collect();
        let ends: Vec<u64> = sent.iter().map(|sent| sent.end.as_nanos() / 1000).collect();
        // The third has 300 of its 1500 B: (1500 - 300) * 8 / 12 Mbit/s = 0.8 ms; then one packet per 1 ms.
        assert_eq!(ends, [100, 200, 1100, 2100]);
        assert!(sent.iter().all(|sent| sent.free == sent.end));
    }

    #[test]
    fn tokens_do_not_grow_beyond_the_burst() {
        let mut bucket = bucket(12, 3000, 120, false);
        assert_eq!(bucket.send(us(1_000_000), 1500).end, us(1_000_100));
        assert_eq!(bucket.send(us(2_000_000), 3000).end, us(2_000_200));
        assert_eq!(bucket.send(us(2_000_200), 1500).end, us(2_000_200 + 800 + 100), "300 B came in meanwhile");
    }

    #[test]
    fn overdraft_sends_at_the_first_token_and_pays_later() {
        let mut bucket = bucket(12, 1000, 120, true);
        let sent = bucket.send(us(0), 1500);
        assert_eq!(sent.end, us(100), "at once, though 500 B are missing");
        // -500 B + 150 B in 0.1 ms: 350 B are 233,333.3 ns, plus one bit-nanosecond.
        assert_eq!((sent.free - sent.end).as_nanos(), 233_334);
        let next = bucket.send(sent.free, 1500);
        assert_eq!(next.end, sent.free + Duration::from_nanos(100_000));
    }

    #[test]
    fn power_boost_lasts_burst_over_peak_minus_rate() {
        // 10 MB at 50 over 10 Mbit/s: 10 * 8 / (50 - 10) = 2 s.
        for overdraft in [false, true] {
            let mut bucket = bucket(10, 10_000_000, 50, overdraft);
            let (mut now, mut at_peak) = (us(0), us(0));
            let mut bytes_by_second = [0u64; 5];
            while now < us(5_000_000) {
                let sent = bucket.send(now, 1500);
                if (sent.end - now).as_nanos() == 240_000 && sent.free == sent.end {
                    at_peak = sent.end;
                }
                if let Some(second) = bytes_by_second.get_mut((sent.end.as_nanos() / 1_000_000_000) as usize) {
                    *second += 1500;
                }
                now = sent.free;
            }
            assert!((at_peak.as_nanos() as i64 - 2_000_000_000).abs() < 1_300_000, "{at_peak:?}");
            let megabits = bytes_by_second.map(|bytes| bytes as f64 * 8e-6);
            for (found, expected) in megabits.into_iter().zip([50.0, 50.0, 10.0, 10.0, 10.0]) {
                assert!((found - expected).abs() < 0.03, "{megabits:?}");
            }
        }
    }
}
