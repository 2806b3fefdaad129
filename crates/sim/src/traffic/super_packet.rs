//! A burst of a sender with segmentation offload on its way to the network.

use sojourn_aqm::Ecn;
use sojourn_tcp::Header;

/// Segments that leave as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuperPacket {
    pub header: Header,
    /// IP bytes of all of them.
    pub len: u32,
    pub ecn: Ecn,
    /// Payload of each but the last.
    pub segment: u16,
    /// How many they are.
    pub count: u32,
}

impl SuperPacket {
    /// The first segment.
    pub fn new(header: &Header, len: u32, ecn: Ecn) -> Self {
        Self { header: *header, len, ecn, segment: header.len, count: 1 }
    }

    /// Adds the segment that follows, if it can be part of the same super-packet.
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
