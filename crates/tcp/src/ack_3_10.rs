//! What the sender makes of an acknowledgment from Linux 3.10 on: recovery decides first, then the window moves, then
//! segments go out.
//!
//! Source: Linux 6.1 `tcp_ack`, `tcp_sacktag_one`, `tcp_clean_rtx_queue`, `tcp_cong_control`.

use super::ack::Ack;
use super::cc::{self, CongestionControl};
use super::recovery::Rexmit;
use super::scoreboard::Tags;
use super::sender::{Sender, State};
use super::{Flags, Header, Ticks, Wire};
use sojourn_aqm::{Duration, Instant};
use std::ops::{Deref, DerefMut};

impl Sender {
    /// Takes an acknowledgment.
    #[inline(never)]
    pub(super) fn on_ack_3_10(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        if header.ack > self.queue.nxt() {
            return;
        }
        self.ts_recent = self.ts_recent.max(header.ts_val);
        let advanced = header.ack > self.queue.una();
        let ack = Ack { advanced, ts_ecr: header.ts_ecr, ..Ack::default() };
        let mut ack = Findings { ack, ..Findings::default() };
        let before = Before {
            una: self.queue.una(),
            in_flight: self.board.in_flight(),
            fackets: self.board.fackets_out,
            sacked: self.board.sacked_out,
            lost: self.board.lost_total,
        };
        let mut times = Times::default();
        let has_sack = self.sack && !header.sack.blocks().is_empty();
        if header.ack < self.queue.una() {
            // An old acknowledgment can still bring SACKs.
            if has_sack {
                self.tag_3_10(header, &mut ack, &mut times);
                let rexmit = self.alert_3_10(now, &mut ack);
                self.transmit_recovery(rexmit, now, wire);
            }
            return;
        }
        if advanced {
            self.retransmits = 0;
            self.queue.acknowledge(header.ack);
        }
        if has_sack {
            self.count_duplicate(header, before.una);
            self.tag_3_10(header, &mut ack, &mut times);
        }
        ack.ece = self.ecn && header.flags.contains(Flags::ECE);
        if self.board.packets_out() > 0 {
            self.clean_3_10(now, &before, &mut ack, times);
            self.decide(now, &before, &mut ack, wire);
        } else {
            if ack.sacked.duplicate {
                self.alert_3_10(now, &mut ack);
            }
            self.process_probe_ack(&ack);
        }
        if advanced {
            self.move_right_edge();
        }
        self.send_new(now, wire);
        if !self.stack.rack && self.deadline.is_some() {
            self.schedule_loss_probe(now, false);
        }
    }

    /// Recovery, the window, and what recovery sends.
    fn decide(&mut self, now: Ticks, before: &Before, ack: &mut Findings, wire: &mut impl Wire) {
        if ack.sacked.new || ack.sacked.duplicate {
            let probe = ack.duplicate_end == self.probe.high_seq;
            let duplicate = ack.sacked.duplicate && self.rack.reordering_seen && !probe;
            self.rack.update_window(self.queue.una(), self.queue.nxt(), duplicate);
        }
        self.process_probe_ack(ack);
        let suspicious =
            ack.is_duplicate() || ack.sacked.new || ack.sacked.duplicate || ack.ece || self.state != State::Open;
        let rexmit = if suspicious { self.alert_3_10(now, ack) } else { Rexmit::Nothing };
        if ack.sets_timer && !(self.stack.rack && self.schedule_loss_probe(now, true)) {
            self.rearm_after_other_timer(now);
        }
        let reducing = matches!(self.state, State::Cwr | State::Recovery);
        if reducing {
            self.reduce(ack, (self.board.lost_total - before.lost) as u32, ack.entered_recovery);
        } else if self.stack.rack {
            self.grow_3_10(ack, before.in_flight);
        }
        self.transmit_recovery(rexmit, now, wire);
        if !reducing && !self.stack.rack {
            self.grow_3_10(ack, before.in_flight);
        }
    }

    /// What the congestion control may know of an acknowledgment.
    #[inline]
    fn news(&self, packets: u32, rtt: Option<Duration>) -> cc::Ack {
        let open = self.state == State::Open;
        cc::Ack { now: self.at, packets, rtt, una: self.queue.una(), nxt: self.queue.nxt(), open }
    }

    fn grow_3_10(&mut self, ack: &Findings, prior_in_flight: u32) {
        // Where there is much reordering, whatever is delivered counts.
        let reordered = self.reordering > self.stack.reordering;
        let counts = if reordered { ack.forward_progress() } else { ack.data_acked() };
        if counts && self.is_cwnd_limited(prior_in_flight) {
            let packets = if self.stack.rack { ack.delivered } else { ack.acked.packets };
            let news = self.news(packets, ack.rtt);
            self.cc.increase(&mut self.window, packets, || news);
            self.usage.touched(self.clock.ticks(self.at));
        }
    }

    fn transmit_recovery(&mut self, rexmit: Rexmit, now: Ticks, wire: &mut impl Wire) {
        if rexmit == Rexmit::New {
            self.send_new(now, wire);
            if self.queue.nxt() > self.high_seq {
                return;
            }
            self.frto.in_loss = false;
        }
        match rexmit {
            Rexmit::Nothing => {}
            _ if self.stack.rack => self.retransmit_marked(now, wire),
            _ => self.retransmit_lost(now, wire),
        }
    }

