//! A queue manager that does what a policy says, a step at a time: an agent outside that writes on its [`Board`] between
//! two steps, or a small [`Network`] that it carries itself.
//!
//! [`Policy`] manages one queue, [`Coupled`] the two of DualPI2. What they have seen is counted on the board, and an [`Observer`] makes the numbers of a step from that. Both kinds of
//! policy see through the same observer and act through the same [`Law`], so that a policy which was learned in steps
//! from outside is the same queue manager when it runs by itself.

mod board;
mod coupled;
mod entries;
mod law;
mod network;
mod observer;
mod standing;
mod watched;

pub use board::{Board, Counts};
pub use coupled::Coupled;
pub use law::{LEAST_LOG, Law, MOST_TARGET_MS};
pub use network::{Activation, Layer, MOST_INPUTS, MOST_LAYERS, MOST_WIDTH, Network, ShapeError};
pub use observer::{Entry, Observer, REFERENCE, Sight, Step};

use crate::aqm::{
    Aqm, Cx, Fifo, Lifecycle, Pass, Popped, Timer, Verdict, emptied, judges_overflow, next_update, overflowed, shed,
};
use crate::codel::{self, Codel};
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use standing::Standing;
use watched::Watched;

/// A queue under a policy.
pub struct Policy {
    board: Arc<Board>,
    law: Law,
    /// What rules until an instant, that included.
    start: Option<(Box<dyn Aqm + Send>, Instant)>,
    /// What the law steers the target of.
    codel: Option<Codel>,
    pilot: Option<Box<Pilot>>,
}

/// A network that acts by itself.
#[derive(Clone, Debug)]
pub struct Pilot {
    network: Network,
    observer: Observer,
    step: Duration,
    next: Instant,
    observation: Vec<f32>,
}

impl Pilot {
    /// A network that acts every `step`, from the start on, by what `sight` shows it; the error says what does not fit.
    pub fn new(network: Network, sight: Sight, step: Duration, law: Law) -> Result<Self, ShapeError> {
        network.check(sight.len(), law.outputs())?;
        let observation = alloc::vec![0.0; sight.len()];
        Ok(Self { network, observer: Observer::new(sight), step, next: Instant::ZERO, observation })
    }

    fn act(&mut self, now: Instant, law: Law, board: &Board) {
        self.observer.look(now, board);
        self.observer.write(&mut self.observation);
        law.apply(self.network.forward(&self.observation), board);
        self.next = now + self.step;
    }
}

impl Policy {
    /// A queue whose agent writes on `board`; `start` rules until an instant, that included.
    pub fn steered(board: Arc<Board>, law: Law, start: Option<(Box<dyn Aqm + Send>, Instant)>) -> Self {
        Self { codel: law.codel(), board, law, start, pilot: None }
    }

    /// A queue with a policy of its own.
    pub fn piloted(pilot: Pilot, law: Law) -> Self {
        let board = Arc::new(Board::new(pilot.observer.sight().has(Entry::Flows)));
        Self { codel: law.codel(), board, law, start: None, pilot: Some(Box::new(pilot)) }
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if let Some((manager, _)) = &mut self.start {
            return manager.enqueue(cx, meta, &mut Watched { queue, board: &self.board });
        }
        if self.law == Law::Packet {
            return match self.board.verdict() {
                0 => Verdict::Accept,
                1 => Verdict::Mark,
                _ => Verdict::Drop,
            };
        }
        let p = self.board.probability();
        if p > 0.0 && cx.rng.uniform() < p { Verdict::Mark } else { Verdict::Accept }
    }
}

