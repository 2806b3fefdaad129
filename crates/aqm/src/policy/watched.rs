//! A queue whose drops and marks are counted on a board.

use super::Board;
use crate::aqm::{DropReason, Fifo, Popped};
use crate::backlog::Backlog;
use crate::packet::{Ecn, Meta};

/// What a manager below a policy is given.
pub(super) struct Watched<'a> {
    pub queue: &'a mut (dyn Fifo + 'a),
    pub board: &'a Board,
}

impl Fifo for Watched<'_> {
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
            self.board.dropped();
        } else if meta.ecn != Ecn::Ce {
            self.board.marked();
        }
        waits
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if i < self.queue.len() {
            self.board.dropped();
        }
        self.queue.drop(i, reason);
    }
    fn pop(&mut self) -> Option<Popped> {
        self.queue.pop()
    }
}
