//! Transmission in a recovery of ns-2's `TCP/Sack1`, which counts the segments in the network itself.

use super::Transmission;
use crate::control::Control;
use crate::recovery::{LostWalk, Recovery};
use crate::{HostTime, Wire};

impl Transmission {
    /// Retransmits segments marked lost, then sends new data, as far as `pipe_` leaves room in the window.
    pub fn send_by_pipe(
        &mut self,
        now: HostTime,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        let mut room = recovery.room_in_pipe(control.window.cwnd);
        let mut lost = LostWalk::new();
        while room > 0 {
            if let Some(i) = lost.next(u32::MAX, &mut self.board) {
                self.retransmit((i, 1), now, &mut recovery.episode, wire);
            } else if let Some(len) = self.queue.next_len(self.right_edge()).filter(|_| wire.has_room()) {
                self.send_one(len, now, (control, &mut recovery.episode), wire);
            } else {
                break;
            }
            recovery.sent_by_pipe(1);
            room -= 1;
        }
    }
}