impl Aqm for Policy {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.board.attach(link);
        if let Some((manager, _)) = &mut self.start {
            manager.attach(limits, link);
        }
        if let Some(codel) = &mut self.codel {
            codel.attach(limits, link);
        }
        if let Some(pilot) = &mut self.pilot {
            pilot.act(Instant::ZERO, self.law, &self.board);
        }
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.board.arrival(cx.now, meta);
        let verdict = self.judge(cx, meta, queue);
        self.board.judged(cx.now, meta, verdict, Standing::of(queue));
        verdict
    }

    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<Popped> {
        let popped = if self.start.is_none() && self.codel.is_none() {
            queue.pop()
        } else {
            let mut watched = Watched { queue, board: &self.board };
            if let Some((manager, _)) = &mut self.start {
                manager.dequeue(cx, &mut watched)
            } else if let Some(codel) = &mut self.codel {
                codel.steer(self.board.target());
                codel.dequeue(cx, &mut watched)
            } else {
                watched.pop()
            }
        };
        self.board.departure(cx.now, popped, Standing::of(queue));
        popped
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    #[inline(always)]
    fn pass(&mut self) -> Option<&mut dyn Pass> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match self.law {
            Law::Target => see("target", self.board.target().as_secs_f64()),
            Law::Probability | Law::ProbabilityLog | Law::Delta | Law::Coupled => see("p", self.board.probability()),
            Law::Packet => see("verdict", self.board.verdict() as f64),
        }
    }
}

impl Timer for Policy {
    fn next_update(&mut self) -> Option<Instant> {
        // The last one of the start is its end.
        let of_start = self
            .start
            .as_mut()
            .map(|&mut (ref mut manager, until)| next_update(manager).map_or(until, |at| at.min(until)));
        let of_pilot = self.pilot.as_ref().map(|pilot| pilot.next);
        of_start.into_iter().chain(of_pilot).min()
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        if let Some((manager, until)) = &mut self.start {
            if next_update(manager) == Some(at) {
                manager.timer().expect("an update is due").update(at, cx);
            } else if *until == at {
                self.start = None;
            }
        }
        if let Some(pilot) = self.pilot.as_mut().filter(|pilot| pilot.next == at) {
            pilot.act(at, self.law, &self.board);
        }
    }
}

impl Lifecycle for Policy {
    fn judges_overflow(&mut self) -> bool {
        self.start.as_mut().is_some_and(|(manager, _)| judges_overflow(manager))
    }

    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        // One that was judged has been counted as an arrival.
        let was_judged = self.judges_overflow();
        self.board.overflowed(cx.now, meta, was_judged, cx.backlog);
        if let Some((manager, _)) = &mut self.start {
            overflowed(manager, cx, meta);
        }
    }

    fn emptied(&mut self, cx: &mut Cx) {
        if let Some((manager, _)) = &mut self.start {
            emptied(manager, cx);
        }
    }

    fn shed(&mut self, cx: &mut Cx, n: u32) {
        self.board.shed(n);
        if let Some((manager, _)) = &mut self.start {
            shed(manager, cx, n);
        }
    }
}

impl Pass for Policy {
    /// A policy that drops nothing is tail drop, to the last record.
    fn lets_pass(&mut self, now: Instant) -> bool {
        match &mut self.start {
            Some((manager, until)) if now <= *until => manager.pass().is_some_and(|manager| manager.lets_pass(now)),
            // What an update is going to decide is not known yet.
            _ => {
                let is_due = self.next_update().is_some_and(|at| at < now);
                let drops =
                    if self.law == Law::Packet { self.board.verdict() > 0 } else { self.board.probability() > 0.0 };
                self.codel.is_none() && (is_due || !drops)
            }
        }
    }

    fn passed(&mut self, now: Instant, meta: &Meta) {
        self.board.passed(now, meta);
        if let Some((manager, _)) = &mut self.start {
            if let Some(manager) = manager.pass() {
                manager.passed(now, meta);
            }
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("law", &self.law).field("pilot", &self.pilot).finish_non_exhaustive()
    }
}

impl Law {
    /// What is below a law that sets a target: RFC 8289's CoDel, which marks what understands marks.
    fn codel(self) -> Option<Codel> {
        let config = codel::Config { ecn: true, ..codel::Config::default() };
        (self == Self::Target).then(|| Codel::new(&config))
    }
}

#[cfg(test)]
mod tests;
