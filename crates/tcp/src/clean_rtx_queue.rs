//! Cleaning the retransmission queue on an acknowledgment: SACKs are tagged, segments removed, RTT samples taken.
//!
//! Source: Linux `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`.

use crate::ack::AckInfo;
use crate::context::{AckContext, PriorState};
use crate::kind::AckKind;
use crate::queue::SendQueue;
use crate::recovery::Recovery;
use crate::round_trip::RoundTrip;
use crate::segment::Tags;
use crate::{Header, HostTime};
use sojourn_aqm::Duration;

impl AckInfo {
    /// Tags the segments of the SACK option, and updates RACK and the RTT send times.
    #[inline(always)]
    pub fn process_sacks<K: AckKind>(
        &mut self,
        header: &Header,
        now: HostTime,
        recovery: &mut Recovery,
        ctx: AckContext,
    ) {
        let mut delivered = 0;
        let times = &mut self.send_times;
        let AckContext { queue, board, mut sampler, .. } = ctx;
        let sack_result = recovery.on_sacks(header, queue, board, |episode, i, segment| {
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
        self.original_delivered |= sack_result.only_original;
        self.duplicate_end = sack_result.duplicate.then(|| header.sack.blocks()[0].1);
        self.sacked = sack_result;
    }

    /// Removes acknowledged segments; from Linux 3.10 on it also takes the RTT sample.
    #[inline(always)]
    pub fn clean_rtx_queue<K: AckKind>(
        &mut self,
        before: &PriorState,
        now: HostTime,
        recovery: &mut Recovery,
        mut ctx: AckContext,
    ) {
        if self.advanced {
            self.remove_acknowledged::<K>(before, now, recovery, &mut ctx);
        } else if K::RECOVERY_FIRST && ctx.board.is_reno() {
            // Without SACK, a duplicate means that one more segment has arrived; it removes none.
            self.delivered += 1;
        }
        let AckContext { queue, board, rtt, .. } = ctx;
        debug_assert!(
            board.head().is_none_or(|head| head.end() > queue.una()),
            "acknowledged segments are removed at once"
        );
        let measured = K::RECOVERY_FIRST && self.update_rtt(now, recovery, queue, rtt);
        if !K::FAST_PATH && self.acked.packets == 0 && measured {
            // Segments SACKed that were sent before the head's last transmission rearm the timer. Other SACKs do not:
            // they would postpone the time-out for ever.
            let oldest = self.send_times.first_sacked.zip(board.head());
            self.rearms_timer |= oldest.is_some_and(|(sacked, head)| sacked < head.sent);
        }
    }

    #[inline(always)]
    fn remove_acknowledged<K: AckKind>(
        &mut self,
        before: &PriorState,
        now: HostTime,
        recovery: &mut Recovery,
        ctx: &mut AckContext,
    ) {
        let AckContext { queue, board, rtt, sampler } = ctx;
        let mut sampler = sampler.as_deref_mut().filter(|_| !K::FAST_PATH);
        let fackets = board.fackets_out;
        let episode = &mut recovery.episode;
        // Without SACK, an acknowledgment does not show when its segments arrived: RACK gets no samples, and at a
        // time-out expects no segment to be in flight.
        let sack = K::FAST_PATH || !board.is_reno();
        let (mut rack, clock, echoed) = (episode.rack.as_mut().filter(|_| sack), rtt.clock(), now.echoed(self.ts_ecr));
        let (mut delivered, mut lowest_original) = (0, u64::MAX);
        let mut newest = None;
        let times = &mut self.send_times;
        self.acked = board.acknowledge::<K>(queue.una(), |segment, tags| {
            if !K::RECOVERY_FIRST {
                return;
            }
            if K::FAST_PATH {
                // All were sent once and in order, so the times of the first and the last one suffice.
                if delivered == 0 {
                    (times.first_acked, lowest_original) = (Some(segment.sent), segment.end());
                }
                (delivered, newest) = (delivered + 1, Some((segment.sent, segment.end())));
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
                // Eifel: an echo from before the retransmission means that the original arrived.
                let original = sent_again && echoed != 0 && echoed < clock.ticks(segment.sent);
                if let Some(rack) = rack.as_mut().filter(|_| !original) {
                    rack.on_delivered(now.at, segment, tags);
                }
            }
        });
        if let Some(newest) = newest {
            self.send_times.last_acked = Some(newest.0);
            if let Some(rack) = &mut rack {
                rack.on_delivered_in_order(now.at, newest);
            }
        }
        let acked = &self.acked;
        if K::RECOVERY_FIRST {
            // Without SACK, duplicates have already counted some of them as delivered.
            self.delivered += match acked.packets {
                _ if sack => delivered,
                0 => 0,
                packets => packets.saturating_sub(before.sacked).max(1),
            };
            self.original_delivered |= lowest_original <= episode.high_seq && (sack || !acked.retransmitted);
        }
        if acked.packets > 0 {
            self.rearms_timer = true;
            if let Some(rack) = &mut episode.rack {
                rack.on_acknowledged(queue.una());
            }
            if !K::FAST_PATH {
                episode.on_acknowledged(acked, fackets, before.fackets, board);
            }
        }
    }

    /// Takes an RTT sample: from segments that were never retransmitted, else from the echoed timestamp.
    #[inline(always)]
    fn update_rtt(&mut self, now: HostTime, recovery: &mut Recovery, queue: &SendQueue, rtt: &mut RoundTrip) -> bool {
        let times = self.send_times;
        let of_acked = times.first_acked.filter(|_| !self.acked.retransmitted);
        let units_now = rtt.units_at(now.at);
        let age = |sent| units_now.saturating_sub(rtt.units_at(sent)) as u32;
        let sample = match of_acked.or(times.first_sacked) {
            Some(sent) => age(sent),
            None if self.data_acked() => rtt.units_since(now, now.echoed(self.ts_ecr)),
            None => return false,
        };
        self.rtt = self.newest_sent_at().map(|sent| rtt.span(age(sent))).filter(|&rtt| rtt > Duration::ZERO);
        rtt.sample(sample, queue.una(), queue.nxt());
        if let Some(rack) = &mut recovery.episode.rack {
            rack.observe_rtt(now.at, self.rtt.unwrap_or(rtt.span(sample)));
        }
        true
    }
}
