//! The TCP segment or UDP datagram in a frame.

use super::CapturedPacket;
use super::files::Frame;
use sojourn_aqm::headers::{IpHeader, SACK, TCP, TCP_BYTES, TcpHeader, TcpOptions, UDP, UDP_BYTES};
use sojourn_aqm::headers::{ports_at, sack_blocks, u16_at};

/// The packet in a frame; `None` unless it is a complete TCP segment or UDP datagram.
pub(super) fn packet(frame: &Frame) -> Option<CapturedPacket> {
    let start = network_layer(frame.link_type, frame.data)?;
    let data = frame.data.get(start..)?;
    let ip = IpHeader::parse(data)?.of_first_fragment(data)?;
    // The IP length is 0 if the sending host leaves segmentation to its NIC.
    let bytes = ip.length.or_else(|| (frame.size as usize).checked_sub(start))?;
    let at = ip.next;
    let [source, destination] = ports_at(data, at)?;
    let mut packet = CapturedPacket {
        time_ns: frame.time_ns,
        source: (ip.source, source),
        destination: (ip.destination, destination),
        is_tcp: ip.protocol == TCP,
        identification: ip.identification,
        seq: 0,
        ack: 0,
        flags: 0,
        checksum: 0,
        payload: 0,
        ecn: ip.class & 3,
        ip_bytes: u32::try_from(bytes).ok()?,
        sack: [(0, 0); 4],
    };
    let header = match ip.protocol {
        TCP => {
            let tcp = TcpHeader::parse(data, at)?;
            (packet.seq, packet.ack, packet.flags) = (tcp.seq, tcp.ack, tcp.flags as u8);
            packet.checksum = u16_at(data, at + 16).unwrap_or(0);
            packet.sack = data.get(at + TCP_BYTES..at + tcp.size).map_or([(0, 0); 4], sack);
            tcp.size
        }
        UDP => {
            u16_at(data, at + 4)?;
            packet.checksum = u16_at(data, at + 6).unwrap_or(0);
            UDP_BYTES
        }
        _ => return None,
    };
    packet.payload = u32::try_from(bytes.checked_sub(at + header)?).ok()?;
    Some(packet)
}

/// The blocks of the SACK option (RFC 2018 §3).
fn sack(options: &[u8]) -> [(u32, u32); 4] {
    let mut blocks = [(0, 0); 4];
    for (kind, value) in TcpOptions(options).map_while(Result::ok) {
        if kind == SACK {
            blocks.iter_mut().zip(sack_blocks(value)).for_each(|(block, found)| *block = found);
        }
    }
    blocks
}

/// Offset of the IP header; `None` for other protocols or unknown link types.
fn network_layer(link_type: u32, data: &[u8]) -> Option<usize> {
    let (kind_at, mut at) = match link_type {
        12 | 14 | 101 | 228 | 229 => return Some(0),
        0 | 108 => return Some(4),
        ETHERNET => (12, 14),
        COOKED => (14, 16),
        COOKED_2 => (0, 20),
        _ => return None,
    };
    let mut kind = u16_at(data, kind_at)?;
    while VLAN.contains(&kind) {
        (kind, at) = (u16_at(data, at + 2)?, at + 4);
    }
    IP.contains(&kind).then_some(at)
}

const ETHERNET: u32 = 1;
/// Linux cooked captures, version 1 and 2.
const COOKED: u32 = 113;
const COOKED_2: u32 = 276;
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const IP: [u16; 2] = [0x0800, 0x86DD];
