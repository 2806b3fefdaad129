//! Parameters that tc computes for RED (`tc_red.c` and `tc_core.c` of iproute2 6.1). If C leaves a conversion undefined
//! (zero ticks, cells of 2^31), the result is that of x86-64.

use crate::error::ConfigError;
use crate::rate::Rate;
use alloc::format;

/// Minimum `Wlog` for which a burst of `burst` packets of `avpkt` bytes stays below `min` bytes (tc_red_eval_ewma).
pub fn wlog(min: u64, burst: u64, avpkt: u64) -> Option<u32> {
    let a = burst as f64 + 1.0 - min as f64 / avpkt as f64;
    if a < 1.0 {
        return None;
    }
    (1..32).find(|&wlog| {
        let w = 1.0 / (1u64 << wlog) as f64;
        a <= (1.0 - libm::pow(1.0 - w, burst as f64)) / w
    })
}

/// Refuses a burst whose weight the kernel refuses, because its 32 bits cannot hold an average of `max`
/// (`red_check_params`); tc warns "Burst … seems to be too large". `unit` is the unit of `max`.
pub fn check_burst((min, max): (u64, u64), burst: u64, avpkt: u64, unit: &str) -> Result<(), ConfigError> {
    let is_held = |burst: u64| wlog(min, burst, avpkt).is_none_or(|wlog| max.max(1).ilog2() + 1 + wlog < 32);
    if is_held(burst) {
        return Ok(());
    }
    // Binary search, because the weight falls with the burst.
    let (mut least, mut most) = (1, burst);
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        if is_held(middle) { least = middle } else { most = middle }
    }
    Err(format!(
        "burst {burst} is too large: the kernel cannot represent so slow an average up to max ({max}{unit}); tc \
         refuses it too; write at most burst {least}"
    )
    .into())
}

/// Maximum probability in units of 2⁻³², for thresholds whose difference is `apart` for tc and `delta` for the kernel.
///
/// 32 bits cannot hold a probability of 1, so tc sends 0. The kernel then uses the parameter of older tc versions: the
/// power of two below 1/`apart` per step of the average (tc_red_eval_P, red_maxp).
pub fn max_p(probability: f64, apart: u64, delta: u32) -> u32 {
    let max_p = (probability * TWO_TO_32) as u64 as u32;
    if max_p > 0 {
        return max_p;
    }
    let of_a_step = probability / apart as f64;
    let plog = (0..32).find(|&plog| of_a_step * (1u64 << plog) as f64 > 1.0).unwrap_or(31);
    (u32::MAX >> plog).wrapping_mul(delta)
}

/// Idle table: per cell, the bits to shift an average with weight 2⁻ʷˡᵒᵍ by. Also returns the logarithm of a cell in
/// microseconds. Packets of `avpkt` bytes leave at `bandwidth` (tc_red_eval_idle_damping).
pub fn idle_damping(wlog: u32, avpkt: u64, bandwidth: Rate) -> ([u8; 256], u32) {
    let lw = -libm::log(1.0 - 1.0 / (1i32 << wlog) as f64) / xmit_ticks(avpkt, bandwidth) as f64;
    let scell_log = (0..31).find(|&c| 31.0 / lw / ((1u64 << c) as f64) < 512.0).unwrap_or(31);
    let mut stab = [31; 256];
    stab[0] = 0;
    for (i, bits) in stab.iter_mut().enumerate().take(255).skip(1) {
        *bits = (to_int((i as i32).wrapping_shl(scell_log) as f64 * lw) as u8).min(31);
    }
    (stab, scell_log)
}

/// Transmission time of `avpkt` bytes in tc's ticks of 64 ns (tc_calc_xmittime). The rate is in whole bytes per second,
/// the time is rounded down to microseconds and then to ticks; the kernel nevertheless indexes the table by
/// microseconds.
fn xmit_ticks(avpkt: u64, bandwidth: Rate) -> u32 {
    let rate = match bandwidth.as_bps() / 8 {
        0 => USUAL_BYTES_PER_S,
        rate => rate,
    };
    let us = (1e6 * (avpkt as f64 / rate as f64)) as u64 as u32;
    (us as f64 * TICKS_PER_US) as u64 as u32
}

/// Conversion to an int on x86-64: out of range becomes `i32::MIN`.
fn to_int(value: f64) -> i32 {
    if value.abs() < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

const TWO_TO_32: f64 = (1u64 << 32) as f64;
const TICKS_PER_US: f64 = 15.625;
/// tc assumes 10 Mbit/s if no rate was given.
const USUAL_BYTES_PER_S: u64 = 1_250_000;

#[cfg(test)]
mod tests;
