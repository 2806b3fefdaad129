//! Pages of one size, each over a new connection with one request and one response.

use super::TcpSpec;
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// Client that requests pages.
    pub struct WebSpec with tcp: TcpSpec {
        /// Time from one page to the next, whether or not the first is complete, e.g. `200 ms`.
        interval: Duration = Kind::PositiveTime, Need::Required("200 ms");
        /// Draw the intervals from an exponential distribution with this mean.
        random: bool = Kind::Flag, Need::Default("false");
        /// Bytes of a page, e.g. `800 kB`.
        size: u64 = Kind::Size(1, 1 << 50), Need::Required("800 kB");
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Time that the server takes to respond.
        think: Duration = Kind::Time, Need::Default("0 s");
        /// Maximum number of connections at a time; a page beyond them waits, and its time includes the waiting.
        /// Default: no maximum.
        at_once: Option<u32> = Kind::Count(1, 1_000_000), Need::Optional;
    }
}
