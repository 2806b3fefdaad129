//! Frames that a driver holds for one receiver above the ring: frames to retry, and frames sorted while another
//! receiver was served.
//!
//! Source: IEEE 802.11-2012 §8.6 (A-MPDU), §9.12 (limits); ath9k, which bounds an aggregate to 4 ms and retries failed
//! frames in the next aggregates, before new frames.

use super::block_ack::Agreement;
use super::node::Frame;
use super::scheduler::Availability;
use crate::radio::phy::{Bitrate, QOS_OVERHEAD};
use sojourn_aqm::Duration;
use std::collections::VecDeque;

/// Best-effort traffic from one sender to one receiver.
#[derive(Clone, Debug)]
pub struct Tid {
    /// In the order of sequence numbers.
    frames: VecDeque<Frame>,
    /// Bytes of the frames as subframes.
    bytes: u32,
    /// `None` if frames are sent one by one.
    limits: Option<AggregateLimits>,
    pub agreement: Agreement,
}

/// Limits of an aggregate.
#[derive(Clone, Copy, Debug)]
pub struct AggregateLimits {
    frames: usize,
    bytes: u32,
}

impl AggregateLimits {
    /// At most `frames` frames (up to 64), the receiver's maximum bytes, and 4 ms of airtime.
    pub fn new(rate: Bitrate, frames: u32) -> Self {
        Self { frames: frames as usize, bytes: rate.bytes_in(LONGEST).min(MAX_BYTES) }
    }
}

/// An A-MPDU: packets to one receiver.
#[derive(Clone, Debug, Default)]
pub struct Aggregate {
    pub frames: Vec<Frame>,
    /// Bytes on the air.
    pub bytes: u32,
}

/// Bytes of a packet in an aggregate: delimiter, frame and padding.
pub fn subframe_bytes(ip_bytes: u32) -> u32 {
    (DELIMITER + ip_bytes + QOS_OVERHEAD).next_multiple_of(4)
}

impl Tid {
    /// An empty TID.
    pub fn new(limits: Option<AggregateLimits>) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, limits, agreement: Agreement::default() }
    }

    /// Appends a packet from the queue.
    pub fn push(&mut self, mut frame: Frame) {
        frame.number = self.agreement.number();
        self.bytes += subframe_bytes(frame.bytes);
        self.frames.push_back(frame);
    }

    /// Inserts a frame to be retried. It waits above the ring for the receiver's next turn, so a retry costs its
    /// station airtime like any other frame.
    pub fn put_back(&mut self, frame: Frame) {
        let index = self.frames.partition_point(|other| other.number < frame.number);
        self.bytes += subframe_bytes(frame.bytes);
        self.frames.insert(index, frame);
    }

    /// Removes the next frame.
    pub fn pop(&mut self) -> Frame {
        let frame = self.frames.pop_front().expect("a station in turn has a frame");
        self.bytes -= subframe_bytes(frame.bytes);
        frame
    }

    /// Moves frames into an aggregate as far as they fit. Returns whether a new packet would fit as well.
    pub fn fill(&mut self, aggregate: &mut Aggregate) -> bool {
        let limits = self.limits.expect("only aggregating stations fill");
        while let Some(frame) = self.frames.front() {
            let bytes = aggregate.bytes + subframe_bytes(frame.bytes);
            // One frame always fits, whatever its airtime.
            let fits = aggregate.bytes == 0 || (aggregate.frames.len() < limits.frames && bytes <= limits.bytes);
            if !fits || !self.agreement.is_open(frame.number) {
                return false;
            }
            let frame = self.pop();
            aggregate.frames.push(frame);
            aggregate.bytes = bytes;
        }
        aggregate.frames.len() < limits.frames && self.agreement.is_open_for_next()
    }

    /// Whether frames are sent in aggregates.
    pub fn aggregates(&self) -> bool {
        self.limits.is_some()
    }

    /// Availability of the frames held; `None` if there are none and a new packet could be sent. A closed window gives
    /// `Later`, which parks the receiver: it stays listed, and new packets do not bring it back earlier.
    pub fn offers(&self) -> Option<Availability> {
        let is_open = |number| !self.aggregates() || self.agreement.is_open(number);
        match self.frames.front() {
            Some(frame) => Some(if is_open(frame.number) { Availability::Now } else { Availability::Later }),
            None if self.aggregates() && !self.agreement.is_open_for_next() => Some(Availability::Later),
            None => None,
        }
    }

    /// Whether the TID holds enough frames for one channel access.
    pub fn is_full(&self) -> bool {
        let Some(limits) = self.limits else { return !self.frames.is_empty() };
        self.frames.len() >= limits.frames || self.bytes >= limits.bytes
    }
}

