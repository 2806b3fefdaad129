//! The values of a column in a row group as bytes: pages with their headers.

use super::Type;
use super::thrift::{Compact, varint, zigzag};

/// Where a chunk of a column is, and how it is stored.
#[derive(Debug)]
pub struct Chunk {
    /// Where it begins in the file.
    pub begin: u64,
    /// Where its page of values begins in it: behind the dictionary, if there is one.
    pub data: u64,
    /// Bytes of its pages with their headers: as they are, and if nothing were compressed.
    pub stored: u64,
    pub raw: u64,
    encoding: Encoding,
    is_compressed: bool,
}

/// How values are written. The numbers are those of `Encoding` in parquet.thrift.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Encoding {
    Plain = 0,
    DeltaBinaryPacked = 5,
    RleDictionary = 8,
}

impl Chunk {
    /// The encodings in it.
    pub fn encodings(&self) -> &'static [i32] {
        match self.encoding {
            Encoding::Plain => &[Encoding::Plain as i32],
            Encoding::DeltaBinaryPacked => &[Encoding::DeltaBinaryPacked as i32],
            Encoding::RleDictionary => &[Encoding::Plain as i32, Encoding::RleDictionary as i32],
        }
    }

    /// `CompressionCodec`: none, or LZ4_RAW.
    pub fn codec(&self) -> i32 {
        if self.is_compressed { 7 } else { 0 }
    }
}

/// The pages of a chunk that is going to begin at the start of a file.
pub fn encode(values: &[u64], kind: Type) -> (Vec<u8>, Chunk) {
    let (dictionary, encoding, page) = match (repeating(values), kind) {
        (Some((distinct, places)), _) => {
            (Some((plain(&distinct, kind), distinct.len())), Encoding::RleDictionary, numbered(&places, distinct.len()))
        }
        (None, Type::Whole(_)) => (None, Encoding::DeltaBinaryPacked, differences(values, kind.bytes() == 4)),
        (None, Type::Float) => (None, Encoding::Plain, plain(values, kind)),
    };
    let pages = |compress: bool| {
        let mut out = Vec::with_capacity(page.len() / 2);
        let mut raw = 0;
        if let Some((distinct, count)) = &dictionary {
            raw += put_page(&mut out, distinct, compress, DICTIONARY_PAGE, |header| {
                header.nested(7, |dictionary| {
                    dictionary.i32(1, *count as i32);
                    dictionary.i32(2, Encoding::Plain as i32);
                });
            });
        }
        let data = out.len() as u64;
        raw += put_page(&mut out, &page, compress, DATA_PAGE, |header| {
            header.nested(5, |page| {
                page.i32(1, values.len() as i32);
                page.i32(2, encoding as i32);
                page.i32(3, LEVELS);
                page.i32(4, LEVELS);
            });
        });
        (out, data, raw)
    };
    let (mut out, mut data, raw) = pages(true);
    let is_compressed = (out.len() as u64) < raw;
    if !is_compressed {
        (out, data, _) = pages(false);
    }
    let stored = out.len() as u64;
    (out, Chunk { begin: 0, data, stored, raw: raw.max(stored), encoding, is_compressed })
}

/// Adds a page; gives its bytes with the header, uncompressed. `about` says in the header what it is.
fn put_page(out: &mut Vec<u8>, page: &[u8], compress: bool, kind: i32, about: impl Fn(&mut Compact)) -> u64 {
    let compressed;
    let stored = if compress {
        compressed = lz4_flex::block::compress(page);
        &compressed
    } else {
        page
    };
    let mut header = Compact::default();
    header.i32(1, kind);
    header.i32(2, page.len() as i32);
    header.i32(3, stored.len() as i32);
    about(&mut header);
    let header = header.end();
    out.extend(&header);
    out.extend(stored);
    (header.len() + page.len()) as u64
}

/// The distinct values in the order of their first appearance, and the place of each value among them, where there are at
/// most 256 and each comes twice on average.
fn repeating(values: &[u64]) -> Option<(Vec<u64>, Vec<u8>)> {
    let most = DISTINCT.min(values.len() / 2);
    let mut slots = [FREE; 4 * DISTINCT];
    let mut distinct: Vec<u64> = Vec::new();
    let mut places = Vec::with_capacity(values.len());
    for &value in values {
        // Multiplicative hashing; the highest bits are the best.
        let mut slot = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - (4 * DISTINCT).ilog2())) as usize;
        while slots[slot] != FREE && distinct[slots[slot] as usize] != value {
            slot = (slot + 1) % slots.len();
        }
        if slots[slot] == FREE {
            if distinct.len() == most {
                return None;
            }
            slots[slot] = distinct.len() as u16;
            distinct.push(value);
        }
        places.push(slots[slot] as u8);
    }
    (!values.is_empty()).then_some((distinct, places))
}

/// PLAIN: the values one after the other.
fn plain(values: &[u64], kind: Type) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(kind.bytes())).collect()
}

/// RLE_DICTIONARY: the bits of a number, and one bit-packed run.
fn numbered(places: &[u8], distinct: usize) -> Vec<u8> {
    // One value needs no bit, but not every reader takes none.
    let width = (distinct - 1).checked_ilog2().unwrap_or(0) + 1;
    let groups = places.len().div_ceil(8);
    let mut out = vec![width as u8];
    varint(&mut out, (groups as u64) << 1 | 1);
    let padded = places.iter().map(|&place| place.into()).chain(std::iter::repeat(0)).take(8 * groups);
    pack(padded, width, &mut out);
    out
}

