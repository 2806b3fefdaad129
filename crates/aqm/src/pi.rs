//! PI, the proportional-integral controller of the queue length: every 1/`w` seconds p += a (q - qref) - b (q_old -
//! qref) (C. Hollot, V. Misra, D. Towsley, W. Gong, INFOCOM 2001; ns-2, `pi.cc`, with its names).
//!
//! `a` and `b` are given, or follow from the minimum number of flows `n`, the maximum round-trip time `rtt` and the
//! link's rate by the paper's design: the loop has unit gain at ω = min(2n/(rtt² C), 1/rtt), the controller's zero.
//! Only the probability is clamped, to 0..1.
//!
//! Differs: the paper was not available; its printed a and b are the defaults, and for its example (60 flows, 3750
//! packets per second, 246 ms) the formula gives 1.7 % more (`n 60 rtt 246ms`). ns-2 updates once more at
//! creation, which changes nothing.
//!
//! # When to use
//!
//! To compare with the first proposal from control theory: unlike RED's, its queue settles at `qref` for any number of
//! flows, but only after many seconds. [PIE](crate::pie) and [PI2](crate::pi2) control the delay instead.

use crate::aqm::{Aqm, Cx, Fifo, Timer, Verdict};
use crate::config;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::time::{Duration, Instant};
use alloc::format;

config! {
    /// PI's configuration.
    pub struct Config {
        /// Increase of the probability per update and packet above qref.
        a: f64 = A, in Value::Number(0.0) => Value::Number(1.0);
        /// Decrease of the probability per packet above qref at the previous update; at most a.
        b: f64 = B, in Value::Number(0.0) => Value::Number(1.0);
        /// Updates per second.
        w: f64 = 160.0, in Value::Number(0.1) => Value::Number(100_000.0);
        /// Reference queue length in packets.
        qref: f64 = 200.0, in Value::Number(0.0) => Value::Number(1e6);
        /// Minimum number of long flows from which a and b follow; zero: a and b as given.
        n: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Maximum round-trip time, for n.
        rtt: Duration = Duration::from_millis(246), in Value::Time(Duration::from_micros(1)) => Value::Time(Duration::from_secs(60));
        /// Mean packet size, for n and if bytes count.
        mean_pktsize: Bytes = Bytes(500), in Value::Bytes(1) => Value::Bytes(1 << 20);
        /// Measures the queue in bytes, in units of mean_pktsize.
        queue_in_bytes: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Drops large packets with a higher probability: by their size over mean_pktsize.
        bytes: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Marks ECN-capable packets instead of dropping them (setbit).
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "plain", "the example of the paper: 160 updates per second, 200 packets" => |_| {};
        "ns2", "ns-2.35 (ns-default.tcl): 170 updates per second, 50 packets" => |c| {
            c.w = 170.0;
            c.qref = 50.0;
        };
    }
    validate |c| {
        if c.n > 0 && (c.a, c.b) != (A, B) {
            return Err("n conflicts with a and b, which follow from n, rtt and the link's rate; leave out n, or both a and b".into());
        }
        if c.b > c.a {
            let (a, b) = (c.a, c.b);
            return Err(format!("b ({b}) must not exceed a ({a}), or p would move while the queue is at its reference length; write e.g. a {A} b {B}").into());
        }
        Ok(())
    }
}

/// Gains for at least `n` flows with round-trip times of at most `rtt` seconds on a link of `c` packets per second, at
/// `w` updates per second.
pub fn gains(n: f64, rtt: f64, c: f64, w: f64) -> (f64, f64) {
    let zero = 2.0 * n / (rtt * rtt * c);
    let omega = zero.min(1.0 / rtt);
    let jw = omega * rtt;
    let magnitude = libm::sqrt(jw * jw + 1.0);
    let rc = rtt * c;
    let k = omega * magnitude * 4.0 * n * n / (rc * rc * rc);
    // The bilinear transform of k (s/zero + 1)/s.
    (k / zero + k / (2.0 * w), k / zero - k / (2.0 * w))
}

