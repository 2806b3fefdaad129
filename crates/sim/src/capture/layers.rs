//! The IP packet in a frame: link layers and tunnels around it.
//!
//! Sources: the list of link types at tcpdump.org/linktypes.html; RFC 1661 and RFC 2516 (PPP, PPPoE), RFC 3032 (MPLS),
//! RFC 2784, RFC 2890 and RFC 2637 (GRE), draft-foschiano-erspan-03, RFC 2003 and RFC 4213 (IP in IP), RFC 2427 (frame
//! relay), RFC 1051 and RFC 1201 (ARCnet), IEEE 802.11-2020 §9.3.2 (data frames), radiotap.org.
//!
//! A packet in a tunnel is the innermost one, since its flows and sizes are those of the hosts.

use sojourn_aqm::headers::{FRAGMENT, IpHeader, field, u16_at};

/// The bytes from the innermost IP header on, or the kind of a frame without one.
pub(super) fn ip_packet(link_type: u32, data: &[u8]) -> Result<&[u8], String> {
    // Every header takes four bytes or more, so this also limits how deep headers are nested.
    let at = network_layer(link_type, &data[..data.len().min(MAX_HEADERS)])?;
    data.get(at..).ok_or_else(truncated)
}

pub(super) fn truncated() -> String {
    "truncated".to_string()
}

/// Offset of the innermost IP header.
fn network_layer(link_type: u32, data: &[u8]) -> Result<usize, String> {
    match link_type {
        12 | 14 | 101 | 228 | 229 => ip(data, 0),
        // BSD loopback: the address family, in the byte order of its machine.
        0 | 108 => ip(data, 4),
        ETHERNET => ether(data, 12),
        6 => token_ring(data),
        8 => ip(data, 16),
        9 => ppp(data, 0),
        10 => llc(data, 13),
        50 if data.first() == Some(&0xFF) => ppp(data, 0),
        50 | 104 => ether(data, 2),
        51 => ppp(data, 6),
        105 => wifi(data, 0, false),
        107 => frame_relay(data),
        COOKED => ether(data, 14),
        // The protocol comes first; the packet follows 20 bytes.
        COOKED_2 => of_type(word(data, 0)?, data, 20),
        127 => radiotap(data),
        129 => arcnet(data),
        PPI | PKTAP_USER | PKTAP => with_link_type(link_type, data),
        NFLOG => nflog(data),
        // IP over InfiniBand, after the global routing header.
        242 => of_type(word(data, 40)?, data, 44),
        // Tags of Broadcom's and Marvell's switches, before the type or, of 282, before the addresses.
        281 | 282 | 284 => ether(data, 16),
        285 => ether(data, 20),
        other => Err(LINKS
            .iter()
            .find(|link| link.0 == other)
            .map_or_else(|| format!("link type {other}"), |link| link.1.to_string())),
    }
}

/// From the type field at offset `at` on.
fn ether(data: &[u8], at: usize) -> Result<usize, String> {
    of_type(word(data, at)?, data, at + 2)
}

/// The payload at `body`, of an EtherType or, below 1536, with a length of IEEE 802.3.
fn of_type(kind: u16, data: &[u8], body: usize) -> Result<usize, String> {
    match kind {
        0x0800 | 0x86DD => ip(data, body),
        0x8100 | 0x88A8 | 0x9100 => ether(data, body + 2),
        0x8864 => ppp(data, body + 6),
        0x8847 | 0x8848 => mpls(data, body),
        0x880B => ppp(data, body),
        // Marvell's tag with an EtherType (EDSA): two reserved bytes and a tag of four.
        0xDADA => ether(data, body + 6),
        TRANSPARENT_ETHERNET => ether(data, body + 12),
        ..1536 => llc(data, body),
        other => Err(TYPES
            .iter()
            .find(|kind| kind.0 == other)
            .map_or_else(|| format!("EtherType 0x{other:04x}"), |kind| kind.1.to_string())),
    }
}

fn llc(data: &[u8], at: usize) -> Result<usize, String> {
    match field(data, at).ok_or_else(truncated)? {
        [0xAA, 0xAA, 3] => ether(data, at + 6),
        [0x42, 0x42, _] => Err("spanning tree".to_string()),
        _ => Err("LLC".to_string()),
    }
}

