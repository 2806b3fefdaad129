//! The probe of senders: segments sent, acknowledgments received, losses detected, and the state after each event.
//!
//! Separate tables, because these records have different columns; the number of the event joins them.

use crate::table::{Table, recorder};
use sojourn_aqm::{Duration, Instant};
use sojourn_tcp::cc::Window;
use sojourn_tcp::quic::EcnCounts;
use sojourn_tcp::{Header, LossMark, Sack, SenderEvent, SenderState};

/// Records sender events.
#[derive(Default)]
pub(crate) struct SenderRecorder {
    segments: Segments,
    acks: Acks,
    ranges: AckRanges,
    losses: Losses,
    states: States,
    /// Number of the current event.
    event: u64,
    /// Whether the current event has a row.
    event_recorded: bool,
    /// Code of the timer that expired in it; 0 if none did.
    expired_timer: u8,
    /// By slot and end: the current flow, and the last recorded state of its sender.
    last: Vec<[Option<(u32, SenderState)>; 2]>,
}

/// A sender: its flow, the flow's slot, and whether it is at the flow's source.
#[derive(Clone, Copy)]
pub(crate) struct SenderId {
    pub flow: u32,
    pub slot: u32,
    pub at_source: bool,
}

recorder! {
    Segments("segments") {
        time_ns: u64 => U64,
        event: u64 => U64,
        flow: u32 => U32,
        end: u8 => U8,
        seq: u64 => U64,
        payload: u32 => U32,
        ip_bytes: u32 => U32,
        flags: u8 => U8,
        ecn: u8 => U8,
        again: u8 => U8,
    }
}

recorder! {
    Acks("acks") {
        time_ns: u64 => U64,
        event: u64 => U64,
        flow: u32 => U32,
        end: u8 => U8,
        ack: u64 => U64,
        ip_bytes: u32 => U32,
        flags: u8 => U8,
        sack1_from: u64 => U64,
        sack1_to: u64 => U64,
        sack2_from: u64 => U64,
        sack2_to: u64 => U64,
        sack3_from: u64 => U64,
        sack3_to: u64 => U64,
    }
}

recorder! {
    AckRanges("ack_ranges") {
        time_ns: u64 => U64,
        event: u64 => U64,
        flow: u32 => U32,
        end: u8 => U8,
        number: u64 => U64,
        ip_bytes: u32 => U32,
        delay_ns: u64 => U64,
        first: u64 => U64,
        last: u64 => U64,
        ect0: u64 => U64,
        ect1: u64 => U64,
        ce: u64 => U64,
    }
}

recorder! {
    Losses("losses") {
        time_ns: u64 => U64,
        event: u64 => U64,
        flow: u32 => U32,
        end: u8 => U8,
        seq: u64 => U64,
        seq_end: u64 => U64,
        loss: u8 => U8,
    }
}

recorder! {
    States("senders") {
        time_ns: u64 => U64,
        event: u64 => U64,
        flow: u32 => U32,
        end: u8 => U8,
        state: u8 => U8,
        una: u64 => U64,
        nxt: u64 => U64,
        right_edge: u64 => U64,
        mss: u32 => U32,
        cwnd: u32 => U32,
        ssthresh: f64 => F64,
        in_flight: u32 => U32,
        pacing_bps: f64 => F64,
        srtt_ms: f64 => F64,
        min_rtt_ms: f64 => F64,
        expired: u8 => U8,
        timer: u8 => U8,
        timer_ns: u64 => U64,
    }
}

impl SenderRecorder {
    /// Bytes of the rows of a segment, of its acknowledgment, and of the sender's state after each.
    pub const SEGMENT_BYTES: u64 =
        Segments::ROW_BYTES + Acks::ROW_BYTES + AckRanges::ROW_BYTES + Losses::ROW_BYTES + 2 * States::ROW_BYTES;
    /// Memory per flow.
    pub const FLOW_BYTES: u64 = size_of::<[Option<(u32, SenderState)>; 2]>() as u64;

