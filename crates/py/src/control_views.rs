//! Views of a call for congestion controls in Python: the structs of `sojourn_cc.h`, with times as integer nanoseconds.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sojourn_aqm::Rng;
use sojourn_tcp::cc::Window;
use sojourn_tcp::cc::foreign::{AckView, ControlHost, FlightView, LossView, SampleView};
use std::thread::{self, ThreadId};

/// State of a connection during a call.
///
/// `cwnd`, `ssthresh` and `cwnd_cnt` may be set, and by a control with `ack` also `pacing_rate`, `burst` and
/// `exact_burst`.
#[pyclass(name = "Flight", module = "sojourn._core")]
pub struct FlightObject {
    view: FlightView,
    host: ControlHost,
    rng: Rng,
    /// Thread of the call in progress.
    caller: Option<ThreadId>,
}

impl FlightObject {
    /// Before the first call.
    pub fn new(host: &ControlHost) -> Self {
        Self { view: FlightView::EMPTY, host: *host, rng: Rng::from_state(host.random), caller: None }
    }

    /// Starts a call.
    #[inline]
    pub fn open(&mut self, view: &FlightView) {
        (self.view, self.caller) = (*view, Some(thread::current().id()));
    }

    /// Ends a call; returns what it has set.
    #[inline]
    pub fn close(&mut self) -> FlightView {
        self.caller = None;
        self.view
    }

    /// A copy with the same random stream, for a copy of the control.
    pub fn copy(&self) -> Self {
        Self { view: self.view, host: self.host, rng: self.rng.clone(), caller: None }
    }

    #[inline]
    fn view(&mut self) -> PyResult<&mut FlightView> {
        match self.caller {
            Some(caller) if caller == thread::current().id() => Ok(&mut self.view),
            _ => Err(PyRuntimeError::new_err("cx may be used only within the call that received it")),
        }
    }

    fn set_flag(&mut self, flag: u32, on: bool) -> PyResult<()> {
        let view = self.view()?;
        view.flags = if on { view.flags | flag } else { view.flags & !flag };
        Ok(())
    }
}

