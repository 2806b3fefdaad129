//! Datagrams that do not react to the network: regular (`cbr`), at random (`poisson`), or in between (`streaming`).

use crate::scenario::keys::{ECNS, Kind, Need, table};
use sojourn_aqm::{Ecn, Rate};

table! {
    /// An unresponsive source.
    pub struct UdpSpec {
        /// Mean rate of each flow, in bits of IP packets; above zero.
        rate: Rate = Kind::Rate, Need::Required("1 Mbit/s");
        /// Size of each IP packet in bytes.
        size: u32 = Kind::Size(28, 65_535), Need::Default("1500 B");
        /// ECN field of each packet.
        ecn: Ecn = Kind::Word("ECN field", || ECNS.iter().map(|&(word, _)| word).collect()), Need::Default("not-ect");
    }
}
