//! PI2: a proportional-integral controller whose output `p'` is squared for classic traffic and used linearly for
//! scalable traffic, so neither needs PIE's scaling (K. De Schepper et al., CoNEXT 2016; the single queue of RFC 9332's
//! DualPI2, with the gains and decisions of Linux's sch_dualpi2).
//!
//! The square is two independent draws. Packets with ECT(1) or CE are scalable.
//!
//! # When to use
//!
//! Instead of PIE if scalable congestion controls (DCTCP, TCP Prague) share a single queue with classic ones: the
//! square couples the two without PIE's table of corrections. For low delay, scalable flows also need a queue of their
//! own (RFC 9332).

use crate::aqm::{Aqm, Cx, DropReason, Fifo, PoppedPacket, Timer, Verdict};
use crate::config;
use crate::coupled::{Controller, Coupling, VerdictInput};
use crate::packet::{Ecn, Meta};
use crate::params::Value;
use crate::time::{Duration, Instant};

config! {
    /// PI2's configuration; the default has the gains of Linux's DualPI2.
    pub struct Config {
        /// Target delay of the controller.
        target: Duration = Duration::from_millis(15), in MICROSECOND => MINUTE;
        /// Update interval of the probability (Tupdate).
        tupdate: Duration = Duration::from_millis(16), in Value::Time(Duration::from_micros(100)) => MINUTE;
        /// Gain of the deviation from the target, per second.
        alpha: f64 = 0.16, in Value::Number(0.0) => Value::Number(1000.0);
        /// Gain of the delay's change between two updates, per second.
        beta: f64 = 3.2, in Value::Number(0.0) => Value::Number(1000.0);
        /// Coupling factor: the ratio of p' for scalable packets to p'; 1 is the uncoupled law.
        k: f64 = 2.0, in Value::Number(0.01) => Value::Number(100.0);
        /// Marks ECN-capable packets instead of dropping them; without it scalable packets are treated as classic ones.
        ecn: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Drops when k times p' exceeds one; otherwise p' is capped there, and ECN-capable packets are always marked.
        drop_overload: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Judges packets on arrival instead of on departure.
        drop_early: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "rfc9332", "one queue with the controller of RFC 9332 (2023)" => |_| {};
    }
    validate |_| Ok(())
}

/// State of a PI2-managed queue.
#[derive(Clone, Debug)]
pub struct Pi2 {
    config: Config,
    controller: Controller,
    coupling: Coupling,
    /// Enqueue time of the head; `None` while the queue is empty.
    head: Option<Instant>,
    next_update: Instant,
}

impl Pi2 {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        let coupling = Coupling { k: config.k, drop_overload: config.drop_overload };
        Self {
            controller: Controller::new(config.target, config.alpha, config.beta, coupling.max_p()),
            coupling,
            head: None,
            next_update: Instant::ZERO + config.tupdate,
            config: config.clone(),
        }
    }

    /// Verdict on a packet; `bytes` are queued without it.
    fn judge(&self, ecn: Ecn, bytes: u64, cx: &mut Cx) -> Verdict {
        if bytes < 2 * cx.link.mtu as u64 {
            return Verdict::Accept;
        }
        let ect = self.config.ecn && ecn.is_ect();
        let packet = VerdictInput { ect, scalable: ect && ecn.is_l4s(), native: 0.0 };
        self.coupling.judge(self.controller.p, packet, cx.rng)
    }
}

impl Aqm for Pi2 {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        let verdict = match self.config.drop_early {
            true => self.judge(meta.ecn, queue.total_backlog().bytes, cx),
            false => Verdict::Accept,
        };
        if queue.is_empty() && verdict != Verdict::Drop {
            self.head = Some(cx.now);
        }
        verdict
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        while let Some(head) = queue.meta(0).filter(|_| !self.config.drop_early) {
            let bytes = queue.total_backlog().bytes - head.len as u64;
            match self.judge(head.ecn, bytes, cx) {
                Verdict::Drop => queue.drop(0, DropReason::Late),
                Verdict::Mark if queue.mark(0, DropReason::Late) => break,
                Verdict::Mark => {}
                Verdict::Accept => break,
            }
        }
        let popped = queue.pop();
        self.head = queue.meta(0).map(|head| head.enqueued);
        popped
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.controller.observe(see);
    }
}

impl Timer for Pi2 {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn update(&mut self, at: Instant, _: &mut Cx) {
        self.next_update = at + self.config.tupdate;
        self.controller.update(self.head.map_or(0.0, |enqueued| (at - enqueued).as_secs_f64()));
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.head.is_none() && self.controller.is_at_rest() {
            self.next_update = self.next_update.stepped_to(self.config.tupdate, until);
        }
    }
}

