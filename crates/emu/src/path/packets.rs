//! Packets in a direction: small descriptors that point into the frames read.

use super::buffer::Buffer;
use super::ethernet;
use super::header::{GSO_NONE, GSO_TCP4, GSO_TCP6, GSO_UDP, Headers, TCP, UDP, VNET, Vnet};
use sojourn_aqm::{Ecn, Instant, TcpView};

/// A bit of a packet to flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitFlip {
    /// Index of the byte, modulo the packet's length.
    pub byte: u32,
    /// From 0 to 7.
    pub bit: u8,
}

/// A packet of at most one MTU (a segment of a superframe, or a whole frame), or several segments of a superframe that
/// was not split.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Number of its frame.
    pub page: u32,
    /// Number among the arrivals of the direction.
    pub number: u32,
    /// Arrival time.
    pub arrived: Instant,
    /// Offset of its payload in that of the frame.
    pub offset: u32,
    /// Payload bytes.
    pub len: u16,
    /// Index of its first segment in the frame.
    pub index: u16,
    /// Number of segments; above 1 if not split.
    pub segments: u16,
    /// Whether it contains the frame's last segment.
    pub last: bool,
    /// ECN field, with the queue's mark.
    pub ecn: Ecn,
    /// Bit to flip.
    pub flip: Option<BitFlip>,
}

/// A frame that was read, shared by its packets.
pub struct FrameBuffer {
    bytes: FrameBytes,
    refs: u32,
    /// Length of its link-layer header, which precedes the virtio header; 0 if frames are IP.
    link: u8,
    /// Virtio header.
    pub vnet: Vnet,
    /// Parsed headers.
    pub headers: Headers,
    /// Whether it is a superframe, to be split into segments.
    pub split: bool,
}

/// Frames of at most one MTU are copied into a box of about their size, so that a queue of small packets does not hold
/// a buffer of 64 kB for each.
enum FrameBytes {
    Large(Buffer),
    Small(Box<[u8]>, u16),
}

/// All frames and packets of a direction, by number.
#[derive(Default)]
pub struct Packets {
    pages: Vec<Option<FrameBuffer>>,
    free_pages: Vec<u32>,
    /// Free boxes, by size.
    small: [Vec<Box<[u8]>>; SIZES.len()],
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl FrameBuffer {
    /// Virtio header, headers and payload.
    pub fn bytes(&self) -> &[u8] {
        &self.whole()[self.link.into()..]
    }

    /// Link-layer header; empty if frames are IP.
    pub fn link_header(&self) -> &[u8] {
        &self.whole()[..self.link.into()]
    }

    fn whole(&self) -> &[u8] {
        match &self.bytes {
            FrameBytes::Large(buffer) => buffer.frame(),
            FrameBytes::Small(bytes, len) => &bytes[..*len as usize],
        }
    }

    /// Headers and payload: everything after the virtio header.
    pub fn ip(&self) -> &[u8] {
        &self.bytes()[VNET..]
    }

    /// The IP header and the transport's.
    pub fn head(&self) -> &[u8] {
        &self.ip()[..self.headers.end]
    }

    /// IP bytes of each segment of a packet except the last, and of the last; a single segment is the last.
    pub fn sizes(&self, packet: &Packet) -> (u32, u32) {
        let before = u32::from(packet.segments - 1) * u32::from(self.vnet.gso_size);
        let head = self.headers.end as u32;
        (head + u32::from(self.vnet.gso_size), head + u32::from(packet.len) - before)
    }

    /// IP bytes of a packet, with the headers of all its segments.
    pub fn ip_bytes(&self, packet: &Packet) -> u32 {
        let (each, last) = self.sizes(packet);
        u32::from(packet.segments - 1) * each + last
    }

    /// TCP header of a packet, if it has one, with the sequence number of its segment.
    pub fn tcp(&self, packet: &Packet) -> Option<TcpView> {
        let view = TcpView::of_ip(self.head())?;
        Some(TcpView { seq: view.seq.wrapping_add(packet.offset), payload: u32::from(packet.len), ..view })
    }

    /// Payload of a packet.
    pub fn payload(&self, packet: &Packet) -> &[u8] {
        let from = self.headers.end + packet.offset as usize;
        &self.ip()[from..from + packet.len as usize]
    }
}

impl Packets {
    /// Stores a frame until [`Self::release_page`]; `link` is the length of its link-layer header. Returns its number,
    /// or `None` if it is not an IP packet (without link-layer headers), or a superframe that cannot be split.
    pub fn admit(&mut self, buffer: Buffer, link: usize) -> Option<u32> {
        let (link, frame) = buffer.frame().split_at(link);
        let vnet = Vnet::parse(frame)?;
        let headers = if link.is_empty() || ethernet::is_ip(link) { Headers::parse(&frame[VNET..]) } else { None };
        let headers = headers.or_else(|| (!link.is_empty()).then(|| Headers::other(link)))?;
        let (link, frame) = (link.len() as u8, buffer.frame());
        let split = vnet.gso != GSO_NONE;
        let payload = frame.len() - usize::from(link) - VNET - headers.end;
        // The length and the number of segments must fit into 16 bits.
        let most = if split { usize::from(vnet.gso_size) * MAX_BYTES } else { MAX_BYTES };
        if split && !can_be_cut(&vnet, &headers) || payload > most {
            return None;
        }
        let bytes = self.copy(frame).unwrap_or(FrameBytes::Large(buffer));
        let page = FrameBuffer { bytes, refs: 1, link, vnet, headers, split };
        Some(match self.free_pages.pop() {
            Some(number) => {
                self.pages[number as usize] = Some(page);
                number
            }
            None => {
                push(&mut self.pages, Some(page));
                self.pages.len() as u32 - 1
            }
        })
    }

