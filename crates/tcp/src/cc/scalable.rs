//! Scalable TCP: one segment more for every hundredth acknowledged, an eighth less after a loss, so that the time to grow
//! back does not depend on the window (T. Kelly, CCR 33(2), 2003).
//!
//! The integers are those of Linux 6.1 (`tcp_scalable.c`), whatever the stack. Below a window of 100 segments it grows as
//! Reno does.
//!
//! # When to use
//!
//! To see what multiplicative increase does to others: flows of equal RTT do not converge to equal shares, and Reno and
//! CUBIC beside it get little. On a long path of high rate it recovers from a loss within about 14 round trips.

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
            "Acknowledged packets that make one segment more, at the most.",
        ),
        Constant::new("MD_SCALE", MD_SCALE as u64, "bits", "A loss takes the window divided by 2 to this power."),
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

/// Slow start, then one segment for each hundred packets or each window, whichever is less.
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
