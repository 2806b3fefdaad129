//! The sender: frames, pacer queue, packets in flight, and the control that sets the rates.

use crate::HEADERS;
use crate::control::{Control, Feedback, NewFrame, PacketResult, SentPacket};
use crate::frames::{FrameGenerator, Source};
use crate::packet::{Packet, stamp};
use crate::prober::Prober;
use crate::report::Report;
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use std::collections::VecDeque;

/// The sending end of a media flow.
#[derive(Debug)]
pub struct Sender {
    control: Box<dyn Control>,
    ecn: Ecn,
    /// Maximum payload of a packet in bytes.
    payload: u32,
    frames: FrameGenerator,
    /// The pacer queue: packets with the times of their frames, and total bytes.
    queue: VecDeque<(Instant, Packet)>,
    waiting: u64,
    prober: Prober,
    /// Earliest time of the next paced packet.
    free_at: Instant,
    /// When the last packet was sent.
    last_sent: Instant,
    /// Sent packets that no report has covered, the sequence number of the first one, and their bytes.
    unreported: VecDeque<SentPacket>,
    first_unreported: u64,
    in_flight: u64,
    next_seq: u64,
    results: Vec<PacketResult>,
    totals: SenderTotals,
}

/// Totals of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTotals {
    /// Frames generated.
    pub frames: u64,
    /// Sum of the target rates of these frames, in bit/s; an integer, so that sums over intervals add up exactly.
    pub targets_bps: u64,
}

impl Sender {
    /// A sender of the frames of `source` from `start` until `stop`; `rng` draws the sizes of the frames.
    pub fn new(source: Source, mut control: Box<dyn Control>, start: Instant, stop: Instant, rng: Rng) -> Self {
        control.begin(start, &source);
        let mut prober = Prober::default();
        prober.add(control.take_probes());
        Self {
            control,
            ecn: Ecn::NotEct,
            payload: source.payload,
            frames: FrameGenerator::new(source, start, stop, rng),
            queue: VecDeque::new(),
            waiting: 0,
            prober,
            free_at: Instant::ZERO,
            last_sent: Instant::ZERO,
            unreported: VecDeque::new(),
            first_unreported: 0,
            in_flight: 0,
            next_seq: 0,
            results: Vec::new(),
            totals: SenderTotals::default(),
        }
    }

