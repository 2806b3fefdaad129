//! Patterns of connections.

use super::exchange::Exchange;
use super::job::Job;
use crate::scenario::TcpSpec;
use sojourn_aqm::Instant;

/// When connections are asked for, and what they are for. Nothing of it depends on what became of the earlier ones,
/// unless the kind says so.
pub(super) trait Pattern {
    /// When the next connection is asked for.
    fn due(&self) -> Instant;
    /// Takes the connection that is due; its exchanges may lie in the memory of `spare`, which is empty.
    fn draw(&mut self, spare: &mut Vec<Exchange>) -> Job;
    /// One of the connections is over.
    fn on_closed(&mut self, now: Instant) {
        let _ = now;
    }
    /// What the connections are made of.
    fn tcp(&self) -> &TcpSpec;
    /// Most connections at a time.
    fn max_open(&self) -> u32 {
        u32::MAX
    }
}
