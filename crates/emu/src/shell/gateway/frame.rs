//! Parsing of frames for the gateway: TCP SYNs and UDP datagrams.

use crate::sys::tun::VIRTIO_HEADER;
use sojourn_aqm::headers::{ICMP, ICMP6, IpHeader, TCP, UDP, field, ports_at};
use std::net::{IpAddr, SocketAddr};

/// A frame that the gateway acts on.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A TCP SYN.
    Syn {
        /// Client.
        from: SocketAddr,
        /// Server.
        to: SocketAddr,
    },
    /// UDP datagrams of one flow.
    Datagrams(Burst<'a>),
}

/// UDP datagrams of one flow, received in one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst<'a> {
    /// Sender.
    pub from: SocketAddr,
    /// Destination.
    pub to: SocketAddr,
    /// One payload, or several of a super-packet.
    pub payloads: Payloads<'a>,
}

/// Payloads of a super-packet, all of `each` bytes except the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payloads<'a> {
    bytes: &'a [u8],
    each: usize,
}

impl<'a> Payloads<'a> {
    /// Iterates over the payloads; an empty datagram yields one empty payload.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let empty = self.bytes.is_empty().then_some(&[][..]);
        self.bytes.chunks(self.each.max(1)).chain(empty)
    }
}

/// Properties of a packet that determine its route on the outer side of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSummary {
    /// Destination.
    pub to: IpAddr,
    /// Whether it can open a flow: TCP SYN without ACK, or UDP.
    pub opens: bool,
    /// Whether it is an ICMP echo request (ping).
    pub pings: bool,
}

impl PacketSummary {
    /// Parses the first bytes of a frame; `None` if they are no IP packet.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let (ip, transport) = network(bytes.get(VIRTIO_HEADER..)?)?;
        let opens = match ip.protocol {
            TCP => transport.get(13)? & (SYN | ACK) == SYN,
            UDP => true,
            _ => false,
        };
        let pings = matches!((ip.protocol, transport.first()), (ICMP, Some(8)) | (ICMP6, Some(128)));
        Some(Self { to: ip.destination, opens, pings })
    }
}

impl<'a> Frame<'a> {
    /// Parses a frame that starts with a virtio header. Any TCP segment is taken for a SYN: the shell sends no others.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (ip, transport) = network(bytes.get(VIRTIO_HEADER..)?)?;
        let [source, destination] = ports_at(transport, 0)?;
        let (from, to) = (SocketAddr::new(ip.source, source), SocketAddr::new(ip.destination, destination));
        match ip.protocol {
            TCP => Some(Self::Syn { from, to }),
            UDP => {
                // The UDP length of a super-packet is the total or zero: the virtio header has the segment size.
                let payload = transport.get(8..)?;
                let vnet: [u8; VIRTIO_HEADER] = field(bytes, 0)?;
                let each = match vnet[1] & !0x80 {
                    0 => payload.len(),
                    _ => u16::from_ne_bytes([vnet[4], vnet[5]]).into(),
                };
                Some(Self::Datagrams(Burst { from, to, payloads: Payloads { bytes: payload, each } }))
            }
            _ => None,
        }
    }
}

/// Splits a packet into IP header and transport part; the latter is empty for a fragment other than the first.
fn network(ip: &[u8]) -> Option<(IpHeader, &[u8])> {
    let header = IpHeader::parse(ip)?;
    if header.fragment & 0x1fff != 0 {
        return Some((IpHeader { protocol: NOTHING, ..header }, &[]));
    }
    // The payload length of IPv6 is not needed, because a TUN device does not pad packets.
    let total = header.length.filter(|&total| header.version() == 4 && total >= header.next);
    let end = total.map_or(ip.len(), |total| total.min(ip.len()));
    Some((header, ip.get(header.next..end)?))
}

/// IPv6's *no next header* (IANA).
const NOTHING: u8 = 59;
const SYN: u8 = 2;
const ACK: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 frame.
    fn frame(protocol: u8, transport: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; VIRTIO_HEADER];
        let total = 20 + transport.len() as u16;
        bytes.extend([0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0, 0, 64, protocol, 0, 0]);
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(transport);
        bytes
    }

    #[test]
    fn only_a_first_segment_opens_a_connection() {
        for (flags, opens) in [(SYN, true), (SYN | ACK, false), (ACK, false), (SYN | 0xc0, true)] {
            let bytes = frame(TCP, &[0, 80, 0, 81, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
            let packet = PacketSummary::of(&bytes).unwrap();
            assert_eq!((packet.to, packet.opens), ("10.0.0.2".parse().unwrap(), opens));
        }
    }

    #[test]
    fn an_echo_is_asked_for_or_given() {
        for (kind, pings) in [(8, true), (0, false), (3, false)] {
            assert_eq!(PacketSummary::of(&frame(ICMP, &[kind, 0, 0, 0])).unwrap().pings, pings);
        }
    }

    #[test]
    fn a_superframe_of_datagrams_is_cut() {
        let mut bytes = frame(UDP, &[0, 80, 0, 81, 0, 13, 0, 0, 1, 2, 3, 4, 5]);
        let payloads = |bytes: &[u8]| match Frame::parse(bytes) {
            Some(Frame::Datagrams(Burst { from, to, payloads })) => {
                assert_eq!((from.port(), to.port()), (80, 81));
                payloads.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(payloads(&bytes), [vec![1, 2, 3, 4, 5]]);
        (bytes[1], bytes[4]) = (5, 2);
        assert_eq!(payloads(&bytes), [vec![1, 2], vec![3, 4], vec![5]]);
        let empty = frame(UDP, &[0, 80, 0, 81, 0, 8, 0, 0]);
        assert_eq!(payloads(&empty), [Vec::<u8>::new()]);
    }

    #[test]
    fn a_datagram_behind_an_extension_header_of_ipv6_is_one() {
        let mut bytes = vec![0; VIRTIO_HEADER];
        bytes.extend([0x60, 0, 0, 0, 0, 19, 60, 64]);
        bytes.extend([0xfd; 16].iter().chain(&[0x20; 16]));
        bytes.extend([17, 0, 1, 4, 0, 0, 0, 0, 0x13, 0x88, 0, 53, 0, 11, 0, 0, 7, 8, 9]);
        assert!(PacketSummary::of(&bytes).unwrap().opens);
        let Some(Frame::Datagrams(Burst { from, to, payloads })) = Frame::parse(&bytes) else {
            panic!("it is a datagram")
        };
        assert_eq!((from.port(), to.port(), payloads.iter().collect::<Vec<_>>()), (5000, 53, vec![&[7, 8, 9][..]]));
    }

    #[test]
    fn short_and_strange_frames_are_nothing() {
        let bytes = frame(TCP, &[0; 20]);
        for length in 0..bytes.len() {
            let _ = (Frame::parse(&bytes[..length]), PacketSummary::of(&bytes[..length]));
        }
        for first in 0..=255 {
            let mut bytes = bytes.clone();
            bytes[VIRTIO_HEADER] = first;
            let _ = (Frame::parse(&bytes), PacketSummary::of(&bytes));
        }
    }
}
