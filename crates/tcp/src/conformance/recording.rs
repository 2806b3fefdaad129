//! Records the calls of a congestion control.

use crate::cc::Needs;
use crate::cc::foreign::{AckView, Call, CallSet, ControlDefinition, ControlHost, Fault, FlightView, ForeignControl};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A call and its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// The call with its arguments.
    pub call: Call,
    /// The connection before the call.
    pub before: FlightView,
    /// The connection after the call.
    pub after: FlightView,
    /// Returned value, zero for a call without one.
    pub value: u32,
}

impl CallRecord {
    /// Hash of the call, its arguments and its results; the same on every machine.
    pub fn digest(&self) -> u64 {
        let mut hash = Digest::default();
        hash.add_call(&self.call);
        hash.add_view(&self.before);
        hash.add_view(&self.after);
        hash.add(self.value.into());
        hash.0
    }
}

/// Takes the calls of a connection's control as they are made.
pub trait CallObserver: Debug + Send {
    /// The control of a connection is created.
    fn created(&mut self, _host: &ControlHost) {}
    /// A call was made; `control` is in the state after it.
    fn called(&mut self, record: &CallRecord, control: &dyn ForeignControl);
    /// The control has failed; no more calls are made.
    fn failed(&mut self, text: &str);
}

/// A definition whose controls report each call to an observer.
#[derive(Debug)]
pub struct RecordedDefinition<O> {
    definition: Arc<dyn ControlDefinition>,
    observer: Arc<Mutex<O>>,
}

impl<O: CallObserver + 'static> RecordedDefinition<O> {
    /// Reports the calls of `definition`'s controls to `observer`.
    pub fn new(definition: Arc<dyn ControlDefinition>, observer: Arc<Mutex<O>>) -> Self {
        Self { definition, observer }
    }
}

impl<O: CallObserver + 'static> ControlDefinition for RecordedDefinition<O> {
    fn spelling(&self) -> &str {
        self.definition.spelling()
    }

    fn needs(&self) -> Needs {
        // Observers read the whole view of each call.
        Needs { flight: true, ..self.definition.needs() }
    }

    fn calls(&self) -> CallSet {
        self.definition.calls()
    }

    fn distinguishes_causes(&self) -> bool {
        self.definition.distinguishes_causes()
    }

    fn fits_quic(&self) -> bool {
        self.definition.fits_quic()
    }

    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault> {
        let control = self.definition.create(host);
        let mut observer = locked(&self.observer);
        match &control {
            Ok(_) => observer.created(host),
            Err(fault) => report(&mut *observer, fault),
        }
        Ok(Box::new(RecordedControl { control: control?, observer: Arc::clone(&self.observer) }))
    }

    fn record_fault(&self, text: String) {
        locked(&self.observer).failed(&text);
        self.definition.record_fault(text);
    }
}

/// A control that reports its calls.
#[derive(Debug)]
struct RecordedControl<O> {
    control: Box<dyn ForeignControl>,
    observer: Arc<Mutex<O>>,
}

impl<O: CallObserver + 'static> ForeignControl for RecordedControl<O> {
    fn call(&mut self, call: Call, view: &mut FlightView) -> Result<u32, Fault> {
        let before = *view;
        let result = self.control.call(call, view);
        let mut observer = locked(&self.observer);
        match &result {
            Ok(value) => {
                let record = CallRecord { call, before, after: *view, value: *value };
                observer.called(&record, &*self.control);
            }
            Err(fault) => report(&mut *observer, fault),
        }
        result
    }

    /// A copy that is not recorded.
    fn copy(&self) -> Result<Box<dyn ForeignControl>, Fault> {
        self.control.copy()
    }
}

/// Whether a control of `definition` gets `call`: it takes it, and has requested the service behind it.
pub(super) fn is_called(definition: &dyn ControlDefinition, call: &Call) -> bool {
    let needs = definition.needs();
    let is_requested = match call {
        Call::Delivered(_) => needs.samples,
        Call::Sent(_) => needs.sent,
        Call::Lost(_) | Call::Repaired(_) => needs.losses,
        Call::Report(_) => needs.reports,
        Call::Grow(ack) => needs.grows_unlimited || ack.flags & AckView::LIMITED != 0,
        _ => true,
    };
    is_requested && definition.calls().has(call.kind())
}

