//! The TCP segment or UDP datagram in a frame, and its fragments.

use super::files::Frame;
use super::layers::{ip_packet, truncated};
use super::{CapturedPacket, SYN};
use sojourn_aqm::headers::{FRAGMENT, ICMP, ICMP6, IpHeader, SACK, TCP, TCP_BYTES, TcpHeader, TcpOptions, UDP};
use sojourn_aqm::headers::{UDP_BYTES, field, ports_at, sack_blocks, u16_at};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Packets of frames, in their order. Later fragments get the ports of the first one, which may come after them.
#[derive(Default)]
pub(super) struct Dissector {
    pub packets: Vec<CapturedPacket>,
    /// Number of frames that are not used, by kind.
    pub others: BTreeMap<String, u64>,
    /// First fragments of datagrams, with the bytes of their TCP headers.
    firsts: BTreeMap<DatagramId, (CapturedPacket, u32)>,
    /// Later fragments without ports: indices in `packets`.
    waiting: BTreeMap<DatagramId, Vec<usize>>,
}

/// RFC 791 §3.2, RFC 8200 §4.5: source, destination, protocol (of IPv4), identification.
type DatagramId = (IpAddr, IpAddr, u8, u32);

/// The fragment of a datagram.
struct Fragment {
    id: DatagramId,
    /// In bytes of the datagram.
    offset: u32,
    /// Bytes of the TCP header, if it is a first fragment with one.
    header: u32,
}

impl Dissector {
    /// Reads the next frame.
    pub fn read(&mut self, frame: &Frame) {
        match packet(frame) {
            Ok((packet, None)) => self.packets.push(packet),
            Ok((packet, Some(Fragment { id, offset: 0, header }))) => {
                for index in self.waiting.remove(&id).unwrap_or_default() {
                    self.packets[index] = of_first(&(packet, header), self.packets[index]);
                }
                self.firsts.insert(id, (packet, header));
                self.packets.push(packet);
            }
            Ok((packet, Some(Fragment { id, .. }))) => {
                // An identification is used again after the time of reassembly.
                let is_near = |first: &&(CapturedPacket, u32)| packet.time_ns.abs_diff(first.0.time_ns) < REASSEMBLY_NS;
                let first = self.firsts.get(&id).filter(is_near);
                if first.is_none() {
                    self.waiting.entry(id).or_default().push(self.packets.len());
                }
                self.packets.push(first.map_or(packet, |first| of_first(first, packet)));
            }
            Err(kind) => *self.others.entry(kind).or_insert(0) += 1,
        }
    }

    /// Removes the fragments whose first one is missing.
    pub fn finish(&mut self) {
        let mut lost: Vec<usize> = self.waiting.values().flatten().copied().collect();
        if lost.is_empty() {
            return;
        }
        lost.sort_unstable();
        self.others.insert("fragments without their first".to_string(), lost.len() as u64);
        let mut index = 0..;
        self.packets.retain(|_| index.next().is_none_or(|index| lost.binary_search(&index).is_err()));
    }
}

/// A later fragment, whose `seq` is its offset, with the fields of the first one.
fn of_first(&(first, header): &(CapturedPacket, u32), later: CapturedPacket) -> CapturedPacket {
    CapturedPacket {
        source: first.source,
        destination: first.destination,
        is_tcp: first.is_tcp,
        seq: first.seq.wrapping_add(later.seq).wrapping_sub(header),
        ack: first.ack,
        flags: first.flags & !SYN,
        ..later
    }
}

