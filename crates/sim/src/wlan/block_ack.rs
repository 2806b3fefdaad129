//! A block ack agreement: the transmit window of a sender of aggregates, and the reorder buffer of its receiver.
//!
//! Source: IEEE 802.11-2012 §9.21 (HT-immediate block ack): both ends have a window of 64 frames. The sender's starts
//! with the oldest incomplete frame; the receiver holds frames back until none before them is missing. The sender
//! reports abandoned frames to the receiver (BlockAckReq), which takes no time here.

use crate::packet::Handle;
use sojourn_aqm::Instant;

/// Both ends of an agreement. Sequence numbers start at 0 and do not wrap.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Sequence number of the next new frame.
    next: u64,
    /// Start of the transmit window: the oldest incomplete frame.
    start: u64,
    /// Bitmap of completed frames; bit 0 is `start`.
    completed: u64,
    /// Next sequence number that the receiver passes up.
    expected: u64,
    /// Received frames from `expected` on, by sequence number.
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
    /// Received at this time.
    Held(Handle, Instant),
    Abandoned,
}

impl Agreement {
    /// Assigns the next sequence number.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Completes a frame at the sender: acknowledged or abandoned.
    pub fn complete(&mut self, number: u64) {
        debug_assert!(self.is_open(number) && number >= self.start, "only frames in the window were sent");
        self.completed |= 1 << (number - self.start);
        let passed = self.completed.trailing_ones();
        self.start += u64::from(passed);
        self.completed = self.completed.checked_shr(passed).unwrap_or(0);
    }

    /// Stores a frame that the receiver gets for the first time.
    pub fn on_frame(&mut self, now: Instant, number: u64, handle: Handle) {
        debug_assert!((self.expected..self.expected + WINDOW).contains(&number), "its sender kept to the window");
        self.reorder_buffer.0[(number % WINDOW) as usize] = ReorderSlot::Held(handle, now);
    }

    /// Stops the receiver's wait for a frame.
    pub fn on_abandoned(&mut self, number: u64) {
        self.reorder_buffer.0[(number % WINDOW) as usize] = ReorderSlot::Abandoned;
    }

    /// Takes the next packet in order and the time of its reception; `None` while an earlier one is missing.
    pub fn release(&mut self) -> Option<(Handle, Instant)> {
        loop {
            let slot = &mut self.reorder_buffer.0[(self.expected % WINDOW) as usize];
            let found = std::mem::replace(slot, ReorderSlot::Missing);
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

    /// Whether the transmit window includes a frame.
    pub fn is_open(&self, number: u64) -> bool {
        number < self.start + WINDOW
    }

    /// Whether the transmit window includes the next new frame.
    pub fn is_open_for_next(&self) -> bool {
        self.is_open(self.next)
    }
}

/// Frames in a Block Ack's bitmap.
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
        let mut agreement = Agreement::default();
        let numbers: Vec<u64> = (0..4).map(|_| agreement.number()).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        for number in [0, 2, 3] {
            agreement.on_frame(NOW, number, number as Handle);
        }
        assert_eq!(released(&mut agreement), [0]);
        agreement.on_frame(NOW, 1, 1);
        assert_eq!(released(&mut agreement), [1, 2, 3]);
    }

    #[test]
    fn what_is_given_up_holds_nothing_back() {
        let mut agreement = Agreement::default();
        (0..3).for_each(|_| assert!(agreement.number() < 3));
        agreement.on_frame(NOW, 1, 1);
        agreement.on_abandoned(0);
        assert_eq!(released(&mut agreement), [1]);
        agreement.on_abandoned(2);
        assert!(released(&mut agreement).is_empty());
        agreement.on_frame(NOW, 3, 3);
        assert_eq!(released(&mut agreement), [3], "the place of one that was given up is free again");
    }

    #[test]
    fn the_window_begins_with_the_oldest_frame_that_is_not_through() {
        let mut agreement = Agreement::default();
        let sent: Vec<u64> = std::iter::from_fn(|| agreement.is_open_for_next().then(|| agreement.number())).collect();
        assert_eq!(sent.len(), 64);
        (1..64).for_each(|number| agreement.complete(number));
        assert!(!agreement.is_open_for_next(), "the first one is missing");
        agreement.complete(0);
        assert!(agreement.is_open(127) && !agreement.is_open(128));
        // Sequence numbers far beyond the window.
        for round in 1..10 {
            (0..64).for_each(|i| assert_eq!(agreement.number(), 64 * round + i));
            (0..64).rev().for_each(|i| agreement.complete(64 * round + i));
        }
        assert!(agreement.is_open(703) && !agreement.is_open(704));
    }
}
