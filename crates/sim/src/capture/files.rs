//! Frames of a capture file.
//!
//! Our own reader: dpkt and python-pcapng convert pcapng timestamps to floats, which cannot hold today's date to the
//! nanosecond, and pcap-parser leaves resolutions, truncation and damage to its user.

/// One captured frame.
pub(super) struct Frame<'a> {
    /// Since 1970.
    pub time_ns: u64,
    /// Type of its first header, as a libpcap link type.
    pub link_type: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Length on the wire.
    pub size: u32,
}

/// Visits the frames of a file in order; returns the byte at which the file is truncated, if it is.
pub(super) fn frames<'a>(data: &'a [u8], visit: &mut impl FnMut(&Frame<'a>)) -> Result<Option<u64>, String> {
    let magic = data.get(..4).unwrap_or_default();
    if magic == SECTION_MAGIC {
        return pcapng(data, visit);
    }
    for (big, order) in [(true, ByteOrder::Big), (false, ByteOrder::Little)] {
        for (number, unit_ns) in [(0xA1B2_C3D4u32, 1000), (0xA1B2_3C4D, 1)] {
            if magic == (if big { number.to_be_bytes() } else { number.to_le_bytes() }) {
                return pcap(data, order, unit_ns, visit);
            }
        }
    }
    Err("not a capture; give a pcap or pcapng file, plain or compressed by gzip (decompress others first)".to_string())
}

fn pcap<'a>(
    data: &'a [u8],
    order: ByteOrder,
    unit_ns: u64,
    visit: &mut impl FnMut(&Frame<'a>),
) -> Result<Option<u64>, String> {
    // The upper half of the last field may describe the frame check sequence.
    let Some(link_type) = order.u32(data, 20).map(|word| word & 0xFFFF) else {
        return Err("truncated within its first header; nothing can be read".to_string());
    };
    let mut at = 24;
    while at < data.len() {
        let head = data.get(at..at + 16);
        let Some(head) = head else { return Ok(Some(at as u64)) };
        let [seconds, fraction, captured, size] = [0, 4, 8, 12].map(|offset| order.u32(head, offset).unwrap_or(0));
        let fraction_ns = u64::from(fraction) * unit_ns;
        if captured > MAX_SIZE || fraction_ns >= SECOND {
            return Err(format!("byte {at}: not a packet record; the file is damaged"));
        }
        let Some(bytes) = data.get(at + 16..at + 16 + captured as usize) else { return Ok(Some(at as u64)) };
        let time_ns = u64::from(seconds) * SECOND + fraction_ns;
        visit(&Frame { time_ns, link_type, data: bytes, size });
        at += 16 + bytes.len();
    }
    Ok(None)
}

fn pcapng<'a>(data: &'a [u8], visit: &mut impl FnMut(&Frame<'a>)) -> Result<Option<u64>, String> {
    let mut section = Section { order: ByteOrder::Little, interfaces: Vec::new() };
    let mut at = 0;
    while at < data.len() {
        if at + 12 > data.len() {
            return Ok(Some(at as u64));
        }
        if data[at..at + 4] == SECTION_MAGIC {
            section = Section { order: byte_order(data, at)?, interfaces: Vec::new() };
        }
        let order = section.order;
        let [kind, size] = [at, at + 4].map(|offset| order.u32(data, offset).expect("twelve bytes are there"));
        if size < 12 || size % 4 != 0 || size > MAX_SIZE {
            return Err(format!("byte {at}: invalid block size of {size} bytes; the file is damaged"));
        }
        let end = at + size as usize;
        if end > data.len() {
            return Ok(Some(at as u64));
        }
        if order.u32(data, end - 4) != Some(size) {
            return Err(format!("byte {at}: the block's two sizes differ; the file is damaged"));
        }
        let result = section.block(kind, &data[at + 8..end - 4]);
        match result {
            Ok(Some(frame)) if frame.time_ns > i64::MAX as u64 => {
                return Err(format!("byte {at}: a time after the year 2262 or before 1970; the file is damaged"));
            }
            Ok(Some(frame)) => visit(&frame),
            Ok(None) => {}
            Err(TruncatedError) => return Err(format!("byte {at}: block too short; the file is damaged")),
        }
        at = end;
    }
    Ok(None)
}

