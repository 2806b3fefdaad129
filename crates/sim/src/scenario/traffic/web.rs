//! Pages of one size: a new connection, a request and a response each.

use super::TcpSpec;
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// A client that asks for pages.
    pub struct WebSpec with tcp: TcpSpec {
        /// Time from one page to the next, whatever became of it; above zero.
        interval: Duration = Kind::PositiveTime, Need::Required("200 ms");
        /// Draws the intervals at random, exponentially distributed with this mean.
        random: bool = Kind::Flag, Need::Default("false");
        /// Bytes of a page.
        size: u64 = Kind::Size(1, 1 << 50), Need::Required("800 kB");
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Time that the server needs for its answer.
        think: Duration = Kind::Time, Need::Default("0 s");
        /// Most connections at a time; a page beyond them waits for its turn. Without it, there is no bound.
        at_once: Option<u32> = Kind::Count(1, 1_000_000), Need::Optional;
    }
}
