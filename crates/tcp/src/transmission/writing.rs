//! The application writes ahead of what is sent, into the socket's [`SendBuffer`](crate::send_buffer::SendBuffer).

use super::Transmission;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::send_buffer::WriteResult;
use crate::{HostTime, Wire};

impl Transmission {
    /// The connection is established: the buffer gets the size that goes with the window.
    pub fn open_buffer(&mut self, control: &Control, recovery: &Recovery) {
        if let Some(buffer) = &mut self.buffer {
            buffer.expand(control.windows_in_buffer(), control.window.cwnd, recovery.reordering(), control.window.mss);
        }
    }

    /// The buffer takes so many bytes at the most. Returns whether there is one.
    pub fn limit_buffer(&mut self, most: u64) -> bool {
        self.buffer.as_mut().map(|buffer| buffer.set_max_size(most)).is_some()
    }

    /// What is acknowledged has left the buffer.
    #[inline]
    pub fn free_buffer(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.on_acknowledged(self.queue.una(), self.board.sacked_out, self.board.packets_out());
        }
    }

    /// There may be room for an application that waits for it: after an acknowledgment, and with each burst that leaves
    /// (`tcp_check_space`). While the congestion window has some the buffer grows.
    #[inline]
    pub(super) fn look_for_room(&mut self, control: &Control, reordering: u32) {
        let Some(buffer) = self.buffer.as_mut().filter(|buffer| buffer.is_full()) else { return };
        if self.board.in_flight() < control.window.cwnd {
            buffer.expand(control.windows_in_buffer(), control.window.cwnd, reordering, control.window.mss);
        }
        buffer.check_space(&self.queue);
    }

    /// An acknowledgment has come: an application that has found room writes.
    #[inline]
    pub fn make_room(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        self.look_for_room(control, recovery.reordering());
        self.wake_application(now, control, recovery, wire);
    }

    /// An application that has found room writes.
    #[inline]
    pub fn wake_application(
        &mut self,
        now: HostTime,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        if self.buffer.as_mut().is_some_and(|buffer| buffer.take_wakeup()) {
            self.write_ahead(now, control, recovery, wire);
        }
    }

    /// The application writes all that it has, or all that there is room for, and what is pushed goes out on the way.
    #[inline(never)]
    pub fn write_ahead(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        if self.buffer.as_ref().is_some_and(|buffer| buffer.is_full()) {
            return;
        }
        loop {
            if self.buffer.as_ref().is_some_and(|buffer| buffer.is_call_start()) {
                self.check_application(now, control, wire);
            }
            let Some(buffer) = &mut self.buffer else { return };
            match buffer.write(&mut self.queue, control.window.mss, self.offered.max_bytes()) {
                WriteResult::Nothing => break,
                WriteResult::SkbFull => {}
                WriteResult::HeadFull => self.send_as_stack(1, now, (control, recovery), wire),
                WriteResult::Pushed => self.send_as_stack(u32::MAX, now, (control, recovery), wire),
            }
        }
        if let Some(buffer) = &mut self.buffer {
            // It has looked since.
            buffer.take_wakeup();
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
