//! Weighted round robin by credit, as in Linux: the L4S queue first, except for the classic queue's share of the bytes.

use crate::dual::{DualSnapshot, QueueKind};
use crate::link::Link;

/// Credit of both queues.
#[derive(Clone, Debug)]
pub(super) struct Wrr {
    /// Share of the classic queue in percent (wc); the L4S queue has the remainder (wl).
    classic: i64,
    /// Credit of the classic queue, in bytes times percent; L4S is served while it is not positive. `None` before the
    /// first packet and when both queues have run empty.
    credit: Option<i64>,
}

impl Wrr {
    pub fn new(classic_protection: u64) -> Self {
        Self { classic: classic_protection as i64, credit: None }
    }

    /// Takes over the credit of `old`.
    pub fn inherit(&mut self, old: &Self) {
        self.credit = old.credit;
    }

    /// Non-empty queue to serve next.
    pub fn choose(&mut self, link: Link, queues: &DualSnapshot) -> Option<QueueKind> {
        match (queues.classic.head_enqueued, queues.l4s.head_enqueued) {
            (None, None) => {
                self.credit = None;
                None
            }
            (Some(_), None) => Some(QueueKind::Classic),
            (None, Some(_)) => Some(QueueKind::L4s),
            (Some(_), Some(_)) => {
                // After an idle time the L4S queue is ahead by a packet of the maximum size.
                let start = (self.classic - self.l4s()) * link.mtu as i64;
                Some(if *self.credit.get_or_insert(start) <= 0 { QueueKind::L4s } else { QueueKind::Classic })
            }
        }
    }

    /// Accounts for a sent packet; `queues` excludes it. The credit changes only while the other queue is backlogged.
    pub fn sent(&mut self, side: QueueKind, len: u32, queues: &DualSnapshot) {
        let l4s = self.l4s();
        let Some(credit) = &mut self.credit else { return };
        match side {
            QueueKind::L4s if queues.classic.head_enqueued.is_some() => *credit += self.classic * len as i64,
            QueueKind::Classic if queues.l4s.head_enqueued.is_some() => *credit -= l4s * len as i64,
            _ => {}
        }
    }

    /// Credit in bytes.
    pub fn bytes(&self) -> f64 {
        self.credit.unwrap_or(0) as f64 / 100.0
    }

    fn l4s(&self) -> i64 {
        100 - self.classic
    }
}
