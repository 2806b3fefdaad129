//! Google congestion control as in libwebrtc of 2025: trendline filter with an adaptive threshold, additive or
//! multiplicative increase, loss-based estimator, probes at the start (`goog_cc_network_control.cc`). `gcc` runs the
//! second loss-based estimator, which libwebrtc has enabled by default since April 2024, and the rule of 2 % and 10 %
//! until that has an estimate. `gcc@unprobed` has no probes, and only the first loss controller (2 % and 10 %).
//!
//! Differs: there are no application-limited regions, because the encoder keeps to its target; neither are there the
//! probes after drops and for screen sharing that depend on them. The first loss controller counts losses from the
//! reports of arrivals, once per second, where libwebrtc uses receiver reports; the round-trip time of the rate control
//! is the minimum of each report. Rates are real numbers, where libwebrtc has whole bit/s. The report interval follows
//! the receive rate, where libwebrtc uses the receiver's own target.

mod aimd;
mod arrivals;
mod draft02;
mod loss;
mod loss_v2;
mod probing;
mod throughput;
mod trendline;

pub(super) use draft02::Draft02;

use super::{Control, Feedback, PacketResult, Rates, SentPacket};
use crate::frames::Source;
use crate::prober::ProbeCluster;
use crate::report::{Format, ReportConfig};
use aimd::Aimd;
use arrivals::InterArrival;
use loss::SendSideEstimator;
use probing::ProbeController;
use sojourn_aqm::{Duration, Instant};
use throughput::Throughput;
use trendline::{BandwidthUsage, Trendline};

/// Google congestion control.
#[derive(Clone, Debug)]
pub(super) struct Gcc {
    has_loss_v2: bool,
    probing: Option<ProbeController>,
    arrivals: InterArrival,
    trend: Trendline,
    throughput: Throughput,
    by_delay: Aimd,
    target: SendSideEstimator,
    lost: u32,
    reported: u32,
    next_losses: Instant,
    next_update: Instant,
    last_report: Option<Instant>,
}

impl Gcc {
    /// The default configuration of libwebrtc.
    pub fn libwebrtc() -> Self {
        Self { has_loss_v2: true, ..Self::unprobed() }
    }

    /// Without probes and without the second loss-based estimator.
    pub fn unprobed() -> Self {
        Self {
            has_loss_v2: false,
            probing: None,
            arrivals: InterArrival::default(),
            trend: Trendline::default(),
            throughput: Throughput::default(),
            by_delay: Aimd::new(0.0, 0.0),
            target: SendSideEstimator::new(Instant::ZERO, 0.0, 0.0, 0.0),
            lost: 0,
            reported: 0,
            next_losses: Instant::NEVER,
            next_update: Instant::NEVER,
            last_report: None,
        }
    }

    /// Processes an arrival; returns the estimate of its probe, if any.
    fn on_arrival(&mut self, packet: &PacketResult, arrived: Instant) -> Option<f64> {
        self.throughput.packet(arrived, packet.bytes);
        if let Some(deltas) = self.arrivals.packet(packet.sent, arrived) {
            self.trend.update(deltas, arrived);
        }
        self.probing.as_mut()?.arrived(packet.probe?, packet.bytes, packet.sent, arrived)
    }

    /// The delay-based rate, if this report updates it.
    fn delay_based_bps(&mut self, now: Instant, probed: Option<f64>) -> Option<f64> {
        let (usage, acked) = (self.trend.usage(), self.throughput.bps());
        let Some(bps) = probed.filter(|_| usage != BandwidthUsage::Over) else {
            return self.by_delay.update(now, usage, acked);
        };
        // A probe result well below the throughput is not credible.
        let floor_bps = acked.map_or(0.0, |acked| self.by_delay.bps().min(DROP_TO_ACKED * acked));
        self.by_delay.set(now, bps.max(floor_bps));
        self.target.restart(self.by_delay.bps());
        Some(self.by_delay.bps())
    }

    fn update_prober(&mut self, now: Instant) {
        let may_probe = self.trend.usage() == BandwidthUsage::Normal && self.target.may_probe();
        if let Some(probing) = &mut self.probing {
            probing.estimated(now, self.target.bps, may_probe);
        }
    }
}

