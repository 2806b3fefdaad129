//! Unresponsive datagrams: Poisson arrivals (`poisson`), jittered gaps (`streaming`), or with more keys a constant rate.

use crate::scenario::keys::{ECNS, Kind, Need, table};
use sojourn_aqm::{Ecn, Rate};

table! {
    /// Unresponsive source.
    pub struct UdpSpec {
        /// Mean rate of each flow, in bits of IP packets.
        rate: Rate = Kind::Rate, Need::Required("1 Mbit/s");
        /// Size of the IP packets.
        size: u32 = Kind::Size(28, 65_535), Need::Default("1500 B");
        /// ECN field of the packets.
        ecn: Ecn = Kind::Word("ECN field", || ECNS.iter().map(|&(word, _)| word).collect()), Need::Default("not-ect");
    }
}
