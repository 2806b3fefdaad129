//! A block ack agreement: what a sender of aggregates may send, and in what order its receiver hands it up.
//!
//! Source: IEEE 802.11-2012 §9.21 (HT-immediate block ack): both ends have a window of 64 frames. The sender's begins
//! with the oldest frame that it is not through with; the receiver holds back what it has until nothing is missing
//! before it. What the sender gives up it tells the receiver (BlockAckReq), which here takes no time.

use crate::packet::Handle;
use sojourn_aqm::Instant;

/// Both ends of an agreement; frames are numbered from 0 on, without end.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// The number of the next frame.
    next: u64,
    /// The oldest frame that the sender is not through with.
    start: u64,
    /// Of that one and those behind it: which the sender is through with, from the lowest bit on.
    completed: u64,
    /// What the receiver hands up next.
    expected: u64,
    /// What the receiver knows of that one and those behind it, by their numbers.
    reorder_buffer: ReorderBuffer,
}

#[derive(Clone, Debug)]
struct ReorderBuffer([ReorderSlot; WINDOW as usize]);

impl Default for ReorderBuffer {
    fn default() -> Self {
        Self([ReorderSlot::Missing; WINDOW as usize])
    }
}

#[derive(Clone, Copy, Debug)]
enum ReorderSlot {
    Missing,
    /// It is here since then.
    Held(Handle, Instant),
    Abandoned,
}

impl Agreement {
    /// The number of a new frame.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The sender is through with a frame, which has arrived or was given up.
    pub fn complete(&mut self, number: u64) {
        debug_assert!(self.is_open(number) && number >= self.start, "only what is in the window was sent");
        self.completed |= 1 << (number - self.start);
        let passed = self.completed.trailing_ones();
        self.start += u64::from(passed);
        self.completed = self.completed.checked_shr(passed).unwrap_or(0);
    }

    /// A frame reaches the receiver for the first time.
    pub fn on_frame(&mut self, now: Instant, number: u64, handle: Handle) {
        debug_assert!((self.expected..self.expected + WINDOW).contains(&number), "its sender kept to the window");
        self.reorder_buffer.0[(number % WINDOW) as usize] = ReorderSlot::Held(handle, now);
    }

    /// The receiver need not wait for a frame any longer.
    pub fn on_abandoned(&mut self, number: u64) {
        self.reorder_buffer.0[(number % WINDOW) as usize] = ReorderSlot::Abandoned;
    }

    /// The next packet in order and since when the receiver has it; none while one before it is missing.
    pub fn release(&mut self) -> Option<(Handle, Instant)> {
        loop {
            let place = &mut self.reorder_buffer.0[(self.expected % WINDOW) as usize];
            let found = std::mem::replace(place, ReorderSlot::Missing);
            match found {
                ReorderSlot::Missing => return None,
                ReorderSlot::Held(handle, since) => {
                    self.expected += 1;
                    return Some((handle, since));
                }
                ReorderSlot::Abandoned => self.expected += 1,
            }
        }
    }

    /// Whether the window reaches up to a frame.
    pub fn is_open(&self, number: u64) -> bool {
        number < self.start + WINDOW
    }

    /// Whether a new frame could be sent.
    pub fn is_open_for_next(&self) -> bool {
        self.is_open(self.next)
    }
}

/// Frames that a Block Ack can tell of.
const WINDOW: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    fn released(agreement: &mut Agreement) -> Vec<Handle> {
        std::iter::from_fn(|| agreement.release()).map(|(handle, _)| handle).collect()
    }

    #[test]
    fn a_missing_frame_holds_back_what_is_behind_it() {
        let mut it = Agreement::default();
        let numbers: Vec<u64> = (0..4).map(|_| it.number()).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        for number in [0, 2, 3] {
            it.on_frame(NOW, number, number as Handle);
        }
        assert_eq!(released(&mut it), [0]);
        it.on_frame(NOW, 1, 1);
        assert_eq!(released(&mut it), [1, 2, 3]);
    }

    #[test]
    fn what_is_given_up_holds_nothing_back() {
        let mut it = Agreement::default();
        (0..3).for_each(|_| assert!(it.number() < 3));
        it.on_frame(NOW, 1, 1);
        it.on_abandoned(0);
        assert_eq!(released(&mut it), [1]);
        it.on_abandoned(2);
        assert!(released(&mut it).is_empty());
        it.on_frame(NOW, 3, 3);
        assert_eq!(released(&mut it), [3], "the place of one that was given up is free again");
    }

    #[test]
    fn the_window_begins_with_the_oldest_frame_that_is_not_through() {
        let mut it = Agreement::default();
        let sent: Vec<u64> = std::iter::from_fn(|| it.is_open_for_next().then(|| it.number())).collect();
        assert_eq!(sent.len(), 64);
        (1..64).for_each(|number| it.complete(number));
        assert!(!it.is_open_for_next(), "the first one is missing");
        it.complete(0);
        assert!(it.is_open(127) && !it.is_open(128));
        // Long after.
        for round in 1..10 {
            (0..64).for_each(|i| assert_eq!(it.number(), 64 * round + i));
            (0..64).rev().for_each(|i| it.complete(64 * round + i));
        }
        assert!(it.is_open(703) && !it.is_open(704));
    }
}
