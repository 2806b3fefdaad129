//! NewReno (RFC 6582): Reno's window, and patience in recovery.
//!
//! # When to use
//!
//! Without SACK, and for papers that name it. With SACK it is Reno.

use super::{Ack, CongestionControl, Window, reno};

/// NewReno. Stateless beyond the window.
#[derive(Clone, Debug, Default)]
pub struct NewReno;

impl CongestionControl for NewReno {
    const SOURCE: &'static str = "RFC 6582; RFC 5681";

    #[inline(always)]
    fn increase(&mut self, window: &mut Window, packets: u32, _: impl Fn() -> Ack) {
        reno::increase(window, packets);
    }

    fn ssthresh(&mut self, window: &Window) -> u32 {
        reno::halved(window)
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        window.ssthresh / 2
    }
}
