//! Packet headers: fields in network byte order, IPv4 and IPv6 (RFC 791, RFC 8200 §4), TCP (RFC 9293 §3.1) and its
//! options. All parsers of packets use them: emulated links, captures, [`TcpView`](crate::TcpView).
//!
//! The bytes are untrusted: a field past their end is `None`, never a panic.

mod writing;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
pub use writing::{IpFields, fold, ip_bytes, set_ecn, sum, write_udp};

/// Two-byte field at offset `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    field(bytes, at).map(u16::from_be_bytes)
}

/// Four-byte field at offset `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_be_bytes)
}

/// The `N` bytes at offset `at`.
pub fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The IP header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Type of service or traffic class: DSCP and ECN field.
    pub class: u8,
    /// Identification of IPv4; 0 for IPv6.
    pub identification: u16,
    /// IPv4's flag *more fragments* and fragment offset, in their 14 bits; 0 for IPv6, whose fragments have a header of
    /// their own ([`FRAGMENT`]).
    pub fragment: u16,
    /// Length of the packet; `None` if the field is 0, because a network card will segment a super-packet.
    pub length: Option<usize>,
    /// Protocol of the header at `next`.
    pub protocol: u8,
    /// Offset of the next header: the transport header; for IPv6 the first extension header that is neither options nor
    /// routing, or that is truncated.
    pub next: usize,
}

impl IpHeader {
    /// Parses the header at the start of `packet`; `None` if it is truncated.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::parse_v4(packet),
            6 => Self::parse_v6(packet),
            _ => None,
        }
    }

    fn parse_v4(packet: &[u8]) -> Option<Self> {
        let head: [u8; IP4_BYTES] = field(packet, 0)?;
        let next = usize::from(head[0] & 15) * 4;
        let address = |at: usize| field(&head, at).map(|octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets)));
        (next >= IP4_BYTES).then_some(Self {
            source: address(12)?,
            destination: address(16)?,
            class: head[1],
            identification: u16_at(&head, 4)?,
            fragment: u16_at(&head, 6)? & 0x3fff,
            length: Some(usize::from(u16_at(&head, 2)?)).filter(|&length| length > 0),
            protocol: head[9],
            next,
        })
    }

    fn parse_v6(packet: &[u8]) -> Option<Self> {
        let head: [u8; IP6_BYTES] = field(packet, 0)?;
        let address = |at: usize| field(&head, at).map(|octets: [u8; 16]| IpAddr::V6(Ipv6Addr::from(octets)));
        let payload = usize::from(u16_at(&head, 4)?);
        let header = Self {
            source: address(8)?,
            destination: address(24)?,
            class: head[0] << 4 | head[1] >> 4,
            identification: 0,
            fragment: 0,
            length: (payload > 0).then_some(IP6_BYTES + payload),
            protocol: head[6],
            next: IP6_BYTES,
        };
        Some(header.past_extensions(packet))
    }

    fn past_extensions(mut self, packet: &[u8]) -> Self {
        while matches!(self.protocol, HOP_BY_HOP | ROUTING | DESTINATION) {
            let Some([protocol, eights]) = field(packet, self.next) else { break };
            (self.protocol, self.next) = (protocol, self.next + 8 * (usize::from(eights) + 1));
        }
        self
    }

    /// The header as that of an unfragmented packet, if the packet is one or a first fragment; `None` for a later
    /// fragment, which has no transport header.
    pub fn of_first_fragment(mut self, packet: &[u8]) -> Option<Self> {
        while self.protocol == FRAGMENT {
            let [protocol, _, high, low]: [u8; 4] = field(packet, self.next)?;
            if u16::from_be_bytes([high, low]) & 0xfff8 != 0 {
                return None;
            }
            (self.protocol, self.next) = (protocol, self.next + 8);
            self = self.past_extensions(packet);
        }
        (self.fragment & 0x1fff == 0).then_some(self)
    }

    /// 4 or 6.
    pub fn version(&self) -> u8 {
        if self.source.is_ipv4() { 4 } else { 6 }
    }
}

/// Source and destination port at the start of the TCP or UDP header at offset `at`.
pub fn ports_at(packet: &[u8], at: usize) -> Option<[u16; 2]> {
    Some([u16_at(packet, at)?, u16_at(packet, at.checked_add(2)?)?])
}

