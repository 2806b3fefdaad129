//! What one acknowledgment tells: what was newly acknowledged, SACKed or reported twice, and what that says of the RTT.
//!
//! Source: Linux `tcp_ack`, `tcp_sacktag_one`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`.

use crate::cc;
use crate::config::State;
use crate::queue::SendQueue;
use crate::rate_sample::RateSampler;
use crate::recovery::Recovery;
use crate::round_trip::RoundTrip;
use crate::scoreboard::Scoreboard;
use crate::segment::{Acked, Sacked, Tags};
use crate::tlp::Probed;
use crate::{Header, Now};
use sojourn_aqm::{Duration, Instant};
use std::ops::{Deref, DerefMut};

/// What one acknowledgment told, after the queue was cleaned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ack {
    /// SND.UNA moved.
    pub advanced: bool,
    pub acked: Acked,
    pub sacked: Sacked,
    pub ece: bool,
    /// The timestamp that it echoes.
    pub ts_ecr: u32,
    /// Segments newly known to have arrived.
    pub delivered: u32,
}

impl Ack {
    pub fn data_acked(&self) -> bool {
        self.acked.packets > 0
    }
    /// Something moved forward.
    pub fn forward_progress(&self) -> bool {
        self.data_acked() || self.sacked.new
    }
    pub fn any_progress(&self) -> bool {
        self.forward_progress() || self.advanced
    }
    /// A duplicate acknowledgment: nothing moved.
    pub fn is_duplicate(&self) -> bool {
        !self.advanced && !self.data_acked()
    }
}

/// How things stood when an acknowledgment arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub una: u64,
    pub in_flight: u32,
    pub fackets: u32,
    pub sacked: u32,
    pub lost: u64,
}

impl Before {
    #[inline(always)]
    pub fn of(queue: &SendQueue, board: &Scoreboard) -> Self {
        Self {
            una: queue.una(),
            in_flight: board.in_flight(),
            fackets: board.fackets_out,
            sacked: board.sacked_out,
            lost: board.lost_total,
        }
    }
}

/// What an acknowledgment changes, besides recovery.
pub(crate) struct Books<'a> {
    pub queue: &'a SendQueue,
    pub board: &'a mut Scoreboard,
    pub rtt: &'a mut RoundTrip,
    pub sampler: Option<&'a mut RateSampler>,
}

/// What one acknowledgment told from Linux 3.10 on, and what followed from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Findings {
    pub ack: Ack,
    /// RTT of the newest segment that it covers, if that was sent once.
    pub rtt: Option<Duration>,
    /// End of the duplicate that its D-SACK reports.
    pub duplicate_end: Option<u64>,
    /// A segment from before `high_seq` arrived that was never sent again.
    pub original_delivered: bool,
    /// Packets that it reports to carry a congestion mark, of those that it delivered.
    pub ce: u32,
    /// A retransmission was found to be lost.
    pub lost_retransmission: bool,
    /// It made the sender enter recovery.
    pub entered_recovery: bool,
    /// The retransmission timer is to be set anew.
    pub sets_timer: bool,
    /// What it tells of a loss probe.
    pub probe: Probed,
    times: Times,
}

/// When the segments were sent that one acknowledgment covers, each sent only once.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    first_acked: Option<Instant>,
    last_acked: Option<Instant>,
    first_sacked: Option<Instant>,
    last_sacked: Option<Instant>,
}

impl Findings {
    /// Nothing but the header is read.
    pub fn of(header: &Header, una: u64) -> Self {
        let ack = Ack { advanced: header.ack > una, ts_ecr: header.ts_ecr, ..Ack::default() };
        Self { ack, ..Self::default() }
    }