/// State of a PI-managed queue.
#[derive(Clone, Debug)]
pub struct Pi {
    config: Config,
    a: f64,
    b: f64,
    /// Probability of marking or dropping an arrival.
    p: f64,
    /// Queue length at the last update, in packets.
    q_old: f64,
    period: Duration,
    next_update: Instant,
}

impl Pi {
    /// State of an idle queue; attaching computes gains that depend on the link's rate.
    pub fn new(config: &Config) -> Self {
        let period = Duration::from_nanos(libm::round(1e9 / config.w) as i64);
        let (a, b) = (config.a, config.b);
        Self { a, b, p: 0.0, q_old: 0.0, period, next_update: Instant::ZERO + period, config: config.clone() }
    }

    /// Queue length in packets.
    fn length(&self, cx: &Cx) -> f64 {
        match self.config.queue_in_bytes {
            true => cx.backlog.bytes as f64 / self.config.mean_pktsize.0 as f64,
            false => cx.backlog.packets as f64,
        }
    }
}

impl Aqm for Pi {
    fn attach(&mut self, _: &Limits, link: Link) {
        if self.config.n > 0 {
            let c = link.rate.as_bps().max(1) as f64 / (8.0 * self.config.mean_pktsize.0 as f64);
            (self.a, self.b) = gains(self.config.n as f64, self.config.rtt.as_secs_f64(), c, self.config.w);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, _: &mut dyn Fifo) -> Verdict {
        let p = match self.config.bytes {
            true => self.p * meta.len as f64 / self.config.mean_pktsize.0 as f64,
            false => self.p,
        };
        match cx.rng.uniform() < p {
            false => Verdict::Accept,
            true if self.config.ecn && meta.ecn.is_ect() => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
        see("q_old", self.q_old);
    }
}

impl Timer for Pi {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = at + self.period;
        let q = self.length(cx);
        let qref = self.config.qref;
        self.p = (self.a * (q - qref) - self.b * (self.q_old - qref) + self.p).clamp(0.0, 1.0);
        self.q_old = q;
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.p == 0.0 && self.q_old == 0.0 {
            self.next_update = self.next_update.stepped_to(self.period, until);
        }
    }
}

/// As printed in the paper.
const A: f64 = 1.822e-5;
const B: f64 = 1.816e-5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::DropReason;
    use crate::backlog::Backlog;
    use crate::packet::Ecn::{Ect0, NotEct};
    use crate::qdisc::EnqueueResult;
    use crate::rate::Rate;
    use crate::registry::parse;
    use crate::rng::Rng;
    use crate::testing::{LINK, config, cx, ms, push, queue_under};
    use alloc::string::ToString;

    fn updated(pi: &mut Pi, packets: u32, bytes: u64) -> f64 {
        let mut rng = Rng::from_state(1);
        let at = pi.next_update;
        pi.update(at, &mut cx(at, &mut rng, Backlog { packets, bytes }, LINK));
        pi.p
    }

    #[test]
    fn updates_by_hand() {
        let mut pi = Pi::new(&config("plain", &[]));
        // p = Σ: 1.822e-5 (q - 200) - 1.816e-5 (q_old - 200), from q_old = 0.
        for (q, p) in [
            (300, 0.005_454), // 0.001822 + 0.003632
            (300, 0.005_460), // + 0.001822 - 0.001816
            (250, 0.004_555), // + 0.000911 - 0.001816
            (200, 0.003_647), // + 0        - 0.000908
            (200, 0.003_647),
            (0, 0.000_003), // - 0.003644
            (0, 0.0),       // - 0.000012, but not below zero
        ] {
            let found = updated(&mut pi, q, 0);
            assert!((found - p).abs() < 1e-12, "{q}: {found}");
        }
        let mut ns2 = Pi::new(&config("ns2", &[("queue_in_bytes", "on")]));
        // 120,000 B are 240 packets of 500 B: 1.822e-5 · 190 + 1.816e-5 · 50.
        let found = updated(&mut ns2, 80, 120_000);
        assert!((found - 0.004_369_8).abs() < 1e-12, "{found}");
        assert_eq!(Pi::new(&config("plain", &[("w", "170")])).next_update, Instant::from_nanos(5_882_353));
    }