    /// Copies a frame of at most one MTU into a box.
    fn copy(&mut self, frame: &[u8]) -> Option<FrameBytes> {
        let class = SIZES.iter().position(|&size| frame.len() <= size)?;
        let mut small = self.small[class].pop().unwrap_or_else(|| vec![0; SIZES[class]].into());
        small[..frame.len()].copy_from_slice(frame);
        Some(FrameBytes::Small(small, frame.len() as u16))
    }

    /// Stores a packet and returns its handle.
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.page_mut(packet.page).refs += 1;
        match self.free.pop() {
            Some(handle) => {
                self.packets[handle as usize] = packet;
                handle
            }
            None => {
                push(&mut self.packets, packet);
                self.packets.len() as u32 - 1
            }
        }
    }

    /// TCP header of the packet of a handle.
    pub fn tcp(&self, handle: u32) -> Option<TcpView> {
        let packet = self.get(handle);
        self.page(packet.page).tcp(packet)
    }

    /// The packet of a handle.
    pub fn get(&self, handle: u32) -> &Packet {
        &self.packets[handle as usize]
    }

    /// The packet of a handle.
    pub fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.packets[handle as usize]
    }

    /// The frame of that number.
    pub fn page(&self, number: u32) -> &FrameBuffer {
        self.pages[number as usize].as_ref().expect("a packet's frame is kept")
    }

    /// Splits off the first segment of a packet and returns its handle; of a single segment, returns `handle`.
    pub fn cut(&mut self, handle: u32) -> u32 {
        let whole = self.packets[handle as usize];
        if whole.segments == 1 {
            return handle;
        }
        let size = self.page(whole.page).vnet.gso_size;
        let remaining = &mut self.packets[handle as usize];
        // The super-packet shrinks to its last segment, so its handle stays valid until the end.
        (remaining.offset, remaining.len) = (whole.offset + u32::from(size), whole.len - size);
        (remaining.index, remaining.segments) = (whole.index + 1, whole.segments - 1);
        self.insert(Packet { len: size, segments: 1, last: false, ..whole })
    }

    /// Removes a packet.
    pub fn release(&mut self, handle: u32) {
        self.free.push(handle);
        self.release_page(self.packets[handle as usize].page);
    }

    /// Drops one reference to a frame, and frees the frame with the last one.
    pub fn release_page(&mut self, number: u32) {
        let page = self.page_mut(number);
        page.refs -= 1;
        if page.refs == 0 {
            self.discard(number);
        }
    }

    /// Number of stored frames.
    #[cfg(test)]
    pub fn frames(&self) -> usize {
        self.pages.iter().flatten().count()
    }

    fn discard(&mut self, number: u32) {
        let page = self.pages[number as usize].take().expect("a packet's frame is kept");
        if let FrameBytes::Small(small, _) = page.bytes {
            let class = SIZES.iter().position(|&size| size == small.len()).expect("it is of one of the sizes");
            self.small[class].push(small);
        }
        self.free_pages.push(number);
    }

    fn page_mut(&mut self, number: u32) -> &mut FrameBuffer {
        self.pages[number as usize].as_mut().expect("a packet's frame is kept")
    }
}

