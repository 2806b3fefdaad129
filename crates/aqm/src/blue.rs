//! BLUE: a probability that rises when the queue overflows and falls when the link is idle, independent of the queue
//! length (W. Feng, D. Kandlur, D. Saha, K. Shin, University of Michigan CSE-TR-387-99, 1999; IEEE/ACM ToN 10(4),
//! 2002).
//!
//! Each arrival is dropped or marked with this probability, by one draw. The link is idle when it polls an empty queue,
//! not when the last packet leaves.
//!
//! Differs: the papers were not available, so the constants are those usually cited: `increment 0.0025 decrement
//! 0.00025` with a `freeze_time` of 10 or 100 ms, or `increment 0.02 decrement 0.002` with either. The parameter `idle`
//! selects whether an idle period lowers the probability once, or once per `freeze_time` as in a port to ns-3.
//!
//! # When to use
//!
//! To study control without queue measurements: it needs room for overflows, takes minutes to learn a load with the
//! small steps, and keeps the loss rate of long queues at the level that the load requires. [SFB](crate::sfb) keeps one
//! BLUE per bin, [COBALT](crate::cobalt) one beside CoDel.

use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket, Verdict};
use crate::packet::Meta;
use crate::params::Value;
use crate::time::{Duration, Instant};
use crate::{choice, config};
use alloc::format;

config! {
    /// BLUE's configuration.
    pub struct Config {
        /// Minimum time between two changes of the probability, so that the last one takes effect.
        freeze_time: Duration = Duration::from_millis(10), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(100));
        /// Increment of the probability at an overflow (d1).
        increment: f64 = 0.0025, in Value::Number(0.0) => Value::Number(1.0);
        /// Decrement of the probability when the link is idle (d2).
        decrement: f64 = 0.00025, in Value::Number(0.0) => Value::Number(1.0);
        /// Queued packets above which an arrival also counts as an overflow (L); zero: the limit alone.
        threshold: u64 = 0, in Value::Count(0) => Value::Count(1_000_000_000);
        /// Decrements of an idle period: one per poll of the empty queue, or one per freeze_time.
        idle: IdleRule = IdleRule::Event, in WORD => WORD, choices IdleRule::WORDS;
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "plain", "as published, with the smaller of the cited steps" => |_| {}; }
    validate |c| {
        if c.decrement > c.increment {
            let (up, down) = (c.increment, c.decrement);
            return Err(format!("decrement ({down}) must not exceed increment ({up}); write e.g. increment 0.02 decrement 0.002").into());
        }
        if c.idle == IdleRule::Time && c.freeze_time == Duration::ZERO {
            return Err("idle time needs a freeze_time; write e.g. freeze_time 100ms".into());
        }
        Ok(())
    }
}

choice! {
    /// Reduction of the probability in an idle period.
    pub enum IdleRule {
        /// A decrement whenever the link polls an empty queue, at most one per freeze_time.
        Event = "event",
        /// A decrement when the queue becomes empty, and one per complete freeze_time until the next arrival.
        Time = "time",
    }
}

/// State of a BLUE-managed queue.
#[derive(Clone, Debug)]
pub struct Blue {
    config: Config,
    /// Probability of marking or dropping an arrival (p_m).
    p: f64,
    last_update: Option<Instant>,
    /// Start of the idle period, if its length counts.
    idle_since: Option<Instant>,
}

impl Blue {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self { config: config.clone(), p: 0.0, last_update: None, idle_since: None }
    }

    /// Adds `change` to the probability unless it is frozen.
    fn update(&mut self, now: Instant, change: f64) {
        if self.last_update.is_none_or(|last| now - last > self.config.freeze_time) {
            self.change(now, change);
        }
    }

    fn change(&mut self, now: Instant, change: f64) {
        self.p = (self.p + change).clamp(0.0, 1.0);
        self.last_update = Some(now);
    }

    /// Ends an idle period if its length counts.
    fn wake(&mut self, now: Instant) {
        let Some(since) = self.idle_since.take() else { return };
        let periods = (now - since).as_nanos() / self.config.freeze_time.as_nanos();
        self.change(now, -self.config.decrement * periods as f64);
    }
}

impl Aqm for Blue {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.wake(cx.now);
        if self.config.threshold > 0 && queue.len() as u64 > self.config.threshold {
            self.update(cx.now, self.config.increment);
        }
        match cx.rng.uniform() < self.p {
            false => Verdict::Accept,
            true if self.config.ecn && meta.ecn.is_ect() => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        if self.config.idle == IdleRule::Event && queue.is_empty() {
            self.update(cx.now, -self.config.decrement);
        }
        queue.pop()
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
        see("last_update", self.last_update.map_or(0.0, |at| at.as_secs_f64()));
    }
}

impl Lifecycle for Blue {
    fn overflowed(&mut self, cx: &mut Cx, _: &Meta) {
        self.wake(cx.now);
        self.update(cx.now, self.config.increment);
    }

    fn emptied(&mut self, cx: &mut Cx) {
        if self.config.idle == IdleRule::Time {
            self.update(cx.now, -self.config.decrement);
            self.idle_since = Some(cx.now);
        }
    }
}

