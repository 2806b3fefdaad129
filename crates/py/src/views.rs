//! Views of a call for AQMs in Python, with the names of the Rust trait and times as integer nanoseconds.

use crate::borrowed_queue::BorrowedQueue;
use crate::error::input;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sojourn_aqm::{Backlog, Cx, DropReason, Fifo, Instant, Limits, Link, Meta, PoppedPacket, Rng};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Metadata of a packet at the time of the query.
#[pyclass(name = "Meta", frozen, module = "sojourn._core")]
pub struct MetaView(pub Meta);

#[pymethods]
impl MetaView {
    /// Time of its enqueue, in ns.
    #[getter]
    fn enqueued(&self) -> u64 {
        self.0.enqueued.as_nanos()
    }
    /// Size in bytes, as the queue accounts it.
    #[getter]
    fn len(&self) -> u32 {
        self.0.len
    }
    /// Number of the transport flow.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow
    }
    /// Numbers of the sending and the receiving host.
    #[getter]
    fn hosts(&self) -> (u32, u32) {
        self.0.hosts
    }
    /// Differentiated services code point.
    #[getter]
    fn dscp(&self) -> u8 {
        self.0.dscp
    }
    /// ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[getter]
    fn ecn(&self) -> u8 {
        self.0.ecn as u8
    }
    /// Whether the packet is ECN-capable: not Not-ECT.
    #[getter]
    fn is_ect(&self) -> bool {
        self.0.ecn.is_ect()
    }
    fn __repr__(&self) -> String {
        format!("<Meta: {} B of flow {}, enqueued {} ns>", self.0.len, self.0.flow, self.0.enqueued.as_nanos())
    }
}

/// Queue limit; None is unlimited.
#[pyclass(name = "Limits", frozen, module = "sojourn._core")]
pub struct LimitsView(pub Limits);

#[pymethods]
impl LimitsView {
    /// Maximum queued packets.
    #[getter]
    fn packets(&self) -> Option<u32> {
        self.0.packets
    }
    /// Maximum queued bytes.
    #[getter]
    fn bytes(&self) -> Option<u64> {
        self.0.bytes
    }
    /// Maximum queueing time in ns, at the link's nominal rate.
    #[getter]
    fn time(&self) -> Option<i64> {
        self.0.time.map(|span| span.as_nanos())
    }
}

/// The link below the queue.
#[pyclass(name = "Link", frozen, module = "sojourn._core")]
pub struct LinkView(pub Link);

#[pymethods]
impl LinkView {
    /// Nominal rate in bit/s.
    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate.as_bps()
    }
    /// Largest packet in bytes.
    #[getter]
    fn mtu(&self) -> u32 {
        self.0.mtu
    }
}

/// Context of a call: the time, the queue's random stream, and the backlog when the call began.
#[pyclass(name = "Cx", module = "sojourn._core")]
pub struct CxView {
    now: Instant,
    backlog: Backlog,
    total: Backlog,
    link: Option<Link>,
    /// Copy of the random stream during a call; `None` afterwards, so that a kept object cannot draw from it.
    rng: Option<Rng>,
}

impl CxView {
    /// Context before the first call.
    pub fn new() -> Self {
        Self { now: Instant::ZERO, backlog: Backlog::default(), total: Backlog::default(), link: None, rng: None }
    }

    /// Starts a call.
    pub fn open(&mut self, cx: &Cx) {
        self.now = cx.now;
        self.backlog = cx.backlog;
        self.total = cx.total_backlog;
        self.link = Some(cx.link);
        self.rng = Some(cx.rng.clone());
    }

    /// Ends a call: the queue's stream continues from the call's final state.
    pub fn close(&mut self, cx: &mut Cx) {
        if let Some(rng) = self.rng.take() {
            *cx.rng = rng;
        }
    }

    fn rng(&mut self) -> PyResult<&mut Rng> {
        self.rng.as_mut().ok_or_else(|| PyRuntimeError::new_err("cx may be used only within the call that received it"))
    }
}

#[pymethods]
impl CxView {
    /// The time in ns.
    #[getter]
    fn now(&self) -> u64 {
        self.now.as_nanos()
    }
    /// Packets in this queue when the call began.
    #[getter]
    fn packets(&self) -> u32 {
        self.backlog.packets
    }
    /// Bytes in this queue when the call began.
    #[getter]
    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
    /// Packets in all queues of the discipline when the call began.
    #[getter]
    fn total_packets(&self) -> u32 {
        self.total.packets
    }
    /// Bytes in all queues of the discipline when the call began.
    #[getter]
    fn total_bytes(&self) -> u64 {
        self.total.bytes
    }
    /// Nominal rate of the link in bit/s.
    #[getter]
    fn rate(&self) -> Option<u64> {
        self.link.map(|link| link.rate.as_bps())
    }
    /// Largest packet in bytes.
    #[getter]
    fn mtu(&self) -> Option<u32> {
        self.link.map(|link| link.mtu)
    }
    /// Next number of the queue's random stream, uniform in [0, 1).
    fn random(&mut self) -> PyResult<f64> {
        Ok(self.rng()?.uniform())
    }
    /// Next integer of the queue's random stream, uniform in 0..n.
    fn below(&mut self, n: u64) -> PyResult<u64> {
        Ok(self.rng()?.below(n))
    }
}

