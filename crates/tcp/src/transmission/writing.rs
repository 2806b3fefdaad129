//! The application writes ahead of what is sent, into the socket's [`SendBuffer`](crate::send_buffer::SendBuffer).

use super::Transmission;
use crate::cc::CongestionControl;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::send_buffer::Wrote;
use crate::{Now, Wire};

impl Transmission {
    /// The connection is established: the buffer gets the size that goes with the window.
    pub fn open_buffer(&mut self, control: &Control, recovery: &Recovery) {
        if let Some(buffer) = &mut self.buffer {
            buffer.expand(windows(control), control.window.cwnd, recovery.reordering(), control.window.mss);
        }
    }

    /// The buffer takes so many bytes at the most. Returns whether there is one.
    pub fn limit_buffer(&mut self, most: u64) -> bool {
        self.buffer.as_mut().map(|buffer| buffer.limit(most)).is_some()
    }

    /// An acknowledgment may have made room for an application that waits for it.
    #[inline]
    pub fn make_room(&mut self, now: Now, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        let Some(buffer) = &mut self.buffer else { return };
        buffer.on_acknowledged(self.queue.una(), self.board.sacked_out, self.board.packets_out());
        if !buffer.is_full() {
            return;
        }
        let has_window = self.board.in_flight() < control.window.cwnd;
        if has_window {
            buffer.expand(windows(control), control.window.cwnd, recovery.reordering(), control.window.mss);
        }
        if buffer.wakes(&self.queue) {
            self.check_application(now, control);
            self.write_ahead(now, control, recovery, wire);
        }
    }

    /// The application writes all that it has, or all that there is room for, and what is pushed goes out on the way.
    #[inline(never)]
    pub fn write_ahead(&mut self, now: Now, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        while let Some(buffer) = &mut self.buffer {
            let wrote = buffer.write(&mut self.queue, control.window.mss, self.offered.most());
            match wrote {
                Wrote::Nothing => return,
                Wrote::Ahead => {}
                Wrote::Head => self.send_as_stack(1, now, control, recovery, wire),
                Wrote::Pushed | Wrote::End => self.send_as_stack(u32::MAX, now, control, recovery, wire),
            }
            if wrote == Wrote::End {
                return;
            }
        }
    }

    /// The application stops.
    pub fn close(&mut self) {
        self.queue.close();
        if let Some(buffer) = &mut self.buffer {
            buffer.close();
        }
    }
}

/// How many windows the send buffer is to hold.
fn windows(control: &Control) -> u64 {
    if control.cc.needs().wide_buffer { 3 } else { 2 }
}
