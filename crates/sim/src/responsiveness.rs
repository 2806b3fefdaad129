//! Responsiveness in round trips per minute, from the times of probes.
//!
//! Source: draft-ietf-ippm-responsiveness, section "Aggregating the Measurements".

use crate::table::recorder;
use serde::Serialize;
use sojourn_aqm::Duration;
use std::collections::VecDeque;

/// The operation that a probe times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeKind {
    /// `tcp_f`, `tls_f`, `http_f`: handshakes and request of a probe on its own connection.
    Tcp,
    Tls,
    Http,
    /// `http_l`: a probe on a load-generating connection.
    Loaded,
}

/// Confidence in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The responsiveness became stable.
    High,
    /// It was measured for as many intervals as are averaged, and did not become stable.
    Medium,
    /// It was measured for fewer intervals.
    Low,
}

/// Probe times of the last intervals.
#[derive(Clone, Debug)]
pub(crate) struct ProbeSamples {
    /// By interval, newest last: kind, time, and the part of it spent in the sender's socket.
    intervals: VecDeque<Vec<(ProbeKind, Duration, Duration)>>,
    distance: usize,
    trim: f64,
    tls: bool,
}

impl ProbeSamples {
    /// Keeps the last `distance` intervals; means are over the shortest `trim` per cent.
    pub fn new(distance: u32, trim: u32, tls: bool) -> Self {
        Self { intervals: [Vec::new()].into(), distance: distance as usize, trim: f64::from(trim) / 100.0, tls }
    }

    pub fn add(&mut self, kind: ProbeKind, duration: Duration, in_socket: Duration) {
        self.intervals.back_mut().expect("there is a present interval").push((kind, duration, in_socket));
    }

    /// Starts the next interval.
    pub fn next_interval(&mut self) {
        self.intervals.push_back(Vec::new());
        if self.intervals.len() > self.distance {
            self.intervals.pop_front();
        }
    }

    /// Round trips per minute; `None` unless there is a time of each kind.
    pub fn rpm(&self) -> Option<f64> {
        self.result().rpm
    }

    /// The responsiveness and its components.
    pub fn result(&self) -> Responsiveness {
        let mean = |kind: ProbeKind| self.trimmed_mean(kind, |duration, _| duration);
        let [tcp_ms, tls_ms, http_ms, loaded_ms] =
            [ProbeKind::Tcp, ProbeKind::Tls, ProbeKind::Http, ProbeKind::Loaded].map(mean);
        let loaded_in_network_ms = self.trimmed_mean(ProbeKind::Loaded, |duration, in_socket| duration - in_socket);
        let foreign_ms = match self.tls {
            true => tcp_ms.zip(tls_ms).zip(http_ms).map(|((tcp, tls), http)| (tcp + tls + http) / 3.0),
            false => tcp_ms.zip(http_ms).map(|(tcp, http)| (tcp + http) / 2.0),
        };
        let rpm = |loaded: Option<f64>| {
            foreign_ms.zip(loaded).map(|(foreign, own)| (per_minute(foreign) + per_minute(own)) / 2.0)
        };
        Responsiveness {
            rpm: rpm(loaded_ms),
            rpm_in_network: rpm(loaded_in_network_ms),
            foreign_rpm: foreign_ms.map(per_minute),
            loaded_rpm: loaded_ms.map(per_minute),
            tcp_ms,
            tls_ms,
            http_ms,
            loaded_ms,
            loaded_in_network_ms,
        }
    }

    fn trimmed_mean(&self, kind: ProbeKind, time: impl Fn(Duration, Duration) -> Duration) -> Option<f64> {
        let all = self.intervals.iter().flatten().filter(|sample| sample.0 == kind);
        let mut times: Vec<Duration> = all.map(|&(_, duration, in_socket)| time(duration, in_socket)).collect();
        times.sort_unstable();
        // The shortest `trim` of them, at least one.
        times.truncate(((times.len() as f64 * self.trim) as usize).max(1));
        let sum: Duration = times.iter().fold(Duration::ZERO, |sum, &time| sum + time);
        (!times.is_empty()).then(|| sum.as_millis_f64() / times.len() as f64)
    }
}

fn per_minute(ms: f64) -> f64 {
    60_000.0 / ms
}

