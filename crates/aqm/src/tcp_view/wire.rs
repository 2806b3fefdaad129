//! TCP headers on the wire. Sources: RFC 9293 §3.1, RFC 7323, RFC 2018.

use super::{SackBlocks, TcpView};
use crate::headers::{
    IP4_BYTES, IpHeader, OPTIONS_PADDING, SACK, TCP, TCP_BYTES, TIMESTAMPS, TcpHeader, TcpOptions, fold, sack_blocks,
    sum, u32_at,
};
use crate::packet::Meta;

impl TcpView {
    /// Parses the TCP header in the first bytes of an IP packet, IP header included; `None` if the TCP header or its
    /// options are truncated. The bytes are untrusted.
    pub fn of_ip(bytes: &[u8]) -> Option<Self> {
        let ip = IpHeader::parse(bytes)?;
        // A first fragment of IPv4 has a complete header; one of IPv6 is left to the reassembling host.
        let at = ip.of_first_fragment(bytes).filter(|_| ip.protocol == TCP)?.next;
        let tcp = TcpHeader::parse(bytes, at)?;
        let header = bytes.get(at..at + tcp.size).filter(|_| tcp.size >= TCP_BYTES)?;
        let mut view = Self {
            seq: tcp.seq,
            ack: tcp.ack,
            payload: ip.length?.checked_sub(at + tcp.size)? as u32,
            flags: tcp.flags,
            space: header[..4].iter().fold(0, |digest, byte| digest ^ byte),
            ..Self::default()
        };
        view.read_options(&header[TCP_BYTES..]);
        Some(view)
    }

    /// Writes the IPv4 and TCP headers of a packet with metadata `meta` and returns their length. Missing fields are
    /// derived: addresses are the hosts' numbers; one port follows from the flow, the other from the sequence space;
    /// the window is the maximum; TCP's checksum, which covers the payload, is 0. Options that [`Self`] does not store
    /// become an MSS and a window scale, as on a SYN. [`Self::of_ip`] parses the same view except for `space`, another
    /// digest that is equal for packets of one flow and space.
    pub fn write_ip(&self, meta: &Meta, out: &mut [u8; Self::IP_BYTES]) -> usize {
        out.fill(0);
        let mut options = OptionWriter { bytes: &mut out[IP4_BYTES + TCP_BYTES..], used: 0 };
        if self.other_options {
            options.push(&[2, 4, 5, 180, OPTIONS_PADDING, 3, 3, 14]);
        }
        if let Some((val, ecr)) = self.timestamps {
            options.push(&[OPTIONS_PADDING, OPTIONS_PADDING, TIMESTAMPS, 10]);
            options.push(&val.to_be_bytes());
            options.push(&ecr.to_be_bytes());
        }
        let fitting = self.sack.as_slice().iter().take(options.left().saturating_sub(4) / 8);
        if fitting.len() > 0 {
            options.push(&[OPTIONS_PADDING, OPTIONS_PADDING, SACK, 2 + 8 * fitting.len() as u8]);
            for (from, to) in fitting {
                options.push(&from.to_be_bytes());
                options.push(&to.to_be_bytes());
            }
        }
        let size = TCP_BYTES + options.used;
        let (ip, tcp) = out.split_at_mut(IP4_BYTES);
        let length = u16::try_from((IP4_BYTES + size) as u64 + u64::from(self.payload)).unwrap_or(u16::MAX);
        (ip[0], ip[1], ip[8], ip[9]) = (0x45, meta.dscp << 2 | meta.ecn as u8, 64, TCP);
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        ip[6] = 0x40; // don't fragment
        ip[12..16].copy_from_slice(&meta.hosts.0.to_be_bytes());
        ip[16..20].copy_from_slice(&meta.hosts.1.to_be_bytes());
        let checksum = !fold(sum(ip));
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        tcp[..2].copy_from_slice(&(FIRST_PORT + (meta.flow % u32::from(FIRST_PORT)) as u16).to_be_bytes());
        tcp[2..4].copy_from_slice(&(SERVER_PORT + u16::from(self.space)).to_be_bytes());
        tcp[4..8].copy_from_slice(&self.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.ack.to_be_bytes());
        tcp[12..14].copy_from_slice(&((size as u16 / 4) << 12 | self.flags & 0x1ff).to_be_bytes());
        tcp[14..16].copy_from_slice(&u16::MAX.to_be_bytes());
        IP4_BYTES + size
    }

