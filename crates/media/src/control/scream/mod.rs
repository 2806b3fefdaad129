//! SCReAM: a congestion window that bytes in flight keep to, and a rate of the encoder beside it.
//!
//! [`Scream1`] is that of RFC 8298, [`Scream2`] version 2 (draft-ietf-ccwg-rfc8298bis-screamv2). In both, bytes are those
//! of IP packets, and a queueing delay and a round-trip time are found with each report.
//!
//! Differs: a packet that a report does not tell of is lost at once, without a reordering window: reports tell of each
//! packet once. The least delay is that of the whole flow, not of the last minutes (RFC 6817). Packets of a report that
//! was lost are taken for neither acknowledged nor lost.

mod v1;
mod v2;

pub(super) use v1::Scream1;
pub(super) use v2::Scream2;

use super::{Feedback, PacketResult};
use sojourn_aqm::Duration;

/// What reports tell of the path, in seconds.
#[derive(Clone, Debug, Default)]
struct PathStats {
    base_delay: Option<Duration>,
    qdelay: f64,
    /// The smoothed round-trip time (RFC 6298), the time at the receiver included; unknown before the first report.
    s_rtt: Option<f64>,
}

impl PathStats {
    /// Takes a report; the last packet that arrived stands for it.
    fn update(&mut self, results: &Feedback) {
        let delays = results.packets.iter().filter_map(PacketResult::delay);
        self.base_delay = delays.chain(self.base_delay).min();
        let Some(last) = results.packets.iter().rev().find(|packet| packet.arrived.is_some()) else { return };
        let Some((delay, least)) = last.delay().zip(self.base_delay) else { return };
        self.qdelay = (delay - least).as_secs_f64();
        let rtt = (results.now - last.sent).as_secs_f64();
        self.s_rtt = Some(self.s_rtt.map_or(rtt, |known| known + (rtt - known) / 8.0));
    }
}

/// Bytes of a report: all that it tells of, lost ones too.
fn newly_acked(results: &Feedback) -> f64 {
    results.packets.iter().map(|packet| f64::from(packet.bytes)).sum()
}

/// Of both versions; bytes.
const MSS: f64 = 1000.0;
