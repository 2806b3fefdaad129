//! Departing packets of a flow, joined into superframes again, so that one system call writes many.
//!
//! A packet joins the open superframe of its flow if it continues its sequence numbers, has equal headers and leaves in
//! the same round of the loop; a frame that was not split leaves unchanged. Each flow has its own superframe, because
//! flow queueing alternates between flows and would leave nothing to join. The order within a flow never changes. UDP
//! datagrams are joined only if they arrived as one super-packet.

use super::buffer::MAX_LINK;
use super::damage::damaged;
use super::ethernet;
use super::header::{
    CWR, DATA_VALID, FIN, GSO_NONE, GSO_TCP4, GSO_TCP6, GSO_UDP, NEEDS_CSUM, PSH, RST, SYN, Segment, TCP, UDP, URG,
    VNET, Vnet, patch, patch_ecn,
};
use super::packet_header::flags;
use super::packets::{FrameBuffer, MAX_BYTES, MAX_HEADERS, Packet, Packets};
use sojourn_aqm::Instant;
use std::io::{self, IoSlice};

/// Output of a direction.
pub trait Sink {
    /// Writes one frame in parts: virtio header, link-layer header if frames have one, and an IP packet or superframe.
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()>;
}

/// A packet that leaves a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Departure time.
    pub due: Instant,
    /// The packet.
    pub handle: u32,
}

/// Superframes under construction.
pub struct Coalescer {
    is_enabled: bool,
    /// Open superframes in the order of their first packets, then spare ones.
    open: Vec<Superframe>,
    used: usize,
}

/// Packets written together.
#[derive(Default)]
struct Superframe {
    flow: u32,
    /// Departure time of the first packet.
    due: Instant,
    /// The packets in order.
    handles: Vec<u32>,
    /// Payload bytes so far.
    payload: usize,
    /// Payload bytes of every packet except the last.
    size: u16,
    /// Next TCP sequence number.
    seq: u32,
    closed: bool,
    /// A single super-packet that was never split.
    whole: bool,
}

/// Result of a write.
pub struct WriteResult<'a> {
    /// The packets.
    pub handles: &'a [u32],
    /// Departure time of the first packet.
    pub due: Instant,
    /// Whether the kernel accepted them.
    pub accepted: bool,
}

impl Coalescer {
    /// Joins packets that leave together if `joins`; otherwise writes them one by one.
    pub fn new(is_enabled: bool) -> Self {
        let open = (0..MAX_OPEN).map(|_| Superframe { handles: Vec::with_capacity(MAX_PACKETS), ..Default::default() });
        Self { is_enabled, open: open.collect(), used: 0 }
    }

    /// Adds a departing packet; writes the superframes that must leave before it.
    pub fn push(&mut self, departure: Departure, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        let handle = departure.handle;
        let packet = packets.get(handle);
        let flow = packets.page(packet.page).headers.flow;
        if let Some(i) = self.open[..self.used].iter().position(|superframe| superframe.flow == flow) {
            if self.open[i].can_join(packet, packets) {
                self.open[i].add(handle, packet, packets);
                return;
            }
            self.write(i, packets, out, done);
        } else if self.used == MAX_OPEN {
            self.write(0, packets, out, done);
        }
        self.open[self.used].begin(departure, packets, self.is_enabled);
        self.used += 1;
    }

    /// Writes all open superframes.
    pub fn flush(&mut self, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        for i in 0..self.used {
            let superframe = &mut self.open[i];
            superframe.flush(packets, out, done);
        }
        self.used = 0;
    }

    fn write(&mut self, i: usize, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        self.open[i].flush(packets, out, done);
        self.open[i..self.used].rotate_left(1);
        self.used -= 1;
    }
}

/// Called after each write.
pub type WriteCallback<'a> = dyn FnMut(WriteResult, &Packets) + 'a;

