//! Thrift's compact protocol, as far as Parquet's metadata need it: fields in the order of their numbers.
//!
//! Source: `thrift-compact-protocol.md` of Apache Thrift.

/// Types of values, as lists and fields name them.
#[derive(Clone, Copy)]
pub enum Kind {
    I32 = 5,
    I64 = 6,
    Text = 8,
    List = 9,
    Struct = 12,
}

/// A struct in the making.
#[derive(Default)]
pub struct Compact {
    out: Vec<u8>,
    /// Number of the field written last.
    last: u8,
}

impl Compact {
    pub fn byte(&mut self, field: u8, value: u8) {
        self.field(field, 3);
        self.out.push(value);
    }

    pub fn bool(&mut self, field: u8, value: bool) {
        self.field(field, if value { 1 } else { 2 });
    }

    pub fn i32(&mut self, field: u8, value: i32) {
        self.field(field, Kind::I32 as u8);
        self.number(value);
    }

    pub fn i64(&mut self, field: u8, value: i64) {
        self.field(field, Kind::I64 as u8);
        varint(&mut self.out, zigzag(value));
    }

    pub fn text(&mut self, field: u8, value: &str) {
        self.field(field, Kind::Text as u8);
        self.string(value);
    }

    /// A list, whose elements follow.
    pub fn list(&mut self, field: u8, of: Kind, len: usize) {
        self.field(field, Kind::List as u8);
        if len < 15 {
            self.out.push((len as u8) << 4 | of as u8);
        } else {
            self.out.push(0xf0 | of as u8);
            varint(&mut self.out, len as u64);
        }
    }

    /// A struct as a field.
    pub fn nested(&mut self, field: u8, fill: impl FnOnce(&mut Self)) {
        self.field(field, Kind::Struct as u8);
        self.item(fill);
    }

    /// A struct as an element of a list.
    pub fn item(&mut self, fill: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.last);
        fill(self);
        self.out.push(STOP);
        self.last = outer;
    }

    /// A whole number as an element of a list.
    pub fn number(&mut self, value: i32) {
        varint(&mut self.out, zigzag(value.into()));
    }

    /// A text as an element of a list.
    pub fn string(&mut self, value: &str) {
        varint(&mut self.out, value.len() as u64);
        self.out.extend(value.as_bytes());
    }

    /// The bytes of the whole struct.
    pub fn end(mut self) -> Vec<u8> {
        self.out.push(STOP);
        self.out
    }

    fn field(&mut self, field: u8, kind: u8) {
        let step = field - self.last;
        assert!((1..16).contains(&step), "fields are written in their order, and near ones");
        self.out.push(step << 4 | kind);
        self.last = field;
    }
}

/// A number in groups of seven bits, the lowest first.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign as small numbers without.
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

const STOP: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_in_the_specification() {
        for (value, expected) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)] {
            assert_eq!(zigzag(value), expected, "{value}");
        }
        for (value, expected) in [(50399, &[0xdf, 0x89, 0x03][..]), (127, &[0x7f]), (128, &[0x80, 0x01])] {
            let mut out = Vec::new();
            varint(&mut out, value);
            assert_eq!(out, expected, "{value}");
        }
    }

    #[test]
    fn fields_are_numbered_from_the_one_before_also_behind_a_struct() {
        let mut out = Compact::default();
        out.nested(3, |inner| inner.bool(1, true));
        out.i32(5, -1);
        out.list(6, Kind::Text, 1);
        out.string("ab");
        assert_eq!(out.end(), [0x3c, 0x11, 0, 0x25, 1, 0x19, 0x18, 2, b'a', b'b', 0]);
    }
}
