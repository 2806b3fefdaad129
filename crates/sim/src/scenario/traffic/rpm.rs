//! Responsiveness test: load-generating connections and probes.

use super::TcpSpec;
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// Client that measures responsiveness under working conditions (draft-ietf-ippm-responsiveness).
    pub struct RpmSpec with tcp: TcpSpec {
        /// Length of an interval (`ID`); 5 s in the draft since 2026, 1 s in earlier versions and tools, such as
        /// draft-02.
        interval: Duration = Kind::PositiveTime, Need::Default("5 s");
        /// Intervals in a moving average (`MAD`).
        average: u32 = Kind::Count(1, 1_000), Need::Default("4");
        /// Load-generating connections at the start (`INP`).
        initial: u32 = Kind::Count(1, 1_000), Need::Default("1");
        /// Connections added at each interval (`INC`).
        increment: u32 = Kind::Count(0, 1_000), Need::Default("1");
        /// Maximum number of load-generating connections (`MNP`).
        most: u32 = Kind::Count(1, 1_000), Need::Default("16");
        /// Maximum number of probes per second, both kinds together (`MPS`).
        probes: u32 = Kind::Count(1, 10_000), Need::Default("100");
        /// Maximum share of the goodput that probes take, in percent (`PTC`); a foreign and a self probe are 6000 B. In
        /// the first interval, before the goodput is known, there are no probes.
        share: u32 = Kind::Count(1, 100), Need::Default("5");
        /// Share of the samples, the shortest ones, that are averaged, in percent (`TMP`).
        trim: u32 = Kind::Count(1, 100), Need::Default("95");
        /// Maximum standard deviation of a stable value, in percent of the newest one (`SDT`).
        tolerance: u32 = Kind::Count(1, 100), Need::Default("5");
        /// Foreign probes do a TLS handshake, in one round trip of 1000 B and 3000 B.
        tls: bool = Kind::Flag, Need::Default("true");
        /// Bytes that a server keeps unsent in the socket of a load-generating connection (`TCP_NOTSENT_LOWAT`); the
        /// response to a self probe waits behind them before it reaches the network, as in HTTP/2 without priorities.
        unsent: u64 = Kind::Size(1, 1 << 40), Need::Default("16 kB");
        /// Time that the server takes to respond to a probe.
        think: Duration = Kind::Time, Need::Default("0 s");
    }
}
