//! What tc makes of its words for RED (`tc_red.c`).

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