/// Bytes of the delimiter before each frame of an aggregate.
const DELIMITER: u32 = 4;

/// The longest A-MPDU that a receiver may announce (maximum length exponent 3).
const MAX_BYTES: u32 = 65_535;

/// ath9k's limit of an aggregate's airtime.
const LONGEST: Duration = Duration::from_millis(4);

#[cfg(test)]
mod tests {
    use super::super::node::tests::frame;
    use super::*;

    fn tid(mcs: u8, frames: u32) -> Tid {
        Tid::new(Some(AggregateLimits::new(Bitrate::of_mcs(mcs).unwrap(), frames)))
    }

    /// Fills an aggregate from an endless supply of packets of `ip_bytes`.
    fn filled(tid: &mut Tid, ip_bytes: u32) -> Vec<Frame> {
        let mut aggregate = Aggregate::default();
        while tid.fill(&mut aggregate) {
            tid.push(frame(ip_bytes));
        }
        let bytes: u32 = aggregate.frames.iter().map(|frame| subframe_bytes(frame.bytes)).sum();
        assert_eq!(aggregate.bytes, bytes);
        aggregate.frames
    }

    #[test]
    fn limits_of_time_of_bytes_and_of_frames() {
        assert_eq!((subframe_bytes(1500), subframe_bytes(40), subframe_bytes(1498)), (1544, 84, 1540));
        // 3218 bytes take 4 ms at 6.5 Mbit/s, 64,347 at 130.
        for (mcs, ip_bytes, frames, expected) in [
            (0, 1500, 64, 2),
            (0, 9000, 64, 1),
            (7, 1500, 64, 20),
            (15, 1500, 64, 41),
            (15, 1500, 8, 8),
            (15, 40, 64, 64),
        ] {
            assert_eq!(
                filled(&mut tid(mcs, frames), ip_bytes).len(),
                expected,
                "MCS {mcs}, {ip_bytes} bytes, {frames}"
            );
        }
        let bytes: u32 = filled(&mut tid(15, 64), 1500).iter().map(|frame| subframe_bytes(frame.bytes)).sum();
        assert!(bytes <= 64_347 && 64_347 < bytes + 1544);
    }

    #[test]
    fn what_failed_comes_before_what_is_new_and_no_further_than_the_window() {
        let mut tid = tid(15, 40);
        let (first, second) = (filled(&mut tid, 100), filled(&mut tid, 100));
        assert_eq!((first.len(), second.len()), (40, 24), "64 frames are on their way");
        assert_eq!(tid.offers(), Some(Availability::Later));
        // The second aggregate fails before the failed frames of the first one were retried.
        for lost in first.into_iter().filter(|frame| frame.number % 2 == 0).chain(second) {
            tid.put_back(lost);
        }
        (1..40).step_by(2).for_each(|number| tid.agreement.complete(number));
        assert_eq!(tid.offers(), Some(Availability::Now));
        let again: Vec<u64> = filled(&mut tid, 100).iter().map(|frame| frame.number).collect();
        assert_eq!(again, (0..40).step_by(2).chain(40..60).collect::<Vec<_>>());
        let rest: Vec<u64> = filled(&mut tid, 100).iter().map(|frame| frame.number).collect();
        assert_eq!(rest, [60, 61, 62, 63], "frame 0 is still missing");
    }

    #[test]
    fn one_by_one() {
        let mut tid = Tid::new(None);
        assert!(tid.offers().is_none() && !tid.is_full());
        for bytes in [100, 200] {
            tid.push(frame(bytes));
            assert!(tid.is_full() && tid.offers() == Some(Availability::Now));
        }
        assert_eq!((tid.pop().bytes, tid.pop().bytes), (100, 200));
    }
}