    #[test]
    fn the_papers_example_follows_from_the_design() {
        // n 60, rtt 0.246 s, 3750 packets/s: zero 0.5287858, K 9.781079e-6; K/zero = 1.8497243e-5, K/(2 · 160) = 3.0566e-8.
        let (a, b) = gains(60.0, 0.246, 3750.0, 160.0);
        assert!((a / 1.852_780_906e-5 - 1.0).abs() < 1e-6 && (b / 1.846_667_732e-5 - 1.0).abs() < 1e-9, "{a} {b}");
        // The printed values are 1.7 % lower.
        assert!((a / A - 1.0).abs() < 0.02 && (b / B - 1.0).abs() < 0.02);
        // 15 Mbit/s in packets of 500 B are 3750 packets per second.
        let mut pi = Pi::new(&config("plain", &[("n", "60"), ("rtt", "246 ms")]));
        pi.attach(&Limits::default(), Link::new(Rate::from_bps(15_000_000), 1500));
        assert_eq!((pi.a, pi.b), (a, b));
    }

    #[test]
    fn a_fast_loop_ends_at_one_over_the_round_trip_time() {
        // n 1000, rtt 1 s, 100 packets/s: the zero is 20, above 1/rtt = 1: K = √2 · 4e6/1e6.
        let (a, b) = gains(1000.0, 1.0, 100.0, 100.0);
        let k = 5.656_854_249_492_381;
        assert!((a - (k / 20.0 + k / 200.0)).abs() < 1e-12 && (b - (k / 20.0 - k / 200.0)).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn arrivals_are_met_with_p_by_their_size_where_bytes_count() {
        for (params, len, p, expected) in [
            (&[][..], 1500, 0.2, 0.2),
            (&[("bytes", "on"), ("mean_pktsize", "500 B")], 1500, 0.2, 0.6),
            (&[("bytes", "on"), ("mean_pktsize", "500 B")], 1500, 0.4, 1.0),
            (&[("bytes", "on"), ("mean_pktsize", "500 B")], 50, 0.4, 0.04),
        ] {
            let mut pi = Pi::new(&config("plain", params));
            pi.p = p;
            let mut queue = queue_under(pi, Limits::default(), LINK);
            let drops = (0..20_000).filter(|_| push(&mut queue, ms(1), len, NotEct) != EnqueueResult::Queued).count();
            let share = drops as f64 / 20_000.0;
            assert!((share - expected).abs() < 0.012, "{params:?} {len} {p}: {share}");
        }
    }

    #[test]
    fn ecn_turns_drops_of_capable_packets_into_marks() {
        let mut pi = Pi::new(&config("plain", &[("ecn", "on")]));
        pi.p = 1.0;
        let mut queue = queue_under(pi, Limits::default(), LINK);
        assert_eq!(push(&mut queue, ms(1), 100, Ect0), EnqueueResult::Marked);
        assert_eq!(push(&mut queue, ms(1), 100, NotEct), EnqueueResult::Dropped(DropReason::Early));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, error) in [
            (
                "pi n 60 a 0.1",
                "n conflicts with a and b, which follow from n, rtt and the link's rate; leave out n, or both a and b",
            ),
            (
                "pi a 0.00001 b 0.00002",
                "b (0.00002) must not exceed a (0.00001), or p would move while the queue is at its reference length; write e.g. a 0.00001822 b 0.00001816",
            ),
            ("pi a 1.5", "a = 1.5 is out of range; from 0 to 1"),
            ("pi b -0.1", "b = -0.1 is out of range; from 0 to 1"),
            ("pi w 0", "w = 0 is out of range; from 0.1 to 100000"),
            ("pi qref -1", "qref = -1 is out of range; from 0 to 1000000"),
            ("pi n 1.5", r#"n: "1.5" is not a whole number"#),
            ("pi rtt 0s", "rtt = 0 s is out of range; from 1 us to 60 s"),
            ("pi mean_pktsize 0B", "mean_pktsize = 0 B is out of range; from 1 B to 1048576 B"),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
        }
    }
}