/// DELTA_BINARY_PACKED: differences to the value before, less the smallest of their block, with as many bits as the
/// largest of a miniblock needs. A `narrow` column computes in 32 bits.
fn differences(values: &[u64], narrow: bool) -> Vec<u8> {
    let signed = |value: u64| if narrow { value as u32 as i32 as i64 } else { value as i64 };
    let mut out = Vec::with_capacity(values.len());
    for number in [BLOCK, BLOCK / MINIBLOCK, values.len()] {
        varint(&mut out, number as u64);
    }
    varint(&mut out, zigzag(values.first().map_or(0, |&first| signed(first))));
    let mut deltas = [0; BLOCK];
    for from in (1..values.len()).step_by(BLOCK) {
        let pairs = values[from - 1..].windows(2).take(BLOCK);
        let count = pairs.len();
        deltas.iter_mut().zip(pairs).for_each(|(delta, pair)| *delta = signed(pair[1].wrapping_sub(pair[0])));
        let least = *deltas[..count].iter().min().expect("a block has a value");
        varint(&mut out, zigzag(least));
        let above = |delta: i64| delta.wrapping_sub(least) as u64;
        let width = |mini: &[i64]| 64 - mini.iter().fold(0, |bits, &delta| bits | above(delta)).leading_zeros();
        let widths = out.len();
        out.extend([0; BLOCK / MINIBLOCK]);
        for (i, mini) in deltas[..count].chunks(MINIBLOCK).enumerate() {
            let width = width(mini);
            out[widths + i] = width as u8;
            let padded = mini.iter().map(|&delta| above(delta)).chain(std::iter::repeat(0)).take(MINIBLOCK);
            pack(padded, width, &mut out);
        }
    }
    out
}

/// Numbers of `width` bits one after the other, the lowest bit first.
fn pack(numbers: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut count) = (0u128, 0);
    for number in numbers {
        held |= u128::from(number) << count;
        count += width;
        while count >= 64 {
            out.extend((held as u64).to_le_bytes());
            held >>= 64;
            count -= 64;
        }
    }
    out.extend(&held.to_le_bytes()[..count.div_ceil(8) as usize]);
}

/// The most distinct values of a dictionary: their numbers fit into a byte.
const DISTINCT: usize = 256;
const FREE: u16 = u16::MAX;
/// Values of a block and of a miniblock: those that parquet-mr and Arrow write.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;
/// `PageType`.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
/// `Encoding` of levels, of which there are none: RLE.
const LEVELS: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_from_the_lowest_bit_on() {
        // The example of Encodings.md: 0 to 7 with three bits.
        let mut out = Vec::new();
        pack(0..8, 3, &mut out);
        assert_eq!(out, [0b1000_1000, 0b1100_0110, 0b1111_1010]);
        out.clear();
        pack([u64::MAX, 1].into_iter(), 64, &mut out);
        assert_eq!(out, [[0xff; 8], 1u64.to_le_bytes()].concat());
    }

    #[test]
    fn differences_are_as_in_the_specification() {
        // Example 1 of Encodings.md: 1 to 5 are differences of 1, which take no bits.
        assert_eq!(differences(&[1, 2, 3, 4, 5], false), [128, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
        // Example 2: 7, 5, 3, 1, 2, 3, 4, 5: the least difference is -2, the others are 0 or 3 above it.
        let bytes = differences(&[7, 5, 3, 1, 2, 3, 4, 5], true);
        assert_eq!(bytes[..5], [128, 1, 4, 8, 14]);
        assert_eq!(bytes[5..10], [3, 2, 0, 0, 0]);
        assert_eq!(bytes[10..], [0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_narrow_column_wraps_at_its_width() {
        // From the largest number to 0 is a difference of 1 in 32 bits.
        assert_eq!(differences(&[0xffff_ffff, 0], true)[4..], [1, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn few_values_become_a_dictionary_and_many_do_not() {
        let values: Vec<u64> = (0..600).map(|i| 7 * (i % 256)).collect();
        let (distinct, places) = repeating(&values).unwrap();
        assert_eq!((distinct.len(), places[300], distinct[44]), (256, 44, 7 * 44));
        assert_eq!(repeating(&(0..600).map(|i| i % 257).collect::<Vec<_>>()), None);
        assert_eq!(repeating(&[1, 2, 3]), None, "a dictionary of all values is of no use");
        assert_eq!(repeating(&[]), None);
    }

    #[test]
    fn what_does_not_get_smaller_is_not_compressed() {
        let mut word = 1u64;
        let draws = (0..129).map(|_| {
            word = word.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            word
        });
        let (bytes, chunk) = encode(&draws.collect::<Vec<_>>(), Type::Whole(64));
        assert_eq!((chunk.codec(), chunk.stored, chunk.raw), (0, bytes.len() as u64, bytes.len() as u64));
        let (bytes, chunk) = encode(&[5; 10_000], Type::Whole(8));
        assert_eq!((chunk.codec(), chunk.stored), (7, bytes.len() as u64));
        assert!(chunk.raw > 1250 && chunk.stored < 150, "{chunk:?}");
    }
}