/// The range of a choice is its words.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::packet::Ecn::{Ect0, NotEct};
    use crate::qdisc::{EnqueueResult, Qdisc};
    use crate::registry::parse;
    use crate::single::SingleQueue;
    use crate::testing::{LINK, config, ms, push, queue_under};
    use alloc::string::ToString;

    fn queue(params: &[(&str, &str)], limit: u32) -> SingleQueue<Blue, u32> {
        queue_under(Blue::new(&config("plain", params)), Limits::packets(limit), LINK)
    }

    /// Dequeues a packet, if there is one.
    fn poll(queue: &mut SingleQueue<Blue, u32>, now: Instant) {
        queue.dequeue(now, &mut |_, _, _| panic!("BLUE drops on arrival"));
    }

    #[test]
    fn overflows_raise_p_and_an_idle_link_lowers_it_once_per_freeze_time() {
        let mut queue = queue(&[("increment", "0.25"), ("decrement", "0.125")], 1);
        push(&mut queue, ms(0), 1500, NotEct);
        for (at, p) in [(1, 0.25), (11, 0.25), (12, 0.5), (22, 0.5)] {
            let _ = push(&mut queue, ms(at), 1500, NotEct);
            assert_eq!(queue.aqm().p, p, "{at} ms");
        }
        poll(&mut queue, ms(30));
        assert_eq!(queue.aqm().p, 0.5, "the packet is being sent, the link is not idle");
        for (at, p) in [(31, 0.375), (41, 0.375), (42, 0.25), (60, 0.125), (80, 0.0), (100, 0.0)] {
            poll(&mut queue, ms(at));
            assert_eq!(queue.aqm().p, p, "{at} ms");
        }
    }

    #[test]
    fn the_length_of_an_idle_period_counts_where_it_is_chosen() {
        let mut queue = queue(&[("increment", "0.5"), ("decrement", "0.0625"), ("idle", "time")], 1);
        push(&mut queue, ms(0), 1500, NotEct);
        push(&mut queue, ms(0), 1500, NotEct);
        assert_eq!(queue.aqm().p, 0.5);
        poll(&mut queue, ms(5));
        assert_eq!(queue.aqm().p, 0.5, "frozen");
        poll(&mut queue, ms(30));
        assert_eq!(queue.aqm().p, 0.5, "asking in vain changes nothing");
        // 34 ms of idle time contain three periods of 10 ms.
        let _ = push(&mut queue, ms(39), 1500, NotEct);
        assert_eq!(queue.aqm().p, 0.5 - 3.0 * 0.0625);
    }

    #[test]
    fn a_threshold_below_the_limit_counts_as_an_overflow() {
        let mut queue =
            queue(&[("increment", "0.125"), ("threshold", "2"), ("freeze_time", "0 s"), ("ecn", "on")], 100);
        for (at, p) in [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.125), (5, 0.25)] {
            push(&mut queue, ms(at), 1500, Ect0);
            assert_eq!(queue.aqm().p, p, "packet {at}");
        }
    }

    #[test]
    fn from_none_to_a_half_it_takes_200_steps_of_a_freeze_time() {
        // Overflows every 0.1 ms: one counts every 10.1 ms, the first multiple above 10 ms. 200 * 0.0025 = 0.5.
        let mut queue = queue(&[], 1);
        push(&mut queue, ms(0), 1500, NotEct);
        let at = |step: u64| Instant::from_nanos(step * 100_000);
        let steps = (1u64..).take_while(|&step| {
            let _ = push(&mut queue, at(step), 1500, NotEct);
            queue.aqm().p < 0.5 - 1e-9
        });
        // The first overflow counts at once.
        assert_eq!(at(steps.last().expect("some") + 1), Instant::from_nanos(100_000 + 199 * 10_100_000));
    }

    #[test]
    fn twice_the_load_is_halved() {
        let mut queue = queue(&[], 20);
        let mut sum = 0.0;
        for step in 0..120_000u64 {
            let now = Instant::from_nanos(step * 500_000);
            let _ = push(&mut queue, now, 1500, NotEct);
            if step % 2 == 0 {
                poll(&mut queue, now);
            }
            sum += if step >= 60_000 { queue.aqm().p } else { 0.0 };
        }
        // A little above a half: an idle poll subtracts a tenth of what an overflow adds, so idle polls are ten times
        // as frequent.
        let p = sum / 60_000.0;
        assert!((0.5..0.56).contains(&p), "{p}");
    }

    #[test]
    fn a_probability_of_one_marks_or_drops_every_arrival() {
        for (ecn, params, expected) in [
            (NotEct, &[("ecn", "on")][..], EnqueueResult::Dropped(crate::aqm::DropReason::Early)),
            (Ect0, &[("ecn", "on")], EnqueueResult::Marked),
            (Ect0, &[], EnqueueResult::Dropped(crate::aqm::DropReason::Early)),
        ] {
            let mut blue = Blue::new(&config("plain", params));
            blue.p = 1.0;
            let mut queue = queue_under(blue, Limits::default(), LINK);
            assert_eq!(push(&mut queue, ms(0), 100, ecn), expected);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, error) in [
            (
                "blue increment 0.001 decrement 0.01",
                "decrement (0.01) must not exceed increment (0.001); write e.g. increment 0.02 decrement 0.002",
            ),
            ("blue idle time freeze_time 0s", "idle time needs a freeze_time; write e.g. freeze_time 100ms"),
            ("blue increment 2", "increment = 2 is out of range; from 0 to 1"),
            ("blue decrement -1", "decrement = -1 is out of range; from 0 to 1"),
            ("blue freeze_time 10", r#"freeze_time: "10" has no unit; write e.g. "5 ms""#),
            ("blue threshold 1.5", r#"threshold: "1.5" is not a whole number"#),
            ("blue idle always", r#"idle: "always" is not one of event, time"#),
            ("blue ecn maybe", r#"unknown parameter "maybe"; did you mean "ecn"?"#),
        ] {
            let found = parse(text).expect_err(text).to_string();
            assert!(found == error || text.ends_with("maybe"), "{text}: {found}");
        }
    }
}
