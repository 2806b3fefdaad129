//! Writes of the application, ahead of transmission, into the socket's [`SendBuffer`](crate::send_buffer::SendBuffer).

use super::Transmission;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::send_buffer::WriteResult;
use crate::{HostTime, Wire};

impl Transmission {
    /// The connection is established: sizes the buffer by the window.
    pub fn open_buffer(&mut self, control: &Control, recovery: &Recovery) {
        if let Some(buffer) = &mut self.buffer {
            buffer.expand(control.windows_in_buffer(), control.window.cwnd, recovery.reordering(), control.window.mss);
        }
    }

    /// Limits the buffer to `max` bytes. Returns whether there is one.
    pub fn limit_buffer(&mut self, max: u64) -> bool {
        self.buffer.as_mut().map(|buffer| buffer.set_max_size(max)).is_some()
    }

    /// Acknowledged data has left the buffer.
    #[inline]
    pub fn free_buffer(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.on_acknowledged(self.queue.una(), self.board.sacked_out, self.board.packets_out());
        }
    }

    /// Checks for room if the application waits for it (`tcp_check_space`), and grows the buffer if the congestion
    /// window has room. Called after an acknowledgment and with each burst sent: so the buffer grows as early as in the
    /// kernel.
    #[inline]
    pub(super) fn check_space(&mut self, control: &Control, reordering: u32) {
        let Some(buffer) = self.buffer.as_mut().filter(|buffer| buffer.is_full()) else { return };
        if self.board.in_flight() < control.window.cwnd {
            buffer.expand(control.windows_in_buffer(), control.window.cwnd, reordering, control.window.mss);
        }
        buffer.check_space(&self.queue);
    }

    /// After an acknowledgment: lets an application that waits for room write.
    #[inline]
    pub fn make_room(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        self.check_space(control, recovery.reordering());
        self.wake_application(now, control, recovery, wire);
    }

    /// Lets an application write if room was found.
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

    /// The application writes all its data, or as much as there is room for; pushed data is sent meanwhile.
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
            // The loop has written already.
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
