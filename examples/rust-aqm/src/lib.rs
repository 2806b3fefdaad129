//! BLUE (W. Feng, D. Kandlur, D. Saha, K. Shin, University of Michigan CSE-TR-387-99, 1999, Figure 2) as a
//! separate crate: a drop probability that is increased when the queue overflows and decreased when the link is idle.
//!
//! [`BLUE`] registers it by name; `main.rs` simulates it next to registered algorithms.

use sojourn_aqm::params::Value;
use sojourn_aqm::registry::{Algorithm, AqmConfig};
use sojourn_aqm::{Aqm, Cx, Duration, Fifo, Instant, Lifecycle, Meta, PoppedPacket, Verdict, config};

/// The algorithm's catalogue entry: `Scenario::parse_with(text, &[], base, &[&BLUE])`.
pub static BLUE: Algorithm = Algorithm::custom::<Config>(
    "my_blue",
    "BLUE: a drop probability steered by overflows and idle times",
    "W. Feng et al., University of Michigan CSE-TR-387-99, 1999",
);

config! {
    /// BLUE's configuration, with the defaults of the paper's simulations.
    pub struct Config {
        /// Minimum time between two changes of the probability.
        freeze_time: Duration = Duration::from_millis(100), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(100));
        /// Increment of the probability on overflow (d1).
        increment: f64 = 0.02, in Value::Number(0.0) => Value::Number(1.0);
        /// Decrement of the probability when the link is idle (d2).
        decrement: f64 = 0.002, in Value::Number(0.0) => Value::Number(1.0);
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "plain", "the paper's" => |_| {}; }
    validate |c| {
        if c.decrement > c.increment {
            return Err(format!("decrement ({}) must not exceed increment ({}); write e.g. increment 0.02 decrement 0.002", c.decrement, c.increment).into());
        }
        Ok(())
    }
}

impl AqmConfig for Config {
    type Aqm = Blue;

    fn aqm(&self) -> Blue {
        Blue { config: self.clone(), p: 0.0, last_update: None }
    }
}

/// BLUE's state.
#[derive(Clone, Debug)]
pub struct Blue {
    config: Config,
    /// Probability of dropping or marking an arriving packet.
    p: f64,
    last_update: Option<Instant>,
}

impl Blue {
    /// Adds `change` to the probability unless it is still frozen.
    fn update(&mut self, now: Instant, change: f64) {
        if self.last_update.is_none_or(|last| now - last > self.config.freeze_time) {
            self.p = (self.p + change).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}

impl Aqm for Blue {
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, _: &mut dyn Fifo) -> Verdict {
        match cx.rng.uniform() < self.p {
            false => Verdict::Accept,
            true if self.config.ecn && meta.ecn.is_ect() => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        if queue.is_empty() {
            self.update(cx.now, -self.config.decrement);
        }
        queue.pop()
    }

    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
    }
}

impl Lifecycle for Blue {
    fn overflowed(&mut self, cx: &mut Cx, _: &Meta) {
        self.update(cx.now, self.config.increment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::{EnqueueResult, Host, Limits, Link, Qdisc, Rate, Rng, SingleQueue};

    #[test]
    fn overflows_raise_the_probability_and_idle_times_lower_it() {
        let link = Link::new(Rate::from_bps(10_000_000), 1500);
        let host = Host { link, rng: Rng::from_state(1) };
        let config = Config { increment: 0.25, decrement: 0.125, ..Config::default() };
        let mut queue = SingleQueue::<_, ()>::new(config.aqm(), Limits::packets(1), host);
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms as i64);
        let drops = &mut |_, (), _| {};
        assert_eq!(queue.enqueue(at(0), Meta::new(1500, 0), (), drops), EnqueueResult::Queued);
        queue.enqueue(at(0), Meta::new(1500, 0), (), drops);
        assert_eq!(queue.aqm().p, 0.25);
        queue.enqueue(at(100), Meta::new(1500, 0), (), drops);
        assert_eq!(queue.aqm().p, 0.25, "frozen for 100 ms");
        queue.enqueue(at(101), Meta::new(1500, 0), (), drops);
        assert_eq!(queue.aqm().p, 0.5);
        queue.dequeue(at(300), drops);
        assert_eq!(queue.aqm().p, 0.5, "the link is not idle yet");
        queue.dequeue(at(301), drops);
        assert_eq!(queue.aqm().p, 0.375);
    }
}
