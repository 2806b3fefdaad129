//! Captures of real networks: TCP segments and UDP datagrams of pcap and pcapng files.
//!
//! Sources: draft-ietf-opsawg-pcap-05 (either unit of time, either byte order) and draft-ietf-opsawg-pcapng-03 §4.
//! Captures that kept only headers are enough. Of a file that was cut off, what is complete is used; a damaged one is
//! refused with the place.

mod dissect;
mod files;
pub mod replay;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

/// What a capture file holds of TCP and UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// In the order of the file; at least one.
    pub packets: Vec<CapturedPacket>,
    /// Packets of other protocols, later fragments, and those of which the headers were not kept.
    pub others: u64,
    /// The byte at which the file is cut off.
    pub cut: Option<u64>,
}

/// A TCP segment or a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapturedPacket {
    /// Since 1970.
    pub time_ns: u64,
    /// Address and port of the sending end.
    pub source: (IpAddr, u16),
    /// Address and port of the receiving end.
    pub destination: (IpAddr, u16),
    /// Whether it is of TCP.
    pub is_tcp: bool,
    /// Of IPv4; 0 of IPv6.
    pub identification: u16,
    /// As in the header; 0 of UDP.
    pub seq: u32,
    /// As in the header; 0 of UDP.
    pub ack: u32,
    /// As in the header; 0 of UDP.
    pub flags: u8,
    /// Checksum of the transport header, of which a network card may still have had to make the value.
    pub checksum: u16,
    /// Bytes behind the transport header.
    pub payload: u32,
    /// ECN field, 0 to 3.
    pub ecn: u8,
    /// Bytes from the IP header on; above the MTU where the sending or receiving host left the cutting to its card.
    pub ip_bytes: u32,
    /// Selective acknowledgments, as in the header: first number and the one behind the last, none where both are 0.
    pub sack: [(u32, u32); 4],
}

/// A flag of TCP.
pub const SYN: u8 = 2;
/// A flag of TCP.
pub const ACK: u8 = 16;

/// Reads a pcap or pcapng file. The error says what is wrong and what to do, without the file's name.
pub fn read(data: &[u8]) -> Result<Capture, String> {
    let mut capture = Capture { packets: Vec::new(), others: 0, cut: None };
    capture.cut = files::frames(data, &mut |frame| match dissect::packet(frame) {
        Some(packet) => capture.packets.push(packet),
        None => capture.others += 1,
    })?;
    match (capture.packets.is_empty(), capture.notes()) {
        (false, _) => Ok(capture),
        (true, notes) => {
            let notes = if notes.is_empty() { "empty".to_string() } else { notes.join("; ") };
            Err(format!("{notes}; there is no TCP or UDP packet in it"))
        }
    }
}

impl Capture {
    /// What could not be used, in words.
    pub fn notes(&self) -> Vec<String> {
        let whole = self.packets.len() as u64 + self.others;
        let cut = self.cut.map(|byte| format!("cut off at byte {byte}, {whole} packets before it are used"));
        let others = format!("{} packets that are neither TCP nor UDP (or too short) are left out", self.others);
        cut.into_iter().chain((self.others > 0).then_some(others)).collect()
    }
}
