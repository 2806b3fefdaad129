//! Backlog of a queue, or of two that are served as one.

use crate::aqm::Fifo;
use crate::dual::DualSnapshot;
use crate::time::Instant;

/// A backlog and its head.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BacklogSnapshot {
    pub packets: u64,
    pub bytes: u64,
    /// Arrival time of the head.
    pub head: Option<Instant>,
}

impl BacklogSnapshot {
    #[inline]
    pub fn of(queue: &dyn Fifo) -> Self {
        Self { packets: queue.len() as u64, bytes: queue.bytes(), head: queue.meta(0).map(|head| head.enqueued) }
    }

    pub fn both(queues: &DualSnapshot) -> Self {
        let (classic, l4s) = (&queues.classic, &queues.l4s);
        Self {
            packets: u64::from(classic.backlog.packets) + u64::from(l4s.backlog.packets),
            bytes: classic.backlog.bytes + l4s.backlog.bytes,
            head: classic.head_enqueued.into_iter().chain(l4s.head_enqueued).min(),
        }
    }
}
