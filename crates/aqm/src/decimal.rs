//! Fixed-point numbers as text.

use core::fmt;

/// Writes `value / per_unit` as a decimal without trailing zeros; `per_unit` is a power of ten.
pub fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, per_unit: u64) -> fmt::Result {
    write!(f, "{}", value / per_unit)?;
    let mut fraction = value % per_unit;
    if fraction == 0 {
        return Ok(());
    }
    let mut digits = per_unit.ilog10() as usize;
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    write!(f, ".{fraction:0digits$}")
}