/// Appends to a vector that grows by a quarter instead of doubling, so that a long queue has little unused memory.
fn push<T>(list: &mut Vec<T>, new: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 4 + 64);
    }
    list.push(new);
}

/// Segments of a frame: payload offset, payload length, and whether it is the last one.
pub fn segments(page: &FrameBuffer) -> impl Iterator<Item = (u32, u16, bool)> + use<> {
    let whole = page.ip().len() - page.headers.end;
    let size = if page.split { page.vnet.gso_size as usize } else { whole.max(1) };
    let count = whole.div_ceil(size).max(1);
    (0..count).map(move |i| {
        let from = i * size;
        (from as u32, (whole - from).min(size) as u16, i + 1 == count)
    })
}

/// Payload length and number of segments of a superframe; `None` for a single segment, and for more bytes than an IP
/// packet can have.
pub fn superframe_size(page: &FrameBuffer) -> Option<(u16, u16)> {
    let payload = page.ip().len() - page.headers.end;
    let count = if page.split { payload.div_ceil(page.vnet.gso_size as usize) } else { 1 };
    (count > 1 && page.headers.end + payload <= MAX_BYTES).then_some((payload as u16, count as u16))
}

fn can_be_cut(vnet: &Vnet, headers: &Headers) -> bool {
    let (version, transport) = match vnet.gso {
        GSO_TCP4 => (4, TCP),
        GSO_TCP6 => (6, TCP),
        GSO_UDP => (headers.version, UDP),
        _ => return false,
    };
    (headers.version, headers.transport) == (version, transport) && vnet.gso_size > 0 && headers.end <= MAX_HEADERS
}

/// Maximum header bytes of frames that are split or joined: IPv6 with extensions, and TCP with options.
pub const MAX_HEADERS: usize = 256;

/// Maximum bytes of an IP packet.
pub const MAX_BYTES: usize = 65_535;

/// Sizes of boxes for frames; the largest one fits a virtio header and a packet of Ethernet's MTU, with some room.
const SIZES: [usize; 10] = [64, 96, 128, 160, 192, 232, 256, 512, 1024, 2048];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Pool;

    /// Memory per packet of a queue of `count` UDP packets with `payload` bytes, including the queue's entry.
    fn per_packet(count: usize, payload: usize) -> f64 {
        let (mut packets, pool) = (Packets::default(), Pool::new());
        let mut frame = vec![0; VNET + 28 + payload];
        let length = ((28 + payload) as u16).to_be_bytes();
        frame[VNET..VNET + 12].copy_from_slice(&[0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, UDP, 0, 0]);
        for number in 0..count {
            let mut buffer = pool.take();
            buffer.room()[..frame.len()].copy_from_slice(&frame);
            buffer.set_len(frame.len());
            let page = packets.admit(buffer, 0).expect("it is IP");
            packets.insert(Packet {
                page,
                number: number as u32,
                arrived: Instant::ZERO,
                offset: 0,
                len: payload as u16,
                index: 0,
                segments: 1,
                last: true,
                ecn: Ecn::NotEct,
                flip: None,
            });
            packets.release_page(page);
        }
        let boxes = packets.pages.iter().flatten().map(|page| match &page.bytes {
            // The allocator adds one or two words to each.
            FrameBytes::Small(small, _) => small.len() + 16,
            FrameBytes::Large(_) => unreachable!("it is small"),
        });
        let lists = packets.pages.capacity() * size_of::<Option<FrameBuffer>>()
            + packets.packets.capacity() * size_of::<Packet>();
        let entry = size_of::<sojourn_aqm::Meta>() + size_of::<u32>() + 4;
        (boxes.sum::<usize>() + lists) as f64 / count as f64 + 2.0 * entry as f64
    }

    #[test]
    fn a_small_packet_takes_little_memory() {
        for (count, payload) in [(10_001, 12), (10_001, 36), (70_001, 64)] {
            let bytes = per_packet(count, payload);
            assert!(bytes <= 400.0, "{payload} bytes of payload: {bytes:.0} bytes of memory");
        }
        // For larger packets the packet itself dominates.
        assert!(per_packet(10_001, 110) <= 420.0 && per_packet(10_001, 172) <= 500.0);
    }
}
