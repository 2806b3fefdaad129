//! A connection about to be opened: its job, and its flow in a new slot or in the memory of a closed connection.
//!
//! Writing field by field into that memory saves a copy: building the flow first would write it twice.

use super::dialogue::{ConnectionTimes, DialogueFlow};
use super::exchange::Exchange;
use super::flow::AnyFlow;
use super::job::Job;
use super::load::LoadFlow;
use super::quic::{self, QuicFlow};
use super::tcp::{TcpFlow, TcpTemplate};
use sojourn_aqm::{Instant, Rng};

/// Parameters of the two ends of a connection.
#[allow(clippy::large_enum_variant)] // one per opener
pub(crate) enum ConnectionTemplate {
    Tcp(TcpTemplate),
    Quic(quic::QuicTemplate),
}

/// A connection that is opened now.
pub(crate) struct Opening {
    /// When it was requested.
    pub(super) requested_at: Instant,
    /// The generator of its congestion controls.
    pub(super) rng: Rng,
    pub(super) job: Job,
}

impl Opening {
    /// The flow of the connection, opened at `now`.
    pub fn flow(self, now: Instant, ends: &ConnectionTemplate) -> AnyFlow {
        let Self { requested_at, rng, job } = self;
        match (job, ends) {
            (Job::Upload(bytes), ConnectionTemplate::Tcp(ends)) => AnyFlow::Tcp(
                TcpFlow::new(ends, (now, Instant::NEVER), Some(bytes), rng).with_request_time(requested_at),
            ),
            (Job::Upload(bytes), ConnectionTemplate::Quic(ends)) => AnyFlow::Quic(Box::new(
                QuicFlow::new(ends, now, Instant::NEVER, Some(bytes), rng).with_request_time(requested_at),
            )),
            (Job::Dialogue(script), ConnectionTemplate::Tcp(ends)) => AnyFlow::Dialogue(Box::new(DialogueFlow::new(
                ends,
                script,
                ConnectionTimes { requested_at, start: now, stop: Instant::NEVER },
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

    /// Replaces the closed flow `old`, reusing its memory if it is of the same kind. Returns the memory of the old
    /// exchanges if it is not reused.
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
