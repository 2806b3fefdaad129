//! A TCP header as bytes on the wire. Sources: RFC 791, RFC 8200 §4, RFC 9293 §3.1, RFC 7323, RFC 2018.

use super::{SackBlocks, TcpView};

impl TcpView {
    /// The TCP header in the first bytes of an IP packet, from its IP header on; `None` if they are no whole TCP header
    /// with its options. Nothing here trusts the bytes.
    pub fn of_ip(bytes: &[u8]) -> Option<Self> {
        let (at, end) = match bytes.first()? >> 4 {
            4 => ip4(bytes)?,
            6 => ip6(bytes)?,
            _ => return None,
        };
        let size = (bytes.get(at + 12)? >> 4) as usize * 4;
        let header = bytes.get(at..at + size).filter(|_| size >= LEAST)?;
        let mut view = Self {
            seq: word(header, 4)?,
            ack: word(header, 8)?,
            payload: end.checked_sub(at + size)? as u32,
            flags: half(header, 12)? & 0x1ff,
            ..Self::default()
        };
        view.read_options(&header[LEAST..]);
        Some(view)
    }

    /// Reads the options as far as they make sense.
    fn read_options(&mut self, mut left: &[u8]) {
        while let Some(&kind) = left.first() {
            let length = match kind {
                END => return,
                PADDING => 1,
                _ => match left.get(1) {
                    Some(&length) if (2..=left.len()).contains(&(length as usize)) => length as usize,
                    _ => {
                        self.other_options = true;
                        return;
                    }
                },
            };
            let (option, rest) = left.split_at(length);
            match (kind, length) {
                (PADDING, _) | (MD5, 18) => {}
                (TIMESTAMPS, 10) => self.timestamps = word(option, 2).zip(word(option, 6)),
                (SACK, _) if length > 2 && (length - 2) % 8 == 0 => {
                    let pairs = option[2..].chunks_exact(8).filter_map(|pair| word(pair, 0).zip(word(pair, 4)));
                    self.sack = SackBlocks::from_iter(pairs);
                }
                _ => self.other_options = true,
            }
            left = rest;
        }
    }
}

/// Where the TCP header of an IPv4 packet begins, and where the packet ends.
fn ip4(bytes: &[u8]) -> Option<(usize, usize)> {
    let at = (bytes[0] & 15) as usize * 4;
    let is_first = half(bytes, 6)? & 0x1fff == 0;
    (at >= 20 && is_first && *bytes.get(9)? == TCP).then_some((at, half(bytes, 2)? as usize))
}

/// Where the TCP header of an IPv6 packet begins, and where the packet ends.
fn ip6(bytes: &[u8]) -> Option<(usize, usize)> {
    let (mut next, mut at) = (*bytes.get(6)?, 40);
    while matches!(next, HOP_BY_HOP | ROUTING | DESTINATION) {
        let &[following, eights] = bytes.get(at..at + 2)? else { return None };
        (next, at) = (following, at + 8 * (eights as usize + 1));
    }
    (next == TCP).then_some((at, 40 + half(bytes, 4)? as usize))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Bytes of a TCP header without options.
const LEAST: usize = 20;
const TCP: u8 = 6;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION: u8 = 60;
/// Kinds of options (IANA).
const END: u8 = 0;
const PADDING: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A TCP header with `options`, acknowledging, with ECE and AE.
    fn tcp(options: &[u8]) -> Vec<u8> {
        let words = (20 + options.len()) / 4;
        let mut header = Vec::from([0x12, 0x34, 0, 80]);
        header.extend(0xffff_fff0_u32.to_be_bytes());
        header.extend(0x0102_0304_u32.to_be_bytes());
        header.extend([(words as u8) << 4 | 1, 0x50, 0, 9, 0, 0, 0, 0]);
        header.extend(options);
        header
    }

    fn ip4(payload: &[u8], data: u16) -> Vec<u8> {
        let length = (20 + payload.len()) as u16 + data;
        let mut packet = Vec::from([0x45, 0, (length >> 8) as u8, length as u8, 0, 1, 0x40, 0, 64, 6, 0, 0]);
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(payload);
        packet
    }

    fn ip6(payload: &[u8], data: u16) -> Vec<u8> {
        let length = (8 + payload.len()) as u16 + data;
        let mut packet = Vec::from([0x60, 0, 0, 0, (length >> 8) as u8, length as u8, 60, 64]);
        packet.extend([0xfd; 32]);
        packet.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend(payload);
        packet
    }

    const OPTIONS: &[u8] =
        &[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 1, 0, 1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 20, 0, 0, 0, 31];

    #[test]
    fn both_versions_of_ip_show_the_same_header() {
        let view = TcpView {
            seq: 0xffff_fff0,
            ack: 0x0102_0304,
            payload: 1013,
            flags: TcpView::ACK | TcpView::ECE | TcpView::AE,
            timestamps: Some((7, 256)),
            sack: SackBlocks::from_iter([(1, 9), (20, 31)]),
            other_options: false,
            space: 0,
        };
        assert_eq!(TcpView::of_ip(&ip4(&tcp(OPTIONS), 1013)), Some(view));
        assert_eq!(TcpView::of_ip(&ip6(&tcp(OPTIONS), 1013)), Some(view), "behind a destination option");
    }

    #[test]
    fn options_that_are_not_known_or_broken_are_told() {
        let other = |options: &[u8]| TcpView::of_ip(&ip4(&tcp(options), 0)).unwrap().other_options;
        for (options, is_other) in [
            (&[0, 3, 3, 3][..], false), // ends before it
            (&[3, 3, 7, 0], true),      // window scale
            (&[1, 1, 8, 10], true),     // cut off
            (&[5, 2, 0, 0], true),      // no block
            (&[254, 0, 0, 0], true),    // a length of nothing
            (&[1, 1, 1, 1], false),
        ] {
            assert_eq!(other(options), is_other, "{options:?}");
        }
    }

    #[test]
    fn what_is_no_whole_tcp_header_gives_nothing() {
        let whole = ip4(&tcp(OPTIONS), 3);
        for end in 0..whole.len() {
            assert_eq!(TcpView::of_ip(&whole[..end]), None, "{end} bytes");
        }
        let with = |at: usize, byte: u8| {
            let mut packet = whole.clone();
            packet[at] = byte;
            TcpView::of_ip(&packet)
        };
        assert!(with(8, 1).is_some());
        for (at, byte) in [(0, 0x15), (0, 0x44), (9, 17), (7, 1), (3, 71), (32, 0x40)] {
            assert_eq!(with(at, byte), None, "byte {at} = {byte:#x}");
        }
    }
}