    /// Records an event of a sender at `now`.
    pub fn record(&mut self, now: Instant, sender: SenderId, event: SenderEvent<'_>) {
        let (time, flow, end) = (now.as_nanos(), sender.flow, u8::from(!sender.at_source));
        self.event_recorded |= !matches!(event, SenderEvent::State(_));
        match event {
            SenderEvent::Received { header, len } => self.received((time, flow, end), header, len),
            SenderEvent::Acknowledged { number, frame, len } => {
                let EcnCounts { ect0, ect1, ce } = frame.ecn.unwrap_or_default();
                let delay = frame.delay.as_nanos() as u64;
                for &(first, last) in &frame.ranges {
                    self.ranges.push(time, self.event, flow, end, number, len, delay, first, last, ect0, ect1, ce);
                }
            }
            SenderEvent::Expired(purpose) => self.expired_timer = purpose as u8 + 1,
            SenderEvent::Sent { header, len, ecn, is_retransmission } => {
                let Header { seq, len: payload, flags, .. } = *header;
                let (ecn, again) = (ecn as u8, u8::from(is_retransmission));
                self.segments.push(time, self.event, flow, end, seq, payload.into(), len, flags.bits(), ecn, again);
            }
            SenderEvent::LossMarked(loss) => {
                let ((from, to), loss) = match loss {
                    LossMark::Original(block) => (block, 0),
                    LossMark::Retransmission(block) => (block, 1),
                    LossMark::Cleared(una) => ((una, una), 2),
                };
                self.losses.push(time, self.event, flow, end, from, to, loss);
            }
            SenderEvent::State(snapshot) => self.end(time, sender, snapshot),
        }
    }

    /// Moves the rows of tables that have at least `min_rows` into `taken`.
    pub fn take(&mut self, min_rows: usize, taken: &mut Vec<Table>) {
        let Self { segments, acks, ranges, losses, states, .. } = self;
        let tables = [
            segments.take(min_rows),
            acks.take(min_rows),
            ranges.take(min_rows),
            losses.take(min_rows),
            states.take(min_rows),
        ];
        taken.extend(tables.into_iter().flatten());
    }

    pub fn into_tables(self) -> [Table; 5] {
        let Self { segments, acks, ranges, losses, states, .. } = self;
        let (ranges, losses) = (ranges.into_table(), losses.into_table());
        [segments.into_table(), acks.into_table(), ranges, losses, states.into_table()]
    }

    fn received(&mut self, (time, flow, end): (u64, u32, u8), header: &Header, len: u32) {
        let mut sack = [(0, 0); Sack::MAX_BLOCKS];
        let blocks = header.sack.blocks();
        sack[..blocks.len()].copy_from_slice(blocks);
        let [(a, b), (c, d), (e, f)] = sack;
        self.acks.push(time, self.event, flow, end, header.ack, len, header.flags.bits(), a, b, c, d, e, f);
    }

    /// Ends the current event. An unchanged state is not recorded, unless a timer expired.
    fn end(&mut self, time: u64, SenderId { flow, slot, at_source }: SenderId, snapshot: &SenderState) {
        let (slot, end) = (slot as usize, u8::from(!at_source));
        if slot >= self.last.len() {
            self.last.resize(slot + 1, [None; 2]);
        }
        let now = Some((flow, *snapshot));
        let changed = self.last[slot][usize::from(end)] != now;
        self.last[slot][usize::from(end)] = now;
        let expired = std::mem::take(&mut self.expired_timer);
        if changed || expired > 0 {
            self.event_recorded = true;
            self.record_state((time, flow, end), expired, snapshot);
        }
        self.event += u64::from(std::mem::take(&mut self.event_recorded));
    }

    fn record_state(&mut self, (time, flow, end): (u64, u32, u8), expired: u8, snapshot: &SenderState) {
        let SenderState { state, una, nxt, right_edge, mss, cwnd, ssthresh, in_flight, .. } = *snapshot;
        let infinite = ssthresh == Window::INFINITE_SSTHRESH;
        let (timer, expires) = snapshot.timer.map_or((0, 0), |(purpose, at)| (purpose as u8 + 1, at.as_nanos()));
        self.states.push(
            time,
            self.event,
            flow,
            end,
            state as u8,
            una,
            nxt,
            right_edge,
            mss,
            cwnd,
            if infinite { f64::INFINITY } else { ssthresh.into() },
            in_flight,
            snapshot.pacing.map_or(f64::NAN, |rate| rate.as_bps() as f64),
            snapshot.srtt_s * 1e3,
            snapshot.min_rtt.map_or(f64::NAN, ms),
            expired,
            timer,
            expires,
        );
    }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