fn ppp(data: &[u8], mut at: usize) -> Result<usize, String> {
    if field(data, at) == Some([0xFF, 3]) {
        at += 2;
    }
    let first = *data.get(at).ok_or_else(truncated)?;
    // An odd first byte is a compressed protocol field.
    let (protocol, body) = if first & 1 == 1 { (first.into(), at + 1) } else { (word(data, at)?, at + 2) };
    match protocol {
        0x21 | 0x57 => ip(data, body),
        0x281 => mpls(data, body),
        0x8000.. => Err("PPP control".to_string()),
        other => Err(format!("PPP protocol 0x{other:04x}")),
    }
}

fn mpls(data: &[u8], mut at: usize) -> Result<usize, String> {
    while byte(data, at + 2)? & 1 == 0 {
        at += 4;
    }
    at += 4;
    match byte(data, at)? >> 4 {
        4 | 6 => ip(data, at),
        // RFC 4448: an Ethernet pseudowire with its control word.
        0 => ether(data, at + 16),
        _ => ether(data, at + 12),
    }
}

/// IP, also in IP or in GRE.
fn ip(data: &[u8], at: usize) -> Result<usize, String> {
    let packet = data.get(at..).ok_or_else(truncated)?;
    let Some(header) = IpHeader::parse(packet) else {
        return Err(if matches!(packet.first().map(|first| first >> 4), Some(4 | 6) | None) {
            truncated()
        } else {
            "unknown network protocol".to_string()
        });
    };
    if header.protocol == FRAGMENT || header.fragment != 0 {
        return Ok(at);
    }
    match header.protocol {
        4 | 41 => ip(data, at + header.next),
        47 => gre(data, at + header.next),
        _ => Ok(at),
    }
}

fn gre(data: &[u8], at: usize) -> Result<usize, String> {
    let (flags, kind) = (word(data, at)?, word(data, at + 2)?);
    let present = |bit: u16| 4 * usize::from(flags & bit != 0);
    match flags & 7 {
        // ERSPAN type I has no sequence number and no header.
        0 if kind == ERSPAN && flags & 0x1000 == 0 => ether(data, at + 4 + 12),
        0 if kind == ERSPAN => ether(data, at + 8 + 8 + 12),
        0 if kind == ERSPAN_3 => {
            let platform = 8 * usize::from(byte(data, at + 8 + 11)? & 1);
            ether(data, at + 8 + 12 + platform + 12)
        }
        0 if flags & 0x4000 == 0 => of_type(kind, data, at + 4 + present(0x8000) + present(0x2000) + present(0x1000)),
        // RFC 2637: the key is always there.
        1 if flags & 0x1000 == 0 => Err("GRE without payload".to_string()),
        1 => of_type(kind, data, at + 12 + present(0x80)),
        _ => Err("GRE with source routes".to_string()),
    }
}

/// Fields of the kernel's byte order, each padded to four bytes; one of them is the packet.
fn nflog(data: &[u8]) -> Result<usize, String> {
    let payload = |of: fn([u8; 2]) -> u16| {
        let mut at = 4;
        loop {
            let [size, kind] = [field(data, at).map(of)?, field(data, at + 2).map(of)?];
            match (kind & 0x7FFF, size) {
                (_, ..4) => return None,
                (9, _) => return Some(at + 4),
                _ => at += usize::from(size).next_multiple_of(4),
            }
        }
    };
    let at = payload(u16::from_le_bytes).or_else(|| payload(u16::from_be_bytes));
    ip(data, at.ok_or("NFLOG without a packet")?)
}

/// Headers in little endian with the link type of the frame after them: of PPI and of Apple.
fn with_link_type(outer: u32, data: &[u8]) -> Result<usize, String> {
    let link_type = field(data, if outer == PPI { 4 } else { 8 }).map(u32::from_le_bytes).ok_or_else(truncated)?;
    let size = if outer == PPI {
        field(data, 2).map(u16::from_le_bytes).ok_or_else(truncated)?.into()
    } else {
        field(data, 0).map(u32::from_le_bytes).ok_or_else(truncated)? as usize
    };
    if matches!(link_type, PPI | PKTAP_USER | PKTAP) {
        return Err(if outer == PPI { "PPI" } else { "PKTAP" }.to_string());
    }
    let inner = data.get(size..).ok_or_else(truncated)?;
    Ok(size + network_layer(link_type, inner)?)
}

/// The first bit of the source's address says that a route of the size in its first byte follows.
fn token_ring(data: &[u8]) -> Result<usize, String> {
    let route = if byte(data, 8)? & 0x80 != 0 { usize::from(byte(data, 14)? & 0x1f) } else { 0 };
    llc(data, 14 + route)
}

