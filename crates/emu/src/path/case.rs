//! A direction and its input, generated from arbitrary bytes: for property tests, the fuzzer, and to reproduce a
//! failure.

use super::header::{GSO_TCP4, GSO_TCP6, GSO_UDP, Headers, NEEDS_CSUM, VNET, Vnet};
use super::{Counters, Direction, DirectionConfig, Gso, PathKind, Pool, PortRules, Side, Sink, ethernet};
use crate::Error;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{LinkSpec, LossSpec, Steps};
use std::io::{self, IoSlice};
use std::path::Path;
use thiserror::Error as ThisError;

/// A configuration, and frames with the times between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The direction.
    pub config: DirectionConfig,
    /// Nanoseconds since the previous frame, and the bytes of the frame.
    pub frames: Vec<(u64, Vec<u8>)>,
}

impl Case {
    /// Every sequence of bytes is a valid case.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut bytes = ByteReader(bytes);
        let window = Duration::from_micros([0, 50, 1000][bytes.below(3)]);
        let kind = match bytes.below(4) {
            0 => PathKind::Delay(Steps::constant(Duration::from_micros(bytes.next() as i64 * 100))),
            1 => PathKind::Loss(Some(LossSpec::Random(f64::from(bytes.next()) / 255.0))),
            2 => {
                let off = bytes.next() as i64;
                PathKind::OnOff { on: Duration::from_micros(500), off: Duration::from_micros(off), fixed: off % 2 == 1 }
            }
            _ => link(&mut bytes),
        };
        let gso = [Gso::Cut, Gso::Keep][bytes.below(2)];
        let ethernet = bytes.below(2) == 1;
        let named = [(0, ClassId::new(1, 2)), (1, ClassId::new(1, 3))];
        let classes = named[..2 * bytes.below(2)].to_vec();
        let ports = PortRules { classes, hosts: vec![(2, (7, 8))] };
        let config = DirectionConfig { window, gso, ethernet, ports, ..DirectionConfig::new(Side::Down, kind) };
        let mut frames = Vec::new();
        while !bytes.0.is_empty() {
            let wait = bytes.next() as u64 * 2000;
            let link = if ethernet { link_header(&mut bytes) } else { Vec::new() };
            let mut frame = frame(&mut bytes);
            frame.splice(VNET.min(frame.len())..VNET.min(frame.len()), link);
            frames.push((wait, frame));
        }
        Self { config, frames }
    }

    /// Runs the case and checks the output.
    pub fn run(&self) -> Result<(), CaseError> {
        let mut direction = Direction::new(self.config.clone(), 1)?;
        let (mut now, pool) = (Instant::ZERO, Pool::new());
        let mut kernel = ValidatingSink { ethernet: self.config.ethernet, ..ValidatingSink::default() };
        if let PathKind::Link(spec) = &self.config.kind {
            kernel.allows_damage = spec.canonical()["aqm"].to_string().contains("corrupt");
        }
        for (wait, frame) in &self.frames {
            now += Duration::from_nanos(*wait as i64);
            let mut buffer = pool.take();
            buffer.room()[..frame.len()].copy_from_slice(frame);
            buffer.set_len(frame.len());
            direction.arrive(now, buffer);
            direction.run(now, &mut kernel);
        }
        while let Some(due) = direction.due().filter(|&due| due < Instant::NEVER) {
            now = now.max(due);
            direction.run(now, &mut kernel);
        }
        let counters = direction.counters();
        direction.finish();
        let ends = counters.departed.0 + counters.dropped + counters.backlog;
        if let Some(error) = kernel.error {
            return Err(error);
        }
        if ends != counters.arrived.0 || counters.backlog > 0 {
            return Err(CaseError::Number(Box::new(counters)));
        }
        if kernel.packets != counters.departed.0 {
            return Err(CaseError::Written { written: kernel.packets, departed: counters.departed.0 });
        }
        Ok(())
    }
}

/// A fault of a direction, found by a case.
#[derive(Debug, PartialEq, ThisError)]
#[non_exhaustive]
pub enum CaseError {
    /// The configuration was rejected; those of [`Case::from_bytes`] are valid.
    #[error(transparent)]
    Refused(#[from] Error),
    /// A frame was written that no kernel accepts.
    #[error("{fault}: {:02x?}", &frame[..frame.len().min(90)])]
    Frame {
        /// The fault.
        fault: &'static str,
        /// The frame, from its virtio header on.
        frame: Vec<u8>,
    },
    /// The arrivals are not the sum of departures, drops and backlog.
    #[error("packets were lost or created: {0:?}")]
    Number(Box<Counters>),
    /// The numbers of packets written and departed differ.
    #[error("{written} of {departed} packets were written")]
    Written {
        /// Packets in the frames.
        written: u64,
        /// Packets that departed.
        departed: u64,
    },
}

/// Accepts a frame if a kernel would.
#[derive(Default)]
struct ValidatingSink {
    /// Whether frames have a link-layer header.
    ethernet: bool,
    /// Whether bits may be flipped.
    allows_damage: bool,
    packets: u64,
    error: Option<CaseError>,
}

impl Sink for ValidatingSink {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let frame: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        match self.packets(&frame) {
            Ok(packets) => self.packets += packets,
            Err(fault) => self.error = Some(CaseError::Frame { fault, frame }),
        }
        Ok(())
    }
}

