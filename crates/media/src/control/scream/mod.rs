//! SCReAM: a congestion window for the bytes in flight, and a target rate for the encoder.
//!
//! [`Scream1`] is RFC 8298, [`Scream2`] version 2 (draft-ietf-ccwg-rfc8298bis-screamv2). In both, bytes are those of IP
//! packets, and each report gives one sample of queueing delay and round-trip time.
//!
//! A closed window lets one packet go after 0.5 s without any (see the sender): if all packets in flight are lost, no
//! report comes, and the implementation empties its list then.
//!
//! Differs: a packet that a report covers as missing is lost at once, without a reordering window, because reports
//! cover each packet once. The minimum delay is over the whole flow instead of the last minutes (RFC 6817). Packets
//! whose report was lost count neither as acknowledged nor as lost.

mod v1;
mod v2;

pub(super) use v1::Scream1;
pub(super) use v2::Scream2;

use super::{Feedback, PacketResult};
use sojourn_aqm::Duration;

/// Path estimates from reports, in seconds.
#[derive(Clone, Debug, Default)]
struct PathStats {
    base_delay: Option<Duration>,
    qdelay: f64,
    /// Smoothed round-trip time (RFC 6298), including the time at the receiver; `None` before the first report.
    s_rtt: Option<f64>,
}

impl PathStats {
    /// Processes a report; its last arrived packet gives the sample.
    fn update(&mut self, results: &Feedback) {
        let delays = results.packets.iter().filter_map(PacketResult::delay);
        self.base_delay = delays.chain(self.base_delay).min();
        let Some(last) = results.packets.iter().rev().find(|packet| packet.arrived.is_some()) else { return };
        let Some((delay, base)) = last.delay().zip(self.base_delay) else { return };
        self.qdelay = (delay - base).as_secs_f64();
        let rtt = (results.now - last.sent).as_secs_f64();
        self.s_rtt = Some(self.s_rtt.map_or(rtt, |known| known + (rtt - known) / 8.0));
    }
}

/// Bytes of all packets of a report, including lost ones.
fn newly_acked(results: &Feedback) -> f64 {
    results.packets.iter().map(|packet| f64::from(packet.bytes)).sum()
}

/// In bytes, for both versions.
const MSS: f64 = 1000.0;
