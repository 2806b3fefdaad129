//! Cleaning the retransmission queue on an acknowledgment: SACKs are tagged, segments removed, RTT samples taken.
//!
//! Source: Linux `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`.

use crate::ack::AckInfo;
use crate::context::{Before, Books};
use crate::kind::Kind;
use crate::queue::SendQueue;
use crate::recovery::Recovery;
use crate::round_trip::RoundTrip;
use crate::segment::Tags;
use crate::{Header, Now};
use sojourn_aqm::Duration;

impl AckInfo {
    /// The SACK option, with what RACK and the RTT learn from it.
    #[inline(always)]
    pub fn take_sacks<K: Kind>(&mut self, header: &Header, now: Now, recovery: &mut Recovery, books: Books) {
        let mut delivered = 0;
        let times = &mut self.times;
        let Books { queue, board, mut sampler, .. } = books;
        let told = recovery.on_sacks(header, queue, board, |episode, i, segment| {
            if !K::RECOVERY_FIRST {
                return;
            }
            delivered += 1;
            if let Some(sampler) = &mut sampler {
                sampler.on_sacked_at(i, segment);
            }
            if let Some(rack) = &mut episode.rack {
                rack.on_delivered(now.at, segment, segment.tags);
            }
            if !segment.tags.any(Tags::EVER_RETRANS) {
                times.first_sacked.get_or_insert(segment.sent);
                times.last_sacked = Some(segment.sent);
            }
        });
        self.delivered += delivered;
        self.original_delivered |= told.only_original;
        self.duplicate_end = told.duplicate.then(|| header.sack.blocks()[0].1);
        self.sacked = told;
    }

    /// Removes what is acknowledged; from Linux 3.10 on also takes the RTT sample.
    #[inline(always)]
    pub fn take_acknowledged<K: Kind>(&mut self, before: &Before, now: Now, recovery: &mut Recovery, mut books: Books) {
        if self.advanced {
            self.remove_acknowledged::<K>(before, now, recovery, &mut books);
        } else if K::RECOVERY_FIRST && books.board.is_reno() {
            // A duplicate tells of one that has arrived, and removes nothing.
            self.delivered += 1;
        }
        let Books { queue, board, rtt, .. } = books;
        debug_assert!(
            board.head().is_none_or(|head| head.end() > queue.una()),
            "what is acknowledged is removed at once"
        );
        let measured = K::RECOVERY_FIRST && self.measure(now, recovery, queue, rtt);
        if !K::CALM && self.acked.packets == 0 && measured {
            // Only SACKs of what was sent before the head was last do not prolong the time-out for ever.
            let oldest = self.times.first_sacked.zip(board.head());
            self.sets_timer |= oldest.is_some_and(|(sacked, head)| sacked < head.sent);
        }
    }

    #[inline(always)]
    fn remove_acknowledged<K: Kind>(&mut self, before: &Before, now: Now, recovery: &mut Recovery, books: &mut Books) {
        let Books { queue, board, rtt, sampler } = books;
        let mut sampler = sampler.as_deref_mut().filter(|_| !K::CALM);
        let fackets = board.fackets_out;
        let episode = &mut recovery.episode;
        // Without SACK an acknowledgment tells nothing of when its segments arrived: RACK learns nothing, and at a time-out
        // expects nothing more.
        let sack = K::CALM || !board.is_reno();
        let (mut rack, clock, echoed) = (episode.rack.as_mut().filter(|_| sack), rtt.clock(), now.echoed(self.ts_ecr));
        let (mut delivered, mut lowest_original) = (0, u64::MAX);
        let times = &mut self.times;
        self.acked = board.acknowledge::<K>(queue.una(), |segment, tags| {
            if !K::RECOVERY_FIRST {
                return;
            }
            if let Some(sampler) = &mut sampler {
                sampler.on_acknowledged(segment);
            }
            let sent_again = tags.any(Tags::EVER_RETRANS);
            if !sent_again && !tags.any(Tags::SACKED) {
                times.first_acked.get_or_insert(segment.sent);
                times.last_acked = Some(segment.sent);
                lowest_original = lowest_original.min(segment.end());
            }
            if !tags.any(Tags::SACKED) {
                delivered += 1;
                // An echo from before the retransmission: it was the original that arrived.
                let original = sent_again && echoed != 0 && echoed < clock.ticks(segment.sent);
                if let Some(rack) = rack.as_mut().filter(|_| !original) {
                    rack.on_delivered(now.at, segment, tags);
                }
            }
        });
        let acked = &self.acked;
        if K::RECOVERY_FIRST {
            // Without SACK, duplicates have told of some before.
            self.delivered += match acked.packets {
                _ if sack => delivered,
                0 => 0,
                packets => packets.saturating_sub(before.sacked).max(1),
            };
            self.original_delivered |= lowest_original <= episode.high_seq && (sack || !acked.retransmitted);
        }
        if acked.packets > 0 {
            self.sets_timer = true;
            if let Some(rack) = &mut episode.rack {
                rack.on_acknowledged(queue.una());
            }
            if !K::CALM {
                episode.on_acknowledged(acked, fackets, before.fackets, board);
            }
        }
    }

    /// Takes an RTT sample: from segments that were sent once, else from the timestamp.
    #[inline(always)]
    fn measure(&mut self, now: Now, recovery: &mut Recovery, queue: &SendQueue, rtt: &mut RoundTrip) -> bool {
        let times = self.times;
        let of_acked = times.first_acked.filter(|_| !self.acked.retransmitted);
        let sample = match of_acked.or(times.first_sacked) {
            Some(sent) => rtt.age(now, sent),
            None if self.data_acked() => rtt.units_since(now, now.echoed(self.ts_ecr)),
            None => return false,
        };
        rtt.sample(sample, queue.una(), queue.nxt());
        self.rtt = self.newest().map(|sent| rtt.span(rtt.age(now, sent))).filter(|&rtt| rtt > Duration::ZERO);
        if let Some(rack) = &mut recovery.episode.rack {
            rack.observe_rtt(now.at, self.rtt.unwrap_or(rtt.span(sample)));
        }
        true
    }
}
