//! Writing of packet headers: checksums (RFC 1071, RFC 1624), ECN fields, whole IP headers.

use super::{IP4_BYTES, IP6_BYTES, UDP, UDP_BYTES};
use crate::packet::Ecn;
use alloc::vec::Vec;
use core::net::IpAddr;

/// Sum of the 16-bit words of an Internet checksum (RFC 1071); an odd last byte is the upper half of a word.
pub fn sum(bytes: &[u8]) -> u64 {
    let halves = bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low)));
    halves.sum()
}

/// Folds a sum to 16 bits in ones' complement arithmetic.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Sets the ECN field of an IP packet and updates the checksum of an IPv4 header; does nothing if the bytes are not IP
/// or are truncated. The update is incremental: a wrong checksum stays wrong by the same amount.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    match packet {
        [first, class, ..] if *first >> 4 == 6 => *class = *class & !0x30 | (ecn as u8) << 4,
        [first, class, rest @ ..] if *first >> 4 == 4 => {
            let Some(sum) = rest.get_mut(8..).and_then(|rest| rest.first_chunk_mut()) else { return };
            let old = u16::from_be_bytes([*first, *class]);
            *class = *class & !3 | ecn as u8;
            adjust(sum, old, u16::from_be_bytes([*first, *class]));
        }
        _ => {}
    }
}

/// RFC 1624: checksum of an IPv4 header after one 16-bit word has changed.
fn adjust(field: &mut [u8; 2], old: u16, new: u16) {
    let sum = u16::from_be_bytes(*field);
    let sum = !fold(u64::from(!sum) + u64::from(!old) + u64::from(new));
    *field = sum.to_be_bytes();
}

/// Fields of an IP header without options or extensions, to be written.
#[derive(Clone, Copy, Debug)]
pub struct IpFields {
    /// Source address; both are of one family, otherwise IPv4 becomes IPv6-mapped.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol of the next header.
    pub protocol: u8,
    /// DSCP and ECN field.
    pub class: u8,
    /// Identification of IPv4.
    pub identification: u16,
    /// Bytes after this header.
    pub length: u32,
}

impl IpFields {
    /// Appends the header, with a TTL of 64 and *don't fragment*; returns the sum of the pseudo-header of the transport.
    /// A length that the field cannot hold is written as 0, as with segmentation offload.
    pub fn write(self, out: &mut Vec<u8>) -> u64 {
        let Self { source, destination, protocol, class, identification, length } = self;
        let addresses = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let at = out.len();
                let total = u16::try_from(IP4_BYTES as u32 + length).unwrap_or(0);
                out.extend([0x45, class]);
                for word in [total, identification, DONT_FRAGMENT, (TTL << 8) | u16::from(protocol), 0] {
                    out.extend(word.to_be_bytes());
                }
                out.extend(source.octets());
                out.extend(destination.octets());
                let checksum = !fold(sum(&out[at..]));
                out[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
                sum(&out[at + 12..])
            }
            (source, destination) => {
                let octets = |address: IpAddr| match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
                    IpAddr::V6(v6) => v6.octets(),
                };
                out.extend((0x6000_0000 | (u32::from(class) << 20)).to_be_bytes());
                out.extend(u16::try_from(length).unwrap_or(0).to_be_bytes());
                out.extend([protocol, TTL as u8]);
                let at = out.len();
                out.extend(octets(source));
                out.extend(octets(destination));
                sum(&out[at..])
            }
        };
        addresses + u64::from(protocol) + u64::from(length)
    }
}

/// Appends a whole IP packet with a UDP datagram and valid checksums. Protocol and length of `head` are set here.
pub fn write_udp(out: &mut Vec<u8>, head: IpFields, (source, destination): (u16, u16), payload: &[u8]) {
    let length = UDP_BYTES as u32 + payload.len() as u32;
    let head = IpFields { protocol: UDP, length, ..head };
    let mut total = head.write(out);
    let at = out.len();
    for word in [source, destination, length as u16, 0] {
        out.extend(word.to_be_bytes());
    }
    out.extend(payload);
    total += sum(&out[at..]);
    // A checksum of zero means none (RFC 768).
    let checksum = match !fold(total) {
        0 => 0xffff,
        checksum => checksum,
    };
    out[at + 6..at + 8].copy_from_slice(&checksum.to_be_bytes());
}

/// Bytes of an IP header without options or extensions, by the family of an address.
pub fn ip_bytes(address: IpAddr) -> usize {
    if address.is_ipv4() { IP4_BYTES } else { IP6_BYTES }
}

const TTL: u16 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{IpHeader, ports_at};
    use alloc::vec;
    use core::net::SocketAddr;

    fn datagram(addresses: (&str, &str), class: u8, payload: &[u8]) -> Vec<u8> {
        let (source, destination): (SocketAddr, SocketAddr) =
            (addresses.0.parse().unwrap(), addresses.1.parse().unwrap());
        let (from, to) = (source.ip(), destination.ip());
        let head = IpFields { source: from, destination: to, protocol: 0, class, identification: 7, length: 0 };
        let mut out = vec![0xaa];
        write_udp(&mut out, head, (source.port(), destination.port()), payload);
        out.split_off(1)
    }

    /// Sum over the pseudo-header and the datagram, which is 0xffff if the checksum is valid.
    fn whole(packet: &[u8]) -> u16 {
        let header = IpHeader::parse(packet).unwrap();
        let length = (packet.len() - header.next) as u64;
        let addresses = if header.version() == 4 { &packet[12..20] } else { &packet[8..40] };
        fold(sum(addresses) + u64::from(UDP) + length + sum(&packet[header.next..]))
    }

    #[test]
    fn a_written_datagram_is_read_with_valid_checksums() {
        for (from, to) in [("10.0.0.1:7", "10.9.0.2:443"), ("[fd00::1]:7", "[fd00::9:2]:443")] {
            for payload in [&[][..], &[1, 2, 3], &[0xff; 1_000]] {
                let packet = datagram((from, to), 0xb9, payload);
                let header = IpHeader::parse(&packet).unwrap();
                assert_eq!((header.length, header.protocol, header.class), (Some(packet.len()), UDP, 0xb9));
                assert_eq!(SocketAddr::new(header.source, 7), from.parse().unwrap());
                assert_eq!(ports_at(&packet, header.next), Some([7, 443]));
                assert_eq!((whole(&packet), &packet[header.next + UDP_BYTES..]), (0xffff, payload));
                if header.version() == 4 {
                    assert_eq!((fold(sum(&packet[..IP4_BYTES])), header.identification), (0xffff, 7));
                }
            }
        }
    }

    #[test]
    fn an_ecn_field_is_rewritten_with_its_checksum() {
        for addresses in [("10.0.0.1:7", "10.9.0.2:443"), ("[fd00::1]:7", "[fd00::9:2]:443")] {
            for ecn in Ecn::ALL {
                let mut packet = datagram(addresses, 0xb9, &[5; 20]);
                set_ecn(&mut packet, ecn);
                assert_eq!(packet, datagram(addresses, 0xb8 | ecn as u8, &[5; 20]), "{ecn:?}");
            }
        }
        for bytes in [&[][..], &[0x45], &[0x45, 1, 2, 3], &[0x60], &[0x71, 2, 3]] {
            let mut cut = bytes.to_vec();
            set_ecn(&mut cut, Ecn::Ce);
            assert_eq!(cut, bytes);
        }
    }
}
