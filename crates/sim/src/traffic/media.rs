//! Real-time media: the sender and receiver of `sojourn-media` as the ends of a flow.
//!
//! Header of a media packet: `seq` is its number, `ack` its send time in ns, `ts_val` the time at which its frame was
//! encoded in units of 1/90000 s, `ts_ecr` the number of packets of its frame (0 for padding); PSH is RTP's marker, on
//! the last packet of a frame. Header of a report: `seq` is its number; its contents wait here until it arrives.

use super::host::{Endpoints, Host};
use super::udp::DatagramSink;
use crate::media::{IntervalCounts, MediaEvent, ReportStats};
use crate::packet::ReceivedPacket;
use crate::scenario::MediaSpec;
use crate::status::{Payload, Status};
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use sojourn_media::{HEADERS, Receiver, Report, Sender, Source, control};
use sojourn_tcp::{Flags, Header};
use std::collections::VecDeque;

pub(crate) struct MediaFlow {
    sender: Sender,
    receiver: Receiver,
    /// Reports in flight, and the number of the first of them.
    reports: VecDeque<(Report, IntervalCounts)>,
    first: u64,
    /// Counts since the last report.
    interval: IntervalCounts,
    /// One-way delay of a packet on an empty path of infinite rate.
    propagation: Duration,
    late: Duration,
    arrived: u64,
    sink: DatagramSink,
}

impl MediaFlow {
    pub fn new(spec: &MediaSpec, (start, stop): (Instant, Instant), propagation: Duration, rng: Rng) -> Self {
        let control = control::new(&spec.control).expect("the key admits known controls only");
        let bps = |rate: sojourn_aqm::Rate| rate.as_bps() as f64;
        let source = Source {
            min_bps: bps(spec.min_rate),
            start_bps: bps(spec.at_start()),
            max_bps: bps(spec.max_rate),
            fps: spec.fps,
            key_interval: spec.key_interval,
            key_ratio: f64::from(spec.key_ratio),
            spread: f64::from(spec.size_spread) / 100.0,
            payload: spec.payload,
            pause: spec.pause_at.zip(spec.resume_at).map(|(from, to)| (Instant::ZERO + from, Instant::ZERO + to)),
        };
        Self {
            receiver: Receiver::new(control.report_config()).with_remote(control.remote()),
            sender: Sender::new(source, control, start, stop, rng).with_ecn(spec.ecn()),
            reports: VecDeque::new(),
            first: 0,
            interval: IntervalCounts::default(),
            propagation,
            late: spec.late,
            arrived: 0,
            sink: DatagramSink::default(),
        }
    }

    fn report_stats(
        &self,
        report: &Report,
        interval: IntervalCounts,
        sent: impl Fn(u64) -> Option<Instant>,
    ) -> ReportStats {
        let arrived = report.arrivals.len() as u32;
        let queueing = |seq: u64, at: Instant| sent(seq).map_or(Duration::ZERO, |sent| at - sent - self.propagation);
        ReportStats {
            arrived,
            lost: (report.end - report.begin) as u32 - arrived,
            marked: report.arrivals.iter().filter(|arrival| arrival.ecn == Ecn::Ce).count() as u32,
            queueing: report.arrivals.iter().fold(Duration::ZERO, |sum, a| sum + queueing(a.seq, a.at)),
            interval,
        }
    }
}

impl Endpoints for MediaFlow {
    // Out of line: inlined, every packet of the other kinds would pay for the size of the function that matches kinds.
    #[inline(never)]
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        let before = self.sender.totals();
        while let Some(packet) = self.sender.poll(now) {
            let (seq, ack) = (packet.seq, now.as_nanos());
            let flags = if packet.ends_frame { Flags::PSH } else { Flags::default() };
            let header = Header { seq, ack, flags, ts_val: packet.stamp, ts_ecr: packet.of_frame, ..Header::default() };
            host.transmit(&header, packet.bytes, packet.ecn);
            host.record_media(&MediaEvent::Sent(packet.bytes));
        }
        let after = self.sender.totals();
        if after.frames > before.frames {
            let (frames, targets_bps) = (after.frames - before.frames, after.targets_bps - before.targets_bps);
            host.record_media(&MediaEvent::FramesEncoded { frames, targets_bps });
        }
    }

    #[inline(never)]
    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        if let Some(report) = self.receiver.poll(now) {
            let header = Header { seq: self.first + self.reports.len() as u64, ..Header::default() };
            host.transmit(&header, report.bytes, Ecn::NotEct);
            host.record_media(&MediaEvent::ReportSent);
            self.reports.push_back((report, std::mem::take(&mut self.interval)));
        }
    }

    #[inline(never)]
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        // Padding belongs to no frame.
        self.arrived += if header.ts_ecr > 0 { u64::from(packet.len - HEADERS) } else { 0 };
        self.interval.bytes += u64::from(packet.len);
        let delay = self.sink.on_datagram(now, header);
        host.record_media(&MediaEvent::Arrived { bytes: packet.len, queueing: delay - self.propagation });
        let media = sojourn_media::Packet {
            seq: header.seq,
            bytes: packet.len,
            ecn: packet.ecn,
            sent: Instant::from_nanos(header.ack),
            stamp: header.ts_val,
            of_frame: header.ts_ecr,
            ends_frame: header.flags.contains(Flags::PSH),
        };
        if let Some(frame) = self.receiver.on_packet(now, &media, packet.ecn) {
            let (latency, is_late) = (frame.latency, frame.latency > self.late);
            self.interval.late += u32::from(is_late);
            host.record_media(&MediaEvent::FrameReceived { latency, is_late });
        }
    }

    #[inline(never)]
    fn on_source_packet(&mut self, now: Instant, header: &Header, _: ReceivedPacket, host: &mut impl Host) {
        // A report that a later one has overtaken is already dropped.
        let Some(overtaken) = header.seq.checked_sub(self.first) else { return };
        let Some((report, since)) = self.reports.drain(..=overtaken as usize).next_back() else { return };
        self.first = header.seq + 1;
        let stats = self.report_stats(&report, since, |seq| self.sender.sent_at(seq));
        self.sender.on_report(now, &report);
        host.record_media(&MediaEvent::ReportReceived { stats, target_bps: self.sender.target_bps() });
        self.on_source_timer(now, host);
    }

    fn source_deadline(&self) -> Instant {
        self.sender.deadline()
    }

    fn sink_deadline(&self) -> Instant {
        self.receiver.deadline()
    }

    fn status(&self) -> Status {
        let nan = f64::NAN;
        let payload = Payload { arrived: self.arrived, delivered: self.arrived };
        let (sent, datagrams) = (self.sender.sent(), self.sink.datagrams);
        Status { payload, sent, datagrams, cwnd: nan, ssthresh: nan, srtt_ms: nan, ..Status::default() }
    }

    fn on_window_start(&mut self) {
        self.sink.begin(self.sender.sent());
    }

    fn strays(&self, number: usize) -> u64 {
        self.sink.strays(number)
    }
}