impl ValidatingSink {
    /// Number of packets in a written frame.
    fn packets(&self, frame: &[u8]) -> Result<u64, &'static str> {
        let vnet = Vnet::parse(frame).ok_or("no virtio header")?;
        let (link, ip) = if self.ethernet {
            frame[VNET..].split_at(ethernet::length(&frame[VNET..]).ok_or("no link-layer header")?)
        } else {
            frame[VNET..].split_at(0)
        };
        if vnet.gso == 0 && (self.allows_damage || self.ethernet && !ethernet::is_ip(link)) {
            return Ok(1);
        }
        let Some(headers) = Headers::parse(ip) else {
            // A frame with IP's type but no valid IP header passes an interface unchanged.
            return if self.ethernet && vnet.gso == 0 { Ok(1) } else { Err("not an IP packet") };
        };
        if vnet.gso == 0 {
            return Ok(1);
        }
        let is_known = matches!((vnet.gso, headers.version), (GSO_TCP4, 4) | (GSO_TCP6, 6) | (GSO_UDP, _));
        let payload = ip.len() - headers.end;
        if !is_known || vnet.flags & NEEDS_CSUM == 0 || vnet.gso_size == 0 || payload <= vnet.gso_size as usize {
            return Err("a super-packet that no kernel accepts");
        }
        if headers.length(ip) != Some(ip.len()) {
            return Err("a super-packet with a wrong length");
        }
        Ok(payload.div_ceil(vnet.gso_size as usize) as u64)
    }
}

fn link(bytes: &mut ByteReader) -> PathKind {
    let aqm = AQMS[bytes.below(AQMS.len())];
    let rate = ["10 Mbit/s", "1 Gbit/s", "1 Gbit/s@0s,0 bit/s@1ms,50 Mbit/s@2ms"][bytes.below(3)];
    let change = if rate.contains('@') { ["fluid", "opportunity"][bytes.below(2)] } else { "" };
    let mut table = serde_json::json!({ "rate": rate, "aqm": aqm, "limit": "100 packets" });
    if !change.is_empty() {
        table["change"] = change.into();
    }
    PathKind::Link(Box::new(LinkSpec::parse("link", &table, Path::new("/")).expect("the link is a valid one")))
}

/// Link-layer header: addresses, up to three tags, and a type, IP or arbitrary.
fn link_header(bytes: &mut ByteReader) -> Vec<u8> {
    let mut out = vec![bytes.next() & 3; 12];
    for _ in 0..bytes.below(4) {
        out.extend([[0x81, 0], [0x88, 0xa8]][bytes.below(2)]);
        out.extend([0, bytes.next()]);
    }
    out.extend([[0x08, 0x00], [0x86, 0xdd], [0x08, 0x06], [bytes.next(), bytes.next()]][bytes.below(4)]);
    let whole = out.len();
    out.truncate(if bytes.below(16) == 0 { bytes.below(whole) } else { whole });
    out
}

/// Arbitrary bytes, or a valid packet or superframe with up to three bytes of its headers changed.
fn frame(bytes: &mut ByteReader) -> Vec<u8> {
    if bytes.below(8) == 0 {
        let len = bytes.below(120);
        return (0..len).map(|_| bytes.next()).collect();
    }
    let six = bytes.below(2) == 1;
    let udp = bytes.below(3) == 0;
    let payload = bytes.next() as usize * (1 + bytes.next() as usize);
    let payload = payload.min(60_000);
    let size = 1 + bytes.next() as usize * 8;
    let superframe = payload > size && payload / size < 500;
    let (at, end) = if six { (40, 40 + 20) } else { (20, 20 + 20) };
    let end = if udp { end - 12 } else { end };
    let gso = if udp { GSO_UDP } else { [GSO_TCP4, GSO_TCP6][six as usize] };
    let vnet = Vnet {
        flags: NEEDS_CSUM,
        gso: if superframe { gso } else { 0 },
        gso_size: if superframe { size as u16 } else { 0 },
        csum_start: at as u16,
        csum_offset: if udp { 6 } else { 16 },
        ..Vnet::default()
    };
    let mut out = vec![0; VNET + end + payload];
    vnet.write((&mut out[..VNET]).try_into().expect("the virtio header has its size"));
    let ip = &mut out[VNET..];
    let protocol = if udp { 17 } else { 6 };
    if six {
        (ip[0], ip[6], ip[7]) = (0x60, protocol, 64);
        ip[4..6].copy_from_slice(&((end - 40 + payload) as u16).to_be_bytes());
    } else {
        (ip[0], ip[1], ip[8], ip[9]) = (0x45, bytes.next() & 3, 64, protocol);
        ip[2..4].copy_from_slice(&((end + payload) as u16).to_be_bytes());
    }
    if !udp {
        (ip[at + 12], ip[at + 13]) = (5 << 4, 16 | bytes.next() & 0x89);
    }
    ip[at + 1] = bytes.next() & 1;
    for _ in 0..bytes.below(4) {
        let position = bytes.below(VNET + end);
        out[position] = bytes.next();
    }
    out
}

/// Queue managers that mark, split super-packets, read TCP headers, duplicate and corrupt packets.
const AQMS: [&str; 7] = [
    "droptail",
    "codel target 100us interval 1ms ecn",
    "fq_codel",
    "pie",
    "cake ack-filter",
    "netem corrupt 60% duplicate 20%",
    "netem delay 100us corrupt 100% { fq_codel }",
];

/// Reader of bytes, with zeros after the end.
struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, remaining)) = self.0.split_first() else { return 0 };
        self.0 = remaining;
        first
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
}

#[cfg(test)]
mod tests;