    /// The SACK option, with what RACK and the RTT learn from it.
    fn tag_3_10(&mut self, header: &Header, ack: &mut Findings, times: &mut Times) {
        let blocks = header.sack.blocks();
        let (rack, at, has_rack) = (&mut self.rack, self.at, self.stack.rack);
        let mut delivered = 0;
        let told = self.board.tag(blocks, header.ack, self.high_seq, |segment| {
            delivered += 1;
            if has_rack {
                rack.on_delivered(at, segment, segment.tags);
            }
            if !segment.tags.any(Tags::EVER_RETRANS) {
                times.first_sacked.get_or_insert(segment.sent);
                times.last_sacked = Some(segment.sent);
            }
        });
        ack.delivered += delivered;
        ack.original_delivered |= told.only_original;
        ack.duplicate_end = told.duplicate.then(|| blocks[0].1);
        ack.sacked = told;
        if self.fack && self.state == State::Recovery {
            self.board.mark_lost_retransmissions(self.queue.nxt());
        }
        if let Some(at) = told.reordered_at.filter(|_| self.state != State::Loss || self.undo_marker.is_some()) {
            self.update_reordering(self.board.fackets_out.saturating_sub(at));
        }
    }

    /// Removes what is acknowledged and takes the RTT sample.
    fn clean_3_10(&mut self, now: Ticks, before: &Before, ack: &mut Findings, mut times: Times) {
        let fackets = self.board.fackets_out;
        // Without SACK an acknowledgment tells nothing of when its segments arrived: RACK learns nothing, and at a time-out
        // expects nothing more.
        let (rack, at, clock, has_rack) = (&mut self.rack, self.at, self.clock, self.stack.rack && self.sack);
        let (mut delivered, mut lowest_original) = (0, u64::MAX);
        let acked = self.board.acknowledge(self.queue.una(), self.sack, |segment| {
            let tags = segment.tags;
            let sent_again = tags.any(Tags::EVER_RETRANS);
            if !sent_again && !tags.any(Tags::SACKED) {
                times.first_acked.get_or_insert(segment.sent);
                times.last_acked = Some(segment.sent);
                lowest_original = lowest_original.min(segment.end());
            }
            if !tags.any(Tags::SACKED) {
                delivered += 1;
                // An echo from before the retransmission: it was the original that arrived.
                let original = sent_again && ack.ts_ecr != 0 && ack.ts_ecr < clock.ticks(segment.sent);
                if has_rack && !original {
                    rack.on_delivered(at, segment, tags);
                }
            }
        });
        ack.acked = acked;
        // Without SACK, duplicates have told of some before.
        ack.delivered += match acked.packets {
            _ if self.sack => delivered,
            0 => ack.is_duplicate() as u32,
            packets => packets.saturating_sub(before.sacked).max(1),
        };
        ack.original_delivered |= lowest_original <= self.high_seq && !(self.is_reno() && acked.retransmitted);
        if acked.packets > 0 {
            ack.sets_timer = true;
            self.rack.on_acknowledged(self.queue.una());
            if self.is_reno() {
                self.remove_reno_sacks(acked.packets);
            } else if let Some(at) = acked.reordered_at.filter(|&at| at < before.fackets) {
                self.update_reordering(fackets - at);
            }
        }
        let measured = self.measure(now, ack, &times);
        if acked.packets > 0 {
            let news = self.news(acked.packets, ack.rtt);
            self.cc.acked(&mut self.window, || news);
        }
        if acked.packets == 0 && measured {
            // Only SACKs of what was sent before the head was last do not prolong the time-out for ever.
            let oldest = times.first_sacked.zip(self.board.head());
            ack.sets_timer |= oldest.is_some_and(|(sacked, head)| sacked < head.sent);
        }
    }

    /// Takes an RTT sample: from segments that were sent once, else from the timestamp.
    fn measure(&mut self, now: Ticks, ack: &mut Findings, times: &Times) -> bool {
        let of_acked = times.first_acked.filter(|_| !ack.acked.retransmitted);
        let sample = match of_acked.or(times.first_sacked) {
            Some(sent) => self.in_rtt_units(sent),
            None if ack.data_acked() => now.saturating_sub(ack.ts_ecr) * self.rtt.per_tick(),
            None => return false,
        };
        self.rtt.sample(sample, self.queue.una(), self.queue.nxt());
        let newest = times.last_sacked.or(times.last_acked.filter(|_| !ack.acked.retransmitted));
        ack.rtt = newest.map(|sent| self.rtt_from_units(self.in_rtt_units(sent))).filter(|&rtt| rtt > Duration::ZERO);
        if self.stack.rack {
            let rtt = ack.rtt.unwrap_or(self.rtt_from_units(sample));
            self.rack.observe_rtt(self.at, rtt);
        }
        true
    }
}

/// What one acknowledgment told, and what followed from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Findings {
    ack: Ack,
    /// RTT of the newest segment that it covers, if that was sent once.
    pub rtt: Option<Duration>,
    /// End of the duplicate that its D-SACK reports.
    pub duplicate_end: Option<u64>,
    /// A segment from before `high_seq` arrived that was never sent again.
    pub original_delivered: bool,
    /// A retransmission was found to be lost.
    pub lost_retransmission: bool,
    /// It made the sender enter recovery.
    pub entered_recovery: bool,
    /// The retransmission timer is to be set anew.
    pub sets_timer: bool,
}

impl Deref for Findings {
    type Target = Ack;
    fn deref(&self) -> &Ack {
        &self.ack
    }
}

impl DerefMut for Findings {
    fn deref_mut(&mut self) -> &mut Ack {
        &mut self.ack
    }
}

/// How things stood when the acknowledgment arrived.
struct Before {
    una: u64,
    in_flight: u32,
    fackets: u32,
    sacked: u32,
    lost: u64,
}

/// When the segments were sent that one acknowledgment covers, each sent only once.
#[derive(Clone, Copy, Default)]
struct Times {
    first_acked: Option<Instant>,
    last_acked: Option<Instant>,
    first_sacked: Option<Instant>,
    last_sacked: Option<Instant>,
}
