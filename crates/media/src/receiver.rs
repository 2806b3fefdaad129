//! The receiver: records arrivals and reports them to the sender.
//!
//! A report covers all packets from the first one not yet covered up to the last one that has arrived, with arrival
//! times and ECN marks (RFC 8888; draft-holmer-rmcat-transport-wide-cc-extensions). A packet that arrives after a
//! report has covered it as missing is not reported again. Without arrivals there is no report.
//!
//! Reports are periodic; a control may also request them with the last packet of a frame or after a number of packets.

use crate::control::RemoteEstimator;
use crate::packet::{Packet, since_stamp};
use crate::report::{Arrival, Report, ReportConfig};
use sojourn_aqm::{Duration, Ecn, Instant};

/// The receiving end of a media flow.
#[derive(Debug)]
pub struct Receiver {
    config: ReportConfig,
    remote: Option<Box<dyn RemoteEstimator>>,
    /// First sequence number of the next report.
    report_begin: u64,
    arrivals: Vec<Arrival>,
    /// When a report became due before its periodic time.
    early_report_since: Option<Instant>,
    /// Bytes received since the last report, and the time of that report.
    bytes: u64,
    last: Option<Instant>,
    /// Receive rate of the interval before that.
    rate_bps: Option<f64>,
    /// The incomplete frame.
    frame: Option<PartialFrame>,
}

/// A complete frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time from its generation to the arrival of its last packet.
    pub latency: Duration,
}

#[derive(Clone, Copy, Debug)]
struct PartialFrame {
    stamp: u32,
    missing: u32,
}

impl Receiver {
    /// A receiver before the first packet.
    pub fn new(config: ReportConfig) -> Self {
        let (arrivals, early_report_since) = (Vec::new(), None);
        let (report_begin, bytes, last, rate_bps, frame, remote) = (0, 0, None, None, None, None);
        Self { config, remote, report_begin, arrivals, early_report_since, bytes, last, rate_bps, frame }
    }

    /// Adds the receiving end of a control.
    pub fn with_remote(self, remote: Option<Box<dyn RemoteEstimator>>) -> Self {
        Self { remote, ..self }
    }

