//! PackMime-HTTP: web traffic of many users.

use super::TcpSpec;
use crate::scenario::keys::{Kind, Need, table};

/// HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// One request per connection.
    V1_0,
    /// Some connections stay open for more requests.
    V1_1,
}

table! {
    /// A cloud of clients and a cloud of servers.
    pub struct PackMimeSpec with tcp: TcpSpec {
        /// New connections per second, on average; all distributions follow from it.
        connections_per_second: u32 = Kind::Count(1, 100_000), Need::Required("15");
        /// `HTTP/1.0`: one request per connection; `HTTP/1.1`: some connections stay open for more.
        protocol: Http = Kind::Word("version of HTTP", || HTTPS.iter().map(|&(word, _)| word).collect()), Need::Default("HTTP/1.1");
    }
}

/// HTTP versions and their words.
pub(in crate::scenario) const HTTPS: &[(&str, Http)] = &[("HTTP/1.0", Http::V1_0), ("HTTP/1.1", Http::V1_1)];
