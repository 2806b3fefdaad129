//! SipHash-2-4 of 32 bits with a 128-bit key (J.-P. Aumasson, D. J. Bernstein, INDOCRYPT 2012). Linux uses it to hash
//! the class that a filter assigns (`siphash_1u32`).

/// Key: first and second eight bytes, little-endian.
pub(super) type Key = [u64; 2];

/// Hash of four bytes, little-endian.
pub(super) fn siphash_1u32(first: u32, key: Key) -> u64 {
    let mut v = [key[0] ^ INIT[0], key[1] ^ INIT[1], key[0] ^ INIT[2], key[1] ^ INIT[3]];
    // The only word: the length in bytes in the most significant byte, the message in the least significant ones.
    let word = 4 << 56 | first as u64;
    v[3] ^= word;
    rounds(&mut v, 2);
    v[0] ^= word;
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds(v: &mut [u64; 4], n: u32) {
    for _ in 0..n {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32).wrapping_add(v[3]);
        v[2] = v[2].wrapping_add(v[1]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
}

/// "somepseudorandomlygeneratedbytes".
const INIT: [u64; 4] = [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_of_the_published_vectors() {
        // Key 00 01 … 0f, message 00 01 02 03: b7 87 71 27 e0 94 27 cf.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(siphash_1u32(0x0302_0100, key), 0xcf27_94e0_2771_87b7);
    }
}
