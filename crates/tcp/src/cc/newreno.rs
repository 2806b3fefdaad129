//! NewReno (RFC 6582): Reno that stays in recovery on partial acknowledgments.
//!
//! # When to use
//!
//! Without SACK, and for papers that name it. With SACK it is identical to Reno.

use super::{Ack, CongestionControl, ControlDocs, Window, WindowControl, reno};

/// NewReno. Stateless beyond the window.
#[derive(Clone, Debug, Default)]
pub struct NewReno;

impl ControlDocs for NewReno {
    const SOURCE: &'static str = "RFC 6582; RFC 5681";
}

impl CongestionControl for NewReno {
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for NewReno {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        reno::halved(window)
    }

    #[inline(always)]
    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        reno::increase(window, ack.packets);
    }
}