/// The packet in a frame and, of a fragment, its place; or the kind of another frame.
fn packet(frame: &Frame) -> Result<(CapturedPacket, Option<Fragment>), String> {
    let data = ip_packet(frame.link_type, frame.data)?;
    let start = frame.data.len() - data.len();
    let ip = IpHeader::parse(data).ok_or_else(truncated)?;
    let (protocol, at, mut fragment) = fragment(&ip, data)?;
    // The IP length is 0 if the sending host leaves segmentation to its NIC.
    let bytes = ip.length.or_else(|| (frame.size as usize).checked_sub(start)).ok_or_else(truncated)?;
    let mut packet = CapturedPacket {
        time_ns: frame.time_ns,
        source: (ip.source, 0),
        destination: (ip.destination, 0),
        is_tcp: protocol == TCP,
        identification: ip.identification,
        seq: 0,
        ack: 0,
        flags: 0,
        checksum: 0,
        payload: 0,
        ecn: ip.class & 3,
        ip_bytes: u32::try_from(bytes).map_err(|_| truncated())?,
        sack: [(0, 0); 4],
    };
    if let Some(Fragment { offset: 1.., .. }) = fragment {
        packet.seq = fragment.as_ref().map_or(0, |fragment| fragment.offset);
        packet.payload = u32::try_from(bytes.saturating_sub(at)).map_err(|_| truncated())?;
        return if matches!(protocol, TCP | UDP | DESTINATION) {
            Ok((packet, fragment))
        } else {
            Err(name_of(protocol))
        };
    }
    let header = match protocol {
        TCP => {
            let tcp = TcpHeader::parse(data, at).ok_or_else(truncated)?;
            (packet.seq, packet.ack, packet.flags) = (tcp.seq, tcp.ack, tcp.flags as u8);
            packet.checksum = u16_at(data, at + 16).unwrap_or(0);
            packet.sack = data.get(at + TCP_BYTES..at + tcp.size).map_or([(0, 0); 4], sack);
            fragment.iter_mut().for_each(|fragment| fragment.header = tcp.size as u32);
            tcp.size
        }
        UDP => {
            u16_at(data, at + 4).ok_or_else(truncated)?;
            packet.checksum = u16_at(data, at + 6).unwrap_or(0);
            UDP_BYTES
        }
        other => return Err(name_of(other)),
    };
    let [source, destination] = ports_at(data, at).ok_or_else(truncated)?;
    (packet.source.1, packet.destination.1) = (source, destination);
    let payload = bytes.checked_sub(at + header).and_then(|payload| u32::try_from(payload).ok());
    packet.payload = payload.ok_or_else(truncated)?;
    Ok((packet, fragment))
}

/// Protocol and offset of the header after IP, and the fragment that the packet is.
fn fragment(ip: &IpHeader, data: &[u8]) -> Result<(u8, usize, Option<Fragment>), String> {
    let of =
        |protocol, number, offset| Fragment { id: (ip.source, ip.destination, protocol, number), offset, header: 0 };
    if ip.fragment != 0 {
        let offset = u32::from(ip.fragment & 0x1fff) * 8;
        return Ok((ip.protocol, ip.next, Some(of(ip.protocol, ip.identification.into(), offset))));
    }
    if ip.protocol != FRAGMENT {
        return Ok((ip.protocol, ip.next, None));
    }
    let [protocol, _, high, low, number @ ..]: [u8; 8] = field(data, ip.next).ok_or_else(truncated)?;
    let place = u16::from_be_bytes([high, low]);
    // IPv6 names the protocol in the first fragment only; a fragment without others is a whole packet (RFC 6946).
    let fragment = (place & 0xfff9 != 0).then(|| of(0, u32::from_be_bytes(number), u32::from(place & 0xfff8)));
    match ip.of_first_fragment(data) {
        Some(first) => Ok((first.protocol, first.next, fragment)),
        None => Ok((protocol, ip.next + 8, fragment)),
    }
}

/// Name of a protocol over IP that has no ports here.
fn name_of(protocol: u8) -> String {
    match protocol {
        ICMP => "ICMP",
        2 => "IGMP",
        33 => "DCCP",
        46 => "RSVP",
        47 => "GRE",
        50 => "ESP",
        51 => "AH",
        ICMP6 => "ICMPv6",
        59 => "IPv6 without payload",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        112 => "VRRP",
        113 => "PGM",
        132 => "SCTP",
        135 => "IPv6 mobility",
        other => return format!("IP protocol {other}"),
    }
    .to_string()
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

/// IPv6's header of options for the destination.
const DESTINATION: u8 = 60;
/// RFC 8200 §4.5: fragments of one datagram arrive within a minute.
const REASSEMBLY_NS: u64 = 60_000_000_000;