impl Superframe {
    fn begin(&mut self, Departure { due, handle }: Departure, packets: &Packets, joins: bool) {
        let packet = packets.get(handle);
        let page = packets.page(packet.page);
        (self.flow, self.due, self.payload) = (page.headers.flow, due, packet.len as usize);
        self.handles.clear();
        self.handles.push(handle);
        self.whole = packet.segments > 1;
        self.size = if self.whole { page.vnet.gso_size } else { packet.len };
        if page.headers.transport == TCP {
            self.seq = seq(page, packet).wrapping_add(packet.len as u32);
        }
        self.closed = !joins || self.whole || packet.flip.is_some() || !begins(page, packet);
    }

    /// Whether `packet` can be appended.
    fn can_join(&self, packet: &Packet, packets: &Packets) -> bool {
        let alone = packet.segments > 1 || packet.flip.is_some();
        if self.closed || alone || packet.len > self.size || packet.len == 0 || self.handles.len() == MAX_PACKETS {
            return false;
        }
        let last = packets.get(self.handles[self.handles.len() - 1]);
        let page = packets.page(packet.page);
        if page.headers.end + self.payload + packet.len as usize > MAX_BYTES || packet.ecn != last.ecn {
            return false;
        }
        if packet.page == last.page {
            return packet.index == last.index.wrapping_add(1) && continues(page, packet);
        }
        let before = packets.page(last.page);
        page.headers.transport == TCP
            && page.link_header() == before.link_header()
            && seq(page, packet) == self.seq
            && continues(page, packet)
            && before.headers.matches(before.head(), &page.headers, page.head(), PSH | FIN | CWR)
    }

    fn add(&mut self, handle: u32, packet: &Packet, packets: &Packets) {
        self.handles.push(handle);
        self.payload += packet.len as usize;
        self.seq = self.seq.wrapping_add(packet.len as u32);
        let page = packets.page(packet.page);
        let ends = page.headers.transport == TCP && flags(page, packet) & (PSH | FIN) != 0;
        // GSO needs equal segments, except for a shorter last one.
        self.closed = packet.len < self.size || ends;
    }

    /// Writes the superframe and releases its packets.
    fn flush(&mut self, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        let mut head = [0; VNET + MAX_HEADERS];
        let first = packets.get(self.handles[0]);
        let page = packets.page(first.page);
        if let Some(flip) = first.flip {
            let frame = damaged(page, first, flip);
            let mut front = [0; VNET + MAX_LINK];
            let size = ethernet::join(&frame, page.link_header(), &mut front);
            let taken = out.write(&[IoSlice::new(&front[..size]), IoSlice::new(&frame[VNET..])]).is_ok();
            return self.on_written(taken, packets, done);
        }
        let plain = self.handles.len() == 1 && !page.split;
        let size = if plain { plain_head(page, first, &mut head) } else { self.head(packets, &mut head) };
        let mut parts = [IoSlice::new(&[]); MAX_PACKETS + 2];
        let mut front = [0; VNET + MAX_LINK];
        let mut count = 1;
        if page.link_header().is_empty() {
            parts[0] = IoSlice::new(&head[..size]);
        } else {
            let before = ethernet::join(&head, page.link_header(), &mut front);
            parts[0] = IoSlice::new(&front[..before]);
            parts[1] = IoSlice::new(&head[VNET..size]);
            count = 2;
        }
        if plain {
            // The rest of the frame, including headers that do not fit into `head`.
            parts[count] = IoSlice::new(&page.bytes()[size..]);
            count += 1;
        } else {
            let mut i = 0;
            while i < self.handles.len() {
                let from = packets.get(self.handles[i]);
                let mut len = from.len as usize;
                i += 1;
                // Consecutive segments of one frame are contiguous in memory: one part for all.
                while let Some(&handle) = self.handles.get(i) {
                    let next = packets.get(handle);
                    if next.page != from.page || next.offset as usize != from.offset as usize + len {
                        break;
                    }
                    len += next.len as usize;
                    i += 1;
                }
                let page = packets.page(from.page);
                let start = page.headers.end + from.offset as usize;
                parts[count] = IoSlice::new(&page.ip()[start..start + len]);
                count += 1;
            }
        }
        let taken = out.write(&parts[..count]).is_ok();
        self.on_written(taken, packets, done);
    }

