//! The cube root as the kernel takes it, which is not exact: a first guess from the leading bits, one step after Newton, and a
//! third that is 341 / 1024.
//!
//! Source: Linux `cubic_root` (2.6.22 on). Windows grow an acknowledgment earlier or later by it.

/// About the cube root of `a`, as large as the kernel says.
pub(super) fn cube_root(a: u64) -> u32 {
    let bits = u64::BITS - a.leading_zeros();
    if a < GUESS.len() as u64 {
        return (u32::from(GUESS[a as usize]) + 35) >> GUESS_BITS;
    }
    // How many bits the root has less one: a third of those of the cube.
    let behind = ((bits * 84) >> 8) - 1;
    let leading = (a >> (3 * behind)) as usize;
    let guess = u64::from(((u32::from(GUESS[leading]) + 10) << behind) >> GUESS_BITS);
    let three_times = 2 * guess + a / (guess * (guess - 1));
    ((three_times * 341) >> 10) as u32
}

/// First guesses for the leading bits of a cube, in 64ths.
const GUESS: [u8; 64] = guesses();
const GUESS_BITS: u32 = 6;

/// Roots rounded down and less one, and moved.
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

/// How far the kernel's first guesses were moved by hand.
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

    /// Of `cubic_root`, which was compiled from the kernel's file.
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
