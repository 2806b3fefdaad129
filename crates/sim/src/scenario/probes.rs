//! What a run records beyond its summary.

use super::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// The recorders of a run; without their keys, they are off.
    #[derive(Default)]
    pub struct Probes {
        /// Records every packet's sojourn, and every drop and mark.
        packets: bool = Kind::Flag, Need::Default("false");
        /// Records every drop.
        drops: Option<bool> = Kind::Flag, Need::Optional;
        /// Records every completed transfer.
        transfers: bool = Kind::Flag, Need::Default("false");
        /// With `packets`: also every packet's transport header, for captures.
        headers: bool = Kind::Flag, Need::Default("false");
        /// Records every attempt to send a frame over the channel of a wireless LAN.
        accesses: Option<bool> = Kind::Flag, Need::Optional;
        /// Records what each TCP sender sends, hears, believes lost, and how it stands after it.
        senders: Option<bool> = Kind::Flag, Need::Optional;
        /// Records every report that a sender of media gets.
        media: Option<bool> = Kind::Flag, Need::Optional;
        /// Sampling step of the queue length.
        queue: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Sampling step of each flow's window, RTT and goodput.
        flows: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Sampling step of the queue manager's state variables.
        state: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Step over which the bytes of each link are summed.
        utilisation: Option<Duration> = Kind::PositiveTime, Need::Optional;
    }
}

impl Probes {
    /// Whether what senders do is recorded.
    pub fn of_senders(&self) -> bool {
        self.senders == Some(true)
    }

    /// Whether drops are recorded.
    pub fn of_drops(&self) -> bool {
        self.drops == Some(true)
    }

    /// Whether packets, drops or what senders do are recorded one by one.
    pub fn each(&self) -> bool {
        self.packets || self.of_drops() || self.of_senders()
    }
}
