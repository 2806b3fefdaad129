//! Voice calls: datagrams at a constant rate, with or without silences.

use crate::scenario::keys::{ECNS, Kind, Need, table};
use sojourn_aqm::{Duration, Ecn, Rate};

table! {
    /// One direction of a voice call.
    pub struct VoiceSpec {
        /// Rate while a person talks, in bits of IP packets.
        rate: Rate = Kind::Rate, Need::Default("64 kbit/s");
        /// Size of the IP packets.
        size: u32 = Kind::Size(28, 65_535), Need::Default("200 B");
        /// Mean length of talking, exponentially distributed.
        on: Duration = Kind::PositiveTime, Need::Default("1 s");
        /// Mean length of silence, exponentially distributed; `0 s` for a call without silence.
        off: Duration = Kind::Time, Need::Default("1.35 s");
        /// ECN field of the packets.
        ecn: Ecn = Kind::Word("ECN field", || ECNS.iter().map(|&(word, _)| word).collect()), Need::Default("not-ect");
    }
}