    /// Maximum bytes of the two headers: IPv4 without options, and TCP's maximum.
    pub const IP_BYTES: usize = IP4_BYTES + 60;

    /// Parses options up to the first invalid one.
    fn read_options(&mut self, options: &[u8]) {
        for option in TcpOptions(options) {
            match option {
                Ok((MD5, value)) if value.len() == 16 => {}
                Ok((TIMESTAMPS, value)) if value.len() == 8 => {
                    self.timestamps = u32_at(value, 0).zip(u32_at(value, 4));
                }
                Ok((SACK, value)) if !value.is_empty() && value.len() % 8 == 0 => {
                    self.sack = SackBlocks::from_iter(sack_blocks(value));
                }
                _ => self.other_options = true,
            }
        }
    }
}

/// Writer of the options of a header.
struct OptionWriter<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl OptionWriter<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.used
    }
}

/// The upper half of the ports is for clients, one per flow.
const FIRST_PORT: u16 = 1 << 15;
/// Port of the first sequence space.
const SERVER_PORT: u16 = 5000;
/// MD5 signature option of RFC 2385 (IANA).
const MD5: u8 = 19;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use alloc::vec::Vec;

    /// A TCP header with `options`, ACK, ECE and AE.
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
            space: 0x12 ^ 0x34 ^ 80,
        };
        assert_eq!(TcpView::of_ip(&ip4(&tcp(OPTIONS), 1013)), Some(view));
        assert_eq!(TcpView::of_ip(&ip6(&tcp(OPTIONS), 1013)), Some(view), "behind a destination option");
    }

    #[test]
    fn what_is_written_is_read_again_with_a_space_for_each_flow_and_space() {
        let ack = TcpView { seq: 7, ack: 0xffff_fffe, flags: TcpView::ACK | TcpView::ECE, ..TcpView::default() };
        let blocks = [(1, 9), (20, 31), (40, 41), (50, 99)];
        let sack = |count: usize| SackBlocks::from_iter(blocks[..count].iter().copied());
        let meta = Meta { hosts: (0x0a00_0001, 0x0a00_0002), dscp: 46, ..Meta::new(66, 90_000).with_ecn(Ecn::Ect0) };
        let mut out = [0xaa; TcpView::IP_BYTES];
        for (view, bytes) in [
            (ack, 40),
            (TcpView { payload: 1448, timestamps: Some((5, 6)), ..ack }, 52),
            (TcpView { timestamps: Some((5, 6)), sack: sack(3), ..ack }, 80),
            (TcpView { sack: sack(4), ..ack }, 76),
            (TcpView { flags: TcpView::SYN, timestamps: Some((5, 6)), other_options: true, ..ack }, 60),
        ] {
            let written = view.write_ip(&meta, &mut out);
            let read = TcpView::of_ip(&out[..written]).expect("it is TCP");
            assert_eq!((written, TcpView { space: 0, ..read }), (bytes, view));
            assert_eq!((out[1], &out[12..20]), (46 << 2 | 2, &[10, 0, 0, 1, 10, 0, 0, 2][..]));
            let sum = out[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the sum over an IPv4 header");
        }
        let space = |flow: u32, space: u8| {
            let mut out = [0; TcpView::IP_BYTES];
            let written = TcpView { space, ..ack }.write_ip(&Meta::new(66, flow), &mut out);
            TcpView::of_ip(&out[..written]).map(|view| view.space)
        };
        for flow in [0, 1, 77, 40_000] {
            assert_eq!(space(flow, 1), space(flow, 1));
            assert_ne!(space(flow, 0), space(flow, 1));
        }
    }

    #[test]
    fn payload_that_no_length_holds_is_still_payload() {
        let view = TcpView { payload: 65_536, flags: TcpView::ACK, ..TcpView::default() };
        let mut out = [0; TcpView::IP_BYTES];
        let written = view.write_ip(&Meta::new(66_000, 1), &mut out);
        assert_eq!(TcpView::of_ip(&out[..written]).map(|view| view.payload), Some(65_535 - 40));
    }

    #[test]
    fn options_that_are_not_known_or_broken_are_told() {
        let other = |options: &[u8]| TcpView::of_ip(&ip4(&tcp(options), 0)).unwrap().other_options;
        for (options, is_other) in [
            (&[0, 3, 3, 3][..], false), // the list ends before it
            (&[3, 3, 7, 0], true),      // window scale
            (&[1, 1, 8, 10], true),     // truncated
            (&[5, 2, 0, 0], true),      // no block
            (&[254, 0, 0, 0], true),    // a length of zero
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