    /// Sets the ECN field of the packets; call before sending.
    pub fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.control.set_ecn(ecn);
        Self { ecn, ..self }
    }

    /// Returns the next packet to send at `now`, if any. Call at [`Sender::deadline`] until it returns `None`.
    pub fn poll(&mut self, now: Instant) -> Option<Packet> {
        while self.frames.due() <= now {
            self.make_frame();
        }
        if self.control.deadline() <= now {
            self.control.on_timer(now, self.waiting);
            self.prober.add(self.control.take_probes());
        }
        if self.prober.due() <= now {
            return self.poll_probe(now);
        }
        if now < self.departure() {
            return None;
        }
        let packet = self.pop_paced(now)?;
        Some(self.send(now, packet, None))
    }

    /// A packet of the current probe: from the pacer queue, or padding if that is empty.
    fn poll_probe(&mut self, now: Instant) -> Option<Packet> {
        let (probe, lacking) = self.prober.pending()?;
        let packet = self.pop_paced(now).unwrap_or_else(|| {
            let payload = (lacking.saturating_sub(u64::from(HEADERS)) as u32).clamp(1, self.payload);
            let (bytes, ecn, stamp) = (payload + HEADERS, Ecn::NotEct, stamp(now));
            Packet { seq: 0, bytes, ecn, sent: now, stamp, of_frame: 0, ends_frame: false }
        });
        self.prober.on_sent(now, packet.bytes);
        Some(self.send(now, packet, Some(probe)))
    }

    /// Removes the first packet of the pacer queue and advances the pacer by its duration.
    fn pop_paced(&mut self, now: Instant) -> Option<Packet> {
        let (_, packet) = self.queue.pop_front()?;
        let pacing_bps = self.control.rates(self.waiting).pacing_bps;
        self.waiting -= u64::from(packet.bytes);
        let gap = Duration::from_secs_f64(f64::from(packet.bytes) * 8.0 / pacing_bps);
        self.free_at = self.free_at.max(now) + gap;
        Some(packet)
    }

    fn send(&mut self, now: Instant, packet: Packet, probe: Option<u32>) -> Packet {
        let packet = Packet { seq: self.next_seq, ecn: self.ecn, sent: now, ..packet };
        (self.next_seq, self.last_sent) = (self.next_seq + 1, now);
        self.in_flight += u64::from(packet.bytes);
        let sent = SentPacket { bytes: packet.bytes, at: now, probe };
        self.unreported.push_back(sent);
        self.control.on_sent(&sent, self.in_flight);
        packet
    }

    /// Processes a report. Reordered reports, about packets that another report has covered, are ignored.
    pub fn on_report(&mut self, now: Instant, report: &Report) {
        if report.begin < self.first_unreported {
            return;
        }
        self.discard_before(report.begin);
        self.results.clear();
        let mut arrivals = report.arrivals.iter().peekable();
        for seq in report.begin..report.end {
            let Some(sent) = self.take_oldest() else { break };
            let arrival = arrivals.next_if(|arrival| arrival.seq == seq);
            self.results.push(PacketResult {
                seq,
                bytes: sent.bytes,
                sent: sent.at,
                arrived: arrival.map(|arrival| arrival.at),
                ecn: arrival.map_or(Ecn::NotEct, |arrival| arrival.ecn),
                probe: sent.probe,
            });
        }
        let (in_flight, remb_bps) = (self.in_flight, report.remb_bps);
        self.control.on_feedback(&Feedback {
            now,
            sent_at: report.sent_at,
            packets: &self.results,
            in_flight,
            remb_bps,
        });
        self.prober.add(self.control.take_probes());
    }

    /// When to call [`Sender::poll`] next.
    pub fn deadline(&self) -> Instant {
        self.frames.due().min(self.control.deadline()).min(self.departure()).min(self.prober.due())
    }

    /// Current target rate of the encoder, in bit/s.
    pub fn target_bps(&self) -> f64 {
        self.control.rates(self.waiting).target_bps
    }

    /// Totals so far.
    pub fn totals(&self) -> SenderTotals {
        self.totals
    }

    /// Packets sent so far.
    pub fn sent(&self) -> u64 {
        self.next_seq
    }

    /// Bytes of sent packets that no report has covered.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// When a packet was sent, if no report has covered it.
    pub fn sent_at(&self, seq: u64) -> Option<Instant> {
        let index = seq.checked_sub(self.first_unreported)?;
        self.unreported.get(index as usize).map(|sent| sent.at)
    }

    /// When pacer and window allow the first packet of the queue.
    fn departure(&self) -> Instant {
        let Some((_, packet)) = self.queue.front() else { return Instant::NEVER };
        let window = self.control.window_bytes().unwrap_or(u64::MAX);
        let is_open = self.in_flight == 0 || self.in_flight + u64::from(packet.bytes) <= window;
        if is_open { self.free_at } else { self.free_at.max(self.last_sent + STALLED) }
    }

    fn make_frame(&mut self) {
        let (at, target_bps) = (self.frames.due(), self.target_bps());
        let payloads = self.frames.next(target_bps);
        let bytes = payloads.iter().map(|payload| u64::from(payload + HEADERS)).sum();
        let waited = self.queue.front().map_or(Duration::ZERO, |&(made, _)| at - made);
        self.control.on_frame(&NewFrame { at, bytes, waited });
        self.totals.frames += 1;
        self.totals.targets_bps += (target_bps + 0.5) as u64;
        let of_frame = payloads.len() as u32;
        for (index, payload) in (1..).zip(payloads) {
            let (bytes, ends_frame) = (payload + HEADERS, index == of_frame);
            self.waiting += u64::from(bytes);
            let (ecn, stamp) = (Ecn::NotEct, stamp(at));
            let packet = Packet { seq: 0, bytes, ecn, sent: at, stamp, of_frame, ends_frame };
            self.queue.push_back((at, packet));
        }
        let largest = self.queue.back().map_or(0, |(_, packet)| packet.bytes);
        self.prober.on_packets(at, largest);
    }

    /// Forgets the packets before sequence number `begin`: their report was lost.
    fn discard_before(&mut self, begin: u64) {
        while self.first_unreported < begin && self.take_oldest().is_some() {}
    }

    fn take_oldest(&mut self) -> Option<SentPacket> {
        let sent = self.unreported.pop_front()?;
        self.first_unreported += 1;
        self.in_flight -= u64::from(sent.bytes);
        Some(sent)
    }
}

/// Time without sending after which a closed window lets one packet through: if all packets in flight are lost, no
/// report comes (0.5 s in Ericsson's implementation of SCReAM, which then empties its list).
const STALLED: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control;

    #[test]
    fn without_reports_a_window_lets_a_packet_go_each_half_second() {
        let source = Source { min_bps: 1e6, start_bps: 1e6, ..Source::default() };
        let control = control::new("scream@rfc8298").unwrap();
        let mut sender = Sender::new(source, control, Instant::ZERO, Instant::NEVER, Rng::stream(11, "source", 0));
        let mut times = Vec::new();
        loop {
            let now = sender.deadline();
            if now > Instant::ZERO + Duration::from_secs(3) {
                break;
            }
            while let Some(packet) = sender.poll(now) {
                times.push((now.as_nanos() / 1_000_000, packet.bytes));
            }
        }
        // The minimum window of 3000 B and a packet of 1000 B; then single packets of 1 Mbit/s, 30 frames of four per
        // second.
        let open: u32 = times.iter().filter(|(ms, _)| *ms < 400).map(|(_, bytes)| bytes).sum();
        assert!((3000..=4000).contains(&open), "{times:?}");
        let late: Vec<u64> = times.iter().map(|&(ms, _)| ms).filter(|&ms| ms >= 400).collect();
        assert_eq!(late.len(), 5, "{times:?}");
        assert!(late.windows(2).all(|pair| pair[1] - pair[0] == 500), "{late:?}");
    }
}
