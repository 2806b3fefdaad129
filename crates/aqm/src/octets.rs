//! Fields of packet headers, in network byte order. A field beyond the end of the bytes is `None`, never a panic: every
//! reader of packets gets its fields here.

/// The field of two bytes at `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    field(bytes, at).map(u16::from_be_bytes)
}

/// The field of four bytes at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_be_bytes)
}

/// The `N` bytes at `at`.
pub fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_beyond_the_end_is_none() {
        let bytes = [1, 2, 3, 4, 5];
        assert_eq!(
            [0, 3, 4, 5, usize::MAX].map(|at| u16_at(&bytes, at)),
            [Some(0x0102), Some(0x0405), None, None, None]
        );
        assert_eq!(
            [0, 1, 2, usize::MAX].map(|at| u32_at(&bytes, at)),
            [Some(0x0102_0304), Some(0x0203_0405), None, None]
        );
        assert_eq!((field(&bytes, 5), field::<1>(&bytes, 5)), (Some([]), None));
    }
}
