//! Pages of many objects over several connections that stay open.

use super::TcpSpec;
use super::sizes::{SIZES, Sizes};
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// A browser that loads one page after the other.
    pub struct BrowserSpec with tcp: TcpSpec {
        /// Objects of a page, beside its document.
        objects: u32 = Kind::Count(1, 100_000), Need::Default("50");
        /// Bytes of an object: a size, or { uniform = ["1 kB", "50 kB"] } or { log_uniform = [...] }, drawn for each object by the seed.
        size: Sizes = Kind::Own(&SIZES), Need::Required("10 kB");
        /// Bytes of the document that has to be there before the browser knows of the objects; without it, they are known at the click.
        document: Option<u64> = Kind::Size(1, 1 << 50), Need::Optional;
        /// Most connections at a time.
        connections: u32 = Kind::Count(1, 1_000), Need::Default("6");
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Time that the server needs for each answer.
        think: Duration = Kind::Time, Need::Default("0 s");
        /// Time from the end of a page to the next click.
        pause: Duration = Kind::Time, Need::Default("0 s");
    }
}