impl Control for Gcc {
    fn report_config(&self) -> ReportConfig {
        ReportConfig::timed(Format::TransportWide, report_interval)
    }

    fn begin(&mut self, now: Instant, source: &Source) {
        let min_bps = source.min_bps.max(MIN_BPS);
        self.by_delay = Aimd::new(min_bps, source.start_bps);
        self.target = SendSideEstimator::new(now, min_bps, source.max_bps, source.start_bps);
        if self.has_loss_v2 {
            self.target = self.target.clone().with_estimator();
            self.probing = Some(ProbeController::new(now, source.start_bps.max(min_bps), source.max_bps));
        }
        (self.next_losses, self.next_update) = (now + LOSS_INTERVAL, now + UPDATE_INTERVAL);
    }

    fn on_sent(&mut self, sent: &SentPacket, _: u64) {
        self.target.sent(sent.at);
    }

    fn on_feedback(&mut self, results: &Feedback) {
        let Feedback { now, packets, .. } = *results;
        if self.last_report.replace(now).is_some_and(|last| now - last > STREAM_TIMEOUT) {
            (self.arrivals, self.trend) = (InterArrival::default(), Trendline::default());
        }
        if let Some(rtt) = min_rtt(now, packets) {
            self.target.set_rtt(now, rtt);
            self.by_delay.set_rtt(rtt);
        }
        let mut arrivals: Vec<&PacketResult> = packets.iter().filter(|packet| packet.arrived.is_some()).collect();
        arrivals.sort_by_key(|packet| packet.arrived);
        let mut probed = None;
        for packet in &arrivals {
            probed = self.on_arrival(packet, packet.arrived.unwrap_or(now)).or(probed);
        }
        let allowed = self.delay_based_bps(now, probed);
        if let Some(bps) = allowed {
            self.target.limit(bps);
        }
        self.target.on_report(now, packets, self.throughput.bps());
        if allowed.is_some() {
            self.update_prober(now);
        }
        self.reported += packets.len() as u32;
        self.lost += (packets.len() - arrivals.len()) as u32;
        if now >= self.next_losses {
            self.target.on_losses(now, std::mem::take(&mut self.lost), std::mem::take(&mut self.reported));
            self.next_losses = now + LOSS_INTERVAL;
        }
    }

    fn deadline(&self) -> Instant {
        self.next_update
    }

    fn on_timer(&mut self, now: Instant, _: u64) {
        if now >= self.next_update {
            self.target.update(now);
            if let Some(probing) = &mut self.probing {
                probing.update(now);
            }
            self.update_prober(now);
            self.next_update = now + UPDATE_INTERVAL;
        }
    }

    fn take_probes(&mut self) -> Vec<ProbeCluster> {
        self.probing.as_mut().map(ProbeController::take).unwrap_or_default()
    }

    fn rates(&self, _: u64) -> Rates {
        Rates { target_bps: self.target.bps, pacing_bps: PACING * self.target.bps }
    }
}

/// Minimum round-trip time of a report's packets, without their wait at the receiver for the last packet.
fn min_rtt(now: Instant, packets: &[PacketResult]) -> Option<Duration> {
    let last = packets.iter().filter_map(|packet| packet.arrived).max()?;
    packets.iter().filter_map(|packet| Some(now - packet.sent - (last - packet.arrived?))).min()
}

/// Reports of 68 B take 5 % of the rate (`transport_sequence_number_feedback_generator.cc`).
fn report_interval(rate_bps: Option<f64>) -> Duration {
    let Some(bps) = rate_bps.filter(|&bps| bps > 0.0) else { return Duration::from_millis(100) };
    let ms = (68.0 * 8.0 / (0.05 * bps) * 1e3).clamp(50.0, 250.0);
    Duration::from_secs_f64(ms / 1e3)
}

const MIN_BPS: f64 = 5e3;
const PACING: f64 = 2.5;
/// `kProbeDropThroughputFraction`.
const DROP_TO_ACKED: f64 = 0.85;
const UPDATE_INTERVAL: Duration = Duration::from_millis(25);
const LOSS_INTERVAL: Duration = Duration::from_secs(1);
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);
