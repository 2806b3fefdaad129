//! Datagrams at a constant rate.

use super::UdpSpec;
use crate::scenario::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// Source with a constant rate.
    pub struct CbrSpec with udp: UdpSpec {
        /// Sends the datagrams of each period back to back at its start, as iperf3 before 3.2 did every `100 ms`. Without
        /// it the gaps are equal.
        period: Option<Duration> = Kind::PositiveTime, Need::Optional;
    }
}
