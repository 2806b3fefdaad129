//! What tc makes of its words for RED (`tc_red.c` and `tc_core.c` of iproute2 6.1).

use crate::error::ConfigError;
use crate::rate::Rate;
use alloc::format;

/// The smallest `Wlog` with which a burst of `burst` packets of `avpkt` bytes stays below `min` bytes
/// (tc_red_eval_ewma).
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

/// Refuses a burst whose weight the kernel refuses: its 32 bits hold no average of `max` with it (`red_check_params`),
/// as tc has warned ("Burst … seems to be too large"). `unit` is that of `max`.
pub fn check_burst((min, max): (u64, u64), burst: u64, avpkt: u64, unit: &str) -> Result<(), ConfigError> {
    let is_held = |burst: u64| wlog(min, burst, avpkt).is_none_or(|wlog| max.max(1).ilog2() + 1 + wlog < 32);
    if is_held(burst) {
        return Ok(());
    }
    // The weight falls with the burst.
    let (mut least, mut most) = (1, burst);
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        if is_held(middle) { least = middle } else { most = middle }
    }
    Err(format!(
        "burst {burst} is too large, as tc says too: the kernel has no room for so slow an average up to max ({max}{unit}); \
         write at most burst {least}"
    )
    .into())
}

/// The greatest probability in units of 2⁻³², for thresholds that tc takes to be `apart` and the kernel `delta`.
///
/// 32 bits hold no probability of 1; tc's say 0, and the kernel then goes by what older ones were sent: the power of
/// two below 1/`apart` for each step of the average (tc_red_eval_P, red_maxp).
pub fn max_p(probability: f64, apart: u64, delta: u32) -> u32 {
    let max_p = (probability * TWO_TO_32) as u64 as u32;
    if max_p > 0 {
        return max_p;
    }
    let of_a_step = probability / apart as f64;
    let plog = (0..32).find(|&plog| of_a_step * (1u64 << plog) as f64 > 1.0).unwrap_or(31);
    (u32::MAX >> plog).wrapping_mul(delta)
}

/// By how many bits an average with weight 2⁻ʷˡᵒᵍ is shifted after a pause of so many cells, and the logarithm of the
/// cell in microseconds, where packets of `avpkt` bytes leave at `bandwidth` (tc_red_eval_idle_damping).
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

/// How long a packet of `avpkt` bytes takes in tc's ticks of 64 ns (tc_calc_xmittime). The rate is in whole bytes per
/// second, the time is rounded down to microseconds and then to ticks; the kernel looks the table up in microseconds
/// all the same.
fn xmit_ticks(avpkt: u64, bandwidth: Rate) -> u32 {
    let rate = match bandwidth.as_bps() / 8 {
        0 => USUAL_BYTES_PER_S,
        rate => rate,
    };
    let us = (1e6 * (avpkt as f64 / rate as f64)) as u64 as u32;
    (us as f64 * TICKS_PER_US) as u64 as u32
}

/// As x86-64 converts to an int: what does not fit becomes the least one.
fn to_int(value: f64) -> i32 {
    if value.abs() < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

const TWO_TO_32: f64 = (1u64 << 32) as f64;
const TICKS_PER_US: f64 = 15.625;
/// tc takes 10 Mbit/s where it has read no rate.
const USUAL_BYTES_PER_S: u64 = 1_250_000;

#[cfg(test)]
mod tests;
