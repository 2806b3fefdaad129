//! AVQ, Adaptive Virtual Queue: a virtual queue is served at less than the link's rate, and a packet that would
//! overflow it is marked or dropped. The virtual capacity adapts so that arrivals converge to `gamma` times the link's
//! rate (S. Kunniyur, R. Srikant, SIGCOMM 2001; IEEE/ACM ToN 12(2), 2004; ns-2, `vq.cc`).
//!
//! For an arrival of b bytes at t, after one at s: VQ = max(VQ - V (t - s), 0); if VQ + b > B it is marked, else VQ +=
//! b; V = max(min(V + alpha gamma C (t - s), C) - alpha b, 0). Arrivals that the limit rejects count as others do.
//!
//! Differs: the paper was not available; the constants are those usually cited, and ns-2's. ns-2 can drop or mark at
//! the head instead, but its documentation advises against it.
//!
//! # When to use
//!
//! With marks (`ecn`), if a queue of a few packets matters more than the last two per cent of the link. It needs the
//! link's rate, so it suits links of constant rate.

use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, Verdict};
use crate::config;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::time::Instant;

config! {
    /// AVQ's configuration.
    pub struct Config {
        /// Target utilisation.
        gamma: f64 = 0.98, in Value::Number(0.0) => Value::Number(1.0);
        /// Speed at which the virtual capacity adapts, per second.
        alpha: f64 = 0.15, in Value::Number(0.0) => Value::Number(1000.0);
        /// Size of the virtual queue in bytes (B). Zero: the limit of the real queue, counting packets as mean_pktsize;
        /// a queue without a limit counts as 1000 packets.
        buffer: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 40);
        /// Mean packet size, for a limit in packets; zero is the link's largest packet.
        mean_pktsize: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// Initial virtual capacity, as a share of the link's rate (ecnlim).
        ecnlim: f64 = 1.0, in Value::Number(0.0) => Value::Number(1.0);
        /// Moves the virtual capacity also for arrivals that the virtual queue drops; ns-2 counts accepted arrivals
        /// only.
        adapt_on_drops: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Marks ECN-capable packets instead of dropping them (markpkts).
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "plain", "as published" => |_| {};
        "ns2", "ns-2.35 (vq.cc, ns-default.tcl): the virtual capacity starts at 80 %, drops do not move it" => |c| {
            c.mean_pktsize = Bytes(1000);
            c.ecnlim = 0.8;
            c.adapt_on_drops = false;
        };
    }
    validate |_| Ok(())
}

/// State of an AVQ-managed queue. Rates are in bytes per second, lengths in bytes.
#[derive(Clone, Debug)]
pub struct Avq {
    config: Config,
    /// C, the link's rate.
    capacity: f64,
    /// B.
    buffer: f64,
    /// V.
    v_rate: f64,
    /// VQ.
    v_queue: f64,
    /// Time of the last update of VQ and V; the first arrival starts both.
    served: Option<Instant>,
    adapted: Instant,
}

impl Avq {
    /// State of an idle queue; attaching sets the link's rate and the buffer.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            capacity: 0.0,
            buffer: 0.0,
            v_rate: 0.0,
            v_queue: 0.0,
            served: None,
            adapted: Instant::ZERO,
        }
    }

    /// Updates VQ and V for an arrival. Returns whether it overflows the virtual queue; `drops`: the packet is dropped
    /// then.
    fn arrived(&mut self, now: Instant, len: u32, drops: bool) -> bool {
        let bytes = len as f64;
        let previous = self.served.replace(now).unwrap_or_else(|| {
            self.adapted = now;
            now
        });
        self.v_queue = (self.v_queue - self.v_rate * (now - previous).as_secs_f64()).max(0.0);
        let overflows = self.v_queue + bytes > self.buffer;
        if !overflows {
            self.v_queue += bytes;
        }
        if !overflows || !drops || self.config.adapt_on_drops {
            let Config { alpha, gamma, .. } = self.config;
            let since = (now - self.adapted).as_secs_f64();
            let grown = (self.v_rate + alpha * gamma * self.capacity * since).min(self.capacity);
            self.v_rate = (grown - alpha * bytes).max(0.0);
            self.adapted = now;
        }
        overflows
    }
}

impl Aqm for Avq {
    fn attach(&mut self, limits: &Limits, link: Link) {
        let mean = if self.config.mean_pktsize.0 > 0 { self.config.mean_pktsize.0 } else { link.mtu as u64 };
        let in_packets = limits.packets.map(|packets| packets as u64 * mean);
        let in_time = limits.time.map(|time| link.rate.bytes_in(time));
        let limit = [in_packets, limits.bytes, in_time].into_iter().flatten().min().unwrap_or(USUAL_LIMIT * mean);
        self.buffer = if self.config.buffer.0 > 0 { self.config.buffer.0 } else { limit } as f64;
        self.capacity = link.rate.as_bps() as f64 / 8.0;
        self.v_rate = self.capacity * self.config.ecnlim;
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, _: &mut dyn Fifo) -> Verdict {
        let marks = self.config.ecn && meta.ecn.is_ect();
        match self.arrived(cx.now, meta.len, !marks) {
            false => Verdict::Accept,
            true if marks => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("v_rate", self.v_rate);
        see("v_queue", self.v_queue);
    }
}

impl Lifecycle for Avq {
    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        let marks = self.config.ecn && meta.ecn.is_ect();
        self.arrived(cx.now, meta.len, !marks);
    }
}