    /// Processes a packet that arrived with ECN field `ecn`. Returns its frame if that is complete now; packets that
    /// overtake those of another frame make that one incomplete.
    pub fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn) -> Option<Frame> {
        if packet.seq >= self.report_begin {
            self.arrivals.push(Arrival { seq: packet.seq, at: now, ecn });
            let enough = |count| packet.ends_frame || self.arrivals.len() >= count;
            if self.config.early_after.is_some_and(enough) {
                self.early_report_since.get_or_insert(now);
            }
            if let Some(remote) = &mut self.remote {
                remote.on_packet(now, packet.sent, packet.bytes);
                if remote.is_urgent() {
                    self.early_report_since.get_or_insert(now);
                }
            }
        }
        self.bytes += u64::from(packet.bytes);
        self.last.get_or_insert(now);
        self.add_to_frame(now, packet)
    }

    /// Returns the next report, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<Report> {
        if now < self.deadline() {
            return None;
        }
        let since = now - self.last.replace(now)?;
        self.rate_bps = Some(std::mem::take(&mut self.bytes) as f64 * 8.0 / since.as_secs_f64());
        self.early_report_since = None;
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.sort_by_key(|arrival| arrival.seq);
        let end = arrivals.last().map(|arrival| arrival.seq + 1)?;
        let begin = std::mem::replace(&mut self.report_begin, end);
        arrivals.iter_mut().for_each(|arrival| arrival.at = self.config.format.rounded(arrival.at, now));
        let remb_bps = self.remote.as_mut().and_then(|remote| remote.estimate_bps());
        let bytes = self.config.format.bytes(end - begin);
        Some(Report { sent_at: now, begin, end, arrivals, bytes, remb_bps })
    }

    /// When the next report is due.
    pub fn deadline(&self) -> Instant {
        match (self.last, self.arrivals.first()) {
            // After a pause, the first arrival is reported at once.
            (Some(last), Some(first)) => {
                let by_clock = first.at.max(last + (self.config.interval)(self.rate_bps));
                self.early_report_since.map_or(by_clock, |sooner| sooner.min(by_clock))
            }
            _ => Instant::NEVER,
        }
    }

    fn add_to_frame(&mut self, now: Instant, packet: &Packet) -> Option<Frame> {
        if packet.of_frame == 0 {
            return None;
        }
        let known = self.frame.filter(|frame| frame.stamp == packet.stamp);
        let missing = known.map_or(packet.of_frame, |frame| frame.missing).checked_sub(1)?;
        self.frame = Some(PartialFrame { stamp: packet.stamp, missing });
        (missing == 0).then(|| Frame { latency: since_stamp(now, packet.stamp) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::stamp;
    use crate::report::Format;

    fn receiver(format: Format) -> Receiver {
        Receiver::new(ReportConfig::timed(format, |_| Duration::from_millis(73)))
    }

    fn at(us: i64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn packet(seq: u64, frame_us: i64, of_frame: u32) -> Packet {
        let (ecn, sent, stamp) = (Ecn::NotEct, at(frame_us), stamp(at(frame_us)));
        Packet { seq, bytes: 731, ecn, sent, stamp, of_frame, ends_frame: false }
    }

    #[test]
    fn a_report_tells_of_what_came_and_of_what_did_not() {
        let mut receiver = receiver(Format::Rfc8888);
        assert_eq!(receiver.deadline(), Instant::NEVER);
        for (us, seq) in [(10_000, 0), (12_000, 1), (15_500, 4), (15_600, 3)] {
            receiver.on_packet(at(us), &packet(seq, 0, 9), if seq == 4 { Ecn::Ce } else { Ecn::Ect1 });
        }
        assert_eq!((receiver.deadline(), receiver.poll(at(82_999))), (at(83_000), None));
        let report = receiver.poll(at(83_000)).unwrap();
        assert_eq!((report.begin, report.end, report.sent_at), (0, 5, at(83_000)));
        let seen: Vec<_> = report.arrivals.iter().map(|a| (a.seq, a.ecn)).collect();
        assert_eq!(seen, [(0, Ecn::Ect1), (1, Ecn::Ect1), (3, Ecn::Ect1), (4, Ecn::Ce)]);
        // 73.000 ms are 74.75 units, reported as 74: 72.265625 ms.
        assert_eq!(report.arrivals[0].at, Instant::from_nanos(83_000_000 - 72_265_625));
        // Packet 2 is not in the next report either: the first one has covered it as missing.
        receiver.on_packet(at(90_000), &packet(2, 0, 9), Ecn::Ect1);
        assert_eq!(receiver.deadline(), Instant::NEVER);
        receiver.on_packet(at(91_000), &packet(5, 0, 9), Ecn::Ect1);
        let report = receiver.poll(at(156_000)).unwrap();
        assert_eq!((report.begin, report.end, report.arrivals.len()), (5, 6, 1));
        // After a pause longer than the interval the next arrival is reported at once.
        receiver.on_packet(at(400_000), &packet(6, 0, 9), Ecn::Ect1);
        assert_eq!(receiver.deadline(), at(400_000));
    }

    #[test]
    fn a_report_may_come_with_the_end_of_a_frame_or_after_packets() {
        let reporting = ReportConfig::timed(Format::Rfc8888, |_| Duration::from_millis(40));
        let mut receiver = Receiver::new(ReportConfig { early_after: Some(3), ..reporting });
        receiver.on_packet(at(1_000), &packet(0, 0, 9), Ecn::Ect1);
        assert_eq!(receiver.deadline(), at(41_000));
        receiver.on_packet(at(3_000), &Packet { ends_frame: true, ..packet(2, 0, 9) }, Ecn::Ect1);
        assert_eq!(receiver.deadline(), at(3_000));
        assert_eq!(receiver.poll(at(3_000)).unwrap().end, 3);
        for (us, seq) in [(4_000, 3), (5_000, 4)] {
            receiver.on_packet(at(us), &packet(seq, 0, 9), Ecn::Ect1);
            assert_eq!(receiver.deadline(), at(43_000));
        }
        receiver.on_packet(at(6_000), &packet(5, 0, 9), Ecn::Ect1);
        assert_eq!(receiver.poll(at(6_000)).unwrap().begin, 3);
        assert_eq!(receiver.deadline(), Instant::NEVER);
    }

    #[test]
    fn reports_have_the_size_of_their_format() {
        // RFC 8888, figure 2: 8 bytes, 8 of the stream, 2 per packet padded to words, 4 of the time; plus 28 of UDP and
        // IP.
        for (packets, rfc8888, wide) in [(1, 28 + 24, 28 + 24), (7, 28 + 36, 28 + 32), (31, 28 + 84, 28 + 64)] {
            assert_eq!(Format::Rfc8888.bytes(packets), rfc8888, "{packets}");
            assert_eq!(Format::TransportWide.bytes(packets), wide, "{packets}");
        }
        assert_eq!(Format::TransportWide.rounded(at(1_780), at(9_999)), at(1_750));
    }

    #[test]
    fn a_frame_is_there_with_its_last_packet() {
        let mut receiver = receiver(Format::TransportWide);
        let latency = |frame: Option<Frame>| frame.map(|frame| (frame.latency.as_nanos() + 20_000) / 100_000);
        assert_eq!(receiver.on_packet(at(50_000), &packet(0, 7_000, 2), Ecn::NotEct), None);
        assert_eq!(latency(receiver.on_packet(at(61_300), &packet(1, 7_000, 2), Ecn::NotEct)), Some(543));
        // A packet of the next frame is lost; the frame after it is complete.
        assert_eq!(receiver.on_packet(at(70_000), &packet(2, 40_000, 2), Ecn::NotEct), None);
        assert_eq!(latency(receiver.on_packet(at(99_000), &packet(4, 73_000, 1), Ecn::NotEct)), Some(260));
    }
}
