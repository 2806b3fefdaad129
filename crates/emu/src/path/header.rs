//! Headers of a frame: virtio, IP and transport ([`sojourn_aqm::headers`]).
//!
//! Source: virtio 1.2 §5.1.6 (`virtio_net_hdr`). No field is trusted: programs inside a shell can send any bytes.

use sojourn_aqm::Ecn;
use sojourn_aqm::headers::{
    IP6_BYTES, IpHeader, TCP_BYTES, TcpHeader, UDP_BYTES, field, ports_at, set_ecn, u16_at, u32_at,
};
pub use sojourn_aqm::headers::{TCP, UDP, fold, sum};

/// Bytes of the virtio header in front of a frame.
pub const VNET: usize = 10;

/// The virtio header: offloads that the kernel has left to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vnet {
    /// [`NEEDS_CSUM`], [`DATA_VALID`].
    pub flags: u8,
    /// GSO type, without [`GSO_ECN`].
    pub gso: u8,
    /// Whether the first segment of a superframe carries CWR and the others do not.
    pub cwr: bool,
    /// Bytes of headers; a hint.
    pub hdr_len: u16,
    /// Payload bytes of each segment except the last.
    pub gso_size: u16,
    /// Start of the checksummed bytes, counted from the start of the IP header.
    pub csum_start: u16,
    /// Offset of the checksum field, counted from `csum_start`.
    pub csum_offset: u16,
}

impl Vnet {
    /// Parses the start of a frame; `None` if it is too short.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let [flags, gso, rest @ ..] = field::<VNET>(frame, 0)?;
        let half = |i: usize| u16::from_ne_bytes([rest[2 * i], rest[2 * i + 1]]);
        Some(Self {
            flags,
            gso: gso & !GSO_ECN,
            cwr: gso & GSO_ECN != 0,
            hdr_len: half(0),
            gso_size: half(1),
            csum_start: half(2),
            csum_offset: half(3),
        })
    }

    /// Writes the header to `out`.
    pub fn write(&self, out: &mut [u8; VNET]) {
        out[0] = self.flags;
        out[1] = self.gso | if self.cwr { GSO_ECN } else { 0 };
        for (at, value) in [(2, self.hdr_len), (4, self.gso_size), (6, self.csum_start), (8, self.csum_offset)] {
            out[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
    }
}

/// Parsed headers of an IP packet or superframe; offsets count from the start of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// 4 or 6; 0 if the frame is not IP.
    pub version: u8,
    /// TCP or UDP if the packet is not a fragment and the transport header is complete; otherwise 0.
    pub transport: u8,
    /// Offset of the transport header.
    pub at: usize,
    /// Offset of the payload: after the transport header, or after IP's if the transport is unknown.
    pub end: usize,
    /// Flow identifier: a hash of addresses, protocol and ports, for fragments without ports.
    pub flow: u32,
    /// Source and destination host: an IPv4 address as a number, or a hash of an IPv6 address.
    pub hosts: (u32, u32),
    /// Differentiated services code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
}

/// Flow identifier, as in logs, of a TCP flow between addresses of 4 or 16 bytes.
pub fn tcp_flow(source: &[u8], destination: &[u8], source_port: u16, port: u16) -> Option<u32> {
    let mut ip = match (source.len(), destination.len()) {
        (4, 4) => [&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, TCP, 0, 0], source, destination].concat(),
        (16, 16) => [&[0x60, 0, 0, 0, 0, 0, TCP, 64], source, destination].concat(),
        _ => return None,
    };
    let ports = [source_port.to_be_bytes(), port.to_be_bytes()].concat();
    ip.extend([&ports[..], &[0, 0, 0, 0, 0, 0, 0, 0, 5 << 4, 0, 0, 0, 0, 0, 0, 0]].concat());
    Headers::parse(&ip).map(|headers| headers.flow)
}

