//! REM, Random Exponential Marking: a price rises while arrivals exceed the link's rate or the backlog exceeds `pbo`
//! packets, and an arrival is marked or dropped with probability 1 - phi^(-price), so that a flow over several links
//! sees the sum of their prices (S. Athuraliya, V. Li, S. Low, Q. Yin, IEEE Network 15(3), 2001; ns-2, `rem.cc`, with
//! its names).
//!
//! Every `pupdtime` price = max(0, price + gamma (x + alpha (q - pbo) - c)), for x arrived packets and a capacity of c;
//! or, without rates, price + gamma (q - (1 - alpha) q_old - alpha pbo), which is equal while the queue is not empty.
//!
//! Differs: the paper was not available; the default constants are those usually cited. ns-2 holds one packet less than
//! its limit; here the limit is the host's.
//!
//! # When to use
//!
//! To compare with the first proposal from optimisation: a short queue for any number of flows, and marks that add up
//! along a path, for transports that know `phi`. It needs the link's rate; if that varies, use `price backlog`.

use crate::aqm::{Aqm, Cx, DropReason, Fifo, Lifecycle, PoppedPacket, Timer, Verdict};
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::time::{Duration, Instant};
use crate::{choice, config};

config! {
    /// REM's configuration.
    pub struct Config {
        /// Increase of the price per excess packet and update.
        gamma: f64 = 0.001, in Value::Number(0.0) => Value::Number(1000.0);
        /// Base of the exponential probability.
        phi: f64 = 1.001, in Value::Number(1.000001) => Value::Number(1000.0);
        /// Weight of the backlog against the arrivals in the price; always 0.1 in ns-2.
        alpha: f64 = 0.1, in Value::Number(0.0) => Value::Number(1.0);
        /// Reference queue length in packets (b*).
        pbo: f64 = 20.0, in Value::Number(0.0) => Value::Number(1e6);
        /// Update interval of the price.
        pupdtime: Duration = Duration::from_millis(10), in Value::Time(Duration::from_micros(10)) => Value::Time(Duration::from_secs(60));
        /// Weight of the newest count of arrivals in their average; 1 is no averaging.
        inw: f64 = 1.0, in Value::Number(0.000001) => Value::Number(1.0);
        /// Mean packet size: unit of the link's capacity, and of the backlog if bytes count.
        mean_pktsize: Bytes = Bytes(1000), in Value::Bytes(1) => Value::Bytes(1 << 20);
        /// Counts arrivals and backlog in bytes, in units of mean_pktsize, and drops by packet size (qib).
        queue_in_bytes: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Inputs of the price.
        price: Price = Price::Rates, in WORD => WORD, choices Price::WORDS;
        /// Marks ECN-capable packets instead of dropping them (markpkts).
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Marks on departure and drops nothing: packets that are not ECN-capable pass (with ecn).
        mark_on_departure: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "plain", "as published: an update every 10 ms" => |_| {};
        "ns2", "ns-2.35 (rem.cc, ns-default.tcl): an update every 2 ms, marks on departure" => |c| {
            c.pupdtime = Duration::from_millis(2);
            c.mark_on_departure = true;
        };
    }
    validate |_| Ok(())
}

choice! {
    /// Inputs of the price.
    pub enum Price {
        /// Arrivals minus capacity, and the backlog.
        Rates = "rates",
        /// The backlog now and at the previous update.
        Backlog = "backlog",
    }
}

/// State of a REM-managed queue.
#[derive(Clone, Debug)]
pub struct Rem {
    config: Config,
    price: f64,
    /// Probability of marking or dropping a packet.
    p: f64,
    /// Arrivals since the last update, and their average, in packets.
    count: f64,
    in_avg: f64,
    q_old: f64,
    next_update: Instant,
}

impl Rem {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        let next_update = Instant::ZERO + config.pupdtime;
        Self { price: 0.0, p: 0.0, count: 0.0, in_avg: 0.0, q_old: 0.0, next_update, config: config.clone() }
    }

    /// Size of a packet in packets: one, or by its bytes.
    fn packets(&self, meta: &Meta) -> f64 {
        if self.config.queue_in_bytes { meta.len as f64 / self.config.mean_pktsize.0 as f64 } else { 1.0 }
    }

    /// Whether a packet is selected.
    fn picks(&self, meta: &Meta, cx: &mut Cx) -> bool {
        cx.rng.uniform() < self.p * self.packets(meta)
    }

    fn marks_on_departure(&self) -> bool {
        self.config.ecn && self.config.mark_on_departure
    }
}

