//! Packets on their way: small descriptors that point into the frames that were read.

use super::buffer::Buffer;
use super::damage::Flip;
use super::header::{GSO_NONE, GSO_TCP4, GSO_TCP6, GSO_UDP, Headers, TCP, UDP, VNET, Vnet};
use sojourn_aqm::{Ecn, Instant, TcpView};

/// A packet of at most one MTU, a segment of a superframe or a frame as it was read; or several segments of one that were
/// not cut.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The frame that it is of.
    pub page: u32,
    /// Its number among the arrivals of the direction.
    pub number: u32,
    /// When it arrived.
    pub at: Instant,
    /// Where its payload begins, counted from that of the whole frame.
    pub offset: u32,
    /// Bytes of its payload.
    pub len: u16,
    /// Its number among the segments of the frame, or that of the first of several.
    pub index: u16,
    /// How many segments it is: 1, or more of what was not cut.
    pub segments: u16,
    /// Whether it is the last one.
    pub last: bool,
    /// ECN field, with a mark that it got on the way.
    pub ecn: Ecn,
    /// The bit that is flipped.
    pub flip: Option<Flip>,
}

/// A frame that was read, shared by its packets.
pub struct Page {
    bytes: Bytes,
    refs: u32,
    /// Its virtio header.
    pub vnet: Vnet,
    /// Its headers.
    pub headers: Headers,
    /// Whether it is cut into segments.
    pub split: bool,
}

/// Frames of a full packet or less are copied, so that a queue of small packets does not hold a large buffer for each.
enum Bytes {
    Large(Buffer),
    Small(Box<[u8; SMALL]>, usize),
}

/// All frames and packets of a direction, by number.
#[derive(Default)]
pub struct Packets {
    pages: Vec<Option<Page>>,
    free_pages: Vec<u32>,
    #[allow(clippy::vec_box)] // a box moves between here and its page; the bytes stay where they are
    small: Vec<Box<[u8; SMALL]>>,
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Page {
    /// Virtio header, headers and payload.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Large(buffer) => buffer.frame(),
            Bytes::Small(bytes, len) => &bytes[..*len],
        }
    }

    /// The IP header and the transport's.
    pub fn head(&self) -> &[u8] {
        &self.bytes()[VNET..VNET + self.headers.end]
    }

    /// Bytes of IP of each segment of a packet but the last, and of the last; one that is cut has only the last.
    pub fn sizes(&self, packet: &Packet) -> (u32, u32) {
        let before = u32::from(packet.segments - 1) * u32::from(self.vnet.gso_size);
        let head = self.headers.end as u32;
        (head + u32::from(self.vnet.gso_size), head + u32::from(packet.len) - before)
    }

    /// Bytes of IP of a packet with the headers of all its segments.
    pub fn ip_bytes(&self, packet: &Packet) -> u32 {
        let (each, last) = self.sizes(packet);
        u32::from(packet.segments - 1) * each + last
    }

    /// The TCP header of a packet, if it has one: that of its segment of a superframe.
    pub fn tcp(&self, packet: &Packet) -> Option<TcpView> {
        let view = TcpView::of_ip(self.head())?;
        Some(TcpView { seq: view.seq.wrapping_add(packet.offset), payload: u32::from(packet.len), ..view })
    }

    /// Payload of a packet.
    pub fn payload(&self, packet: &Packet) -> &[u8] {
        let from = VNET + self.headers.end + packet.offset as usize;
        &self.bytes()[from..from + packet.len as usize]
    }
}

impl Packets {
    /// Takes a frame over and keeps it until [`Self::let_go`]; its number, or nothing if it is no IP packet, or a
    /// superframe that cannot be cut.
    pub fn admit(&mut self, buffer: Buffer) -> Option<u32> {
        let frame = buffer.frame();
        let vnet = Vnet::parse(frame)?;
        let headers = Headers::parse(&frame[VNET..])?;
        let split = vnet.gso != GSO_NONE;
        if split && !can_be_cut(&vnet, &headers) {
            return None;
        }
        let bytes = if frame.len() <= SMALL { self.copy(frame) } else { Bytes::Large(buffer) };
        let page = Page { bytes, refs: 1, vnet, headers, split };
        Some(match self.free_pages.pop() {
            Some(number) => {
                self.pages[number as usize] = Some(page);
                number
            }
            None => {
                self.pages.push(Some(page));
                self.pages.len() as u32 - 1
            }
        })
    }

