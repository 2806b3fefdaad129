//! Requests and responses in turn over one connection.

use super::TcpSpec;
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// Client that sends the next request after each response.
    pub struct RequestSpec with tcp: TcpSpec {
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Bytes of a response.
        size: u64 = Kind::Size(1, 1 << 50), Need::Required("10 kB");
        /// Time that the server takes to respond.
        think: Duration = Kind::Time, Need::Default("0 s");
        /// Time from the end of a response to the next request.
        gap: Duration = Kind::Time, Need::Default("0 s");
    }
}
