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
use sojourn_sim::capture::pcapng::{self, PacketRecord};
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
        pcapng::section(&mut output.buffer);
        pcapng::interface(&mut output.buffer, end, SNAP as u32);
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
        let time_ns = self.epoch_ns + at.as_nanos();
        let whole = (page.headers.end + packet.len as usize) as u32;
        let record = PacketRecord { interface: 0, time_ns, size: whole };
        pcapng::packet(&mut self.output.buffer, record, &head[..size], &[]);
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

/// Captured bytes of a packet: all TCP headers over IPv6, and some payload of others.
const SNAP: usize = 160;
