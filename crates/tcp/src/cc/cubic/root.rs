//! The kernel's approximate cube root: a first guess from the leading bits, one Newton-Raphson step, and 341 / 1024 for
//! a third.
//!
//! Source: Linux `cubic_root` (since 2.6.22). It is up to 0.2 % off the exact root. The kernel's arithmetic is kept
//! because a window that grows one acknowledgment earlier makes the flow diverge from the kernel's.

/// Approximate cube root of `a`, equal to the kernel's.
pub(super) fn cube_root(a: u64) -> u32 {
    let bits = u64::BITS - a.leading_zeros();
    if a < GUESS.len() as u64 {
        return (u32::from(GUESS[a as usize]) + 35) >> GUESS_BITS;
    }
    // Bits of the root less one: a third of the bits of the cube.
    let shift = ((bits * 84) >> 8) - 1;
    let leading = (a >> (3 * shift)) as usize;
    let guess = u64::from(((u32::from(GUESS[leading]) + 10) << shift) >> GUESS_BITS);
    let three_times = 2 * guess + a / (guess * (guess - 1));
    ((three_times * 341) >> 10) as u32
}

/// First guesses for the leading bits of a cube, in 1/64.
const GUESS: [u8; 64] = guesses();
const GUESS_BITS: u32 = 6;

/// Roots rounded down, less one, plus the kernel's correction.
const fn guesses() -> [u8; 64] {
    let mut guesses = [0; 64];
    let (mut cube, mut root) = (1, 0u32);
    while cube < guesses.len() {
        while (root + 1).pow(3) as usize <= cube << (3 * GUESS_BITS) {
            root += 1;
        }
        guesses[cube] = (root as i32 - 1 + MOVED[cube] as i32) as u8;
        cube += 1;
    }
    guesses
}

/// Manual corrections of the kernel's first guesses.
#[rustfmt::skip]
const MOVED: [i8; 64] = [
    0, -9, -25, -37, 18, 10, 3, -3, -4, -3, -2, -3, -2, -2, -2, 0,
    -3, -2, -2, -1, -2, -2, -2, -2, -2, -1, -1, -1, -1, -1, 0, -1,
    -2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, -1, 0, -1, -1, 0,
    0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from `cubic_root`, compiled from the kernel's source file.
    #[test]
    fn roots_are_off_as_the_kernels() {
        const OF: [(u64, u32); 18] = [
            (0, 0),
            (1, 1),
            (2, 1),
            (7, 2),
            (8, 2),
            (26, 3),
            (27, 3),
            (63, 4),
            (64, 4),
            (100, 5),
            (1_000, 10),
            (27_000, 30),
            (2_681_735_677, 1_388),
            (13_408_678_385, 2_375),
            (126_041_576_819, 5_012),
            (268_173_567_700, 6_451),
            (2_681_735_677_000, 13_897),
            (536_347_135_400_000, 81_331),
        ];
        for (cube, root) in OF {
            assert_eq!(cube_root(cube), root, "{cube}");
        }
    }
}
