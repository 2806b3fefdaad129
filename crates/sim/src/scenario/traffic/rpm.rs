//! The responsiveness test: load-generating connections and probes.

use super::TcpSpec;
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// A client that measures responsiveness under working conditions.
    pub struct RpmSpec with tcp: TcpSpec {
        /// Length of an interval (ID): at its end the goodput, later the responsiveness, is looked at, and load is added.
        interval: Duration = Kind::PositiveTime, Need::Default("5 s");
        /// Intervals in a moving average (MAD).
        average: u32 = Kind::Count(1, 1_000), Need::Default("4");
        /// Load-generating connections at the start (INP).
        initial: u32 = Kind::Count(1, 1_000), Need::Default("1");
        /// Connections added at each interval (INC).
        increment: u32 = Kind::Count(0, 1_000), Need::Default("1");
        /// Most load-generating connections (MNP).
        most: u32 = Kind::Count(1, 1_000), Need::Default("16");
        /// Most probes a second (MPS), both kinds together.
        probes: u32 = Kind::Count(1, 10_000), Need::Default("100");
        /// Most of the capacity that probes may take, in percent (PTC).
        share: u32 = Kind::Count(1, 100), Need::Default("5");
        /// Samples in a trimmed mean, the shortest ones, in percent (TMP).
        trim: u32 = Kind::Count(1, 100), Need::Default("95");
        /// Most standard deviation of what counts as stable, in percent of the newest value (SDT).
        tolerance: u32 = Kind::Count(1, 100), Need::Default("5");
        /// Probes on connections of their own shake hands by TLS, in one round trip.
        tls: bool = Kind::Flag, Need::Default("true");
        /// Bytes that a server keeps unsent in the socket of a load-generating connection, before which nothing passes.
        unsent: u64 = Kind::Size(1, 1 << 40), Need::Default("16 kB");
        /// Time that the server needs for the answer to a probe.
        think: Duration = Kind::Time, Need::Default("0 s");
    }
}