impl Headers {
    /// Parses the headers of the IP packet `ip`; `None` if it is not valid.
    pub fn parse(ip: &[u8]) -> Option<Self> {
        let header = IpHeader::parse(ip)?;
        let (version, mut protocol, mut at) = (header.version(), header.protocol, header.next);
        let (hosts, mixed) = if version == 4 {
            let hosts = (u32_at(ip, 12)?, u32_at(ip, 16)?);
            let mixed = mix(hosts.0 as u64 | (hosts.1 as u64) << 32, protocol.into());
            // A fragment, even the first one, does not contain the whole packet.
            protocol = if header.fragment == 0 { protocol } else { 0 };
            (hosts, mixed)
        } else {
            if at > ip.len() {
                (protocol, at) = (0, IP6_BYTES);
            }
            let digest = |at: usize| {
                let words = (at..at + 16).step_by(4).filter_map(|at| u32_at(ip, at));
                words.fold(0, |sum, word| mix(sum, word.into()))
            };
            let (from, to) = (digest(8), digest(24));
            ((from as u32, to as u32), mix(mix(from, to), protocol.into()))
        };
        if at > ip.len() {
            return None;
        }
        let size = match protocol {
            TCP => TcpHeader::parse(ip, at).map(|tcp| tcp.size).filter(|&size| size >= TCP_BYTES),
            UDP => Some(UDP_BYTES),
            _ => None,
        };
        let whole = size.filter(|size| at + size <= ip.len());
        let (transport, end) = whole.map_or((0, at), |size| (protocol, at + size));
        let ports = whole.and_then(|_| u32_at(ip, at)).unwrap_or(0);
        let flow = mix(mixed, ports.into());
        let (dscp, ecn) = (header.class >> 2, Ecn::ALL[(header.class & 3) as usize]);
        Some(Self { version, transport, at, end, flow: (flow ^ flow >> 32) as u32, hosts, dscp, ecn })
    }

    /// Headers of a frame that is not IP; its flow is a hash of the link-layer header.
    pub fn other(link: &[u8]) -> Self {
        let mixed = link.iter().fold(0, |sum, &byte| mix(sum, byte.into()));
        let flow = (mixed ^ mixed >> 32) as u32;
        Self { version: 0, transport: 0, at: 0, end: 0, flow, hosts: (0, 0), dscp: 0, ecn: Ecn::NotEct }
    }

    /// Source and destination port of TCP or UDP; `headers` begins with the IP header.
    pub fn ports(&self, headers: &[u8]) -> Option<[u16; 2]> {
        ports_at(headers, self.at).filter(|_| self.transport != 0)
    }

    /// TCP flags, 0 for another transport; `headers` begins with the IP header.
    pub fn tcp_flags(&self, headers: &[u8]) -> u8 {
        self.tcp(headers).map_or(0, |tcp| tcp[13])
    }

    /// TCP sequence number, 0 for another transport.
    pub fn seq(&self, headers: &[u8]) -> u32 {
        self.tcp(headers).and_then(|tcp| u32_at(&tcp, 4)).unwrap_or(0)
    }

    /// Length of the IP packet according to its header, `None` if it is not IP.
    pub fn length(&self, ip: &[u8]) -> Option<usize> {
        match self.version {
            4 => u16_at(ip, 2).map(usize::from),
            6 => u16_at(ip, 4).map(|payload| usize::from(payload) + IP6_BYTES),
            _ => None,
        }
    }

    /// TCP header without options.
    fn tcp(&self, headers: &[u8]) -> Option<[u8; TCP_BYTES]> {
        field(headers, self.at).filter(|_| self.transport == TCP)
    }

    /// Offset of the checksum in the transport header.
    pub fn checksum_offset(&self) -> u16 {
        if self.transport == TCP { 16 } else { 6 }
    }

