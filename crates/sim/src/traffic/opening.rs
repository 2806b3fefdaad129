//! A connection that is about to be opened: what it is for, and how it becomes a flow in a slot that is new, or in the memory of
//! one that has ended.

use super::dialogue::{ConnectionTimes, DialogueFlow};
use super::exchange::Exchange;
use super::flow::AnyFlow;
use super::job::Job;
use super::load::LoadFlow;
use super::quic::{self, QuicFlow};
use super::tcp::{TcpFlow, TcpTemplate};
use sojourn_aqm::{Instant, Rng};

/// The two ends of a connection that has not begun.
#[allow(clippy::large_enum_variant)] // one per opener
pub(crate) enum ConnectionTemplate {
    Tcp(TcpTemplate),
    Quic(quic::QuicTemplate),
}

/// A connection that is opened now.
pub(crate) struct Opening {
    /// When it was asked for.
    pub(super) requested_at: Instant,
    /// What its congestion controls draw from.
    pub(super) rng: Rng,
    pub(super) job: Job,
}

impl Opening {
    /// The flow that it becomes at `now`.
    pub fn flow(self, now: Instant, ends: &ConnectionTemplate) -> AnyFlow {
        let Self { requested_at: asked, rng, job } = self;
        match (job, ends) {
            (Job::Upload(bytes), ConnectionTemplate::Tcp(ends)) => {
                AnyFlow::Tcp(TcpFlow::new(ends, (now, Instant::NEVER), Some(bytes), rng).with_request_time(asked))
            }
            (Job::Upload(bytes), ConnectionTemplate::Quic(ends)) => AnyFlow::Quic(Box::new(
                QuicFlow::new(ends, now, Instant::NEVER, Some(bytes), rng).with_request_time(asked),
            )),
            (Job::Dialogue(script), ConnectionTemplate::Tcp(ends)) => AnyFlow::Dialogue(Box::new(DialogueFlow::new(
                ends,
                script,
                ConnectionTimes { requested_at: asked, start: now, stop: Instant::NEVER },
                rng,
            ))),
            (Job::Load(unsent), ConnectionTemplate::Tcp(ends)) => {
                AnyFlow::Load(Box::new(LoadFlow::new(ends, now, unsent, rng)))
            }
            (Job::Dialogue(_) | Job::Load(_), ConnectionTemplate::Quic(_)) => {
                unreachable!("a scenario has QUIC for files only")
            }
        }
    }

    /// Puts it in the place of `old`, which has ended: with its memory, if it is of the same kind. Returns that of the old one's
    /// exchanges, where it is not used.
    pub fn replace(self, old: &mut AnyFlow, now: Instant, ends: &ConnectionTemplate) -> Option<Vec<Exchange>> {
        let times = ConnectionTimes { requested_at: self.requested_at, start: now, stop: Instant::NEVER };
        match (self.job, old, ends) {
            (Job::Dialogue(script), AnyFlow::Dialogue(old), ConnectionTemplate::Tcp(ends)) => {
                old.reinitialize(ends, script, times, self.rng).into_memory()
            }
            (Job::Upload(bytes), AnyFlow::Tcp(old), ConnectionTemplate::Tcp(ends)) => {
                old.reinitialize(ends, (now, Instant::NEVER), (self.requested_at, bytes), self.rng);
                None
            }
            (job, old, ends) => {
                *old = Self { job, ..self }.flow(now, ends);
                None
            }
        }
    }
}