/// An address that ends with a byte whose last bit is set, then an EtherType (Cisco) or a control byte with the NLPID.
fn frame_relay(data: &[u8]) -> Result<usize, String> {
    let mut at = 1;
    while byte(data, at - 1)? & 1 == 0 {
        at += 1;
    }
    if byte(data, at)? != 3 {
        return ether(data, at);
    }
    at += 1 + usize::from(byte(data, at + 1)? == 0);
    match byte(data, at)? {
        0xCC | 0x8E => ip(data, at + 1),
        0x80 => ether(data, at + 4),
        other => Err(format!("frame relay NLPID 0x{other:02x}")),
    }
}

/// Linux's header; RFC 1201 has three bytes for fragments after the type.
fn arcnet(data: &[u8]) -> Result<usize, String> {
    match byte(data, 4)? {
        240 => ip(data, 5),
        212 | 196 => ip(data, 8),
        other => Err(format!("ARCnet type {other}")),
    }
}

fn radiotap(data: &[u8]) -> Result<usize, String> {
    let size = usize::from(field(data, 2).map(u16::from_le_bytes).ok_or_else(truncated)?);
    let present = |at| field(data, at).map(u32::from_le_bytes).ok_or_else(truncated);
    let (first, mut at) = (present(4)?, 4);
    while present(at)? >> 31 == 1 {
        at += 4;
    }
    at += 4;
    // The time comes before the flags, on a multiple of eight.
    if first & 1 == 1 {
        at = at.next_multiple_of(8) + 8;
    }
    let is_padded = first & 2 == 2 && byte(data, at)? & 0x20 != 0;
    wifi(data, size, is_padded)
}

/// IEEE 802.11; `is_padded` says that the header is padded to four bytes.
fn wifi(data: &[u8], at: usize, is_padded: bool) -> Result<usize, String> {
    let [control, flags] = field(data, at).ok_or_else(truncated)?;
    let subtype = control >> 4;
    match (control >> 2 & 3, subtype & 4, flags & 0x40) {
        (2, 0, 0) => {}
        (2, 0, _) => return Err("encrypted Wi-Fi".to_string()),
        (2, ..) => return Err("Wi-Fi without data".to_string()),
        _ => return Err("Wi-Fi management and control".to_string()),
    }
    let has_qos = subtype & 8 != 0;
    let addresses = 24 + 6 * usize::from(flags & 3 == 3);
    if has_qos && byte(data, at + addresses)? & 0x80 != 0 {
        return Err("aggregated Wi-Fi (A-MSDU)".to_string());
    }
    let header = addresses + if has_qos { 2 + 4 * usize::from(flags & 0x80 != 0) } else { 0 };
    llc(data, at + if is_padded { header.next_multiple_of(4) } else { header })
}

fn word(data: &[u8], at: usize) -> Result<u16, String> {
    u16_at(data, at).ok_or_else(truncated)
}

fn byte(data: &[u8], at: usize) -> Result<u8, String> {
    data.get(at).copied().ok_or_else(truncated)
}

/// Maximum bytes of the headers up to the innermost IP header.
const MAX_HEADERS: usize = 1024;
const ETHERNET: u32 = 1;
/// Linux cooked captures, version 1 and 2.
const COOKED: u32 = 113;
const COOKED_2: u32 = 276;
const NFLOG: u32 = 239;
const PPI: u32 = 192;
const PKTAP_USER: u32 = 149;
const PKTAP: u32 = 258;
/// Mirrored Ethernet frames in GRE, types I and II, and type III.
const ERSPAN: u16 = 0x88BE;
const ERSPAN_3: u16 = 0x22EB;
const TRANSPARENT_ETHERNET: u16 = 0x6558;
/// Names of link types and EtherTypes that are not read.
const LINKS: [(u32, &str); 12] = [
    (119, "Prism (Wi-Fi)"),
    (163, "AVS (Wi-Fi)"),
    (187, "Bluetooth"),
    (189, "USB"),
    (195, "IEEE 802.15.4"),
    (201, "Bluetooth"),
    (220, "USB"),
    (227, "CAN"),
    (230, "IEEE 802.15.4"),
    (249, "USB"),
    (252, "Wireshark's upper PDU"),
    (253, "netlink"),
];
const TYPES: [(u16, &str); 11] = [
    (0x2000, "CDP"),
    (0x2001, "NHRP"),
    (0x0806, "ARP"),
    (0x8035, "RARP"),
    (0x8863, "PPPoE discovery"),
    (0x888E, "EAPOL"),
    (0x88CC, "LLDP"),
    (0x88F7, "PTP"),
    (0x88E5, "MACsec"),
    (0x9000, "Ethernet loopback"),
    (0x8809, "LACP"),
];