/// Fixed fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags with AE (RFC 9768), nine bits.
    pub flags: u16,
    /// Header length in bytes, options included, a multiple of 4; invalid below [`TCP_BYTES`].
    pub size: usize,
}

impl TcpHeader {
    /// Parses the header at offset `at`; its first 14 bytes suffice.
    pub fn parse(packet: &[u8], at: usize) -> Option<Self> {
        let head: [u8; 14] = field(packet, at)?;
        let word = u16_at(&head, 12)?;
        let (seq, ack) = (u32_at(&head, 4)?, u32_at(&head, 8)?);
        Some(Self { seq, ack, flags: word & 0x1ff, size: usize::from(word >> 12) * 4 })
    }
}

/// Iterator over the options of a TCP header: kind and value, without padding; `Err` for an invalid length, which ends
/// it.
pub struct TcpOptions<'a>(pub &'a [u8]);

impl<'a> Iterator for TcpOptions<'a> {
    type Item = Result<(u8, &'a [u8]), OptionLengthError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (&kind, rest) = self.0.split_first()?;
            match kind {
                OPTIONS_END => return None,
                OPTIONS_PADDING => self.0 = rest,
                _ => {
                    let left = core::mem::take(&mut self.0);
                    let length = rest.first().map_or(0, |&length| usize::from(length));
                    let Some((option, rest)) = left.split_at_checked(length).filter(|_| length >= 2) else {
                        return Some(Err(OptionLengthError));
                    };
                    self.0 = rest;
                    return Some(Ok((kind, &option[2..])));
                }
            }
        }
    }
}

/// An option has an invalid length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionLengthError;

/// The blocks in the value of a [`SACK`] option: left and right edge (RFC 2018 §3).
pub fn sack_blocks(value: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    value.chunks_exact(8).filter_map(|block| u32_at(block, 0).zip(u32_at(block, 4)))
}

/// IP protocol numbers (IANA): TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// ICMP.
pub const ICMP: u8 = 1;
/// ICMPv6.
pub const ICMP6: u8 = 58;
/// IPv6's fragment header.
pub const FRAGMENT: u8 = 44;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION: u8 = 60;

/// Bytes of an IPv4 header without options.
pub const IP4_BYTES: usize = 20;
/// Bytes of an IPv6 header without extensions.
pub const IP6_BYTES: usize = 40;
/// Bytes of a TCP header without options.
pub const TCP_BYTES: usize = 20;
/// Bytes of a UDP header.
pub const UDP_BYTES: usize = 8;