/// Assumed limit of an unlimited queue, in packets.
const USUAL_LIMIT: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::DropReason;
    use crate::packet::Ecn::{Ect0, NotEct};
    use crate::qdisc::EnqueueResult;
    use crate::registry::parse;
    use crate::rng::Rng;
    use crate::single::SingleQueue;
    use crate::testing::{LINK, config, ms, push, queue_under};
    use alloc::string::ToString;

    fn queue(profile: &str, params: &[(&str, &str)], limits: Limits) -> SingleQueue<Avq, u32> {
        queue_under(Avq::new(&config(profile, params)), limits, LINK)
    }

    #[test]
    fn the_virtual_queue_and_its_capacity_by_hand() {
        // C = 1,500,000 B/s. alpha gamma C = 220,500 B/s²: 220.5 B/s per millisecond; alpha b = 225 B/s per packet.
        let mut queue = queue("plain", &[("ecn", "on"), ("buffer", "4000 B")], Limits::default());
        for (at, ecn, expected, v_queue, v_rate) in [
            (0, NotEct, EnqueueResult::Queued, 1500.0, 1_499_775.0),
            (0, Ect0, EnqueueResult::Queued, 3000.0, 1_499_550.0),
            (0, Ect0, EnqueueResult::Marked, 3000.0, 1_499_325.0),
            (0, NotEct, EnqueueResult::Dropped(DropReason::Early), 3000.0, 1_499_100.0),
            // 1,499.1 B leave in a millisecond; then 1500 B arrive, and V changes by 220.5 - 225 B/s.
            (1, NotEct, EnqueueResult::Queued, 3000.9, 1_499_095.5),
            // Ten milliseconds empty it: 1500; V grows by 2205 B/s, at most to C.
            (11, NotEct, EnqueueResult::Queued, 1500.0, 1_499_775.0),
        ] {
            assert_eq!(push(&mut queue, ms(at), 1500, ecn), expected, "{at} ms");
            let avq = queue.aqm();
            let close = (avq.v_queue - v_queue).abs() < 1e-6 && (avq.v_rate - v_rate).abs() < 1e-6;
            assert!(close, "{at} ms: {} {}", avq.v_queue, avq.v_rate);
        }
    }

    #[test]
    fn ns2_starts_lower_and_is_not_moved_by_what_it_drops() {
        let mut queue = queue("ns2", &[], Limits::packets(3));
        // B = 3 · 1000 B; initially V = 1,200,000 B/s.
        for (at, expected, v_queue, v_rate) in [
            (5, EnqueueResult::Queued, 1500.0, 1_199_775.0),
            (5, EnqueueResult::Queued, 3000.0, 1_199_550.0),
            (5, EnqueueResult::Dropped(DropReason::Early), 3000.0, 1_199_550.0),
            (6, EnqueueResult::Dropped(DropReason::Early), 1800.45, 1_199_550.0),
            // Since the last arrival that changed V, at 5 ms: 2 · 220.5 - 225.
            (7, EnqueueResult::Queued, 2100.9, 1_199_766.0),
        ] {
            assert_eq!(push(&mut queue, ms(at), 1500, NotEct), expected, "{at} ms");
            let avq = queue.aqm();
            let close = (avq.v_queue - v_queue).abs() < 1e-6 && (avq.v_rate - v_rate).abs() < 1e-6;
            assert!(close, "{at} ms: {} {}", avq.v_queue, avq.v_rate);
        }
    }

    #[test]
    fn the_virtual_buffer_is_the_real_one_unless_it_is_given() {
        for (params, limits, buffer) in [
            (&[][..], Limits::packets(30), 45_000.0),
            (&[("mean_pktsize", "500 B")], Limits::packets(30), 15_000.0),
            (&[], Limits::parse("30 packets + 20 kB").expect("limits"), 20_000.0),
            (&[], Limits::parse("10 ms").expect("a limit"), 15_000.0),
            (&[], Limits::default(), 1_500_000.0),
            (&[("buffer", "7 kB")], Limits::packets(30), 7_000.0),
        ] {
            assert_eq!(queue("plain", params, limits).aqm().buffer, buffer, "{params:?}");
        }
    }

    #[test]
    fn random_arrivals_at_the_links_rate_are_marked_until_gamma_is_left() {
        // Random arrivals at 1.2 times the link's rate; marked packets are not accepted, as if their senders had
        // withheld them.
        let mut avq = Avq::new(&config("plain", &[("ecn", "on"), ("buffer", "30 kB"), ("adapt_on_drops", "off")]));
        avq.attach(&Limits::default(), LINK);
        let mut load = Rng::from_state(3);
        let (mut accepted, mut nanos) = (0u64, 0.0);
        while nanos < 200e9 {
            nanos += load.exponential() * 1e6 / 1.2;
            let marked = avq.arrived(Instant::from_nanos(nanos as u64), 1500, true);
            accepted += u64::from(!marked && nanos > 100e9);
        }
        // The link carries one packet per millisecond.
        let utilisation = accepted as f64 / 100_000.0;
        assert!((utilisation - 0.98).abs() < 0.002, "{utilisation}");
    }

    #[test]
    fn out_of_range() {
        for (text, error) in [
            ("avq gamma 1.1", "gamma = 1.1 is out of range; from 0 to 1"),
            ("avq alpha -1", "alpha = -1 is out of range; from 0 to 1000"),
            ("avq ecnlim 2", "ecnlim = 2 is out of range; from 0 to 1"),
            ("avq buffer 100", r#"buffer: "100" has no unit; write e.g. "250 kB""#),
            ("avq mean_pktsize 2MB", "mean_pktsize = 2000000 B is out of range; from 0 B to 1048576 B"),
            ("avq buffer -1B", r#"buffer: "-1B" is negative; write e.g. "250 kB""#),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
        }
    }
}
