//! Scheduler of a sender's receivers: one access per turn, or equal airtime.
//!
//! Source: T. Høiland-Jørgensen et al., "Ending the Anomaly" (USENIX ATC 2017), algorithm 3: deficit round robin over
//! the stations with lists of new and old ones as in FQ-CoDel, deficits in airtime. A station is charged the airtime of
//! its frames, retries included, in both directions. The airtime is known only after transmission, so a deficit may be
//! overdrawn by the frames that the driver holds.
//!
//! As in mac80211, an idle station keeps its deficit: a pause does not forgive a debt.

use sojourn_aqm::Duration;
use std::collections::VecDeque;

/// Lists and deficits of the receivers.
#[derive(Debug)]
pub struct StationScheduler {
    /// Receivers that had nothing to send before, and those that have had their turn.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Whether a receiver is in one of the lists or parked; and whether it is parked, with all its frames on the air.
    listed: Vec<bool>,
    parked: Vec<bool>,
    /// Airtime deficits in nanoseconds; `None` if a turn is one access.
    deficits: Option<Vec<i64>>,
}

/// Availability of frames for a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// A frame can be sent now.
    Now,
    /// Frames wait for the end of the current transmission: see [`StationScheduler::on_complete`].
    Later,
    /// No frame waits.
    Nothing,
}

impl StationScheduler {
    /// A scheduler without frames to send.
    pub fn new(receivers: usize, by_airtime: bool) -> Self {
        Self {
            new: VecDeque::with_capacity(receivers),
            old: VecDeque::with_capacity(receivers),
            listed: vec![false; receivers],
            parked: vec![false; receivers],
            deficits: by_airtime.then(|| vec![QUANTUM.as_nanos(); receivers]),
        }
    }

    /// Adds a receiver that has a packet.
    pub fn has_packet(&mut self, receiver: usize) {
        if !std::mem::replace(&mut self.listed[receiver], true) {
            self.new.push_back(receiver);
        }
    }

    /// A transmission to a receiver is complete. The receiver waits for its next turn if it was parked, or if frames
    /// are to be sent (`again`).
    pub fn on_complete(&mut self, receiver: usize, again: bool) {
        let was_parked = std::mem::replace(&mut self.parked[receiver], false);
        if was_parked || (again && !self.listed[receiver]) {
            self.listed[receiver] = true;
            self.old.push_back(receiver);
        }
    }

    /// Charges a receiver for airtime.
    pub fn charge(&mut self, receiver: usize, airtime: Duration) {
        if let Some(deficits) = &mut self.deficits {
            deficits[receiver] -= airtime.as_nanos();
        }
    }

    /// The receiver to serve now, if any has frames; `offers` returns the availability for each.
    pub fn next(&mut self, mut offers: impl FnMut(usize) -> Availability) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let &receiver = list.front()?;
            if let Some(deficit) = self.deficits.as_mut().map(|all| &mut all[receiver]).filter(|left| **left <= 0) {
                *deficit += QUANTUM.as_nanos();
                list.pop_front();
                self.old.push_back(receiver);
                continue;
            }
            match offers(receiver) {
                Availability::Now => return Some(receiver),
                Availability::Later => {
                    list.pop_front();
                    self.parked[receiver] = true;
                }
                Availability::Nothing => {
                    list.pop_front();
                    // As in FQ-CoDel, an emptied new receiver passes through the old list once, so that it cannot
                    // always be first.
                    self.listed[receiver] = is_new;
                    if is_new {
                        self.old.push_back(receiver);
                    }
                }
            }
        }
    }

    /// Ends the turn of a served receiver, if a turn is one access.
    pub fn served(&mut self, receiver: usize) {
        if self.deficits.is_none() {
            let list = if self.new.front() == Some(&receiver) { &mut self.new } else { &mut self.old };
            list.pop_front();
            self.old.push_back(receiver);
        }
    }
}

/// mac80211's `airtime_weight` of 256 µs, rounded as in the paper's implementation: 300 µs.
const QUANTUM: Duration = Duration::from_micros(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(receivers: usize, by_airtime: bool) -> StationScheduler {
        let mut turns = StationScheduler::new(receivers, by_airtime);
        (0..receivers).for_each(|receiver| turns.has_packet(receiver));
        turns
    }

    #[test]
    fn an_access_each() {
        let mut turns = turns(3, false);
        let order: Vec<usize> = (0..7)
            .map(|_| {
                let receiver = turns.next(|_| Availability::Now).unwrap();
                turns.served(receiver);
                receiver
            })
            .collect();
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(turns.next(|_| Availability::Nothing), None);
        assert_eq!(turns.listed, [false; 3], "all have left the lists");
        turns.on_complete(0, false);
        turns.on_complete(2, true);
        turns.has_packet(1);
        assert_eq!(turns.next(|_| Availability::Now), Some(1), "a new one is before one that is back");
        turns.served(1);
        assert_eq!(turns.next(|_| Availability::Now), Some(2), "and there is nothing for the other one");
    }

    #[test]
    fn who_is_parked_comes_neither_earlier_nor_twice_for_new_packets() {
        let mut turns = turns(3, false);
        let offers = |receiver| if receiver == 0 { Availability::Later } else { Availability::Now };
        assert_eq!(turns.next(offers), Some(1));
        turns.served(1);
        turns.has_packet(0);
        assert_eq!(turns.next(offers), Some(2));
        turns.served(2);
        (0..2).for_each(|_| turns.on_complete(0, false));
        let order: Vec<_> = (0..6)
            .map(|_| {
                let receiver = turns.next(|_| Availability::Now).unwrap();
                turns.served(receiver);
                receiver
            })
            .collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn shares_of_airtime_are_equal_whatever_an_access_takes() {
        let mut turns = turns(3, true);
        let costs = [250, 250, 2_000].map(Duration::from_micros);
        let (mut used, mut served) = ([0; 3], [0; 3]);
        for _ in 0..10_000 {
            let receiver = turns.next(|_| Availability::Now).unwrap();
            turns.served(receiver);
            turns.charge(receiver, costs[receiver]);
            used[receiver] += costs[receiver].as_nanos();
            served[receiver] += 1;
        }
        let total: i64 = used.iter().sum();
        assert!(used.iter().all(|&one| (one * 3 - total).abs() < 3 * 3_000_000), "{used:?}");
        assert!(served[0] > 7 * served[2], "{served:?}");
    }

    #[test]
    fn who_has_used_too_much_waits_until_the_others_have_had_as_much() {
        let mut turns = turns(2, true);
        let left = |turns: &StationScheduler| turns.deficits.clone().unwrap();
        let mut after = |charged, us| {
            turns.charge(charged, Duration::from_micros(us));
            (turns.next(|_| Availability::Now).unwrap(), left(&turns))
        };
        assert_eq!(after(0, 0), (0, vec![300_000, 300_000]));
        assert_eq!(after(0, 800), (1, vec![-200_000, 300_000]));
        assert_eq!(after(1, 100), (1, vec![-200_000, 200_000]));
        assert_eq!(
            after(1, 300),
            (1, vec![100_000, 200_000]),
            "each has got another 300 us, the second is at the head"
        );
        assert_eq!(after(1, 250), (0, vec![100_000, 250_000]));
    }
}
