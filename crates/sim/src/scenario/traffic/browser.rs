//! Browser: pages of many objects over several persistent connections.

use super::TcpSpec;
use super::sizes::{SIZES, SizeDistribution};
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// A browser that loads one page after the other.
    pub struct BrowserSpec with tcp: TcpSpec {
        /// Objects of a page, in addition to its document.
        objects: u32 = Kind::Count(1, 100_000), Need::Default("50");
        /// Bytes of an object, e.g. `10 kB`, or drawn for each by the seed: `{ uniform = ["1 kB", "50 kB"] }` or
        /// `{ log_uniform = ["1 kB", "50 kB"] }`, as in `[draw]`; the same sizes under every queue manager.
        size: SizeDistribution = Kind::Custom(&SIZES), Need::Required("10 kB");
        /// Bytes of the document that must have arrived before the browser requests the objects. Default: the objects
        /// are known at the click.
        document: Option<u64> = Kind::Size(1, 1 << 50), Need::Optional;
        /// Maximum number of connections at a time.
        connections: u32 = Kind::Count(1, 1_000), Need::Default("6");
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Time that the server takes for each response.
        think: Duration = Kind::Time, Need::Default("0 s");
        /// Time from the end of a page to the next click.
        pause: Duration = Kind::Time, Need::Default("0 s");
    }
}