#[pymethods]
impl FlightObject {
    /// The time in ns.
    #[getter]
    fn now(&self) -> i64 {
        self.view.now
    }
    /// TCP stack, such as "linux-6.1"; over QUIC the one whose arithmetic is expected.
    #[getter]
    fn stack(&self) -> &'static str {
        self.host.stack
    }
    /// Whether the transport is QUIC.
    #[getter]
    fn is_quic(&self) -> bool {
        self.host.is_quic
    }
    /// Whether segments are paced.
    #[getter]
    fn is_paced(&self) -> bool {
        self.host.is_paced
    }
    /// Payload of a full segment in bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.view.mss
    }
    /// Smoothed RTT in ns; None before the first sample.
    #[getter]
    fn srtt(&self) -> Option<i64> {
        (self.view.srtt > 0).then_some(self.view.srtt)
    }
    /// Minimum RTT of the last 300 s in ns; None without.
    #[getter]
    fn min_rtt(&self) -> Option<i64> {
        some(self.view.min_rtt)
    }
    /// Congestion window in segments.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.view.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, cwnd: u32) -> PyResult<()> {
        self.view()?.cwnd = cwnd;
        Ok(())
    }
    /// Slow-start threshold in segments; 0x7fffffff before the first reduction.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.view.ssthresh
    }
    #[setter]
    fn set_ssthresh(&mut self, ssthresh: u32) -> PyResult<()> {
        self.view()?.ssthresh = ssthresh;
        Ok(())
    }
    /// Packets acknowledged since the last change of cwnd; reset by the stack when it restarts the window.
    #[getter]
    fn cwnd_cnt(&self) -> u32 {
        self.view.cwnd_cnt
    }
    #[setter]
    fn set_cwnd_cnt(&mut self, count: u32) -> PyResult<()> {
        self.view()?.cwnd_cnt = count;
        Ok(())
    }
    /// In `undo` since Linux 4.14: window before the reduction; otherwise 0.
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.view.prior_cwnd
    }
    /// Whether cwnd is below ssthresh, as the stack counts it.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.view.window().in_slow_start()
    }
    /// Segments estimated to be in the network.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.view.in_flight
    }
    /// Segments sent and not acknowledged.
    #[getter]
    fn packets_out(&self) -> u32 {
        self.view.packets_out
    }
    /// Minimum number of segments per burst; 0 leaves it to the stack.
    #[getter]
    fn burst(&self) -> u32 {
        self.view.burst
    }
    #[setter]
    fn set_burst(&mut self, segments: u32) -> PyResult<()> {
        self.view()?.burst = segments;
        Ok(())
    }
    /// Whether `burst` is the exact number.
    #[getter]
    fn exact_burst(&self) -> bool {
        self.view.flags & FlightView::EXACT_BURST != 0
    }
    #[setter]
    fn set_exact_burst(&mut self, exact: bool) -> PyResult<()> {
        self.set_flag(FlightView::EXACT_BURST, exact)
    }
    /// State of congestion avoidance: "open", "disorder", "cwr", "recovery" or "loss".
    #[getter]
    fn state(&self) -> &'static str {
        STATES[(self.view.state as usize).min(STATES.len() - 1)]
    }
    /// Pacing rate in bit/s of payload; None without pacing.
    #[getter]
    fn pacing_rate(&self) -> Option<u64> {
        self.view.rate().map(|rate| rate.as_bps())
    }
    #[setter]
    fn set_pacing_rate(&mut self, rate: Option<u64>) -> PyResult<()> {
        self.view()?.pacing_rate = rate.unwrap_or(FlightView::UNPACED);
        Ok(())
    }
    /// Packets delivered since the start, the SYN included.
    #[getter]
    fn delivered(&self) -> u64 {
        self.view.delivered
    }
    /// Delivered packets with a CE mark.
    #[getter]
    fn delivered_ce(&self) -> u64 {
        self.view.delivered_ce
    }
    /// Time of the last delivery in ns, on the host's clock: compare it with itself only.
    #[getter]
    fn delivered_at(&self) -> i64 {
        self.view.delivered_at
    }
    /// Packets marked lost since the start.
    #[getter]
    fn lost(&self) -> u64 {
        self.view.lost
    }
    /// Cumulative acknowledgment: all data before it has arrived; over QUIC a packet number.
    #[getter]
    fn una(&self) -> u64 {
        self.view.una
    }
    /// Next sequence number to be sent; over QUIC a packet number.
    #[getter]
    fn nxt(&self) -> u64 {
        self.view.nxt
    }
    /// Whether the window limits transmission.
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.view.flags & FlightView::CWND_LIMITED != 0
    }
    /// Whether the application limits the rate.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.view.flags & FlightView::APP_LIMITED != 0
    }
    /// Earliest departure of the next burst, in ns.
    #[getter]
    fn next_departure(&self) -> i64 {
        self.view.next_departure
    }
    /// Mark what is sent now as limited by the application, because the control sends less than it could.
    fn mark_app_limited(&mut self) -> PyResult<()> {
        self.set_flag(FlightView::MARK_APP_LIMITED, true)
    }
    /// A random number in [0, 1) from the connection's own stream.
    fn random(&mut self) -> PyResult<f64> {
        self.view()?;
        Ok(self.rng.uniform())
    }
    /// A random whole number in [0, n) from the connection's own stream.
    fn below(&mut self, n: u64) -> PyResult<u64> {
        self.view()?;
        match n {
            0 => Err(pyo3::exceptions::PyValueError::new_err("below(0) has no result; give at least 1")),
            n => Ok(self.rng.below(n)),
        }
    }
    fn __repr__(&self) -> String {
        let Window { cwnd, ssthresh, .. } = self.view.window();
        format!(
            "<Flight: cwnd {cwnd}, ssthresh {ssthresh}, {} in flight, at {} ns>",
            self.view.in_flight, self.view.now
        )
    }
}

/// An acknowledgment.
#[pyclass(name = "Ack", frozen, module = "sojourn._core")]
pub struct AckObject(pub AckView);

