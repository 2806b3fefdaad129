//! Captures of a direction's arrivals and departures in pcapng: headers, with timestamps in nanoseconds since 1970.
//!
//! Source: draft-ietf-opsawg-pcapng §4. There are two files, because libpcap reads no file with two interfaces of raw
//! IP: one has packets at their arrival, the other at the start of their transmission, so the timestamps differ by the
//! sojourn time. A checksum that the kernel left to offload is that of the pseudo-header, as in any capture on a host
//! with checksum offload. An interface is named after its end, so mergecap merges packets that enter and leave at one
//! end into one interface.

use super::error::WriteError;
use super::output::Output;
use crate::Error;
use crate::path::config::{DirectionConfig, Side};
use crate::path::packet_header::own_head;
use crate::path::packets::{Packet, Packets};
use sojourn_aqm::Instant;
use std::path::{Path, PathBuf};

/// Writer of one file.
pub struct Capture {
    output: Output,
    epoch_ns: u64,
}

impl Capture {
    /// Creates the captures of arrivals and of departures; their paths begin with `prefix`.
    pub fn pair(prefix: &Path, config: &DirectionConfig) -> Result<[Self; 2], Error> {
        let ends = match config.side {
            Side::Up => ["inside", "outside"],
            Side::Down => ["outside", "inside"],
        };
        let create = |suffix, end| Self::create(&file(prefix, config.side, suffix), end, config.epoch_ns);
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

    /// Writes a packet.
    pub fn packet(&mut self, at: Instant, packet: &Packet, packets: &Packets) {
        let page = packets.page(packet.page);
        // The link type of the file is raw IP.
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

    /// Writes the buffer if it is full.
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

/// Path of the capture of arrivals (`in`) or departures (`out`) of a direction.
fn file(prefix: &Path, side: Side, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{}.{suffix}.pcapng", side.name()));
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

/// Captured bytes of a packet: all TCP headers over IPv6, and some payload of others.
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
