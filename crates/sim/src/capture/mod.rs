//! Captures of real networks: TCP segments and UDP datagrams of pcap and pcapng files.
//!
//! Sources: draft-ietf-opsawg-pcap-05 (either unit of time, either byte order) and draft-ietf-opsawg-pcapng-03 §4.
//! Captures of headers alone are enough; packets in tunnels are the innermost ones. Of a truncated file the complete
//! packets are used; a damaged one is rejected with the byte offset.

mod dissect;
mod files;
mod layers;
pub mod pcapng;
pub mod replay;
#[cfg(test)]
mod tests;

use dissect::Dissector;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The TCP and UDP packets of a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// In the order of the file; at least one.
    pub packets: Vec<CapturedPacket>,
    /// Numbers of packets that are not used, by their kind.
    pub others: BTreeMap<String, u64>,
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
    /// TCP sequence number; of UDP the offset in a fragmented datagram.
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

/// Reads a pcap or pcapng file, also compressed by gzip. The error has the problem and its solution, without the file's
/// name.
pub fn read(data: &[u8]) -> Result<Capture, String> {
    let (data, is_whole) = decompressed(data)?;
    let mut dissector = Dissector::default();
    let cut = files::frames(&data, &mut |frame| dissector.read(frame))?;
    dissector.finish();
    let Dissector { packets, others, .. } = dissector;
    let cut = cut.or((!is_whole).then_some(data.len() as u64));
    let capture = Capture { packets, others, cut };
    match (capture.packets.is_empty(), capture.notes()) {
        (false, _) => Ok(capture),
        (true, notes) => {
            let notes = if notes.is_empty() { "empty".to_string() } else { notes.join("; ") };
            Err(format!("{notes}; no TCP or UDP packet in it"))
        }
    }
}

/// The contents of a file that may be compressed by gzip, and whether they are complete.
fn decompressed(data: &[u8]) -> Result<(Cow<'_, [u8]>, bool), String> {
    if !data.starts_with(&[0x1F, 0x8B]) {
        return Ok((data.into(), true));
    }
    gunzip(data).map(|(bytes, is_whole)| (bytes.into(), is_whole))
}

/// The contents of a gzip file, and whether they are complete.
#[cfg(not(target_arch = "wasm32"))]
fn gunzip(data: &[u8]) -> Result<(Vec<u8>, bool), String> {
    use flate2::read::MultiGzDecoder;
    use std::io::{ErrorKind, Read as _};
    let mut bytes = Vec::new();
    let end = MultiGzDecoder::new(data).take(MAX_BYTES + 1).read_to_end(&mut bytes);
    match end.map_err(|error| error.kind()) {
        Ok(_) if bytes.len() as u64 > MAX_BYTES => Err("more than 4 GiB of packets; cut the capture".to_string()),
        Ok(_) => Ok((bytes, true)),
        Err(ErrorKind::UnexpectedEof) => Ok((bytes, false)),
        Err(_) => Err("not a valid gzip file; the file is damaged".to_string()),
    }
}

/// Raises an error: the module for browsers is small.
#[cfg(target_arch = "wasm32")]
fn gunzip(_: &[u8]) -> Result<(Vec<u8>, bool), String> {
    Err("compressed by gzip, which is not read here; decompress it first".to_string())
}

/// Maximum size of a capture after decompression, against files that are made to fill the memory.
#[cfg(not(target_arch = "wasm32"))]
const MAX_BYTES: u64 = 1 << 32;

/// Maximum number of kinds that a note names.
const MAX_KINDS: usize = 20;

impl Capture {
    /// Number of packets that are not used.
    pub fn left_out(&self) -> u64 {
        self.others.values().sum()
    }

    /// Descriptions of the packets that could not be used.
    pub fn notes(&self) -> Vec<String> {
        let whole = self.packets.len() as u64 + self.left_out();
        let cut = self.cut.map(|byte| format!("truncated at byte {byte}; the {whole} packets before it are used"));
        let mut kinds: Vec<_> = self.others.iter().collect();
        kinds.sort_by_key(|&(kind, count)| (Reverse(count), kind));
        let named: Vec<String> = kinds.iter().take(MAX_KINDS).map(|(kind, count)| format!("{count} {kind}")).collect();
        let rest = kinds.len().saturating_sub(MAX_KINDS);
        let rest = if rest > 0 { format!(", and {rest} other kinds") } else { String::new() };
        let others = format!("{} packets are left out: {}{rest}", self.left_out(), named.join(", "));
        cut.into_iter().chain((!kinds.is_empty()).then_some(others)).collect()
    }
}