    fn copy(&mut self, frame: &[u8]) -> Bytes {
        let mut small = self.small.pop().unwrap_or_else(|| Box::new([0; SMALL]));
        small[..frame.len()].copy_from_slice(frame);
        Bytes::Small(small, frame.len())
    }

    /// Keeps a packet; its handle.
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.page_mut(packet.page).refs += 1;
        match self.free.pop() {
            Some(handle) => {
                self.packets[handle as usize] = packet;
                handle
            }
            None => {
                self.packets.push(packet);
                self.packets.len() as u32 - 1
            }
        }
    }

    /// The TCP header of the packet of a handle.
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
    pub fn page(&self, number: u32) -> &Page {
        self.pages[number as usize].as_ref().expect("a packet's frame is kept")
    }

    /// Cuts the first segment off a packet of several; the packet itself where it is one.
    pub fn cut(&mut self, handle: u32) -> u32 {
        let whole = self.packets[handle as usize];
        if whole.segments == 1 {
            return handle;
        }
        let size = self.page(whole.page).vnet.gso_size;
        let rest = &mut self.packets[handle as usize];
        (rest.offset, rest.len) = (whole.offset + u32::from(size), whole.len - size);
        (rest.index, rest.segments) = (whole.index + 1, whole.segments - 1);
        self.insert(Packet { len: size, segments: 1, last: false, ..whole })
    }

    /// The packet is gone.
    pub fn release(&mut self, handle: u32) {
        self.free.push(handle);
        self.let_go(self.packets[handle as usize].page);
    }

    /// A frame is needed no more by one of those that need it.
    pub fn let_go(&mut self, number: u32) {
        let page = self.page_mut(number);
        page.refs -= 1;
        if page.refs == 0 {
            self.discard(number);
        }
    }

    /// Frames that are kept.
    #[cfg(test)]
    pub fn frames(&self) -> usize {
        self.pages.iter().flatten().count()
    }

    fn discard(&mut self, number: u32) {
        let page = self.pages[number as usize].take().expect("a packet's frame is kept");
        if let Bytes::Small(small, _) = page.bytes {
            self.small.push(small);
        }
        self.free_pages.push(number);
    }

    fn page_mut(&mut self, number: u32) -> &mut Page {
        self.pages[number as usize].as_mut().expect("a packet's frame is kept")
    }
}

/// Segments of a frame: offset and length of the payload of each, and whether it is the last one.
pub fn segments(page: &Page) -> impl Iterator<Item = (u32, u16, bool)> + use<> {
    let whole = page.bytes().len() - VNET - page.headers.end;
    let size = if page.split { page.vnet.gso_size as usize } else { whole.max(1) };
    let count = whole.div_ceil(size).max(1);
    (0..count).map(move |i| {
        let from = i * size;
        (from as u32, (whole - from).min(size) as u16, i + 1 == count)
    })
}

/// The whole of a frame that is cut into several segments, as [`segments`] has each, and their number; nothing for others,
/// and for what is longer than an IP packet may be.
pub fn whole(page: &Page) -> Option<(u16, u16)> {
    let payload = page.bytes().len() - VNET - page.headers.end;
    let count = if page.split { payload.div_ceil(page.vnet.gso_size as usize) } else { 1 };
    (count > 1 && page.headers.end + payload <= MOST_BYTES).then_some((payload as u16, count as u16))
}

fn can_be_cut(vnet: &Vnet, headers: &Headers) -> bool {
    let (version, transport) = match vnet.gso {
        GSO_TCP4 => (4, TCP),
        GSO_TCP6 => (6, TCP),
        GSO_UDP => (headers.version, UDP),
        _ => return false,
    };
    (headers.version, headers.transport) == (version, transport) && vnet.gso_size > 0 && headers.end <= MOST_HEADERS
}

/// Longest headers of what is cut or joined: IPv6 with extensions, and TCP with options.
pub const MOST_HEADERS: usize = 256;

/// Bytes of an IP packet.
pub const MOST_BYTES: usize = 65_535;

/// Virtio header and a packet of Ethernet's size, with some room.
const SMALL: usize = 2048;
