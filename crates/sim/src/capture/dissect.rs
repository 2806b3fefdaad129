//! The TCP segment or UDP datagram in a frame.

use super::Captured;
use super::files::Frame;
use sojourn_aqm::octets::{field, u16_at, u32_at};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The packet in a frame; `None` for what is not whole TCP or UDP.
pub(super) fn packet(frame: &Frame) -> Option<Captured> {
    let at = network_layer(frame.link_type, frame.data)?;
    match frame.data.get(at)? >> 4 {
        4 => ip4(frame, at),
        6 => ip6(frame, at),
        _ => None,
    }
}

/// What the network layer knows of a packet.
struct Ip {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    identification: u16,
    ecn: u8,
    /// Where the transport header begins, and where the packet ends.
    at: usize,
    end: usize,
    bytes: u32,
}

fn ip4(frame: &Frame, at: usize) -> Option<Captured> {
    let data = frame.data;
    let head: [u8; 20] = field(data, at)?;
    if u16_at(&head, 6)? & 0x1FFF != 0 {
        return None;
    }
    // Zero where the sending host leaves the cutting to its network card.
    let rest = frame.size.checked_sub(at as u32)?;
    let bytes = Some(u32::from(u16_at(&head, 2)?)).filter(|&size| size > 0).unwrap_or(rest);
    let address = |place: usize| field(&head, place).map(|octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets)));
    let ip = Ip {
        source: address(12)?,
        destination: address(16)?,
        protocol: head[9],
        identification: u16_at(&head, 4)?,
        ecn: head[1] & 3,
        at: at + 4 * usize::from(head[0] & 15),
        end: at + bytes as usize,
        bytes,
    };
    transport(frame, &ip)
}

fn ip6(frame: &Frame, at: usize) -> Option<Captured> {
    let data = frame.data;
    let head: [u8; 40] = field(data, at)?;
    let size = u16_at(&head, 4)?;
    let end = if size > 0 { at + 40 + usize::from(size) } else { frame.size as usize };
    let (mut protocol, mut next) = (head[6], at + 40);
    while EXTENSIONS.contains(&protocol) {
        if protocol == FRAGMENT && u16_at(data, next + 2)? & 0xFFF8 != 0 {
            return None;
        }
        let length = if protocol == FRAGMENT { 8 } else { 8 * (1 + usize::from(*data.get(next + 1)?)) };
        (protocol, next) = (*data.get(next)?, next + length);
    }
    let address = |place: usize| field(&head, place).map(|octets: [u8; 16]| IpAddr::V6(Ipv6Addr::from(octets)));
    let ip = Ip {
        source: address(8)?,
        destination: address(24)?,
        protocol,
        identification: 0,
        ecn: head[1] >> 4 & 3,
        at: next,
        end,
        bytes: u32::try_from(end.checked_sub(at)?).ok()?,
    };
    transport(frame, &ip)
}

fn transport(frame: &Frame, ip: &Ip) -> Option<Captured> {
    let (data, at) = (frame.data, ip.at);
    let end = |port: u16, address: IpAddr| (address, port);
    let mut packet = Captured {
        time_ns: frame.time_ns,
        source: end(u16_at(data, at)?, ip.source),
        destination: end(u16_at(data, at + 2)?, ip.destination),
        is_tcp: ip.protocol == TCP,
        identification: ip.identification,
        seq: 0,
        ack: 0,
        flags: 0,
        checksum: 0,
        payload: 0,
        ecn: ip.ecn,
        ip_bytes: ip.bytes,
        sack: [(0, 0); 4],
    };
    let header = match ip.protocol {
        TCP => {
            let words = u16_at(data, at + 12)?;
            let header = 4 * usize::from(words >> 12);
            (packet.seq, packet.ack, packet.flags) = (u32_at(data, at + 4)?, u32_at(data, at + 8)?, words as u8);
            packet.checksum = u16_at(data, at + 16).unwrap_or(0);
            // No option that takes less than three words has a block in it.
            if header >= TCP_HEADER + 12 {
                packet.sack = data.get(at + TCP_HEADER..at + header).map_or([(0, 0); 4], sack);
            }
            header
        }
        UDP => {
            u16_at(data, at + 4)?;
            packet.checksum = u16_at(data, at + 6).unwrap_or(0);
            8
        }
        _ => return None,
    };
    packet.payload = u32::try_from(ip.end.checked_sub(at + header)?).ok()?;
    Some(packet)
}

/// The blocks of the option SACK (RFC 2018 §3).
fn sack(options: &[u8]) -> [(u32, u32); 4] {
    let (mut blocks, mut at) = ([(0, 0); 4], 0);
    while let Some(&kind) = options.get(at) {
        let length = match (kind, options.get(at + 1)) {
            (0, _) => break,
            (1, _) => 1,
            (_, Some(&length)) if length >= 2 => usize::from(length),
            _ => break,
        };
        if kind == SACK {
            for (place, block) in blocks.iter_mut().enumerate().take((length - 2) / 8) {
                let edge = |offset| u32_at(options, at + 2 + 8 * place + offset);
                *block = edge(0).zip(edge(4)).unwrap_or((0, 0));
            }
        }
        at += length;
    }
    blocks
}

/// Where the IP header begins; `None` for a frame of another protocol or an unknown kind of link.
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

const TCP: u8 = 6;
const UDP: u8 = 17;
const TCP_HEADER: usize = 20;
const SACK: u8 = 5;
const FRAGMENT: u8 = 44;
/// IPv6 extension headers: hop-by-hop, routing, fragment, destination.
const EXTENSIONS: [u8; 4] = [0, 43, FRAGMENT, 60];
const ETHERNET: u32 = 1;
/// Linux cooked captures, version 1 and 2.
const COOKED: u32 = 113;
const COOKED_2: u32 = 276;
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const IP: [u16; 2] = [0x0800, 0x86DD];