#[pymethods]
impl AckObject {
    /// Packets acknowledged, or counted for growth; 0 for a duplicate.
    #[getter]
    fn packets(&self) -> u32 {
        self.0.packets
    }
    /// RTT in ns of the newest of them; None if it was retransmitted.
    #[getter]
    fn rtt(&self) -> Option<i64> {
        some(self.0.rtt)
    }
    /// In `report`: one-way delay in ns plus an unknown constant; None without timestamps.
    #[getter]
    fn one_way(&self) -> Option<i64> {
        some(self.0.one_way)
    }
    /// In `grow`: whether the window was the limit.
    #[getter]
    fn limited(&self) -> bool {
        self.0.flags & AckView::LIMITED != 0
    }
    /// In `report`: whether it is a duplicate, or has SACK blocks or an ECN echo.
    #[getter]
    fn slow_path(&self) -> bool {
        self.0.flags & AckView::SLOW_PATH != 0
    }
    fn __repr__(&self) -> String {
        format!("<Ack: {} packets, rtt {} ns>", self.0.packets, self.0.rtt)
    }
}

/// Rate sample of an acknowledgment, as Linux's `rate_sample`.
#[pyclass(name = "Sample", frozen, module = "sojourn._core")]
pub struct SampleObject(pub SampleView);

#[pymethods]
impl SampleObject {
    /// Packets delivered over `interval`; None without a sample.
    #[getter]
    fn delivered(&self) -> Option<i64> {
        some(self.0.delivered)
    }
    /// Delivered packets with a CE mark.
    #[getter]
    fn delivered_ce(&self) -> u32 {
        self.0.delivered_ce
    }
    /// Time of their delivery in ns; None without a valid sample.
    #[getter]
    fn interval(&self) -> Option<i64> {
        some(self.0.interval)
    }
    /// Time in ns between the transmissions of the first and the sampled segment.
    #[getter]
    fn send_interval(&self) -> i64 {
        self.0.send_interval
    }
    /// Time in ns between their deliveries.
    #[getter]
    fn ack_interval(&self) -> i64 {
        self.0.ack_interval
    }
    /// `delivered` of the flight when the sampled segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }
    /// RTT in ns of the newest segment that was sent once; None without.
    #[getter]
    fn rtt(&self) -> Option<i64> {
        some(self.0.rtt)
    }
    /// Packets that this acknowledgment newly acknowledged or SACKed.
    #[getter]
    fn acked_sacked(&self) -> u32 {
        self.0.acked_sacked
    }
    /// Delivered packets with a CE mark.
    #[getter]
    fn ce(&self) -> u32 {
        self.0.ce
    }
    /// Packets marked lost on this acknowledgment.
    #[getter]
    fn losses(&self) -> u32 {
        self.0.losses
    }
    /// Packets in flight before this acknowledgment.
    #[getter]
    fn prior_in_flight(&self) -> u32 {
        self.0.prior_in_flight
    }
    /// Packets in flight when the sampled segment was sent, with it.
    #[getter]
    fn tx_in_flight(&self) -> u32 {
        self.0.tx_in_flight
    }
    /// Packets marked lost since the sampled segment was sent.
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }
    /// Whether the application may have limited the rate.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.flags & SampleView::APP_LIMITED != 0
    }
    /// Whether the sampled segment was retransmitted.
    #[getter]
    fn is_retransmitted(&self) -> bool {
        self.0.flags & SampleView::RETRANSMITTED != 0
    }
    /// Whether this is probably a delayed acknowledgment of a single short segment.
    #[getter]
    fn is_ack_delayed(&self) -> bool {
        self.0.flags & SampleView::ACK_DELAYED != 0
    }
    fn __repr__(&self) -> String {
        format!("<Sample: {} packets in {} ns, rtt {} ns>", self.0.delivered, self.0.interval, self.0.rtt)
    }
}

/// A segment marked lost.
#[pyclass(name = "Loss", frozen, module = "sojourn._core")]
pub struct LossObject(pub LossView);

#[pymethods]
impl LossObject {
    /// Packets in flight right after its transmission.
    #[getter]
    fn tx_in_flight(&self) -> u32 {
        self.0.tx_in_flight
    }
    /// Packets marked lost since its transmission, this one included.
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }
    /// Whether the application may have limited the rate when it was sent.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.flags & LossView::APP_LIMITED != 0
    }
    /// Whether the preceding segment in sequence order is lost too.
    #[getter]
    fn continues(&self) -> bool {
        self.0.flags & LossView::CONTINUES != 0
    }
}

/// Names of the states of congestion avoidance, in the order of their numbers.
pub const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

fn some(number: i64) -> Option<i64> {
    (number >= 0).then_some(number)
}