impl Aqm for Rem {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, _: &mut dyn Fifo) -> Verdict {
        self.count += self.packets(meta);
        if self.marks_on_departure() || !self.picks(meta, cx) {
            return Verdict::Accept;
        }
        if self.config.ecn && meta.ecn.is_ect() { Verdict::Mark } else { Verdict::Drop }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        if let Some(head) = queue.meta(0).filter(|_| self.marks_on_departure()) {
            if self.picks(&head, cx) && head.ecn.is_ect() {
                queue.mark(0, DropReason::Late);
            }
        }
        queue.pop()
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("price", self.price);
        see("p", self.p);
        see("in_avg", self.in_avg);
    }
}

impl Timer for Rem {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.next_update)
    }

    /// `run_updaterule`.
    fn update(&mut self, at: Instant, cx: &mut Cx) {
        let Config { gamma, alpha, pbo, pupdtime, inw, .. } = self.config;
        self.next_update = at + pupdtime;
        let mean = self.config.mean_pktsize.0 as f64;
        let q = match self.config.queue_in_bytes {
            true => cx.backlog.bytes as f64 / mean,
            false => cx.backlog.packets as f64,
        };
        self.in_avg = (1.0 - inw) * self.in_avg + inw * self.count;
        let excess = match self.config.price {
            Price::Rates => {
                let c = pupdtime.as_secs_f64() * cx.link.rate.as_bps() as f64 / (8.0 * mean);
                self.in_avg + alpha * (q - pbo) - c
            }
            Price::Backlog => q - (1.0 - alpha) * self.q_old - alpha * pbo,
        };
        self.price = (self.price + gamma * excess).max(0.0);
        self.p = 1.0 - libm::pow(self.config.phi, -self.price);
        (self.count, self.q_old) = (0.0, q);
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.price == 0.0 && self.count == 0.0 && self.in_avg == 0.0 && self.q_old == 0.0 {
            self.next_update = self.next_update.stepped_to(self.config.pupdtime, until);
        }
    }
}

impl Lifecycle for Rem {
    fn overflowed(&mut self, _: &mut Cx, meta: &Meta) {
        self.count += self.packets(meta);
    }
}

