//! TCP small queues: how much of a connection waits in its host below TCP.
//!
//! Source: Linux 6.1 `tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write`. What counts is the memory of what the device has
//! not sent yet: nothing is added to two bursts, or to a millisecond of the rate (to 1 MiB of a connection that is not paced),
//! and to twice as much before a retransmission. With one burst out another may always go. When enough has left, what the
//! windows allow goes down.
//!
//! `Differs:` a burst that the host cuts into segments keeps its memory until the last of them has left.

use crate::send_buffer::OVERHEAD;
use crate::stack::Stack;
use sojourn_aqm::Instant;
use std::collections::VecDeque;

/// What of a connection waits below TCP.
#[derive(Clone, Debug)]
pub(crate) struct SmallQueue {
    /// When each burst will have left, and its memory in bytes.
    below: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// What a millisecond (2^-10 s) of the rate is, in bytes.
    pub of_rate: u64,
    /// When something that was held is to be sent; never if nothing is.
    wakes: Instant,
}

impl SmallQueue {
    /// Nothing waits, if senders of `stack` have one.
    pub fn of(stack: &Stack) -> Option<Box<Self>> {
        let empty = || Self { below: VecDeque::new(), bytes: 0, of_rate: 0, wakes: Instant::NEVER };
        stack.small_queues.then(|| Box::new(empty()))
    }

    /// A burst with so many bytes of payload was handed down, and leaves at `leaves`.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, leaves: Instant, payload: u64) {
        if leaves > now {
            let bytes = memory(payload);
            self.below.push_back((leaves, bytes));
            self.bytes += bytes;
        }
    }

    /// Whether nothing waits at `now`.
    #[inline]
    pub fn is_empty(&mut self, now: Instant) -> bool {
        self.settle(now);
        self.below.is_empty()
    }

    /// Whether a burst of so many bytes of payload has to wait; then [`Self::wakes`] says until when. `shift`: 0 for new data,
    /// 1 for retransmissions.
    pub fn holds(&mut self, now: Instant, payload: u64, shift: u32) -> bool {
        self.settle(now);
        let limit = (2 * memory(payload)).max(self.of_rate) << shift;
        let (mut left, mut until) = (self.bytes, None);
        for &(leaves, bytes) in &self.below {
            // Linux counts one byte for the socket itself.
            if left < limit {
                break;
            }
            left -= bytes;
            until = Some(leaves);
        }
        if let Some(until) = until {
            self.wakes = until;
        }
        until.is_some()
    }

    /// When what was held is to be sent; never if nothing is.
    #[inline]
    pub fn wakes(&self) -> Instant {
        self.wakes
    }

    /// The wait may be over. Returns whether there was one until `now`.
    #[inline]
    pub fn wake(&mut self, now: Instant) -> bool {
        let due = self.wakes <= now;
        if due {
            self.wakes = Instant::NEVER;
        }
        due
    }

    fn settle(&mut self, now: Instant) {
        while let Some(&(_, bytes)) = self.below.front().filter(|(leaves, _)| *leaves <= now) {
            self.bytes -= bytes;
            self.below.pop_front();
        }
    }
}

/// Linux `tcp_limit_output_bytes`, of a connection that is not paced.
pub(crate) const MOST: u64 = 1 << 20;

/// Memory of a burst (`truesize`).
fn memory(payload: u64) -> u64 {
    payload + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn two_bursts_or_a_millisecond_of_the_rate_wait_at_the_most() {
        let mut queue = *SmallQueue::of(Stack::find("linux-6.1").expect("a stack")).expect("it has one");
        queue.on_sent(us(0), us(100), 2_896);
        assert!(!queue.holds(us(0), 2_896, 0));
        queue.on_sent(us(0), us(200), 2_896);
        assert!(queue.holds(us(0), 2_896, 0), "two wait, and a third is one too many");
        assert_eq!(queue.wakes(), us(100), "when the first has left");
        assert!(!queue.holds(us(0), 2_896, 1), "twice as much before a retransmission");
        queue.of_rate = 8_353;
        assert!(!queue.holds(us(0), 2_896, 0), "the rate allows for it");
        queue.of_rate = 0;
        assert!(!queue.wake(us(99)) && queue.wake(us(100)) && !queue.wake(us(100)));
        assert!(!queue.holds(us(100), 2_896, 0));
        queue.on_sent(us(100), us(100), 2_896);
        assert!(!queue.is_empty(us(199)) && queue.is_empty(us(200)), "what leaves at once does not wait");
    }
}