const OPTIONS_END: u8 = 0;
/// TCP option kinds (IANA): no-operation.
pub const OPTIONS_PADDING: u8 = 1;
/// Selective acknowledgment.
pub const SACK: u8 = 5;
/// Timestamps.
pub const TIMESTAMPS: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_field_beyond_the_end_is_none() {
        let bytes = [1, 2, 3, 4, 5];
        assert_eq!(
            [0, 3, 4, 5, usize::MAX].map(|at| u16_at(&bytes, at)),
            [Some(0x0102), Some(0x0405), None, None, None]
        );
        assert_eq!(
            [0, 1, 2, usize::MAX].map(|at| u32_at(&bytes, at)),
            [Some(0x0102_0304), Some(0x0203_0405), None, None]
        );
        assert_eq!((field(&bytes, 5), field::<1>(&bytes, 5)), (Some([]), None));
    }

    /// An IPv6 packet with the headers `rest` after the IP header; the first is of `protocol`.
    fn ip6(protocol: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = Vec::from([0x6a, 0xb0, 0, 0, 0, rest.len() as u8, protocol, 64]);
        packet.extend([0xfd; 15].iter().chain(&[1]).chain(&[0xfd; 15]).chain(&[2]));
        packet.extend(rest);
        packet
    }

    #[test]
    fn an_ipv4_header_says_where_the_next_begins() {
        let mut packet = Vec::from([0x47, 0xb9, 0, 77, 0x12, 0x34, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 9, 0, 2]);
        assert!((0..20).all(|cut| IpHeader::parse(&packet[..cut]).is_none()));
        let header = IpHeader::parse(&packet).unwrap();
        assert_eq!((header.version(), header.class, header.identification, header.fragment), (4, 0xb9, 0x1234, 0));
        assert_eq!((header.length, header.protocol, header.next), (Some(77), UDP, 28), "the options may be cut off");
        assert_eq!((header.source, header.destination), ([10, 0, 0, 1].into(), [10, 9, 0, 2].into()));
        assert_eq!(header.of_first_fragment(&packet), Some(header));
        (packet[3], packet[6]) = (0, 0x20);
        let header = IpHeader::parse(&packet).unwrap();
        assert_eq!((header.length, header.fragment), (None, 0x2000));
        assert_eq!(header.of_first_fragment(&packet), Some(header), "the first of several fragments");
        packet[7] = 3;
        assert_eq!(IpHeader::parse(&packet).unwrap().of_first_fragment(&packet), None);
        packet[0] = 0x44;
        assert_eq!(IpHeader::parse(&packet), None, "a header of 16 bytes");
        packet[0] = 0x57;
        assert_eq!(IpHeader::parse(&packet), None, "version 5");
    }

    #[test]
    fn ipv6_extensions_are_passed_up_to_a_fragment_header() {
        let options = [ROUTING, 0, 1, 4, 0, 0, 0, 0, DESTINATION, 0, 0, 0, 0, 0, 0, 0];
        let long = [FRAGMENT, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let fragment = |low: u8| [DESTINATION, 0, 0, low, 0, 0, 0, 7, TCP, 0, 1, 4, 0, 0, 0, 0];
        let whole = |low: u8| ip6(HOP_BY_HOP, &[&options[..], &long, &fragment(low)].concat());
        let packet = whole(1);
        let header = IpHeader::parse(&packet).unwrap();
        assert_eq!((header.version(), header.class, header.length), (6, 0xab, Some(88)));
        assert_eq!((header.protocol, header.next), (FRAGMENT, 72));
        let first = header.of_first_fragment(&packet).unwrap();
        assert_eq!((first.protocol, first.next, first.source), (TCP, 88, header.source));
        let later = whole(8);
        assert_eq!(IpHeader::parse(&later).unwrap().of_first_fragment(&later), None);
        for cut in 0..packet.len() {
            match IpHeader::parse(&packet[..cut]) {
                None => assert!(cut < IP6_BYTES, "{cut}"),
                Some(header) => {
                    let first = header.of_first_fragment(&packet[..cut]);
                    assert!(first.is_none_or(|first| first.protocol != TCP || cut >= 82), "{cut}");
                }
            }
        }
    }

    #[test]
    fn a_tcp_header_is_read_of_its_first_14_bytes() {
        let mut packet = Vec::from([9; 3]);
        packet.extend([0x12, 0x34, 0, 80, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xfe, 0xa3, 0x52]);
        let header = TcpHeader { seq: 7, ack: 0xffff_fffe, flags: 0x152, size: 40 };
        assert_eq!((TcpHeader::parse(&packet, 3), ports_at(&packet, 3)), (Some(header), Some([0x1234, 80])));
        assert_eq!((TcpHeader::parse(&packet, 4), ports_at(&packet, 14)), (None, None));
        assert_eq!((TcpHeader::parse(&packet, usize::MAX), ports_at(&packet, usize::MAX)), (None, None));
    }

    #[test]
    fn options_end_with_the_first_that_lies() {
        let of = |bytes: &'static [u8]| TcpOptions(bytes).collect::<Vec<_>>();
        assert_eq!(of(&[1, 3, 3, 7, 1, 4, 2, 0, 8, 200]), [Ok((3, &[7][..])), Ok((4, &[][..]))]);
        for broken in [&[5][..], &[5, 0], &[5, 1, 9], &[5, 4, 0], &[254, 255, 0, 0]] {
            assert_eq!(of(broken), [Err(OptionLengthError)], "{broken:?}");
        }
        let blocks: Vec<_> = sack_blocks(&[0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 20, 0, 0, 0, 31, 7]).collect();
        assert_eq!(blocks, [(1, 9), (20, 31)]);
    }
}