fn byte_order(data: &[u8], at: usize) -> Result<ByteOrder, String> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32(data, at + 8) == Some(0x1A2B_3C4D))
        .ok_or_else(|| format!("byte {at}: section without a byte order; the file is damaged"))
}

struct Section {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    link_type: u32,
    ticks_per_s: u128,
    offset_ns: i128,
}

struct TruncatedError;

impl Section {
    /// The frame of a block, if it has one. An impossible time becomes the maximum.
    fn block<'a>(&mut self, kind: u32, body: &'a [u8]) -> Result<Option<Frame<'a>>, TruncatedError> {
        let order = self.order;
        let word = |offset| order.u32(body, offset).ok_or(TruncatedError);
        let number = match kind {
            INTERFACE => {
                let link_type = order.u16(body, 0).ok_or(TruncatedError)?.into();
                let (ticks_per_s, offset_ns) = resolution(order, body.get(8..).unwrap_or_default())?;
                self.interfaces.push(Interface { link_type, ticks_per_s, offset_ns });
                return Ok(None);
            }
            ENHANCED_PACKET => word(0)? as usize,
            PACKET => order.u16(body, 0).ok_or(TruncatedError)?.into(),
            // Name resolution, statistics, a packet without timestamp.
            _ => return Ok(None),
        };
        let (high, low, captured, size) = (word(4)?, word(8)?, word(12)?, word(16)?);
        let data = body.get(20..20 + captured as usize).ok_or(TruncatedError)?;
        let &Interface { link_type, ticks_per_s, offset_ns } = self.interfaces.get(number).ok_or(TruncatedError)?;
        let ticks = u128::from(high) << 32 | u128::from(low);
        let stamp = (ticks * u128::from(SECOND) / ticks_per_s) as i128 + offset_ns;
        Ok(Some(Frame { time_ns: u64::try_from(stamp).unwrap_or(u64::MAX), link_type, data, size }))
    }
}

/// Ticks per second and offset in ns; without the options, microseconds since 1970.
fn resolution(order: ByteOrder, options: &[u8]) -> Result<(u128, i128), TruncatedError> {
    let (mut ticks, mut offset, mut at) = (1_000_000, 0, 0);
    while at + 4 <= options.len() {
        let (code, size) =
            (order.u16(options, at).ok_or(TruncatedError)?, order.u16(options, at + 2).ok_or(TruncatedError)?);
        match code {
            0 => break,
            9 => {
                let exponent = *options.get(at + 4).ok_or(TruncatedError)?;
                let power = u32::from(exponent & 0x7F);
                let base: u128 = if exponent & 0x80 != 0 { 2 } else { 10 };
                ticks = base.checked_pow(power).ok_or(TruncatedError)?;
            }
            14 => offset = order.i64(options, at + 4).ok_or(TruncatedError)?,
            _ => {}
        }
        at += 4 + usize::from(size).next_multiple_of(4);
    }
    Ok((ticks, i128::from(offset) * i128::from(SECOND)))
}

#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn u16(self, data: &[u8], at: usize) -> Option<u16> {
        let bytes = data.get(at..at + 2)?.try_into().ok()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        })
    }

    fn u32(self, data: &[u8], at: usize) -> Option<u32> {
        let bytes = data.get(at..at + 4)?.try_into().ok()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        })
    }

    fn i64(self, data: &[u8], at: usize) -> Option<i64> {
        let bytes = data.get(at..at + 8)?.try_into().ok()?;
        Some(match self {
            Self::Little => i64::from_le_bytes(bytes),
            Self::Big => i64::from_be_bytes(bytes),
        })
    }
}

const SECOND: u64 = 1_000_000_000;
/// Maximum bytes of a record; a larger one means a damaged file.
const MAX_SIZE: u32 = 1 << 26;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const ENHANCED_PACKET: u32 = 6;
const SECTION_MAGIC: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