    /// Whether both packets can be joined in one superframe, by their headers: all fields are equal except lengths,
    /// IDs, sequence numbers, checksums, and the flags in `ignored_flags`.
    pub fn matches(&self, headers: &[u8], other: &Self, others: &[u8], ignored_flags: u8) -> bool {
        let same = |from: usize, to: usize| {
            let part = headers.get(from..to);
            part.is_some() && part == others.get(from..to)
        };
        let (at, end) = (self.at, self.end);
        let alike = (self.version, self.transport, at, end) == (other.version, other.transport, other.at, other.end);
        alike
            && if self.version == 4 { same(0, 2) && same(6, 10) && same(12, at) } else { same(0, 4) && same(6, at) }
            && same(at, at + 4)
            && same(at + 8, at + 13)
            && (self.tcp_flags(headers) | ignored_flags) == (other.tcp_flags(others) | ignored_flags)
            && same(at + 14, at + 16)
            && same(at + 18, end)
    }
}

/// One segment of a superframe, or several joined ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its payload in that of the superframe.
    pub offset: u32,
    /// Index of its first segment in the superframe.
    pub index: u16,
    /// Bytes of payload.
    pub payload: usize,
    /// ECN field.
    pub ecn: Ecn,
}

/// Rewrites `head`, a copy of a superframe's headers, for `segment`. The transport checksum becomes that of the
/// pseudo-header.
pub fn patch(head: &mut [u8], headers: &Headers, segment: Segment) {
    let Segment { offset, index, payload, ecn } = segment;
    let at = headers.at;
    if headers.version == 6 {
        head[4..6].copy_from_slice(&((headers.end - 40 + payload) as u16).to_be_bytes());
        patch_ecn(head, headers, ecn);
    } else {
        patch_ip4(head, (headers.end + payload) as u16, index, ecn);
    }
    let length = headers.end - at + payload;
    if headers.transport == TCP {
        let seq = headers.seq(head).wrapping_add(offset);
        head[at + 4..at + 8].copy_from_slice(&seq.to_be_bytes());
    } else {
        head[at + 4..at + 6].copy_from_slice(&(length as u16).to_be_bytes());
    }
    let addresses = if headers.version == 4 { &head[12..20] } else { &head[8..40] };
    let sum = fold(sum(addresses) + headers.transport as u64 + length as u64);
    let field = at + headers.checksum_offset() as usize;
    head[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Sets the ECN field of a frame that is an IP packet.
pub fn patch_ecn(head: &mut [u8], headers: &Headers, ecn: Ecn) {
    if headers.version != 0 {
        set_ecn(head, ecn);
    }
}

fn patch_ip4(head: &mut [u8], length: u16, index: u16, ecn: Ecn) {
    let id = u16::from_be_bytes([head[4], head[5]]).wrapping_add(index);
    head[1] = head[1] & !3 | ecn as u8;
    head[2..4].copy_from_slice(&length.to_be_bytes());
    head[4..6].copy_from_slice(&id.to_be_bytes());
    (head[10], head[11]) = (0, 0);
    let whole = !fold(sum(&head[..(head[0] & 15) as usize * 4]));
    head[10..12].copy_from_slice(&whole.to_be_bytes());
}

/// One step of a hash: the finaliser of splitmix64.
fn mix(state: u64, value: u64) -> u64 {
    let mut z = (state ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The transport checksum must be completed.
pub const NEEDS_CSUM: u8 = 1;
/// The transport checksum was verified.
pub const DATA_VALID: u8 = 2;
/// Not a superframe.
pub const GSO_NONE: u8 = 0;
/// A superframe of TCP over IPv4.
pub const GSO_TCP4: u8 = 1;
/// A superframe of TCP over IPv6.
pub const GSO_TCP6: u8 = 4;
/// Several UDP datagrams of equal length.
pub const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// TCP's flags (RFC 9293 §3.1, RFC 3168 §6.1).
pub const FIN: u8 = 1;
/// Synchronise.
pub const SYN: u8 = 2;
/// Reset.
pub const RST: u8 = 4;
/// Push.
pub const PSH: u8 = 8;
/// Urgent.
pub const URG: u8 = 32;
/// Congestion window reduced.
pub const CWR: u8 = 128;