/// Responsiveness and its components: trimmed means of probe times. `None` without such a probe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Responsiveness {
    /// Round trips per minute: the mean of `foreign_rpm` and `loaded_rpm`.
    pub rpm: Option<f64>,
    /// `rpm` without the time that responses on load-generating connections spent in the sender's socket.
    pub rpm_in_network: Option<f64>,
    /// From probes on their own connections.
    pub foreign_rpm: Option<f64>,
    /// From probes on load-generating connections.
    pub loaded_rpm: Option<f64>,
    /// `tcp_f`: TCP handshake.
    pub tcp_ms: Option<f64>,
    /// `tls_f`: TLS round trip.
    pub tls_ms: Option<f64>,
    /// `http_f`: from request to response.
    pub http_ms: Option<f64>,
    /// `http_l`: from request to response on load-generating connections.
    pub loaded_ms: Option<f64>,
    /// `http_l` without the time in the sender's socket.
    pub loaded_in_network_ms: Option<f64>,
}

/// The result of a responsiveness test, over the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RpmSummary {
    /// The result and its components, over the last intervals.
    #[serde(flatten)]
    pub responsiveness: Responsiveness,
    /// Class of the result for users: `poor` (below 300), `fair` (below 1000), `good` (below 6000) or `excellent`.
    pub class: Option<&'static str>,
    /// Confidence in it.
    pub confidence: Confidence,
    /// When the goodput was found saturated; `None` if it was not.
    pub saturated_s: Option<f64>,
    /// When the test ended.
    pub over_s: f64,
    /// Goodput of the load in the last intervals.
    pub goodput_bps: f64,
    /// Load-generating connections at the end.
    pub connections: u32,
}

/// Class of a number of round trips per minute.
pub(crate) fn class(rpm: f64) -> &'static str {
    match rpm {
        rpm if rpm < 300.0 => "poor",
        rpm if rpm < 1000.0 => "fair",
        rpm if rpm < 6000.0 => "good",
        _ => "excellent",
    }
}

recorder! {
    /// A row per probe time.
    ProbeRows("rpm_probes") {
        group: u32 => U32,
        kind: u8 => U8,
        start_ns: u64 => U64,
        duration_ns: u64 => U64,
        in_socket_ns: u64 => U64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms as i64)
    }

    #[test]
    fn responsiveness_is_the_mean_of_both_kinds_over_trimmed_means() {
        let mut samples = ProbeSamples::new(2, 95, true);
        assert_eq!((samples.rpm(), samples.result().tcp_ms), (None, None));
        for (kind, time) in [(ProbeKind::Tcp, 30), (ProbeKind::Tls, 60), (ProbeKind::Http, 90)] {
            samples.add(kind, ms(time), Duration::ZERO);
        }
        // The longest of twenty is trimmed: 190 and 380 ms of 10, 20, …, 200 ms.
        (1..=20).for_each(|n| samples.add(ProbeKind::Loaded, ms(10 * n), ms(5 * n)));
        let result = samples.result();
        assert_eq!((result.loaded_ms, result.loaded_in_network_ms), (Some(100.0), Some(50.0)));
        assert_eq!((result.foreign_rpm, result.loaded_rpm), (Some(1000.0), Some(600.0)));
        assert_eq!((result.rpm, result.rpm_in_network), (Some(800.0), Some(1100.0)));
        samples.tls = false;
        assert_eq!(samples.result().foreign_rpm, Some(1000.0), "30 and 90 ms");
    }

    #[test]
    fn only_the_last_intervals_count() {
        let mut samples = ProbeSamples::new(2, 100, false);
        for time in [100, 20, 40] {
            for kind in [ProbeKind::Tcp, ProbeKind::Http, ProbeKind::Loaded] {
                samples.add(kind, ms(time), Duration::ZERO);
            }
            samples.next_interval();
        }
        // The current interval is empty, and the one before has 40 ms.
        assert_eq!(samples.rpm(), Some(1500.0));
    }

    #[test]
    fn classes_are_the_draft_s() {
        let classes = [299.9, 300.0, 999.0, 1000.0, 5999.0, 6000.0].map(class);
        assert_eq!(classes, ["poor", "fair", "fair", "good", "good", "excellent"]);
    }
}
