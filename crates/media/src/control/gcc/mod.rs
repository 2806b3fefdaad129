//! Google congestion control as in libwebrtc, of June 2025, without what needs probes: a trend of the delay against a
//! threshold that adapts, additive or multiplicative increase, and losses of 2 % and 10 % (`goog_cc_network_control.cc`).
//!
//! Differs: no probes, and so nothing for regions in which the application limits the rate. The first loss-based
//! controller, not the second one, which libwebrtc runs unless told otherwise. Losses are counted from the reports of
//! arrivals, once a second, where libwebrtc takes those of receiver reports; the round-trip time of the rate control is
//! the least of each report. Rates are real numbers, where libwebrtc has whole bit/s. The time between reports follows the
//! rate that arrives, where libwebrtc takes the receiver's own target.

mod aimd;
mod arrivals;
mod loss;
mod throughput;
mod trendline;

use super::{Control, PacketResult, Rates, Results, Sent};
use crate::frames::Source;
use crate::receiver::{Format, Reporting};
use aimd::Aimd;
use arrivals::Arrivals;
use loss::Target;
use sojourn_aqm::{Duration, Instant};
use throughput::Throughput;
use trendline::Trendline;

/// Google congestion control.
#[derive(Clone, Debug)]
pub(super) struct Gcc {
    arrivals: Arrivals,
    trend: Trendline,
    throughput: Throughput,
    by_delay: Aimd,
    target: Target,
    lost: u32,
    told: u32,
    next_losses: Instant,
    next_update: Instant,
    last_report: Option<Instant>,
}

impl Gcc {
    pub fn new() -> Self {
        Self {
            arrivals: Arrivals::default(),
            trend: Trendline::default(),
            throughput: Throughput::default(),
            by_delay: Aimd::new(0.0, 0.0),
            target: Target::new(Instant::ZERO, 0.0, 0.0, 0.0),
            lost: 0,
            told: 0,
            next_losses: Instant::NEVER,
            next_update: Instant::NEVER,
            last_report: None,
        }
    }

    fn arrived(&mut self, sent: Instant, arrived: Instant, bytes: u32) {
        self.throughput.packet(arrived, bytes);
        if let Some(deltas) = self.arrivals.packet(sent, arrived) {
            self.trend.update(deltas, arrived);
        }
    }
}

impl Control for Gcc {
    fn reporting(&self) -> Reporting {
        Reporting::timed(Format::TransportWide, report_interval)
    }

    fn begin(&mut self, now: Instant, source: &Source) {
        let least_bps = source.least_bps.max(LEAST);
        self.by_delay = Aimd::new(least_bps, source.start_bps);
        self.target = Target::new(now, least_bps, source.most_bps, source.start_bps);
        (self.next_losses, self.next_update) = (now + LOSS_INTERVAL, now + UPDATE_INTERVAL);
    }

    fn on_sent(&mut self, sent: &Sent, _: u64) {
        self.target.sent(sent.at);
    }

    fn on_results(&mut self, results: &Results) {
        let Results { now, packets, .. } = *results;
        if self.last_report.replace(now).is_some_and(|last| now - last > STREAM_TIMEOUT) {
            (self.arrivals, self.trend) = (Arrivals::default(), Trendline::default());
        }
        if let Some(rtt) = least_rtt(now, packets) {
            self.target.set_rtt(now, rtt);
            self.by_delay.set_rtt(rtt);
        }
        let mut came: Vec<&PacketResult> = packets.iter().filter(|packet| packet.arrived.is_some()).collect();
        came.sort_by_key(|packet| packet.arrived);
        for packet in &came {
            self.arrived(packet.sent, packet.arrived.unwrap_or(now), packet.bytes);
        }
        if let Some(bps) = self.by_delay.update(now, self.trend.usage(), self.throughput.bps()) {
            self.target.limit(bps);
        }
        self.told += packets.len() as u32;
        self.lost += (packets.len() - came.len()) as u32;
        if now >= self.next_losses {
            self.target.losses(now, std::mem::take(&mut self.lost), std::mem::take(&mut self.told));
            self.next_losses = now + LOSS_INTERVAL;
        }
    }

    fn deadline(&self) -> Instant {
        self.next_update
    }

    fn on_timer(&mut self, now: Instant, _: u64) {
        if now >= self.next_update {
            self.target.update(now);
            self.next_update = now + UPDATE_INTERVAL;
        }
    }

    fn rates(&self, _: u64) -> Rates {
        Rates { target_bps: self.target.bps, pacing_bps: PACING * self.target.bps }
    }
}

/// The least time from a packet's sending to the report, without what it waited at the receiver for the last one.
fn least_rtt(now: Instant, packets: &[PacketResult]) -> Option<Duration> {
    let last = packets.iter().filter_map(|packet| packet.arrived).max()?;
    packets.iter().filter_map(|packet| Some(now - packet.sent - (last - packet.arrived?))).min()
}

/// Reports of 68 B take 5 % of the rate (`transport_sequence_number_feedback_generator.cc`).
fn report_interval(rate_bps: Option<f64>) -> Duration {
    let Some(bps) = rate_bps.filter(|&bps| bps > 0.0) else { return Duration::from_millis(100) };
    let ms = (68.0 * 8.0 / (0.05 * bps) * 1e3).clamp(50.0, 250.0);
    Duration::from_secs_f64(ms / 1e3)
}

const LEAST: f64 = 5e3;
const PACING: f64 = 2.5;
const UPDATE_INTERVAL: Duration = Duration::from_millis(25);
const LOSS_INTERVAL: Duration = Duration::from_secs(1);
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);