/// The range of a choice is its words.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backlog::Backlog;
    use crate::limits::Limits;
    use crate::packet::Ecn::{self, Ce, Ect0, NotEct};
    use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc};
    use crate::registry::parse;
    use crate::rng::Rng;
    use crate::testing::{LINK, config, cx, ms, push, queue_under};
    use alloc::string::ToString;

    /// Runs an update after `arrivals` arrivals of 1500 bytes, with `waiting` of them queued.
    fn updated(rem: &mut Rem, arrivals: u32, waiting: u32) -> f64 {
        let mut rng = Rng::from_state(1);
        let at = rem.next_update;
        (0..arrivals)
            .for_each(|_| rem.overflowed(&mut cx(at, &mut rng, Backlog::default(), LINK), &Meta::new(1500, 0)));
        let backlog = Backlog { packets: waiting, bytes: 1500 * waiting as u64 };
        rem.update(at, &mut cx(at, &mut rng, backlog, LINK));
        rem.price
    }

    #[test]
    fn prices_by_hand() {
        // In an update interval the link carries 12 Mbit/s · 10 ms = 15 packets of 1000 B.
        let mut rem = Rem::new(&config("plain", &[]));
        for (arrivals, waiting, price) in [
            (30, 20, 0.015),
            (40, 120, 0.05), // + 25 + 10
            (15, 20, 0.05),
            (0, 0, 0.033), // -15 - 2
            (0, 0, 0.016),
            (0, 0, 0.0), // not below zero
        ] {
            let found = updated(&mut rem, arrivals, waiting);
            assert!((found - price).abs() < 1e-12, "{arrivals} {waiting}: {found}");
        }
        // By bytes: 10 arrivals are 15 packets; 40 queued ones are 60. Averaging weight 0.25.
        let mut rem = Rem::new(&config("plain", &[("queue_in_bytes", "on"), ("inw", "0.25"), ("gamma", "1")]));
        for (arrivals, waiting, price) in [(40, 40, 4.0), (0, 40, 4.25)] {
            // 15 + 4 - 15; then 11.25 + 4 - 15.
            let found = updated(&mut rem, arrivals, waiting);
            assert!((found - price).abs() < 1e-12, "{arrivals} {waiting}: {found}");
        }
        // Without rates: 100 - 0 - 2, then 60 - 90 - 2, then 20 - 54 - 2.
        let mut rem = Rem::new(&config("plain", &[("price", "backlog"), ("gamma", "0.5")]));
        for (waiting, price) in [(100, 49.0), (60, 33.0), (20, 15.0)] {
            let found = updated(&mut rem, 999, waiting);
            assert!((found - price).abs() < 1e-12, "{waiting}: {found}");
        }
    }

    #[test]
    fn both_prices_agree_while_something_waits() {
        // Arrivals minus departures are the growth of the queue: 15 of mean_pktsize leave per update.
        let (mut rates, mut backlog) =
            (Rem::new(&config("plain", &[])), Rem::new(&config("plain", &[("price", "backlog")])));
        let mut waiting = 0;
        let mut sum = 0.0;
        for arrivals in [45, 37, 29, 20, 11, 15, 18] {
            let before = waiting;
            waiting = waiting + arrivals - 15;
            updated(&mut rates, arrivals, waiting);
            updated(&mut backlog, arrivals, waiting);
            // They differ by alpha times the growth: one weighs the current backlog, the other the previous.
            sum += 0.001 * 0.1 * (waiting as f64 - before as f64);
            assert!((rates.price - backlog.price - sum).abs() < 1e-12, "{arrivals}");
        }
    }

    #[test]
    fn the_probability_is_exponential_in_the_price_and_prices_add_up() {
        let p = |price: f64| {
            let mut rem = Rem::new(&config("plain", &[("gamma", "1"), ("alpha", "0")]));
            rem.price = price;
            updated(&mut rem, 15, 0);
            rem.p
        };
        // 1 - 1.001^-100, 1 - 1.001^-693.
        for (price, expected) in [(0.0, 0.0), (100.0, 0.0951173691), (693.0, 0.4997532143)] {
            assert!((p(price) - expected).abs() < 1e-9, "{price}: {}", p(price));
        }
        let (one, two) = (p(150.0), p(420.0));
        assert!((1.0 - (1.0 - one) * (1.0 - two) - p(570.0)).abs() < 1e-12);
    }

    #[test]
    fn ns2_marks_on_departure_and_drops_on_arrival() {
        for (params, ecn, queued, left) in [
            (&[("ecn", "on")][..], Ect0, EnqueueResult::Queued, Some(Ce)),
            (&[("ecn", "on")], NotEct, EnqueueResult::Queued, Some(NotEct)),
            (&[("ecn", "on"), ("mark_on_departure", "off")], Ect0, EnqueueResult::Marked, Some(Ce)),
            (&[("ecn", "on"), ("mark_on_departure", "off")], NotEct, EnqueueResult::Dropped(DropReason::Early), None),
            (&[], Ect0, EnqueueResult::Dropped(DropReason::Early), None),
        ] {
            let mut rem = Rem::new(&config("ns2", params));
            rem.p = 1.0;
            let mut queue = queue_under(rem, Limits::default(), LINK);
            assert_eq!(push(&mut queue, ms(0), 1000, ecn), queued, "{params:?}");
            let out: Option<Ecn> = match queue.dequeue(ms(1), &mut |_, _, _| panic!("dropped")) {
                DequeueResult::Packet(meta, _) => Some(meta.ecn),
                _ => None,
            };
            assert_eq!(out, left, "{params:?}");
        }
    }

    #[test]
    fn what_the_limit_refuses_counts_as_having_come() {
        let mut queue = queue_under(Rem::new(&config("plain", &[("gamma", "1")])), Limits::packets(1), LINK);
        for _ in 0..31 {
            let _ = push(&mut queue, ms(1), 1500, NotEct);
        }
        queue.settle(ms(10));
        // 31 - 15 + 0.1 (1 - 20).
        assert!((queue.aqm().price - 14.1).abs() < 1e-12, "{}", queue.aqm().price);
    }

    #[test]
    fn out_of_range() {
        for (text, error) in [
            ("rem gamma -1", "gamma = -1 is out of range; from 0 to 1000"),
            ("rem phi 1", "phi = 1 is out of range; from 1.000001 to 1000"),
            ("rem alpha 2", "alpha = 2 is out of range; from 0 to 1"),
            ("rem pbo -1", "pbo = -1 is out of range; from 0 to 1000000"),
            ("rem pupdtime 1us", "pupdtime = 1 us is out of range; from 10 us to 60 s"),
            ("rem inw 0", "inw = 0 is out of range; from 0.000001 to 1"),
            ("rem mean_pktsize 0B", "mean_pktsize = 0 B is out of range; from 1 B to 1048576 B"),
            ("rem price cost", r#"price: "cost" is not one of rates, backlog"#),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
        }
    }
}
