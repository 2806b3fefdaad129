//! NewReno (RFC 6582): Reno's window, and patience in recovery.

use super::{CongestionControl, Window, reno};

/// NewReno. Stateless beyond the window.
#[derive(Clone, Debug, Default)]
pub struct NewReno;

impl CongestionControl for NewReno {
    fn increase(&mut self, window: &mut Window, abc: bool) {
        reno::increase(window, abc);
    }

    fn ssthresh(&mut self, window: &Window) -> u32 {
        reno::halved(window)
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        window.ssthresh / 2
    }
}
