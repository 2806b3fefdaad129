//! Bursts of a sender with segmentation offload.

use sojourn_aqm::Ecn;
use sojourn_tcp::Header;

/// Consecutive segments that leave as one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuperPacket {
    pub header: Header,
    /// IP bytes of all segments.
    pub len: u32,
    pub ecn: Ecn,
    /// Payload of each segment but the last.
    pub segment: u16,
    /// Number of segments.
    pub count: u32,
}

impl SuperPacket {
    /// A super-packet of one segment.
    pub fn new(header: &Header, len: u32, ecn: Ecn) -> Self {
        Self { header: *header, len, ecn, segment: header.len, count: 1 }
    }

    /// Appends the next segment. Returns whether it fits into the super-packet.
    pub fn add(&mut self, header: &Header, len: u32, ecn: Ecn) -> bool {
        let fits = ecn == self.ecn && self.header.is_continued_by(header, self.segment);
        if fits {
            self.header.join(header);
            self.len += len;
            self.count += 1;
        }
        fits
    }
}
