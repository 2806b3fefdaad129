//! Blocks of pcapng files (draft-ietf-opsawg-pcapng §4): raw IP, timestamps in nanoseconds, this machine's byte order.

/// Appends the header of a file's one section.
pub fn section(out: &mut Vec<u8>) {
    let body = [&BYTE_ORDER.to_ne_bytes()[..], &[1, 0], &[0; 2], &[0xff; 8]].concat();
    block(out, SECTION, &body, &[]);
}

/// Appends the description of an interface, whose number is that of interfaces before it; `snap` is the maximum number
/// of captured bytes, 0 for no limit.
pub fn interface(out: &mut Vec<u8>, name: &str, snap: u32) {
    let body = [&RAW_IP.to_ne_bytes()[..], &[0; 2], &snap.to_ne_bytes()].concat();
    block(out, INTERFACE, &body, &[(NAME, name.as_bytes()), (RESOLUTION, &[NANOSECONDS])]);
}

/// A packet of a capture, before its captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct PacketRecord {
    /// Number of the interface.
    pub interface: u32,
    /// Since 1970, in ns.
    pub time_ns: u64,
    /// Bytes on the wire.
    pub size: u32,
}

/// Appends a packet with its captured bytes, `data`, and `options` as codes and values.
pub fn packet(out: &mut Vec<u8>, record: PacketRecord, data: &[u8], options: &[(u16, &[u8])]) {
    let PacketRecord { interface, time_ns, size } = record;
    let padded = data.len().next_multiple_of(4);
    let length = (32 + padded + size_of_options(options)) as u32;
    let words = [PACKET, length, interface, (time_ns >> 32) as u32, time_ns as u32, data.len() as u32, size];
    out.extend(words.into_iter().flat_map(u32::to_ne_bytes));
    out.extend(data);
    out.extend(std::iter::repeat_n(0, padded - data.len()));
    write_options(out, options);
    out.extend(length.to_ne_bytes());
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8], options: &[(u16, &[u8])]) {
    let length = (12 + body.len() + size_of_options(options)) as u32;
    out.extend(kind.to_ne_bytes());
    out.extend(length.to_ne_bytes());
    out.extend(body);
    write_options(out, options);
    out.extend(length.to_ne_bytes());
}

fn size_of_options(options: &[(u16, &[u8])]) -> usize {
    let sizes = options.iter().map(|(_, value)| 4 + value.len().next_multiple_of(4));
    sizes.sum::<usize>() + if options.is_empty() { 0 } else { 4 }
}

/// Appends options and the mark of their end; nothing for none.
fn write_options(out: &mut Vec<u8>, options: &[(u16, &[u8])]) {
    for &(code, value) in options {
        out.extend(code.to_ne_bytes());
        out.extend((value.len() as u16).to_ne_bytes());
        out.extend(value);
        out.extend(std::iter::repeat_n(0, value.len().next_multiple_of(4) - value.len()));
    }
    if !options.is_empty() {
        out.extend([0; 4]);
    }
}

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// LINKTYPE_RAW: a packet begins with its IP header.
const RAW_IP: u16 = 101;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;
/// Option of any block: a comment.
pub const COMMENT: u16 = 1;
/// Option of a packet: flags, [`INBOUND`] or [`OUTBOUND`] in the lowest two bits.
pub const FLAGS: u16 = 2;
/// The packet enters the interface.
pub const INBOUND: u32 = 1;
/// The packet leaves the interface.
pub const OUTBOUND: u32 = 2;
