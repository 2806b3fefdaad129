//! A queue that counts its drops and marks in the shared state.

use super::SharedState;
use crate::aqm::{DropReason, Fifo, PoppedPacket};
use crate::backlog::Backlog;
use crate::packet::{Ecn, Meta};

/// Queue of a manager below a policy.
pub(super) struct CountingFifo<'a> {
    pub queue: &'a mut (dyn Fifo + 'a),
    pub state: &'a SharedState,
}

impl Fifo for CountingFifo<'_> {
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
    fn total_backlog(&self) -> Backlog {
        self.queue.total_backlog()
    }
    fn meta(&self, i: usize) -> Option<Meta> {
        self.queue.meta(i)
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(meta) = self.queue.meta(i) else { return false };
        let waits = self.queue.mark(i, reason);
        if !waits {
            self.state.dropped();
        } else if meta.ecn != Ecn::Ce {
            self.state.marked();
        }
        waits
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if i < self.queue.len() {
            self.state.dropped();
        }
        self.queue.drop(i, reason);
    }
    fn pop(&mut self) -> Option<PoppedPacket> {
        self.queue.pop()
    }
}
