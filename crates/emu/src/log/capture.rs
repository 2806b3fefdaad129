//! Captures in pcapng of what a direction takes in and of what it sends: headers, with stamps in nanoseconds.
//!
//! Source: draft-ietf-opsawg-pcapng §4. Two files, as libpcap reads none with two interfaces of raw IP: one has packets
//! when they arrive, the other when their transmission begins, so that the stamps differ by the sojourn time; times are
//! since 1970. A packet whose sum the kernel had not completed has that of the pseudo-header, as in any capture on a
//! host with such offload. An interface is called after the end that it is at, so that mergecap makes one tap of what
//! enters there and what leaves there.

use super::error::WriteError;
use super::output::Output;
use crate::Error;
use crate::path::config::{DirectionConfig, Side};
use crate::path::packet_header::own_head;
use crate::path::packets::{Packet, Packets};
use sojourn_aqm::Instant;
use std::path::{Path, PathBuf};

/// Writes packets.
pub struct Capture {
    output: Output,
    epoch_ns: u64,
}

impl Capture {
    /// The captures of `config`, whose paths begin with `prefix`: of what arrives and of what leaves.
    pub fn pair(prefix: &Path, config: &DirectionConfig) -> Result<[Self; 2], Error> {
        let ends = match config.side {
            Side::Up => ["inside", "outside"],
            Side::Down => ["outside", "inside"],
        };
        let create = |way, end| Self::create(&file(prefix, config.side, way), end, config.epoch_ns);
        Ok([create("in", ends[0])?, create("out", ends[1])?])
    }

    fn create(path: &Path, end: &str, epoch_ns: u64) -> Result<Self, Error> {
        let mut output = Output::create(path)?;
        let section = [&BYTE_ORDER.to_ne_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        block(&mut output.buffer, SECTION, &section, &[]);
        let body = [&RAW_IP.to_ne_bytes()[..], &[0; 2], &(SNAP as u32).to_ne_bytes()].concat();
        block(&mut output.buffer, INTERFACE, &body, &[(NAME, end.as_bytes()), (RESOLUTION, &[NANOSECONDS])]);
        output.flush()?;
        Ok(Self { output, epoch_ns })
    }

    /// A packet passes.
    pub fn packet(&mut self, at: Instant, packet: &Packet, packets: &Packets) {
        let page = packets.page(packet.page);
        // The file is one of raw IP.
        if page.headers.version == 0 {
            return;
        }
        let mut head = [0; SNAP];
        let size = own_head(page, packet, &mut head);
        let stamp = self.epoch_ns + at.as_nanos();
        let whole = (page.headers.end + packet.len as usize) as u32;
        let out = &mut self.output.buffer;
        let padded = size.next_multiple_of(4);
        let length = 32 + padded as u32;
        let words = [PACKET, length, 0, (stamp >> 32) as u32, stamp as u32, size as u32, whole];
        out.extend(words.into_iter().flat_map(u32::to_ne_bytes));
        out.extend(&head[..padded]);
        out.extend(length.to_ne_bytes());
    }

    /// Writes what has come together once it is much.
    pub fn settle(&mut self) -> Result<(), WriteError> {
        self.output.settle()
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.output.flush()
    }

    pub fn finish(mut self) -> Result<(), WriteError> {
        self.output.flush()
    }
}

/// The file of a direction's packets on their way in or out.
fn file(prefix: &Path, side: Side, way: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{}.{way}.pcapng", side.name()));
    name.into()
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8], options: &[(u16, &[u8])]) {
    let mut tail = Vec::new();
    for &(code, value) in options {
        tail.extend(code.to_ne_bytes());
        tail.extend((value.len() as u16).to_ne_bytes());
        tail.extend(value);
        tail.resize(tail.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        tail.extend([0; 4]);
    }
    let length = (12 + body.len() + tail.len()) as u32;
    out.extend(kind.to_ne_bytes());
    out.extend(length.to_ne_bytes());
    out.extend(body);
    out.extend(tail);
    out.extend(length.to_ne_bytes());
}

/// Bytes of a packet that are kept: any headers of TCP over IPv6, and some payload of others.
const SNAP: usize = 160;
const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// LINKTYPE_RAW: a packet begins with its IP header.
const RAW_IP: u16 = 101;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;
