//! Scalable TCP: one segment more per hundred acknowledged, an eighth less after a loss, so that the recovery time is
//! independent of the window (T. Kelly, CCR 33(2), 2003).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_scalable.c`) on every stack. Below a window of 100 segments it grows like
//! Reno.
//!
//! # When to use
//!
//! To study multiplicative increase: flows with equal RTTs do not converge to equal shares, and competing Reno and
//! CUBIC flows get little. On a long path of high rate it recovers from a loss within about 14 round trips.

use super::{Ack, CongestionControl, Constant, ControlDocs, Window, WindowControl};

/// Scalable TCP. Stateless beyond the window.
#[derive(Clone, Debug, Default)]
pub struct Scalable;

impl ControlDocs for Scalable {
    const SOURCE: &'static str = "T. Kelly, CCR 33(2), 2003; Linux 6.1 tcp_scalable.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new(
            "AI_CNT",
            AI_CNT as u64,
            "packets",
            "Maximum number of acknowledged packets per additional segment.",
        ),
        Constant::new(
            "MD_SCALE",
            MD_SCALE as u64,
            "bits",
            "A loss takes the window divided by 2 to the power of this.",
        ),
    ];
}

impl CongestionControl for Scalable {
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Scalable {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        (window.cwnd - (window.cwnd >> MD_SCALE)).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        increase(window, ack.packets);
    }
}

/// Slow start, then one segment per hundred packets or per window, whichever is fewer.
pub(super) fn increase(window: &mut Window, packets: u32) {
    let left = if window.in_slow_start() { window.slow_start(packets) } else { packets };
    if left > 0 {
        window.step(window.cwnd.min(AI_CNT), left);
    }
}

/// `TCP_SCALABLE_AI_CNT`.
const AI_CNT: u32 = 100;
/// `TCP_SCALABLE_MD_SCALE`.
const MD_SCALE: u32 = 3;