    /// Reports the result of the write and releases the packets.
    fn on_written(&mut self, accepted: bool, packets: &mut Packets, done: &mut WriteCallback) {
        done(WriteResult { handles: &self.handles, due: self.due, accepted }, packets);
        for &handle in &self.handles {
            packets.release(handle);
        }
    }

    /// Headers of the superframe, derived from those of its first packet.
    fn head(&self, packets: &Packets, out: &mut [u8; VNET + MAX_HEADERS]) -> usize {
        let first = packets.get(self.handles[0]);
        let page = packets.page(first.page);
        let headers = &page.headers;
        let ip = &mut out[VNET..VNET + headers.end];
        ip.copy_from_slice(page.head());
        let Packet { offset, index, ecn, .. } = *first;
        patch(ip, headers, Segment { offset, index, payload: self.payload, ecn });
        let joined = self.whole || self.handles.len() > 1;
        let mut gso = GSO_NONE;
        let mut cwr = false;
        if headers.transport == TCP {
            let last = packets.get(self.handles[self.handles.len() - 1]);
            let own = flags(page, first);
            ip[headers.at + 13] = own | flags(packets.page(last.page), last) & (PSH | FIN);
            cwr = joined && own & CWR != 0;
        }
        if joined {
            gso = match (headers.transport, headers.version) {
                (UDP, _) => GSO_UDP,
                (_, 4) => GSO_TCP4,
                _ => GSO_TCP6,
            };
        }
        let vnet = Vnet {
            flags: NEEDS_CSUM,
            gso,
            cwr,
            hdr_len: headers.end as u16,
            gso_size: if joined { self.size } else { 0 },
            csum_start: headers.at as u16,
            csum_offset: headers.checksum_offset(),
        };
        vnet.write((&mut out[..VNET]).try_into().expect("the virtio header has its size"));
        VNET + headers.end
    }
}

/// Start of a frame that leaves unchanged except for a mark; the rest follows from the frame itself.
fn plain_head(page: &FrameBuffer, packet: &Packet, out: &mut [u8; VNET + MAX_HEADERS]) -> usize {
    let size = page.bytes().len().min(VNET + page.headers.end).min(out.len());
    out[..size].copy_from_slice(&page.bytes()[..size]);
    if packet.ecn != page.headers.ecn {
        patch_ecn(&mut out[VNET..size], &page.headers, packet.ecn);
    }
    size
}

/// Whether other packets may follow this one in a superframe.
fn begins(page: &FrameBuffer, packet: &Packet) -> bool {
    let is_tcp = page.headers.transport == TCP;
    packet.len > 0 && is_sound(page) && (!is_tcp || flags(page, packet) & (PSH | FIN | SYN | RST | URG) == 0)
}

/// Whether this packet may follow others.
fn continues(page: &FrameBuffer, packet: &Packet) -> bool {
    let is_tcp = page.headers.transport == TCP;
    is_sound(page) && (!is_tcp || flags(page, packet) & (SYN | RST | URG | CWR) == 0)
}

/// Whether its transport checksum can be left to the kernel, and its IP length is the number of bytes read.
fn is_sound(page: &FrameBuffer) -> bool {
    let (headers, vnet) = (&page.headers, &page.vnet);
    page.split
        || headers.transport == TCP
            && vnet.flags & (NEEDS_CSUM | DATA_VALID) != 0
            && headers.length(page.ip()) == Some(page.ip().len())
            && headers.end <= MAX_HEADERS
}

fn seq(page: &FrameBuffer, packet: &Packet) -> u32 {
    page.headers.seq(page.head()).wrapping_add(packet.offset)
}

/// Maximum number of open superframes, one per flow.
const MAX_OPEN: usize = 16;

/// Maximum number of packets in a superframe.
const MAX_PACKETS: usize = 48;