/// The queue during a call; 0 is its head.
#[pyclass(name = "Fifo", frozen, module = "sojourn._core")]
pub struct FifoView {
    queue: BorrowedQueue,
    call: Mutex<CallState>,
}

/// State of the current call.
#[derive(Clone, Copy)]
struct CallState {
    /// Default drop reason.
    reason: DropReason,
    may_pop: bool,
    popped: Option<PoppedPacket>,
}

impl FifoView {
    /// Queue before the first call.
    pub fn new() -> Self {
        let call = CallState { reason: DropReason::Early, may_pop: false, popped: None };
        Self { queue: BorrowedQueue::default(), call: Mutex::new(call) }
    }

    /// Lends `queue` to `call` on an arrival; `pop` is not allowed.
    pub fn on_arrival<R>(&self, queue: &mut dyn Fifo, call: impl FnOnce() -> R) -> R {
        *self.call() = CallState { reason: DropReason::Early, may_pop: false, popped: None };
        self.queue.lend(queue, call)
    }

    /// Lends `queue` to `call` on a departure; returns the popped packet.
    pub fn on_departure<R>(&self, queue: &mut dyn Fifo, call: impl FnOnce() -> R) -> (R, Option<PoppedPacket>) {
        *self.call() = CallState { reason: DropReason::Late, may_pop: true, popped: None };
        let result = self.queue.lend(queue, call);
        (result, self.call().popped)
    }

    fn call(&self) -> MutexGuard<'_, CallState> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reason(&self, name: Option<&str>) -> PyResult<DropReason> {
        let Some(name) = name else { return Ok(self.call().reason) };
        let known = [DropReason::Early, DropReason::Late, DropReason::HardLimit, DropReason::Limit];
        let found = known.into_iter().find(|reason| reason.name() == name);
        found.ok_or_else(|| input(format!("reason: {name:?} is not one of {}", known.map(DropReason::name).join(", "))))
    }
}

#[pymethods]
impl FifoView {
    fn __len__(&self) -> PyResult<usize> {
        self.queue.with(|queue| queue.len())
    }
    /// Bytes in this queue.
    #[getter]
    fn bytes(&self) -> PyResult<u64> {
        self.queue.with(|queue| queue.bytes())
    }
    /// Packets in all queues of the discipline.
    #[getter]
    fn total_packets(&self) -> PyResult<u32> {
        self.queue.with(|queue| queue.total_backlog().packets)
    }
    /// Bytes in all queues of the discipline.
    #[getter]
    fn total_bytes(&self) -> PyResult<u64> {
        self.queue.with(|queue| queue.total_backlog().bytes)
    }
    /// Packet `i`; None beyond the end.
    #[pyo3(signature = (i = 0))]
    fn meta(&self, i: usize) -> PyResult<Option<MetaView>> {
        self.queue.with(|queue| queue.meta(i).map(MetaView))
    }
    /// Mark packet `i` CE, or drop it if it is Not-ECT; returns whether it is still queued.
    #[pyo3(signature = (i = 0, reason = None))]
    fn mark(&self, i: usize, reason: Option<&str>) -> PyResult<bool> {
        let reason = self.reason(reason)?;
        self.queue.with(|queue| queue.mark(i, reason))
    }
    /// Drop packet `i`.
    #[pyo3(signature = (i = 0, reason = None))]
    fn drop(&self, i: usize, reason: Option<&str>) -> PyResult<()> {
        let reason = self.reason(reason)?;
        self.queue.with(|queue| queue.drop(i, reason))
    }
    /// Take the head out for transmission, at most once and in `dequeue` only; None if the queue is empty.
    fn pop(&self) -> PyResult<Option<MetaView>> {
        let CallState { may_pop, popped, .. } = *self.call();
        if !may_pop || popped.is_some() {
            let when = if may_pop { "once per dequeue" } else { "in dequeue" };
            return Err(PyRuntimeError::new_err(format!("a packet may be popped only {when}")));
        }
        let popped = self.queue.with(|queue| queue.pop())?;
        self.call().popped = popped;
        Ok(popped.map(|popped| MetaView(popped.meta)))
    }
}