    /// The SACK option, with what RACK and the RTT learn from it.
    pub fn take_sacks(&mut self, header: &Header, now: Now, recovery: &mut Recovery, books: Books) {
        let mut delivered = 0;
        let times = &mut self.times;
        let Books { queue, board, mut sampler, .. } = books;
        let told = recovery.on_sacks(header, queue, board, |episode, i, segment| {
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

    /// Removes what is acknowledged and takes the RTT sample.
    #[inline(always)]
    pub fn take_acknowledged(&mut self, before: &Before, now: Now, recovery: &mut Recovery, mut books: Books) {
        if self.advanced {
            self.remove_acknowledged(before, now, recovery, &mut books);
        } else if books.board.is_reno() {
            // A duplicate tells of one that has arrived, and removes nothing.
            self.delivered += 1;
        }
        let Books { queue, board, rtt, .. } = books;
        debug_assert!(
            board.head().is_none_or(|head| head.end() > queue.una()),
            "what is acknowledged is removed at once"
        );
        let measured = self.measure(now, recovery, queue, rtt);
        if self.acked.packets == 0 && measured {
            // Only SACKs of what was sent before the head was last do not prolong the time-out for ever.
            let oldest = self.times.first_sacked.zip(board.head());
            self.sets_timer |= oldest.is_some_and(|(sacked, head)| sacked < head.sent);
        }
    }

    #[inline(always)]
    fn remove_acknowledged(&mut self, before: &Before, now: Now, recovery: &mut Recovery, books: &mut Books) {
        let Books { queue, board, rtt, sampler } = books;
        let mut sampler = sampler.as_deref_mut();
        let fackets = board.fackets_out;
        let episode = &mut recovery.episode;
        // Without SACK an acknowledgment tells nothing of when its segments arrived: RACK learns nothing, and at a time-out
        // expects nothing more.
        let sack = !board.is_reno();
        let (mut rack, clock, echoed) = (episode.rack.as_mut().filter(|_| sack), rtt.clock(), now.echoed(self.ts_ecr));
        let (mut delivered, mut lowest_original) = (0, u64::MAX);
        let times = &mut self.times;
        let acked = board.acknowledge(queue.una(), |segment| {
            let tags = segment.tags;
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
        self.acked = acked;
        // Without SACK, duplicates have told of some before.
        self.delivered += match acked.packets {
            _ if sack => delivered,
            0 => 0,
            packets => packets.saturating_sub(before.sacked).max(1),
        };
        self.original_delivered |= lowest_original <= episode.high_seq && (sack || !acked.retransmitted);
        if acked.packets > 0 {
            self.sets_timer = true;
            if let Some(rack) = &mut episode.rack {
                rack.on_acknowledged(queue.una());
            }
            episode.on_acknowledged(&acked, fackets, before.fackets, board);
        }
    }

    /// What the congestion control may know of it, `packets` of which count.
    #[inline]
    pub fn news(&self, packets: u32, now: Now, state: State, queue: &SendQueue) -> cc::Ack {
        let (una, nxt, open) = (queue.una(), queue.nxt(), state == State::Open);
        cc::Ack { now: now.at, packets, rtt: self.rtt, una, nxt, open }
    }

    /// The RTT of the newest segment that it covers and that was sent once, else by the timestamp that it echoes, finer
    /// than the estimator's.
    pub fn sample_rtt(&self, now: Now, rtt: &RoundTrip) -> Option<Duration> {
        let micros = |at: Instant| (at.as_nanos() / 1_000) as i64;
        match self.newest() {
            Some(sent) => Some(Duration::from_micros(micros(now.at) - micros(sent))),
            None => self
                .data_acked()
                .then(|| rtt.span(rtt.units_since(now, now.echoed(self.ts_ecr)).max(rtt.estimator().per_tick()))),
        }
    }

    /// Whether it acknowledged one segment that was sent once, and told nothing else.
    pub fn is_of_one_original(&self) -> bool {
        let nothing_else = !self.sacked.new && !self.sacked.duplicate && !self.ece;
        self.acked.packets == 1 && self.times.first_acked.is_some() && !self.acked.retransmitted && nothing_else
    }

    /// When the newest segment that it covers and that was sent once was sent.
    fn newest(&self) -> Option<Instant> {
        self.times.last_sacked.or(self.times.last_acked.filter(|_| !self.acked.retransmitted))
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
        self.rtt = take_sample(sample, self.newest(), now, recovery, (queue, rtt));
        true
    }
}

/// The RTT of what an acknowledgment covers: a `sample` for the time-out, in units, and the age of the `newest` segment that
/// was sent once, which the congestion control is told.
#[inline(always)]
pub(crate) fn take_sample(
    sample: u32,
    newest: Option<Instant>,
    now: Now,
    recovery: &mut Recovery,
    (queue, rtt): (&SendQueue, &mut RoundTrip),
) -> Option<Duration> {
    rtt.sample(sample, queue.una(), queue.nxt());
    let of_newest = newest.map(|sent| rtt.span(rtt.age(now, sent))).filter(|&rtt| rtt > Duration::ZERO);
    if let Some(rack) = &mut recovery.episode.rack {
        rack.observe_rtt(now.at, of_newest.unwrap_or(rtt.span(sample)));
    }
    of_newest
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
