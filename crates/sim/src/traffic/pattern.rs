//! Patterns of connections.

use super::exchange::Exchange;
use super::job::Job;
use crate::scenario::TcpSpec;
use sojourn_aqm::Instant;

/// When connections are requested, and for which jobs. Independent of the fate of earlier connections unless a kind
/// says otherwise.
pub(super) trait Pattern {
    /// When the next connection is requested.
    fn due(&self) -> Instant;
    /// Takes the connection that is due. Its exchanges may use the memory of `spare`, which is empty.
    fn draw(&mut self, spare: &mut Vec<Exchange>) -> Job;
    /// Notes that one of the connections has closed.
    fn on_closed(&mut self, now: Instant) {
        let _ = now;
    }
    /// Parameters of the connections.
    fn tcp(&self) -> &TcpSpec;
    /// Maximum number of open connections.
    fn max_open(&self) -> u32 {
        u32::MAX
    }
}
