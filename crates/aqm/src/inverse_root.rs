//! The inverse square root of Linux's CoDel and COBALT (`codel_Newton_step`, `cobalt_newton_step`).

/// One step of the iteration for 1/sqrt(count) with 32 bits after the point: x' = x (3 - count x²) / 2.
pub(crate) const fn newton_step(rec_inv_sqrt: u32, count: u32) -> u32 {
    let root = rec_inv_sqrt as u64;
    let square = (root * root) >> 32;
    let mut val = (3u64 << 32).wrapping_sub(count as u64 * square);
    val >>= 2; // avoids overflow in the following multiplication
    (val.wrapping_mul(root) >> (32 - 2 + 1)) as u32
}