const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
const MINUTE: Value = Value::Time(Duration::from_secs(60));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc};
    use crate::rng::Rng;
    use crate::single::SingleQueue;
    use crate::testing::{self, LINK, cx, ms};
    use alloc::vec::Vec;

    fn config(params: &[(&str, &str)]) -> Config {
        testing::config("rfc9332", params)
    }

    /// State with a given `p` and last delay.
    fn at(params: &[(&str, &str)], p: f64, qdelay_old: f64) -> Pi2 {
        let mut pi2 = Pi2::new(&config(params));
        (pi2.controller.p, pi2.controller.qdelay_old) = (p, qdelay_old);
        pi2
    }

    fn queue_under(pi2: Pi2) -> SingleQueue<Pi2, u32> {
        testing::queue_under(pi2, Limits::default(), LINK)
    }

    fn push(queue: &mut SingleQueue<Pi2, u32>, now: Instant, ecn: Ecn) -> EnqueueResult {
        testing::push(queue, now, 1500, ecn)
    }

    /// Shares of marks and drops of packets with `ecn` at `p`.
    fn shares(params: &[(&str, &str)], ecn: Ecn, p: f64) -> (f64, f64) {
        const PACKETS: usize = 200_000;
        let pi2 = at(params, p, 0.0);
        let mut rng = Rng::from_state(7);
        let mut cx = cx(ms(1), &mut rng, Default::default(), LINK);
        let verdicts: Vec<_> = (0..PACKETS).map(|_| pi2.judge(ecn, 3000, &mut cx)).collect();
        let share = |of| verdicts.iter().filter(|&&verdict| verdict == of).count() as f64 / PACKETS as f64;
        (share(Verdict::Mark), share(Verdict::Drop))
    }

    #[test]
    fn classic_packets_feel_the_square_and_scalable_ones_twice_the_probability() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (params, ecn, p, marks, drops) in [
            (&[][..], NotEct, 0.3, 0.0, 0.09),
            (&[], Ect0, 0.3, 0.09, 0.0),
            (&[], Ect1, 0.3, 0.6, 0.0),
            (&[], Ce, 0.3, 0.6, 0.0),
            (&[("k", "1")], Ect1, 0.3, 0.3, 0.0),
            (&[("ecn", "off")], Ect0, 0.3, 0.0, 0.09),
            (&[("ecn", "off")], Ect1, 0.3, 0.0, 0.09),
            // Overload: k p' > 1.
            (&[], NotEct, 0.6, 0.0, 0.36),
            (&[], Ect0, 0.6, 0.0, 0.36),
            (&[], Ect1, 0.6, 0.64, 0.36),
            (&[("drop_overload", "off")], Ect0, 0.5, 0.25, 0.0),
            (&[("drop_overload", "off")], Ect1, 0.5, 1.0, 0.0),
            (&[("drop_overload", "off"), ("k", "0.5")], Ect1, 1.0, 0.5, 0.0),
        ] {
            let (found_marks, found_drops) = shares(params, ecn, p);
            let close = |a: f64, b: f64| (a - b).abs() < 0.004;
            assert!(
                close(found_marks, marks) && close(found_drops, drops),
                "{params:?} {ecn:?} {p}: {found_marks} {found_drops}"
            );
        }
    }

    #[test]
    fn two_packets_are_left_alone() {
        for (behind, drops) in [(2, 0), (3, 1)] {
            for early in ["off", "on"] {
                let mut queue = queue_under(at(&[("drop_early", early)], 1.0, 0.0));
                let mut lost = 0;
                // Each packet is judged with `behind` packets of 1000 bytes, or one more, queued beside it: the minimum
                // is 3000 bytes.
                for _ in 0..=behind {
                    let dropped = testing::push(&mut queue, ms(0), 1000, Ecn::NotEct);
                    lost += usize::from(matches!(dropped, EnqueueResult::Dropped(_)));
                }
                let out = queue.dequeue(ms(1), &mut |_, _, _| lost += 1);
                assert!(matches!(out, DequeueResult::Packet(..)), "{behind} behind, early {early}");
                assert_eq!(lost, drops, "{behind} behind, early {early}");
            }
        }
    }

    #[test]
    fn a_dropped_head_brings_the_next_one_before_the_judge() {
        let mut queue = queue_under(at(&[], 1.0, 0.0));
        (0..10).for_each(|_| assert_eq!(push(&mut queue, ms(0), Ecn::Ect0), EnqueueResult::Queued));
        let mut reasons = Vec::new();
        assert!(matches!(queue.dequeue(ms(1), &mut |_, _, reason| reasons.push(reason)), DequeueResult::Packet(..)));
        // The eighth has 3000 bytes after it, the ninth 1500.
        assert_eq!(reasons, [DropReason::Late; 8]);
    }

    #[test]
    fn updates_by_hand() {
        // One packet at 10 ms; at the updates its delay is 6, 22 and 38 ms; then it leaves.
        let mut queue = queue_under(Pi2::new(&config(&[])));
        push(&mut queue, ms(10), Ecn::NotEct);
        let mut expected = 0.0;
        for (at, qdelay, change) in [(16, 0.006, 0.006), (32, 0.022, 0.016), (48, 0.038, 0.016)] {
            queue.settle(ms(at));
            expected += 0.16 * (qdelay - 0.015) + 3.2 * change;
            let pi = &queue.aqm().controller;
            assert!((pi.p - expected).abs() < 1e-12 && (pi.qdelay - qdelay).abs() < 1e-12, "{pi:?} at {at} ms");
        }
        push(&mut queue, ms(50), Ecn::NotEct);
        queue.dequeue(ms(50), &mut |_, _, _| {});
        queue.settle(ms(64));
        assert!((queue.aqm().controller.qdelay - 0.014).abs() < 1e-12, "the delay of the packet now at the head");
        queue.dequeue(ms(65), &mut |_, _, _| {});
        queue.settle(ms(80));
        assert_eq!(queue.aqm().controller.qdelay, 0.0);
    }

    #[test]
    fn the_probability_has_its_bounds() {
        for (params, p, qdelay_old, wait_ms, expected) in [
            (&[][..], 0.99, 0.0, 1000, 1.0),
            (&[("drop_overload", "off")], 0.49, 0.0, 1000, 0.5),
            (&[("drop_overload", "off"), ("k", "0.5")], 0.99, 0.0, 1000, 1.0),
            (&[], 0.001, 0.1, 0, 0.0),
        ] {
            let next_update = ms(2000);
            let mut queue = queue_under(Pi2 { next_update, ..at(params, p, qdelay_old) });
            push(&mut queue, ms(2000 - wait_ms), Ecn::NotEct);
            queue.settle(ms(2000));
            assert_eq!(queue.aqm().controller.p, expected, "{params:?}");
        }
    }
}