/// The observer, also after a panic of another thread.
pub(super) fn locked<O: ?Sized>(observer: &Mutex<O>) -> MutexGuard<'_, O> {
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn report(observer: &mut dyn CallObserver, fault: &Fault) {
    // The adapter records a text with the call and its time.
    if *fault == Fault::Pending {
        observer.failed("raised an exception");
    }
}

/// A hash of 64 bits, equal on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest(pub u64);

impl Digest {
    /// Adds a number. The constants are those of splitmix64.
    pub fn add(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 = mixed ^ (mixed >> 31);
    }

    fn add_call(&mut self, call: &Call) {
        self.add(call.kind() as u64);
        match *call {
            Call::Ssthresh(cause) => self.add(cause as u64),
            Call::Grow(ack) | Call::Acked(ack) | Call::Report(ack) => {
                self.add_all([u64::from(ack.packets), ack.rtt as u64, ack.one_way as u64, ack.flags.into()]);
            }
            Call::Delivered(counts) => self.add_all([counts.packets.into(), counts.ce.into()]),
            Call::State(state) => self.add(state as u64),
            Call::Idle(last_sent) => self.add(last_sent as u64),
            Call::Ack(sample) => {
                self.add_all([sample.flags.into(), sample.delivered as u64, sample.interval as u64]);
                self.add_all([sample.send_interval as u64, sample.ack_interval as u64, sample.prior_delivered]);
                self.add_all([sample.rtt as u64, sample.acked_sacked.into(), sample.ce.into()]);
                self.add_all([sample.losses, sample.prior_in_flight, sample.tx_in_flight].map(u64::from));
                self.add_all([sample.lost, sample.delivered_ce].map(u64::from));
            }
            Call::Lost(loss) => self.add_all([loss.tx_in_flight, loss.lost, loss.flags].map(u64::from)),
            Call::Repaired(number) | Call::Sent(number) => self.add(number.into()),
            Call::Congestion(cause) => self.add(cause as u64),
            Call::Reduced | Call::TimedOut | Call::Undo | Call::MinCwnd | Call::Start => {}
        }
    }

    fn add_view(&mut self, view: &FlightView) {
        self.add_all([view.mss, view.cwnd, view.ssthresh, view.cwnd_cnt, view.in_flight, view.burst].map(u64::from));
        self.add_all([view.state, view.packets_out, view.flags, view.counting].map(u64::from));
        self.add_all([view.now, view.srtt, view.min_rtt, view.delivered_at, view.next_departure].map(|n| n as u64));
        self.add_all([view.pacing_rate, view.delivered, view.delivered_ce, view.lost, view.una, view.nxt]);
        self.add(view.bytes_acked);
    }

    fn add_all<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.into_iter().for_each(|number| self.add(number));
    }
}

/// Name of a field and its value.
pub(super) type Field = (&'static str, fn(&FlightView) -> u64);

/// Fields that a control may set.
pub(super) const RESULTS: [Field; 9] = [
    ("cwnd", |view| view.cwnd.into()),
    ("ssthresh", |view| view.ssthresh.into()),
    ("cwnd_cnt", |view| view.cwnd_cnt.into()),
    ("bytes_acked", |view| view.bytes_acked),
    ("pacing_rate", |view| view.pacing_rate),
    ("burst", |view| view.burst.into()),
    ("mss", |view| view.mss.into()),
    ("exact_burst", |view| (view.flags & FlightView::EXACT_BURST).into()),
    ("mark_app_limited", |view| (view.flags & FlightView::MARK_APP_LIMITED).into()),
];

/// Makes `call` to a control that did not make it itself: `before` is the other's view, except for the burst, which
/// only the control sets and which its own last call left in `own`. Returns the view after the call and the value.
pub(super) fn call_beside(
    control: &mut dyn ForeignControl,
    call: Call,
    before: &FlightView,
    own: &FlightView,
) -> Result<(FlightView, u32), Fault> {
    let mut view = view_beside(before, own);
    let value = control.call(call, &mut view)?;
    Ok((view, value))
}

/// The view `before` with the burst of `own`.
pub(super) fn view_beside(before: &FlightView, own: &FlightView) -> FlightView {
    let exact = FlightView::EXACT_BURST;
    FlightView { burst: own.burst, flags: before.flags & !exact | own.flags & exact, ..*before }
}
