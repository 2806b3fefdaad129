//! Captures of real networks: TCP segments and UDP datagrams of pcap and pcapng files.
//!
//! Sources: draft-ietf-opsawg-pcap-05 (either unit of time, either byte order) and draft-ietf-opsawg-pcapng-03 §4.
//! Captures of headers alone are enough. Of a truncated file the complete packets are used; a damaged one is rejected
//! with the byte offset.

mod dissect;
mod files;
pub mod pcapng;
pub mod replay;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

/// The TCP and UDP packets of a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// In the order of the file; at least one.
    pub packets: Vec<CapturedPacket>,
    /// Packets of other protocols, later fragments, and packets with incomplete headers.
    pub others: u64,
    /// The byte at which the file is truncated.
    pub cut: Option<u64>,
}

/// A TCP segment or a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapturedPacket {
    /// Since 1970, in ns.
    pub time_ns: u64,
    /// Address and port of the sender.
    pub source: (IpAddr, u16),
    /// Address and port of the receiver.
    pub destination: (IpAddr, u16),
    /// Whether it is a TCP segment; otherwise a UDP datagram.
    pub is_tcp: bool,
    /// IPv4 identification; 0 for IPv6.
    pub identification: u16,
    /// TCP sequence number; 0 for UDP.
    pub seq: u32,
    /// TCP acknowledgment number; 0 for UDP.
    pub ack: u32,
    /// TCP flags; 0 for UDP.
    pub flags: u8,
    /// Checksum of the transport header; invalid if the NIC had still to compute it (checksum offload).
    pub checksum: u16,
    /// Bytes after the transport header.
    pub payload: u32,
    /// ECN field, 0 to 3.
    pub ecn: u8,
    /// Bytes from the IP header on; above the MTU if the sending or receiving host offloads segmentation or reassembly.
    pub ip_bytes: u32,
    /// SACK blocks as in the header: first sequence number, and the one after the last; unused blocks are (0, 0).
    pub sack: [(u32, u32); 4],
}

/// TCP flag.
pub const SYN: u8 = 2;
/// TCP flag.
pub const ACK: u8 = 16;

/// Reads a pcap or pcapng file. The error has the problem and its solution, without the file's name.
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
            Err(format!("{notes}; no TCP or UDP packet in it"))
        }
    }
}

impl Capture {
    /// Descriptions of the packets that could not be used.
    pub fn notes(&self) -> Vec<String> {
        let whole = self.packets.len() as u64 + self.others;
        let cut = self.cut.map(|byte| format!("truncated at byte {byte}; the {whole} packets before it are used"));
        let others = format!("{} packets that are neither TCP nor UDP (or too short) are left out", self.others);
        cut.into_iter().chain((self.others > 0).then_some(others)).collect()
    }
}
