//! Recorders of a run beyond its summary.

use super::keys::{Kind, Need, table};
use sojourn_aqm::Duration;

table! {
    /// Recorders of a run, all off by default.
    #[derive(Default)]
    pub struct Probes {
        /// Every packet: sojourn time, drop or mark.
        packets: bool = Kind::Flag, Need::Default("false");
        /// Every drop, with the packet's number among those of its flow that reached the queue. Default: `false`.
        drops: Option<bool> = Kind::Flag, Need::Optional;
        /// Every completed transfer with start, duration and size; every segment of a video; every probe of a
        /// responsiveness test.
        transfers: bool = Kind::Flag, Need::Default("false");
        /// With `packets`: the transport header of every packet too, as captures need it.
        headers: bool = Kind::Flag, Need::Default("false");
        /// Every attempt to send a frame or an aggregate over the channel of a wireless LAN. Default: `false`.
        accesses: Option<bool> = Kind::Flag, Need::Optional;
        /// Each packet that a TCP or QUIC sender sends, receives or marks lost, and the sender's state after it:
        /// window, flight, pacing, RTT, state, timer; for figures of a flow and for qlog. Default: `false`.
        senders: Option<bool> = Kind::Flag, Need::Optional;
        /// Every report that a media sender receives: the encoder's rate at that time, queueing delay, losses, marks.
        /// Default: `false`.
        media: Option<bool> = Kind::Flag, Need::Optional;
        /// Packets and bytes waiting, sampled at this interval, e.g. `10 ms`. Default: off.
        queue: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Window, RTT, goodput and in-order delivery of each flow, sampled at this interval; not of the connections of
        /// `web`, `browser`, `video`, `rpm`, `packmime` and repeated transfers. Default: off.
        flows: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// State variables of the queue managers, sampled at this interval. Default: off.
        state: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Bytes sent by each link and its utilisation, per interval of this length. Default: off.
        utilisation: Option<Duration> = Kind::PositiveTime, Need::Optional;
    }
}

impl Probes {
    /// Whether the senders' packets and states are recorded.
    pub fn of_senders(&self) -> bool {
        self.senders == Some(true)
    }

    /// Whether drops are recorded.
    pub fn of_drops(&self) -> bool {
        self.drops == Some(true)
    }

    /// Whether any recorder writes a row per packet, drop or sender event.
    pub fn each(&self) -> bool {
        self.packets || self.of_drops() || self.of_senders()
    }
}
