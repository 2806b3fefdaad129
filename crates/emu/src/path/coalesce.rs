//! What leaves: neighbours of one flow joined again into superframes, so that the kernel is entered once for many.
//!
//! A packet joins the open superframe of its flow if it continues its sequence numbers, has equal headers and leaves at
//! the same turn of the loop; what was not cut leaves as it came. Flows have superframes of their own, else flow
//! queueing would leave nothing to join. The order within a flow never changes.

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

/// Where a direction writes what leaves it.
pub trait Sink {
    /// Writes one frame: virtio header, a link's header if frames have one, and IP packet, of one flow, in parts.
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()>;
}

/// A packet that leaves a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it is due.
    pub due: Instant,
    /// The packet.
    pub handle: u32,
}

/// Superframes under construction.
pub struct Coalescer {
    is_enabled: bool,
    /// The open ones, in the order of their first packets; then spare ones.
    open: Vec<Superframe>,
    used: usize,
}

/// Packets that leave in one write.
#[derive(Default)]
struct Superframe {
    flow: u32,
    /// When the first packet is due.
    due: Instant,
    /// In their order.
    handles: Vec<u32>,
    /// Payload bytes so far.
    payload: usize,
    /// Payload bytes of every packet but the last.
    size: u16,
    /// Sequence number that comes next, of TCP.
    seq: u32,
    closed: bool,
    /// It is one packet that was never cut.
    whole: bool,
}

/// What became of a write.
pub struct WriteResult<'a> {
    /// The packets.
    pub handles: &'a [u32],
    /// When the first of them was due.
    pub due: Instant,
    /// Whether the kernel took them.
    pub accepted: bool,
}

impl Coalescer {
    /// Joins what leaves together, or writes packets one by one.
    pub fn new(joins: bool) -> Self {
        let open = (0..MAX_OPEN).map(|_| Superframe { handles: Vec::with_capacity(MAX_PACKETS), ..Default::default() });
        Self { is_enabled: joins, open: open.collect(), used: 0 }
    }

    /// Takes a packet that leaves; writes what has to leave before it.
    pub fn push(&mut self, departure: Departure, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        let handle = departure.handle;
        let packet = packets.get(handle);
        let flow = packets.page(packet.page).headers.flow;
        if let Some(i) = self.open[..self.used].iter().position(|one| one.flow == flow) {
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

    /// Writes all that is open.
    pub fn flush(&mut self, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        for i in 0..self.used {
            let one = &mut self.open[i];
            one.flush(packets, out, done);
        }
        self.used = 0;
    }

    fn write(&mut self, i: usize, packets: &mut Packets, out: &mut dyn Sink, done: &mut WriteCallback) {
        self.open[i].flush(packets, out, done);
        self.open[i..self.used].rotate_left(1);
        self.used -= 1;
    }
}

/// Told of each write.
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

    /// Whether the packet can be joined.
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
        self.closed = packet.len < self.size || ends;
    }

    /// Writes it and lets its packets go.
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
            // Headers that are too long for `head` are not cut off there.
            parts[count] = IoSlice::new(&page.bytes()[size..]);
            count += 1;
        } else {
            let mut i = 0;
            while i < self.handles.len() {
                let from = packets.get(self.handles[i]);
                let mut len = from.len as usize;
                i += 1;
                // Neighbours of one frame lie side by side.
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

    /// Says what became of the write and lets the packets go.
    fn on_written(&mut self, taken: bool, packets: &mut Packets, done: &mut WriteCallback) {
        done(WriteResult { handles: &self.handles, due: self.due, accepted: taken }, packets);
        for &handle in &self.handles {
            packets.release(handle);
        }
    }

    /// The headers of the whole, from those of the first packet.
    fn head(&self, packets: &Packets, out: &mut [u8; VNET + MAX_HEADERS]) -> usize {
        let first = packets.get(self.handles[0]);
        let page = packets.page(first.page);
        let about = &page.headers;
        let ip = &mut out[VNET..VNET + about.end];
        ip.copy_from_slice(page.head());
        let Packet { offset, index, ecn, .. } = *first;
        patch(ip, about, Segment { offset, index, payload: self.payload, ecn });
        let joined = self.whole || self.handles.len() > 1;
        let mut gso = GSO_NONE;
        let mut cwr = false;
        if about.transport == TCP {
            let last = packets.get(self.handles[self.handles.len() - 1]);
            let own = flags(page, first);
            ip[about.at + 13] = own | flags(packets.page(last.page), last) & (PSH | FIN);
            cwr = joined && own & CWR != 0;
        }
        if joined {
            gso = match (about.transport, about.version) {
                (UDP, _) => GSO_UDP,
                (_, 4) => GSO_TCP4,
                _ => GSO_TCP6,
            };
        }
        let vnet = Vnet {
            flags: NEEDS_CSUM,
            gso,
            cwr,
            hdr_len: about.end as u16,
            gso_size: if joined { self.size } else { 0 },
            csum_start: about.at as u16,
            csum_offset: about.checksum_offset(),
        };
        vnet.write((&mut out[..VNET]).try_into().expect("the virtio header has its size"));
        VNET + about.end
    }
}

/// The start of a frame that leaves as it came, but for a mark; the rest follows in the frame.
fn plain_head(page: &FrameBuffer, packet: &Packet, out: &mut [u8; VNET + MAX_HEADERS]) -> usize {
    let size = page.bytes().len().min(VNET + page.headers.end).min(out.len());
    out[..size].copy_from_slice(&page.bytes()[..size]);
    if packet.ecn != page.headers.ecn {
        patch_ecn(&mut out[VNET..size], &page.headers, packet.ecn);
    }
    size
}

/// Whether others may follow this packet in a superframe.
fn begins(page: &FrameBuffer, packet: &Packet) -> bool {
    let is_tcp = page.headers.transport == TCP;
    packet.len > 0 && is_sound(page) && (!is_tcp || flags(page, packet) & (PSH | FIN | SYN | RST | URG) == 0)
}

/// Whether this packet may follow others.
fn continues(page: &FrameBuffer, packet: &Packet) -> bool {
    let is_tcp = page.headers.transport == TCP;
    is_sound(page) && (!is_tcp || flags(page, packet) & (SYN | RST | URG | CWR) == 0)
}

/// Whether its transport's sum can be left to the kernel, and its lengths are what was read.
fn is_sound(page: &FrameBuffer) -> bool {
    let (about, vnet) = (&page.headers, &page.vnet);
    page.split
        || about.transport == TCP
            && vnet.flags & (NEEDS_CSUM | DATA_VALID) != 0
            && about.length(page.ip()) == Some(page.ip().len())
            && about.end <= MAX_HEADERS
}

fn seq(page: &FrameBuffer, packet: &Packet) -> u32 {
    page.headers.seq(page.head()).wrapping_add(packet.offset)
}

/// Flows that have an open superframe at a time.
const MAX_OPEN: usize = 16;

/// Packets in a superframe.
const MAX_PACKETS: usize = 48;
